"""Fits beside rivals among new people: what is measured, how frontiers are compared, and what the tables say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairroc.fitting.fit import fit
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.paper.rules import counted, expected
from fairroc_studies.problems.synthetic import FAMILIES
from fairroc_studies.questions import linearpost, promise, promise_bias, unseen, unseen_fits
from fairroc_studies.questions.unseen_people import Job, parts
from fitted_people import fitted_options


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairroc_studies.harness.store.home", lambda: tmp_path)


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
@pytest.mark.filterwarnings("ignore")
def test_outcome_is_what_the_rules_of_the_paper_measure(epsilon: float) -> None:
    split = parts(Job("recidivism", 300, 0))
    assert split is not None
    model = fit(counted(split[0]), fitted_options(epsilon=epsilon), salt=0).model
    found, curve = outcome(model.kernels, counted(split[1]).exact), expected(model, split[1])
    assert (found.gap, found.auc) == pytest.approx((curve.gap, curve.auc), abs=1e-9)


def test_people_are_the_same_for_a_seed_and_too_few_are_none() -> None:
    one, again, other = (parts(Job("income", 300, seed)) for seed in (1, 1, 2))
    assert one and again and other
    assert (one[0].scores == again[0].scores).all() and one[0].rows == 300
    assert (one[0].scores != other[0].scores).any()
    assert parts(Job("six", 200, 0)) is None


def test_new_brings_shift_and_original_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unseen_fits, "PROMISED", (0.05, 0.2, 2.0))
    found = unseen_fits.points(Job("recidivism", 200, 0), "new")
    assert set(found) == {"new", "shift", "original"}
    assert [point["epsilon"] for point in found["new"]] == [0.05, 0.2, 2.0]
    assert all(0 <= point["gap"] <= 2 and 0 < point["true_auc"] < 1 for points in found.values() for point in points)
    stated = [point["stated_auc"] for point in found["new"]]
    assert stated[0] <= stated[1]
    assert found["original"][0]["true_gap"] == pytest.approx(outcome((), FAMILIES["recidivism"].population()).gap)


def line(gaps: list[float], aucs: list[float], seeds: int = 4) -> dict[int, list[dict[str, Any]]]:
    """The same points for all seeds, but for a little noise in the AUC."""
    noise = np.linspace(-1, 1, seeds) * 1e-4
    return {k: [{"gap": g, "auc": a + noise[k]} for g, a in zip(gaps, aucs, strict=True)] for k in range(seeds)}


def found(**methods: dict[int, list[dict[str, Any]]]) -> unseen.Found:
    return {name: {} for name in unseen.SHOWN} | methods


def test_frontiers_are_compared_at_equal_gaps() -> None:
    new, rival = line([0.1, 0.3], [0.70, 0.80]), line([0.15, 0.35], [0.74, 0.80])
    (cell,) = unseen.compared({("income", 1000): found(new=new, fitted=rival)})
    at = dict(zip(unseen.GAPS, cell.gain, strict=True))
    assert np.isnan(at[0.1]) and np.isnan(at[0.05])
    assert at[0.15] == pytest.approx(0.725 - 0.74) and at[0.3] == pytest.approx(0.80 - 0.785)
    assert cell.below[unseen.GAPS.index(0.15)] and cell.above[unseen.GAPS.index(0.3)]
    text = unseen.summary([cell])
    assert "| 1,000 | fitted | 1 | 4 |" in text and "income -15.0±0.0 at 0.15" in text
    assert "**-15.0±0.0**" in unseen.details([cell])
    assert "0.100" in unseen.reached({("income", 1000): found(new=new, fitted=rival)})


def test_few_seeds_or_a_difference_that_does_not_count_are_not_below() -> None:
    new, rival = line([0.1, 0.3], [0.70, 0.80]), line([0.1, 0.3], [0.7009, 0.8009])
    (cell,) = unseen.compared({("income", 1000): found(new=new, fitted=rival)})
    assert not cell.below.any() and not cell.above.any()
    few = {k: new[k] for k in range(2)}
    assert unseen.compared({("income", 1000): found(new=few, fitted=rival)}) == []


def test_a_gap_that_hangs_on_one_seed_is_left_out() -> None:
    new = line([0.1, 0.3], [0.70, 0.80])
    new[0] = [{"gap": 0.0, "auc": 0.6}, {"gap": 0.3, "auc": 0.8}]  # the mean reaches .075 only with it
    gain, _ = unseen.advantage(unseen.pairs(new.values()), unseen.pairs(line([0.0, 0.4], [0.6, 0.8]).values()))
    assert np.isnan(gain[unseen.GAPS.index(0.075)]) and np.isfinite(gain[unseen.GAPS.index(0.125)])


def told(epsilon: float, stated: float, true: float) -> dict[str, Any]:
    point = {"epsilon": epsilon, "gap": true, "auc": 0.8, "true_gap": true, "true_auc": 0.8}
    return point | {"stated_gap": stated, "gap_error": 0.02, "stated_auc": 0.81, "auc_error": 0.01}


def test_what_was_stated_is_held_against_the_truth() -> None:
    points = {0: [told(0.1, 0.10, 0.12), told(0.2, 0.20, 0.30), told(0.5, 0.9, 0.1)]}
    done = {("income", 200): found(new=points, original={0: [told(2.0, 0.2, 0.25)]})}
    text = unseen.reliability(list(unseen.told(done, {})))
    assert "| 200 | new | 2 | -0.060 | 0.060 | 1.00 | 50% | +0.010 | 0.010 | 50.0% |" in text
    small = {("compas/logistic", 200): next(iter(done.values()))}
    assert list(unseen.told(small, {"compas/logistic": 4115})) == []


def test_the_question_runs_and_reports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["--sets", "tenths", "--rows", "200", "--seeds", "3", "--methods", "new", "FairProjection-CE"]
    unseen.main([*asked, "--workers", "1", "--picture", str(tmp_path / "frontiers.png")])
    first = capsys.readouterr().out
    assert "| 200 | FairProjection-CE | 1 | 3 |" in first and (tmp_path / "frontiers.png").stat().st_size > 1000
    unseen.main([*asked, "--report"])
    assert capsys.readouterr().out == first


def test_bias_of_what_is_stated() -> None:
    sample = {"original": 0.4} | {
        name: {"gap": (0.1, 0.01, 0.1 + k * 0.05), "auc": (0.8, 0.1, 0.8)}
        for k, name in enumerate(promise_bias.PROMISES)
    }
    fitted, new = promise_bias.lines("income", 1000, [sample, sample])
    assert fitted[4:8] == ["0.100", "0.100", "+0.000 ± 0.000", "100%"]
    assert new[4:8] == ["0.100", "0.150", "-0.050 ± 0.000", "0%"]
    text = promise.bias(["tenths"], [300], 2, 1)
    assert text.count("\n") == 3 and "| tenths | 300 | 2 | new |" in text


@pytest.mark.filterwarnings("ignore")
def test_one_decision_at_the_most_accurate_place() -> None:
    split = parts(Job("recidivism", 1000, 0))
    assert split is not None
    post, test = counted(split[0]), counted(split[1])
    accuracy, gap = linearpost.decision((), post, test)
    cut = max(np.unique(split[0].scores)[::-1], key=lambda t: ((split[0].scores >= t) == split[0].labels).mean())
    right = (split[1].scores >= cut) == split[1].labels
    assert accuracy == pytest.approx(right.mean(), abs=1e-9) and 0 < gap < 1
    kernels = fit(post, fitted_options(epsilon=0.05, norm="inf"), salt=0).model.kernels
    fairer = linearpost.decision(kernels, post, test)
    assert fairer[1] < gap and 0.5 < fairer[0] < accuracy + 0.02
    assert linearpost.decision(kernels, post, post)[1] <= 0.05 + 1e-9


def test_accuracy_at_a_gap_lies_between_epsilons() -> None:
    points = np.array([[(0.80, 0.02), (0.90, 0.06)], [(0.82, 0.02), (0.92, 0.06)]])
    assert linearpost.at_gap(points, 0.04) == pytest.approx(0.86)
    assert np.isnan(linearpost.at_gap(points, 0.01))
    mean, error = linearpost.with_error(points, 0.04)
    assert mean == pytest.approx(0.86) and error == pytest.approx(0.01)
    text = linearpost.row("adult", "LR", (0.85, 0.04, 0.02), {"fitted": points, "new": points})
    assert text[4:] == ["0.8600 ± 0.0100 (+10.0)"] * 4
