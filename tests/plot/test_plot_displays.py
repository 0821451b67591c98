"""The Displays: what is drawn is what was measured, on figures that pyplot knows nothing of."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import fairroc
from fairroc import FairROCDisplay, FairrocError, FrontierDisplay, GapDisplay, ScoreDisplay, audit
from fairroc.core.constraint import distance_of
from fairroc.errors import DataError
from fairroc.plot.display import MOST_POINTS, labels, look, thin_path, thin_peaks
from fairroc.plot.gap import gap_band
from fairroc.plot.roc import GroupCurve, band_outline
from fitted_people import FairROC, FairROCClassifier, frontier
from refusals import refuses

SCORED = [FairROCDisplay, GapDisplay, ScoreDisplay]
ALL = [*SCORED, FrontierDisplay]


def people(groups: int = 2, digits: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, rows = np.random.default_rng(groups), 600 * groups
    group = np.array([f"g{i}" for i in rng.integers(0, groups, rows)])
    y = rng.random(rows) < 0.4
    weight = 0.5 + np.array([int(g[1:]) for g in group])
    return np.round(y * weight + rng.normal(size=rows), digits), y, group


@pytest.fixture(scope="module")
def post() -> FairROC:
    scores, y, group = people()
    return FairROC(epsilon=0.1, salt=1).fit(scores, y, sensitive_features=group)


def draw(display: Any, groups: int = 2, **how: Any) -> Any:
    scores, y, group = people(groups)
    return display.from_predictions(scores, y, sensitive_features=group, **how)


def shown(display: Any, model: Any, **how: Any) -> Any:
    scores, y, group = people()
    return display.from_estimator(model, scores, y, sensitive_features=group, **how)


@pytest.mark.parametrize("display", ALL)
def test_plot_returns_self_and_draws_on_a_given_axes(display: Any) -> None:
    axes = Figure().subplots()
    found = draw(display, ax=axes)
    assert isinstance(found, display)
    assert found.ax_ is axes and found.figure_ is axes.figure and found.axes_ == (axes,)
    assert all(line.axes is axes for line in found.line_)
    first = found.line_
    assert found.plot() is found
    assert found.ax_ is not axes and isinstance(found.figure_, Figure)
    for old, new in zip(first, found.line_, strict=True):
        assert np.array_equal(old.get_data(), new.get_data())


@pytest.mark.parametrize("display", ALL)
def test_keywords_reach_every_line(display: Any) -> None:
    found = draw(display, linewidth=3.25)
    assert {line.get_linewidth() for line in found.line_} == {3.25}


@pytest.mark.parametrize("display", ALL)
def test_a_notebook_shows_a_figure_of_its_own_only(display: Any) -> None:
    assert draw(display)._repr_png_().startswith(b"\x89PNG")
    assert draw(display, ax=Figure().subplots())._repr_png_() is None


@pytest.mark.parametrize("weighted", [False, True])
def test_roc_lines_are_the_audits(weighted: bool) -> None:
    """Every measured point is on the line, legends name the audit's AUCs, bands have its widths."""
    scores, y, group = people(3)
    weights = np.random.default_rng(0).random(len(y)) + 0.1 if weighted else None
    how = {"sensitive_features": group, "sample_weight": weights}
    found = FairROCDisplay.from_predictions(scores, y, **how)
    expected = audit(scores, y, **how)
    assert [line.get_label() for line in found.line_] == [f"{g.group} ({g.auc:.3f})" for g in expected.groups]
    texts = [text.get_text() for text in found.ax_.get_legend().get_texts()]
    assert texts == [line.get_label() for line in found.line_]
    mass = np.ones(len(y)) if weights is None else weights
    for curve, line, band, name in zip(found.before, found.line_, found.band_, expected.groups, strict=True):
        fpr, tpr = line.get_data()
        for threshold in (-0.5, 0.0, 1.0):
            in_group = group == name.group
            rates = [np.average((scores >= threshold)[in_group & c], weights=mass[in_group & c]) for c in (~y, y)]
            assert np.abs(np.stack((fpr, tpr), axis=1) - rates).sum(axis=1).min() < 1e-12
        assert name.band is not None and curve.band == name.band.bootstrap
        assert np.allclose(band.get_xy()[:-1], band_outline(fpr, tpr, curve.band))


