"""The command line: what it prints and writes, its exit codes, and one line for everything that cannot run."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fairroc import FairModel, __version__
from fairroc.auditing.audit import audit
from fairroc.auditing.findings import Audit
from fairroc.cli.main import COMMANDS, main
from fairroc.tables import read as tables_read

Row = dict[str, str]
FIT_KEYS = {
    "epsilon",
    "norm",
    "method",
    "rows",
    "levels",
    "auc_before",
    "auc",
    "auc_bound",
    "gap_before",
    "gap",
    "groups",
}
FIT_GROUP_KEYS = {"group", "rows", "positives", "auc_before", "auc_hull", "auc", "randomised_share"}
AUDIT_KEYS = {"rows", "norm", "auc", "gap", "gap_threshold", "gap_pair", "curve_gap", "epsilon", "fair", "groups"}
AUDIT_KEYS |= {"gap_interval"}
AUDIT_GROUP_KEYS = {"group", "rows", "positives", "auc", "auc_interval"}
KEY = "a secret of sixteen bytes or more"


# ---- data files and runs -------------------------------------------------------------------------------------


def people(n: int = 800) -> list[Row]:
    """Rows as a CSV file holds them; group M's score says less than group F's."""
    rng = np.random.default_rng(0)
    sex, race = rng.choice(["F", "M"], n), rng.choice(["x", "y"], n)
    scores = rng.random(n).round(3)
    labels = rng.random(n) < np.where(sex == "F", scores, 0.25 + scores / 2)
    return [
        {
            "id": str(1000 + i),
            "name": f"n{i:04}",
            "p": str(scores[i]),
            "y": str(int(labels[i])),
            "sex": str(sex[i]),
            "race": str(race[i]),
            "w": str(1 + i % 3),
        }
        for i in range(n)
    ]


PEOPLE = people()


def as_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_table(rows: Sequence[Row]) -> pa.Table:
    """The same rows with types."""
    kinds: dict[str, Callable[[str], Any]] = {"id": int, "p": float, "y": int, "w": int}
    return pa.table({name: [kinds.get(name, str)(row[name]) for row in rows] for name in rows[0]})


def write(folder: Path, rows: Sequence[Row] = PEOPLE, name: str = "d.csv") -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(as_table(rows), path)
    elif name.endswith(".arrow"):
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, as_table(rows).schema) as writer:
            writer.write_table(as_table(rows))
    else:
        data = as_csv(rows).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def fair_by_id(path: Path, name: str = "p_fair", key: str = "id") -> dict[str, float]:
    if path.name.endswith(".parquet"):
        rows = pyarrow.parquet.read_table(path).to_pylist()
    else:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    return {str(row[key]): float(row[name]) for row in rows}


@dataclass(frozen=True)
class Ran:
    """What a run of the command line left behind; ``step`` is the next one that it proposed."""

    code: int
    out: str
    err: str
    step: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def refused(self, words: str) -> None:
        """Nothing was done, and one line says why."""
        assert (self.code, self.out) == (2, "")
        assert words in self.err and self.err.count("\n") == 1, self.err


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def runner(*arguments: object) -> Ran:
        capsys.readouterr()  # what the test's preparation printed
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        err, _, step = captured.err.partition("\nNext, ")
        return Ran(code, captured.out, err, step)

    return runner


def shell(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A true process of its own."""
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


ROLES = ("--score", "p", "--label", "y", "--group", "sex")
NEW = ("--score", "p", "--group", "sex")
FITTED = ("--promise", "fitted")
FIT = (*ROLES, *FITTED)


