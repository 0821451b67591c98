"""New people of models that are not told the groups they compare: gaps against sums over people, and drift of cells."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fairroc import DataError, FairModel
from fairroc.cli.main import main
from fairroc.core.realised import chances, ordered_place
from fairroc.text.drift import drift_text
from family_cases import KINDS, People, group_masks, model_of, people

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def segments_of(model: FairModel, kind: str, here: People) -> np.ndarray:
    """The kernel of everybody, by a walk through the tree or by names."""
    cells = []
    for r in here.r:
        if model.proxy is None:
            cells.append("")
            continue
        tree, node = model.proxy, 0
        while tree.column[node] >= 0:
            node = int(tree.left[node] if r <= tree.threshold[node] else tree.right[node])
        cells.append(tree.names[tree.leaves.tolist().index(node)])
    parts = {
        "cells": [cells],
        "each": [here.sex, here.race],
        "strata": [here.race, here.sex],
        "both": [here.race, cells],
    }
    names = [" & ".join(row) for row in zip(*parts[kind], strict=True)]
    merged = (
        {} if model.small_groups is None else dict.fromkeys(model.small_groups.groups, model.small_groups.merged_into)
    )
    return np.array([model.names.index(merged.get(name, name)) for name in names])


def reached(model: FairModel, kind: str, here: People) -> np.ndarray:
    """(people, places) chance to reach every place where somebody's line bends or steps, on both sides of it."""
    segment = segments_of(model, kind, here)
    low = np.array([kernel.thresholds[-1] for kernel in model.kernels])
    scores, ends = np.maximum(here.scores, low[segment]), [np.arange(model.levels + 1.0)]
    for s, kernel in enumerate(model.kernels):
        own = scores[segment == s]
        block = np.array([min(np.sum(kernel.thresholds > x), len(kernel.thresholds) - 1) for x in own], dtype=int)
        ends += [kernel.first + kernel.start, kernel.last + kernel.stop]
        ends.append((kernel.first[block] + ordered_place(kernel, block, own))[kernel.ordered[block]])
    places = np.unique(np.concatenate(ends))
    places = np.unique(np.concatenate((places, np.nextafter(places, -1.0))))
    places = places[(places >= 0) & (places <= model.levels)]
    found = np.zeros((len(scores), len(places)))
    for s, kernel in enumerate(model.kernels):
        found[segment == s] = chances(kernel, scores[segment == s], places)
    return found


def checked(model: FairModel, kind: str, here: People, *, labels: bool = True, **how):
    y = here.y if labels else None
    return model.check(here.scores, y=y, **here.known(kind), **{"bootstrap": 100} | how)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("draw", ["few", pytest.param("all", marks=pytest.mark.slow)])
def test_gaps_are_those_of_sums_over_people(kind: str, draw: str) -> None:
    """Of new people, some of whom score below everybody fitted, at all places."""
    model, new = model_of(kind, draw=draw), people(1, 300)
    new.scores[:3] = -50.0
    every, found = reached(model, kind, new), checked(model, kind, new).families
    masks = group_masks(kind, new)
    assert [family.title for family in found] == list(masks)
    for family, groups in zip(found, masks.values(), strict=True):
        fpr, tpr = ([every[mine & (new.y == label)].mean(axis=0) for mine in groups.values()] for label in (0, 1))
        by_sums = (abs(fpr[0] - fpr[1]) + abs(tpr[0] - tpr[1])).max()
        assert family.gap.gap == pytest.approx(by_sums, abs=1e-9)
        assert family.gap.epsilon == family.epsilon == {"race": 0.05}.get(family.attribute, 0.1)
        assert family.gap.interval.dkw is None and "segments" in family.gap.interval.dkw_reason
        low, high = family.gap.interval.bootstrap
        assert low <= family.gap.gap <= high


def test_fitted_people_have_the_gaps_of_the_certificate() -> None:
    from family_cases import fitted

    post, here = fitted("each"), people(0)
    found = checked(post.model_, "each", here)
    told = [family for family in post.certificate_.families if family.compared]
    assert [family.gap.gap for family in found.families] == pytest.approx([one.gap for one in told], abs=1e-9)
    assert found.families[0].gap.auc == pytest.approx(post.certificate_.auc, abs=1e-9)
    assert found.families[0].gap.auc_before == pytest.approx(post.certificate_.auc_before, abs=1e-9)


def test_selection_rates_need_no_labels() -> None:
    model, new = model_of("cells", constraint="demographic_parity"), people(1, 300)
    (family,) = checked(model, "cells", new, labels=False).families
    every = reached(model, "cells", new)
    rates = [every[mine].mean(axis=0) for mine in group_masks("cells", new)["group"].values()]
    assert family.gap.gap == pytest.approx(abs(rates[0] - rates[1]).max(), abs=1e-9)
    assert family.gap.auc is None


def test_weights_count_as_rows_do() -> None:
    model, new = model_of("cells"), people(1, 200)
    twice = np.repeat(np.arange(200), np.arange(200) % 3)
    one = model.check(new.scores, y=new.y, **new.known("cells"), sample_weight=np.arange(200) % 3, bootstrap=100)
    two = checked(model, "cells", new.taken(twice))
    assert one.families[0].gap.gap == pytest.approx(two.families[0].gap.gap, abs=1e-12)
    assert one.gap.auc == pytest.approx(two.gap.auc, abs=1e-12)