def test_without_bootstrap_the_bands_are_those_of_dkw() -> None:
    scores, y, group = people()
    found = FairROCDisplay.from_predictions(scores, y, sensitive_features=group, bootstrap=0)
    expected = audit(scores, y, sensitive_features=group, bootstrap=0)
    assert [curve.band for curve in found.before] == [g.band.dkw for g in expected.groups if g.band]
    weights = np.linspace(1, 2, len(y))
    none = FairROCDisplay.from_predictions(scores, y, sensitive_features=group, sample_weight=weights, bootstrap=0)
    assert none.band_ == [] and none.ax_.get_legend().get_title().get_text() == "group (AUC)"


def test_bands_of_many_groups_are_drawn_on_demand() -> None:
    assert len(draw(FairROCDisplay, 6).band_) == 0
    assert len(draw(FairROCDisplay, 6, band=True).band_) == 6
    assert len(draw(FairROCDisplay, 2, band=False).band_) == 0


def test_gap_line_is_the_audits() -> None:
    scores, y, group = people(3)
    found = GapDisplay.from_predictions(scores, y, sensitive_features=group, epsilon=0.2)
    expected = audit(scores, y, sensitive_features=group, epsilon=0.2)
    (line,) = found.line_
    x, gap = line.get_data()
    assert gap.max() == expected.gap and x[gap.argmax()] == expected.gap_threshold
    assert line.get_drawstyle() == "steps-pre" and (np.diff(x) > 0).all()
    low, high = expected.gap_interval.bootstrap
    assert line.get_label() == f"before: largest gap {expected.gap:.3f} ({low:.3f} to {high:.3f})"
    assert set(found.epsilon_line_.get_ydata()) == {0.2}
    assert "ε = 0.2" in found.epsilon_line_.get_label()


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_the_gap_band_has_the_audits_interval(norm: object) -> None:
    """For the widths of DKW the largest lower and upper ends are the audit's."""
    scores, y, group = people(3)
    how = {"sensitive_features": group, "norm": norm, "bootstrap": 0}
    found, expected = GapDisplay.from_predictions(scores, y, **how), audit(scores, y, **how)
    assert np.allclose((found.before.low.max(), found.before.high.max()), expected.gap_interval.dkw)
    assert (found.before.low <= found.before.gap).all() and (found.before.gap <= found.before.high).all()
    assert found.ax_.get_ylim()[1] > found.before.high.max()
    vertices = found.band_[0].get_paths()[0].vertices[:, 1]
    assert np.isclose(vertices.max(), expected.gap_interval.dkw[1])


ASKED: list[dict[str, Any]] = [
    {"constraint": "equal_opportunity", "epsilon": 0.1},
    {"constraint": "demographic_parity", "epsilon": 0.1, "where": (0.2, 0.5)},
    {"constraint": "predictive_equality", "ratio": 0.7, "where": (0.2, 0.9)},
    {"epsilon": {"fpr": 0.2, "tpr": 0.1}},
]


def gap_by_hand(model: Any, accepted: np.ndarray, y: np.ndarray, group: np.ndarray) -> tuple[float, bool]:
    """The gap that goes with people's chances of being selected, and whether it counts."""
    names = np.unique(group)
    rates = {
        "equal_opportunity": [accepted[(group == g) & (y == 1)].mean() for g in names],
        "predictive_equality": [accepted[(group == g) & (y == 0)].mean() for g in names],
        "demographic_parity": [accepted[group == g].mean() for g in names],
    }
    low, high = model.where or (0.0, 1.0)
    counts = low - 1e-9 <= accepted.mean() <= high + 1e-9
    if model.tolerances is not None:
        far = [np.ptp(rates[name]) for name in ("predictive_equality", "equal_opportunity")]
        return max(min(model.tolerances) / own * gap for own, gap in zip(model.tolerances, far, strict=True)), counts
    apart, most = np.ptp(rates[model.constraint]), max(rates[model.constraint])
    return float(apart / most if model.ratio is not None and most > 0 else apart), counts


