"""A sorted sample's curves equal those of the rows; the thin one has the same hull and hides no more than it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sorting import some_scores

from fairroc.core.constraint import distance_of
from fairroc.core.gap import threshold_gap
from fairroc.core.roc import roc_curve
from fairroc.people import sample
from fairroc.people.cells import WeightedRows
from fairroc.people.door import people_of
from fairroc.people.rows import Columns
from fairroc.people.sample import CountedSample
from strategies import SEEDS

KINDS = st.sampled_from(["even", "normal", "clustered", "skewed", "rounded", "useless", "perfect"])


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred rows are many."""
    for name, value in {"WHOLE": 3, "FINE": 20, "LEAST": 1, "STEP": 4, "LOOK": 50, "CHUNK": 7}.items():
        monkeypatch.setattr(sample, name, value)


def some_columns(kind: str, n: int, seed: int, weighted: bool = False) -> Columns:
    """Two groups with both labels."""
    rng = np.random.default_rng(seed)
    scores = some_scores(kind if kind in ("even", "normal", "clustered", "skewed") else "even", n, rng)
    if kind == "rounded":
        scores = np.round(scores * 40) / 40
    chance = {"useless": 0.5, "perfect": scores > np.median(scores)}.get(kind, scores > rng.choice(scores, n))
    labels = rng.random(n) < chance
    groups = (rng.random(n) < 0.5).astype(np.int8)
    groups[:4], labels[:4] = [0, 0, 1, 1], [False, True, False, True]
    return Columns(scores, labels, groups, ("a", "b"), rng.integers(1, 4, n).astype(float) if weighted else None)


@settings(max_examples=60)
@given(KINDS, st.integers(4, 800), SEEDS, st.booleans())
def test_curves_of_samples(kind, n, seed, weighted):
    columns = some_columns(kind, n, seed, weighted)
    people = people_of(columns)
    for g, part in enumerate(people.samples):
        assert isinstance(part, WeightedRows if weighted else CountedSample)
        mine = columns.groups == g
        scores, labels = columns.scores[mine], columns.labels[mine]
        true = roc_curve(scores, labels, columns.weights[mine] if weighted else None)
        for name in ("thresholds", "fpr", "tpr"):
            assert (getattr(part.curve, name) == getattr(true, name)).all()
        assert part.curve.prior == true.prior
        assert len(part.thin.corners) == len(true.corners)
        assert np.abs(part.thin.hull.u - true.hull.u).max() <= 1e-15
        at = np.concatenate((scores, scores + 0.01, [scores.min() - 1, scores.max() + 1]))
        assert np.abs(part.share_at(at) - true.share_at(at)).max() <= 1e-15
        assert set(part.thin.thresholds) <= set(true.thresholds)
        mass = np.ones(len(labels)) if not weighted else columns.weights[mine]
        assert part.totals == (mass[~labels].sum(), mass[labels].sum())


@settings(max_examples=60)
@given(KINDS, st.integers(4, 800), SEEDS, st.booleans())
def test_what_thin_curves_hide(kind, n, seed, weighted):
    """Few points; the exact gap differs from that of the thin curves by no more than is said."""
    people = people_of(some_columns(kind, n, seed, weighted))
    thin, exact = (threshold_gap(part, distance_of(1.0)).value for part in (people.thin, people.exact))
    assert abs(thin - exact) <= people.hidden + 1e-12
    whole = [len(part.curve.thresholds) <= 60 for part in people.samples]
    assert (people.thin is people.exact) == all(whole)
    for part, kept in zip(people.samples, whole, strict=True):
        assert (part.thin is part.curve) == kept
        large = int((np.diff(part.curve.u) > 2 / 20).sum())
        assert kept or len(part.thin.thresholds) <= 3 * 20 + 2 * large + len(part.curve.corners)
        assert not kept or part.hidden == 0
