"""All fits of the study of draws, kept once they are made: by this tree, and by an older commit in a git worktree."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from fairroc.core.walk import least_bound
from fairroc.fitting import walking
from fairroc.fitting.solver import Solver
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc_studies.harness.curve import reached
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array, Part
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.harness.tables import DOCS
from fairroc_studies.problems.scores import FILES
from fairroc_studies.questions import draws_child
from fairroc_studies.questions.draws_child import fitted
from fairroc_studies.questions.draws_people import crossed, pair

Fit = dict[str, Any]
"""As in `draws_child.fitted`."""

BEFORE = "70c1f43"
"""The last commit before walks: all its fits drew the order inside blocks of scores, or some of it."""
EPSILONS = (0.02, 0.05, 0.1, 0.2)
FINE = tuple(round(0.01 * i, 2) for i in range(1, 21))
PRICES = (0.0, 0.01, 0.02, walking.DRAW_PRICE, 0.1, 0.2, 1.0)


@dataclass(frozen=True)
class People:
    """A set of people and the fits to them: by draw, "before" or "price ...", by epsilon."""

    name: str
    rows: int
    fits: Mapping[str, Mapping[float, Fit]]

    @property
    def first(self) -> Fit:
        return self.fits["few"][EPSILONS[0]]

    @property
    def least(self) -> float:
        """The least gap of a score that draws nobody and keeps all scores apart."""
        return float(self.first["least"])

    def at(self, way: str, epsilon: float) -> Fit | None:
        return self.fits.get(way, {}).get(epsilon)


def gathered(names: Sequence[str], workers: int) -> tuple[list[People], str | None]:
    """These sets with all their fits, and why older ones are missing where they are."""
    parts = [pair(name) for name in names]
    old: Sequence[Sequence[Fit]] = [()] * len(names)
    why = None
    try:
        old = before([_columns(part) for part in parts], workers)
    except OSError as error:
        why = str(error)
    every = []
    for name, part, fits, past in zip(names, parts, in_order(job, [(n,) for n in names], workers), old, strict=True):
        by = {way: {fit["epsilon"]: fit for fit in found} for way, found in {**fits, "before": past}.items()}
        every.append(People(name, part.rows, by))
    return every, why


def job(name: str) -> dict[str, list[Fit]]:
    """All fits to a set by this tree; other prices where epsilon is below the least gap."""
    columns, grid = _columns(pair(name)), FINE if name in FILES else EPSILONS

    def made() -> dict[str, list[Fit]]:
        modes = ("few", "never", "all")
        found = {draw: [fitted(**columns, epsilon=epsilon, draw=draw) for epsilon in grid] for draw in modes}
        first = found["few"][0]
        below = [epsilon for epsilon in EPSILONS if epsilon < min(first["least"], first["gap_before"])]
        found[f"price {walking.DRAW_PRICE:g}"] = [fit for fit in found["few"] if fit["epsilon"] in below]
        for price in set(PRICES) - {walking.DRAW_PRICE}:
            with patch.object(walking, "DRAW_PRICE", price):
                found[f"price {price:g}"] = [fitted(**columns, epsilon=epsilon) for epsilon in below]
        return found

    return _kept(made, columns, grid, PRICES)


def least(name: str, by: tuple[str, ...]) -> list[Any]:
    """Of a set with more groups: name, groups, people, gap, lower and upper bound of the least gap without a draw."""
    people = crossed(name, by)
    columns = _columns(people)

    def made() -> list[float]:
        known = read_people(columns["scores"], columns["labels"], sensitive_features=columns["groups"])
        walks = Solver(known, Options.checked(epsilon=0.0, promise="fitted")).walks
        gap = walks.least.gap
        return [reached(people.scores, people).gap, least_bound(walks.strands, gap), gap]

    return [f"{name} by {' × '.join(by) or 'race'}", len(people.names), people.rows, *_kept(made, columns)]


def _columns(people: Part) -> dict[str, Array]:
    return {"scores": people.scores, "labels": people.labels, "groups": people.group_names}


def _kept(make: Callable[[], Any], *about: Any) -> Any:
    return Store().rows(key("draws", *about, source_digest(__name__)), make)


# -- older fits --------------------------------------------------------------------------------------------------------


def before(people: Sequence[Mapping[str, Array]], workers: int) -> list[list[Fit]]:
    """Default fits by the older commit. OSError where it cannot be had."""
    store, text = Store(), inspect.getsource(fitted)
    names = [key("draws", BEFORE, one, EPSILONS, text, package_versions(())) for one in people]
    found = [store.get_rows(name) for name in names]
    missing = [number for number, fits in enumerate(found) if fits is None]
    if missing:
        with older() as tree, ThreadPoolExecutor(workers) as pool:

            def make(number: int) -> list[Fit]:
                fits = fitted_by(tree, people[number])
                store.put_rows(names[number], fits)
                return fits

            for number, fits in zip(missing, pool.map(make, missing), strict=True):
                found[number] = fits
    return found


@contextmanager
def older(commit: str = BEFORE) -> Iterator[Path]:
    """The tree of a commit of this checkout, in a folder for the time being."""
    git = ["git", "-C", str(DOCS.parent), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / commit
        command = [*git, "add", "--quiet", "--detach", str(tree), commit]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise OSError(f"git has no commit {commit} here ({made.stderr.strip()})")
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def fitted_by(tree: Path, people: Mapping[str, Any]) -> list[Fit]:
    """Default fits at every epsilon with another tree's sources, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.npz"
        np.savez(path, **people)
        call = [sys.executable, "-P", draws_child.__file__, str(path), json.dumps(EPSILONS)]
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    if not Path(found["home"]).is_relative_to(tree):
        raise RuntimeError(f"fits must come from {tree}; they came from {found['home']}.")
    return list(found["fits"])