@pytest.mark.parametrize("how", ASKED, ids=str)
@pytest.mark.parametrize("groups", [2, 3])
def test_the_gap_is_that_of_the_models_constraint(how: dict[str, Any], groups: int) -> None:
    scores, y, group = people(groups)
    model = FairROC(salt=1, **how).fit(scores, y, sensitive_features=group)
    found = GapDisplay.from_estimator(model, scores, y, sensitive_features=group, bootstrap=0)
    certificate = model.certificate_
    assert found.before.largest == pytest.approx(certificate.gap_before, abs=1e-12)
    assert found.after.largest == pytest.approx(certificate.gap, abs=1e-12)
    for place in range(0, len(found.before.thresholds), 7):
        threshold = found.before.thresholds[place]
        gap, counts = gap_by_hand(model.model_, (scores >= threshold).astype(float), y, group)
        assert found.before.gap[place] == pytest.approx(gap, abs=1e-12)
        assert found.before.counts is None or found.before.counts[place] == counts
        grey = any(low <= threshold <= high for low, high in found.before.outside)
        assert counts or grey
    for curve in (found.before, found.after):
        assert (curve.low <= curve.gap + 1e-12).all() and (curve.high >= curve.gap - 1e-12).all()
    assert model.model_.fairness.formula in found.ax_.get_ylabel()
    assert bool(found.before.outside) == ("where" in how)
    shaded = [patch for patch in found.ax_.patches if patch.get_alpha() == 0.15]
    assert len(shaded) == len(found.before.outside)


def test_words_of_ratios() -> None:
    scores, y, group = people()
    model = FairROC(salt=1, constraint="equal_opportunity", ratio=0.75).fit(scores, y, sensitive_features=group)
    found = GapDisplay.from_estimator(model, scores, y, sensitive_features=group, bootstrap=0)
    assert found.epsilon_line_ is not None
    assert (found.epsilon_line_.get_label(), found.epsilon_line_.get_ydata()[0]) == ("allowed: ratio 0.75", 0.25)
    roc = FairROCDisplay.from_estimator(model, scores, y, sensitive_features=group, bootstrap=0)
    assert roc.axes_[1].get_title(loc="left") == "After: the fair score, TPR ratio 0.75"


def test_predictions_are_compared_as_asked() -> None:
    scores, y, group = people()
    how: dict[str, Any] = {"sensitive_features": group, "constraint": "demographic_parity", "where": (0.1, 0.3)}
    found = GapDisplay.from_predictions(scores, y, bootstrap=0, **how)
    assert found.before.largest == audit(scores, y, bootstrap=0, **how).gap


def test_frontier_of_ratios() -> None:
    scores, y, group = people()
    how: dict[str, Any] = {"sensitive_features": group, "promise": "fitted", "constraint": "equal_opportunity"}
    how["ratios"] = [0.7, 0.9]
    found = FrontierDisplay.from_predictions(scores, y, **how)
    assert found.line_[0].get_xdata().tolist() == [0.9, 0.7]
    assert found.before_.get_xdata()[0] == 1 - frontier(scores, y, bound=False, **how).before.gap
    assert "smallest over largest TPR" in found.axes_[-1].get_xlabel()


def test_gap_without_epsilon_has_no_line() -> None:
    found = draw(GapDisplay, band=False)
    assert found.epsilon_line_ is None and found.band_ == [] and len(found.line_) == 1


@pytest.mark.parametrize("display", SCORED)
def test_scores_on_another_scale_are_refused(post: FairROC, display: Any) -> None:
    scores, y, group = people()
    for model in (post, post.model_):
        with pytest.raises(DataError, match="another scale, such as logits"):
            display.from_estimator(model, 100 + scores, y, sensitive_features=group)


def test_after_is_exact_over_the_draw(post: FairROC) -> None:
    """On the people fitted, the certificate's gap and AUCs; the bands keep the original score's widths."""
    roc, gap = shown(FairROCDisplay, post), shown(GapDisplay, post)
    assert np.allclose([curve.auc for curve in roc.after], [g.auc for g in post.certificate_.groups])
    assert [curve.band for curve in roc.after] == [curve.band for curve in roc.before]
    assert np.isclose(gap.after.largest, post.certificate_.gap) and gap.epsilon == 0.1
    assert np.isclose(gap.before.largest, post.certificate_.gap_before)
    assert len(roc.line_) == 4 and len(roc.axes_) == 2 and len(gap.line_) == 2
    assert [axes.get_title("left") for axes in roc.axes_][1] == "After: the fair score, ε = 0.1"
    for line in roc.line_:
        fpr, tpr = line.get_data()
        assert (fpr[0], tpr[0]) == (0, 0) and np.allclose((fpr[-1], tpr[-1]), 1)
        assert (np.diff(fpr) >= -1e-12).all() and (np.diff(tpr) >= -1e-12).all()


