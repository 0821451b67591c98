"""The layout of the house: which room may import which, and that importing the package stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import fairroc

# Foundations first, one line for each room: a module may import from its own room and from rooms listed before it,
# whether at load, inside functions or for type checkers.
ROOMS = (
    ("_version", "errors", "summary", "verifying"),
    ("core",),
    ("stats",),
    ("options",),
    ("docstrings",),
    ("tables",),
    ("people",),
    ("model",),
    ("backends",),
    ("auditing",),
    ("monitoring",),
    ("froc",),
    ("fitting",),
    ("text",),
    ("fairmodel",),
    ("estimators",),
    ("frames",),
    ("datasets",),
    ("plot",),
    ("report",),
    ("mlflow",),
    ("serving",),
    ("cli",),
    ("fairroc", "__main__"),
)
MOST_MODULES = 10
"""Modules at the top level, at most."""

HEAVY = [
    *("pandas", "polars", "pyarrow", "duckdb", "dask", "pyspark"),
    *("matplotlib", "jinja2", "torch", "scipy", "sklearn", "mlflow", "skops", "onnx", "onnxruntime"),
    *("starlette", "uvicorn"),
]
ROOT = Path(fairroc.__file__).parent


def module_name(path: Path) -> str:
    """Name below the package: "core.chain" for core/chain.py, and "fairroc" for the package itself."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "fairroc"


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}
TEXTS = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}


def floor(module: str) -> int | None:
    """Number of the room's line, counted from the bottom; None where the room is not listed."""
    room = module.split(".")[0]
    return next((number for number, rooms in enumerate(ROOMS) if room in rooms), None)


def imports(source: str, module: str = "x") -> Iterator[str]:
    """Modules of this package that ``source`` imports anywhere."""
    package = ["fairroc", *module.split(".")][: None if is_package(module) else -1]
    for node in ast.walk(ast.parse(source)):
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


def below(dotted: str) -> str:
    return dotted.removeprefix("fairroc.")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_room(module: str) -> None:
    assert floor(module) is not None, f"{MODULES[module]} is in no room of ROOMS in {__file__}."


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module: str) -> None:
    own = floor(module)
    for other in set(imports(TEXTS[module], module)) - ({"fairroc"} if module != "fairroc" else set()):
        number = floor(other)
        if own is not None and number is not None:
            assert number <= own, f"{module} imports {other}, a room listed after its own (ROOMS in {__file__})."


@pytest.mark.parametrize("module", [module for module in MODULES if module not in ("fairroc", "__main__")])
def test_nothing_imports_the_package_itself(module: str) -> None:
    """Its names come from the rooms; importing them from the top would lead back up."""
    assert "fairroc" not in set(imports(TEXTS[module], module))


def test_no_cycles() -> None:
    """Of any kind: imports inside functions and for type checkers count."""
    graph = {module: set(imports(text, module)) - {module} for module, text in TEXTS.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


def test_only_the_command_line_sets_warning_filters() -> None:
    """They belong to the whole process: another thread's warnings would come or go with ours."""
    setters = {"catch_warnings", "simplefilter", "filterwarnings", "resetwarnings"}
    found = {
        module
        for module, text in TEXTS.items()
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Attribute) and node.attr in setters)
        or (isinstance(node, ast.Name) and node.id in setters)
    }
    assert found == {"cli.main"}


def test_the_checker_shares_nothing_with_what_it_checks() -> None:
    """The standard library alone, so that nobody who verifies a model has to trust the code that made it."""
    mine = {module for module in MODULES if module.split(".")[0] == "verifying"}
    for module in mine:
        assert set(imports(TEXTS[module], module)) <= mine
        nodes = list(ast.walk(ast.parse(TEXTS[module])))
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        assert {name.split(".")[0] for name in names} <= {*sys.stdlib_module_names, "fairroc"}
        assert "importlib" not in names
    users = {module for module, text in TEXTS.items() if mine & set(imports(text, module))} - mine
    assert users == {"auditing.verify", "cli.verify", "fairroc"}


def test_few_modules_at_the_top() -> None:
    assert len(list(ROOT.glob("*.py"))) <= MOST_MODULES


@pytest.mark.parametrize(
    ("source", "module", "found"),
    [
        ("import fairroc.model.draw as d, numpy, fairroc", "cli.fit", {"model.draw", "fairroc"}),
        ("from fairroc.model import draw\nfrom fairroc import __version__", "cli.fit", {"model.draw", "fairroc"}),
        ("from fairroc.core.chain import Chain", "cli.fit", {"core.chain"}),
        ("from fairroc.core import chain, nothing", "cli.fit", {"core.chain", "core"}),
        (
            "from . import chain\nfrom .roc import x\nfrom ..errors import y",
            "core.gap",
            {"core.chain", "core.roc", "errors"},
        ),
        ("from . import chain", "core", {"core.chain"}),
        ("from .errors import x", "fairroc", {"errors"}),
        ("def f():\n    from fairroc.model.draw import x", "cli.fit", {"model.draw"}),
        ("if TYPE_CHECKING:\n    import fairroc.core.roc", "cli.fit", {"core.roc"}),
        ("from fairrocket import draw\nimport numpy.typing", "cli.fit", set()),
    ],
)
def test_imports_are_found(source: str, module: str, found: set[str]) -> None:
    assert set(imports(source, module)) == found


def test_floors() -> None:
    assert floor("errors") == 0
    assert floor("core.chain") == floor("core") == 1
    assert floor("new") is None


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import fairroc", HEAVY),
        ("import fairroc.options, fairroc.cli.main", ("numpy", "pyarrow")),
        ("import fairroc.tables.read, fairroc.tables.write", ("pyarrow", "pandas")),
        ("import fairroc.people.rows", ("pandas", "pyarrow", "scipy", "sklearn")),
        ("import fairroc.report", ("jinja2", "matplotlib", "sklearn")),  # loaded when a page is written
        (
            "import numpy as np; from fairroc.model.draw import uniforms_from_ids as u\n"
            "u(np.arange(3), salt=7); u([1, 2], salt=7)",
            ("narwhals", "pandas", "polars", "pyarrow"),
        ),
        (
            "import numpy as np; from fairroc.people.counts import ScoreCounts\n"
            "ScoreCounts.from_rows(np.arange(4.0), [0, 1, 0, 1], sensitive_features=[0, 0, 1, 1])\n"
            "import fairroc.model.model, fairroc.backends.torch",
            ("torch",),
        ),
    ],
)
def test_what_is_light(code: str, heavy: Collection[str]) -> None:
    code = f"import sys; {code}\nprint(sorted(set({heavy}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
