"""Models told of cells, strata or attributes give the same fair scores in files, frames and SQL, bit for bit."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from fairroc import frames
from fairroc.backends.files import transform_table
from fairroc.backends.frames import Use
from fairroc.errors import DataError, UnknownGroupError
from fairroc.people.small import MERGED
from fairroc.tables.columns import ColumnNames
from spread_cases import CASES, spread_case
from test_frames import ENGINES, by_id

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def use(case, **more) -> Use:
    roles = {"group": None, **case.roles, **more}
    return Use(case.model, ColumnNames.of(**roles), "p_fair")


def test_cases_are_hard() -> None:
    tree = spread_case("proxy").model.proxy
    rows = np.stack(list(spread_case("proxy").probabilities.values()), axis=1)
    inner = np.flatnonzero(tree.column >= 0)
    assert len(tree.names) >= 3 and all((rows[:, tree.column[i]] == tree.threshold[i]).any() for i in inner)
    assert len(set(tree.label(rows))) == len(tree.names)
    for name in ("proxy in strata", "each", "strata"):
        case = spread_case(name)
        merged = np.isin(
            [" & ".join(map(str, row)) for row in zip(*told(case), strict=True)], case.model.small_groups.groups
        )
        assert MERGED in case.model.names and merged.any() and not merged.all()


def told(case) -> list[np.ndarray]:
    """The parts of every row's segment."""
    parts = [*case.controls.values(), *case.groups.values()]
    if not case.model.use_group:
        parts.append(case.model.proxy.label(np.stack(list(case.probabilities.values()), axis=1)))
    return parts


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_frames_of_every_engine(engine, name) -> None:
    case = spread_case(name)
    frame = ENGINES[engine](pa.table(case.columns))
    fair = frames.transform(frame, case.model, **case.roles)
    assert by_id(fair, "p_fair").tobytes() == case.expected[np.argsort(case.ids)].tobytes()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files(kind, name, tmp_path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    case = spread_case(name)
    source, target = tmp_path / f"people.{kind}", tmp_path / f"fair.{kind}"
    write = pyarrow.csv.write_csv if kind == "csv" else pyarrow.parquet.write_table
    write(pa.table({**case.columns, "more": ["x"] * len(case.ids)}), source)
    assert transform_table(use(case), str(source), str(target)) == (len(case.ids), 0)
    read = pyarrow.csv.read_csv if kind == "csv" else pyarrow.parquet.read_table
    assert read(target).column("p_fair").to_numpy().tobytes() == case.expected.tobytes()


def test_probabilities_are_found_by_name_or_in_order() -> None:
    case = spread_case("proxy")
    table = pa.table(case.columns)
    for columns, renamed in ((["q2", "q0", "q1"], {}), (["a", "b", "c"], {"q0": "a", "q1": "b", "q2": "c"})):
        own = table.rename_columns([renamed.get(name, name) for name in table.column_names])
        fair = frames.transform(own, case.model, **case.roles | {"group_probabilities": columns})
        assert fair.column("p_fair").to_numpy().tobytes() == case.expected.tobytes()


def test_numbers_of_other_types_and_an_estimator_fitted_to_a_frame() -> None:
    case = spread_case("strata")
    table = pa.table({**case.columns, "y": (np.arange(len(case.ids)) * 7 % 3 > 0).astype(int), "s": case.scores})
    how = {"label": "y", "group": "sex", "control_features": "town", "epsilon": 0.2, "salt": 4}
    post = frames.fit(table, score="p", **how)
    arrays = {"sensitive_features": case.groups["sex"], "control_features": case.controls["town"]}
    fair = frames.transform(table, post, score="p", group="sex", control_features="town", id="id")
    expected = post.transform(case.scores, **arrays, ids=case.ids)
    assert fair.column("p_fair").to_numpy().tobytes() == expected.tobytes()
    floats = table.set_column(table.column_names.index("town"), "town", [table.column("town").cast("double")])
    again = frames.transform(floats, post, score="p", group="sex", control_features="town", id="id")
    assert again.column("p_fair").equals(fair.column("p_fair"))


REFUSED = [
    ("proxy", {"group": "p"}, "group (--group) must name no column, got p"),
    ("proxy", {"group_probabilities": None}, "group_probabilities (--group-probability) must name the columns"),
    ("proxy", {"group_probabilities": ["q0", "q1"]}, "must have the 3 columns of the fit (q0, q1, q2), got 2 (q0, q1)"),
    ("proxy", {"group_probabilities": ["q0", "q0", "q1"]}, "the same probability column is named twice: 'q0'"),
    ("proxy", {"control_features": "p"}, "control_features (--control) must name no column, got p"),
    ("strata", {"control_features": "town"}, "control_features (--control) must name 2 columns, as in the fit, got 1"),
    ("strata", {"control_features": None}, "control_features (--control) must name the columns"),
    ("strata", {"group": None}, "group (--group) must name the columns that the model was fitted with, got none"),
    ("each", {"group_probabilities": "p"}, "group_probabilities (--group-probability) must name no column, got p"),
    ("score alone", {"group_probabilities": ["x"]}, "must name no column, got x"),
]


@pytest.mark.parametrize(("name", "roles", "message"), REFUSED)
@pytest.mark.parametrize("engine", ["arrow", "lazy"])
def test_columns_that_do_not_fit_the_model_are_refused_at_once(engine, name, roles, message) -> None:
    case = spread_case(name)
    frame = ENGINES[engine](pa.table(case.columns))
    with pytest.raises(DataError, match=re.escape(message)):
        frames.transform(frame, case.model, **case.roles | roles)


@pytest.mark.parametrize("bad", [-0.1, 1.5, np.nan])
def test_files_name_the_row_of_a_bad_probability(bad, tmp_path) -> None:
    import pyarrow.csv

    case = spread_case("proxy")
    column = case.probabilities["q1"].copy()
    column[17] = bad
    source = tmp_path / "people.csv"
    pyarrow.csv.write_csv(pa.table({**case.columns, "q1": column}), source)
    with pytest.raises(DataError, match=r"group_probabilities\['q1'\] must .*the first such row there is 18"):
        transform_table(use(case), str(source), str(tmp_path / "fair.csv"))
    assert not (tmp_path / "fair.csv").exists()


def test_unknown_strata_are_unknown_groups() -> None:
    case = spread_case("proxy in strata")
    jobs = case.controls["job"].copy()
    jobs[5] = "z"
    with pytest.raises(UnknownGroupError, match="& z & cell"):
        frames.transform(pa.table({**case.columns, "job": jobs}), case.model, **case.roles)


def test_lazy_frames_are_not_counted_for_such_a_fit() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.LazyFrame({"p": [0.1], "y": [1], "g": ["a"]})
    for how in ({"use_group": False}, {"combine": "each"}, {"control_features": "g"}):
        with pytest.raises(DataError, match=r"take frames in memory.* collect it first"):
            frames.fit(frame, score="p", label="y", group="g", **how)


# ---- SQL -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def duck():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


def run_sql(duck, case, query: str) -> np.ndarray:
    duck.register("people", pa.table(case.columns))
    return duck.execute(f"SELECT * FROM ({query}) ORDER BY id").fetchnumpy()["p_fair"]


def in_words_of_duckdb(duck, query: str, dialect: str) -> str:
    if dialect == "duckdb":
        return query
    pytest.importorskip("sqlglot")
    from warehouses import TYPE_OF, in_duckdb_words

    duck.execute(TYPE_OF)
    return in_duckdb_words(query, dialect)


def as_text_strata(case, dialect: str):
    """Groups of warehouses must be text."""
    controls = {name: column.astype(str) for name, column in case.controls.items()}
    return dataclasses.replace(case, controls=controls) if dialect != "duckdb" else case


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dialect", ["duckdb", "bigquery", "snowflake"])
def test_sql_queries(duck, dialect, name) -> None:
    case = as_text_strata(spread_case(name), dialect)
    query = in_words_of_duckdb(duck, case.model.to_sql(dialect, **case.roles), dialect)
    assert run_sql(duck, case, query).tobytes() == case.expected[np.argsort(case.ids)].tobytes()


def test_sql_of_unchanged_scores_checks_too(duck) -> None:
    case = spread_case("proxy")
    case = dataclasses.replace(case, model=dataclasses.replace(case.model, kernels=(), scale=None))
    query = case.model.to_sql("duckdb", **case.roles)
    assert run_sql(duck, case, query).tobytes() == case.scores[np.argsort(case.ids)].tobytes()
    with pytest.raises(Exception, match="must lie between 0 and 1"):
        run_sql(duck, spoiled(case, 2.0), query)


def test_sql_names_of_the_fit_are_the_usual_ones(duck) -> None:
    case = spread_case("proxy")
    assert case.model.to_sql("duckdb", score="p") == case.model.to_sql("duckdb", **case.roles)
    swapped = case.roles | {"group_probabilities": ["q2", "q0", "q1"]}
    assert case.model.to_sql("duckdb", **swapped) == case.model.to_sql("duckdb", **case.roles)


def test_sql_as_function_and_with_tables(duck) -> None:
    case = spread_case("proxy in strata")
    expected = case.expected[np.argsort(case.ids)].tobytes()
    duck.execute(case.model.to_sql("duckdb", form="function", **case.roles))
    assert run_sql(duck, case, "SELECT * FROM fair_score('people')").tobytes() == expected
    for name, columns in case.model.sql_tables().items():
        duck.register(f"numbers_{name}", pa.table(columns))
    query = case.model.to_sql("duckdb", tables="numbers", **case.roles)
    assert run_sql(duck, case, query).tobytes() == expected


def test_sql_as_macro_of_dbt(duck) -> None:
    jinja2 = pytest.importorskip("jinja2")
    for name, arguments in (
        ("proxy in strata", "control_1='town', control_2='job', probability='r'"),
        ("proxy", "probability_1='q0', probability_2='q1', probability_3='q2'"),
        ("strata", "control_1='town', control_2='job', group='sex'"),
    ):
        case = spread_case(name)
        text = case.model.to_sql("duckdb", form="dbt", **case.roles)
        assert f"(relation, score='p', {arguments}, id='id', column='p_fair')" in text
        query = jinja2.Environment().from_string(text + "{{ fair_score('people') }}").render().strip()
        assert run_sql(duck, case, query[1:-1]).tobytes() == case.expected[np.argsort(case.ids)].tobytes()


def spoiled(case, bad, column: str | None = None):
    """The case with one bad probability."""
    name = column or next(iter(case.probabilities))
    values = case.probabilities[name].astype(object)
    values[11] = bad
    kind = pa.string() if isinstance(bad, str) else pa.float64()
    values = pa.array([str(value) if kind == pa.string() else value for value in values], kind)
    return dataclasses.replace(case, probabilities={**case.probabilities, name: values})


@pytest.mark.parametrize("bad", [None, np.nan, -1e-300, np.nextafter(1.0, 2.0), "0.5"])
@pytest.mark.parametrize("dialect", ["duckdb", "bigquery", "snowflake"])
def test_sql_stops_at_what_is_no_probability(duck, dialect, bad) -> None:
    """Of every column, also of one that the tree does not look at."""
    whole = spread_case("proxy")
    tree = whole.model.proxy
    for column in whole.probabilities:
        query = in_words_of_duckdb(duck, whole.model.to_sql(dialect, **whole.roles), dialect)
        wrong = "must be numbers|Could not convert|Binder Error" if isinstance(bad, str) else "must lie between 0 and 1"
        with pytest.raises(Exception, match=wrong):
            run_sql(duck, spoiled(whole, bad, column), query)
    assert {tree.columns[i] for i in tree.column if i >= 0} <= set(whole.probabilities)


NOT_NAMED = [({"group": None}), ({"group_probabilities": None})]  # SQL has usual names for these


@pytest.mark.parametrize(("name", "roles", "message"), [refused for refused in REFUSED if refused[1] not in NOT_NAMED])
def test_sql_refuses_columns_that_do_not_fit_the_model(name, roles, message) -> None:
    case = spread_case(name)
    with pytest.raises(DataError, match=re.escape(message)):
        case.model.to_sql("duckdb", **case.roles | roles)


def test_sql_for_postgres_is_a_function_of_probabilities() -> None:
    """`test_sql_postgres.py` runs it where there is a server, `test_sql_spark.py` Spark's."""
    case = spread_case("proxy in strata")
    made = case.model.to_sql("postgres", **case.roles)
    assert "(score double precision, g1 text, g2 text, p1 double precision, id bigint DEFAULT NULL)" in made
    assert 'fair_score"("p", "town"::text, "job"::text, "r", "id")' in made
