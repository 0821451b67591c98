"""Small groups at the door: merged is renamed beforehand, left out is never there, from rows and from counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairroc import ScoreCounts
from fairroc.errors import DataError, SmallGroupWarning
from fairroc.fitting.fit import fit_quietly
from fairroc.model.file import dumps
from fairroc.people.door import read_people
from fairroc.people.people import People, both_labels, refuse_tiny_groups
from fairroc.people.small import MERGED, REFUSE, Regrouped, SmallGroup, SmallGroups, SmallRule, too_small
from fitted_people import fitted_options
from strategies import POOLS, SEEDS

DATE = datetime(2024, 1, 1, tzinfo=UTC)
EXACT = fitted_options(epsilon=0.1, draw="all")
BITS = [12, 20, 63]


@dataclass(frozen=True)
class Rows:
    """People of two large groups and of some small ones."""

    scores: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    weights: np.ndarray | None

    def people(self, small: SmallRule = REFUSE, *, whole: bool = True) -> People:
        how = {"sensitive_features": self.groups, "sample_weight": self.weights}
        return read_people(self.scores, self.y, **how, small=small, whole=whole)

    def counts(self, **how) -> ScoreCounts:
        columns = {"sensitive_features": self.groups, "sample_weight": self.weights}
        return ScoreCounts.from_rows(self.scores, self.y, **columns, **how)

    def only(self, kept: np.ndarray) -> Rows:
        weights = None if self.weights is None else self.weights[kept]
        return Rows(self.scores[kept], self.y[kept], self.groups[kept], weights)


def rows_of(seed: int, sizes: list[int], pool: str = "fine", weights: str = "none") -> Rows:
    """Groups 'a' and 'b' of 60 people, and 's0', 's1', ... of these sizes; everybody in any order."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(["a", "b", *(f"s{i}" for i in range(len(sizes)))], [60, 60, *sizes])
    n = len(groups)
    y = np.concatenate((np.tile([0, 1], 60), rng.integers(0, 2, n - 120)))
    scores = np.array(POOLS[pool])[np.minimum(rng.integers(0, len(POOLS[pool]), n) + y, len(POOLS[pool]) - 1)]
    order = rng.permutation(n)
    found = {"none": None, "whole": rng.integers(1, 4, n).astype(float), "any": rng.uniform(0.1, 3, n).round(3)}
    rows = Rows(scores, y, groups, found[weights])
    return rows.only(order)


SMALL_ROWS = st.builds(
    rows_of,
    SEEDS,
    st.lists(st.integers(1, 9), max_size=5),
    st.sampled_from(["two", "ties", "fine", "extreme"]),
    st.sampled_from(["none", "whole", "any"]),
)
MINIMA = st.sampled_from([1, 2, 5])


def small_names(rows: Rows, minimum: int) -> set[str]:
    """Slow and plain."""
    used = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    return {
        str(name)
        for name in np.unique(rows.groups)
        if min(int(((rows.groups == name) & (rows.y == label) & (used > 0)).sum()) for label in (0, 1)) < minimum
    }


def model_text(people: People) -> str:
    """The model file of a fit, without what became of small groups."""
    fitted = fit_quietly(people, EXACT, salt=1, date=DATE)
    return dumps(replace(fitted.model, small_groups=None))


def usable(people: People, minimum: int) -> bool:
    return len(people.names) > 1 and not too_small(people.class_rows(), minimum).any()


# ---- rows ------------------------------------------------------------------------------------------------------------


@given(SMALL_ROWS, MINIMA)
def test_merged_is_renamed_beforehand(rows: Rows, minimum: int) -> None:
    small = small_names(rows, minimum)
    renamed = replace(rows, groups=np.where(np.isin(rows.groups, [*small]), MERGED, rows.groups))
    people = rows.people(SmallRule("merge", minimum), whole=False)
    plain = renamed.people(whole=False)
    assert people.names == plain.names and np.array_equal(people.class_rows(), plain.class_rows())
    assert {group.group for group in people.small.groups} == small if small else people.small is None
    assume(usable(plain, 1))
    assert model_text(people) == model_text(plain)


@given(SMALL_ROWS, MINIMA)
def test_left_out_is_never_there(rows: Rows, minimum: int) -> None:
    small = small_names(rows, minimum)
    people = rows.people(SmallRule("drop", minimum))
    assert model_text(people) == model_text(rows.only(~np.isin(rows.groups, [*small])).people())
    found = [] if people.small is None else people.small.groups
    assert [(group.group, group.rows, group.positives) for group in found] == [
        (name, int((rows.groups == name).sum()), int(rows.y[rows.groups == name].sum())) for name in sorted(small)
    ]


@given(SMALL_ROWS, MINIMA)
def test_nothing_is_done_unless_asked(rows: Rows, minimum: int) -> None:
    people = rows.people(SmallRule("error", minimum), whole=False)
    assert people.small is None and people.names == rows.people(whole=False).names
    plain = rows.only(np.isin(rows.groups, ["a", "b"]))
    for treatment in ("merge", "drop"):
        assert plain.people(SmallRule(treatment, minimum)).small is None  # type: ignore[arg-type]


def test_rows_of_weight_zero_make_no_group_large() -> None:
    rows = rows_of(0, [6, 6])
    weights = np.where(np.isin(rows.groups, ["s0"]), 0.0, 1.0)
    people = replace(rows, weights=weights).people(SmallRule("drop"))
    assert [(group.group, group.rows) for group in people.small.groups] == [("s0", 6)]


# ---- counts ----------------------------------------------------------------------------------------------------------


