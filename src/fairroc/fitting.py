"""Fit: columns -> ROC curves -> fair curves -> levels -> kernels -> model."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from fairroc import draw
from fairroc._version import __version__
from fairroc.checks import check_epsilon, check_norm
from fairroc.columns import Columns, refuse_tiny_groups, warn_small_groups
from fairroc.core.bound import pooled_bound
from fairroc.core.chain import FloatArray, Norm
from fairroc.core.coupling import Levels, couple
from fairroc.core.gap import is_fair
from fairroc.core.kernel import Kernel, drawn_kernel, ordered_kernel
from fairroc.core.optimal import optimal
from fairroc.core.roc import RocCurve, query_curve, query_thresholds, roc_curve, thinned
from fairroc.core.scale import build_scale
from fairroc.core.walk import Performance, Walk, performance, walk
from fairroc.errors import DataError, FairrocWarning
from fairroc.model import FairModel, FitRecord, GroupRecord

ROUNDING = 1e-12
"""How far rounding may carry the exact gap over epsilon."""

GUIDE_TOLERANCE = 1e-4
"""The guide of the coupling needs the pooled region only roughly (about forty small linear programs)."""

ORDER_LADDER = (1.0, 0.95, 0.9, 0.8, 0.7, 0.55, 0.4, 0.25)
"""Shares of epsilon tried as internal epsilon when the raw order is kept. The gap need not follow the internal epsilon,
so steps are not guessed from it; below a quarter the price is out of proportion, and ties are drawn instead."""

ORDER_REFINED = 3
"""Halvings of the last step of the ladder, back towards epsilon."""

COARSE, FINE = 1 << 12, 1 << 16
"""Points of a curve when an internal epsilon is looked for, and when it is settled."""

ORDER_CLOSE = 0.02
"""Stop looking for a larger internal epsilon when the gap reached is within this share of epsilon."""


DEFAULT_TIES = "order"
"""On real held-out data gap and AUC are as good or better, and far fewer people are drawn (benchmarks/ties.py)."""


@dataclass(frozen=True, slots=True)
class Options:
    """Parameters of a fit, checked."""

    epsilon: float
    norm: Norm = 1
    method: str = "optimal"
    queries: int | None = None
    ties: str = DEFAULT_TIES
    hash: str = "xxh64"
    min_class_rows: int = 1

    @classmethod
    def checked(
        cls,
        *,
        epsilon: Any,
        norm: Any = 1,
        method: str = "optimal",
        queries: Any = None,
        ties: str = DEFAULT_TIES,
        hash: str = "xxh64",
        min_class_rows: Any = 1,
    ) -> Options:
        """Options from whatever a caller gives, or an error that says what must hold."""
        _one_of("method", method, ("optimal",))
        _one_of("ties", ties, ("draw", "order"))
        _one_of("hash", hash, ("xxh64", "blake2b"))
        if queries is not None and not (_whole(queries) and queries >= 2):
            raise DataError(f"queries must be a whole number of at least 2 (or None for all scores); {queries!r} came.")
        if not (_whole(min_class_rows) and min_class_rows >= 1):
            raise DataError(f"min_class_rows must be a whole number of at least 1; {min_class_rows!r} came.")
        return cls(
            epsilon=check_epsilon(epsilon),
            norm=check_norm(norm),
            method=method,
            queries=None if queries is None else int(queries),
            ties=ties,
            hash=hash,
            min_class_rows=int(min_class_rows),
        )


def _whole(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer()


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        words = " or ".join(repr(word) for word in allowed)
        raise DataError(f"{name} must be {words}; {value!r} came.")


@dataclass(frozen=True, eq=False)
class Population:
    """The groups' ROC curves and their weights among negatives, positives and all people."""

    curves: tuple[RocCurve, ...]
    weights0: FloatArray
    weights1: FloatArray
    shares: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Levels, kernels and what they do, for one internal epsilon."""

    levels: Levels
    kernels: tuple[Kernel, ...]
    walks: tuple[Walk, ...]
    performance: Performance
    inner_epsilon: float
    ties: str


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model together with what it was made from, for certificates and plots."""

    model: FairModel
    options: Options
    columns: Columns
    population: Population
    solution: Solution | None

    @cached_property
    def raw(self) -> Population:
        """The population at all distinct scores, also where the fit used a query model."""
        return self.population if self.options.queries is None else measure(self.columns, None)


