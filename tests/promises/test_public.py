"""Public names: every one is declared in an ``__all__``, documented, and listed in the reference."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import re
import sys
from enum import Enum
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from reference import PAGE, PUBLIC, page  # noqa: E402

NAMES = [(module, name) for module in PUBLIC for name in import_module(module).__all__]


def test_the_reference_lists_them_all() -> None:
    """Renew it with ``python tools/reference.py``."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda part: part)
def test_a_name_is_there_and_documented(module: str, name: str) -> None:
    thing = getattr(import_module(module), name)
    assert name == "__version__" or len((inspect.getdoc(thing) or "").split()) > 2


@pytest.mark.parametrize("module", PUBLIC)
def test_names_are_listed_once_and_by_dir(module: str) -> None:
    found = import_module(module)
    assert len(set(found.__all__)) == len(found.__all__)
    assert set(found.__all__) <= set(dir(found))


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
)
def test_documents_import_public_names_alone(page: str) -> None:
    """What a reader may copy comes from a public module."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```python.*?\n(.*?)^```", text, re.M | re.S):
        for module, names in re.findall(r"^from (fairroc(?:\.[\w.]+)?) import ([^\n]+)$", block, re.M):
            assert module in PUBLIC, module
            listed = {name.strip().split(" as ")[0] for name in names.split("#")[0].split(",")}
            assert listed <= {*import_module(module).__all__, *(other.partition(".")[2] for other in PUBLIC)}, listed


INTERNAL = {
    "FairModel.of",
    *(f"ScoreCounts.{name}" for name in ("from_columns", "from_cells", "people")),
    *(f"{name}.from_source" for name in ("FairROCDisplay", "GapDisplay")),
}
"""Methods of public classes that other rooms call, with types that are not public."""

NOTHING_TO_RAISE = {
    *("make_scores", "FairScorer.set_score_request", "SensitiveStratifiedKFold.get_n_splits", "query_grid"),
    *("Froc.lower_curve", "algorithm_1", "triangle_mixture", "neighbour_mixture"),
    *(f"Mixture.{name}" for name in ("acceptance", "acceptance_at", "decide", "falls")),
}


def public_things() -> dict[str, object]:
    """Functions and classes by name, and the classes' methods, but those inherited from other packages."""
    found: dict[str, object] = {}
    for module, name in NAMES:
        thing = getattr(import_module(module), name)
        if name == "__version__" or thing in found.values():
            continue
        found[name if name not in found else f"{module}.{name}"] = thing
        if inspect.isclass(thing) and not issubclass(thing, Enum):
            for method in dir(thing):
                home = next((base for base in thing.__mro__ if method in vars(base)), object)
                called = inspect.getattr_static(thing, method)
                called = getattr(called, "__func__", getattr(called, "fn", called))
                told = home.__module__.startswith("fairroc.") and home.__name__ != "ModelData"
                if told and not method.startswith("_") and inspect.isfunction(called):
                    found[f"{name}.{method}"] = called
    return {name: thing for name, thing in found.items() if name not in INTERNAL}


THINGS = public_things()


def test_every_kind_of_name_is_held() -> None:
    assert {"audit", "fairroc.frames.audit", "FairROC", "FairROC.fit", "FairROCClassifier.predict_proba"} <= set(THINGS)
    assert {"Audit.to_dict", "DataError", "FairModel.load", "GapDisplay.from_predictions", "load_adult"} <= set(THINGS)
    assert len(THINGS) > 130


@pytest.mark.parametrize("name", THINGS)
def test_help_says_what_it_takes_gives_and_raises(name: str) -> None:
    """numpydoc's sections: every parameter with its type, what is returned, errors, an example."""
    thing, text = THINGS[name], inspect.getdoc(THINGS[name]) or ""
    parts = re.split(r"^([A-Z][a-z]+)\n-{3,}\n", text, flags=re.M)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert len(sections) == len(parts) // 2, "a section twice"
    is_class = inspect.isclass(thing)
    if is_class and issubclass(thing, Exception) and name != "FairrocError":
        return  # said of their base
    assert parts[0].strip() and "Examples" in sections
    if is_class and not issubclass(thing, Exception | Enum):
        assert {"Parameters", "Attributes"} & set(sections)
    if (is_class and "__init__" not in vars(thing)) or hasattr(thing, "__dataclass_fields__"):
        return
    signature = inspect.signature(thing)
    given = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    for parameter in given:
        told = re.search(
            rf"^(?:[*\w]+, )*\*{{0,2}}{parameter.name}(?:, [*\w]+)*(?: : \S|$)", sections["Parameters"], re.M
        )
        assert told, parameter.name
    if not is_class:
        assert ("Returns" in sections or "Yields" in sections) == (signature.return_annotation != "None")
        assert not given or ("Raises" in sections) != (name in NOTHING_TO_RAISE)
    listed = re.findall(r"^([\w*][\w*, ]*?)(?: : .*)?$", sections.get("Parameters", ""), re.M)
    names = {each.strip("* ") for line in listed for each in line.split(",")}
    assert names == {parameter.name for parameter in given}, "a parameter that there is not"


@pytest.mark.parametrize("name", THINGS)
def test_examples_can_be_pasted(name: str) -> None:
    """They define or import every name that they use (that they run, the suite's doctests say)."""
    if inspect.isclass(THINGS[name]) and issubclass(THINGS[name], Exception) and name != "FairrocError":
        return  # said of their base
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(THINGS[name]) or "")
    assert examples
    tree = ast.parse("".join(example.source for example in examples))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    known = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    known |= {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names}
    known |= {node.name or "" for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    assert used <= known | set(vars(builtins)), used - known
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fairroc"):
            assert node.module in PUBLIC, node.module
