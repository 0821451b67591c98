"""Tables from and to files: CSV, Parquet and Arrow, told apart by the file's suffix; writing is atomic.

pyarrow is loaded when a file is read or written, not before.
"""

from __future__ import annotations

import csv
import glob
import gzip
import importlib
import os
import secrets
import shutil
import time
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from fairroc.errors import DataError
from fairroc.people.rows import require_columns

try:
    import fcntl
except ImportError:  # not on this system: there, nobody cleans up after a process that was killed
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "FORMATS",
    "TABLE_SUFFIXES",
    "check_source",
    "check_writable",
    "csv_options",
    "csv_source",
    "empty_to_null",
    "ids_from_text",
    "is_csv",
    "load_module",
    "numbers_from_text",
    "packed",
    "pick",
    "read_csv_header",
    "read_table",
    "readable",
    "refuse_bytes",
    "table_suffix",
    "write_csv_rows",
    "write_table",
    "write_text_atomic",
    "written_together",
]

FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
TABLE_SUFFIXES = tuple(FORMATS)

QUOTED_ROWS = 1 << 12
"""Rows joined at once where fields need quotes: few, for their texts must fit into 2 GiB."""

ABANDONED = 60
"""Seconds after which an unfinished file that no process holds counts as left behind."""

SAFE_DIGITS = 18
"""Whole numbers of so many characters fit into 64 bits, whatever they are."""


def read_table(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None, text_columns: Sequence[str] | None = ()
) -> Any:
    """Read the wanted columns of a file as a ``pyarrow.Table``, in the order in which they are named.

    ``columns=None`` reads all. In a CSV file the text_columns (``None``: every column) are not converted, so that
    "01" stays "01", and an empty field is a null in every column. Other files bring their own types.
    """
    source = Path(path)
    check_source(source)
    kind = FORMATS[table_suffix(source)]
    wanted = None if columns is None else list(dict.fromkeys(columns))
    with readable(source):
        if kind == "csv":
            table = _read_csv(source, wanted, text_columns)
        else:
            table = (_read_parquet if kind == "parquet" else _read_arrow)(source, wanted)
    if table.num_rows == 0:
        raise DataError(f"'{source}' must hold at least one row of data, got none.")
    return table


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What goes wrong in reading a file is said in one line that names it."""
    pyarrow = load_module("pyarrow")
    try:
        yield
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, EOFError, zlib.error, csv.Error) as error:
        advice = "save the file as UTF-8" if "UTF8" in str(error) else "check that the file is whole"
        raise DataError(f"cannot read '{path}': {_one_line(error)}; {advice}.") from None


def write_table(table: Any, path: str | os.PathLike[str]) -> None:
    """Write a ``pyarrow.Table`` in the format that the suffix names; all of it or, on failure, nothing."""
    pyarrow = load_module("pyarrow")
    target = Path(path)
    suffix = table_suffix(target)
    write = {"csv": _write_csv, "parquet": _write_parquet, "arrow": _write_arrow}[FORMATS[suffix]]
    try:
        _write_atomic(target, lambda sink: write(table, sink, suffix))
    except pyarrow.ArrowException as error:
        raise DataError(f"cannot write '{target}': {_one_line(error)}; nothing was changed.") from None


def write_text_atomic(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write text as UTF-8; all of it or, on failure, nothing. Only its owner can read a private file."""
    content = text.encode()
    _write_atomic(Path(path), lambda sink: sink.write(content), private=private)


def check_writable(path: str | os.PathLike[str], suffixes: Sequence[str] | None = TABLE_SUFFIXES) -> None:
    """Raise unless a file of this name can be written; ``suffixes=None`` allows any name.

    To be called before long work; a disk may of course fill up later.
    """
    target = Path(path)
    if suffixes is not None:
        _suffix(target, suffixes)
    _check_target(target)


def is_csv(path: str | os.PathLike[str]) -> bool:
    """Whether the suffix tells of a file whose values are text, without types."""
    return FORMATS[table_suffix(Path(path))] == "csv"


def table_suffix(path: Path) -> str:
    """The suffix that tells a table's format."""
    return _suffix(path, TABLE_SUFFIXES)


def _suffix(path: Path, suffixes: Sequence[str]) -> str:
    for suffix in sorted(suffixes, key=len, reverse=True):
        if path.name.lower().endswith(suffix):
            return suffix
    raise DataError(f"the file name must end in one of {', '.join(suffixes)}, got '{path}'; rename it.")


