"""The commands frontier, threshold and explain: output, exit codes, and no file where nothing could be done."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from test_cli import FIT, KEY, PEOPLE, ROLES, Run, model, model_file, run, write

from fairroc import DataError, FairModel, choose_threshold
from fairroc.cli.main import _parser
from fairroc.cli.next_step import recommended
from fairroc.text.frontier import frontier_text, recommended_words
from fairroc.text.people import epsilon_words
from fitted_people import frontier

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
    ran = run("frontier", write(tmp_path), *FIT, "--epsilons", "0.1, 0,1.5", "-o", out)
    assert ran.code == 0
    assert "AUC at best" in ran.out and "raw order" not in ran.out
    fit = f"fairroc fit {shlex.quote(str(tmp_path / 'd.csv'))} --score p --label y --group sex --epsilon"
    assert ran.err == f"frontier written to {out}\n"
    assert re.fullmatch(
        rf"fit at the recommended epsilon:\n  {re.escape(fit)} [\d.]+ --promise fitted -o model.json\n", ran.step
    )
    assert (
        "raw order is kept where that is better"
        in run("frontier", write(tmp_path), *FIT, "--epsilons", 0, "--verbose").out
    )
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    expected = frontier(SCORES, LABELS, sensitive_features=SEX, epsilons=[0, 0.1, 1.5]).to_columns()
    assert list(rows[0]) == [*expected, "recommended", "meaning"]
    assert [row["recommended"] for row in rows].count("true") == 1
    assert [row["meaning"].split(":")[0] for row in rows] == ["Epsilon 0", "Epsilon 0.1", "Epsilon 1.5"]
    for name in ("epsilon", "auc", "auc_bound", "gap", "accuracy", "disparate_impact", "auc[F]", "auc[M]"):
        assert [float(row[name]) for row in rows] == pytest.approx(expected[name], abs=1e-12)


def test_frontier_json_needs_no_file(tmp_path: Path, run: Run) -> None:
    ran = run("frontier", write(tmp_path), *FIT, "--norm", "inf", "--epsilons", "0.02", "--format", "json")
    expected = frontier(SCORES, LABELS, sensitive_features=SEX, epsilons=0.02, norm="inf")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == json.loads(json.dumps(expected.to_dict()))


def test_frontier_options(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "f.parquet"
    ran = run("frontier", wild(tmp_path), *ROLES, "--no-bound", "--draw", "few", "--weight", "w", "-o", out)
    assert ran.code == 0
    table = pyarrow.parquet.read_table(out)
    assert table.num_rows == 21
    assert table.column("auc_bound").null_count == 21
    assert f"auc[{WILD['F']}]" in table.column_names
    again = run("frontier", wild(tmp_path), *ROLES, "--epsilons", "0.1", "-o", tmp_path / "g.csv")
    assert again.code == 0
    assert f"auc[{WILD['F']}]" in next(csv.reader(io.StringIO((tmp_path / "g.csv").read_text(encoding="utf-8"))))


def test_frontier_keeps_the_old_file_where_writing_fails(tmp_path: Path, run: Run, monkeypatch) -> None:
    out = tmp_path / "f.csv"
    out.write_text("old")
    monkeypatch.setattr(
        "fairroc.tables.write._write_csv_rows", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    ran = run("frontier", write(tmp_path), *ROLES, "--epsilons", "0.1", "-o", out)
    assert (ran.code, ran.out, out.read_text(encoding="utf-8")) == (2, "", "old")
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
    assert (text.code, text.err) == (0, "") and shlex.split(text.step)[-2:] == ["--threshold", repr(expected.threshold)]
    assert words in text.out
    assert "all people" in text.out
    assert ("cost per person" in text.out) == (expected.rule == "cost")
    assert repr(expected.threshold) in text.out


def test_threshold_of_scores_on_another_scale(tmp_path: Path, run: Run, model: Path) -> None:
    data = write(tmp_path, [{**row, "p": str(100 * float(row["p"]))} for row in PEOPLE])
    for stream in ((), ("--stream",)):
        command = ("threshold", data, *ROLES, "--model", model, "--recall", 0.5, *stream)
        run(*command).refused("--allow-out-of-range")
        allowed = run(*command, "--allow-out-of-range")
        assert allowed.code == 0 and "lie outside of the range of those fitted" in allowed.err


def test_threshold_takes_missing_groups_as_the_model_does(tmp_path: Path, run: Run) -> None:
    data = write(tmp_path, [{**row, "sex": row["sex"] if i % 4 else ""} for i, row in enumerate(PEOPLE)])
    model = model_file(tmp_path, "--missing", "group", data=data)
    found = run("threshold", data, *ROLES, "--model", model, "--recall", 0.5, "--format", "json").json
    assert [group["group"] for group in found["groups"]] == ["(missing)", "F", "M"]


# ---- explain -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["-1e-05", "-2.5E3", "-.5", "-7."])
def test_a_negative_number_is_no_option(run: Run, model: Path, score: str) -> None:
    ran = run("explain", "--model", model, "--score", score, "--group", "F", "--threshold", score)
    assert ran.code == 0 and f"{float(score):.6g}" in ran.out


def test_explain_in_words_and_as_data(run: Run, model: Path) -> None:
    asked = ("explain", "--model", model, "--score", 0.73, "--group", "F", "--threshold", 0.6, "--id", 1042)
    expected = FairModel.load(model).explain(0.73, "F", threshold=0.6, id=1042)
    ran = run(*asked)
    assert (ran.code, ran.out, ran.err) == (0, expected.text + "\n", "")
    flagged = run(*asked, "--positive-means", "flagged").out
    assert (
        flagged
        == FairModel.load(model).explain(0.73, "F", threshold=0.6, id=1042, positive_means="flagged").text + "\n"
    )
    assert "flagged" in flagged and "selected" not in flagged and "selected" in ran.out
    assert run(*asked, "--format", "json").json == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.parametrize("one", ["1007", "n0042", "007", "-5", "it's 🙂"])
def test_explain_draws_as_transform_does(tmp_path: Path, run: Run, model: Path, one: str) -> None:
    """The id is read as in a CSV file."""
    data, out = write(tmp_path, [{**PEOPLE[0], "id": one}]), tmp_path / "o.csv"
    assert run("transform", data, "--model", model, "--score", "p", "--group", "sex", "--id", "id", "-o", out).code == 0
    fair = float(next(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))["p_fair"])
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
    run(*person, "--id", "x").refused("--key-file")


def test_explain_several_columns_and_a_missing_group(tmp_path: Path, run: Run) -> None:
    data = write(tmp_path, [{**row, "sex": row["sex"] if i % 4 else ""} for i, row in enumerate(PEOPLE)])
    model = model_file(tmp_path, "--group", "race", "--missing", "group", data=data)
    ran = run("explain", "--model", model, "--score", 0.5, "--group", "", "--group", "x")
    assert ran.code == 0
    assert "group '(missing) & x'" in ran.out


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("frontier", ("--epsilons", "0,3"), "epsilon must be between 0 and 2"),
        ("frontier", ("--epsilons", "0,x"), "must be a number, got 'x'"),
        ("frontier", ("--norm", "2"), "norm must be 1 or 'inf'"),
        ("frontier", ("--draw", "toss"), "draw must be"),
        ("frontier", ("--group", "nowhere"), "no column 'nowhere'"),
        ("frontier", ("--label", "sex"), "y"),
        ("threshold", (), "exactly one aim"),
        ("threshold", ("--recall", 0.5, "--precision", 0.5), "exactly one aim"),
        ("threshold", ("--cost-fp", 1), "give both cost_fp and cost_fn"),
        ("threshold", ("--recall", 2), "recall must lie above 0"),
        ("threshold", ("--recall", "most"), "must be a number, got 'most'"),
        ("threshold", ("--precision", 1), "a precision of 1 cannot be had: the highest"),
        ("threshold", ("--recall", 0.5, "--group", "race"), "the model knows the groups 'F', 'M'"),
        (
            "explain",
            ("--score", 0.5, "--group", "Q"),
            "the model knows the groups 'F', 'M', but 1 of 1 rows are of 'Q'",
        ),
        ("explain", ("--score", "x", "--group", "F"), "must be a number, got 'x'"),
        ("explain", ("--score", "nan", "--group", "F"), "scores must not be missing"),
        ("explain", ("--score", 0.5, "--group", "F", "--key-file", "k"), "--key-file goes with --id"),
        ("explain", ("--score", 0.5, "--group", "F", "--id", ""), "--id must not be empty"),
        ("explain", ("--score", 0.5, "--group", "F", "--id", "7.0"), "ids must be whole numbers or text"),
        ("explain", ("--score", 0.5), "--group"),
    ],
)
def test_what_cannot_run_leaves_no_file(
    tmp_path: Path, run: Run, model: Path, command: str, options, words: str
) -> None:
    data, out = write(tmp_path), tmp_path / "f.csv"
    how = {"frontier": (data, *ROLES, "-o", out), "threshold": (data, *ROLES, "--model", model)}
    run(command, *how.get(command, ("--model", model)), *options).refused(words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv"]


# ---- what comes next, and how it is said ----------------------------------------------------------------------


def words_of(step: str, **known: str) -> list[str]:
    """The command that was proposed, with what only a user knows put in."""
    _, line = step.rstrip("\n").split("\n  ")
    program, *words = shlex.split(line)
    assert program == "fairroc"
    return [known.get(word.removesuffix(".csv"), word) for word in words]


def test_every_next_step_can_be_pasted(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """From command to command, each as the one before it proposed it, with file and columns that need quotes."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"my score": row["p"], "it's true": row["y"], **{k: row[k] for k in ("id", "sex", "race")}} for row in PEOPLE
    ]
    write(tmp_path, rows, "new people.csv")
    known = {"ID": "id", "LABEL": "it's true", "NEW": "new people.csv", "SCORE": "0.5", "GROUP": "F"}
    roles = ("--score", "my score", "--label", "it's true", "--group", "sex")
    step, done = ["audit", "new people.csv", *roles], []
    for follows in ("frontier", "fit", "transform", "audit", "frontier"):
        ran = run(*step)
        assert ran.code == 0 and ran.step, (step, ran.err)
        done.append(step[0])
        step = words_of(ran.step, **known)
        assert step[0] == follows
    assert step[step.index("--score") + 1] == "my score_fair"
    for begin, *chain in (
        (["audit", "new people.csv", *roles, "--epsilon", 0.01], "fit"),
        (["audit", "new people.csv", *roles, "--epsilon", 1.9, "--norm", "1"], "report"),
        (
            [
                "audit",
                "new people.csv",
                *roles,
                "--ratio",
                0.9,
                "--constraint",
                "equal_opportunity",
                "--where",
                "0:0.5",
            ],
            "fit",
        ),
        (
            ["threshold", "new people.csv", *roles, "--model", "model.json", "--recall", 0.5],
            "explain",
            "explain",
            "monitor",
        ),
        (["monitor", "new people.csv", *roles, "--model", "model.json"], "monitor"),
        (["verify", "model.json", "new people.csv", *roles], "transform"),
        (["sql", "--model", "model.json", *roles[:2], *roles[4:], "--dialect", "duckdb", "--id", "id"], "monitor"),
        (["onnx", "--model", "model.json", *roles[:2], *roles[4:], "-o", "model.onnx"], "monitor"),
    ):
        step = begin
        for follows in chain:
            ran = run(*step)
            assert ran.code in (0, 1) and ran.step, (step, ran.err)
            step = words_of(ran.step, **known)
            assert step[0] == follows
            assert _parser().parse_args(step).command == follows
        done.append(begin[0])
    assert {*done} >= {"audit", "fit", "frontier", "transform", "threshold", "monitor", "verify", "sql", "onnx"}


