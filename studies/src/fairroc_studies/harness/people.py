"""Scores, labels and groups of some people as arrays, and files of them. Only numpy is needed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

FIELDS = ("scores", "labels", "groups")


@dataclass(frozen=True, eq=False)
class Part:
    """Scores, labels (0 or 1) and groups (0, 1, ...) of some people; ``names`` of the groups where they have any."""

    scores: Array
    labels: Array
    groups: Array
    names: tuple[str, ...] = ()

    @classmethod
    def named(cls, scores: Any, labels: Any, groups: Any) -> Part:
        """Groups numbered in the order of their names."""
        names, codes = np.unique(np.asarray(groups), return_inverse=True)
        yes = np.asarray(labels).astype(bool)
        return cls(np.asarray(scores, dtype=np.float64), yes, codes, tuple(map(str, names.tolist())))

    @property
    def rows(self) -> int:
        return len(self.scores)

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.names) or int(self.groups.max()) + 1

    @property
    def group_names(self) -> Array:
        """(n,) the name of each row's group."""
        return np.array(self.names)[self.groups]

    @property
    def cells(self) -> Array:
        """(n,) 2 * group + label."""
        return 2 * self.groups.astype(np.int64) + self.labels

    @property
    def totals(self) -> Array:
        """(2 * groups,) number of people in each cell."""
        return np.bincount(self.cells, minlength=2 * self.count)

    def summed(self, chances: Array) -> Array:
        """(2 * groups,) expected number of people accepted in each cell."""
        return np.bincount(self.cells, chances, 2 * self.count)

    def take(self, rows: Array | slice) -> Part:
        return Part(self.scores[rows], self.labels[rows], self.groups[rows], self.names)

    def then(self, other: Part) -> Part:
        """These people, then the others."""
        joined = {name: np.concatenate((getattr(self, name), getattr(other, name))) for name in FIELDS}
        return Part(**joined, names=self.names)


@dataclass(frozen=True)
class Case:
    """What a method sees: people to fit on and people to apply it to."""

    calibration: Part
    test: Part

    def arrays(self) -> dict[str, Array]:
        """For a file; a test part that is the calibration part is there once."""
        parts = {"calibration": self.calibration}
        if self.test is not self.calibration:
            parts["test"] = self.test
        return {f"{name}_{field}": getattr(part, field) for name, part in parts.items() for field in FIELDS}

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Case:
        """The case of these arrays."""

        def part(name: str) -> Part:
            return Part(**{field: arrays[f"{name}_{field}"] for field in FIELDS}, names=())

        calibration = part("calibration")
        return cls(calibration, part("test") if "test_scores" in arrays else calibration)


def save(path: Path, case: Case) -> None:
    """Write a case to a file that nobody reads yet."""
    np.savez(path, allow_pickle=False, **case.arrays())


def load(path: Path | str) -> Case:
    """Read a case."""
    with np.load(path, allow_pickle=False) as file:
        return Case.of({name: file[name] for name in file.files})
