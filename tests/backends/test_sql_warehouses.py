"""SQL for BigQuery and Snowflake, translated and run by DuckDB; tables beside the SQL; the macro for dbt."""

from __future__ import annotations

import dataclasses
import io
import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from test_cli import Run, run
from test_pipeline import same_bits

from fairroc.backends import sql as module
from fairroc.backends.sql import duckdb as duckdb_writer
from fairroc.backends.sql.dbt import seed_properties
from fairroc.backends.sql.limbs import LONGEST
from fairroc.backends.sql.lists import csv_files, definitions, sql_tables
from refusals import refuses
from sql_cases import KEY, WILD, Case, case, fitted, hard_ids, rows_for, with_small

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
import sqlglot
from sqlglot import exp

from warehouses import TYPE_OF, in_duckdb_words, parsed

__all__ = ["run"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
DIALECTS = ("bigquery", "snowflake")
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "warehouses.md"


@pytest.fixture(scope="module")
def duck():
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(TYPE_OF)
        yield connection


def short(some: Case) -> Case:
    """The rows whose ids are not too long."""
    if some.id_type == "integer":
        return some
    kept = [i for i, id in enumerate(some.ids) if len(id.encode()) <= LONGEST]
    groups = {name: [values[i] for i in kept] for name, values in some.groups.items()}
    return dataclasses.replace(some, scores=some.scores[kept], groups=groups, ids=[some.ids[i] for i in kept])


def fair_scores(duck, some: Case, query: str) -> np.ndarray:
    """In the order of the rows."""
    import pyarrow as pa

    duck.register("people", pa.table(some.columns))
    found = duck.execute(f'SELECT * FROM ({query}) ORDER BY "a column"').fetchnumpy()
    assert list(found) == [*some.columns, "the score_fair"]
    return np.ma.filled(np.ma.asarray(found["the score_fair"], dtype=float), np.nan)


# ---- the same bits -------------------------------------------------------------------------------------------------

NAMES = ("order", "columns", "key", "unchanged", "subnormal", "extreme", "merged", "nobody drawn", "tied")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_bits(duck, dialect, name):
    some = short(case(name))
    assert same_bits(fair_scores(duck, some, in_duckdb_words(some.sql(dialect), dialect)), some.expected)


@pytest.mark.parametrize("kind", ["integer", "text"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_draws_of_thousands_of_ids(duck, dialect, kind):
    """Of every length that is hashed."""
    small = fitted(("a", "b"), seed=9, n=300, pool="ties", epsilon=0.05, draw="all")
    assert (small.tables.cells.row >= 0).all()
    rng = np.random.default_rng(4)
    ids = hard_ids(kind, rng, 3000)
    if kind == "text":
        ids += ["".join(rng.choice(list("abc019-"), n)) for n in range(1, LONGEST + 1)]
    n = len(ids)
    some = short(Case(small, rng.choice([0.0, 1.0, 2.0], n), {"a group": rng.choice(["a", "b"], n).tolist()}, ids))
    assert same_bits(fair_scores(duck, some, in_duckdb_words(some.sql(dialect), dialect)), some.expected)


@pytest.mark.parametrize("name", ["order", "draw", "columns", "subnormal", "extreme", "neighbours", "nobody drawn"])
def test_what_the_text_leaves_out_comes_back_bit_for_bit(duck, name):
    tables = case(name).model.tables
    texts = ",\n".join(definitions(duckdb_writer.DuckDB(), tables, None))
    for table, columns in sql_tables(tables).items():
        some = "WHERE draw IS NOT NULL" if table == "outcomes" else ""
        found = duck.execute(f"WITH {texts} SELECT * FROM fairroc_{table} {some} ORDER BY n").fetchnumpy()
        for column, values in columns.items():
            kind = np.float64 if values.dtype.kind == "f" else np.int64
            assert np.asarray(found[column], dtype=kind).tobytes() == values.astype(kind).tobytes(), (table, column)


# ---- integers ------------------------------------------------------------------------------------------------------

Range = tuple[int, int]
LIMITS = {"bigquery": (-(2**63), 2**63 - 1), "snowflake": (1 - 10**38, 10**38 - 1)}


class Ranges:
    """What values every part of an expression can have, and whether the type of the dialect holds them all."""

    def __init__(self, dialect: str) -> None:
        self.limits, self.seen, self.env = LIMITS[dialect], 0, dict[str, Range]()

    def of(self, node: exp.Expression) -> Range:
        low, high = self.inner(node)
        assert self.limits[0] <= low <= high <= self.limits[1], node.sql()
        assert low >= 0 or "fairroc_id" in node.sql(), node.sql()
        self.seen += 1
        return low, high

    def inner(self, node: exp.Expression) -> Range:
        match node:
            case exp.Column():
                return self.env[node.name]
            case exp.Literal():
                return int(node.this), int(node.this)
            case exp.Paren():
                return self.of(node.this)
            case exp.Case():
                parts = [self.of(branch.args["true"]) for branch in node.args["ifs"]] + [self.of(node.args["default"])]
                return min(low for low, _ in parts), max(high for _, high in parts)
            case exp.Cast() | exp.ToNumber():  # hexadecimal digits
                digits = int(node.find(exp.Substring).args["length"].this)
                return 0, 16**digits - 1
        return self.of_two(node, self.of(node.this), self.of(node.expression))

    def of_two(self, node: exp.Expression, a: Range, b: Range) -> Range:
        match node:
            case exp.Add():
                return a[0] + b[0], a[1] + b[1]
            case exp.Mul():
                assert a[0] >= 0 and b[0] >= 0
                return a[0] * b[0], a[1] * b[1]
            case exp.BitwiseAnd():
                assert b[0] == b[1] >= 0  # a mask, of which a negative number, too, has a part
                return 0, b[0] if a[0] < 0 else min(a[1], b[1])
            case exp.BitwiseXor():
                assert a[0] >= 0 and b[0] >= 0
                return 0, (1 << max(a[1], b[1]).bit_length()) - 1
            case exp.BitwiseRightShift():  # of negative numbers, whatever comes in from the left
                return a[0] >> b[0], (2**64 - 1 if a[0] < 0 else a[1]) >> b[0]
            case exp.Mod():
                assert a[0] >= 0
                return 0, b[0] - 1
        raise AssertionError(type(node))


@pytest.mark.parametrize("kind", ["integer", "text"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_integer_leaves_its_type(dialect, kind):
    """Over all ids, by the ranges of every part of the SQL as it is written."""
    tree = parsed(case("draw").sql(dialect, id_type=kind), dialect)
    ranges = Ranges(dialect)
    ranges.env["fairroc_n"] = (1, LONGEST)
    ranges.env["fairroc_id"] = (0, 2**64 - 1) if dialect == "snowflake" else (-(2**63), 2**63 - 1)
    steps = [cte.this for cte in tree.find_all(exp.CTE) if re.fullmatch("fairroc_hash[0-9]+", cte.alias)]
    steps.sort(key=lambda step: int(step.parent.alias.removeprefix("fairroc_hash")))
    for step in steps:
        new = {}
        stars = [part for star in step.find_all(exp.Star) for part in star.args.get("replace") or ()]
        for part in [*stars, *(part for part in step.expressions if isinstance(part, exp.Alias))]:
            if part.alias not in ("fairroc_n", "fairroc_x"):
                new[part.alias] = ranges.of(part.this)
        ranges.env |= new
    assert ranges.env["fairroc_hi"] == ranges.env["fairroc_lo"] == (0, 2**32 - 1)
    drawn = next(cte.this for cte in tree.find_all(exp.CTE) if cte.alias == "fairroc_drawn")
    bits = next(part for part in drawn.expressions if part.alias == "fairroc_u").find(exp.Cast).this
    assert ranges.of(bits) == (0, 2**53 - 1)
    assert len(steps) > (8 if kind == "integer" else 30) and ranges.seen > 100


# ---- refusals ------------------------------------------------------------------------------------------------------

BAD = {
    "NULL::DOUBLE, 'a', 1": "scores must be finite",
    "'NaN'::DOUBLE, 'a', 1": "scores must be finite",
    "'inf'::DOUBLE, 'a', 1": "scores must be finite",
    "2e307, 'a', 1": "scores must be finite",
    "0.5, 'A', 1": "does not know the group: A",
    "0.5, 'x', 1": "too small, and left out of the fit, was the group: x",
    "0.5, NULL::VARCHAR, 1": "a group is missing",
    "0.5, 'a', NULL::BIGINT": "an id is missing",
}
BAD_TYPES = {
    "'0.5', 'a', 1": "scores must be numbers",
    "0.5, 1, 1": "groups must be text",
    "0.5, 'a', 1.5": "be integers",
}
BAD_TEXT = {
    "0.5, 'a', ''": "an id is missing",
    "0.5, 'a', NULL::VARCHAR": "an id is missing",
    f"0.5, 'a', repeat('x', {LONGEST + 1})": f"more than {LONGEST} bytes",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_refusals_in_the_engine(duck, dialect):
    """BigQuery refuses other types before a query runs, which DuckDB cannot show."""
    import duckdb

    model = with_small(fitted(("a", "b"), seed=9, n=300, pool="ties", epsilon=0.05, draw="all"), "drop", "x")
    queries = {
        kind: in_duckdb_words(model.to_sql(dialect, table="bad", id_type=kind), dialect) for kind in ("integer", "text")
    }
    tried = [("integer", *bad) for bad in BAD.items()] + [("text", *bad) for bad in BAD_TEXT.items()]
    tried += [("integer", *bad) for bad in BAD_TYPES.items()] if dialect == "snowflake" else []
    for kind, row, message in tried:
        duck.execute(f'CREATE OR REPLACE TABLE bad AS SELECT * FROM (VALUES ({row})) AS t(score, "group", id)')
        with pytest.raises(duckdb.Error, match=message):
            duck.execute(queries[kind]).fetchall()


# ---- GoogleSQL itself ----------------------------------------------------------------------------------------------


def by_googlesql(sql: str, columns: dict[str, list], kinds: dict[str, type]) -> list[list]:
    """Rows of a query by the analyzer and the reference implementation that BigQuery's language has from Google."""
    zetasql = pytest.importorskip("zetasql.api")
    from zetasql import types

    options = types.LanguageOptions.maximum_features()
    names = {int: types.TypeKind.TYPE_INT64, float: types.TypeKind.TYPE_DOUBLE, str: types.TypeKind.TYPE_STRING}
    table = zetasql.TableBuilder("people")
    for name in columns:
        table = table.add_column(name, names[kinds[name]])
    known = types.ZetaSQLBuiltinFunctionOptions(language_options=options)
    catalog = zetasql.CatalogBuilder("all").add_table(table.build()).with_builtin_functions(known).build()
    rows = zetasql.create_table_content([list(row) for row in zip(*columns.values(), strict=True)])
    query = zetasql.PreparedQuery.builder().set_sql(sql).set_catalog(catalog)
    query = query.set_analyzer_options(types.AnalyzerOptions(language_options=options))
    with query.set_table_content({"people": rows}).prepare() as ready:
        return [row.cell for row in ready.execute().content.table_data.row]


@pytest.mark.slow
@pytest.mark.xdist_group("googlesql")
@pytest.mark.parametrize("name", NAMES)
def test_googlesql_gives_the_same_bits(name):
    """Untranslated."""
    some = short(case(name))
    columns = {column: np.asarray(values).tolist() for column, values in some.columns.items()}
    found = by_googlesql(some.sql("bigquery"), columns, {column: type(part[0]) for column, part in columns.items()})
    fair = {row[0].int64_value: row[-1].double_value for row in found}
    assert same_bits(np.array([fair[i] for i in range(len(columns["a column"]))]), some.expected)


@pytest.mark.slow
@pytest.mark.xdist_group("googlesql")
def test_googlesql_refuses():
    pytest.importorskip("zetasql")
    from zetasql.core import ZetaSQLError

    model = fitted(("a", "b"), seed=9, n=300, pool="ties", epsilon=0.05, draw="all")
    for kind, row, message in (
        (int, (None, "a", 1), "scores must be finite"),
        (int, (np.nan, "a", 1), "scores must be finite"),
        (int, (0.5, "A", 1), "does not know the group: A"),
        (int, (0.5, None, 1), "a group is missing"),
        (int, (0.5, "a", None), "an id is missing"),
        (int, ("0.5", "a", 1), "No matching signature"),
        (int, (0.5, 1, 1), "No matching signature"),
        (int, (0.5, "a", 1.5), "requires two integer"),
        (int, (0.5, "a", "1"), "requires two integer"),
        (str, (0.5, "a", 1), "No matching signature"),
    ):
        sql = model.to_sql("bigquery", id_type="integer" if kind is int else "text")
        columns = dict(zip(("score", "group", "id"), ([one] for one in row), strict=True))
        usual = {"score": float, "group": str, "id": kind}
        kinds = {name: usual[name] if one is None else type(one) for (name, (one,)) in columns.items()}
        with pytest.raises(ZetaSQLError, match=message):
            by_googlesql(sql, columns, kinds)


RESERVED = """
    all and any array as asc assert_rows_modified at between by case cast collate contains create cross cube
    current default define desc distinct else end enum escape except exclude exists extract false fetch
    following for from full group grouping groups hash having if ignore in inner intersect interval into is
    join lateral left like limit lookup merge natural new no not null nulls of on or order outer over
    partition preceding proto qualify range recursive respect right rollup rows select set some struct
    tablesample then to treat true unbounded union unnest using when where window with within account alter
    check column connect connection constraint database delete drop grant gscluster ilike increment insert
    issue localtime localtimestamp minus organization regexp revoke rlike row sample schema start table
    trigger try_cast unique update values view whenever
"""
"""Words that BigQuery or Snowflake, as they document it, takes for no name."""


def test_no_name_of_the_query_is_reserved():
    """sqlglot lets some pass."""
    for dialect in DIALECTS:
        tree = parsed(case("key").sql(dialect), dialect)
        found = {name.this.lower() for name in tree.find_all(exp.Identifier) if not name.args.get("quoted")}
        assert "knot_n" in found and not found & {*RESERVED.split()}


def test_names_are_quoted():
    for dialect in DIALECTS:
        for name in WILD[:5]:
            if name.isprintable():
                tree = parsed(case("draw").model.to_sql(dialect, score=name, id="i"), dialect)
                assert name in {column.name for column in tree.find_all(exp.Column)}
    texts = {literal.this for literal in parsed(case("draw").sql("snowflake"), "snowflake").find_all(exp.Literal)}
    assert all(name in texts or name.encode().hex().upper() in texts for name in WILD)


# ---- tables beside the SQL, and dbt --------------------------------------------------------------------------------


def stored(duck, model, folder) -> None:
    """The tables from their CSV files, with the types that dbt is told."""
    kinds = seed_properties(model.tables, "fair", "duckdb")
    for name, text in csv_files(model.tables).items():
        block = kinds.split(f"name: fair_{name}\n")[1].split("- name")[0]
        types = dict(re.findall(r'(\w+): "(\w+)"', block))
        (folder / f"{name}.csv").write_text(text)
        source = f"read_csv('{folder}/{name}.csv', header = true, columns = {types})"
        duck.execute(f"CREATE OR REPLACE TABLE fair_{name} AS FROM {source}")


@pytest.mark.parametrize("dialect", ["duckdb", *DIALECTS])
@pytest.mark.parametrize("name", ["columns", "apart"])
def test_tables_may_lie_beside_the_query(duck, dialect, name, tmp_path):
    some = short(case(name))
    stored(duck, some.model, tmp_path)
    query = some.sql(dialect, tables="fair")
    assert len(query) < 70_000 and len(case("order").sql(dialect, tables="fair")) < 10_000
    if dialect != "duckdb":
        query = in_duckdb_words(query, dialect)
    assert same_bits(fair_scores(duck, some, query), some.expected)


@pytest.mark.parametrize("form", ["query", "dbt"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_that_is_too_long_says_so(monkeypatch, dialect, form):
    model = case("order").model
    whole = len(model.to_sql(dialect, form=form))
    for most in (whole, whole - 1):
        monkeypatch.setitem(module.MOST_TEXT, dialect, most)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model.to_sql(dialect, form=form)
            model.to_sql(dialect, form=form, tables="fair")
        assert len(found) == (most < whole)
    assert re.search(f"has {whole:,} bytes, .* --tables", str(found[0].message))


def test_the_guide_loads_the_tables_with_their_types():
    """Word for word as the page has it, for both warehouses."""
    text = GUIDE.read_text(encoding="utf-8")
    wanted = {
        f"fair_score_{name}": {column: values.dtype.kind for column, values in columns.items()}
        for name, columns in sql_tables(case("order").model.tables).items()
    }
    kinds = {"INT64": "i", "FLOAT64": "f", "DECIMAL(38, 0)": "i", "DOUBLE": "f", "FLOAT": "f"}
    loaded = re.findall(r"bq load .*? shop\.(\w+) tables/(\w+)\.csv \\\n *(\S+)\n", text)
    assert all(table == file for table, file, _ in loaded)
    for dialect, found in (
        ("bigquery", {table: dict(part.split(":") for part in schema.split(",")) for table, _, schema in loaded}),
        ("snowflake", snowflake_tables(text)),
    ):
        told = {table: {name: kinds[kind] for name, kind in columns.items()} for table, columns in found.items()}
        assert told == wanted, dialect


def snowflake_tables(page: str) -> dict[str, dict[str, str]]:
    found = {}
    for text in re.findall(r"CREATE TABLE \w+ \([^;]*;", page):
        schema = sqlglot.parse_one(text, read="snowflake").this
        found[schema.this.name] = {part.name: part.kind.sql("snowflake") for part in schema.expressions}
    return found


def test_a_macro_for_dbt(duck, tmp_path):
    """Rendered as dbt does it; braces in names stay what they are."""
    import jinja2

    names = ("{{ a }}", "{% b %}", "{# c")
    for draw in ("all", "never"):  # the same arguments, of which the id may be left out where nobody is drawn
        some = rows_for(fitted(names, seed=3, n=900, epsilon=0.05, draw=draw))
        stored(duck, some.model, tmp_path)
        calls = ["{{ fair('people', id='i\"\"d') }}", *(["{{ fair('people') }}"] if draw == "never" else [])]
        for tables, call in itertools.product((None, "fair"), calls):
            text = some.sql("duckdb", form="dbt", function="fair", id="person", tables=tables)
            given = {"ref": lambda name: f'"{name}"'}
            query = jinja2.Environment().from_string(text + call, globals=given).render()
            assert same_bits(fair_scores(duck, some, f"SELECT * FROM {query} AS t"), some.expected)


def test_what_a_macro_cannot_be():
    model = case("order").model
    for how, message in (
        ({"function": "two words"}, "a macro's name must be letters"),
        ({"score": 'a"b'}, "without quotes and braces"),
        ({"dialect": "postgres"}, "form for postgres"),
    ):
        refuses(message, model.to_sql, **{"dialect": "bigquery", "form": "dbt", **how})
    refuses("tables must be None for postgres", model.to_sql, "postgres", tables="fair")


def test_the_command_writes_tables(tmp_path, run: Run):
    some = case("key")
    some.model.save(tmp_path / "m.json")
    (tmp_path / "key").write_text(KEY + "\n")
    how = ["--model", tmp_path / "m.json", "--dialect", "snowflake", "--form", "dbt", "--score", "p", "--group", "g"]
    how += ["--id", "i", "--key-file", tmp_path / "key"]
    run("sql", *how, "--tables", tmp_path / "none", "-o", tmp_path / "m.sql").refused("there is no folder")
    assert not (tmp_path / "m.sql").exists()
    ran = run("sql", *how, "--tables", tmp_path, "-o", tmp_path / "m.sql")
    assert ran.code == 0, ran.err
    asked = {"form": "dbt", "tables": "fair_score", "score": "p", "group": "g", "id": "i", "key": KEY}
    assert (tmp_path / "m.sql").read_text(encoding="utf-8") == some.model.to_sql("snowflake", **asked)
    for name, text in csv_files(some.model.tables).items():
        assert (tmp_path / f"fair_score_{name}.csv").read_text(encoding="utf-8") == text
    assert "fair_score_knots" in (tmp_path / "fair_score.yml").read_text(encoding="utf-8")
    case("unchanged").model.save(tmp_path / "m.json")
    ran = run("sql", *how[:-2], "--tables", tmp_path)
    assert ran.code == 0 and "no tables are needed" in ran.err


def test_tables_and_sql_or_neither(tmp_path, run: Run, monkeypatch):
    """No table is left where the SQL cannot be written or printed, and none takes the place of a file that is read."""
    some, folder = case("order"), tmp_path / "tables"
    folder.mkdir()
    some.model.save(folder / "fair_score_cells.csv")
    kept = (folder / "fair_score_cells.csv").read_bytes()
    how = ["--dialect", "duckdb", "--score", "p", "--group", "g", "--id", "i", "--tables", folder]
    ran = run("sql", "--model", folder / "fair_score_cells.csv", *how, "-o", tmp_path / "m.sql")
    assert ran.code == 2 and "is one of the files that are read" in ran.err
    assert (folder / "fair_score_cells.csv").read_bytes() == kept
    (folder / "fair_score_cells.csv").rename(tmp_path / "m.json")
    before = sorted(tmp_path.rglob("*"))
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
        ran = run("sql", "--model", tmp_path / "m.json", *how, "--column", "fär")
    assert ran.code == 2 and "letters that the standard output's encoding (ascii) lacks" in ran.err
    assert sorted(tmp_path.rglob("*")) == before
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda file, to: replace(file, to / "no" if to.suffix == ".sql" else to))
    run("sql", "--model", tmp_path / "m.json", *how, "-o", tmp_path / "m.sql").refused("cannot write")
    assert sorted(tmp_path.rglob("*")) == before
