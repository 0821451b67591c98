"""Counts of people by group, label and score: all that a fit or an audit needs to know about rows.

Counts of parts of a table add up to the counts of the whole, in any order. Scores may be cut to bins whose edges are
the same everywhere; what that costs is known and stated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, freeze
from fairroc.core.doubles import ranks, with_ranks
from fairroc.docstrings import documented
from fairroc.errors import DataError
from fairroc.options import Missing
from fairroc.people import counting
from fairroc.people import tensors as door
from fairroc.people.cells import TallySample, WeightedCells
from fairroc.people.counting import MOST_CELLS, RankBins, grid_counts
from fairroc.people.factorise import rows_by_group
from fairroc.people.people import People, both_labels
from fairroc.people.rows import Columns, read_columns, read_counts
from fairroc.people.sample import thin_points
from fairroc.people.small import REFUSE, SmallRule
from fairroc.people.sorting import packing, sorted_rows
from fairroc.people.tensors import is_tensor
from fairroc.summary import MOST_ROWS, Result, Summary
from fairroc.tables.columns import as_numpy, codes_of
from fairroc.tables.files import check_writable
from fairroc.tables.read import read_table
from fairroc.tables.write import write_table

CountArray: TypeAlias = NDArray[Any]

LEAST_BITS, MOST_BITS = 12, 63
"""Bits of a bin: the sign and the exponent at least, so that a bin's lower edge is a finite number."""

FORMAT, VERSION = "fairroc-counts", 1
SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


EXAMPLE = """>>> counts = ScoreCounts.from_table([1, 1, 2], [4, 2, 1], [3, 0, 5], sensitive_features=["a", "b", "b"])"""


