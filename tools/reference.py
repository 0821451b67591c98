"""Write docs/reference/api.md, all public names: ``python tools/reference.py``. A test holds the page to it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

PUBLIC = {
    "fairroc": "Everything most people need.",
    "fairroc.estimators": "scikit-learn's way in, with scorers and folds.",
    "fairroc.frames": "Data frames of pandas, polars, Arrow, DuckDB, Dask and Spark.",
    "fairroc.plot": "Pictures (needs matplotlib).",
    "fairroc.report": "The report as one HTML file and as JSON, and a folder for regulators.",
    "fairroc.mlflow": "Models for MLflow (needs mlflow).",
    "fairroc.froc": "The paper's own objects.",
    "fairroc.datasets": "The data sets of the examples and studies.",
    "fairroc.errors": "Errors and warnings. All errors are `ValueError`s.",
}
INTRODUCTION = """# Python API

Every name that users may rely on, by module; each has a page of its own on the site, made from its docstring (what
`help(name)` shows). Options are in [their own table](options.md), words in [the glossary](glossary.md). Whatever
is not listed here may change without a word.
"""
PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "api.md"


MODELS = ("FairROC", "FairROCClassifier", "FairModel", "ScoreCounts", "GroupCodes")


def kind(module: str, name: str) -> str:
    """Under which heading of its module a name stands; "" for modules that need none."""
    thing = getattr(import_module(module), name)
    if module != "fairroc":
        return ""
    if not isinstance(thing, type):
        return "Functions"
    if issubclass(thing, Exception):
        return "Errors and warnings"
    return "Models and counts" if name in MODELS else "Pictures" if name.endswith("Display") else "Results"


def page() -> str:
    """The page as it must read: tables for each module, which Sphinx fills. A name is listed where it is shortest."""
    parts, listed = [INTRODUCTION], dict[str, object]()
    for module, about in PUBLIC.items():
        found = import_module(module)
        names = sorted(set(found.__all__) - {"__version__"}, key=str.lower)
        again = [f"`{name}`" for name in names if listed.get(name) is getattr(found, name)]
        fresh = [name for name in names if listed.get(name) is not getattr(found, name)]
        parts.append(f"## {module}\n\n{about}\n")
        for heading in ("", "Models and counts", "Functions", "Results", "Pictures", "Errors and warnings"):
            rows = "".join(f"   {module}.{name}\n" for name in fresh if kind(module, name) == heading)
            title = f"### {heading}\n\n" if heading else ""
            table = f"```{{eval-rst}}\n.. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{rows}```\n"
            parts += [title + table] if rows else []
        parts += [f"Also here, as in `fairroc`: {', '.join(again)}.\n"] if again else []
        listed |= {name: getattr(found, name) for name in fresh}
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
