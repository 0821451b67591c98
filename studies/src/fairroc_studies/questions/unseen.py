"""Which curves to work on: gap and AUC among people not seen, for every choice of curve and for the rivals.

    python -m fairroc_studies unseen                          # everything: hours on two cores; what is done is kept
    python -m fairroc_studies unseen --sets compas/logistic income --rows 1000 --seeds 5
    python -m fairroc_studies unseen --report                 # only the tables of what is done

Every job draws people of one set (real: `problems.scores`, synthetic: `problems.synthetic`), fits every method at
every epsilon to some rows, and measures gap and AUC among others, in expectation over the draw. Real sets: those left
over, 20,000 at most; synthetic sets: 20,000 new people. Frontiers are compared at equal gap: the mean (gap, AUC) over
seeds for each epsilon, joined by straight lines; standard errors by a jackknife over seeds.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairroc.errors import FairrocError
from fairroc.fitting.fit import fit
from fairroc.fitting.ways import Solver
from fairroc.options import Options
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array, Part
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.paper.rules import counted, expected
from fairroc_studies.peers.fairprojection import TOLERANCES
from fairroc_studies.peers.rivals import error_parity_many, fairprojection
from fairroc_studies.problems.scores import MODELS, NAMES, held_out
from fairroc_studies.problems.synthetic import FAMILIES

Point = tuple[float, float, str]
"""Gap, AUC, and what was done."""

EPSILONS = (0.0, 0.02, 0.05, 0.1, 0.2)
ROWS = (200, 1000, 5000, 20_000)
NEW_PEOPLE = 20_000
"""People to measure on, at most (synthetic sets: as many)."""
HELD_OUT = 500
"""A real set is used at a size only if that many people are left to measure on."""
LEAST = 3
"""People of every group and label that both parts must have, at least."""

METHODS: dict[str, dict[str, Any]] = {
    "raw hull": {"ties": "draw", "curve": "raw"},
    "raw": {"curve": "raw"},
    "50 queries": {"queries": 50},
    "smooth": {"curve": "smooth"},
    "binormal": {"curve": "binormal"},
    "calibrated": {"curve": "calibrated"},
    "shrunk": {"curve": "shrunk"},
}
RIVALS = ("FairProjection-CE", "FairProjection-KL", "error-parity")
RIVAL_EPSILONS = (0.0, 0.05, 0.1)
"""error-parity is slow; FairProjection takes its own tolerances."""
SAME = 1e-4
"""Smaller differences of AUC are none."""

GAPS = (0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3)


@dataclass(frozen=True)
class Job:
    """One set of people, so many of them to fit to, one seed."""

    people: str
    rows: int
    seed: int

    def name(self, method: str) -> str:
        """Under which the store keeps what came out."""
        return key(
            "unseen", self.people, self.rows, self.seed, method, source_digest(__name__), package_versions(("sklearn",))
        )


def parts(job: Job) -> tuple[Part, Part] | None:
    """People to fit to and others, or None if the set is too small."""
    rng = np.random.default_rng([job.seed, job.rows])
    if job.people in FAMILIES:
        family = FAMILIES[job.people]
        return Part.named(*family.draw(job.rows, rng)), Part.named(*family.draw(NEW_PEOPLE, rng))
    name, model = job.people.split("/")
    found = held_out(name, job.seed)
    everyone = Part.named(found[model], found["label"], found["group"])
    if everyone.rows < job.rows + HELD_OUT:
        return None
    order = rng.permutation(everyone.rows)
    first, rest = (everyone.take(rows) for rows in (order[: job.rows], order[job.rows : job.rows + NEW_PEOPLE]))
    return (first, rest) if min(first.totals.min(), rest.totals.min()) >= LEAST else None


def ours(job: Job, method: str) -> list[Point]:
    """Gap and AUC among people not seen, for every epsilon."""
    split = parts(job)
    if split is None:
        return []
    found: list[Point] = []
    train, test = counted(split[0]), split[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for epsilon in EPSILONS:
            model = fit(train, Options.checked(epsilon=epsilon, **METHODS[method]), salt=0).model
            curve = expected(model, test)
            found.append((curve.gap, curve.auc, "unchanged" if model.unchanged else f"{model.curve} {model.ties}"))
    return found


def default_of(job: Job) -> str:
    """The method that curve="auto" is for these people."""
    split = parts(job)
    known = () if split is None else Solver(counted(split[0]), Options.checked(epsilon=0.0)).estimated
    return next((name for name in known if name != "raw"), "raw")


def theirs(job: Job, method: str) -> list[Point]:
    """The same for a rival."""
    split = parts(job)
    if split is None:
        return []
    if method == "error-parity":
        swept = error_parity_many([split], RIVAL_EPSILONS, workers=1)[0]
        return [(r.gap, r.auc_hull, f"{e:g}") for r, e in zip(swept, RIVAL_EPSILONS, strict=True)]
    found: list[Point] = []
    for tolerance in TOLERANCES:
        try:
            rival = fairprojection(*split, tolerance, method[-2:].lower())
            found.append((rival.gap, rival.auc, f"{tolerance:g}"))
        except FairrocError as error:
            found.append((float("nan"), float("nan"), str(error)[:80]))
    return found


def run(job: Job, method: str) -> None:
    """Work off one job with one method, unless it is done."""

    def made() -> dict[str, Any]:
        points = (ours if method in METHODS else theirs)(job, method)
        known = [
            [None if math.isnan(gap) else gap, None if math.isnan(auc) else auc, what] for gap, auc, what in points
        ]
        return {"points": known, "default": default_of(job)}

    Store().rows(job.name(method), made)


# -- tables ------------------------------------------------------------------------------------------------------------


def frontier(points: Array, gaps: Sequence[float] = GAPS) -> Array:
    """AUC at given gaps from (seeds, epsilons, 2) gaps and AUCs: mean over seeds, then straight lines; NaN beyond."""
    mean = np.nanmean(points, axis=0)
    order = np.argsort(mean[:, 0])
    gap, auc = mean[order, 0], np.maximum.accumulate(mean[order, 1])
    return np.interp(gaps, gap, auc, left=np.nan, right=np.nan)


def advantage(one: Array, other: Array) -> tuple[Array, Array]:
    """Difference of two frontiers at equal gaps, and its standard error by a jackknife over seeds."""
    seeds = len(one)
    whole = frontier(one) - frontier(other)
    each = np.array([frontier(np.delete(one, k, 0)) - frontier(np.delete(other, k, 0)) for k in range(seeds)])
    return whole, np.sqrt((seeds - 1) * np.nanmean((each - np.nanmean(each, axis=0)) ** 2, axis=0))


def gathered(people: str, rows: int, seeds: int) -> dict[str, dict[int, Array]]:
    """For every method, the (epsilons, 2) gaps and AUCs of each seed that is done."""
    found: dict[str, dict[int, Array]] = {name: {} for name in ("default", *METHODS, *RIVALS)}
    for seed in range(seeds):
        for name in (*METHODS, *RIVALS):
            content = Store().get_rows(Job(people, rows, seed).name(name))
            if not content or not content["points"]:
                continue
            points = np.array([point[:2] for point in content["points"]], dtype=float)
            found[name][seed] = points
            if content["default"] == name:
                found["default"][seed] = points
    return found


@dataclass(frozen=True)
class Against:
    """The default's advantage over one method at equal gaps, on one set and size."""

    people: str
    rows: int
    method: str
    seeds: int
    gain: Array
    error: Array


