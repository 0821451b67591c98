"""Tables are read in batches of rows, and a small file is one batch or a few: one reader for each format.

Only the wanted columns of a few batches are in memory at a time. pyarrow is loaded when a file is opened, not before.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import itertools
import os
import queue
import weakref
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError
from fairroc.tables.columns import empty_to_null, is_coded, is_text, numbers_from_text, typed
from fairroc.tables.files import Part, find_part, load_module, readable, require_columns, table_suffix

ROWS = 1 << 18
"""Rows of a batch of a Parquet or Arrow file at most."""

CSV_BLOCK = 1 << 23
"""Bytes of CSV text that are read at once; a row must fit into it."""

LARGE = 1 << 28
"""Tables of more bytes than this, unpacked, are read in batches."""

VALUE = 16
"""Bytes that a value takes at least, as text or while it is read: so all formats become large at about as many rows."""

SAMPLE, PACKED = 1 << 22, 1 << 20
"""Bytes of a packed file that are unpacked at a time, and packed ones that tell how long all of it is: fewer do not,
for they are read in pieces of 64 kB, and one may become 64 MB."""

AHEAD = 2
"""Batches that wait while others are worked on."""

GONE = 10.0
"""Seconds in which a thread of pyarrow's must have let go of what it was lent; far less is needed."""

T = TypeVar("T")
Places: TypeAlias = NDArray[np.intp]
LF, CR, QUOTE = b'\n\r"'


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


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    text_columns: Sequence[str] | None = (),
    *,
    numbers: Sequence[str] = (),
    categories: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Any:
    """Read the wanted columns of a file as a ``pyarrow.Table``, in the order in which they are named.

    ``columns=None`` reads all. In a CSV file an empty field is a null in every column, the ``numbers`` are 64-bit
    floats, the text_columns (``None``: every column) stay text, so that "01" stays "01", and others get the type that
    all their values have. Other files bring their own types. ``categories`` are those of `read_batches`;
    ``progress(done, all)`` is told the megabytes read.
    """
    part = find_part(path)
    wanted = None if columns is None else list(dict.fromkeys(columns))
    batches = []
    for batch in _batches([part], wanted, numbers, categories):
        batches.append(batch.rows)
        if progress is not None:
            progress(batch.done >> 20, max(1, part.size >> 20))
    if not batches:
        raise DataError(f"'{part.path}' must hold at least one row of data, got none.")
    table = load_module("pyarrow").Table.from_batches(batches)
    if part.is_text and text_columns is not None:
        require_columns(text_columns, table.column_names)
        kept, names = {*text_columns, *numbers}, table.column_names
        typed_columns = [
            column if name in kept else typed(column) for name, column in zip(names, table.columns, strict=True)
        ]
        table = type(table).from_arrays(typed_columns, names)
    return table


def part_schema(part: Part) -> Any:
    """Columns and types of a file, as a ``pyarrow.Schema``; in CSV files all are text."""
    pyarrow = load_module("pyarrow")
    with readable(part.path):
        if part.kind == "csv":
            names, _ = _csv_header(part.path)
            return pyarrow.schema([(name, pyarrow.string()) for name in _pick(part.path, None, names)])
        if part.kind == "arrow":
            with _arrow_file(part.path) as (schema, _, _):
                return schema
        with load_module("pyarrow.parquet").ParquetFile(part.path) as file:
            _pick(part.path, None, file.schema_arrow.names)
            return file.schema_arrow


def has_one_dictionary(parts: Sequence[Part]) -> bool:
    """Whether the categories of a column are surely the same in all batches: those of one Arrow file, or one batch."""
    if len(parts) > 1 or parts[0].is_text:
        return False
    path = parts[0].path
    with readable(path):
        if parts[0].kind == "arrow":
            with _arrow_file(path) as (_, is_file, _):
                return is_file
        with load_module("pyarrow.parquet").ParquetFile(path) as file:
            return bool(file.num_row_groups == 1 and file.metadata.num_rows <= ROWS)


