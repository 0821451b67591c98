"""One person explained: probabilities, reasons, the draw, and words that promise nothing without its condition."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import DRAW, EPSILONS, Rows, even_rows, fitted, normal_rows, worlds

from fairroc import Explanation, FairModel
from fairroc.errors import DataError, FairrocWarning, UnknownGroupError
from fairroc.model.explanation import Outcome, readable
from fitted_people import FairROC
from strategies import NORMS, SEEDS

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

KEY = "a secret of sixteen bytes or more"


def rows_of(draw: str, epsilon: float) -> Rows:
    """People whose fit keeps all scores apart from an epsilon of .2 on."""
    return even_rows() if (draw, epsilon) == ("few", 0.2) else normal_rows(0, n=2400)


def model_of(draw: str = "all", epsilon: float = 0.1, **how) -> FairModel:
    rows = rows_of(draw, epsilon)
    return (
        FairROC(epsilon=epsilon, draw=draw, salt=1, **how)
        .fit(rows.scores, rows.y, sensitive_features=rows.groups)
        .model_
    )


def rate(model: FairModel, found: Explanation, threshold: float) -> float:
    chance = model.acceptance_rate([found.score], sensitive_features=[found.group], threshold=threshold)
    return float(chance[0])


# ---- probabilities -----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(worlds(max_groups=4), EPSILONS, NORMS, DRAW, st.data())
def test_probabilities_are_those_of_acceptance(rows, epsilon, norm, draw, data) -> None:
    """They sum to one; at the ends of intervals they give the acceptance rate, in between they enclose it."""
    model = fitted(rows, epsilon, norm, draw).model
    row = data.draw(st.integers(0, len(rows.y) - 1))
    found = model.explain(rows.scores[row], str(rows.groups[row]))
    assert sum(outcome.probability for outcome in found.outcomes) == pytest.approx(1, abs=1e-12)
    assert all(outcome.probability > 0 for outcome in found.outcomes)
    for outcome in found.outcomes:
        assert outcome.low <= outcome.high
        surely = sum(o.probability for o in found.outcomes if o.low >= outcome.low)
        assert rate(model, found, outcome.low) == pytest.approx(surely, abs=1e-9)
    span = [found.outcomes[-1].low, found.outcomes[0].high]
    for threshold in np.quantile(span, [0.1, 0.37, 0.9]) if np.ptp(span) < 1e308 else []:
        surely = sum(o.probability for o in found.outcomes if o.low >= threshold)
        possibly = sum(o.probability for o in found.outcomes if o.high >= threshold)
        assert surely - 1e-9 <= rate(model, found, threshold) <= possibly + 1e-9


@settings(max_examples=40)
@given(
    SEEDS, st.sampled_from(["all", "some", "apart", "tied"]), st.floats(-5, 5), st.floats(-6, 6), st.sampled_from("ab")
)
def test_acceptance_at_any_threshold(seed, which, score, threshold, group) -> None:
    """For any score, fitted or not; inside an interval the place is spread evenly, and the scale turns it to scores."""
    model = MODELS[which]
    found = model.explain(score, group, threshold=threshold, id=seed)
    assert found.acceptance == rate(model, found, threshold)
    assert found.accepted_before == (score >= threshold)
    place = float(model.scale.to_place(np.array(threshold)))
    if found.reason in ("transport", "ties"):
        ends = [[_place(model, end) for end in (o.high, o.low)] for o in found.outcomes]
        shares = [np.clip((place - begin) / (end - begin), 0, 1) for begin, end in ends]
        expected = sum(s * o.probability for s, o in zip(shares, found.outcomes, strict=True))
        assert found.acceptance == pytest.approx(expected, abs=1e-6)
    assert found.draw.accepted == (found.draw.score >= threshold)
    if found.draw.accepted:
        assert found.acceptance > 0
    else:
        assert found.acceptance < 1


def _place(model: FairModel, score: float) -> float:
    return float(np.interp(-score, -model.scale.score, model.scale.y))


MODELS = {
    "all": model_of("all"),
    "some": model_of("few", 0.05),
    "apart": model_of("few", 0.2),
    "tied": model_of("never"),
}
"""Everybody drawn, some, and nobody: with all scores apart, and with neighbouring ones tied."""


@settings(max_examples=25)
@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=60))
def test_lines_are_few_and_lose_nothing(weights) -> None:
    chances = np.array(weights) / sum(weights)
    outcomes = tuple(Outcome(-i - 1.0, -float(i), float(p)) for i, p in enumerate(chances))
    lines = readable(outcomes)
    assert len(lines) <= 20
    assert sum(line.probability for line in lines) == pytest.approx(1)
    assert (lines[0].high, lines[-1].low) == (outcomes[0].high, outcomes[-1].low)
    assert all(a.low == b.high for a, b in pairwise(lines))
    assert {o for o in outcomes if o.probability >= 0.1} <= set(lines)


# ---- the draw ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", ["all", "few", "never"])
@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("hash", ["xxh64", "blake2b"])
def test_the_draw_is_that_of_transform(draw, key, hash) -> None:
    """Bit for bit, for ids of both types, alone and among others."""
    rows = normal_rows(0, n=2400)
    model = model_of(draw, hash=hash, key=key)
    for ids in (np.arange(40), [f"n{i} 'é'" for i in range(40)]):
        fair = model.transform(rows.scores[:40], sensitive_features=rows.groups[:40], ids=ids, key=key)
        for i in range(40):
            one = ids[i] if isinstance(ids, list) else int(ids[i])
            found = model.explain(rows.scores[i], rows.groups[i], id=one, key=key)
            assert found.draw.score == fair[i]
            assert any(o.low <= fair[i] <= o.high for o in found.outcomes)


def test_a_model_with_a_key_needs_it() -> None:
    with pytest.raises(DataError, match="its draws need it; pass"):
        model_of(key=KEY).explain(0.5, "a", id=7)
    assert model_of(key=KEY).explain(0.5, "a").draw is None


# ---- reasons and words -------------------------------------------------------------------------------------


def test_reasons_are_those_of_the_certificate() -> None:
    """The shares of fitted people by reason are the certificate's."""
    rows = normal_rows(0, n=600)
    for draw, epsilon in (("all", 0.2), ("few", 0.2), ("few", 0.05), ("never", 0.05)):
        post = FairROC(epsilon=epsilon, draw=draw, salt=1).fit(rows.scores, rows.y, sensitive_features=rows.groups)
        for group in post.certificate_.groups:
            scores = rows.scores[rows.groups == group.group]
            reasons = [post.model_.explain(score, group.group).reason for score in scores]
            assert reasons.count("transport") / len(reasons) == pytest.approx(group.transport_share)
            assert reasons.count("ties") / len(reasons) == pytest.approx(group.tie_share)


