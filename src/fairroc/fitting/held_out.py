"""People who were not fitted: what a fit by cells does to them, by cross-fitting; and the tree that is best for them.

A fit follows chance, and more so the more cells it has. Folds tell by how much: AUC that people held out lose, their
gap, and how far their rates are from those of the people fitted, beside how far chance alone would carry them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairroc.core.chain import FloatArray, IntArray, area, totals
from fairroc.core.kernel import Kernel
from fairroc.core.mixture import Mixture
from fairroc.core.portable import share_product
from fairroc.core.program import Cells, Comparison, rates_of, solve
from fairroc.core.realised import chances
from fairroc.core.roc import roc_curve
from fairroc.model.proxy import ProxyTree, single_leaf
from fairroc.options import Options
from fairroc.people.spread import SpreadRows

BINS = 32
"""Cells in each segment."""

CELL_ROWS = 10
"""Rows of a cell, at least, about."""

LEVELS = 24

LEAVES = (1, 2, 3, 4, 6, 8, 12)
"""Leaves of the tree over probabilities that are tried, while more of them help."""

PATIENCE = 2
"""Sizes of the tree that may bring nothing before the search ends."""

LEAF_ROWS = 50
"""Rows of a leaf, at least."""

FOLDS, SEED = 5, 0

PLACES, MICRO = 2, 1024
"""Places looked at in every level; bins of scores of a segment."""

MOST_FITTED = 40_000
"""People, at most, by whom the tree is chosen and what it follows of chance is told."""

LARGEST_EXCESS = 25.0
"""What a fit follows of chance is told from few folds: it is never taken to be more than so many times that of a score
which was fixed beforehand."""


def comparisons_of(rows: SpreadRows, options: Options, share: float = 1.0) -> tuple[Comparison, ...]:
    """What must be close, at a share of epsilon."""
    own = dict(options.attribute_epsilons or ())
    return tuple(
        Comparison(members, options.fairness, share * own.get(family.name, options.epsilon))
        for family, members in zip(rows.families, rows.members, strict=True)
        if family.compared
    )


def even_shares(mixture: Mixture, levels: int) -> FloatArray:
    """Shares of all people that thresholds of the original score select, evenly spaced in fpr + tpr, and 0 and 1 apart;
    a window's ends are added where they are needed."""
    curve = mixture.whole(mixture.everybody)
    found = np.interp(np.arange(1, levels) * (2.0 / levels), curve.u, curve.share)
    return np.unique(found[(found > 1e-6) & (found < 1 - 1e-6)])


