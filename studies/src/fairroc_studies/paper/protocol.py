"""The whole study: every problem, model and split, trained, post-processed and measured, by several processes.

    study = run(Plan(problems=("compas",), models=("lr",), splits=2))

What was computed before is taken from the store. Rows depend neither on the number of processes nor on their order.
"""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fairroc._version import __version__
from fairroc.datasets._find import data_folder
from fairroc.errors import DataError, FairrocError
from fairroc_studies.harness.jobs import Steps, as_completed
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.models.recipes import RECIPES, Scored, scored
from fairroc_studies.paper import measuring
from fairroc_studies.paper.measuring import froc_seconds
from fairroc_studies.paper.rules import collected_warnings
from fairroc_studies.paper.study import Job, Plan, Result, RocLines, Study, epsilons_of, lines_of, result_of, row_of
from fairroc_studies.problems.problem import Problem, split
from fairroc_studies.problems.registry import check_name, load

Progress = Callable[[int, int], None]

NO_CELEBA = "celeba: its files are not at hand; give their folder with --celeba (celeba= of a plan)."
CONSTRAINED = "fnnc"
"""The model that can be trained to meet a target."""


def run(plan: Plan, *, progress: Progress | None = None, say: Callable[[str], None] | None = None) -> Study:
    """Run a plan. ``progress(done, all)`` is called at once and after each job, and then, from 0 again, for the tasks
    of other libraries; ``say`` with a line for each thing left out.

    A job that fails becomes a line of ``Study.skipped``; with FAIRROC_TRACEBACK set its error ends the run.
    """
    _check(plan)
    begin, lines = time.monotonic(), _Lines(say)
    problems, jobs = _problems(plan, lines), list[Job]()
    for name in problems:
        jobs += _jobs(plan, problems[name], lines)
    found = list(_worked(plan, jobs, progress, lines))
    rows = [row for done in found for row in done.results]
    rows += _peers(plan, [done.scored for done in found if done.scored is not None], progress, lines)
    if not rows:
        raise FairrocError(f"nothing could be run. {' '.join(lines.all) or 'Name a problem and a model.'}")
    facts: dict[str, Any] = {
        "problems": {name: _described(problem) for name, problem in problems.items()},
        "models": {name: RECIPES[name].title for name in plan.models},
        "epsilons": {f"{p}/{m}": list(epsilons_of(p, m, plan.epsilons)) for p in problems for m in plan.models},
        "versions": _versions(plan.models),
        "warnings": dict(sorted(sum((done.warnings for done in found), Counter[str]()).items())),
        "fairprojection": _stored_checks(plan, lines),
        "froc_seconds": [list(pair) for pair in froc_seconds()],
        "jobs": len(found),
        "stored": sum(done.stored for done in found),
        "seconds": time.monotonic() - begin,
    }
    rocs = tuple(lines for done in found for lines in done.rocs)
    return Study(plan, tuple(_with_losses(rows)), rocs, tuple(lines.all), facts)


def _check(plan: Plan) -> None:
    for model in plan.models:
        if model not in RECIPES:
            raise DataError(f"no model {model!r}; choose one of: {', '.join(RECIPES)}.")
    for problem in plan.problems:
        check_name(problem)
    for name, least in (("splits", 1), ("draws", 0), ("epsilons", 1), ("jobs", 1)):
        value = getattr(plan, name)
        if value is not None and value < least:
            raise DataError(f"{name} must be {least} or more, got {value}.")


class _Lines:
    """What was left out: every line once."""

    def __init__(self, say: Callable[[str], None] | None) -> None:
        self.say, self.all = say, list[str]()

    def add(self, line: str) -> None:
        if line not in self.all:
            self.all.append(line)
            if self.say is not None:
                self.say(line)


# -- what there is to do -----------------------------------------------------------------------------------------------


def _problems(plan: Plan, lines: _Lines) -> dict[str, Problem]:
    """The problems that can be loaded and split here."""
    found = {}
    for name in plan.problems:
        try:
            problem = loaded(name, plan)
            split(problem, 0)
            found[name] = problem
        except FairrocError as error:
            if len(plan.problems) == 1:
                raise
            lines.add(NO_CELEBA if name == "celeba" and plan.celeba is None else f"{name}: {error}")
    return found


