"""Aggregated tables on the command line: the same output as from the rows, clear errors, bins kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fairroc import FairModel, ScoreCounts
from fairroc.cli.main import main

ROWS = ["--score", "p", "--label", "y", "--group", "sex", "--group", "age"]
SUMS = ["--score", "p", "--positives", "yes", "--negatives", "no", "--group", "sex", "--group", "age"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same people as rows, and as an aggregated table with rows for each score and group that split some cells."""
    rng, n, folder = np.random.default_rng(2), 1500, tmp_path_factory.mktemp("counts")
    sex, age = rng.choice(["f", "m"], n), rng.choice(["old", "young"], n)
    y = rng.integers(0, 2, n)
    p = np.round(1 / (1 + np.exp(-(y + rng.normal(size=n) * np.where(sex == "f", 0.7, 2)))), 2)
    parquet.write_table(pa.table({"p": p, "y": y, "sex": sex, "age": age}), folder / "rows.parquet")
    half = rng.integers(0, 2, n).astype(str)
    key, where = np.unique(np.stack((p.astype(str), sex, age, half)), axis=1, return_inverse=True)
    yes, no = (np.bincount(where, y == label, key.shape[1]).astype(int) for label in (1, 0))
    lines = [",".join(map(str, row)) for row in zip(*key[:3], yes, no, strict=True)]
    (folder / "sums.csv").write_text("\n".join(["p,sex,age,yes,no", *lines]), encoding="utf-8")
    return folder / "rows.parquet", folder / "sums.csv"


