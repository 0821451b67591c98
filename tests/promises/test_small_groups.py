"""Small groups from the door to the last engine: merged people get one treatment everywhere, those left out none."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from test_cli import Run, run
from test_pipeline import same_bits

from fairroc import FairModel, ScoreCounts, audit, audit_counts, choose_threshold, count_files, frames
from fairroc.errors import DataError, ModelFileError, SmallGroupWarning, UnknownGroupError
from fairroc.estimators import threshold_gap_scorer
from fairroc.model.file import _checksum
from fairroc.people.small import MERGED, Regrouped
from fairroc.text.audit import audit_text
from fairroc.text.certificate import certificate_text
from fairroc.text.frontier import frontier_text
from fitted_people import FairROC, FairROCClassifier, fit_counts, frontier, write_report
from strategies import SEEDS

__all__ = ["run"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

SMALL = {"it's": 4, "x": 3, "(missing)": 3}
"""Small groups; a text that SQL quotes, one label only, and rows without a group."""

COLUMNS = ("--score", "p", "--group", "g")
ROLES = (*COLUMNS, "--label", "y")


def rows_of(seed: int = 0, n: int = 300) -> dict[str, np.ndarray]:
    """Two large groups and the small ones."""
    rng = np.random.default_rng(seed)
    g = np.concatenate((np.repeat(["a", "b"], n), np.repeat([*SMALL], [*SMALL.values()]))).astype(object)
    y = rng.integers(0, 2, len(g))
    y[-10:] = [1, 0, 1, 1, 0, 0, 0, 1, 1, 1]
    y[:4], y[n : n + 4] = [0, 1, 0, 1], [0, 1, 0, 1]
    p = (rng.normal(size=len(g)) * np.where(g == "b", 2, 1) + y).round(2)
    order = rng.permutation(len(g))
    return {"p": p[order], "y": y[order], "g": g[order], "id": np.arange(len(g))}


ROWS = rows_of()
FOUND = {"treatment": "merge", "min_class_rows": 1, "merged_into": MERGED}
"""What the JSON says of them, but for the groups: those without a row of one label."""

ONE_SIDED = [
    {"group": "(missing)", "rows": 3, "positives": 3},
    {"group": "x", "rows": 3, "positives": 0},
]


def renamed(rows: dict[str, np.ndarray], small: Any = ("(missing)", "x")) -> dict[str, np.ndarray]:
    return {**rows, "g": np.array([MERGED if name in small else name for name in rows["g"]], dtype=object)}


def without(rows: dict[str, np.ndarray], small: Any = ("(missing)", "x")) -> dict[str, np.ndarray]:
    kept = ~np.isin(rows["g"].astype(str), small)
    return {name: column[kept] for name, column in rows.items()}


def table(rows: dict[str, np.ndarray]) -> pa.Table:
    return pa.table({**rows, "g": pa.array([None if name == "(missing)" else name for name in rows["g"]])})


def fitted(rows: dict[str, np.ndarray], **how: Any) -> FairROC:
    return FairROC(**{"epsilon": 0.1, "salt": 1, **how}).fit(rows["p"], rows["y"], sensitive_features=rows["g"])


def about(result: Any) -> dict[str, Any]:
    """A result's figures."""
    return {name: value for name, value in result.to_dict().items() if name not in ("seconds", "small_groups")}


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    MERGING = fitted(ROWS, small_groups="merge", missing="group").model_
    DROPPING = fitted(ROWS, small_groups="drop", missing="group").model_
    PLAIN = fitted(renamed(ROWS)).model_