def _jobs(plan: Plan, problem: Problem, lines: _Lines) -> Iterator[Job]:
    """Every model that can be trained here, with the protected features and without; then those with a target."""
    for model in plan.models:
        recipe = RECIPES[model]
        if recipe.heavy and plan.heavy is not None and problem.name not in plan.heavy:
            continue  # the plan says so
        why = recipe.missing()
        if why is None and recipe.images and problem.images is None:
            if problem.name != "celeba":
                continue  # nobody expects pictures there
            why = f"{recipe.title}: no pictures of {problem.title}"
        if why is not None:
            lines.add(why)
            continue
        for protected in plan.protected:
            yield from (Job(problem.name, model, protected, seed) for seed in range(plan.splits))
        if model == CONSTRAINED and True in plan.protected:
            targets = epsilons_of(problem.name, model, plan.epsilons)
            yield from (Job(problem.name, model, True, 0, target) for target in targets)


def _worked(plan: Plan, jobs: Sequence[Job], progress: Progress | None, lines: _Lines) -> Iterator[Done]:
    """What came of each job, in the order of the jobs."""
    found: list[Done | None] = [None] * len(jobs)
    if progress is not None and jobs:
        progress(0, len(jobs))
    with closing(completed(plan, jobs)) as ended:
        for count, (number, done) in enumerate(ended, 1):
            found[number] = done
            if done.failed is not None:
                lines.add(f"{jobs[number].words}: {done.failed}")
            if progress is not None:
                progress(count, len(jobs))
    return (done for done in found if done is not None)


# -- other libraries ---------------------------------------------------------------------------------------------------


def _peers(plan: Plan, people: Sequence[Scored], progress: Progress | None, lines: _Lines) -> list[Result]:
    """Other libraries' rows, kept in the store; they run in processes of their own."""
    if not plan.peers or not people:
        return []
    from fairroc_studies.paper import peers

    for line in peers.refused(people):
        lines.add(line)
    store, source = Store.at(plan.cache), peers.fingerprint()
    keys = [
        key("peers", one.problem, one.model, one.protected, one.seed, one.privileged, one.digest, source)
        for one in people
    ]
    found: dict[str, Any] = {name: store.get_rows(name) for name in keys}
    new = [(name, one) for name, one in zip(keys, people, strict=True) if found[name] is None]
    if new:
        rows, left_out = _peers_rows([one for _, one in new], plan.jobs, progress)
        for line in left_out:
            lines.add(line)
        for (name, _), some in zip(new, rows, strict=True):
            found[name] = [row_of(row) for row in some]
            if not left_out:
                store.put_rows(name, found[name])
    return [result_of(row) for name in keys for row in found[name]]


def _peers_rows(
    people: Sequence[Scored], workers: int | None, progress: Progress | None
) -> tuple[list[list[Result]], tuple[str, ...]]:
    from fairroc_studies.paper import peers

    steps = Steps(progress, peers.task_count(people))
    try:
        return peers.results_many(people, workers=workers, done=steps.add)
    except OSError as error:  # no room for their environments, say; all else is measured by now
        return [[] for _ in people], (f"{', '.join(peers.LIBRARIES)}: {error}",)


def _stored_checks(plan: Plan, lines: _Lines) -> list[dict[str, Any]]:
    """FairProjection beside its authors' stored results, if the plan asks for it: a row for each tolerance."""
    if not plan.stored:
        return []
    from fairroc_studies.paper import stored

    name = key("stored", source_digest(stored.__name__), package_versions(stored.NEEDS))
    try:
        found: list[dict[str, Any]] = Store.at(plan.cache).rows(
            name, lambda: [asdict(row) | {"close": row.close} for row in stored.check()]
        )
    except FairrocError as error:
        lines.add(f"FairProjection's stored results: {error}")
        return []
    return found


def _with_losses(rows: Sequence[Result]) -> Iterator[Result]:
    """The rows, with the AUC that a constrained model loses from the one trained without a target."""
    plain = {
        (row.problem, row.model, row.protected, row.repetition): row.auc
        for row in rows
        if row.method == "none" and row.measured == "test"
    }
    for row in rows:
        before = plain.get((row.problem, row.model, row.protected, row.repetition))
        if row.method != CONSTRAINED or row.measured != "test" or before is None or row.auc is None:
            yield row
        else:
            yield replace(row, auc_loss=before - row.auc)


# -- facts -------------------------------------------------------------------------------------------------------------


