"""Write docs/reference/names.md, all public names: ``python tools/reference.py``. A test holds the page to it."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

PUBLIC = {
    "fairroc": "Everything most people need.",
    "fairroc.estimators": "scikit-learn's way in, with scorers and folds.",
    "fairroc.frames": "Data frames of pandas, polars, Arrow, DuckDB, Dask and Spark.",
    "fairroc.plot": "Pictures (needs matplotlib).",
    "fairroc.report": "The report as one HTML file (needs plotly and Jinja2).",
    "fairroc.froc": "The paper's own objects.",
    "fairroc.datasets": "The data sets of the examples and studies.",
    "fairroc.errors": "Errors and warnings. All errors are `ValueError`s.",
}
INTRODUCTION = """# Public names

Every name that users may rely on, by module, with the first line of its documentation (`help(name)` has the rest).
Options are in [their own table](options.md), words in [the glossary](glossary.md). Whatever is not listed
here may change without a word.
"""
PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "names.md"


def first_line(thing: object) -> str:
    """The promise of a name: the first sentence of its documentation, on one line."""
    if isinstance(thing, str):
        return "The version."
    paragraph = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def page() -> str:
    """The page as it must read."""
    parts = [INTRODUCTION]
    for module, about in PUBLIC.items():
        found = import_module(module)
        rows = [
            f"| `{module}.{name}` | {first_line(getattr(found, name))} |"
            for name in sorted(found.__all__, key=str.lower)
        ]
        parts.append(f"## {module}\n\n{about}\n\n| name | what it is |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
