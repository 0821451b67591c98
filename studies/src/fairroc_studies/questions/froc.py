"""The paper's method beside the exact one: AUCs on score files, growth with the number of queries, pictures.

    python -m fairroc_studies froc                         # five tables, some seconds
    python -m fairroc_studies froc --acceptance -o a.png   # why the paper's points are not a score

Score files (CSV with score, label and group) are those of a folder ``scores`` in the data folder (environment variable
FAIRROC_DATA); without them all tables but the last two are left out, and the picture is of made-up curves. The scores
are queried at 100 thresholds, from 0 to 1 but for the table of fits (over the range of the scores), and the norm is
L1. `fairroc froc` draws the geometry of one index.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.bound import pooled_bound
from fairroc.core.constraint import equalized_odds
from fairroc.core.coupling import couple
from fairroc.core.optimal import FairCurves, optimal
from fairroc.core.roc import Population, RocCurve, roc_curve
from fairroc.fitting.certificate import certify
from fairroc.fitting.fit import Fitted, fit
from fairroc.froc.algorithm import Froc, algorithm_1, coherent_curves, froc
from fairroc.froc.diagnostics import diagnose
from fairroc.froc.geometry import upper_hull
from fairroc.froc.mixture import Mixture, triangle_mixture
from fairroc.options import Options
from fairroc.plot.palette import GROUPS
from fairroc_studies.harness.people import Part
from fairroc_studies.paper.rules import counted
from fairroc_studies.problems.scores import score_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILONS = (0.001, 0.01, 0.02, 0.05, 0.1)
QUERIES = 100
SIZES = (50, 100, 1_000, 10_000, 100_000)
STAIRS = (50, 100, 1_000, 4_000)  # k^2 / 11 cuts


def curves_of(people: Part) -> list[RocCurve]:
    parts = [people.take(people.groups == g) for g in range(people.count)]
    return [roc_curve(part.scores, part.labels) for part in parts]


def made_up() -> list[RocCurve]:
    """Two groups with bell-shaped scores."""
    rng = np.random.default_rng(0)
    y = rng.random((2, 4000)) < 0.4
    scores = 1 / (1 + np.exp(1 - rng.normal(size=y.shape) - y * np.array([[2.2], [1.2]])))
    return [roc_curve(s, label) for s, label in zip(scores, y, strict=True)]


def thresholds() -> NDArray[np.float64]:
    return np.linspace(0, 1, QUERIES)[::-1]


# ---- AUCs --------------------------------------------------------------------------------------------------


def auc_table() -> None:
    """Both groups' AUC after Algorithm 1, of the score made of it, and of the optimum, all from the same queries."""
    print("| scores | ε | group | before | Algorithm 1 | froc score | its gap | optimum at that gap | optimum wins "
          "| queries unfair | above hull | steps back | 4.2 holds |")  # fmt: skip
    print("|---" * 13 + "|")
    for name, people in score_files().items():
        for epsilon in EPSILONS:
            for line in auc_rows(people.names, curves_of(people), epsilon):
                print(f"| {name} | {epsilon:g} | {line} |")


def auc_rows(groups: tuple[str, ...], curves: list[RocCurve], epsilon: float) -> list[str]:
    done = froc(curves, thresholds(), epsilon)
    stated = diagnose(done, curves)
    hulls = [upper_hull(queries) for queries in done.queries]
    share = np.full(len(curves), 1 / len(curves))
    levels = couple(coherent_curves(done, hulls), share, share)
    gap = levels.gap(equalized_odds(1))
    best = optimal(hulls, gap, equalized_odds(1)).curves
    lines = []
    for g, (group, figures, auc) in enumerate(zip(groups, stated.groups, levels.group_aucs(), strict=True)):
        moved = done.shift[g] > 0
        holds = int((stated.between & stated.two_cuts)[g][moved].sum())
        lines.append(
            f"{group} | {figures.auc_before:.4f} | {figures.auc_after:.4f} | {auc:.4f} | {gap:.4f} "
            f"| {best[g].auc:.4f} | {best[g].auc - auc:.4f} | {stated.unfair} of {QUERIES} | {figures.above_hull} "
            f"| {figures.non_monotone} | {holds} of {int(moved.sum())}"
        )
    return lines


def pla_table() -> None:
    """What joining 100 queries loses, with both bounds."""
    print("| scores | group | L_PLA | ½ Σ ΔFPR ΔTPR | u_T u_F / 2k, slopes from the queries |")
    print("|---|---|---|---|---|")
    for name, people in score_files().items():
        curves = curves_of(people)
        stated = diagnose(froc(curves, thresholds(), 0.05), curves)
        for group, figures in zip(people.names, stated.groups, strict=True):
            lost = figures.losses
            print(f"| {name} | {group} | {lost.pla:.4f} | {lost.pla_bound:.4f} | {lost.pla_paper:.4f} |")


