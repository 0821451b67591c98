"""The certificate: its fields, its bounds and its plain form."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest
from hypothesis import given, settings
from test_cli import FIT_GROUP_KEYS, FIT_KEYS
from test_pipeline import DRAW, EPSILONS, ROUNDING, fitted, normal_rows, worlds

from fairroc.fitting.certificate import certify
from strategies import NORMS

ROWS = normal_rows(51, n=700)


@settings(max_examples=10)
@given(worlds(max_groups=5), EPSILONS, NORMS, DRAW)
def test_figures_are_in_order(rows, epsilon, norm, draw):
    """raw <= hull, fair <= hull, realised <= fair, pooled <= bound; gap within epsilon; shares are shares."""
    stated = certify(fitted(rows, epsilon, norm, draw))
    assert stated.gap <= epsilon + ROUNDING
    assert stated.auc <= stated.auc_bound + 1e-7
    assert 0 <= stated.auc_bound <= 1
    for group in stated.groups:
        assert group.auc_before <= group.auc_hull + ROUNDING
        assert group.auc_fair <= group.auc_hull + ROUNDING
        assert group.auc <= group.auc_fair + 1e-9
        assert group.randomised_share == pytest.approx(group.transport_share + group.tie_share)
        assert min(group.transport_share, group.tie_share) >= -ROUNDING
        assert group.randomised_share <= 1 + 1e-9
    if stated.unchanged:
        assert (stated.auc, stated.gap, stated.levels) == (stated.auc_before, stated.gap_before, 0)
        assert stated.gap_before <= epsilon
    else:
        assert stated.gap_before > epsilon
        assert stated.levels > 0


@pytest.mark.parametrize("norm", [1, "inf"])
def test_more_epsilon_never_costs(norm):
    """The bound and the groups' fair curves rise with epsilon, up to the hulls."""
    all_ = [certify(fitted(ROWS, epsilon, norm)) for epsilon in (0.0, 0.02, 0.1, 0.3)]
    for less, more in itertools.pairwise(all_):
        assert less.auc_bound <= more.auc_bound + 1e-7
        for a, b in zip(less.groups, more.groups, strict=True):
            assert a.auc_fair <= b.auc_fair + ROUNDING
    assert all_[0].auc_bound < all_[-1].auc_bound


def test_plain_form_has_the_keys_of_the_contract():
    stated = certify(fitted(ROWS, 0.1, "inf"))
    data = json.loads(json.dumps(stated.to_dict(), allow_nan=False))
    assert set(data) >= FIT_KEYS
    assert (data["epsilon"], data["norm"], data["method"], data["rows"]) == (0.1, "inf", "optimal", len(ROWS.y))
    assert data["levels"] == stated.levels
    assert [group["group"] for group in data["groups"]] == ["a", "b"]
    for group in data["groups"]:
        assert set(group) >= FIT_GROUP_KEYS
        mine = ROWS.groups == group["group"]
        assert (group["rows"], group["positives"]) == (mine.sum(), ROWS.y[mine].sum())


def test_plain_form_with_queries_is_json_too():
    data = json.loads(json.dumps(certify(fitted(ROWS, 0.1, queries=8)).to_dict(), allow_nan=False))
    assert set(data["groups"][0]["pla_loss"]) == {"bound", "paper"}


def test_certificates_are_frozen():
    stated = certify(fitted(ROWS, 0.1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        stated.auc = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        stated.groups[0].auc = 1.0