@documented(setup=EXAMPLE, raises="DataError")
@dataclass(frozen=True, eq=False, repr=False)
class ScoreCounts(Result):
    """People counted by group, label and score. Mergeable, serialisable, and as large as there are distinct scores.

    A part of a table may lack labels or groups: only a fit or an audit asks for both labels in two groups or more.

    Attributes
    ----------
    names : the groups, sorted.
    scores : for every group its distinct scores, rising. In bins: their lower edges.
    negatives, positives : for every group and score the number of people (int64), or their weight (float64).
    weighted : whether these are weights; every cell of a group, label and score then counts as one weighted row.
    bits : None: the scores are exact. Else people of one bin count as tied at its lower edge, and the bin is the first
        so many bits of the score's 64-bit rank among all doubles: edges are fixed and never depend on the data.
    spread : for every group and bin, whether it may hold scores other than its edge; None: not known, so every one may.

    >>> counts.names, counts.rows, counts.scores[1].tolist(), counts.positives[1].tolist()
    (('a', 'b'), 15, [1.0, 2.0], [2, 1])
    """

    names: tuple[str, ...]
    scores: tuple[FloatArray, ...]
    negatives: tuple[CountArray, ...]
    positives: tuple[CountArray, ...]
    weighted: bool = False
    bits: int | None = None
    spread: tuple[BoolArray, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("scores", "negatives", "positives"):  # copies: the caller's arrays stay theirs; -0.0 is 0.0
            object.__setattr__(self, name, tuple(part + part.dtype.type(0) for part in getattr(self, name)))
        freeze(*self.scores, *self.negatives, *self.positives, *(self.spread or ()))

    # -- where counts come from --------------------------------------------------------------------------------------

    @classmethod
    def from_rows(
        cls,
        scores: Any,
        y: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        pos_label: Any = None,
        missing: Missing = "error",
        bits: int | None = None,
    ) -> ScoreCounts:
        """Count rows, all or a part of a table.

        With ``bits`` the same as ``binned(bits)`` of the exact counts, but nothing is sorted: many times as fast.
        Torch tensors are counted on their device, see ``docs/guides/tensors.md``.

        >>> counts = ScoreCounts.from_rows([0.5, 0.5, 0.9], [0, 1, 1], sensitive_features=["a", "a", "b"])
        >>> counts.names, counts.scores[0].tolist(), counts.negatives[0].tolist(), counts.positives[0].tolist()
        (('a', 'b'), [0.5], [1], [1])
        """
        if bits is not None:
            _check_bits(bits)
        features, weight = sensitive_features, sample_weight
        if door.are_on_host(scores, features):
            scores, y, features, weight = door.host_rows(scores, y, features, weight)
        if is_tensor(scores):
            return cls._from_tensors(scores, y, features, weight, pos_label, missing, bits)
        how: dict[str, Any] = {"pos_label": pos_label, "missing": missing, "whole": False}
        return cls.from_columns(read_columns(scores, y, sensitive_features=features, sample_weight=weight, **how), bits)

    @classmethod
    def _from_tensors(
        cls, scores: Any, y: Any, features: Any, weight: Any, pos_label: Any, missing: Missing, bits: int | None
    ) -> ScoreCounts:
        """Count tensors where they are."""
        if weight is not None:
            raise DataError(
                "sample_weight must be left out with GroupCodes and for rows counted on a device: sums of weights "
                "would depend on it. Pass scores.cpu() and the weights and groups of the rows on the host."
            )
        rows = door.read_rows(scores, y, features, pos_label, missing)
        if scores.device.type == "cpu":
            both, groups = (part.numpy() for part in (rows.labels, rows.groups))
            return cls.from_columns(Columns(rows.scores.numpy(), both, groups, rows.names, None), bits)
        if bits is None:
            return of_groups(rows.names, [(*cells, None) for cells in counting.exact_cells(rows)], False, None)
        binned = counting.binned_cells(rows, int(bits))
        return of_groups(rows.names, [(*cells, spread) for cells, spread in binned], False, int(bits))

    @classmethod
    def from_columns(cls, columns: Columns, bits: int | None = None) -> ScoreCounts:
        """Count checked columns. O(n) for most scores and for bins, O(n log n) at worst."""
        if bits is not None:
            return _counted_in_bins(columns, int(bits)) or cls.from_columns(columns).binned(bits)
        pack = None if columns.weights is not None else packing(columns.scores)
        if pack is None:
            return cls.from_cells(columns, np.ones(len(columns.scores), dtype=np.int64))
        parts = []
        for rows in sorted_rows(columns.scores, columns.labels, columns.groups, len(columns.names), pack):
            keys = rows >> 1
            first = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), dtype=np.bool_), keys[1:] != keys[:-1])))
            positive = np.add.reduceat(rows & 1, first) if len(first) else np.zeros(0, dtype=np.int64)
            parts.append((pack.scores(keys[first]), np.diff(first, append=len(rows)) - positive, positive))
        values, negative, positive = zip(*parts, strict=True)
        return cls(columns.names, values, negative, positive)

    @classmethod
    def from_table(
        cls, scores: Any, positives: Any, negatives: Any, *, sensitive_features: Any, missing: Missing = "error"
    ) -> ScoreCounts:
        """Counts from a table that is aggregated already: so many positives and negatives with each score and group.

        Rows of the same score and group are added up. Whole numbers are counts of people; if any is fractional, all are
        weights, and a warning says so.

        >>> table = ScoreCounts.from_table([1, 2, 2], [0, 5, 1], [7, 2, 0], sensitive_features=["a", "a", "a"])
        >>> table.scores[0].tolist(), table.negatives[0].tolist(), table.positives[0].tolist(), table.rows
        ([1.0, 2.0], [7, 2], [0, 6], 15)
        """
        table = read_counts(scores, positives, negatives, sensitive_features=sensitive_features, missing=missing)
        weighted = table.negatives.dtype.kind == "f"
        parts = [
            one_group(table.scores[rows], table.negatives[rows], table.positives[rows])
            for rows in rows_by_group(table.groups, len(table.names))
        ]
        return of_groups(table.names, parts, weighted, None)

    @classmethod
    def from_cells(cls, cells: Columns, rows: CountArray, *, bits: int | None = None) -> ScoreCounts:
        """Counts of (group, label, score) cells in any order, so many rows each or with a weight, equal ones added up.

        With ``bits`` the scores are lower edges of such bins already, and what is in a bin is not known.
        """
        mass, parts = rows if cells.weights is None else cells.weights, []
        for own in rows_by_group(cells.groups, len(cells.names)):
            hit, part = cells.labels[own], mass[own]
            parts.append(one_group(cells.scores[own], np.where(hit, 0, part), np.where(hit, part, 0)))
        return of_groups(cells.names, parts, cells.weights is not None, bits)

    # -- what they say -----------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> int:
        """Number of people; of weighted counts: number of cells."""
        count = np.count_nonzero if self.weighted else np.sum
        return sum(int(count(part)) for part in (*self.negatives, *self.positives))

    @cached_property
    def error(self) -> float:
        """How far any group's FPR or TPR at any threshold can be off because of bins; 0.0 for exact scores.

        At a threshold inside a bin those of its people count as not selected who are: rates are never too high, and too
        low by no more than the bin's share of the class.
        """
        if self.bits is None:
            return 0.0
        found = 0.0
        for g in range(len(self.names)):
            within = slice(None) if self.spread is None else self.spread[g]
            for part in (self.negatives[g], self.positives[g]):
                largest = part[within].max(initial=0)
                found = max(found, float(largest / part.sum()) if largest > 0 else 0.0)
        return found

    def people(self, *, small: SmallRule = REFUSE, whole: bool = True) -> People:
        """Those who were counted, for a fit or an audit: the same as from their rows.

        ``small`` says what becomes of small groups. People who are the ``whole`` of a table must be of two groups or
        more, each with people of both labels.
        """
        people = self._people()
        found = people.small_by(small)
        if found is not None:
            people = replace(self.regrouped(found.renamed(self.names))._people(), small=found)
        return both_labels(people) if whole else people

    def _people(self) -> People:
        if not self.names:
            raise DataError("counts must hold people of two groups or more, and these hold nobody.")
        points, groups = thin_points(len(self.names)), range(len(self.names))
        cells = list(zip(self.scores, self.negatives, self.positives, strict=True))
        found = (
            tuple(WeightedCells(*cells[g], points=points) for g in groups)
            if self.weighted
            else tuple(TallySample(*cells[g], self._top(g), points=points) for g in groups)
        )
        return People(self.names, found, self.weighted, self.error)

    def _top(self, g: int) -> float | None:
        """The upper end of a group's highest bin, its largest double, where that may hold more than its edge."""
        if self.bits is None or not len(self.scores[g]) or not self._spread(g)[-1]:
            return None
        return float(with_ranks(ranks(self.scores[g][-1:]) | ((1 << (64 - self.bits)) - 1))[0])

    def _summary(self) -> Summary:
        exact = "exact" if self.bits is None else f"in bins of {self.bits} bits, rates off by at most {self.error:.2g}"
        cells = list(zip(self.names, self.scores, self.negatives, self.positives, strict=True))
        rows = [
            [name, f"{len(s):,}", *(f"{x:.4g}" for x in (s[0], s[-1])), f"{neg.sum():,.10g}", f"{pos.sum():,.10g}"]
            for name, s, neg, pos in cells[:MOST_ROWS]
            if len(s)
        ]
        head = ["group", "distinct scores", "lowest", "highest", "negatives", "positives"]
        noun = "weighted cells" if self.weighted else "people"
        title = f"ScoreCounts: {self.rows:,} {noun}, {len(cells):,} groups"
        return Summary(title, [("scores", exact)], head, rows, sum(len(s) > 0 for s in self.scores))

    # -- what becomes of them ----------------------------------------------------------------------------------------

    def merge(self, *others: ScoreCounts) -> ScoreCounts:
        """All of them together. Whole counts add up exactly, in any order; weights do up to rounding.

        Where some are in bins, all are cut to the coarsest of these; where some are weights, all are.

        >>> counts.merge(counts, counts).rows
        45
        """
        parts = (self, *others)
        bits = min((part.bits for part in parts if part.bits is not None), default=None)
        if bits is not None:
            parts = tuple(part.binned(bits) for part in parts)
        names = sorted({name for part in parts for name in part.names})
        codes = [(part, {name: g for g, name in enumerate(part.names)}) for part in parts]
        found = [[(part, code[name]) for part, code in codes if name in code] for name in names]
        return of_groups(names, [_together(cells) for cells in found], any(part.weighted for part in parts), bits)

    def regrouped(self, renamed: Mapping[str, str | None]) -> ScoreCounts:
        """The same people with groups under other names, those of one name together, those of None left out.

        >>> counts.regrouped({"a": "a", "b": "a"}).positives[0].tolist()
        [6, 1]
        """
        found: dict[str | None, list[tuple[ScoreCounts, int]]] = {}
        for g, old in enumerate(self.names):
            found.setdefault(renamed[old], []).append((self, g))
        names = sorted(name for name in found if name is not None)
        return of_groups(names, [_together(found[name]) for name in names], self.weighted, self.bits)

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        return self.merge(other) if isinstance(other, ScoreCounts) else NotImplemented

    def binned(self, bits: int) -> ScoreCounts:
        """Cut to bins of so many bits, 12 to 63: 12 tell powers of two apart, each more halves the bins' width.

        Cutting twice is cutting to the coarser at once, and it does not matter whether one merges before or after.

        >>> counts.binned(12).error
        0.0
        """
        _check_bits(bits)
        if self.bits is not None and self.bits <= bits:
            return self
        parts = []
        for g, scores in enumerate(self.scores):
            edges = bin_edges(scores, int(bits))
            parts.append(one_group(edges, self.negatives[g], self.positives[g], (edges != scores) | self._spread(g)))
        return of_groups(self.names, parts, self.weighted, int(bits))

    def _spread(self, g: int) -> BoolArray:
        if self.spread is not None:
            return self.spread[g]
        return np.full(len(self.scores[g]), self.bits is not None)

    # -- files -------------------------------------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` with the columns group, score, negatives and positives (of bins also spread).

        Returns: pyarrow.Table: one row for each group and score.
        >>> counts.to_arrow().column_names
        ['group', 'score', 'negatives', 'positives']
        """
        import pyarrow as pa

        codes = np.repeat(np.arange(len(self.names), dtype=np.int32), [len(part) for part in self.scores])
        kind = np.float64 if self.weighted else np.int64
        columns = {
            "group": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(self.names, pa.string())),
            "score": pa.array(_joined(self.scores, np.float64)),
            "negatives": pa.array(_joined(self.negatives, kind)),
            "positives": pa.array(_joined(self.positives, kind)),
        }
        if self.bits is not None:
            columns["spread"] = pa.array(_joined([self._spread(g) for g in range(len(self.names))], np.bool_))
        about = {"version": VERSION, "names": self.names, "weighted": self.weighted, "bits": self.bits}
        return pa.table(columns).replace_schema_metadata({FORMAT: json.dumps(about)})

    @classmethod
    def from_arrow(cls, table: Any) -> ScoreCounts:
        """Counts from a table that `to_arrow` made, in any row order.

        >>> ScoreCounts.from_arrow(counts.to_arrow()).rows
        15
        """
        names, weighted, bits = _about(table)
        numbers = "f" if weighted else "iu"
        kinds = {"score": "f", "negatives": numbers, "positives": numbers} | ({"spread": "b"} if bits else {})
        columns = [_read_numbers(table, name, kind) for name, kind in kinds.items()]
        if any((part < 0).any() for part in columns[1:3]):
            raise DataError("the counts hold a negative number of people; use the original file.")
        rows = rows_by_group(_read_groups(table, names), len(names))
        return of_groups(names, [one_group(*(column[part] for column in columns)) for part in rows], weighted, bits)

    def save(self, path: str | Path) -> None:
        """Write one Parquet or Arrow file, whole or not at all.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     counts.save(f"{folder}/counts.parquet")
        """
        check_writable(path, SUFFIXES)
        write_table(self.to_arrow(), path)

    @classmethod
    def load(cls, path: str | Path) -> ScoreCounts:
        """Read what `save` wrote.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     counts.save(f"{folder}/counts.parquet")
        ...     again = ScoreCounts.load(f"{folder}/counts.parquet")
        >>> again.rows
        15
        """
        check = str(path).lower()
        if not check.endswith(SUFFIXES):
            raise DataError(f"a file of counts must end in one of {', '.join(SUFFIXES)}, got '{path}'; see save.")
        try:
            return cls.from_arrow(read_table(path))
        except DataError as error:
            raise DataError(f"'{path}': {error}") from None


def _check_bits(bits: Any) -> None:
    if not isinstance(bits, Integral) or isinstance(bits, bool) or not LEAST_BITS <= int(bits) <= MOST_BITS:
        raise DataError(f"bits must be a whole number from {LEAST_BITS} to {MOST_BITS}, got {bits!r}.")


def _counted_in_bins(columns: Columns, bits: int) -> ScoreCounts | None:
    """Counts in bins without sorting; None where weights or too many bins stand against it."""
    low, high = float(columns.scores.min()), float(columns.scores.max())
    bins, count = RankBins.over(low, high, bits), len(columns.names)
    if columns.weights is not None or 2 * count * bins.size > MOST_CELLS:
        return None
    both, at_edge = grid_counts(columns.scores, columns.labels, columns.groups, count, bins)
    spread = both.sum(axis=1) > at_edge
    edges, parts = bins.edges(), []
    for (negatives, positives), wide in zip(both, spread, strict=True):
        used = np.flatnonzero(negatives + positives)
        parts.append((edges[used], negatives[used], positives[used], wide[used]))
    return of_groups(columns.names, parts, False, bits)


def is_saved(table: Any) -> bool:
    """Whether a ``pyarrow.Table`` says that it holds counts which `ScoreCounts.to_arrow` wrote."""
    return FORMAT.encode() in (table.schema.metadata or {})


def bin_edges(scores: FloatArray, bits: int) -> FloatArray:
    """Lower edge of every score's bin: the smallest double whose rank among all doubles has the same first bits.

    >>> bin_edges(np.array([0.3, 0.75, -0.3]), 12).tolist()
    [0.25, 0.5, -0.49999999999999994]
    """
    drop = 64 - bits
    return with_ranks((ranks(scores) >> drop) << drop)


Group: TypeAlias = tuple[FloatArray, CountArray, CountArray, BoolArray | None]


def one_group(
    scores: FloatArray, negatives: CountArray, positives: CountArray, spread: BoolArray | None = None
) -> Group:
    """Rising distinct scores with what is counted at each; cells of nobody are left out."""
    kept = np.flatnonzero((negatives > 0) | (positives > 0))
    order = kept[np.argsort(scores[kept], kind="stable")]
    ordered = scores[order] + 0.0
    first = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > 0)
    if not len(first):
        return ordered, negatives[:0].copy(), positives[:0].copy(), None if spread is None else spread[:0].copy()
    negative, positive = (np.add.reduceat(part[order], first) for part in (negatives, positives))
    wide = None if spread is None else np.logical_or.reduceat(spread[order], first)
    return ordered[first], negative, positive, wide


def of_groups(names: Iterable[str], parts: Sequence[Group], weighted: bool, bits: int | None) -> ScoreCounts:
    """Counts of groups from what is counted in each."""
    kind: type = np.float64 if weighted else np.int64
    known = all(part[3] is not None for part in parts)
    return ScoreCounts(
        tuple(names),
        tuple(part[0] for part in parts),
        tuple(part[1].astype(kind, copy=False) for part in parts),
        tuple(part[2].astype(kind, copy=False) for part in parts),
        weighted,
        bits,
        tuple(part[3] for part in parts if part[3] is not None) if bits is not None and known else None,
    )


def _together(found: Sequence[tuple[ScoreCounts, int]]) -> Group:
    """Cells of several groups, each of some counts and by its number there, as those of one."""
    cells = [(part.scores[g], part.negatives[g], part.positives[g], part._spread(g)) for part, g in found]
    return one_group(*map(np.concatenate, zip(*cells, strict=True)))


def _joined(parts: Sequence[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind, copy=False)


def _about(table: Any) -> tuple[tuple[str, ...], bool, int | None]:
    """Groups, whether weighted, and bits, from the table's metadata."""
    try:
        about = json.loads((table.schema.metadata or {})[FORMAT.encode()])
        version, names, weighted, bits = about["version"], about["names"], about["weighted"], about["bits"]
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"counts must carry their {FORMAT!r} metadata, and this table has none that can be read. Pass what "
            "ScoreCounts.save or to_arrow made, or a plain table to ScoreCounts.from_table."
        ) from None
    if version != VERSION:
        raise DataError(f"this fairroc reads counts of version {VERSION}; these have version {version!r}. Update it.")
    right = isinstance(weighted, bool) and (bits is None or (type(bits) is int and LEAST_BITS <= bits <= MOST_BITS))
    if not right or names != sorted(set(names)):
        raise DataError("the counts' metadata is damaged; use the original file.")
    return tuple(names), weighted, bits


def _read_numbers(table: Any, name: str, kind: str) -> NDArray[Any]:
    """A column without missing values, of a kind of numpy's letters."""
    if name not in table.column_names or table.column(name).null_count:
        raise DataError(f"counts must have a column {name!r} without missing values; use the original file.")
    found = as_numpy(table.column(name))
    if found is None or found.dtype.kind not in kind or not np.isfinite(found).all():
        raise DataError(f"the column {name!r} of counts holds something that cannot be counted; use the original file.")
    return found


def _read_groups(table: Any, names: Sequence[str]) -> NDArray[np.intp]:
    """Codes of the column of groups."""
    if "group" not in table.column_names or table.column("group").null_count:
        raise DataError("counts must have a column 'group' without missing values; use the original file.")
    coded = table.column("group").cast("string").combine_chunks().dictionary_encode()
    code, found = {name: g for g, name in enumerate(names)}, coded.dictionary.to_pylist()
    if not set(found) <= set(code):
        raise DataError("the counts name a group that their own list of groups lacks; use the original file.")
    return np.asarray(np.array([code[name] for name in found], dtype=np.intp)[codes_of(coded)])
