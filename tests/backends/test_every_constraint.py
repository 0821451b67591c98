"""Models of every constraint do the same in every engine, bit for bit, and nobody needs an id where nobody is drawn."""

from __future__ import annotations

import csv
import dataclasses
import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from test_cli import Run, run
from test_pipeline import same_bits

from fairroc import frames
from fairroc.errors import DataError
from fairroc.model.lookup import Lookup
from fitted_people import FairROC
from sql_cases import ONE_RATE, Case, case
from test_frames import ENGINES, by_id

__all__ = ["run"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

NAMES = [*ONE_RATE, "tolerances"]
NOBODY = ["parity, never", "never, where"]


@cache
def table(name: str) -> pa.Table:
    """Hard rows with ids that can be sorted."""
    some = case(name)
    return pa.table({"p": some.scores, "g": some.groups["a group"], "id": np.arange(len(some.scores))})


@cache
def expected(name: str) -> np.ndarray:
    rows = table(name)
    groups = rows["g"].to_pylist()
    return case(name).model.transform(rows["p"].to_numpy(), sensitive_features=groups, ids=rows["id"].to_numpy())


def by_tables(some: Case, uniforms: np.ndarray) -> np.ndarray:
    """Fair scores by the declared tables, one row after the other, in plain Python."""
    tables = some.model.tables
    cells, outcomes, knots = tables.cells, tables.outcomes, tables.knots
    found = []
    for score, group, u in zip(some.scores.tolist(), some.groups["a group"], uniforms.tolist(), strict=True):
        code = some.model.codes[group]
        starts = cells.starts()[code]
        cell = cells.opens[code] + int(np.sum(starts <= score)) - 1
        if cells.row[cell] < 0:
            found.append((score - cells.origin[cell]) * cells.slope[cell] + cells.value[cell])
            continue
        one = np.flatnonzero((outcomes.row == cells.row[cell]) & (outcomes.lower <= u))[-1]
        begin = cells.begin[cell] if outcomes.level[one] == cells.first[cell] else 0.0
        end = cells.end[cell] if outcomes.level[one] == cells.last[cell] else 1.0
        share = (u - outcomes.lower[one]) / (outcomes.upper[one] - outcomes.lower[one])
        place = share * (end - begin) + begin + outcomes.level[one]
        knot = int(np.flatnonzero(knots.y <= place)[-1])
        fair = knots.score[knot]
        if place > knots.y[knot]:
            fair = min((place - knots.y[knot]) * knots.slope[knot] + fair, knots.below[knot])
        found.append(fair)
    return np.array(found)


@pytest.mark.parametrize("name", NAMES)
def test_numpy_follows_the_tables(name):
    some = case(name)
    uniforms = np.random.default_rng(1).random(len(some.scores))
    uniforms[:3] = 0.0, 0.5, np.nextafter(1.0, 0.0)
    groups = np.array([some.model.codes[group] for group in some.groups["a group"]])
    fair = Lookup(some.model.tables).scores(some.scores, groups, uniforms.__getitem__)
    assert same_bits(fair, by_tables(some, uniforms))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_frames(engine, name):
    fair = frames.transform(ENGINES[engine](table(name)), case(name).model, score="p", group="g", id="id")
    assert same_bits(by_id(fair, "p_fair"), expected(name))


@pytest.mark.parametrize("engine", ENGINES)
def test_frames_without_ids(engine):
    for how in ({}, {"id": "no such column", "key": "sixteen bytes or more"}):
        frame = ENGINES[engine](table(NOBODY[0]))
        fair = frames.transform(frame, case(NOBODY[0]).model, score="p", group="g", **how)
        assert same_bits(by_id(fair, "p_fair"), expected(NOBODY[0]))
    with pytest.raises(DataError, match="id must name a column of ids, got none"):
        frames.transform(ENGINES[engine](table("ratio")), case("ratio").model, score="p", group="g")


@pytest.mark.parametrize("name", NAMES)
def test_order_of_a_group_is_kept(name):
    """Where nobody is drawn the fair score never falls with the score, inside the fitted range and beyond."""
    some = case(name)
    if some.model.needs_ids:
        assert name not in NOBODY
        return
    groups, fair = np.array(some.groups["a group"]), expected(name)
    for group in some.model.names:
        mine = groups == group
        order = np.argsort(some.scores[mine], kind="stable")
        assert (np.diff(fair[mine][order]) >= 0).all()


@pytest.mark.parametrize("name", NOBODY)
def test_nobody_is_drawn(name):
    """The same score and group get the same fair score, whatever the id, the seed and the key, or without any."""
    some, rows = case(name), table(name)
    how = {"sensitive_features": rows["g"].to_pylist()}
    scores = rows["p"].to_numpy()
    draws = (
        {},
        {"random_state": 1},
        {"ids": np.arange(len(scores)) + 7},
        {"ids": [f"x{i}" for i in range(len(scores))]},
        {"ids": [np.nan, None, {}], "random_state": "no seed", "key": "short"},
    )
    keyed = dataclasses.replace(some.model, key_fingerprint="0" * 16)
    for given, model, n in itertools.product(draws, (some.model, keyed), (len(scores), 3)):
        fair = model.transform(scores[:n], sensitive_features=how["sensitive_features"][:n], **given)
        assert same_bits(fair, expected(name)[:n])
    assert not some.model.uniforms(3, ids=[1, 1]).any()
    chosen = some.model.predict(scores, threshold=0.5, **how)
    assert chosen.tolist() == (expected(name) >= 0.5).astype(int).tolist()
    rates = some.model.acceptance_rate(scores, threshold=0.5, **how)
    assert rates.tolist() == chosen.tolist()
    one = {"sensitive_features": how["sensitive_features"][:1]}
    for given, got in (({}, "neither"), ({"ids": [1], "random_state": 0}, "both")):
        with pytest.raises(DataError, match=f"give either ids or random_state, got {got}"):
            case("ratio").model.transform(scores[:1], **one, **given)


def test_the_estimator_needs_no_ids_either():
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 900), rng.integers(0, 2, 900)
    scores = y + rng.normal(size=900) * np.where(sex == "f", 1.0, 2.0)
    how = {"constraint": "equal_opportunity", "draw": "never", "key": "sixteen bytes or more"}
    post = FairROC(0.1, **how).fit(scores, y, sensitive_features=sex)
    fair = post.transform(scores, sensitive_features=sex)
    assert same_bits(fair, post.transform(scores, sensitive_features=sex, ids=np.arange(900)))
    assert (post.predict(scores, sensitive_features=sex) == (fair >= 0.5)).all()
    assert same_bits(fair, post.fit_transform(scores, y, sensitive_features=sex))
    assert "Fair score, equal_opportunity" in post.model_.to_sql("duckdb", id=None)


