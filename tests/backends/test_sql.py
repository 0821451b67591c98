"""A model as SQL: what is refused, and what DuckDB makes of it, compared with numpy bit for bit."""

from __future__ import annotations

import dataclasses
import json
import os
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_cli import Run, run
from test_pipeline import DRAW, from_population, populations, same_bits
from test_pipeline import fitted as fitted_rows

from fairroc import FairModel
from fairroc.backends.sql.common import Ask
from refusals import refuses
from sql_cases import CASES, KEY, WILD, Case, case, fitted, rows_for
from strategies import NORMS, SEEDS

__all__ = ["run"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


@pytest.fixture(scope="module")
def duck():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


def in_duckdb(duck, columns: dict, query: str) -> dict[str, np.ndarray]:
    """The query's columns, in the order of the rows."""
    import pyarrow as pa

    duck.register("people", pa.table(columns))
    found = duck.execute(f'SELECT * FROM ({query}) ORDER BY "a column"').fetchnumpy()
    return {name: np.ma.filled(np.ma.asarray(values), np.nan) for name, values in found.items()}


def test_the_cases_are_what_they_are_called():
    """Cells in order and cells that are drawn, with parts of levels of their own and without."""
    for name in ("order", "order, text", "inf"):
        cells = case(name).model.tables.cells
        assert (cells.first >= 0).any() and 0 < (cells.row >= 0).mean() < 1
    for name in ("draw", "draw, text", "froc", "extreme"):
        assert (case(name).model.tables.cells.row >= 0).all()
    for name in ("parity, tied", "ratio", "ratio, where"):
        assert 0 < (case(name).model.tables.cells.row >= 0).mean() < 1, name
    for name in (
        "opportunity",
        "predictive, where",
        "parity, never",
        "never, where",
        "nobody drawn",
        "apart",
        "tied",
        "unchanged",
    ):
        assert not case(name).model.needs_ids, name
    assert case("unchanged").model.unchanged
    assert sum(CASES[name]().model.unchanged for name in CASES) == 1


# ---- what is written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["duckdb", "spark", "postgres", "bigquery", "snowflake"])
def test_the_same_text_from_a_saved_model(dialect, tmp_path):
    some = case("order, text")
    some.model.save(tmp_path / "m.json")
    again = dataclasses.replace(some, model=FairModel.load(tmp_path / "m.json"))
    assert some.sql(dialect) == again.sql(dialect)


@pytest.mark.parametrize("dialect", ["duckdb", "spark", "postgres", "bigquery", "snowflake"])
def test_only_a_key_makes_it_a_secret(dialect):
    assert "keep this text as you keep the key" in case("key").sql(dialect)
    assert "keep this text" not in case("draw").sql(dialect)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"dialect": "oracle"},
            r"dialect must be 'duckdb' or 'spark' or 'postgres' or 'bigquery' or 'snowflake' \(.*\), got 'oracle'",
        ),
        ({"dialect": "postgres", "form": "query"}, r"form for postgres must be 'function' .*, got 'query'"),
        ({"dialect": "spark", "form": "function"}, r"form for spark must be 'query' or 'dbt'"),
        ({"id_type": "uuid"}, r"id_type must be 'integer' or 'text' \(.*--id-type\), got 'uuid'"),
        ({"score": ""}, r"score must be a name \(on the command line: --score\), got ''"),
        ({"group": []}, r"group must be a name"),
        ({"group": ["a", "a"]}, r"the same group column is named twice: 'a'"),
        (
            {"score": "s", "group": "s", "id": "s"},
            r"score, group and id must be different columns .*'s' is named twice",
        ),
        ({"score": "s", "id": "i", "group": ["g", "i"]}, r"must be different columns .*'i' is named twice"),
        ({"column": "score"}, r"the new column must have a name of its own, but 'score' is one of the others"),
        ({"table": " "}, r"table must name what to read .*--table"),
        ({"id": "two\nlines"}, r"id must be a name"),
        ({"on_unknown_group": "z"}, r"on_unknown_group must name a group of the model, got 'z'; groups: 'a', 'b'"),
    ],
)
def test_refusals(how, message):
    refuses(message, case("order").model.to_sql, **{"dialect": "duckdb", **how})