def model_file(folder: Path, *options: object, data: Path | None = None) -> Path:
    """A model fitted by the command line."""
    target = folder / "model.json"
    assert main([str(a) for a in ("fit", data or write(folder), *FIT, "--epsilon", 0.05, *options, "-o", target)]) == 0
    return target


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of `PEOPLE` that tests may read and copy."""
    return model_file(tmp_path_factory.mktemp("model"))


def expected(rows: Sequence[Row] = PEOPLE, group: str | Sequence[str] = "sex", **options: Any) -> Audit:
    """The audit of the same rows through Python."""
    names = [group] if isinstance(group, str) else group
    features = {name: [row[name] for row in rows] for name in names}
    return audit(
        [float(row["p"]) for row in rows], [int(row["y"]) for row in rows], sensitive_features=features, **options
    )


def in_python(fitted: Path, rows: Sequence[Row] = PEOPLE, *names: str, **options: Any) -> list[float]:
    """The fair scores of the same rows through Python, by their ids unless there is a ``random_state``."""
    features = {name: [row[name] or None for row in rows] for name in names or ("sex",)}
    given = {"ids": [int(row["id"]) for row in rows]} if "random_state" not in options else {}
    scores = [float(row["p"]) for row in rows]
    return FairModel.load(fitted).transform(scores, sensitive_features=features, **given, **options).tolist()


# ---- audit ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["d.csv", "D.CSV", "d.csv.gz", "d.parquet", "d.arrow"])
def test_audit_reads_every_format(tmp_path: Path, run: Run, name: str) -> None:
    ran = run("audit", write(tmp_path, name=name), *ROLES, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == json.loads(json.dumps(expected().to_dict()))


def test_audit_json_holds_the_promised_keys(tmp_path: Path, run: Run) -> None:
    found = run("audit", write(tmp_path), *ROLES, "--epsilon", 0.05, "--format", "json").json
    assert found.keys() >= AUDIT_KEYS
    assert [group["group"] for group in found["groups"]] == ["F", "M"]
    assert all(group.keys() >= AUDIT_GROUP_KEYS for group in found["groups"])
    assert (found["epsilon"], found["fair"], found["gap_pair"]) == (0.05, False, ["F", "M"])
    assert found["gap_interval"].keys() >= {"level", "dkw", "bootstrap"}
    assert [len(found["gap_interval"][kind]) for kind in ("dkw", "bootstrap")] == [2, 2]


def test_audit_options_reach_the_audit(tmp_path: Path, run: Run) -> None:
    options = ("--confidence", 0.8, "--threshold", 0.4, "--bootstrap", 200, "--seed", 3, "--format", "json")
    wanted = expected(confidence=0.8, threshold=0.4, bootstrap=200, random_state=3).to_dict()
    found = run("audit", write(tmp_path), *ROLES, *options).json
    assert found == json.loads(json.dumps(wanted))
    assert (found["gap_interval"]["level"], found["decision"]["threshold"]) == (0.8, 0.4)


def test_audit_without_bootstrap(tmp_path: Path, run: Run) -> None:
    found = run("audit", write(tmp_path), *ROLES, "--bootstrap", 0, "--format", "json").json["gap_interval"]
    assert found["bootstrap"] is None and "no bootstrap draws" in found["bootstrap_reason"]
    assert len(found["dkw"]) == 2


def test_audit_tells_by_its_exit_code(tmp_path: Path, run: Run) -> None:
    """Equality is fair, the next smaller epsilon is not; without an epsilon all is well."""
    data, gap = write(tmp_path), expected().gap
    assert run("audit", data, *ROLES).code == 0
    assert run("audit", data, *ROLES, "--epsilon", repr(gap)).code == 0
    assert run("audit", data, *ROLES, "--epsilon", repr(gap - 1e-9)).code == 1
    for form in ("text", "json"):
        assert run("audit", data, *ROLES, "--epsilon", 0, "--format", form).code == 1


def test_audit_text(tmp_path: Path, run: Run) -> None:
    ran = run("audit", write(tmp_path), *ROLES, "--epsilon", 0.01)
    assert (ran.code, ran.err) == (1, "")
    assert f"{expected().gap:.3f}" in ran.out
    assert "NOT within epsilon = 0.01" in ran.out


@pytest.mark.parametrize(("norm", "written"), [("1", 1), ("inf", "inf"), ("2", 2), ("3.5", 3.5)])
def test_audit_norms(tmp_path: Path, run: Run, norm: str, written: object) -> None:
    found = run("audit", write(tmp_path), *ROLES, "--norm", norm, "--format", "json").json
    assert found["norm"] == written
    assert found["gap"] == expected(norm=float(norm)).gap
    assert (found["gap"] == expected().gap) == (norm == "1")


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        (
            ("--constraint", "equal_opportunity", "--epsilon", 0.01),
            {"constraint": "equal_opportunity", "epsilon": 0.01},
        ),
        (("--constraint", "predictive_equality", "--where", "0.1:0.4"), {"constraint": "predictive_equality"}),
        (("--constraint", "demographic_parity", "--ratio", 0.8), {"constraint": "demographic_parity", "ratio": 0.8}),
        (("--epsilon-fpr", 0.9, "--epsilon-tpr", 0.8), {"epsilon": {"fpr": 0.9, "tpr": 0.8}}),
    ],
)
def test_audit_of_every_constraint(tmp_path: Path, run: Run, flags: tuple[object, ...], asked: dict[str, Any]) -> None:
    """Of the same rows as in Python, with the exit code of the verdict."""
    wanted = expected(**asked, **({"where": (0.1, 0.4)} if "--where" in flags else {}))
    ran = run("audit", write(tmp_path), *ROLES, *flags, "--format", "json")
    assert ran.json == json.loads(json.dumps(wanted.to_dict()))
    assert ran.code == (1 if wanted.fair is False else 0)
    text = run("audit", write(tmp_path), *ROLES, *flags).out
    assert (
        "Of one rate alone: TPR " in text
        and "is a choice (https://fairroc.github.io/fairroc/guides/constraints.html)." in text
    )


def test_a_ratio_tells_by_its_exit_code(tmp_path: Path, run: Run) -> None:
    flags = ("--constraint", "demographic_parity", "--where", "0.3:1", "--bootstrap", 0)
    smallest = expected(constraint="demographic_parity", where=(0.3, 1), ratio=1, bootstrap=0).smallest_ratio
    assert 0 < smallest < 1
    for off, code in ((0.0, 0), (1e-9, 1)):
        assert run("audit", write(tmp_path), *ROLES, *flags, "--ratio", repr(smallest + off)).code == code


def test_demographic_parity_without_labels(tmp_path: Path, run: Run) -> None:
    roles, parity = ("--score", "p", "--group", "sex"), ("--constraint", "demographic_parity")
    rows = [{name: value for name, value in row.items() if name != "y"} for row in PEOPLE]
    data = write(tmp_path, rows)
    ran = run("audit", data, *roles, *parity, "--epsilon", 0.01, "--format", "json")
    known = expected(constraint="demographic_parity")
    assert (ran.code, ran.json["gap"], ran.json["auc"]) == (1, pytest.approx(known.gap, abs=1e-12), None)
    assert run("audit", data, *roles, *parity, "--epsilon", 0.99).code == 0
    assert run("audit", data, *roles, *parity, "--epsilon", 0.01, "--format", "json", "--stream").json == ran.json
    text = run("audit", data, *roles, *parity, "--weight", "w", "--threshold", 0.5).out
    assert ", no labels." in text and "No AUC: there are no labels." in text and "TPR" not in text
    for flags, words in (
        ((), "give either --label"),
        (("--constraint", "equal_opportunity"), "give either --label"),
        ((*parity, "--pos-label", "1"), "--pos-label goes with --label"),
        ((*parity, "--small-groups", "drop"), "small_groups must be 'error' without labels"),
        ((*parity, "--positives", "y"), "give either --label"),
    ):
        run("audit", data, *roles, *flags).refused(words)


def test_groups_of_a_csv_file_are_its_text(tmp_path: Path, run: Run) -> None:
    rows = [{**row, "sex": {"F": "01", "M": "NA"}[row["sex"]]} for row in PEOPLE]
    found = run("audit", write(tmp_path, rows), *ROLES, "--format", "json").json
    assert [group["group"] for group in found["groups"]] == ["01", "NA"]


@pytest.mark.parametrize("name", ["d.csv", "d.parquet"])
def test_several_groups_are_crossed(tmp_path: Path, run: Run, name: str) -> None:
    found = run("audit", write(tmp_path, name=name), *ROLES, "--group", "race", "--format", "json").json
    assert [group["group"] for group in found["groups"]] == ["F & x", "F & y", "M & x", "M & y"]
    assert found["gap"] == expected(group=["sex", "race"]).gap


def test_weights(tmp_path: Path, run: Run) -> None:
    found = run("audit", write(tmp_path), *ROLES, "--weight", "w", "--format", "json").json
    repeated = [row for row in PEOPLE for _ in range(int(row["w"]))]
    assert found["gap"] == expected(repeated).gap
    assert found["gap"] != expected().gap
    assert found["rows"] == len(PEOPLE)


@pytest.mark.parametrize(("names", "positive"), [("good bad", "bad"), ("good bad", "good"), ("0 1", "0")])
def test_labels_and_the_positive_one(tmp_path: Path, run: Run, names: str, positive: str) -> None:
    rows = [{**row, "y": names.split()[int(row["y"])]} for row in PEOPLE]
    found = run("audit", write(tmp_path, rows), *ROLES, "--pos-label", positive, "--format", "json").json
    auc = expected().auc
    assert found["auc"] == pytest.approx(auc if positive == "bad" else 1 - auc, abs=1e-12)


def test_missing_group_as_a_group_all_the_way(tmp_path: Path, run: Run) -> None:
    rows = [{**row, "sex": "" if row["sex"] == "M" else "F"} for row in PEOPLE]
    data = write(tmp_path, rows)
    found = run("audit", data, *ROLES, "--missing", "group", "--format", "json").json
    assert [group["group"] for group in found["groups"]] == ["(missing)", "F"]
    assert found["gap"] == expected().gap
    fitted = model_file(tmp_path, "--missing", "group", data=data)
    assert run("transform", data, *NEW, "--model", fitted, "--id", "id", "-o", tmp_path / "out.csv").code == 0
    assert list(fair_by_id(tmp_path / "out.csv").values()) == in_python(fitted, rows)


# ---- fit -----------------------------------------------------------------------------------------------------


def test_fit_json_holds_the_promised_keys(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "m.json"
    ran = run("fit", write(tmp_path), *FIT, "--epsilon", 0.05, "--draw", "all", "--format", "json", "-o", target)
    assert ran.code == 0
    assert ran.err == f"model written to {target}\n"
    found = ran.json
    assert found.keys() >= FIT_KEYS
    assert all(group.keys() >= FIT_GROUP_KEYS for group in found["groups"])
    assert (found["epsilon"], found["norm"], found["method"], found["rows"]) == (0.05, 1, "optimal", len(PEOPLE))
    assert found["gap_before"] == expected().gap
    assert found["auc_before"] == expected().auc
    assert 0 < found["gap"] <= 0.05 + 1e-12
    assert found["auc"] <= found["auc_bound"] + 1e-9 and found["auc"] < found["auc_before"]
    assert found["levels"] == FairModel.load(target).levels > 0
    for group, seen in zip(found["groups"], expected().groups, strict=True):
        assert (group["group"], group["rows"], group["positives"]) == (seen.group, seen.rows, seen.positives)
        assert group["auc_before"] == pytest.approx(seen.auc, abs=1e-12)
        assert 0 <= group["randomised_share"] <= 1


def test_fit_text(tmp_path: Path, run: Run) -> None:
    ran = run("fit", write(tmp_path), *FIT, "--epsilon", 0.05, "-o", tmp_path / "m.json")
    assert ran.code == 0
    assert f"{expected().gap:.3f}" in ran.out
    assert "No score with a gap of at most 0.05 on these rows has an overall AUC above" in ran.out
    assert ran.out.index("new people (expected)") < ran.out.index("At 95% confidence") < ran.out.index("\ngroup")
    told = run("fit", write(tmp_path), *FIT, "--epsilon", 0.05, "--verbose", "-o", tmp_path / "m.json").out
    assert "Ties: " in told and "Ties" not in ran.out


def test_fit_norm_inf(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "m.json"
    ran = run("fit", write(tmp_path), *FIT, "--epsilon", 0.02, "--norm", "inf", "--format", "json", "-o", target)
    assert ran.json["norm"] == FairModel.load(target).norm == "inf"
    assert ran.json["gap_before"] == expected(norm="inf").gap
    assert ran.json["gap"] <= 0.02 + 1e-12


def test_fit_queries(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "m.json"
    ran = run("fit", write(tmp_path), *ROLES, "--epsilon", 0.05, "--queries", 15, "--format", "json", "-o", target)
    assert FairModel.load(target).queries == 15
    assert all(group["pla_loss"]["bound"] > 0 for group in ran.json["groups"])
    thresholds = {score for kernel in FairModel.load(target).kernels for score in kernel.thresholds}
    assert len(thresholds) <= 15


@pytest.mark.parametrize(("draw", "ties"), [("all", "draw"), ("few", "order"), ("never", "order")])
def test_fit_draw(tmp_path: Path, run: Run, draw: str, ties: str) -> None:
    target = tmp_path / "m.json"
    ran = run("fit", write(tmp_path), *FIT, "--epsilon", 0.2, "--draw", draw, "--format", "json", "-o", target)
    assert ran.json["ties"] == FairModel.load(target).ties == ties
    assert ran.json["draw"] == FairModel.load(target).draw == draw
    assert ran.json["drawn"] == (draw == "all") and FairModel.load(target).needs_ids == (draw == "all")
    assert ran.json["gap"] <= 0.2 + 1e-12


def test_fit_says_when_ids_are_needed_or_no_more(tmp_path: Path, run: Run) -> None:
    target, data = tmp_path / "m.json", write(tmp_path)
    target.write_text("no model")
    for draw, words in (
        ("never", None),
        ("never", None),
        ("all", f"The model that was in {target} needed no ids; this one needs ids: pass --id ID to transform.\n"),
        ("never", f"The model that was in {target} needed ids; this one needs none: calls may go on passing them.\n"),
    ):
        ran = run("fit", data, *FIT, "--epsilon", 0.2, "--draw", draw, "-o", target)
        assert ran.code == 0 and (words in ran.err if words else "that was in" not in ran.err)


def test_fit_by_the_papers_method(tmp_path: Path, run: Run) -> None:
    """A default number of queries, a report of the algorithm in JSON and text, and a model that transforms."""
    target, data = tmp_path / "m.json", write(tmp_path)
    options = ("fit", data, *ROLES, "--epsilon", 0.05, "--method", "froc", "--draw", "all", "-o", target)
    found = run(*options, "--format", "json").json
    assert (found["method"], FairModel.load(target).method, FairModel.load(target).queries) == ("froc", "froc", 100)
    assert found["gap"] <= 0.05 + 1e-12
    assert len(found["froc"]["gaps"]) == found["froc"]["queries"] <= 100
    assert [group["group"] for group in found["froc"]["groups"]] == ["F", "M"]
    text = run(*options).out
    assert "method froc" in text and f"Algorithm 1 at {found['froc']['queries']} distinct queries" in text
    roles = ("--score", "p", "--group", "sex", "--id", "id", "--model", target)
    assert run("transform", data, *roles, "-o", tmp_path / "out.csv").code == 0


@pytest.mark.parametrize("form", ["text", "json"])
def test_who_stops_the_look_ahead_keeps_the_model(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairroc.fitting.outlook.outlook", interrupt)
    target = tmp_path / "m.json"
    ran = run("fit", write(tmp_path), *FIT, "--epsilon", 0.05, "--format", form, "-o", target)
    first, *rest = ran.err.splitlines()
    assert (ran.code, rest) == (130, [f"model written to {target}", "stopped."])
    assert first.startswith("warning: A draw decides for ")
    assert FairModel.load(target).epsilon == 0.05
    assert ran.out == ""  # new people come first, so nothing is said before they are looked at


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_froc_draws_one_index(tmp_path: Path, run: Run, suffix: str) -> None:
    """The pair that is drawn, in text and JSON, and a picture of the right kind."""
    pytest.importorskip("matplotlib")
    picture = tmp_path / f"froc{suffix}"
    options = ("froc", write(tmp_path), *ROLES, "--epsilon", 0.05, "--queries", 40, "--index", 20, "-o", picture)
    found = run(*options, "--format", "json").json
    assert (found["index"], found["epsilon"]) == (20, 0.05)
    assert {found["upper"], found["lower"]} == {"F", "M"}
    assert picture.read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")
    ran = run(*options, "--upper", found["upper"])
    assert ran.code == 0 and f"Query 20 of {found['queries']}" in ran.out and found["shift"] in ran.out


def test_froc_keeps_the_old_picture_where_drawing_fails(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")

    def full(figure: object, sink: Any, **_: object) -> None:
        sink.write(b"half a picture")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    picture = tmp_path / "froc.png"
    picture.write_text("old")
    ran = run("froc", write(tmp_path), *ROLES, "--epsilon", 0.05, "--index", 20, "-o", picture)
    assert (ran.code, ran.out, picture.read_text(encoding="utf-8")) == (2, "", "old")
    assert "No space left on device; nothing was changed" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "froc.png"]


def test_froc_without_matplotlib(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairroc.plot.palette.find_spec", lambda name: None)
    ran = run("froc", write(tmp_path), *ROLES, "--epsilon", 0.05, "--index", 20, "-o", tmp_path / "froc.png")
    ran.refused("a picture needs matplotlib; install it with")
    assert not (tmp_path / "froc.png").exists()


def test_fit_weight_and_pos_label(tmp_path: Path, run: Run) -> None:
    """Weights are row repetitions, for the fit as well."""
    options = (*FITTED, "--epsilon", 0.05, "--format", "json", "-o", tmp_path / "m.json")
    words = [{**row, "y": "yes" if row["y"] == "1" else "no"} for row in PEOPLE]
    weighted = run("fit", write(tmp_path, words), *ROLES, "--pos-label", "yes", "--weight", "w", *options).json
    assert FairModel.load(tmp_path / "m.json").record.weighted
    repeated = [row for row in PEOPLE for _ in range(int(row["w"]))]
    plain = run("fit", write(tmp_path, repeated), *ROLES, *options).json
    for name in ("auc_before", "auc", "auc_bound", "gap_before", "gap"):
        assert weighted[name] == pytest.approx(plain[name], abs=1e-9)


def test_a_fair_score_stays_as_it_is(tmp_path: Path, run: Run) -> None:
    fitted = tmp_path / "m.json"
    ran = run("fit", write(tmp_path), *ROLES, "--epsilon", 2, "--format", "json", "-o", fitted)
    assert ran.json["unchanged"] is True
    assert run("transform", write(tmp_path), *NEW, "--model", fitted, "--seed", 0, "-o", tmp_path / "out.csv").code == 0
    fair = fair_by_id(tmp_path / "out.csv")
    assert fair == {row["id"]: float(row["p"]) for row in PEOPLE}


def test_a_warning_is_one_line_of_words(tmp_path: Path, run: Run) -> None:
    rows = [{**row, "p": str(1 - float(row["p"])) if row["sex"] == "M" else row["p"]} for row in PEOPLE]
    ran = run("fit", write(tmp_path, rows), *ROLES, "--epsilon", 1, "--format", "json", "-o", tmp_path / "m.json")
    assert ran.code == 0
    assert re.match(r"warning: AUC below 0\.5 in group 'M' [^\n]*\nmodel written to [^\n]*\n$", ran.err)
    assert ran.json["rows"] == len(PEOPLE)


# ---- transform -----------------------------------------------------------------------------------------------


def transformed(run: Run, data: Path, fitted: Path, *options: object, out: str = "out.csv") -> Path:
    target = data.parent / out
    ran = run("transform", data, *NEW, "--model", fitted, *options, "-o", target)
    assert (ran.code, ran.err) == (0, "")
    return target


def test_transform_equals_python(tmp_path: Path, run: Run, model: Path) -> None:
    found = fair_by_id(transformed(run, write(tmp_path), model, "--id", "id"))
    fair = in_python(model)
    assert found == {row["id"]: score for row, score in zip(PEOPLE, fair, strict=True)}
    assert sum(score != float(row["p"]) for row, score in zip(PEOPLE, fair, strict=True)) > len(PEOPLE) / 2


@pytest.mark.parametrize("ids", ["id", "name"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_same_id_same_fair_score(tmp_path: Path, run: Run, model: Path, ids: str, suffix: str) -> None:
    """In any order, batch and format, for integers and for text."""
    whole = fair_by_id(transformed(run, write(tmp_path), model, "--id", ids))
    order = np.random.default_rng(1).permutation(len(PEOPLE))
    mixed = [PEOPLE[i] for i in order]
    for name, part in (("first", mixed[:7]), ("rest", mixed[7:])):
        data = write(tmp_path, part, f"{name}{suffix}")
        batch = fair_by_id(transformed(run, data, model, "--id", ids, out=f"{name}.out.csv"))
        assert batch == {row["id"]: whole[row["id"]] for row in part}


def test_integer_ids_beside_text_ids_keep_their_draw(tmp_path: Path, run: Run, model: Path) -> None:
    whole = fair_by_id(transformed(run, write(tmp_path), model, "--id", "id"))
    rows = [{**row, "id": "A7" if i == 3 else row["id"]} for i, row in enumerate(PEOPLE)]
    mixed = fair_by_id(transformed(run, write(tmp_path, rows), model, "--id", "id"))
    del mixed["A7"]
    assert mixed == {key: score for key, score in whole.items() if key in mixed}
    assert len(mixed) == len(PEOPLE) - 1


@pytest.mark.parametrize("base", [10**18 + 7, 2**63 - 1 - len(PEOPLE)])
def test_long_integer_ids_have_one_draw_in_csv_and_parquet(tmp_path: Path, run: Run, model: Path, base: int) -> None:
    rows = [{**row, "id": str(base + i)} for i, row in enumerate(PEOPLE)]
    found = [
        fair_by_id(transformed(run, write(tmp_path, rows, name), model, "--id", "id"))
        for name in ("d.csv", "d.parquet")
    ]
    assert found[0] == found[1]


def test_text_ids_of_a_typed_file_are_text(tmp_path: Path, run: Run, model: Path) -> None:
    """As in Python and in every engine: the text "1000" is not the integer 1000."""
    table = as_table(PEOPLE)
    text = table.set_column(0, "id", table["id"].cast(pa.string()))
    pyarrow.parquet.write_table(text, tmp_path / "d.parquet")
    found = fair_by_id(transformed(run, tmp_path / "d.parquet", model, "--id", "id"))
    fair = FairModel.load(model).transform(
        table["p"], sensitive_features=table["sex"], ids=[row["id"] for row in PEOPLE]
    )
    assert list(found.values()) == fair.tolist()
    assert found != fair_by_id(transformed(run, write(tmp_path), model, "--id", "id"))


@pytest.mark.parametrize("how", ["one file", "folder", "small batches"])
def test_scores_on_another_scale(
    tmp_path: Path, run: Run, model: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judged by the whole input: refused if most of it lies outside of what was fitted, and nothing is written."""
    data, out, low = tmp_path / "data", tmp_path / "out.csv", [row for row in PEOPLE if float(row["p"]) < 0.5]
    data.mkdir()
    if how == "small batches":
        monkeypatch.setattr(tables_read, "CSV_BLOCK", 1 << 11)
    command = ["transform", data, *NEW, "--model", model, "--seed", 0, "-o", out]
    ends = FairModel.load(model).score_range
    fitted = f"lie outside of the range of those fitted, {ends[0]:.4g} to {ends[1]:.4g}"

    def ran(logits: int, *more: object) -> Ran:
        rows = [{**row, "p": "7.5" if i < logits else row["p"]} for i, row in enumerate((low * 10)[:1000])]
        cut = 300 if how == "folder" else 1000
        write(data, rows[:cut], "a.csv")
        if how == "folder":
            write(data, rows[cut:], "b.csv")
        return run(*command, *more)

    assert ran(9).err == ""
    once = ran(10)
    assert (once.code, once.err.count("\n")) == (0, 1) and f"10 of 1,000 scores (1.0%) {fitted}" in once.err
    before = out.read_bytes()
    assert ran(500).code == 0 and out.read_bytes() != before
    before, refused = out.read_bytes(), ran(501)
    assert (refused.code, refused.out) == (2, "") and f"501 of 1,000 scores (50.1%) {fitted}: another" in refused.err
    assert "--allow-out-of-range" in refused.err
    assert out.read_bytes() == before and {path.name for path in tmp_path.iterdir()} == {"data", "out.csv"}
    allowed = ran(501, "--allow-out-of-range")
    assert allowed.code == 0 and "warning: 501 of 1,000 scores" in allowed.err
    out.unlink()
    assert ran(501).code == 2 and {path.name for path in tmp_path.iterdir()} == {"data"}