def drawn_family_gaps(
    rows: SpreadRows,
    mixture: Mixture,
    kernels: Sequence[Kernel] | None,
    comparisons: Sequence[Comparison],
    draws: int,
    excess: float = 1.0,
) -> FloatArray:
    """(comparisons, draws) gaps in populations that these people may come from (the Bayesian bootstrap); without
    kernels, of the original score. Rates are off by chance, and of a score that was fitted to the same people by more:
    the variance is that of a fixed score, times ``excess``."""
    rng = np.random.default_rng(SEED)
    sizes, everyone = effective_sizes(rows), mixture.priors[-1]
    parts = [_micro(mixture, s) for s in range(len(mixture.segments))]
    if kernels is None:
        looks = np.unique(np.concatenate([scores[:: max(1, len(scores) // 128)] for scores, _ in parts]))[::-1]
        taken = [(scores[:, None] >= looks[None, :]).astype(np.float64) for scores, _ in parts]
    else:
        levels = kernels[0].table.shape[1]
        places = np.arange(1, PLACES * levels + 1) / PLACES
        taken = [chances(kernel, scores, places) for kernel, (scores, _) in zip(kernels, parts, strict=True)]
    masses, lines = np.concatenate([own for _, own in parts], axis=2), np.concatenate(taken)
    rates = np.empty((draws, *masses.shape[:2], lines.shape[1]))
    for p, label in np.ndindex(*masses.shape[:2]):
        there = np.flatnonzero(masses[p, label])  # of a group there may be nobody in most bins
        again = rng.standard_gamma(masses[p, label, there] * sizes[p, label], (draws, len(there)))
        again /= np.maximum(again.sum(axis=1, keepdims=True), 1e-300)
        fitted, drawn = (share_product(part, lines[there]) for part in (masses[p, label, there][None], again))
        rates[:, p, label] = np.clip(fitted + math.sqrt(excess) * (drawn - fitted), 0.0, 1.0)
    found = np.zeros((len(comparisons), draws))
    for gaps, one in zip(found, comparisons, strict=True):
        told = one.constraint.told()
        fpr, tpr = (rates[:, one.members, label].transpose(0, 2, 1) for label in (0, 1))
        distance = told.everywhere(fpr, tpr, mixture.priors[one.members])
        selected = (1 - everyone) * rates[:, -1, 0] + everyone * rates[:, -1, 1]
        gaps[:] = np.where(told.looks(selected), distance, 0.0).max(axis=-1)
    return found


def effective_sizes(rows: SpreadRows) -> FloatArray:
    """(groups + 1, 2) effective sample size (Kish) of every group and of everybody, by label."""
    every = [(family.codes, len(family.groups)) for family in rows.families]
    found = []
    for codes, size in [*every, (np.zeros(rows.rows, dtype=np.intp), 1)]:
        used = np.flatnonzero(codes >= 0)
        place, mass = 2 * codes[used].astype(np.intp) + rows.labels[used], rows.mass[used]
        one, two = (np.bincount(place, mass**k, 2 * size) for k in (1, 2))
        found.append((one**2 / np.where(two > 0, two, 1.0)).reshape(size, 2))
    return np.concatenate(found)


def _micro(mixture: Mixture, segment: int) -> tuple[FloatArray, FloatArray]:
    """A segment's scores, falling, and masses, in at most `MICRO` bins: each by the score in its middle."""
    own = mixture.segments[segment]
    ends = np.unique(np.linspace(0, len(own.thresholds), min(MICRO, len(own.thresholds)) + 1).astype(np.intp))
    masses = np.add.reduceat(own.masses, ends[:-1], axis=2)
    return own.thresholds[(ends[:-1] + ends[1:]) // 2], masses


def chosen_tree(rows: SpreadRows, options: Options, step: Callable[[], None]) -> ProxyTree:
    """The tree over probabilities that does best for people who were not fitted: by their AUC, at equal gap."""
    known: dict[int, HeldOut] = {}
    leaves = 1
    for size in LEAVES if rows.columns else ():
        if size > 1 and rows.rows < size * LEAF_ROWS:
            break
        known[size] = cross_fitted(rows, options, size, 1.0, step)
        price = max(float(one.prices.mean()) for one in known.values())  # the same for all: fine cells pay less
        leaves = max(known, key=lambda tried: known[tried].worth(price))
        if len(known) - 1 - list(known).index(leaves) >= PATIENCE:
            break
    return tree_of(rows, leaves)


def tree_of(rows: SpreadRows, leaves: int) -> ProxyTree:
    """A tree with so many leaves, grown to tell the groups apart; both labels weigh the same."""
    assert rows.probabilities is not None
    if leaves == 1:
        return single_leaf(rows.columns)
    from sklearn.tree import DecisionTreeClassifier

    if rows.rows > MOST_FITTED:
        rows = rows.taken(np.sort(np.random.default_rng(SEED).choice(rows.rows, MOST_FITTED, replace=False)))
        assert rows.probabilities is not None
    target = np.zeros(rows.rows, dtype=np.intp)
    for family in rows.families:
        if family.compared and family.stratum in (None, rows.strata_names[0]):
            target = target * (len(family.groups) + 1) + family.codes + 1
    label, mass = rows.labels.astype(np.intp), rows.mass
    weight = mass / np.bincount(label, mass, 2)[label] * len(mass)
    least = max(LEAF_ROWS // 2, rows.rows // (8 * leaves))
    grown = DecisionTreeClassifier(
        criterion="entropy", max_leaf_nodes=leaves, min_samples_leaf=least, random_state=SEED
    )
    tree = grown.fit(rows.probabilities, target, sample_weight=weight).tree_
    inner = tree.feature >= 0
    return ProxyTree(
        rows.columns,
        np.where(inner, tree.feature, -1).astype(np.intp),
        np.where(inner, tree.threshold, 0.0),
        np.where(inner, tree.children_left, -1).astype(np.intp),
        np.where(inner, tree.children_right, -1).astype(np.intp),
    )


def folds_of(rows: SpreadRows) -> IntArray:
    """(n,) fold of every row: each has its part of every group and label."""
    rng = np.random.default_rng(SEED)
    key = rows.labels.astype(np.intp)
    for family in rows.families:
        key = key * (len(family.groups) + 1) + family.codes + 1
    order = np.lexsort((rng.random(rows.rows), key))
    found = np.empty(rows.rows, dtype=np.intp)
    found[order] = np.arange(rows.rows) % FOLDS
    return found


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What fits do to people who were not fitted, fold by fold.

    Attributes
    ----------
    losses : (folds,) AUC lost by them.
    prices : (folds,) AUC that a larger epsilon would be worth.
    gap : largest gap of all of them, each under the fit that did not see them.
    excess : the variance of what their rates differ from the fitted ones, over that of a score which had been fixed.
    """

    losses: FloatArray
    prices: FloatArray
    gap: float
    excess: float

    @property
    def loss(self) -> tuple[float, float]:
        """Mean loss of AUC, and its standard error."""
        return float(self.losses.mean()), float(self.losses.std(ddof=1) / math.sqrt(len(self.losses)))

    def worth(self, price: float) -> float:
        """AUC kept, had epsilon been so small that there is no gap, at a price of epsilon."""
        return -float(self.losses.mean() + price * self.gap)


def cross_fitted(
    rows: SpreadRows, options: Options, leaves: int | None, share: float, step: Callable[[], None] | None = None
) -> HeldOut:
    """Fit in folds, with people drawn inside cells, and look at those held out. Of very many people, some."""
    if rows.rows > MOST_FITTED:
        rows = rows.taken(np.sort(np.random.default_rng(SEED).choice(rows.rows, MOST_FITTED, replace=False)))
    folds, found = folds_of(rows), []
    shares = even_shares(rows.mixture(), LEVELS)
    for fold in range(FOLDS):
        fitted, held = rows.taken(np.flatnonzero(folds != fold)), rows.taken(np.flatnonzero(folds == fold))
        if leaves is not None:
            tree = tree_of(fitted, leaves)
            assert fitted.probabilities is not None and held.probabilities is not None
            fitted = replace(fitted, segments=tree.leaf(fitted.probabilities) + len(tree.leaves) * fitted.strata)
            held = replace(held, segments=tree.leaf(held.probabilities) + len(tree.leaves) * held.strata)
        there, codes = np.unique(fitted.segments, return_inverse=True)
        at = np.minimum(np.searchsorted(there, held.segments), len(there) - 1)  # who is in none gets a neighbour's
        fitted = replace(fitted, segments=codes, names=tuple(map(str, there)))
        held = replace(held, segments=at, names=fitted.names)
        found.append(_Fold.of(fitted, held, comparisons_of(fitted, options, min(share, 1.0)), shares))
        if step is not None:
            step()
    weights = np.stack([one.sizes for one in found])
    pooled = totals(weights[:, None] * np.stack([one.held for one in found])) / totals(weights)
    gaps = [_level_gap(pooled, one, shares, found[0].priors) for one in comparisons_of(rows, options)]
    apart, by_chance, fixed = (sum(getattr(one, name) for one in found) for name in ("apart", "by_chance", "fixed"))
    excess = min(max((apart - by_chance) / max(fixed, 1e-300), 1.0), LARGEST_EXCESS)
    return HeldOut(
        np.array([one.loss for one in found]), np.array([one.price for one in found]), max(gaps), float(excess)
    )


def _level_gap(rates: FloatArray, one: Comparison, shares: FloatArray, priors: FloatArray) -> float:
    """Largest distance at levels, from (levels, groups, 2) rates."""
    own = rates[one.binds(shares)][:, one.members]
    return float(one.constraint.everywhere(own[..., 0], own[..., 1], priors[one.members]).max(initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """One fold: AUC lost by those held out, the price of epsilon, (levels, groups, 2) rates and (groups, 2) weights of
    those held out, and sums of squares: how far these are from the fitted rates, and by chance alone would be."""

    loss: float
    price: float
    held: FloatArray
    sizes: FloatArray
    priors: FloatArray
    apart: float
    by_chance: float
    fixed: float

    @classmethod
    def of(cls, fitted: SpreadRows, held: SpreadRows, comparisons: Sequence[Comparison], shares: FloatArray) -> _Fold:
        mixture = fitted.mixture()
        cuts = mixture.cuts(BINS, CELL_ROWS * mixture.person)
        cells = mixture.cells(cuts)
        selection = solve(cells, comparisons, shares)
        masses, people = _masses_in(cells_of(mixture, cuts, cells, held), held, cells.count)
        sizes, own_sizes = effective_sizes(held), effective_sizes(fitted)
        rates, own = (rates_of(selection.selected, part) for part in (masses, cells.rates))
        spread = rates_of(selection.selected**2, cells.rates) - own**2
        seen = (people[:-1] > 0) & (sizes[:-1] > 0)  # groups and labels with people in this fold
        fpr, tpr = (np.concatenate(([0.0], rates[:, -1, label], [1.0])) for label in (0, 1))
        held_part, own_part = (spread / np.maximum(size, 1.0) * seen for size in (sizes[:-1], own_sizes[:-1]))
        return cls(
            loss=roc_curve(held.scores, held.labels, held.weights).auc - area(fpr, tpr),
            price=selection.price,
            held=rates[:, :-1],
            sizes=people[:-1] + 1e-300,
            priors=mixture.priors[:-1],
            apart=float(((rates[:, :-1] - own) ** 2 * seen).sum()),
            by_chance=float(held_part.sum()),
            fixed=float(own_part.sum()),
        )


def _masses_in(cell: IntArray, rows: SpreadRows, count: int) -> tuple[FloatArray, FloatArray]:
    """(groups + 1, 2, cells) share of every group's, and of everybody's, people by label and cell; their weight."""
    each = [family.codes == group for family in rows.families for group in range(len(family.groups))]
    found = [
        [np.bincount(cell[one], rows.mass[one], count) for one in (mine & ~rows.labels, mine & rows.labels)]
        for mine in [*each, np.ones(rows.rows, dtype=np.bool_)]
    ]
    masses = np.array(found)
    people = masses.sum(axis=2)
    return masses / np.where(people > 0, people, 1.0)[:, :, None], people


def cells_of(mixture: Mixture, cuts: Sequence[IntArray], cells: Cells, rows: SpreadRows) -> IntArray:
    """(n,) cells of other people: those of their segment that their scores lie in."""
    found = np.zeros(rows.rows, dtype=np.intp)
    for s, (own, ends) in enumerate(zip(mixture.segments, cuts, strict=True)):
        mine = np.flatnonzero(rows.segments == s)
        lows = own.thresholds[ends - 1][::-1]  # rising
        at = len(lows) - np.searchsorted(lows, rows.scores[mine], side="right")
        found[mine] = cells.opens[s] + np.minimum(at, len(lows) - 1)
    return found
