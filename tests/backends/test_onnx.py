"""ONNX graphs give numpy's fair scores in ONNX Runtime, bit for bit, refuse what numpy refuses, and hold no secret."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_cli import Run, run
from test_pipeline import same_bits

from fairroc import FairModel
from fairroc.errors import DataError
from fairroc.model.draw import derive_seed
from fairroc.model.lookup import Lookup
from fitted_people import FairROC
from refusals import refuses
from spread_cases import CASES as SPREAD
from spread_cases import spread_case
from sql_cases import CASES, KEY, Case, case, fitted, rows_for, with_small

__all__ = ["run"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

LEVELS = [ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL]
DRAW = case("draw").model


def session(graph: Any, level: Any = LEVELS[1]) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads, options.log_severity_level = level, 1, 4
    return ort.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def texts(values: Any) -> np.ndarray:
    return np.array(["(missing)" if value is None else value for value in values], dtype=object)


def feed(some: Case) -> dict[str, np.ndarray]:
    draws = {"uniform": some.model.uniforms(400, ids=some.ids, key=some.key)}
    return {"score": some.scores, **{name: texts(part) for name, part in some.groups.items()}, **draws}


@pytest.mark.parametrize("name", CASES)
def test_the_bits_of_numpy(name):
    """Every constraint, method and way with ties; hard scores and names; rates at a threshold too."""
    some = case(name)
    graph = some.model.to_onnx(group=[*some.groups], threshold=0.3)
    features = next(iter(some.groups.values())) if len(some.groups) == 1 else some.groups
    how = {"sensitive_features": features, "threshold": 0.3, "allow_out_of_range": True}
    for level in LEVELS:
        fair, rate = session(graph, level).run(["fair_score", "acceptance_rate"], feed(some))
        assert same_bits(fair, some.expected)
        assert same_bits(rate, some.model.acceptance_rate(some.scores, **how))


@pytest.mark.parametrize("name", [name for name in CASES if case(name).id_type == "integer"])
def test_ids_are_hashed_in_the_graph(name):
    some = case(name)
    graph = some.model.to_onnx(ids="int64", group="a group")
    given = feed(some) | {"id": np.array(some.ids)}
    del given["uniform"]
    assert [one.name for one in graph.graph.input] == [*given]
    assert same_bits(session(graph).run(None, given)[0], some.expected)


@pytest.mark.parametrize("ids", [None, "int64"])
@pytest.mark.parametrize("name", ["apart", "never, where", "unchanged"])
def test_who_draws_nobody_takes_ids_or_leaves_them(name, ids):
    """The input is there and may be left out, of any value and number of rows; no node looks at it, none hashes."""
    some = case(name)
    graph = dataclasses.replace(some.model, key_fingerprint="0" * 16).to_onnx(ids=ids, group="a group")
    assert not [node for node in graph.graph.node if "Bit" in node.op_type or {"id", "uniform"} & {*node.input}]
    given = feed(some)
    del given["uniform"]
    odd = {"id": np.array([7, 7, -1])} if ids else {"uniform": np.array([np.nan, 2.0])}
    for level, draws in itertools.product(LEVELS, ({}, odd)):
        assert same_bits(session(graph, level).run(None, given | draws)[0], some.expected)


@pytest.mark.parametrize("seed", range(4))
def test_edges_of_the_draw(seed):
    """Uniform numbers at the ends of outcomes and beside them; many groups, weighted, with the score's whole range."""
    rng = np.random.default_rng(seed)
    groups, y = rng.integers(0, 2 + 9 * (seed % 2), 1500), rng.integers(0, 2, 1500)
    scores = (y + rng.normal(size=1500) * (1 + groups)) * [1.0, 1e-300, 1e300, 5e-324][seed]
    how = {"sensitive_features": groups, "sample_weight": rng.integers(1, 4, 1500)}
    model = FairROC(0.1, salt=1, draw=["all", "few"][seed // 2]).fit(scores, y, **how).model_
    tables = model.tables
    ends = np.unique(np.append(tables.outcomes.lower, [0.0, 5e-324, np.nextafter(1.0, 0.0)]))
    near = np.concatenate((ends, np.nextafter(ends, 1.0), np.nextafter(ends[ends > 0], 0.0)))
    uniforms = rng.choice(near[near < 1], 3000)
    cells = np.concatenate((scores, tables.cells.origin, np.nextafter(tables.cells.origin, -np.inf)))
    values, codes = rng.choice(cells, 3000), rng.integers(0, len(model.names), 3000)
    given = {"score": values, "group": texts(np.array(model.names)[codes]), "uniform": uniforms}
    fair = session(model.to_onnx()).run(None, given)[0]
    assert same_bits(fair, Lookup(tables).scores(values, codes, uniforms.__getitem__))


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows):
    some = case("draw")
    given = {name: values[:rows] for name, values in feed(some).items()}
    fair = session(some.model.to_onnx(group="a group")).run(None, given)[0]
    assert same_bits(fair, some.expected[:rows])


WRONG = {
    "score, nan": ("score", np.nan, "scores must be finite"),
    "score, inf": ("score", -np.inf, "scores must be finite"),
    "score, large": ("score", 1.1e307, "scores must be finite"),
    "group": ("group", "stranger", "does not know the group"),
    "uniform, 1": ("uniform", 1.0, "uniform numbers must be at least 0 and below 1"),
    "uniform, below": ("uniform", -5e-324, "uniform numbers must be at least 0 and below 1"),
    "uniform, nan": ("uniform", np.nan, "uniform numbers must be at least 0 and below 1"),
}


def rows_of(model: FairModel, n: int = 50) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    draws = {"uniform": rng.random(n)} if model.needs_ids else {}
    return {"score": rng.normal(size=n), "group": texts(rng.choice([*model.names], n)), **draws}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("wrong", WRONG)
def test_one_wrong_row_stops_the_run(wrong, level):
    name, value, said = WRONG[wrong]
    for model in (DRAW, case("unchanged").model, case("never, where").model):
        given = rows_of(model)
        runner = session(model.to_onnx(), level)
        assert runner.run(None, given)[0].shape == (50,)
        if name in given:
            given[name][17] = value
            with pytest.raises(Exception, match=said):
                runner.run(None, given)


def test_a_runtime_that_lets_checks_pass_gives_nan():
    """Where an index beyond a table's end counts as the last one, as on some graphics processors."""
    graph = DRAW.to_onnx(threshold=0.5)
    tables = {node.input[0] for node in graph.graph.node if "fairroc: " in node.name}
    for constant in graph.graph.initializer:
        if constant.name in tables:
            constant.CopyFrom(onnx.numpy_helper.from_array(np.array([True, True]), constant.name))
    lax = session(graph)
    for name, value, _ in WRONG.values():
        given = rows_of(DRAW)
        given[name][17] = value
        for found in lax.run(None, given):
            assert np.flatnonzero(np.isnan(found)).tolist() == [17]


@pytest.mark.parametrize("short", ["score", "group", "uniform"])
def test_one_value_is_not_spread_over_all_rows(short):
    for level in LEVELS:
        given = rows_of(DRAW)
        given[short] = given[short][:1]
        with pytest.raises(Exception, match=r"same number of rows|[Ss]hape|broadcast|dim"):
            session(DRAW.to_onnx(), level).run(None, given)
    with pytest.raises(Exception, match="rank"):
        session(DRAW.to_onnx()).run(None, rows_of(DRAW) | {"uniform": np.zeros((50, 1))})


def test_groups_that_were_not_fitted():
    model = with_small(fitted(("a", "b"), seed=1, n=600, epsilon=0.1), "drop", "tiny")
    given = rows_of(model) | {"group": texts(["a", "tiny"] * 25)}
    with pytest.raises(Exception, match="left out of the fit as too small"):
        session(model.to_onnx()).run(None, given)
    fair = session(model.to_onnx(on_unknown_group="b")).run(None, given)[0]
    assert same_bits(fair, session(model.to_onnx()).run(None, given | {"group": texts(["a", "b"] * 25)})[0])
    refuses("on_unknown_group must name a group of the model, got 'c'", model.to_onnx, on_unknown_group="c")


def test_no_secret_in_a_graph():
    some = case("key")
    content = some.model.to_onnx(group="a group").SerializeToString()
    for secret in (KEY.encode(), derive_seed(some.model.salt, KEY).to_bytes(8, "little")):
        assert secret not in content
    refuses("ids must be None for a model with a key: whoever holds the graph", some.model.to_onnx, ids="int64")
    slow = fitted(("a", "b"), seed=1, n=300, epsilon=0.1, hash="blake2b", draw="all")
    refuses("hash='blake2b', which no graph can compute", slow.to_onnx, ids="int64")
    slow.to_onnx()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"ids": "text"}, "ids must be 'int64' or None"),
        ({"score": "fair_score"}, "score and group must name inputs, none of them fair_score"),
        ({"score": "fairroc_1"}, "beginning with fairroc_"),
        ({"group": []}, "score and group must name inputs"),
        ({"group": "uniform"}, "score and group must name inputs"),
        ({"group": "score"}, "score and group must be different inputs"),
        ({"group": ["a", "a"]}, "'a'"),
        ({"threshold": np.nan}, "threshold must be a number"),
    ],
)
def test_bad_requests(how, said):
    refuses(said, DRAW.to_onnx, **how)


