"""The tree over probabilities of groups, against one row at a time; and models with one in their file."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_model_file import put, rewritten

from fairroc import FairModel, FairROC
from fairroc.errors import DataError, ModelFileError
from fairroc.model.file import VERSION
from fairroc.model.proxy import ProxyTree, single_leaf
from strategies import SEEDS

RNG = np.random.default_rng(3)
N = 400
SEX, RACE, Y = RNG.choice(["f", "m"], N), RNG.choice(["a", "b"], N), RNG.integers(0, 2, N)
SCORES = Y + np.where(SEX == "f", 1.0, 2.0) * RNG.normal(size=N)
PROXY = np.clip(np.where(SEX == "m", 0.75, 0.25) + 0.2 * RNG.normal(size=N), 0, 1)
IDS = np.arange(N)

FITS = {
    "blind": ({"use_group": False}, {"sensitive_features": SEX, "group_probabilities": {"m": PROXY}}),
    "score alone": ({"use_group": False}, {"sensitive_features": SEX}),
    "strata, blind": (
        {"use_group": False},
        {"sensitive_features": SEX, "group_probabilities": PROXY, "control_features": RACE},
    ),
    "each": (
        {"combine": "each", "epsilon": {"sex": 0.1, "race": 0.2}},
        {"sensitive_features": {"sex": SEX, "race": RACE}},
    ),
    "strata": ({}, {"sensitive_features": SEX, "control_features": RACE}),
    "fair already": ({"combine": "each", "epsilon": 2.0}, {"sensitive_features": {"sex": SEX, "race": RACE}}),
}


@cache
def spread(name: str) -> FairROC:
    """A fit whose model is told something else than the groups that are compared."""
    how, given = FITS[name]
    return FairROC(**{"epsilon": 0.1, "promise": "fitted", "draw": "all", "salt": 1, **how}).fit(SCORES, Y, **given)


def told(name: str) -> dict:
    """What the model is told of the fitted people."""
    how, given = FITS[name]
    return {key: value for key, value in given.items() if how.get("use_group", True) or key != "sensitive_features"}


# ---- the tree --------------------------------------------------------------------------------------------------------


@st.composite
def trees(draw) -> ProxyTree:
    """Trees of up to nine nodes over two columns, children after their parents."""
    column, threshold, left, right = [-1], [0.0], [-1], [-1]
    for _ in range(draw(st.integers(0, 4))):
        leaf = draw(st.sampled_from([i for i, c in enumerate(column) if c < 0]))
        column[leaf], threshold[leaf] = draw(st.integers(0, 1)), draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
        left[leaf], right[leaf] = len(column), len(column) + 1
        column, threshold, left, right = column + [-1] * 2, threshold + [0.0] * 2, left + [-1] * 2, right + [-1] * 2
    whole = (np.array(part, dtype=np.intp) for part in (column, left, right))
    nodes, lefts, rights = whole
    return ProxyTree(("p", "q"), nodes, np.array(threshold), lefts, rights)


@given(trees(), SEEDS)
def test_every_row_goes_down_by_itself(tree, seed) -> None:
    rows = np.random.default_rng(seed).choice([0.0, 0.1, 0.25, 0.5, 0.7, 1.0], (30, 2))
    found = tree.leaf(rows)
    for row, leaf in zip(rows, found, strict=True):
        node = 0
        while tree.column[node] >= 0:
            node = tree.left[node] if row[tree.column[node]] <= tree.threshold[node] else tree.right[node]
        assert tree.leaves[leaf] == node
    assert tree.label(rows).tolist() == [tree.names[leaf] for leaf in found]
    assert list(tree.names) == sorted(tree.names) and len(set(tree.names)) == len(tree.leaves)


def test_a_single_leaf_tells_nobody_apart() -> None:
    tree = single_leaf(("p",))
    assert tree.names == ("cell 1",) and tree.leaf(np.array([[0.0], [1.0]])).tolist() == [0, 0]


def test_ten_leaves_are_named_in_order() -> None:
    """A comb: every right child is the next node that asks."""
    inner = np.arange(10) * 2
    column, left, right = (np.full(21, -1, dtype=np.intp) for _ in range(3))
    column[inner], left[inner], right[inner] = 0, inner + 1, inner + 2
    threshold = np.zeros(21)
    threshold[inner] = np.arange(1, 11) / 11
    tree = ProxyTree(("p",), column, threshold, left, right)
    assert tree.names[0] == "cell 01" and tree.names[-1] == "cell 11"
    assert tree.leaf(np.linspace(0, 1, 111)[:, None]).tolist() == sorted(tree.leaf(np.linspace(0, 1, 111)[:, None]))


# ---- in the model file -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the intersections of sex & race are farther apart")
@pytest.mark.parametrize("name", FITS)
def test_a_model_comes_back_bit_for_bit(name, tmp_path) -> None:
    model = spread(name).model_
    text = model.to_json()
    assert json.loads(text)["version"] == VERSION
    back = FairModel.from_json(text)
    assert back.to_json() == text
    assert [(c.attribute, c.stratum, c.epsilon, c.groups) for c in back.compared] == [
        (c.attribute, c.stratum, c.epsilon, c.groups) for c in model.compared
    ]
    assert (back.use_group, back.combine, back.controls) == (model.use_group, model.combine, model.controls)
    how = {**told(name), "ids": IDS}
    assert (back.transform(SCORES, **how) == model.transform(SCORES, **how)).all()
    model.save(tmp_path / "m.json")
    post = FairROC.load(tmp_path / "m.json")
    assert (post.transform(SCORES, **how) == model.transform(SCORES, **how)).all()
    asked = FITS[name][0]
    assert {key: post.get_params()[key] for key in asked} == asked
    assert post.checked_options().is_spread == bool(asked.keys() & {"use_group", "combine"})


def test_what_a_model_is_told_is_asked_for_in_words() -> None:
    blind, strata = spread("blind").model_, spread("strata").model_
    with pytest.raises(DataError, match=r"group_probabilities must be given, .* got none: .* \(m\) in place of the"):
        blind.transform(SCORES, ids=IDS)
    with pytest.raises(DataError, match="this model does not use sensitive_features, got some"):
        blind.transform(SCORES, sensitive_features=SEX, group_probabilities=PROXY, ids=IDS)
    with pytest.raises(DataError, match="control_features must be given, one row for each score, got none"):
        strata.transform(SCORES, sensitive_features=SEX, ids=IDS)
    with pytest.raises(DataError, match="control_features must have 1 columns, as in the fit, got 2"):
        strata.transform(SCORES, sensitive_features=SEX, control_features={"a": RACE, "b": RACE}, ids=IDS)


BROKEN = {
    "proxy gone": (put("proxy", None), "a model has a proxy if it does not use the group"),
    "uses the group": (put("use_group", True), "a model has a proxy if it does not use the group"),
    "use_group a word": (put("use_group", "no"), "use_group or combine is off"),
    "combine": (put("combine", "some"), "use_group or combine is off"),
    "controls negative": (put("controls", -1), "controls must be a small number"),
    "controls true": (put("controls", True), "controls must be a small number"),
    "nothing compared": (put("compared", []), "some groups must be compared"),
    "no compared": (lambda b: b.pop("compared"), "says nothing else of them"),
    "one group compared": (lambda b: b["compared"][0]["groups"].pop(), "two or more with different names"),
    "same name twice": (put("compared", 0, "groups", 0, "name", "m"), "two or more with different names"),
    "no negatives": (lambda b: b["compared"][0]["groups"][0].update(positives=10**6), "people of both labels"),
    "rows a text": (put("compared", 0, "groups", 0, "rows", "9"), "garbles a field|people of both labels"),
    "epsilon larger": (put("compared", 0, "epsilon", 0.2), "must not be above the largest"),
    "epsilon a text": (put("compared", 0, "epsilon", "0.1"), "'epsilon' must hold numbers"),
    "attribute a number": (put("compared", 0, "attribute", 4), "attributes and strata must have names"),
    "stratum a number": (put("compared", 0, "stratum", 4), "attributes and strata must have names"),
    "compared has more": (put("compared", 0, "colour", "red"), "written by a newer fairroc"),
    "proxy has more": (put("proxy", "colour", "red"), "written by a newer fairroc"),
    "columns a text": (put("proxy", "columns", "m"), "proxy columns must have names"),
    "column twice": (put("proxy", "columns", ["m", "m"]), "different names"),
    "no such column": (put("proxy", "column", 0, 1), "names no column"),
    "column below": (put("proxy", "column", 0, -2), "names no column"),
    "list short": (lambda b: b["proxy"]["left"].pop(), "one entry in every list"),
    "no nodes": (
        lambda b: b["proxy"].update(column=[], threshold=[], left=[], right=[]),
        "one entry in every list",
    ),
    "a circle": (put("proxy", "left", 0, 0), "are no tree"),
    "two parents": (lambda b: b["proxy"]["left"].__setitem__(0, b["proxy"]["right"][0]), "are no tree"),
    "threshold a text": (put("proxy", "threshold", 0, "x"), "'threshold' must hold numbers"),
    "another cell": (put("groups", 0, "name", "cell 9"), "a group is no cell of the proxy"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_damage_is_refused_with_words(name) -> None:
    change, words = BROKEN[name]
    text = spread("blind").model_.to_json()
    assert len(json.loads(text)["proxy"]["column"]) >= 3  # there is a split to break
    with pytest.raises(ModelFileError, match=words):
        FairModel.from_json(rewritten(text, change))


def test_a_plain_model_must_not_speak_of_a_proxy() -> None:
    text = FairROC(0.1, promise="fitted", draw="all", salt=1).fit(SCORES, Y, sensitive_features=SEX).model_.to_json()
    with pytest.raises(ModelFileError, match="a model that is told the groups it compares says nothing else of them"):
        FairModel.from_json(rewritten(text, put("use_group", False)))
