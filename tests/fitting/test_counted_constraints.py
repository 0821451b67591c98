"""Models of every constraint from counts, streams and files are those of the rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from test_cli import Run, run
from test_pipeline import same_bits

import fairroc
from fairroc import FairModel, ScoreCounts
from fitted_people import FairROC
from strategies import SEEDS

__all__ = ["run"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

HOW = [
    {"constraint": "equal_opportunity", "epsilon": 0.05},
    {"constraint": "predictive_equality", "epsilon": 0.1, "draw": "all"},
    {"constraint": "demographic_parity", "ratio": 0.8},
    {"constraint": "demographic_parity", "epsilon": 0.4, "draw": "never"},
    {"constraint": "equal_opportunity", "epsilon": 0.05, "where": (0.1, 0.6)},
    {"epsilon": {"fpr": 0.3, "tpr": 0.05}},
]


def people(seed: int, n: int, digits: int = 1) -> dict[str, np.ndarray]:
    """Rows of two group columns; the last six people are two small groups."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], n), rng.choice(["old", "young"], n)
    y = rng.integers(0, 2, n)
    y[-6:], sex[-6:] = [0, 0, 1, 1, 0, 1], ["x", "z"] * 3
    scores = (y + rng.normal(size=n) * np.where(sex == "f", 0.7, 1.5) + 0.3 * (age == "old")).round(digits)
    return {"p": scores, "y": y, "sex": sex, "age": age, "w": rng.integers(1, 4, n).astype(float)}


def text(model: FairModel) -> str:
    return replace(model, record=replace(model.record, date="")).to_json()


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(HOW), st.booleans(), st.sampled_from(["merge", "drop"]))
def test_counts_give_the_model_of_the_rows(seed, how, several, small) -> None:
    rows = people(seed, 400)
    features = {"sex": rows["sex"], "age": rows["age"]} if several else rows["sex"]
    known = {"salt": 1, "small_groups": small, "min_class_rows": 2, **how}
    truth = FairROC(**known).fit(rows["p"], rows["y"], sensitive_features=features).model_
    counts = ScoreCounts.from_rows(rows["p"], rows["y"], sensitive_features=features)
    found = FairROC(**known).fit_counts(counts).model_
    assert text(found) == text(truth)
    assert found.small_groups.treatment == small and found.constraint == how.get("constraint", "equalized_odds")


@pytest.mark.parametrize("how", HOW[:5], ids=str)
def test_whole_weights_are_rows(how) -> None:
    """Weights that count people give the fair scores of so many rows; sums round in another order."""
    rows = people(5, 400)
    rows = {name: values[:-6] for name, values in rows.items()}
    times = rows["w"].astype(int)
    weighted = FairROC(salt=1, **how).fit(rows["p"], rows["y"], sensitive_features=rows["sex"], sample_weight=rows["w"])
    often = {name: np.repeat(values, times) for name, values in rows.items()}
    repeated = FairROC(salt=1, **how).fit(often["p"], often["y"], sensitive_features=often["sex"])
    one, other = weighted.certificate_, repeated.certificate_
    assert (one.gap, one.auc, one.auc_bound) == pytest.approx((other.gap, other.auc, other.auc_bound), abs=1e-9)
    assert one.gap <= one.epsilon + 1e-12


FLAGS = [
    ("--constraint", "equal_opportunity", "--epsilon", "0.05"),
    ("--constraint", "demographic_parity", "--ratio", "0.8"),
    ("--constraint", "demographic_parity", "--epsilon", "0.4", "--draw", "never"),
    ("--constraint", "predictive_equality", "--epsilon", "0.05", "--where", "0.1:0.6"),
    ("--epsilon-fpr", "0.3", "--epsilon-tpr", "0.05"),
]


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_streams_give_the_model_of_the_rows(tmp_path: Path, run: Run, flags) -> None:
    """`fairroc fit --stream` on a folder, `count_files` and plain rows: one model, its options in the file."""
    rows = people(3, 900)
    (tmp_path / "parts").mkdir()
    table = pa.table(rows)
    for i in range(3):
        parquet.write_table(table.slice(300 * i, 300), tmp_path / "parts" / f"{i}.parquet")
    parquet.write_table(table, tmp_path / "rows.parquet")
    names = (
        "--score",
        "p",
        "--label",
        "y",
        "--group",
        "sex",
        "--group",
        "age",
        "--small-groups",
        "drop",
        "--min-class-rows",
        "5",
    )
    models = []
    for data, more in (("rows.parquet", ()), ("parts", ("--stream",))):
        ran = run("fit", tmp_path / data, *names, *flags, *more, "-o", tmp_path / "m.json")
        assert ran.code == 0, ran.err
        models.append(FairModel.load(tmp_path / "m.json"))
    one, other = models
    assert text(replace(one, salt=0)) == text(replace(other, salt=0))
    counts = fairroc.count_files(tmp_path / "parts", score="p", label="y", group=["sex", "age"])
    asked = {name: getattr(one, name) for name in ("constraint", "draw", "where")}
    tolerances = None if one.tolerances is None else dict(zip(("fpr", "tpr"), one.tolerances, strict=True))
    asked |= {"ratio": one.ratio} if one.ratio is not None else {"epsilon": tolerances or one.epsilon}
    third = fairroc.fit_counts(
        counts, **{"epsilon": 0.05} | asked, small_groups="drop", min_class_rows=5, salt=0
    ).model_
    assert text(third) == text(replace(one, salt=0))
    how = {"sensitive_features": {"sex": rows["sex"][:-6], "age": rows["age"][:-6]}, "ids": np.arange(894)}
    assert same_bits(third.transform(rows["p"][:-6], **how), replace(one, salt=0).transform(rows["p"][:-6], **how))
