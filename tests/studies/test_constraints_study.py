"""The study of constraints: gaps and AUCs against plain counting, and what is taken of a rival's tolerances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from fairroc_studies.harness.curve import reached
from fairroc_studies.harness.people import Part
from fairroc_studies.questions import constraints
from fairroc_studies.questions.constraints import EPSILON, Figures, halves, kindest, looked_at, of_curve
from strategies import SEEDS


def people(seed: int, rows: int = 300, distinct: int = 1000) -> Part:
    """Two groups with other base rates, scores with ties."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    label = rng.random(rows) < 0.3 + 0.3 * group
    label[:2], label[2:4], group[:4] = True, False, [0, 1, 0, 1]
    score = np.round((rng.random(rows) + 0.5 * label + 0.3 * group) / 1.8 * distinct) / distinct
    return Part.named(score, label, group.astype(str))


def counted(chances: Any, part: Part) -> list[float]:
    """Differences of TPR, FPR and selection rate, from everybody's chance of being selected."""
    first, second = part.groups == 0, part.groups == 1
    cuts = (part.labels, ~part.labels, np.ones(part.rows, dtype=bool))
    return [abs(chances[cut & first].mean() - chances[cut & second].mean()) for cut in cuts]


@settings(deadline=None, max_examples=15)
@given(SEEDS, st.sampled_from([3, 20, 10_000]))
def test_the_original_score_by_plain_counting(seed: int, distinct: int) -> None:
    part = people(seed, 80, distinct)
    truth = np.max([counted(part.scores >= t, part) for t in np.unique(part.scores)], axis=0)
    auc = roc_auc_score(part.labels, part.scores)
    for found in (looked_at(None, part), of_curve(reached(part.scores, part).accepted.reshape(-1, 4), part)):
        assert [found.tpr, found.fpr, found.selection] == pytest.approx(truth, abs=1e-12)
        assert found.auc == pytest.approx(auc, abs=1e-12) and found.drawn == 0.0


@pytest.mark.parametrize("constraint", constraints.FAIRLEARN)
def test_a_fair_score_at_its_own_thresholds(constraint: str) -> None:
    part = people(5)
    post = constraints.fitted(part, EPSILON, constraint=constraint, draw="never")
    found = looked_at(post, part)
    fair = post.transform(part.scores, sensitive_features=part.group_names, random_state=0)
    truth = np.max([counted(fair >= t, part) for t in np.unique(fair)], axis=0)
    assert [found.tpr, found.fpr, found.selection] == pytest.approx(truth, abs=1e-9)
    assert found.gap(constraint) <= EPSILON + 1e-12 < looked_at(None, part).gap(constraint)
    assert found.auc == pytest.approx(roc_auc_score(part.labels, fair), abs=1e-9)


def test_halves_are_everybody_once() -> None:
    part = Part.named(np.arange(101.0), np.arange(101) % 2, np.repeat(["a", "b"], [50, 51]))
    case = halves(part, 3)
    assert sorted(np.concatenate((case.calibration.scores, case.test.scores))) == list(range(101))
    assert not np.array_equal(case.calibration.scores, halves(part, 4).calibration.scores)


def test_the_kindest_tolerance_is_chosen_by_the_fitted_people() -> None:
    def one(gap: float, auc: float) -> tuple[Figures, Figures]:
        return Figures(auc, 0.0, 0.0, gap), Figures(0.0, 0.0, 0.0, 0.0)

    low, within, best, far = one(0.01, 0.7), one(EPSILON, 0.8), one(0.03, 0.85), one(0.2, 0.9)
    assert kindest([low, within, best, far, "failed"], "demographic_parity") is best
    assert kindest([far, one(0.3, 0.95)], "demographic_parity") is far
    assert kindest(["failed", "failed too"], "demographic_parity") == "failed"


def test_tables_and_picture(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(constraints, "files", lambda: {"compas_lr": people(1, 400)})
    constraints.main(["--only", "costs", "--splits", "2", "--output", str(tmp_path)])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| COMPAS")]
    assert [row.split(" | ")[1] for row in rows] == list(constraints.WORDS.values())
    assert (tmp_path / "constraints.png").stat().st_size > 10_000


def test_a_rival_that_fails_says_why() -> None:
    known = Figures(0.8, 0.1, 0.2, 0.3), Figures(0.7, 0.2, 0.3, 0.4)
    found: dict[tuple[str, str, str], Any] = {
        ("adult_lr", "equal_opportunity", "fairroc"): known,
        ("adult_lr", "demographic_parity", "EquiPy"): "not available",
    }
    lines = constraints.beside_table(found, 1).splitlines()
    assert lines[2:] == [
        "| Adult, logistic | equal opportunity | 0.200, 0.7000 | – |",
        "| Adult, logistic | demographic parity | – | not available |",
    ]