def is_large(parts: Sequence[Part], columns: Sequence[str]) -> bool:
    """Whether a table is better read in batches: several files, or columns of many bytes when they are unpacked."""
    return len(parts) > 1 or _unpacked(parts[0], set(columns)) > LARGE


def _unpacked(part: Part, columns: Collection[str]) -> int:
    """About how many bytes columns of a file take; of a CSV file, all its columns."""
    with readable(part.path):
        if part.kind == "csv":
            with _csv_source(part.path) as (source, raw):
                return part.size if source is raw else _unzipped(source, raw, part.size)
        if part.kind == "parquet":
            file = load_module("pyarrow.parquet").read_metadata(part.path)
            wanted = [i for i in range(file.num_columns) if file.schema.column(i).path.split(".")[0] in columns]
            groups = [file.row_group(g) for g in range(file.num_row_groups)]
            size: int = sum(group.column(i).total_uncompressed_size for group in groups for i in wanted)
            return max(size, int(file.num_rows) * len(columns) * VALUE)
        with _arrow_file(part.path) as (schema, _, pieces):
            piece, done = next(pieces, (None, 1))
            if piece is None:
                return 0
            size = sum(int(piece.column(i).nbytes) for i, name in enumerate(schema.names) if name in columns)
            return max(size, int(piece.num_rows) * len(columns) * VALUE) * part.size // max(1, done)


def _unzipped(source: Any, raw: Any, size: int) -> int:
    """About how many bytes a packed file of this size is, from its beginning; one that is large may be larger."""
    length = 0
    while length <= LARGE and (more := len(source.read(SAMPLE))):
        length += more
        if raw.tell() >= PACKED:
            break
    return length * size // max(1, int(raw.tell()))


