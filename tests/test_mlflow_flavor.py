"""MLflow: models logged, loaded and served with the same bits and without the key, and the evaluator's figures."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.exceptions import MlflowException
from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry
from sklearn.linear_model import LogisticRegression

import fairroc.mlflow
from fairroc import DataError, FairModel, FairrocError, audit, verify
from fairroc.cli.main import main
from fairroc.datasets import make_scores
from fairroc.mlflow import flavor
from fairroc.mlflow.evaluator import figures
from fairroc.mlflow.scoring import KEY_FILE
from fitted_people import FairROC, FairROCClassifier
from refusals import refuses
from spread_cases import spread_case

KEY = "a secret of some length"
SCORES, LABELS, SEX = make_scores()
PEOPLE = pd.DataFrame({"score": SCORES, "sex": SEX, "id": np.arange(1000) + 5, "label": LABELS})
RNG = np.random.default_rng(0)
WORK = PEOPLE.drop(columns="score").assign(a=LABELS + RNG.normal(size=1000), b=RNG.integers(0, 5, 1000))
HOW = {"sensitive_features": SEX, "ids": PEOPLE["id"]}


class Own(LogisticRegression):
    """A type that skops does not know."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tracking store of its own."""
    found = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{found}/mlflow.db")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("fair", (found / "artifacts").as_uri()))
    yield found
    mlflow.set_tracking_uri(None)


@pytest.fixture(scope="module")
def keyed() -> FairROC:
    return FairROC(0.1, draw="all", key=KEY).fit(SCORES, LABELS, sensitive_features=SEX)


@pytest.fixture(scope="module")
def logged(folder: Path, keyed: FairROC):
    (folder / "fairroc.key").write_text(f"{KEY}\n")
    with mlflow.start_run():
        return fairroc.mlflow.log_model(keyed, group="sex", data=PEOPLE, registered_model_name="fair")


def test_a_logged_model_has_all_that_is_told_of_it_and_no_key(folder: Path, keyed: FairROC, logged) -> None:
    local = Path(mlflow.artifacts.download_artifacts(artifact_uri=logged.model_uri))
    files = {path.name for path in local.rglob("*") if path.is_file()}
    assert files >= {"MLmodel", "model.json", "use.json", "report.html", "audit.json", "audit_fair.json"}
    stored, proof = local / "data" / "fairroc" / "model.json", local / "certificate.json"
    assert verify(stored, SCORES, LABELS, sensitive_features=SEX, certificate=proof).passed
    assert not any(path.suffix in (".pkl", ".pickle") for path in local.rglob("*"))
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "fairroc.key"]
    assert texts and not any(b"a secret" in text for text in texts)
    assert str(logged.signature.inputs) == (
        "['score': double (required), 'sex': string (required), 'id': long (required)]"
    )
    example = json.loads((local / "input_example.json").read_text(encoding="utf-8"))
    assert example["columns"] == ["score", "sex", "id"] and [row[1] for row in example["data"]] == ["f", "m"]
    before = audit(SCORES, LABELS, sensitive_features=SEX, epsilon=0.1).to_dict()
    assert json.loads((local / "audit.json").read_text(encoding="utf-8")) == json.loads(json.dumps(before))
    drawn = keyed.transform(SCORES, sensitive_features=SEX, random_state=0)
    after = audit(drawn, LABELS, sensitive_features=SEX, epsilon=0.1).gap
    assert json.loads((local / "audit_fair.json").read_text(encoding="utf-8"))["gap"] == after < before["gap"]
    assert "<html" in (local / "report.html").read_text(encoding="utf-8")[:200]
    told = mlflow.get_logged_model(logged.model_id)
    assert told.params["epsilon"] == "0.1" and "key" not in told.params and told.source_run_id


