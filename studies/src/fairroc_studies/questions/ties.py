"""Which default is better on people the post-processor has not seen: ``draw="all"`` or ``draw="few"``?

    python -m fairroc_studies ties --seeds 10      # about six minutes on two idle cores
    python -m fairroc_studies ties --quick         # under a minute

Adult (by sex) and COMPAS (African-American or not) are split 70 / 15 / 15: a classifier learns on the first part, the
post-processor is fitted on the second (or on a third of it, 5 % of the data), and everything is measured on the last
part. Synthetic binormal groups have a known population; there the "test part" is the population itself, laid out as
evenly spaced quantiles, so what is measured is free of test noise.

Gap and AUC on the test part are exact expectations over the draw, taken at several hundred thresholds. The gap of a
single draw, which is what a user sees on the day, is the mean over several draws, each at all its own thresholds.
All numbers are means over seeded splits with the standard error of that mean; differences are paired by split.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

from fairroc import FairROC
from fairroc_studies.harness.curve import Curve, reached
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array, Part
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.harness.tables import mean_se, shown, table
from fairroc_studies.problems.scores import forest, logistic, three_parts, two_groups

MODES = ("all", "few")
MAIN = (0.02, 0.05, 0.1)
SWEEP = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
TARGETS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25)
CALIBRATIONS = {"15 %": 1.0, "5 %": 1.0 / 3.0}
POPULATION = 4000
"""Rows that stand for the population of a synthetic family."""
SYNTHETIC_ROWS = 2000
"""Calibration rows of a synthetic family that correspond to 15 %."""

MEASURES = {
    "gap": "test gap",
    "drawn_gap": "test gap, one draw",
    "auc": "test AUC",
    "drawn": "drawn",
    "drawn_far": "drawn > .01",
    "moved": "moved in group",
    "spread": "sd of rank",
}


@dataclass(frozen=True)
class Case:
    """One score with the people to fit and to test the post-processor on."""

    name: tuple[str, str, str]  # data, model, calibration
    calibration: Part
    test: Part


@dataclass(frozen=True)
class Outcome:
    """Everything measured in one cell; ``values`` as in MEASURES, plus calibration figures and ``fallback``."""

    name: tuple[str, str, str]
    seed: int
    epsilon: float
    draw: str
    values: dict[str, float]


Result = tuple[list[Outcome], list[Outcome]]  # of fair scores, of raw scores

# -- data --------------------------------------------------------------------------------------------------------------


def classifiers(seed: int) -> dict[str, Any]:
    return {"logistic": logistic(), "forest 100": forest(100, seed), "forest 10": forest(10, seed)}


def real_cases(name: str, seed: int) -> Iterator[Case]:
    features, labels, groups = two_groups(name)
    train, calibrate, test = three_parts(len(labels), seed)
    for title, classifier in classifiers(seed).items():
        scores = classifier.fit(features[train], labels[train]).predict_proba(features)[:, 1]
        everyone = Part(scores, labels, groups)
        for size, share in CALIBRATIONS.items():
            used = calibrate[: round(share * len(calibrate))]
            yield Case((name, title, size), everyone.take(used), everyone.take(test))


@dataclass(frozen=True)
class Family:
    """Two binormal groups: share of each (group, label) cell, means and standard deviations of the scores there."""

    name: str
    shares: tuple[float, float, float, float]
    means: tuple[float, float, float, float]
    sds: tuple[float, float, float, float]
    points: bool = False

    def scores(self, cell: int, quantiles: Array) -> Array:
        standard = NormalDist(self.means[cell], self.sds[cell])
        values = np.array([standard.inv_cdf(q) for q in quantiles])
        return np.clip(np.round(7.0 + 3.0 * values), 0, 20) if self.points else values


SHARES = (0.42, 0.28, 0.21, 0.09)
FAMILIES = (
    Family("non-crossing", SHARES, (0.0, 1.8, 0.3, 1.3), (1.0, 1.0, 1.0, 1.0)),
    Family("crossing", SHARES, (0.0, 1.3, 0.0, 1.3), (1.0, 0.7, 1.0, 1.8)),
    Family("points 0..20", SHARES, (0.0, 1.8, 0.3, 1.3), (1.0, 1.0, 1.0, 1.0), points=True),
)


def laid_out(family: Family, counts: Array, quantiles: Callable[[int], Array]) -> Part:
    scores = np.concatenate([family.scores(cell, quantiles(int(n))) for cell, n in enumerate(counts)])
    cells = np.repeat(np.arange(4), counts)
    return Part(scores, cells % 2, cells // 2)


def synthetic_cases(seed: int) -> Iterator[Case]:
    for number, family in enumerate(FAMILIES):
        rng = np.random.default_rng([seed, number])
        even = np.round(POPULATION * np.array(family.shares)).astype(np.int64)
        population = laid_out(family, even, lambda n: (np.arange(n) + 0.5) / n)
        drawn = laid_out(family, rng.multinomial(SYNTHETIC_ROWS, family.shares), rng.random)
        order = rng.permutation(SYNTHETIC_ROWS)
        for share in CALIBRATIONS.values():
            rows = order[: round(share * SYNTHETIC_ROWS)]
            yield Case(("synthetic", family.name, f"{len(rows)} rows"), drawn.take(rows), population)


# -- measuring ---------------------------------------------------------------------------------------------------------


def expected_curve(post: FairROC, test: Part, thresholds: Array) -> Curve:
    """Expected number accepted in each (group, label) cell, at given thresholds."""
    rates = (
        post.acceptance_rate(test.scores, sensitive_features=test.groups, threshold=float(threshold))
        for threshold in thresholds
    )
    return Curve.of([test.summed(rate) for rate in rates], test.totals)


def ranks(values: Array, among: Array) -> Array:
    """Mid-rank, 0 to 1, of values in a sample."""
    among = np.sort(among, axis=None)
    low, high = np.searchsorted(among, values, side="left"), np.searchsorted(among, values, side="right")
    return (low + high) / (2 * len(among))


def moved_in_group(test: Part, draws: Array) -> float:
    """Mean distance between a person's percentile inside the own group before and after, in percentiles."""
    distance = np.empty(len(test.scores))
    for g in (0, 1):
        rows = np.flatnonzero(test.groups == g)
        before = ranks(test.scores[rows], test.scores[rows])
        distance[rows] = np.abs(ranks(draws[:, rows], draws[:, rows]) - before).mean(axis=0)
    return float(100 * distance.mean())


