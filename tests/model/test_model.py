"""The fitted model as an object: its doors, its parts and its edges."""

from __future__ import annotations

import dataclasses
import warnings
from contextlib import nullcontext
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_pipeline import Rows, acceptance, even_rows, fitted, same_bits

from fairroc.errors import DataError, FairrocWarning
from fairroc.model import model as model_module
from fairroc.model.draw import key_fingerprint
from fairroc.model.lookup import CHUNK
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import read_people
from refusals import refuses

ROWS = even_rows(1200)


DRAWN = {"all": (0.2, "all"), "some": (0.05, "few"), "nobody": (0.2, "few")}
"""Epsilon and draw by who is drawn."""


@pytest.fixture(scope="module", params=DRAWN)
def model(request):
    found = fitted(ROWS, DRAWN[request.param][0], draw=DRAWN[request.param][1]).model
    assert found.needs_ids == (request.param != "nobody")
    return found


def warns_where_drawn(model, words):
    return pytest.warns(FairrocWarning, match=words) if model.needs_ids else nullcontext()


@pytest.fixture(scope="module")
def identity():
    return fitted(ROWS, 2.0).model


def test_properties(model, identity):
    assert model.names == ("a", "b")
    assert not model.unchanged
    assert model.levels == model.kernels[1].table.shape[1] == model.scale.y[-1]
    assert identity.unchanged
    assert (identity.levels, identity.kernels, identity.scale) == (0, (), None)
    assert sum(group.rows for group in model.groups) == model.record.rows == len(ROWS.y)
    assert sum(group.positives for group in model.groups) == ROWS.y.sum()


def test_a_model_and_its_arrays_are_frozen(model):
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.epsilon = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.groups[0].rows = 1
    for array in (model.scale.y, model.kernels[0].table, model.kernels[0].thresholds):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("threshold", [float("nan"), None, "high", [0.5, 0.6]])
def test_threshold_must_be_a_number(model, threshold):
    for door, more in ((model.acceptance_rate, {}), (model.predict, {"random_state": 0})):
        with pytest.raises(DataError, match=r"threshold must be a number on the score's scale, got .*\. Try 0.5"):
            door([0.5], sensitive_features=["a"], threshold=threshold, **more)


def test_thresholds_beyond_all_scores(model, identity):
    for m in (model, identity):
        top = np.nextafter(ROWS.scores.max(), np.inf)
        assert acceptance(m, ROWS, [np.inf, top]).max() == 0.0
        assert acceptance(m, ROWS, [-np.inf, ROWS.scores.min()]).min() == 1.0


def test_scores_outside_the_fitted_range_count_as_its_ends(model):
    """Nothing is extrapolated: beyond all fitted scores people are treated like the nearest block."""
    inside = [ROWS.scores[ROWS.groups == "a"].max(), ROWS.scores[ROWS.groups == "a"].min()]
    how = {"sensitive_features": ["a", "a"], "ids": ["x", "y"]}
    assert same_bits(model.transform([1e9, -1e9], **how), model.transform(inside, **how))


def test_empty_batch(model, identity):
    for m in (model, identity):
        assert m.transform([], sensitive_features=[], ids=[]).shape == (0,)
        assert m.acceptance_rate([], sensitive_features=[], threshold=0.0).shape == (0,)
        assert m.predict([], sensitive_features=[], threshold=0.0, random_state=0).dtype == np.int64


SCORES = st.one_of(
    st.floats(-4, 4), st.integers(-3, 3), st.sampled_from([1e307, -0.0, 0.0, 1e308, np.nan, True, None, "1"])
)
GROUPS = st.sampled_from(["a", "b"] * 9 + ["c", "", "\ud800", None, 1, 1.0, True])
IDS = st.one_of(
    st.integers(), st.text(max_size=40), st.sampled_from([-(2**63), 2**64, "\ud800", None, 1.0, True, b"x"])
)
SHAPES = st.sampled_from([list, tuple, np.array, lambda values: np.array(values, dtype=object), pd.Series])