# ---- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize(("treatment", "by_hand"), [("merge", renamed), ("drop", without)])
def test_results_are_those_of_groups_treated_by_hand(treatment: str, by_hand: Any, least: int) -> None:
    small = [*SMALL] if least == 4 else ["(missing)", "x"]
    plain, how = by_hand(ROWS, small), {"small_groups": treatment, "min_class_rows": least}
    counts = ScoreCounts.from_rows(ROWS["p"], ROWS["y"], sensitive_features=ROWS["g"])
    merged, by = fitted(ROWS, **how), fitted(plain)
    if treatment == "merge" and least == 4:
        assert by.certificate_.groups[-1].rows == 10
    for post in (merged, fit_counts(counts, epsilon=0.1, salt=1, **how)):
        assert about(post.certificate_) == about(by.certificate_)
        assert post.certificate_.to_dict()["small_groups"]["treatment"] == treatment
        assert [group["group"] for group in post.certificate_.to_dict()["small_groups"]["groups"]] == sorted(small)
    assert least > 1 or about(merged.outlook_) == about(by.outlook_)
    rows = [(r["p"], r["y"]) for r in (ROWS, plain)]
    found, plainly = (
        audit(*row, sensitive_features=r["g"], bootstrap=100, **asked)
        for row, r, asked in zip(rows, (ROWS, plain), (how, {}), strict=True)
    )
    assert about(found) == about(plainly) == about(audit_counts(counts, bootstrap=100, **how))
    found, plainly = (
        frontier(*row, sensitive_features=r["g"], epsilons=[0.05, 0.2], **asked)
        for row, r, asked in zip(rows, (ROWS, plain), (how, {}), strict=True)
    )
    assert about(found) == about(plainly) and found.small_groups == merged.certificate_.small_groups
    assert "small_groups" not in plainly.to_dict()


def test_what_became_of_them_is_said_everywhere(tmp_path: Path) -> None:
    how: dict[str, Any] = {"sensitive_features": ROWS["g"], "small_groups": "merge"}
    who = "'(missing)' (3 rows, 3 positive), 'x' (3 rows, 0 positive)"
    words = f"2 small groups, 6 rows, merged into 'other (merged)': {who}."
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = audit(ROWS["p"], ROWS["y"], bootstrap=0, **how)
        post = fitted(ROWS, small_groups="merge")
        line = frontier(ROWS["p"], ROWS["y"], epsilons=[0.1], **how)
        data = write_report(tmp_path / "r.html", ROWS["p"], ROWS["y"], epsilon=0.1, bootstrap=0, **how)
    assert [str(note.message) for note in told if issubclass(note.category, SmallGroupWarning)].count(words) == 4
    for text in (audit_text(found), certificate_text(post.certificate_), frontier_text(line)):
        assert words in text.splitlines()
    page = (tmp_path / "r.html").read_text(encoding="utf-8").replace("&#39;", "'")
    assert page.count(words) >= 2 and words in data.warnings
    assert 'small_groups="merge")' in page.replace("&#34;", '"')
    for result in (found, post.certificate_, line, data.audit, data.certificate):
        assert result.to_dict()["small_groups"] == {**FOUND, "groups": tuple(ONE_SIDED)}


# ---- the model -------------------------------------------------------------------------------------------------------


def test_the_model_file_remembers_names_alone(tmp_path: Path) -> None:
    for model in (MERGING, DROPPING):
        model.save(tmp_path / "m.json")
        again = FairModel.load(tmp_path / "m.json")
        assert again.small_groups == model.small_groups and again.to_json() == model.to_json()
        body = json.loads(model.to_json())
        assert body["small_groups"] == {
            "treatment": "merge" if model is MERGING else "drop",
            "min_class_rows": 1,
            "groups": ["(missing)", "x"],
            "merged_into": MERGED if model is MERGING else None,
        }
    assert "small_groups" not in json.loads(PLAIN.to_json())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"treatment": "error"}, "treated by 'merge' or 'drop'"),
        ({"merged_into": "c"}, "merged into a fitted group"),
        ({"merged_into": None}, "merged into a fitted group"),
        ({"treatment": "drop"}, "merged into a fitted group, or left out"),
        ({"groups": ["a"]}, "names that no fitted group has"),
        ({"groups": ["x", "x"]}, "names that no fitted group has"),
        ({"groups": []}, "one or more"),
        ({"groups": [1]}, "must name groups"),
        ({"groups": "x"}, "'groups' must be list"),
        ({"min_class_rows": "1"}, "'min_class_rows' must be int"),
        ({"more": 1}, "the field 'more', so it was written by a newer fairroc"),
    ],
)
def test_damaged_files_are_refused(wrong: dict[str, Any], words: str) -> None:
    body = json.loads(MERGING.to_json())
    body["small_groups"] |= wrong
    del body["checksum"]
    with pytest.raises(ModelFileError, match=words):
        FairModel.from_json(json.dumps({**body, "checksum": _checksum(body)}))


