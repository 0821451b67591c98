"""The problems of the paper and further ones: public data, a label, groups, and honest splits of the people.

problem = load("adult")
parts = split(problem, seed=0)  # 60 % to train on, 20 % to fit post-processors on, 20 % to measure on
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError, DatasetError
from fairroc_studies.problems.packaged import PACKAGED
from fairroc_studies.problems.problem import Problem, digest, numbers, sample

if TYPE_CHECKING:
    import pyarrow as pa


QUICK = ("adult", "compas")
"""The problems of a quick run."""
PAPER = (*QUICK, "celeba")
"""The problems of the paper; the others are extra runs."""
FULL = (
    *("adult", "compas", "compas-propublica", "adult-race", "adult-sex-race", "compas-race", "compas-race-sex"),
    "celeba",
)
"""The problems of a full run; further ones must be asked for by name."""
LEAST = 125
"""People that every group must have with each label, or rare races are merged: 25 in a part of 20 %."""
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

    short: str  # for headings
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
        problem = sample(problem, rows)
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
        found, places = np.unique(crossed, return_inverse=True)
        if np.bincount(2 * places + labels, minlength=2 * len(found)).min() >= LEAST:
            break
    return crossed


def _crossed(columns: Sequence[NDArray[np.str_]]) -> NDArray[np.str_]:
    """The columns' words joined as ``fairroc.people.rows`` joins them."""
    crossed = columns[0]
    for column in columns[1:]:
        crossed = np.char.add(np.char.add(crossed, " & "), column)
    return crossed


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
        privileged=_most(labels, groups),
        digest="",
        images=images,
        partition=None if table["split"].null_count else _words(table, "split"),
    )


def _packaged(title: str, *, name: str) -> Problem:
    """A data set of a package. Nobody says which group is privileged; it is the one with the most positives."""
    import pyarrow as pa

    frame, y, group = PACKAGED[name].read()
    plain = frame.apply(lambda column: column.map(str, na_action="ignore") if column.dtype.kind == "O" else column)
    labels, groups = np.asarray(y, dtype=bool), np.asarray(group).astype(str)
    features = pa.Table.from_pandas(plain, preserve_index=False)
    return Problem("", title, features, PACKAGED[name].protected, labels, groups, _most(labels, groups), "")


def _most(labels: NDArray[np.bool_], groups: NDArray[np.str_]) -> str:
    """The group with the largest share of positives."""
    shares = {str(name): float(labels[groups == name].mean()) for name in np.unique(groups)}
    return max(shares, key=lambda name: shares[name])


PROBLEMS: dict[str, Source] = {
    "adult": Source("Adult by sex", "Adult, income above 50K by sex", partial(_adult, by=("sex",), privileged="Male")),
    "compas": Source(
        "COMPAS, African-American and others",
        "COMPAS, new offence within two years by race",
        partial(_compas, by=(), privileged=OTHER),
    ),
    "compas-propublica": Source(
        "COMPAS, ProPublica's filter", "COMPAS from raw features, new offence within two years by race", _propublica
    ),
    "adult-race": Source(
        "Adult by race", "Adult, income above 50K by race", partial(_adult, by=("race",), privileged="White")
    ),
    "adult-sex-race": Source(
        "Adult by sex and race",
        "Adult, income above 50K by sex and race",
        partial(_adult, by=("sex", "race"), privileged="Male & White"),
    ),
    "compas-race": Source(
        "COMPAS by race",
        "COMPAS, new offence within two years by four races",
        partial(_compas, by=("race",), privileged="Caucasian"),
    ),
    "compas-race-sex": Source(
        "COMPAS by race and sex",
        "COMPAS, new offence within two years by race and sex",
        partial(_compas, by=("race", "sex"), privileged="Other & Female"),
    ),
    "celeba": Source("CelebA by sex", "CelebA, Attractive by sex", _celeba),
    **{name: Source(one.title, one.title, partial(_packaged, name=name)) for name, one in PACKAGED.items()},
}
"""All problems by name. On COMPAS a high score does harm, so the privileged are those who get fewer of them."""
