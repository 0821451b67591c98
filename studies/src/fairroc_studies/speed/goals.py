"""The project's goals for speed and memory, and whether a run meets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairroc_studies.peers.catalogue import BINNED, DRAW, NAIVE, ORDER, ROC_CURVE, SEARCH, THOUSAND, Entry

SPARE_MEMORY = 32e6
"""Bytes that a call may hold beyond its input and output."""

Records = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Goal:
    """A figure and the bound it is held against; ``figure`` is None where it could not be measured."""

    text: str
    figure: float | None
    bound: float
    unit: str
    at_least: bool

    @property
    def met(self) -> bool | None:
        if self.figure is None:
            return None
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound


def goals(records: Records, rows: int) -> list[Goal]:
    """The goals for speed and memory, at one size of a run."""
    found = {record["title"]: record for record in records if record["rows"] == rows}
    return [
        _ratio("exact fit, default, against roc_curve per group", found, ROC_CURVE, ORDER, "fit", 2.5),
        _ratio('exact fit, ties="draw", against roc_curve per group', found, ROC_CURVE, DRAW, "fit", 2.5),
        _ratio("transform, default, against one np.searchsorted", found, SEARCH, ORDER, "predict", 2.0),
        _ratio("transform, 1,000 blocks, against one np.searchsorted", found, SEARCH, THOUSAND, "predict", 2.0),
        _ratio("transform, 1,000 blocks, against naive numpy, same model", found, NAIVE, THOUSAND, "predict", 8.0),
        *(
            _ratio(f"fit {entry.title[9:]}, against roc_curve per group", found, ROC_CURVE, entry, "fit", bound)
            for entry, bound in zip(BINNED, (40.0, 35.0), strict=True)
        ),
        *(_memory(f"extra memory of fit, {entry.title[9:]}", found, entry, "fit") for entry in (ORDER, DRAW)),
        *(
            _memory(f"extra memory of transform, {entry.title[9:]}", found, entry, "predict")
            for entry in (THOUSAND, ORDER)
        ),
    ]


def start_goals(startup: dict[str, float]) -> list[Goal]:
    """The goals for starting up."""
    extra = 1e3 * (startup["import"] - startup["bare"])
    return [
        Goal("`import fairroc`, beyond a bare interpreter", extra, 150, "ms", False),
        Goal("`fairroc --help`", 1e3 * startup["help"], 200, "ms", False),
    ]


def cpu(found: dict[str, dict[str, Any]], entry: Entry, part: str) -> float | None:
    """CPU seconds of a contestant, None where it failed."""
    return found.get(entry.title, {}).get(part, {}).get("cpu")


def _ratio(text: str, found: dict[str, dict[str, Any]], reference: Entry, own: Entry, part: str, bound: float) -> Goal:
    slow, fast = cpu(found, reference, part), cpu(found, own, part)
    return Goal(text, None if slow is None or fast is None else slow / fast, bound, "×", True)


def _memory(text: str, found: dict[str, dict[str, Any]], entry: Entry, part: str) -> Goal:
    cost = found.get(entry.title, {}).get(part)
    if cost is None:
        return Goal(text, None, SPARE_MEMORY / 1e6, "MB", False)
    return Goal(text, cost["memory"] / 1e6, (cost["input"] + cost["output"] + SPARE_MEMORY) / 1e6, "MB", False)
