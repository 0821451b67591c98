"""Which files make a table, told apart by their suffixes: CSV, Parquet and Arrow; a file, a folder or a pattern.

pyarrow is loaded when a file is read or written, not before.
"""

from __future__ import annotations

import csv
import difflib
import errno
import glob
import importlib
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from fairroc.errors import DataError

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
SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")

SHOWN = 20
"""Columns that an error lists."""

LINK = "remove the link, or name the files apart by a pattern"


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
        files = sorted(file for file in _fitting(path) if file.is_file() or (file.is_symlink() and not file.exists()))
        if not files:
            raise DataError(f"no file fits the pattern '{path}'; check the path.")
    else:
        files = [path]
    parts = tuple(map(find_part, files))
    same: dict[Path, Path] = {}
    for file in files if len(files) > 1 else ():
        if same.setdefault(file.resolve(), file) is not file:
            raise DataError(
                f"'{file}' and '{same[file.resolve()]}' are one file, and its rows would be read twice; {LINK}."
            )
    return parts


def find_part(path: str | os.PathLike[str]) -> Part:
    """One file of a table; there is such a file, with something in it."""
    file = Path(path)
    _check_name(file)
    if file.is_dir():
        raise DataError(f"'{file}' must be a file, but it is a folder; name a file in it: this takes one file.")
    if not file.exists() and file.is_symlink():
        raise DataError(f"'{file}' must be a file, but it is a link that leads nowhere or back to itself; {LINK}.")
    if not file.exists():
        raise DataError(f"there is no file '{file}'; check the path.")
    size = file.stat().st_size
    if file.is_file() and size == 0:
        raise DataError(f"'{file}' must hold a table, but it is empty.")
    return Part(file, FORMATS[table_suffix(file)], size)


def _check_name(path: Path) -> None:
    """Raise for a name that is no text: it could neither be opened by pyarrow nor be written into reports."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise DataError(f"the name of a file must be UTF-8 text, got {os.fsencode(path)!r}; rename it.") from None


def _visible_files(folder: Path) -> Iterator[Path]:
    seen: dict[str, str] = {}
    for place, folders, names in os.walk(folder, onerror=_refuse_folder, followlinks=True):
        real = os.path.realpath(place)
        if seen.setdefault(real, place) != place:
            raise DataError(f"'{place}' and '{seen[real]}' are one folder, and its rows would be read twice; {LINK}.")
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


def _fitting(pattern: Path) -> Iterator[Path]:
    """What fits a pattern; every folder that had to be looked into can be."""
    for place, words in enumerate(pattern.parts):
        if glob.has_magic(words):
            for folder in glob.glob(str(Path(*pattern.parts[:place])), recursive=True):  # noqa: PTH207
                if Path(folder).is_dir():
                    try:
                        os.scandir(folder).close()
                    except OSError as error:
                        _refuse_folder(error)
    for name in glob.glob(str(pattern), recursive=True):  # noqa: PTH207 - knows patterns that begin at the root
        yield Path(name)


def _refuse_folder(error: OSError) -> NoReturn:
    raise DataError(
        f"cannot read the folder '{error.filename}': {one_line(error)}; its files would be missed. Make it readable, "
        "or name the files by a pattern that leaves it out."
    ) from None


def table_suffix(path: Path, suffixes: Sequence[str] = TABLE_SUFFIXES) -> str:
    """The suffix that tells a table's format."""
    for suffix in sorted(suffixes, key=len, reverse=True):
        if path.name.lower().endswith(suffix):
            return suffix
    hint = "save it as CSV" if path.suffix.lower() in SHEETS else "rename it"
    raise DataError(f"the file name must end in one of {', '.join(suffixes)}, got '{path}'; {hint}.")


def check_writable(
    path: str | os.PathLike[str],
    suffixes: Sequence[str] | None = TABLE_SUFFIXES,
    *,
    read: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Raise unless a file of this name can be written and is none of those that are ``read``, by whatever name;
    ``suffixes=None`` allows any name.

    To be called before long work; a disk may of course fill up later.
    """
    target = Path(path)
    if suffixes is not None:
        table_suffix(target, suffixes)
    _check_name(target)
    try:
        target.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DataError(f"cannot write '{path}': it is a link that leads back to itself; name another.") from None
    folder = target.resolve().parent
    if not folder.is_dir():
        raise DataError(f"cannot write '{path}': there is no folder '{folder}'; create it first.")
    if target.exists() and not target.is_file():
        raise DataError(f"cannot write '{path}': it is there already and is not a plain file; name another.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"cannot write '{path}': no permission to write in '{folder}'; name another folder.")
    refuse_read(target, {identity(file) for file in read})


def refuse_read(target: Path, read: Collection[tuple[int, int] | None]) -> None:
    """Raise if a target is one of the files that are read, which their identities tell whatever names they go by."""
    if target.exists() and identity(target) in read:
        raise DataError(f"the output '{target}' is one of the files that are read; name another place with -o.")


def identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """What all names and links of a file have in common; None if it is not there."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def require_columns(wanted: Iterable[str], present: Sequence[str]) -> None:
    """Raise unless every wanted column is among the present ones."""
    known = set(present)
    for name in wanted:
        if name not in known:
            close = difflib.get_close_matches(name, present, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            if len(present) == 1 and name in present[0].replace("\t", ";").split(";"):
                hint = " The columns seem not to be separated by commas: save the file again with commas (.csv)."
            more = f" and {len(present) - SHOWN} more" if len(present) > SHOWN else ""
            raise DataError(f"no column {name!r}; columns: {', '.join(map(repr, present[:SHOWN]))}{more}.{hint}")


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
        raise DataError(f"cannot read '{path}': {one_line(error)}; {advice}.") from None


def load_module(name: str) -> Any:
    """A module of pyarrow, at the time of its use; typed Any, for stubs exist on some machines only."""
    return importlib.import_module(name)


def one_line(error: BaseException) -> str:
    """The first line of an error's text, without the noise that follows it."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.strip().splitlines()[0].rstrip(".") if text.strip() else type(error).__name__