SHARED = (
    "warning: {} rows have {} different ids: rows with the same id share one draw. If each row is another person, pass "
    "ids (--id) that tell people apart.\n"
)


def test_duplicate_ids_share_a_draw(tmp_path: Path, run: Run, model: Path) -> None:
    twice, out = [row for row in PEOPLE[:50] for _ in range(2)], tmp_path / "out.csv"
    ran = run("transform", write(tmp_path, twice), *NEW, "--model", model, "--id", "id", "-o", out)
    assert (ran.code, ran.err) == (0, SHARED.format("100", "50"))
    scores = [row["p_fair"] for row in csv.DictReader(io.StringIO(out.read_text(encoding="utf-8")))]
    assert scores[0::2] == scores[1::2]
    assert len(scores) == 100
    same = [{**row, "id": "1"} for row in PEOPLE if row["sex"] == "F"]
    data = write(tmp_path, [{**row, "p": "0.5"} for row in same])
    ran = run("transform", data, *NEW, "--model", model, "--id", "id", "-o", out)
    assert (ran.code, ran.err) == (0, SHARED.format(len(same), "1"))
    assert len(set(fair_by_id(out).values())) == 1
    assert run("transform", data, *NEW, "--model", model, "--seed", 0, "-o", out).err == ""  # no ids, nothing to say


