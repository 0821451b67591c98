"""Make the sample of Adult that comes with the package, from the full data set: ``python tools/adult_sample.py``.

Which rows are taken depends on a hash of their place alone, so every run, anywhere, gives the same bytes.
``--check`` writes nothing and exits 1 where the file in the package differs.
"""

from __future__ import annotations

import csv
import hashlib
import io
import sys
from pathlib import Path

from fairroc.datasets import load_adult

PLACE = Path(__file__).resolve().parents[1] / "src" / "fairroc" / "datasets" / "data" / "adult_sample.csv"
ROWS = {"train": 5_000, "test": 10_000}
COLUMNS = (
    *("age", "workclass", "education_num", "marital_status", "occupation", "race", "sex"),
    *("capital_gain", "capital_loss", "hours_per_week", "label", "split"),
)


def rank(split: str, row: int) -> str:
    """What decides whether a row is taken: those with the smallest hashes are."""
    return hashlib.sha256(f"adult {split} {row}".encode()).hexdigest()


def sample() -> str:
    """The file's text: rows in their original order, a missing value is an empty field."""
    table = load_adult()
    columns = table.select(COLUMNS).to_pydict()
    places: dict[str, list[int]] = {split: [] for split in ROWS}
    for place, split in enumerate(columns["split"]):
        places[split].append(place)
    taken = []
    for split, count in ROWS.items():
        chosen = sorted(range(len(places[split])), key=lambda row, split=split: rank(split, row))[:count]
        taken += [places[split][row] for row in sorted(chosen)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([columns[name][place] for name in COLUMNS] for place in taken)
    return out.getvalue()


if __name__ == "__main__":
    made = sample().encode()
    if "--check" in sys.argv[1:]:
        sys.exit(None if PLACE.read_bytes() == made else f"{PLACE.name} is not what this script makes.")
    PLACE.write_bytes(made)