def outcome(act):
    """What is returned, to the bit, or which error says what."""
    try:
        return act().tobytes()
    except Exception as error:
        return type(error), str(error)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_few_rows_get_what_many_do(model, identity, data):
    """Also where something is wrong with them: the same errors."""
    n = data.draw(st.integers(0, 9))
    values = data.draw(st.lists(data.draw(st.sampled_from([st.floats(-4, 4), SCORES])), min_size=n, max_size=n))
    groups = data.draw(st.lists(data.draw(st.sampled_from([st.sampled_from("ab"), GROUPS])), min_size=n, max_size=n))
    some = data.draw(st.sampled_from([st.integers(-9, 9), st.text(max_size=40), IDS]))
    ids = data.draw(st.none() | st.lists(some, min_size=max(0, n - 1), max_size=n))
    shapes = [data.draw(SHAPES) for _ in range(3)]
    how = {"random_state": data.draw(st.sampled_from([None, 3])), "key": data.draw(st.sampled_from([None, "k" * 16]))}
    how["on_unknown_group"] = data.draw(st.sampled_from([None, None, "a", "z"]))
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        try:
            scores, features, marks = (
                None if v is None else s(v) for v, s in zip((values, groups, ids), shapes, strict=True)
            )
        except (ValueError, OverflowError, UnicodeError):
            return  # numpy or pandas cannot hold it
        for each in (model, identity):
            act = partial(each.transform, scores, sensitive_features=features, ids=marks, **how)
            quick = outcome(act)
            patch.setattr(model_module, "FEW", -1)
            assert quick == outcome(act)
            patch.undo()


def test_ids_and_keys_that_a_few_rows_must_not_have(model):
    """Half a character, numbers beyond 64 bits, and another key than that of the fit; where somebody is drawn."""
    if not model.needs_ids:
        fair = model.transform([0.1, 0.2], sensitive_features=["a", "b"])
        for ids in (["x", "\ud800"], [1, 2**64], [1]):
            how = {"sensitive_features": ["a", "b"], "ids": ids, "key": "k" * 16}
            assert same_bits(model.transform([0.1, 0.2], **how), fair)
        return
    act = partial(model.transform, [0.1, 0.2], sensitive_features=["a", "b"])
    refuses("UTF-8", act, ids=["x", "\ud800"])
    for beyond in (2**64, -(2**63) - 1):
        refuses(r"1 integers beyond 64 bits .*Pass them as text", act, ids=[1, beyond])
    assert act(ids=[1, 2**64 - 1]).tobytes() == act(ids=np.array([1, 2**64 - 1], dtype=np.uint64)).tobytes()
    keyed = dataclasses.replace(model, key_fingerprint=key_fingerprint(model.salt, "k" * 16))
    mark = key_fingerprint(model.salt, "other keys of 16")
    with pytest.raises(DataError, match=rf"of fingerprint {keyed.key_fingerprint}, got one of {mark}\. Use the first"):
        keyed.transform([0.1], sensitive_features=["a"], ids=[1], key="other keys of 16")


def test_large_batches_are_worked_on_in_parts(model):
    """Across the border of two chunks the same people get the same scores."""
    take = np.arange(CHUNK + 50) % len(ROWS.y)
    ids = take.copy()
    words = rf"{len(ids):,} rows have about 1,200 different ids: rows with the same id share one draw"
    with warns_where_drawn(model, words):
        fair = model.transform(ROWS.scores[take], sensitive_features=ROWS.groups[take], ids=ids)
    assert same_bits(fair[len(ROWS.y) :], fair[: -len(ROWS.y)])


def test_scores_on_another_scale(model, identity):
    """Of many rows 1 % are a warning, more than half an error unless that is allowed; a few rows say nothing."""
    n, groups = 200, ROWS.groups[:200]
    for each in (model, identity):
        low, high = each.score_range
        assert (low, high) == (ROWS.scores.min(), ROWS.scores.max())
        wide = high + 0.02 * (high - low)

        def act(beyond, rows=n, each=each, wide=wide, ask=None, **how):
            scores = np.where(np.arange(n) < beyond, wide, ROWS.scores[:n])[:rows]
            ask = partial(each.transform, ids=np.arange(rows)) if ask is None else ask
            return ask(scores, sensitive_features=groups[:rows], **how)

        act(1), act(2, rows=99), act(9, rows=9)
        for enough in (2, 100):
            with pytest.warns(
                FairrocWarning, match=rf"^{enough} of 200 scores \({enough / 2:.1f}%\) lie outside of the"
            ):
                act(enough)
        rate = partial(each.acceptance_rate, threshold=0.5)
        chosen = partial(each.predict, threshold=0.5, ids=np.arange(n))
        for ask in (None, rate, chosen):
            refuses(r"101 of 200 .*: another scale.*allow_out_of_range=True", act, 101, ask=ask)
            with pytest.warns(FairrocWarning, match=r"101 of 200 scores \(50\.5%\)"):
                act(101, ask=ask, allow_out_of_range=True)
        refuses(r"6 of 10 scores \(60\.0%\)", act, 6, rows=10)
        act(n, wide=high + 0.009 * (high - low))  # less than bins of scores may differ


