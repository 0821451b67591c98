"""Frames of every engine give the model, the audit and the fair scores that numpy arrays give, bit for bit."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairroc
from fairroc import ScoreCounts, frames
from fairroc.errors import DataError, FairrocWarning, UnknownGroupError
from fitted_people import FairROC, frames_fit
from refusals import refuses
from strategies import POOLS

pa = pytest.importorskip("pyarrow")

KEY = "a key of sixteen bytes"
LABELS = {"plain": (0, 1), "signed": (-1, 1), "bool": (False, True), "text": ("no", "yes")}


def to_pandas(table):
    pd = pytest.importorskip("pandas")
    frame = table.to_pandas()
    return frame.set_index(pd.Index(np.arange(len(frame))[::-1] % 3))  # an index that says nothing


def to_polars(table):
    return pytest.importorskip("polars").from_arrow(table)


def to_lazy(table):
    return to_polars(table).lazy()


def to_duckdb(table):
    return pytest.importorskip("duckdb").connect().from_arrow(table)


def to_dask(table):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(table.to_pandas().reset_index(drop=True), npartitions=3)


EAGER = {"arrow": lambda table: table, "pandas": to_pandas, "polars": to_polars}
LAZY = {"lazy": to_lazy, "duckdb": to_duckdb, "dask": to_dask}
ENGINES = EAGER | LAZY


def collected(frame):
    """Any frame as a pyarrow table."""
    table = nw.from_native(frame)
    table = table.collect(backend="pyarrow") if isinstance(table, nw.LazyFrame) else table
    return table.to_arrow()


def undated(model) -> str:
    return replace(model, record=replace(model.record, date="")).to_json()


def by_id(frame, column):
    """Fair scores in the order of the ids: engines need not keep that of the rows."""
    table = collected(frame).sort_by("id")
    return table.column(column).to_numpy()


def people(seed: int, pool: str, n: int, groups: int, labels: str) -> pa.Table:
    """Rows with ties; both labels in every group of either column and of both."""
    rng = np.random.default_rng(seed)
    cells = [(g, h, y) for g in range(groups) for h in range(2) for y in range(2)]
    which = np.concatenate((np.arange(len(cells)), rng.integers(len(cells), size=n)))
    g, h, y = np.array(cells)[which].T
    scores = rng.choice(POOLS[pool], len(which))
    order = np.argsort(rng.random(len(which)) + 0.3 * y)
    scores[order] = np.where(rng.random(len(which)) < 0.5, np.sort(scores), scores)
    return pa.table(
        {
            "p": scores,
            "y": pa.array([LABELS[labels][label] for label in y]),
            "race": [f"group {code}" for code in g],
            "sex": h + 1,
            "w": rng.integers(1, 5, len(which)) / 2,
            "id": rng.permutation(len(which)) - 7,
        }
    )


class Spec(NamedTuple):
    """A table and how to fit to it."""

    seed: int
    pool: str
    rows: int
    groups: int
    labels: str
    group: str | tuple[str, ...]
    epsilon: float
    key: str | None

    @property
    def table(self) -> pa.Table:
        return people(self.seed, self.pool, self.rows, self.groups, self.labels)

    @property
    def names(self) -> dict:
        return {"score": "p", "label": "y", "group": self.group}

    @property
    def pos_label(self) -> str | None:
        return "yes" if self.labels == "text" else None

    @property
    def params(self) -> dict:
        known = {"epsilon": self.epsilon, "draw": "all", "key": self.key, "salt": 3}
        return known | {"pos_label": self.pos_label}


SPECS = st.builds(
    Spec,
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(POOLS)),
    st.sampled_from([0, 40, 400]),
    st.integers(2, 4),
    st.sampled_from(sorted(LABELS)),
    st.sampled_from(["race", "sex", ("race", "sex")]),
    st.sampled_from([0.0, 0.05, 0.3]),
    st.sampled_from([None, KEY]),
)


def fitted(spec: Spec) -> FairROC:
    scores, y, features = arrays(spec.table, spec.names)
    return FairROC(**spec.params).fit(scores, y, sensitive_features=features)


def arrays(table, names):
    group = names["group"]
    features = (
        table.column(group).to_numpy()
        if isinstance(group, str)
        else {name: table.column(name).to_numpy() for name in group}
    )
    return table.column("p").to_numpy(), table.column("y").to_numpy(), features


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
@pytest.mark.parametrize("engine", ENGINES)
class TestEngines:
    @settings(max_examples=8)
    @given(SPECS)
    def test_the_model_and_the_fair_scores_are_those_of_arrays(self, engine, spec) -> None:
        table, truth = spec.table, fitted(spec)
        frame = ENGINES[engine](table)
        post = frames_fit(frame, **spec.names, **spec.params)
        assert undated(post.model_) == undated(truth.model_)

        fair = frames.transform(frame, truth.model_, score="p", group=spec.group, id="id", key=spec.key)
        assert isinstance(fair, type(frame))
        scores, _, features = arrays(table, spec.names)
        ids = table.column("id").to_numpy()
        expected = truth.transform(scores, sensitive_features=features, ids=ids)[np.argsort(ids)]
        assert by_id(fair, "p_fair").tobytes() == expected.tobytes()
        rest = collected(fair).drop_columns(["p_fair"]).sort_by("id")
        assert rest.select(table.column_names).to_pylist() == table.sort_by("id").to_pylist()

    @settings(max_examples=4)
    @given(SPECS)
    def test_the_audit_is_that_of_arrays(self, engine, spec) -> None:
        scores, y, features = arrays(spec.table, spec.names)
        how = {"pos_label": spec.pos_label, "bootstrap": 0}
        truth = fairroc.audit(scores, y, sensitive_features=features, **how)
        assert frames.audit(ENGINES[engine](spec.table), **spec.names, **how) == truth

    @settings(max_examples=4)
    @given(SPECS)
    def test_weights(self, engine, spec) -> None:
        """Halves add up exactly, so that the order in which an engine adds them does not matter."""
        table = spec.table
        scores, y, features = arrays(table, spec.names)
        how = {"pos_label": spec.pos_label}
        weights = table.column("w").to_numpy()
        truth = ScoreCounts.from_rows(scores, y, sensitive_features=features, sample_weight=weights, **how)
        found = frames.counts(ENGINES[engine](table), **spec.names, weight="w", **how)
        assert found.to_arrow().equals(truth.to_arrow())

    @pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], ["1", "2"]])
    def test_groups_are_text(self, engine, values) -> None:
        table = pa.table({"p": [0.1, 0.2, 0.3, 0.4] * 2, "y": [0, 1] * 4, "g": [values[0]] * 4 + [values[1]] * 4})
        found = frames.counts(ENGINES[engine](table), score="p", label="y", group="g")
        assert found.names == ("1", "2")

    @pytest.mark.parametrize(
        "ids",
        [
            np.arange(40, dtype=np.int32),
            np.arange(40, dtype=np.uint64) + np.uint64(2**63),
            [f"né {i}" for i in range(40)],
            [str(uuid.UUID(int=i)) for i in range(40)],
            [Decimal(i) / 4 for i in range(40)],
        ],
        ids=["int32", "uint64", "text", "uuid", "decimal"],
    )
    def test_ids_of_all_types(self, engine, ids) -> None:
        table = people(1, "fine", 32, 2, "plain")
        table = table.slice(0, 40).append_column("key", pa.array(ids))
        scores, y, features = arrays(table, {"group": "sex"})
        model = FairROC(0.0, draw="all", salt=5).fit(scores, y, sensitive_features=features).model_
        fair = frames.transform(ENGINES[engine](table), model, score="p", group="sex", id="key", column="new")
        expected = model.transform(scores, sensitive_features=features, ids=table.column("key").to_pylist())
        assert by_id(fair, "new").tobytes() == expected[np.argsort(table.column("id").to_numpy())].tobytes()

    @pytest.mark.parametrize(
        ("column", "values"),
        [
            ("p", [0.5, None, None]),
            ("p", [0.5, float("nan"), 0.5]),
            ("p", [float("inf"), 0.5, float("-inf")]),
            ("p", [0.5, 2e307, 0.5]),
            ("y", [1, None, 0]),
            ("y", [1, 2, 2]),
            ("race", ["group 0", None, "group 1"]),
        ],
    )
    def test_the_same_errors_as_arrays(self, engine, column, values) -> None:
        table = people(2, "ties", 20, 2, "plain")
        last = {name: table.column(name).slice(0, 3) for name in table.column_names}
        table = pa.concat_tables([table, pa.table(last | {column: pa.array(values, table.schema.field(column).type)})])
        features = table.column("race")
        with pytest.raises(DataError) as told:
            FairROC().fit(table.column("p"), table.column("y"), sensitive_features=features)
        with pytest.raises(DataError) as came:
            frames_fit(ENGINES[engine](table), score="p", label="y", group="race")
        assert listed(came) == listed(told)

    @pytest.mark.parametrize("value", [None, float("nan"), -1.0, float("inf")])
    def test_weights_that_are_none(self, engine, value) -> None:
        table = people(2, "ties", 20, 2, "plain")
        weights = pa.array([1.0] * (len(table) - 1) + [value])
        table = table.set_column(table.column_names.index("w"), "w", weights)
        with pytest.raises(DataError, match=rf"sample_weight .* 1 of {len(table)} are"):
            frames.counts(ENGINES[engine](table), score="p", label="y", group="sex", weight="w")

    def test_missing_groups_as_a_group(self, engine) -> None:
        table = people(3, "fine", 60, 3, "plain")
        race = [None if text == "group 0" else text for text in table.column("race").to_pylist()]
        table = table.set_column(table.column_names.index("race"), "race", pa.array(race))
        how = {"epsilon": 0.0, "missing": "group", "salt": 1, "draw": "all"}
        names = {"score": "p", "label": "y", "group": ["sex", "race"]}
        sensitive = {"sex": table.column("sex"), "race": table.column("race")}
        truth = FairROC(**how).fit(table.column("p"), table.column("y"), sensitive_features=sensitive)
        assert "1 & (missing)" in truth.model_.names
        post = frames_fit(ENGINES[engine](table), **names, **how)
        assert undated(post.model_) == undated(truth.model_)
        fair = frames.transform(ENGINES[engine](table), post, score="p", group=["sex", "race"], id="id")
        expected = truth.transform(table.column("p"), sensitive_features=sensitive, ids=table.column("id"))
        assert (by_id(fair, "p_fair") == expected[np.argsort(table.column("id").to_numpy())]).all()

    def test_transform_refuses_at_once(self, engine) -> None:
        table = people(4, "fine", 60, 2, "plain")
        frame = ENGINES[engine](table)
        post = frames_fit(frame, score="p", label="y", group="sex", epsilon=0.0, key=KEY, draw="all")
        how = {"score": "p", "group": "sex", "id": "id"}
        refuses("already has a column 'w'", frames.transform, frame, post, **how, column="w")
        refuses("no column 'sexe'", frames.transform, frame, post, **how | {"group": "sexe"})
        refuses("fitted with a key", frames.transform, frame, post.model_, **how)
        refuses("on_unknown_group must name a group", frames.transform, frame, post, **how, on_unknown_group="9")

    def test_unknown_groups_and_missing_ids(self, engine) -> None:
        table = people(5, "fine", 60, 3, "plain")
        known = table.filter(pa.compute.not_equal(table.column("race"), "group 2"))
        post = frames_fit(known, score="p", label="y", group="race", epsilon=0.0, salt=2, draw="all")
        names = {"score": "p", "group": "race", "id": "id"}
        with pytest.raises(UnknownGroupError, match="'group 2'"):
            collected(frames.transform(ENGINES[engine](table), post, **names))
        other = {"on_unknown_group": "group 1"}
        fair = frames.transform(ENGINES[engine](table), post, **names, **other)
        columns = {"sensitive_features": table.column("race"), "ids": table.column("id")}
        expected = post.model_.transform(table.column("p"), **columns, **other)
        assert (by_id(fair, "p_fair") == expected[np.argsort(table.column("id").to_numpy())]).all()
        place, ids = table.column_names.index("id"), [None, *range(len(table) - 1)]
        with pytest.raises(DataError, match=r"(?s)missing"):
            collected(
                frames.transform(ENGINES[engine](table.set_column(place, "id", pa.array(ids))), post, **names, **other)
            )

    def test_wrong_columns(self, engine) -> None:
        frame = ENGINES[engine](people(6, "fine", 20, 2, "plain"))
        refuses("no column 'q'", frames.counts, frame, score="q", label="y", group="sex")
        refuses("named twice: 'sex'", frames.counts, frame, score="p", label="y", group=["sex", "sex"])
        refuses("scores must be real numbers", frames_fit, frame, score="race", label="y", group="sex")


def listed(error) -> str:
    """The message; the values that it lists may come in any order."""
    return "".join(sorted(str(error.value)))


def test_what_is_no_frame() -> None:
    refuses("must be a table of pandas", frames_fit, [[1, 2]], score="p", label="y", group="g")


@pytest.mark.parametrize("option", [{"cells": 10}, {"bits": 20}])
def test_options_of_spark_are_refused_elsewhere(option):
    table = pa.table({"p": [0.1, 0.9], "y": [0, 1], "g": ["a", "b"]})
    for call in (frames.counts, frames.fit, frames.audit):
        with pytest.raises(DataError, match="cells and bits are for frames of Spark, got a Table; leave them out"):
            call(table, score="p", label="y", group="g", **option)


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_a_lazy_polars_frame_stays_lazy_and_reads_only_what_it_needs() -> None:
    pl = pytest.importorskip("polars")
    table = people(7, "fine", 100, 2, "plain")
    post = frames_fit(table, score="p", label="y", group="sex", epsilon=0.0)
    lazy = frames.transform(to_lazy(table), post, score="p", group="sex", id="id")
    only = lazy.select("p_fair", "id").filter(pl.col("id") < 5).collect()
    whole = lazy.collect().filter(pl.col("id") < 5).select("p_fair", "id")
    assert only.equals(whole) and len(only) == 12


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_a_duckdb_relation_can_be_queried_again_joined_and_transformed_again() -> None:
    """Whatever tables its connection has; an empty one too."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE fair AS SELECT 1 AS x; CREATE TABLE people AS SELECT 2 AS x")
    rows = connection.sql("SELECT i AS id, sin(i) AS p, i % 2 AS y, i % 3 AS g FROM range(5000) t(i)")
    names = {"score": "p", "group": "g", "id": "id"}
    post = frames_fit(rows, score="p", label="y", group="g", epsilon=0.01)
    fair = frames.transform(rows, post, **names)
    again = frames.transform(fair, post, **names, column="again")
    assert again.filter("again = p_fair").count("*").fetchall() == [(5000,)]
    assert fair.count("*").fetchall() == fair.count("*").fetchall() == [(5000,)]
    joined = fair.set_alias("a").join(rows.set_alias("b"), "a.id = b.id")
    assert joined.aggregate("count(*)").fetchall() == [(5000,)]
    assert frames.transform(rows.filter("id < 0"), post, **names).columns == ["id", "p", "y", "g", "p_fair"]


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
@pytest.mark.parametrize("engine", ["pandas", "polars", "lazy", "dask"])
def test_categories_that_nobody_is_in(engine) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    dd = pytest.importorskip("dask.dataframe")
    table, texts = people(8, "fine", 60, 3, "plain"), ["group 0", "group 1", "group 2", "nobody"]
    frame = table.to_pandas()
    frame["race"] = pd.Categorical(frame["race"], categories=texts)
    small = pl.from_arrow(table).with_columns(pl.col("race").cast(pl.Enum(texts)))
    kinds = {"pandas": frame, "polars": small, "lazy": small.lazy(), "dask": dd.from_pandas(frame, npartitions=2)}
    post = frames_fit(kinds[engine], score="p", label="y", group=["race", "sex"], epsilon=0.0, salt=1, draw="all")
    truth = frames_fit(table, score="p", label="y", group=["race", "sex"], epsilon=0.0, salt=1, draw="all")
    assert undated(post.model_) == undated(truth.model_)
    fair = frames.transform(kinds[engine], post, score="p", group=["race", "sex"], id="id")
    expected = frames.transform(table, truth, score="p", group=["race", "sex"], id="id")
    assert (by_id(fair, "p_fair") == by_id(expected, "p_fair")).all()


