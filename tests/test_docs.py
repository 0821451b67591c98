"""The Python blocks of the how-to pages run as they stand, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sklearn

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["scikit-learn.md"]


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = [(match.start(), match[1]) for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)]
    assert blocks
    names: dict = {"__name__": page}
    with sklearn.config_context():
        for start, block in blocks:
            line = text.count("\n", 0, start) + 1
            exec(compile("\n" * line + block, str(DOCS / page), "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (DOCS / page).read_text(encoding="utf-8")):
        assert "://" in target or (DOCS / target).exists(), target
