"""The Python blocks of the how-to pages run as they stand, from top to bottom."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import sklearn

DOCS = Path(__file__).parents[2] / "docs"
ALL = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
FRAGMENTS = {"explanation/draws.md", "explanation/froc.md"}  # blocks that do not stand alone
PAGES = [page for page in ALL if page not in FRAGMENTS and "```python" in (DOCS / page).read_text(encoding="utf-8")]


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python(?: needs (\w+))?\n(.*?)^```", text, re.M | re.S))
    assert len(blocks) == text.count("```python")
    names: dict = {"__name__": page}
    with sklearn.config_context():
        for block in blocks:
            if block[1] is not None and find_spec(block[1]) is None:
                continue  # a peer that is installed nowhere but where it is compared
            line = text.count("\n", 0, block.start()) + 1
            exec(compile("\n" * line + block[2], str(DOCS / page), "exec"), names)


@pytest.mark.parametrize("page", ALL)
def test_links_lead_somewhere(page) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (DOCS / page).read_text(encoding="utf-8")):
        assert "://" in target or ((DOCS / page).parent / target).exists(), target


@pytest.mark.parametrize("page", ALL)
def test_files_that_a_page_names_are_there(page) -> None:
    """Modules by their place in the package, tests by their place in the project."""
    root = DOCS.parent
    for name in re.findall(r"`((?:\w+/)+[\w*]+\.py)`", (DOCS / page).read_text(encoding="utf-8")):
        found = [*root.glob(name), *root.glob(f"src/fairroc/{name}"), *root.glob(f"studies/src/fairroc_studies/{name}")]
        assert found, name
