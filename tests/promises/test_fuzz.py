"""A short run of the fuzzer (``make fuzz``) on fixed seeds, and that it finds and shrinks what is planted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairroc import FairROC
from fairroc.cli import audit
from fairroc.errors import ModelFileError
from fuzz import commands, driving, files, geometry, models, people
from fuzz.driving import run, shrunk

SHORT = {geometry.Geometry: 200, people.Fits: 24, models.Models: 60, files.Readers: 56, commands.Commands: 30}


@pytest.mark.parametrize("target", SHORT, ids=lambda target: target.__name__)
def test_nothing_is_found(target) -> None:
    tried = run(target(), range(SHORT[target]))
    assert tried.findings == {}
    assert tried.families.total() == SHORT[target]


@pytest.mark.parametrize("seed", [53_295, 71_648])
def test_lines_as_near_as_rounding(seed: int) -> None:
    """Epsilon 1e-13: these two once had no end."""
    target = geometry.Geometry()
    assert driving.judged(target, target.make(seed)) is None


def test_no_end_and_warnings_of_numpy_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(geometry.Geometry):
        def check(self, case: object) -> str | None:
            while True:
                pass

    class Careless(geometry.Geometry):
        def check(self, case: object) -> str | None:
            return str(np.ones(1) / np.zeros(1))

    monkeypatch.setattr(driving, "LONGEST", 1)
    assert driving.judged(Endless(), None) == "TimeoutError: not done after 1 seconds"
    assert driving.judged(Careless(), None) == "RuntimeWarning: divide by zero encountered in divide"


class Boastful(FairROC):
    """States a gap that is not the model's."""

    stated = 2.5

    @property
    def certificate_(self):
        return replace(super().certificate_, gap=self.stated)


@pytest.mark.parametrize(("stated", "fault"), [(2.5, "gap beyond epsilon"), (-1.0, "gap beyond what is stated")])
def test_a_false_gap_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch, stated: float, fault: str) -> None:
    """And fewer rows are left."""
    target = people.Fits()
    case = replace(target.make(1), options=(("draw", "all"), ("epsilon", 0.3)))
    assert target.check(case) is None
    monkeypatch.setattr(driving, "MOST_STEPS", 60)
    monkeypatch.setattr(people, "FairROC", Boastful)
    monkeypatch.setattr(Boastful, "stated", stated)
    complaint = target.check(case)
    assert complaint is not None and complaint.startswith(fault)
    small, again = shrunk(target, case, complaint)
    assert again.startswith(fault) and len(small.scores) < len(case.scores)


def test_a_reader_that_loses_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    target, real = files.Readers(), files.call
    made = target.make(0)
    case = replace(made, family="untouched", style=(), rows=tuple((*row[:3], "plain") for row in made.rows))
    assert target.check(case) is None

    def lossy(*words: str) -> files.Called:
        Path(words[1]).write_bytes(replace(case, rows=case.rows[:-1]).content)
        return real(*words)

    monkeypatch.setattr(files, "call", lossy)
    assert str(target.check(case)).startswith("rows")


def test_an_unforeseen_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise KeyError("score")

    monkeypatch.setattr(audit, "run", broken)
    monkeypatch.delenv("FAIRROC_TRACEBACK", raising=False)
    case = commands.Command("audit", ("audit", *commands.BASES["audit"]))
    assert str(commands.Commands().check(case)).startswith("unforeseen")


@pytest.mark.parametrize(
    ("written", "fault"), [("pack/page.html", "files"), ("../x.html", "files"), ("data.csv", "inputs")]
)
def test_what_a_refusal_leaves_is_found(monkeypatch: pytest.MonkeyPatch, written: str, fault: str) -> None:
    """In folders too, and beside the one it was run in."""

    def careless(*_: object) -> int:
        Path(written).parent.mkdir(exist_ok=True)
        Path(written).write_text("half of it", encoding="utf-8")
        raise ModelFileError("no more space")

    monkeypatch.setattr(audit, "run", careless)
    case = commands.Command("audit", ("audit", *commands.BASES["audit"]))
    assert str(commands.Commands().check(case)).startswith(fault)


def test_a_damaged_file_that_loads_as_another_model_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    target = models.Models()
    damaged = models.Damaged("a field removed", "binary", (1,))
    assert target.check(damaged) is None

    def careless(text: str) -> None:
        raise ModelFileError("")

    monkeypatch.setattr(models.FairModel, "from_json", careless)
    assert str(target.check(damaged)).startswith("words")
