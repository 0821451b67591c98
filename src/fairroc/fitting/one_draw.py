"""What one draw does to the fitted people: its gap exceeds the gap in expectation, by more the fewer people there are.

Nothing exact is known of the largest of many random distances, so draws are simulated. Few people are all drawn for. Of
many, some stand for all: what they scatter around their own expectation is shrunk to what all scatter, and added to the
expectation of all, at many thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fairroc.core.chain import MANY_GROUPS, FloatArray, IntArray
from fairroc.core.constraint import Constraint, Rates
from fairroc.core.gap import threshold_gap
from fairroc.core.realised import performance, realise
from fairroc.core.roc import Population, RocCurve, rates_at, roc_curve
from fairroc.docstrings import FITTED, documented
from fairroc.fitting.fit import Fitted
from fairroc.model.draw import uniforms_from_state
from fairroc.people.cells import WeightedSample
from fairroc.people.people import Sample
from fairroc.people.rows import ScoreColumns
from fairroc.stats.bins import fewer
from fairroc.stats.bootstrap import Progress, portion
from fairroc.summary import Result

DRAWS, LEAST_DRAWS = 50, 12
"""Draws that are simulated: the mean is then known to a seventh of the spread. With many groups fewer."""

SEED = 1_000_003
"""Draws are the same for the same people. Not a seed that examples are made from: numbers must not come twice."""

MOST, LEAST, LEAST_MANY = 1 << 13, 1 << 9, 1 << 6
"""Up to so many people are all drawn for. Of more, every class gets its share of ``MOST``, but ``LEAST``; with very
many groups ``LEAST_MANY``."""

LOOKS, LEAST_LOOKS = 1 << 11, 1 << 9
"""Thresholds, about, to look at where some people stand for all."""

TAIL = 0.05
"""Share of draws beyond ``upper``."""


@documented(setup=FITTED)
@dataclass(frozen=True, slots=True, repr=False)
class OneDraw(Result):
    """The gap among the fitted people once the fair score is drawn, by simulation.

    Attributes
    ----------
    rows : fitted rows.
    expected : gap in expectation over the draw, which is what a fit promises.
    gap : mean over draws of the gap of one draw.
    spread : standard deviation of the gap from draw to draw.
    upper : one draw in twenty has a larger gap.
    draws : number of draws simulated; 0 if nobody is drawn, and then one draw is its expectation.

    >>> found = post.one_draw_
    >>> found.expected < found.gap < found.upper
    True
    """

    rows: int
    expected: float
    gap: float
    spread: float
    upper: float
    draws: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        >>> post.one_draw_.to_dict()["rows"]
        1000
        """
        return asdict(self)


def one_draw(fitted: Fitted, draws: int | None = None, *, progress: Progress | None = None) -> OneDraw:
    """Simulate draws for the fitted people, the same ones each time. O(distinct scores), then no more for more people.
    ``progress(done, all)`` is told in per cent.

    >>> from fairroc.fitting.fit import fit
    >>> from fairroc.options import Options
    >>> from fairroc.people.door import read_people
    >>> scores, y = np.arange(400) % 97, (np.arange(400) * np.tile([1, 3], 200)) % 97 > 48
    >>> people = read_people(scores, y, sensitive_features=np.tile(["a", "b"], 200))
    >>> found = one_draw(fit(people, Options.checked(epsilon=0.1, promise="fitted", draw="all")))
    >>> found.expected < found.gap < found.upper
    True
    """
    rows, expected = fitted.people.rows, _expected(fitted)
    tables = fitted.model.tables
    if tables is None or not (tables.cells.row >= 0).any():
        return OneDraw(rows, expected, expected, 0.0, expected, 0)
    draws = fewer(DRAWS, len(fitted.people.names), LEAST_DRAWS) if draws is None else draws
    gaps = np.zeros(draws)
    for i, gap in enumerate(_gaps(fitted, draws)):
        gaps[i] = gap
        portion(progress, 0, 100)(i + 1, draws)
    upper = float(np.quantile(gaps, 1.0 - TAIL))
    return OneDraw(rows, expected, float(gaps.mean()), float(gaps.std(ddof=1)), upper, draws)


def _expected(fitted: Fitted) -> float:
    """The gap in expectation over the draw, where one draw can be told about."""
    constraint, told = fitted.model.fairness, fitted.model.fairness.told()
    if told is constraint:
        return fitted.performance.gap
    return (
        performance(fitted.realised, fitted.raw, told).gap if fitted.realised else threshold_gap(fitted.raw, told).value
    )


