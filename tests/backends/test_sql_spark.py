"""The SQL for Spark on a real session, compared with numpy bit for bit. Few tests: every query is planned at length."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from test_pipeline import same_bits
from test_sql import unknown_rows

from java import require_java
from spread_cases import spread_case
from sql_cases import WILD, Case, case, fitted, with_small

pytest.importorskip("pyspark")

pytestmark = [
    pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.xdist_group("spark SQL"),  # one session for all
]
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # short queries: compile less
}


@pytest.fixture(scope="module")
def session():
    require_java()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("fairroc SQL")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = builder.getOrCreate()
        yield found
        found.stop()


def in_spark(session, some: Case, **how) -> np.ndarray:
    """Fair scores in the order of the rows."""
    kinds = {"a column": "int", "the score": "double", 'i"d': "bigint" if some.id_type == "integer" else "string"}
    schema = ", ".join(f"`{name}` {kinds.get(name, 'string')}" for name in some.columns)
    rows = list(zip(*some.columns.values(), strict=True))
    session.createDataFrame(rows, schema).createOrReplaceTempView("people")
    frame = session.sql(some.sql("spark", **how))
    assert frame.columns == [*some.columns, "the score_fair"]
    return np.array([row[-1] for row in sorted(frame.collect(), key=lambda row: row[0])], dtype=float)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_gives_the_same_bits(session, ansi):
    names = {
        "true": ("order", "columns", "merged", "subnormal", "extreme", "nobody drawn", "opportunity, draw", "ratio"),
        "false": ("order, text", "key", "unchanged", "parity, tied", "tied"),
    }
    session.conf.set("spark.sql.ansi.enabled", ansi)
    for name in names[ansi]:
        assert same_bits(in_spark(session, case(name)), case(name).expected), name
    for name in ("never, where", "unchanged"):
        assert same_bits(in_spark(session, case(name), id=None), case(name).expected), name
    session.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("name", ["proxy", "proxy in strata", "strata"])
def test_spark_is_told_of_cells_and_strata(session, name):
    some = spread_case(name)
    kinds = {"f": "double", "i": "bigint", "U": "string"}
    schema = ", ".join(f"`{column}` {kinds[values.dtype.kind]}" for column, values in some.columns.items())

    def fair(columns):
        rows = list(zip(*(values.tolist() for values in columns.values()), strict=True))
        session.createDataFrame(rows, schema).createOrReplaceTempView("people")
        found = session.sql(some.model.to_sql("spark", **some.roles)).select("id", "p_fair").collect()
        return np.array([row[1] for row in sorted(found)])

    assert same_bits(fair(some.columns), some.expected[np.argsort(some.ids)])
    if name == "proxy":
        for bad in (None, float("nan"), 1.5):
            wrong = some.probabilities["q2"].astype(object)
            wrong[3] = bad
            with pytest.raises(Exception, match="probabilities of groups must lie between 0 and 1"):
                fair({**some.columns, "q2": wrong})


def test_spark_unknown_groups_can_be_treated_as_another(session):
    some = unknown_rows(case("draw"))
    expected = some.model.transform(
        some.scores, sensitive_features=some.groups["a group"], ids=np.array(some.ids), on_unknown_group=WILD[1]
    )
    assert same_bits(in_spark(session, some, on_unknown_group=WILD[1]), expected)


BAD = {
    "CAST(NULL AS DOUBLE) AS score, 'a' AS g, 1 AS id": "scores must be finite",
    "CAST('NaN' AS DOUBLE) AS score, 'a' AS g, 1 AS id": "scores must be finite",
    "'0.5' AS score, 'a' AS g, 1 AS id": "scores must be numbers",
    "0.5D AS score, 'A' AS g, 1 AS id": "does not know the group: A",
    "0.5D AS score, 'x' AS g, 1 AS id": "too small, and left out of the fit, was the group: x",
    "0.5D AS score, CAST(NULL AS STRING) AS g, 1 AS id": "a group is missing",
    "0.5D AS score, 'a' AS g, CAST(NULL AS BIGINT) AS id": "an id is missing",
    "0.5D AS score, 'a' AS g, 1.0D AS id": "ids must be integers",
    "0.5D AS score, 'a' AS g, '1' AS id": "ids must be integers",
}
BAD_TEXT = {"''": "an id is missing", "CAST(NULL AS STRING)": "an id is missing", "7": "ids must be text"}


def test_spark_refuses(session):
    """In a table, not in constants only: those might be judged when the query is planned. What is not about ids mostly
    on models that need none, which are planned faster and have the same door."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    same = with_small(fitted(("a", "b"), seed=8, n=300, epsilon=2.0), "drop", "x")
    few = with_small(fitted(("a", "b"), seed=9, n=300, pool="ties", epsilon=0.05, draw="all"), "drop", "x")
    apart = with_small(case("apart").model, "drop", "x")
    tried = [(few if "id" in message else same, row, "integer", message) for row, message in BAD.items()]
    tried += [(model, row, "integer", BAD[row]) for row in list(BAD)[3:6] for model in (few, apart)]
    tried += [(few, f"0.5D AS score, 'a' AS g, {id} AS id", "text", BAD_TEXT[id]) for id in BAD_TEXT]
    for model, row, id_type, message in tried:
        query = model.to_sql("spark", group="g", id_type=id_type, table=f"(SELECT {row} FROM range(2))")
        with pytest.raises((PySparkException, Py4JError), match=message):  # the latter where a broadcast fails
            session.sql(query).collect()
    named = {
        "1D, 2.5D": ("1", "2.5"),
        "true, false": ("True", "False"),
        "1, 2": ("1", "2"),
        "1.00BD, 10.50BD": ("1", "10.5"),
        "'1.00', '-2.050'": ("1", "-2.05"),
        "'01.0', '1.2.0'": ("01.0", "1.2.0"),
    }
    for values, names in named.items():
        table = f"(SELECT 1 AS score, 1 AS id, explode(array({values})) AS g)"
        query = fitted(names, seed=8, n=300, epsilon=2.0).to_sql("spark", group="g", table=table)
        assert [row.score_fair for row in session.sql(query).collect()] == [1.0, 1.0]
    none = "(SELECT 1 AS score, 1 AS id, 'a' AS `group` LIMIT 0)"
    assert session.sql(few.to_sql("spark", table=none)).collect() == []
