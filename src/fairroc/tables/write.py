"""Tables and texts to files: all of a file appears, and all of several files that belong together, or nothing does.

One writer for each format takes one table after the other; a small table is one of them.
"""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from fairroc.errors import DataError
from fairroc.tables.columns import is_text, text_array
from fairroc.tables.files import FORMATS, check_writable, load_module, one_line, table_suffix

QUOTED_ROWS = 1 << 12
"""Rows joined at once where fields need quotes: few, for their texts must fit into 2 GiB."""

ROW_GROUP = 1 << 20
"""Rows of a row group of a Parquet file; fewer where rows are wide."""

ROW_GROUP_BYTES = 1 << 27


def write_table(table: Any, path: str | os.PathLike[str]) -> None:
    """Write a ``pyarrow.Table`` in the format that the suffix names; all of it or, on failure, nothing."""
    target = Path(path)
    suffix, table = table_suffix(target), table.unify_dictionaries()
    with (
        written_together() as begin,
        begin(target) as sink,
        table_writer(sink, suffix, table.schema, categories=True) as write,
    ):
        write(table)


def write_columns(columns: dict[str, list[Any]], path: str | os.PathLike[str]) -> None:
    """The same for columns of values; those that are empty throughout count as numbers."""
    pyarrow = load_module("pyarrow")
    arrays = {name: pyarrow.array(values) for name, values in columns.items()}
    is_null = pyarrow.types.is_null
    found = {name: one.cast(pyarrow.float64()) if is_null(one.type) else one for name, one in arrays.items()}
    write_table(pyarrow.table(found), path)


