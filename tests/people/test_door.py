"""Sensitive features: given, or named as columns of X."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from fairroc.errors import DataError
from fairroc.people.door import sensitive_rows
from refusals import refuses

TABLE = {"age": [30, 40, 50], "sex": ["f", "m", "f"], "race": ["x", "x", "y"]}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def as_lists(frame) -> dict[str, list]:
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    return frame.to_dict("list") if isinstance(frame, pd.DataFrame) else frame.to_pydict()


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_of_a_frame(make) -> None:
    frame = make(TABLE)
    assert as_lists(sensitive_rows(frame, "sex")) == {"sex": TABLE["sex"]}
    assert as_lists(sensitive_rows(frame, "sex", "race")) == {"sex": TABLE["sex"]}
    assert as_lists(sensitive_rows(frame, None, "race")) == {"race": TABLE["race"]}
    assert as_lists(sensitive_rows(frame, None, ["race", 1])) == {"race": TABLE["race"], "sex": TABLE["sex"]}
    refuses(r"no column 'sexe'; columns: 'age', 'sex', 'race'. Did you mean 'sex'", sensitive_rows, frame, "sexe")


def test_names_of_columns_are_not_taken_for_values() -> None:
    """A list is one value for each row; only where its length does not fit it is told apart from names."""
    frame = pd.DataFrame(TABLE)
    with pytest.raises(DataError, match=r"each of the 3 rows, but \['sex', 'race'\] are columns of X. Pass these"):
        sensitive_rows(frame, ["sex", "race"])
    values = ["sex", "race", "sex"]
    assert sensitive_rows(frame, values) is values
    short = ["f", "m"]  # the wrong number of rows is found where they are read
    assert sensitive_rows(frame, short) is short


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_columns_of_a_matrix(make) -> None:
    matrix = make(np.arange(12.0).reshape(4, 3))
    assert sensitive_rows(matrix, None, 1).tolist() == [[1], [4], [7], [10]]
    assert sensitive_rows(matrix, None, [0, -1]).tolist() == [[0, 2], [3, 5], [6, 8], [9, 11]]
    refuses("no column 3 in 3; counting starts at 0", sensitive_rows, matrix, None, 3)
    refuses(r"names the column 'sex', but X is a .* and has no column names", sensitive_rows, matrix, "sex")


def test_columns_of_a_list_of_rows() -> None:
    assert sensitive_rows([[1.5, "f"], [2.5, "m"]], None, 1).tolist() == [["f"], ["m"]]
    refuses("no column 0 in 0", sensitive_rows, [1.5, 2.5], None, 0)


def test_what_is_given_is_taken() -> None:
    for given in (["f", "m"], np.array([1, 2]), pd.Series(["f", "m"]), {"a": ["f", "m"]}):
        assert sensitive_rows(None, given, "sex") is given


def test_nothing_given() -> None:
    with pytest.raises(DataError, match=r"must be given.*enable_metadata_routing.*scorers of fairroc.estimators"):
        sensitive_rows(np.zeros((3, 2)), None)
