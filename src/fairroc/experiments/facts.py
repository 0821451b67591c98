"""A study's facts in words: who was in it, and what it ran with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairroc._version import __version__
from fairroc.report.html_tags import Html, join, name_of, table, tag

__all__ = ["parts_table", "versions", "work_words"]


def versions(facts: Mapping[str, Any]) -> str:
    """Programs and their versions; fairroc's first."""
    known = {"fairroc": __version__, **facts.get("versions", {})}
    return ", ".join(f"{name} {version}" for name, version in known.items())


def work_words(facts: Mapping[str, Any]) -> str:
    """How much was computed and how long it took."""
    if "jobs" not in facts:
        return ""
    kept = f", {facts['stored']:,} of them kept from an earlier run" if facts.get("stored") else ""
    return f"{facts['jobs']:,} models trained and measured{kept}; {facts.get('seconds', 0.0):,.0f} seconds."


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