# ---- fits --------------------------------------------------------------------------------------------------


def fit_table() -> None:
    """Fits by the paper's method, ties drawn, and by the exact one at its gap: AUCs of groups and of all people."""
    print("| scores | ε | optimum wins in | froc, all people | optimum, all people | its curves allow (search) "
          "| bound, these queries | optimum, all scores | bound, all scores |")  # fmt: skip
    print("|---" * 9 + "|")
    for name, people in score_files().items():
        for epsilon in EPSILONS:
            print(f"| {name} | {epsilon:g} | {fit_row(people, epsilon)} |")


def fit_row(some: Part, epsilon: float) -> str:
    paper = fitted(some, "froc", epsilon)
    gap = paper.performance.gap
    best = fitted(some, "optimal", gap)
    wins = np.array(best.performance.group_aucs) - paper.performance.group_aucs
    by_group = ", ".join(f"{name} {win:.4f}" for name, win in zip(some.names, np.abs(wins.round(6)), strict=True))
    assert (wins > -1e-6).all()
    people = best.population
    hulls = [curve.hull for curve in people.curves]
    bound = pooled_bound(hulls, people.weights0, people.weights1, epsilon, equalized_odds(1)).auc
    whole = certify(fitted(some, "optimal", epsilon, None))
    allowed = best_coupling(optimal(hulls, gap, equalized_odds(1)), people)
    figures = (paper.performance.auc, best.performance.auc, allowed, bound, whole.auc, whole.auc_bound)
    return f"{by_group} | " + " | ".join(f"{figure:.5f}" for figure in figures)


def fitted(people: Part, method: str, epsilon: float, queries: int | None = QUERIES) -> Fitted:
    asked = Options.checked(epsilon=epsilon, promise="fitted", method=method, queries=queries, draw="all")
    return fit(counted(people), asked, salt=0)


def best_coupling(fair: FairCurves, people: Population, steps: int = 4000) -> float:
    """The largest AUC of all people over the ways to walk two curves within epsilon of each other, by search.

    A path over the grid of both groups' u goes right, up or both, through points within epsilon and one step of the
    grid: so this is a little above what is possible.
    """
    grid = [np.unique(np.concatenate((np.linspace(0, 2, steps + 1), curve.u))) for curve in fair.curves]
    height = [curve.at(u) for curve, u in zip(fair.curves, grid, strict=True)]
    fpr = [w * (u - v) / 2 for w, u, v in zip(people.weights0, grid, height, strict=True)]
    tpr = [w * (u + v) / 2 for w, u, v in zip(people.weights1, grid, height, strict=True)]
    limit, wall = 2 * fair.radius + 2 / steps, 10.0
    best = np.full(len(grid[1]), -wall)
    best[0] = 0.0
    for i, (u, v) in enumerate(zip(grid[0], height[0], strict=True)):
        x, y = fpr[0][i] + fpr[1], tpr[0][i] + tpr[1]
        if i:
            x0, y0 = fpr[0][i - 1] + fpr[1], tpr[0][i - 1] + tpr[1]
            across = best[:-1] + (x[1:] - x0[:-1]) * (y[1:] + y0[:-1]) / 2
            best = best + (x - x0) * (y + y0) / 2
            best[1:] = np.maximum(best[1:], across)
        out = (np.abs(grid[1] - u) > limit) | (np.abs(height[1] - v) > limit)
        along = np.concatenate(([0.0], np.cumsum(np.diff(x) * (y[1:] + y[:-1]) / 2))) - wall * np.cumsum(out)
        best = along + np.maximum.accumulate(np.where(out, -wall, best) - along)
        best[out | (best < 0)] = -wall
    return float(best[-1])


# ---- growth ------------------------------------------------------------------------------------------------