def test_the_models_draw_whom_their_names_say() -> None:
    found = {}
    for name, model in MODELS.items():
        rows = rows_of(model.draw, model.epsilon)
        found[name] = {model.explain(s, g).reason for s, g in zip(rows.scores, rows.groups, strict=True)}
    assert found["all"] == {"transport", "ties"}
    assert found["some"] == {"transport", "order"}
    assert found["apart"] == {"order"}
    assert found["tied"] == {"shared"}
    assert [name for name, model in MODELS.items() if not model.needs_ids] == ["apart", "tied"]


def test_people_of_one_block_have_one_explanation() -> None:
    model, rows = MODELS["all"], normal_rows(0, n=2400)
    for score in rows.scores[rows.groups == "a"][:60]:
        found = model.explain(score, "a")
        assert found.block.low <= score
        assert score < found.block.high or found.block.highest
        assert model.explain(found.block.low, "a").outcomes == found.outcomes


@pytest.mark.parametrize(
    ("draw", "epsilon", "reason", "words"),
    [
        ("all", 0.1, "transport", "because fairness moves people here"),
        ("all", 0.1, "ties", "moves nobody further within the group"),
        ("few", 0.05, "order", "Nothing is drawn for this person"),
        ("few", 0.2, "order", "The score decides alone: the fair score follows"),
        ("never", 0.1, "shared", "The score decides alone: the fair score follows"),
        ("few", 0.1, "shared", "share one fair score"),
        ("few", 2.0, "unchanged", "Nothing is changed: on the people the model was fitted to"),
    ],
)
def test_words_name_the_reason_and_the_condition(draw, epsilon, reason, words) -> None:
    rows, model = rows_of(draw, epsilon), model_of(draw, epsilon)
    every = (model.explain(s, g, threshold=0.7, id="x") for s, g in zip(rows.scores, rows.groups, strict=True))
    found = next(one for one in every if one.reason == reason)
    assert words in found.text
    assert f"within epsilon {epsilon:g}" in found.text
    assert "on the 2,400 people the model was fitted to" in found.text
    before = "selected" if found.accepted_before else "not selected"
    assert f"At the threshold 0.7: by the original score the person is {before}; by the fair score, " in found.text
    assert "For the id 'x' the fair score is" in found.text
    assert ("Possible fair scores" in found.text) == (reason in ("transport", "ties"))
    assert not {"guarantee", "unbiased", "debias"} & set(found.text.lower().split())
    assert ("all groups are put on one scale" in found.text) == (reason != "unchanged")


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_a_promise_for_new_people_says_nothing_of_the_fitted_ones(epsilon) -> None:
    text = model_of("few", epsilon, promise="new").explain(0.5, "a").text
    assert "should lie within" in text and "among new people like the 2,400 people the model was fitted to" in text
    assert " on the 2,400" not in text and "on the people the model was fitted to" not in text


