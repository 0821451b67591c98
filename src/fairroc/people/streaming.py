"""Tables larger than memory: counted for a fit or an audit, and transformed, a batch of rows at a time.

Counting keeps what :class:`fairroc.people.tally.Tally` keeps: distinct scores, or bins where there are too many. Labels
and groups are told apart by value until all files are read, so it does not matter in which of them a value occurs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray
from fairroc.docstrings import documented
from fairroc.errors import DataError
from fairroc.options import MAX_DISTINCT, Missing, check_missing, check_most
from fairroc.people.counts import Group, ScoreCounts, of_groups, one_group
from fairroc.people.factorise import as_column, as_text, count_codes, cross_names, group_codes, present_values, recode
from fairroc.people.rows import checked_scores, checked_weights, one_label, positive_labels
from fairroc.people.tally import CellCounts, Tally
from fairroc.tables.columns import ColumnNames, as_numpy, codes_of, is_coded, typed_values
from fairroc.tables.files import Part, find_parts
from fairroc.tables.read import Batch, read_batches

Progress: TypeAlias = Callable[[int, int], None]

MOST_CELLS = 20_000
"""Pairs of a group and a label that can occur at most; more are a sign of a wrong column."""

MOST_LABELS = 1000
"""Labels that may be told apart before all rows are read: different texts may turn out to be the same number."""


@documented()
def count_files(
    data: str | os.PathLike[str],
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    missing: Missing = "error",
    max_distinct: int = 1 << 22,
    progress: Progress | None = None,
) -> ScoreCounts:
    """Count the rows of files that may be larger than memory, for `fit_counts` or `audit_counts`.

    Parameters
    ----------
    data : a CSV, Parquet or Arrow file, a folder of such files, or a pattern such as ``"parts/*.parquet"``.
    max_distinct : up to so many distinct (group, label, score) the counts are exact; else they are in bins, in a
        table of that size, and their ``error`` says what that can cost.
    progress : called with the megabytes read and those there are.

    Returns: ScoreCounts: what was counted; printed, it is a table.
    Raises: DataError
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = Path(folder, "people.csv").write_text("p,y,sex\\n0.9,1,f\\n0.2,0,f\\n0.7,1,m\\n0.4,0,m\\n")
    ...     counts = count_files(folder, score="p", label="y", group="sex")
    >>> counts.names, counts.rows
    (('f', 'm'), 4)
    """
    names = ColumnNames.of(score=score, group=group, label=label, weight=weight)
    return count_table(
        find_parts(data), names, pos_label=pos_label, missing=missing, most=max_distinct, progress=progress
    )


def count_table(
    parts: Sequence[Part],
    names: ColumnNames,
    *,
    pos_label: Any = None,
    missing: Missing = "error",
    most: int = MAX_DISTINCT.default,
    whole: bool = True,
    progress: Progress | None = None,
) -> ScoreCounts:
    """Counts of all rows of a table, read a batch at a time; ``progress(done, all)`` is told the megabytes read.

    With up to ``most`` distinct (group, label, score) the counts are exact; else they are in bins, in a table of that
    size. Rows that are not the ``whole`` of a table may lack a label; where no column holds labels, all count as
    negatives.
    """
    check_missing(missing)
    counting = _Counting(names, missing, Tally(check_most(most), weighted=names.weight is not None))
    total = sum(part.size for part in parts)
    rows, texts = 0, [name for name in names.all if name not in names.numbers]
    for batch in read_batches(parts, names.all, numbers=names.numbers, categories=texts):
        counting.add(batch)
        rows += batch.rows.num_rows
        if progress is not None:
            progress(batch.done >> 20, max(1, total >> 20))
    if not rows:
        raise DataError(f"'{parts[0].path}' must hold at least one row of data, got none.")
    return counting.counts(pos_label, whole)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What some rows say: codes (n,) into pairs of a group (a tuple of texts) and a label (its place among the values,
    some of which may not occur), scores and weights."""

    codes: NDArray[Any]
    groups: list[tuple[str, ...]]
    labels: list[int]
    values: list[Any]
    scores: FloatArray
    weights: FloatArray | None


