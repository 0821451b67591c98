"""fairroc.fitting.spread: fits whose groups are spread over segments, judged by everybody's chances."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc import DataError, FairModel
from fairroc.errors import FairrocWarning
from fairroc.fitting.held_out import cross_fitted, folds_of, tree_of
from fairroc.fitting.spread import spread_rows
from fitted_people import FairROC, fitted_options
from strategies import SEEDS

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def people(seed: int, n: int = 240, kind: str = "fine"):
    """Scores, labels, sex, race, probabilities of sex and weights; sex shifts score and label."""
    rng = np.random.default_rng(seed)
    sex, race = rng.integers(0, 2, n), rng.integers(0, 3, n)
    hidden = rng.normal(0.8 * sex + 0.3 * (race == 1), 1.0)
    y = (hidden + rng.normal(size=n) > 0.6).astype(int)
    for g in range(2):
        for r in range(3):
            y[np.flatnonzero((sex == g) & (race == r))[:2]] = 0, 1
    score = {"fine": hidden, "ties": np.round(hidden), "two": (hidden > 0.5) * 1.0, "useless": rng.normal(size=n)}[kind]
    probability = np.clip(0.5 + 0.3 * (2 * sex - 1) + rng.normal(0, 0.25, n), 0, 1)
    return score, y, np.array(["f", "m"])[sex], np.array(list("abc"))[race], probability, rng.uniform(0.5, 2, n)


def brute_gap(model: FairModel, told: dict, scores, y, groups, weights, constraint: str = "equalized_odds") -> float:
    """Largest gap of groups at every threshold of the fair score, from everybody's chances; between knots too."""
    knots = model.scale.score if model.scale is not None else np.unique(scores)
    looks = np.unique(np.concatenate((knots, (knots[1:] + knots[:-1]) / 2, knots[:1] + 1)))
    worst = 0.0
    for threshold in looks:
        chance = model.acceptance_rate(scores, threshold=float(threshold), **told)
        rates = []
        for group in np.unique(groups):
            mine = groups == group
            own = [np.average(chance[mine & (y == label)], weights=weights[mine & (y == label)]) for label in (0, 1)]
            rates.append([*own, np.average(chance[mine], weights=weights[mine])])
        for one, a in enumerate(rates):
            for b in rates[:one]:
                both = abs(a[0] - b[0]) + abs(a[1] - b[1])
                worst = max(worst, {"equalized_odds": both, "equal_opportunity": abs(a[1] - b[1]),
                                    "demographic_parity": abs(a[2] - b[2])}[constraint])  # fmt: skip
    return worst


@given(
    SEEDS,
    st.sampled_from(["fine", "ties", "two", "useless"]),
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    st.sampled_from(["equalized_odds", "equal_opportunity", "demographic_parity"]),
    st.sampled_from(["few", "all"]),
    st.booleans(),
)
@settings(max_examples=12)
def test_without_the_group_the_gap_is_within_epsilon_by_everybodys_chances(
    seed, kind, epsilon, constraint, draw, heavy
):
    s, y, sex, _, r, weights = people(seed, kind=kind)
    weights = weights if heavy else np.ones(len(s))
    post = FairROC(epsilon, constraint=constraint, use_group=False, draw=draw, salt=1)
    post.fit(s, y, sensitive_features=sex, group_probabilities=r, sample_weight=weights if heavy else None)
    told = {"group_probabilities": r}
    gap = brute_gap(post.model_, told, s, y, sex, weights, constraint)
    assert gap <= epsilon + 1e-9
    assert gap <= post.certificate_.gap + 1e-9
    assert post.certificate_.auc <= post.certificate_.auc_bound + 1e-12
    again = FairModel.from_json(post.model_.to_json())
    assert (again.transform(s, ids=range(len(s)), **told) == post.transform(s, ids=range(len(s)), **told)).all()


@given(SEEDS, st.sampled_from([0.0, 0.1]), st.booleans())
@settings(max_examples=3)
def test_each_attribute_is_within_its_own_epsilon(seed, epsilon, heavy):
    s, y, sex, race, _, weights = people(seed)
    weights = weights if heavy else np.ones(len(s))
    features = {"sex": sex, "race": race}
    post = FairROC({"sex": epsilon, "race": 0.2}, combine="each", salt=1)
    post.fit(s, y, sensitive_features=features, sample_weight=weights if heavy else None)
    told = {"sensitive_features": features}
    assert brute_gap(post.model_, told, s, y, sex, weights) <= epsilon + 1e-9
    assert brute_gap(post.model_, told, s, y, race, weights) <= 0.2 + 1e-9
    found = {family.attribute: family for family in post.certificate_.families}
    assert found["sex"].epsilon == epsilon and found["race"].epsilon == 0.2
    assert not found["sex & race"].compared and found["sex & race"].epsilon is None
    assert found["sex"].gap <= epsilon and found["race"].gap <= 0.2


