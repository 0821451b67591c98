"""The store, the rows of one model's scores, and whole runs: the same rows by any number of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest
from test_experiments_problems import write_celeba

from fairroc.errors import DataError, FairrocError, FairrocWarning
from fairroc.froc import query_grid, run_froc
from fairroc_studies.harness import store
from fairroc_studies.harness.curve import decided
from fairroc_studies.harness.people import Part
from fairroc_studies.harness.store import Store, imported, key, package_versions, source_digest
from fairroc_studies.models.recipes import RECIPES, Recipe, Scored
from fairroc_studies.paper import measuring, protocol
from fairroc_studies.paper.protocol import Done, Job, Plan, Study, completed, epsilons_of, loaded, run
from fairroc_studies.paper.rules import as_it_is, collected_warnings, fair_score, fairprojection
from fairroc_studies.paper.study import Result
from fairroc_studies.problems.problem import Problem

EPSILONS = (0.01, 0.1)
TINY = Plan(
    problems=("compas",), models=("lr",), splits=2, draws=2, epsilons=2, rows=300, jobs=1, cache=None, protected=(True,)
)
ONE = replace(TINY, splits=1, draws=1, epsilons=1)


@pytest.fixture(autouse=True)
def raising(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of programming end a run."""
    monkeypatch.setenv("FAIRROC_TRACEBACK", "1")


# -- the store ---------------------------------------------------------------------------------------------------------


def test_arrays_come_back_bit_for_bit(tmp_path: Path) -> None:
    store, name = Store(tmp_path / "new"), key("x")
    assert store.get(name) is None and store.get_rows(name) is None
    arrays = {
        "numbers": np.random.default_rng(0).normal(size=7),
        "words": np.array(["é", "b"]),
        "yes": np.ones(2, bool),
    }
    store.put(name, arrays)
    found = Store(tmp_path / "new").get(name)
    assert found is not None and found.keys() == arrays.keys()
    for title, array in arrays.items():
        assert found[title].dtype == array.dtype
        np.testing.assert_array_equal(found[title], array)
    rows = [[0.1 + 0.2, None, "é", True, 3]]
    store.put_rows(name, rows)
    assert store.get_rows(name) == rows
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("keep", [0, 10, -30])
def test_a_damaged_file_is_a_miss(tmp_path: Path, keep: int) -> None:
    store, name = Store(tmp_path), key("x")
    store.put(name, {"numbers": np.arange(1000)})
    store.put_rows(name, [1, 2, 3] * 20)
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        file.write_bytes(file.read_bytes()[:keep])
    with pytest.warns(FairrocWarning, match="cannot be read"):
        assert store.get(name) is None
    with pytest.warns(FairrocWarning, match="cannot be read"):
        assert store.get_rows(name) is None
    store.put_rows(name, [4])
    assert store.get_rows(name) == [4]


def test_a_file_with_a_wrong_byte_is_a_miss_or_whole(tmp_path: Path) -> None:
    """Wherever the byte is: in the packed numbers, in the list of contents, or where it does not matter."""
    store, name, numbers = Store(tmp_path), key("x"), np.random.default_rng(0).normal(size=30)
    store.put(name, {"numbers": numbers})
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    content, missed = file.read_bytes(), 0
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with collected_warnings(Counter()):
            found = store.get(name)
        missed += found is None
        if found is not None:
            np.testing.assert_array_equal(found["numbers"], numbers)
    assert missed > len(content) / 2


