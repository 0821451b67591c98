"""The errors and warnings that fairroc raises.

Every message says what must hold, what it got, and what to do. All errors are ``ValueError``s, so code that
guards against bad values keeps working.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = [
    "DataError",
    "DatasetError",
    "FairrocError",
    "FairrocWarning",
    "ModelFileError",
    "SmallGroupWarning",
    "UnknownGroupError",
]


class FairrocError(ValueError):
    """Base of all errors that fairroc raises on purpose.

    Examples
    --------
    >>> from fairroc import FairROC, FairrocError
    >>> try:
    ...     FairROC(epsilon=5).fit([1, 2], [0, 1], sensitive_features=["a", "b"])
    ... except FairrocError as error:
    ...     print(type(error).__name__, error)
    DataError epsilon must be between 0 and 2, got 5. Try 0.05; 0 asks for equal ROC curves.
    """


class DataError(FairrocError):
    """The values, columns or parameters that were passed cannot be used as they are."""


class UnknownGroupError(DataError):
    """A row belongs to a group that was not seen when the model was fitted."""


class ModelFileError(FairrocError):
    """A model file is damaged, edited by hand into nonsense, or of an unknown version."""


class DatasetError(FairrocError):
    """A data set could be found neither on disk, nor in an installed package, nor at its home."""


class FairrocWarning(UserWarning):
    """Base of all warnings that fairroc gives: one line says what, and what to do; ``detail`` says more, or nothing."""

    def __init__(self, message: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class SmallGroupWarning(FairrocWarning):
    """A group has too few rows of a class for its ROC curve to say much."""


SHOWN = 5
"""As many offenders are named in a message."""


def several(notes: Sequence[str], separator: str = "; ", shown: int = SHOWN) -> str:
    """The first few notes and how many more there are."""
    more = [f"and {len(notes) - shown} more"] if len(notes) > shown else []
    return separator.join([*notes[:shown], *more])


def number_of_rows(number: int) -> str:
    """1 row, 2 rows."""
    return f"{number} row" if number == 1 else f"{number} rows"


def warn_user(message: str, category: type[FairrocWarning] = FairrocWarning, detail: str = "") -> None:
    """Warn at the line of the caller's own code that led here, however deep in the package the reason was found."""
    home, level, frame = f"{Path(__file__).parent}{os.sep}", 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(home):
        level, frame = level + 1, frame.f_back
    warnings.warn(category(message, detail), stacklevel=level)


def warn_all(notes: Iterable[FairrocWarning]) -> None:
    """Give warnings that were kept, each in its turn."""
    for note in notes:
        warn_user(str(note), type(note), note.detail)