def test_the_key_is_given_where_a_model_is_loaded(
    folder: Path, keyed: FairROC, logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    fair, key_file = keyed.transform(SCORES, **HOW), folder / "fairroc.key"
    with pytest.raises(DataError, match=rf"{keyed.model_.key_fingerprint}.*does not store.*{KEY_FILE}.*key_file"):
        mlflow.pyfunc.load_model(logged.model_uri)
    refuses("files of estimators hold none", fairroc.mlflow.load_model(logged.model_uri).transform, SCORES, **HOW)
    for how in ({"key": KEY}, {"key_file": key_file}):
        assert (fairroc.mlflow.load_model("models:/fair/1", **how).transform(SCORES, **HOW) == fair).all()
    refuses("either key or key_file", fairroc.mlflow.load_model, logged.model_uri, key=KEY, key_file=key_file)
    there = mlflow.pyfunc.load_model(logged.model_uri, model_config={"key_file": str(key_file)})
    monkeypatch.setenv(KEY_FILE, str(key_file))
    for found in (there, mlflow.pyfunc.load_model("models:/fair/1")):
        assert (found.predict(PEOPLE[["id", "score", "sex"]]) == fair).all()
    assert (fairroc.mlflow.load_model(logged.model_uri).transform(SCORES, **HOW) == fair).all()
    key_file.with_name("other.key").write_text("another secret of some length")
    monkeypatch.setenv(KEY_FILE, str(key_file.with_name("other.key")))
    refuses("got one of", mlflow.pyfunc.load_model, logged.model_uri)


def test_what_is_wrong_with_rows_is_said(folder: Path, tmp_path: Path) -> None:
    post = FairROC(0.1, draw="all").fit(SCORES, LABELS, sensitive_features=SEX)
    fairroc.mlflow.save_model(post, tmp_path / "m", group="sex", id_type="text")
    found, rows = mlflow.pyfunc.load_model(str(tmp_path / "m")), PEOPLE.assign(id=PEOPLE["id"].astype(str))[:3]
    told = post.transform(SCORES[:3], sensitive_features=SEX[:3], ids=list(rows["id"]))
    assert (found.predict(rows[["score", "sex", "id"]]) == told).all()
    for wrong, words in (
        (rows.assign(sex="z"), "UnknownGroupError: the model knows the groups 'f', 'm', but 3 of 3 rows are of 'z'"),
        (rows.assign(sex=["f", None, "m"]), "DataError: sensitive_features must not be missing, but 1 of 3 are"),
        (rows.assign(score=[0.1, np.nan, 0.2]), "DataError: scores must not be missing"),
        (rows.assign(id=np.array([1, "2", "3"], dtype=object)), r"DataError: ids must be text.*got 1 .*first: int"),
        (rows.assign(id=[1, 2, 3]), "Incompatible input types for column id"),
        (rows.assign(score="high"), "column score"),
        (rows.drop(columns="id"), r"missing inputs \['id'\]"),
    ):
        with pytest.raises(MlflowException, match=words):
            found.predict(wrong[[name for name in ("score", "sex", "id") if name in wrong]])


def test_models_without_an_estimator_and_with_several_group_columns(folder: Path, tmp_path: Path) -> None:
    groups = PEOPLE.assign(old=np.where(np.arange(1000) % 3 == 0, 1, 0))[["sex", "old"]]
    post = FairROC(0.1, draw="all").fit(SCORES, LABELS, sensitive_features=groups)
    fairroc.mlflow.save_model(post.model_, tmp_path / "m", score="p", group=["sex", "old"], id="person")
    again = fairroc.mlflow.load_model(tmp_path / "m")
    assert type(again) is FairModel and again.names == post.model_.names
    rows = groups.assign(p=SCORES, person=PEOPLE["id"], old=groups["old"].astype(str))
    fair = post.transform(SCORES, sensitive_features=groups, ids=PEOPLE["id"])
    assert (mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(rows) == fair).all()
    never = FairROC(constraint="equal_opportunity", epsilon=1.0).fit(SCORES, LABELS, sensitive_features=SEX)
    example = PEOPLE[["score", "sex"]][:2]
    fairroc.mlflow.save_model(never, tmp_path / "n", group="sex", id=None, input_example=example)
    assert len(mlflow.pyfunc.load_model(str(tmp_path / "n")).predict(PEOPLE[["score", "sex"]])) == 1000


def test_who_draws_nobody_takes_ids_or_leaves_them(folder: Path, tmp_path: Path) -> None:
    """A model logged as one that draws is called as that one was, without the key, or without ids."""
    post = FairROC(0.1, draw="never", key=KEY).fit(SCORES, LABELS, sensitive_features=SEX)
    fairroc.mlflow.save_model(post, tmp_path / "m", group="sex")
    found = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert str(found.metadata.signature.inputs) == (
        "['score': double (required), 'sex': string (required), 'id': long (optional)]"
    )
    for rows in (PEOPLE[["score", "sex", "id"]], PEOPLE[["score", "sex"]]):
        assert (found.predict(rows) == post.transform(SCORES, sensitive_features=SEX)).all()


@pytest.mark.parametrize(
    ("kind", "told"), [(int, "long"), (float, "double"), (bool, "boolean"), (str, "string")], ids=str
)
def test_groups_have_the_type_of_the_data(kind: type, told: str, tmp_path: Path) -> None:
    people = PEOPLE.assign(sex=(SEX == "f").astype(kind))
    post = FairROC(0.1, draw="all").fit(SCORES, LABELS, sensitive_features=people["sex"])
    fairroc.mlflow.save_model(post, tmp_path / "m", group="sex", data=people)
    found = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert f"'sex': {told} (required)" in str(found.metadata.signature.inputs)
    fair = post.transform(SCORES, sensitive_features=people["sex"], ids=PEOPLE["id"])
    assert (found.predict(people[["score", "sex", "id"]]) == fair).all()


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_small_groups_are_audited_as_they_were_fitted(tmp_path: Path) -> None:
    people = PEOPLE.assign(sex=np.where(np.arange(1000) < 24, ["x", "y"] * 500, SEX))
    for treatment, groups in (("merge", {"f", "m", "other (merged)"}), ("drop", {"f", "m"})):
        post = FairROC(0.3, draw="all", small_groups=treatment, min_class_rows=8)
        post.fit(people["score"], people["label"], sensitive_features=people["sex"])
        fairroc.mlflow.save_model(post, tmp_path / treatment, group="sex", data=people)
        for name in ("audit.json", "audit_fair.json"):
            told = json.loads((tmp_path / treatment / name).read_text(encoding="utf-8"))
            assert {group["group"] for group in told["groups"]} == groups


def test_a_logged_classifier_takes_its_features(folder: Path, tmp_path: Path) -> None:
    clf = FairROCClassifier(LogisticRegression(), 0.1, cv=2, draw="all")
    clf.fit(WORK[["a", "b"]], LABELS, sensitive_features=SEX)
    example = WORK.drop(columns="label")[:2]
    info = fairroc.mlflow.log_model(clf, "clf", group="sex", input_example=example, data=WORK, tags={"stage": "trial"})
    assert str(info.signature.inputs) == (
        "['a': double (required), 'b': long (required), 'sex': string (required), 'id': long (required)]"
    )
    fair = clf.fair_score(WORK[["a", "b"]], sensitive_features=SEX, ids=WORK["id"])
    assert (mlflow.pyfunc.load_model(info.model_uri).predict(WORK[example.columns]) == fair).all()
    again = fairroc.mlflow.load_model(info.model_uri)
    assert (again.fair_score(WORK[["a", "b"]], sensitive_features=SEX, ids=WORK["id"]) == fair).all()
    own = FairROCClassifier(Own(), 0.1, cv=2, draw="all", key=KEY, sensitive_features=0).fit(
        np.column_stack((SEX == "f", WORK["a"])).astype(float), LABELS
    )  # a matrix, with the groups in it
    rows = pd.DataFrame({"0": (SEX == "f").astype(float), "1": WORK["a"], "id": WORK["id"]})
    how = {"group": None, "input_example": rows[:2]}
    refuses(r"trusted=\['test_mlflow_flavor.Own'\]", fairroc.mlflow.save_model, own, tmp_path / "t", **how)
    assert not (tmp_path / "t").exists()
    fairroc.mlflow.save_model(own, tmp_path / "t", trusted=["test_mlflow_flavor.Own"], **how)
    again = fairroc.mlflow.load_model(tmp_path / "t", key=KEY)
    X = rows[["0", "1"]].to_numpy()
    assert (again.fair_score(X, ids=rows["id"]) == own.fair_score(X, ids=rows["id"])).all()


def test_what_cannot_be_logged_is_refused(
    folder: Path, tmp_path: Path, keyed: FairROC, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = FairROCClassifier(LogisticRegression(), 0.1, cv=2).fit(WORK[["a"]], LABELS, sensitive_features=SEX)
    for model, how, told in (
        (LogisticRegression(), {}, "model must be a FairModel, a FairROC or a FairROCClassifier"),
        (FairROC(), {}, "not fitted"),
        (keyed, {"id": None}, "id must name the column of ids, got None"),
        (keyed, {"id_type": "float"}, "id_type must be 'integer' or 'text'"),
        (keyed, {"group": []}, "group must name the column"),
        (keyed, {"group": ["sex", "race"]}, "as many columns as the fit had: the groups are called 'f'"),
        (keyed, {"data": PEOPLE}, "data must be a frame with the columns label, group, score, got none called group"),
        (keyed, {"input_example": [0.5]}, "input_example must be a pandas frame, got list"),
        (keyed, {"input_example": pd.DataFrame({"score": [0.5]})}, "must have the columns score, group, id"),
        (clf, {}, "input_example must be given for a classifier"),
        (clf, {"group": "sex", "input_example": WORK[["sex", "id"]]}, "the features of the fit, got none called a"),
    ):
        with pytest.raises(ValueError, match=told):
            fairroc.mlflow.save_model(model, tmp_path / "m", **how)
    assert not list(tmp_path.iterdir())
    logged = len(mlflow.search_logged_models(output_format="list"))
    refuses("id_type must be", fairroc.mlflow.log_model, keyed, group="sex", id_type="float")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        fairroc.mlflow.log_model(keyed, group="sex", colour="red")
    assert len(mlflow.search_logged_models(output_format="list")) == logged
    fairroc.mlflow.save_model(keyed, tmp_path / "m", group="sex")
    refuses("path must be a new folder", fairroc.mlflow.save_model, keyed, tmp_path / "m", group="sex")
    (tmp_path / "m" / "data" / "fairroc" / "use.json").write_text("{}")
    with pytest.raises(FairrocError, match=r"what fairroc.mlflow.log_model wrote"):
        fairroc.mlflow.load_model(tmp_path / "m")
    mlflow.pyfunc.save_model(tmp_path / "other", loader_module="json", pip_requirements=["x"])
    refuses(r"must be a model that fairroc.mlflow logged", fairroc.mlflow.load_model, tmp_path / "other")
    monkeypatch.setattr(flavor, "find_spec", lambda name: None)
    with pytest.raises(FairrocError, match=r"pip install 'fairroc\[mlflow\]'"):
        fairroc.mlflow.log_model(keyed, group="sex")


# -- over HTTP ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(folder: Path, logged) -> Iterator[str]:
    """`mlflow models serve`, in a process of its own that knows no more than where the model and the key are."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    local = mlflow.artifacts.download_artifacts(artifact_uri=logged.model_uri)
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    told = {"PATH": paths, "PYTHONPATH": os.pathsep.join(sys.path), KEY_FILE: str(folder / "fairroc.key")}
    command = ["-m", "mlflow", "models", "serve", "-m", local, "-h", "127.0.0.1", "-p", str(port)]
    with (folder / "serve.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, *command, "--env-manager", "local"], env=os.environ | told, stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert server.poll() is None, (folder / "serve.log").read_text(encoding="utf-8")
            try:
                urllib.request.urlopen(f"{address}/ping", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)


def asked(address: str, rows: pd.DataFrame) -> tuple[int, dict]:
    body = json.dumps({"dataframe_split": rows.to_dict(orient="split")}).encode()
    request = urllib.request.Request(f"{address}/invocations", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_served_model_gives_the_same_bits_and_says_what_is_wrong(served: str, keyed: FairROC, folder: Path) -> None:
    rows = PEOPLE[["score", "sex", "id"]]
    status, answer = asked(served, rows)
    assert status == 200 and answer["predictions"] == keyed.transform(SCORES, **HOW).tolist()
    status, answer = asked(served, rows[:2].assign(sex="z"))
    assert status == 400 and "UnknownGroupError: the model knows the groups 'f', 'm'" in answer["message"]
    status, answer = asked(served, rows[["score", "sex"]])
    assert status == 400 and "missing inputs ['id']" in answer["message"]
    assert "secret" not in (folder / "serve.log").read_text(encoding="utf-8")


# -- the evaluator -----------------------------------------------------------------------------------------------------


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator as MLflow finds it: by the entry point that the project declares."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"]["mlflow.model_evaluator"]
    about = tmp_path / "here" / "fairroc-0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fairroc\nVersion: 0\n")
    lines = [f"{name} = {place}" for name, place in declared.items()]
    (about / "entry_points.txt").write_text("\n".join(["[mlflow.model_evaluator]", *lines]))
    monkeypatch.syspath_prepend(tmp_path / "here")
    monkeypatch.delitem(_model_evaluation_registry._registry, "fairroc", raising=False)
    _model_evaluation_registry.register_entrypoints()


def evaluated(data: pd.DataFrame, **how):
    config = {"group": "sex", **how.pop("config", {})}
    return mlflow.models.evaluate(
        data=data, targets="label", model_type="classifier", evaluators="fairroc", evaluator_config=config, **how
    )


def test_the_evaluator_tells_the_figures_of_the_audit(
    folder: Path, registered: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    names = ["--score", "score", "--label", "label", "--group", "sex", "--epsilon", "0.05", "--threshold", "0.5"]
    assert main(["audit", str(tmp_path / "people.csv"), *names, "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    with mlflow.start_run() as run:
        found = evaluated(PEOPLE, predictions="score", config={"epsilon": 0.05, "threshold": 0.5})
    assert found.metrics == {f"fairroc/{name}": value for name, value in figures(told)}
    assert found.metrics["fairroc/gap"] == told["gap"] and found.metrics["fairroc/fair"] == 0.0
    assert found.metrics["fairroc/gap_interval/bootstrap_high"] == told["gap_interval"]["bootstrap"][1]
    assert found.metrics["fairroc/group/f/auc"] == told["groups"][0]["auc"]
    assert found.metrics["fairroc/decision/group/m/tpr"] == told["decision"]["groups"][1]["tpr"]
    assert mlflow.get_run(run.info.run_id).data.metrics == pytest.approx(found.metrics, rel=0, abs=0)
    listed = {item.path for item in mlflow.MlflowClient().list_artifacts(run.info.run_id)}
    assert {"fairroc_audit.json", "fairroc_roc.png"} <= listed
    logged = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/fairroc_audit.json")
    assert logged == told == json.loads(json.dumps(found.artifacts["fairroc_audit"].content))
    assert found.artifacts["fairroc_roc"].content.size[0] > 300


def test_the_evaluator_takes_a_model_and_says_what_it_lacks(folder: Path, registered: None, tmp_path: Path) -> None:
    post = FairROC(0.1, draw="all").fit(SCORES, LABELS, sensitive_features=SEX)
    fairroc.mlflow.save_model(post, tmp_path / "m", group="sex")
    found = evaluated(PEOPLE, model=str(tmp_path / "m"), config={"bootstrap": 0})
    fair = post.transform(SCORES, **HOW)
    assert found.metrics["fairroc/gap"] == audit(fair, LABELS, sensitive_features=SEX, bootstrap=0).gap
    for config, told in (
        ({"group": "race"}, "must name the group by a column of the data .*got 'race'; there are sex, id"),
        ({"colour": "red"}, r"evaluator_config must hold 'group', 'weight' and parameters of audit.*colour"),
    ):
        refuses(told, evaluated, PEOPLE, predictions="score", config=config)
    with pytest.raises(MlflowException, match="could not be evaluated"):  # it stays out where nobody asks for it
        evaluated(PEOPLE, predictions="score", config={"group": None})
    pair = np.column_stack((1 - SCORES, SCORES))
    found = evaluated(
        PEOPLE.drop(columns="score"),
        model=lambda rows: pair,
        config={"bootstrap": 0, "weight": "id"},
    )
    weighted = audit(SCORES, LABELS, sensitive_features=SEX, sample_weight=PEOPLE["id"], bootstrap=0)
    assert found.metrics["fairroc/gap"] == weighted.gap
    config = {"group": "sex", "constraint": "demographic_parity", "bootstrap": 0}
    found = mlflow.models.evaluate(
        data=PEOPLE[["score", "sex"]],
        predictions="score",
        model_type="question-answering",  # which MLflow takes without targets
        evaluators="fairroc",
        evaluator_config=config,
    )
    parity = audit(SCORES, None, sensitive_features=SEX, constraint="demographic_parity", bootstrap=0)
    assert found.metrics["fairroc/gap"] == parity.gap and list(found.artifacts) == ["fairroc_audit"]


def test_names_of_groups_become_names_of_metrics() -> None:
    groups = [{"group": name, "auc": i / 10} for i, name in enumerate(["a & b", "a / b", "é", "a _ b_2"])]
    found = dict(figures({"groups": groups, "rows": 3, "gap": float("inf"), "tolerances": [0.1, 0.2]}))
    assert len(found) == 5 and list(found)[:3] == ["group/a _ b/auc", "group/a _ b_2/auc", "group/_/auc"]


def test_the_folder_of_a_model_can_be_moved(tmp_path: Path) -> None:
    post = FairROC(0.1, draw="all").fit(SCORES, LABELS, sensitive_features=SEX)
    fairroc.mlflow.save_model(post, tmp_path / "m", group="sex")
    shutil.move(tmp_path / "m", tmp_path / "elsewhere")
    fair = mlflow.pyfunc.load_model(str(tmp_path / "elsewhere")).predict(PEOPLE[["score", "sex", "id"]])
    assert (fair == post.transform(SCORES, **HOW)).all()


# ---- cells and strata ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["proxy", "proxy in strata", "score alone", "each", "strata"])
def test_models_that_are_told_of_cells_and_strata(name: str, tmp_path: Path) -> None:
    some = spread_case(name)
    roles = some.roles
    flavor.save_model(some.model, tmp_path / "model", **roles)
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    kinds = {column.name: column.type.name for column in loaded.metadata.signature.inputs}
    assert set(kinds) == set(some.columns)
    assert all(kinds[column] == "double" for column in some.probabilities)
    frame = pd.DataFrame({column: values.astype(str) if column in some.controls else values
                          for column, values in some.columns.items()})  # fmt: skip
    assert loaded.predict(frame).tobytes() == some.expected.tobytes()
    again = flavor.load_model(tmp_path / "model")
    assert again.to_json() == some.model.to_json()


def test_columns_that_do_not_fit_a_model_of_cells(tmp_path: Path) -> None:
    some = spread_case("proxy in strata")
    for wrong, message in (
        ({"group": "sex"}, r"group \(--group\) must name no column, got sex"),
        ({"control_features": "town"}, r"control_features \(--control\) must name 2 columns"),
        ({"data": PEOPLE}, "data must be left out for models with use_group=False"),
    ):
        refuses(message, flavor.save_model, some.model, tmp_path / "model", **some.roles | wrong)
    flavor.save_model(some.model, tmp_path / "usual", score="p", control_features=["town", "job"])
    text = json.loads(next((tmp_path / "usual").rglob("use.json")).read_text(encoding="utf-8"))
    assert text["group_probabilities"] == ["r"] and text["group"] == []


def test_a_folder_of_an_older_release_is_read(tmp_path: Path, keyed: FairROC) -> None:
    flavor.save_model(keyed, tmp_path / "model", group="sex")
    file = next((tmp_path / "model").rglob("use.json"))
    data = json.loads(file.read_text(encoding="utf-8"))
    for new in ("group_probabilities", "control_features"):
        del data[new]
    file.write_text(json.dumps(data), encoding="utf-8")
    assert flavor.load_model(tmp_path / "model", key=KEY).model_.to_json() == keyed.model_.to_json()