def _gaps(fitted: Fitted, draws: int) -> Iterator[float]:
    """The gap of every draw."""
    model, constraint = fitted.model, fitted.model.fairness.told()
    people, samples = fitted.people.thin, fitted.people.samples
    whole = fitted.people.rows <= MOST
    most = MOST if whole else max(MOST // (2 * len(samples)), LEAST if len(samples) <= MANY_GROUPS else LEAST_MANY)
    groups = [_taken(sample, most) for sample in samples]
    rng = np.random.default_rng(SEED)
    columns = ScoreColumns(
        np.concatenate([group.scores for group in groups]),
        np.repeat(np.arange(len(groups)), [len(group.scores) for group in groups]),
        0,
    )
    ends = np.cumsum([len(group.scores) for group in groups])[:-1]

    def drawn() -> list[RocCurve]:
        fair = model.fair_scores(columns, uniforms_from_state(rng, len(columns.scores)))
        return [group.curve(part) for group, part in zip(groups, np.split(fair, ends), strict=True)]

    if whole:
        for _ in range(draws):
            yield threshold_gap(replace(people, curves=tuple(drawn())), constraint).value
        return
    thresholds = _thresholds(drawn())
    assert model.scale is not None  # somebody is drawn
    places = model.scale.to_place(thresholds)
    kernels = zip(groups, model.kernels, strict=True)
    theirs = [realise(group.curve(group.scores), kernel) for group, kernel in kernels]
    all_people, some = (np.stack([one.at(places)[:, :2].T for one in part]) for part in (fitted.realised, theirs))
    shrink = np.stack([group.shrink for group in groups])[:, :, None]
    between = _expected(fitted) - _largest(all_people, people, constraint)  # what these thresholds miss
    for _ in range(draws):
        scattered = np.stack([rates_at(curve, thresholds) for curve in drawn()])
        yield _largest(all_people + shrink * (scattered - some), people, constraint) + between


def _largest(rates: FloatArray, people: Population, constraint: Constraint) -> float:
    """Largest distance of two groups, from (groups, 2, k) rates."""
    fpr, tpr = rates.transpose(1, 2, 0)
    return float(constraint.measured(Rates(fpr, tpr, people.priors, people.shares)).max())


def _thresholds(curves: Sequence[RocCurve]) -> FloatArray:
    """About ``LOOKS`` of the fair scores of a draw, falling; every class has equally many."""
    scores = np.unique(np.concatenate([curve.thresholds for curve in curves]))[::-1]
    return scores[:: max(1, len(scores) // fewer(LOOKS, len(curves), LEAST_LOOKS))]


@dataclass(frozen=True, slots=True, eq=False)
class _Taken:
    """People of one group to draw for; ``weights`` is None if all weigh the same.

    ``shrink`` is what the scatter of their (fpr, tpr) must be multiplied by to be that of all people of the group.
    """

    scores: FloatArray
    positives: int
    weights: FloatArray | None
    shrink: FloatArray

    def curve(self, scores: FloatArray) -> RocCurve:
        """ROC curve of other scores of theirs."""
        labels = np.arange(len(scores)) >= len(scores) - self.positives
        return roc_curve(scores, labels, self.weights)


def _taken(sample: Sample, most: int) -> _Taken:
    """All negatives and all positives, or ``most`` of them that stand for all."""
    scores, labels, mass = sample.cells()
    weighted = isinstance(sample, WeightedSample)
    parts = [_class(scores[mine], mass[mine], most, weighted) for mine in (~labels & (mass > 0), labels & (mass > 0))]
    return _Taken(
        scores=np.concatenate([part[0] for part in parts]),
        positives=len(parts[1][0]),
        weights=np.concatenate([part[1] for part in parts]) if weighted else None,
        shrink=np.array([part[2] for part in parts]),
    )


def _class(
    scores: FloatArray, mass: FloatArray | IntArray, most: int, weighted: bool
) -> tuple[FloatArray, FloatArray, float]:
    """Scores and weights of people of one class, and how much less all people scatter than they.

    The variance of a rate is a sum over people of their squared share of the weight. So those who stand for all are
    taken at equal steps of the squared weight, along the score, and count the same.
    """
    if not weighted and mass.sum() <= most:
        return np.repeat(scores, mass.astype(np.intp)), np.ones(int(mass.sum())), 1.0
    share = mass / mass.max()
    if weighted and len(mass) <= most:
        return scores, share, 1.0
    order = np.argsort(scores, kind="stable")
    squares = np.cumsum((share**2 if weighted else mass)[order])
    at = np.searchsorted(squares, (np.arange(most) + 0.5) * (squares[-1] / most))
    total = share.sum() if weighted else mass.sum()
    return scores[order[at]], np.ones(most), float(np.sqrt(most * float(squares[-1])) / total)
