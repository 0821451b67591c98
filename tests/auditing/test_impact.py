"""Impact ratios against counts by hand: ties at the median, weights, unknown and tiny categories, exact p values."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairroc.auditing.impact import Scored, classify, impact_table, worst_ratios
from fairroc.errors import DataError


def scored(scores: Any, weights: Any = None, **how: Any) -> Scored:
    values = np.asarray(scores, dtype=np.float64)
    name = "fair" if how else "original"
    return Scored(name, values, np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float), **how)


def table(categories: Any, chosen: Any, *, exclude_below: float = 0.0, weights: Any = None, unknown: Any = ()) -> Any:
    """The table of a decision: 1 for who is selected."""
    (of,) = classify({"c": categories}, unknown)
    how: dict[str, Any] = {"exclude_below": exclude_below, "weighted": weights is not None}
    return impact_table(of, scored(chosen, weights), "selection_rate", 0.5, **how)


def drawn(seed: int, rows: int = 400) -> pd.DataFrame:
    """People with many ties, unknown values, tiny categories and whole weights, some of them 0."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "score": rng.integers(0, 12, rows) / 11,
            "sex": rng.choice(["f", "m", "?", ""], rows, p=[0.5, 0.4, 0.06, 0.04]),
            "race": rng.choice(["a", "b", "c", "d", None], rows, p=[0.6, 0.3, 0.015, 0.005, 0.08]),
            "w": rng.integers(0, 4, rows),
        }
    )


def expected(people: pd.DataFrame, columns: list[str], chosen: pd.Series, exclude: float) -> dict[str, dict[str, Any]]:
    """Rates and ratios with pandas; ``w`` weighs the rows."""
    known = people[columns].notna().all(axis=1) & ~people[columns].isin(["?", ""]).any(axis=1)
    found: dict[str, dict[str, Any]] = {}
    for key, part in people[known].groupby(columns):
        weight = part["w"].sum()
        rate = (part["w"] * chosen[part.index]).sum() / weight if weight else None
        found[" & ".join(key)] = {"rows": len(part), "rate": rate, "small": weight / people["w"].sum() < exclude}
    rates = [each["rate"] for each in found.values() if not each["small"] and each["rate"] is not None]
    for each in found.values():
        none = each["small"] or each["rate"] is None or not max(rates, default=0)
        each["ratio"] = None if none else each["rate"] / max(rates)
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rates_and_ratios_are_those_of_pandas(seed: int, weighted: bool) -> None:
    people = drawn(seed)
    if not weighted:
        people["w"] = 1
    score = scored(people["score"], people["w"])
    median = score.median()
    assert median == np.median(np.repeat(people["score"], people["w"]))
    parts = classify({"sex": people["sex"], "race": people["race"]}, ["?"])
    assert [part.by for part in parts] == [("sex",), ("race",), ("sex", "race")]
    for part in parts:
        for measure, threshold in (("scoring_rate", median), ("selection_rate", 8 / 11)):
            chosen = people["score"] > median if measure == "scoring_rate" else people["score"] >= threshold
            found = impact_table(part, score, measure, threshold, exclude_below=0.02, weighted=weighted)
            wanted = expected(people, list(part.by), chosen, 0.02)
            assert found.selected_share == pytest.approx((people["w"] * chosen).sum() / people["w"].sum())
            assert found.unknown_rows == len(people) - sum(each["rows"] for each in wanted.values())
            for each in found.categories:
                want = wanted.get(each.category, {"rows": 0, "rate": None, "ratio": None, "small": True})
                assert (each.rows, each.excluded) == (want["rows"], want["small"]), each
                assert each.rate == (None if want["rate"] is None else pytest.approx(want["rate"]))
                assert each.ratio == (None if want["ratio"] is None else pytest.approx(want["ratio"]))
                assert each.below_four_fifths == (None if each.ratio is None else each.ratio < 0.8)
            best = max((e for e in found.categories if e.ratio is not None), key=lambda e: e.ratio)
            assert best.category == found.highest and best.ratio == 1


def test_the_median_is_not_above_itself() -> None:
    of = classify({"c": list("aabb")})[0]
    for scores, median, rates in (
        ([1, 1, 1, 1], 1, [0, 0]),
        ([1, 2, 2, 3], 2, [0, 0.5]),
        ([1, 4, 2, 3], 2.5, [0.5, 0.5]),
    ):
        score = scored(scores)
        assert score.median() == median
        found = impact_table(of, score, "scoring_rate", score.median(), exclude_below=0, weighted=False)
        assert [each.rate for each in found.categories] == rates
    tied = impact_table(of, scored([1, 1, 1, 1]), "scoring_rate", 1.0, exclude_below=0, weighted=False)
    assert tied.selected_share == 0 and [each.ratio for each in tied.categories] == [None, None]