def test_the_secret_is_not_shown():
    """Neither the seed of a key's draws nor its salt is in what an error or a debugger shows."""
    model = case("key").model
    ask = Ask.checked(
        model, "spark", form=None, table="t", score="s", group="g", id="i", id_type="integer", column=None,
        function="f", tables=None, key=KEY, on_unknown_group=None,
    )  # fmt: skip
    assert str(ask.salt) not in repr(ask) and str(ask.seed) not in repr(ask)


def test_keys_are_checked():
    refuses("fitted with a key", case("key").sql, "duckdb", key=None)
    refuses(", got one of", case("key").sql, "duckdb", key="another key of many bytes")


def test_blake2b_is_refused():
    model = fitted(("a", "b"), seed=1, n=300, epsilon=0.1, hash="blake2b", draw="all")
    refuses(r'draws of hash="xxh64" only, but this model has hash=\'blake2b\'', model.to_sql, "spark")


def test_names_that_no_dialect_can_hold():
    refuses("NUL character", fitted(("a\0", "b"), seed=1, n=300, epsilon=2.0).to_sql, "duckdb")
    refuses("PostgreSQL's SQL is quoted", fitted(("$fairroc$", "b"), seed=1, n=300, epsilon=2.0).to_sql, "postgres")


# ---- DuckDB ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_duckdb_gives_the_same_bits(duck, name):
    some = case(name)
    found = in_duckdb(duck, some.columns, some.sql("duckdb"))
    assert list(found) == [*some.columns, "the score_fair"]
    assert same_bits(found["the score_fair"], some.expected)
    assert same_bits(found["the score"], some.scores)


@settings(max_examples=20)
@given(
    populations(max_groups=4),
    st.sampled_from([0.0, 0.05, 0.3]),
    NORMS,
    DRAW,
    SEEDS,
    st.sampled_from(["integer", "text"]),
)
def test_duckdb_gives_the_same_bits_on_any_model(duck, population, epsilon, norm, draw, seed, kind):
    rows = from_population(population)
    assume(len(np.unique(rows.scores)) > 1)
    some = rows_for(fitted_rows(rows, epsilon, norm, draw).model, kind, seed=seed, n=150)
    assert same_bits(in_duckdb(duck, some.columns, some.sql("duckdb"))["the score_fair"], some.expected)


@pytest.mark.parametrize("name", ["apart", "tied", "never, where", "unchanged"])
def test_duckdb_needs_no_ids_where_nobody_is_drawn(duck, name):
    some = case(name)
    columns = {what: values for what, values in some.columns.items() if what != 'i"d'}
    for how in ({"id": None}, {"id": "no such column"}, {"key": KEY}):
        assert same_bits(in_duckdb(duck, columns, some.sql("duckdb", **how))["the score_fair"], some.expected)
    refuses(r"id must be a name \(on the command line: --id\), got None", case("draw").sql, "duckdb", id=None)


@pytest.mark.parametrize("dialect", ["duckdb", "spark", "postgres", "bigquery", "snowflake"])
def test_the_text_is_short_where_nobody_is_drawn(dialect):
    """No hash, outcomes or knots; the id at most an argument; of the same people's scores a part of that with draws."""
    drawn, texts = case("order").sql(dialect), [case(name).sql(dialect) for name in ("apart", "unchanged")]
    words = (
        "hash",
        "fairroc_u",
        "outcomes",
        "knots",
        "level",
        "fairroc_place",
        "1.1102230246251565",
        "fairroc_id",
        'i"',
        "i`",
    )
    for text in texts:
        assert not [word for word in words if word in text]
    assert "1.1102230246251565" in drawn
    assert 20 * len(texts[0]) < len(drawn)
    some = case("apart")
    if dialect != "postgres":
        assert some.sql(dialect, id=None, id_type="text", key=KEY) == texts[0]
        assert list(some.model.sql_tables()) == ["cells"]
        assert not re.search("fair_(outcomes|knots)", some.sql(dialect, tables="fair"))