@settings(max_examples=10)
@given(SEEDS, st.sampled_from(["few", "all", "never"]), st.sampled_from([1, 4]))
def test_merged_people_get_one_treatment_in_every_way(seed: int, draw: str, least: int) -> None:
    rows = rows_of(seed, 60)
    small = [*SMALL] if least == 4 else ["(missing)", "x"]
    plain = renamed(rows, small)
    model = fitted(rows, small_groups="merge", min_class_rows=least, draw=draw).model_
    other = fitted(plain, draw=draw).model_
    assert json.loads(model.to_json())["small_groups"]["groups"] == sorted(small)
    new, ids = rows_of(seed + 1, 60), np.arange(130)
    groups, names = ({"sensitive_features": r["g"]} for r in (new, renamed(new, small)))
    assert same_bits(model.transform(new["p"], ids=ids, **groups), other.transform(new["p"], ids=ids, **names))
    assert same_bits(model.transform(new["p"], ids=ids, **names), other.transform(new["p"], ids=ids, **names))
    rates = (m.acceptance_rate(new["p"], threshold=0.5, **g) for m, g in ((model, groups), (other, names)))
    assert same_bits(*rates)
    predicted = (m.predict(new["p"], threshold=0.5, ids=ids, **g) for m, g in ((model, groups), (other, names)))
    assert np.array_equal(*predicted)
    cuts = (choose_threshold(m, new["p"], new["y"], recall=0.7, **g) for m, g in ((model, groups), (other, names)))
    assert next(cuts) == next(cuts)
    drifts = [m.check(new["p"], y=new["y"], bootstrap=100, **g) for m, g in ((model, groups), (other, names))]
    assert about(drifts[0]) == about(drifts[1])
    assert {g.group: g.rows for g in drifts[0].small_groups.groups} == {name: SMALL[name] for name in small}


def test_people_of_a_group_that_was_left_out_are_refused() -> None:
    words = r"rows are of 'x'; 'x' was left out of the fit as too small\. Fit again with these groups, or pass on_un"
    how: dict[str, Any] = {"sensitive_features": ["x", "a"]}
    for refuse in (
        lambda: DROPPING.transform([0.1, 0.2], ids=[1, 2], **how),
        lambda: DROPPING.predict([0.1, 0.2], ids=[1, 2], threshold=0.5, **how),
        lambda: DROPPING.acceptance_rate([0.1, 0.2], threshold=0.5, **how),
        lambda: DROPPING.explain(0.1, "x"),
    ):
        with pytest.raises(UnknownGroupError, match=words):
            refuse()
    with pytest.raises(UnknownGroupError, match=words):
        choose_threshold(DROPPING, [0, 1] * 3, [0, 1] * 3, sensitive_features=[*"aabbxx"], recall=0.5)
    with pytest.raises(UnknownGroupError, match=r"are of 'new'\. Fit again"):
        DROPPING.transform([0.1], ids=[1], sensitive_features=["new"])
    with pytest.raises(UnknownGroupError, match=r"are of 'new'\. Fit again"):
        MERGING.transform([0.1], ids=[1], sensitive_features=["new"])
    with pytest.warns(match="1 of 2 rows belong to groups that were not fitted; they were treated as group 'b'"):
        told = DROPPING.transform([0.1, 0.2], ids=[1, 2], on_unknown_group="b", **how)
    assert told[0] == DROPPING.transform([0.1], ids=[1], sensitive_features=["b"])[0]


