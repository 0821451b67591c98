"""Fit and transform from a Parquet file in every engine: prints a Markdown table of seconds and ratios.

    python -m fairroc_studies engines --rows 1e6
    python -m fairroc_studies engines --rows 1e7 --distinct 1e4 --engines numpy duckdb spark

Every engine reads the same file, written to a temporary folder: a score with about ``--distinct`` different values (0:
as many as rows), labels, four groups of text and integer ids. "fit" ends with a model, "transform" with the sum of the
fair scores, so that lazy engines do all the work. All are warmed up on a thousand rows first, then take turns; the best
of ``--repeats`` counts. Ratios are to numpy, which reads the file by pyarrow in the same run. Spark runs as
local[--cores].
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairroc import FairModel, FairROC, frames

NAMES: dict[str, Any] = {"score": "p", "label": "y", "group": "g"}
USE: dict[str, Any] = {"score": "p", "group": "g", "id": "id"}


def people(rows: int, distinct: int) -> pa.Table:
    """Generated rows; the groups' scores are informative to different degrees."""
    rng = np.random.default_rng(0)
    group, y = rng.integers(0, 4, rows), rng.integers(0, 2, rows)
    score = 1 / (1 + np.exp(-(y * (0.5 + 0.4 * group) + rng.normal(size=rows))))
    score = np.floor(score * distinct) / distinct if distinct else score
    text = pa.DictionaryArray.from_arrays(pa.array(group.astype(np.int8)), pa.array(["north", "east", "south", "west"]))
    return pa.table({"p": score, "y": y, "g": text.cast(pa.string()), "id": rng.permutation(rows)})


class Numpy:
    """Arrays read by pyarrow: what all others are compared with."""

    def fit(self, path: str) -> FairModel:
        table = pq.read_table(path, columns=list(NAMES.values()))
        return (
            FairROC(promise="fitted", salt=0)
            .fit(table["p"].to_numpy(), table["y"].to_numpy(), sensitive_features=table["g"])
            .model_
        )

    def transform(self, path: str, model: FairModel) -> float:
        table = pq.read_table(path, columns=list(USE.values()))
        ids = table["id"].to_numpy()
        return float(model.transform(table["p"].to_numpy(), sensitive_features=table["g"], ids=ids).sum())


class Frame:
    """Any engine by how it reads a file and sums a column."""

    def __init__(self, read: Callable[[str], Any], total: Callable[[Any], Any]) -> None:
        self.read, self.total = read, total

    def fit(self, path: str) -> FairModel:
        return frames.fit(self.read(path), **NAMES, promise="fitted", salt=0).model_

    def transform(self, path: str, model: FairModel) -> float:
        return float(self.total(frames.transform(self.read(path), model, **USE)))


def pandas_engine(cores: int) -> Frame:
    import pandas as pd

    return Frame(pd.read_parquet, lambda frame: frame["p_fair"].sum())


def polars_engine(cores: int) -> Frame:
    import polars as pl

    return Frame(pl.read_parquet, lambda frame: frame["p_fair"].sum())


def lazy_engine(cores: int) -> Frame:
    import polars as pl

    return Frame(pl.scan_parquet, lambda frame: frame.select(pl.col("p_fair").sum()).collect().item())


def duckdb_engine(cores: int) -> Frame:
    import duckdb

    connection = duckdb.connect(config={"threads": cores})
    return Frame(connection.read_parquet, lambda frame: frame.aggregate("sum(p_fair)").fetchall()[0][0])


def dask_engine(cores: int) -> Frame:
    import dask
    import dask.dataframe as dd

    dask.config.set(num_workers=cores)
    return Frame(
        lambda path: dd.read_parquet(path, split_row_groups=True), lambda frame: frame["p_fair"].sum().compute()
    )


def spark_engine(cores: int) -> Frame:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "4g"}
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.sql.shuffle.partitions", str(cores))
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return Frame(session.read.parquet, lambda frame: frame.selectExpr("sum(p_fair)").first()[0])


ENGINES: dict[str, Callable[[int], Any]] = {
    "numpy": lambda cores: Numpy(),
    "pandas": pandas_engine,
    "polars": polars_engine,
    "polars-lazy": lazy_engine,
    "duckdb": duckdb_engine,
    "dask": dask_engine,
    "spark": spark_engine,
}


def measured(names: list[str], path: str, small: str, cores: int, repeats: int) -> list[str]:
    """A line of the table for every engine."""
    engines = {name: ENGINES[name](cores) for name in names}
    models = {name: one.fit(path) for name, one in engines.items()}
    for one in engines.values():
        one.transform(small, one.fit(small))
    times = {name: np.full((2, repeats), np.inf) for name in names}
    totals = {}
    for turn in range(repeats):
        for name, one in engines.items():
            times[name][0, turn] = seconds(partial(one.fit, path))[0]
            times[name][1, turn], totals[name] = seconds(partial(one.transform, path, models[name]))
    best = {name: found.min(axis=1) for name, found in times.items()}
    lines = []
    for name, (fit, transform) in best.items():
        ratios = best[name] / best[names[0]]
        same = np.isclose(totals[name], totals[names[0]], rtol=1e-9)  # sums differ by their order
        shown = name if same else f"{name} (in bins)"
        lines.append(f"| {shown} | {fit:.2f} | {ratios[0]:.1f} | {transform:.2f} | {ratios[1]:.1f} |")
    return lines


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--distinct", type=float, default=1e4, help="different scores; 0: all of them")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES), metavar="NAME")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        small, large = str(Path(folder, "small.parquet")), str(Path(folder, "large.parquet"))
        pq.write_table(people(1000, 100), small)
        pq.write_table(people(int(asked.rows), int(asked.distinct)), large, row_group_size=1 << 18)
        lines = measured(asked.engines, large, small, asked.cores, asked.repeats)
    print("| engine | fit, s | ratio | transform, s | ratio |\n|---|---|---|---|---|")
    print("\n".join(lines))
