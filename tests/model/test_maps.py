"""Maps of models that draw nobody: the fair scores of transform, by the table alone; few rows, and what these cost."""

from __future__ import annotations

import bisect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from fairroc import DataError, FairModel, ScoreMap, SmallGroupWarning, UnknownGroupError, audit
from fairroc.model.maps import points_table
from fairroc.people.door import read_people
from fairroc.text.maps import points_text
from fitted_people import FairROC
from refusals import refuses

CONSTRAINTS = ["equalized_odds", "equal_opportunity", "demographic_parity"]


def sample(seed: int, groups: int = 2, digits: int = 16, rows: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.choice(np.array(["a", "b", "c"])[:groups], rows * groups)
    y = rng.random(len(group)) < np.where(group == "a", 0.3, 0.5)
    return np.round(y * np.where(group == "b", 0.5, 1.5) + rng.normal(size=len(y)), digits), y, group


def fitted(seed: int, epsilon: float = 0.1, groups: int = 2, digits: int = 16, **how: Any) -> tuple[FairModel, Any]:
    people = sample(seed, groups, digits)
    how = {"draw": "never", "salt": 1, **how}
    try:
        return FairROC(epsilon=epsilon, **how).fit(*people[:2], sensitive_features=people[2]).model_, people
    except DataError as error:  # of one rate, where many people share a score
        assert "cannot be kept without draws" in str(error)
        reject()


def looked_up(table: dict[str, list[Any]], group: str, scores: np.ndarray) -> np.ndarray:
    """What a spreadsheet does: the group's last row that begins at or below the score, else its first."""
    rows = [row for row in zip(*table.values(), strict=True) if row[0] == group]
    begins = [row[1] for row in rows]
    found = []
    for score in scores.tolist():
        _, begin, fair, slope, _ = rows[max(bisect.bisect_right(begins, score) - 1, 0)]
        found.append((max(score, begin) - begin) * slope + fair)
    return np.array(found)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1),
    epsilon=st.sampled_from([0.0, 0.03, 0.1, 0.2, 0.4]),
    groups=st.integers(2, 3),
    digits=st.sampled_from([0, 1, 16]),
    constraint=st.sampled_from(CONSTRAINTS),
)
def test_maps_give_the_bits_of_transform(seed: int, epsilon: float, groups: int, digits: int, constraint: str) -> None:
    model, (scores, _, _) = fitted(seed, epsilon, groups, digits, constraint=constraint)
    near = np.concatenate([scores, np.nextafter(scores, -np.inf), np.nextafter(scores, np.inf), scores + 0.3])
    for name in model.names:
        found = model.map(name)
        new = np.sort(np.concatenate([near, found.score, np.nextafter(found.score, -np.inf)]))
        expected = model.transform(new, sensitive_features=np.full(len(new), name), allow_out_of_range=True)
        assert found(new).tolist() == expected.tolist()
        assert (np.diff(expected) >= 0).all() and (np.diff(found.score) > 0).all()
        if not model.unchanged:  # whose row begins at 0
            assert looked_up(found.to_columns(), name, new).tolist() == expected.tolist()


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1),
    epsilon=st.sampled_from([0.0, 0.03, 0.1, 0.2]),
    groups=st.integers(2, 3),
    points=st.integers(2, 40),
    digits=st.sampled_from([1, 16]),
    constraint=st.sampled_from(CONSTRAINTS),
)
def test_few_points_cost_what_is_stated(
    seed: int, epsilon: float, groups: int, points: int, digits: int, constraint: str
) -> None:
    """Beside an audit of what a spreadsheet gives; where cut-offs are short anyway, new scores select as the model."""
    model, (scores, y, group) = fitted(seed, epsilon, groups, digits, constraint=constraint)
    if model.unchanged:
        return
    found = points_table(model, points, read_people(scores, y, sensitive_features=group))
    table, exact = found.to_columns(), model.transform(scores, sensitive_features=group)
    assert len(set(table["fair_score"])) <= points and max(table["group"].count(name) for name in model.names) <= points
    fair = np.empty(len(scores))
    for name in model.names:
        fair[group == name] = looked_up(table, name, scores[group == name])
    for made, stated in ((fair, found.rounded), (exact, found.exact)):
        measured = audit(made, y, sensitive_features=group, constraint=constraint, bootstrap=0)
        assert (measured.gap, measured.auc) == pytest.approx((stated.gap, stated.auc), abs=1e-12)
        assert [one.auc for one in measured.groups] == pytest.approx(list(stated.group_aucs), abs=1e-12)
    assert (exact - fair).max() <= found.most + 1e-12
    for value in set(table["fair_score"]):
        lifted = (fair >= value) != (exact >= value)
        assert not (lifted & (fair < value)).any() and lifted.mean() < 0.02
        assert not (digits == 1 and lifted.any())
    if digits == 1:
        assert found.rounded.gap <= found.exact.gap + 1e-12 and found.exact.gap <= epsilon + 1e-9


