"""What promise="new" does to new people: does it harm, does it help, are its statements true, is it level with others?

    python -m fairroc_studies new --before TREE/src            # everything: about twenty minutes of one core
    python -m fairroc_studies new --quick --page new.md        # a minute
    python -m fairroc_studies new --only harm truth --workers 1

Families have a known population, so that gap and AUC of new people are exact expectations over the draw; sets of real
scores (`questions.new_people`) are split: some people are fitted to, the others are new. ``--before`` measures an
older fairroc beside this one: the path of its sources, in a git worktree of commit 70c1f43. What is done is kept.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairroc_studies.harness.people import Array
from fairroc_studies.harness.tables import DOCS, rows_name, shown, table, update
from fairroc_studies.questions.new_families import HARM, TRUTH, Job
from fairroc_studies.questions.new_fits import EPSILON, PATH, RIVALS, SLOW_ROWS, Found, before, gathered
from fairroc_studies.questions.new_people import everybody, real_sets

POINTS = PATH[:2]
"""Epsilons that a user is taken to ask for."""
GAPS = (0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3)
"""Gaps of new people at which paths are compared."""
SAME = 1e-3
"""Smaller differences of AUC do not count."""
TITLES = {
    "new": '`"new"`',
    "fitted": '`"fitted"`',
    "before, new": '`"new"` before',
    "before, fitted": "default before",
    "shift": "one shift per group",
} | {name: name for name in RIVALS}


@dataclass(frozen=True)
class Size:
    """How much is run: rows and seeds of the families, sets of real scores, rows and seeds of these."""

    harm: tuple[int, ...] = (500, 2000)
    truth: tuple[int, ...] = (500, 1000, 2000, 10_000)
    seeds: int = 10
    sets: tuple[str, ...] = ()
    rows: tuple[int, ...] = (500, 2000, 10_000)
    splits: int = 2


QUICK = Size((500,), (500,), 2, ("compas_lr", "compas by age"), (500,), 2)


@dataclass(frozen=True)
class Study:
    """What is run, beside which older sources, by how many processes."""

    size: Size
    tree: Path | None
    workers: int
    rivals: Sequence[str] = ()

    def found(
        self, jobs: Sequence[Job], methods: Callable[[Job], Sequence[str]], *, beside: bool = True
    ) -> dict[tuple[str, int], list[Found]]:
        """For every set or family and size the points of all seeds that have any; ``beside`` those of older sources."""
        made = gathered([(job, method) for job in jobs for method in methods(job)], self.workers)
        if self.tree is not None and beside:
            for job, points in before([job for job in jobs if made[job]], self.tree, self.workers).items():
                made[job] |= points
        places: dict[tuple[str, int], list[Found]] = {}
        for job, found in made.items():
            if found:
                places.setdefault((job.people, job.rows), []).append(found)
        return places

    def real(self, rivals: Sequence[str] = (), *, beside: bool = False) -> dict[tuple[str, int], list[Found]]:
        """The same of all sets of real scores."""
        names, size = self.size.sets or real_sets(), self.size
        jobs = [Job(name, rows, seed) for seed in range(size.splits) for rows in size.rows for name in names]

        def methods(job: Job) -> list[str]:
            slow = job.seed == 0 and job.rows == SLOW_ROWS
            return ["new", *(name for name in rivals if slow or name != "error-parity")]

        return self.found(jobs, methods, beside=beside)


def at(found: Found, method: str, field: str, epsilon: float = EPSILON) -> float:
    """One figure of a method at an epsilon."""
    return float(next(point[field] for point in found[method] if point.get("epsilon", epsilon) == epsilon))


def mean(each: Sequence[Found], method: str, field: str, epsilon: float = EPSILON) -> float:
    return float(np.mean([at(found, method, field, epsilon) for found in each]))


def lost(each: Sequence[Found], method: str, epsilon: float = EPSILON) -> float:
    """AUC of the original score less that of a method."""
    return mean(each, "original", "auc") - mean(each, method, "auc", epsilon)


# -- harm and help -----------------------------------------------------------------------------------------------------


def harm_section(study: Study) -> str:
    size = study.size
    jobs = [Job(name, rows, seed) for name in HARM for rows in size.harm for seed in range(size.seeds)]
    places = study.found(jobs, lambda job: ("new", "fitted"))
    methods = [name for name in TITLES if name in next(iter(places.values()))[0] and name != "shift"]
    body = []
    for (name, rows), each in places.items():
        line = [name, rows_name(rows), f"{mean(each, 'original', 'gap'):.3f}"]
        line += [f"{mean(each, method, 'gap'):.3f}" for method in methods]
        line += [f"{mean(each, 'new', 'stated'):.3f}", *(f"{lost(each, method):+.4f}" for method in methods)]
        body.append(line)
    head = ["groups", "rows", "gap: original", *(TITLES[name] for name in methods), 'stated by `"new"`']
    head += [f"AUC lost: {TITLES[name]}" for name in methods]
    sums = [_harm_line(places, method) for method in methods]
    what = ["", "largest harm", "where", "harm on average", "largest and mean gap, shift .4 and more, most rows"]
    return f"{table(head, body)}\n\n{table([*what, 'AUC lost on average'], sums)}"


def _harm_line(places: dict[tuple[str, int], list[Found]], method: str) -> list[str]:
    """Harm is how much larger than the original score's a cell's mean gap is, 0 where it is smaller."""
    harm = {place: mean(each, method, "gap") - mean(each, "original", "gap") for place, each in places.items()}
    worst = max(harm, key=lambda place: harm[place])
    most = max(rows for _, rows in places)
    far = [mean(e, method, "gap") for (n, r), e in places.items() if r == most and float(n.split()[-1]) >= 0.4]
    average = np.mean([max(x, 0.0) for x in harm.values()])
    line = [TITLES[method], f"{harm[worst]:+.3f}", f"{worst[0]}, {rows_name(worst[1])} rows", f"{average:.3f}"]
    return [*line, f"{max(far):.3f}, {np.mean(far):.3f}", f"{np.mean([lost(e, method) for e in places.values()]):+.4f}"]


# -- statements --------------------------------------------------------------------------------------------------------


def truth_section(study: Study) -> str:
    size = study.size
    jobs = [Job(name, rows, seed) for name in TRUTH for rows in size.truth for seed in range(size.seeds)]
    places = study.found(jobs, lambda job: ("new",), beside=False)
    body, every = [], []
    for name in TRUTH:
        line = [name]
        for rows in size.truth:
            off = [at(found, "new", "stated") - at(found, "new", "gap") for found in places[name, rows]]
            every += [np.mean(off)] if rows >= 1000 else []
            line.append(f"{shown(off, sign=True)} ({mean(places[name, rows], 'new', 'gap'):.3f})")
        original = [mean(places[name, rows], "original", "stated") for rows in size.truth]
        line.append(
            f"{', '.join(f'{x:.3f}' for x in original)} ({mean(places[name, size.truth[0]], 'original', 'gap'):.3f})"
        )
        body.append(line)
    head = ["family", *(f"{rows_name(rows)} rows" for rows in size.truth), "original score: stated (true)"]
    parts = [table(head, body)]
    if every:
        parts.append(f"From 1,000 rows on: {np.mean(every):+.3f} on average, {np.abs(every).max():.3f} at most.")
    return "\n\n".join([*parts, table(LIMITS, [_limits(places, rows) for rows in size.truth])])


LIMITS = ("rows", "fits", "limit of 95 % holds", "limit / gap where that is .1 or more, median", "limit less gap, else")


def _limits(places: dict[tuple[str, int], list[Found]], rows: int) -> list[str]:
    each = [found for (_, count), every in places.items() if count == rows for found in every]
    upper, gap = (np.array([at(found, "new", field) for found in each]) for field in ("upper", "gap"))
    large = gap >= 0.1
    ratio = f"{np.median(upper[large] / gap[large]):.2f}" if large.any() else "–"
    beyond = f"{np.median((upper - gap)[~large]):.3f}" if not large.all() else "–"
    return [rows_name(rows), str(len(each)), f"{(upper >= gap).mean():.1%}", ratio, beyond]


def classes(places: dict[tuple[str, int], list[Found]]) -> Iterator[tuple[list[str], list[tuple[str, list[Found]]]]]:
    """Sets of two groups and of more, by rows: the beginning of a line, and every set with its seeds."""
    for two in (True, False):
        for count in sorted({rows for _, rows in places}):
            found = [(n, e) for (n, rows), e in places.items() if rows == count and (everybody(n).count == 2) == two]
            if found:
                yield ["2" if two else "3 and more", rows_name(count), str(len(found))], found


def real_section(study: Study) -> str:
    body = []
    for line, sets in classes(study.real()):
        for method, epsilons in (("original", (EPSILON,)), ("new", POINTS)):
            off = [
                np.mean(
                    [at(found, method, "shown", e) - at(found, method, "gap", e) for found in each for e in epsilons]
                )
                for _, each in sets
            ]
            gap = np.mean([mean(each, method, "gap", e) for _, each in sets for e in epsilons])
            line = [*line, f"{gap:.3f}", shown([float(x) for x in off], sign=True)]
        stated = np.mean([mean(each, "new", "stated", e) for _, each in sets for e in POINTS])
        body.append([*line, f"{stated:.3f}"])
    head = ["groups", "rows", "sets", "original score: gap", "expected less measured"]
    return table([*head, '`"new"`: gap', "expected less measured", "stated"], body)


# -- level -------------------------------------------------------------------------------------------------------------


def frontier(points: Array, gaps: Sequence[float]) -> Array:
    """AUC at given gaps from (seeds, points, 2) gaps and AUCs: the mean over seeds, then straight lines; NaN below the
    smallest gap."""
    whole = points.mean(axis=0)
    order = np.argsort(whole[:, 0])
    gap, auc = whole[order, 0], np.maximum.accumulate(whole[order, 1])
    return np.interp(gaps, gap, auc, left=np.nan)


def points_of(each: Sequence[Found], method: str) -> Array:
    """(seeds, points, 2) of a method; the original score belongs to every path."""
    return np.array([[(p["gap"], p["auc"]) for p in (*found[method], *found["original"])] for found in each])


def gain(each: Sequence[Found], method: str, epsilon: float | None) -> tuple[float, float]:
    """AUC of "new" less a method's at equal gap, at an epsilon or along the path, and its error by a jackknife."""
    ours, theirs = points_of(each, "new"), points_of(each, method)

    def of(kept: list[int]) -> float:
        if epsilon is not None:
            gap, auc = ours[kept, PATH.index(epsilon)].mean(axis=0)
            return float(auc - frontier(theirs[kept], [gap])[0])
        gaps = [gap for gap in GAPS if gap < ours[kept, -1, 0].mean()]
        apart = frontier(ours[kept], gaps) - frontier(theirs[kept], gaps)
        return float(np.nanmean(apart)) if np.isfinite(apart).any() else np.nan

    seeds = range(len(each))
    without = np.array([of([k for k in seeds if k != left]) for left in seeds]) if len(each) > 1 else np.array([np.nan])
    return of([*seeds]), float(np.sqrt((len(each) - 1) * ((without - without.mean()) ** 2).mean()))


