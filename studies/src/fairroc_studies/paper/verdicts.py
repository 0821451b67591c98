"""A claim of the paper beside what was measured, and the words that judge it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fairroc_studies.paper.study import MODELS, Measured, Result, RocLines
from fairroc_studies.paper.summary import Summary, Table
from fairroc_studies.problems.registry import PROBLEMS

if TYPE_CHECKING:
    from fairroc_studies.paper.study import Study

Verdict: TypeAlias = Literal[
    "reproduced", "reproduced on the fitted people only", "partly", "not reproduced", "not run"
]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "reproduced on the fitted people only",
    "partly",
    "not reproduced",
    "not run",
)
NEAR = 0.0053
"""Where a claim names an epsilon, the nearest one of the run stands for it: at most a step of the paper's grid away."""
LEVEL = 1e-3
"""Losses and accuracies that differ by less count as equal (a tenth of a point)."""

MEASURED: tuple[Measured, ...] = ("fitted", "test")


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: what the paper says, what FROC and the exact method gave here, and by which rule it is judged."""

    id: str
    place: str  # in the paper
    claim: str
    measured: str  # of FROC, or why it was not run
    exact: str  # of the exact method, where there is something to say
    verdict: Verdict
    rule: str  # when it counts as reproduced
    note: str = ""  # what is known from elsewhere

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))


class Evidence:
    """The rows of a study, ready to be asked."""

    def __init__(self, study: Study) -> None:
        self.results: tuple[Result, ...] = tuple(study.results)
        self.rocs: tuple[RocLines, ...] = tuple(study.rocs)
        self.skipped: tuple[str, ...] = tuple(study.skipped)
        self.facts: dict[str, Any] = study.facts
        self.table = Table(self.results)

    def shared(self, problem: str, model: str, methods: Iterable[str]) -> set[int]:
        """Splits that every one of these methods was run on, of those that were run at all."""
        wanted, found = set(methods), dict[str, set[int]]()
        for row in self.results:
            if (row.problem, row.model, row.kind) == (problem, model, "splits") and row.method in wanted:
                found.setdefault(row.method, set()).add(row.repetition)
        return set.intersection(*found.values()) if found else set()

    def on_shared(self, problem: str, model: str, methods: Iterable[str]) -> Table:
        """Means over these splits only: methods are compared on the same people."""
        splits = self.shared(problem, model, methods)
        return Table(
            row
            for row in self.results
            if (row.problem, row.model, row.kind) == (problem, model, "splits") and row.repetition in splits
        )

    def main(self, problem: str, model: str) -> bool | None:
        """The setting that claims are judged by: with the protected attribute if that was run; None: nothing was."""
        settings = self.table.protected(problem, model)
        return settings[0] if settings else None

    def rows(
        self, problem: str, model: str, method: str, measured: Measured, table: Table | None = None
    ) -> list[Summary]:
        """Means over the splits, by rising epsilon, of the setting that claims are judged by."""
        protected = self.main(problem, model)
        if protected is None:
            return []
        return (table or self.table).series(problem, model, method, measured, protected=protected)

    def at(self, epsilon: float, problem: str, model: str, method: str, measured: Measured) -> Summary | None:
        """The mean row nearest to an epsilon, if one is near."""
        protected = self.main(problem, model)
        if protected is None:
            return None
        return self.table.at(epsilon, NEAR, problem, model, method, measured=measured, protected=protected)

    def before(self, problem: str, model: str, measured: Measured) -> Summary | None:
        """The model as it is."""
        rows = self.rows(problem, model, "none", measured)
        return rows[0] if rows else None

    def lines(self, problem: str, model: str, method: str, epsilon: float | None = None) -> RocLines | None:
        """ROC curves of the setting that claims are judged by, nearest to an epsilon."""
        protected = self.main(problem, model)
        found = [
            r for r in self.rocs if (r.problem, r.model, r.protected, r.method) == (problem, model, protected, method)
        ]
        if epsilon is None:
            return found[0] if found else None
        return min(found, key=lambda r: abs((r.epsilon or 0.0) - epsilon), default=None)

    def why_not(self, problem: str, model: str) -> str:
        """Why there are no rows of a problem and a model."""
        for line in self.skipped:
            words = set(line.lower().replace(":", " ").replace(",", " ").split())
            models, problems = words & set(MODELS), words & set(PROBLEMS)
            if (models or problems) and models <= {model} and problems <= {problem}:
                return f"not run: {line}"
        return f"not run: {model} on {problem} was not part of this run"


def judge(fitted: Sequence[bool], test: Sequence[bool], *, partly: bool = False) -> Verdict:
    """From what held among the fitted people and among people nobody had seen; ``partly``: less than that held."""
    if not fitted and not test:
        return "not run"
    if all(fitted) and test and all(test):
        return "reproduced"
    if fitted and all(fitted):
        return "reproduced on the fitted people only"
    return "partly" if partly or any(fitted) or any(test) else "not reproduced"


def not_run(id: str, place: str, claim: str, rule: str, why: str, note: str = "") -> Claim:
    """A claim without runs."""
    return Claim(id, place, claim, why, "", "not run", rule, note)


def by_people(told: Callable[[str, Measured], str | None]) -> tuple[str, str]:
    """What there is to tell of FROC and of the exact method, of the fitted people and of the test people."""
    said, exact = (
        "; ".join(f"{who} people: {words}" for who in MEASURED if (words := told(method, who)) is not None)
        for method in ("froc", "optimal")
    )
    return said, exact


def points(value: float | None, digits: int = 2) -> str:
    """A share in points.

    >>> points(0.0123)
    '1.23 points'
    """
    return "–" if value is None else f"{100 * value:.{digits}f} points"


def count(flags: Sequence[bool], words: str = "") -> str:
    """How often something held."""
    return f"{sum(flags):,} of {len(flags):,}{' ' + words if words else ''}"
