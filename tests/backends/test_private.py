"""Back ends read what a model declares: nothing private of it, and no private names of other modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fairroc

ROOM = Path(fairroc.__file__).parent / "backends"
THEIRS = {"_meta", "_replace"}
"""Dask's name for an empty frame with a frame's columns, and what every named tuple has."""


@pytest.mark.parametrize("path", sorted(ROOM.rglob("*.py")), ids=lambda path: path.relative_to(ROOM).as_posix())
def test_nothing_private_is_read(path: Path) -> None:
    private = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            private |= {alias.name for alias in node.names if alias.name.startswith("_")}
        elif isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            private |= {node.attr} if node.attr.startswith("_") and not node.attr.startswith("__") else set()
    assert private <= THEIRS
