"""The commands frontier, threshold and explain: output, exit codes, and no file where nothing could be done."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from test_cli import KEY, PEOPLE, ROLES, Run, model, model_file, run, write

from fairroc import FairModel, choose_threshold, frontier

__all__ = ["model", "run"]  # fixtures

SCORES = np.array([float(row["p"]) for row in PEOPLE])
LABELS = np.array([int(row["y"]) for row in PEOPLE])
SEX = [row["sex"] for row in PEOPLE]
WILD = {"F": 'Ω "q", 🙂', "M": "it's"}
"""Names with quotes, a comma and an emoji."""


def wild(folder: Path) -> Path:
    return write(folder, [{**row, "sex": WILD[row["sex"]]} for row in PEOPLE], "wild.csv")


# ---- frontier ----------------------------------------------------------------------------------------------


def test_frontier_writes_a_table(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "frontier.csv"
    ran = run("frontier", write(tmp_path), *ROLES, "--epsilons", "0.1, 0,0.05", "-o", out)
    assert ran.code == 0
    assert "no fair score exceeds" in ran.out and "raw order is kept where that is better" in ran.out
    assert ran.err == f"frontier written to {out}\n"
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    expected = frontier(SCORES, LABELS, sensitive_features=SEX, epsilons=[0, 0.05, 0.1]).to_columns()
    assert list(rows[0]) == list(expected)
    for name in ("epsilon", "auc", "auc_bound", "gap", "accuracy", "disparate_impact", "auc[F]", "auc[M]"):
        assert [float(row[name]) for row in rows] == pytest.approx(expected[name], abs=1e-12)


def test_frontier_json_needs_no_file(tmp_path: Path, run: Run) -> None:
    ran = run("frontier", write(tmp_path), *ROLES, "--norm", "inf", "--epsilons", "0.02", "--format", "json")
    expected = frontier(SCORES, LABELS, sensitive_features=SEX, epsilons=0.02, norm="inf")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == json.loads(json.dumps(expected.to_dict()))


def test_frontier_options(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "f.parquet"
    ran = run("frontier", wild(tmp_path), *ROLES, "--no-bound", "--ties", "order", "--weight", "w", "-o", out)
    assert ran.code == 0
    table = pyarrow.parquet.read_table(out)
    assert table.num_rows == 21
    assert table.column("auc_bound").null_count == 21
    assert f"auc[{WILD['F']}]" in table.column_names
    again = run("frontier", wild(tmp_path), *ROLES, "--epsilons", "0.1", "-o", tmp_path / "g.csv")
    assert again.code == 0
    assert f"auc[{WILD['F']}]" in next(csv.reader(io.StringIO((tmp_path / "g.csv").read_text())))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilons", "0,3"), "epsilon must be between 0 and 2"),
        (("--epsilons", "0,x"), "must be a number, got 'x'"),
        (("--norm", "2"), "norm must be 1 or 'inf'"),
        (("--ties", "toss"), "ties must be"),
        (("--group", "nowhere"), "no column 'nowhere'"),
        (("--label", "sex"), "y"),
    ],
)
def test_frontier_that_cannot_run_leaves_no_file(tmp_path: Path, run: Run, options, words: str) -> None:
    out = tmp_path / "f.csv"
    ran = run("frontier", write(tmp_path), *ROLES, *options, "-o", out)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv"]


def test_frontier_keeps_the_old_file_where_writing_fails(tmp_path: Path, run: Run, monkeypatch) -> None:
    out = tmp_path / "f.csv"
    out.write_text("old")
    monkeypatch.setattr("pyarrow.csv.write_csv", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    ran = run("frontier", write(tmp_path), *ROLES, "--epsilons", "0.1", "-o", out)
    assert (ran.code, ran.out, out.read_text()) == (2, "", "old")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "f.csv"]


# ---- threshold ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "aim", "words"),
    [
        (
            ("--cost-fp", 1, "--cost-fn", 3),
            {"cost_fp": 1, "cost_fn": 3},
            "a false positive costs 1 and a false negative 3",
        ),
        (("--recall", 0.8), {"recall": 0.8}, "an expected recall of at least 0.8"),
        (("--precision", 0.6), {"precision": 0.6}, "an expected precision of at least 0.6"),
        (("--selection-rate", 0.25), {"selection_rate": 0.25}, "an expected selection rate of at most 25.0%"),
    ],
)
def test_threshold(tmp_path: Path, run: Run, model: Path, options, aim, words: str) -> None:
    data = write(tmp_path)
    expected = choose_threshold(FairModel.load(model), SCORES, LABELS, sensitive_features=SEX, **aim)
    ran = run("threshold", data, *ROLES, "--model", model, *options, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == json.loads(json.dumps(expected.to_dict()))
    text = run("threshold", data, *ROLES, "--model", model, *options)
    assert (text.code, text.err) == (0, "")
    assert words in text.out
    assert "all people" in text.out
    assert ("cost per person" in text.out) == (expected.rule == "cost")
    assert repr(expected.threshold) in text.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "exactly one aim"),
        (("--recall", 0.5, "--precision", 0.5), "exactly one aim"),
        (("--cost-fp", 1), "give both cost_fp and cost_fn"),
        (("--recall", 2), "recall must lie above 0"),
        (("--recall", "most"), "must be a number, got 'most'"),
        (("--precision", 1), "a precision of 1 cannot be had: the highest"),
        (("--recall", 0.5, "--group", "race"), "the model knows the groups 'F', 'M'"),
    ],
)
def test_threshold_that_cannot_be_chosen(tmp_path: Path, run: Run, model: Path, options, words: str) -> None:
    ran = run("threshold", write(tmp_path), *ROLES, "--model", model, *options)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_threshold_takes_missing_groups_as_the_model_does(tmp_path: Path, run: Run) -> None:
    data = write(tmp_path, [{**row, "sex": row["sex"] if i % 4 else ""} for i, row in enumerate(PEOPLE)])
    model = model_file(tmp_path, "--missing", "group", data=data)
    found = run("threshold", data, *ROLES, "--model", model, "--recall", 0.5, "--format", "json").json
    assert [group["group"] for group in found["groups"]] == ["(missing)", "F", "M"]


# ---- explain -----------------------------------------------------------------------------------------------


def test_explain_in_words_and_as_data(run: Run, model: Path) -> None:
    asked = ("explain", "--model", model, "--score", 0.73, "--group", "F", "--threshold", 0.6, "--id", 1042)
    expected = FairModel.load(model).explain(0.73, "F", threshold=0.6, id=1042)
    ran = run(*asked)
    assert (ran.code, ran.out, ran.err) == (0, expected.text + "\n", "")
    assert run(*asked, "--format", "json").json == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.parametrize("one", ["1007", "n0042", "007", "-5", "it's 🙂"])
def test_explain_draws_as_transform_does(tmp_path: Path, run: Run, model: Path, one: str) -> None:
    """The id is read as in a CSV file."""
    data, out = write(tmp_path, [{**PEOPLE[0], "id": one}]), tmp_path / "o.csv"
    assert run("transform", data, "--model", model, "--score", "p", "--group", "sex", "--id", "id", "-o", out).code == 0
    fair = float(next(csv.DictReader(io.StringIO(out.read_text())))["p_fair"])
    person = ("--score", PEOPLE[0]["p"], "--group", PEOPLE[0]["sex"], f"--id={one}")
    assert run("explain", "--model", model, *person, "--format", "json").json["draw"]["score"] == fair


def test_explain_with_a_key_and_wild_names(tmp_path: Path, run: Run) -> None:
    key = tmp_path / "key"
    key.write_text(KEY + "\n")
    model = model_file(tmp_path, "--key-file", key, data=wild(tmp_path))
    person = ("explain", "--model", model, "--score", -0.5, "--group", WILD["F"])
    ran = run(*person, "--id", "x", "--key-file", key)
    assert ran.code == 0
    assert f"group '{WILD['F']}'" in ran.out
    assert "below all scores" in ran.out
    refused = run(*person, "--id", "x")
    assert (refused.code, refused.out) == (2, "")
    assert "--key-file" in refused.err


def test_explain_several_columns_and_a_missing_group(tmp_path: Path, run: Run) -> None:
    data = write(tmp_path, [{**row, "sex": row["sex"] if i % 4 else ""} for i, row in enumerate(PEOPLE)])
    model = model_file(tmp_path, "--group", "race", "--missing", "group", data=data)
    ran = run("explain", "--model", model, "--score", 0.5, "--group", "", "--group", "x")
    assert ran.code == 0
    assert "group '(missing) & x'" in ran.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--score", 0.5, "--group", "Q"), "the model knows the groups 'F', 'M', but 1 of 1 rows are of 'Q'"),
        (("--score", "x", "--group", "F"), "must be a number, got 'x'"),
        (("--score", "nan", "--group", "F"), "scores must not be missing"),
        (("--score", 0.5, "--group", "F", "--key-file", "k"), "--key-file goes with --id"),
        (("--score", 0.5, "--group", "F", "--id", ""), "--id must not be empty"),
        (("--score", 0.5, "--group", "F", "--id", "7.0"), "ids must be whole numbers or text"),
        (("--score", 0.5), "--group"),
    ],
)
def test_explain_that_cannot_run(run: Run, model: Path, options, words: str) -> None:
    ran = run("explain", "--model", model, *options)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1