@pytest.mark.parametrize("name", ["parity, tied", "never, where", "ratio"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files(tmp_path: Path, run: Run, name: str, suffix: str) -> None:
    """`fairroc transform` gives the same bits; without --id and --seed only where nobody is drawn."""
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    source, model = tmp_path / f"in.{suffix}", tmp_path / "m.json"
    rows = table(name)
    (arrow_csv.write_csv if suffix == "csv" else parquet.write_table)(rows, source)
    case(name).model.save(model)
    how = ("transform", source, "--model", model, "--score", "p", "--group", "g")
    assert run(*how, "--id", "id", "-o", tmp_path / "out.csv").code == 0
    assert same_bits(column(tmp_path / "out.csv"), expected(name))
    bare = run(*how, "-o", tmp_path / "bare.csv")
    if name in NOBODY:
        assert bare.code == 0 and same_bits(column(tmp_path / "bare.csv"), expected(name))
    else:
        assert bare.code == 2 and "give either --id" in bare.err and not (tmp_path / "bare.csv").exists()
    (tmp_path / "key").write_text("sixteen bytes or more")
    for given in (("--id", "id", "--seed", "1"), ("--seed", "1", "--key-file", tmp_path / "key")):
        both = run(*how, *given, "-o", tmp_path / "both.csv")
        assert both.code == (0 if name in NOBODY else 2)
        assert name not in NOBODY or same_bits(column(tmp_path / "both.csv"), expected(name))


def column(path: Path) -> np.ndarray:
    with path.open(encoding="utf-8", newline="") as file:
        return np.array([float(row["p_fair"]) for row in csv.DictReader(file)])


def test_sql_of_the_command_line_without_ids(tmp_path: Path, run: Run) -> None:
    for name in ("parity, never", "ratio"):
        case(name).model.save(tmp_path / "m.json")
        ran = run("sql", "--model", tmp_path / "m.json", "--dialect", "duckdb", "--score", "p", "--group", "g")
        assert ran.code == (0 if name in NOBODY else 2)
        assert "demographic_parity at epsilon 0.1" in ran.out if name in NOBODY else "--id" in ran.err
