"""Pictures of the paper's method: what is drawn, read from the artists."""

from __future__ import annotations

import numpy as np
import pytest

from fairroc.core.roc import roc_curve
from fairroc.froc.algorithm import Shift, froc
from fairroc.froc.mixture import triangle_mixture
from fairroc.froc.run import WORDS
from fairroc.plot.froc import geometry_figure
from fairroc_studies.questions.froc import acceptance_figure

pytest.importorskip("matplotlib")


def two_groups(epsilon=0.1):
    rng = np.random.default_rng(3)
    y = rng.random((2, 400)) < 0.5
    scores = 1 / (1 + np.exp(-(y * np.array([[3.0], [1.0]]) + rng.normal(size=y.shape) - 1)))
    curves = [roc_curve(s, label) for s, label in zip(scores, y, strict=True)]
    return froc(curves, np.linspace(0, 1, 21)[::-1], epsilon)


@pytest.mark.parametrize("index", [3, 10, 20])
def test_geometry_shows_curves_boundary_cuts_and_shift(index):
    """Both curves, the rhombus, the moved point and its cuts, in both panels; the shift in the title."""
    done = two_groups()
    figure = geometry_figure(done, 0, index)
    whole, near = figure.axes
    for axes in (whole, near):
        lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
        assert len(lines["upper curve"]) == len(lines["lower curve"]) == 23
        assert len(lines["norm boundary"]) == 5
        assert len(lines["cuts" if done.cuts[0, index] else "_no cuts"]) == done.cuts[0, index]
        assert lines["where it moves"][0] == pytest.approx(done.points[0, index])
    assert near.get_title(loc="left") == WORDS[Shift(done.shift[0, index])]
    assert [text.get_text() for text in near.texts if text.get_text()] == ["U", "R", "D", "L"]


def test_every_shift_has_words():
    assert set(WORDS) == set(Shift)


def test_acceptance_marks_falls():
    """One line a person, and a black piece for each fall."""
    done = two_groups()
    mixture = triangle_mixture(done.points[0], done.queries[0], done.thresholds)
    scores = np.array([0.9, 0.5])
    axes = acceptance_figure(mixture, scores, done.thresholds).axes[0]
    falls = int((np.diff(mixture.acceptance(scores), axis=1) < -1e-9).sum())
    assert falls > 0
    assert len(axes.get_lines()) == 2 + falls + 1
