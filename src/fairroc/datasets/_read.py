"""What the files hold: from bytes to one table per data set, whatever the layout of the source."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairroc.errors import DatasetError

if TYPE_CHECKING:
    import pyarrow as pa

_ADULT_COLUMNS: Mapping[str, type] = {
    "age": int,
    "workclass": str,
    "fnlwgt": int,
    "education": str,
    "education_num": int,
    "marital_status": str,
    "occupation": str,
    "relationship": str,
    "race": str,
    "sex": str,
    "capital_gain": int,
    "capital_loss": int,
    "hours_per_week": int,
    "native_country": str,
    "income": str,
}
# Names and birth dates, and the court's case numbers, which lead to the same names in public registers.
_COMPAS_DROPPED = frozenset({"name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number"})
_COMPAS_NEEDED = frozenset({"days_b_screening_arrest", "is_recid", "c_charge_degree", "score_text", "two_year_recid"})
FAIRML_COLUMNS = (
    *("Two_yr_Recidivism", "Number_of_Priors", "score_factor", "Age_Above_FourtyFive", "Age_Below_TwentyFive"),
    *("African_American", "Asian", "Hispanic", "Native_American", "Other", "Female", "Misdemeanor"),
)
_FAIRML_COUNTS = {"Two_yr_Recidivism": "two_year_recid", "Number_of_Priors": "priors_count"}
_FAIRML_FLAGS = {  # 1 where the column has the value
    "Age_Above_FourtyFive": ("age_cat", "Greater than 45"),
    "Age_Below_TwentyFive": ("age_cat", "Less than 25"),
    "African_American": ("race", "African-American"),
    "Asian": ("race", "Asian"),
    "Hispanic": ("race", "Hispanic"),
    "Native_American": ("race", "Native American"),
    "Other": ("race", "Other"),
    "Female": ("sex", "Female"),
    "Misdemeanor": ("c_charge_degree", "M"),
}
_CELEBA_SPLITS = ("train", "valid", "test")  # by the number in list_eval_partition.txt


def adult(content: bytes, name: str, split: str) -> pa.Table:
    """One part of Adult from any of its layouts: its own first line or none, blanks, label dots."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    columns = {}
    try:
        raw = csv.read_csv(
            BytesIO(content),
            csv.ReadOptions(column_names=list(_ADULT_COLUMNS), skip_rows=int(not content[:1].isdigit())),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(_ADULT_COLUMNS, pa.string())),
        )
        for column, kind in _ADULT_COLUMNS.items():
            text = pc.utf8_trim_whitespace(raw[column])
            text = pc.if_else(pc.equal(text, pa.scalar("?")), pa.scalar(None, pa.string()), text)
            columns[column] = text.cast(pa.int64()) if kind is int else text
    except pa.ArrowInvalid as error:
        raise DatasetError(f"{name} must hold Adult's 15 columns: {error}. Use the original file.") from error
    columns["income"] = pc.utf8_rtrim(columns["income"], ".")
    incomes = set(columns["income"].unique().to_pylist())
    if incomes != {"<=50K", ">50K"}:
        raise DatasetError(f"{name} must hold the incomes <=50K and >50K; got {incomes}. Use the original file.")
    columns["label"] = pc.equal(columns["income"], pa.scalar(">50K")).cast(pa.int8())
    columns["split"] = pa.repeat(split, raw.num_rows)
    return pa.table(columns)


def adult_sample(content: bytes) -> pa.Table:
    """The sample that comes with the package, with the types of the full data set."""
    import pyarrow as pa
    from pyarrow import csv

    kinds = {column: pa.int64() if kind is int else pa.string() for column, kind in _ADULT_COLUMNS.items()}
    types = {**kinds, "label": pa.int8(), "split": pa.string()}
    convert = csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    return csv.read_csv(BytesIO(content), convert_options=convert)


