"""Estimators to files and back: the same bits, no key, no pickle, and nothing loaded that nobody trusts."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from fairroc import DataError, FairModel, FairROC, FairROCClassifier, FairrocError, ModelFileError, UnknownGroupError
from fairroc.estimators import saving
from refusals import refuses

KEY = "a secret of some length"
RNG = np.random.default_rng(0)
GROUPS, LABELS = np.tile(["a", "b", "c"], 400), RNG.integers(0, 2, 1200)
SCORES = LABELS + np.where(GROUPS == "a", 1.0, 3.0) * RNG.normal(size=1200)
X, NAMES = np.column_stack((SCORES, RNG.normal(size=1200))), np.where(LABELS == 1, "yes", "no")
IDS = np.arange(1200) + 7
HOW = {"sensitive_features": GROUPS, "ids": IDS}


def fitted(**how) -> FairROC:
    return FairROC(**{"epsilon": 0.1, "promise": "fitted", "draw": "all", **how}).fit(
        SCORES, LABELS, sensitive_features=GROUPS
    )


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"epsilon": {"fpr": 0.1, "tpr": 0.2}},
        {"norm": "inf", "hash": "blake2b"},
        {"method": "froc", "queries": 50},
        {"constraint": "equal_opportunity", "draw": "few"},
        {"constraint": "demographic_parity", "epsilon": 0.05, "ratio": 0.8, "where": (0.1, 0.5), "draw": "few"},
        {"epsilon": 2.0, "missing": "group"},
        {"key": KEY, "draw": "few"},
    ],
    ids=str,
)
def test_the_same_bits_after_a_round_trip(how, tmp_path: Path) -> None:
    post = fitted(**how)
    post.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text(encoding="utf-8") == post.model_.to_json()
    again = FairROC.load(tmp_path / "model.json", key=how.get("key"))
    assert (again.transform(SCORES, **HOW) == post.transform(SCORES, **HOW)).all()
    assert (again.predict(SCORES, threshold=1.0, **HOW) == post.predict(SCORES, threshold=1.0, **HOW)).all()
    told = {name: value for name, value in again.get_params().items() if name in how}
    assert told == how
    assert again.checked_options() == clone(again).checked_options()
    assert again.n_features_in_ == 1 and "Fitted to 1,200 rows" in str(again)
    with pytest.raises(DataError, match="the certificate needs the training data, which no file carries"):
        _ = again.certificate_


def test_what_a_call_decides_is_given_again(tmp_path: Path) -> None:
    post = fitted(on_unknown_group="b", allow_out_of_range=True, small_groups="merge", min_class_rows=5)
    post.save(tmp_path / "m.json")
    strange = {"sensitive_features": ["z"], "ids": [1]}
    with pytest.raises(UnknownGroupError):
        FairROC.load(tmp_path / "m.json").transform([1.0], **strange)
    again = FairROC.load(tmp_path / "m.json", on_unknown_group="b", allow_out_of_range=True)
    with pytest.warns(UserWarning, match="treated as group 'b'"):
        fair = again.transform([1.0], **strange)
    with pytest.warns(UserWarning, match="treated as group 'b'"):
        assert fair == post.transform([1.0], **strange)
    with pytest.raises(DataError, match=r"on_unknown_group must be a fitted group \('a', 'b', 'c'\), got 'z'"):
        FairROC.load(tmp_path / "m.json", on_unknown_group="z")
    with pytest.raises(ModelFileError, match="no model file"):
        FairROC.load(tmp_path / "none.json")


def test_a_loaded_model_asks_for_its_key(tmp_path: Path) -> None:
    post = fitted(key=KEY)
    fair = post.transform(SCORES, **HOW)
    post.save(tmp_path / "m.json")
    assert b"secret" not in (tmp_path / "m.json").read_bytes()
    again = FairROC.load(tmp_path / "m.json")
    with pytest.raises(DataError, match=r"its draws need it; files of estimators hold none, .*set_params\(key=...\)"):
        again.transform(SCORES, **HOW)
    refuses("key must be given again", clone(again).fit, SCORES, LABELS, sensitive_features=GROUPS)
    assert (again.set_params(key=KEY).transform(SCORES, **HOW) == fair).all()
    refuses("got one of", FairROC.load, tmp_path / "m.json", key="another secret of some length")
    fitted().save(tmp_path / "m.json")
    refuses("fitted without a key", FairROC.load, tmp_path / "m.json", key=KEY)


def test_a_file_of_another_tool_has_lost_the_key_too() -> None:
    """skops, and JSON of the parameters, keep the text that shows that there is a key."""
    post = fitted(key=KEY)
    data = skops.io.dumps(post)
    assert b"a secret" not in data
    again = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    for other in (again, FairROC(**json.loads(json.dumps(post.get_params())))):
        refuses("key must be given again", other.fit, SCORES, LABELS, sensitive_features=GROUPS)
    refuses("key must be given again", again.transform, SCORES, **HOW)


class Own(LogisticRegression):
    """A type that skops does not know."""


def classifier(estimator=None, **how) -> FairROCClassifier:
    base = LogisticRegression() if estimator is None else estimator
    y = how.pop("y", NAMES)
    given = {"epsilon": 0.1, "promise": "fitted", "draw": "all", "cv": 2, "random_state": 3, **how}
    return FairROCClassifier(base, **given).fit(X, y, sensitive_features=GROUPS)


def frozen() -> FrozenEstimator:
    return FrozenEstimator(LogisticRegression().fit(X[:400], NAMES[:400]))


@pytest.mark.parametrize(
    ("estimator", "how"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression(C=0.5)), {"pos_label": "no"}),
        (LinearSVC(), {"ensemble": False, "constraint": "equal_opportunity", "where": (0, 0.5), "draw": "few"}),
        (frozen(), {"cv": "prefit", "on_unknown_group": "a", "min_class_rows": 3, "small_groups": "merge"}),
        (LogisticRegression(), {"cv": KFold(2), "epsilon": {"fpr": 0.1, "tpr": 0.2}, "salt": 5, "key": KEY}),
    ],
    ids=["pipeline", "decision", "prefit", "splitter"],
)
def test_a_classifier_gives_the_same_bits_after_a_round_trip(estimator, how, tmp_path: Path) -> None:
    clf = classifier(estimator, **how)
    clf.save(tmp_path / "c.zip")
    again = FairROCClassifier.load(tmp_path / "c.zip", key=how.get("key"))
    assert (again.fair_score(X, **HOW) == clf.fair_score(X, **HOW)).all()
    assert (again.predict(X, sensitive_features=GROUPS) == clf.predict(X, sensitive_features=GROUPS)).all()
    assert (again.classes_ == clf.classes_).all() and again.classes_.dtype == clf.classes_.dtype
    assert again.pos_label_ == clf.pos_label_ and again.n_features_in_ == 2
    assert {"estimators_", "estimator_"} & set(vars(again)) == {"estimators_", "estimator_"} & set(vars(clf))
    for one, other in ((clf, again), (clf.postprocessor_, again.postprocessor_)):
        mine, its = one.get_params(deep=False), other.get_params(deep=False)
        assert {name: str(value) for name, value in its.items()} == {name: str(value) for name, value in mine.items()}
    clf.save(tmp_path / "again.zip")
    with zipfile.ZipFile(tmp_path / "again.zip") as archive:
        assert archive.namelist() == ["manifest.json", "model.json", "base.skops"]
        assert not any(b"secret" in archive.read(name) for name in archive.namelist())
        assert FairModel.from_json(archive.read("model.json").decode()).salt == clf.model_.salt


def test_a_classifier_asks_for_its_key_and_for_what_skops_does_not_trust(tmp_path: Path) -> None:
    clf = classifier(Own(), key=KEY, y=LABELS)
    clf.save(tmp_path / "c.zip")
    with pytest.raises(
        DataError, match=r"trusted must name every type .* holds test_saving.Own.*=\['test_saving.Own'\]"
    ):
        FairROCClassifier.load(tmp_path / "c.zip")
    again = FairROCClassifier.load(tmp_path / "c.zip", trusted=["test_saving.Own"])
    assert type(FairROCClassifier.load(tmp_path / "c.zip", trusted=[Own]).estimators_[0]) is Own
    refuses(r"set_params\(key=...\)", again.fair_score, X, **HOW)
    refuses("key must be given again", clone(again).fit, X, LABELS, sensitive_features=GROUPS)
    fair = again.set_params(key=KEY).fair_score(X, **HOW)
    assert (fair == clf.fair_score(X, **HOW)).all()


def test_the_base_estimator_can_stay_with_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "find_spec", lambda name: None)
    folds, one = classifier(pos_label=np.str_("yes")), classifier(ensemble=False)
    with pytest.raises(FairrocError, match=r"needs skops.*pip install 'fairroc\[skops\]'"):
        folds.save(tmp_path / "c.zip")
    assert not list(tmp_path.iterdir())
    folds.save(tmp_path / "c.zip", base=False)
    again = FairROCClassifier.load(tmp_path / "c.zip", base=folds.estimators_)
    assert (again.fair_score(X, **HOW) == folds.fair_score(X, **HOW)).all() and again.get_params()["cv"] == 2
    one.save(tmp_path / "c.zip", base=False)
    again = FairROCClassifier.load(tmp_path / "c.zip", base=one.estimator_)
    assert (again.fair_score(X, **HOW) == one.fair_score(X, **HOW)).all()
    for base, told in (
        (None, "saved with base=False and holds none"),
        ([one.estimator_] * 2, "base must be the fitted estimator, got 2"),
        (LinearSVC().fit(X, NAMES), "must be the one that .* was saved with"),
        (LogisticRegression().fit(X[:, :1], NAMES), "must be the one that .* was saved with"),
        (LogisticRegression().fit(X, LABELS), r"must be fitted to the labels \['no', 'yes'\]"),
    ):
        refuses(told, FairROCClassifier.load, tmp_path / "c.zip", base=base)
    with pytest.raises(DataError, match=r"cv must be a number, text or None .* got KFold.*set_params\(cv=...\)"):
        classifier(cv=KFold(2)).save(tmp_path / "c.zip", base=False)


def test_what_skops_cannot_save_changes_no_file(tmp_path: Path) -> None:
    strange = make_pipeline(FunctionTransformer(lambda rows: rows), LogisticRegression())
    with pytest.raises(DataError, match=r"skops cannot save this base estimator: .*save\(path, base=False\)"):
        classifier(strange).save(tmp_path / "c.zip")
    assert not list(tmp_path.iterdir())


def test_what_is_no_classifier_file_is_refused(tmp_path: Path) -> None:
    clf, path = classifier(), tmp_path / "c.zip"
    refuses(r"must end in one of \.zip", clf.save, tmp_path / "c.pickle")
    with pytest.raises(ModelFileError, match="no classifier file"):
        FairROCClassifier.load(path)
    clf.model_.save(path)
    with pytest.raises(ModelFileError, match=r"a model file .* is for FairROC.load"):
        FairROCClassifier.load(path)
    clf.save(path)
    with pytest.raises(ModelFileError, match=r"must be JSON in UTF-8.* is for FairROCClassifier.load"):
        FairROC.load(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts["manifest.json"])

    def refused(told: str, compression: int = zipfile.ZIP_STORED, **changed: bytes | None) -> None:
        names = {"manifest": "manifest.json", "model": "model.json", "base": "base.skops"}
        new = parts | {names[name]: data for name, data in changed.items()}
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, data in new.items():
                if data is not None:
                    archive.writestr(name, data)
        with pytest.raises(ModelFileError, match=told):
            FairROCClassifier.load(path)

    refused("its parts are compressed", zipfile.ZIP_DEFLATED)
    refused("must be a classifier file", manifest=b"[]")
    refused("must be a classifier file", model=None)
    refused("written by a newer fairroc", manifest=json.dumps(manifest | {"version": 3}).encode())
    refused("lacks or garbles a field", manifest=json.dumps(manifest | {"classes": {}}).encode())
    wide = manifest["classes"] | {"dtype": "<U99999999"}
    refused("labels too long", manifest=json.dumps(manifest | {"classes": wide}).encode())
    refused("contradicts itself", base=None)
    refused("contradicts itself", manifest=json.dumps(manifest | {"post": {"colour": "red"}}).encode())
    refused("other base models than", base=skops.io.dumps({"models": [], "params": {}}))
    refused("other base models than", base=skops.io.dumps([1]))
    refused("checksum does not match", model=parts["model.json"].replace(b"0.1", b"0.2", 1))
    refused("skops cannot read it", base=b"nothing")
    params = manifest["params"] | {"colour": "red"}
    refused(r"parameters of a newer fairroc \(colour\)", manifest=json.dumps(manifest | {"params": params}).encode())


def test_the_same_bits_in_a_fresh_process(tmp_path: Path) -> None:
    post, clf = fitted(key=KEY), classifier(key=KEY, salt=1)
    post.save(tmp_path / "m.json")
    clf.save(tmp_path / "c.zip")
    np.savez(tmp_path / "data.npz", scores=SCORES, groups=GROUPS, ids=IDS, X=X)
    code = f"""
import numpy as np
from fairroc import FairROC, FairROCClassifier
data = np.load("data.npz")
how = dict(sensitive_features=data["groups"], ids=data["ids"])
np.save("fair.npy", [FairROC.load("m.json", key={KEY!r}).transform(data["scores"], **how),
                     FairROCClassifier.load("c.zip", key={KEY!r}).fair_score(data["X"], **how)])
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert (np.load(tmp_path / "fair.npy") == [post.transform(SCORES, **HOW), clf.fair_score(X, **HOW)]).all()