@dataclass(slots=True)
class _Counting:
    """The tally of a table, and what its cells stand for."""

    names: ColumnNames
    missing: Missing
    tally: Tally
    cells: dict[tuple[tuple[str, ...], int], int] = field(default_factory=dict)  # (group, number of the label)
    labels: dict[tuple[bool, Any], int] = field(default_factory=dict)  # (is text of a CSV file, value)
    places: dict[str, Part] = field(default_factory=dict)  # kind of label -> the first file that has it

    def add(self, batch: Batch) -> None:
        """Count the rows of a batch."""
        try:
            found = self._read(batch.rows)
        except DataError as error:
            raise batch.located(error, self._read) from None
        occurring = set(found.labels)
        numbers = [
            self._label(label, batch.part) if number in occurring else -1 for number, label in enumerate(found.values)
        ]
        cells = [self._cell(group, numbers[label]) for group, label in zip(found.groups, found.labels, strict=True)]
        codes = found.codes
        if cells != list(range(len(cells))):
            codes = np.array(cells, dtype=np.int8 if len(self.cells) < 1 << 7 else np.int32)[codes]
        self.tally.add(found.scores, codes, found.weights)

    def _label(self, value: Any, part: Part) -> int:
        """Number of a label; what text of a CSV file stands for is known when all is read."""
        label = part.is_text and isinstance(value, str), value
        if label not in self.labels:
            self.places.setdefault("text" if isinstance(value, str) else "other", part)
            if len(self.labels) == MOST_LABELS:
                raise DataError(
                    f"y must hold two values, but column {self.names.label!r} has more than {MOST_LABELS}. Name "
                    "another with --label, or recode it."
                )
        return self.labels.setdefault(label, len(self.labels))

    def _cell(self, group: tuple[str, ...], label: int) -> int:
        if len(self.cells) == MOST_CELLS and (group, label) not in self.cells:
            raise DataError(
                f"there are more than {MOST_CELLS:,} pairs of a group and a label; name a column with fewer groups."
            )
        return self.cells.setdefault((group, label), len(self.cells))

    def _read(self, rows: Any) -> _Rows:
        """Check rows and tell their pairs of a group and a label apart. The rows alone decide what comes out."""
        label = self.names.label
        codes, labels = (np.zeros(rows.num_rows, np.int8), [0]) if label is None else _label_codes(rows.column(label))
        groups: list[tuple[str, ...]] = [()]
        for name in self.names.groups:
            own, texts = _group_texts(rows.column(name), f"sensitive_features[{name!r}]", self.missing)
            size = len(labels) * len(groups)
            small: type = np.int8 if size * len(texts) < 1 << 7 else np.intp
            codes = codes.astype(small, copy=False) + own.astype(small) * small(size)
            groups = [(*group, text) for text in texts for group in groups]
        kept = np.flatnonzero(count_codes(codes, len(groups) * len(labels)))
        table = np.zeros(len(groups) * len(labels), dtype=codes.dtype)
        table[kept] = np.arange(len(kept))  # the pairs numbered anew, without those that do not occur
        codes, pairs = recode(codes, table), [divmod(pair, len(labels)) for pair in kept.tolist()]
        weight = self.names.weight
        return _Rows(
            codes,
            [groups[group] for group, _ in pairs],
            [label for _, label in pairs],
            labels,
            checked_scores(rows.column(self.names.score)),
            None if weight is None else checked_weights(rows.column(weight)),
        )

    # -- when all is read ----------------------------------------------------------------------------------------

    def counts(self, pos_label: Any, whole: bool) -> ScoreCounts:
        """What was counted, by name of the group and whether the label is positive."""
        found = self.tally.result()
        positive = self._positives(found, pos_label, whole)
        parts: dict[str, list[tuple[bool, CellCounts]]] = {
            name: [] for name in cross_names(group for group, _ in self.cells)
        }
        for (group, label), cell in self.cells.items():
            if cell < len(found):
                parts[" & ".join(group)].append((positive[label], found[cell]))
        kept = {name: _joined(cells) for name, cells in parts.items() if cells}
        kept = {name: group for name, group in kept.items() if len(group[0])}
        return of_groups(kept, list(kept.values()), self.tally.weighted, self.tally.bits)

    def _positives(self, found: Sequence[CellCounts], pos_label: Any, whole: bool) -> list[bool]:
        """For every label, by its number, whether it is the positive one."""
        rows = np.zeros(len(self.labels))
        for (_, label), cell in self.cells.items():
            counts = found[cell].counts
            rows[label] += np.count_nonzero(counts > 0) if self.tally.weighted else counts.sum()
        values = self._values(pos_label)
        lost = sum(int(rows[i]) for i, value in enumerate(values) if value is None)
        if lost:
            raise DataError(f"y must not be missing, but {lost} of {int(rows.sum())} are; drop these rows.")
        distinct: dict[Any, int] = {}
        for value, count in zip(values, rows.tolist(), strict=True):
            distinct[value] = distinct.get(value, 0) + int(count)
        kinds = {isinstance(value, str) for value in distinct}
        if len(kinds) > 1:
            text, other = self.places["text"].path, self.places.get("other", self.places["text"]).path
            raise DataError(
                f"column {self.names.label!r} must be of one type, but it holds text in '{text}' and numbers in "
                f"'{other}'; convert one of them."
            )
        if len(distinct) == 1:
            one = one_label(next(iter(distinct)), pos_label, int(rows.sum()), whole)
            return [bool(one[0])] * len(values)
        hits = dict(zip(distinct, positive_labels(list(distinct), list(distinct.values()), pos_label), strict=True))
        return [hits[value] for value in values]

    def _values(self, pos_label: Any) -> list[Any]:
        """The labels by number; text of CSV files becomes what it would be if their column were read at once."""
        texts = [value for is_text, value in self.labels if is_text]
        typed = dict(zip(texts, typed_values(texts).to_pylist() if pos_label is None else texts, strict=True))
        return [typed[value] if is_text else value for is_text, value in self.labels]


