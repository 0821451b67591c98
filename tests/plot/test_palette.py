"""One palette: no colour is written down anywhere else, and every variable of the style sheet is one of its."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fairroc
from fairroc.plot import palette

ROOT = Path(fairroc.__file__).parent
DRAWN = [path for room in ("plot", "report") for path in sorted((ROOT / room).rglob("*.*")) if path.suffix != ".pyc"]


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_colours_come_from_the_palette(path: Path) -> None:
    if path.name != "palette.py":
        assert re.findall(r"#[0-9a-fA-F]{6}\b", path.read_text(encoding="utf-8")) == []


def test_the_style_sheet_and_the_script_know_their_colours() -> None:
    sheet = (ROOT / "report" / "templates" / "page.css").read_text(encoding="utf-8")
    script = (ROOT / "report" / "templates" / "page.js").read_text(encoding="utf-8")
    assert set(re.findall(r"var\(--(\w+)\)", sheet)) == set(palette.STYLE)
    assert set(re.findall(r"palette\.(\w+)", script)) == set(palette.SCRIPT)
    assert all(f"--{name}: {colour};" in palette.style_variables() for name, colour in palette.STYLE.items())
