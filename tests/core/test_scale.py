"""Back on the scale of the scores: the same share of people at every landmark score, and a one-to-one map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_kernel import fitted
from test_realised import BUILDS

from fairroc.core.kernel import drawn_kernel, ordered_kernel
from fairroc.core.realised import realise
from fairroc.core.scale import Scale, _next_above, build_scale
from strategies import EPSILONS, NORMS, Sample, class_shares, populations


def two_scores(population) -> bool:
    """Whether there are two distinct scores at least; with one there is nothing to repair."""
    return len(np.unique(np.concatenate([sample.curve.thresholds for sample in population]))) > 1


POOL = [-1e300, -1.0, -5e-324, 0.0, 5e-324, 1e-300, 0.5, float(np.nextafter(0.5, 1)), 1.0, 1e300]
STEPS = [5e-324, 1e-20, 2.0**-53, 0.3, 1.0, 7.0]
FEW = populations(max_groups=4, weights=("none", "mild")).filter(two_scores)
ANY = populations(max_groups=4).filter(two_scores)


def scaled(population, epsilon, norm, build):
    """Scale, realised and group shares of a fitted population."""
    curves, levels = fitted(population, epsilon, norm)
    realised = [realise(c, build(c, levels.u[:, g], levels.v[:, g])) for g, c in enumerate(curves)]
    shares = class_shares(population)[2]
    return build_scale(curves, realised, shares), realised, shares


def pooled_share(realised, shares, y: float, closed: bool = True) -> float:
    """Share of all people placed up to y."""
    return float(sum(s * w.at(np.array([y]), closed=closed)[0, 2] for s, w in zip(shares, realised, strict=True)))


def raw_share(population, threshold: float, strictly: bool = False) -> float:
    """Share of all people whose raw score reaches a threshold."""
    hit = total = 0.0
    for s in population:
        hit += s.mass[s.scores > threshold if strictly else s.scores >= threshold].sum()
        total += s.mass.sum()
    return float(hit / total)


@settings(max_examples=30)
@given(FEW, EPSILONS, NORMS, BUILDS)
def test_every_score_accepts_the_share_it_did(population, epsilon, norm, build):
    """At every raw score but the highest the fair share is the raw share, up to people who share a place."""
    scale, realised, shares = scaled(population, epsilon, norm, build)
    knots = np.concatenate(([0.0], *(w.y for w in realised)))
    atom = max(
        pooled_share(realised, shares, y) - pooled_share(realised, shares, y, closed=False) for y in np.unique(knots)
    )
    for t in np.unique(np.concatenate([s.scores for s in population]))[:-1]:
        fair = pooled_share(realised, shares, float(scale.to_place(np.array(t))))
        assert abs(fair - raw_share(population, t)) <= atom + 1e-9


@settings(max_examples=30)
@given(ANY, EPSILONS, NORMS, BUILDS)
def test_scores_fall_strictly_within_the_raw_range(population, epsilon, norm, build):
    """From the best place to the worst the score falls strictly, from the highest raw score to the lowest."""
    scale, realised, _ = scaled(population, epsilon, norm, build)
    raw = np.concatenate([s.curve.thresholds for s in population])
    assert (np.diff(scale.y) > 0).all()
    assert (np.diff(scale.score)[1:] < 0).all()
    assert scale.score[1] <= scale.score[0]  # equal if there is no number between the two highest scores
    assert (scale.y[0], scale.y[-1]) == (0.0, len(realised[0].even) - 1.0)
    assert (scale.score[0], scale.score[-1]) == (raw.max(), raw.min())
    y = np.linspace(0, scale.y[-1], 301)
    scores = scale.to_score(y)
    assert (scores <= raw.max()).all()
    assert (scores >= raw.min()).all()
    assert (np.diff(scores) <= 0).all()


@settings(max_examples=20)
@given(FEW, EPSILONS, NORMS, BUILDS)
def test_place_and_score_are_inverse(population, epsilon, norm, build):
    """A threshold's place has that score; a place's score leads back to the place."""
    scale, _, _ = scaled(population, epsilon, norm, build)
    tied = int(scale.score[0] == scale.score[1])
    assert scale.to_place(scale.score[tied:]).tolist() == scale.y[tied:].tolist()
    assert scale.to_score(scale.y).tolist() == scale.score.tolist()
    width = scale.score[0] - scale.score[-1]
    score = scale.to_score(np.linspace(0, scale.y[-1], 23))
    assert scale.to_score(scale.to_place(score)) == pytest.approx(score, abs=1e-12 * width)


@settings(max_examples=20)
@given(FEW, EPSILONS, NORMS, BUILDS)
def test_thresholds_beyond_the_ends(population, epsilon, norm, build):
    """Above the highest score nobody is accepted, below the lowest everybody."""
    scale, _, _ = scaled(population, epsilon, norm, build)
    beyond = np.array([np.inf, np.nextafter(scale.score[0], np.inf), np.nextafter(scale.score[-1], -np.inf), -np.inf])
    assert scale.to_place(beyond).tolist() == [-1.0, -1.0, scale.y[-1], scale.y[-1]]


def test_between_neighbouring_numbers_the_lower_score_counts():
    """Every place after a knot scores below it, so that a threshold at the knot accepts up to its place exactly."""
    low, high = 0.5, float(np.nextafter(0.5, 1))
    scale = Scale(np.array([0.0, 1.0, 2.0]), np.array([1.0, high, low]))
    assert scale.to_score(np.array([1.0, np.nextafter(1.0, 2), 1.5, 2.0])).tolist() == [high, low, low, low]


def test_hand_made_scale():
    """Three knots, read both ways by hand."""
    scale = Scale(np.array([0.0, 1.0, 3.0]), np.array([0.9, 0.5, 0.1]))
    assert scale.to_score(np.array([0.0, 0.5, 1.0, 2.0, 3.0])) == pytest.approx([0.9, 0.7, 0.5, 0.3, 0.1])
    thresholds = np.array([0.95, 0.9, 0.7, 0.5, 0.3, 0.1, 0.0])
    assert scale.to_place(thresholds) == pytest.approx([-1, 0, 0.5, 1, 2, 3, 3])


@given(st.lists(st.sampled_from(POOL), min_size=2, max_size=8), st.data())
def test_the_inverse_is_exact(scores, data):
    """The place reaches the threshold and the next double does not, for scales with ties, neighbours and tiny steps."""
    steps = data.draw(st.lists(st.sampled_from(STEPS), min_size=len(scores) - 1, max_size=len(scores) - 1))
    y = np.concatenate(([0.0], np.cumsum(steps)))
    y = y[np.append(True, np.diff(y) > 0)]
    scale = Scale(y, np.sort(scores)[::-1][: len(y)].copy())
    share = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=5))
    thresholds = np.concatenate((scale.to_score(np.array(share) * y[-1]), POOL, [1e-320, 0.7]))
    place = scale.to_place(thresholds)
    known = place >= 0
    assert (known == (thresholds <= scale.score[0])).all()
    assert (scale.to_score(place[known]) >= thresholds[known]).all()
    inside = place[known] < y[-1]
    after = np.nextafter(place[known][inside], np.inf)
    assert (scale.to_score(after) < thresholds[known][inside]).all()


@pytest.mark.parametrize("build", [drawn_kernel, ordered_kernel])
def test_an_untouched_score_keeps_its_distribution(build):
    """Two equal groups of distinct scores need no repair: every raw score accepts the share it did, to one person."""
    rng = np.random.default_rng(5)
    scores = np.linspace(0, 1, 200)
    labels = rng.random(200) < scores
    population = [Sample(scores, labels), Sample(scores, labels)]
    scale, realised, shares = scaled(population, 0.1, 1, build)
    for t in scores[:-1:7]:
        fair = pooled_share(realised, shares, float(scale.to_place(np.array(t))))
        assert fair == pytest.approx(raw_share(population, t), abs=1e-9 if build is drawn_kernel else 1 / 200)


@settings(max_examples=15)
@given(FEW, EPSILONS, NORMS, BUILDS)
def test_many_groups_get_the_scale_of_few(population, epsilon, norm, build):
    """Whichever way shares are summed and neighbouring scores found."""
    few = scaled(population, epsilon, norm, build)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairroc.core.scale.MANY", 0)
        patch.setattr("fairroc.core.scale.FEW_GROUPS", 0)
        many = scaled(population, epsilon, norm, build)[0]
    assert many.score.tolist() == few.score.tolist()
    assert np.abs(many.y - few.y).max() <= 1e-9


@given(st.lists(st.integers(0, 9), unique=True, min_size=1), st.lists(st.integers(-1, 10), unique=True))
def test_the_score_just_above(known, asked):
    falling, scores = (np.sort(np.array(part, dtype=np.float64)) for part in (known, asked))
    expected = [falling[falling > score].min() for score in scores if (falling > score).any()]
    assert _next_above(falling[::-1], scores).tolist() == expected


@settings(max_examples=20)
@given(FEW, EPSILONS, NORMS, BUILDS)
def test_the_scale_of_many_groups_is_that_of_few(population, epsilon, norm, build):
    """Whichever way thresholds are merged and shares are summed, every knot accepts the same share."""
    few, realised, shares = scaled(population, epsilon, norm, build)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairroc.core.scale.FEW_GROUPS", 0)
        patch.setattr("fairroc.core.scale.MANY", 0)
        many, _, _ = scaled(population, epsilon, norm, build)
    for t in few.score[1:]:
        at = [pooled_share(realised, shares, float(scale.to_place(np.array(t)))) for scale in (few, many)]
        assert at[0] == pytest.approx(at[1], abs=1e-9)
