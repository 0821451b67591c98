"""The study of the paper's method: its picture, read from the artists."""

from __future__ import annotations

import numpy as np
import pytest

from fairroc.froc.algorithm import froc
from fairroc.froc.mixture import triangle_mixture
from fairroc_studies.questions.froc import acceptance_figure, made_up

pytest.importorskip("matplotlib")


def test_acceptance_marks_falls() -> None:
    """One line a person, and a black piece for each fall."""
    done = froc(made_up(), np.linspace(0, 1, 21)[::-1], 0.1)
    mixture = triangle_mixture(done.points[0], done.queries[0], done.thresholds)
    scores = np.array([0.9, 0.5])
    axes = acceptance_figure(mixture, scores, done.thresholds).axes[0]
    falls = int((np.diff(mixture.acceptance(scores), axis=1) < -1e-9).sum())
    assert falls > 0
    assert len(axes.get_lines()) == 2 + falls + 1
