"""The paper's objects through the public door: Algorithm 1 on rows, and a classifier for every threshold."""

from __future__ import annotations

import numpy as np
import pytest
from test_pipeline import Rows, normal_rows, real_rows

import fairroc.froc
from fairroc.errors import DataError
from fairroc.froc import Shift, query_grid, run_froc
from fairroc.froc.geometry import signed_auc
from fitted_people import FairROC

ROWS = normal_rows(6, n=900, groups=3)


def run_on(rows: Rows, **options):
    options = {"epsilon": 0.05, "queries": 30, **options}
    return run_froc(rows.scores, rows.y, sensitive_features=rows.groups, sample_weight=rows.weights, **options)


def test_all_names_are_there():
    assert all(hasattr(fairroc.froc, name) for name in fairroc.froc.__all__)
    assert fairroc.froc.__all__ == sorted(fairroc.froc.__all__)


def test_the_run_is_that_of_a_fit():
    """The same queries, gaps, shifts and losses as in the certificate of method="froc"."""
    post = FairROC(0.05, method="froc", draw="all", queries=30).fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    report, run = post.certificate_.froc, run_on(ROWS)
    assert report is not None and report.thresholds == tuple(run.moved.thresholds)
    assert report.gaps == pytest.approx(run.moved.gap, abs=1e-12)
    for told, found in zip(report.groups, run.diagnostics.groups, strict=True):
        assert told.auc_points == pytest.approx(found.auc_after, abs=1e-12)
        assert told.losses.pla_paper == pytest.approx(found.losses.pla_paper, abs=1e-12)
        assert (told.upshifts, told.leftshifts, told.cutshifts) == (found.upshifts, found.leftshifts, found.cutshifts)


@pytest.mark.parametrize("construction", ["triangle", "neighbours"])
def test_rates_of_every_classifier_are_the_moved_points(construction):
    """Rows of all groups, mixed: at every threshold the expected rates of each group are its moved point."""
    run = run_on(ROWS, construction=construction)
    for index in range(1, len(run.moved.thresholds) + 1):
        chance = run.acceptance(ROWS.scores, sensitive_features=ROWS.groups, index=index)
        assert chance.min() >= 0 and chance.max() <= 1 + 1e-12
        for g, name in enumerate(run.names):
            rates = [chance[(ROWS.groups == name) & (ROWS.y == label)].mean() for label in (0, 1)]
            assert rates == pytest.approx(run.moved.points[g, index - 1], abs=1e-9)


def test_decisions_follow_the_acceptance():
    run, n = run_on(ROWS, construction="neighbours"), 20_000
    scores, groups = np.resize(ROWS.scores[:4], n), np.resize(ROWS.groups[:4], n)
    chance = run.acceptance(scores, sensitive_features=groups, index=15)
    done = run.decide(scores, sensitive_features=groups, index=15, random_state=1)
    assert (
        done.dtype == bool and (done == run.decide(scores, sensitive_features=groups, index=15, random_state=1)).all()
    )
    for row in range(4):
        assert done[row::4].mean() == pytest.approx(chance[row], abs=0.03)
    assert not done[chance == 0].any() and done[chance >= 1].all()


def test_all_pairs():
    """epsilon / (m - 1) for neighbours: all pairs within epsilon where points are fair; the paper's chain is not."""
    chained, whole = run_on(ROWS, queries=10, epsilon=0.1), run_on(ROWS, queries=10, epsilon=0.1, pairs="all")
    assert (chained.moved.step, whole.moved.step) == (0.1, 0.05)
    fair = ~((whole.moved.shift == Shift.HYPOGRAPH) | whole.moved.projected).any(axis=0)
    assert fair.any() and whole.moved.gap[fair].max() <= 0.1 + 1e-12 < chained.moved.gap.max()


def test_thresholds_of_ones_own():
    """In any order, doubles once; the paper's t_i = i / k."""
    rows = Rows(np.clip((ROWS.scores + 4) / 8, 0, 1), ROWS.y, ROWS.groups)
    run = run_on(rows, queries=query_grid(5))
    assert run.moved.thresholds.tolist() == [1.0, 0.8, 0.6, 0.4, 0.2]
    assert (run_on(rows, queries=[0.2, 1, 0.6, 0.4, 0.8, 0.8]).moved.points == run.moved.points).all()


@pytest.mark.parametrize("name", ["adult_lr", "adult_rf10"])
def test_reference_auc(name):
    """The documented AUC of Adult at epsilon .05, from the public door alone."""
    run = run_on(real_rows(name), queries=np.linspace(0, 1, 100), crossing="area")
    auc = {"adult_lr": 0.9009, "adult_rf10": 0.9171}[name]
    assert signed_auc(run.moved.points[0]) == pytest.approx(auc, abs=0.5e-4)
    assert run.diagnostics.groups[0].auc_after == pytest.approx(auc, abs=0.5e-4)


@pytest.mark.parametrize("index", [0, -1, 31, 1.5, True, None])
def test_index_out_of_range(index):
    run = run_on(ROWS)
    with pytest.raises(DataError, match=rf"index must lie from 1 .* to {len(run.moved.thresholds)},.*, got {index}"):
        run.acceptance(ROWS.scores, sensitive_features=ROWS.groups, index=index)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": "every"}, r"pairs must be 'neighbours' or 'all', got 'every'"),
        ({"crossing": "x"}, r"crossing must be 'segments' or 'area', got 'x'"),
        ({"construction": "x"}, r"construction must be 'triangle' or 'neighbours', got 'x'"),
        ({"queries": 1}, r"queries must be a whole number from 2"),
        ({"queries": True}, r"queries must be a whole number from 2"),
        ({"queries": []}, r"queries must be a whole number or a list of finite thresholds; pass"),
        ({"queries": [0.5, np.nan]}, r"list of finite thresholds"),
        ({"queries": "many"}, r"list of finite thresholds"),
        ({"epsilon": 3}, r"epsilon must be between 0 and 2"),
    ],
)
def test_refused(options, words):
    with pytest.raises(DataError, match=words):
        run_on(ROWS, **options)


def test_unknown_group():
    with pytest.raises(DataError, match="'z'"):
        run_on(ROWS).acceptance([0.5], sensitive_features=["z"], index=1)
