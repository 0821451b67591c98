"""A model and the columns that it is applied to, checked once and small enough to be sent to other machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError
from fairroc.model.model import ModelData
from fairroc.tables.files import require_columns


@dataclass(frozen=True, slots=True)
class Use:
    """What to do with every row: a model, the names of the columns it needs and of the one it makes."""

    model: ModelData
    score: str
    group: str | tuple[str, ...]
    id: str
    column: str
    key: bytes | str | None = field(default=None, repr=False)  # engines show what they are about to call
    on_unknown_group: str | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """The group columns."""
        return (self.group,) if isinstance(self.group, str) else self.group

    @property
    def inputs(self) -> list[str]:
        """The columns that are looked at, each once."""
        return list(dict.fromkeys((self.score, self.id, *self.groups)))

    def check(self, present: Sequence[str]) -> None:
        """Raise unless the columns, the key and the unknown group can be used: before any row is looked at."""
        require_columns(self.inputs, present)
        if self.column in present:
            raise DataError(f"the frame already has a column {self.column!r}; name another with column=.")
        self.fair([], [], [])

    def fair(self, scores: Any, groups: Any, ids: Any) -> FloatArray:
        """Fair scores of rows."""
        return self.model.drawn(self.model.read(scores, groups, self.on_unknown_group), ids, None, self.key)
