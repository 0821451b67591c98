"""Studies of new people: who they are, what is measured, how paths are compared, and what the pages say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairroc
from fairroc.fitting.fit import fit
from fairroc.stats import posterior
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.harness.people import Part
from fairroc_studies.harness.tables import DOCS
from fairroc_studies.paper.rules import counted, expected
from fairroc_studies.problems.synthetic import FAMILIES
from fairroc_studies.questions import linearpost, new, new_fits, new_people, prior
from fairroc_studies.questions.new_child import begun, judge_of, path, read
from fairroc_studies.questions.new_families import HARM, KNOWN, Job, sample
from fitted_people import fitted_options

SOURCES = Path(fairroc.__file__).parents[1]
RECIDIVISM = FAMILIES["recidivism"]


def drawn(rows: int, seed: int = 0) -> Part:
    return Part.named(*RECIDIVISM.draw(rows, np.random.default_rng(seed)))


@pytest.fixture(autouse=True)
def _few_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of its own; one set of real scores, of made-up people."""
    monkeypatch.setattr("fairroc_studies.harness.store.home", lambda: tmp_path)
    for module in (new, new_fits, new_people, prior):
        monkeypatch.setattr(module, "everybody", lambda name: drawn(2500, len(name)))
    for module in (new, prior):
        monkeypatch.setattr(module, "real_sets", lambda: ("made, up", "other, up", "other by sex"))


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
@pytest.mark.filterwarnings("ignore")
def test_outcome_is_what_the_rules_of_the_paper_measure(epsilon: float) -> None:
    first, rest = drawn(300), drawn(2000, 1)
    model = fit(counted(first), fitted_options(epsilon=epsilon), salt=0).model
    found, curve = outcome(model.kernels, counted(rest).exact), expected(model, rest)
    assert (found.gap, found.auc) == pytest.approx((curve.gap, curve.auc), abs=1e-9)


@pytest.mark.parametrize("name", KNOWN)
def test_a_family_is_known_exactly(name: str) -> None:
    """The gap and AUC of a large sample, and of a fair score among its people, are those of the population."""
    many = read(sample(Job(name, 100_000, 1)))
    kernels = begun(read(sample(Job(name, 500, 0))), "fitted", 0.1).model.kernels
    for fair in ((), kernels):
        found, true = outcome(fair, many.exact), KNOWN[name].outcome(fair)
        assert found.gap == pytest.approx(true.gap, abs=0.04) and found.auc == pytest.approx(true.auc, abs=0.006)


def test_people_are_split_the_same_for_a_seed_and_too_few_are_none() -> None:
    one, again, other = (new_people.split(Job("made, up", 300, seed)) for seed in (1, 1, 2))
    assert one and again and other and (one[0].rows, one[1].rows) == (300, 2200)
    assert (one[0].scores == again[0].scores).all() and (one[0].scores != other[0].scores).any()
    assert new_people.split(Job("made, up", 2490, 0)) is None and new_people.split(Job("made, up", 2500, 0)) is None
    assert [new_people.source(name) for name in ("adult by race & sex", "adult_lr", "adult-race, logistic")] == [
        "adult"
    ] * 3


def test_the_older_fairroc_is_asked_in_a_process_of_its_own() -> None:
    """Here it is this one, so that both must say the same; what is done is kept."""
    jobs = [Job("2 groups, shift 0.4", 300, 0), Job("made, up", 300, 0)]
    found = new_fits.before(jobs, SOURCES, 2)
    judges = HARM[jobs[0].people].outcome, judge_of(new_people.split(jobs[1])[1])  # type: ignore[index]
    people = sample(jobs[0]), new_people.split(jobs[1])[0]  # type: ignore[index]
    for job, judge, part in zip(jobs, judges, people, strict=True):
        for promise in ("new", "fitted"):
            own = next(path(begun(read(part), promise, 0.05), (0.05,), judge))
            point = found[job][f"before, {promise}"][0]
            assert {name: own[name] for name in point} == pytest.approx(point)
    assert new_fits.before(jobs, SOURCES, 1) == found
    with pytest.raises(RuntimeError, match="fits must come from /nowhere; they came from"):
        new_fits.before([jobs[0]], Path("/nowhere"), 1)


def test_new_brings_shift_and_original_along() -> None:
    found = new_fits.run(Job("made, up", 500, 0), "new")
    assert set(found) == {"new", "shift", "original"} and len(found["shift"]) == 3
    assert [point["epsilon"] for point in found["new"]] == [*new_fits.PATH]
    first = found["new"][0]
    assert first["upper"] > first["stated"] and first["shown"] > 0 and "kernels" not in first
    assert new_fits.run(Job("made, up", 2490, 0), "new") == {}


def seeds(method: str, *lines: tuple[float, float]) -> list[dict[str, Any]]:
    """The same points in four seeds, but for a little noise in the AUC; the original score's gap is .5, its AUC .8."""
    ours = [{"gap": 0.1, "auc": 0.70}, {"gap": 0.3, "auc": 0.78}]
    every = []
    for noise in (-1e-4, 0.0, 0.0, 1e-4):
        theirs = [{"gap": gap, "auc": auc + noise} for gap, auc in lines]
        every.append({"new": ours, method: theirs, "original": [{"gap": 0.5, "auc": 0.8}]})
    return every


