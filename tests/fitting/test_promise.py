"""Fits that promise epsilon for the population: kept exactly, or refused with reasons."""

from __future__ import annotations

import json
import re
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import Rows, columns_of, normal_rows, same_bits, worlds

from fairroc import FairModel, FairROC
from fairroc.core.constraint import distance_of, equalized_odds
from fairroc.core.gap import threshold_gap
from fairroc.core.realised import performance
from fairroc.errors import DataError, FairrocWarning, ModelFileError
from fairroc.fitting.certificate import certify
from fairroc.fitting.fit import NEAR, Fitted, fit, fit_quietly, limits_of
from fairroc.fitting.solver import Solver
from fairroc.model.file import _checksum
from fairroc.model.model import expected_rocs
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.text.certificate import certificate_text
from fairroc_studies.problems.synthetic import FAMILIES
from strategies import NORMS

ROUNDING = 1e-12


def fitted(rows: Rows, **options) -> Fitted:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        asked = {"promise": "population" if "confidence" in options else "fitted"} | options
        done = fit(columns_of(rows), Options.checked(**asked), salt=1)
        return replace(done, model=FairModel.of(done.model))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"confidence": 1.0}, "confidence must lie between 0 and 1.*1.0"),
        ({"confidence": 0}, "confidence must lie between 0 and 1"),
        ({"confidence": "high"}, "confidence must lie between 0 and 1.*'high'"),
    ],
)
def test_wrong_parameters(wrong, words):
    with pytest.raises(DataError, match=words):
        FairROC(0.1, **wrong).fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], sensitive_features=list("aabb"))


# ---- promises for the population ---------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("how", [{}, {"draw": "never"}, {"draw": "all"}, {"queries": 40}])
def test_the_limit_of_what_is_returned_is_within_epsilon(norm, how):
    """And near it: hardly more could have been allowed."""
    rows = normal_rows(1, n=3000)
    done = fitted(rows, epsilon=0.25, norm=norm, confidence=0.9, **how)
    far = limits_of(done, 0.9)
    assert done.performance.gap < far.bootstrap < far.dkw
    assert far.value == far.bootstrap
    assert far.value <= 0.25
    assert far.value >= (1 - 10 * NEAR) * 0.25 or done.target == 0.25
    assert done.performance.gap <= done.target + ROUNDING
    assert (done.model.epsilon, done.model.confidence) == (0.25, 0.9)
    certificate = certify(done)
    assert certificate.allowed == done.target
    assert certificate.gap <= certificate.allowed
    assert certificate.auc <= certificate.auc_bound + 1e-5
    text = certificate_text(certificate)
    assert f"No score with a gap of at most {done.target:.4g} on these rows" in text


def test_a_promised_fit_is_the_fit_of_what_is_left():
    rows = normal_rows(1, n=3000)
    sure = fitted(rows, epsilon=0.25, confidence=0.9)
    plain = fitted(rows, epsilon=sure.target)
    for a, b in zip(sure.model.kernels, plain.model.kernels, strict=True):
        assert same_bits(a.table, b.table)
        assert same_bits(a.thresholds, b.thresholds)


def named_epsilon(rows: Rows, **options) -> tuple[float, str]:
    """The epsilon that a refusal names, and all its words."""
    with pytest.raises(DataError) as refused:
        fitted(rows, **options)
    words = str(refused.value)
    found = re.search(r"Take epsilon ([0-9.]+) or more", words)
    assert found
    return float(found[1]), words


@settings(max_examples=10)
@given(worlds(max_rows=40, max_groups=4), NORMS, st.sampled_from([0.5, 0.9, 0.99]))
def test_a_refusal_names_an_epsilon_that_can_be_promised(rows, norm, confidence):
    """Tiny groups, ties, weights: what is named is allowed, and is fitted."""
    epsilon, _ = named_epsilon(rows, epsilon=0.0, norm=norm, confidence=confidence)
    most = equalized_odds(norm).largest
    assert 0 < epsilon <= most
    done = fitted(rows, epsilon=epsilon, norm=norm, confidence=confidence)
    assert done.performance.gap <= done.target + ROUNDING
    assert limits_of(done, confidence).value <= epsilon


