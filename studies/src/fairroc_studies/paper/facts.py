"""A study's facts in words: who was in it, and what it ran with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairroc._version import __version__
from fairroc_studies.paper.tags import Html, join, name_of, table, tag


def versions(facts: Mapping[str, Any]) -> str:
    """Programs and their versions; fairroc's first."""
    known = {"fairroc": __version__, **facts.get("versions", {})}
    return ", ".join(f"{name} {version}" for name, version in known.items())


def work_words(facts: Mapping[str, Any]) -> str:
    """How much was computed and how long it took, unless part of it was kept from an earlier run.

    >>> work_words({"jobs": 80, "stored": 0, "seconds": 92.3}), work_words({"jobs": 80, "stored": 8, "seconds": 3.0})
    ('80 models trained and measured in 92 seconds.', '80 models trained and measured, 8 of them in an earlier run.')
    """
    if "jobs" not in facts:
        return ""
    done, kept = f"{facts['jobs']:,} models trained and measured", facts.get("stored", 0)
    if kept:
        return f"{done}, {'all' if kept == facts['jobs'] else f'{kept:,}'} of them in an earlier run."
    return f"{done} in {facts.get('seconds', 0.0):,.0f} seconds."


def parts_table(facts: Mapping[str, Any]) -> Html:
    """Rows of every problem, of its parts in split 0 and of its groups, and warnings counted."""
    rows = [
        [name_of(name), *(_count(about.get(part)) for part in PARTS), _groups(about)]
        for name, about in facts.get("problems", {}).items()
    ]
    head = ["problem", "rows", "train", "calibration", "test", "groups (share of positives; * privileged)"]
    parts: list[object] = [tag("div", table("People of every problem", head, rows), class_="words")] if rows else []
    warned = [tag("li", f"{count:,} × {words}") for words, count in facts.get("warnings", {}).items()]
    if warned:
        parts.append(tag("details", tag("summary", "Warnings of the fits"), tag("ul", *warned)))
    return join([*parts, tag("p", work_words(facts), class_="note")])


PARTS = ("rows", "train", "calibration", "test")


def _count(value: Any) -> str:
    return "–" if value is None else f"{value:,}"


def _groups(about: Mapping[str, Any]) -> Html:
    said = []
    for name, group in about.get("groups", {}).items():
        share = f"{100 * group['positives'] / group['rows']:.0f} %" if group.get("rows") else "–"
        star = "*" if name == about.get("privileged") else ""
        said.append(join([name_of(name), f"{star} {_count(group.get('rows'))} ({share})"]))
    return join(said, "; ")
