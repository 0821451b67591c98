"""What was computed before: arrays and rows on disk, found by a hash of all that went into them.

    store = Store()
    name = key("scores", problem.digest, {"trees": 10}, source_digest("fairroc_studies.models.linear"))
    found = store.arrays(name, lambda: {"scores": computed()})    # computed unless it was before

A name is never written twice with different contents, so nothing goes stale. A damaged file or a folder that cannot be
written costs time and gives a warning, never a result.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.datasets._find import cache_folder
from fairroc.errors import DataError, warn_user
from fairroc.tables.write import written_together

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

DAMAGED = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What reading a file raises that is cut short, overwritten or of another kind."""


def home() -> Path:
    """The studies' folder in fairroc's part of the user's cache: results, peers' environments, packages with data."""
    return cache_folder() / "studies"


class Store:
    """A folder of results. Without a folder: "results" in the studies' part of the user's cache."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = home() / "results" if folder is None else Path(folder)

    @staticmethod
    def at(folder: str | os.PathLike[str] | None) -> Store:
        """The store in a folder; for None one that keeps nothing."""
        return _Nothing() if folder is None else Store(folder)

    def arrays(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays stored under a key, made and stored unless they are there."""
        found: Arrays | None = self.get(name)
        if found is None:
            found = make()
            self.put(name, found)
        return found

    def rows(self, name: str, make: Callable[[], Any]) -> Any:
        """The same for anything that JSON can say."""
        found = self.get_rows(name)
        if found is None:
            found = make()
            self.put_rows(name, found)
        return found

    def file(self, name: str, make: Callable[[], Arrays]) -> Path:
        """The file of the arrays stored under a key, for another process; made unless it is there."""
        path = self._path(name, "npz")
        if not path.is_file():
            self.put(name, make())
        return path

    def get(self, name: str) -> dict[str, NDArray[Any]] | None:
        """The arrays stored under a key, or None."""
        found: dict[str, NDArray[Any]] | None = self._read(self._path(name, "npz"), _read_arrays)
        return found

    def put(self, name: str, arrays: Arrays) -> None:
        """Store arrays of numbers, truth values or texts; whole or not at all."""
        plain = {title: np.asarray(array) for title, array in arrays.items()}
        for title, array in plain.items():
            if array.dtype.hasobject:
                raise TypeError(f"array {title!r} holds Python objects, which are not stored; convert it first.")
        self._write(self._path(name, "npz"), lambda sink: np.savez(sink, **plain))  # type: ignore[arg-type]

    def get_rows(self, name: str) -> Any:
        """What JSON was stored under a key, or None."""
        return self._read(self._path(name, "json"), lambda path: json.loads(path.read_text(encoding="utf-8")))

    def put_rows(self, name: str, rows: Any) -> None:
        """Store anything that JSON can say (numbers keep every bit); whole or not at all."""
        content = json.dumps(rows, allow_nan=False, separators=(",", ":")).encode()
        self._write(self._path(name, "json"), lambda sink: sink.write(content))

    def _path(self, name: str, suffix: str) -> Path:
        return self.folder / name[:2] / f"{name}.{suffix}"

    def _read(self, path: Path, read: Callable[[Path], Any]) -> Any:
        if not path.is_file():
            return None
        try:
            return read(path)
        except DAMAGED as error:
            warn_user(f"the stored result {path} cannot be read ({type(error).__name__}); it is computed again.")
            return None

    def _write(self, path: Path, write: Callable[[BinaryIO], object]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_together() as begin, begin(path) as sink:
                write(sink)
        except (OSError, DataError) as error:
            warn_user(f"a result is not kept for the next run: {error} Choose a folder that can be written.")


class _Nothing(Store):
    """Keeps nothing."""

    def _read(self, path: Path, read: Callable[[Path], Any]) -> Any:
        return None

    def _write(self, path: Path, write: Callable[[BinaryIO], object]) -> None:
        return None


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as source, np.load(source, allow_pickle=False) as found:
        return {title: found[title] for title in found.files}


def key(*parts: Any) -> str:
    """SHA-256 of texts, bytes, numbers, truth values, None, arrays, and lists and mappings of them.

    The order of a mapping does not matter; 1, 1.0, True and "1" differ, and so do [["a"], "b"] and [["a", "b"]].

    >>> key("a", {"x": 1, "y": None}) == key("a", {"y": None, "x": 1}) != key("a", {"x": 1.0, "y": None})
    True
    """
    digest = hashlib.sha256()
    _feed(digest.update, parts)
    return digest.hexdigest()


def _feed(update: Callable[[bytes], None], part: Any) -> None:
    """Every part with its kind and length before it, so that different parts never give the same bytes."""
    if isinstance(part, np.ndarray):
        if part.dtype.hasobject:
            raise TypeError("a key takes no array of Python objects; convert it first.")
        _feed(update, ("array", part.dtype.str, part.shape))
        update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, Mapping):
        update(b"m%d;" % len(part))
        for title in sorted(part):
            _feed(update, (title, part[title]))
    elif isinstance(part, Sequence) and not isinstance(part, (str, bytes)):
        update(b"l%d;" % len(part))
        for item in part:
            _feed(update, item)
    else:
        plain = part if isinstance(part, bytes) else json.dumps(_scalar(part)).encode()
        update(b"%c%d;" % (b"b" if isinstance(part, bytes) else b"j", len(plain)))
        update(plain)


