"""Spark on several processes gives the model, the audit and the fair scores that numpy gives, bit for bit."""

from __future__ import annotations

import os
import sys
import warnings
from decimal import Decimal

import numpy as np
import pytest

import fairroc
from fairroc import ScoreCounts, frames
from fairroc.errors import DataError
from fairroc.model.draw import effective_salt, uniforms_from_ids
from fairroc.people.frames import BITS
from fitted_people import FairROC, frames_fit
from java import require_java
from refusals import refuses
from spread_cases import spread_case
from sql_cases import case
from test_frames import KEY, arrays, by_id, listed, people, undated

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

pytestmark = [
    pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.xdist_group("spark cluster"),  # one session for all
]
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # short jobs: little compiling, one thread
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.ansi.enabled": "true",
    "spark.task.maxFailures": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A cluster of two executors, each a process of its own with Python workers of its own."""
    require_java()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("fairroc tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        patch.setenv("SPARK_WORKER_DIR", str(tmp_path_factory.mktemp("spark")))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = builder.getOrCreate()
            except Exception as error:
                pytest.skip(f"Spark cannot start, is Java 17 or newer installed? {error}")
        yield found
        found.stop()


def cluster_frame(session, table):
    """A Spark frame of the table in two partitions, one for each executor."""
    return session.createDataFrame(table)


HARD = [
    (people(1, "ties", 300, 3, "plain"), "race", 0.0, None),
    (people(2, "neighbours", 300, 2, "text"), ["sex", "race"], 0.05, KEY),
    (people(4, "extreme", 200, 2, "bool"), "sex", 0.0, None),
]


@pytest.mark.parametrize(("table", "group", "epsilon", "key"), HARD)
def test_the_model_and_the_fair_scores_are_those_of_arrays(session, table, group, epsilon, key) -> None:
    frame, (scores, y, features) = cluster_frame(session, table), arrays(table, {"group": group})
    known = {"epsilon": epsilon, "salt": 3, "key": key, "draw": "all", "pos_label": "yes" if "yes" in y else None}
    truth = FairROC(**known).fit(scores, y, sensitive_features=features)
    post = frames_fit(frame, score="p", label="y", group=group, **known)
    assert undated(post.model_) == undated(truth.model_)

    fair = frames.transform(frame, post, score="p", group=group, id="id")
    assert fair.columns == [*table.column_names, "p_fair"]
    ids = table.column("id").to_numpy()
    expected = truth.transform(scores, sensitive_features=features, ids=ids)[np.argsort(ids)]
    assert by_id(fair.toArrow(), "p_fair").tobytes() == expected.tobytes()


def test_frames_know_spark(session) -> None:
    table = people(5, "fine", 400, 2, "plain")
    frame = cluster_frame(session, table).withColumnsRenamed({"p": "a.b`c"})
    scores, y, features = arrays(table, {"group": "race"})
    names = {"score": "a.b`c", "label": "y", "group": "race"}
    truth = FairROC(0.01, salt=1).fit(scores, y, sensitive_features=features)
    post = frames_fit(frame, **names, epsilon=0.01, salt=1)
    assert undated(post.model_) == undated(truth.model_)
    audited = fairroc.audit(scores, y, sensitive_features=features, bootstrap=0)
    assert frames.audit(frame, **names, bootstrap=0) == audited
    counted = ScoreCounts.from_rows(scores, y, sensitive_features=features, sample_weight=table.column("w").to_numpy())
    assert frames.counts(frame, **names, weight="w").to_arrow().equals(counted.to_arrow())
    fair = frames.transform(frame, post, score="a.b`c", group="race", id="id", column="new")
    expected = truth.transform(scores, sensitive_features=features, ids=table.column("id"))
    assert (by_id(fair.select("new", "id").toArrow(), "new") == expected[np.argsort(table.column("id"))]).all()


@pytest.mark.parametrize("name", ["proxy in strata", "strata"])
def test_executors_are_told_of_cells_and_strata(session, name) -> None:
    some = spread_case(name)
    fair = frames.transform(cluster_frame(session, pa.table(some.columns)), some.model, **some.roles)
    assert by_id(fair.toArrow(), "p_fair").tobytes() == some.expected[np.argsort(some.ids)].tobytes()


def test_ids_are_not_needed_where_nobody_is_drawn(session) -> None:
    some = case("parity, never")
    table = pa.table({"p": some.scores, "g": some.groups["a group"], "id": np.arange(len(some.scores))})
    fair = frames.transform(cluster_frame(session, table), some.model, score="p", group="g")
    assert by_id(fair.toArrow(), "p_fair").tobytes() == some.expected.tobytes()


def test_ids_of_all_types_and_sparks_own_hash(session) -> None:
    table = people(6, "fine", 32, 2, "plain")
    kinds = {
        "whole": pa.array(np.arange(len(table)) - 3, pa.int32()),
        "long": pa.array((np.arange(len(table)) - 3) * 2**58),
        "text": pa.array([f"né {i}" * (i % 9) for i in range(len(table))]),
        "number": pa.array([Decimal(i) / 4 for i in range(len(table))]),
    }
    for name, ids in kinds.items():
        table = table.append_column(name, ids)
    scores, y, features = arrays(table, {"group": "sex"})
    model = FairROC(0.0, draw="all", salt=5, key=KEY).fit(scores, y, sensitive_features=features).model_
    frame = cluster_frame(session, table)
    names = {"score": "p", "group": "sex", "key": KEY}
    for name in kinds:
        frame = frames.transform(frame, model, id=name, column=f"fair {name}", **names)
    order = np.argsort(table.column("id").to_numpy())
    salt = effective_salt(5, KEY)
    hashes = [
        f"shiftrightunsigned(xxhash64({salt}L, cast(long as bigint)), 11) * pow(2, -53) AS u_long",
        f"shiftrightunsigned(xxhash64({salt}L, text), 11) * pow(2, -53) AS u_text",
    ]
    found = frame.selectExpr("*", *hashes).toArrow()
    for name in kinds:
        ids = table.column(name).to_pylist()
        expected = model.transform(scores, sensitive_features=features, ids=ids, key=KEY)
        assert by_id(found, f"fair {name}").tobytes() == expected[order].tobytes()
    for name in ("long", "text"):
        expected = uniforms_from_ids(table.column(name), salt=5, key=KEY)
        assert by_id(found, f"u_{name}").tobytes() == expected[order].tobytes()


def test_bins_are_those_of_counts(session) -> None:
    """Also around powers of two, at subnormal scores and below zero."""
    rng = np.random.default_rng(7)
    powers = 2.0 ** np.arange(-1074, 1019, 7)
    near = np.concatenate((powers, np.nextafter(powers, 0), np.nextafter(powers, np.inf), rng.random(300), [-0.0, 0.0]))
    scores = np.concatenate((near, -near, rng.normal(size=500)))
    y, g = rng.integers(0, 2, len(scores)), rng.integers(0, 3, len(scores))
    w = rng.integers(1, 4, len(scores)) / 4
    frame = cluster_frame(session, pa.table({"p": scores, "y": y, "g": g, "w": w}))
    names = {"score": "p", "label": "y", "group": "g"}
    exact = ScoreCounts.from_rows(scores, y, sensitive_features=g)
    for bits in (12, 24):
        assert frames.counts(frame, **names, bits=bits).to_arrow().equals(exact.binned(bits).to_arrow())
    weighted = ScoreCounts.from_rows(scores, y, sensitive_features=g, sample_weight=w)
    assert frames.counts(frame, **names, weight="w", bits=20).to_arrow().equals(weighted.binned(20).to_arrow())
    assert frames.counts(frame, **names, cells=10).to_arrow().equals(exact.binned(BITS).to_arrow())
    cells = sum(int((part > 0).sum()) for part in (*exact.negatives, *exact.positives))
    assert frames.counts(frame, **names, cells=2 * cells).to_arrow().equals(exact.to_arrow())


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("p", [0.5, None, float("nan")]),
        ("p", [0.5, float("inf"), 0.5]),
        ("y", [1, None, 0]),
        ("race", ["a", None, "b"]),
    ],
)
def test_the_same_errors_as_arrays(session, column, values) -> None:
    table = people(8, "ties", 20, 2, "plain")
    last = {name: table.column(name).slice(0, 3) for name in table.column_names}
    table = pa.concat_tables([table, pa.table(last | {column: pa.array(values, table.schema.field(column).type)})])
    frame, names = cluster_frame(session, table), {"score": "p", "label": "y", "group": "race"}
    with pytest.raises(DataError) as told:
        FairROC().fit(table.column("p"), table.column("y"), sensitive_features=table.column("race"))
    for bits in (None, 20) if column == "p" else (None,):
        with pytest.raises(DataError) as came:
            frames_fit(frame, **names, bits=bits)
        assert listed(came) == listed(told)


def test_what_is_refused(session) -> None:
    from pyspark.errors import PythonException

    table = people(9, "fine", 60, 3, "plain")
    frame = cluster_frame(session, table)
    post = frames_fit(table.filter(pa.compute.not_equal(table.column("race"), "group 2")), **NAMES, epsilon=0.0, salt=2)
    names = {"score": "p", "group": "race", "id": "id"}
    with pytest.raises(PythonException, match="the model knows the groups 'group 0', 'group 1'"):
        frames.transform(frame, post, **names).toArrow()
    fair = frames.transform(frame, post, **names, on_unknown_group="group 1").toArrow()
    columns = {"sensitive_features": table.column("race"), "ids": table.column("id")}
    expected = post.model_.transform(table.column("p"), **columns, on_unknown_group="group 1")
    assert (by_id(fair, "p_fair") == expected[np.argsort(table.column("id"))]).all()
    refuses("already has a column 'w'", frames.transform, frame, post, **names, column="w")
    refuses("no column 'q'", frames_fit, frame, **NAMES | {"score": "q"})
    with pytest.raises(DataError, match="scores must be real numbers, but the column 'race' holds string"):
        frames_fit(frame, **NAMES | {"score": "race"})
    refuses("bits must be None or a whole number from 12 to 63", frames.counts, frame, **NAMES, bits=64)


NAMES = {"score": "p", "label": "y", "group": "race"}
