"""How much larger is the gap of one draw than the gap in expectation, and do draws spread along the score cut that?

    python -m fairroc_studies one-draw              # two to three minutes on one core
    python -m fairroc_studies one-draw --quick      # under a minute

Scores of a logistic regression, trained on 70 % of Adult (by sex) or COMPAS (African-American or not). Of the others,
so many are fitted, and as many again are new. Their fair scores are drawn in three ways:

- independent: every person has an own number, as the hash of an id gives it.
- spread: those of a group who are drawn stand in the order of their scores, ties in random order, and get the numbers
  start, start + g, start + 2 g, ... modulo 1, where g is the golden ratio and start is random. Any run of neighbours
  covers [0, 1) evenly; every single number is uniform, so all expectations stay as they were.
- spread, labels known: the same for each label by itself. Nobody knows the label when a decision is drawn: this is what
  the labels hide, not a method.

"Excess" is the mean gap of one draw, at all its thresholds, less the gap in expectation of the same people; numbers are
means over repetitions with the standard error of the mean. "Possible" is what spreading can cut at most of the noise in
|dFPR| + |dTPR| at one threshold as long as labels are unknown: among neighbours, who of those accepted is a positive
stays chance. Where the gap in expectation is large, the excess goes rather with the square of the noise.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fairroc import FairModel, FairROC
from fairroc_studies.harness.curve import reached
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array, Part, load
from fairroc_studies.harness.tables import mean_se, shown, table
from fairroc_studies.paper.rules import expected
from fairroc_studies.problems.scores import trained_file

SIZES = {"compas": (300, 900), "adult": (300, 1000, 5000)}
EPSILONS = (0.02, 0.05, 0.1)
DRAWS = 4
"""Draws of each kind in every repetition."""
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Outcome:
    """One repetition on one batch of people: the gap in expectation, and the mean excess of each kind of draw."""

    data: str
    rows: int
    epsilon: float
    batch: str  # "fitted" or "new"
    drawn: float
    gap: float
    excess: dict[str, float]
    possible: float


# -- draws -------------------------------------------------------------------------------------------------------------


def independent(people: Part, drawn: Array, rng: np.random.Generator) -> Array:
    """A number of their own for everyone."""
    return rng.random(people.rows)


def spread(people: Part, drawn: Array, rng: np.random.Generator) -> Array:
    """Evenly along the score, group by group."""
    return _along(people.scores, people.groups, drawn, rng)


def spread_by_label(people: Part, drawn: Array, rng: np.random.Generator) -> Array:
    """Evenly along the score, by group and label."""
    return _along(people.scores, people.cells, drawn, rng)


def _along(scores: Array, cells: Array, drawn: Array, rng: np.random.Generator) -> Array:
    numbers, ties = rng.random(len(scores)), rng.random(len(scores))
    for cell in np.unique(cells):
        rows = np.flatnonzero((cells == cell) & drawn)
        rows = rows[np.lexsort((ties[rows], scores[rows]))]
        numbers[rows] = (rng.random() + GOLDEN * np.arange(len(rows))) % 1.0
    return numbers


KINDS: dict[str, Callable[[Part, Array, np.random.Generator], Array]] = {
    "independent": independent,
    "spread": spread,
    "labels known": spread_by_label,
}


# -- measuring ---------------------------------------------------------------------------------------------------------


def possible(people: Part, drawn: Array) -> float:
    """Share of the noise that spreading can cut at most, mean over groups.

    Of n people with p positives, D is the sum of the variances of their labels given the score, half the number of
    changes of label along the score. Independent draws scatter the rates like 1 / sqrt(p) + 1 / sqrt(n - p), and draws
    whose number accepted is fixed like sqrt(D) * (1 / p + 1 / (n - p)).
    """
    cuts = []
    for g in range(people.count):
        rows = np.flatnonzero((people.groups == g) & drawn)
        labels = people.labels[rows[np.argsort(people.scores[rows], kind="stable")]].astype(np.int64)
        both = np.bincount(labels, minlength=2)
        if both.min():
            left = np.sqrt(np.abs(np.diff(labels)).sum() / 2) * (1 / both).sum() / (1 / np.sqrt(both)).sum()
            cuts.append(1.0 - min(float(left), 1.0))
    return float(np.mean(cuts)) if cuts else 0.0


def outcome(model: FairModel, people: Part, rng: np.random.Generator) -> tuple[float, float, dict[str, float], float]:
    """Share drawn, gap in expectation, excess of each kind of draw, and what is possible."""
    columns = model.read(people.scores, people.group_names)
    ends = [model.fair_scores(columns, np.full(people.rows, u)) for u in (0.0, np.nextafter(1.0, 0.0))]
    drawn, gap = ends[0] != ends[1], expected(model, people).gap
    gaps = {
        kind: [reached(model.fair_scores(columns, draw(people, drawn, rng)), people).gap for _ in range(DRAWS)]
        for kind, draw in KINDS.items()
    }
    excess = {kind: float(np.mean(found)) - gap for kind, found in gaps.items()}
    return float(drawn.mean()), gap, excess, possible(people, drawn)


def job(name: str, size: int, repetition: int) -> list[Outcome]:
    """One sample of people, fitted at every epsilon, and as many new people."""
    case = load(trained_file(name, "logistic", 0))
    everyone = case.calibration.then(case.test)
    everyone = Part(everyone.scores, everyone.labels.astype(bool), everyone.groups, ("0", "1"))
    rng = np.random.default_rng([2_000_003, size, repetition])
    order = rng.permutation(everyone.rows)
    batches = {"fitted": everyone.take(order[:size]), "new": everyone.take(order[size : 2 * size])}
    fit, done = batches["fitted"], []
    for epsilon in EPSILONS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            post = FairROC(epsilon, promise="fitted", salt=1).fit(
                fit.scores, fit.labels, sensitive_features=fit.group_names
            )
        if not post.model_.unchanged:
            for batch, people in batches.items():
                found = outcome(post.model_, people, rng)
                done.append(Outcome(name, size, epsilon, batch, *found))
    return done


def cut(done: Sequence[Outcome], kind: str) -> str:
    """By how much a kind of draws cuts the excess."""
    of, to = (mean_se([one.excess[name] for one in done])[0] for name in ("independent", kind))
    return f"{1 - to / of:.0%}"


def excess_table(done: Sequence[Outcome], batch: str) -> str:
    rows = []
    for name, sizes in SIZES.items():
        for size, epsilon in product(sizes, EPSILONS):
            cell = [one for one in done if (one.data, one.rows, one.epsilon, one.batch) == (name, size, epsilon, batch)]
            if cell:
                figures = [shown([one.excess[kind] for one in cell]) for kind in ("independent", "spread")]
                rows.append(
                    [
                        *(name, f"{size:,}", f"{epsilon:g}", f"{np.mean([one.drawn for one in cell]):.0%}"),
                        f"{np.mean([one.gap for one in cell]):.3f}",
                        *(*figures, cut(cell, "spread"), f"{np.mean([one.possible for one in cell]):.0%}"),
                        cut(cell, "labels known"),
                    ]
                )
    head = ["data", "people", "ε", "drawn", "gap in expectation", "excess, independent", "excess, spread", "cut"]
    return table([*head, "possible", "cut if labels were known"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--quick", action="store_true", help="four repetitions")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    begin = time.perf_counter()
    repetitions = 4 if options.quick else options.repetitions
    tasks = [(name, size, r) for r in range(repetitions) for name, sizes in SIZES.items() for size in sizes]
    done = [one for part in in_order(job, tasks, options.jobs) for one in part]
    for batch in ("fitted", "new"):
        print(f"{batch} people, {repetitions} repetitions, {DRAWS} draws of each kind\n")
        print(excess_table(done, batch))
        all_of = [one for one in done if one.batch == batch]
        print(f"\nall together: cut {cut(all_of, 'spread')}; if labels were known {cut(all_of, 'labels known')}\n")
    print(f"{time.perf_counter() - begin:.0f} s")