@pytest.mark.parametrize("seed", range(5))
def test_a_drawn_score_is_taken_in_expectation(seed: int) -> None:
    """Everybody has three possible scores: rates and median are those of all possibilities, weighed by their chance."""
    rng = np.random.default_rng(seed)
    n = 37 + seed
    values, chances = rng.integers(0, 6, (n, 3)) / 4.0, rng.dirichlet([1, 1, 1], n)
    weights = rng.integers(1, 4, n).astype(float)
    score = scored(rng.random(n), weights, chance=lambda t: (chances * (values >= t)).sum(axis=1))
    flat, mass = values.ravel(), (chances * weights[:, None]).ravel()
    half = mass.sum() / 2
    levels = np.unique(flat)
    lower = next(v for v in levels if mass[flat <= v].sum() >= half - 1e-9)
    upper = next(v for v in levels[::-1] if mass[flat >= v].sum() >= half - 1e-9)
    assert score.median() == (lower + upper) / 2
    groups = rng.integers(0, 2, n)
    of = classify({"g": groups})[0]
    found = impact_table(of, score, "scoring_rate", score.median(), exclude_below=0, weighted=True)
    for g, each in enumerate(found.categories):
        mine = np.repeat(groups == g, 3)
        assert each.rate == pytest.approx(mass[mine & (flat > score.median())].sum() / mass[mine].sum())
        assert each.fisher is None
    worst = worst_ratios([of], score, exclude_below=0)[0]
    assert 0 <= worst.ratio <= 1 and worst.score == "fair"  # type: ignore[operator]


def test_nobody_selected_and_zero_selected() -> None:
    nobody = table(list("aabb"), [0, 0, 0, 0])
    first = nobody.categories[0]
    assert (first.rate, first.ratio, first.deviations, first.fisher) == (0, None, None, None)
    assert nobody.lowest is None
    zero = table(list("aaabbb"), [0, 0, 0, 1, 0, 1])
    assert [each.ratio for each in zero.categories] == [0, 1] and zero.lowest.category == "a"
    one = table(["a", *["b"] * 9], [1, *[0] * 5, *[1] * 4])
    assert one.highest == "a" and one.categories[0].rows == 1 and one.categories[1].few


def test_small_categories_are_shown_and_cannot_be_the_highest() -> None:
    names, chosen = ["tiny"] * 19 + ["a"] * 500 + ["b"] * 481, [1] * 19 + [1] * 250 + [0] * 250 + [1] * 240 + [0] * 241
    found = {each.category: each for each in table(names, chosen, exclude_below=0.02).categories}
    assert (found["tiny"].excluded, found["tiny"].rate, found["tiny"].ratio, found["tiny"].rows) == (True, 1, None, 19)
    assert found["a"].ratio == 1 and found["b"].ratio == pytest.approx(240 / 481 / 0.5)
    at_limit = table(["tiny"] * 20 + names[20:], chosen, exclude_below=0.02)  # 2 % is not less than 2 %
    assert at_limit.highest == "tiny"
    kept = table(names, chosen, exclude_below=0.0)
    assert kept.highest == "tiny" and kept.categories[0].below_four_fifths
    many = table([f"c{i}" for i in range(60)], [1] * 60, exclude_below=0.02)
    assert many.highest is None and all(each.excluded and each.rate == 1 for each in many.categories)


def test_four_fifths_itself_is_not_below() -> None:
    found = table(["a"] * 25 + ["b"] * 25, [1] * 20 + [0] * 5 + [1] * 16 + [0] * 9)
    assert 16 / 25 / (20 / 25) < 0.8  # by rounding alone
    assert not found.categories[1].below_four_fifths
    less = table(["a"] * 1000 + ["b"] * 1000, [1] * 300 + [0] * 700 + [1] * 239 + [0] * 761)
    assert less.categories[1].below_four_fifths


def fisher_by_hand(a: int, n: int, b: int, m: int) -> float:
    """Two-sided p: all splits of the a + b selected that are no likelier than the one seen."""
    ways = [math.comb(n, k) * math.comb(m, a + b - k) for k in range(max(0, a + b - m), min(n, a + b) + 1)]
    seen = math.comb(n, a) * math.comb(m, b)
    return sum(way for way in ways if way <= seen) / sum(ways)


