"""How fits without the group, and by several attributes, grow: one fit, in a process of its own.

    python -m fairroc_studies.questions.blind_growth '{"what": "rows", "rows": 10000, "way": "proxy"}'

prints the CPU seconds and the peak memory as JSON. People are Adult's (those not trained on), drawn with replacement,
with noise on the logits of score and guess, so that no two have the same ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from fairroc.core.constraint import equalized_odds
from fairroc.core.program import Comparison, solve
from fairroc.fitting.held_out import even_shares, tree_of
from fairroc.people.spread import SpreadRows, read_spread
from fairroc_studies.harness.people import Array
from fairroc_studies.harness.store import Store, key, package_versions, source_digest
from fairroc_studies.peers.child import measure
from fairroc_studies.peers.children import HOME, ONE_THREAD, last_error
from fairroc_studies.questions.blind_fits import EPSILON, fitted, guessed_people
from fairroc_studies.questions.blind_people import Known

NOISE = 0.05
"""Standard deviation of the noise on logits."""
LEVELS = 24
CELL_ROWS = 1_000_000
"""People that are counted into cells, where cells are many."""
LEAVES = 20
"""Leaves that the cells are spread over."""
GROUP_ROWS = 100_000


def people(rows: int, groups: int = 2, seed: int = 0) -> Known:
    """So many people like Adult's; more groups than two are halves of the halves, told apart by a guess each."""
    base = guessed_people("adult", 0)[0]
    rng = np.random.default_rng([seed, rows])
    taken = rng.integers(base.rows, size=rows)
    assert base.probabilities is not None
    scores, guess = (noisy(one[taken], rng) for one in (base.scores, next(iter(base.probabilities.values()))))
    sex = (base.attributes["group"][taken] == "Male").astype(int)
    if groups == 2:
        return Known(scores, base.labels[taken], {"group": sex}, {"1": guess})
    lot = rng.integers(0, groups // 2, rows)
    group = np.char.zfill((sex * (groups // 2) + lot).astype(str), 2)
    names = np.unique(group)
    right = noisy(np.where(group[:, None] == names, 0.6, 0.4 / (len(names) - 1)), rng)
    scores = noisy(np.clip(scores + 0.02 * lot * (scores * (1 - scores)), 0, 1), rng)
    return Known(scores, base.labels[taken], {"group": group}, {str(g): right[:, k] for k, g in enumerate(names)})


def noisy(chances: Array, rng: np.random.Generator) -> Array:
    """Probabilities with noise on their logits."""
    from scipy.special import expit, logit

    found: Array = expit(logit(np.clip(chances, 1e-6, 1 - 1e-6)) + NOISE * rng.standard_normal(chances.shape))
    return found


def by_rows(rows: int, way: str) -> dict[str, Any]:
    """A fit of so many people: with a proxy, from the score alone, with the group known, or by two attributes."""
    known = people(rows)
    if way == "score":
        known = Known(known.scores, known.labels, known.attributes)
    if way == "each":
        halves = np.random.default_rng(1).integers(0, 2, rows)
        known = Known(known.scores, known.labels, {"sex": known.attributes["group"], "half": halves})
    options: dict[str, Any] = {"known": {}, "each": {"combine": "each"}}.get(way, {"use_group": False})
    return _fit(known, **options)


def by_groups(groups: int) -> dict[str, Any]:
    """A fit with a proxy of so many groups."""
    return _fit(people(GROUP_ROWS, groups), use_group=False)


def _fit(known: Known, **options: Any) -> dict[str, Any]:
    post, cost = measure(lambda: fitted(known, **options))
    begin = time.process_time()
    assert post.certificate_.gap <= EPSILON + 1e-9
    cells = post.certificate_.cells
    after = time.process_time()
    assert post.outlook_.auc_estimate > 0
    return {
        **{"fit": cost.cpu, "memory": cost.memory, "certificate": after - begin},
        **{"outlook": time.process_time() - after, "segments": len(post.model_.groups)},
        **{"cells": 0 if cells is None else cells.cells, "levels": post.model_.levels},
    }


def by_cells(cells: int) -> dict[str, Any]:
    """The linear program alone: so many cells of people with a proxy, in `LEAVES` leaves, at `LEVELS` levels."""
    known = people(CELL_ROWS)
    counted, cost = measure(lambda: _cells(known, cells))
    mixture, found = counted
    one = Comparison(np.arange(2), equalized_odds(1), EPSILON)
    selection, spent = measure(lambda: solve(found, [one], even_shares(mixture, LEVELS)))
    return {
        **{"count": cost.cpu, "fit": spent.cpu, "memory": spent.memory, "cells": found.count},
        **{"auc": selection.auc(found), "levels": len(selection.shares)},
    }


def _cells(known: Known, cells: int) -> tuple[Any, Any]:
    rows: SpreadRows = read_spread(
        known.scores,
        known.labels,
        sensitive_features=known.features,
        use_group=False,
        group_probabilities=known.probabilities,
    )
    assert rows.probabilities is not None
    tree = tree_of(rows, LEAVES)
    mixture = rows.segmented(tree.leaf(rows.probabilities), tree.names).mixture()
    return mixture, mixture.cells(mixture.cuts(cells // LEAVES, mixture.person))


RUNS: dict[str, Callable[..., dict[str, Any]]] = {"rows": by_rows, "groups": by_groups, "cells": by_cells}


def cost_of(asked: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What a run costs, in a process of its own, or why it is not known; kept once it is measured."""
    name = key("blind growth", asked, source_digest(__name__), package_versions(("sklearn",)))
    found = Store().get_rows(name)
    if found is None:
        found = _measured(asked, seconds)
        if "error" not in found:
            Store().put_rows(name, found)
    return dict(found)


def _measured(asked: dict[str, Any], seconds: float) -> dict[str, Any]:
    code = f"import sys; sys.path.insert(0, {HOME!r}); from {__name__} import main; main(sys.argv[1])"
    command = [sys.executable, "-c", code, json.dumps(asked)]
    try:
        done = subprocess.run(
            command, env=os.environ | ONE_THREAD, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {seconds:.0f} s"}
    if done.returncode:
        return {"error": last_error(done.stderr) or f"ended with {done.returncode}"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(asked: str) -> None:
    """Measure one run and print it."""
    about = json.loads(asked)
    warnings.simplefilter("ignore")
    print(json.dumps(RUNS[about.pop("what")](**about)))


if __name__ == "__main__":
    main(sys.argv[1])