# ---- behind a classifier ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained() -> tuple[Any, np.ndarray, np.ndarray, FairModel]:
    """A pipeline, features, groups, and a fair score."""
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(2000, 3)), rng.choice(["f", "m"], 2000)
    y = (X[:, 0] + 0.7 * (sex == "m") + rng.normal(size=2000) > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    fair = FairROC(0.05, salt=1).fit(pipeline.predict_proba(X)[:, 1], y, sensitive_features=sex)
    return pipeline, X, sex, fair.model_


def converted(pipeline: Any, X: np.ndarray, **how: Any) -> Any:
    from skl2onnx import to_onnx

    return to_onnx(pipeline, X[:1], **{"options": {"zipmap": False}, "target_opset": 20} | how)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("ids", [None, "int64"])
def test_behind_a_pipeline(trained, kind, ids):
    """Features in, fair score out: numpy's, of the score that the graph computed."""
    pipeline, X, sex, model = trained
    X, numbers = X.astype(kind), np.arange(len(X))
    graph = model.to_onnx(after=converted(pipeline, X), score="probabilities", group="sex", ids=ids)
    draws = {"id": numbers} if ids else {"uniform": model.uniforms(len(X), ids=numbers)}
    fair, score = session(graph).run(["fair_score", "score"], {"X": X, "sex": texts(sex)} | draws)
    assert score.dtype == np.float64 and np.allclose(score, pipeline.predict_proba(X)[:, 1], atol=1e-6)
    assert same_bits(fair, model.transform(score, sensitive_features=sex, ids=numbers))


def test_the_group_may_be_a_feature(trained):
    import pandas as pd
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    _, X, sex, model = trained
    frame = pd.DataFrame({"age": X[:, 0], "sex": sex})
    y = (X[:, 0] > 0).astype(int)
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age"]))
    pipeline = make_pipeline(columns, LogisticRegression()).fit(frame, y)
    kinds = [("age", DoubleTensorType([None, 1])), ("sex", StringTensorType([None, 1]))]
    classifier = converted(pipeline, X, initial_types=kinds)
    graph = model.to_onnx(after=classifier, score="probabilities", group="sex", ids="int64")
    given = {"age": X[:, :1], "sex": texts(sex)[:, None], "id": np.arange(len(X))}
    fair, score = session(graph).run(["fair_score", "score"], given)
    assert same_bits(fair, model.transform(score, sensitive_features=sex, ids=given["id"]))
    with pytest.raises(DataError, match="must not share a name with another type in the classifier's graph, got 'age'"):
        model.to_onnx(after=classifier, score="probabilities", group="age")


def test_classifiers_that_do_not_fit(trained):
    pipeline, X, _, model = trained
    plain = converted(pipeline, X)
    refuses(r"score must name an output .* got 'score'; outputs: 'label', 'probabilities'", model.to_onnx, after=plain)
    with pytest.raises(DataError, match=r"Convert with options=\{'zipmap': False}"):
        model.to_onnx(after=converted(pipeline, X, options=None), score="output_probability")
    with pytest.raises(DataError, match=r"must have opset 18 or newer, got .*target_opset="):
        model.to_onnx(after=converted(pipeline, X, target_opset=12), score="probabilities")
    three = LogisticRegression().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(DataError, match="column must say which column of 'probabilities' is the score"):
        model.to_onnx(after=converted(three, X), score="probabilities")
    graph = model.to_onnx(after=converted(three, X), score="probabilities", column=2, ids="int64")
    given = {"X": X, "group": texts(["f"] * len(X)), "id": np.arange(len(X))}
    assert np.allclose(session(graph).run(["score"], given)[0], three.predict_proba(X)[:, 2])


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    DRAW.save(tmp_path / "m.json")
    how = ("onnx", "--model", tmp_path / "m.json", "--score", "p", "--group", "g", "-o", tmp_path / "m.onnx")
    ran = run(*how, "--ids", "int64", "--threshold", "0.5", "--format", "json")
    assert ran.code == 0 and json.loads(ran.out)["inputs"] == ["p", "g", "id"]
    assert onnx.load(tmp_path / "m.onnx") == DRAW.to_onnx(score="p", group="g", ids="int64", threshold=0.5)
    (tmp_path / "m.onnx").unlink()
    assert run(*how, "--ids", "text").code == 2
    monkeypatch.setitem(sys.modules, "onnx", None)
    run(*how).refused("pip install 'fairroc[onnx]'")
    assert not (tmp_path / "m.onnx").exists()


def test_rows_are_as_hard_as_they_claim():
    """The cases above hold scores of both zeros, and some fair score keeps -0.0."""
    some = rows_for(case("unchanged").model)
    assert np.signbit(some.expected[some.expected == 0]).any()


# ---- cells, strata and attributes ----------------------------------------------------------------------------------


def told(some: Any) -> dict[str, np.ndarray]:
    """What the graph is told of people beside the score."""
    named = {**some.controls, **some.groups}
    return {**{name: texts(map(str, part.tolist())) for name, part in named.items()}, **some.probabilities}


def names(some: Any) -> dict[str, Any]:
    return {role: name for role, name in some.roles.items() if role != "id"}


@pytest.mark.parametrize("name", SPREAD)
def test_cells_are_found_in_the_graph(name):
    some = spread_case(name)
    graph = some.model.to_onnx(ids="int64", threshold=0.4, **names(some))
    assert [one.name for one in graph.graph.input] == ["p", *some.controls, *some.groups, *some.probabilities, "id"]
    rates = some.model.acceptance_rate(some.scores, threshold=0.4, **some.told)
    for level in LEVELS:
        fair, rate = session(graph, level).run(None, {"p": some.scores, "id": some.ids, **told(some)})
        assert same_bits(fair, some.expected) and same_bits(rate, rates)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -5e-324, np.nextafter(1.0, 2.0)])
