"""What models are told: examples of it lead to the groups they stand for, and wrong columns are refused."""

from __future__ import annotations

import numpy as np
import pytest

from fairroc import DataError
from fairroc.model.draw import HIDDEN, Secret
from fairroc.model.explanation import inside, told_examples
from fairroc.model.families import attribute_columns, people_in
from fairroc.people.spread import Family
from family_cases import KINDS, model_of, people
from fitted_people import FairROC
from spread_cases import CASES, spread_case


@pytest.mark.parametrize("kind", KINDS)
def test_examples_lead_to_the_group_they_stand_for(kind):
    model = model_of(kind)
    found = told_examples(model)
    codes = []
    for one in found:
        groups = {str(i): [value] for i, value in enumerate(one.groups)} or None
        strata = {str(i): [value] for i, value in enumerate(one.controls)} or None
        chances = {name: [chance] for name, chance in one.probabilities.items()} or None
        told = model.told(groups, chances, strata, 1)
        codes.append(int(model.read([0.0], told, None, True).groups[0]))
    assert len(found) >= len(model.names) - 1 and set(codes) == set(range(len(model.names)))


@pytest.mark.parametrize("kind", ["cells", "both"])
def test_probabilities_inside_a_leaf_lead_to_it_also_where_few_digits_do_not(kind):
    tree = model_of(kind).proxy
    for leaf in range(len(tree.leaves)):
        assert tree.leaf(np.array([inside(tree, leaf)]))[0] == leaf
    lists = [0, 0, -1, -1, -1], [0.123456, 0.123455, 0, 0, 0], [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]
    node = type(tree)(tree.columns, *map(np.array, lists))
    assert node.leaf(np.array([inside(node, 1)]))[0] == 1


def test_columns_that_a_model_does_not_use_or_lacks_are_refused():
    cells, both, strata = model_of("cells"), model_of("both"), model_of("strata")
    for model, named, words in (
        (cells, (["sex"], ["r"], []), "group .*must name no column, got sex"),
        (cells, ([], [], []), "group_probabilities .*must name the columns that the model was fitted with"),
        (strata, (["sex"], [], []), "control_features .*must name the columns"),
        (both, ([], ["male"], ["race", "region"]), "must name 1 columns, as in the fit, got 2: race, region"),
    ):
        with pytest.raises(DataError, match=words):
            model.told_columns(*named)


def test_a_stratum_without_both_labels_is_named():
    codes, ones = np.array([0, 1, 0, 1]), np.ones(4, dtype=bool)
    with pytest.raises(DataError, match=r"within 'a': .* Coarser control features have more people each"):
        people_in(Family("sex", "a", ("f", "m"), codes), np.arange(4.0), ones, None)
    with pytest.raises(DataError, match=r"^y must hold both labels"):
        people_in(Family("sex", None, ("f", "m"), codes), np.arange(4.0), ones, None)


def test_a_key_that_was_hidden_is_lost():
    assert Secret(HIDDEN).is_lost


@pytest.mark.parametrize("case", CASES)
def test_every_case_of_the_back_ends_has_examples(case):
    assert told_examples(spread_case(case).model)


def test_columns_of_attributes_are_found_by_name_or_in_order():
    model, here = model_of("each"), people(4, 40)
    by_name = attribute_columns(model, {"other": here.r, "race": here.race, "sex": here.sex})
    in_order = attribute_columns(model, np.stack((here.sex, here.race), axis=1))
    for name, column in (("sex", here.sex), ("race", here.race)):
        assert all([*map(str, found)] == [*column] for part in (by_name, in_order) for found in part[name].values())
    for given, words in ((None, "sensitive_features must be given"), ({"sex": here.sex}, "columns of the fit")):
        with pytest.raises(DataError, match=words):
            attribute_columns(model, given)


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_a_score_that_stays_is_compared_as_it_is_and_every_row_has_a_group():
    here = people(5, 300)
    kept = FairROC(2.0, use_group=False).fit(here.scores, here.y, **here.known("cells")).model_
    assert kept.unchanged
    found = kept.check(here.scores, y=here.y, **here.known("cells"), bootstrap=100).families[0].gap.gap
    rates = [[(here.scores[(here.sex == g) & (here.y == y)] >= t).mean() for y in (0, 1)]
             for g in "fm" for t in np.unique(here.scores)]  # fmt: skip
    both = np.array(rates).reshape(2, -1, 2)
    assert found == pytest.approx(np.abs(both[0] - both[1]).sum(axis=1).max(), abs=1e-12)
    with pytest.raises(DataError, match=r"one row for each score, got 299 and 300|same number of rows"):
        kept.check(here.scores, y=here.y, group_probabilities=here.r, sensitive_features=here.sex[1:])
