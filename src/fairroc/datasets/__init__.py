"""Loaders for the public data sets of the fairness literature.

``load_adult_sample`` reads a file that comes with fairroc (CC BY 4.0, see ``data/LICENSE-adult.txt`` beside this
module). The others are checked by SHA-256: Adult and COMPAS are looked for in this order: ``path=``; the folder in
the environment variable ``FAIRROC_DATA`` (default: the user's cache folder); the files inside an installed package
that ships them (found through ``importlib.metadata``, never imported); a download from the data's home. Every source
gives the same table. CelebA comes from a local folder only.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairroc.datasets import _find, _read
from fairroc.docstrings import documented
from fairroc.errors import DatasetError
from fairroc.options import Option

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "celeba_attribute",
    "find_celeba_images",
    "load_adult",
    "load_adult_sample",
    "load_celeba_attributes",
    "load_compas",
    "load_compas_fairml",
    "make_scores",
]

PATH = Option(
    "path", None, ("str or path-like",), "the file or its folder; None: it is looked for, see `fairroc.datasets`", str
)
_CELEBA_HOME = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"


@documented()
def make_scores(
    n: int = 1000, *, groups: Sequence[str] = ("f", "m"), random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.str_]]:
    """Made-up scores, labels and groups for examples: the score tells less about the first group.

    Parameters
    ----------
    n : int
        Number of rows, shared evenly among the groups.
    groups : sequence of str
        Names of the groups.
    random_state : int
        Seed; the same seed gives the same rows.

    Returns: scores, y, groups: three arrays of shape (n,): scores in (0, 1), labels 0 and 1, names of groups.
    >>> scores, y, sex = make_scores(400)
    >>> scores.shape, float(y.mean()), sex[:2].tolist()
    ((400,), 0.4, ['f', 'm'])
    """
    rng, code = np.random.default_rng(random_state), np.arange(n) % len(groups)
    y = (np.arange(n) // len(groups) % 5 < 2).astype(np.int64)
    spread = np.linspace(1.8, 0.9, len(groups))[code]
    return 1 / (1 + np.exp(0.5 - y - spread * rng.normal(size=n))), y, np.array(groups)[code]


@documented(options=[PATH])
def load_adult(path: str | os.PathLike[str] | None = None, *, verify: bool = True) -> pa.Table:
    """Adult (census income): 48,842 rows, those of adult.data and then those of adult.test.

    Columns: the 14 attributes with underscores (text stripped, "?" is null), ``income`` ("<=50K" or ">50K"),
    ``label`` (int8, 1 for ">50K") and ``split`` ("train" or "test"). doi:10.24432/C5XW20

    Raises: DatasetError
    >>> load_adult().num_rows
    48842
    """
    import pyarrow as pa

    originals = (_find.ADULT_TRAIN, _find.ADULT_TEST)
    names = [file.name for file in originals]
    if path is not None and Path(path).is_file():
        if Path(path).name not in names:
            raise DatasetError(
                f"path= must be the folder of {names[0]} and {names[1]}, or one of them; "
                f"got the file {path}. Give the folder, or rename the file."
            )
        path = Path(path).parent
    parts = zip(_find.contents(originals, path, verify=verify), names, ("train", "test"), strict=True)
    return pa.concat_tables([_read.adult(*part) for part in parts])


@documented()
def load_adult_sample() -> pa.Table:
    """A sample of Adult that comes with fairroc: 15,000 people, 5,000 of its training part and 10,000 of its test part.

    Columns and values are those of ``load_adult``, without fnlwgt, education, relationship, native_country and income.
    Source: Becker and Kohavi (1996), UCI Machine Learning Repository, doi:10.24432/C5XW20, licence CC BY 4.0.

    >>> people = load_adult_sample()
    >>> people.num_rows, sum(people["label"].to_pylist())
    (15000, 3557)
    """
    return _read.adult_sample(files("fairroc.datasets").joinpath("data", "adult_sample.csv").read_bytes())


@documented(options=[PATH])
def load_compas(path: str | os.PathLike[str] | None = None, *, filtered: bool = False, verify: bool = True) -> pa.Table:
    """ProPublica's COMPAS two-years file: 7,214 rows, or the 6,172 of their analysis with ``filtered=True``.

    Dropped on load: the columns that name a person (name, first, last, dob) and the case numbers
    (c_case_number, r_case_number, vr_case_number), which lead to a name in the court's public register. What
    is left still holds exact dates and jail times: treat it as data about people. The file repeats
    decile_score and priors_count with equal values; each is kept once. Added: ``label`` (int8, equal to
    two_year_recid). The filter: screened within 30 days of the arrest, is_recid known, no ordinary traffic
    offence, a score given.

    Raises: DatasetError
    >>> load_compas().num_rows, load_compas(filtered=True).num_rows
    (7214, 6172)
    """
    (content,) = _find.contents([_find.COMPAS], path, verify=verify)
    table = _read.compas(content)
    return _read.propublica_filter(table) if filtered else table


@documented(options=[PATH])
def load_compas_fairml(path: str | os.PathLike[str] | None = None, *, verify: bool = True) -> pa.Table:
    """COMPAS as ProPublica's "data for fairml": 6,172 rows of 12 integer columns, made from the two-years file.

    Equal, row by row, to propublica_data_for_fairml.csv. The rows are those of ``load_compas(filtered=True)`` in
    the same order. ``Two_yr_Recidivism`` is the label, ``score_factor`` is 1 for a COMPAS score above "Low", the
    others but ``Number_of_Priors`` are 1 or 0 too; nothing set means 25 to 45 years, Caucasian, male, felony.

    Raises: DatasetError
    >>> load_compas_fairml().shape
    (6172, 12)
    """
    return _read.fairml(load_compas(path, filtered=True, verify=verify))


@documented(options=[PATH])
def load_celeba_attributes(path: str | os.PathLike[str] | None = None) -> pa.Table:
    """CelebA's attributes from local files: ``image``, the attributes as int8 0/1, and ``split``.

    ``split`` ("train", "valid" or "test") comes from list_eval_partition.txt next to the attributes, and is all null
    where that file is missing. Never downloads. doi:10.1109/ICCV.2015.425

    Raises: DatasetError
    >>> load_celeba_attributes("where-it-is")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    fairroc.errors.DatasetError: CelebA needs list_attr_celeba.txt, which is neither in where-it-is nor ...
    """
    import pyarrow as pa

    found = _celeba_file(path)
    table = _read.celeba(found)
    partition = found.parent / "list_eval_partition.txt"
    if not partition.is_file():
        return table.append_column("split", pa.nulls(table.num_rows, pa.string()))
    return table.append_column("split", _read.celeba_split(partition, table["image"]))


@documented(options=[PATH])
def find_celeba_images(path: str | os.PathLike[str] | None = None) -> Path:
    """The folder of CelebA's pictures: img_align_celeba beside the attribute file or one folder below.

    A folder without pictures is passed over, so an archive unpacked into a folder of its own name is found too.

    Raises: DatasetError
    >>> find_celeba_images("where-it-is")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    fairroc.errors.DatasetError: CelebA needs list_attr_celeba.txt, which is neither in where-it-is nor ...
    """
    place, name = _celeba_file(path).parent, "img_align_celeba"
    for folder in (place / name, *sorted(inner / name for inner in place.iterdir())):
        if folder.is_dir():
            with os.scandir(folder) as entries:
                if any(entry.name.endswith((".jpg", ".png")) for entry in entries):
                    return folder
    raise DatasetError(
        f"CelebA's pictures must be in a folder {name} in {place} or one folder below; there is none with .jpg or "
        f".png files. Download img_align_celeba.zip from {_CELEBA_HOME} and unpack it there."
    )


@documented()
def celeba_attribute(table: pa.Table, name: str) -> str:
    """The column of ``load_celeba_attributes`` that is meant; case and blanks instead of _ do not matter.

    Raises: DatasetError
    >>> import pyarrow as pa
    >>> celeba_attribute(pa.table({"image": ["1.jpg"], "Wearing_Hat": [1]}), "wearing hat")
    'Wearing_Hat'
    """
    attributes: list[str] = [column for column in table.column_names if column not in ("image", "split")]
    plain = {column.lower(): column for column in attributes}
    wanted = name.strip().lower().replace(" ", "_")
    if wanted in plain:
        return plain[wanted]
    close = [plain[match] for match in difflib.get_close_matches(wanted, plain, n=3)]
    hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Choose one of: {', '.join(attributes)}."
    raise DatasetError(f"an attribute of CelebA is needed, but there is none called {name!r}. {hint}")


def _celeba_file(path: str | os.PathLike[str] | None) -> Path:
    name = "list_attr_celeba.txt"
    folder = _find.data_folder() if path is None else Path(path)
    found = _find.local_file(folder, "celeba", name)
    if found is None:
        raise DatasetError(
            f"CelebA needs {name}, which is neither in {folder} nor in its subfolder celeba. Download it and "
            f"list_eval_partition.txt from {_CELEBA_HOME} and give their folder as path= or in FAIRROC_DATA."
        )
    return found