@pytest.mark.parametrize("ids", ["id", "name"])
def test_ids_that_repeat_in_any_batch_are_counted(
    tmp_path: Path, run: Run, model: Path, ids: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for the whole input, however it is read: several files, small batches."""
    monkeypatch.setattr(tables_read, "CSV_BLOCK", 1 << 11)
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        write(folder, PEOPLE[: 100 + part], f"{part}.csv")
    ran = run("transform", folder, *NEW, "--model", model, "--id", ids, "-o", tmp_path / "out.csv")
    assert (ran.code, ran.err) == (0, SHARED.format("303", "102"))


def test_seed(tmp_path: Path, run: Run, model: Path) -> None:
    data = write(tmp_path)
    found = [fair_by_id(transformed(run, data, model, "--seed", seed)) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert list(found[0].values()) == in_python(model, random_state=0)


def test_key_file(tmp_path: Path, run: Run) -> None:
    """The key of the fit gives other draws than the public salt; a line end in the file is no part of it."""
    data, key = write(tmp_path), tmp_path / "key"
    key.write_text(f"{KEY}\n")
    fitted = model_file(tmp_path, "--key-file", key)
    assert KEY not in fitted.read_text(encoding="utf-8")
    secret = fair_by_id(transformed(run, data, fitted, "--id", "id", "--key-file", key))
    key.write_text(KEY)
    assert fair_by_id(transformed(run, data, fitted, "--id", "id", "--key-file", key)) == secret
    assert list(secret.values()) == in_python(fitted, key=KEY)


def test_hash_blake2b(tmp_path: Path, run: Run) -> None:
    fitted = model_file(tmp_path, "--hash", "blake2b")
    assert FairModel.load(fitted).hash == "blake2b"
    found = [
        fair_by_id(transformed(run, write(tmp_path, name=name), fitted, "--id", "id"))
        for name in ("d.csv", "d.parquet")
    ]
    assert found[0] == found[1]
    replace(FairModel.load(fitted), hash="xxh64").save(tmp_path / "fast.json")
    assert in_python(tmp_path / "fast.json") != list(found[0].values()) == in_python(fitted)


def test_transform_crossed_groups(tmp_path: Path, run: Run) -> None:
    fitted = model_file(tmp_path, "--group", "race")
    for name in ("d.csv", "d.parquet"):
        out = transformed(run, write(tmp_path, name=name), fitted, "--group", "race", "--id", "id")
        assert list(fair_by_id(out).values()) == in_python(fitted, PEOPLE, "sex", "race")


def test_column_and_summary(tmp_path: Path, run: Run, model: Path) -> None:
    data, out = write(tmp_path), tmp_path / "out.parquet"
    options = ("--model", model, "--id", "id", "--column", "just, fair", "-o", out)
    ran = run("transform", data, *NEW, *options, "--format", "json")
    assert ran.json == {"rows": len(PEOPLE), "column": "just, fair", "output": str(out), "unknown": 0}
    assert pyarrow.parquet.read_table(out).column_names == [*PEOPLE[0], "just, fair"]
    ran = run("transform", data, *NEW, *options)
    assert ran.out == f"800 rows with fair scores in column 'just, fair' written to {out}\n"


def test_on_unknown_group(tmp_path: Path, run: Run, model: Path) -> None:
    rows = [{**row, "sex": "X"} if i < 5 else row for i, row in enumerate(PEOPLE)]
    out = tmp_path / "out.csv"
    options = ("--model", model, "--id", "id", "--on-unknown-group", "F", "-o", out, "--format", "json")
    ran = run("transform", write(tmp_path, rows), *NEW, *options)
    assert (ran.code, ran.json["unknown"]) == (0, 5)
    assert re.match(r"warning: 5 of 800 rows belong to groups that were not fitted; [^\n]*\n$", ran.err)
    as_f = [{**row, "sex": "F"} if i < 5 else row for i, row in enumerate(PEOPLE)]
    assert fair_by_id(out) == fair_by_id(transformed(run, write(tmp_path, as_f), model, "--id", "id"))


MESSY = """\
zip,day,na,empty,note,"a ""name"", quoted",p,sex,id
01234,2020-01-31,NA,,"say ""hi"", all",x,0.50,F,7
00000,1/2/2020,null,,,,.25,M,8
1e3,2020-01-31T00:00:00Z,N/A,,'single', lead and trail ,1e-1,F,0010
+5,true,NaN,,ünïcode 👩,TRUE,0.300,M,A-1
"""


@pytest.mark.parametrize("text", [MESSY, "p,sex,id,zip\n0.50,F,1,007\n"], ids=["quotes", "plain"])
def test_other_columns_come_back_byte_for_byte(tmp_path: Path, run: Run, model: Path, text: str) -> None:
    data = tmp_path / "d.csv"
    data.write_bytes(text.encode())
    out = transformed(run, data, model, "--id", "id").read_bytes().decode()
    assert [line.rpartition(",")[0] for line in out.splitlines()] == text.splitlines()
    assert out.splitlines()[0].endswith(",p_fair")
    assert all(0 <= float(line.rpartition(",")[2]) <= 1 for line in out.splitlines()[1:])


def test_types_come_back_in_parquet(tmp_path: Path, run: Run, model: Path) -> None:
    data = write(tmp_path, name="d.parquet")
    found = pyarrow.parquet.read_table(transformed(run, data, model, "--id", "id", out="out.parquet"))
    assert found.drop_columns("p_fair").equals(as_table(PEOPLE))
    assert found["p_fair"].type == pa.float64()


def test_index_column_of_pandas_is_kept(tmp_path: Path, run: Run, model: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text(",p,sex\n0,0.5,F\n1,0.25,M\n")
    lines = transformed(run, data, model, "--seed", 0).read_text(encoding="utf-8").splitlines()
    assert [line.rpartition(",")[0] for line in lines] == data.read_text(encoding="utf-8").splitlines()


# ---- what cannot run -----------------------------------------------------------------------------------------


def with_value(column: str, value: str, place: int = 3) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [{**row, column: value} if i == place else row for i, row in enumerate(rows)]


def everywhere(column: str, value: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [{**row, column: value} for row in rows]


def one_label_in_m(rows: list[Row]) -> list[Row]:
    return [{**row, "y": "0"} if row["sex"] == "M" else row for row in rows]


def digit_changed(text: str) -> str:
    """The last digit of the first threshold becomes another."""
    found = re.search(r'"thresholds": \[[\d.]*(\d)', text)
    assert found
    place = found.start(1)
    return f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"


def of_version(number: int) -> Callable[[str], str]:
    return lambda text: text.replace('"version": 6', f'"version": {number}', 1)


@dataclass(frozen=True)
class Bad:
    """A run that must be refused: the commands it holds for, what is wrong with it, and what the message says."""

    name: str
    words: str
    commands: str = "audit fit transform froc"
    rows: Callable[[list[Row]], list[Row]] = list
    content: str | None = None
    data: str = "d.csv"
    model: Callable[[str], str] = str
    options: dict[str, str | None] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    fit_key: str | None = None


BAD = [
    # the data's values
    Bad("unseen group", r"knows the groups 'F', 'M', but 1 of 800 rows are of 'X'.*--on-unknown-group", "transform",
        with_value("sex", "X")),
    Bad("one group only", r"one group only: 'F' holds all 800 rows", "audit fit froc", everywhere("sex", "F")),
    Bad("one label in a group", r"group 'M' has \d+ rows, all with label 0", "audit fit froc", one_label_in_m),
    Bad("one label", r"must hold both labels, but all 800 rows have label 1", "audit fit froc", everywhere("y", "1")),
    Bad("NaN score", r"scores must not be missing, but 1 of 800", rows=with_value("p", "nan")),
    Bad("infinite score", r"scores must be finite, but 1 of 800", rows=with_value("p", "inf")),
    Bad("minus infinite score", r"scores must be finite, but 1 of 800", rows=with_value("p", "-inf")),
    Bad("missing score", r"scores must not be missing, but 1 of 800", rows=with_value("p", "")),
    Bad("missing scores", r"scores must not be missing, but 800 of 800", rows=everywhere("p", "")),
    Bad("missing label", r"y must not be missing, but 1 of 800", "audit fit froc", with_value("y", "")),
    Bad("missing group", r"must not be missing, but 1 of 800 .*--missing group\) to make them", "audit fit froc",
        with_value("sex", "")),
    Bad("missing group", r"but 1 of 800 are; the model has no group for missing values: .*refit", "transform",
        with_value("sex", "")),
    Bad("third label", r"y must hold two values, got 3: .*2 \(1 row\)", "audit fit froc", with_value("y", "2")),
    Bad("labels of two words", r"y holds .*'no'.*; pass pos_label= \(.*--pos-label\)", "audit fit froc", lambda rows: [
        {**row, "y": "yes" if row["y"] == "1" else "no"} for row in rows
    ]),
    Bad("text as score", r"column 'p' must hold numbers; row 4 .*holds 'high'", "audit fit froc",
        with_value("p", "high")),
    Bad("text as score", r"column 'p' must hold numbers; row 4 .*holds 'high'", "transform", with_value("p", "high")),
    Bad("foreign digits", r"column 'p' must hold numbers; row 4 .*holds '٣'", "transform", with_value("p", "٣")),
    Bad("truth values as score", r"column 'p' must hold numbers; row 1 .* holds 'true'", "audit fit froc",
        everywhere("p", "true")),
    Bad("negative weight", r"sample_weight .*--weight.* must be >= 0, but 1 of 800", "audit fit froc",
        with_value("w", "-1"), options={"--weight": "w"}),
    Bad("text as weight", r"column 'w' must hold numbers; row 4 .*holds 'much'", "audit fit froc",
        with_value("w", "much"), options={"--weight": "w"}),
    Bad("float id", r"1 of 800 read like floats; the first is '7\.0' in row 4 ", "transform", with_value("id", "7.0")),
    Bad("missing id", r"Every row needs an id, but 1 of 800 ids are missing", "transform", with_value("id", "")),
    # the data's columns and files
    Bad("missing column", r"no column 'sexe'; columns: .*'sex'.*Did you mean 'sex'\?", options={"--group": "sexe"}),
    Bad("missing score column", r"no column 'zzz'; columns: .*'p'", options={"--score": "zzz"}),
    Bad("missing label column", r"no column 'Y'; columns: .*'y'", "audit fit froc", options={"--label": "Y"}),
    Bad("missing id column", r"no column 'ids'; .*Did you mean 'id'\?", "transform", options={"--id": "ids"}),
    Bad("missing weight column", r"no column 'ww'", "audit fit froc", options={"--weight": "ww"}),
    Bad("twice the same group", r"the same (group )?column is named twice", more=("--group", "sex")),
    Bad("empty file", r"d\.csv' must hold a table, but it is empty", content=""),
    Bad("header only", r"d\.csv' must hold at least one row of data", content="id,p,y,sex\n"),
    Bad("uneven lines", r"cannot read '.*d\.csv': .*Expected 4 columns", content="id,p,y,sex\n1,0.5,1\n"),
    Bad("no such file", r"there is no file '.*none\.csv'", data="none.csv"),
    Bad("unknown suffix", r"file name must end in one of \.csv.*got '.*d\.xlsx'", data="d.xlsx", content="PK"),
    Bad("no Parquet", r"cannot read '.*d\.parquet'", data="d.parquet", content="p,y\n1,2\n"),
    # epsilon, norm and the other options
    Bad("epsilon -1", r"epsilon must be between 0 and 2.*-1", "audit fit froc", options={"--epsilon": "-1"}),
    Bad("epsilon 2.5", r"epsilon must be between 0 and 2.*2\.5", "audit fit froc", options={"--epsilon": "2.5"}),
    Bad("epsilon nan", r"epsilon must be between 0 and 2.*nan", "audit fit froc", options={"--epsilon": "nan"}),
    Bad("epsilon abc", r"--epsilon: must be a number, got 'abc'", "audit fit froc", options={"--epsilon": "abc"}),
    Bad("epsilon in two lines", r"must be a number, got 'a b'", "audit fit froc", options={"--epsilon": "a\nb"}),
    Bad("no epsilon", r"give --epsilon E.*got none of them", "fit", options={"--epsilon": None}),
    Bad("norm 2", r"norm must be 1 or 'inf' to fit, got '2'", "fit", options={"--norm": "2"}),
    Bad("norm 0.5", r"norm must be a number p >= 1 or 'inf', got '0\.5'", "audit", options={"--norm": "0.5"}),
    Bad("confidence 1", r"confidence must lie between 0 and 1, both excluded, got 1\.0", "audit",
        options={"--confidence": "1"}),
    Bad("confidence abc", r"--confidence: must be a number, got 'abc'", "audit", options={"--confidence": "abc"}),
    Bad("threshold nan", r"threshold must be a finite number on the score's scale, got nan", "audit",
        options={"--threshold": "nan"}),
    Bad("threshold abc", r"--threshold: must be a number, got 'abc'", "audit", options={"--threshold": "abc"}),
    Bad("bootstrap 10", r"bootstrap must be a whole number of draws, at least 100, or 0 for none, got 10", "audit",
        options={"--bootstrap": "10"}),
    Bad("bootstrap 1.5", r"--bootstrap: must be a whole number, got '1\.5'", "audit", options={"--bootstrap": "1.5"}),
    Bad("seed -1 of the bootstrap", r"random_state must be an integer of 0 or more.*-1", "audit",
        options={"--seed": "-1"}),
    Bad("draw x", r"draw must be 'few', 'never' or 'all', got 'x'", "fit", options={"--draw": "x"}),
    Bad("queries 1", r"queries must be a whole number from 2 .*got 1", "fit", options={"--queries": "1"}),
    Bad("queries 2.5", r"--queries: must be a whole number, got '2\.5'", "fit", options={"--queries": "2.5"}),
    Bad("hash x", r"hash must be 'xxh64' or 'blake2b', got 'x'", "fit", options={"--hash": "x"}),
    Bad("method x", r"method must be .*'optimal'.*got 'x'", "fit", options={"--method": "x"}),
    Bad("method froc with norm inf", r"norm must be 1 for method='froc'.*got 'inf'\. Take norm=1", "fit",
        options={"--method": "froc", "--norm": "inf"}),
    Bad("index 0", r"index must lie from 1 .* to \d+, .*, got 0\. Take another", "froc", options={"--index": "0"}),
    Bad("index 101", r"index must lie from 1 .* to \d+, .*, got 101\. Take another", "froc",
        options={"--index": "101"}),
    Bad("index 1.5", r"--index: must be a whole number, got '1\.5'", "froc", options={"--index": "1.5"}),
    Bad("no index", r"required: --index", "froc", options={"--index": None}),
    Bad("no such upper group", r"upper must be a group of the data, got 'X'\. Name one of 'F', 'M'", "froc",
        options={"--upper": "X"}),
    Bad("no such pos-label", r"pos_label must be one of the labels", "audit fit froc", options={"--pos-label": "7"}),
    Bad("missing x", r"missing must be 'error' or 'group', got 'x'", "audit fit froc", options={"--missing": "x"}),
    Bad("format xml", r"--format: invalid choice: 'xml'", options={"--format": "xml"}),
    Bad("unknown option", r"unrecognized arguments: --fast", more=("--fast",)),
    # draws and keys
    Bad("neither id nor seed", r"give either --id .* or --seed", "transform", options={"--id": None}),
    Bad("both id and seed", r"give either --id .* or --seed", "transform", options={"--seed": "0"}),
    Bad("seed -1", r"must be an integer of 0 or more", "transform", options={"--id": None, "--seed": "-1"}),
    Bad("seed abc", r"--seed: must be a whole number, got 'abc'", "transform",
        options={"--id": None, "--seed": "abc"}),
    Bad("key and seed", r"--key-file goes with --id", "transform",
        options={"--id": None, "--seed": "0", "--key-file": "{folder}/key"}),
    Bad("wrong key", r"fitted with the key of fingerprint \w+, got one of", "transform",
        fit_key="another key of sixteen bytes", options={"--key-file": "{folder}/key"}),
    Bad("missing key", r"fitted with a key .*--key-file", "transform", fit_key=KEY),
    Bad("no key file", r"key file must exist", "fit transform", options={"--key-file": "{folder}/none"}),
    Bad("key for a model without one", r"fitted without a key, got one.*--key-file", "transform",
        options={"--key-file": "{folder}/key"}),
    Bad("empty key file", r"key file .* must hold at least 16 random bytes, got 0", "fit transform",
        options={"--key-file": "{folder}/empty"}),
    Bad("no such group to treat as", r"on_unknown_group must name a group of the model, got 'Z'", "transform",
        options={"--on-unknown-group": "Z"}),
    # the model file
    Bad("truncated model", r"model file must be whole JSON.*truncated", "transform",
        model=lambda text: text[: len(text) // 2]),
    Bad("edited model", r"checksum does not match", "transform", model=digit_changed),
    Bad("model of a later version", r"version 7.*newer fairroc|newer fairroc.*version 7", "transform",
        model=of_version(7)),
    Bad("other JSON", r"must carry \"format\": \"fairroc-model\"", "transform", model=lambda text: '{"a": [1, 2]}'),
    Bad("JSON list", r"must carry \"format\": \"fairroc-model\"", "transform", model=lambda text: "[1, 2]"),
    Bad("empty model", r"model file must be whole JSON", "transform", model=lambda text: ""),
    Bad("no model file", r"no model file '.*none\.json'", "transform", options={"--model": "{folder}/none.json"}),
    Bad("folder as model", r"cannot read the model file", "transform", options={"--model": "{folder}"}),
    # the output
    Bad("no output folder", r"there is no folder '.*nowhere'", "fit", options={"-o": "{folder}/nowhere/out.json"}),
    Bad("no output folder", r"there is no folder '.*nowhere'", "transform", options={"-o": "{folder}/nowhere/out.csv"}),
    Bad("unknown output suffix", r"must end in one of \.json, got '.*out\.txt'", "fit",
        options={"-o": "{folder}/out.txt"}),
    Bad("unknown output suffix", r"must end in one of \.csv", "transform", options={"-o": "{folder}/out.xlsx"}),
    Bad("unknown output suffix", r"must end in one of \.png, \.pdf, \.svg, got '.*out\.txt'", "froc",
        options={"-o": "{folder}/out.txt"}),
    Bad("no output", r"required: -o/--output", "fit transform froc", options={"-o": None}),
    Bad("target column is there", r"already has a column 'w'; name another with --column", "transform",
        options={"--column": "w"}),
    Bad("default target column is there", r"already has a column 'p_fair'", "transform",
        lambda rows: [{**row, "p_fair": "0"} for row in rows]),
]  # fmt: skip

USUAL: dict[str, dict[str, str | None]] = {
    "audit": {"--score": "p", "--label": "y", "--group": "sex"},
    "fit": {"--score": "p", "--label": "y", "--group": "sex", "--epsilon": "0.05", "-o": "{folder}/out.json"},
    "froc": {
        "--score": "p",
        "--label": "y",
        "--group": "sex",
        "--epsilon": "0.05",
        "--index": "50",
        "-o": "{folder}/out.png",
    },
    "transform": {
        "--score": "p",
        "--group": "sex",
        "--id": "id",
        "--model": "{folder}/m.json",
        "-o": "{folder}/out.csv",
    },
}


def prepare(folder: Path, bad: Bad, command: str, model: Path) -> list[str]:
    """Write all files of a run and give its arguments."""
    if bad.content is not None:
        (folder / bad.data).write_text(bad.content)
    elif bad.data == "d.csv":
        write(folder, bad.rows(PEOPLE))
    (folder / "key").write_text(KEY)
    (folder / "empty").touch()
    source = model
    if bad.fit_key is not None:
        (folder / "fit_key").write_text(bad.fit_key)
        source = model_file(folder, "--key-file", folder / "fit_key")
    (folder / "m.json").write_text(bad.model(source.read_text(encoding="utf-8")))
    options = {**USUAL[command], **bad.options}
    pairs = [(name, value.format(folder=folder)) for name, value in options.items() if value is not None]
    return [command, str(folder / bad.data), *(word for pair in pairs for word in pair), *bad.more]


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("command", USUAL)
def test_the_usual_run_is_not_refused(tmp_path: Path, run: Run, model: Path, command: str) -> None:
    """What the table of bad input changes one thing of."""
    assert run(*prepare(tmp_path, Bad("nothing", ""), command, model)).code == 0


@pytest.mark.parametrize(
    ("bad", "command"),
    [pytest.param(bad, command, id=f"{command}-{bad.name}") for bad in BAD for command in bad.commands.split()],
)
def test_bad_input(tmp_path: Path, run: Run, model: Path, bad: Bad, command: str) -> None:
    """Exit 2, one line of words, and no file made or changed."""
    arguments = prepare(tmp_path, bad, command, model)
    for old in (None, "old content"):
        if old is not None:
            for name in ("out.json", "out.csv", "out.txt", "out.xlsx", "out.png"):
                (tmp_path / name).write_text(old)
        before = files_in(tmp_path)
        ran = run(*arguments)
        assert ran.code == 2
        assert ran.out == ""
        assert ran.err.endswith("\n") and len(ran.err.splitlines()) == 1, ran.err
        assert ran.err.startswith(f"fairroc {command}: ") or ran.err.startswith("fairroc: ")
        assert re.search(bad.words, ran.err), ran.err
        assert not re.search(r"Traceback|usage:|Error:", ran.err)
        assert files_in(tmp_path) == before


def test_no_command_and_unknown_command(run: Run) -> None:
    for arguments, words in (((), "required: COMMAND"), (("fitt",), "invalid choice: 'fitt'")):
        ran = run(*arguments)
        ran.refused(words)
        assert ran.err.startswith("fairroc: ")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 2, "fairroc audit: not enough memory for this file.\n"),
        (KeyboardInterrupt(), 130, "stopped.\n"),
    ],
)
def test_no_memory_and_interruption(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("fairroc.tables.read.read_table", fail)
    assert run("audit", write(tmp_path), *ROLES) == Ran(code, "", words)


# ---- true processes ------------------------------------------------------------------------------------------


def test_help_loads_nothing_that_takes_long() -> None:
    """Of any command, the studies' included: not even numpy."""
    code = (
        "import contextlib, io, sys; from fairroc.cli.main import COMMANDS, main\n"
        "names = [command.__name__.rpartition('.')[2] for command in COMMANDS]\n"
        "for words in ([], *([name] for name in names)):\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main([*words, '--help'])\n"
        "print(len(names), sorted({'numpy', 'narwhals', 'pandas', 'pyarrow', 'scipy', 'sklearn'} & set(sys.modules)))"
    )
    done = shell(sys.executable, "-c", code)
    assert (done.returncode, done.stdout.strip()) == (0, f"{len(COMMANDS)} []")


def test_python_m_help() -> None:
    done = shell(sys.executable, "-m", "fairroc", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("audit", "fit", "transform", "froc", "demo", "CSV"):
        assert word in done.stdout


@pytest.mark.parametrize("command", ["audit", "fit", "transform", "froc"])
def test_help_of_every_command_names_its_options(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    for option in ("--score", "--group", "--format", *USUAL[command]):
        assert option in ran.out


def test_version_of_the_installed_script() -> None:
    script = Path(sysconfig.get_path("scripts")) / ("fairroc.exe" if os.name == "nt" else "fairroc")
    done = shell(script, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"fairroc {__version__}\n", "")


def test_json_alone_on_standard_output(tmp_path: Path) -> None:
    """Few rows: the warning goes to standard error, in one line, and the exit code is the audit's."""
    few = [
        row for sex in "FM" for label in "01" for row in [r for r in PEOPLE if (r["sex"], r["y"]) == (sex, label)][:9]
    ]
    options = ("--epsilon", 0, "--format", "json")
    done = shell(sys.executable, "-m", "fairroc", "audit", write(tmp_path, few), *ROLES, *options)
    assert done.returncode == 1
    assert json.loads(done.stdout)["rows"] == 36
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("warning: group 'F' has 9 rows with label 0")


def test_error_of_a_true_process(tmp_path: Path) -> None:
    done = shell(sys.executable, "-m", "fairroc", "audit", tmp_path / "none.csv", *ROLES)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fairroc audit: there is no file '{tmp_path / 'none.csv'}'; check the path.\n"


@pytest.mark.parametrize("form", ["text", "json"])
def test_names_beyond_the_output_s_encoding(tmp_path: Path, form: str) -> None:
    names = {"F": "Frauen é 👩", "M": "M" * 40}
    data = write(tmp_path, [{**row, "sex": names[row["sex"]]} for row in PEOPLE])
    command = (sys.executable, "-m", "fairroc", "audit", data, *ROLES, "--format", form, "--quiet")
    done = shell(*command, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    if form == "json":
        assert [group["group"] for group in json.loads(done.stdout)["groups"]] == list(names.values())
    else:
        assert r"Frauen \u00e9 \ud83d\udc69" in done.stdout


def test_an_error_nobody_foresaw_is_one_line_and_exit_2(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 is kept for audits that found a gap."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("something\nodd")

    monkeypatch.setattr("fairroc.auditing.audit.audit_people", fail)
    ran = run("audit", write(tmp_path), *ROLES)
    assert ran.code == 2
    assert ran.err.startswith("fairroc audit: unexpected RuntimeError (something odd); please report it")
    assert ran.err.count("\n") == 1
    monkeypatch.setenv("FAIRROC_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        run("audit", write(tmp_path), *ROLES)


@pytest.mark.parametrize("epsilon", [2, 0.001])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_changes_no_exit_code(tmp_path: Path, epsilon: float, unbuffered: str) -> None:
    """`fairroc audit ... | head -0`: no traceback, and the exit code of the verdict."""
    command = [
        sys.executable,
        "-m",
        "fairroc",
        "audit",
        str(write(tmp_path)),
        *ROLES,
        "--quiet",
        "--epsilon",
        str(epsilon),
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as ran:
        assert ran.stdout is not None and ran.stderr is not None
        ran.stdout.close()
        words = ran.stderr.read()
    assert (ran.returncode, words) == (int(epsilon < 1), "")


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the outputs")
@pytest.mark.parametrize("closed", [">&-", "2>&- >out", ">&- 2>&-"])
def test_a_closed_output(tmp_path: Path, closed: str) -> None:
    """Nobody can get the result: said before any work. Where only words are lost, the command runs."""
    command = [sys.executable, "-m", "fairroc", "fit", str(write(tmp_path)), *map(str, ROLES), "--epsilon", "1"]
    line = f"{shlex.join([*command, '-o', str(tmp_path / 'm.json')])} {closed}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path)
    runs = closed.startswith("2")
    said = "fairroc fit: the standard output is closed; send it somewhere, such as > /dev/null.\n"
    assert (done.returncode, done.stderr) == ((0, "") if runs else (2, said if closed == ">&-" else ""))
    assert (tmp_path / "m.json").exists() == runs and (
        not runs or "AUC" in (tmp_path / "out").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("command", ["fit", "transform", "frontier", "sql", "onnx", "report", "froc"])
def test_an_output_whose_links_lead_to_themselves(tmp_path: Path, model: Path, run: Run, command: str) -> None:
    ending = {"fit": ".json", "sql": ".sql", "onnx": ".onnx", "report": ".html", "froc": ".png"}.get(command, ".csv")
    loop, data = tmp_path / f"loop{ending}", write(tmp_path)
    loop.symlink_to(loop.name)
    how: dict[str, list[object]] = {
        "fit": [data, *ROLES, "--epsilon", 1],
        "transform": [data, *NEW, "--model", model, "--id", "id"],
        "frontier": [data, *ROLES],
        "sql": [*NEW, "--model", model, "--id", "id", "--dialect", "duckdb"],
        "onnx": [*NEW, "--model", model],
        "report": [data, *ROLES],
        "froc": [data, *ROLES, "--epsilon", 0.1, "--index", 3],
    }
    ran = run(command, *how[command], "-o", loop)
    assert (ran.code, ran.out) == (2, "") and loop.is_symlink()
    said = f"cannot write '{loop}': it is a link that leads back to itself; name another."
    assert ran.err == f"fairroc {command}: {said}\n"


def test_a_long_name_of_an_output(tmp_path: Path, run: Run) -> None:
    """One so long that no more letters fit: neither do those of a temporary name beside it."""
    stem, data = "é" * 120, write(tmp_path)
    fitted, out = tmp_path / f"{stem}.json", tmp_path / f"{stem}.csv"
    assert run("fit", data, *ROLES, "--epsilon", 0.1, "-o", fitted).code == 0
    assert run("transform", data, *NEW, "--model", fitted, "--id", "id", "-o", out).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {data.name, fitted.name, out.name}


@pytest.mark.parametrize("spelling", ["same", "absolute", "link", "hard link"])
@pytest.mark.parametrize("command", ["transform", "transform --stream", "transform pattern", "frontier"])
def test_no_command_writes_over_what_it_reads(
    tmp_path: Path, model: Path, run: Run, command: str, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the output calls the file: it is left as it was, byte for byte."""
    data = write(tmp_path)
    monkeypatch.chdir(data.parent)
    name, *more = command.split()
    target = {"same": data.name, "absolute": str(data.resolve())}.get(spelling, "link.csv")
    if spelling == "link":
        Path(target).symlink_to(data.name)
    elif spelling == "hard link":
        Path(target).hardlink_to(data.name)
    before = data.read_bytes()
    how = [*NEW, "--model", model, "--seed", 0] if name == "transform" else [*ROLES, "--epsilons", "0.1"]
    source = "[d].csv" if more == ["pattern"] else data.name
    ran = run(name, source, *how, *(more if more == ["--stream"] else ()), "-o", target)
    assert (ran.code, ran.out) == (2, "") and f"the output '{target}' is one of the files that are read" in ran.err
    assert data.read_bytes() == before and {path.name for path in tmp_path.iterdir()} <= {data.name, "link.csv"}


def test_no_command_writes_over_its_key_or_model(tmp_path: Path, model: Path, run: Run) -> None:
    data, key = write(tmp_path), tmp_path / "key.json"
    key.write_text(KEY)
    ran = run("fit", data, *ROLES, "--epsilon", 0.1, "--key-file", key, "-o", key)
    assert ran.code == 2 and "is one of the files that are read" in ran.err and key.read_text(encoding="utf-8") == KEY
    copy = tmp_path / "model.csv"
    copy.write_bytes(model.read_bytes())
    ran = run("transform", data, *NEW, "--model", copy, "--id", "id", "-o", copy)
    assert ran.code == 2 and copy.read_bytes() == model.read_bytes()