def test_a_graph_stops_at_what_is_no_probability(bad):
    some = spread_case("proxy")
    graph = session(some.model.to_onnx(ids="int64", score="p"))
    for column in some.probabilities:
        given = {"p": some.scores, "id": some.ids, **told(some)}
        given[column] = given[column].copy()
        given[column][7] = bad
        with pytest.raises(Exception, match="probabilities of groups must lie between 0 and 1"):
            graph.run(None, given)


def test_inputs_that_do_not_fit_a_model_of_cells():
    some = spread_case("proxy in strata")
    for wrong, message in (
        ({"group": "sex"}, r"group \(--group\) must name no column, got sex"),
        ({"control_features": None}, r"control_features \(--control\) must name the columns"),
        ({"control_features": ["town", "r"]}, "the same input's column is named twice: 'r'"),
        ({"group_probabilities": "p"}, "score and group must be different inputs"),
        ({"group_probabilities": "fairroc_x"}, "must name inputs, none of them"),
    ):
        refuses(message, some.model.to_onnx, **names(some) | wrong)


def test_the_commands_write_graphs_and_sql_of_cells(run: Run, tmp_path):
    some = spread_case("proxy in strata")
    some.model.save(tmp_path / "model.json")
    named = ["--score", "p", "--group-probability", "r", "--control", "town", "--control", "job"]
    model = ["--model", tmp_path / "model.json"]
    done = run("onnx", *model, *named, "--ids", "int64", "-o", tmp_path / "fair.onnx")
    assert done.code == 0 and "inputs: p, town, job, r, id" in done.err
    assert "--group-probability r --control town --control job" in done.step
    fair = session(onnx.load(tmp_path / "fair.onnx")).run(None, {"p": some.scores, "id": some.ids, **told(some)})[0]
    assert same_bits(fair, some.expected)
    done = run("sql", *model, "--dialect", "duckdb", *named, "--id", "id")
    assert done.out == some.model.to_sql("duckdb", **some.roles)
    for command in (["sql", "--dialect", "duckdb", "--id", "id"], ["onnx", "-o", tmp_path / "x.onnx"]):
        done = run(*command, *model, "--score", "p", "--group", "sex", "--control", "town")
        assert done.code == 2 and "group (--group) must name no column, got sex" in done.err
