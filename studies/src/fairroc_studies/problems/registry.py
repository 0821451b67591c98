"""The problems of the paper and further ones: public data, a label, groups, and honest splits of the people.

    problem = load("adult")
    parts = split(problem, seed=0)  # 60 % to train on, 20 % to fit post-processors on, 20 % to measure on

What is left without the protected columns can still tell the group: on Adult ``relationship`` (Husband, Wife) all but
names the sex. ``protected`` says which columns state it, not that the rest is silent about it.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError, DatasetError
from fairroc_studies.harness.store import key
from fairroc_studies.paper.study import FloatArray, IntArray, Problem, Split

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    *("PAPER", "PROBLEMS", "QUICK", "Source", "check_name", "codes", "digest", "inputs", "is_words", "load"),
    *("numbers", "split"),
]

QUICK = ("adult", "compas")
"""The problems of a quick run."""
PAPER = (*QUICK, "celeba")
"""The problems of the paper; the others are extra runs."""
IMAGE = "image"
"""The column that names a person's picture; tables of inputs leave it out."""
LEAST = 125
"""People that every group must have with each label, or rare races are merged: 25 in a part of 20 %."""
TINY = 10
"""People of every group with each label that a sample keeps: two in a part of 20 %."""
FEWEST = 5
"""People of every group with each label without which a part would lack somebody."""
PARTS = (0.6, 0.8)
"""Where the shuffled people of a group and label are cut in three."""
OTHER = "Other"
SEX = "Male"
"""CelebA's attribute that makes the groups."""
RACES = ("African_American", "Asian", "Hispanic", "Native_American", "Other")
"""Columns of the 12-column COMPAS table that tell a race; none set means Caucasian."""
SCREENED = [
    *("sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree")
]
"""Columns of the raw COMPAS file that were known on the day of the screening and are not made by COMPAS."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a problem comes from; ``read`` gets the title, and CelebA's the folder and the target's name too."""

    title: str
    read: Callable[..., Problem]


def load(
    name: str, *, rows: int | None = None, celeba: str | os.PathLike[str] | None = None, target: str = "Attractive"
) -> Problem:
    """The people of a problem by name; the names are those of ``PROBLEMS``.

    ``rows``: about so many people only, of every group and label as large a share as in all, and at least ten.
    ``celeba``: the folder of CelebA's files, as in ``fairroc.datasets.load_celeba_attributes``; ``target``: which of
    its attributes is the label.

    >>> load("compas").rows, load("compas").unprivileged
    (6172, ('African-American',))
    """
    check_name(name)
    source = PROBLEMS[name]
    options = (celeba, target) if name == "celeba" else ()
    problem = replace(source.read(source.title, *options), name=name)
    if rows is not None:
        problem = _sample(problem, rows)
    for values in (problem.labels, problem.groups, problem.partition):
        if values is not None:
            values.flags.writeable = False
    return replace(problem, digest=digest(problem))


def check_name(name: str) -> None:
    """Raise unless this is a problem's name."""
    if name not in PROBLEMS:
        close = difflib.get_close_matches(name, PROBLEMS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise DataError(f"no problem {name!r}; choose one of: {', '.join(PROBLEMS)}.{hint}")


def split(problem: Problem, seed: int) -> Split:
    """60 % of the people to train on, 20 % to calibrate on and 20 % to test on.

    Of every group's people with each label the parts get their shares, within one person; who goes where depends on
    the seed alone. Seed 0 of a problem with its authors' own partition is that partition.
    """
    if seed == 0 and problem.partition is not None:
        own = [np.flatnonzero(problem.partition == part) for part in ("train", "valid", "test")]
        return Split(seed, *own)
    cells = _cells(problem)
    few = [cell for cell in cells if len(cell) < FEWEST]
    if few:
        group, label = problem.groups[few[0][0]], int(problem.labels[few[0][0]])
        raise DataError(
            f"three parts need {FEWEST} people or more of every group with each label, but group {str(group)!r} has "
            f"{len(few[0])} with label {label}. Take more rows, or merge the group with another."
        )
    random = np.random.default_rng(seed)
    parts: tuple[list[IntArray], ...] = ([], [], [])
    for cell in cells:
        cuts = [round(share * len(cell)) for share in PARTS]
        for part, some in zip(parts, np.split(random.permutation(cell), cuts), strict=True):
            part.append(some)
    return Split(seed, *(np.sort(np.concatenate(part)) for part in parts))


def inputs(problem: Problem, *, protected: bool) -> pa.Table:
    """What a model of tables may learn from: all features but pictures, with the protected columns or without them."""
    left_out = {IMAGE, *(() if protected else problem.protected)}
    return problem.features.select([name for name in problem.features.column_names if name not in left_out])


def codes(column: pa.ChunkedArray[Any]) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct words of a column in order of appearance, and each row's place among them; -1 is null."""
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(column.combine_chunks())
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), places.astype(np.int32)


