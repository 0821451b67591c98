"""Fair for new people: gap and AUC among people not seen, for promise="new", other ways to fit, and the rivals.

    python -m fairroc_studies unseen                          # everything: hours on two cores; what is done is kept
    python -m fairroc_studies unseen --sets compas/logistic income --rows 1000 --seeds 5
    python -m fairroc_studies unseen --base fitted --methods fitted "nobody drawn" "ties drawn"   # whom to draw
    python -m fairroc_studies unseen --report                 # only the tables of what is done

Every job draws people of one set (real: `problems.held_out`, synthetic: `problems.synthetic`), fits every method at
several epsilons to some rows, and measures gap and AUC among others, in expectation over the draw. Real sets: those
left over, 20,000 at most; synthetic sets: 20,000 new people. Frontiers are compared at equal gap: the mean (gap, AUC)
over seeds for each epsilon, joined by straight lines; standard errors by a jackknife over seeds. A place is a set, a
size and a gap. What was stated of new people is held against the population where that is known, else against the
people left over, if these are `ENOUGH`.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.harness.tables import table
from fairroc_studies.problems.held_out import MODELS, NAMES
from fairroc_studies.problems.synthetic import FAMILIES
from fairroc_studies.questions import unseen_fits, unseen_rivals
from fairroc_studies.questions.unseen_fits import FITTED
from fairroc_studies.questions.unseen_people import Job
from fairroc_studies.questions.unseen_rivals import RIVALS

BASE = "new"
METHODS = (BASE, *FITTED, *RIVALS)
USUAL = (BASE, "fitted", "ties drawn", *RIVALS)
"""What is run unless told otherwise; "new" brings "shift" and "original" along."""
SHOWN = (BASE, "shift", "original", *FITTED, *RIVALS)
REAL = (
    *("adult/logistic", "compas/logistic", "vietnam/logistic", "labsup/boosting"),
    *("happiness/logistic", "flchain/boosting"),
)
SETS = (*FAMILIES, *REAL)
"""What is run unless told otherwise."""
ROWS = (200, 1000, 5000, 20_000)
GAPS = (0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3)
SAME = 1e-3
"""Smaller differences of AUC do not count."""
SEEDS = 3
"""With fewer no standard error is told."""
ENOUGH = 5000
"""People left over, at least, where what was stated is held against them: fewer have a gap by chance."""


def name_of(job: Job, method: str) -> str:
    """Under which the store keeps what came out: everything that went into it decides."""
    module = unseen_rivals if method in RIVALS else unseen_fits
    source = source_digest(module.__name__)
    return key("unseen", job.people, job.rows, job.seed, method, source, package_versions(("sklearn",)))


def run(job: Job, method: str) -> None:
    """Work off one job with one method, unless it is done."""
    points = unseen_rivals.points if method in RIVALS else unseen_fits.points
    Store().rows(name_of(job, method), lambda: points(job, method))


# -- what is done ------------------------------------------------------------------------------------------------------

Found = dict[str, dict[int, list[dict[str, Any]]]]
"""For every method and seed the points: one for each epsilon."""


def gathered(people: str, rows: int, seeds: int) -> Found:
    """What is done of one set and size."""
    found: Found = {name: {} for name in SHOWN}
    for seed in range(seeds):
        for method in METHODS:
            for name, points in (Store().get_rows(name_of(Job(people, rows, seed), method)) or {}).items():
                if points:
                    found[name][seed] = points
    return found


def pairs(points: Iterable[Sequence[dict[str, Any]]]) -> Array:
    """(seeds, epsilons, 2) gaps and AUCs among the people left over."""
    return np.array([[(point["gap"], point["auc"]) for point in each] for each in points], dtype=float)


def frontier(points: Array, gaps: Sequence[float] = GAPS) -> Array:
    """AUC at given gaps from (seeds, epsilons, 2) gaps and AUCs: mean over seeds, then straight lines; NaN beyond."""
    mean = np.nanmean(points, axis=0)
    order = np.argsort(mean[:, 0])
    gap, auc = mean[order, 0], np.maximum.accumulate(mean[order, 1])
    return np.interp(gaps, gap, auc, left=np.nan, right=np.nan)


def advantage(one: Array, other: Array) -> tuple[Array, Array]:
    """Difference of two frontiers at equal gaps, and its standard error by a jackknife over seeds.

    Gaps that one of them has only with the help of a single seed are left out.
    """
    seeds = len(one)
    whole = frontier(one) - frontier(other)
    each = np.array([frontier(np.delete(one, k, 0)) - frontier(np.delete(other, k, 0)) for k in range(seeds)])
    whole[np.isnan(each).any(axis=0)] = np.nan
    return whole, np.sqrt((seeds - 1) * ((each - each.mean(axis=0)) ** 2).mean(axis=0))


@dataclass(frozen=True)
class Against:
    """The advantage of one method over another at equal gaps, on one set and size."""

    base: str
    people: str
    rows: int
    method: str
    seeds: int
    gain: Array
    error: Array

    @property
    def above(self) -> Array:
        """At which gaps it is clearly above."""
        return np.asarray(self.gain > 2 * self.error + SAME)

    @property
    def below(self) -> Array:
        """At which gaps it is clearly below."""
        return np.asarray(-self.gain > 2 * self.error + SAME)


def compared(done: dict[tuple[str, int], Found], base: str = BASE) -> list[Against]:
    """One method against every other, wherever there are seeds enough that have both."""
    found = []
    for (people, rows), every in done.items():
        for name, points in every.items():
            both = sorted(set(points) & set(every[base]))
            if name in (base, "original") or len(both) < SEEDS:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gain, error = advantage(*(pairs(part[k] for k in both) for part in (every[base], points)))
            found.append(Against(base, people, rows, name, len(both), gain, error))
    return found


# -- tables ------------------------------------------------------------------------------------------------------------


def summary(cells: Sequence[Against]) -> str:
    """Markdown: for every size and method, in how many places the base is above, even and below."""
    lines = []
    for rows in sorted({cell.rows for cell in cells}):
        for method in SHOWN:
            mine = [cell for cell in cells if cell.rows == rows and cell.method == method]
            if not mine:
                continue
            gain = np.concatenate([cell.gain for cell in mine])
            gain = gain[~np.isnan(gain)]
            above, below = (sum(int(getattr(cell, side).sum()) for cell in mine) for side in ("above", "below"))
            seeds = sorted({cell.seeds for cell in mine})
            lines.append(
                [
                    *(f"{rows:,}", method, str(len(mine)), "–".join(str(s) for s in {seeds[0]: 0, seeds[-1]: 0})),
                    f"{1000 * gain.mean():+.1f}" if len(gain) else "",
                    *(str(above), str(len(gain) - above - below), str(below)),
                    "; ".join(_worst(cell) for cell in mine if cell.below.any()),
                ]
            )
    return table(
        ["rows", f"{_base(cells)} against", "sets", "seeds", "mean", "above", "even", "below", "where below"], lines
    )


def _base(cells: Sequence[Against]) -> str:
    return cells[0].base if cells else BASE


def _worst(cell: Against) -> str:
    at = int(np.argmin(np.where(cell.below, cell.gain, np.inf)))
    return f"{cell.people} {1000 * cell.gain[at]:+.1f}±{1000 * cell.error[at]:.1f} at {GAPS[at]:g}"


def reached(done: dict[tuple[str, int], Found]) -> str:
    """Markdown: the smallest mean gap of new people that each method reaches, a mean over sets that have all."""
    lines = []
    for rows in sorted({rows for _, rows in done}):
        found = [every for (_, size), every in done.items() if size == rows and every[BASE]]
        names = [name for name in SHOWN if sum(bool(every[name]) for every in found) > len(found) / 2]
        whole = [every for every in found if all(every[name] for name in names)]
        if not whole:
            continue
        least = {
            name: np.mean([np.nanmin(np.nanmean(pairs(every[name].values()), axis=0)[:, 0]) for every in whole])
            for name in names
        }
        lines.append([f"{rows:,}", str(len(whole)), *(f"{least[n]:.3f}" if n in least else "" for n in SHOWN)])
    used = [k for k in range(len(SHOWN)) if any(line[k + 2] for line in lines)]
    return table(
        ["rows", "sets", *(SHOWN[k] for k in used)], [[*line[:2], *(line[k + 2] for k in used)] for line in lines]
    )


@dataclass(frozen=True)
class Told:
    """One fit: what was stated of new people and its standard error, what they have, and had with the original score.

    ``gap`` and ``auc`` hold these four numbers each.
    """

    method: str
    rows: int
    gap: tuple[float, float, float, float]
    auc: tuple[float, float, float, float]
    exact: bool


def told(done: dict[tuple[str, int], Found], left: dict[str, int]) -> Iterator[Told]:
    """All fits of promise="new" and the default, at epsilons up to .3; ``left``: people of a real set."""
    for (people, rows), every in done.items():
        exact = people in FAMILIES
        if not exact and left.get(people, 0) - rows < ENOUGH:
            continue
        prefix = "true_" if exact else ""
        for method in (BASE, "fitted"):
            for seed, points in every[method].items():
                before = every["original"].get(seed)
                for point in points:
                    if before and point["epsilon"] <= 0.3:
                        gap, auc = (
                            (point[f"stated_{w}"], point[f"{w}_error"], point[prefix + w], before[0][prefix + w])
                            for w in ("gap", "auc")
                        )
                        yield Told(method, rows, gap, auc, exact)


def reliability(fits: Sequence[Told]) -> str:
    """Markdown: how near what was stated is to what new people have, and how often they are worse off than before."""
    lines = []
    for rows in sorted({fit.rows for fit in fits}):
        for method in (BASE, "fitted"):
            mine = [fit for fit in fits if fit.rows == rows and fit.method == method]
            if not mine:
                continue
            line = [f"{rows:,}", method, f"{len(mine):,}"]
            for which in ("gap", "auc"):
                stated, error, seen, before = np.array([getattr(fit, which) for fit in mine]).T
                off = stated - seen
                line += [f"{off.mean():+.3f}", f"{np.abs(off).mean():.3f}"]
                if which == "gap":
                    line += [f"{np.corrcoef(stated, seen)[0, 1]:.2f}", f"{(np.abs(off) <= 2 * error).mean():.0%}"]
                    harm = f"{(seen > before + SAME).mean():.1%}"
            lines.append([*line, harm])
    head = ["rows", "promise", "fits", "gap: stated less true", "mean distance", "correlation", "within 2 s.e."]
    return table([*head, "AUC: stated less true", "mean distance", "gap larger than before"], lines)


def details(cells: Sequence[Against]) -> str:
    """Markdown: AUC of the base less that of every other method, at equal gap, in thousandths."""
    lines: list[str] = []
    for rows in sorted({cell.rows for cell in cells}):
        body = [
            [cell.people, cell.method, str(cell.seeds), *map(_cell, cell.gain, cell.error, cell.below)]
            for cell in cells
            if cell.rows == rows
        ]
        lines += [
            f"\n## {rows:,} rows\n",
            table(["set", f"{_base(cells)} against", "seeds", *(f"{gap:g}" for gap in GAPS)], body),
        ]
    return "\n".join(lines)


def _cell(gain: float, error: float, below: bool) -> str:
    if np.isnan(gain):
        return ""
    mark = "**" if below else ""
    return f"{mark}{1000 * gain:+.1f}±{1000 * error:.1f}{mark}"


# -- picture -----------------------------------------------------------------------------------------------------------

COLORS = {
    BASE: "#0072B2",
    "fitted": "#56B4E9",
    "shift": "#CC79A7",
    "FairProjection-CE": "#D55E00",
    "error-parity": "#009E73",
}


def picture(done: dict[tuple[str, int], Found], sets: Sequence[str], sizes: Sequence[int], path: Path) -> None:
    """Mean gap and AUC among new people, a point for each epsilon, and the frontiers that are compared."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * len(sets), 2.6 * len(sizes) + 0.5), layout="constrained")
    panels = figure.subplots(len(sizes), len(sets), squeeze=False)
    lines: dict[str, Any] = {}
    for row, rows in enumerate(sizes):
        for column, people in enumerate(sets):
            panel, every = panels[row, column], done.get((people, rows), {})
            if not any(every.values()):  # the set has fewer people
                panel.set_axis_off()
                continue
            for name, color in COLORS.items():
                if every.get(name):
                    mean = np.nanmean(pairs(every[name].values()), axis=0)
                    gap, auc = mean[np.argsort(mean[:, 0])].T
                    wide, above = (2.2, 3) if name == BASE else (1.3, 2)
                    panel.plot(gap, auc, "o", markersize=1.6 * wide, color=color, zorder=above)
                    (lines[name],) = panel.plot(
                        gap, np.maximum.accumulate(auc), color=color, linewidth=wide, zorder=above
                    )
            if every.get("original"):
                mean = pairs(every["original"].values()).mean(axis=(0, 1))
                (lines["original score"],) = panel.plot(*mean, "kx", markersize=6, linestyle="none")
                panel.set_xlim(0, 1.15 * mean[0])
            panel.set_title(f"{people.split('/')[0]}, {rows:,} rows", fontsize=10)
            panel.grid(color="#dddddd", linewidth=0.6)
            panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("gap of new people", fontsize=10)
    figure.supylabel("AUC of new people", fontsize=10)
    figure.legend(lines.values(), lines, loc="outside upper center", ncols=len(lines), fontsize=9, frameon=False)
    figure.savefig(path, dpi=120)


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = [*FAMILIES, *(f"{name}/{model}" for name in NAMES for model in MODELS)]
    parser.add_argument("--sets", nargs="+", choices=every, metavar="SET", default=list(SETS), help=", ".join(every))
    parser.add_argument("--rows", nargs="+", type=lambda text: int(float(text)), default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(USUAL))
    parser.add_argument("--base", choices=SHOWN, default=BASE, help="what the others are compared with")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--picture", type=Path, help="file to draw the frontiers of the first sets into")
    parser.add_argument("--report", action="store_true", help="only the tables of what is done")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    if not chosen.report:
        jobs = [Job(p, rows, seed) for seed in range(chosen.seeds) for rows in chosen.rows for p in chosen.sets]
        in_order(run, [(job, method) for job in jobs for method in chosen.methods], chosen.workers)
    done = {(p, rows): gathered(p, rows, chosen.seeds) for rows in chosen.rows for p in chosen.sets}
    if chosen.picture is not None:
        picture(done, chosen.sets[:4], chosen.rows, chosen.picture)
    cells = compared(done, chosen.base)
    left = {p: _people_left(p) for p in chosen.sets if p not in FAMILIES}
    parts = [summary(cells), reached(done), reliability(list(told(done, left))), details(cells)]
    print("\n\n".join(parts))


def _people_left(people: str) -> int:
    """Rows of a real set that no model was trained on."""
    from fairroc_studies.problems.held_out import held_out

    return len(held_out(people.split("/")[0], 0)["label"])