def test_monitoring_tells_them_from_unseen_groups() -> None:
    new = {"sensitive_features": np.append(ROWS["g"], ["never"] * 2)}
    scores = np.append(ROWS["p"], [0.0, 0.0])
    (reason,) = [words for words in DROPPING.check(scores, **new).reasons if "does not know" in words]
    assert "'never' (2 rows)" in reason and "('(missing)', 'x' left out of the fit as too small)" in reason
    merged = MERGING.check(scores, **new)
    assert [group.group for group in merged.unknown] == ["never"]
    assert {group.group: group.rows for group in merged.groups}[MERGED] == 6
    assert not any("left out" in words for words in merged.reasons)


def test_an_explanation_says_which_group_it_was() -> None:
    found = MERGING.explain(0.3, "x", threshold=0.5)
    assert (found.group, found.treated_as, found.merged) == ("x", MERGED, True)
    assert "it was merged into group 'other (merged)', and the person is treated as that." in found.text
    assert found.to_dict()["merged"] is True and "not fitted to this group" not in found.text
    assert "merged" not in MERGING.explain(0.3, "a").to_dict()
    assert found.acceptance == MERGING.explain(0.3, MERGED, threshold=0.5).acceptance
    assert MERGING.explain(0.3, None).group == "(missing)"


# ---- engines ---------------------------------------------------------------------------------------------------------


def test_frames_and_streams_and_sql_agree(tmp_path: Path) -> None:
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    rows = table(ROWS)
    names: dict[str, Any] = {"score": "p", "label": "y", "group": "g"}
    how: dict[str, Any] = {"epsilon": 0.1, "salt": 1, "small_groups": "merge", "missing": "group"}
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    for frame in (rows, rows.to_pandas(), pl.from_arrow(rows), pl.from_arrow(rows).lazy()):
        assert frames.fit(frame, **names, **how).model_.small_groups == MERGING.small_groups
        found = frames.audit(frame, **names, missing="group", small_groups="merge", bootstrap=0)
        assert found.to_dict()["small_groups"] == {**FOUND, "groups": tuple(ONE_SIDED)}
        fair = frames.transform(frame, MERGING, score="p", group="g", id="id")
        fair = (fair.collect() if isinstance(frame, pl.LazyFrame) else fair)["p_fair"]
        assert same_bits(np.array(fair, dtype=float), expected(MERGING))
    counts = count_files(tmp_path / "rows.parquet", **names, missing="group")
    assert fit_counts(counts, **how).model_.record.data == MERGING.record.data
    with duckdb.connect() as connection:
        connection.register("people", rows)
        query = MERGING.to_sql("duckdb", score="p", group="g", id="id")
        assert same_bits(connection.execute(f"{query} ORDER BY id").fetchnumpy()["p_fair"], expected(MERGING))
        refused = DROPPING.to_sql("duckdb", score="p", group="g", id="id")
        with pytest.raises(duckdb.Error, match=r"left out of the fit, was the group: (x|.missing.)"):
            connection.execute(refused).fetchall()
        let = DROPPING.to_sql("duckdb", score="p", group="g", id="id", on_unknown_group="a")
        assert same_bits(
            connection.execute(f"{let} ORDER BY id").fetchnumpy()["p_fair"], expected(DROPPING, on_unknown_group="a")
        )


def expected(model: FairModel, **how: Any) -> np.ndarray:
    return model.transform(ROWS["p"], sensitive_features=ROWS["g"], ids=ROWS["id"], **how)