@pytest.mark.parametrize(("few", "method"), [(30, "bootstrap"), (8, "dkw")])
def test_a_refusal_says_who_is_missing(few, method):
    rows = normal_rows(3, n=400)
    y = rows.y.copy()
    y[np.flatnonzero((rows.groups == "b") & (y == 1))[few:]] = 0
    epsilon, words = named_epsilon(Rows(rows.scores, y, rows.groups), epsilon=0.05, confidence=0.95)
    assert "epsilon 0.05 cannot be promised at confidence 0.95 with 400 rows" in words
    assert f"group 'b' with its {few} rows of label 1 limits it" in words
    assert f"(by {method})" in words
    assert epsilon > 0.2
    more = int(re.search(r"about ([0-9,]+) rows", words)[1].replace(",", ""))
    assert more == pytest.approx(400 * (epsilon / 0.05) ** 2, rel=0.02)


@pytest.mark.parametrize(("epsilon", "most"), [(0.12, 6), (0.03, 3)])
def test_few_fits_are_made_for_a_promise(monkeypatch, epsilon, most):
    """Six at the most; where nothing can be promised, it is soon known."""
    made, plain = [], Solver.at

    def counted(solver, target):
        made.append(target)
        return plain(solver, target)

    monkeypatch.setattr(Solver, "at", counted)
    with warnings.catch_warnings(), suppress(DataError):
        warnings.simplefilter("ignore", FairrocWarning)
        fitted(normal_rows(1, n=3000), epsilon=epsilon, confidence=0.95)
    assert 2 <= len(made) <= most
    assert made[0] == epsilon
    assert all(0 <= target <= epsilon for target in made)


def test_a_gap_that_cannot_be_larger_is_promised_to_everybody():
    """No two points of the plane are farther apart than 2, or 1 in norm "inf": nothing need be done for that."""
    rows = normal_rows(3, n=40)
    for norm, most in ((1, 2.0), ("inf", 1.0)):
        done = fitted(rows, epsilon=most, norm=norm, confidence=0.99)
        assert done.model.unchanged
        assert done.target == most


@pytest.mark.parametrize("name", ["recidivism", pytest.param("three", marks=pytest.mark.slow)])
def test_the_population_keeps_what_was_promised(name):
    """New people of a known population; at 0.9 confidence some of very many samples would not, but these do."""
    family, rng = FAMILIES[name], np.random.default_rng(6)
    scores, labels, groups = family.draw(60_000, rng)
    new = read_people(scores, labels, sensitive_features=groups)
    changed = 0
    for _ in range(3):
        scores, labels, groups = family.draw(4000, rng)
        done = fitted(Rows(scores, labels, groups), epsilon=0.3, confidence=0.9)
        if done.model.unchanged:
            gap = threshold_gap(new.exact, distance_of(1.0)).value
        else:
            changed += 1
            people, realised = expected_rocs(done.model, new)
            gap = performance(realised, people, equalized_odds(1)).gap
        assert gap <= 0.3 + 0.03  # what the new people's own noise may add
    assert changed == 3


# ---- files -------------------------------------------------------------------------------------------------

MODEL = fitted(normal_rows(5, n=1200), epsilon=0.4, confidence=0.5).model


def test_curve_and_confidence_come_back():
    assert not MODEL.unchanged
    back = FairModel.from_json(MODEL.to_json())
    assert (back.curve, back.confidence) == (MODEL.curve, 0.5)
    assert back.to_json() == MODEL.to_json()


def rewritten(change) -> str:
    body = json.loads(MODEL.to_json())
    body.pop("checksum")
    change(body)
    body["checksum"] = _checksum(body)
    return json.dumps(body)