def test_the_range_of_a_model_without_references(model, identity):
    """Files of old versions: the range is that of the kernels, or unknown."""
    old, nothing = (dataclasses.replace(each, references=()) for each in (model, identity))
    assert old.score_range == model.score_range
    assert nothing.score_range == (-np.inf, np.inf) and nothing.outside(np.array([-1e300, 1e300])) == 0


@pytest.mark.parametrize("how", ["rows", "weighted rows", "counts"])
def test_people_are_judged_as_their_rows_are(model, identity, monkeypatch, how):
    """Whatever is known of them; at the very ends of the range too."""
    judged = []
    monkeypatch.setattr(model_module.ModelData, "judge_range", lambda self, *what: judged.append(what))
    for one in (model, identity, dataclasses.replace(identity, references=())):
        low, high = (np.clip(end, -9.0, 9.0) for end in one.wide_range)
        ends = [low, np.nextafter(low, -np.inf), high, np.nextafter(high, np.inf), -20.0, 20.0]
        scores = np.append(ROWS.scores, ends)
        groups, y = np.append(ROWS.groups, [*"ababab"]), np.append(ROWS.y, [0, 1] * 3)
        if how == "counts":
            people = ScoreCounts.from_rows(scores, y, sensitive_features=groups).people()
        else:
            weights = None if how == "rows" else 0.5 + np.arange(len(y)) % 3
            people = read_people(scores, y, sensitive_features=groups, sample_weight=weights)
        one.judge_people(people, True)
        assert judged.pop() == (one.outside(scores), len(scores), True)
        assert one.outside(scores) == (4 if one.references else 0)


@pytest.mark.parametrize("kind", [np.asarray, list, lambda ids: [f"p{i}" for i in ids], pd.Series])
def test_many_rows_that_share_ids_are_a_warning(model, identity, kind):
    """Not those of a few rows, as in questions of what would be if; nor where nobody is drawn."""
    scores, groups, ids = ROWS.scores[:150], ROWS.groups[:150], np.arange(150) % 9
    with warns_where_drawn(model, "150 rows have 9 different ids"):
        model.transform(scores, sensitive_features=groups, ids=kind(ids))
    model.transform(scores[:50], sensitive_features=groups[:50], ids=kind(ids[:50]))
    model.transform(scores, sensitive_features=groups, ids=kind(np.arange(150)[::-1]))
    identity.transform(scores, sensitive_features=groups, ids=kind(ids))


def test_identity_does_not_hand_out_the_callers_memory(identity):
    scores = ROWS.scores.copy()
    fair = identity.transform(scores, sensitive_features=ROWS.groups, random_state=0)
    fair[0] = 99.0
    assert same_bits(scores, ROWS.scores)


def test_uniform_zero_is_best_and_the_last_one_is_worst(model):
    """The draw is a falling function of the uniform number, from the first level to the last."""
    one = Rows(np.full(257, 0.3), np.zeros(257, dtype=int), np.full(257, "b"))
    u = np.append(np.arange(256) / 256, 1 - 2.0**-53)
    fair = model.fair_scores(model.read(one.scores, one.groups), u)
    assert (np.diff(fair) <= 0).all()
    assert fair[-1] <= fair[0]


def test_missing_groups_are_known_if_they_were_fitted():
    groups = np.where(np.arange(len(ROWS.y)) % 3 == 0, None, ROWS.groups.astype(object))
    from fitted_people import FairROC

    post = FairROC(epsilon=0.3, draw="all", missing="group", salt=1).fit(ROWS.scores, ROWS.y, sensitive_features=groups)
    assert len(post.model_.names) == 3
    assert np.isfinite(post.model_.transform([0.5], sensitive_features=[None], ids=[1])).all()
