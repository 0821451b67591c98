"""The door in: what is accepted, what comes out, and the text of every refusal."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.errors import DataError, SmallGroupWarning, UnknownGroupError
from fairroc.people.door import read_people
from fairroc.people.people import People, refuse_tiny_groups
from fairroc.people.rows import Columns, read_columns, read_scores, take_columns
from fairroc.tables.columns import ColumnNames
from refusals import refuses

SCORES, LABELS, GROUPS = [0.1, 0.9, 0.4, 0.2], [0, 1, 1, 0], ["b", "a", "b", "a"]

SERIES = {
    "list": list,
    "tuple": tuple,
    "object": lambda values: np.array(values, dtype=object),
    "pandas": pd.Series,
    "pandas object": lambda values: pd.Series(values, dtype=object),
    "polars": lambda values: pl.Series(values, strict=False),
    "arrow": pa.array,
    "chunked": lambda values: pa.chunked_array([pa.array(values[:2]), pa.array(values[2:])]),
}
FRAMES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "array": lambda data: np.array(list(data.values()), dtype=object).T,
}


def read(scores: Any = SCORES, y: Any = LABELS, sensitive_features: Any = GROUPS, **options: Any) -> Columns:
    """The columns, if the door lets them through."""
    read_people(scores, y, sensitive_features=sensitive_features, **options)
    return read_columns(scores, y, sensitive_features=sensitive_features, **options)


def pl_object(values: list[Any]) -> Any:
    return pl.Series(values, dtype=pl.Object)


def texts(columns: Columns) -> list[str]:
    return [columns.names[code] for code in columns.groups]


def test_what_comes_out() -> None:
    columns = read(sample_weight=[1, 2, 0.5, 1])
    assert columns.scores.dtype == np.float64 and columns.scores.tolist() == SCORES
    assert columns.labels.dtype == np.bool_ and columns.labels.tolist() == [False, True, True, False]
    assert columns.groups.dtype == np.int8 and columns.groups.tolist() == [1, 0, 1, 0]
    assert columns.names == ("a", "b")
    assert columns.weights is not None and columns.weights.tolist() == [1, 2, 0.5, 1]
    people = read_people(SCORES, LABELS, sensitive_features=GROUPS)
    assert people.rows == 4
    assert people.class_rows().tolist() == [[1, 1], [1, 1]]
    for array in (columns.scores, columns.labels, columns.groups, columns.weights):
        assert not array.flags.writeable and array.flags.c_contiguous


def test_the_callers_array_stays_writeable_and_is_not_copied() -> None:
    scores = np.array(SCORES)
    columns = read(scores)
    assert scores.flags.writeable
    assert np.shares_memory(scores, columns.scores)


def test_many_groups_get_wider_codes() -> None:
    group = np.repeat(np.arange(300), 2)
    columns = read(np.arange(600), np.arange(600) % 2, group)
    assert columns.groups.dtype == np.int16
    assert [int(text) for text in texts(columns)] == group.tolist()


# ---------------------------------------------------------------- containers


@pytest.mark.parametrize("kind", SERIES)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(-1e300, 1e300) | st.floats(-1, 1, width=32),
            st.booleans(),
            st.sampled_from(["x", "", " ", "é", "1"]),
            st.floats(0, 10),
        ),
        max_size=20,
    )
)
def test_containers_agree(kind: str, rows: list[tuple[float, bool, str, float]]) -> None:
    rows = [(0.0, label, group, 1.0) for group in ("", " ", "1", "x", "é") for label in (False, True)] + rows
    scores, labels, groups, weights = (list(column) for column in zip(*rows, strict=True))
    plain = read(np.array(scores), np.array(labels), np.array(groups, dtype="U1"), sample_weight=np.array(weights))
    make = SERIES[kind]
    other = read(make(scores), make(labels), make(groups), sample_weight=make(weights))
    for name in ("scores", "labels", "groups", "weights"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(other, name))
    assert plain.names == other.names == ("", " ", "1", "x", "é")
    assert texts(other) == groups


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1, 10, 2, -3] * 2, ["1", "10", "2", "-3"] * 2),
        ([1, None, 2, None] * 2, ["1", "(missing)", "2", "(missing)"] * 2),
        ([1.0, 2.5, 1.0, math.nan] * 2, ["1", "2.5", "1", "(missing)"] * 2),
        ([True, False, None, True] * 2, ["True", "False", "(missing)", "True"] * 2),
        (["nan", None, "", "None"] * 2, ["nan", "(missing)", "", "None"] * 2),
        ([10**12, 5] * 4, ["1000000000000", "5"] * 4),
        (["1.0", "1", "2.50", "-0.0"] * 2, ["1", "1", "2.5", "0"] * 2),
        (["01.0", "1.0.0", ".0", "10"] * 2, ["01.0", "1.0.0", ".0", "10"] * 2),
        ([Decimal("1.00"), Decimal("2.50"), Decimal("5.00"), Decimal("0.00")] * 2, ["1", "2.5", "5", "0"] * 2),
        ([date(2020, 1, 2), date(2021, 1, 2)] * 4, ["2020-01-02", "2021-01-02"] * 4),
    ],
)
def test_group_texts(kind: str, values: list[Any], names: list[str]) -> None:
    group = SERIES[kind](values * 2)
    columns = read(np.arange(16), [0] * 8 + [1] * 8, group, missing="group")
    assert texts(columns) == names * 2
    assert list(columns.names) == sorted(set(names))


class Colour(str, Enum):  # noqa: UP042 - the old spelling, whose str() is not its value
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("group", "names"),
    [
        (
            np.array([1, 2, 1, 2], dtype=np.uint64) + np.uint64(2**63),
            ["9223372036854775809", "9223372036854775810"],
        ),
        (np.array([1, -(2**63), 1, -(2**63)]), ["1", "-9223372036854775808"]),
        (np.array([0.1, 3, 0.1, 3], dtype=np.float32), ["0.10000000149011612", "3"]),
        (np.array([1e300, 3, 1e300, 3]), ["1e+300", "3"]),
        (np.array([math.inf, 3, math.inf, 3]), ["inf", "3"]),
        (np.array([b"a", b"\xff", b"a", b"\xff"]), ["a", "\\xff"]),
        (np.array([True, False, True, False]), ["True", "False"]),
        (np.array(["2020", "2021", "2020", "2021"], dtype="datetime64[Y]"), ["2020", "2021"]),
        (np.array(["a", "b", "a", "b"], dtype=np.dtypes.StringDType()), ["a", "b"]),
        ([Colour.RED, Colour.BLUE] * 2, ["red", "blue"]),
        ([np.int8(1), np.float64(2), "1", 2], ["1", "2"]),
        ([Decimal("1.50"), Fraction(1, 2)] * 2, ["1.5", "1/2"]),
        (pd.Categorical(["u", "v", "u", "v"], categories=["w", "v", "u"]), ["u", "v"]),
        (pd.Series(["u", "v", "u", "v"], dtype=pd.CategoricalDtype(["w", "v", "u"])), ["u", "v"]),
        (pl.Series(["u", "v", "u", "v"], dtype=pl.Enum(["w", "v", "u"])), ["u", "v"]),
        (pl.Series(["u", "v", "u", "v"], dtype=pl.Categorical), ["u", "v"]),
        (pl.Series([object, "v", object, "v"], dtype=pl.Object), ["<class 'object'>", "v"]),
        (pa.array(["u", "v", "u", "v"]).dictionary_encode(), ["u", "v"]),
        (pd.Index(["u", "v", "u", "v"]), ["u", "v"]),
        (np.array([["u"], ["v"], ["u"], ["v"]]), ["u", "v"]),
    ],
)
def test_group_kinds(group: Any, names: list[str]) -> None:
    columns = read([1, 2, 3, 4], [0, 0, 1, 1], group)
    assert texts(columns) == names * 2


def test_integer_one_and_text_one_are_the_same_group() -> None:
    assert texts(read(y=[0, 1, 1, 0], sensitive_features=[1, "1", "a", "a"])) == ["1", "1", "a", "a"]


def test_many_distinct_texts() -> None:
    group = np.repeat([f"group {i}" for i in range(40)], 2000)
    columns = read(np.arange(80_000), np.arange(80_000) % 2, group)
    assert texts(columns) == group.tolist()


def test_text_beyond_the_sample_is_found() -> None:
    group = np.array(["a"] * 2000 + ["b"] * 2000 + ["cc"] * 2)
    assert texts(read(np.arange(4002), np.arange(4002) % 2, group)) == group.tolist()


def test_masked_array_and_missing_kinds() -> None:
    masked = np.ma.MaskedArray([1, 2, 3, 1, 2, 3], mask=[0, 0, 1, 0, 0, 1])
    assert groups_of_six(masked) == ["1", "2", "(missing)"] * 2
    nothing = [None, math.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN")]
    for missing in nothing:
        assert groups_of_six(["1", "2", missing] * 2) == ["1", "2", "(missing)"] * 2
    categories = pd.Series(pd.Categorical(["1", "2", None] * 2))
    assert groups_of_six(categories) == ["1", "2", "(missing)"] * 2


def groups_of_six(group: Any) -> list[str]:
    return texts(read(np.arange(6), [0, 0, 0, 1, 1, 1], group, missing="group"))


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize("kind", FRAMES)
def test_several_columns_are_crossed(kind: str) -> None:
    data = {"sex": ["F", "M", "F", "M"] * 2, "race": ["x", "x", "y", "y"] * 2}
    columns = read(np.arange(8), [0] * 4 + [1] * 4, FRAMES[kind](data))
    assert texts(columns) == ["F & x", "M & x", "F & y", "M & y"] * 2
    assert columns.names == ("F & x", "F & y", "M & x", "M & y")


def test_three_integer_columns() -> None:
    grid = np.array(np.meshgrid([0, 1], [5, 7], [1, 2, 3])).reshape(3, -1).T
    columns = read(np.arange(24), [0] * 12 + [1] * 12, np.vstack([grid, grid]))
    assert texts(columns) == [" & ".join(map(str, row)) for row in grid] * 2


def test_missing_in_one_of_two_columns() -> None:
    frame = pd.DataFrame({"a": ["x", None] * 2, "b": [1, 2] * 2})
    columns = read([1, 2, 3, 4], [0, 0, 1, 1], frame, missing="group")
    assert columns.names == ("(missing) & 2", "x & 1")


@pytest.mark.parametrize("rows", [[("a", "b")] * 4, [["a", "b"]] * 4, pa.array([["a"]] * 4), pd.Series([["a"]] * 4)])
def test_rows_of_groups_are_ambiguous(rows: Any) -> None:
    message = r"sensitive_features must hold one plain value per row, .* pass several columns as a data frame"
    refuses(message, read, sensitive_features=rows)


@pytest.mark.parametrize("make", [list, lambda values: np.array(values, dtype=object), np.array, pl_object])
@pytest.mark.parametrize("letter", ["\ud800", "\udfff"])
def test_lone_surrogates(make: Any, letter: str) -> None:
    group = make(["a", f"x{letter}"] * 2)
    message = (
        r"^sensitive_features must be text that UTF-8 can hold, got 'x\\ud\w\w\w' with a lone surrogate; rename it"
    )
    refuses(message, read, sensitive_features=group)
    refuses(message, read_scores, SCORES, sensitive_features=group, names=["a", "b"], on_unknown_group="b")
    with pytest.raises(DataError, match=r"sensitive_features\['g'\] must be text that UTF-8 can hold"):
        read(sensitive_features={"g": group, "h": GROUPS})


def test_letters_beyond_two_bytes_are_no_lone_surrogates() -> None:
    assert read(y=[0, 0, 1, 1], sensitive_features=["\U0001f600", "a"] * 2).names == ("a", "\U0001f600")


# ---------------------------------------------------------------- scores


@pytest.mark.parametrize(
    "scores",
    [
        np.array([1, 2, 3, 4], dtype=np.uint8),
        np.array([1, 2, 3, 4], dtype=np.float16),
        np.array([1, 2, 3, 4], dtype=">f8"),
        np.array([1, 2, 3, 4], dtype=np.longdouble),
        np.array([[1], [2], [3], [4]]),
        np.arange(1, 9)[::2] // 2 + 1,
        np.ma.MaskedArray([1, 2, 3, 4], mask=False),
        [1, Decimal(2), Fraction(3), np.float32(4)],
        pl.Series([Decimal(1), Decimal(2), Decimal(3), Decimal(4)]),
        pd.Series([1, 2, 3, 4], dtype="Int64", index=[9, 8, 7, 6]),
        pd.DataFrame({"p": [1, 2, 3, 4]}),
        pa.array([1, 2, 3, 4], pa.float32()),
        range(1, 5),
    ],
)
def test_score_kinds(scores: Any) -> None:
    assert read(scores).scores.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_float32_is_widened_exactly() -> None:
    scores = np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32)
    assert (read(scores).scores == scores).all()


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (
            np.zeros((4, 2)),
            r"scores must be one column, got ndarray of shape \(4, 2\)\. .*predict_proba\(X\)\[:, 1\]",
        ),
        (np.zeros((4, 3)), r"scores must be one column, got ndarray of shape \(4, 3\)\.$"),
        (pd.DataFrame(np.zeros((4, 2))), r"scores must be one column, got DataFrame of shape \(4, 2\)"),
        (0.5, r"scores must be one column, got float of shape \(\)"),
        (
            ["0.1", "0.2", "abc", "x"],
            r"4 of 4 are not; the first is 'abc' in row 3 \(counted from 1, without the header\)\. Pass",
        ),
        (
            np.array(["0.1", "0.2", "3", "4"]),
            r"scores must be real numbers.*the first is '0.1' in row 1",
        ),
        (pl.Series(["1", "", "2", "3"]), "the first is '' in row 2"),
        (
            [0.1, "x", 0.3, 0.4],
            "scores must be real numbers, but 1 of 4 are not; the first is 'x' in row 2",
        ),
        ([True, False, True, False], "the first is True in row 1 .* Pass a score .* not a decision"),
        (np.array([True, False, True, False]), "scores must be real numbers.*not a decision"),
        (pd.Series([True, None, True, False]), "scores must be real numbers.*not a decision"),
        (np.array([1j, 0, 0, 0]), "scores must be real numbers, but 4 of 4 are not; the first is 1j"),
        ([[0.1], [0.2], [0.3], [0.4]], r"the first is \[0.1\] in row 1"),
        (np.zeros(4, dtype="datetime64[D]"), "scores must be real numbers, but 4 of 4"),
        ([0.1, None, math.nan, pd.NA], "scores must not be missing, but 3 of 4 are; drop or fill these rows"),
        (pa.array([None, None, 1, 2]), "scores must not be missing, but 2 of 4 are"),
        (pa.nulls(4), "scores must not be missing, but 4 of 4 are"),
        (pd.Series([0.1, None, 1, 2], dtype="Float64"), "scores must not be missing, but 1 of 4 are"),
        (
            [math.inf, -math.inf, 1, 2],
            "scores must be finite, but 2 of 4 are infinite; drop or clip these rows",
        ),
        ([1e308, 1, -1e308, 2], "scores must lie within ±1e307, but 2 of 4 do not; rescale them"),
        ([10**400, 1, 1, 2], "scores must lie within ±1e307, but some do not; rescale them"),
        ([0.1, 0.2], r"same number of rows, got scores 2, y 4, sensitive_features 4\."),
    ],
)
def test_bad_scores(scores: Any, message: str) -> None:
    refuses(message, read, scores)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("y", "pos_label"),
    [
        ([0, 1, 1, 0], None),
        ([0.0, 1.0, 1.0, 0.0], None),
        (np.array([0, 1, 1, 0], dtype=np.float32), None),
        ([-1, 1, 1, -1], None),
        ([False, True, True, False], None),
        (pd.Series([0, 1, 1, 0], dtype="Int8"), None),
        (pl.Series([False, True, True, False]), None),
        (["no", "yes", "yes", "no"], "yes"),
        (pd.Series(["no", "yes", "yes", "no"], dtype="category"), "yes"),
        (np.array(["no", "yes", "yes", "no"]), "yes"),
        ([1, 0, 0, 1], 0),
        ([2, 1, 1, 2], 1),
        ([2, 1, 1, 2], "1"),
        ([0.5, 1.5, 1.5, 0.5], 1.5),
        ([True, False, False, True], False),
    ],
)
def test_label_kinds(y: Any, pos_label: Any) -> None:
    assert read(y=y, pos_label=pos_label).labels.tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("y", "pos_label", "message"),
    [
        (
            ["no", "yes", "yes", "no"],
            None,
            r"y holds 'no' and 'yes'; pass pos_label= \(on the command line: --pos-label\) the positive one",
        ),
        ([2, 1, 1, 2], None, r"y holds \d and \d; pass pos_label="),
        ([0, -1, -1, 0], None, "y holds .* pass pos_label="),
        (
            ["no", "yes", "yes", "no"],
            "ja",
            r"pos_label must be one of the labels 'no' and 'yes', got 'ja' \(on the command line: --pos-label\)\.$",
        ),
        ([0, 1, 2, 1], None, r"y must hold two values, got 3: 0 \(1 row\), 1 \(2 rows\), 2 \(1 row\)\. Recode"),
        (
            np.array([0.5, 0.25, 2.0, 1.0]),
            None,
            r"y must hold two values, got 4: 0.25 \(1 row\), 0.5 \(1 row\)",
        ),
        ([1, 1, 1, 1], None, "y must hold both labels, but all 4 rows have label 1"),
        (["no"] * 4, "yes", "y must hold both labels, but all 4 rows have label 'no'"),
        ([0, 1, None, math.nan], None, "y must not be missing, but 2 of 4 are; drop these rows"),
        (pl.Series([0, 1, None, 1]), None, "y must not be missing, but 1 of 4 are"),
        (np.zeros((4, 2)), None, r"y must be one column, got ndarray of shape \(4, 2\)\.$"),
    ],
)
def test_bad_labels(y: Any, pos_label: Any, message: str) -> None:
    refuses(message, read, y=y, pos_label=pos_label)


# ---------------------------------------------------------------- groups, sizes and weights that are refused


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (
            {"a": ["x & y", "x"] * 2, "b": ["z", "y & z"] * 2},
            r"the groups \('x & y', 'z'\) and \('x', 'y & z'\) would both be called",
        ),
        (
            pl.DataFrame({"sex": ["a", None, "b", "b"]}),
            r"sensitive_features\['sex'\] must not be missing, but 1 of 4 are",
        ),
        ({}, "sensitive_features must hold at least one column, got none"),
        (np.zeros((4, 1, 1)), r"sensitive_features must be one column, got ndarray of shape \(4, 1, 1\)"),
        (
            pd.DataFrame([["a", "b"]] * 4, columns=["g", "g"]),
            "must have unique column names, but the same column is named twice",
        ),
        (["a"] * 4, "one group only: 'a' holds all 4 rows, there is nothing to compare; pass"),
        (
            ["a", None, "b", math.nan],
            "^sensitive_features must not be missing, but 2 of 4 are; drop or fill these rows, or pass missing='group' "
            r"\(on the command line: --missing group\) to make them the group '\(missing\)'\.$",
        ),
    ],
)
def test_bad_groups(group: Any, message: str) -> None:
    refuses(message, read, sensitive_features=group)


def test_bad_sizes_and_options() -> None:
    refuses("missing must be 'error' or 'group', got 'drop'", read, missing="drop")
    known = r"holds missing values and the text '\(missing\)'; rename the latter"
    refuses(known, read, sensitive_features=["(missing)", None, "b", "b"], missing="group")
    message = (
        r"^group 'C' has 14 rows, all with label 0; a ROC curve needs both labels\. "
        r"Merge it with another group, leave it out, or let fits and audits do it: "
        r"small_groups='merge' \(--small-groups merge\) or 'drop'\.$"
    )
    refuses(message, read, np.arange(18), [0, 1, 0, 1] + [0] * 14, [*"AABB", *"C" * 14])
    many = r"group 'a' has 1 row, all with label 0; .*; and 3 more; a ROC .* each "
    refuses(many, read, np.arange(8), [0, 1] * 4, list("abcdefgh"))
    message = (
        r"^all columns must have the same number of rows, got scores 4, y 4, "
        r"sensitive_features\['a'\] 4, sensitive_features\['b'\] 3, sample_weight 1\.$"
    )
    refuses(message, read, sensitive_features={"a": GROUPS, "b": GROUPS[1:]}, sample_weight=[1])
    refuses("the columns must hold at least one row, got none", read, [], [], [])
    refuses(r"got 9: 0 .*, 4 \(1 row\), and 4 more\. Recode", read, np.arange(9), np.arange(9), ["a"] * 9)


WEIGHT = r"sample_weight \(.*--weight\) must "


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [1, -1, -0.5, 1],
            r"sample_weight \(on the command line: --weight\) must be >= 0, but 2 of 4 are negative; a weight of 0 "
            "leaves a row out",
        ),
        ([1, None, 1, 1], f"{WEIGHT}not be missing, but 1 of 4 are"),
        ([1, math.inf, 1, 1], f"{WEIGHT}be finite, but 1 of 4 are infinite"),
        ([1, "two", 1, 1], f"{WEIGHT}be real numbers.*'two' in row 2 .* Pass one number per row"),
        ([True] * 4, f"{WEIGHT}be real numbers"),
        ([9e306] * 4, f"{WEIGHT}have a finite sum; divide the weights by a common number"),
        ([0] * 4, "must hold a weight above zero, but all are zero; leave it out"),
        ([1, 1, 1, 0], "group 'a' has 1 row of positive weight, all with label 1; a ROC curve needs both labels"),
    ],
)
def test_bad_weights(weights: Any, message: str) -> None:
    refuses(message, read, sample_weight=weights)


# ---------------------------------------------------------------- scores to transform


def test_read_scores_uses_the_models_codes() -> None:
    columns = read_scores([0.5, 0.1, 0.2], sensitive_features=["c", "a", "c"], names=("a", "b", "c"))
    assert columns.groups.tolist() == [2, 0, 2] and columns.groups.dtype == np.int8
    assert columns.unknown == 0 and columns.scores.tolist() == [0.5, 0.1, 0.2]
    assert not columns.groups.flags.writeable and not columns.scores.flags.writeable


def test_read_scores_accepts_one_row_of_one_group() -> None:
    assert read_scores([1], sensitive_features=[1.0], names=["0", "1"]).groups.tolist() == [1]


def test_models_that_spelled_numbers_otherwise() -> None:
    """Model files older than the one spelling of a number."""
    for names, group in ((("0.0", "1.0"), ["1", "1.0", 1.0]), (("F & 1.00", "M & 1.00"), None)):
        features = group or {"sex": ["M"] * 3, "n": ["1", "1.00", "1.0"]}
        assert read_scores([1] * 3, sensitive_features=features, names=names).groups.tolist() == [1] * 3


def test_unknown_groups() -> None:
    group = ["z", "a", None, "z"]
    message = (
        r"^the model knows the groups 'a', 'b', but 3 of 4 rows are of '\(missing\)', 'z'\. "
        r"Fit again with these groups, or pass on_unknown_group= \(on the command line: --on-unknown-group\) the name "
    )
    with pytest.raises(UnknownGroupError, match=message):
        read_scores(SCORES, sensitive_features=group, names=["a", "b"], missing="group")
    message = (
        "^sensitive_features must not be missing, but 1 of 4 are; the model has no group for missing values: fill the "
        r"group in, or refit with missing='group' \(on the command line: --missing group\)\.$"
    )
    refuses(message, read_scores, SCORES, sensitive_features=group, names=["a", "b"], on_unknown_group="b")
    columns = read_scores(SCORES, sensitive_features=group, names=["a", "b"], on_unknown_group="b", missing="group")
    assert columns.groups.tolist() == [1, 0, 1, 1] and columns.unknown == 3
    message = (
        "^on_unknown_group must name a group of the model, got 'c'; groups: 'a', 'b' "
        r"\(on the command line: --on-unknown-group\)\.$"
    )
    refuses(message, read_scores, SCORES, sensitive_features=GROUPS, names=["a", "b"], on_unknown_group="c")


@pytest.mark.parametrize(
    "empty",
    [
        [],
        np.array([]),
        np.array([], dtype=int),
        np.array([], dtype="U1"),
        np.empty((0, 1)),
        pd.Series([], dtype=object),
        pd.Series([], dtype="category"),
        pl.Series([]),
        pl.Series([], dtype=pl.String),
        pa.array([]),
        pa.chunked_array([], type=pa.string()),
    ],
)
def test_read_scores_accepts_an_empty_batch(empty: Any) -> None:
    for features in (empty, {"a": empty, "b": empty}):
        columns = read_scores(empty, sensitive_features=features, names=["a", "b"])
        assert columns.scores.shape == columns.groups.shape == (0,) and columns.unknown == 0
        assert columns.scores.dtype == np.float64 and columns.groups.dtype == np.int8
        assert not columns.groups.flags.writeable and not columns.scores.flags.writeable
        refuses("the columns must hold at least one row, got none", read, empty, empty, features)


def test_an_empty_batch_is_still_checked() -> None:
    refuses("got scores 0, sensitive_features 1", read_scores, [], sensitive_features=["a"], names=["a", "b"])
    with pytest.raises(DataError, match="missing must be 'error' or 'group', got 'drop'"):
        read_scores([], sensitive_features=[], names=["a", "b"], missing="drop")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="on_unknown_group must name a group of the model, got 'c'"):
        read_scores([], sensitive_features=[], names=["a", "b"], on_unknown_group="c")
    frame = pd.DataFrame({"a": ["x"], "b": [1]})[:0]
    assert read_scores(frame["b"], sensitive_features=frame, names=["x & 1"]).groups.size == 0


def test_read_scores_checks_scores_and_lengths() -> None:
    refuses("got scores 1, sensitive_features 4", read_scores, [1], sensitive_features=GROUPS, names=["a", "b"])
    with pytest.raises(DataError, match="scores must not be missing, but 1 of 4 are"):
        read_scores([1, 2, 3, None], sensitive_features=GROUPS, names=["a", "b"])


# ---------------------------------------------------------------- frames


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_take_columns(make: Any) -> None:
    frame = make({"p": SCORES, "y": LABELS, "sex": GROUPS, "race": ["x", "x", "x", "x"], "w": [1, 1, 1, 1]})
    taken = take_columns(frame, ColumnNames.of(score="p", group="sex", label="y", weight="w"))
    columns = read(taken.score, taken.label, taken.group, sample_weight=taken.weight)
    assert texts(columns) == GROUPS and taken.id is None
    taken = take_columns(frame, ColumnNames.of(score="p", group=["sex", "race"], id="w"))
    assert texts(read(taken.score, LABELS, taken.group)) == [f"{text} & x" for text in GROUPS]
    assert taken.label is None and len(taken.id) == 4
    message = r"^no column 'sexe'; columns: 'p', 'y', 'sex', 'race', 'w'\. Did you mean 'sex'\?$"
    refuses(message, take_columns, frame, ColumnNames.of(score="p", group="sexe"))


def test_take_columns_refuses() -> None:
    with pytest.raises(DataError, match=r"the frame must be an eager table .* got LazyFrame; convert or collect it"):
        take_columns(pl.LazyFrame({"p": SCORES}), ColumnNames.of(score="p", group="p"))
    refuses(r"the frame must be an eager table .* got list", take_columns, SCORES, ColumnNames.of(score="p", group="p"))
    with pytest.raises(DataError, match=r"^the same group column is named twice: 'q'; name it once\.$"):
        take_columns(pl.DataFrame({"p": SCORES, "q": GROUPS}), ColumnNames.of(score="p", group=["q", "p", "q"]))
    with pytest.raises(DataError, match="every column name must be unique; rename"):
        take_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]), ColumnNames.of(score="a", group="a"))
    wide = pd.DataFrame(np.zeros((1, 30)), columns=[f"c{i}" for i in range(30)])
    with pytest.raises(DataError, match=r"no column 'p'; columns: 'c0', .* 'c19' and 10 more\.$"):
        take_columns(wide, ColumnNames.of(score="p", group="c0"))


# ---------------------------------------------------------------- small groups


def sized(**rows: tuple[int, int]) -> People:
    labels = [label for counts in rows.values() for label in (0, 1) for _ in range(counts[label])]
    groups = [name for name, counts in rows.items() for _ in range(sum(counts))]
    return read_people(np.arange(len(labels)), labels, sensitive_features=groups)


def test_small_groups_get_one_warning() -> None:
    found = sized(A=(50, 50), B=(50, 49), C=(1, 12)).small_groups()
    assert [type(warning) for warning in found] == [SmallGroupWarning]
    assert [str(warning) for warning in found] == [
        "group 'B' has 49 rows with label 1: its true positive rate is known to within ±0.19 only (95 %); "
        "group 'C' has 1 row with label 0: its false positive rate is known to within ±1.00 only (95 %); and 1 more. "
        "Take more rows, or have small groups merged or left out (--small-groups merge or drop, --min-class-rows 50)."
    ]
    last = "group 'C' has 12 rows with label 1: its true positive rate is known to within ±0.39 only (95 %)."
    assert found[0].detail.startswith("All of them: group 'B' has 49 rows") and found[0].detail.endswith(last)


def test_warning_names_two_and_large_groups_get_none() -> None:
    (warning,) = sized(A=(1, 1), B=(1, 1), C=(1, 1)).small_groups()
    assert str(warning).endswith(
        "(95 %); and 4 more. Take more rows, or have small groups merged or left out "
        "(--small-groups merge or drop, --min-class-rows 50)."
    )
    assert sized(A=(50, 50), B=(60, 70)).small_groups() == []
    assert sized(A=(5, 5), B=(6, 7)).small_groups(5) == []


def test_tiny_groups_are_refused() -> None:
    columns = sized(A=(9, 9), B=(9, 2), C=(1, 3))
    refuse_tiny_groups(columns, 1)
    message = (
        r"^group 'B' has 2 rows with label 1; group 'C' has 1 row with label 0; "
        r"group 'C' has 3 rows with label 1; "
        r"at least 5 of each label are needed\. .*, pass min_class_rows=1 to go on regardless, "
        r"or let fits and audits do it: small_groups='merge' \(--small-groups merge\) or 'drop'\.$"
    )
    refuses(message, refuse_tiny_groups, columns, 5)