def level_section(study: Study) -> str:
    places = study.real(study.rivals, beside=True)
    points, against = [], []
    for line, sets in classes(places):
        methods = [name for name in TITLES if any(name in found for _, each in sets for found in each)]
        own = [name for name in methods if name == "new" or name.startswith("before")]
        for epsilon in POINTS:
            cells = [f"{np.mean([mean(each, 'original', 'gap') for _, each in sets]):.3f}"]
            for method in own:
                gap = np.mean([mean(each, method, "gap", epsilon) for _, each in sets])
                cells.append(f"{gap:.3f} / {np.mean([-lost(each, method, epsilon) for _, each in sets]):+.4f}")
            points.append([*line, f"{epsilon:g}", *cells])
        for method in methods[1:]:
            mine = [(n, [f for f in each if f.get(method)]) for n, each in sets]
            against.append([*line[:2], TITLES[method], *_against([(n, each) for n, each in mine if each], method)])
    head = ["groups", "rows", "sets", "epsilon", "original gap", *(f"{TITLES[name]}: gap / AUC" for name in own)]
    ways = [*(f"at epsilon {epsilon:g}" for epsilon in POINTS), "along the path"]
    what = ["groups", "rows", '`"new"` less', "sets", *ways, "clearly behind"]
    return f"{table(head, points)}\n\n{table(what, against)}"