def read_batches(
    parts: Sequence[Part],
    columns: Sequence[str] | None = None,
    *,
    numbers: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> Iterator[Batch]:
    """The wanted columns (``None``: all) of all files, a batch at a time, read ahead by a thread of its own.

    Columns of CSV files are text, where an empty field is a null, but the ``numbers`` are 64-bit floats. Text of
    the ``categories`` in CSV and Parquet files comes as a dictionary, which is faster. Other columns have their own
    types.
    """
    wanted = None if columns is None else list(dict.fromkeys(columns))
    return _ahead(_batches(parts, wanted, numbers, categories))


def _batches(
    parts: Sequence[Part], wanted: Sequence[str] | None, numbers: Sequence[str], categories: Sequence[str]
) -> Generator[Batch]:
    before = 0
    for part in parts:
        rows = 0
        if part.kind == "csv":
            source = _csv_batches(part, wanted, numbers, categories)
        elif part.kind == "parquet":
            source = _parquet_batches(part, wanted, categories)
        else:
            source = _arrow_batches(part, wanted)
        with closing(source) as pieces, readable(part.path):  # type: ignore[type-var]
            for piece, done in pieces:
                if piece.num_rows:
                    yield Batch(piece, part, rows, before + min(done, part.size))
                rows += piece.num_rows
        before += part.size


def _csv_batches(
    part: Part, wanted: Sequence[str] | None, numbers: Sequence[str], categories: Sequence[str] = ()
) -> Iterator[tuple[Any, int]]:
    pyarrow, arrow_csv = load_module("pyarrow"), load_module("pyarrow.csv")
    present, more = _csv_header(part.path)
    names = _pick(part.path, wanted, present)
    if not more:
        return
    coded = dict.fromkeys(categories, pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
    types = {name: pyarrow.float64() if name in numbers else coded.get(name, pyarrow.string()) for name in names}
    options = {
        "read_options": arrow_csv.ReadOptions(block_size=CSV_BLOCK),
        "parse_options": arrow_csv.ParseOptions(delimiter=_delimiter(part.path), newlines_in_values=True),
        "convert_options": arrow_csv.ConvertOptions(include_columns=names, column_types=types),
    }
    with _csv_source(part.path) as (source, raw):
        lines, rows = _Lines(source, _delimiter(part.path)), 0
        try:
            with closing(_parsed(lines, options)) as batches:  # type: ignore[type-var]
                for batch in batches:
                    rows += batch.num_rows
                    yield _nulls_for_empty(batch), raw.tell()
        except pyarrow.ArrowInvalid as error:
            _check_quotes(part.path)
            if "straddling" in str(error):
                raise DataError(
                    f"a row of '{part.path}' must fit into {CSV_BLOCK >> 20} MiB, but one after row {rows} (counted "
                    "from 1, without the header) does not; shorten its fields, or check its quotes and line breaks."
                ) from None
            if numbers and "conversion error" in str(error):
                _name_bad_number(part, numbers)
            raise
        if lines.may_hide_rows(rows + 1):
            _check_quotes(part.path)


def _parsed(lines: _Lines, options: dict[str, Any]) -> Iterator[Any]:
    """The batches that pyarrow makes of a CSV file's bytes.

    At the end, whatever ended it, its threads have nothing of Python's any more: one that lets go of an object while
    Python shuts down aborts the process.
    """
    pyarrow, arrow_csv = load_module("pyarrow"), load_module("pyarrow.csv")
    source = _Source(lines)
    lent, back = source.lent, source.back
    file = pyarrow.PythonFile(source, "r")
    del source
    try:
        yield from arrow_csv.open_csv(file, **options)
    except pyarrow.ArrowException:
        if lines.failed is None:
            raise
    finally:
        del file
        with suppress(queue.Empty):
            for _ in lent:  # it may still grow, but not once the source is back
                back.get(timeout=GONE)
    if lines.failed is not None:
        raise lines.failed


def _pick(path: Path, wanted: Sequence[str] | None, present: Sequence[str]) -> list[str]:
    """The names to read; each must be there exactly once."""
    names = list(present) if wanted is None else list(wanted)
    require_columns(names, present)
    times = Counter(present)
    for name in names:
        if times[name] > 1:
            raise DataError(f"'{path}' has {times[name]} columns {name!r}; rename them apart.")
    return names


@contextmanager
def _csv_source(path: Path) -> Iterator[tuple[Any, Any]]:
    """A file's text as a stream of bytes, unpacked if need be, and the file itself, which knows how far it is read."""
    pyarrow = load_module("pyarrow")
    with pyarrow.OSFile(str(path)) as raw:
        if not path.name.lower().endswith(".gz"):
            yield raw, raw
        else:
            with pyarrow.CompressedInputStream(raw, "gzip") as source:
                yield source, raw


def _csv_header(path: Path) -> tuple[list[str], bool]:
    """Names of the columns of a CSV file, and whether there are rows."""
    delimiter = _delimiter(path)
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
        header = next(filter(None, csv.reader(lines, delimiter=delimiter)), None)
        more = any(line.strip() for line in lines)
    if header is None:
        raise DataError(f"'{path}' must hold a header line, but it is empty.")
    if any("\udc80" <= letter <= "\udcff" for name in header for letter in name):  # undecoded bytes
        raise DataError(f"the header of '{path}' must be UTF-8 text; save the file as UTF-8.")
    return header, more


def _delimiter(path: Path) -> str:
    return "\t" if table_suffix(path).startswith(".tsv") else ","


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
    columns = [empty_to_null(column) if is_text(column) or is_coded(column) else column for column in batch.columns]
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


# ---- quotes of a CSV file: one that is not closed makes one field of all rows that follow ---------------------------


class _Source:
    """What pyarrow reads from. It tells when pyarrow has let go of it, and of all bytes that were read: by a function
    that is not Python's own code, within which another thread could take over."""

    closed = False

    def __init__(self, lines: _Lines) -> None:
        self.lines, self.back = lines, queue.SimpleQueue[object]()
        self.lent: list[weakref.ref[object]] = [weakref.ref(self, self.back.put)]

    def read(self, size: int) -> memoryview:
        """The next bytes; none after an error, which is not lent either."""
        try:
            data = memoryview(self.lines.read(size))  # bytes cannot be referred to weakly
        except Exception as error:
            self.lines.failed, data = error.with_traceback(None), memoryview(b"")
        self.lent.append(weakref.ref(data, self.back.put))
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


class _Lines:
    """The bytes of a CSV file on their way to the parser; its lines are counted if there are quotes.

    Where there are as many lines as records, no field holds a line break, so no quote hides a row. That costs next to
    nothing; other files with quotes must be looked at again.
    """

    def __init__(self, source: Any, delimiter: str) -> None:
        self.source, self.delimiter, self.begun, self.quoted, self.late = source, delimiter, False, False, False
        self.breaks, self.last, self.line = 0, LF, b""  # so far; the last byte; the last line that has begun
        self.failed: Exception | None = None

    def read(self, size: int) -> bytes:
        """The next bytes."""
        data: bytes = self.source.read(size)
        if not self.quoted and b'"' in data:
            self.quoted, self.late = True, self.begun
        self.begun = True
        if self.quoted and data:
            self._count(data)
        return data

    def _count(self, data: bytes) -> None:
        text = np.frombuffer(data, np.uint8)
        self.breaks += int(np.count_nonzero(text == LF))
        if b"\r" in data or self.last == CR:
            returns = text == CR
            pairs = np.count_nonzero(returns[:-1] & (text[1:] == LF)) + int(self.last == CR and text[0] == LF)
            self.breaks += int(np.count_nonzero(returns) - pairs)
        self.last, begin = data[-1], max(data.rfind(end, 0, -2) for end in (b"\n", b"\r")) + 1
        self.line = data[begin:] if begin else self.line + data

    def may_hide_rows(self, records: int) -> bool:
        """Whether some lines may be no records, now that all are read, or a quote is open in the last one."""
        if not self.quoted or self.late or self.breaks + (self.last not in (LF, CR)) != records:
            return self.quoted
        return any(len(opens) > len(closes) for _, opens, closes, _ in _quoted_fields([self.line], self.delimiter))


def _check_quotes(path: Path) -> None:
    """Raise if a quote that opens a field is not closed, or rows later by one that was not meant to."""
    row, delimiter = 0, _delimiter(path)
    between = _separators(delimiter)
    with _csv_source(path) as (source, _):
        for text, opens, closes, ends in _quoted_fields(iter(lambda: source.read(CSV_BLOCK), b""), delimiter):
            breaks = np.flatnonzero((text == LF) | (text == CR))
            closed = opens[: len(closes)]
            first, last = text[closed + 1], text[closes - 1]
            alone = between[first] & between[last] & ((first == ord(delimiter)) | (last == ord(delimiter)))
            several = np.searchsorted(breaks, closes) > np.searchsorted(breaks, closed)
            wrong = np.concatenate((closed[several & (alone | ~between[text[ends]])], opens[len(closes) :]))
            outside = np.searchsorted(opens, breaks) == np.searchsorted(closes, breaks)
            until = breaks[outside & (breaks > 0) & (breaks < wrong.min(initial=len(text)))]
            row += int(np.count_nonzero((text[until - 1] != LF) & (text[until - 1] != CR)))
            if len(wrong):
                place = f"row {row} (counted from 1, without the header)" if row else "the header"
                raise DataError(
                    f"a quote that opens a field must be closed where the field ends, but one in {place} of '{path}' "
                    'is not, so that rows would be lost; close or remove it, or write """" for a field of one quote.'
                )


def _quoted_fields(
    blocks: Iterable[bytes], delimiter: str
) -> Iterator[tuple[NDArray[np.uint8], Places, Places, Places]]:
    """The text in stretches; where in each quoted fields open and close, and where the quotes that close them end.

    As pyarrow has it: a quote at the beginning of a field opens it, two inside are a letter, another closes it; any
    other quote is a letter. A stretch begins with the last byte of the one before. One field more opens than closes
    where it is not closed before the end of the file, or not for many blocks.
    """
    kept, start, between = b"\n", codecs.BOM_UTF8, _separators(delimiter)
    for block in itertools.chain(blocks, [None]):
        data = kept + (b"\n" if block is None else block.removeprefix(start))
        text = np.frombuffer(data.rstrip(b'"'), np.uint8)  # quotes at the end may go on in the next block
        places = np.flatnonzero(text == QUOTE)
        firsts = np.flatnonzero(np.diff(places, prepend=-1) > 1)
        begins, lengths = places[firsts], np.diff(firsts, append=len(places))
        odd, at_start = lengths % 2 == 1, between[text[begins - 1]]
        flips = np.concatenate(([0], np.cumsum(odd & at_start)))
        closed = np.maximum.accumulate(np.where(odd & ~at_start, np.arange(1, len(begins) + 1), 0))
        inside = np.concatenate(([False], (flips[1:] - flips[closed]) % 2 == 1))
        opens, closing = begins[~inside[:-1] & inside[1:]], inside[:-1] & ~inside[1:]
        kept, start = data[len(text) - 1 :], b""
        if inside[-1]:
            kept = data[opens[-1] - 1 :]
            if block is not None and len(kept) <= 8 * CSV_BLOCK:  # all of the field comes with the next stretch
                text, opens = text[: opens[-1]], opens[:-1]
        yield text, opens, begins[closing], (begins + lengths)[closing]


def _separators(delimiter: str) -> NDArray[np.bool_]:
    """(256,) which bytes stand between fields."""
    return np.isin(np.arange(256), [LF, CR, ord(delimiter)])


def _parquet_batches(part: Part, wanted: Sequence[str] | None, categories: Sequence[str]) -> Iterator[tuple[Any, int]]:
    parquet = load_module("pyarrow.parquet")
    metadata = parquet.read_metadata(part.path)
    columns = metadata.schema
    names = _pick(part.path, wanted, columns.to_arrow_schema().names)
    plain = {columns.column(i).path for i in range(len(columns))}  # others hold lists, structs or maps
    coded = [name for name in categories if name in plain]
    with parquet.ParquetFile(part.path, metadata=metadata, read_dictionary=coded, pre_buffer=False) as file:
        total, done = max(1, file.metadata.num_rows), 0
        for batch in file.iter_batches(ROWS, columns=names):
            done += batch.num_rows
            yield batch.select(names), part.size * done // total


def _arrow_batches(part: Part, wanted: Sequence[str] | None) -> Iterator[tuple[Any, int]]:
    with _arrow_file(part.path, wanted) as (_, _, pieces):
        for piece, done in pieces:
            for begin in range(0, piece.num_rows, ROWS):
                yield piece.slice(begin, ROWS), done


@contextmanager
def _arrow_file(
    path: Path, wanted: Sequence[str] | None = None
) -> Iterator[tuple[Any, bool, Iterator[tuple[Any, int]]]]:
    """The schema of an Arrow file (Feather version 2) or stream, and whether it is a file, which the first bytes
    announce; record batches of the wanted columns, and the bytes of the file read with each."""
    pyarrow, ipc = load_module("pyarrow"), load_module("pyarrow.ipc")
    with pyarrow.OSFile(str(path)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        opener = ipc.open_file if is_file else ipc.open_stream
        reader = opener(source)
        schema, names = reader.schema, _pick(path, wanted, reader.schema.names)
        if is_file and wanted is not None:
            chosen = sorted(schema.names.index(name) for name in names)
            reader = opener(source, options=ipc.IpcReadOptions(included_fields=chosen))

        def pieces() -> Iterator[tuple[Any, int]]:
            count = reader.num_record_batches if is_file else 0
            for i in range(count):
                yield reader.get_batch(i).select(names), source.size() * (i + 1) // count
            for batch in () if is_file else reader:
                yield batch.select(names), source.tell()

        yield schema, is_file, pieces()


def _ahead(source: Generator[T]) -> Iterator[T]:
    """The same items, made by a thread of its own while those before are worked on; an error comes in its turn."""
    end: Any = object()
    pool = ThreadPoolExecutor(1)
    try:
        waiting = deque(pool.submit(next, source, end) for _ in range(AHEAD + 1))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, source, end))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
        source.close()