def test_people_below_and_above_count_as_the_ends() -> None:
    model, (scores, _, group) = fitted(1, 0.2)
    found = model.map("b")
    own = scores[group == "b"]
    assert (found.lowest, found.score[0], found.score[-1], found.slope[-1]) == (own.min(), own.min(), own.max(), 0.0)
    assert found([-99.0, 99.0]).tolist() == [found.fair[0], found.fair[-1]]
    assert found.to_frame()["points"].tolist() == pytest.approx((found.fair - found.score).tolist())
    assert repr(found).startswith(f"ScoreMap: {len(found.score)} rows")


def test_an_unchanged_score_has_one_row() -> None:
    model, (scores, _, _) = fitted(2, 2.0)
    found = model.map("a")
    assert found(scores).tolist() == scores.tolist()
    assert found.to_columns() == {"group": ["a"], "score": [0.0], "fair_score": [0.0], "slope": [1.0], "points": [0.0]}
    refuses("points must be left out with a model that leaves every score as it is", model.map, "a", points=5)


def test_intersections_strata_and_merged_groups() -> None:
    scores, y, group = sample(3, rows=600)
    race = np.random.default_rng(3).choice(["x", "y"], len(y), p=[0.9, 0.1])
    both = np.stack([group, race], axis=1)
    how = {"draw": "never", "small_groups": "merge", "min_class_rows": 40, "salt": 1}
    with pytest.warns(SmallGroupWarning, match="2 small groups"):
        model = FairROC(epsilon=0.3, **how).fit(scores, y, sensitive_features=both).model_
    for names in (("a", "x"), ("b", "y")):
        expected = model.transform(scores[:9], sensitive_features=np.array([names] * 9))
        assert model.map(names)(scores[:9]).tolist() == expected.tolist()
    assert model.map("a & x").group == "a & x" and model.map(("b", "y")).group == model.small_groups.merged_into
    with pytest.raises(UnknownGroupError, match="the model knows the groups"):
        model.map("nobody")


def test_models_without_maps_say_why() -> None:
    drawn, (scores, y, group) = fitted(4, 0.05, draw="all")
    refuses(r'a map needs a model that draws nobody, got one .*draw="never"', drawn.map, "a")
    blind = FairROC(epsilon=0.3, use_group=False).fit(
        scores, y, sensitive_features=group, group_probabilities={"a": (group == "a") * 0.8}
    )
    refuses("a map needs a model that is told the group, got one fitted with use_group=F", blind.model_.map, "a")
    model, people = fitted(4, 0.2)
    for points in (1, 2.5, True, "20"):
        refuses("points must be a whole number of at least 2, got", model.map, "a", points=points)
    with pytest.raises(DataError, match=r"people go with points \(--points\), which alone round"):
        points_table(model, None, read_people(*people[:2], sensitive_features=people[2]))


def test_words_of_the_table() -> None:
    model, (scores, y, group) = fitted(5, 0.2)
    people = read_people(scores, y, sensitive_features=group)
    whole, few, measured = points_table(model), points_table(model, 6), points_table(model, 6, people)
    assert "rounded  no: the fair score is (score - from score) * slope + fair score" in points_text(whole)
    assert "down to 4 fair scores, the same in all groups, by" in points_text(few)
    assert "gap      the model's, but short cut-offs lift about 0.0" in points_text(few)
    assert f"{measured.exact.gap:.4f} without rounding" in points_text(measured)
    assert few.to_dict()["gap"] is None and measured.to_dict()["auc"] == measured.rounded.auc
    assert few.to_dict()["rows"][0] == {name: column[0] for name, column in few.to_columns().items()}


def test_files_without_references_are_cut_evenly() -> None:
    """As old ones are: new scores at even steps of the range."""
    model, _ = fitted(6, 0.05, constraint="demographic_parity")
    old = replace(model, references=())
    found = points_table(old, 4)
    low, high = old.score_range
    assert found.crossing is None and "gap" not in points_text(found)
    wanted = low + np.arange(4) / 4 * (high - low)
    assert found.maps[0].fair == pytest.approx(wanted, abs=0.1 * (high - low))
    assert isinstance(found.maps[0], ScoreMap)
