"""Measure the house: how large it is, and how many places a change touches. ``make house`` prints the table.

Nothing is imported: everything is read from the source text. Exit 1 if a number grew beyond what was reached.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
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


NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

KINDS = re.compile(
    r"\b(if|elif|else|while|assert|return|and|or)\b.*\b(compared|proxy|controls|use_group|families|is_spread)\b"
)
"""Lines that branch on what kind of fit it was."""


def code_lines(path: Path) -> set[int]:
    """Numbers of the lines with a token that is neither comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    described = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))]
    docs = [node.body[0] for node in described if ast.get_docstring(node, clean=False) is not None]
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in NO_CODE]
    code = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return code - {line for doc in docs for line in range(doc.lineno, (doc.end_lineno or 0) + 1)}


def code(*folders: Path) -> int:
    return sum(len(code_lines(path)) for folder in folders for path in folder.rglob("*.py"))


def template_lines() -> int:
    """Non-empty lines of templates, and of scripts and styles for pages."""
    pages = [path for path in WHEEL.rglob("*") if path.suffix in (".html", ".js", ".css", ".j2", ".jinja")]
    return sum(bool(line.strip()) for path in pages for line in path.read_text(encoding="utf-8").splitlines())


def function_lines() -> list[int]:
    """Code lines of every function in the wheel, rising."""
    found = []
    for path, tree in trees(WHEEL):
        own = code_lines(path)
        spans = [(n.lineno, n.end_lineno or 0) for n in ast.walk(tree) if isinstance(n, FUNCTIONS)]
        found += [sum(line in own for line in range(first, last + 1)) for first, last in spans]
    return sorted(found)


def kinds_of_fits() -> int:
    """Lines of code that branch on what kind of fit it was, outside people (the door) and core (the optimisers)."""
    found = 0
    for path in modules(WHEEL):
        if path.relative_to(WHEEL).parts[0] not in ("people", "core"):
            text = path.read_text(encoding="utf-8").splitlines()
            found += sum(bool(KINDS.search(text[line - 1])) for line in code_lines(path))
    return found


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
    wheel, sizes = modules(WHEEL), function_lines()
    constraint = {*named(WHEEL, is_constraint), *named(WHEEL, tells_norms_apart)}
    option = named(WHEEL, declares("min_class_rows"))
    views = [name for name in named(WHEEL, views_doubles_as_integers) if name not in HASHES]
    unnamed = undeclared()
    lookups = [name for name in ("model/lookup.py", "backends/torch", "backends/sql") if (WHEEL / name).exists()]
    return [
        Measure("modules at the top level", "54", "at most 10", len(list(WHEEL.glob("*.py"))), 10),
        Measure("modules in src", "198", "130", len(wheel), 205, goal=130),
        Measure("code lines in src", "32,570", "20,000", code(WHEEL), 32_570, goal=20_000),
        Measure("non-empty lines of templates and scripts", "1,037", "", template_lines(), 1_037),
        Measure("code lines in tests", "33,000", "20,000", code(ROOT / "tests"), 34_900, goal=20_000),
        Measure("code lines in studies", "11,000", "7,000", code(STUDIES), 11_000, goal=7_000),
        Measure("lines that branch on the kind of fit", "202", "0", kinds_of_fits(), 200, goal=0),
        Measure("functions: code lines, 90 % have at most", "20", "20", sizes[len(sizes) * 9 // 10], 20),
        Measure("functions: code lines of the longest", "96", "50", sizes[-1], 96, goal=50),
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
    head = ["", "before", "target", "now", ""]
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