def test_tests_of_chance_are_exact() -> None:
    for (a, n), (b, m) in combinations([(1, 4), (3, 4), (0, 5), (2, 9), (7, 8), (11, 30), (1, 1)], 2):
        found = table(["a"] * n + ["b"] * m, [1] * a + [0] * (n - a) + [1] * b + [0] * (m - b))
        low = next(each for each in found.categories if each.category != found.highest)
        assert low.fisher == pytest.approx(fisher_by_hand(a, n, b, m), abs=1e-12), (a, n, b, m)
        pooled = (a + b) / (n + m)
        error = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        assert low.deviations == pytest.approx(abs(a / n - b / m) / error)
        assert low.few == (min(n, m) * min(pooled, 1 - pooled) < 5)
    tea = table(list("aaaabbbb"), [1, 1, 1, 0, 1, 0, 0, 0]).categories[1]
    assert tea.fisher == pytest.approx(17 / 35)  # Fisher's lady tasting tea, two-sided


def test_weighted_rows_count_as_their_effective_number() -> None:
    names, chosen, weights = ["a"] * 50 + ["b"] * 50, [1] * 30 + [0] * 20 + [1] * 15 + [0] * 35, [2.0, 1.0] * 50
    found = table(names, chosen, weights=weights).categories[1]
    assert found.fisher is None and (found.rows, found.people) == (50, 75)
    size = 75**2 / (25 * 4 + 25)
    rates = [sum(w * c for w, c in list(zip(weights, chosen, strict=True))[k : k + 50]) / 75 for k in (0, 50)]
    pooled = sum(rates) / 2
    assert found.deviations == pytest.approx((rates[0] - rates[1]) / math.sqrt(pooled * (1 - pooled) * 2 / size))
    same = table(names, chosen, weights=[3.0] * 100).categories[1]
    assert same.deviations == pytest.approx(table(names, chosen).categories[1].deviations)


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_ratio_is_the_smallest_over_all_thresholds(seed: int) -> None:
    people = drawn(seed, 300)
    score = scored(people["score"], people["w"])
    parts = classify({"sex": people["sex"], "race": people["race"]}, ["?"])
    for part, found in zip(parts, worst_ratios(parts, score, exclude_below=0.02), strict=True):
        looks = [t for t in sorted(set(people["score"])) if score.share(t) >= 0.05]
        tables = [impact_table(part, score, "selection_rate", t, exclude_below=0.02, weighted=True) for t in looks]
        least = min((t for t in tables if t.lowest is not None), key=lambda t: t.lowest.ratio)  # type: ignore[union-attr]
        assert found.ratio == pytest.approx(least.lowest.ratio) and found.thresholds == len(looks)  # type: ignore[union-attr]
        at = next(t for t in tables if t.threshold == found.threshold)
        assert at.lowest.ratio == pytest.approx(found.ratio) and at.selected_share == pytest.approx(
            found.selected_share
        )  # type: ignore[union-attr]
    (alone,) = worst_ratios(classify({"c": ["x"] * 300}), score, exclude_below=0.02)
    assert alone.ratio is None and alone.threshold is None


def test_the_threshold_that_selects_a_share() -> None:
    score = scored([1, 2, 2, 3, 4, 5, 6, 7, 8, 9])
    assert [score.selecting(share) for share in (0.1, 0.3, 0.85, 1.0, 0.01)] == [9, 7, 3, 1, 9]
    assert scored([1, 2, 3], [1, 1, 8]).selecting(0.9) == 2


def test_empty_combinations_are_categories_of_nobody() -> None:
    pair = classify({"sex": ["f", "f", "m"], "race": ["x", "y", "x"]})[2]
    found = impact_table(pair, scored([1, 0, 1]), "selection_rate", 0.5, exclude_below=0.0, weighted=False)
    empty = next(each for each in found.categories if each.category == "m & y")
    assert (empty.rows, empty.rate, empty.ratio, empty.excluded) == (0, None, None, False)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": list(range(101))}, "categories of 'id' must be 1 to 100, got 101"),
        ({"scores": ["a", "b"], "b": ["x"]}, "same number of rows, got category 'scores' 2, category 'b' 1"),
        ({"sex": ["?", "", None]}, "categories of 'sex' must be 1 to 100, got none that is known"),
        ({"a": ["x", "x & y"], "b": ["y & z", "z"]}, "two combinations of 'a' and 'b' have one name"),
    ],
)
def test_columns_that_are_no_categories(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        classify(columns, ["?"])