def measured(post: FairROC, test: Part, *, thresholds: int, draws: int) -> dict[str, float]:
    fair = np.stack(
        [post.transform(test.scores, sensitive_features=test.groups, random_state=seed) for seed in range(draws)]
    )
    grid = np.unique(np.quantile(fair, (np.arange(thresholds) + 0.5) / thresholds, method="lower"))[::-1]
    accepted = expected_curve(post, test, grid)
    rank = ranks(fair, fair)
    return {
        "gap": accepted.gap,
        "drawn_gap": float(np.mean([reached(row, test).gap for row in fair])),
        "auc": accepted.auc,
        "drawn": float((fair[0] != fair[1]).mean()),
        "drawn_far": float((np.abs(rank[0] - rank[1]) > 0.01).mean()),
        "moved": moved_in_group(test, fair),
        "spread": float(rank.std(axis=0, ddof=1).mean()),
    }


def outcome(case: Case, seed: int, epsilon: float, draw: str, thresholds: int) -> Outcome:
    main = epsilon in MAIN
    fit = case.calibration
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        post = FairROC(epsilon, draw=draw, salt=1)
        post.fit(fit.scores, fit.labels, sensitive_features=fit.groups)
    values = measured(post, case.test, thresholds=thresholds if main else thresholds // 2, draws=10 if main else 4)
    values["fallback"] = float(not post.model_.unchanged and draw == "few" and post.model_.ties == "draw")
    if main:
        values["fit_gap"], values["fit_auc"] = post.certificate_.gap, post.certificate_.auc
    return Outcome(case.name, seed, epsilon, draw, values)


def job(source: str, seed: int, thresholds: int) -> Result:
    """All cells of one split of one data source, and the raw scores' figures; kept once they are there."""
    name = key("ties", source, seed, thresholds, source_digest(__name__), package_versions(("sklearn",)))
    kept = Store().rows(name, lambda: [[asdict(one) for one in part] for part in _job(source, seed, thresholds)])
    done, raw = ([Outcome(**(one | {"name": tuple(one["name"])})) for one in part] for part in kept)
    return done, raw


def _job(source: str, seed: int, thresholds: int) -> Result:
    done, raw = [], []
    for case in synthetic_cases(seed) if source == "synthetic" else real_cases(source, seed):
        done += [outcome(case, seed, eps, draw, thresholds) for eps, draw in product(SWEEP, MODES)]
        if case.name[2] in ("15 %", f"{SYNTHETIC_ROWS} rows"):
            curve = reached(case.test.scores, case.test)
            distinct = len(np.unique(case.test.scores)) / case.test.rows
            values = {"gap": curve.gap, "auc": curve.auc, "distinct": distinct}
            raw.append(Outcome(case.name, seed, 0.0, "raw", values))
    return done, raw


# -- tables ------------------------------------------------------------------------------------------------------------

Key = tuple[str, str, str]
Cells = dict[tuple[Key, float, str], dict[int, dict[str, float]]]  # cell -> seed -> values


def gathered(outcomes: Sequence[Outcome]) -> Cells:
    cells: Cells = defaultdict(dict)
    for one in outcomes:
        cells[one.name, one.epsilon, one.draw][one.seed] = one.values
    return dict(cells)


def digits_of(measure: str) -> int:
    return {"auc": 4, "moved": 2}.get(measure, 3)


def names_in(cells: Cells) -> list[Key]:
    return list(dict.fromkeys(name for name, _, _ in cells))


def raw_table(raw: Sequence[Outcome]) -> str:
    cells = gathered(raw)
    rows = []
    for (name, _, _), seeds in cells.items():
        column = {m: [v[m] for v in seeds.values()] for m in ("gap", "auc", "distinct")}
        rows.append([*name[:2], shown(column["gap"]), shown(column["auc"], 4), f"{np.mean(column['distinct']):.0%}"])
    return table(["data", "model", "raw test gap", "raw test AUC", "distinct scores"], rows)


def main_table(cells: Cells) -> str:
    head = ["data", "model", "calibration", "epsilon", "draw", "fallback", "fit gap", "fit AUC", *MEASURES.values()]
    rows = []
    for name, eps, draw in product(names_in(cells), MAIN, MODES):
        seeds = list(cells[name, eps, draw].values())
        fallback = f"{np.mean([v['fallback'] for v in seeds]):.0%}"
        fit = [shown([v["fit_gap"] for v in seeds]), shown([v["fit_auc"] for v in seeds], 4)]
        tested = [shown([v[m] for v in seeds], digits_of(m)) for m in MEASURES]
        rows.append([*name, f"{eps:g}", draw, fallback, *fit, *tested])
    return table(head, rows)


def differences(cells: Cells, name: Key, eps: float, measure: str) -> list[float]:
    every, few = cells[name, eps, "all"], cells[name, eps, "few"]
    return [few[seed][measure] - every[seed][measure] for seed in every]


def verdict_table(cells: Cells) -> str:
    rows = []
    for name, eps in product(names_in(cells), MAIN):
        fallback = np.mean([v["fallback"] for v in cells[name, eps, "few"].values()])
        shifts = [shown(differences(cells, name, eps, m), digits_of(m), sign=True) for m in MEASURES]
        rows.append([*name, f"{eps:g}", f"{fallback:.0%}", *shifts])
    return table(["data", "model", "calibration", "epsilon", "fallback", *MEASURES.values()], rows)


def count_table(cells: Cells) -> str:
    """In how many cells is order clearly lower or higher than draw (by two paired standard errors)?"""
    rows = []
    for measure, title in MEASURES.items():
        lower = higher = total = 0
        everything = []
        for name, eps in product(names_in(cells), MAIN):
            mean, se = mean_se(differences(cells, name, eps, measure))
            everything.append(mean)
            lower, higher, total = lower + (mean < -2 * se), higher + (mean > 2 * se), total + 1
        middle = f"{np.median(everything):+.{digits_of(measure)}f}"
        rows.append([title, middle, str(lower), str(total - lower - higher), str(higher)])
    return table(["measure", "median difference", "order clearly lower", "not clear", "order clearly higher"], rows)


def mean_frontier(cells: Cells, name: Key, draw: str, gap: str, seeds: Sequence[int]) -> Array:
    """Mean test gap, test AUC and share of fallbacks over splits: a row for each epsilon, in order of the gap."""
    points = []
    for eps in SWEEP:
        chosen = [cells[name, eps, draw][seed] for seed in seeds]
        points.append([np.mean([v[measure] for v in chosen]) for measure in (gap, "auc", "fallback")])
    return np.array(sorted(points))


def at_gap(cells: Cells, name: Key, gap: str, target: float, seeds: Sequence[int]) -> Array:
    """AUC of draw, AUC of order, fallbacks of order where the mean frontiers pass a test gap; NaN out of range."""
    draw, order = (mean_frontier(cells, name, mode, gap, seeds) for mode in MODES)
    pairs = ((draw, 1), (order, 1), (order, 2))
    return np.array([np.interp(target, line[:, 0], line[:, c], left=np.nan, right=np.nan) for line, c in pairs])


def jackknife(values: Array) -> float:
    n = len(values)
    return float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))


