"""What a study is about: people with features, a label and a group; honest splits of them; their columns as arrays.

What is left without the protected columns can still tell the group: on Adult ``relationship`` (Husband, Wife) all but
names the sex. ``protected`` says which columns state it, not that the rest is silent about it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError, DatasetError
from fairroc_studies.harness.store import key

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.signedinteger[Any]]

IMAGE = "image"
"""The column that names a person's picture; tables of inputs leave it out."""
TINY = 10
"""People of every group with each label that a sample keeps: two in a part of 20 %."""
FEWEST = 5
"""People of every group with each label without which a part would lack somebody."""
PARTS = (0.6, 0.8)
"""Where the shuffled people of a group and label are cut in three."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """People with features, a label and a group."""

    name: str  # "adult"
    title: str  # "Adult, income above 50K by sex"
    features: pa.Table  # (n rows) numbers and words, nulls allowed, protected columns included, the label not
    protected: tuple[str, ...]  # columns of features that tell the group
    labels: NDArray[np.bool_]  # (n,)
    groups: NDArray[np.str_]  # (n,)
    privileged: str  # the group below the line of the disparate impact
    digest: str  # SHA-256 of all of the above
    images: Path | None = None  # folder of the pictures that the column "image" of features names
    partition: NDArray[np.str_] | None = None  # (n,) "train", "valid" or "test" where the authors' own split is known

    @property
    def rows(self) -> int:
        return len(self.labels)

    @property
    def unprivileged(self) -> tuple[str, ...]:
        """All other groups."""
        return tuple(str(name) for name in np.unique(self.groups) if name != self.privileged)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Row numbers of three parts that share nobody."""

    seed: int
    train: IntArray
    calibration: IntArray
    test: IntArray


def split(problem: Problem, seed: int) -> Split:
    """60 % of the people to train on, 20 % to calibrate on and 20 % to test on.

    Of every group's people with each label the parts get their shares, within one person; who goes where depends on
    the seed alone. Seed 0 of a problem with its authors' own partition is that partition.
    """
    if seed == 0 and problem.partition is not None:
        own = [np.flatnonzero(problem.partition == part) for part in ("train", "valid", "test")]
        return Split(seed, *own)
    cells = _cells(problem)
    few = [cell for cell in cells if len(cell) < FEWEST]
    if few:
        group, label = problem.groups[few[0][0]], int(problem.labels[few[0][0]])
        raise DataError(
            f"three parts need {FEWEST} people or more of every group with each label, but group {str(group)!r} has "
            f"{len(few[0])} with label {label}. Take more rows, or merge the group with another."
        )
    random = np.random.default_rng(seed)
    parts: tuple[list[IntArray], ...] = ([], [], [])
    for cell in cells:
        cuts = [round(share * len(cell)) for share in PARTS]
        for part, some in zip(parts, np.split(random.permutation(cell), cuts), strict=True):
            part.append(some)
    return Split(seed, *(np.sort(np.concatenate(part)) for part in parts))


def sample(problem: Problem, rows: int) -> Problem:
    """About so many people: an equal share of every group, label and part, and ``TINY`` people at least."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise DataError(f"rows must be a whole number above 0, or None for everybody; got {rows!r}.")
    cells = _cells(problem)
    if problem.partition is not None:
        part = problem.partition
        cells = [cell[part[cell] == name] for cell in cells for name in np.unique(part)]
    random, share = np.random.default_rng(0), min(rows / problem.rows, 1.0)
    kept = np.sort(np.concatenate([random.permutation(cell)[: max(round(share * len(cell)), TINY)] for cell in cells]))
    return replace(
        problem,
        features=problem.features.take(kept),
        labels=problem.labels[kept],
        groups=problem.groups[kept],
        partition=None if problem.partition is None else problem.partition[kept],
    )


def _cells(problem: Problem) -> list[IntArray]:
    """Rows of every group and label, groups by name, label 0 first."""
    return [
        np.flatnonzero((problem.groups == group) & (problem.labels == label))
        for group in np.unique(problem.groups)
        for label in (False, True)
    ]


def inputs(problem: Problem, *, protected: bool) -> pa.Table:
    """What a model of tables may learn from: all features but pictures, with the protected columns or without them."""
    left_out = {IMAGE, *(() if protected else problem.protected)}
    return problem.features.select([name for name in problem.features.column_names if name not in left_out])


def codes(column: pa.ChunkedArray[Any]) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct words of a column in order of appearance, and each row's place among them; -1 is null."""
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(column.combine_chunks())
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), places.astype(np.int32)


def numbers(column: pa.ChunkedArray[Any]) -> FloatArray:
    """A column of numbers or truth values; null is nan."""
    import pyarrow as pa

    values: FloatArray = column.cast(pa.float64()).to_numpy()
    return values


def is_words(column: pa.ChunkedArray[Any]) -> bool:
    """Whether a column of features holds words, not numbers."""
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def digest(problem: Problem) -> str:
    """SHA-256 of the values of a problem: the same for equal values, however they are stored.

    Pictures count by their names and sizes.
    """
    table = problem.features
    columns = [codes(table[name]) if is_words(table[name]) else numbers(table[name]) for name in table.column_names]
    people = [problem.labels.astype(np.uint8), *_coded(problem.groups)]
    own = None if problem.partition is None else _coded(problem.partition)
    pictures = None if problem.images is None else _sizes(problem.images, table[IMAGE].to_pylist())
    about = (problem.name, problem.title, problem.protected, problem.privileged)
    return key("problem", about, table.column_names, columns, people, own, pictures)


def _coded(words: NDArray[np.str_]) -> tuple[list[str], NDArray[np.int32]]:
    names, places = np.unique(words, return_inverse=True)
    return names.tolist(), places.astype(np.int32)


def _sizes(folder: Path, pictures: Sequence[str]) -> NDArray[np.int64]:
    """Bytes of each picture; all of them must be there."""
    with os.scandir(folder) as entries:
        found = {entry.name: entry.stat().st_size for entry in entries}
    missing = [name for name in pictures if name not in found]
    if missing:
        raise DatasetError(
            f"{folder} must hold every picture of the attribute file; {len(missing)} of {len(pictures)} are missing, "
            f"the first is {missing[0]}. Unpack the archive again, or move the folder away to do without pictures."
        )
    return np.array([found[name] for name in pictures], dtype=np.int64)