def test_the_gap_after_is_that_of_the_acceptance_rates(post: FairROC) -> None:
    """At thresholds on the score's scale, against the model's own probabilities of acceptance."""
    scores, y, group = people()
    after = GapDisplay.from_estimator(post, scores, y, sensitive_features=group).after
    for threshold in np.linspace(-1.5, 2.5, 9) + 0.003:
        chance = post.acceptance_rate(scores, sensitive_features=group, threshold=threshold)
        rates = [[chance[(group == g) & (y == label)].mean() for label in (0, 1)] for g in ("g0", "g1")]
        expected = np.abs(np.diff(rates, axis=0)).sum()
        assert np.isclose(np.interp(threshold, after.thresholds[::-1], after.gap[::-1]), expected, atol=1e-3)


@pytest.mark.filterwarnings("ignore:ties are drawn")
@pytest.mark.parametrize("how", [{}, {"draw": "all"}, {"method": "froc"}], ids=str)
def test_a_higher_score_is_never_less_likely_accepted(how: dict[str, Any]) -> None:
    """What the bands of the fair score rest on."""
    scores, y, group = people()
    post = FairROC(epsilon=0.1, salt=1, **how).fit(scores, y, sensitive_features=group)
    grid = np.linspace(scores.min(), scores.max(), 300)
    for threshold in (-1.0, 0.2, 1.0, 2.0):
        for group in ("g0", "g1"):
            chance = post.acceptance_rate(grid, sensitive_features=[group] * 300, threshold=threshold)
            assert (np.diff(chance) >= -1e-12).all()


@pytest.mark.parametrize("display", SCORED)
def test_all_estimators_show_the_same(display: Any, post: FairROC) -> None:
    one = shown(display, post)
    for other in (post.model_, post.fitted_):
        for a, b in zip(one.line_, shown(display, other).line_, strict=True):
            assert np.array_equal(a.get_data(), b.get_data())


@pytest.mark.parametrize("display", SCORED)
def test_a_classifier_is_shown_by_its_base_score(display: Any) -> None:
    scores, y, group = people()
    X, words = scores[:, None], np.where(y, "yes", "no")
    clf = FairROCClassifier(LogisticRegression(), epsilon=0.1, salt=1, pos_label="no", sensitive_features=None)
    clf.fit(-X, words, sensitive_features=group)
    one = display.from_estimator(clf, -X, words, sensitive_features=group)
    how = {"sensitive_features": group, "pos_label": "no"}
    same = display.from_estimator(clf.model_, clf.base_score(-X), words, **how)
    for a, b in zip(one.line_, same.line_, strict=True):
        assert np.array_equal(a.get_data(), b.get_data())


def test_a_score_that_is_fair_already_is_shown_twice() -> None:
    scores, y, group = people()
    post = FairROC(epsilon=2, salt=1).fit(scores, y, sensitive_features=group)
    found = shown(FairROCDisplay, post)
    for before, after in zip(found.before, found.after, strict=True):
        assert np.array_equal(before.fpr, after.fpr) and np.array_equal(before.tpr, after.tpr)
    assert np.array_equal(*(line.get_ydata() for line in shown(GapDisplay, post).line_))


def test_other_scores_as_after(post: FairROC) -> None:
    """Each of the two is audited as if alone."""
    scores, y, group = people()
    fair = post.transform(scores, sensitive_features=group, ids=np.arange(len(y)))
    found = GapDisplay.from_predictions(scores, y, sensitive_features=group, fair_scores=fair)
    for curve, alone in zip((found.before, found.after), (scores, fair), strict=True):
        expected = audit(alone, y, sensitive_features=group)
        assert (curve.largest, curve.interval) == (expected.gap, expected.gap_interval.bootstrap)


