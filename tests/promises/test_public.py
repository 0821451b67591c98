"""Public names: every one is declared in an ``__all__``, documented, and listed in the reference."""

from __future__ import annotations

import inspect
import re
import sys
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