def test_other_dialects_name_the_same_groups() -> None:
    for dialect in ("spark", "postgres"):
        merging, dropping = (m.to_sql(dialect, score="p", group="g", id="id") for m in (MERGING, DROPPING))
        assert all(f"'{name}'" in text for text in (merging, dropping) for name in ("x", "(missing)"))
        assert "too small, and left out of the fit" in dropping and "too small" not in merging
    nul = replace(MERGING, small_groups=Regrouped("merge", 1, ("a\0b",), MERGED))
    with pytest.raises(DataError, match="a group's name holds a NUL character"):
        nul.to_sql("duckdb")


# ---- the classifier --------------------------------------------------------------------------------------------------


def classifier_rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, labels and groups: 'x' and 'z' have four rows of a label, too few for five folds."""
    rng = np.random.default_rng(seed)
    g = np.repeat([*"abxz"], [200, 200, 9, 9])
    y = np.concatenate((rng.integers(0, 2, 400), [1] * 4 + [0] * 5, [0] * 4 + [1] * 5))
    return rng.normal(size=(418, 2)) + y[:, None] * np.where(g == "b", 0.5, 1.5)[:, None], y, g


@pytest.mark.parametrize("treatment", ["merge", "drop"])
@pytest.mark.parametrize("routing", [False, True])
def test_folds_do_not_fail_for_four_rows(treatment: str, routing: bool) -> None:
    import sklearn

    X, y, g = classifier_rows()
    make = {"epsilon": 0.1, "salt": 1, "small_groups": treatment}
    with pytest.raises(DataError, match=r"for 5 folds, but .*small_groups='merge' or 'drop'"):
        FairROCClassifier(LogisticRegression(), 0.1).fit(X, y, sensitive_features=g)
    with sklearn.config_context(enable_metadata_routing=routing):
        clf = FairROCClassifier(LogisticRegression(), **make).fit(X, y, sensitive_features=g)
    assert clf.model_.small_groups.groups == ("x", "z") and clf.model_.small_groups.min_class_rows == 5
    assert clf.model_.names == (("a", "b", MERGED) if treatment == "merge" else ("a", "b"))
    assert clf.min_class_rows == 1
    if treatment == "drop":
        with pytest.raises(UnknownGroupError, match="'x', 'z' were left out of the fit as too small"):
            clf.predict_proba(X, sensitive_features=g, ids=np.arange(418))
        return
    named = np.where(np.isin(g, ["x", "z"]), MERGED, g)
    fair, same = (clf.predict_proba(X, sensitive_features=by, ids=np.arange(418)) for by in (g, named))
    assert np.array_equal(fair, same)
    plain = FairROCClassifier(LogisticRegression(), 0.1, salt=1).fit(X, y, sensitive_features=named)
    assert plain.model_.record.data == clf.model_.record.data
    scores = [threshold_gap_scorer()(model, X, y, sensitive_features=by) for model, by in ((clf, g), (plain, named))]
    assert scores[0] == scores[1]


def test_other_folds_need_no_more_rows_than_a_fit() -> None:
    X, y, g = classifier_rows()
    clf = FairROCClassifier(LogisticRegression(), 0.1, cv=KFold(3, shuffle=True, random_state=0), small_groups="drop")
    assert clf.fit(X, y, sensitive_features=g).model_.small_groups is None
    base = LogisticRegression().fit(X, y)
    prefit = FairROCClassifier(base, 0.1, cv="prefit", small_groups="merge", min_class_rows=5)
    assert prefit.fit(X, y, sensitive_features=g).model_.small_groups.groups == ("x", "z")


# ---- the command line ------------------------------------------------------------------------------------------------


def test_commands(run: Run, tmp_path: Path) -> None:
    data, model = tmp_path / "rows.csv", tmp_path / "m.json"
    pa.csv.write_csv(table(ROWS), data)
    asked = ("--missing", "group", "--small-groups", "merge", "--format", "json")
    stopped = run("audit", data, *ROLES, "--missing", "group")
    assert stopped.code == 2 and "small_groups='merge' (--small-groups merge)" in stopped.err
    for command in (
        ("audit", data, *ROLES, "--bootstrap", 0, *asked),
        ("audit", data, *ROLES, "--bootstrap", 0, "--stream", *asked),
        ("fit", data, *ROLES, "--epsilon", 0.1, *asked, "-o", model),
        ("fit", data, *ROLES, "--epsilon", 0.1, "--stream", *asked, "-o", model),
        ("frontier", data, *ROLES, "--epsilons", "0.1", *asked),
        ("report", data, *ROLES, "--bootstrap", 0, *asked, "-o", tmp_path / "r.html"),
    ):
        done = run(*command)
        assert done.code == 0 and "2 small groups, 6 rows, merged into" in done.err, command
        assert json.loads(done.out)["small_groups"] == {**FOUND, "groups": ONE_SIDED}
    assert "--small-groups merge" in (tmp_path / "r.html").read_text(encoding="utf-8")
    done = run("transform", data, "--model", model, *COLUMNS, "--id", "id", "-o", tmp_path / "fair.csv")
    assert done.code == 0
    fair = pa.csv.read_csv(tmp_path / "fair.csv").column("p_fair").to_numpy()
    assert same_bits(fair, expected(FairModel.load(model)))
    done = run("monitor", data, "--model", model, *ROLES)
    assert done.code == 0 and "As at the fit: 2 small groups, 6 rows, merged into 'other (merged)':" in done.out
    done = run("threshold", data, "--model", model, *ROLES, "--missing", "group", "--recall", 0.5, "--format", "json")
    assert done.code == 0 and MERGED in [group["group"] for group in json.loads(done.out)["groups"]]


def test_more_rows_asked_for(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "rows.parquet"
    pa.parquet.write_table(table(ROWS), data)
    asked = ("--missing", "group", "--small-groups", "drop", "--min-class-rows", 5, "--bootstrap", 0)
    done = run("audit", data, *ROLES, *asked)
    assert (
        done.code == 0 and "3 small groups, 10 rows, left out: '(missing)' (3 rows, 3 positive), \"it's\"" in done.out
    )
    done = run("audit", data, *ROLES, "--missing", "group", "--small-groups", "often")
    assert done.code == 2 and "small_groups must be 'error', 'merge' or 'drop', got 'often'." in done.err
    done = run(
        "fit", data, *ROLES, "--missing", "group", "--min-class-rows", 0, "--epsilon", 1, "-o", tmp_path / "m.json"
    )
    assert done.code == 2 and "min_class_rows must be a whole number of at least 1, got 0" in done.err
    run("audit", data, *ROLES, *asked[:4], "--min-class-rows", 4000).refused("small_groups='drop' would leave nobody")


@pytest.mark.parametrize("wrong", ["x", None, True])
def test_the_option_is_checked(wrong: Any) -> None:
    words = rf"^small_groups must be 'error', 'merge' or 'drop', got {wrong!r}\.$"
    how: dict[str, Any] = {"sensitive_features": ROWS["g"], "small_groups": wrong}
    for refuse in (
        lambda: fitted(ROWS, small_groups=wrong),
        lambda: audit(ROWS["p"], ROWS["y"], **how),
        lambda: frontier(ROWS["p"], ROWS["y"], **how),
        lambda: write_report("never.html", ROWS["p"], ROWS["y"], **how),
    ):
        with pytest.raises(DataError, match=words):
            refuse()


def test_audits_refuse_what_fits_refuse() -> None:
    rows = without(ROWS)  # "it's" has a row of label 0
    for refuse in (
        lambda: audit(rows["p"], rows["y"], sensitive_features=rows["g"], min_class_rows=5),
        lambda: frontier(rows["p"], rows["y"], sensitive_features=rows["g"], min_class_rows=5),
        lambda: fitted(rows, min_class_rows=5),
    ):
        with pytest.raises(
            DataError, match=r'group "it\'s" has 1 row with label 0; .* at least 5 of each label are needed'
        ):
            refuse()