@pytest.mark.parametrize("name", ["order", "tolerances", "ratio, where"])
def test_the_sql_names_the_constraint(name):
    said = {
        "order": "Fair score, equalized_odds at epsilon 0.05, norm 1, method optimal, draw few;",
        "tolerances": "equalized_odds at epsilon 0.2 (FPR) and 0.05 (TPR), method",
        "ratio, where": "equal_opportunity at ratio 0.9, where shares 0.05 to 0.5 of people are selected, method",
    }
    for dialect in ("duckdb", "spark", "postgres"):
        assert said[name] in case(name).sql(dialect).splitlines()[0]


def test_duckdb_macro(duck):
    some = case("order, text")
    duck.execute(some.sql("duckdb", form="function", function="fair score", column="new"))
    found = in_duckdb(duck, some.columns, "SELECT * FROM \"fair score\"('people')")
    assert same_bits(found["new"], some.expected)


@pytest.mark.parametrize("kind", ["tinyint", "integer", "ubigint", "hugeint"])
def test_duckdb_integers_of_any_type(duck, kind):
    model = case("draw, text").model
    ids = {"tinyint": [-128, 127], "ubigint": [2**64 - 1, 2**63], "hugeint": [-(2**63), 2**64 - 1]}.get(
        kind, [-7, 2**31 - 1]
    )
    query = model.to_sql("duckdb", table=f"(SELECT id::{kind} AS id, 0.5 AS score, 'a' AS \"group\" FROM ids)")
    duck.execute("CREATE OR REPLACE TABLE ids (id HUGEINT)")
    duck.executemany("INSERT INTO ids VALUES (?)", [[i] for i in ids])
    found = dict(duck.execute(f"SELECT id, score_fair FROM ({query})").fetchall())
    expected = model.transform([0.5, 0.5], sensitive_features=["a", "a"], ids=ids)
    assert [found[i] for i in ids] == expected.tolist()


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ("[1, 2]", ("1", "2")),
        ("[1.0::DOUBLE, 2.5]", ("1", "2.5")),
        ("[1.00::DECIMAL(9,2), 10.50]", ("1", "10.5")),
        ("['1.00', '-2.050']", ("1", "-2.05")),
        ("['01.0', '1.2.0']", ("01.0", "1.2.0")),
        ("[true, false]", ("True", "False")),
    ],
)
def test_duckdb_groups_that_are_no_text(duck, values, names):
    model = fitted(names, seed=4, n=300, epsilon=0.0)
    query = model.to_sql("duckdb", table=f'(SELECT 0.25::FLOAT AS score, 7 AS id, unnest({values}) AS "group")')
    found = [fair for *_, fair in duck.execute(query).fetchall()]
    assert sorted(found) == sorted(model.transform([0.25] * 2, sensitive_features=list(names), ids=[7, 7]).tolist())


BAD = {
    "NULL AS score, 'a' AS g, 1 AS id": "scores must be numbers",
    "NULL::DOUBLE AS score, 'a' AS g, 1 AS id": "scores must be finite",
    "'nan'::DOUBLE AS score, 'a' AS g, 1 AS id": "scores must be finite",
    "'-inf'::DOUBLE AS score, 'a' AS g, 1 AS id": "scores must be finite",
    "2e307 AS score, 'a' AS g, 1 AS id": "scores must be finite",
    "'0.5' AS score, 'a' AS g, 1 AS id": "scores must be numbers",
    "true AS score, 'a' AS g, 1 AS id": "scores must be numbers",
    "0.5 AS score, 'A' AS g, 1 AS id": "does not know the group: A",
    "0.5 AS score, 'A' COLLATE NOCASE AS g, 1 AS id": "does not know the group: A",
    "0.5 AS score, NULL::VARCHAR AS g, 1 AS id": "a group is missing",
    "0.5 AS score, 'a' AS g, NULL::BIGINT AS id": "an id is missing",
    "0.5 AS score, 'a' AS g, 1.0::DOUBLE AS id": "ids must be integers",
    "0.5 AS score, 'a' AS g, '1' AS id": "ids must be integers",
    "0.5 AS score, 'a' AS g, 18446744073709551616::HUGEINT AS id": "ids must be integers",
}


