"""One palette: no colour is written down anywhere else, and what is written or drawn can be read, dark or light."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fairroc
from fairroc.plot import palette

ROOT = Path(fairroc.__file__).parent
DRAWN = [path for room in ("plot", "report") for path in sorted((ROOT / room).rglob("*.*")) if path.suffix != ".pyc"]
TEXT, GRAPHIC = 4.5, 3.0
"""Contrasts that WCAG 2 asks for at level AA."""


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_colours_come_from_the_palette(path: Path) -> None:
    if path.name != "palette.py":
        assert re.findall(r"#[0-9a-fA-F]{6}\b", path.read_text(encoding="utf-8")) == []


def test_pages_use_variables_that_are_declared() -> None:
    used = {name for path in DRAWN for name in re.findall(r"var\(--(\w+)[,)]", path.read_text(encoding="utf-8"))}
    assert used <= set(palette.STYLE) == set(palette.DARK)
    for rule, colours in ((palette.style_variables(), palette.STYLE), (palette.dark_variables(), palette.DARK)):
        assert all(f"--{name}: {colour};" in rule for name, colour in colours.items())


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted(map(brightness, (first, second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [palette.STYLE, palette.DARK], ids=["light", "dark"])
def test_contrast_is_enough(colours: dict[str, str]) -> None:
    words = [(ink, on) for ink in ("ink", "soft", "blue", "good", "bad") for on in ("paper", "ground", "caution")]
    lines = [(line, "paper") for line in ("rule", "focus", "original", "fair", "fit", "limit", "threshold")]
    lines += [(f"g{number}", "paper") for number in range(len(palette.GROUPS))]
    found = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in (*words, *lines)}
    low = {pair: ratio for pair, ratio in found.items() if ratio < (TEXT if pair in words else GRAPHIC)}
    assert low == {}