def test_older_files_have_neither():
    def older(body) -> None:
        body["version"] = 1
        del body["curve"], body["confidence"], body["draw"]

    back = FairModel.from_json(rewritten(older))
    assert (back.curve, back.confidence, back.draw) == ("raw", None, "few")
    assert all(same_bits(a.table, b.table) for a, b in zip(back.kernels, MODEL.kernels, strict=True))


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("curve", 3), ("curve", None), ("confidence", "0.9"), ("confidence", True), ("confidence", 1.5)],
)
def test_broken_fields_are_refused(field, wrong):
    with pytest.raises(ModelFileError, match=field):
        FairModel.from_json(rewritten(lambda body: body.update({field: wrong})))


# ---- the command line --------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    rows = normal_rows(5, n=1200)
    lines = [f"{s},{y},{g}" for s, y, g in zip(rows.scores, rows.y, rows.groups, strict=True)]
    path = tmp_path / "d.csv"
    path.write_text("\n".join(["p,y,g", *lines]) + "\n")
    return path


def command(table, *options: object) -> int:
    from fairroc.cli.main import main

    roles = ("--score", "p", "--label", "y", "--group", "g", "-o", table.parent / "model.json")
    return main([str(word) for word in ("fit", table, *roles, *options)])


def test_the_command_line_looks_ahead(table, capsys):
    asked = ("--confidence", 0.5)
    assert command(table, "--epsilon", 0.4, *asked, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    ahead = found["new_people"]
    assert (found["confidence"], ahead["level"], ahead["promise"]) == (0.5, 0.5, "population")
    assert found["gap"] <= found["allowed"] + ROUNDING
    assert ahead["gap"] <= ahead["upper"] <= 0.4 + 1e-9
    assert ahead["limited_by"]["group"] in ("a", "b")
    model = FairModel.load(table.parent / "model.json")
    assert (model.curve, model.confidence) == (found["curve"], 0.5)
    assert command(table, "--epsilon", 0.4, *asked) == 0
    text = capsys.readouterr().out
    assert "Promise for the population: at 50% confidence" in text
    assert f"{ahead['gap_estimate']:.3f} ± {ahead['gap_standard_error']:.3f}" in text
    assert "At 50% confidence the gap among all people like these is at most" in text


def test_the_command_line_promises_new_people(table, capsys):
    assert command(table, "--epsilon", 0.3, "--promise", "new", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    ahead = found["new_people"]
    assert found["promise"] == ahead["promise"] == "new"
    assert ahead["exceeds_epsilon"] == (ahead["gap_estimate"] > 0.3)
    assert command(table, "--epsilon", 0.3, "--promise", "new") == 0
    assert "Promise for new people: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--epsilon", 0.1, "--promise", "fitted", "--confidence", 0.9),
            "confidence must be left out with promise='fit",
        ),
        (("--epsilon", 0.01, "--confidence", 0.95), "epsilon 0.01 cannot be promised at confidence 0.95"),
    ],
)
def test_the_command_line_refuses_and_writes_nothing(table, capsys, options, words):
    assert command(table, *options) != 0
    assert words in capsys.readouterr().err
    assert not (table.parent / "model.json").exists()


def test_refused_tolerances_and_ratios_are_called_so() -> None:
    rng = np.random.default_rng(5)
    groups, y = rng.choice(["a", "b"], 300), rng.random(300) < 0.4
    people = read_people(rng.normal(size=300) + y + (groups == "a"), y, sensitive_features=groups)
    own = {"epsilon": {"fpr": 0.05, "tpr": 0.1}}
    with pytest.raises(DataError, match=r"^tolerances of 0.05 \(FPR\) and 0.1 \(TPR\) cannot") as error:
        fit_quietly(people, Options.checked(promise="population", **own))
    fpr, tpr = re.search(r"that can are ([\d.]+) and ([\d.]+) ", str(error.value)).groups()  # type: ignore[union-attr]
    asked = {"epsilon": {"fpr": float(fpr), "tpr": float(tpr)}}
    assert "epsilon" not in str(error.value) and float(tpr) == pytest.approx(2 * float(fpr), abs=1e-3)
    fit_quietly(people, Options.checked(promise="population", **asked))
