"""Splits of rows that keep every group's share of each label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold

from fairroc.errors import DataError
from fairroc.options import Missing, check_missing
from fairroc.people.door import sensitive_rows
from fairroc.people.factorise import as_column, as_text, group_codes, present_values, sensitive_columns

SHOWN = 5
"""As many cells that are too small are named in a message."""

Rows = NDArray[np.intp]


class SensitiveStratifiedKFold(BaseCrossValidator):  # type: ignore[misc]
    """K folds, each with the same share of every (group, label) cell, up to one row.

    A fold without positives of a small group says nothing about that group: folds that are stratified by the label
    alone leave that to luck.

    Parameters
    ----------
    n_splits : int, at least 2
    shuffle : bool
        Shuffle within the cells first.
    random_state : int, RandomState or None
        Seed of the shuffle.
    missing : "error" or "group"
        "group" makes missing group values a group of their own.
    sensitive_features : str, int, list of them, or None
        Columns of X (names, or positions in a matrix) to take where `split` is not given any sensitive features.

    Examples
    --------
    >>> import numpy as np
    >>> sex, y = np.repeat(["f", "m"], [4, 8]), np.tile([0, 1], 6)
    >>> for _, test in SensitiveStratifiedKFold(2).split(np.zeros((12, 1)), y, sensitive_features=sex):
    ...     print("".join(sex[test]), y[test])
    ffmmmm [0 1 0 1 0 1]
    ffmmmm [0 1 0 1 0 1]
    """

    __metadata_request__split: ClassVar[dict[str, Any]] = {"sensitive_features": True}

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        missing: Missing = "error",
        sensitive_features: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.missing = missing
        self.sensitive_features = sensitive_features

    def split(
        self, X: Any, y: Any, groups: Any = None, *, sensitive_features: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Indices of the training and of the test rows of each fold; ``groups`` is ignored."""
        codes, names = _strata(y, sensitive_rows(X, sensitive_features, self.sensitive_features), self.missing)
        folds = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        rows = np.bincount(codes, minlength=len(names))
        few = [f"{name} has {count}" for name, count in zip(names, rows.tolist(), strict=True) if count < self.n_splits]
        if few:
            more = f", and {len(few) - SHOWN} more" if len(few) > SHOWN else ""
            raise DataError(
                f"every group needs at least {self.n_splits} rows of each label for {self.n_splits} folds, but "
                f"{', '.join(few[:SHOWN])}{more}. Take fewer folds, merge small groups with others or leave them out."
            )
        yield from folds.split(np.zeros(len(codes)), codes)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, *, sensitive_features: Any = None) -> int:
        """Number of folds; the arguments are ignored."""
        return self.n_splits


def strata(y: Any, *, sensitive_features: Any, missing: Missing = "error") -> Rows:
    """Number of each row's (group, label) cell, for ``stratify=`` of scikit-learn's ``train_test_split``.

    >>> strata([0, 1, 1, 0], sensitive_features=["f", "f", "m", "m"])
    array([0, 1, 3, 2])
    """
    return _strata(y, sensitive_features, missing)[0]


def _strata(y: Any, sensitive_features: Any, missing: Missing) -> tuple[Rows, list[str]]:
    """Cell of every row, and the cells in words; a cell without rows counts too."""
    check_missing(missing)
    labels, values, lost = present_values(as_column(y, "y"), "y")
    if lost:
        raise DataError(f"y must not be missing, but {lost} of {len(labels)} are; drop these rows.")
    groups, names = group_codes(sensitive_columns(sensitive_features), missing)
    if len(groups) != len(labels):
        raise DataError(
            f"sensitive_features must have one row for each row of y, got {len(groups)} and {len(labels)} rows."
        )
    texts = [as_text(value) for value in values]
    rank = np.argsort(np.argsort(texts, kind="stable"), kind="stable")
    cells = [f"group {name!r} with label {text!r}" for name in names for text in sorted(texts)]
    return groups.astype(np.intp) * len(texts) + rank[labels], cells
