"""Measure the house: how large it is, and how many places a change touches. ``make house`` prints the table.

Nothing is imported: everything is read from the source text. Exit 1 if a number grew beyond what was reached.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WHEEL = ROOT / "src" / "fairroc"
STUDIES = ROOT / "studies"


class Measure(NamedTuple):
    """One line of the table. ``most`` holds what was reached: a target where it was met, else no more than today; then
    the ``goal`` is still missed."""

    what: str
    before: str
    target: str
    now: int
    most: int
    note: str = ""
    goal: float = float("inf")


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "tests" not in path.relative_to(folder).parts)


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def trees(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in modules(folder):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def named(folder: Path, test: Callable[[ast.AST], bool]) -> list[str]:
    """Modules in which some node passes a test."""
    return [str(path.relative_to(folder)) for path, tree in trees(folder) if any(map(test, ast.walk(tree)))]


def tells_norms_apart(node: ast.AST) -> bool:
    """``norm == 1`` and the like."""
    if not isinstance(node, ast.Compare):
        return False
    parts = (node.left, *node.comparators)
    names = {getattr(part, "id", getattr(part, "attr", None)) for part in parts}
    return "norm" in names and any(isinstance(part, ast.Constant) and part.value in (1, "inf") for part in parts)


def is_constraint(node: ast.AST) -> bool:
    """A class that is one of the constraints."""
    return isinstance(node, ast.ClassDef) and any(getattr(base, "id", None) == "Constraint" for base in node.bases)


def declares(option: str) -> Callable[[ast.AST], bool]:
    """A default or a check of a fit option: a parameter with a default value, or a field with one."""

    def test(node: ast.AST) -> bool:
        if isinstance(node, ast.AnnAssign):
            return getattr(node.target, "id", None) == option and node.value is not None
        if isinstance(node, ast.FunctionDef):
            plain = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            keywords = [arg for arg, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value]
            return any(arg.arg == option for arg in (*plain, *keywords))
        return isinstance(node, ast.Constant) and node.value == f"--{option.replace('_', '-')}"

    return test


HASHES = ("model/draw.py", "model/xxh64.py")
"""Modules that view whole numbers as other whole numbers."""


def views_doubles_as_integers(node: ast.AST) -> bool:
    """``array.view(np.int64)`` or ``np.uint64`` (torch's tensors mirror numpy's, with a test that says so)."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "view"):
        return False
    return any(ast.unparse(arg) in ("np.int64", "np.uint64") for arg in node.args)


def room_lines() -> int:
    """Lines of the layout test's list that name more than one room's modules by hand."""
    text = (ROOT / "tests" / "promises" / "test_layout.py").read_text(encoding="utf-8")
    listed = re.search(r"^ROOMS = \((.*?)^\)", text, re.M | re.S)
    assert listed is not None
    return sum(line.count('"') > 2 and "." in line.split("#")[0] for line in listed[1].splitlines())


def undeclared() -> list[str]:
    """Names that the API reference documents and no ``__all__`` of the package declares."""
    reference = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^   fairroc\.([\w.]+)$", reference, re.M))
    declared: set[str] = set()
    for path, tree in trees(WHEEL):
        package = ".".join(path.relative_to(WHEEL).with_suffix("").parts).removesuffix("__init__").strip(".")
        for node in tree.body:
            literal = isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Dict)
            if literal and getattr(node.targets[0], "id", "") in ("__all__", "_HOME"):
                declared |= {f"{package}.{name}".strip(".") for name in ast.literal_eval(node.value)}
    return sorted(documented - declared)


def measures() -> list[Measure]:
    wheel = modules(WHEEL)
    constraint = {*named(WHEEL, is_constraint), *named(WHEEL, tells_norms_apart)}
    option = named(WHEEL, declares("min_class_rows"))
    views = [name for name in named(WHEEL, views_doubles_as_integers) if name not in HASHES]
    unnamed = undeclared()
    lookups = [name for name in ("model/lookup.py", "backends/torch", "backends/sql") if (WHEEL / name).exists()]
    return [
        Measure("modules at the top level", "54", "at most 10", len(list(WHEEL.glob("*.py"))), 10),
        Measure("modules in the wheel", "171", "about 110", len(wheel), 206, goal=120),
        Measure("lines in the wheel", "29.5k", "about 21k", lines(wheel), 47_200, goal=22_000),
        Measure(
            "lines of studies (experiments + benchmarks)",
            "11.8k",
            "about 8.5k",
            lines(modules(STUDIES)),
            15_900,
            goal=9_000,
        ),
        Measure("hand-listed layers in the layout test", "21", "one line per room", room_lines(), 0),
        Measure(
            "modules that know which constraint it is",
            "about 20",
            "at most 3",
            len(constraint),
            3,
            ", ".join(sorted(constraint)),
        ),
        Measure("modules that declare a fit option", "8", "options, where used", len(option), 6, ", ".join(option)),
        Measure("documented names that no __all__ declares", "about 40", "0", len(unnamed), 0, ", ".join(unnamed[:5])),
        Measure("places where the transform is written", "6", "numpy, torch, SQL", len(lookups), 3, ", ".join(lookups)),
        Measure("ordered-integer views of doubles", "5", "1", len(views), 1, ", ".join(views)),
    ]


def main() -> int:
    found = measures()
    head = ["", "at 3b24b8b", "target", "now", ""]
    rows = [
        [
            m.what,
            m.before,
            m.target,
            f"{m.now:,}",
            f"more than {m.most:,}" if m.now > m.most else "missed" if m.now > m.goal else "",
        ]
        for m in found
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row, measure in zip([head, *rows], [None, *found], strict=True):
        note = f"  {measure.note}" if measure is not None and measure.note else ""
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + note)
    return int(any(m.now > m.most for m in found))


if __name__ == "__main__":
    sys.exit(main())