@pytest.mark.parametrize(
    ("how", "reason", "words"),
    [
        ({"epsilon": 0.05}, "order", "the groups' true positive rates come within epsilon 0.05 of each other at every"),
        ({"epsilon": 0.05}, "ties", "so that the groups' true positive rates come within epsilon 0.05"),
        ({"epsilon": 0.05, "draw": "never"}, "order", "The score decides alone: the fair score follows"),
        ({"ratio": 0.8}, "ties", "the smallest is at least 0.8 of the largest at every threshold"),
        (
            {"epsilon": 0.05, "where": (0.1, 0.3)},
            "order",
            "at every threshold at which 10% to 30% of people are selected",
        ),
        ({"epsilon": 0.05, "where": (0.1, 0.3)}, "order", "At other thresholds the original order stays"),
        ({"epsilon": 1.0}, "unchanged", "the groups' true positive rates were within epsilon 1 of each other"),
    ],
)
def test_words_for_one_rate(how, reason, words) -> None:
    """Nobody is transported; scores of a group are moved together, and equal ones may be drawn."""
    rows = normal_rows(0, n=2400, digits=2)
    post = FairROC(constraint="equal_opportunity", salt=1, **how).fit(
        rows.scores, rows.y, sensitive_features=rows.groups
    )
    every = [post.model_.explain(s, g) for s, g in zip(rows.scores, rows.groups, strict=True)]
    assert {one.reason for one in every} <= {"order", "shared", "ties", "unchanged"}
    found = next(one for one in every if one.reason == reason)
    assert words in found.text
    assert "false positive" not in found.text
    assert ("over the draw" in found.text) == post.model_.needs_ids
    assert post.model_.needs_ids != (how.get("draw") == "never" or reason == "unchanged")
    assert "Who does is left to chance" not in found.text


def test_words_do_not_deny_a_shift_of_scale() -> None:
    """People drawn only among neighbours can still cross a threshold for certain; the text must not say otherwise."""
    rng = np.random.default_rng(0)
    groups, y = np.repeat(["a", "b"], 1000), rng.integers(0, 2, 2000)
    scores = y + rng.normal(size=2000) + 2.0 * (groups == "b")
    model = FairROC(epsilon=0.05, draw="all", salt=1).fit(scores, y, sensitive_features=groups).model_
    every = [model.explain(score, "b") for score in scores[groups == "b"]]
    shifted = [one for one in every if one.reason == "ties" and max(part.high for part in one.outcomes) < one.score]
    assert shifted
    assert all("Fair scores here can still lie above or below the original ones" in one.text for one in shifted)