def test_paths_are_compared_at_equal_gap() -> None:
    each = seeds("rival", (0.08, 0.70), (0.12, 0.74))
    assert new.gain(each, "rival", 0.05) == pytest.approx((0.70 - 0.72, 4.1e-5), abs=1e-6)
    value, error = new.gain(each, "rival", 0.1)
    assert value == pytest.approx(0.78 - (0.74 + 0.06 * 0.18 / 0.38)) and error < 1e-4
    assert new.gain(each, "rival", None)[0] < 0  # along the path it is below at all gaps
    assert np.isnan(new.gain(seeds("rival", (0.2, 0.7)), "rival", 0.05)[0])
    cells = new._against([("bad", each), ("far", seeds("rival", (0.2, 0.7)))], "rival")
    assert (
        cells[0] == "2"
        and cells[1] == "-20.0 ± nan (1 out of reach)"
        and "bad (0.05) -20.0 ± 0.0; bad (path)" in cells[-1]
    )
    assert new._against([("even", seeds("rival", (0.1, 0.7009), (0.3, 0.7809)))], "rival")[-1] == ""


def test_the_study_writes_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = dict(list(HARM.items())[1:3])
    size = new.Size((300,), (300,), 2, ("made, up",), (300,), 2)
    for name, value in {"HARM": few, "TRUTH": few, "QUICK": size}.items():
        monkeypatch.setattr(new, name, value)
    page = tmp_path / "page.md"
    new.main(["--quick", "--page", str(page), "--rivals", new.RIVALS[0], "--workers", "1", "--before", str(SOURCES)])
    text = page.read_text(encoding="utf-8")
    assert "| 2 groups, shift 0.15 | 300 | 0.100 |" in text and "| 300 | 4 | " in text
    assert "| 2 | 300 | 1 | 0.05 |" in text and '| 2 | 300 | `"new"` before | 1 | +0.0 ± nan | +0.0 ± nan |  |' in text
    assert "| 2 | 300 | FairProjection-CE | 1 |" in text and "FairProjection-KL" not in text
    assert text.startswith((DOCS / "results" / "new-people.md").read_text(encoding="utf-8").split("<!--")[0])
    assert all(line in text for line in capsys.readouterr().out.splitlines())


def test_the_prior_is_learned_where_evidence_is_clear() -> None:
    """Each set says one combination for certain: the weights are how often each is met, a source counting as one."""
    combinations, often = posterior.amplitudes()
    np.testing.assert_allclose(prior.LIBRARY.every, often)
    evidence = np.full((3, len(often)), -50.0)
    evidence[0, -1] = evidence[1, -1] = evidence[2, 30] = 0.0
    found = prior.learned(evidence, np.array([0.5, 0.5, 1.0]))
    last = np.array([len(part) for part in prior.PARTS.values()]) - 1
    for part, at, amplitude, held in zip(found.parts, last, combinations[30], prior.PARTS.values(), strict=True):
        met = {int(at), list(held).index(amplitude)}
        assert part.sum() == pytest.approx(1) and met == set(np.argsort(-part)[: len(met)].tolist())
    assert found.every.sum() == pytest.approx(1) and found.alike < 0.2
    assert (found.foretold(evidence) > prior.FLAT.foretold(evidence)).all()


def test_the_prior_has_its_page(tmp_path: Path) -> None:
    page = tmp_path / "prior.md"
    prior.main(["--workers", "1", "--page", str(page)])
    text = page.read_text(encoding="utf-8")
    assert "3 sets of 2 sources, 300 to 2,500 rows,\n9 samples in all." in text
    assert "| first s (both labels alike) | 2.5 |" in text and "| mean over sources | 3 |" in text
    held = (DOCS / "results" / "prior.md").read_text(encoding="utf-8")
    assert [line.split("|")[-2] for line in held.splitlines() if line.startswith("| first s")] == [
        f" {weight:.2f} " for weight in posterior.SHIFTS.values()
    ]


@pytest.mark.filterwarnings("ignore")
def test_one_decision_at_the_most_accurate_place() -> None:
    first, rest = drawn(1000), drawn(5000, 1)
    post, test = counted(first), counted(rest)
    accuracy, gap = linearpost.decision((), post, test)
    cut = max(np.unique(first.scores)[::-1], key=lambda t: ((first.scores >= t) == first.labels).mean())
    right = (rest.scores >= cut) == rest.labels
    assert accuracy == pytest.approx(right.mean(), abs=1e-9) and 0 < gap < 1
    kernels = fit(post, fitted_options(epsilon=0.05, norm="inf"), salt=0).model.kernels
    fairer = linearpost.decision(kernels, post, test)
    assert fairer[1] < gap and 0.5 < fairer[0] < accuracy + 0.02
    assert linearpost.decision(kernels, post, post)[1] <= 0.05 + 1e-9


def test_accuracy_at_a_gap_lies_between_epsilons() -> None:
    points = np.array([[(0.80, 0.02), (0.90, 0.06)], [(0.82, 0.02), (0.92, 0.06)]])
    assert linearpost.at_gap(points, 0.04) == pytest.approx(0.86)
    assert np.isnan(linearpost.at_gap(points, 0.01))
    mean, error = linearpost.with_error(points, 0.04)
    assert mean == pytest.approx(0.86) and error == pytest.approx(0.01)
    text = linearpost.row("adult", "LR", (0.85, 0.04, 0.02), {"fitted": points, "new": points})
    assert text[4:] == ["0.8600 ± 0.0100 (+10.0)"] * 4