def numbers(column: pa.ChunkedArray[Any]) -> FloatArray:
    """A column of numbers or truth values; null is nan."""
    import pyarrow as pa

    values: FloatArray = column.cast(pa.float64()).to_numpy()
    return values


def is_words(column: pa.ChunkedArray[Any]) -> bool:
    """Whether a column of features holds words, not numbers."""
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def digest(problem: Problem) -> str:
    """SHA-256 of the values of a problem: the same for equal values, however they are stored.

    Pictures count by their names and sizes.
    """
    table = problem.features
    columns = [codes(table[name]) if is_words(table[name]) else numbers(table[name]) for name in table.column_names]
    people = [problem.labels.astype(np.uint8), *_coded(problem.groups)]
    own = None if problem.partition is None else _coded(problem.partition)
    pictures = None if problem.images is None else _sizes(problem.images, table[IMAGE].to_pylist())
    about = (problem.name, problem.title, problem.protected, problem.privileged)
    return key("problem", about, table.column_names, columns, people, own, pictures)


def _coded(words: NDArray[np.str_]) -> tuple[list[str], NDArray[np.int32]]:
    names, places = np.unique(words, return_inverse=True)
    return names.tolist(), places.astype(np.int32)


def _sizes(folder: Path, pictures: Sequence[str]) -> NDArray[np.int64]:
    """Bytes of each picture; all of them must be there."""
    with os.scandir(folder) as entries:
        found = {entry.name: entry.stat().st_size for entry in entries}
    missing = [name for name in pictures if name not in found]
    if missing:
        raise DatasetError(
            f"{folder} must hold every picture of the attribute file; {len(missing)} of {len(pictures)} are missing, "
            f"the first is {missing[0]}. Unpack the archive again, or move the folder away to do without pictures."
        )
    return np.array([found[name] for name in pictures], dtype=np.int64)


def _cells(problem: Problem) -> list[IntArray]:
    """Rows of every group and label, groups by name, label 0 first."""
    return [
        np.flatnonzero((problem.groups == group) & (problem.labels == label))
        for group in np.unique(problem.groups)
        for label in (False, True)
    ]


def _sample(problem: Problem, rows: int) -> Problem:
    """About so many people: an equal share of every group, label and part, and ``TINY`` people at least."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise DataError(f"rows must be a whole number above 0, or None for everybody; got {rows!r}.")
    cells = _cells(problem)
    if problem.partition is not None:
        part = problem.partition
        cells = [cell[part[cell] == name] for cell in cells for name in np.unique(part)]
    random, share = np.random.default_rng(0), min(rows / problem.rows, 1.0)
    kept = np.sort(np.concatenate([random.permutation(cell)[: max(round(share * len(cell)), TINY)] for cell in cells]))
    return replace(
        problem,
        features=problem.features.take(kept),
        labels=problem.labels[kept],
        groups=problem.groups[kept],
        partition=None if problem.partition is None else problem.partition[kept],
    )


def _words(table: pa.Table, name: str) -> NDArray[np.str_]:
    return np.array(table[name].to_pylist(), dtype=np.str_)


def _groups(table: pa.Table, by: tuple[str, ...], labels: NDArray[np.bool_]) -> NDArray[np.str_]:
    """Groups by the columns named, after the rarest races became "Other": as few as give every group ``LEAST`` people
    with each label."""
    columns = {name: _words(table, name) for name in by}
    crossed = _crossed(list(columns.values()))
    if "race" not in columns:
        return crossed
    race = columns["race"]
    names, sizes = np.unique(race, return_counts=True)
    common = names[np.argsort(-sizes, kind="stable")]
    for kept in range(len(common), 0, -1):
        columns["race"] = np.where(np.isin(race, common[:kept]), race, OTHER)
        crossed = _crossed(list(columns.values()))
        if _smallest_cell(crossed, labels) >= LEAST:
            break
    return crossed


def _crossed(columns: Sequence[NDArray[np.str_]]) -> NDArray[np.str_]:
    """The columns' words joined as ``fairroc.people.rows`` joins them."""
    crossed = columns[0]
    for column in columns[1:]:
        crossed = np.char.add(np.char.add(crossed, " & "), column)
    return crossed


