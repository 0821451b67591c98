"""Threads, forks and spawned processes: the same bits as one after the other; the library keeps no state in between."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import fairroc
from fairroc import FairModel
from fitted_people import FairROC

RNG = np.random.default_rng(0)
N, FITTED = 40_000, 1500
GROUPS, LABELS = np.tile(["a", "b"], N // 2), RNG.integers(0, 2, N)
SCORES = np.round(LABELS + np.where(GROUPS == "a", 1.0, 3.0) * RNG.normal(size=N), 2)
IDS = RNG.permutation(N)
KEY = "a key of sixteen bytes"
WAYS = ({"draw": "all", "key": KEY}, {"epsilon": 0.3}, {"constraint": "demographic_parity"})


def fitted(way: int) -> str:
    post = FairROC(**{"epsilon": 0.1, "salt": 1, **WAYS[way]})
    post.fit(SCORES[:FITTED], LABELS[:FITTED], sensitive_features=GROUPS[:FITTED])
    return replace(post.model_, record=replace(post.model_.record, date="")).to_json()


def used(model: FairModel, way: int) -> list[bytes]:
    """Everything that looks something up, in blocks, row by row and by threshold."""
    how: dict[str, Any] = {"key": WAYS[way].get("key")}
    fair = model.transform(SCORES, sensitive_features=GROUPS, ids=IDS, **how)
    parts = [slice(i, i + 3) for i in range(5)]
    few = [model.transform(SCORES[part], sensitive_features=GROUPS[part], ids=IDS[part], **how) for part in parts]
    text = model.transform(SCORES[:999], sensitive_features=GROUPS[:999], ids=list(map(str, IDS[:999])), **how)
    rates = [model.acceptance_rate(SCORES, sensitive_features=GROUPS, threshold=t) for t in (0.0, 0.5, 1.0)]
    return [part.tobytes() for part in (fair, *few, text, *rates)]


def both(way: int) -> tuple[str, list[bytes]]:
    text = fitted(way)
    return text, used(FairModel.from_json(text), way)


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads that give way all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(calls: list[Callable[[], Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(timeout=120) for future in [pool.submit(call) for call in calls]]


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_threads_share_a_model(way: int) -> None:
    """One model that nobody has used yet: its tables are made while several ask for them."""
    text = fitted(way)
    truth = used(FairModel.from_json(text), way)
    model = FairModel.from_json(text)
    assert all(found == truth for found in in_threads([partial(used, model, way)] * 4))


@pytest.mark.usefixtures("hurried")
def test_threads_fit_at_the_same_time() -> None:
    truth = [fitted(way) for way in range(len(WAYS))]
    assert in_threads([partial(fitted, way) for way in (0, 1, 2, 2, 1, 0)]) == [*truth, *truth[::-1]]


@pytest.mark.usefixtures("hurried")
def test_threads_ask_an_estimator_for_what_is_computed_late() -> None:
    def late(post: FairROC) -> tuple[Any, ...]:
        return post.outlook_, post.one_draw_, replace(post.certificate_, seconds=0.0)

    posts = [
        FairROC(0.1, draw="all", salt=1).fit(SCORES[:FITTED], LABELS[:FITTED], sensitive_features=GROUPS[:FITTED])
        for _ in range(2)
    ]
    truth = late(posts[0])
    assert all(found == truth for found in in_threads([partial(late, posts[1])] * 4))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_give_the_same_bits(start: str) -> None:
    """They fit, read the model and look up; an estimator travels there and back with its key."""
    post = FairROC(0.1, draw="all", key=KEY).fit(SCORES[:FITTED], LABELS[:FITTED], sensitive_features=GROUPS[:FITTED])
    how = {"sensitive_features": GROUPS, "ids": IDS}
    with ProcessPoolExecutor(1, mp_context=get_context(start)) as pool:
        fits = [pool.submit(both, way) for way in range(len(WAYS))]
        fair, again = pool.submit(post.transform, SCORES, **how), pool.submit(clone, post)
        lost = pool.submit(clone, pickle.loads(pickle.dumps(post)))
        assert [future.result(timeout=120) for future in fits] == [both(way) for way in range(len(WAYS))]
        assert fair.result(timeout=120).tobytes() == post.transform(SCORES, **how).tobytes()
        assert again.result(timeout=120).key.reveal() == KEY.encode() and lost.result(timeout=120).key.is_lost


def test_the_library_changes_no_state_of_the_process() -> None:
    """Filters of warnings, numpy's error state, locale and folder belong to the program: here, to the command line."""
    home = Path(fairroc.__file__).parent
    state = re.compile(r"\b(filterwarnings|simplefilter|catch_warnings|resetwarnings|seterr|setlocale|chdir)\(")
    found = {path.relative_to(home).as_posix() for path in home.rglob("*.py") if state.search(path.read_text("utf-8"))}
    assert found == {"cli/main.py"}