def test_next_steps_ask_for_the_same(tmp_path: Path, run: Run) -> None:
    data, path = write(tmp_path), tmp_path / "m.json"
    asked = ["--constraint", "equal_opportunity", "--draw", "never", "--where", "0:0.5", "--promise", "fitted"]
    assert run("fit", data, *ROLES, "--epsilon", 0.5, *asked, "-o", path).code == 0
    moved = write(tmp_path, [{**row, "p": float(row["p"]) ** 3} for row in PEOPLE], "moved.csv")
    ran = run("monitor", moved, *ROLES, "--model", path)
    assert ran.code == 1 and " ".join(words_of(ran.step)[-11:-2]) == f"0.5 {' '.join(asked)}"
    other = ("--on-unknown-group", "F", "--positive-means", "let in")
    ran = run("explain", "--model", path, "--score", 0.5, "--group", "X", *other)
    assert ran.code == 0 and words_of(ran.step)[-6:-2] == [*other]


def test_quiet_and_json_propose_nothing(tmp_path: Path, run: Run) -> None:
    data = write(tmp_path)
    assert run("audit", data, *ROLES).step
    assert not run("audit", data, *ROLES, "--quiet").step and not run("audit", data, *ROLES, "--format", "json").step


def test_a_warning_is_one_line_and_says_more_to_who_asks(tmp_path: Path, run: Run) -> None:
    fit = ("fit", write(tmp_path), *FIT, "--epsilon", 0, "-o", tmp_path / "m.json")
    first, second = run(*fit).err.splitlines()
    assert first.startswith("warning: A draw decides for ") and first.endswith(" (--verbose says more)")
    assert second.startswith("model written")
    first, detail, _ = run(*fit, "--verbose").err.splitlines()
    assert first.startswith("warning: A draw decides for ") and "--verbose" not in first
    assert detail == "  Without a draw neighbouring scores share one fair score where epsilon asks for it."


