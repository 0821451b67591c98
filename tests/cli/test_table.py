"""The command table: a model that draws nobody as a table, and what few rows cost."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow.parquet
import pytest
from test_cli import NEW, PEOPLE, ROLES, Run, model, model_file, run, write
from test_cli_more import words_of

from fairroc import FairModel, audit
from fairroc.cli.main import main

__all__ = ["model", "run"]  # fixtures

HEAD = ["group", "score", "fair_score", "slope", "points"]


@pytest.fixture(scope="module")
def never(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_file(tmp_path_factory.mktemp("never"), "--draw", "never")


def looked_up(rows: list[dict[str, str]], group: str, score: float) -> float:
    """As a spreadsheet would."""
    own = [row for row in rows if row["group"] == group]
    row = [own[0], *(row for row in own if float(row["score"]) <= score)][-1]
    return max(score - float(row["score"]), 0.0) * float(row["slope"]) + float(row["fair_score"])


def test_the_table_gives_the_fair_scores_of_transform(tmp_path: Path, run: Run, never: Path) -> None:
    out, fair = tmp_path / "points.csv", tmp_path / "fair.csv"
    ran = run("table", never, "-o", out)
    assert (ran.code, ran.err) == (0, f"table written to {out}\n")
    assert "rounded  no: the fair score is (score - from score) * slope + fair score" in ran.out
    assert words_of(ran.step)[-2:] == ["--points", "20"]
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert list(rows[0]) == HEAD and {row["group"] for row in rows} == {"F", "M"}
    for row in rows:
        assert float(row["points"]) == pytest.approx(float(row["fair_score"]) - float(row["score"]), abs=1e-12)
    assert main(["transform", str(write(tmp_path)), "--model", str(never), *NEW, "-o", str(fair)]) == 0
    for row in csv.DictReader(io.StringIO(fair.read_text(encoding="utf-8"))):
        assert looked_up(rows, row["sex"], float(row["p"])) == float(row["p_fair"])


def test_few_points_with_and_without_people(tmp_path: Path, run: Run, never: Path) -> None:
    """Gap and AUC are the audit's of the table's scores; JSON and Parquet hold the same rows."""
    out, data = tmp_path / "points.parquet", write(tmp_path)
    ran = run("table", never, data, *ROLES, "--points", 6, "-o", out, "--format", "json")
    assert (ran.code, ran.err) == (0, f"table written to {out}\n")
    rows = pyarrow.parquet.read_table(out).to_pylist()
    assert ran.json["rows"] == rows and len({row["fair_score"] for row in rows}) <= 6
    fair = [looked_up(rows, row["sex"], float(row["p"])) for row in PEOPLE]
    labels, groups = [int(row["y"]) for row in PEOPLE], [row["sex"] for row in PEOPLE]
    wanted = audit(fair, labels, sensitive_features=groups, bootstrap=0)
    assert (ran.json["gap"], ran.json["auc"]) == pytest.approx((wanted.gap, wanted.auc), abs=1e-12)
    assert ran.json["people"] == len(PEOPLE) and ran.json["gap_exact"] <= 0.05 + 1e-9
    bare = run("table", never, "--points", 6)
    assert "short cut-offs lift about" in bare.out and bare.step.startswith("measure what few rows cost")
    assert words_of(bare.step, NEW=str(data))[:3] == ["table", str(never), str(data)]
    told = run("table", never, data, *ROLES, "--points", 6)
    assert f"{wanted.gap:.4f} among these 800 people" in told.out
    assert words_of(told.step, SCORE="0.5", GROUP="F")[0] == "explain"
    assert run("table", never, "--points", 6, "--quiet").step == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--points", 1), "points must be a whole number of at least 2, got 1"),
        (("--points", "x"), "must be a whole number, got 'x'"),
        (("d.csv", "--points", 5), "people must be given as DATA with --score, --group and --label"),
        (("--label", "y", "--points", 5), "people must be given as DATA with --score, --group and --label"),
        (("d.csv", *NEW, "--points", 5), "give either --label"),
        (("d.csv", *ROLES), "people go with points (--points), which alone round"),
        (("-o", "points.txt"), "the file name must end in one of"),
    ],
)
def test_what_cannot_run_leaves_no_file(
    tmp_path: Path, run: Run, never: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[object, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    run("table", never, *options, *(() if "-o" in options else ("-o", "points.csv"))).refused(words)
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


def test_a_model_that_draws_people_has_no_table(tmp_path: Path, run: Run) -> None:
    drawn = model_file(tmp_path, "--draw", "all")
    assert FairModel.load(drawn).needs_ids
    run("table", drawn).refused('Fit again with draw="never" (--draw never)')