def families(k: int) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Upper and lower queries: smooth concave ones at the same fpr, for which Assumption 4.2 holds; noisy ones; and a
    staircase whose steps run along the boundaries and cut them about k times each."""
    fpr = np.arange(1, k + 1) / (k + 1)
    smooth = [np.stack((fpr, fpr**power), axis=1) for power in (0.3, 0.6)]
    rng = np.random.default_rng(k)
    steps = [np.abs(rng.normal(0.1, 1.0, (k + 1, 2))) ** 3 for _ in range(2)]
    noise = [np.cumsum(step, axis=0)[:-1] / step.sum(axis=0) for step in steps]
    rough = [np.sort(0.7 * s + 0.3 * n, axis=0) for s, n in zip(smooth, noise, strict=True)]
    stairs = np.minimum(np.arange(k)[:, None] + np.array([0, 1]), k) // 2 / ((k + 1) // 2)
    beside = np.clip(fpr[:, None] + np.array([0.05, 1 / k - 0.05]), 0.0, 1.0)
    return {"smooth": (smooth[0], smooth[1]), "noisy": (rough[0], rough[1]), "staircase": (stairs, beside)}


def growth_table() -> None:
    """Seconds of Algorithm 1 (the best of three) by the number of queries."""
    print("| curves | k | cuts | most at one query | seconds | exponent since the row above |")
    print("|---|---|---|---|---|---|")
    for name in families(2):
        before: tuple[int, float] | None = None
        for k in STAIRS if name == "staircase" else SIZES:
            up, down = families(k)[name]
            seconds = np.inf
            for _ in range(3):
                begin = time.perf_counter()
                cuts = algorithm_1(up, down, 0.1 if name == "staircase" else 0.05).cuts
                seconds = min(seconds, time.perf_counter() - begin)
            power = "" if before is None else f"{np.log(seconds / before[1]) / np.log(k / before[0]):.2f}"
            print(f"| {name} | {k:,} | {cuts.sum():,} | {cuts.max()} | {seconds:.4f} | {power} |")
            before = k, seconds


# ---- choices -----------------------------------------------------------------------------------------------


def choices_table() -> None:
    """What two choices that the paper leaves cost the score: AUC below the optimum, mean and most of four groups."""
    rng = np.random.default_rng(0)
    y = rng.random((4, 4000)) < 0.4
    centre, spread = np.array([[2.2], [1.7], [1.5], [1.2]]), np.array([[1.0], [0.8], [1.4], [1.0]])
    scores = 1 / (1 + np.exp(1 - spread * rng.normal(size=y.shape) - y * centre))
    curves = [roc_curve(s, label) for s, label in zip(scores, y, strict=True)]
    print("| ε | neighbours, segments | neighbours, area | all, segments | all, area |")
    print("|---|---|---|---|---|")
    for epsilon in EPSILONS:
        best = optimal(
            [upper_hull(q) for q in froc(curves, thresholds(), epsilon).queries], epsilon, equalized_odds(1)
        ).curves
        cells = []
        ways: tuple[tuple[Any, Any], ...] = tuple(product(("neighbours", "all"), ("segments", "area")))
        for pairs, crossing in ways:
            done = froc(curves, thresholds(), epsilon, pairs=pairs, crossing=crossing)
            made = coherent_curves(done, [curve.hull for curve in curves]).curves
            short = [high.auc - low.auc for high, low in zip(best, made, strict=True)]
            cells.append(f"{np.mean(short):.4f}, {max(short):.4f}")
        print(f"| {epsilon:g} | {' | '.join(cells)} |")


# ---- pictures ----------------------------------------------------------------------------------------------


def run_for_pictures(epsilon: float) -> tuple[Froc, int]:
    """A run, and the group with the larger AUC."""
    files = score_files()
    curves = curves_of(files["adult_lr"]) if "adult_lr" in files else made_up()
    return froc(curves, thresholds(), epsilon), int(np.argmax([curve.auc for curve in curves]))


def acceptance_figure(mixture: Mixture, scores: NDArray[np.float64], thresholds: NDArray[np.float64]) -> Figure:
    """Chance of a few people to be selected under every threshold's own classifier; where it falls it is no score."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    for i, (row, score) in enumerate(zip(mixture.acceptance(scores), scores, strict=True)):
        axes.plot(thresholds, row, color=GROUPS[i], linewidth=1.8, label=f"score {score:.2f}")
        falls = np.flatnonzero(np.diff(row) < -1e-9)
        for at in falls:
            axes.plot(thresholds[at : at + 2], row[at : at + 2], color="black", linewidth=2.6, zorder=4)
    axes.plot([], [], color="black", linewidth=2.6, label="falls, though the threshold is milder")
    axes.set(xlabel="threshold, from strict to mild", ylabel="probability of being selected")
    axes.set_xlim(thresholds.max(), thresholds.min())
    axes.set_ylim(-0.02, 1.02)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="best", frameon=False)
    return figure


def draw(arguments: Any) -> None:
    done, group = run_for_pictures(arguments.epsilon)
    mixture = triangle_mixture(done.points[group], done.queries[group], done.thresholds)
    acceptance_figure(mixture, np.array([0.8, 0.5, 0.2]), done.thresholds).savefig(arguments.output, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--acceptance", action="store_true", help="draw acceptance probabilities by threshold")
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("-o", "--output", default="froc.png")
    arguments = parser.parse_args()
    if arguments.acceptance:
        draw(arguments)
        return
    for table in (auc_table, fit_table, pla_table, choices_table, growth_table):
        table()
        print()