def check_source(path: Path) -> None:
    """Raise unless there is such a file, with something in it."""
    if path.is_dir():
        raise DataError(f"'{path}' must be a file, but it is a folder; name a file in it: this takes one file.")
    if not path.exists():
        raise DataError(f"there is no file '{path}'; check the path.")
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"'{path}' must hold a table, but it is empty.")


def _check_target(path: Path) -> None:
    folder = path.resolve().parent
    if not folder.is_dir():
        raise DataError(f"cannot write '{path}': there is no folder '{folder}'; create it first.")
    if path.exists() and not path.is_file():
        raise DataError(f"cannot write '{path}': it is there already and is not a plain file; name another.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"cannot write '{path}': no permission to write in '{folder}'; name another folder.")


def pick(path: Path, wanted: Sequence[str] | None, present: Sequence[str]) -> list[str]:
    """The names to read; each must be there exactly once."""
    names = list(present) if wanted is None else list(wanted)
    require_columns(names, present)
    for name in names:
        if present.count(name) > 1:
            raise DataError(f"'{path}' has {present.count(name)} columns {name!r}; rename them apart.")
    return names


def _read_csv(path: Path, wanted: Sequence[str] | None, text_columns: Sequence[str] | None) -> Any:
    pyarrow, arrow_csv = load_module("pyarrow"), load_module("pyarrow.csv")
    present, more = read_csv_header(path)
    if not more:
        raise DataError(f"'{path}' must hold at least one row of data, got none.")
    names = pick(path, wanted, present)
    texts = names if text_columns is None else pick(path, text_columns, present)
    with csv_source(path) as (source, _):
        table = arrow_csv.read_csv(source, **csv_options(path, names, {name: pyarrow.string() for name in texts}))
    refuse_bytes(path, table.schema)
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_string(field.type):
            table = table.set_column(place, field.name, empty_to_null(table.column(place)))
    return table


@contextmanager
def csv_source(path: Path) -> Iterator[tuple[Any, Any]]:
    """A file's text as a stream of bytes, unpacked if need be, and the file itself, which knows how far it is read."""
    pyarrow = load_module("pyarrow")
    with pyarrow.OSFile(str(path)) as raw:
        if not path.name.lower().endswith(".gz"):
            yield raw, raw
        else:
            with pyarrow.CompressedInputStream(raw, "gzip") as source:
                yield source, raw


def csv_options(path: Path, names: Sequence[str], types: Mapping[str, Any]) -> dict[str, Any]:
    """How these columns of a CSV file are read, some of them as the given types."""
    arrow_csv = load_module("pyarrow.csv")
    delimiter = _delimiter(table_suffix(path))
    return {
        "parse_options": arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": arrow_csv.ConvertOptions(include_columns=names, column_types=types),
    }


def refuse_bytes(path: Path, schema: Any) -> None:
    """Raise if a column of a CSV file is binary: pyarrow's way to say that the bytes are no UTF-8."""
    is_binary = load_module("pyarrow").types.is_binary
    for field in schema:
        if is_binary(field.type):
            raise DataError(f"column {field.name!r} of '{path}' must be UTF-8 text; save the file as UTF-8.")


def read_csv_header(path: Path) -> tuple[list[str], bool]:
    """Names of the columns of a CSV file, and whether there are rows."""
    delimiter = _delimiter(table_suffix(path))
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
        header = next(filter(None, csv.reader(lines, delimiter=delimiter)), None)
        more = any(line.strip() for line in lines)
    if header is None:
        raise DataError(f"'{path}' must hold a header line, but it is empty.")
    if any("\udc80" <= letter <= "\udcff" for name in header for letter in name):  # undecoded bytes
        raise DataError(f"the header of '{path}' must be UTF-8 text; save the file as UTF-8.")
    return header, more


def empty_to_null(column: Any) -> Any:
    """A text column with nulls for its empty texts."""
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    return pc.if_else(pc.equal(column, ""), pyarrow.scalar(None, column.type), column)


def _read_parquet(path: Path, wanted: Sequence[str] | None) -> Any:
    parquet = load_module("pyarrow.parquet")
    with parquet.ParquetFile(path) as file:
        names = pick(path, wanted, file.schema_arrow.names)
        return file.read(columns=names).select(names)


def _read_arrow(path: Path, wanted: Sequence[str] | None) -> Any:
    """Arrow IPC file (Feather version 2) or stream, whichever the first bytes announce."""
    pyarrow, ipc = load_module("pyarrow"), load_module("pyarrow.ipc")
    with pyarrow.OSFile(str(path)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        if not is_file:
            stream = ipc.open_stream(source)
            names = pick(path, wanted, stream.schema.names)
            return stream.read_all().select(names)
        present = ipc.open_file(source).schema.names
        names = pick(path, wanted, present)
        chosen = sorted(present.index(name) for name in names)
        options = ipc.IpcReadOptions(included_fields=chosen)
        return ipc.open_file(source, options=options).read_all().select(names)


def _write_csv(table: Any, sink: BinaryIO, suffix: str) -> None:
    with packed(sink, suffix) as out:
        write_csv_rows(table, out, suffix, header=True)


def packed(sink: BinaryIO, suffix: str) -> AbstractContextManager[Any]:
    """Where to write the text of a CSV file: through gzip if the suffix says so."""
    return gzip.GzipFile("", "wb", fileobj=sink, mtime=0) if suffix.endswith(".gz") else nullcontext(sink)


def write_csv_rows(table: Any, sink: Any, suffix: str, *, header: bool) -> None:
    """Write rows of a CSV file, after its header if that is wanted."""
    pyarrow, arrow_csv = load_module("pyarrow"), load_module("pyarrow.csv")
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_dictionary(field.type):  # CSV knows no categories
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    delimiter = _delimiter(suffix)
    if _needs_quotes(table, delimiter):
        _write_quoted_csv(table, sink, delimiter, header)
    else:
        plain = arrow_csv.WriteOptions(
            delimiter=delimiter, quoting_style="none", quoting_header="none", include_header=header
        )
        arrow_csv.write_csv(table, sink, plain)


def _needs_quotes(table: Any, delimiter: str) -> bool:
    """Whether some text or name holds a quote, a delimiter or a line break."""
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    texts = [pyarrow.array(table.column_names, pyarrow.string()), *filter(_is_text, table.columns)]
    return any(pc.any(_special(text, delimiter)).as_py() for text in texts)


def _write_quoted_csv(table: Any, sink: Any, delimiter: str, header: bool) -> None:
    """Quotes around those fields that need them; pyarrow would quote every text, and so change all fields."""
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    if header:
        names = _quoted(pyarrow.array(table.column_names, pyarrow.string()), delimiter)
        sink.write(f"{delimiter.join(names.to_pylist())}\n".encode())
    for batch in table.to_batches(max_chunksize=QUOTED_ROWS):
        fields = [_quoted(pc.cast(column, pyarrow.string()), delimiter) for column in batch.columns]
        lines = pc.binary_join_element_wise(*fields, delimiter, null_handling="replace", null_replacement="")
        sink.write("\n".join([*lines.to_pylist(), ""]).encode())


def _quoted(texts: Any, delimiter: str) -> Any:
    pc = load_module("pyarrow.compute")
    inside = pc.replace_substring(texts, '"', '""')
    return pc.if_else(_special(texts, delimiter), pc.binary_join_element_wise('"', inside, '"', ""), texts)


def _special(texts: Any, delimiter: str) -> Any:
    return load_module("pyarrow.compute").match_substring_regex(texts, f'["{delimiter}\\r\\n]')


def _is_text(column: Any) -> bool:
    types = load_module("pyarrow").types
    return bool(types.is_string(column.type) or types.is_large_string(column.type))


def numbers_from_text(column: Any, name: str, *, before: int = 0) -> Any:
    """A text column as 64-bit floats; the first value that is no number is named, with its row.

    So many rows came ``before`` those of the column.
    """
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    if not _is_text(column):
        return column
    texts = pc.utf8_trim_whitespace(column)
    try:
        return pc.cast(texts, pyarrow.float64())
    except pyarrow.ArrowInvalid:
        place = bisect_left(range(len(texts)), True, key=lambda last: not _are_numbers(texts.slice(0, last + 1)))
        raise DataError(
            f"column {name!r} must hold numbers; row {before + place + 1} (counted from 1, without the header) holds "
            f"{column[place].as_py()!r}. Mend it or name another column."
        ) from None


def ids_from_text(column: Any, *, before: int = 0) -> Any:
    """Ids of a CSV file, where every value is text: whole 64-bit numbers without leading zeros count as integers.

    The type of an id then never depends on the other ids of the file, nor does its draw. Ids such as "7.0" are
    refused, as a column of floats is: they come from whole numbers, some of which are missing.
    """
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    if not _is_text(column):
        return column
    floats = pc.match_substring_regex(column, r"\A-?[0-9]+\.0+\z")
    if pc.any(floats).as_py():
        place = pc.index(floats, True).as_py()
        raise DataError(
            f"ids must be whole numbers or text, but {pc.sum(floats).as_py()} of {len(column)} read like floats; the "
            f"first is {column[place].as_py()!r} in row {before + place + 1} (counted from 1, without the header). A "
            "float id column usually is an integer column with missing values: fill or drop those rows and write the "
            "ids without '.0'."
        )
    whole = pc.match_substring_regex(column, r"\A(0|-?[1-9][0-9]{0,19})\z")
    if not pc.any(whole).as_py():
        return column
    if pc.all(whole).as_py() and pc.max(pc.utf8_length(column)).as_py() <= SAFE_DIGITS:
        return pc.cast(column, pyarrow.int64())
    pairs = zip(column.to_pylist(), whole.to_pylist(), strict=True)
    return [int(text) if number and -(2**63) <= int(text) < 2**64 else text for text, number in pairs]


def _are_numbers(texts: Any) -> bool:
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    try:
        pc.cast(texts, pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return False
    return True


def _write_parquet(table: Any, sink: BinaryIO, suffix: str) -> None:
    parquet = load_module("pyarrow.parquet")
    parquet.write_table(table, sink)


def _write_arrow(table: Any, sink: BinaryIO, suffix: str) -> None:
    ipc = load_module("pyarrow.ipc")
    with ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _write_atomic(path: Path, write: Callable[[BinaryIO], object], *, private: bool = False) -> None:
    """Write all of a file or, on failure, nothing."""
    with written_together(private=private) as begin, begin(path) as sink:
        write(sink)


@contextmanager
def written_together(*, private: bool = False) -> Iterator[Callable[[Path], AbstractContextManager[BinaryIO]]]:
    """Give a function that opens a new file for writing. The files appear when all are written and on disk; on failure
    none does. Each is written beside its target; a link is followed, the mode of an old file is kept, unless the files
    are private: then only their owner can read them.

    The files have a token in common, and the first of a folder is locked to the end: so nobody takes the others, which
    are closed as soon as they are written, for left behind.
    """
    pending: list[tuple[Path, Path]] = []
    token, held = secrets.token_hex(4), set[Path]()
    with ExitStack() as locks:

        @contextmanager
        def begin(path: Path) -> Iterator[BinaryIO]:
            _check_target(path)
            target = path.resolve()
            _remove_abandoned(target)
            beside = target.parent / f".{target.name}.{token}.tmp"
            with _writing(path):
                beside.touch(0o600 if private else 0o666, exist_ok=False)
                pending.append((beside, target))
                with beside.open("wb") as sink:
                    if target.parent not in held:
                        _lock(locks.enter_context(beside.open("rb")))
                        held.add(target.parent)
                    yield sink
                    sink.flush()
                    os.fsync(sink.fileno())

        written: list[Path] = []
        try:
            yield begin
            for beside, target in reversed(pending):  # those that are locked come last
                with _writing(target, written):
                    if target.exists() and not private:
                        shutil.copymode(target, beside)
                    beside.replace(target)
                    written.append(target)
        finally:
            for beside, _ in pending:
                beside.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path, written: Sequence[Path] = ()) -> Iterator[None]:
    """What goes wrong in writing a file is said in one line, with the files that are changed already."""
    try:
        yield
    except OSError as error:
        changed = "nothing was changed"
        if written:
            more = f" and {len(written) - 5} more" if len(written) > 5 else ""
            names = ", ".join(f"'{name}'" for name in written[:5])
            changed = f"only these files were written: {names}{more}; run the command again"
        raise DataError(f"cannot write '{path}': {_one_line(error)}; {changed}.") from None


def _remove_abandoned(target: Path) -> None:
    """Remove what a process that was killed left beside a target: old, and it holds no file with the same token."""
    if fcntl is None:
        return
    for left in target.parent.glob(f".{glob.escape(target.name)}.????????.tmp"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED:
                together = list(left.parent.glob(f".*{glob.escape(left.name[-13:])}"))
                if not any(map(_is_held, together)):
                    for file in together:
                        file.unlink(missing_ok=True)


def _is_held(path: Path) -> bool:
    """Whether another process has the file locked."""
    with path.open("rb") as file:
        return not _lock(file)


def _lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed, where the system can; whether nobody else had it locked."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def load_module(name: str) -> Any:
    """A module of pyarrow, at the time of its use; typed Any, for stubs exist on some machines only."""
    return importlib.import_module(name)


def _delimiter(suffix: str) -> str:
    return "\t" if suffix.startswith(".tsv") else ","


def _one_line(error: BaseException) -> str:
    """The first line of an error's text, without the noise that follows it."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.strip().splitlines()[0].rstrip(".") if text.strip() else type(error).__name__
