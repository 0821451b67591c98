"""The benchmark harness itself: data, measurement, report. Nothing here looks at a clock, a network or a peer."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairroc_studies.harness import people as data
from fairroc_studies.harness import tables
from fairroc_studies.harness.curve import Curve
from fairroc_studies.harness.store import Store
from fairroc_studies.peers import child, children
from fairroc_studies.peers.catalogue import DRAW, NAIVE, ORDER, PEERS, ROC_CURVE, SEARCH, THOUSAND, of_quality, of_speed
from fairroc_studies.peers.child import measure
from fairroc_studies.peers.children import Answer, run_tasks
from fairroc_studies.peers.runners.fairroc import Loaded, Post, thousand_blocks
from fairroc_studies.peers.runners.reference import NaiveTransform
from fairroc_studies.problems.scores import synthetic_file, three_parts, two_groups
from fairroc_studies.problems.synthetic import synthetic
from fairroc_studies.speed import bench, report, speed
from fairroc_studies.speed.bench import main
from fairroc_studies.speed.report import goals, start_goals
from fairroc_studies.speed.speed import MODELS, SOURCES

MB = 10**6
META = {
    "command": "python -m fairroc_studies bench",
    "date": "1 May 2030",
    "machine": "a machine",
    "versions": {"Python": "3.11"},
}
META |= {"source": "0123456789", "changed": False}


def cost(cpu: float, memory: float = 0.0) -> dict[str, Any]:
    return {"cpu": cpu, "first": 2 * cpu, "memory": memory, "calls": 1, "input": 10 * MB, "output": 0}


def records(fit: dict[str, float], predict: dict[str, float], rows: int = 1000, memory: float = MB) -> list[dict]:
    """Records of a speed run, from CPU seconds by title."""
    made = []
    for title in dict.fromkeys((*fit, *predict)):
        parts = {"fit": cost(fit[title], memory)} if title in fit else {}
        parts |= {"predict": cost(predict[title], memory)} if title in predict else {}
        made.append({"rows": rows, "title": title, "timed": list(parts), "rounds": 2, **parts})
    return made


FIT = {ROC_CURVE.title: 3.0, ORDER.title: 1.5, DRAW.title: 1.0}
PREDICT = {SEARCH.title: 1.0, NAIVE.title: 4.0, THOUSAND.title: 0.4, ORDER.title: 0.5}
STARTUP = {"bare": 0.02, "import": 0.1, "help": 0.3}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that the harness writes goes here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


# -- data --------------------------------------------------------------------------------------------------------------


def test_synthetic_data_are_seeded() -> None:
    first, again, other = (synthetic(500, groups=3, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(getattr(first, name), getattr(again, name)) for name in ("scores", "labels", "groups"))
    assert not np.array_equal(first.scores, other.scores)


@pytest.mark.parametrize(("distinct", "most"), [(10, 10), (100, 100), (None, 5000)])
def test_synthetic_data_have_the_groups_and_scores_asked_for(distinct: int | None, most: int) -> None:
    part = synthetic(5000, groups=4, distinct=distinct)
    assert set(part.groups) == {0, 1, 2, 3}
    assert part.totals.min() > 0 and part.totals.sum() == 5000
    assert part.scores.min() > 0 and part.scores.max() < 1
    assert most * 0.8 <= len(np.unique(part.scores)) <= most


def test_a_cached_file_gives_the_same_people_back(folder: Path) -> None:
    path = synthetic_file(300)
    case, made = data.load(path), synthetic(300)
    assert path.is_relative_to(folder) and not list(folder.rglob("*partial*"))
    assert np.array_equal(case.test.scores, made.scores) and case.test is case.calibration


def test_two_parts_are_kept_apart(tmp_path: Path) -> None:
    case = data.Case(synthetic(50), synthetic(40))
    data.save(tmp_path / "case.npz", case)
    assert len(data.load(tmp_path / "case.npz").test.scores) == 40


def test_the_three_parts_are_seeded_and_share_nobody() -> None:
    parts = three_parts(6172, 3)
    assert [len(part) for part in parts] == [4320, 926, 926]
    assert len(np.unique(np.concatenate(parts))) == 6172
    assert all(np.array_equal(*pair) for pair in zip(parts, three_parts(6172, 3), strict=True))


def test_an_unknown_data_set_is_refused() -> None:
    with pytest.raises(ValueError, match=r"data must be 'adult' or 'compas', got 'nothing'"):
        two_groups("nothing")


# -- measuring ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
def test_measured_memory_is_that_of_the_call() -> None:
    def call() -> int:
        return int(np.ones(50 * MB, dtype=np.uint8).sum(dtype=np.int64))

    result, spent = measure(call)
    assert result == 50 * MB
    assert 45 * MB < spent.memory < 75 * MB
    _, nothing = measure(lambda: None)
    assert nothing.memory < 5 * MB


def test_calls_are_repeated_within_the_budget_alone() -> None:
    counted: list[int] = []
    _, spent = measure(lambda: counted.append(1), budget=1e9, most=4)
    assert len(counted) == spent.calls == 4
    _, spent = measure(lambda: counted.append(1))
    assert len(counted) == 5 and spent.calls == 1


def test_the_first_call_is_told_apart_from_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([(7.0, "a"), (2.0, "b"), (3.0, "c")])
    monkeypatch.setattr("fairroc_studies.peers.child._timed", lambda call: next(told))
    _, spent = measure(lambda: None, budget=1.0)
    assert (spent.first, spent.cpu, spent.calls) == (7.0, 2.0, 2)


def test_best_takes_the_least_time_and_the_largest_memory() -> None:
    found = speed.best([Answer({"fit": cost(2.0, 5)}), Answer({"fit": cost(1.0, 7)})])
    assert (found["fit"]["cpu"], found["fit"]["memory"], found["rounds"]) == (1.0, 7, 2)
    assert speed.best([Answer({"fit": cost(2.0)}), Answer({"error": "why"})]) == {"error": "why"}


def test_the_naive_transform_is_the_transform() -> None:
    part, model = synthetic(3000), thousand_blocks(60)
    naive = NaiveTransform(model)
    fair = model.transform(part.scores, sensitive_features=part.groups, ids=np.arange(3000))
    np.testing.assert_allclose(naive.predict(naive.inputs(part)), fair, atol=1e-9)
    assert [len(kernel.thresholds) for kernel in model.kernels] == [60, 60]


def test_a_child_measures_cost_curve_and_decision(folder: Path) -> None:
    path = str(synthetic_file(3000))
    asked = {"method": "Post", "options": {"epsilon": 0.05, "points": 50}, "data": path}
    tasks = [asked | {"ask": ask, "budget": 0.0} for ask in ("cost", "curve", "decision")] + [
        asked | {"ask": "curve", "method": "No"}
    ]
    found, curve, decision, wrong = run_tasks("fairroc", tasks, timeout=300)
    assert found.figures["fit"]["input"] == 10 * 3000 and found.figures["predict"]["output"] == 8 * 3000
    totals = curve.arrays["totals"]
    assert Curve.of(curve.arrays["accepted"], totals).gap <= 0.05 + 1e-9
    assert Curve.of(curve.arrays["accepted"], totals).auc > 0.7
    assert len(decision.arrays["rates"]) == 3000
    assert Curve.of(decision.arrays["accepted"], totals).accuracy[0] > 0.65
    assert "AttributeError" in (wrong.error or "")


def test_a_child_that_dies_answers_every_task() -> None:
    answers = run_tasks("no-such-runner", [{}, {}], timeout=60)
    assert ["ModuleNotFoundError" in (answer.error or "") for answer in answers] == [True, True]


def test_an_environment_that_cannot_be_made_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_failure", lambda library: "no matching distribution")
    children.python_of.cache_clear()
    (answer,) = run_tasks("fairlearn", [{}], timeout=1)
    children.python_of.cache_clear()
    assert answer.error == "not available: no matching distribution"


def test_sums_are_by_group_and_label() -> None:
    part = data.Part(np.zeros(4), np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]))
    assert part.summed(np.array([0.5, 1.0, 0.25, 0.0])).tolist() == [0.5, 1.0, 0.0, 0.25]


def test_gap_auc_and_accuracy_by_hand() -> None:
    totals = np.array([10, 10, 20, 20])
    accepted = np.array([[1.0, 5.0, 2.0, 10.0], [2.0, 8.0, 6.0, 14.0]])
    assert Curve.of(accepted, totals).gap == pytest.approx(0.2)
    points = [(0, 0), (0.1, 0.5), (8 / 30, 22 / 30), (1, 1)]
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
    assert Curve.of(accepted[::-1], totals).auc == pytest.approx(area)
    found = Curve.of(accepted[0], totals)
    assert (found.accuracy[0], found.balanced[0]) == pytest.approx(((27 + 15) / 60, (0.9 + 0.5) / 2))


def test_three_groups_are_compared_in_pairs() -> None:
    accepted, totals = np.array([[0.0, 5.0, 1.0, 6.0, 4.0, 9.0]]), np.full(6, 10)
    assert Curve.of(accepted, totals).gap == pytest.approx(0.8)


def test_every_entry_has_a_runner_that_can_do_what_it_says() -> None:
    runners = Path(child.__file__).parent / "runners"
    for entry in PEERS:
        assert f"class {entry.method}" in (runners / f"{entry.library.replace('-', '_')}.py").read_text(
            encoding="utf-8"
        )
    assert {entry.library for entry in PEERS} | {"equipy"} == set(children.PINS)
    assert all(hasattr(kind, "predict") for kind in (Post, Loaded, NaiveTransform))
    assert not any(entry.peer for entry in [*of_quality("curve", ()), *of_speed(())])


# -- report ------------------------------------------------------------------------------------------------------------


def test_ratios_come_from_the_records() -> None:
    text = report.speed_section({"meta": META, "records": records(FIT, PREDICT, memory=3 * MB)})
    assert f"| {DRAW.title} | 1.00 | 2.00 | 0.0 M | 3.00 | 3.0 | 10.0 |" in text
    assert f"| {THOUSAND.title} | 0.400 | 0.800 | 0.0 M | 2.50 | 10 | 3.0 | 10.0 |" in text
    assert "1 May 2030" in text and "### Fit, 1,000 rows" in text


def test_what_failed_is_a_row_that_says_why() -> None:
    failed = {"rows": 1000, "title": "a peer", "timed": ["fit"], "error": "not available: no wheel"}
    text = report.speed_section({"meta": META, "records": [*records(FIT, PREDICT), failed]})
    assert "| a peer | not available: no wheel |" in text


def test_goals_are_computed_at_every_size() -> None:
    slow = dict.fromkeys(FIT, 10.0)
    small, large = records(slow, PREDICT, rows=10), records(FIT, PREDICT, rows=1000, memory=43 * MB)
    found = {goal.text: goal for goal in goals(small + large, 1000)}
    verdicts = [(goal.figure, goal.met) for goal in found.values()]
    assert verdicts[:2] == [(2.0, False), (3.0, True)]
    assert verdicts[3:5] == [(2.5, True), (10.0, True)]
    assert [goal.figure for goal in goals(small + large, 10)][:2] == [1.0, 1.0]
    memory = found["extra memory of fit, default"]
    assert (memory.figure, memory.bound, memory.met) == (43.0, 42.0, False)
    page = report.goals_section({"meta": META, "records": small + large, "startup": STARTUP})
    assert "| ≥ 2.5 × | 1.00 ×, not met | 2.00 ×, not met |" in page
    start = start_goals(STARTUP)
    assert [goal.met for goal in start] == [True, False]
    assert start[0].figure == pytest.approx(80)


def test_a_goal_without_a_figure_is_not_met_by_silence() -> None:
    broken = [record for record in records(FIT, PREDICT) if record["title"] != ROC_CURVE.title]
    broken.append({"rows": 1000, "title": ROC_CURVE.title, "timed": ["fit"], "error": "why"})
    assert goals(broken, 1000)[0].met is None
    assert "| not measured |" in report.goals_section({"meta": META, "records": broken, "startup": STARTUP})


def quality_results() -> dict[str, Any]:
    places = [(source, model, split) for source in SOURCES for model in MODELS for split in (0, 1)]
    rows = []
    for source, model, split in places:
        where = {"source": source, "model": model, "split": split}
        rows.append({"ask": "curve", "title": "base score", "gap": 0.4 + 0.1 * split, "auc": 0.9, **where})
        scores = {"accuracy": 0.8, "balanced": 0.7, "eo": 0.1 * split}
        rows.append({"ask": "decision", "title": "base score", **scores, **where})
        rows.append({"ask": "curve", "title": "a peer", "error": "not available: why", **where})
    return {"meta": META | {"splits": 2, "points": 400}, "records": rows}


def test_quality_tables_show_means_and_standard_errors() -> None:
    curve, decision = report.curve_section(quality_results()), report.decision_section(quality_results())
    assert curve.count(".450 ± .050 / .900 ± .000") == 4
    assert curve.count("not available: why") == 4 and "400 quantiles" in curve
    assert decision.count(".800 ± .000 / .700 ± .000 / .050 ± .050") == 4


def test_a_new_section_leaves_the_others_as_they_are() -> None:
    page = "# Page\n\n" + "\n\n".join(f"<!-- begin: {x} -->\n\n<!-- end: {x} -->\n\nwords" for x in ("speed", "growth"))
    first = tables.updated(page, {"speed": "## Speed\n\nfirst run", "growth": "## Growth\n\nkept \\1 as it is"})
    second = tables.updated(first, {"speed": "## Speed\n\nsecond run"})
    assert "second run" in second and "first run" not in second
    assert "kept \\1 as it is" in second
    assert second.count("<!-- begin: speed -->") == 1 and second.count("words") == 2
    assert tables.updated(second, {}) == second
    assert tables.updated(second, {"speed": "", "growth": ""}) == page
    with pytest.raises(ValueError, match=r"must have the lines <!-- begin: nonsense --> and <!-- end: nonsense -->"):
        tables.updated(second, {"nonsense": ""})


def test_a_page_is_rendered_again_from_kept_results(folder: Path) -> None:
    bench.keep("quality", quality_results())
    page = folder / "page.md"
    tables.update(page, {"speed": "## Speed\n\nfrom before"}, "benchmarks.md")
    assert page.read_text(encoding="utf-8").startswith("# Benchmarks") and "## Growth" not in page.read_text("utf-8")
    main(["--render", "--only", "quality", "--output", str(page)])
    text = page.read_text(encoding="utf-8")
    assert "from before" in text and "## Quality of one decision" in text
    assert Store().get_rows("bench-quality")["meta"]["splits"] == 2


def test_a_change_of_the_source_during_a_run_is_said(folder: Path) -> None:
    results = quality_results()
    bench.keep("quality", results | {"meta": results["meta"] | {"source": bench._source()}})
    assert report.CHANGED not in report.curve_section(Store().get_rows("bench-quality"))
    bench.keep("quality", results)
    assert report.CHANGED in report.curve_section(Store().get_rows("bench-quality"))


def test_nothing_to_render_is_said(folder: Path) -> None:
    with pytest.raises(SystemExit, match="no results are kept yet"):
        main(["--render", "--output", str(folder / "page.md")])