def _label_codes(column: Any) -> tuple[NDArray[Any], list[Any]]:
    """Codes into the distinct labels, none of them missing."""
    numbers = as_numpy(column)
    if numbers is not None and numbers.dtype.kind in "iub" and numbers.min() >= 0 and numbers.max() <= 1:
        return numbers.astype(np.int8, copy=False), [0, 1]
    if not column.null_count and is_coded(column) and not column.dictionary.null_count:
        return codes_of(column), column.dictionary.to_pylist()
    codes, values, lost = present_values(as_column(column, "y"), "y")
    if lost:
        raise DataError(f"y must not be missing, but {lost} of {len(codes)} are; drop these rows.")
    return codes, [value.item() if isinstance(value, np.generic) else value for value in values]


def _group_texts(column: Any, what: str, missing: Missing) -> tuple[NDArray[Any], Sequence[str]]:
    """Codes into the distinct texts of a group column; some may not occur."""
    if is_coded(column) and not column.null_count and str(column.type.value_type) == "string":
        dictionary = column.dictionary
        if not dictionary.null_count:
            return codes_of(column), [as_text(text) for text in dictionary.to_pylist()]
    return group_codes({what: as_column(column, what)}, missing)


def _joined(cells: Sequence[tuple[bool, CellCounts]]) -> Group:
    """One group's rising distinct scores with what is counted at each."""
    scores, mass = (np.concatenate([getattr(cell, name) for _, cell in cells]) for name in ("scores", "counts"))
    hit = np.repeat([positive for positive, _ in cells], [len(cell.scores) for _, cell in cells])
    known = [cell.spread for _, cell in cells if cell.spread is not None]
    spread = np.concatenate(known) if known else None
    return one_group(scores, np.where(hit, 0, mass), np.where(hit, mass, 0), spread)
