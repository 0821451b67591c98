"""Inputs for the tests of the mathematical core, the degenerate ones included.

Sizes, kinds and extremes are drawn by hypothesis, the many numbers inside by a drawn seed: examples shrink to few
rows and few groups without thousands of draws each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fairroc.core.chain import Chain, FloatArray
from fairroc.core.roc import RocCurve, roc_curve

NORMS: st.SearchStrategy = st.sampled_from([1, "inf"])
EPSILONS = st.sampled_from([0.0, 1e-13, 1e-6, 0.01, 0.05, 0.1, 0.3, 1.0, 2.0])
SEEDS = st.integers(0, 2**32 - 1)

NEXT = [0.5, float(np.nextafter(0.5, 1)), float(np.nextafter(np.nextafter(0.5, 1), 1))]
POOLS: dict[str, list[float]] = {
    "two": [0.25, 0.75],
    "ties": [0.0, 0.25, 0.5, 0.75, 1.0],
    "fine": np.linspace(0.0, 1.0, 97).tolist(),
    "neighbours": [*NEXT, 0.25, float(np.nextafter(0.25, 0))],
    "subnormal": [0.0, 5e-324, 1e-323, 1.5e-323, -5e-324],
    "extreme": [-1e300, -1.0, -1e-300, 0.0, 1e-300, 1.0, 1e300],
}


# ---- chains ------------------------------------------------------------------------------------------------


def chain_of_edges(edges: Sequence[tuple[int, int]]) -> Chain:
    """The concave chain with these (fpr, tpr) edges, steepest first; exact fractions, parallel edges joined."""
    fpr, tpr = sum(a for a, _ in edges), sum(b for _, b in edges)
    joined: dict[Fraction, tuple[int, int]] = {}
    for a, b in edges:
        if a + b:
            x, y = joined.get(Fraction(a, a + b), (0, 0))
            joined[Fraction(a, a + b)] = (x + a, y + b)
    steps = [joined[key] for key in sorted(joined)]
    f = np.cumsum([0, *(a for a, _ in steps)]) / fpr
    t = np.cumsum([0, *(b for _, b in steps)]) / tpr
    return Chain(f + t, t - f)


def smooth_chain(power: float, count: int) -> Chain:
    """``tpr = fpr ** power`` at ``count`` points, with 0 < power <= 1."""
    f = np.linspace(0.0, 1.0, count) ** 2
    t = f**power
    return Chain(f + t, t - f)


DIAGONAL = chain_of_edges([(1, 1)])
PERFECT = chain_of_edges([(1, 0), (0, 1)])
ONE_CORNER = st.tuples(st.integers(0, 9), st.integers(1, 9)).map(
    lambda e: chain_of_edges([(e[0], 10), (10 - e[0], 10 - e[1])])
)
FEW_EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7).map(
    lambda edges: chain_of_edges([*edges, (1, 0), (0, 1)] if not all(map(sum, zip(*edges, strict=True))) else edges)
)
SMOOTH = st.builds(smooth_chain, st.sampled_from([0.1, 0.3, 0.6, 0.9]), st.sampled_from([4, 9, 33]))
CHAINS = st.one_of(FEW_EDGES, ONE_CORNER, SMOOTH, st.just(DIAGONAL), st.just(PERFECT))


@st.composite
def families(draw: st.DrawFn, max_groups: int = 6) -> list[Chain]:
    """Hulls of 2 to ``max_groups`` groups; now and then all the same."""
    hulls = draw(st.lists(CHAINS, min_size=2, max_size=max_groups))
    return [hulls[0]] * len(hulls) if draw(st.integers(0, 9)) == 9 else hulls


@st.composite
def class_weights(draw: st.DrawFn, groups: int) -> tuple[FloatArray, FloatArray]:
    """Shares of the groups among negatives and among positives; one group may be a millionth of the other."""
    rng = np.random.default_rng(draw(SEEDS))
    low = draw(st.sampled_from([-0.3, -2.0, -6.0]))
    both = 10 ** rng.uniform(low, 0, (2, groups))
    both /= both.sum(axis=1, keepdims=True)
    return both[0], both[1]


@st.composite
def weighted_families(draw: st.DrawFn, max_groups: int = 6) -> tuple[list[Chain], FloatArray, FloatArray]:
    """Hulls with the groups' class shares."""
    hulls = draw(families(max_groups))
    return hulls, *draw(class_weights(len(hulls)))


# ---- rows --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Rows of one group; both labels occur, with positive weight."""

    scores: FloatArray
    labels: np.ndarray
    weights: FloatArray | None = None

    @property
    def curve(self) -> RocCurve:
        return roc_curve(self.scores, self.labels, self.weights)

    @property
    def mass(self) -> FloatArray:
        return np.ones(len(self.scores)) if self.weights is None else self.weights


def _labels(kind: str, scores: FloatArray, rng: np.random.Generator) -> np.ndarray:
    place = np.argsort(np.argsort(scores, kind="stable"), kind="stable") / max(1, len(scores) - 1)
    cut = rng.choice(scores)
    return {
        "noisy": rng.random(len(scores)) < place,
        "perfect": scores >= cut,
        "inverted": scores < cut,
        "useless": rng.random(len(scores)) < 0.5,
    }[kind]


def _weights(kind: str, labels: np.ndarray, rng: np.random.Generator) -> FloatArray | None:
    n = len(labels)
    if kind == "none":
        return None
    if kind == "zeros":  # rows left out, but not the first of each class
        weights = rng.integers(0, 3, n).astype(np.float64)
        weights[[np.argmax(labels), np.argmin(labels)]] = 1.0
        return weights
    return {
        "mild": rng.uniform(0.5, 2.0, n),
        "wild": 10 ** rng.uniform(-12, 12, n),
        "heavy positives": np.where(labels, 1e12, 1e-12),
        "heavy negatives": np.where(labels, 1e-12, 1e12),
    }[kind]


MILD = ("none", "mild", "zeros")
WEIGHTS = (*MILD, "wild", "heavy positives", "heavy negatives")


@st.composite
def samples(draw: st.DrawFn, max_rows: int = 60, weights: Sequence[str] = WEIGHTS) -> Sample:
    """Rows of one group of any kind: ties, extremes, perfect, useless and inverted scores, all weights."""
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(st.integers(2, max_rows))
    pool = POOLS[draw(st.sampled_from(sorted(POOLS)))]
    scores = rng.choice(pool, n)
    labels = _labels(draw(st.sampled_from(["noisy", "perfect", "inverted", "useless"])), scores, rng)
    if labels.all() or not labels.any():
        labels[int(rng.integers(n))] ^= True
    return Sample(scores, labels, _weights(draw(st.sampled_from(list(weights))), labels, rng))


@st.composite
def populations(
    draw: st.DrawFn, max_groups: int = 8, max_rows: int = 60, weights: Sequence[str] = WEIGHTS
) -> list[Sample]:
    """2 to ``max_groups`` groups of very different size, the smallest with two or three rows."""
    sizes = draw(st.lists(st.sampled_from([3, 12, max_rows]), min_size=2, max_size=max_groups))
    return [draw(samples(size, weights)) for size in sizes]


def class_shares(population: Sequence[Sample]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of the groups among negatives, positives and all people."""
    by_class = np.array([[s.mass[~s.labels].sum(), s.mass[s.labels].sum(), s.mass.sum()] for s in population])
    by_class /= by_class.sum(axis=0)
    return by_class[:, 0].copy(), by_class[:, 1].copy(), by_class[:, 2].copy()