@pytest.mark.parametrize("display", [FairROCDisplay, ScoreDisplay])
def test_which_score_on_which_axes(display: Any, post: FairROC) -> None:
    found = shown(display, post)
    before, after, *_ = found.axes_
    titles = [axes.get_title("left") for axes in found.axes_]
    pair = Figure().subplots(1, 2)
    assert found.plot(pair).axes_ == tuple(pair)
    assert found.plot(Figure().subplots()).ax_.get_title("left") == titles[1]
    assert found.plot(which="before").ax_.get_title("left") == titles[0]
    assert before is not after and len(found.axes_) == 1
    refuses("ax must be 1 matplotlib Axes, or None", found.plot, pair, which="before")
    refuses(r"which must be 'before', 'after'.* or None, got 'both'", found.plot, which="both")
    refuses("which='after' needs a fair score", draw, display, which="after")


@pytest.mark.parametrize("weighted", [False, True])
def test_score_shares_are_counted(weighted: bool) -> None:
    scores, y, group = people()
    weights = np.random.default_rng(0).random(len(y)) if weighted else None
    found = ScoreDisplay.from_predictions(scores, y, sensitive_features=group, sample_weight=weights, bins=12)
    edges = np.linspace(scores.min(), scores.max(), 13)
    assert np.allclose(found.before.edges, edges)
    for g, name in enumerate(("g0", "g1")):
        for c in (0, 1):
            part = (group == name) & (y == c)
            counts, _ = np.histogram(scores[part], edges, weights=None if weights is None else weights[part])
            assert np.allclose(found.before.shares[g, c], counts / counts.sum())
            x, height = found.line_[2 * g + c].get_data()
            assert np.array_equal(x[::2], found.before.edges)
            assert np.isclose(np.abs(height - g).max(), 0.45) and (np.sign(g - height) != (-1) ** c).all()
    assert [tick.get_text() for tick in found.ax_.get_yticklabels()] == ["g0", "g1"]


def test_score_shares_after_are_those_of_many_draws(post: FairROC) -> None:
    scores, y, group = people()
    found = ScoreDisplay.from_estimator(post, scores, y, sensitive_features=group, bins=10).after
    assert np.allclose(found.shares.sum(axis=2), 1) and (found.shares >= 0).all()
    draws = [post.transform(scores, sensitive_features=group, random_state=seed) for seed in range(40)]
    for g, name in enumerate(("g0", "g1")):
        for c in (0, 1):
            part = (group == name) & (y == c)
            counts, _ = np.histogram(np.concatenate([fair[part] for fair in draws]), found.edges)
            assert np.abs(found.shares[g, c] - counts / counts.sum()).max() < 0.02


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_a_model_that_draws_nobody_shows_its_maps(epsilon: float) -> None:
    """Beside the scores: lines through what transform gives, with a legend; by name, or on three Axes."""
    scores, y, group = people(3)
    never = FairROC(epsilon=epsilon, draw="never", salt=1).fit(scores, y, sensitive_features=group)
    found = ScoreDisplay.from_estimator(never, scores, y, sensitive_features=group)
    assert [len(axes.lines) for axes in found.axes_] == [9, 9, 4] and len(found.line_) == 15
    *_, axes = found.axes_
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["as it was", "g0", "g1", "g2"]
    fair = never.transform(scores, sensitive_features=group)
    for name, line in zip(("g0", "g1", "g2"), found.line_[-3:], strict=True):
        x, y_line = line.get_data()
        own = group == name
        assert (np.diff(x) >= 0).all() and x[0] <= scores[own].min() and scores[own].max() <= x[-1]
        assert np.interp(scores[own], x, y_line) == pytest.approx(fair[own], abs=1e-9)
    alone = found.plot(which="map")
    assert len(alone.axes_) == 1 and len(alone.line_) == 3 and not alone.fill_
    assert len(found.plot(Figure().subplots(1, 2)).line_) == 12 and len(found.plot(Figure().subplots(1, 3)).line_) == 15


def test_maps_need_a_model_that_draws_nobody() -> None:
    refuses("which='map' needs a model that draws nobody, and there is none", draw, ScoreDisplay, which="map")


def test_few_scores_have_bins_of_their_own() -> None:
    scores, y, group = people(digits=0)
    edges = ScoreDisplay.from_predictions(scores, y, sensitive_features=group).before.edges
    assert np.allclose(edges[:-1] + 0.5, np.unique(scores))
    with pytest.raises(DataError, match="bins must be a whole number of at least 2, got 1"):
        ScoreDisplay.from_predictions(scores, y, sensitive_features=group, bins=1)