def compared(sets: Sequence[str], sizes: Sequence[int], seeds: int, base: str = "default") -> list[Against]:
    """The default against every other method, wherever three seeds or more have both."""
    found = []
    for rows in sizes:
        for people in sets:
            every = gathered(people, rows, seeds)
            for name, points in every.items():
                both = sorted(set(points) & set(every[base]))
                if name == base or len(both) < 3:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    gain, error = advantage(*(np.stack([part[k] for k in both]) for part in (every[base], points)))
                found.append(Against(people, rows, name, len(both), gain, error))
    return found


def summary(cells: Sequence[Against]) -> str:
    """Markdown: for every size and method, in how many places the default is above, even and below."""
    lines = [
        "| rows | default against | sets | mean | above | even | below | below most |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for rows in sorted({cell.rows for cell in cells}):
        for method in (*METHODS, *RIVALS):
            mine = [cell for cell in cells if cell.rows == rows and cell.method == method]
            if not mine:
                continue
            gain, error = (np.concatenate([getattr(cell, name) for cell in mine]) for name in ("gain", "error"))
            known = ~np.isnan(gain)
            above, below = (int((sign * gain[known] > 2 * error[known] + SAME).sum()) for sign in (1, -1))
            worst = min(mine, key=lambda cell: np.nanmin(cell.gain, initial=0.0))
            at = "" if not below else f"{worst.people}: {1000 * np.nanmin(worst.gain):+.1f}"
            mean = f"{1000 * gain[known].mean():+.1f}" if known.any() else ""
            even = int(known.sum()) - above - below
            lines.append(f"| {rows:,} | {method} | {len(mine)} | {mean} | {above} | {even} | {below} | {at} |")
    return "\n".join(lines)


def details(cells: Sequence[Against]) -> str:
    """Markdown: AUC of the default less that of every other method, at equal gap, in thousandths."""
    lines: list[str] = []
    for rows in sorted({cell.rows for cell in cells}):
        head = " | ".join(f"{gap:g}" for gap in GAPS)
        lines += [f"\n## {rows:,} rows\n", f"| set | default against | seeds | {head} |"]
        lines.append("|---|---|---|" + "---|" * len(GAPS))
        for cell in cells:
            if cell.rows == rows:
                numbers = " | ".join(_cell(*pair) for pair in zip(cell.gain, cell.error, strict=True))
                lines.append(f"| {cell.people} | {cell.method} | {cell.seeds} | {numbers} |")
    return "\n".join(lines)


SHOWN = {"default": "#0072B2", "raw hull": "#999999", "FairProjection-CE": "#D55E00", "error-parity": "#009E73"}


def picture(sets: Sequence[str], sizes: Sequence[int], seeds: int, path: Path) -> None:
    """Frontiers of some methods: mean gap and AUC among new people, a point for each epsilon."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(sets), 2.7 * len(sizes)), layout="constrained")
    panels = figure.subplots(len(sizes), len(sets), squeeze=False)
    for row, rows in enumerate(sizes):
        for column, people in enumerate(sets):
            panel, every = panels[row, column], gathered(people, rows, seeds)
            for name, color in SHOWN.items():
                if every[name]:
                    mean = np.nanmean(np.stack(list(every[name].values())), axis=0)
                    mean = mean[np.argsort(mean[:, 0])]
                    panel.plot(*mean.T, marker="o", markersize=4, color=color, label=name, linewidth=1.5)
            panel.set_title(f"{people.split('/')[0]}, {rows:,} rows", fontsize=10)
            panel.grid(color="#dddddd", linewidth=0.6)
            panel.set_xlim(0, 0.42)
            panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[-1]:
        panel.set_xlabel("gap of new people")
    for panel in panels[:, 0]:
        panel.set_ylabel("AUC of new people")
    panels[0, 0].legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=120)


def _cell(gain: float, error: float) -> str:
    if np.isnan(gain):
        return ""
    mark = "**" if gain < -2 * error else ""
    return f"{mark}{1000 * gain:+.1f}±{1000 * error:.1f}{mark}"


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="names of sets (default: all)")
    parser.add_argument("--rows", nargs="+", type=lambda text: int(float(text)), default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *RIVALS], default=[*METHODS, *RIVALS])
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--picture", type=Path, help="file to draw the frontiers of the first sets into")
    parser.add_argument("--report", action="store_true", help="only the tables of what is done")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    sets = chosen.sets or [*FAMILIES, *(f"{name}/{model}" for name in NAMES for model in MODELS)]
    if not chosen.report:
        jobs = [Job(people, rows, seed) for seed in range(chosen.seeds) for rows in chosen.rows for people in sets]
        in_order(run, [(job, method) for job in jobs for method in chosen.methods], chosen.workers)
    if chosen.picture is not None:
        picture(sets[:4], chosen.rows, chosen.seeds, chosen.picture)
    cells = compared(sets, chosen.rows, chosen.seeds)
    print(f"{summary(cells)}\n{details(cells)}")