def _described(problem: Problem) -> dict[str, Any]:
    part = split(problem, 0)
    return {
        "title": problem.title,
        "rows": problem.rows,
        "features": problem.features.num_columns,
        "protected": list(problem.protected),
        "privileged": problem.privileged,
        "train": len(part.train),
        "calibration": len(part.calibration),
        "test": len(part.test),
        "groups": {
            str(name): {"rows": int(mine.sum()), "positives": int((mine & problem.labels).sum())}
            for name in np.unique(problem.groups)
            for mine in [problem.groups == name]
        },
    }


def _versions(models: Sequence[str]) -> dict[str, str]:
    """Of what was run with. Of a package in several parts, such as autogluon, only the part that is asked for."""
    modules = [module for model in models for module in (*RECIPES[model].needs, *RECIPES[model].optional)]
    parts = {module.partition(".")[0]: module for module in modules if "." in module}
    found = package_versions(modules)
    packages = {name: found[name] for name in found if parts.get(name.partition(".")[0], name) == name}
    return {"python": platform.python_version(), "fairroc": __version__, **packages}


# -- jobs, in this process or in several -------------------------------------------------------------------------------

PEER_SPLITS = 1
"""Splits that other libraries are run on: they take seconds to minutes for each."""


@dataclass(slots=True)
class Done:
    """What came of a job."""

    results: list[Result] = field(default_factory=list)
    rocs: list[RocLines] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    scored: Scored | None = None  # for other libraries, which run afterwards
    stored: bool = False  # taken from the store
    failed: str | None = None


def loaded(name: str, plan: Plan) -> Problem:
    """A problem of a plan; read once in each process from each folder of data."""
    return _load(name, plan.rows, plan.celeba, plan.target, data_folder())


@cache
def _load(name: str, rows: int | None, celeba: str | None, target: str, _: Path) -> Problem:
    return load(name, rows=rows, celeba=celeba, target=target)


def completed(plan: Plan, jobs: Sequence[Job]) -> Generator[tuple[int, Done], None, None]:
    """Numbers of jobs and what came of them, as they end; closed early, no further job is begun."""
    yield from as_completed(_attempted, [(job, plan) for job in jobs], plan.jobs)


def _attempted(job: Job, plan: Plan) -> Done:
    warned: Counter[str] = Counter()
    try:
        with ExitStack() as stack, collected_warnings(warned):
            if find_spec("threadpoolctl") is not None:  # sums of several threads would round differently
                stack.enter_context(import_module("threadpoolctl").threadpool_limits(1))
            done = _did(job, plan)
        done.warnings.update(warned)
        return done
    except FairrocError as error:
        return Done(failed=str(error))
    except Exception as error:
        if os.environ.get("FAIRROC_TRACEBACK"):
            raise
        words = (str(error).strip() or "no words").splitlines()[0]
        return Done(failed=f"unexpected {type(error).__name__} ({words}); FAIRROC_TRACEBACK=1 shows where.")


def _did(job: Job, plan: Plan) -> Done:
    problem, store = loaded(job.problem, plan), Store.at(plan.cache)
    options = {} if job.target is None else {"target": job.target}
    part = split(problem, job.seed)
    people = scored(problem, RECIPES[job.model], part, protected=job.protected, cache=store, **options)
    code = (source_digest(measuring.__name__), package_versions(()))
    name = key("rows", asdict(job), people.digest, people.privileged, plan.epsilons, plan.draws, code)
    kept = store.get_rows(name)
    if kept is not None:
        rows, rocs = [result_of(row) for row in kept["results"]], [lines_of(item) for item in kept["rocs"]]
        done = Done(rows, rocs, Counter(kept["warnings"]), stored=True)
    else:
        done = Done()
        with collected_warnings(done.warnings):
            _measure(done, job, plan, people)
        plain = {"results": [row_of(row) for row in done.results], "rocs": [asdict(lines) for lines in done.rocs]}
        store.put_rows(name, plain | {"warnings": dict(done.warnings)})
    if plan.peers and job.seed < PEER_SPLITS and job.protected and job.target is None:
        done.scored = people
    return done


def _measure(done: Done, job: Job, plan: Plan, people: Scored) -> None:
    if job.target is not None:
        done.results += measuring.constrained(people, job.target)
        return
    epsilons = epsilons_of(job.problem, job.model, plan.epsilons)
    done.results += measuring.split_rows(people, epsilons)
    done.results += measuring.projected(people)
    if job.seed == 0:
        done.results += measuring.drawn(people, epsilons, plan.draws)
        done.rocs += measuring.roc_lines(people)