def compas(content: bytes) -> pa.Table:
    """Columns by name, each once, without those that name a person; a label is added."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(
            BytesIO(content),
            csv.ReadOptions(block_size=len(content) + 1),  # types are inferred from the first block: take all
            convert_options=csv.ConvertOptions(null_values=[""], strings_can_be_null=True),
        )
    except pa.ArrowInvalid as error:
        raise DatasetError(f"the COMPAS file must be a CSV file: {error}. Use the original file.") from error
    names = table.column_names
    if missing := _COMPAS_NEEDED.difference(names):
        raise DatasetError(
            f"the COMPAS file must have the columns {sorted(missing)}, which it lacks. Use the original file."
        )
    first = [names.index(name) for name in names]
    differ = [name for i, name in enumerate(names) if not table.column(i).equals(table.column(first[i]))]
    if differ:
        raise DatasetError(
            f"the COMPAS file may repeat a column with equal values only; {differ} differ. Use the original file."
        )
    table = table.select([i for i, name in enumerate(names) if first[i] == i and name not in _COMPAS_DROPPED])
    return table.append_column("label", table["two_year_recid"].cast(pa.int8()))


def propublica_filter(table: pa.Table) -> pa.Table:
    """The rows of ProPublica's analysis; a null in any of the four columns leaves the row out."""
    import pyarrow.compute as pc

    days = pc.field("days_b_screening_arrest")
    return table.filter(
        (days >= -30)
        & (days <= 30)
        & (pc.field("is_recid") != -1)
        & (pc.field("c_charge_degree") != "O")
        & (pc.field("score_text") != "N/A")
    )


def fairml(table: pa.Table) -> pa.Table:
    """ProPublica's filtered rows, in their order, as the 12 columns of int64 that the package fairml was shown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: table[source] for name, source in _FAIRML_COUNTS.items()}
    for name, (source, value) in _FAIRML_FLAGS.items():
        columns[name] = pc.equal(table[source], pa.scalar(value)).cast(pa.int64())
    columns["score_factor"] = pc.not_equal(table["score_text"], pa.scalar("Low")).cast(pa.int64())
    return pa.table({name: columns[name] for name in FAIRML_COLUMNS})


def celeba(place: Path) -> pa.Table:
    """Image names and attributes: a line with the count, one with the names, then -1 or 1 each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count, _, rest = place.read_bytes().partition(b"\n")
    header, _, body = rest.partition(b"\n")
    attributes = header.decode().split()
    table = _blank_separated(body, {"image": pa.string(), **dict.fromkeys(attributes, pa.int8())}, place)
    if count.strip() != str(table.num_rows).encode():
        raise DatasetError(
            f"{place} must hold as many images as its first line says ({count.decode().strip()}), "
            f"but holds {table.num_rows}. Download it again."
        )
    for i, name in enumerate(table.column_names[1:], start=1):
        if not pc.all(pc.is_in(table[name], pa.array([-1, 1], pa.int8()))).as_py():
            raise DatasetError(f"{place}: attribute {name!r} must be -1 or 1 everywhere. Download it again.")
        table = table.set_column(i, name, pc.equal(table[name], pa.scalar(1, pa.int8())).cast(pa.int8()))
    return table


def celeba_split(place: Path, images: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """The split of each image, matched by its name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _blank_separated(place.read_bytes(), {"image": pa.string(), "part": pa.int8()}, place)
    row = pc.index_in(images, table["image"])
    if row.null_count or not pc.all(pc.is_in(table["part"], pa.array([0, 1, 2], pa.int8()))).as_py():
        raise DatasetError(
            f"{place} must give every image 0, 1 or 2; "
            f"{row.null_count} of {len(images)} images are not in it. Download it again, "
            f"or remove it to load the attributes without the split."
        )
    return pa.chunked_array([pa.array(_CELEBA_SPLITS)]).take(table["part"].take(row))


def _blank_separated(body: bytes, types: Mapping[str, pa.DataType], place: Path) -> pa.Table:
    """Rows of values set apart by one or more blanks."""
    import pyarrow as pa
    from pyarrow import csv

    body = body.replace(b"\t", b" ").replace(b"\r\n", b"\n")
    while b"  " in body:  # many times faster than a regular expression on CelebA's 8 million values
        body = body.replace(b"  ", b" ")
    body = body.replace(b" \n", b"\n")
    try:
        return csv.read_csv(
            BytesIO(body),
            csv.ReadOptions(column_names=list(types)),
            csv.ParseOptions(delimiter=" "),
            csv.ConvertOptions(column_types=dict(types)),
        )
    except pa.ArrowInvalid as error:
        raise DatasetError(f"{place} must hold {len(types)} values in each row: {error}. Download it again.") from error