@given(SMALL_ROWS, MINIMA, st.sampled_from(["merge", "drop"]))
def test_counts_are_treated_as_their_rows(rows: Rows, minimum: int, treatment: str) -> None:
    rows = replace(rows, weights=None)
    rule = SmallRule(treatment, minimum)  # type: ignore[arg-type]
    half = np.arange(len(rows.y)) % 2 == 0
    both = [rows.only(half).counts(), rows.only(~half).counts()]
    people, counted = rows.people(rule, whole=False), both[0].merge(both[1]).people(small=rule, whole=False)
    assert people.small == counted.small and people.names == counted.names
    assume(usable(people, 1))
    assert model_text(people) == model_text(counted)


@given(SMALL_ROWS, MINIMA, st.sampled_from(BITS))
def test_counts_in_bins_merge_with_their_error(rows: Rows, minimum: int, bits: int) -> None:
    rows, small = replace(rows, weights=None), small_names(rows, minimum)
    renamed = replace(rows, groups=np.where(np.isin(rows.groups, [*small]), MERGED, rows.groups))
    merged = rows.counts(bits=bits).people(small=SmallRule("merge", minimum), whole=False)
    plain = renamed.counts(bits=bits).people(whole=False)
    assert merged.error == plain.error
    for one, other in zip(merged.samples, plain.samples, strict=True):
        assert [part.tolist() for part in one.table()] == [part.tolist() for part in other.table()]
    left = rows.counts(bits=bits).people(small=SmallRule("drop", minimum))
    assert left.error == rows.only(~np.isin(rows.groups, [*small])).counts(bits=bits).people().error


# ---- what a model does with them -------------------------------------------------------------------------------------


@given(SMALL_ROWS, MINIMA)
def test_a_model_merges_new_people_as_its_fit_did(rows: Rows, minimum: int) -> None:
    """Those of its small groups, however many there are now, and nobody else."""
    names = ("s0", "s1", "never seen")
    rule = SmallRule(fitted=Regrouped("merge", minimum, names, MERGED))
    people = rows.people(rule, whole=False)
    present = [name for name in np.unique(rows.groups) if name in names]
    assert set(people.names) == {*np.unique(rows.groups), *([MERGED] if present else [])} - set(names)
    assert [group.group for group in people.small.groups] == present if present else people.small is None
    assert rows.people(SmallRule(fitted=Regrouped("drop", minimum, names)), whole=False).small is None


# ---- words -----------------------------------------------------------------------------------------------------------

FOUR = rows_of(3, [4])
"""Group 's0' has four rows."""


def test_warnings_name_groups_and_rows() -> None:
    people = rows_of(1, [3, 2]).people(SmallRule("drop", 5))
    first = people.small_groups()[0]
    assert isinstance(first, SmallGroupWarning)
    assert str(first) == "2 small groups, 5 rows, left out: 's0' (3 rows, 2 positive), 's1' (2 rows, 1 positive)."
    merged = SmallGroups("merge", 1, (SmallGroup("x", 1, 0),), "other")
    assert merged.words() == "1 small group, 1 row, merged into 'other': 'x' (1 row, 0 positive)."
    many = SmallGroups("drop", 1, tuple(SmallGroup(str(i), 10, 0) for i in range(8)))
    assert many.words().startswith("8 small groups, 80 rows, left out: '0' (10 rows, 0 positive), ")
    assert many.words().endswith(", and 3 more.")


def test_merged_people_may_still_be_too_few() -> None:
    lone = replace(FOUR, y=np.where(FOUR.groups == "s0", 0, FOUR.y))
    with pytest.raises(
        DataError,
        match=r"^group 'other \(merged\)' has 4 rows, all with label 0; a ROC curve needs both labels\. "
        r"'other \(merged\)' holds all small groups, and they are too few: 's0' \(4 rows, 0 positive\)\. "
        r"Take small_groups='drop' "
        r"\(--small-groups drop\), or merge them with a larger group\.$",
    ):
        lone.people(SmallRule("merge"))
    with pytest.raises(
        DataError, match=r"at least 9 of each label are needed\. 'other \(merged\)' holds all small groups"
    ):
        refuse_tiny_groups(FOUR.people(SmallRule("merge", 9), whole=False), 9)


def test_one_group_that_is_left_says_who_went() -> None:
    rows = FOUR.only(FOUR.groups != "b")
    words = r"one group only: 'a' holds all 60 rows \(1 small group, 4 rows, left out: 's0' \(4 rows, . positive\)\)"
    with pytest.raises(DataError, match=words):
        rows.people(SmallRule("drop", 5))


def test_nobody_is_left() -> None:
    with pytest.raises(
        DataError, match=r"small_groups='drop' would leave nobody: every group has fewer than 99 rows of"
    ):
        FOUR.people(SmallRule("drop", 99))


def test_the_merged_group_needs_a_name_of_its_own() -> None:
    taken = replace(FOUR, groups=np.where(FOUR.groups == "b", MERGED, FOUR.groups))
    with pytest.raises(DataError, match=r"makes a group called 'other \(merged\)', but there is a group of that name"):
        taken.people(SmallRule("merge", 5))
    large = taken.only(taken.groups != "s0")
    assert large.people(SmallRule("merge", 5)).names == ("a", MERGED)  # nothing is merged, nothing collides


def test_the_error_says_the_way_out() -> None:
    lone = replace(FOUR, y=np.where(FOUR.groups == "s0", 1, FOUR.y))
    for refuse in (
        lambda: both_labels(lone.people(whole=False)),
        lambda: refuse_tiny_groups(FOUR.people(whole=False), 9),
    ):
        with pytest.raises(
            DataError, match=r"or let .* do it: small_groups='merge' \(--small-groups merge\) or 'drop'\.$"
        ):
            refuse()