def test_strata_are_fair_each_for_itself():
    s, y, sex, race, *_ = people(5, 400)
    stratum = np.where(race == "a", "one", "two")
    post = FairROC(0.1, salt=1).fit(s, y, sensitive_features=sex, control_features=stratum)
    told = {"sensitive_features": sex, "control_features": stratum}
    chance = post.model_.acceptance_rate(s, threshold=0.5, **told)
    assert len(post.model_.compared) == 2 and post.model_.controls == 1
    for value in ("one", "two"):
        here = stratum == value
        part = {name: column[here] for name, column in told.items()}
        assert brute_gap(post.model_, part, s[here], y[here], sex[here], np.ones(here.sum())) <= 0.1 + 1e-9
    assert chance.shape == s.shape


def test_a_window_binds_inside_and_nowhere_else():
    s, y, sex, _, r, _ = people(8, 400)
    how = {"constraint": "equal_opportunity", "use_group": False, "salt": 1}
    whole = FairROC(0.02, **how).fit(s, y, sensitive_features=sex, group_probabilities=r)
    some = FairROC(0.02, where=(0.0, 0.3), **how).fit(s, y, sensitive_features=sex, group_probabilities=r)
    assert some.certificate_.gap <= 0.02 and some.certificate_.auc > whole.certificate_.auc
    for threshold in np.quantile(s, [0.72, 0.8, 0.9, 0.99]):
        chance = some.model_.acceptance_rate(s, threshold=float(threshold), group_probabilities=r)
        if chance.mean() <= 0.3:
            assert abs(np.subtract(*(chance[(sex == g) & (y == 1)].mean() for g in "fm"))) <= 0.02 + 1e-9


def test_the_ratio_of_shares_holds_at_every_threshold():
    s, y, sex, _, r, _ = people(9, 400)
    post = FairROC(constraint="demographic_parity", ratio=0.8, use_group=False, salt=1)
    post.fit(s, y, sensitive_features=sex, group_probabilities=r)
    for threshold in np.unique(post.model_.scale.score):
        chance = post.model_.acceptance_rate(s, threshold=float(threshold), group_probabilities=r)
        low, high = sorted(chance[sex == g].mean() for g in "fm")
        assert low >= 0.8 * high - 1e-9


def test_a_fair_score_stays_as_it_is():
    s, y, sex, _, r, _ = people(3, kind="fine")
    post = FairROC(2.0, use_group=False).fit(s, y, sensitive_features=sex, group_probabilities=r)
    assert post.model_.unchanged and (post.transform(s, group_probabilities=r, ids=range(len(s))) == s).all()
    assert post.certificate_.gap == post.certificate_.gap_before and post.outlook_.auc == post.outlook_.auc_before


def test_the_score_alone_will_do_and_costs_more():
    s, y, sex, _, r, _ = people(4, 600)
    fits = [FairROC(0.05, use_group=False, salt=1).fit(s, y, sensitive_features=sex, **more)
            for more in ({}, {"group_probabilities": r})]  # fmt: skip
    alone, told = (post.certificate_ for post in fits)
    assert alone.gap <= 0.05 and alone.auc < told.auc
    assert fits[0].transform(s[:3], ids=[1, 2, 3]).shape == (3,)


def test_the_fair_score_selects_the_share_of_people_that_the_original_one_did():
    s, y, sex, _, r, _ = people(6, 500)
    post = FairROC(0.05, use_group=False, salt=1).fit(s, y, sensitive_features=sex, group_probabilities=r)
    for threshold in np.quantile(s, [0.1, 0.4, 0.7, 0.95]):
        rate = post.acceptance_rate(s, group_probabilities=r, threshold=float(threshold))
        assert rate.mean() == pytest.approx((s >= threshold).mean(), abs=2 / len(s))


def test_new_people_are_promised_less_than_fitted_ones_get():
    s, y, sex, _, r, _ = people(7, 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FairrocWarning)
        post = FairROC(0.15, promise="new", use_group=False).fit(s, y, sensitive_features=sex, group_probabilities=r)
    assert post.outlook_.gap_estimate <= 0.15 and post.certificate_.gap < post.outlook_.gap_estimate
    few = [column[:240] for column in (s, y, sex, r)]
    with pytest.warns(FairrocWarning, match="reaches an expected gap of 0.01 among new people"):
        FairROC(0.01, promise="new", use_group=False).fit(
            few[0], few[1], sensitive_features=few[2], group_probabilities=few[3]
        )


