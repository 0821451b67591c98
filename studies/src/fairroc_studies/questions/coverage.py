"""How often do the audit's intervals and bands hold what they say?

    python -m fairroc_studies coverage                        # 1,000 repetitions, ten minutes on two cores
    python -m fairroc_studies coverage --repetitions 50

People are drawn from normal distributions whose rates, gap and AUCs are known. Each repetition draws a sample, audits
it at 95 %, and looks whether the known values lie inside. "percentile" is the textbook bootstrap of the gap itself
(2.5 % and 97.5 % of the gap of resampled rows), for comparison only: the gap of a sample is larger than the
population's, and the gap of a resample larger still.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from scipy.stats import norm

from fairroc import audit
from fairroc.errors import SmallGroupWarning
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array

CUTS = np.linspace(-1.2, 2.8, 9)
"""Where scores of ten points are cut."""

FINE = np.linspace(-6.0, 8.0, 28_001)
DRAWS, RESAMPLES = 500, 200


@dataclass(frozen=True)
class Scenario:
    """Groups of (shift, distance of the classes), their (negatives, positives), and how scores are seen."""

    name: str
    groups: tuple[tuple[float, float], ...]
    rows: tuple[tuple[int, int], ...]
    norm: float = 1.0
    ties: bool = False
    weights: bool = False

    @property
    def thresholds(self) -> Array:
        return CUTS if self.ties else FINE

    def rates(self, g: int, thresholds: Array) -> Array:
        """(2, k) true fpr and tpr."""
        shift, distance = self.groups[g]
        return norm.sf(np.stack((thresholds - shift, thresholds - shift - distance)))

    @property
    def gap(self) -> float:
        """The population's gap."""
        rates = [self.rates(g, self.thresholds) for g in range(len(self.groups))]
        apart = [np.abs(rates[g] - rates[h]) for g, h in combinations(range(len(rates)), 2)]
        return float(max(np.linalg.norm(d, self.norm, axis=0).max() for d in apart))

    def aucs(self) -> list[float]:
        """The population's AUC of every group, for scores without ties."""
        return [float(norm.cdf(distance / np.sqrt(2))) for _, distance in self.groups]


TWO, THREE = ((0, 1), (0.5, 1.2)), ((0, 1), (0.5, 1.2), (-0.3, 0.6))
UNEVEN = ((1000, 500), (200, 100), (40, 30))
SCENARIOS = (
    Scenario("same curves, 50 of each class", ((0, 1), (0, 1)), ((50, 50), (50, 50))),
    Scenario("same curves, 400 of each class", ((0, 1), (0, 1)), ((400, 400), (400, 400))),
    Scenario("shifted, 100 negatives and 60 positives each", ((0, 1), (0.5, 1)), ((100, 60), (100, 60))),
    Scenario("shifted, 1,600 and 650 rows", TWO, ((1000, 600), (500, 150))),
    Scenario("the same, norm inf", TWO, ((1000, 600), (500, 150)), norm=np.inf),
    Scenario("far apart, 30 negatives and 20 positives each", ((0, 2), (2, 2)), ((30, 20), (30, 20))),
    Scenario("three groups of 1,500, 300 and 70 rows", THREE, UNEVEN),
    Scenario("the same, scores of ten points", THREE, UNEVEN, ties=True),
    Scenario("weighted, 700 and 500 rows", TWO, ((400, 300), (300, 200)), weights=True),
)


@dataclass(frozen=True)
class Rows:
    """A sample: for each group and class scores as drawn, and weights that undo how they were drawn."""

    scores: list[list[Array]]
    weights: list[list[Array]]


def sample(scenario: Scenario, rng: np.random.Generator) -> Rows:
    """Draw people; with weights, from higher scores than the population's, weighted back."""
    off = 0.5 if scenario.weights else 0.0
    scores: list[list[Array]] = []
    weights: list[list[Array]] = []
    for (shift, distance), rows in zip(scenario.groups, scenario.rows, strict=True):
        centres = (shift, shift + distance)
        drawn = [rng.normal(c + off, 1.0, n) for c, n in zip(centres, rows, strict=True)]
        weights.append([norm.pdf(x - c) / norm.pdf(x - c - off) for x, c in zip(drawn, centres, strict=True)])
        scores.append([np.searchsorted(CUTS, x, side="right").astype(float) if scenario.ties else x for x in drawn])
    return Rows(scores, weights)