def _scalar(part: Any) -> Any:
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, Path):
        return str(part)
    if part is None or isinstance(part, (str, bool, int, float)):
        return part
    raise TypeError(f"a key takes no {type(part).__name__}; pass text, numbers, arrays, lists or mappings.")


OURS = ("fairroc", "fairroc_studies")
"""The packages whose text decides about results; of all others the versions do."""


def source_digest(*modules: str) -> str:
    """SHA-256 of the texts of modules and of all of ours that they import, directly or through others."""
    return key([(name, _text(name)) for name in imported(*modules)])


def imported(*modules: str) -> tuple[str, ...]:
    """Modules and all of ours that they import, wherever in their text, directly or through others; sorted.

    A name that is imported from a package may come from any module of it, so it stands for all of them.
    """
    found, ahead = set[str](), list(modules)
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += _imports(name)
    return tuple(sorted(found))


@cache
def _imports(module: str) -> tuple[str, ...]:
    """What a module's text imports of ours, and the package that holds it."""
    package = module if _file(module).name == "__init__.py" else module.rpartition(".")[0]
    found = {package} - {"", *OURS}
    for node in ast.walk(ast.parse(_text(module))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: -(node.level - 1) or None] if node.level else []
            origin = ".".join([*parents, *filter(None, [node.module])])
            names = [name if _is_module(name := f"{origin}.{alias.name}") else origin for alias in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] in OURS:
                found |= _whole(name)
    return tuple(found)


def _whole(name: str) -> set[str]:
    """A module; a package with all modules in it."""
    home = _file(name).parent
    if _file(name).name != "__init__.py":
        return {name}
    inner = (path.relative_to(home).with_suffix("").parts for path in home.rglob("*.py"))
    return {".".join([name, *parts]).removesuffix(".__init__") for parts in inner if parts[-1] != "__main__"}


@cache
def _is_module(name: str) -> bool:
    if name.partition(".")[0] not in OURS:
        return False
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # what holds it is no package
        return False


@cache
def _file(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no source of module {module!r}")
    return Path(spec.origin)


@cache
def _text(module: str) -> str:
    return _file(module).read_text(encoding="utf-8")


def package_versions(modules: Iterable[str]) -> dict[str, str]:
    """Versions of numpy, of scipy and of the packages that hold the modules, as far as they are installed."""
    wanted = {"numpy", "scipy", *(module.partition(".")[0] for module in modules)}
    packages = {package for module in wanted for package in _holders().get(module, ())}
    return {package: metadata.version(package) for package in sorted(packages)}


@cache
def _holders() -> Mapping[str, list[str]]:
    """The packages that hold each module; to find them takes a good part of a second."""
    return metadata.packages_distributions()