def _against(sets: Sequence[tuple[str, list[Found]]], method: str) -> list[str]:
    """How many sets; the mean gain and its error over sets, in thousandths, three times; and where it is a loss."""
    cells, behind = [str(len(sets))], []
    for epsilon in (*POINTS, None):
        if method == "before, new" and epsilon is None:  # it was asked for two epsilons
            cells.append("")
            continue
        found = {name: gain(each, method, epsilon) for name, each in sets}
        reached = {name: one for name, one in found.items() if np.isfinite(one[0])}
        whole = [1000 * value for value, _ in reached.values()]
        beyond = f" ({len(found) - len(reached)} out of reach)" if len(reached) < len(found) else ""
        cells.append(shown(whole, 1, sign=True) + beyond if whole else f"out of reach in all {len(found)}")
        where = "path" if epsilon is None else f"{epsilon:g}"
        behind += [
            f"{name} ({where}) {1000 * value:+.1f} ± {1000 * error:.1f}"
            for name, (value, error) in reached.items()
            if -value > max(2 * error, SAME)
        ]
    return [*cells, "; ".join(behind)]


SECTIONS = {"harm": harm_section, "truth": truth_section, "real": real_section, "level": level_section}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="few people, sets and seeds")
    parser.add_argument("--seeds", type=int, default=Size.seeds, help="samples of each family")
    parser.add_argument("--splits", type=int, default=Size.splits, help="of each set of real scores")
    parser.add_argument("--before", type=Path, metavar="SRC", help="sources of an older fairroc")
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=RIVALS[:2], help="error-parity is slow")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--page", type=Path, default=DOCS / "results" / "new-people.md")
    chosen = parser.parse_args(arguments)
    size = QUICK if chosen.quick else Size(seeds=chosen.seeds, splits=chosen.splits)
    study = Study(size, chosen.before, chosen.workers, chosen.rivals)
    for name, section in SECTIONS.items():
        if name in chosen.only:
            text = section(study)
            print(f"{text}\n", flush=True)
            update(chosen.page, {name: text}, "new-people.md")