def test_a_folder_that_cannot_be_written_only_warns(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(FairrocWarning, match="not kept for the next run"):
        Store(tmp_path / "file").put_rows("ab", [1])


def test_python_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'x' holds Python objects"):
        Store(tmp_path).put("ab", {"x": np.array([None])})
    with pytest.raises(TypeError, match="no array of Python objects"):
        key(np.array([None]))
    with pytest.raises(TypeError, match="takes no set"):
        key({1})


def test_keys_tell_everything_apart() -> None:
    numbers = np.arange(4)
    parts = [
        (), ("",), ("a",), ("a", "b"), (["a", "b"],), (["a"], "b"), ("ab",), (b"a",), (1,), (1.0,), ("1",), (True,),
        (None,), ({"a": 1},), ({"a": None},), ({"a": 1, "b": 2},), (["a", 1],), (0.1,), (0.1 + 2e-17,), (numbers,),
        (numbers.astype(float),), (numbers.reshape(2, 2),), (numbers[::-1],), (numbers.tolist(),), (numbers, ""),
    ]  # fmt: skip
    names = [key(*part) for part in parts]
    assert len(set(names)) == len(parts) - (0.1 == 0.1 + 2e-17)
    assert key(numbers[::-1]) == key(numbers[::-1].copy())
    assert key({"a": 1, "b": 2}) == key({"b": 2, "a": 1})
    assert key(np.float64(0.5), (1, 2)) == key(0.5, [1, 2])


def test_a_digest_of_sources_follows_their_text() -> None:
    one = source_digest("fairroc.core.gap", "fairroc.froc.run")
    assert one == source_digest("fairroc.froc.run", "fairroc.core.gap", "fairroc.froc.run")
    assert len({one, source_digest("fairroc.errors"), source_digest("fairroc.core.gap"), source_digest()}) == 4
    with pytest.raises(ModuleNotFoundError):
        source_digest("fairroc.nothing")


ENTRIES = [
    "fairroc_studies.paper.measuring",
    "fairroc_studies.paper.stored",
    "fairroc_studies.paper.peers",
    *sorted({recipe.train.__module__ for recipe in RECIPES.values()}),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_key_follows_all_that_is_imported(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Touch any module that the code needs, and the key is another."""
    names, text, before = imported(entry), store._text, source_digest(entry)
    assert entry in names and "fairroc.errors" in names
    for touched in names:
        with monkeypatch.context() as patch:
            patch.setattr(store, "_text", lambda name, touched=touched: text(name) + " " * (name == touched))
            assert source_digest(entry) != before


def test_nothing_that_a_measurement_loads_is_left_out() -> None:
    """Whatever Python itself has loaded after measuring, from this repository, is in the key."""
    code = """
import sys
from collections import Counter
from test_experiments_protocol import ENTRIES, measuring, people, Scored, collected_warnings, imported
loaded = set(sys.modules)
with collected_warnings(Counter()):
    some = Scored("made", "lr", True, 0, "m", people(0), people(1), people(2), "digest")
    measuring.split_rows(some, (0.01, 0.1)), measuring.projected(some), measuring.roc_lines(some)
later = {name for name in set(sys.modules) - loaded if name.startswith(("fairroc.", "fairroc_studies."))}
assert later <= set(imported("fairroc_studies.paper.measuring")), later
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_a_module_loads_at_once_is_in_its_key(entry: str) -> None:
    code = f"import sys, {entry}; print(*(n for n in sys.modules if n.startswith(('fairroc.', 'fairroc_studies.'))))"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], check=True, env=env, capture_output=True, text=True)
    found = set(done.stdout.split())
    assert entry in found and found - {"fairroc._version"} <= set(imported(entry))


def test_a_name_of_a_package_stands_for_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which module it comes from cannot be read from the text; imports inside functions count, too."""
    (tmp_path / "made_up_study.py").write_text("def f():\n    from fairroc import FairROC\n    return FairROC")
    (tmp_path / "made_up_other.py").write_text("import numpy\nfrom fairroc.core import gap")
    monkeypatch.syspath_prepend(tmp_path)
    assert {"fairroc", "fairroc.cli.main", "fairroc.core.gap", "made_up_study"} <= set(imported("made_up_study"))
    assert set(imported("made_up_other")) == {"made_up_other", *imported("fairroc.core.gap")}


def test_versions_of_what_is_installed() -> None:
    assert package_versions(()).keys() == {"numpy", "scipy"}
    found = package_versions(["sklearn.linear_model", "no_such_module"])
    assert found["numpy"] == np.__version__ and found.keys() == {"numpy", "scipy", "scikit-learn"}


# -- the rows of one model's scores ------------------------------------------------------------------------------------


def people(seed: int, rows: int = 500) -> Part:
    random = np.random.default_rng(seed)
    group, label = random.choice(["f", "m"], rows), random.integers(0, 2, rows)
    score = 1 / (1 + np.exp(-(label - 0.5 + np.where(group == "f", 0.6, 1.3) * random.normal(size=rows))))
    return Part.named(score, label, group)


@pytest.fixture(scope="module")
def some() -> Scored:
    return Scored("made", "lr", True, 0, "m", people(0), people(1), people(2), "digest")


@pytest.fixture(scope="module")
def rows(some: Scored) -> list[Result]:
    with collected_warnings(Counter()):
        return measuring.split_rows(some, EPSILONS)


def test_rows_of_a_split(some: Scored, rows: list[Result]) -> None:
    kinds = {(row.method, row.epsilon, row.measured) for row in rows}
    assert len(kinds) == len(rows) == 2 * (1 + 5 * len(EPSILONS))
    assert all(row.kind == "splits" and row.repetition == 0 and row.problem == "made" for row in rows)
    for row in rows:
        assert row.gap is not None and row.auc is not None and row.auc_loss is not None
        if row.method == "none":
            assert (row.epsilon, row.auc_loss, row.auc_loss_upper) == (None, 0.0, 0.0)
        elif row.measured == "fitted" and row.method != "classifiers":
            assert row.epsilon is not None and row.gap <= row.epsilon + 1e-9
            assert row.meo <= row.epsilon / 2 + 1e-9
            assert row.auc_loss_upper is not None and row.auc_loss_upper > 0
    none = {row.measured: row for row in rows if row.method == "none"}
    for row in rows:
        assert row.auc_loss == pytest.approx(none[row.measured].auc - row.auc)


def test_the_point_is_chosen_on_the_fitted_people(some: Scored, rows: list[Result]) -> None:
    """The model as it is: the threshold that is best on the calibration part decides on the test part too."""
    right = [np.mean((some.calibration.scores >= t) == some.calibration.labels) for t in some.calibration.scores]
    threshold = some.calibration.scores[int(np.argmax(right))]
    fitted, test = (next(r for r in rows if r.method == "none" and r.measured == m) for m in ("fitted", "test"))
    assert fitted.accuracy == pytest.approx(max(right))
    accepted = some.test.scores >= threshold
    assert test.accuracy == pytest.approx(np.mean(accepted == some.test.labels))
    shares = {name: accepted[some.test.groups == g].mean() for g, name in enumerate(some.test.names)}
    assert test.disparate_impact == pytest.approx(shares["f"] / shares["m"])


def test_every_classifier_of_the_paper_counts(some: Scored, rows: list[Result]) -> None:
    """Their gap is the largest of all 100, group by group and person by person."""
    for epsilon in EPSILONS:
        run_of = run_froc(
            some.calibration.scores,
            some.calibration.labels,
            sensitive_features=some.calibration.group_names,
            epsilon=epsilon,
            queries=query_grid(100),
        )
        for measured, part in (("fitted", some.calibration), ("test", some.test)):
            groups = part.group_names
            points = [
                decided(run_of.acceptance(part.scores, sensitive_features=groups, index=i), part)
                for i in range(1, len(run_of.moved.thresholds) + 1)
            ]
            (row,) = (r for r in rows if (r.method, r.epsilon, r.measured) == ("classifiers", epsilon, measured))
            assert row.gap == pytest.approx(max(point.gap for point in points))
            assert row.meo <= row.gap / 2 + 1e-12
            if measured == "fitted":
                assert row.accuracy == pytest.approx(max(float(point.accuracy[0]) for point in points))


def test_draws_scatter_as_they_must(some: Scored) -> None:
    """Mean and variance of the accuracy over many draws, against those of independent decisions."""
    draws = 300
    found = measuring.drawn(some, (0.05,), draws)
    assert {row.method for row in found} == {"froc", "optimal", "classifiers"}
    assert all(row.kind == "draws" and row.gap is None and row.auc is None for row in found)
    rule = fair_score(some.calibration, "optimal", 0.05)
    point = rule.curve(some.calibration).best()
    for measured, part in (("fitted", some.calibration), ("test", some.test)):
        accuracy = [row.accuracy for row in found if row.method == "optimal" and row.measured == measured]
        assert len(accuracy) == draws and len(set(accuracy)) > 5
        chance = rule.chances(part, point)
        variance = float((chance * (1 - chance)).sum()) / part.rows**2
        assert np.var(accuracy, ddof=1) == pytest.approx(variance, rel=0.35)  # over four deviations
        expected = float(decided(chance, part).accuracy[0])
        assert np.mean(accuracy) == pytest.approx(expected, abs=5 * (variance / draws) ** 0.5)


def test_draws_depend_on_names_alone(some: Scored) -> None:
    both, last = measuring.drawn(some, EPSILONS, 3), measuring.drawn(some, EPSILONS[1:], 2)
    kept = [row for row in both if row.epsilon == EPSILONS[1] and row.repetition < 2]
    assert kept == last
    other = measuring.drawn(replace(some, model="rf"), EPSILONS[1:], 2)
    assert [row.accuracy for row in other] != [row.accuracy for row in last]


def test_fairprojection_rows(some: Scored) -> None:
    found = measuring.projected(some)
    assert {row.method for row in found} == {"fairprojection-ce", "fairprojection-kl"}
    assert len({row.epsilon for row in found}) == 10 == len(found) / 4
    for row in found:
        if row.measured == "test" and row.epsilon == 0.01:
            rule = fairprojection(some.calibration, row.epsilon, row.method.removeprefix("fairprojection-"))  # type: ignore[arg-type]
            scores = [rule.scores(part) for part in (some.calibration, some.test)]
            right = [np.mean((scores[0] >= t) == some.calibration.labels) for t in scores[0]]
            accepted = scores[1] >= scores[0][int(np.argmax(right))]
            assert row.accuracy == pytest.approx(np.mean(accepted == some.test.labels))


def test_a_constrained_model_decides_at_one_half(some: Scored) -> None:
    fitted, test = measuring.constrained(replace(some, model="fnnc"), 0.02)
    assert (fitted.method, fitted.epsilon, fitted.measured, test.measured) == ("fnnc", 0.02, "fitted", "test")
    for row, part in ((fitted, some.train), (test, some.test)):
        assert row.accuracy == pytest.approx(np.mean((part.scores >= 0.5) == part.labels))
        assert row.gap == pytest.approx(as_it_is(part).whole(part).gap) and row.gap >= 2 * row.meo


def test_lines_to_draw(some: Scored) -> None:
    found = measuring.roc_lines(some)
    assert [(lines.method, lines.epsilon) for lines in found] == [("none", None), ("froc", 0.01), ("optimal", 0.01)]
    for lines in found:
        assert lines.groups == ("f", "m") and len(lines.lines) == 2
        for line in lines.lines:
            assert line[0] == (0.0, 0.0) and line[-1] == (1.0, 1.0) and 3 <= len(line) <= 80
            assert (np.diff(np.array(line), axis=0) >= 0).all()
    part = some.calibration
    for g, line in enumerate(found[0].lines):  # each point is that of some threshold
        scores, labels = part.scores[part.groups == g], part.labels[part.groups == g]
        points = {
            tuple(round(float((scores[labels == y] >= t).mean()), 6) for y in (False, True))
            for t in (*scores, np.inf)
        }  # fmt: skip
        assert set(line) <= points


# -- whole runs --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study() -> Study:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRROC_TRACEBACK", "1")
        return run(TINY)


def test_a_tiny_run(study: Study) -> None:
    assert study.skipped == ()
    fair = 1 + 5 * 2
    splits, draws = 2 * 2 * (fair + 20), 2 * 3 * 2 * 2  # splits x parts x methods; parts x methods x epsilons x draws
    assert len([row for row in study.results if row.kind == "splits"]) == splits
    assert len([row for row in study.results if row.kind == "draws"]) == draws
    assert len(study.rocs) == 3
    facts = study.facts["problems"]["compas"]
    assert facts["rows"] == facts["train"] + facts["calibration"] + facts["test"]
    assert sum(group["rows"] for group in facts["groups"].values()) == facts["rows"]
    assert study.facts["epsilons"]["compas/lr"] == [0.001, 0.1]
    for row in study.results:
        if row.kind == "splits" and row.measured == "fitted" and row.method in ("froc", "optimal", "default"):
            assert row.gap is not None and row.epsilon is not None and row.gap <= row.epsilon + 1e-9


def test_two_processes_and_the_store_give_the_same(study: Study, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    plan = replace(TINY, cache=str(tmp_path))
    first = run(replace(plan, jobs=2), progress=lambda *step: steps.append(step))
    assert first.results == study.results and first.rocs == study.rocs
    assert steps == [(0, 2), (1, 2), (2, 2)] and first.facts["stored"] == 0
    again = run(plan)
    assert again.results == first.results and again.rocs == first.rocs
    assert again.facts["stored"] == 2 and again.facts["warnings"] == first.facts["warnings"]
    assert run(replace(plan, splits=1, draws=1, epsilons=1)).facts["stored"] == 0  # another question


def test_a_run_that_is_stopped_leaves_the_rest(tmp_path: Path) -> None:
    """After the first of ten jobs: only those that the processes have begun by then are still done."""
    jobs = [Job("compas", "lr", True, seed) for seed in range(10)]
    found = completed(replace(ONE, rows=100, jobs=2, cache=str(tmp_path)), jobs)
    next(found)
    found.close()
    assert not active_children()
    assert 1 <= len(list(tmp_path.rglob("*.json"))) <= 4


def test_a_run_needs_no_place_to_keep_things(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found = run(replace(ONE, cache=str(tmp_path / "file")))
    assert found.facts["warnings"]["a result is not kept for the next run"] == 2  # scores and rows
    assert found.results == run(ONE).results


def test_epsilons_of_the_paper() -> None:
    assert epsilons_of("adult", "lr", 20)[0] == 0.001 and epsilons_of("adult", "lr", 20)[-1] == 0.1
    assert epsilons_of("adult", "rf", 20)[-1] == 0.2 and epsilons_of("compas", "rf", 20)[-1] == 0.1
    assert len(epsilons_of("compas", "lr", 20)) == 20


@pytest.fixture
def recipes() -> Iterator[dict[str, Recipe]]:
    kept = dict(RECIPES)
    yield RECIPES
    RECIPES.clear()
    RECIPES.update(kept)


def test_a_constrained_network_is_asked_for_every_epsilon(recipes: dict[str, Recipe]) -> None:
    asked = []

    def train(
        problem: Problem, rows: np.ndarray, seed: int, *, protected: bool, target: float | None = None
    ) -> np.ndarray:
        asked.append((seed, protected, target))
        noise = np.random.default_rng(seed).random(problem.rows)
        return (problem.labels * (0.4 if target is None else 0.1) + noise) / 1.5

    recipes["fnnc"] = Recipe("fnnc", "a network", train)
    found = run(replace(ONE, models=("fnnc",), epsilons=2))
    assert asked == [(0, True, None), (0, True, 0.001), (0, True, 0.1)]
    own = [row for row in found.results if row.method == "fnnc"]
    assert [(row.epsilon, row.measured) for row in own] == [(e, m) for e in (0.001, 0.1) for m in ("fitted", "test")]
    for row in own:
        assert (row.auc_loss is None) == (row.measured == "fitted")
        assert row.auc_loss is None or row.auc_loss > 0.1


def test_what_fails_is_a_line(recipes: dict[str, Recipe], monkeypatch: pytest.MonkeyPatch) -> None:
    def train(problem: Problem, rows: np.ndarray, seed: int, *, protected: bool) -> np.ndarray:
        raise (KeyError if protected else DataError)("too many notes")

    recipes["rf"] = Recipe("rf", "a forest", train)
    recipes["autogluon"] = Recipe("autogluon", "an ensemble", train, needs=("no_such_module",))
    plan, said = replace(ONE, models=("rf", "lr", "autogluon", "resnet"), protected=(True, False)), list[str]()
    with pytest.raises(KeyError):
        run(plan)
    monkeypatch.delenv("FAIRROC_TRACEBACK")
    found = run(plan, say=said.append)
    assert {(row.model, row.protected) for row in found.results} == {("lr", True), ("lr", False)}
    assert list(found.skipped) == said and 3 <= len(said) <= 4  # torch may be missing, too
    assert any(line.startswith("an ensemble: no_such_module not installed") for line in said)
    assert "compas, rf, without the protected features: too many notes" in said
    assert any("compas, rf, with the protected features: unexpected KeyError" in line for line in said)
    with pytest.raises(FairrocError, match=r"nothing could be run\. .*too many notes"):
        run(replace(plan, models=("rf",)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": ("svm",)}, "no model 'svm'; choose one of: lr, rf"),
        ({"splits": 0}, "splits must be 1 or more, got 0"),
        ({"epsilons": 0}, "epsilons must be 1 or more, got 0"),
        ({"draws": -1}, "draws must be 0 or more, got -1"),
        ({"jobs": 0}, "jobs must be 1 or more, got 0"),
        ({"problems": ("nothing",)}, "no problem 'nothing'"),
        ({"problems": ("compas", "adlut")}, "no problem 'adlut'.* Did you mean 'adult'"),
    ],
)
def test_plans_are_checked(changes: dict[str, object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        run(replace(TINY, **changes))  # type: ignore[arg-type]


def test_a_problem_that_cannot_be_split_is_a_line(tmp_path: Path) -> None:
    """It is found out at once, not after the others were run."""
    write_celeba(tmp_path, 15, partition=False)
    steps: list[tuple[int, int]] = []
    plan = replace(ONE, problems=("celeba", "compas"), celeba=str(tmp_path))
    found = run(plan, progress=lambda *step: steps.append(step))
    assert {row.problem for row in found.results} == {"compas"} and steps[-1] == (1, 1)
    (line,) = found.skipped
    assert line.startswith("celeba: three parts need 5 people or more of every group with each label")
    assert found.facts["problems"].keys() == {"compas"}


def test_data_are_looked_for_where_they_are_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another folder of data is another problem, in the same process too."""
    for folder, n in (("few", 300), ("many", 400)):
        (tmp_path / folder).mkdir()
        write_celeba(tmp_path / folder, n)
        monkeypatch.setenv("FAIRROC_DATA", str(tmp_path / folder))
        assert loaded("celeba", replace(ONE, rows=None)).rows == n


def test_peers_are_kept_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from fairroc_studies.paper import peers

    calls = []

    def results_many(
        scoreds: list[Scored], *, done: Callable[[int], object], **_: object
    ) -> tuple[list[list[Result]], tuple[str, ...]]:
        calls.append([(one.model, one.seed, one.protected) for one in scoreds])
        done(2)
        done(1)
        return [
            [Result("compas", one.model, True, "splits", 0, "peer", None, "test", 0.5, 1.0, 0.0)] for one in scoreds
        ], ()

    monkeypatch.setattr(peers, "refused", lambda people: ["peers: not all"])
    monkeypatch.setattr(peers, "fingerprint", lambda: "as they are")
    monkeypatch.setattr(peers, "results_many", results_many)
    plan = replace(ONE, peers=True, cache=str(tmp_path))
    steps: list[tuple[int, int]] = []
    monkeypatch.setattr(peers, "task_count", lambda people: 3 * len(people))
    found = [run(plan, progress=lambda *step: steps.append(step)) for _ in range(2)]
    jobs = [(0, 1), (1, 1)]
    assert steps == [*jobs, (0, 3), (2, 3), (3, 3), *jobs]  # nothing is left to do the second time
    assert calls == [[("lr", 0, True)]]
    assert found[0].results == found[1].results and found[1].skipped == ("peers: not all",)
    assert [row.method for row in found[0].results].count("peer") == 1
    privileged = {"African-American": "Other", "Other": "African-American"}

    def other_way_round(job: Job, plan: Plan) -> Done:
        done = protocol._did(job, plan)
        assert done.scored is not None
        return replace(done, scored=replace(done.scored, privileged=privileged[done.scored.privileged]))

    with monkeypatch.context() as patch:
        patch.setattr(protocol, "_attempted", other_way_round)
        run(plan)
    assert len(calls) == 2  # disparate impact is another then

    def no_room(scoreds: list[Scored], **_: object) -> tuple[list[list[Result]], tuple[str, ...]]:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(peers, "results_many", no_room)
        left = run(replace(plan, cache=None))
    assert left.skipped == ("peers: not all", "aif360, error-parity, fairlearn: no space left")
    assert {row.method for row in left.results} == {row.method for row in found[0].results} - {"peer"}