def write_text_atomic(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write text as UTF-8; all of it or, on failure, nothing. Only its owner can read a private file."""
    with written_together(private=private) as begin, begin(Path(path)) as sink:
        sink.write(text.encode())


# ---- atomic ------------------------------------------------------------------------------------------------------


@contextmanager
def written_together(*, private: bool = False) -> Iterator[Callable[[Path], AbstractContextManager[BinaryIO]]]:
    """Give a function that opens a new file for writing. The files appear when all are written and on disk; on failure
    none does. Each is written beside its target; a link is followed, the mode of an old file is kept, unless the files
    are private: then only their owner can read them."""
    pending: list[tuple[Path, Path]] = []

    @contextmanager
    def begin(path: Path) -> Iterator[BinaryIO]:
        check_writable(path, None)
        target = path.resolve()
        beside = target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.tmp")  # at most 214 bytes
        with _writing(path):
            beside.touch(0o600 if private else 0o666, exist_ok=False)
            pending.append((beside, target))
            with beside.open("wb") as sink:
                yield sink
                sink.flush()
                os.fsync(sink.fileno())

    written: list[Path] = []
    try:
        yield begin
        for beside, target in pending:
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
        raise DataError(f"cannot write '{path}': {one_line(error)}; {changed}.") from None


# ---- formats -----------------------------------------------------------------------------------------------------


@contextmanager
def table_writer(
    sink: BinaryIO, suffix: str, schema: Any, *, categories: bool = False
) -> Iterator[Callable[[Any], None]]:
    """A function that writes one table after the other to a file of the suffix's format.

    The ``categories`` of a column are the same in all tables: only then can an Arrow file, which has one dictionary for
    a column, hold them as such.
    """
    pyarrow, kind = load_module("pyarrow"), FORMATS[suffix]
    if kind == "csv":
        make = _csv_writer(sink, suffix, schema)
    else:
        make = _parquet_writer(sink, schema) if kind == "parquet" else _arrow_writer(sink, schema, categories)
    try:
        with make as write:
            yield write
    except pyarrow.ArrowException as error:
        raise OSError(str(error)) from None  # said as any other failure to write


@contextmanager
def _csv_writer(sink: BinaryIO, suffix: str, schema: Any) -> Iterator[Callable[[Any], None]]:
    gz, delimiter = suffix.endswith(".gz"), "\t" if suffix.startswith(".tsv") else ","
    special = {'"', "\r", "\n", delimiter}
    names = ['"{}"'.format(name.replace('"', '""')) if special & set(name) else name for name in schema.names]
    with gzip.GzipFile("", "wb", fileobj=sink, mtime=0) if gz else nullcontext(sink) as out:
        out.write(f"{delimiter.join(names)}\n".encode())
        yield lambda table: _write_csv_rows(table, out, delimiter)


@contextmanager
def _parquet_writer(sink: BinaryIO, schema: Any) -> Iterator[Callable[[Any], None]]:
    pyarrow, parquet = load_module("pyarrow"), load_module("pyarrow.parquet")
    waiting: list[Any] = []

    def flush(writer: Any) -> None:
        if waiting:
            writer.write_table(pyarrow.concat_tables(waiting), row_group_size=ROW_GROUP)
            waiting.clear()

    with parquet.ParquetWriter(sink, schema) as writer:

        def write(table: Any) -> None:
            waiting.append(table.cast(schema))
            rows, size = sum(part.num_rows for part in waiting), sum(part.nbytes for part in waiting)
            if rows >= ROW_GROUP or size >= ROW_GROUP_BYTES:
                flush(writer)

        yield write
        flush(writer)


@contextmanager
def _arrow_writer(sink: BinaryIO, schema: Any, categories: bool) -> Iterator[Callable[[Any], None]]:
    pyarrow, ipc = load_module("pyarrow"), load_module("pyarrow.ipc")
    if not categories:
        is_dictionary = pyarrow.types.is_dictionary
        plain = [field.with_type(field.type.value_type) if is_dictionary(field.type) else field for field in schema]
        schema = pyarrow.schema(plain, schema.metadata)
    with ipc.new_file(sink, schema) as writer:
        yield lambda table: writer.write_table(table.cast(schema))


def _write_csv_rows(table: Any, sink: Any, delimiter: str) -> None:
    """Write rows of a CSV file, without a header."""
    pyarrow, arrow_csv = load_module("pyarrow"), load_module("pyarrow.csv")
    is_dictionary = pyarrow.types.is_dictionary
    if any(is_dictionary(field.type) for field in table.schema):  # CSV knows no categories
        plain = [one.cast(one.type.value_type) if is_dictionary(one.type) else one for one in table.columns]
        table = pyarrow.Table.from_arrays(plain, table.column_names)
    if _needs_quotes(table, delimiter):
        _write_quoted_csv(table, sink, delimiter)
    else:
        plain = arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="none", include_header=False)
        arrow_csv.write_csv(table, sink, plain)


def _needs_quotes(table: Any, delimiter: str) -> bool:
    """Whether some text or name holds a quote, a delimiter or a line break."""
    pc, texts = load_module("pyarrow.compute"), [text_array(table.column_names), *filter(is_text, table.columns)]
    return any(pc.any(_special(text, delimiter)).as_py() for text in texts)


def _write_quoted_csv(table: Any, sink: Any, delimiter: str) -> None:
    """Quotes around those fields that need them; pyarrow would quote every text, and so change all fields."""
    pyarrow, pc = load_module("pyarrow"), load_module("pyarrow.compute")
    for batch in table.to_batches(max_chunksize=QUOTED_ROWS):
        fields = [_quoted(pc.cast(column, pyarrow.string()), delimiter) for column in batch.columns]
        between = text_array([delimiter])[0]
        lines = pc.binary_join_element_wise(*fields, between, null_handling="replace", null_replacement="")
        sink.write("\n".join([*lines.to_pylist(), ""]).encode())


def _quoted(texts: Any, delimiter: str) -> Any:
    pc = load_module("pyarrow.compute")
    quote, nothing = text_array(['"', ""])
    inside = pc.replace_substring(texts, '"', '""')
    return pc.if_else(_special(texts, delimiter), pc.binary_join_element_wise(quote, inside, quote, nothing), texts)


def _special(texts: Any, delimiter: str) -> Any:
    return load_module("pyarrow.compute").match_substring_regex(texts, f'["{delimiter}\\r\\n]')
