"""The command reproduce: what it asks for, what it says and leaves, and one line for everything that cannot run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from made_up import study
from test_cli import Run, run
from test_output import Terminal

import fairroc
from fairroc.cli.main import main
from fairroc.errors import DatasetError, FairrocError
from fairroc_studies.models.recipes import RECIPES
from fairroc_studies.paper import protocol
from fairroc_studies.paper.study import Plan, Study
from fairroc_studies.problems.registry import FULL, load

__all__ = ["run"]  # a fixture

MADE = study([("adult", "lr", True), ("compas", "rf", True)], splits=1, draws=2, count=3)


class Asked:
    """Takes the place of a run, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def __call__(self, plan: Plan, *, progress: Any = None, say: Any = None) -> Study:
        self.plans.append(plan)
        progress(1, 2)
        return MADE


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    found = Asked()
    monkeypatch.setattr(protocol, "run", found)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    return found


def test_quick_is_the_default(tmp_path: Path, run: Run, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("reproduce")
    assert ran.code == 0
    assert ran.err == "results written to reproduce\n"
    assert "reproduce/index.html" in ran.out
    plan = asked.plans[0]
    assert (plan.problems, plan.models) == (("adult", "compas"), ("lr", "rf"))
    assert (plan.splits, plan.draws, plan.epsilons, plan.rows, plan.peers, plan.jobs) == (10, 10, 20, None, False, None)
    assert plan.cache == Plan().cache
    readme = (tmp_path / "reproduce" / "README.md").read_text(encoding="utf-8")
    assert "Made by `fairroc reproduce --quick` on 1970-01-02 with " in readme


def test_a_bar_before_the_first_model_is_trained(tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(["reproduce", "-o", str(tmp_path / "out")]) == 0
    assert "models [############............] 1/2" in stream.getvalue()


def test_options(tmp_path: Path, run: Run, asked: Asked) -> None:
    ran = run(
        *("reproduce", "--full", "--problems", "compas, adult,compas", "--models", "fnnc", "--splits", "2"),
        *("--draws", "3", "--epsilons", "4", "--rows", "500", "--celeba", "secret/place", "--target", "Smiling"),
        *("--no-peers", "--jobs", "1", "--no-cache", "-o", tmp_path / "out"),
    )
    assert ran.code == 0
    assert asked.plans == [
        Plan(
            problems=("compas", "adult"),
            models=("fnnc",),
            splits=2,
            draws=3,
            epsilons=4,
            rows=500,
            celeba="secret/place",
            target="Smiling",
            peers=False,
            stored=False,
            jobs=1,
            cache=None,
        )
    ]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    words = "--full --problems compas,adult --models fnnc --splits 2 --draws 3 --epsilons 4 --rows 500 --target Smiling"
    assert f"fairroc reproduce {words} --celeba FOLDER --no-peers" in page
    assert "secret/place" not in page


def test_full_asks_for_everything(tmp_path: Path, run: Run, asked: Asked) -> None:
    assert run("reproduce", "--full", "--cache", tmp_path / "kept", "-o", tmp_path / "out").code == 0
    plan = asked.plans[0]
    assert (plan.problems, plan.models, plan.peers) == (FULL, tuple(RECIPES), True)
    assert plan.cache == str(tmp_path / "kept")


def test_json(tmp_path: Path, run: Run, asked: Asked) -> None:
    ran = run("reproduce", "--format", "json", "-o", tmp_path / "out")
    assert ran.code == 0
    assert ran.json["page"] == str(tmp_path / "out" / "index.html")
    assert ran.json["rows"] == len(MADE.results)
    assert sum(ran.json["verdicts"].values()) == len(ran.json["claims"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--quick", "--full"), "not allowed with argument"),
        (("--cache", "x", "--no-cache"), "not allowed with argument"),
        (("--problems", "adult,adlut"), "--problems must be among adult, "),
        (("--problems", "adult,adlut"), "got 'adlut'"),
        (("--problems", ","), "got nothing"),
        (("--models", "svm"), "--models must be among lr, rf, fnnc, autogluon, resnet; got 'svm'"),
        (("--splits", "0"), "--splits: must be a whole number >= 1, got 0"),
        (("--draws", "-1"), "--draws: must be a whole number >= 1, got -1"),
        (("--epsilons", "0"), "--epsilons: must be"),
        (("--rows", "0"), "--rows: must be"),
        (("--jobs", "0"), "--jobs: must be"),
        (("--splits", "x"), "must be a whole number, got 'x'"),
    ],
)
def test_what_cannot_run_leaves_nothing(
    tmp_path: Path, run: Run, asked: Asked, options: tuple[str, ...], words: str
) -> None:
    run("reproduce", *options, "-o", tmp_path / "out").refused(words)
    assert asked.plans == [] and not (tmp_path / "out").exists()


def test_help_names_the_options(run: Run) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "--help"])
    assert stopped.value.code == 0


def test_without_the_studies(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says how to install them, whatever was asked."""
    monkeypatch.setattr("fairroc.cli.reproduce.find_spec", lambda name: None)
    for words in ([], ["--quick"], ["--help"]):
        run("reproduce", *words).refused("pip install ./studies")


def test_only_this_command_knows_the_studies() -> None:
    home = Path(fairroc.__file__).parent
    named = [path.name for path in home.rglob("*.py") if "fairroc_studies" in path.read_text(encoding="utf-8")]
    assert named == ["reproduce.py"]


def test_a_file_in_the_way_is_found_first(tmp_path: Path, run: Run, asked: Asked) -> None:
    (tmp_path / "out").write_text("mine")
    ran = run("reproduce", "-o", tmp_path / "out")
    assert (ran.code, asked.plans) == (2, [])
    assert "must be a folder" in ran.err
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_a_date_that_is_none(tmp_path: Path, run: Run, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "tomorrow")
    run("reproduce", "-o", tmp_path / "out").refused("SOURCE_DATE_EPOCH must be seconds since 1970, got 'tomorrow'")


def test_a_run_that_fails_leaves_nothing(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any, **__: Any) -> Study:
        raise FairrocError("nothing could be run. Name a problem and a model.")

    monkeypatch.setattr(protocol, "run", nothing)
    ran = run("reproduce", "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (2, "fairroc reproduce: nothing could be run. Name a problem and a model.\n")
    assert list(tmp_path.iterdir()) == []


def test_the_whole_way(tmp_path: Path, run: Run) -> None:
    """A few real people; every claim about them has a verdict, and the page is there."""
    try:
        load("compas", rows=400)
    except DatasetError as error:
        pytest.skip(str(error))
    ran = run(
        *("reproduce", "--problems", "compas", "--models", "lr", "--rows", "400", "--splits", "1", "--draws", "2"),
        *("--epsilons", "3", "--jobs", "1", "--no-cache", "-o", tmp_path / "out"),
    )
    assert ran.code == 0
    assert "At every threshold the L1 gap" in ran.out
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'id="run-compas-lr"' in page and "nan" not in page.lower().replace("nan-", "")
