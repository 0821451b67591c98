"""What one draw does to the fitted people: against draws for everyone, measured one by one."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from test_pipeline import normal_rows, worlds

from fairroc import ScoreCounts, audit
from fairroc.errors import DataError, FairrocWarning
from fairroc.fitting import one_draw as module
from fairroc.fitting.fit import Fitted, fit_quietly
from fairroc.fitting.one_draw import OneDraw, one_draw
from fairroc.people.door import read_people
from fairroc.text.outlook import one_draw_words
from fairroc_studies.problems.synthetic import FAMILIES
from fitted_people import FairROC, fitted_options
from strategies import NORMS

SURE = 4.5
"""Standard errors that two simulations of the same mean may differ by."""


def fitted(people, **options) -> Fitted:
    return fit_quietly(people, fitted_options(**options), salt=1)


def made(rows: int, *, weighted: bool = False, name: str = "income", seed: int = 7):
    """Scores, labels, groups and weights of made-up people."""
    rng = np.random.default_rng(seed)
    scores, labels, groups = FAMILIES[name].draw(rows, rng)
    return scores, labels, groups, rng.random(rows) ** 3 if weighted else None


def people_of(scores, labels, groups, weights=None):
    return read_people(scores, labels, sensitive_features=groups, sample_weight=weights)


def drawn_gaps(scores, labels, groups, weights, draws: int, **options) -> np.ndarray:
    """Everyone is transformed and audited, once for each draw."""
    how = {"sensitive_features": groups, "sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        post = FairROC(salt=1, **options).fit(scores, labels, **how)
        fair = (post.transform(scores, sensitive_features=groups, random_state=500 + k) for k in range(draws))
        return np.array([audit(one, labels, bootstrap=0, norm=post.norm, **how).gap for one in fair])


def same_mean(found: OneDraw, gaps: np.ndarray, bias: float = 0.0) -> bool:
    error = math.hypot(found.spread / math.sqrt(found.draws), gaps.std(ddof=1) / math.sqrt(len(gaps)))
    return abs(found.gap - gaps.mean()) <= SURE * error + bias * (gaps.mean() - found.expected)


@pytest.mark.parametrize(
    ("rows", "weighted", "name", "options"),
    [
        (400, False, "income", {"epsilon": 0.05, "queries": 50}),
        (400, False, "crossing", {"epsilon": 0.02, "draw": "all", "norm": "inf"}),
        (600, True, "income", {"epsilon": 0.05, "draw": "all"}),
        (600, False, "tenths", {"epsilon": 0.05}),
        (900, False, "three", {"epsilon": 0.1, "draw": "all"}),
    ],
)
def test_few_people_are_all_drawn_for(rows, weighted, name, options):
    world = made(rows, weighted=weighted, name=name)
    found = one_draw(fitted(people_of(*world), **options))
    gaps = drawn_gaps(*world, 60, **options)
    assert found.draws and found.rows == rows
    assert same_mean(found, gaps)
    assert found.spread == pytest.approx(gaps.std(ddof=1), rel=0.6)
    assert (gaps > found.upper).mean() < 0.25
    assert found.gap > found.expected + 0.02  # on a few hundred people one draw is not its expectation


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "options"), [("income", {"epsilon": 0.05}), ("tenths", {"epsilon": 0.02, "draw": "all"})]
)
def test_some_stand_for_many(monkeypatch, name, options, weighted):
    """A tenth of the people scatter more than all do, and that is taken off."""
    monkeypatch.setattr(module, "MOST", 1200)
    monkeypatch.setattr(module, "LEAST", 100)
    world = made(12_000, name=name, weighted=weighted)
    found = one_draw(fitted(people_of(*world), **options), draws=200)
    assert same_mean(found, drawn_gaps(*world, 60, **options), bias=0.1)
    assert found.expected < found.gap < found.expected + 0.04


def test_some_stand_for_all_of_both_kinds(monkeypatch):
    """The two ways agree on the same people, whole or not."""
    done = fitted(people_of(*made(3000, name="income")), epsilon=0.02)
    exact = one_draw(done, draws=200)
    monkeypatch.setattr(module, "MOST", 2999)
    thinned = one_draw(done, draws=200)
    assert thinned != exact
    error = math.hypot(exact.spread, thinned.spread) / math.sqrt(200)
    assert abs(exact.gap - thinned.gap) <= SURE * error + 0.05 * (exact.gap - exact.expected)


@settings(max_examples=10)
@given(worlds(max_rows=20, max_groups=4), NORMS)
def test_it_is_complete_whoever_the_people_are(rows, norm):
    """Tiny groups, ties, weights: a mean draw is no better than the expectation, plain data, the same each time."""
    done = fitted(people_of(rows.scores, rows.y, rows.groups, rows.weights), epsilon=0.1, norm=norm)
    found = one_draw(done, draws=20)
    assert found == one_draw(done, draws=20)
    assert found.expected == done.performance.gap
    # The gap is convex in the rates, so its mean is at least the gap of the mean rates.
    assert found.gap >= found.expected - SURE * found.spread / math.sqrt(20) - 1e-9
    assert 0 <= found.upper <= (2.0 if norm == 1 else 1.0) + 1e-12
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


def test_nobody_drawn_nothing_simulated():
    """A score that is fair already, and one that keeps its order all along."""
    rows = normal_rows(3, n=300)
    done = fitted(people_of(rows.scores, rows.y, rows.groups), epsilon=2.0)
    assert one_draw(done) == OneDraw(300, done.before.gap, done.before.gap, 0.0, done.before.gap, 0)
    assert one_draw_words(one_draw(done)) == ""
    kept = fitted(people_of(rows.scores, rows.y, rows.groups), epsilon=0.3, draw="never")
    gap = kept.performance.gap
    assert not kept.model.unchanged and gap <= 0.3
    assert one_draw(kept) == OneDraw(300, gap, gap, 0.0, gap, 0)


def test_rows_in_any_order_and_counts_give_the_same():
    scores, labels, groups, _ = made(700, name="tenths")
    order = np.random.default_rng(5).permutation(700)
    found = one_draw(fitted(people_of(scores, labels, groups), epsilon=0.05))
    assert one_draw(fitted(people_of(scores[order], labels[order], groups[order]), epsilon=0.05)) == found
    counts = ScoreCounts.from_rows(scores, labels, sensitive_features=groups)
    assert one_draw(fitted(counts.people(), epsilon=0.05)) == found


def test_a_billion_people_scatter_little():
    """Counts of people cost their distinct scores."""
    scores, labels, groups, _ = made(2000, name="tenths")
    few = ScoreCounts.from_rows(scores, labels, sensitive_features=groups).people()
    million = 1_000_000
    many = replace(
        few,
        samples=tuple(
            replace(sample, negatives=million * sample.negatives, positives_at=million * sample.positives_at)
            for sample in few.samples
        ),
    )
    found = one_draw(fitted(many, epsilon=0.05, draw="all"))
    assert found.rows == 2000 * million and found.draws
    assert found.expected <= found.gap < found.expected + 1e-4


def test_it_is_an_attribute_of_the_fit():
    scores, labels, groups, _ = made(400)
    post = FairROC(0.05, salt=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        post.fit(scores, labels, sensitive_features=groups)
        first = post.one_draw_
        assert first == one_draw(post.fitted_)
        post.set_params(epsilon=2.0).fit(scores, labels, sensitive_features=groups)
    assert post.one_draw_.draws == 0
    with pytest.raises(DataError, match="the gap of one draw needs the training data"):
        replaced = FairROC(0.05)
        replaced.model_ = post.model_
        _ = replaced.one_draw_


def test_the_command_line_says_it(tmp_path, capsys):
    from fairroc.cli.main import main

    scores, labels, groups, _ = made(500)
    table = tmp_path / "people.csv"
    rows = zip(scores.tolist(), labels.tolist(), groups.tolist(), strict=True)
    table.write_text("p,y,g\n" + "".join(f"{p!r},{int(y)},{g}\n" for p, y, g in rows))
    words = ["fit", table, "--score", "p", "--label", "y", "--group", "g", "--epsilon", 0.05, "--promise", "fitted"]
    words += ["-o", tmp_path / "model.json"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        assert main([*map(str, words), "--format", "json"]) == 0
        found = OneDraw(**json.loads(capsys.readouterr().out)["one_draw"])
        assert main([*map(str, words)]) == 0
    assert found == one_draw(fitted(people_of(scores, labels, groups), epsilon=0.05))
    assert one_draw_words(found) in capsys.readouterr().out.splitlines()


def test_the_sentence_has_the_numbers_of_these_people():
    text = one_draw_words(OneDraw(926, 0.05, 0.1874, 0.02, 0.2399, 50))
    assert text == (
        "People are drawn once: among these 926 a single draw has a gap of about 0.187 (0.050 on average over all "
        "draws); one draw in twenty exceeds 0.240."
    )
