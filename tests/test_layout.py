"""The layout of the package: who may import whom, and that importing it stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import fairroc

# From the top down: a module may import from its own layer and from those below. "name.*" is a package with all
# that is in it; any other name stands for one module. Modules that do not exist yet may be listed.
LAYERS = (
    (
        "fairroc",
        "__main__",
        "cli",
        "cli_more",
        "cli_monitor",
        "cli_sql",
        "cli_reproduce",
        "progress",
        "demo",
        "report.*",
        "plot.*",
        "froc_plot",
        "engines.*",
        "experiments.*",
        "metrics",
        "classifier",
    ),
    ("estimator", "crossfit", "training", "model_selection"),
    (
        *("model", "modelfile", "fitting", "solving", "population", "certificate"),
        *("froc", "froc_report", "froc_index"),
        *("auditing", "findings", "expectation", "outlook", "promise", "folds"),
        *("drift", "driftwords", "gapwatch", "monitoring"),
        *("tradeoff", "choosing", "ladder", "explaining", "wording"),
        "rewriting",
        "sql.*",
        "tensors.models",
    ),
    ("counts", "streaming"),
    ("tensors.*",),
    ("columns", "draw", "files", "batches", "datasets.*", "factorise", "checks", "xxh64", "sensitive", "secret"),
    ("core", "core.fairmap"),
    ("core.segments",),
    ("core.scale", "core.walk"),
    ("core.kernel",),
    ("core.coupling", "core.ascent", "core.tuples", "core.bound", "core.duality"),
    ("core.froc_diagnostics", "core.froc_curves"),
    ("core.optimal", "core.estimate", "core.reach", "core.froc", "core.froc_geometry", "core.froc_mixture"),
    ("core.reference", "core.twosample"),
    ("core.multiplier", "core.bands", "core.cross", "core.delong", "core.decision", "core.calibration"),
    ("core.tally", "core.countsample"),
    ("core.sample",),
    ("core.roc", "core.gap"),
    ("core.finder", "core.ranges", "core.sorting", "core.gridcount", "core.doubles"),
    ("core.chain",),
    ("errors", "_version"),
)
HEAVY = [
    *("pandas", "polars", "pyarrow", "duckdb", "dask", "pyspark"),
    *("matplotlib", "plotly", "torch", "scipy", "sklearn"),
]
ROOT = Path(fairroc.__file__).parent


def module_name(path: Path) -> str:
    """Name below the package: "core.chain" for core/chain.py, and "fairroc" for the package itself."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "fairroc"


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def layer(module: str) -> int | None:
    """Number of the layer, counted from the top; None where the module is not listed."""
    parts = module.split(".")
    names = {module, *(".".join(parts[: n + 1]) + ".*" for n in range(len(parts)))}
    return next((number for number, listed in enumerate(LAYERS) if names & set(listed)), None)


def imports(source: str, module: str = "x", *, at_load: bool = False) -> Iterator[str]:
    """Modules of this package that ``source`` imports anywhere, or only those needed ``at_load``."""
    package = ["fairroc", *module.split(".")][: None if is_package(module) else -1]
    todo: list[ast.AST] = [ast.parse(source)]
    while todo:
        node = todo.pop()
        if at_load and (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or only_for_types(node)):
            continue
        todo.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            yield from (below(alias.name) for alias in node.names if alias.name.split(".")[0] == "fairroc")
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            if base.split(".")[0] == "fairroc":
                for alias in node.names:
                    inner = below(f"{base}.{alias.name}")
                    yield inner if inner in MODULES else below(base)


def is_package(module: str) -> bool:
    return module != "fairroc" and module in MODULES and MODULES[module].name == "__init__.py"


def only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def below(dotted: str) -> str:
    return dotted.removeprefix("fairroc.")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_layer(module: str) -> None:
    assert layer(module) is not None, (
        f"{MODULES[module]} is in no layer: list {module!r} in LAYERS of tests/test_layout.py, not above any "
        "module that imports it and not below any that it imports."
    )


def test_no_module_is_listed_twice() -> None:
    names = [name for listed in LAYERS for name in listed]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module: str) -> None:
    """Holds for imports inside functions too."""
    own = layer(module)
    for other in set(imports(MODULES[module].read_text(encoding="utf-8"), module)):
        number = layer(other)
        if own is not None and number is not None:
            assert own <= number, f"{module} imports {other}, which is in a layer above it (LAYERS in {__file__})."


def test_no_cycles() -> None:
    """Holds for what is imported when a module loads; two modules of one layer may meet inside functions."""
    graph = {
        module: {other for other in imports(path.read_text(encoding="utf-8"), module, at_load=True) if other != module}
        for module, path in MODULES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize(
    ("source", "module", "found"),
    [
        ("import fairroc.draw as d, numpy, fairroc", "cli", {"draw", "fairroc"}),
        ("from fairroc import draw, __version__", "cli", {"draw", "fairroc"}),
        ("from fairroc.core.chain import Chain", "cli", {"core.chain"}),
        ("from fairroc.core import chain, nothing", "cli", {"core.chain", "core"}),
        (
            "from . import chain\nfrom .roc import x\nfrom ..errors import y",
            "core.gap",
            {"core.chain", "core.roc", "errors"},
        ),
        ("from . import _find", "datasets", {"datasets._find"}),
        ("from .draw import x", "fairroc", {"draw"}),
        ("def f():\n    from fairroc.draw import x", "cli", {"draw"}),
        ("from fairrocket import draw\nimport numpy.typing", "cli", set()),
    ],
)
def test_imports_are_found(source: str, module: str, found: set[str]) -> None:
    assert set(imports(source, module)) == found


def test_imports_at_load() -> None:
    source = (
        "from fairroc import draw\nif TYPE_CHECKING:\n    import fairroc.files\ndef f():\n    import fairroc.columns"
    )
    assert set(imports(source, at_load=True)) == {"draw"}
    assert set(imports(source)) == {"draw", "files", "columns"}


def test_layers_of_names() -> None:
    assert layer("errors") == len(LAYERS) - 1
    assert layer("datasets._find") == layer("datasets") == layer("columns")
    assert layer("core.new") is None and layer("new") is None and layer("cli.new") is None


def test_import_is_light() -> None:
    code = f"import sys, fairroc; print(sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
