"""The transform of many kinds of models beside one np.searchsorted of the same scores among 1,000 thresholds.

    python -m fairroc_studies transform                          # 1e6 and 1e7 rows: about ten minutes
    python -m fairroc_studies transform --rows 1e6 --only draw   # only families with "draw" in their name

CPU nanoseconds for a row on one thread, everything that `model.transform` does included: scores and groups are checked,
integer ids hashed. Both take turns in one process and the best round counts. "drawn" is the share of people who are,
"table" the number of outcomes of all draws.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairroc import FairROC
from fairroc.core.finder import Finder
from fairroc.errors import FairrocWarning
from fairroc.fairmodel import FairModel
from fairroc_studies.harness.people import Array, Part
from fairroc_studies.harness.tables import table
from fairroc_studies.peers.runners.fairroc import thousand_blocks
from fairroc_studies.peers.runners.reference import SearchSorted
from fairroc_studies.problems.synthetic import synthetic

GOAL = 2.0


def unlike(rows: int, groups: int, seed: int) -> Part:
    """People of groups that differ in everything: shift, separation, and share of positives."""
    of_groups, rng = np.random.default_rng(groups), np.random.default_rng([seed, rows, groups])
    shift, apart, share = (
        of_groups.normal(0.0, 0.5, groups),
        *of_groups.uniform([[1.0], [0.2]], [[2.0], [0.5]], (2, groups)),
    )
    group = rng.permutation(np.arange(rows) % groups)
    label = rng.random(rows) < share[group]
    score = 1.0 / (1.0 + np.exp(-rng.normal(size=rows) - shift[group] - apart[group] * label))
    return Part(score, label.astype(np.int8), group.astype(np.int8 if groups < 128 else np.int16))


@dataclass(frozen=True)
class Family:
    """A kind of model: ``fitted`` rows of groups that are alike, or not; 0 for a model of 1,000 blocks."""

    groups: int
    draw: str
    alike: bool = True
    epsilon: float = 0.05
    fitted: int = 10**6

    def __str__(self) -> str:
        if not self.fitted:
            return "all, 2 groups, 1,000 blocks each"
        small = "" if self.fitted == 10**6 else f", fitted to {self.fitted:,} rows"
        return f"{self.draw}, {self.groups:,} {'' if self.alike else 'unlike '}groups, ε = {self.epsilon:g}{small}"

    def people(self, rows: int, seed: int) -> Part:
        return synthetic(rows, groups=self.groups, seed=seed) if self.alike else unlike(rows, self.groups, seed)

    def model(self) -> FairModel:
        if not self.fitted:
            return thousand_blocks()
        part = self.people(self.fitted, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairrocWarning)
            post = FairROC(self.epsilon, promise="fitted", draw=self.draw, salt=1)
            return post.fit(part.scores, part.labels, sensitive_features=part.groups).model_


FAMILIES = (
    *(Family(groups, "few") for groups in (2, 8, 32)),
    *(Family(groups, "few", alike=False) for groups in (2, 8, 200, 1000)),
    Family(8, "few", alike=False, epsilon=0.01),
    *(Family(groups, "all") for groups in (2, 8, 16, 32)),
    *(Family(groups, "all", alike=False) for groups in (8, 200)),
    *(Family(groups, "all", alike=False, fitted=4000) for groups in (8, 200)),
    Family(2, "all", fitted=0),
)


def in_turns(calls: list[Callable[[], Array]], rounds: int) -> list[float]:
    """Least CPU seconds of each call."""
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            begin = time.process_time()
            call()
            best[i] = min(best[i], time.process_time() - begin)
    return best


def cost(model: FairModel, part: Part, rounds: int) -> str:
    """Of a row, and how many times as fast as a search."""
    rows, search = len(part.scores), SearchSorted()
    ids = np.arange(rows)
    calls = [
        lambda: model.transform(part.scores, sensitive_features=part.groups, ids=ids),
        lambda: search.predict(part.scores),
    ]
    fair, rank = in_turns(calls, rounds)
    return f"{1e9 * fair / rows:.0f} ns, {rank / fair:.2f} ×{'' if rank >= GOAL * fair else ' (missed)'}"


def line(family: Family, sizes: list[int], rounds: int) -> list[str]:
    """The family's line of the table."""
    model, few = family.model(), family.people(10**5, 2)
    if model.tables is None:
        return [str(family), "the score is fair as it is", "", *("" for _ in sizes)]
    cells = model.tables.cells
    found = Finder(cells.starts()).find(model.read(few.scores, few.groups).groups, few.scores)
    costs = [cost(model, family.people(rows, 1), max(3, rounds * 10**6 // rows)) for rows in sizes]
    return [str(family), f"{(cells.row[found] >= 0).mean():.0%}", f"{len(model.tables.outcomes.row):,}", *costs]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m fairroc_studies transform",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", nargs="+", type=float, default=[1e6, 1e7])
    parser.add_argument("--rounds", type=int, default=15, help="for a million rows; fewer for more")
    parser.add_argument("--only", default="", help="part of the names of families")
    options = parser.parse_args()
    sizes = [int(rows) for rows in options.rows]
    print(table(["model", "drawn", "table", *(f"{rows:,} rows" for rows in sizes)], []), flush=True)
    for family in FAMILIES:
        if options.only in str(family):
            print("| " + " | ".join(line(family, sizes, options.rounds)) + " |", flush=True)


if __name__ == "__main__":
    main()