def frontier_rows(cells: Cells, gap: str) -> Iterator[tuple[Key, float, Array, float]]:
    """Name, target, what `at_gap` says there, and the jackknife error of order - draw; ranges all splits cover."""
    for name in names_in(cells):
        seeds = list(cells[name, SWEEP[0], "draw"])
        for target in TARGETS:
            without = np.array([at_gap(cells, name, gap, target, [s for s in seeds if s != out]) for out in seeds])
            found = at_gap(cells, name, gap, target, seeds)
            if np.isfinite(without).all() and np.isfinite(found).all():
                yield name, target, found, jackknife(without[:, 1] - without[:, 0])


def better(difference: float, se: float, fallback: float) -> str:
    if fallback > 0.99:
        return "same (fallback)"
    if abs(difference) <= 2 * se:
        return "not clear"
    return "order" if difference > 0 else "draw"


def frontier_table(cells: Cells, gap: str) -> str:
    rows, words = [], Counter[str]()
    for name, target, (draw, order, fallback), se in frontier_rows(cells, gap):
        word = better(order - draw, se, fallback)
        words[f"{name[0]}: {word}"] += 1
        figures = [f"{fallback:.0%}", f"{draw:.4f}", f"{order:.4f}", f"{order - draw:+.4f} ± {se:.4f}"]
        rows.append([*name, f"{target:g}", *figures, word])
    head = [
        "data",
        "model",
        "calibration",
        MEASURES[gap],
        "fallback",
        "AUC draw",
        "AUC order",
        "order - draw",
        "better",
    ]
    counts = ", ".join(f"{word} {count}" for word, count in sorted(words.items()))
    return f"{table(head, rows)}\n\nRows by verdict: {counts}."