def fit(
    columns: Columns,
    options: Options,
    *,
    key: bytes | str | None = None,
    salt: int | None = None,
    date: datetime | None = None,
) -> Fitted:
    """Fit the fair score to checked columns."""
    refuse_tiny_groups(columns, options.min_class_rows)
    warn_small_groups(columns, stacklevel=4)
    population = measure(columns, options.queries)
    _warn_inverted(columns.names, population.curves)
    solution = None if _fair_already(columns, population, options) else solve(population, options)
    salt = draw.new_salt() if salt is None else draw.effective_salt(salt)
    model = FairModel(
        epsilon=options.epsilon,
        norm=options.norm,
        method=options.method,
        ties=options.ties if solution is None else solution.ties,
        inner_epsilon=options.epsilon if solution is None else solution.inner_epsilon,
        queries=options.queries,
        groups=_group_records(columns),
        kernels=() if solution is None else solution.kernels,
        scale=None if solution is None else build_scale(population.curves, solution.walks, population.shares),
        record=_record(columns, population, date),
        salt=salt,
        hash=options.hash,
        key_fingerprint=None if key is None else draw.key_fingerprint(salt, key),
    )
    return Fitted(model, options, columns, population, solution)


def measure(columns: Columns, queries: int | None) -> Population:
    """ROC curves of all groups: at all distinct scores, or at equidistant thresholds over the score range."""
    grid = None
    if queries is not None:
        grid = query_thresholds(float(columns.scores.min()), float(columns.scores.max()), queries)
    curves, totals = [], np.zeros((len(columns.names), 2))
    for g in range(len(columns.names)):
        rows = columns.group_rows(g)
        scores, labels = columns.scores[rows], columns.labels[rows]
        weights = None if columns.weights is None else columns.weights[rows]
        # Each class is summed by itself: a difference of sums would lose a class of far smaller weight.
        totals[g] = [float(part.sum() if weights is None else weights[part].sum()) for part in (~labels, labels)]
        curves.append(
            roc_curve(scores, labels, weights) if grid is None else query_curve(scores, labels, weights, grid)
        )
    class_total = totals.sum(axis=0)
    weights0, weights1 = totals[:, 0] / class_total[0], totals[:, 1] / class_total[1]
    return Population(tuple(curves), weights0, weights1, totals.sum(axis=1) / class_total.sum())


def solve(population: Population, options: Options) -> Solution:
    """The fair score at epsilon, with ties drawn or, where epsilon leaves room, in raw order."""
    if options.ties == "draw":
        return _solve_at(population, options, options.epsilon, "draw", guided=True)
    found = _solve_in_order(population, options)
    if found is not None:
        return found
    warnings.warn(
        f"ties are drawn: with the raw order kept the gap would stay above epsilon {options.epsilon:g}, down to an "
        f"internal epsilon of {ORDER_LADDER[-1] * options.epsilon:g}. A larger epsilon or more rows would leave room; "
        "ties='draw' says that draws are fine.",
        FairrocWarning,
        stacklevel=5,
    )
    return _solve_at(population, options, options.epsilon, "draw", guided=True)


def _solve_in_order(population: Population, options: Options) -> Solution | None:
    """Raw order kept: a large internal epsilon whose gap is within epsilon, or None.

    Looked for on a coarse version of the curves, settled on a fine one (the same, and exact, for up to FINE scores).
    The fine one's neighbouring scores count as tied; what they may hide is added to its gap.
    """
    coarse, fine = _thinned(population, COARSE), _thinned(population, FINE)
    found = _search_in_order(coarse, options)
    if found is None or fine.curves == coarse.curves:
        return found
    hidden = _hidden_gap(population, fine)
    inner = found.inner_epsilon
    for _ in ORDER_LADDER:
        tried = _solve_at(fine, options, inner, "order", guided=False)
        excess = tried.performance.gap + hidden - options.epsilon
        if excess <= ROUNDING:
            return tried
        inner = max(0.0, inner - 1.5 * excess)
    return None