@pytest.mark.parametrize("command", ["audit", "frontier", "fit"])
def test_the_user_s_word(tmp_path: Path, run: Run, command: str) -> None:
    more = {"fit": ("--epsilon", 0.1, "-o", tmp_path / "m.json"), "frontier": ("--epsilons", "0.1")}.get(command, ())
    asked = (command, write(tmp_path), *ROLES, *more)
    plain, own = run(*asked).out, run(*asked, "--positive-means", "let in").out
    assert "selected" in plain and "accepted" not in plain
    assert "let in" in own and "selected" not in own
    run(*asked, "--positive-means", "<b>").refused("must be one to three plain words")


def test_a_frontier_recommends_a_row_that_new_people_keep() -> None:
    found = frontier(SCORES, LABELS, sensitive_features=SEX, epsilons=[0, 0.05, 0.1, 0.2, 1])
    chosen, text = found.recommended, frontier_text(found)
    point = found.points[chosen.index]
    assert found.to_dict()["recommended"]["epsilon"] == point.epsilon == chosen.epsilon
    assert next(line for line in text.splitlines() if line.startswith("*")).split()[1] == f"{point.epsilon:g}"
    assert f"Recommended (*): epsilon {point.epsilon:g}. " in text
    assert epsilon_words(found.fairness, point.epsilon) in text
    held = [p for p in found.points if p.gap_estimate <= p.epsilon]
    assert 0 < len(held) < len(found.points)
    for limit in (0.0, 0.005, 0.02, 0.5):
        chosen = found.recommend(limit)
        best = found.points[chosen.index]
        cost = {p: found.before.auc_estimate - p.auc_estimate + 0.05 * p.randomised_share for p in held}
        within = [p for p in held if cost[p] <= limit]
        assert best in held and chosen.reason in ("budget", "unchanged")  # the last row's score is the original one
        assert best.gap_estimate == min(p.gap_estimate for p in within)
    with pytest.raises(DataError, match="auc_cost must be a number of at least 0"):
        found.recommend(-1)


