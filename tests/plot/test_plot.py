"""The picture: what is drawn is what was measured."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from fairroc.fitting.fit import Fitted, fit
from fairroc.people.door import read_people
from fairroc.plot import before_after
from fitted_people import fitted_options


def people(groups: int, *, same: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores that tell labels apart differently well in each group (or equally well)."""
    rng = np.random.default_rng(groups)
    group = rng.integers(0, groups, 3000)
    label = rng.random(3000) < 0.4
    return label * (1.0 if same else 0.5 + group) + rng.normal(size=3000), label, group


def fitted(groups: int, epsilon: float, **how: object) -> Fitted:
    score, label, group = people(groups)
    columns = read_people(score, label, sensitive_features=group)
    return fit(columns, fitted_options(epsilon=epsilon, **how), salt=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("draw", ["all", "few", "never"])
@pytest.mark.parametrize(("groups", "norm"), [(2, 1), (3, "inf")])
def test_both_panels_show_every_group_and_the_widest_gap(groups: int, norm: object, draw: str) -> None:
    """Curves end in the corners, legends name AUCs, the annotation is the gap rounded."""
    found = fitted(groups, 0.2, norm=norm, draw=draw)
    figure = before_after(found)
    assert len(figure.axes) == 2
    aucs = [[c.auc for c in found.raw.curves], found.performance.group_aucs]
    for axes, expected in zip(figure.axes, aucs, strict=True):
        curves = [line for line in axes.lines if not line.get_label().startswith("_")]
        assert [line.get_label() for line in curves] == [f"{g} ({auc:.3f})" for g, auc in enumerate(expected)]
        for line in curves:
            x, y = line.get_data()
            assert (x[0], y[0]) == (0, 0)
            assert np.allclose((x[-1], y[-1]), 1)
    after = figure.axes[1]
    assert f"{found.performance.gap:.2f}" in after.texts[0].get_text()
    widest = next(line for line in after.lines if line.get_color() == "black")
    d_fpr, d_tpr = np.abs(np.diff(widest.get_data(), axis=1))[:, 0]
    distance = d_fpr + d_tpr if norm == 1 else max(d_fpr, d_tpr)
    assert distance <= found.performance.gap + 1e-12
    assert distance > 0.95 * found.performance.gap


def test_an_unchanged_score_shows_the_same_curves_twice() -> None:
    found = fitted(2, 2.0)
    left, right = before_after(found).axes
    for before, after in zip(left.lines, right.lines, strict=True):
        assert np.array_equal(before.get_data(), after.get_data())


def test_no_window_is_opened_and_pyplot_stays_out() -> None:
    """A library must not touch pyplot's global state."""
    draw = "test_plot.before_after(test_plot.fitted(2, .2))"
    code = f"import sys, test_plot; {draw}; print('matplotlib.pyplot' in sys.modules)"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "False"
