"""`fairroc verify` of models that are not told the groups they compare: signed off, and tampering found."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import numpy as np
import pytest

from fairroc import DataError, FairModel, verify
from fairroc.cli.main import main
from fairroc.verifying.files import checksum
from fairroc.verifying.spread import cell, leaves
from family_cases import KINDS, fitted, people
from fitted_people import FairROC

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.FairrocWarning")


def sealed(body: dict) -> str:
    return json.dumps({**body, "checksum": checksum(body)})


def wrong(found) -> list[str]:
    return [one.name for one in found.checks if one.passed is False]


@pytest.mark.parametrize("kind", [*KINDS[:3], pytest.param(KINDS[3], marks=pytest.mark.slow)])
@pytest.mark.parametrize("draw", ["few", pytest.param("all", marks=pytest.mark.slow)])
def test_fits_are_signed_off_with_the_gaps_of_their_certificate(kind: str, draw: str) -> None:
    post, here = fitted(kind, draw=draw), people(0)
    found = verify(post.model_, here.scores, here.y, **here.known(kind))
    assert found.passed, str(found)
    checks = {one.name: one for one in found.checks}
    gaps = [one for name, one in checks.items() if name.startswith("gap within epsilon, by ")]
    told = [family for family in post.certificate_.families if family.compared]
    assert [one.found for one in gaps] == pytest.approx([family.gap for family in told], abs=1e-9)
    assert [one.stated for one in gaps] == [family.epsilon for family in told]
    assert checks["AUC"].found == pytest.approx(post.certificate_.auc, abs=1e-9) and checks["AUC"].passed is None
    assert checks["bound of the AUC"].passed is None
    assert {"order within segments", "scale", "segments' AUC, in the model", "people of the fit"} <= checks.keys()


@pytest.mark.parametrize(
    "how",
    [
        {"epsilon": 0.1, "combine": "each"},
        {"epsilon": 1.9, "combine": "each"},
        {"epsilon": 0.05, "combine": "each", "constraint": "demographic_parity"},
        {"ratio": 0.7, "combine": "each", "constraint": "equal_opportunity"},
        {"epsilon": {"fpr": 0.1, "tpr": 0.2}, "norm": "inf", "use_group": False},
        {"epsilon": 0.1, "constraint": "equal_opportunity", "where": (0.2, 0.6), "use_group": False},
    ],
    ids=str,
)
def test_other_constraints_weights_and_unchanged_scores(how: dict) -> None:
    here, weights = people(4, 240, digits=1), np.arange(240) % 4
    groups = {"sex": here.sex, "race": here.race} if "combine" in how else here.sex
    post = FairROC(salt=1, **how).fit(here.scores, here.y, sensitive_features=groups, sample_weight=weights)
    found = verify(post.model_, here.scores, here.y, sensitive_features=groups, sample_weight=weights)
    assert found.passed, str(found)
    assert any(one.name.startswith("gap within epsilon, by") for one in found.checks)


def test_cells_are_those_of_the_model() -> None:
    tree = fitted("cells").model_.proxy
    body, rows = tree.to_data(), np.linspace(0, 1, 301)
    assert [cell(body, leaves(body), [r]) for r in rows.tolist()] == tree.label(rows[:, None]).tolist()


def _swap_kernels(body: dict) -> None:
    one, other = body["groups"][0], body["groups"][-1]
    one["kernel"], other["kernel"] = other["kernel"], one["kernel"]


def _family(change: Callable[[dict], None]) -> Callable[[dict], None]:
    return lambda body: change(body["compared"][0])


def _reverse(body: dict) -> None:
    kernel = body["groups"][0]["kernel"]
    for name in ("row", "first", "last", "start", "stop", "ordered", "transported"):
        kernel[name].reverse()


def _chance(body: dict) -> None:
    rows = [row for group in body["groups"] for row in group["kernel"]["table"] if len(row) > 2]
    row = max(rows, key=lambda row: min(row[1:3]))
    row[1], row[2] = row[1] - row[1] / 2, row[2] + row[1] / 2


TAMPERS: dict[str, tuple[Callable[[dict], object], str]] = {
    "epsilon of a family below its gap": (_family(lambda one: one.update(epsilon=0.01)), "gap within epsilon, by"),
    "epsilon of a family above the model's": (_family(lambda one: one.update(epsilon=1.0)), "model file"),
    "a group renamed": (_family(lambda one: one["groups"][0].update(name="x")), "people of the fit"),
    "a person more in a group": (_family(lambda one: one["groups"][0].update(rows=999)), "people of the fit"),
    "groups exchanged": (_family(lambda one: one["groups"].reverse() or _names(one)), "people of the fit"),
    "a family less": (lambda body: body["compared"].pop(), "people of the fit"),
    "nobody compared": (lambda body: body.update(compared=[]), "model file"),
    "kernels exchanged": (_swap_kernels, "segments' AUC, in the model"),
    "blocks reversed": (_reverse, "order within segments"),
    "a chance moved": (_chance, ""),
    "scale": (lambda body: body["scale"]["score"].reverse(), "model file"),
    "a segment's AUC": (
        lambda body: body["groups"][0]["reference"].update(fair_auc=0.5),
        "segments' AUC, in the model",
    ),
    "rows": (lambda body: body["fit"].update(rows=1), "people of the fit"),
    "an older version": (lambda body: body.update(version=4), "model file"),
    "no proxy and no group": (lambda body: body.update(use_group=not body["use_group"]), "model file"),
}


def _names(one: dict) -> None:
    first, second = (group["name"] for group in one["groups"])
    one["groups"][0]["name"], one["groups"][1]["name"] = second, first


@pytest.mark.parametrize("kind", ["each", "cells"])
def test_all_tampering_is_found_and_named(kind: str) -> None:
    """Checksums fit: only the numbers give it away."""
    post, here = fitted(kind), people(0)
    whole = json.loads(post.model_.to_json())
    for name, (tamper, where) in TAMPERS.items():
        body = copy.deepcopy(whole)
        tamper(body)
        if name == "a family less" and kind == "cells":
            where = "model file"
        found = wrong(verify(sealed(body), here.scores, here.y, **here.known(kind)))
        assert any(one.startswith(where) for one in found), (name, found)


def test_a_moved_threshold_of_the_proxy_is_found() -> None:
    here = people(0)
    body = json.loads(fitted("cells").model_.to_json())
    node = body["proxy"]["column"].index(0)
    body["proxy"]["threshold"][node] += 0.05
    assert wrong(verify(sealed(body), here.scores, here.y, **here.known("cells"))) == ["people of the fit"]


def test_garbled_fields_never_break_the_check() -> None:
    here = people(0)
    text = fitted("both").model_.to_json()
    for field in ("compared", "proxy", "controls", "use_group", "combine"):
        for junk in (None, "x", -1, 1e308, [], {}, True, [1.0], {"a": 1}):
            body = json.loads(text)
            if body[field] == junk:
                continue
            found = verify(sealed(body | {field: junk}), here.scores, here.y, sensitive_features=here.sex)
            assert not found.passed and str(found), (field, junk)


def test_other_people_are_told_as_such() -> None:
    other = people(9)
    found = verify(fitted("each").model_, other.scores, other.y, **other.known("each"))
    assert wrong(found) == ["people of the fit"]


def test_there_is_no_certificate_file() -> None:
    here = people(0)
    post = FairROC(0.2, salt=1).fit(here.scores, here.y, sensitive_features=here.sex)
    model = fitted("each").model_
    found = verify(model, here.scores, here.y, **here.known("each"), certificate=post.proof_)
    assert wrong(found) == ["certificate file"]
    with pytest.raises(DataError, match="neither control_features nor group_probabilities"):
        verify(post.model_, here.scores, here.y, sensitive_features=here.sex, group_probabilities=here.r)
    with pytest.raises(DataError, match="control_features must have 1 columns"):
        verify(fitted("strata").model_, here.scores, here.y, sensitive_features=here.sex)


def test_the_command_signs_off(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = people(0)
    lines = [",".join(map(str, row)) for row in zip(*here, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["p,y,sex,race,r", *lines, ""]))
    model: FairModel = fitted("cells").model_
    model.save("m.json")
    asked = ["verify", "m.json", "people.csv", "--score", "p", "--label", "y", "--group", "sex"]
    assert main([*asked, "--group-probability", "r"]) == 0
    said = capsys.readouterr()
    assert said.out.endswith("Signed off: no check failed.\n") and "gap within epsilon, by group" in said.out
    assert "--group-probability r --id ID" in said.err and "--group sex" not in said.err
    assert main(asked) == 2
    assert "group_probabilities must be given" in capsys.readouterr().err
