"""Tables that are read piece by piece: a file, a folder of files or a pattern, in CSV, Parquet or Arrow.

Only the wanted columns of a few pieces are in memory at a time. pyarrow is loaded when a file is opened, not before.
"""

from __future__ import annotations

import glob
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fairroc.errors import DataError
from fairroc.tables.files import (
    FORMATS,
    TABLE_SUFFIXES,
    check_source,
    csv_options,
    csv_source,
    empty_to_null,
    load_module,
    numbers_from_text,
    pick,
    read_csv_header,
    readable,
    refuse_bytes,
    table_suffix,
)

__all__ = ["Batch", "Part", "find_parts", "is_large", "part_schema", "read_batches"]

ROWS = 1 << 18
"""Rows of a batch of a Parquet or Arrow file at most."""

CSV_BLOCK = 1 << 23
"""Bytes of CSV text that are read at once; a row must fit into it."""

LARGE_BYTES = 1 << 28
"""Files of more bytes than this are read in batches."""

LARGE_ROWS = 20_000_000
"""Files that say that they have more rows than this are read in batches."""

AHEAD = 2
"""Batches that wait while others are worked on."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a table."""

    path: Path
    kind: str  # "csv", "parquet" or "arrow"
    size: int  # in bytes

    @property
    def is_text(self) -> bool:
        """Whether its values are text, without types."""
        return self.kind == "csv"


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows of one file."""

    rows: Any  # pyarrow.RecordBatch
    part: Part
    first: int  # rows of the file before these
    done: int  # bytes of all files that are read, about

    def located(self, error: DataError, check: Callable[[Any], object]) -> DataError:
        """The error with the place of its cause; ``check`` raises for rows (a slice of the batch) that hold it."""
        low, high = 0, self.rows.num_rows  # the first `low` rows are right, the first `high` are not
        while high - low > 1:
            middle = (low + high) // 2
            try:
                check(self.rows.slice(0, middle))
                low = middle
            except DataError:
                high = middle
        text = str(error).rstrip(".")
        begin, end = self.first + 1, self.first + self.rows.num_rows
        where = f"rows {begin} to {end} of '{self.part.path}' were looked at; the first such row there is {begin + low}"
        return type(error)(f"{text} ({where}, counted from 1, without the header).")


def find_parts(data: str | os.PathLike[str]) -> tuple[Part, ...]:
    """The files of a table, in the order of their names: one file, all in a folder, or all that fit a pattern.

    Names that begin with a dot or an underscore are passed over in folders, as other tools do; any other file that is
    no table is an error, lest rows be missed.
    """
    path = Path(data)
    if path.is_dir():
        files = sorted(_visible_files(path))
        if not files:
            raise DataError(f"the folder '{path}' must hold CSV, Parquet or Arrow files, but it has none; check it.")
    elif not path.exists() and glob.has_magic(str(path)):
        files = sorted(Path(name) for name in _fitting(path) if Path(name).is_file())
        if not files:
            raise DataError(f"no file fits the pattern '{path}'; check the path.")
    else:
        files = [path]
    parts = []
    for file in files:
        check_source(file)
        parts.append(Part(file, FORMATS[table_suffix(file)], file.stat().st_size))
    return tuple(parts)


def _fitting(pattern: Path) -> list[str]:
    return glob.glob(str(pattern), recursive=True)  # noqa: PTH207 - knows patterns that begin at the root


def _visible_files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            if not name.startswith((".", "_")):
                file = Path(place) / name
                if not name.lower().endswith(TABLE_SUFFIXES):
                    raise DataError(
                        f"the folder '{folder}' must hold tables only ({', '.join(TABLE_SUFFIXES)}), but '{file}' is "
                        f"none; name the files by a pattern instead, such as '{folder / '*.parquet'}'."
                    )
                yield file


def is_large(parts: Sequence[Part]) -> bool:
    """Whether a table is better read in batches: several files, many bytes, or many rows where the file tells."""
    if len(parts) > 1 or sum(part.size for part in parts) > LARGE_BYTES:
        return True
    if parts[0].kind != "parquet":
        return False
    parquet = load_module("pyarrow.parquet")
    with readable(parts[0].path), parquet.ParquetFile(parts[0].path) as file:
        return bool(file.metadata.num_rows > LARGE_ROWS)


def part_schema(part: Part) -> Any:
    """Columns and types of a file, as a ``pyarrow.Schema``; in CSV files all are text."""
    pyarrow = load_module("pyarrow")
    with readable(part.path):
        if part.kind == "csv":
            names, _ = read_csv_header(part.path)
            return pyarrow.schema([(name, pyarrow.string()) for name in pick(part.path, None, names)])
        if part.kind == "parquet":
            with load_module("pyarrow.parquet").ParquetFile(part.path) as file:
                schema = file.schema_arrow
        else:
            with _arrow_reader(part.path, None) as reader:
                schema = reader.schema
    pick(part.path, None, schema.names)
    return schema


def read_batches(
    parts: Sequence[Part],
    columns: Sequence[str] | None = None,
    *,
    numbers: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> Iterator[Batch]:
    """The wanted columns (``None``: all) of all files, a batch at a time, read ahead by a thread of its own.

    Columns of CSV files are text, where an empty field is a null, but the ``numbers`` are 64-bit floats. Text of
    the ``categories`` in Parquet files comes as a dictionary, which is faster. Other columns have their own types.
    """
    wanted = None if columns is None else list(dict.fromkeys(columns))
    return _ahead(_batches(parts, wanted, numbers, categories))


def _batches(
    parts: Sequence[Part], wanted: Sequence[str] | None, numbers: Sequence[str], categories: Sequence[str]
) -> Iterator[Batch]:
    before = 0
    for part in parts:
        rows = 0
        if part.kind == "csv":
            source = _csv_batches(part, wanted, numbers)
        elif part.kind == "parquet":
            source = _parquet_batches(part, wanted, categories)
        else:
            source = _arrow_batches(part, wanted)
        with closing(source) as pieces:  # type: ignore[type-var]
            for piece, done in _guarded(pieces, part):
                if piece.num_rows:
                    yield Batch(piece, part, rows, before + min(done, part.size))
                rows += piece.num_rows
        before += part.size


def _guarded(pieces: Iterable[T], part: Part) -> Iterator[T]:
    """The same pieces; whatever goes wrong in reading is said in one line that names the file."""
    iterator = iter(pieces)
    while True:
        with readable(part.path):
            try:
                piece = next(iterator)
            except StopIteration:
                return
        yield piece


def _csv_batches(part: Part, wanted: Sequence[str] | None, numbers: Sequence[str]) -> Iterator[tuple[Any, int]]:
    pyarrow, arrow_csv = load_module("pyarrow"), load_module("pyarrow.csv")
    present, more = read_csv_header(part.path)
    names = pick(part.path, wanted, present)
    if not more:
        return
    types = {name: pyarrow.float64() if name in numbers else pyarrow.string() for name in names}
    read_options = arrow_csv.ReadOptions(block_size=CSV_BLOCK)
    with csv_source(part.path) as (source, raw):
        try:
            reader = arrow_csv.open_csv(source, read_options=read_options, **csv_options(part.path, names, types))
            for batch in reader:
                refuse_bytes(part.path, batch.schema)
                yield _nulls_for_empty(batch), raw.tell()
        except pyarrow.ArrowInvalid as error:
            if numbers and "conversion error" in str(error):
                _name_bad_number(part, numbers)
            raise


def _name_bad_number(part: Part, numbers: Sequence[str]) -> None:
    """Read again, as text, to name the row that holds no number."""
    for name in dict.fromkeys(numbers):
        rows = 0
        for piece, _ in _csv_batches(part, [name], ()):
            try:
                numbers_from_text(piece.column(0), name, before=rows)
            except DataError as error:
                raise DataError(f"'{part.path}': {error}") from None
            rows += piece.num_rows


def _nulls_for_empty(batch: Any) -> Any:
    pyarrow = load_module("pyarrow")
    columns = [empty_to_null(column) if pyarrow.types.is_string(column.type) else column for column in batch.columns]
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _parquet_batches(part: Part, wanted: Sequence[str] | None, categories: Sequence[str]) -> Iterator[tuple[Any, int]]:
    parquet = load_module("pyarrow.parquet")
    with parquet.ParquetFile(part.path, read_dictionary=list(categories), pre_buffer=False) as file:
        names = pick(part.path, wanted, file.schema_arrow.names)
        total, done = max(1, file.metadata.num_rows), 0
        for batch in file.iter_batches(ROWS, columns=names):
            done += batch.num_rows
            yield batch.select(names), part.size * done // total


def _arrow_batches(part: Part, wanted: Sequence[str] | None) -> Iterator[tuple[Any, int]]:
    with _arrow_reader(part.path, wanted) as reader:
        for piece, done in reader.pieces():
            for begin in range(0, piece.num_rows, ROWS):
                yield piece.slice(begin, ROWS).select(reader.names), done


class _arrow_reader:  # noqa: N801 - used like a function
    """An Arrow file (Feather version 2) or stream, whichever the first bytes announce."""

    def __init__(self, path: Path, wanted: Sequence[str] | None) -> None:
        pyarrow, ipc = load_module("pyarrow"), load_module("pyarrow.ipc")
        self.source = pyarrow.OSFile(str(path))
        try:
            self.is_file = self.source.read(6) == b"ARROW1"
            self.source.seek(0)
            opener = ipc.open_file if self.is_file else ipc.open_stream
            self.reader = opener(self.source)
            self.schema = self.reader.schema
            self.names = pick(path, wanted, self.schema.names)
            if self.is_file and wanted is not None:
                chosen = sorted(self.schema.names.index(name) for name in self.names)
                self.reader = opener(self.source, options=ipc.IpcReadOptions(included_fields=chosen))
        except BaseException:
            self.source.close()
            raise

    def __enter__(self) -> _arrow_reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def pieces(self) -> Iterator[tuple[Any, int]]:
        """Record batches, and the bytes of the file read with each."""
        if self.is_file:
            size, count = self.source.size(), self.reader.num_record_batches
            for i in range(count):
                yield self.reader.get_batch(i), size * (i + 1) // count
        else:
            for batch in self.reader:
                yield batch, self.source.tell()


def _ahead(source: Iterator[T]) -> Iterator[T]:
    """The same items, made by a thread of its own while those before are worked on; an error comes in its turn."""
    reader = _Reader(source)
    reader.start()
    try:
        while True:
            going_on, item = reader.items.get()
            if not going_on and item is None:
                return
            if not going_on:
                raise item
            yield item
    finally:
        reader.stopped.set()
        reader.join()


class _Reader(threading.Thread):
    """Puts (True, item) for every item of a source, then (False, None or an error), until it is stopped."""

    def __init__(self, source: Iterator[Any]) -> None:
        super().__init__(daemon=True)
        self.source = source
        self.items: queue.Queue[tuple[bool, Any]] = queue.Queue(AHEAD)
        self.stopped = threading.Event()

    def run(self) -> None:
        try:
            for item in self.source:
                if not self._put((True, item)):
                    return
            self._put((False, None))
        except BaseException as error:
            self._put((False, error))
        finally:
            self.source.close()  # type: ignore[attr-defined]

    def _put(self, item: tuple[bool, Any]) -> bool:
        """Whether there was room for it before the reader was stopped."""
        while not self.stopped.is_set():
            try:
                self.items.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False