def _search_in_order(population: Population, options: Options) -> Solution | None:
    """The first of a few internal epsilons, from epsilon down, whose gap is within epsilon; then a little up again."""
    target = options.epsilon
    above = target
    for inner in ORDER_LADDER:
        tried = _solve_at(population, options, inner * target, "order", guided=False)
        if tried.performance.gap <= target + ROUNDING:
            break
        above = inner * target
    else:
        return None
    best = tried
    for _ in range(ORDER_REFINED):
        if best.inner_epsilon == target or target - best.performance.gap <= ORDER_CLOSE * target:
            break
        middle = (best.inner_epsilon + above) / 2
        tried = _solve_at(population, options, middle, "order", guided=False)
        if tried.performance.gap <= target + ROUNDING:
            best = tried
        else:
            above = middle
    return best


def _thinned(population: Population, count: int) -> Population:
    curves = tuple(thinned(curve, count) for curve in population.curves)
    return population if curves == population.curves else replace(population, curves=curves)


def _hidden_gap(full: Population, thin: Population) -> float:
    """What the gap of a thinned population may miss: each group's point can lie anywhere inside its step."""
    if thin.curves == full.curves:
        return 0.0
    widths = sorted(float(np.diff(curve.u).max()) for curve in thin.curves)
    return sum(widths[-2:])


def _solve_at(population: Population, options: Options, inner: float, ties: str, *, guided: bool) -> Solution:
    hulls = [curve.hull for curve in population.curves]
    weights0, weights1, norm = population.weights0, population.weights1, options.norm
    guide = None
    if guided and norm == 1 and len(hulls) > 2 and inner > 0:  # measured: the plain start suffices elsewhere
        guide = pooled_bound(hulls, weights0, weights1, inner, norm, GUIDE_TOLERANCE).tuples
    levels = couple(optimal(hulls, inner, norm), weights0, weights1, guide)
    build = drawn_kernel if ties == "draw" else ordered_kernel
    kernels = tuple(build(c, levels.u[:, g], levels.v[:, g]) for g, c in enumerate(population.curves))
    walks = tuple(walk(curve, kernel) for curve, kernel in zip(population.curves, kernels, strict=True))
    done = performance(walks, weights0, weights1, norm)
    if ties == "draw" and done.gap > inner + ROUNDING:
        raise RuntimeError(f"the fair score's gap {done.gap!r} exceeds epsilon {inner!r}: please report this data")
    return Solution(levels, kernels, walks, done, inner, ties)


def _fair_already(columns: Columns, population: Population, options: Options) -> bool:
    """Whether the original score meets epsilon at all its own thresholds."""
    p = 1.0 if options.norm == 1 else np.inf
    if not is_fair(population.curves, p, options.epsilon):
        return False
    return options.queries is None or is_fair(measure(columns, None).curves, p, options.epsilon)


def _warn_inverted(names: tuple[str, ...], curves: tuple[RocCurve, ...]) -> None:
    low = [f"'{name}' ({curve.auc:.3f})" for name, curve in zip(names, curves, strict=True) if curve.auc < 0.5]
    if low:
        warnings.warn(
            f"AUC below 0.5 in group {', '.join(low)}: a high score goes with the negative label there. Check the "
            "score's sign and pos_label. Nothing is flipped; at small epsilon such a group drags all others down.",
            FairrocWarning,
            stacklevel=5,
        )


def _group_records(columns: Columns) -> tuple[GroupRecord, ...]:
    rows = np.bincount(columns.groups, minlength=len(columns.names))
    positives = np.bincount(columns.groups[columns.labels], minlength=len(columns.names))
    return tuple(GroupRecord(name, int(rows[g]), int(positives[g])) for g, name in enumerate(columns.names))


def _record(columns: Columns, population: Population, date: datetime | None) -> FitRecord:
    moment = (datetime.now(UTC) if date is None else date.astimezone(UTC)).replace(microsecond=0)
    return FitRecord(
        package=f"fairroc {__version__}",
        date=moment.isoformat().replace("+00:00", "Z"),
        rows=columns.rows,
        weighted=columns.weights is not None,
        data=_fingerprint(columns.names, population),
    )


def _fingerprint(names: tuple[str, ...], population: Population) -> str:
    """Sixteen hex digits that change with the groups, their sizes or their hulls."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(repr(names).encode())
    for curve, *weights in zip(
        population.curves, population.weights0, population.weights1, population.shares, strict=True
    ):
        corners = curve.corners
        digest.update(np.array(weights).tobytes())
        digest.update(curve.thresholds[corners[1:] - 1].tobytes())
        digest.update(curve.fpr[corners].tobytes() + curve.tpr[corners].tobytes())
    return digest.hexdigest()
