"""Small groups: which they are, and what becomes of them at the door. They are merged, left out, or refused later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray
from fairroc.errors import DataError, number_of_rows, several
from fairroc.options import Options, SmallTreatment

MERGED = "other (merged)"
"""The group that small groups are merged into."""


@dataclass(frozen=True, slots=True)
class Regrouped:
    """What a model remembers of the small groups of its fit: their names, and no number of people.

    People of ``groups`` are treated as those of ``merged_into``; without it they were left out.
    """

    treatment: str
    min_class_rows: int
    groups: tuple[str, ...]
    merged_into: str | None = None

    @property
    def left_out(self) -> tuple[str, ...]:
        """Groups that the model knows nothing about."""
        return self.groups if self.merged_into is None else ()

    def aliases(self, codes: Mapping[str, int]) -> dict[str, int]:
        """Codes of merged groups by name, given those of the fitted groups."""
        return {} if self.merged_into is None else dict.fromkeys(self.groups, codes[self.merged_into])


@dataclass(frozen=True, slots=True)
class SmallGroup:
    """A group before it was merged or left out: its rows, and those with a positive label."""

    group: str
    rows: int
    positives: int


@dataclass(frozen=True, slots=True)
class SmallGroups:
    """Groups with fewer than ``min_class_rows`` rows of a class, and what became of them.

    ``treatment`` is "merge": their people are in the group ``merged_into``, or "drop": they were left out.
    """

    treatment: str
    min_class_rows: int
    groups: tuple[SmallGroup, ...]
    merged_into: str | None = None

    @property
    def known(self) -> Regrouped:
        """What a model remembers of them."""
        names = tuple(group.group for group in self.groups)
        return Regrouped(self.treatment, self.min_class_rows, names, self.merged_into)

    def renamed(self, names: Sequence[str]) -> dict[str, str | None]:
        """What each group is called from now on; None: it is left out."""
        small = {group.group for group in self.groups}
        return {name: self.merged_into if name in small else name for name in names}

    def words(self) -> str:
        """Who they are and what became of them, in one sentence."""
        rows = number_of_rows(sum(group.rows for group in self.groups))
        who = "1 small group" if len(self.groups) == 1 else f"{len(self.groups)} small groups"
        done = "left out" if self.merged_into is None else f"merged into {self.merged_into!r}"
        return f"{who}, {rows}, {done}: {self.listed()}."

    def listed(self) -> str:
        """The first few with their numbers of people."""
        return several([f"{g.group!r} ({number_of_rows(g.rows)}, {g.positives} positive)" for g in self.groups], ", ")


@dataclass(frozen=True, slots=True)
class SmallRule:
    """What to do with groups of fewer than ``minimum`` rows of a class. "error" leaves them as they are: who cannot
    use them refuses them. Of people to be treated by a model, only those groups are merged that its fit merged."""

    treatment: SmallTreatment = "error"
    minimum: int = 1
    fitted: Regrouped | None = None

    @classmethod
    def of(cls, options: Options) -> SmallRule:
        """What a fit was asked to do."""
        return cls(options.small_groups, options.min_class_rows)

    def found(
        self, names: Sequence[str], class_rows: NDArray[Any], rows: NDArray[Any], positives: NDArray[Any]
    ) -> SmallGroups | None:
        """The groups to treat, given each group's rows by label; None if there are none."""
        known = self.fitted
        if known is not None:
            treatment, minimum, into = known.treatment, known.min_class_rows, known.merged_into
            small = set() if into is None else set(known.groups)
            chosen = [name in small for name in names]
        else:
            treatment, minimum, into = self.treatment, self.minimum, MERGED if self.treatment == "merge" else None
            chosen = too_small(class_rows, minimum).tolist() if treatment != "error" else []
        counts = zip(names, rows.tolist(), positives.tolist(), strict=True)
        groups = tuple(SmallGroup(*count) for count, small in zip(counts, chosen, strict=False) if small)
        if not groups:
            return None
        found = SmallGroups(treatment, minimum, groups, into)
        if known is None:
            _check(found, names)
        return found


REFUSE = SmallRule()
"""Nothing is merged or left out."""


def too_small(class_rows: NDArray[Any], minimum: int) -> BoolArray:
    """(groups,) whether a class has fewer than ``minimum`` rows of positive weight, or none: what a fit or an audit
    refuses."""
    return np.asarray(np.asarray(class_rows).min(axis=1) < max(1, minimum))


def plain_data(result: Any) -> dict[str, Any]:
    """A result as plain data; ``small_groups`` is there if some were merged or left out."""
    return {name: value for name, value in asdict(result).items() if name != "small_groups" or value is not None}


def _check(found: SmallGroups, names: Sequence[str]) -> None:
    if found.merged_into in names:
        raise DataError(
            f"small_groups='merge' makes a group called {found.merged_into!r}, but there is a group of that name "
            "already; rename it, or take small_groups='drop' (--small-groups drop)."
        )
    if found.merged_into is None and len(found.groups) == len(names):
        raise DataError(
            f"small_groups='drop' would leave nobody: every group has fewer than {found.min_class_rows} rows of a "
            f"class: {found.listed()}. Take small_groups='merge' (--small-groups merge), or larger groups."
        )
