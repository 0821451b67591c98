"""Which curves to work on: gap and AUC among people not seen, for every choice of curve and for the rivals.

    python -m benchmarks.unseen --rivals                 # everything: hours on two cores; what is done is kept
    python -m benchmarks.unseen --sets compas/logistic income --rows 1000 --seeds 5
    python -m benchmarks.unseen --report                 # only the tables of what is done

Every job draws people of one set (real: `benchmarks.realdata`, synthetic: `benchmarks.families`), fits every method at
every epsilon to some rows, and measures gap and AUC among all others, in expectation over the draw. Real sets: those
left over; synthetic sets: 50,000 new people. Frontiers are compared at equal gap: the mean (gap, AUC) over seeds for
each epsilon, joined by straight lines; standard errors by a jackknife over seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.families import FAMILIES
from fairroc.columns import Columns, read_columns
from fairroc.core.gap import pooled_auc, threshold_gap
from fairroc.core.walk import performance
from fairroc.expectation import expected_walks
from fairroc.fitting import Options, fit
from fairroc.population import measure

Array = NDArray[Any]
Triple = tuple[Array, Array, Array]

FOLDER = Path(__file__).parents[1] / ".bench" / "unseen"
EPSILONS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
ROWS = (200, 1000, 5000, 20_000)
NEW_PEOPLE = 50_000
HELD_OUT = 500
"""A real set is used at a size only if that many people are left to measure on."""

METHODS: dict[str, dict[str, Any]] = {
    "default": {},
    "raw hull": {"ties": "draw", "curve": "raw"},
    "raw": {"curve": "raw"},
    "50 queries": {"queries": 50},
    "smooth": {"curve": "smooth"},
    "binormal": {"curve": "binormal"},
    "calibrated": {"curve": "calibrated"},
    "shrunk": {"curve": "shrunk"},
}
RIVALS = ("FairProjection-CE", "FairProjection-KL", "error-parity")
RIVAL_EPSILONS = (0.0, 0.05, 0.1, 0.2)
"""error-parity is slow; FairProjection takes its own tolerances."""

GAPS = (0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3)


@dataclass(frozen=True)
class Job:
    """One set of people, so many of them to fit to, one seed."""

    people: str
    rows: int
    seed: int

    def path(self, what: str) -> Path:
        return FOLDER / f"{self.people.replace('/', '-')}-{self.rows}-{self.seed}-{what}.json"


def parts(job: Job) -> tuple[Triple, Triple] | None:
    """People to fit to and others, or None if the set is too small."""
    rng = np.random.default_rng([job.seed, job.rows])
    if job.people in FAMILIES:
        family = FAMILIES[job.people]
        return family.draw(job.rows, rng), family.draw(NEW_PEOPLE, rng)
    from benchmarks.realdata import scores

    name, model = job.people.split("/")
    found = scores(name, job.seed)
    score, label, group = found[model], found["label"], found["group"]
    if len(score) < job.rows + HELD_OUT:
        return None
    order = rng.permutation(len(score))
    first, rest = order[: job.rows], order[job.rows :]
    cells = [
        np.unique(group[part]).size == np.unique(group).size and _both(label[part], group[part])
        for part in (first, rest)
    ]
    return ((score[first], label[first], group[first]), (score[rest], label[rest], group[rest])) if all(cells) else None


def _both(label: Array, group: Array, least: int = 3) -> bool:
    return all(min(label[group == g].sum(), (~label[group == g]).sum()) >= least for g in np.unique(group))


def ours(job: Job, methods: Sequence[str]) -> dict[str, Any]:
    """Gap and AUC among people not seen, for every method and epsilon."""
    split = parts(job)
    if split is None:
        return {}
    train, test = (read_columns(s, y, sensitive_features=g) for s, y, g in split)
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in methods:
            found[name] = [judged(train, test, Options.checked(epsilon=e, **METHODS[name])) for e in EPSILONS]
    return found


def judged(train: Columns, test: Columns, options: Options) -> tuple[float, float, str]:
    """Gap and AUC among other people, and the curve that was worked on."""
    model = fit(train, options, salt=0).model
    if model.unchanged:
        people = measure(test).exact
        return (
            threshold_gap(people.curves, 1.0).value,
            pooled_auc(people.curves, people.weights0, people.weights1),
            "unchanged",
        )
    people, walks = expected_walks(model, test)
    done = performance(walks, people.weights0, people.weights1, 1)
    return done.gap, done.auc, f"{model.curve} {model.ties}"


def theirs(jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
    """The same for the rivals."""
    from benchmarks.baselines import TOLERANCES, error_parity_many, fairprojection

    for job in jobs:
        split = parts(job)
        if split is None:
            yield job, {}
            continue
        found: dict[str, Any] = {}
        for name, divergence in (("FairProjection-CE", "ce"), ("FairProjection-KL", "kl")):
            points = []
            for tolerance in TOLERANCES:
                try:
                    rival = fairprojection(*split, tolerance, divergence)
                    points.append((rival.gap, rival.auc, f"{tolerance:g}"))
                except Exception as error:
                    points.append((float("nan"), float("nan"), repr(error)[:80]))
            found[name] = points
        swept = error_parity_many([split], RIVAL_EPSILONS, workers=1)[0]
        found["error-parity"] = [(r.gap, r.auc_hull, f"{e:g}") for r, e in zip(swept, RIVAL_EPSILONS, strict=True)]
        yield job, found


def _done(job: Job, what: str) -> bool:
    return job.path(what).exists()


def _write(job: Job, what: str, found: dict[str, Any]) -> None:
    partial = job.path(what).with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(found))
    partial.replace(job.path(what))


def run_ours(methods: Sequence[str], job: Job) -> None:
    """Work off what of one job is not done."""
    have = json.loads(job.path("ours").read_text()) if _done(job, "ours") else {}
    missing = [name for name in methods if name not in have] if have or not _done(job, "ours") else []
    if missing:
        _write(job, "ours", have | ours(job, missing))


def run_theirs(job: Job) -> None:
    """The same for the rivals."""
    if not _done(job, "theirs"):
        for _, found in theirs([job]):
            _write(job, "theirs", found)


# -- tables ------------------------------------------------------------------------------------------------------------


def frontier(points: Array, gaps: Sequence[float] = GAPS) -> Array:
    """AUC at given gaps from (seeds, epsilons, 2) gaps and AUCs: mean over seeds, then straight lines; NaN below."""
    mean = np.nanmean(points, axis=0)
    order = np.argsort(mean[:, 0])
    gap, auc = mean[order, 0], np.maximum.accumulate(mean[order, 1])
    return np.interp(gaps, gap, auc, left=np.nan)


def advantage(one: Array, other: Array) -> tuple[Array, Array]:
    """Difference of two frontiers at equal gaps, and its standard error by a jackknife over seeds."""
    seeds = len(one)
    whole = frontier(one) - frontier(other)
    each = np.array([frontier(np.delete(one, k, 0)) - frontier(np.delete(other, k, 0)) for k in range(seeds)])
    return whole, np.sqrt((seeds - 1) * np.nanmean((each - np.nanmean(each, axis=0)) ** 2, axis=0))


def gathered(people: str, rows: int, seeds: int) -> dict[str, Array]:
    """(seeds, epsilons, 2) of every method that all seeds have."""
    found: list[dict[str, Any]] = []
    for seed in range(seeds):
        job = Job(people, rows, seed)
        merged: dict[str, Any] = {}
        for what in ("ours", "theirs"):
            if _done(job, what):
                merged |= json.loads(job.path(what).read_text())
        if merged:
            found.append(merged)
    names = [name for name in (*METHODS, *RIVALS) if sum(name in one for one in found) >= 2]
    return {
        name: np.array([[point[:2] for point in one[name]] for one in found if name in one], dtype=float)
        for name in names
    }


def report(sets: Sequence[str], sizes: Sequence[int], seeds: int, base: str = "default") -> str:
    """Markdown: AUC of the default less that of every other method, at equal gap."""
    lines: list[str] = []
    for rows in sizes:
        head = " | ".join(f"{gap:g}" for gap in GAPS)
        lines += [f"\n### {rows:,} rows\n", f"| set | {base} against | {head} |", "|---|---|" + "---|" * len(GAPS)]
        for people in sets:
            every = gathered(people, rows, seeds)
            if base not in every:
                continue
            for name, points in every.items():
                if name == base or len(points) != len(every[base]):
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    gain, error = advantage(every[base], points)
                cells = [_cell(*pair) for pair in zip(gain, error, strict=True)]
                lines.append(f"| {people} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(gain: float, error: float) -> str:
    if np.isnan(gain):
        return ""
    mark = "**" if gain < -2 * error else ""
    return f"{mark}{1000 * gain:+.1f}±{1000 * error:.1f}{mark}"


def real_sets() -> list[str]:
    from benchmarks.realdata import NAMES

    return [f"{name}/{model}" for name in NAMES for model in ("logistic", "boosting")]


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="names of sets (default: all)")
    parser.add_argument("--rows", nargs="+", type=lambda text: int(float(text)), default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rivals", action="store_true", help="also FairProjection and error-parity")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--report", action="store_true", help="only the tables of what is done")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    sets = chosen.sets or [*FAMILIES, *real_sets()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not chosen.report:
        jobs = [Job(people, rows, seed) for rows in chosen.rows for seed in range(chosen.seeds) for people in sets]
        with ProcessPoolExecutor(chosen.workers) as pool:
            work: dict[str, Callable[[Job], None]] = {"fairroc": partial(run_ours, chosen.methods)}
            for what, run in (work | ({"rivals": run_theirs} if chosen.rivals else {})).items():
                for done, _ in enumerate(pool.map(run, jobs), 1):
                    print(f"\r{what}: {done} of {len(jobs)}", end="", file=sys.stderr, flush=True)
                print(file=sys.stderr)
    print(report(sets, chosen.rows, chosen.seeds))


if __name__ == "__main__":
    main()
