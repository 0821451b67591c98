"""What models are told: examples of it lead to the groups they stand for, and wrong columns are refused."""

from __future__ import annotations

import numpy as np
import pytest

from fairroc import DataError
from fairroc.model.comparing import people_in
from fairroc.model.draw import HIDDEN, Secret
from fairroc.model.told import inside, told_examples
from fairroc.people.spread import Family
from family_cases import KINDS, model_of
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
