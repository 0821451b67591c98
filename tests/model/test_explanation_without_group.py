"""Explanations of models that are not told the groups they compare: the same chances, no guess of anybody's group."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairroc import DataError, UnknownGroupError
from fairroc.cli.main import main
from family_cases import model_of, people
from fitted_people import FairROC

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def person(kind: str, row: int) -> dict:
    """What `explain` takes of one of ``people(1)``."""
    here = people(1, 60)
    sex, race, r = str(here.sex[row]), str(here.race[row]), float(here.r[row])
    return {
        "cells": {"group_probabilities": r},
        "each": {"group": (sex, race)},
        "strata": {"group": sex, "control_features": race},
        "both": {"group_probabilities": {"male": r}, "control_features": race},
    }[kind]


@pytest.mark.parametrize("kind", ["cells", "each", "strata", "both"])
def test_chances_and_draws_are_those_of_the_model(kind: str) -> None:
    model, here = model_of(kind), people(1, 60)
    rate = model.acceptance_rate(here.scores, **here.told(kind), threshold=0.7)
    fair = model.transform(here.scores, **here.told(kind), ids=np.arange(60))
    for row in range(0, 60, 7):
        found = model.explain(here.scores[row], **person(kind, row), threshold=0.7, id=row)
        assert found.acceptance == rate[row] and found.draw.score == fair[row]
        assert sum(outcome.probability for outcome in found.outcomes) == pytest.approx(1)


@pytest.mark.parametrize("kind", ["cells", "both"])
def test_no_guess_of_the_group_is_told(kind: str) -> None:
    """Neither cell nor probability nor column; people of one cell read the same, whatever their probabilities."""
    model = model_of(kind)
    told: dict[str, set[str]] = {}
    for r in np.linspace(0, 1, 41).tolist():
        probabilities = {"male": r} if kind == "both" else r
        strata = {"control_features": "a"} if kind == "both" else {}
        found = model.explain(0.5, group_probabilities=probabilities, **strata, threshold=0.7, id=7)
        said = f"{found.text} {found!r} {found._repr_html_()} {json.dumps(found.to_dict())}"
        assert "cell 1" not in said and "cell 2" not in said and "male" not in said and f"{r:.3f}" not in found.text
        assert found.group is found.treated_as is found.group_rows is found.cell is None
        assert "The model was not told the person's group." in found.text
        audited = model.explain(0.5, group_probabilities=probabilities, **strata, verbose=True)
        assert audited.cell is not None and audited.cell.name in audited.text
        told.setdefault(audited.cell.name, set()).add(said)
        for column, above, upto in audited.cell.bounds:
            assert column == model.proxy.columns[0] and (above < r <= upto or above == r == 0)
    assert len(told) > 1 and {len(texts) for texts in told.values()} == {1}


def test_the_score_alone_is_said_to_be_all() -> None:
    here = people(0, 300)
    model = FairROC(0.3, use_group=False, salt=1).fit(here.scores, here.y, sensitive_features=here.sex).model_
    assert "It goes by the score alone." in model.explain(0.5).text


def test_each_attribute_and_the_stratum_are_named() -> None:
    text = model_of("each").explain(0.5, ("f", "b")).text
    assert text.startswith("A person of group 'f & b' (sex 'f', race 'b') with the score 0.5.")
    assert (
        "within epsilon 0.1 of each other by sex and within epsilon 0.05 of each other by race, each for itself" in text
    )
    found = model_of("strata").explain(0.5, "f", control_features="b")
    assert found.text.startswith("A person of group 'b & f' (stratum 'b') with the score 0.5.")
    assert "within epsilon 0.1 of each other within each stratum" in found.text
    assert [one.stratum for one in found.compared] == ["b"] == [one["stratum"] for one in found.to_dict()["compared"]]


@pytest.mark.parametrize(
    ("kind", "told", "words"),
    [
        ("cells", {}, "group_probabilities must be given"),
        ("cells", {"group": "f", "group_probabilities": 0.3}, "does not use sensitive_features"),
        ("cells", {"group_probabilities": (0.3, 0.7)}, "must have the 1 columns of the fit"),
        ("cells", {"group_probabilities": 1.3}, "must lie between 0 and 1"),
        ("strata", {"group": "f"}, "control_features must be given"),
    ],
)
def test_what_is_missing_or_wrong_is_named(kind: str, told: dict, words: str) -> None:
    with pytest.raises(DataError, match=words):
        model_of(kind).explain(0.5, **told)


def test_strata_that_nobody_was_fitted_in_are_told_without_the_cell() -> None:
    with pytest.raises(UnknownGroupError, match="nobody like this person in the stratum 'c'") as caught:
        model_of("both").explain(0.5, group_probabilities=0.3, control_features="c")
    assert "cell" not in str(caught.value)


def test_plain_models_say_nothing_of_cells() -> None:
    here = people(0, 300)
    model = FairROC(0.2, salt=1).fit(here.scores, here.y, sensitive_features=here.sex).model_
    found = model.explain(0.5, "f", verbose=True)
    assert not {"cells", "cell", "compared", "stratum", "attributes"} & found.to_dict().keys()
    assert found.text == model.explain(0.5, "f").text


def test_the_command_explains_without_a_guess(tmp_path, capsys) -> None:
    path = str(tmp_path / "m.json")
    model_of("both").save(path)
    asked = ["explain", "--model", path, "--score", "0.5", "--group-probability", "0.31", "--control", "a"]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "The model was not told the person's group." in said.out and "0.31" not in said.out + said.err
    assert main([*asked, "--verbose"]) == 0
    assert "For auditors" in capsys.readouterr().out
    assert main(asked[:-2]) == 2
    assert "--control must be given with this model" in capsys.readouterr().err
    assert main([*asked, "--group", "f"]) == 2
    assert "--group is not used by this model" in capsys.readouterr().err
