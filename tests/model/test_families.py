"""What models that are told something else than the groups do to groups: against certificates, and row by row."""

from __future__ import annotations

import numpy as np
import pytest
from test_proxy import FITS, RACE, SCORES, SEX, N, Y, spread

from fairroc.core.constraint import distance_of
from fairroc.core.gap import pooled_auc, threshold_gap
from fairroc.errors import DataError
from fairroc.model.families import families_of, treated_rows
from fitted_people import FairROC

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

NEW = np.random.default_rng(4).permutation(N)[:250]
"""Some of the people, with other scores: new ones."""


def gaps(families) -> list[float]:
    return [threshold_gap(people.exact, distance_of(1)).value for people in families]


@pytest.mark.parametrize("name", FITS)
def test_the_fitted_people_have_the_certificate_s_gaps_and_auc(name) -> None:
    post = spread(name)
    found = treated_rows(post.model_, SCORES, Y, **FITS[name][1])
    certified = [family for family in post.certificate_.families if family.compared]
    assert [family.title for family in found.families] == [c.title for c in post.model_.compared]
    expected = found.expected()
    assert gaps(expected) == pytest.approx([family.gap for family in certified], abs=1e-9)
    assert gaps(found.before()) == pytest.approx([family.gap_before for family in certified], abs=1e-12)
    if "control_features" not in FITS[name][1]:
        own = expected[0].exact
        assert pooled_auc(own.curves, own.weights0, own.weights1) == pytest.approx(post.certificate_.auc, abs=1e-9)


@pytest.mark.parametrize("name", ["blind", "each", "strata"])
def test_new_people_with_weights_one_threshold_after_the_other(name) -> None:
    """With scores beyond the fitted ones too."""
    how, given = FITS[name]
    rng = np.random.default_rng(5)
    scores, weights = 1.5 * SCORES[NEW] + rng.normal(size=len(NEW)), rng.uniform(0.2, 3, len(NEW))
    part = {
        key: {k: v[NEW] for k, v in value.items()} if isinstance(value, dict) else value[NEW]
        for key, value in given.items()
    }
    found = treated_rows(spread(name).model_, scores, Y[NEW], sample_weight=weights, **part)
    told = {key: value for key, value in part.items() if how.get("use_group", True) or key != "sensitive_features"}
    rates = np.stack(
        [
            spread(name).model_.acceptance_rate(scores, threshold=t, allow_out_of_range=True, **told)
            for t in np.linspace(SCORES.min() - 0.1, SCORES.max() + 0.1, 1500)
        ]
    )
    for family, gap in zip(found.families, gaps(found.expected()), strict=True):
        points = []
        for group in range(len(family.groups)):
            mine = [np.flatnonzero((family.codes == group) & (Y[NEW] == label)) for label in (0, 1)]
            points.append(np.stack([np.average(rates[:, rows], axis=1, weights=weights[rows]) for rows in mine]))
        tried = max(np.abs(one - other).sum(axis=0).max() for one in points for other in points)
        assert gap - 0.01 <= tried <= gap + 1e-9


def test_groups_that_the_fit_made_one_are_one() -> None:
    few = SEX.astype(object)
    few[[1, 2, 3]], few[[4, 5, 6]] = "x", "z"
    how = {"combine": "each", "small_groups": "merge", "min_class_rows": 9, "draw": "all", "salt": 1}
    with pytest.warns(UserWarning, match=r"sex: 2 small groups, 6 rows, merged into 'other \(merged\)': 'x' \(3 rows"):
        post = FairROC(0.5, **how).fit(SCORES, Y, sensitive_features={"sex": few, "race": RACE})
    assert [group.name for group in post.model_.compared[0].groups] == ["f", "m", "other (merged)"]
    sex, race = families_of({"sex": few, "race": RACE}, each=True, compared=post.model_.compared)
    assert sex.groups == ("f", "m", "other (merged)") and race.groups == ("a", "b")
    assert (np.array(sex.groups)[sex.codes[:8]] == np.where(np.isin(few[:8], ["x", "z"]), sex.groups[2], few[:8])).all()


def test_strata_are_looked_at_one_by_one() -> None:
    found = families_of({"sex": SEX, "race": RACE}, np.repeat(["old", "young"], N // 2), each=True)
    assert [family.title for family in found] == [
        "sex within old", "sex within young", "race within old", "race within young"
    ]  # fmt: skip
    assert all((family.codes >= 0).sum() == N // 2 for family in found)
    assert families_of({"sex": SEX, "race": RACE})[0].groups == ("f & a", "f & b", "m & a", "m & b")
    with pytest.raises(
        DataError, match=r"same number of rows, got sensitive_features\['group'\] 400, control_features"
    ):
        families_of(SEX, RACE[:5])


def test_a_group_without_a_label_in_a_stratum_is_named() -> None:
    y = np.where((SEX == "f") & (RACE == "a"), 0, Y)
    treated = treated_rows(spread("strata").model_, SCORES, y, sensitive_features=SEX, control_features=RACE)
    with pytest.raises(DataError, match=r"within 'a': group 'f' has .*, all with label 0; .* Coarser control features"):
        treated.expected()


def test_a_plain_model_is_told_the_groups_it_compares() -> None:
    both = {"sex": SEX, "race": RACE}
    post = FairROC(0.1, draw="all", salt=1).fit(SCORES, Y, sensitive_features=both)
    treated = treated_rows(post.model_, SCORES, Y, sensitive_features=both)
    assert gaps(treated.expected()) == pytest.approx([post.certificate_.gap], abs=1e-9)