def test_one_score_for_all() -> None:
    _, y, group = people()
    assert ScoreDisplay.from_predictions(np.ones(len(y)), y, sensitive_features=group).before.shares.tolist() == [
        [[1], [1]],
        [[1], [1]],
    ]


@pytest.mark.parametrize("groups", [2, 3])
def test_frontier_lines_are_the_frontiers(groups: int) -> None:
    scores, y, group = people(groups)
    found = frontier(scores, y, sensitive_features=group, epsilons=[0, 0.1, 0.3])
    shown = FrontierDisplay.from_frontier(found)
    table = found.to_columns()
    expected = [table["auc"], *(table[f"auc[g{g}]"] for g in range(groups))]
    for line, aucs in zip(shown.line_, expected, strict=True):
        assert line.get_xdata().tolist() == table["epsilon"] and line.get_ydata().tolist() == aucs
    assert shown.bound_line_.get_ydata().tolist() == table["auc_bound"]
    assert shown.before_.get_xydata().tolist() == [[found.before.gap, found.before.auc]]
    assert shown.line_[1].get_label() == "g0"
    drawn = [table["randomised_share"], *(table[f"drawn[g{g}]"] for g in range(groups))]
    assert shown.axes_[1].get_ylabel() == "share of people drawn" and len(shown.axes_) == 2
    assert [line.get_ydata().tolist() for line in shown.drawn_line_] == drawn
    assert all(line.get_xdata().tolist() == table["epsilon"] for line in shown.drawn_line_)
    how: dict[str, Any] = {"sensitive_features": group, "promise": "fitted", "epsilons": [0, 0.1, 0.3]}
    again = FrontierDisplay.from_predictions(scores, y, **how)
    assert again.found == found
    assert len(again.plot(groups=False, bound=False).line_) == 1 and again.bound_line_ is None


def test_the_share_drawn_has_axes_where_there_are_some_for_it() -> None:
    """One Axes that is given shows the AUC alone; where nobody is drawn there is nothing to show."""
    scores, y, group = people()
    found = frontier(scores, y, sensitive_features=group, epsilons=[0, 0.1])
    for given, lines in ((Figure().subplots(), 0), (Figure().subplots(2), 3)):
        shown = FrontierDisplay.from_frontier(found, ax=given)
        assert (len(shown.line_), len(shown.drawn_line_)) == (3, lines)
        assert shown._repr_png_() is None
    how: dict[str, Any] = {"sensitive_features": group, "promise": "fitted", "epsilons": [0, 0.1]}
    never = FrontierDisplay.from_predictions(scores, y, **how, draw="never")
    assert len(never.axes_) == 1 and never.drawn_line_ == [] and never._repr_png_() is not None


def test_a_frontier_without_bound_and_with_one_epsilon() -> None:
    found = draw(FrontierDisplay, epsilons=[0.1], bound=False)
    assert found.bound_line_ is None and found.line_[0].get_marker() == "o"


def test_many_groups_are_told_apart() -> None:
    found = draw(FairROCDisplay, 12)
    assert len({(line.get_color(), str(line._dash_pattern)) for line in found.line_}) == 12
    (legend,) = found.figure_.legends
    assert len(legend.get_texts()) == 12 and found.ax_.get_legend() is None
    assert len({str(look(g)) for g in range(32)}) == 32


def test_a_crowd_on_given_axes_has_its_legend_beside() -> None:
    axes = Figure().subplots()
    draw(FairROCDisplay, 12, ax=axes)
    assert len(axes.get_legend().get_texts()) == 12


def test_names_are_short_and_read_as_they_are() -> None:
    """Money is no formula, an underscore hides no entry, and long names that begin alike differ."""
    names = ["_hidden", "$1 to $2", "x" * 60 + "a", "x" * 60 + "b", "one\ntwo", "y" * 20 + "1" + "z" * 20]
    names.append("y" * 20 + "2" + "z" * 20)
    found = labels(names)
    assert found[:2] == [" _hidden", r"\$1 to \$2"] and found[4] == "one two"
    assert len(set(found)) == len(names) and max(map(len, found)) <= 26
    scores, y, group = people(7)
    group = np.array(names)[[int(g[1:]) for g in group]]
    display = FairROCDisplay.from_predictions(scores, y, sensitive_features=group)
    display.figure_.canvas.draw()
    assert len(display.ax_.get_legend().get_texts()) == 7


