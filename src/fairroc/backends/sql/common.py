"""What all dialects share: the messages that the SQL raises, the constants of XXH64, and how names are quoted."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from fairroc.model.xxh64 import MASK, PRIMES

__all__ = ["MASK", "P1", "P2", "P3", "P4", "P5", "double_quoted", "numbers", "single_quoted"]

P1, P2, P3, P4, P5 = PRIMES

SCORE_TYPE = "fairroc: scores must be numbers; cast the column to double"
SCORE = "fairroc: scores must be finite numbers within 1e307, not missing; drop or fill these rows"
GROUP = 'fairroc: a group is missing; fill it in, or refit with missing="group"'
UNKNOWN = "fairroc: the model does not know the group: "
ID = "fairroc: an id is missing; every row needs one"
INTEGER = "fairroc: ids must be integers of 64 bits; cast the column, or write the SQL for text ids"
TEXT = "fairroc: ids must be text; cast the column, or write the SQL for integer ids"
LOST = "fairroc: a row was found in no table; please report it"


def double_quoted(name: str) -> str:
    """An identifier, as standard SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def single_quoted(text: str) -> str:
    """A text, as standard SQL quotes it."""
    return "'" + text.replace("'", "''") + "'"


def numbers(values: NDArray[Any]) -> str:
    """Numbers with commas; doubles with all the digits that bring them back bit for bit."""
    return ",".join(map(repr, values.tolist()))
