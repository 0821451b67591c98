"""The paper's method beside the exact one: AUCs on score files, growth with the number of queries, pictures.

    python benchmarks/froc.py                         # three tables, a few seconds
    python benchmarks/froc.py --draw 60 -o g.png      # the geometry of one index
    python benchmarks/froc.py --acceptance -o a.png   # why the paper's points are not a score

Score files (CSV with score, label and group) are those of a folder ``scores`` in the data folder (environment variable
FAIRROC_DATA); without them the first two tables are left out, and pictures are of made-up curves. The scores are
queried at 100 thresholds from 0 to 1, and the norm is L1.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.coupling import couple
from fairroc.core.froc import Froc, algorithm_1, froc
from fairroc.core.froc_curves import coherent_curves
from fairroc.core.froc_diagnostics import diagnose
from fairroc.core.froc_geometry import upper_hull
from fairroc.core.froc_mixture import triangle_mixture
from fairroc.core.optimal import optimal
from fairroc.core.roc import RocCurve, roc_curve

FILES = ("adult_lr", "adult_rf10", "compas_lr", "compas_rf10")
EPSILONS = (0.001, 0.01, 0.02, 0.05, 0.1)
QUERIES = 100
SIZES = (50, 100, 1_000, 10_000, 100_000)


def score_files() -> dict[str, tuple[list[str], list[RocCurve]]]:
    """Group names and ROC curves of every score file there is."""
    folder = Path(os.environ.get("FAIRROC_DATA", "data")) / "scores"
    return {name: read(folder / f"{name}.csv.gz") for name in FILES if (folder / f"{name}.csv.gz").exists()}


def read(path: Path) -> tuple[list[str], list[RocCurve]]:
    with gzip.open(path, "rt") as lines:
        next(lines)
        rows = np.array([line.strip().split(",") for line in lines])
    names = sorted(set(rows[:, 2]))
    parts = [rows[rows[:, 2] == name] for name in names]
    return names, [roc_curve(part[:, 0].astype(float), part[:, 1] == "1") for part in parts]


def made_up() -> tuple[list[str], list[RocCurve]]:
    """Two groups with bell-shaped scores."""
    rng = np.random.default_rng(0)
    y = rng.random((2, 4000)) < 0.4
    scores = 1 / (1 + np.exp(1 - rng.normal(size=y.shape) - y * np.array([[2.2], [1.2]])))
    return ["upper", "lower"], [roc_curve(s, label) for s, label in zip(scores, y, strict=True)]


def thresholds() -> NDArray[np.float64]:
    return np.linspace(0, 1, QUERIES)[::-1]


# ---- AUCs --------------------------------------------------------------------------------------------------


def auc_table() -> None:
    """Both groups' AUC after Algorithm 1, of the score made of it, and of the optimum, all from the same queries."""
    print("| scores | ε | group | before | Algorithm 1 | froc score | its gap | optimum at that gap | optimum wins "
          "| queries unfair | above hull | steps back | 4.2 holds |")  # fmt: skip
    print("|---" * 13 + "|")
    for name, (groups, curves) in score_files().items():
        for epsilon in EPSILONS:
            for line in auc_rows(groups, curves, epsilon):
                print(f"| {name} | {epsilon:g} | {line} |")


def auc_rows(groups: list[str], curves: list[RocCurve], epsilon: float) -> list[str]:
    done = froc(curves, thresholds(), epsilon)
    stated = diagnose(done, curves)
    hulls = [upper_hull(queries) for queries in done.queries]
    share = np.full(len(curves), 1 / len(curves))
    levels = couple(coherent_curves(done, hulls), share, share)
    best = optimal(hulls, levels.gap(1), 1).curves
    lines = []
    for g, (group, figures, auc) in enumerate(zip(groups, stated.groups, levels.group_aucs(), strict=True)):
        moved = done.shift[g] > 0
        holds = int((stated.between & stated.two_cuts)[g][moved].sum())
        lines.append(
            f"{group} | {figures.auc_before:.4f} | {figures.auc_after:.4f} | {auc:.4f} | {levels.gap(1):.4f} "
            f"| {best[g].auc:.4f} | {best[g].auc - auc:.4f} | {stated.unfair} of {QUERIES} | {figures.above_hull} "
            f"| {figures.non_monotone} | {holds} of {int(moved.sum())}"
        )
    return lines


def pla_table() -> None:
    """What joining 100 queries loses, with both bounds."""
    print("| scores | group | L_PLA | ½ Σ ΔFPR ΔTPR | u_T u_F / 2k, slopes from the queries |")
    print("|---|---|---|---|---|")
    for name, (groups, curves) in score_files().items():
        stated = diagnose(froc(curves, thresholds(), 0.05), curves)
        for group, figures in zip(groups, stated.groups, strict=True):
            lost = figures.losses
            print(f"| {name} | {group} | {lost.pla:.4f} | {lost.pla_bound:.4f} | {lost.pla_paper:.4f} |")


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
    return {
        "smooth": (smooth[0], smooth[1]),
        "noisy": (rough[0], rough[1]),
        "staircase": (stairs, beside),
    }


def growth_table() -> None:
    """Seconds of Algorithm 1 (the best of three) by the number of queries."""
    print("| curves | k | cuts | most at one query | seconds | exponent since the row above |")
    print("|---|---|---|---|---|---|")
    for name in families(2):
        before: tuple[int, float] | None = None
        for k in SIZES[:3] if name == "staircase" else SIZES:
            up, down = families(k)[name]
            seconds = np.inf
            for _ in range(3):
                begin = time.perf_counter()
                cuts = algorithm_1(up, down, 0.1 if name == "staircase" else 0.05).cuts
                seconds = min(seconds, time.perf_counter() - begin)
            power = "" if before is None else f"{np.log(seconds / before[1]) / np.log(k / before[0]):.2f}"
            print(f"| {name} | {k:,} | {cuts.sum():,} | {cuts.max()} | {seconds:.4f} | {power} |")
            before = k, seconds


# ---- pictures ----------------------------------------------------------------------------------------------


def run_for_pictures(epsilon: float) -> tuple[Froc, int]:
    """A run, and the group with the larger AUC."""
    files = score_files()
    _, curves = files["adult_lr"] if "adult_lr" in files else made_up()
    return froc(curves, thresholds(), epsilon), int(np.argmax([curve.auc for curve in curves]))


def draw(arguments: Any) -> None:
    from fairroc.froc_plot import acceptance_figure, geometry_figure

    done, group = run_for_pictures(arguments.epsilon)
    if arguments.acceptance:
        mixture = triangle_mixture(done.points[group], done.queries[group], done.thresholds)
        figure = acceptance_figure(mixture, np.array([0.8, 0.5, 0.2]), done.thresholds)
    else:
        figure = geometry_figure(done, group, arguments.draw)
    figure.savefig(arguments.output, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, metavar="INDEX", help="draw the geometry of one query, counted from 0")
    parser.add_argument("--acceptance", action="store_true", help="draw acceptance probabilities by threshold")
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("-o", "--output", default="froc.png")
    arguments = parser.parse_args()
    if arguments.draw is not None or arguments.acceptance:
        draw(arguments)
        return
    for table in (auc_table, pla_table, growth_table):
        table()
        print()


if __name__ == "__main__":
    main()