def _smallest_cell(groups: NDArray[np.str_], labels: NDArray[np.bool_]) -> int:
    names, places = np.unique(groups, return_inverse=True)
    return int(np.bincount(2 * places + labels, minlength=2 * len(names)).min())


def _adult(title: str, *, by: tuple[str, ...], privileged: str) -> Problem:
    """All 48,842 people and all 14 attributes, nulls left as they are; what makes the groups is protected."""
    from fairroc.datasets import load_adult

    table = load_adult()
    labels = numbers(table["label"]) == 1
    features = table.drop_columns(["income", "label", "split"])
    return Problem("", title, features, by, labels, _groups(table, by, labels), privileged, "")


def _compas(title: str, *, by: tuple[str, ...], privileged: str) -> Problem:
    """The 12-column table of 6,172 people. Any race column tells something about any race, so all are protected."""
    from fairroc.datasets import load_compas, load_compas_fairml

    people, table = load_compas(filtered=True), load_compas_fairml()
    labels = numbers(table["Two_yr_Recidivism"]) == 1
    protected = (*RACES, *(("Female",) if "sex" in by else ()))
    groups = _groups(people, by, labels) if by else _african_american(people)
    return Problem("", title, table.drop_columns(["Two_yr_Recidivism"]), protected, labels, groups, privileged, "")


def _propublica(title: str) -> Problem:
    """The same 6,172 people with what was known of them on the day they were screened.

    Left out: all that COMPAS itself made of it (deciles, their texts, the violent score), all dates, the time in jail
    (many were released after the screening), and all that happened later.
    """
    from fairroc.datasets import load_compas

    table = load_compas(filtered=True)
    labels = numbers(table["label"]) == 1
    return Problem("", title, table.select(SCREENED), ("race",), labels, _african_american(table), OTHER, "")


def _african_american(people: pa.Table) -> NDArray[np.str_]:
    """African-Americans and others, the groups of the paper."""
    race = _words(people, "race")
    return np.where(race == "African-American", race, OTHER)


def _celeba(title: str, folder: str | os.PathLike[str] | None, target: str) -> Problem:
    """CelebA's people by sex, one attribute as the label and the others as features.

    Nobody says which sex is privileged; it is the one with the larger share of people with the attribute. Pictures are
    there if their folder is, the authors' partition if its file is.
    """
    from fairroc.datasets import celeba_attribute, find_celeba_images, load_celeba_attributes

    table = load_celeba_attributes(folder)
    label = celeba_attribute(table, target)
    if label == SEX:
        raise DataError(f"the label must be another attribute than the group's, {SEX}; choose one of the other 39.")
    labels = numbers(table[label]) == 1
    groups = np.where(numbers(table[SEX]) == 1, "Male", "Female")
    shares = {name: float(labels[groups == name].mean()) for name in np.unique(groups).tolist()}
    try:
        images = find_celeba_images(folder)
    except DatasetError:
        images = None
    return Problem(
        name="",
        title=title.replace("Attractive", label),
        features=table.drop_columns([label, "split"]),
        protected=(SEX,),
        labels=labels,
        groups=groups,
        privileged=max(shares, key=lambda name: shares[name]),
        digest="",
        images=images,
        partition=None if table["split"].null_count else _words(table, "split"),
    )


PROBLEMS: dict[str, Source] = {
    "adult": Source("Adult, income above 50K by sex", partial(_adult, by=("sex",), privileged="Male")),
    "compas": Source("COMPAS, new offence within two years by race", partial(_compas, by=(), privileged=OTHER)),
    "compas-propublica": Source("COMPAS from raw features, new offence within two years by race", _propublica),
    "adult-race": Source("Adult, income above 50K by race", partial(_adult, by=("race",), privileged="White")),
    "adult-sex-race": Source(
        "Adult, income above 50K by sex and race", partial(_adult, by=("sex", "race"), privileged="Male & White")
    ),
    "compas-race": Source(
        "COMPAS, new offence within two years by four races", partial(_compas, by=("race",), privileged="Caucasian")
    ),
    "compas-race-sex": Source(
        "COMPAS, new offence within two years by race and sex",
        partial(_compas, by=("race", "sex"), privileged="Other & Female"),
    ),
    "celeba": Source("CelebA, Attractive by sex", _celeba),
}
"""All problems by name. On COMPAS a high score does harm, so the privileged are those who get fewer of them."""
