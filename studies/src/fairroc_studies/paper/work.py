"""Jobs done: a model trained, post-processed and measured, in this process or in several."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairroc.datasets._find import data_folder
from fairroc.errors import FairrocError
from fairroc_studies.harness.jobs import as_completed
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.models.recipes import RECIPES
from fairroc_studies.models.scoring import Scored, scored
from fairroc_studies.paper import measuring
from fairroc_studies.paper.rules import collected_warnings
from fairroc_studies.paper.study import Job, Plan, Result, RocLines, epsilons_of, lines_of, result_of, row_of
from fairroc_studies.problems.problem import Problem, split
from fairroc_studies.problems.registry import load

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
    done = Done() if kept is None else _from_store(kept)
    if kept is None:
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


def _from_store(kept: dict[str, Any]) -> Done:
    rows, rocs = [result_of(row) for row in kept["results"]], [lines_of(item) for item in kept["rocs"]]
    return Done(rows, rocs, Counter(kept["warnings"]), stored=True)