def test_scores_outside_the_fitted_range() -> None:
    model = MODELS["some"]
    above, below = model.explain(1e6, "a"), model.explain(-1e6, "a")
    assert (above.outside, below.outside, model.explain(0.5, "a").outside) == ("above", "below", None)
    assert "above all scores the model was fitted to" in above.text
    assert "below all scores the model was fitted to" in below.text
    rows = normal_rows(0, n=2400)
    assert above.outcomes == model.explain(rows.scores[rows.groups == "a"].max(), "a").outcomes


def test_unknown_groups_are_said() -> None:
    with pytest.raises(UnknownGroupError, match="knows the groups 'a', 'b', but 1 of 1 rows are of 'q'"):
        MODELS["all"].explain(0.5, "q")
    with pytest.warns(FairrocWarning, match="treated as group 'b'"):
        found = MODELS["all"].explain(0.5, "q", on_unknown_group="b")
    assert (found.group, found.treated_as) == ("q", "b")
    assert "was not fitted to this group; the person is treated as group 'b'" in found.text
    assert found.outcomes == MODELS["all"].explain(0.5, "b").outcomes


def test_groups_of_several_columns_and_numbers() -> None:
    rows = normal_rows(0, n=800, groups=4)
    numbers = np.array([1, 2])[np.isin(rows.groups, ["a", "b"]).astype(int)]
    features = {"x": numbers, "y": np.where(np.isin(rows.groups, ["a", "c"]), 'Ω "q" 🙂', "it's\n")}
    model = FairROC(epsilon=0.1, salt=1).fit(rows.scores, rows.y, sensitive_features=features).model_
    found = model.explain(0.5, (1, 'Ω "q" 🙂'))
    assert found.group == found.treated_as == '1 & Ω "q" 🙂'
    assert "group '1 & Ω \"q\" 🙂'" in found.text
    assert "'2 & it's'" in model.explain(0.5, [2.0, "it's\n"]).text
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["group"] == found.group


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"score": "high"}, "scores must be real numbers"),
        ({"score": float("nan")}, "scores must not be missing"),
        ({"threshold": "x"}, "threshold must be a number"),
        ({"threshold": np.inf}, "threshold must be a finite number on the score's scale, got inf"),
        ({"id": 1.5}, "ids must be integers or text"),
        ({"group": None}, "the model has no group for missing values"),
    ],
)
def test_what_cannot_be_explained(how, words) -> None:
    with pytest.raises(DataError, match=words):
        MODELS["all"].explain(**{"score": 0.5, "group": "a", **how})


def test_a_loaded_model_explains_the_same(tmp_path) -> None:
    MODELS["some"].save(tmp_path / "m.json")
    loaded = FairModel.load(tmp_path / "m.json")
    for score in (-1.0, 0.3, 1.2):
        assert loaded.explain(score, "b", threshold=0.4, id=3) == MODELS["some"].explain(
            score, "b", threshold=0.4, id=3
        )


def test_it_prints_as_a_short_table() -> None:
    model = model_of()
    group = "a"
    assert "now selected\n" in str(model.explain(0.3, group, threshold=0.4))
    found = model.explain(0.3, group, threshold=0.53, id=7)
    assert found.draw is not None and found.acceptance is not None
    said = str(found)
    assert f"now with chance {found.acceptance:.3f}" in said and f"{found.draw.score:.4g}" in said
    assert all(f"{line.probability:.3f}" in said for line in found.lines[:5])
    with pytest.warns(FairrocWarning):
        other = str(model.explain(0.3, "never seen", on_unknown_group=group))
    assert "treated as" in other and "at threshold" not in other