def floor_table(cells: Cells) -> str:
    """The smallest mean test gap that a mode reaches over all epsilons, and the epsilon there."""
    rows = []
    for name in names_in(cells):
        line = list(name)
        for gap, draw in product(("gap", "drawn_gap"), MODES):
            means = {eps: np.mean([v[gap] for v in cells[name, eps, draw].values()]) for eps in SWEEP}
            best = min(means, key=lambda eps: means[eps])
            line.append(f"{means[best]:.3f} ({best:g})")
        fallbacks = [np.mean([v["fallback"] for v in cells[name, eps, "few"].values()]) for eps in SWEEP]
        rows.append([*line, " ".join(f"{f:.0%}" for f in fallbacks)])
    columns = [f"{word}, {draw}" for word, draw in product(("gap", "one draw"), MODES)]
    epsilons = " ".join(f"{eps:g}" for eps in SWEEP)
    return table(["data", "model", "calibration", *columns, f"fallbacks at epsilon {epsilons}"], rows)


def report(outcomes: Sequence[Outcome], raw: Sequence[Outcome]) -> Iterator[str]:
    cells = gathered(outcomes)
    yield f"## Raw scores on the test part\n\n{raw_table(raw)}"
    yield f"## Draw and order (mean ± standard error over splits)\n\n{main_table(cells)}"
    yield f"## Verdict: order - draw, paired by split, fallbacks counted as they come\n\n{verdict_table(cells)}"
    yield f"## Verdict in short: cells by sign of order - draw (two standard errors)\n\n{count_table(cells)}"
    yield f"## Test AUC at equal expected test gap\n\n{frontier_table(cells, 'gap')}"
    yield f"## Test AUC at equal test gap of a single draw\n\n{frontier_table(cells, 'drawn_gap')}"
    yield f"## Smallest mean test gap over the sweep (and its epsilon)\n\n{floor_table(cells)}"


def computed(seeds: int, workers: int, *, quick: bool) -> list[Result]:
    sources = ("compas", "synthetic") if quick else ("adult", "compas", "synthetic")
    seeds, thresholds = (2, 100) if quick else (seeds, 400)
    return in_order(job, [(source, seed, thresholds) for seed in range(seeds) for source in sources], workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="number of seeded splits")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="two splits, fewer thresholds, no Adult")
    options = parser.parse_args()
    begin = time.perf_counter()
    results = computed(options.seeds, options.workers, quick=options.quick)
    outcomes, raw = [one for done, _ in results for one in done], [one for _, part in results for one in part]
    print(f"# Ties drawn or in raw order: {len({one.seed for one in outcomes})} splits, norm 1\n")
    print("\n\n".join(report(outcomes, raw)))
    print(f"\n{time.perf_counter() - begin:.0f} s on {options.workers} processes")
