"""Methods beside each other on the people they were fitted to: who is drawn, and whose answer changes."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairroc import FairROC
from fairroc_studies.harness.curve import Curve, decided, reached, thresholds_of
from fairroc_studies.harness.people import Array, Case, Part, save
from fairroc_studies.harness.store import Store, key, source_digest
from fairroc_studies.peers.catalogue import FAIRLEARN, Entry, refitted
from fairroc_studies.peers.child import answers
from fairroc_studies.peers.children import PINS, Answer, Task, run_many
from fairroc_studies.peers.rivals import fairprojection_at

EPSILON, SECONDS = 0.05, 600.0
RELAXED = Entry("error-parity", "error-parity", "Relaxed", (), {"tolerance": EPSILON})
HEAD = ("scores", "method", "gap", "AUC", "accuracy", "people drawn", "answers that change: same call", "rows shuffled")
OWN: dict[str, dict[str, Any]] = {
    'fairroc, `draw="few"`': {},
    'fairroc, `draw="never"`': {"draw": "never"},
    'fairroc, `draw="all"`': {"draw": "all"},
    'the paper, `method="froc"`': {"method": "froc"},
}


def table_rows(name: str, people: Part) -> list[list[str]]:
    """One row for each method; kept once they are there."""
    about = key("beside", people.scores, people.labels, people.group_names, PINS, source_digest(__name__))
    rows = Store().rows(about, lambda: [*_original(people), *_peers(people), *_projected(people), *_own(people)])
    return [[name, *row] for row in rows]


def _row(title: str, *figures: float | None) -> list[str]:
    """Gap, AUC, accuracy, share drawn, shares whose answer changes in the same call and among shuffled rows."""
    forms = (".3f", ".4f", ".3f", ".0%", ".1%", ".1%")
    return [title, *("–" if one is None else f"{one:{form}}" for one, form in zip(figures, forms, strict=True))]


def _original(people: Part) -> Iterator[list[str]]:
    curve = reached(people.scores, people)
    yield _row("original score", curve.gap, curve.auc, curve.accuracy.max(), 0.0, 0.0, 0.0)


def _peers(people: Part) -> Iterator[list[str]]:
    """fairlearn and error-parity, in processes of their own; why there is nothing, where that is so."""
    asked = [(entry, ask) for entry in (FAIRLEARN, RELAXED) for ask in ("decision", "again")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.npz"
        save(path, Case(people, people))
        found = run_many([_task(*one, path) for one in [*asked, (refitted(EPSILON), "curve")]], seconds=SECONDS)
    for entry, decision, again in zip((FAIRLEARN, RELAXED), found[:4:2], found[1:4:2], strict=True):
        why = decision.error or again.error
        yield [f"{entry.title}: {why}", *[""] * 6] if why else _decision(entry.title, people, decision, again)
    if found[-1].error is None:
        curve = Curve.of(found[-1].arrays["accepted"], people.totals)
        yield _row("error-parity, 39 decisions", curve.gap, curve.auc, curve.accuracy.max(), None, None, None)


def _task(entry: Entry, ask: str, path: Path) -> Task:
    asked = {"ask": ask, "method": entry.method, "options": entry.options, "data": str(path)}
    return Task(entry.library, asked, slow=True)


def _decision(title: str, people: Part, decision: Answer, again: Answer) -> list[str]:
    chances = decision.arrays["rates"]
    curve, drawn = decided(chances, people), float(np.mean((chances > 1e-9) & (chances < 1 - 1e-9)))
    changed = again.figures["again"], again.figures["shuffled"]
    return _row(f"{title}, one decision", curve.gap, None, float(curve.accuracy[0]), drawn, *changed)


def _projected(people: Part) -> Iterator[list[str]]:
    found = fairprojection_at(people, people, EPSILON)
    assert found.curve is not None
    yield _row("FairProjection", found.gap, found.auc, found.curve.accuracy.max(), 0.0, 0.0, 0.0)


def _own(people: Part) -> Iterator[list[str]]:
    """fairroc's, with ids; at last with a random state in their place."""
    every = [(title, options, True) for title, options in OWN.items()]
    for title, options, ids in [*every, ('fairroc, `draw="few"`, no ids but `random_state=0`', {}, False)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            post = FairROC(EPSILON, promise="fitted", salt=1, **options)
            post.fit(people.scores, people.labels, sensitive_features=people.group_names)
            figures = _measured(post, people, ids)
        yield _row(title, *figures)


def _measured(post: FairROC, people: Part, ids: bool) -> tuple[float, ...]:
    """A fair score's figures; its decision is that of the most accurate threshold."""

    def fair(rows: Array) -> Array:
        who: dict[str, Any] = {"ids": rows} if ids else {"random_state": 0}
        return post.transform(people.scores[rows], sensitive_features=people.group_names[rows], **who)

    scores = fair(np.arange(people.rows))
    curve = reached(scores, people)
    cut = thresholds_of(scores)[curve.best()]
    changed = answers(lambda rows: fair(rows) >= cut, lambda rows: rows, people.rows)
    found = post.certificate_
    drawn = sum(group.rows * group.randomised_share for group in found.groups) / found.rows
    return found.gap, found.auc, float(curve.accuracy.max()), drawn, changed["again"], changed["shuffled"]
