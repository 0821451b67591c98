"""Fair scores for tables in files: read, transformed and written a batch of rows at a time, however large they are."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fairroc.backends.frames import Use
from fairroc.core.chain import FloatArray
from fairroc.errors import DataError
from fairroc.model.draw import IdCount
from fairroc.model.model import checked_columns, warn_unknown
from fairroc.options import generator_from_state
from fairroc.people.rows import ScoreColumns, TakenColumns
from fairroc.tables.columns import as_arrow, ids_from_text, numbers_from_text
from fairroc.tables.files import (
    Part,
    check_writable,
    find_parts,
    identity,
    load_module,
    refuse_read,
    table_suffix,
)
from fairroc.tables.read import Batch, has_one_dictionary, part_schema, read_batches
from fairroc.tables.write import table_writer, written_together

Progress: TypeAlias = Callable[[int, int], None]


def is_folder(output: str) -> bool:
    """Whether an output is a folder, which gets a file for every file that is read: its name ends in a slash."""
    return output.endswith(("/", os.sep))


def check_output(output: str, read: Sequence[str] = ()) -> None:
    """Raise unless the output can be written: a file, none of those ``read``, or a folder that is there or can be
    made."""
    folder = Path(output)
    if not is_folder(output):
        if folder.is_dir():
            raise DataError(
                f"the output '{output}' is a folder; name a file in it, or end its name in a slash (-o {output}/) for "
                "one file in it for every file that is read."
            )
        check_writable(output, read=read)
    else:
        check_writable(folder / "table" if folder.is_dir() else folder, None)


def transform_table(use: Use, data: str, output: str, *, progress: Progress | None = None) -> tuple[int, int]:
    """Write all rows of a file, a folder or a pattern with their fair scores; number of rows, and of those of unknown
    groups.

    The fair scores are those of a transform of all rows at once. All output appears when all of it is on disk, or,
    on failure, nothing does.
    """
    parts = find_parts(data)
    pyarrow = load_module("pyarrow")
    schemas = [part_schema(part) for part in parts]
    for part, schema in zip(parts, schemas, strict=True):
        use.check(schema.names, where=f"'{part.path}'", option="--column")
    targets = _targets(parts, schemas, output)
    _check_apart(data, [part.path for part in parts], targets)
    work = _Work(use, generator_from_state(0 if use.seed is None else use.seed), IdCount())
    total = max(1, sum(part.size for part in parts) >> 20)
    outputs, place = list(dict.fromkeys(targets)), dict(zip(parts, targets, strict=True))
    same = len(outputs) < 2 and has_one_dictionary(parts)
    with _folder(output), written_together() as begin, closing(read_batches(parts)) as batches:  # type: ignore[type-var]
        for target in outputs:
            check_writable(target)
        batch = next(batches, None)
        for target, schema in zip(outputs, schemas, strict=False):  # batches come in the order of the parts
            columns = schema.append(pyarrow.field(use.column, pyarrow.float64()))
            with begin(target) as sink, table_writer(sink, table_suffix(target), columns, categories=same) as write:
                while batch is not None and place[batch.part] == target:
                    write(work.rewritten(batch))
                    if progress is not None:
                        progress(batch.done >> 20, total)
                    batch = next(batches, None)
        if not work.rows:
            raise DataError(f"'{parts[0].path}' must hold at least one row of data, got none.")
        use.model.judge_range(work.outside, work.rows, use.allow_out_of_range, many=1)
    warn_unknown(work.unknown, work.rows, use.on_unknown_group)
    work.ids.warn()
    return work.rows, work.unknown


def _check_apart(data: str, files: Sequence[Path], targets: Sequence[Path]) -> None:
    """Raise if a target is one of the files that are read, or would be read with them the next time."""
    source, read = Path(data), {identity(file) for file in files}
    folder = source.resolve() if source.is_dir() else None
    pattern = source.absolute() if not source.exists() and glob.has_magic(data) else None
    for target in dict.fromkeys(targets):
        refuse_read(target, read)
        inside = folder is not None and target.resolve().is_relative_to(folder)
        if inside or (pattern is not None and target.absolute().match(str(pattern))):
            raise DataError(
                f"the output '{target}' would be read with '{data}' the next time, and its rows counted twice; name a "
                "place outside of it with -o."
            )


def _targets(parts: Sequence[Part], schemas: Sequence[Any], output: str) -> list[Path]:
    """The file that each part goes to."""
    if is_folder(output):
        names = [part.path.name for part in parts]
        for name, times in Counter(names).items():
            if times > 1:
                raise DataError(f"two files are called '{name}', and '{output}' can hold one; name an output file.")
        return [Path(output) / name for name in names]
    for part, schema in zip(parts, schemas, strict=True):
        if not schema.equals(schemas[0]):
            raise DataError(
                f"files that go into one must have the same columns and types, but '{part.path}' and "
                f"'{parts[0].path}' differ ({_difference(schema, schemas[0])}); convert them, or name an output "
                "folder: -o FOLDER/."
            )
    return [Path(output)] * len(parts)


def _difference(one: Any, other: Any) -> str:
    if one.names != other.names:
        return f"columns {', '.join(one.names)} and {', '.join(other.names)}"
    name = next(name for name in one.names if one.field(name) != other.field(name))
    return f"column {name!r} is {one.field(name).type} and {other.field(name).type}"


@contextmanager
def _folder(output: str) -> Iterator[None]:
    """Make the output's folder if need be; on failure it goes again."""
    folder = Path(output)
    new = is_folder(output) and not folder.exists()
    if new:
        folder.mkdir()
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise


# ---- rows ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Work:
    """Turns batches into batches with fair scores, in order: draws from a seed go on from batch to batch."""

    use: Use
    generator: np.random.Generator
    ids: IdCount
    rows: int = 0
    unknown: int = 0
    outside: int = 0

    def rewritten(self, batch: Batch) -> Any:
        """The batch, as a table, with its fair scores."""
        try:
            converted = self._converted(batch)
        except DataError as error:  # names the row
            raise DataError(f"'{batch.part.path}': {error}") from None
        try:
            columns, uniforms = self._read(batch.rows, converted)
        except DataError as error:
            raise batch.located(error, lambda rows: self._read(rows, converted)) from None
        if uniforms is None:
            uniforms = self.generator.random(len(columns.scores))
        elif self.use.model.needs_ids:
            self.ids.add(uniforms)
        self.rows += len(columns.scores)
        self.unknown += columns.unknown
        self.outside += self.use.model.outside(columns.scores)
        table = load_module("pyarrow").Table.from_batches([batch.rows])
        return table.append_column(self.use.column, [as_arrow(self.use.model.fair_scores(columns, uniforms))])

    def _converted(self, batch: Batch) -> TakenColumns:
        """What is needed of a batch; scores, probabilities and ids of a file without types as numbers."""
        names, rows = self.use.names, batch.rows
        taken = self.use.taken({name: rows.column(name) for name in names.all})
        if not batch.part.is_text:  # files with types keep them: there, ids that are text are hashed as text
            return taken
        told = taken.probabilities
        return taken._replace(
            score=numbers_from_text(taken.score, names.score, before=batch.first),
            id=None if taken.id is None else ids_from_text(taken.id, before=batch.first),
            probabilities=told
            and {name: numbers_from_text(column, name, before=batch.first) for name, column in told.items()},
        )

    def _read(self, rows: Any, converted: TakenColumns) -> tuple[ScoreColumns, FloatArray | None]:
        """Checked scores and groups of a batch's first rows, and the draws that belong to their ids."""
        use, model = self.use, self.use.model
        taken = _first(converted, rows.num_rows)
        ids = taken.id
        columns = checked_columns(model, taken.score, use.told(taken), use.on_unknown_group)
        return columns, None if ids is None else model.uniforms(rows.num_rows, ids=ids, key=use.key)


def _first(taken: TakenColumns, rows: int) -> TakenColumns:
    """The first rows."""

    def cut(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: column[:rows] for name, column in part.items()}
        return None if part is None else part[:rows]

    return TakenColumns(*map(cut, taken))
