"""Which columns of a table hold what: the one noun of the command line, files, frames and engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairroc.errors import DataError
from fairroc.tables.files import require_columns

__all__ = ["ColumnNames", "require_distinct"]


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of columns; several of groups mean their intersection."""

    score: str
    groups: tuple[str, ...]
    label: str | None = None
    weight: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        if not self.groups:
            raise DataError("group must name at least one column, got none.")
        require_distinct(self.groups)

    @classmethod
    def of(
        cls,
        *,
        score: str,
        group: str | Sequence[str],
        label: str | None = None,
        weight: str | None = None,
        id: str | None = None,
    ) -> ColumnNames:
        """From what a user passed."""
        return cls(score, (group,) if isinstance(group, str) else tuple(group), label, weight, id)

    @property
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        return [self.score, *([] if self.weight is None else [self.weight])]

    @property
    def all(self) -> list[str]:
        """Every column, once."""
        named = (self.score, self.label, self.weight, self.id, *self.groups)
        return list(dict.fromkeys(name for name in named if name is not None))

    def require(self, present: Sequence[str]) -> None:
        """Raise unless every column is among the present ones."""
        require_columns(self.all, present)


def require_distinct(groups: Sequence[str]) -> None:
    """Raise if a group column is named twice."""
    for name in groups:
        if groups.count(name) > 1:
            raise DataError(f"the same group column is named twice: {name!r}; name it once.")