@pytest.mark.parametrize("name", ["order", "apart", "unchanged"])
@pytest.mark.parametrize("row", BAD)
def test_duckdb_refuses(duck, row, name):
    """Of ids where they are needed; else it does not look at them."""
    import duckdb

    model = fitted(("a", "b"), seed=8, n=300, epsilon=2.0) if name == "unchanged" else case(name).model
    query = model.to_sql("duckdb", group="g", table=f"(SELECT {row})")
    if "id" in BAD[row] and not model.needs_ids:
        fair = model.transform([0.5], sensitive_features=["a"])[0]
        assert duck.execute(query).fetchone()[-1] == fair
        return
    with pytest.raises(duckdb.Error, match=BAD[row]):
        duck.execute(query).fetchall()


@pytest.mark.parametrize(
    ("id", "message"), [("''", "an id is missing"), ("NULL", "ids must be text"), ("7", "ids must be text")]
)
def test_duckdb_refuses_text_ids(duck, id, message):
    import duckdb

    query = case("order").model.to_sql(
        "duckdb", group="g", id_type="text", table=f"(SELECT 0.5 AS score, 'a' AS g, {id} AS id)"
    )
    with pytest.raises(duckdb.Error, match=message):
        duck.execute(query).fetchall()


def unknown_rows(some: Case) -> Case:
    """The rows with a group that the model does not know, and its expectation under ``on_unknown_group``."""
    groups = ["unheard of" if i % 3 else name for i, name in enumerate(some.groups["a group"])]
    return dataclasses.replace(some, groups={"a group": groups})


def test_duckdb_unknown_groups_can_be_treated_as_another(duck):
    some = unknown_rows(case("draw"))
    found = in_duckdb(duck, some.columns, some.sql("duckdb", on_unknown_group=WILD[1]))["the score_fair"]
    expected = some.model.transform(
        some.scores, sensitive_features=some.groups["a group"], ids=np.array(some.ids), on_unknown_group=WILD[1]
    )
    assert same_bits(found, expected)


def test_duckdb_an_empty_table_gives_an_empty_one(duck):
    some = case("order")
    query = some.sql("duckdb", table="(SELECT * FROM people WHERE false)")
    assert len(in_duckdb(duck, some.columns, query)["the score_fair"]) == 0


# ---- command line ------------------------------------------------------------------------------------------


def test_command_line(tmp_path, run: Run):
    some = case("key")
    some.model.save(tmp_path / "m.json")
    (tmp_path / "key").write_text(KEY + "\n")
    out = tmp_path / "m.sql"
    how = ["--model", tmp_path / "m.json", "--dialect", "duckdb", "--score", "the score", "--group", "a group"]
    how += ["--id", 'i"d', "--id-type", "text", "--key-file", tmp_path / "key"]
    ran = run("sql", *how)
    assert (ran.code, ran.out, ran.err) == (0, some.sql("duckdb"), "")
    ran = run("sql", *how, "-o", out)
    assert (ran.code, ran.out, ran.err) == (0, "", f"SQL written to {out}\n")
    assert out.read_text(encoding="utf-8") == some.sql("duckdb")
    assert os.name != "posix" or out.stat().st_mode & 0o777 == 0o600
    assert json.loads(run("sql", *how, "--format", "json").out)["sql"] == some.sql("duckdb")


def test_command_line_refuses(tmp_path, run: Run):
    case("order").model.save(tmp_path / "m.json")
    how = ["--model", tmp_path / "m.json", "--score", "p", "--group", "g", "--id", "i", "-o", tmp_path / "x.sql"]
    run("sql", *how, "--dialect", "sqlite").refused("dialect must be")
    assert not (tmp_path / "x.sql").exists()
    assert run("sql", *how, "--dialect", "spark", "-o", tmp_path / "x.txt").code == 2