def furthest(scenario: Scenario, g: int, rows: Rows) -> tuple[float, float]:
    """Largest error of the sample's fpr and tpr over all thresholds."""
    found = []
    for c in (0, 1):
        x, w = rows.scores[g][c], rows.weights[g][c] / rows.weights[g][c].sum()
        if scenario.ties:
            at = np.array([w[x > i].sum() for i in range(len(CUTS))])
            found.append(float(np.abs(at - scenario.rates(g, CUTS)[c]).max()))
            continue
        order = np.argsort(-x)
        reached = np.cumsum(w[order])
        true = scenario.rates(g, x[order])[c]
        found.append(float(max(np.abs(reached - true).max(), np.abs(reached - w[order] - true).max())))
    return found[0], found[1]


def percentile(scenario: Scenario, rows: Rows, rng: np.random.Generator) -> tuple[float, float]:
    """The textbook interval: percentiles of the gap of resampled rows."""
    every = np.unique(np.concatenate([x for group in rows.scores for x in group]))[::-1]
    drawn = []
    for group, weights in zip(rows.scores, rows.weights, strict=True):
        rates = []
        for x, w in zip(group, weights, strict=True):
            picked = rng.multinomial(len(x), np.full(len(x), 1 / len(x)), RESAMPLES) * w
            order = np.argsort(-x)
            run = np.concatenate((np.zeros((RESAMPLES, 1)), np.cumsum(picked[:, order], axis=1)), axis=1)
            at = np.searchsorted(-x[order], -every, side="right")
            rates.append(run[:, at] / run[:, -1:])
        drawn.append(np.stack(rates, axis=1))
    apart = [np.linalg.norm(one - other, scenario.norm, axis=1).max(axis=1) for one, other in combinations(drawn, 2)]
    low, high = np.quantile(np.max(apart, axis=0), [0.025, 0.975])
    return float(low), float(high)


def repetition(scenario: Scenario, seed: int, *, naive: bool = True) -> dict[str, float]:
    """One sample: what held (1) and what did not (0), and the widths."""
    rng = np.random.default_rng(seed)
    rows = sample(scenario, rng)
    columns = [(rows.scores[g][c], rows.weights[g][c], c, g) for g in range(len(scenario.groups)) for c in (0, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallGroupWarning)
        found = audit(
            np.concatenate([x for x, *_ in columns]),
            np.concatenate([np.full(len(x), c) for x, _, c, _ in columns]),
            sensitive_features=np.concatenate([np.full(len(x), g) for x, *_, g in columns]),
            sample_weight=np.concatenate([w for _, w, *_ in columns]) if scenario.weights else None,
            norm=scenario.norm,
            bootstrap=DRAWS,
            random_state=seed,
        )
    errors = [furthest(scenario, g, rows) for g in range(len(found.groups))]
    held: dict[str, float] = {}
    assert found.gap_interval is not None
    intervals = {"dkw": found.gap_interval.dkw, "bootstrap": found.gap_interval.bootstrap}
    intervals |= {"percentile": percentile(scenario, rows, rng)} if naive else {}
    for kind, interval in intervals.items():
        if interval is not None:
            held[f"gap, {kind}"] = interval[0] <= scenario.gap <= interval[1]
            held[f"width, {kind}"] = interval[1] - interval[0]
    for kind in ("dkw", "bootstrap"):
        bands = [getattr(group.band, kind) for group in found.groups]
        if None not in bands:
            held[f"bands, {kind}"] = bool(np.all(np.array(errors) <= np.array(bands)))
    if not scenario.ties and not scenario.weights:
        pairs = zip((group.auc_interval for group in found.groups), scenario.aucs(), strict=True)
        held["auc"] = float(np.mean([among is not None and among[0] <= auc <= among[1] for among, auc in pairs]))
    return held


def coverage(scenario: Scenario, repetitions: int, *, naive: bool = True, workers: int = 1) -> dict[str, float]:
    """Shares of repetitions in which each statement held, and mean widths."""
    once = partial(repetition, scenario, naive=naive)
    held = in_order(once, [(seed,) for seed in range(repetitions)], workers)
    return {name: float(np.mean([one[name] for one in held])) for name in held[0]}


COLUMNS = (
    *("gap, dkw", "gap, bootstrap", "gap, percentile", "width, dkw", "width, bootstrap"),
    *("bands, dkw", "bands, bootstrap", "auc"),
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args(argv)
    print(f"| people | true gap | {' | '.join(COLUMNS)} |")
    print(f"|{'---|' * (len(COLUMNS) + 2)}")
    for scenario in SCENARIOS:
        found = coverage(scenario, arguments.repetitions, workers=arguments.workers)
        cells = [_cell(name, found.get(name)) for name in COLUMNS]
        print(f"| {scenario.name} | {scenario.gap:.3f} | {' | '.join(cells)} |", flush=True)


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if "width" in name else f"{value:.1%}"