def test_why_a_row_is_recommended_and_that_none_is() -> None:
    found = frontier(SCORES, LABELS, sensitive_features=SEX, epsilons=[0.05, 0.1, 2], promise="fitted", draw="all")
    point = replace(found.points[0], gap_estimate=0.04, auc_estimate=found.before.auc_estimate)
    kept = replace(found, points=(point,))
    assert kept.recommended.reason == "cheapest"  # for the draws' sake
    words = recommended_words(kept)
    assert "Every row that is expected to be kept costs more than 0.01 of AUC, draws included" in words
    free = replace(point, randomised_share=0.0, groups=tuple(replace(g, randomised_share=0.0) for g in point.groups))
    cheap = recommended_words(replace(found, points=(free,)))
    assert "Of all rows that are expected to be kept and cost at most 0.01 of AUC (" in cheap and "0.040 among" in cheap
    same = recommended_words(replace(found, points=found.points[2:]))
    kept = "The original score is expected to keep it among new people, and no row does better within budget."
    assert same == f"Recommended: epsilon 2. {kept}"
    missed = replace(found, points=(replace(point, gap_estimate=0.0712),))
    assert missed.recommended is None and missed.to_dict()["recommended"] is None and recommended(missed) == []
    assert (
        "No row is recommended: none is expected to be kept among new people. Take more rows, or a larger epsilon: "
        "0.072." in frontier_text(missed)
    )
    ends = (replace(found.points[2], epsilon=0.123449999, gap_estimate=0.1), replace(point, epsilon=0.123449999))
    assert [recommended(replace(found, points=(end,)))[1] for end in ends] == ["0.123449999", "0.1234"]


def test_a_frontier_for_new_people_says_whose_auc_at_best_is() -> None:
    found = frontier(SCORES, LABELS, sensitive_features=SEX, epsilons=[0.2], draw="all")
    note, new = "AUC at best is that of scores that keep to epsilon on these rows", replace(found, promise="new")
    above = replace(found.points[0], auc=found.points[0].auc + 0.1)
    assert note not in frontier_text(new) and note in frontier_text(replace(new, points=(above,)))


def test_a_long_frontier_shows_both_ends() -> None:
    found = frontier(SCORES, LABELS, sensitive_features=SEX, epsilons=[0, 2], draw="all", bound=False)
    for count in (1, 2, 15, 16, 30, 45):
        points = tuple(replace(found.before, epsilon=i / 100) for i in range(count))
        lines = str(replace(found, points=points)).splitlines()
        shown = [line.split()[0] for line in lines[lines.index("") + 2 :]]
        rows = [word for word in shown if word != "and"]
        assert rows[0] == "0" and rows[-1] == f"{(count - 1) / 100:g}" and min(count, 8) <= len(rows) <= 15
        assert (shown[-1] == "and") == (count > 15)