def output(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict:
    """JSON of a command, without what time it took."""
    capsys.readouterr()
    assert main([*map(str, words), "--format", "json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    return {name: value for name, value in found.items() if name not in ("seconds", "output")}


def test_audit(files, capsys):
    more = ["--epsilon", "0.1", "--threshold", "0.5", "--bootstrap", "200"]
    rows, sums = (output(capsys, "audit", file, *how, *more) for file, how in zip(files, (ROWS, SUMS), strict=True))
    assert rows == sums and rows["rows"] == 1500 and rows["count_error"] == 0.0


@pytest.mark.parametrize("more", [[], ["--method", "froc"], ["--queries", "20", "--norm", "inf"]])
def test_fit(files, capsys, tmp_path, more):
    found = []
    for file, how in zip(files, (ROWS, SUMS), strict=True):
        model = tmp_path / f"{file.stem}.json"
        told = output(capsys, "fit", file, *how, "--epsilon", "0.1", "--draw", "all", *more, "-o", model)
        body = json.loads(model.read_text(encoding="utf-8"))
        found.append((told, {name: body[name] for name in ("scale", "groups", "levels")}, body["fit"]["data"]))
        assert FairModel.load(model).record.rows == 1500
    assert found[0] == found[1]


def test_counts_are_nobody_to_give_a_fair_score(files, capsys, tmp_path):
    model = str(tmp_path / "m.json")
    assert main(["fit", str(files[1]), *SUMS, "--epsilon", "0.1", "--draw", "all", "-o", model]) == 0
    assert "\n  fairroc transform NEW.csv --model " in capsys.readouterr().err


def test_frontier_and_froc(files, capsys, tmp_path):
    more = ["--epsilons", "0,0.1", "--no-bound"]
    rows, sums = (output(capsys, "frontier", file, *how, *more) for file, how in zip(files, (ROWS, SUMS), strict=True))
    assert rows == sums and len(rows["points"]) == 2
    pytest.importorskip("matplotlib")
    more = ["--epsilon", "0.1", "--index", "9", "-o", tmp_path / "step.png"]
    rows, sums = (output(capsys, "froc", file, *how, *more) for file, how in zip(files, (ROWS, SUMS), strict=True))
    assert rows == sums


def test_report(files, capsys, tmp_path):
    page = tmp_path / "page.html"
    words = ["report", files[1], *SUMS, "--epsilon", "0.1", "--bootstrap", "0", "-o", page]
    assert output(capsys, *words)["rows"] == 1500
    text = page.read_text(encoding="utf-8")
    assert "--positives yes --negatives no" in text and "--label LABEL" in text


def test_bins_are_kept(files, capsys, tmp_path):
    table = parquet.read_table(files[0])
    groups = [f"{a} & {b}" for a, b in zip(table["sex"].to_pylist(), table["age"].to_pylist(), strict=True)]
    counts = ScoreCounts.from_rows(table["p"], table["y"], sensitive_features=groups).binned(14)
    path = tmp_path / "counts.parquet"
    counts.save(path)
    how = ["--score", "score", "--positives", "positives", "--negatives", "negatives", "--group", "group"]
    assert output(capsys, "audit", path, *how, "--bootstrap", "0")["count_error"] == counts.error > 0
    told = output(capsys, "fit", path, *how, "--epsilon", "0.1", "--draw", "all", "-o", tmp_path / "model.json")
    assert told["count_error"] == counts.error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--score", "p", "--group", "sex"], "give either --label"),
        (["--score", "p", "--group", "sex", "--positives", "yes"], "give either --label"),
        ([*SUMS, "--label", "y"], "give either --label"),
        ([*SUMS, "--weight", "no"], "--weight and --pos-label go with --label"),
        ([*SUMS, "--pos-label", "1"], "--weight and --pos-label go with --label"),
        ([*SUMS[:2], "--positives", "yess", *SUMS[4:]], "no column 'yess'; columns: 'p', 'sex', 'age', 'yes', 'no'."),
        ([*SUMS[:2], "--positives", "sex", *SUMS[4:8]], "column 'sex' must hold numbers; row 1"),
    ],
)
def test_wrong_words(files, capsys, words, said):
    assert main(["audit", str(files[1]), *words]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("1,a,1,-2\n1,b,1,1\n", "negatives (on the command line: --negatives) must be >= 0, but 1 of 2 are negative"),
        ("1,a,1,\n1,b,1,1\n", "negatives (on the command line: --negatives) must not be missing, but 1 of 2 are"),
        ("1,a,1,1\n1,a,1,1\n", "one group only: 'a' holds all 4 rows"),
        ("1,a,1,1\n1,b,1,0\n", "group 'b' has 1 row, all with label 1"),
        ("1,a,0,0\n1,b,1,1\n", "group 'a' has 0 rows; a ROC curve needs both labels"),
        ("1,,1,1\n1,b,1,1\n", "sensitive_features must not be missing"),
    ],
)
def test_wrong_tables(capsys, tmp_path, table, said):
    path, model = tmp_path / "sums.csv", tmp_path / "model.json"
    path.write_text(f"p,g,yes,no\n{table}", encoding="utf-8")
    words = ["--score", "p", "--group", "g", "--positives", "yes", "--negatives", "no", "--epsilon", "0.1"]
    assert main(["fit", str(path), *words, "-o", str(model)]) == 2
    assert said in capsys.readouterr().err and not model.exists()


def test_fractions_are_weights(capsys, tmp_path):
    path = tmp_path / "sums.csv"
    path.write_text("p,g,yes,no\n1,a,1,2\n2,a,2.5,1\n1,b,1,1\n2,b,1,3\n", encoding="utf-8")
    words = ["--score", "p", "--group", "g", "--positives", "yes", "--negatives", "no"]
    assert main(["audit", str(path), *words, "--bootstrap", "0", "--format", "json"]) == 0
    told = capsys.readouterr()
    assert "warning: 1 of 8 counts are fractional, so all are taken for weights" in told.err
    assert json.loads(told.out)["gap_interval"]["dkw"] is None


def test_only_where_it_makes_sense(files, capsys):
    """Choosing a threshold needs the rows."""
    with pytest.raises(SystemExit):
        main(["threshold", str(files[1]), *SUMS, "--model", "model.json", "--recall", "0.5"])
    assert "--label" in capsys.readouterr().err