def test_folds_hold_every_group_and_label_and_trees_follow_the_probabilities():
    s, y, sex, _, r, _ = people(2, 500)
    options = fitted_options(epsilon=0.05, use_group=False)
    rows = spread_rows(s, y, options, sensitive_features=sex, group_probabilities=r)
    folds = folds_of(rows)
    for g in "fm":
        for label in (0, 1):
            sizes = np.bincount(folds[(sex == g) & (y == label)], minlength=5)
            assert sizes.max() - sizes.min() <= 1
    tree = tree_of(rows, 3)
    leaf = tree.leaf(np.sort(r)[:, None])
    assert (np.diff(leaf) >= 0).all() and set(leaf) == {0, 1, 2}
    held = cross_fitted(rows, options, 3, 1.0)
    assert len(held.losses) == 5 and held.excess >= 1.0 and 0 <= held.gap <= 2


@pytest.mark.parametrize(
    ("how", "fit", "words"),
    [
        ({}, {"group_probabilities": [0.5] * 240}, "use_group=False"),
        ({"use_group": False}, {"group_probabilities": [1.5] * 240}, "between 0 and 1, but 240 of 240"),
        ({"use_group": False}, {"group_probabilities": [None] * 240}, "must not be missing"),
        ({"use_group": False}, {"group_probabilities": [0.5] * 239}, "same number of rows"),
        ({"use_group": False, "method": "froc"}, {}, "method must be 'optimal'"),
        ({"use_group": False, "promise": "population"}, {}, "promise must be 'new' or 'fitted'"),
        ({"combine": "each", "small_groups": "drop"}, {}, "small_groups must be 'error' or 'merge'"),
        ({"combine": "each", "epsilon": {"sex": 0.1}}, {}, "one number for each attribute"),
        ({"epsilon": {"sex": 0.1}}, {}, "combine='each'"),
        ({"constraint": "equal_opportunity", "where": (0, 0.5)}, {"control_features": ["x"] * 240}, "where must be"),
        ({"use_group": 1}, {}, "use_group must be True or False"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(how, fit, words):
    s, y, sex, race, *_ = people(0)
    with pytest.raises(DataError, match=words):
        FairROC(**{"epsilon": 0.1, **how}).fit(s, y, sensitive_features={"sex": sex, "race": race}, **fit)


def test_what_a_model_is_told_must_be_what_it_was_fitted_to():
    s, y, sex, _, r, _ = people(1, 300)
    model = FairROC(0.1, use_group=False, salt=1).fit(s, y, sensitive_features=sex, group_probabilities=r).model_
    for said, words in (
        ({}, "group_probabilities must be given"),
        ({"sensitive_features": sex, "group_probabilities": r}, "does not use sensitive_features"),
        ({"group_probabilities": np.c_[r, 1 - r]}, "must have the 1 columns of the fit"),
        ({"group_probabilities": r, "control_features": sex}, "does not use control_features"),
    ):
        with pytest.raises(DataError, match=words):
            model.transform(s, ids=range(len(s)), **said)
    plain = FairROC(0.1, salt=1).fit(s, y, sensitive_features=sex).model_
    with pytest.raises(DataError, match="does not use group_probabilities"):
        plain.transform(s, sensitive_features=sex, group_probabilities=r, ids=range(len(s)))


def test_named_probabilities_are_found_by_name_in_any_order():
    s, y, _, race, *_ = people(1, 600)
    rng = np.random.default_rng(0)
    r = rng.dirichlet(np.ones(3), len(s)) * 0.5 + 0.5 * np.eye(3)[np.searchsorted(list("abc"), race)]
    by_name = {name: r[:, k] for k, name in enumerate("abc")}
    model = FairROC(0.2, use_group=False, salt=1).fit(s, y, sensitive_features=race, group_probabilities=by_name).model_
    how = {"ids": range(len(s))}
    turned = dict(reversed(by_name.items()))
    assert (
        model.transform(s, group_probabilities=turned, **how) == model.transform(s, group_probabilities=r, **how)
    ).all()


def test_small_segments_are_made_one_and_known_ever_after():
    s, y, sex, race, *_ = people(11, 300)
    race[:4], sex[:4], y[:4] = "d", ["f", "f", "m", "m"], [0, 1, 0, 1]
    post = FairROC(0.1, combine="each", small_groups="merge", min_class_rows=3, salt=1)
    post.fit(s, y, sensitive_features={"sex": sex, "race": race})
    assert post.model_.small_groups.merged_into in post.model_.names
    fair = post.model_.transform([0.1, 0.2], sensitive_features={"sex": ["f", "m"], "race": ["d", "d"]}, ids=[1, 2])
    assert np.isfinite(fair).all()