def test_a_lazy_frame_does_not_show_the_key() -> None:
    rows = pa.table(
        {"p": [0.1, 0.9, 0.4, 0.6] * 50, "y": [0, 1] * 100, "g": ["f", "f", "m", "m"] * 50, "i": range(200)}
    )
    model = frames_fit(rows, score="p", label="y", group="g", key=KEY)
    plan = frames.transform(to_dask(rows), model, score="p", group="g", id="i", key=KEY)
    assert "p_fair" in plan.expr.tree_repr() and KEY not in plan.expr.tree_repr()
    assert KEY not in repr(plan) and KEY not in str(plan.dask)
    assert KEY not in frames.transform(to_lazy(rows), model, score="p", group="g", id="i", key=KEY).explain()


@pytest.mark.parametrize("engine", ENGINES)
def test_scores_on_another_scale_and_ids_that_repeat(engine) -> None:
    """Whoever asks for the rows is told; what an estimator allows is allowed."""
    rng = np.random.default_rng(0)
    sex, y = np.repeat(["f", "m"], 200).tolist(), rng.integers(0, 2, 400)
    p = y + np.where(np.array(sex) == "f", 1.0, 2.0) * rng.normal(size=400)
    post = FairROC(0.1, salt=1, draw="all").fit(p, y, sensitive_features=sex)
    names = {"score": "p", "group": "g", "id": "id"}

    def act(scores, ids, model, **how):
        table = pa.table({"p": scores, "g": sex, "id": ids})
        return collected(frames.transform(ENGINES[engine](table), model, **names, **how))

    with pytest.warns(FairrocWarning, match="have 5 different ids"):
        act(p, np.arange(400) % 5, post.model_)
    for model, how in ((post, {}), (post.model_, {}), (post.model_, {"allow_out_of_range": False})):
        with pytest.raises(Exception, match="another scale, such as logits"):
            act(p + 1e3, np.arange(400), model, **how)
    post.allow_out_of_range = True
    for model, how in ((post, {}), (post.model_, {"allow_out_of_range": True})):
        with pytest.warns(FairrocWarning, match="outside of the range of those fitted"):
            assert act(p + 1e3, np.arange(400), model, **how).num_rows == 400