def test_the_proxy_is_watched_without_groups() -> None:
    """Cells' shares move with the probabilities; the gap is not measured, and that is said."""
    model, new = model_of("cells"), people(2, 1500)
    still = model.check(new.scores, group_probabilities=new.r)
    assert not still.drifted and still.segments == "cell" and still.gap is None
    moved = model.check(new.scores, group_probabilities=new.r**3)
    (shares,) = (test for test in moved.tests if test.what == "shares")
    assert shares.found and any("the proxy" in reason for reason in moved.reasons)
    assert any("the model is not told the groups, and none were given" in doubt for doubt in moved.doubts) is False
    with_labels = model.check(new.scores, y=new.y, group_probabilities=new.r)
    assert any("the model is not told the groups, and none were given" in doubt for doubt in with_labels.doubts)
    assert "group_probabilities" not in drift_text(moved) and "cell" in drift_text(moved)


def test_shares_of_groups_that_the_model_is_not_told_are_tested() -> None:
    model, new = model_of("cells"), people(2, 1500)
    other = new._replace(sex=np.where(np.arange(1500) % 3 == 0, "f", new.sex))
    found = checked(model, "cells", other)
    (test,) = (test for test in found.tests if test.what == "groups")
    assert test.found and any("by group" in reason and "cells may no longer" in reason for reason in found.reasons)
    assert not any(test.what == "groups" for test in checked(model_of("strata"), "strata", new).tests)


def test_every_family_has_its_own_answer_and_all_hold_together() -> None:
    model, new = model_of("each"), people(3, 4000)
    model = replace(model, compared=(replace(model.compared[0], epsilon=0.0), replace(model.compared[1], epsilon=2.0)))
    swapped = new._replace(sex=np.where(new.y == 1, "m", "f"))  # far apart by sex
    found = checked(model, "each", swapped._replace(sex=np.where(np.arange(4000) % 9, swapped.sex, new.sex)))
    assert [family.gap.answer for family in found.families] == ["outside", "within"]
    assert found.gap is found.families[0].gap
    assert {family.gap.interval.level for family in found.families} == {0.975}
    (reason,) = (reason for reason in found.reasons if "gap of the fair score" in reason)
    assert reason.startswith("the gap of the fair score by sex is ")
    text = drift_text(found)
    assert "By sex:" in text and "By race:" in text
    assert found.to_dict()["families"][1]["attribute"] == "race"


def test_groups_that_nobody_compared_are_left_out_and_named() -> None:
    model, new = model_of("cells"), people(1, 300)
    sex = new.sex.astype(object)
    sex[:5] = "x"
    found = checked(model, "cells", new._replace(sex=sex))
    assert found.families[0].unknown == {"x": 5} and found.gap.rows == 295
    assert any("group 'x' (5 rows) was not compared at the fit" in doubt for doubt in found.doubts)
    new.y[new.sex == "f"] = 0
    alone = checked(model, "cells", new)
    assert alone.gap is None and "fewer than two groups have people of both labels" in alone.gap_reason


@pytest.mark.parametrize(
    ("kind", "told", "words"),
    [
        ("cells", {"sensitive_features": "sex"}, "group_probabilities must be given"),
        ("each", {}, "sensitive_features must be given"),
        ("strata", {"sensitive_features": "sex"}, "control_features must be given"),
        ("strata", {"control_features": "race"}, "sensitive_features must be given"),
    ],
)
def test_what_is_missing_is_named(kind: str, told: dict, words: str) -> None:
    here = people(1, 50)
    with pytest.raises(DataError, match=words):
        model_of(kind).check(here.scores, **{name: getattr(here, column) for name, column in told.items()})


def test_plain_models_say_nothing_of_families() -> None:
    from fitted_people import FairROC

    here = people(0, 300)
    model = FairROC(0.2, salt=1).fit(here.scores, here.y, sensitive_features=here.sex).model_
    found = model.check(here.scores, sensitive_features=here.sex, y=here.y)
    assert found.families == () and not {"families", "segments"} & found.to_dict().keys()
    with pytest.raises(DataError, match="does not use group_probabilities"):
        model.check(here.scores, sensitive_features=here.sex, group_probabilities=here.r)


def test_the_command_watches_cells_and_families(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    new = people(1, 300)
    lines = [",".join(map(str, row)) for row in zip(*new, strict=True)]
    (tmp_path / "new.csv").write_text("\n".join(["p,y,sex,race,r", *lines, ""]))
    for kind in ("cells", "each", "strata"):
        model_of(kind).save(f"{kind}.json")
    base = ["monitor", "new.csv", "--score", "p", "--bootstrap", "100", "--format", "json"]
    main([*base, "--model", "cells.json", "--group", "sex", "--group-probability", "r", "--label", "y"])
    found = json.loads(capsys.readouterr().out)
    assert found["segments"] == "cell" and found["rows"] == 300
    assert found["gap"]["gap"] == pytest.approx(checked(model_of("cells"), "cells", new).gap.gap, abs=1e-12)
    main([*base, "--model", "strata.json", "--group", "sex", "--control", "race", "--label", "y"])
    assert [one["stratum"] for one in json.loads(capsys.readouterr().out)["families"]] == ["a", "b"]
    assert main([*base, "--model", "cells.json", "--group-probability", "r"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["gap"] is None
    assert main([*base, "--model", "each.json"]) == 2
    assert "--group must name the columns of groups" in capsys.readouterr().err
    assert main([*base, "--model", "each.json", "--group", "sex", "--group", "race", "--stream"]) == 2
    assert "--stream must be left out" in capsys.readouterr().err