def test_large_data_make_small_lines() -> None:
    """Extremes and ends stay; nothing is off by more than a step of the grid."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.random((2, 100_000)))
    kept = thin_path(x, y)
    assert len(kept) <= MOST_POINTS + 2 and kept[0] == 0 and kept[-1] == len(x) - 1
    assert np.diff((x + y)[kept]).max() < 2 * 2 / MOST_POINTS
    lines = [rng.random(100_000), rng.random(100_000)]
    kept = thin_peaks(lines)
    assert len(kept) <= MOST_POINTS + 2
    for line in lines:
        assert line[kept].max() == line.max() and line[kept].min() == line.min()


def test_band_outline_covers_the_curve_and_stays_in_the_square() -> None:
    fpr, tpr = np.array([0.0, 0.2, 1.0]), np.array([0.0, 0.7, 1.0])
    outline = band_outline(fpr, tpr, (0.1, 0.05))
    assert outline.min() == 0 and outline.max() == 1
    assert [0.1, 0.75] in np.round(outline, 12).tolist() and [0.3, 0.65] in np.round(outline, 12).tolist()


def test_gap_band_of_groups_that_may_be_equal_begins_at_zero() -> None:
    rates = np.array([[[0.5], [0.5]], [[0.55], [0.5]]])
    low, high = gap_band(rates, ((0.1, 0.1), (0.1, 0.1)), distance_of(np.inf))
    assert low[0] == 0 and np.isclose(high[0], 0.25)


def test_a_display_of_ones_own_curves() -> None:
    half = np.array([0.0, 0.5, 1.0])
    found = FairROCDisplay(before=[GroupCurve("a", half, half, 0.5), GroupCurve("b", half, half, 0.5)]).plot()
    assert [line.get_label() for line in found.line_] == ["a (0.500)", "b (0.500)"] and found.band_ == []


@pytest.mark.parametrize("display", SCORED)
def test_what_cannot_be_shown(display: Any) -> None:
    scores, y, group = people()
    with pytest.raises(DataError, match="must be a fitted FairROC, FairROCClassifier or FairModel, got Logistic"):
        display.from_estimator(LogisticRegression(), scores, y, sensitive_features=group)
    with pytest.raises(NotFittedError):
        display.from_estimator(FairROC(), scores, y, sensitive_features=group)
    with pytest.raises(NotFittedError):
        display.from_estimator(FairROCClassifier(LogisticRegression()), scores[:, None], y, sensitive_features=group)
    refuses("sensitive_features must be given", display.from_estimator, FairROC(), scores, y)


@pytest.mark.parametrize("display", ALL)
def test_without_matplotlib(display: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairroc.plot.palette.find_spec", lambda name: None)
    with pytest.raises(
        FairrocError, match=r"a picture needs matplotlib; install it with: pip install 'fairroc\[plot\]'"
    ):
        draw(display)


def test_pyplot_stays_out_and_matplotlib_is_loaded_late() -> None:
    code = (
        "import sys, fairroc; [getattr(fairroc, n) for n in fairroc.__all__]; import fairroc.plot\n"
        "[getattr(fairroc.plot, n) for n in fairroc.plot.__all__]\n"
        "print('matplotlib' in sys.modules)\n"
        "import test_plot_displays as t; [t.draw(d) for d in t.ALL]; print('matplotlib.pyplot' in sys.modules)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == ["False", "False"]


def test_names_are_exported() -> None:
    assert fairroc.plot.__all__ == sorted(fairroc.plot.__all__, key=lambda n: (not n.isupper(), n[0].islower(), n))
    for display in ALL:
        assert getattr(fairroc, display.__name__) is display is getattr(fairroc.plot, display.__name__)
        assert display.__name__ in fairroc.__all__ and display.__name__ in dir(fairroc.plot)
    with pytest.raises(AttributeError, match=r"module 'fairroc.plot' has no attribute 'show'"):
        fairroc.plot.show  # noqa: B018
