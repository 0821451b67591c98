"""Golden results: what fairroc gave for fixed data, on any machine, through its public surface alone.

``tests/golden`` holds what to compare with. ``numbers-*.json``: model files, draws, certificates, audits, SQL, outputs
of the command line; numbers with a fraction agree to 1e-9, all else (lengths, levels, whole numbers, names, the text
between numbers) is the same. ``words.json``: messages, texts and comments, exactly.

    python tests/promises/test_golden.py --write            # all again, after a change of results that is wanted
    python tests/promises/test_golden.py --write words      # the words alone, after a change of wording
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import fairroc
from fairroc import (
    FairModel,
    FairrocError,
    FairrocWarning,
    ScoreCounts,
    audit,
    audit_counts,
    choose_threshold,
    count_files,
)

FairROC, FairROCClassifier, fit_counts, frontier = (
    partial(make, promise="fitted")
    for make in (fairroc.FairROC, fairroc.FairROCClassifier, fairroc.fit_counts, fairroc.frontier)
)
"""Of the people fitted, where a case names no other promise; `fitted_people` is not found where this is a script."""

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MOST = 12
"""Lists that are longer are kept as a hash of what is no fraction, sums and their ends."""

ENDS = 2
CLOSE = 1e-9
"""How near fractions must be."""

WORDS = "(in words.json)"
WORDY = re.compile(r"^(reasons|doubts|\w+_reason)$")
"""Fields of results that are sentences."""

VOLATILE = {"seconds", "date", "package", "checksum"}

LATER = ("recommended", "meaning")
"""What results have got since: it has tests of its own, and all that was there before stays as it was."""


# -- data: uniform and whole numbers only, rounded --------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """People with scores, labels, groups and perhaps weights."""

    scores: Any
    y: Any
    groups: Any
    weights: Any = None
    pos_label: Any = None
    missing: str = "error"

    @property
    def how(self) -> dict[str, Any]:
        """What audits and frontiers are told."""
        return {
            "sensitive_features": self.groups,
            "sample_weight": self.weights,
            "pos_label": self.pos_label,
            "missing": self.missing,
        }

    @property
    def ids(self) -> Any:
        """Integer ids that are no row numbers."""
        return np.arange(len(self.scores)) * 7 - 1000

    def ordered(self, order: Any) -> Data:
        """The same people in another order."""
        groups = self.groups
        moved = {k: v[order] for k, v in groups.items()} if isinstance(groups, dict) else groups[order]
        weights = None if self.weights is None else self.weights[order]
        return Data(self.scores[order], self.y[order], moved, weights, self.pos_label, self.missing)


def _rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _people(seed: int, rows: int, names: str, lifts: tuple[float, ...], decimals: int = 4) -> Data:
    """Groups whose positives lie higher by ``lifts``, under noise that is a sum of two uniforms."""
    rng = _rng(seed)
    code, y = rng.integers(0, len(names), rows), rng.integers(0, 2, rows)
    noise = rng.random(rows) + rng.random(rows)
    scores = np.round((noise + y * np.array(lifts)[code]) / (2.0 + max(lifts)), decimals)
    return Data(scores, y, np.array(list(names))[code])


def _ties() -> Data:
    data = _people(4, 1000, "abc", (0.3, 0.8, 1.2))
    return Data(np.floor(data.scores * 10), data.y, data.groups)


def _binary() -> Data:
    data = _people(5, 400, "ab", (0.3, 1.0))
    return Data(np.where(data.scores >= 0.5, 1.0, 0.0), data.y, data.groups)


def _perfect() -> Data:
    rng = _rng(6)
    first, y = rng.random(200) < 0.5, rng.integers(0, 2, 200)
    low = rng.random(200)
    return Data(
        np.round(np.where(first, 0.6 * y + 0.4 * low, 0.3 + 0.4 * y + 0.3 * low), 3), y, np.where(first, "a", "b")
    )


def _useless() -> Data:
    rng = _rng(7)
    return Data(np.round(rng.random(600), 3), rng.integers(0, 2, 600), np.array(["u", "v"])[rng.integers(0, 2, 600)])


def _crossing() -> Data:
    """One group is told apart well among high scores, the other among low ones."""
    rng = _rng(8)
    first, y = rng.integers(0, 2, 1200) == 0, rng.integers(0, 2, 1200)
    place, other = rng.random(1200), rng.random(1200)
    apart = np.where(first, np.maximum(place, other * y), np.minimum(place, 1 - other * (1 - y)))
    return Data(np.round(apart, 5), y, np.where(first, "high", "low"))


def _fractional() -> Data:
    data = _people(9, 700, "ab", (0.4, 1.0))
    return Data(data.scores, data.y, data.groups, np.round(0.1 + 3 * _rng(90).random(700), 3))


def _whole() -> Data:
    data = _people(10, 700, "abc", (0.4, 0.7, 1.0), decimals=3)
    return Data(data.scores, data.y, data.groups, _rng(91).integers(1, 6, 700))


def _intersection() -> Data:
    data = _people(11, 1600, "wxyz", (0.3, 0.6, 0.9, 1.2))
    sex = np.where(np.isin(data.groups, ["w", "x"]), "f", "m")
    return Data(data.scores, data.y, {"sex": sex, "race": np.where(np.isin(data.groups, ["w", "y"]), "p", "q")})


def _missing() -> Data:
    data = _people(13, 900, "abc", (0.3, 0.7, 1.1))
    groups = data.groups.astype(object)
    groups[groups == "c"] = None
    return Data(data.scores, data.y, groups, missing="group")


def _logits() -> Data:
    data = _people(14, 800, "ab", (0.3, 1.2), decimals=6)
    return Data(np.round(4000 * (data.scores - 0.5), 3), data.y, data.groups)


def _sizes() -> Data:
    few, many = _people(15, 60, "s", (0.4,)), _people(16, 2400, "L", (1.0,))
    return Data(*(np.concatenate((getattr(few, a), getattr(many, a))) for a in ("scores", "y", "groups")))


def _labels() -> Data:
    data = _people(17, 500, "ab", (0.4, 1.1))
    return Data(data.scores, np.where(data.y == 1, "yes", "no"), data.groups, pos_label="yes")


DATA: dict[str, Callable[[], Data]] = {
    "two": lambda: _people(1, 800, "ab", (0.4, 1.0)),
    "three": lambda: _people(2, 900, "abc", (0.4, 0.8, 1.2)),
    "five": lambda: _people(3, 1500, "abcde", (0.3, 0.5, 0.7, 0.9, 1.1)),
    "ties": _ties,
    "binary": _binary,
    "perfect": _perfect,
    "useless": _useless,
    "crossing": _crossing,
    "fractional": _fractional,
    "whole": _whole,
    "intersection": _intersection,
    "fair": lambda: _people(12, 2000, "ab", (0.8, 0.8)),
    "missing": _missing,
    "logits": _logits,
    "sizes": _sizes,
    "labels": _labels,
    "large": lambda: _people(18, 3000, "ab", (0.4, 1.0)),
}


@dataclass(frozen=True)
class Case:
    """A data set, options of the fit, and whether all that can be asked is asked."""

    data: str
    options: dict[str, Any] = field(default_factory=dict)
    full: bool = False
    key: str | None = None


CASES: dict[str, Case] = {
    "two": Case("two", {"epsilon": 0.05}, True),
    "two-zero-draw": Case("two", {"epsilon": 0.0, "draw": "all"}),
    "two-new": Case("two", {"epsilon": 0.1, "promise": "new"}),
    "two-never": Case("two", {"epsilon": 0.05, "draw": "never"}),
    "two-zero-order": Case("two", {"epsilon": 0.0, "draw": "few"}),
    "two-key": Case("two", {"epsilon": 0.2, "key": "a secret key of some length"}, key="a secret key of some length"),
    "two-blake2b": Case("two", {"epsilon": 0.05, "draw": "all", "hash": "blake2b"}),
    "two-froc": Case("two", {"epsilon": 0.05, "method": "froc", "queries": 40}),
    "two-froc-draw": Case("two", {"epsilon": 0.01, "method": "froc", "draw": "all"}),
    "two-queries": Case("two", {"epsilon": 0.05, "queries": 20}),
    "three": Case("three", {"epsilon": 0.05}, True),
    "three-inf-draw": Case("three", {"epsilon": 0.01, "norm": "inf", "draw": "all"}),
    "three-never": Case("three", {"epsilon": 0.1, "norm": "inf", "draw": "never"}),
    "three-froc": Case("three", {"epsilon": 0.2, "method": "froc", "queries": 25}),
    "five": Case("five", {"epsilon": 0.05, "norm": "inf"}, True),
    "five-new": Case("five", {"epsilon": 0.1, "promise": "new"}),
    "five-draw": Case("five", {"epsilon": 0.05, "draw": "all"}),
    "ties": Case("ties", {"epsilon": 0.05}, True),
    "ties-new": Case("ties", {"epsilon": 0.05, "promise": "new", "draw": "never"}),
    "ties-draw": Case("ties", {"epsilon": 0.01, "draw": "all"}),
    "binary": Case("binary", {"epsilon": 0.05}, True),
    "perfect": Case("perfect", {"epsilon": 0.05}, True),
    "useless": Case("useless", {"epsilon": 0.01}, True),
    "crossing": Case("crossing", {"epsilon": 0.05}, True),
    "crossing-draw": Case("crossing", {"epsilon": 0.01, "draw": "all"}),
    "crossing-froc": Case("crossing", {"epsilon": 0.05, "method": "froc", "queries": 30, "draw": "all"}),
    "fractional": Case("fractional", {"epsilon": 0.05}, True),
    "fractional-inf": Case("fractional", {"epsilon": 0.2, "norm": "inf"}),
    "whole": Case("whole", {"epsilon": 0.05}, True),
    "intersection": Case("intersection", {"epsilon": 0.05}, True),
    "fair": Case("fair", {"epsilon": 0.2}, True),
    "missing": Case("missing", {"epsilon": 0.05, "missing": "group"}, True),
    "logits": Case("logits", {"epsilon": 0.05}, True),
    "sizes": Case("sizes", {"epsilon": 0.05}, True),
    "labels": Case("labels", {"epsilon": 0.05, "pos_label": "yes"}, True),
    "large": Case("large", {"epsilon": 0.2, "promise": "population", "confidence": 0.9}),
}

SPELLED = {"two", "two-key", "intersection", "fair", "missing"}
"""Cases whose SQL shows all its comments and messages."""

AHEAD = {"two", "two-zero-draw", "three", "binary", "useless", "crossing", "fractional", "fair"}
"""Cases of which the outlook is asked, too: it costs ten fits."""

COUNTED = ["two", "three", "five", "ties", "binary", "intersection", "fair", "missing", "logits", "sizes", "labels"]
"""Cases of which counts must give the same model as rows; of weights this is not promised."""


# -- what was given, as plain data ------------------------------------------------------------------------------------


class Found:
    """What one case gave: numbers (with names and the like) and words."""

    def __init__(self) -> None:
        self.numbers: dict[str, Any] = {}
        self.words: dict[str, Any] = {}

    def add(self, name: str, value: Any) -> None:
        """Keep plain data: sentences with the words, all else with the numbers."""
        self.numbers[name] = _packed(self._without_words(name, _plain(value)))

    def say(self, name: str, words: Any) -> None:
        """Keep words."""
        self.words[name] = words

    def _without_words(self, path: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._without_words(f"{path}/{i}", part) for i, part in enumerate(value)]
        if not isinstance(value, dict):
            return value
        kept = {}
        for name, part in value.items():
            if WORDY.match(name) and part:
                self.words[f"{path}/{name}"] = part
                kept[name] = WORDS
            else:
                kept[name] = "" if name in VOLATILE else self._without_words(f"{path}/{name}", part)
        return kept

    @contextmanager
    def warned(self, name: str) -> Iterator[None]:
        """Keep the texts of fairroc's own warnings; all others are errors."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("error")
            warnings.simplefilter("always", FairrocWarning)
            yield
        if caught:
            self.words[f"{name} warnings"] = [f"{type(w.message).__name__}: {w.message}" for w in caught]

    def refused(self, name: str, do: Callable[[], Any]) -> None:
        """Keep the error that this must raise."""
        with pytest.raises(FairrocError) as caught:
            do()
        self.words[name] = f"{type(caught.value).__name__}: {caught.value}"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _packed(value: Any) -> Any:
    """Long lists as a hash of their outline, sums of what they hold and of that times its place, and their ends."""
    if isinstance(value, dict):
        return {name: _packed(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    parts = [_packed(part) for part in value]
    if len(parts) <= MOST:
        return parts
    numbers = [float(number) for number in _numbers_in(value) if math.isfinite(number)]
    return {
        "outline": _hash(json.dumps(_outline(value))),
        "length": len(value),
        "sum": math.fsum(numbers),
        "in place": math.fsum(number * i / len(numbers) for i, number in enumerate(numbers)),
        "size": math.fsum(map(abs, numbers)),
        "first": parts[:ENDS],
        "last": parts[-ENDS:],
    }


def _numbers_in(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _numbers_in(part)
    elif isinstance(value, int | float):
        yield value


def _outline(value: Any) -> Any:
    """Plain data without its fractions."""
    if isinstance(value, dict):
        return {name: _outline(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_outline(part) for part in value]
    return "fraction" if isinstance(value, float) and math.isfinite(value) else value


_FRACTION = re.compile(r"-?\b\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)")


def _text_outline(text: str) -> str:
    """A hash of a text without the fractions in it."""
    return _hash(_FRACTION.sub("fraction", text))


def _hash(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:32]


_MESSAGE = re.compile(r"'fairroc: (?:[^'\\]|\\.|'')*'")
_DATED = re.compile(r"written by fairroc \S+, fitted \S+Z")


def _add_sql(found: Found, name: str, sql: str, *, words: bool = True) -> None:
    """SQL without comments and messages as a hash; those as words."""
    lines = sql.splitlines()
    comments = [_DATED.sub("written by fairroc", line) for line in lines if line.lstrip().startswith("--")]
    rest = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
    if words:
        found.say(name, {"comments": comments, "messages": _MESSAGE.findall(rest)})
    found.add(name, {"outline": _text_outline(_MESSAGE.sub("''", rest))})


def _add_model(found: Found, name: str, text: str) -> None:
    """A model file, in values and as a hash of its layout, without date, version and checksum."""
    blank = re.sub(rf'("(?:{"|".join(VOLATILE)})": )"[^"]*"', r'\1""', text)
    body = json.loads(text)
    found.add(name, {"outline": _text_outline(blank), "values": body})


# -- asking -----------------------------------------------------------------------------------------------------------


def _fitted(case: Case, data: Data) -> FairROC:
    return FairROC(salt=1, **case.options).fit(
        data.scores, data.y, sensitive_features=data.groups, sample_weight=data.weights
    )


def _cuts(data: Data) -> list[float]:
    scores = np.sort(data.scores)
    return [float(scores[len(scores) // 2]), float(scores[len(scores) * 9 // 10])]


def _group_of(data: Data, i: int) -> Any:
    groups = data.groups
    return tuple(column[i] for column in groups.values()) if isinstance(groups, dict) else groups[i]


def observe(name: str) -> Found:
    """All that one case gives."""
    case, found = CASES[name], Found()
    data = DATA[case.data]()
    with found.warned("fit"):
        post = _fitted(case, data)
    text = post.model_.to_json()
    assert FairModel.from_json(text).to_json() == text
    _add_model(found, "model", text)
    with found.warned("certificate"):
        found.add("certificate", post.certificate_.to_dict())
    _observe_draws(found, post, data)
    _observe_explanations(found, case, post.model_, data)
    _observe_sql(found, name, post.model_, data)
    if case.full:
        found.add("data", [data.scores, data.y, data.groups, data.weights])
        _observe_audits(found, case, data)
        _observe_choices(found, post, data)
    if name in AHEAD:
        with found.warned("outlook"):
            found.add("outlook", post.outlook_.to_dict())
    if case.full or case.options.get("method") == "froc":
        _observe_frontier(found, case, data)
    _observe_checks(found, case, post.model_, data)
    return found


def _observe_draws(found: Found, post: FairROC, data: Data) -> None:
    groups, ids = data.groups, data.ids
    found.add("transform/integer ids", post.transform(data.scores, sensitive_features=groups, ids=ids))
    texts = [f"person {i}" for i in ids]
    found.add("transform/text ids", post.transform(data.scores, sensitive_features=groups, ids=texts))
    found.add("transform/seed", post.transform(data.scores, sensitive_features=groups, random_state=3))
    beyond = data.scores * 1.5 - 0.1  # below and above what was fitted
    with warnings.catch_warnings():  # that so many lie beyond all fitted scores
        warnings.simplefilter("ignore", FairrocWarning)
        given: dict[str, Any] = {"ids": ids, "key": post.key, "allow_out_of_range": True}
        found.add("transform/beyond", post.model_.transform(beyond, sensitive_features=groups, **given))
    for cut in _cuts(data):
        how: dict[str, Any] = {"sensitive_features": groups, "threshold": cut}
        found.add(f"acceptance rate/{cut}", post.acceptance_rate(data.scores, **how))
        found.add(f"predict/{cut}", post.predict(data.scores, ids=ids, **how))


def _observe_explanations(found: Found, case: Case, model: FairModel, data: Data) -> None:
    order = np.argsort(data.scores, kind="stable")
    for i in order[[0, len(order) // 3, -1]].tolist() if case.full else order[[len(order) // 3]].tolist():
        score, group = float(data.scores[i]), _group_of(data, i)
        one = model.explain(score, group, threshold=_cuts(data)[0], id=i, key=case.key)
        found.add(f"explain/{i}", one.to_dict())
        found.say(f"explain/{i}", one.text)
    middle = order[len(order) // 2]
    found.add("explain/plain", model.explain(float(data.scores[middle]), _group_of(data, middle)).to_dict())


SQL_FORMS = (
    *(("duckdb", "query"), ("duckdb", "function"), ("spark", "query"), ("postgres", "function")),
    *(("bigquery", "query"), ("snowflake", "query")),
)


def _observe_sql(found: Found, name: str, model: FairModel, data: Data) -> None:
    group = list(data.groups) if isinstance(data.groups, dict) else "group"
    if model.hash == "blake2b":
        found.refused("sql refused", lambda: model.to_sql("duckdb"))
        return
    for dialect, form in SQL_FORMS:
        for id_type in ("integer", "text"):
            with warnings.catch_warnings():  # a long query
                warnings.simplefilter("ignore", FairrocWarning)
                sql = model.to_sql(dialect, form=form, id_type=id_type, group=group, key=CASES[name].key)
            _add_sql(found, f"sql/{dialect} {form} {id_type}", sql, words=name in SPELLED)


def _observe_audits(found: Found, case: Case, data: Data) -> None:
    norm = case.options.get("norm", 1)
    with found.warned("audit"):
        one = audit(data.scores, data.y, norm=norm, epsilon=0.1, threshold=_cuts(data)[0], bootstrap=200, **data.how)
        two = audit(data.scores, data.y, norm=2.5, confidence=0.8, bootstrap=0, **data.how)
    found.add("audit", one.to_dict())
    found.add("audit, norm 2.5", two.to_dict())


def _observe_choices(found: Found, post: FairROC, data: Data) -> None:
    how = {"sensitive_features": data.groups, "sample_weight": data.weights, "pos_label": data.pos_label}
    aims = {"cost_fp": 1.0, "cost_fn": 2.5}, {"selection_rate": 0.3}, {"recall": 0.7}
    for aim in aims:
        found.add(f"threshold/{', '.join(aim)}", choose_threshold(post, data.scores, data.y, **how, **aim).to_dict())


def _observe_frontier(found: Found, case: Case, data: Data) -> None:
    asked = {name: case.options[name] for name in ("norm", "method", "queries") if name in case.options}
    with found.warned("frontier"):
        drawn = frontier(data.scores, data.y, epsilons=[0, 0.01, 0.2], **asked, **data.how)
        order = frontier(data.scores, data.y, epsilons=[0.1], draw="few", bound=False, **asked, **data.how)
    found.add("frontier", _known(drawn.to_dict()))
    found.add("frontier, order", order.to_columns())


def _observe_checks(found: Found, case: Case, model: FairModel, data: Data) -> None:
    """The fitted people again, and others: some rows, their scores pushed."""
    part = data.ordered(np.flatnonzero(np.arange(len(data.scores)) % 3 > 0))
    pushed = np.round(part.scores * 0.75 + 0.25 * np.sort(part.scores)[-1], 4)
    with found.warned("check"):
        _check(found, "moved", model, part, pushed, {"y": part.y, "pos_label": part.pos_label})
        if case.full:
            _check(found, "alone", model, data, data.scores, {})
            _check(found, "labels", model, data, data.scores, {"y": data.y, "pos_label": data.pos_label})


def _check(found: Found, name: str, model: FairModel, data: Data, scores: Any, labels: dict[str, Any]) -> None:
    drift = model.check(
        scores, sensitive_features=data.groups, sample_weight=data.weights, bootstrap=100, random_state=2, **labels
    )
    found.add(f"check/{name}", drift.to_dict())


# -- counts, files, a classifier, refusals ----------------------------------------------------------------------------


class _Line(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns one number by exact sums of whole numbers."""

    def fit(self, X: Any, y: Any) -> _Line:
        """Learn how many of the positives have the second feature."""
        self.classes_ = np.unique(y)
        self.share_ = float(np.sum(X[y == 1, 1] > 50) / np.sum(y == 1))
        return self

    def decision_function(self, X: Any) -> Any:
        """The first feature and a share of the second."""
        return X[:, 0] + np.round(self.share_, 2) * X[:, 1]


def _classifier(found: Found) -> None:
    data, rng = DATA["two"](), _rng(20)
    X = np.stack((np.floor(data.scores * 1000), rng.integers(0, 101, len(data.scores)).astype(float)), axis=1)
    for ensemble in (True, False):
        clf = FairROCClassifier(_Line(), epsilon=0.1, cv=4, ensemble=ensemble, salt=1)
        with found.warned(f"classifier, {ensemble}"):
            clf.fit(X, data.y, sensitive_features=data.groups)
        _add_model(found, f"classifier, {ensemble}/model", clf.model_.to_json())
        how = {"sensitive_features": data.groups, "ids": data.ids}
        found.add(f"classifier, {ensemble}/fair", clf.decision_function(X, **how))
        found.add(f"classifier, {ensemble}/predict", clf.predict(X, **how))
        rate = clf.acceptance_rate(X, sensitive_features=data.groups, threshold=600.0)
        found.add(f"classifier, {ensemble}/rate", rate)


def _counts(found: Found) -> None:
    data = DATA["fractional"]()
    counts = ScoreCounts.from_rows(data.scores, data.y, sensitive_features=data.groups, sample_weight=data.weights)
    with found.warned("weighted counts"):
        post = fit_counts(counts, 0.05, salt=1)
        found.add("weighted counts/certificate", post.certificate_.to_dict())
        found.add("weighted counts/audit", audit_counts(counts, bootstrap=100).to_dict())
    _add_model(found, "weighted counts/model", post.model_.to_json())
    large = DATA["large"]()
    half = np.arange(3000) < 1500
    parts = [
        ScoreCounts.from_rows(large.scores[rows], large.y[rows], sensitive_features=large.groups[rows], bits=20)
        for rows in (half, ~half)
    ]
    both = parts[0].merge(parts[1])
    with found.warned("binned"):
        binned = fit_counts(both, 0.1, salt=1)
        found.add("binned/certificate", binned.certificate_.to_dict())
        found.add("binned/outlook", binned.outlook_.to_dict())
        found.add("binned/audit", audit_counts(both, bootstrap=100, epsilon=0.1).to_dict())
    found.add("binned/error", both.error)
    _add_model(found, "binned/model", binned.model_.to_json())


def _refusals(found: Found) -> None:
    data = DATA["two"]()
    s, y, g = data.scores, data.y, data.groups
    post = FairROC(0.05, salt=1).fit(s, y, sensitive_features=g)
    fit = FairROC(0.05).fit
    wrong: dict[str, Callable[[], Any]] = {
        "epsilon": lambda: FairROC(3).fit(s, y, sensitive_features=g),
        "norm": lambda: FairROC(norm=2).fit(s, y, sensitive_features=g),
        "method": lambda: FairROC(method="best").fit(s, y, sensitive_features=g),
        "froc norm": lambda: FairROC(method="froc", norm="inf").fit(s, y, sensitive_features=g),
        "confidence": lambda: FairROC(0.05, promise="population").fit(s, y, sensitive_features=g),
        "NaN": lambda: fit(np.where(s > 0.6, np.nan, s), y, sensitive_features=g),
        "missing group": lambda: fit(s, y, sensitive_features=np.where(s > 0.6, None, g)),
        "lengths": lambda: fit(s[1:], y, sensitive_features=g),
        "one label": lambda: fit(s, np.ones_like(y), sensitive_features=g),
        "three labels": lambda: fit(s, y + (s > 0.5), sensitive_features=g),
        "one group": lambda: fit(s, y, sensitive_features=np.full(len(s), "a")),
        "weights": lambda: fit(s, y, sensitive_features=g, sample_weight=-np.ones(len(s))),
        "no draw": lambda: post.transform(s, sensitive_features=g),
        "both draws": lambda: post.transform(s, sensitive_features=g, ids=data.ids, random_state=1),
        "unknown group": lambda: post.transform([0.5], sensitive_features=["c"], ids=[1]),
        "threshold": lambda: post.predict(s, sensitive_features=g, ids=data.ids, threshold=math.nan),
        "two aims": lambda: choose_threshold(post, s, y, sensitive_features=g, recall=0.5, precision=0.5),
        "epsilons": lambda: frontier(s, y, sensitive_features=g, epsilons=[]),
        "dialect": lambda: post.model_.to_sql("mysql"),
        "model file": lambda: FairModel.from_json("{}"),
        "edited model": lambda: FairModel.from_json(post.model_.to_json().replace('"epsilon": 0.05', '"epsilon": 0.5')),
    }
    for name, do in wrong.items():
        found.refused(f"refused/{name}", do)


def _files(found: Found) -> None:
    with _folder() as folder, found.warned("files"):
        for name in ("people.csv", "people.parquet"):
            counts = count_files(folder / name, score="p", label="y", group=["sex", "race"], weight="w")
            _add_model(found, f"{name}/model", fit_counts(counts, 0.1, salt=1).model_.to_json())
            found.add(f"{name}/audit", audit_counts(counts, bootstrap=100).to_dict())


MORE: dict[str, Callable[[Found], None]] = {
    "classifier": _classifier,
    "counts": _counts,
    "refusals": _refusals,
    "files": _files,
}


def observe_more(name: str) -> Found:
    """What else is asked of Python."""
    found = Found()
    MORE[name](found)
    return found


# -- the command line -------------------------------------------------------------------------------------------------


_NAMES = "--score p --label y --group sex"
_MODEL = "--model model.json --score p --group sex"
_KEYED = "--model keyed.json --score p --group sex --id id"
_ONE = "explain --model model.json --score 0.4213 --group f --threshold 0.5"
_JSON = "--format json"
_FITTED = "--promise fitted"

COMMANDS: dict[str, str] = {
    "fit csv": f"fit people.csv {_NAMES} {_FITTED} --epsilon 0.05 -o m.json {_JSON}",
    "fit parquet": f"fit people.parquet {_NAMES} {_FITTED} --group race --epsilon 0.1 --norm inf -o m.json {_JSON}",
    "fit stream": f"fit people.csv {_NAMES} {_FITTED} --group race --weight w --epsilon 0.1 --stream -o m.json {_JSON}",
    "fit froc": f"fit people.parquet {_NAMES} --epsilon 0.05 --method froc --queries 30 -o m.json",
    "fit text": f"fit people.csv {_NAMES} {_FITTED} --epsilon 0.05 --key-file key.txt -o m.json",
    "fit counts": f"fit counts.csv --score p --positives n1 --negatives n0 --group sex {_FITTED} --epsilon 0.02"
    f" -o m.json {_JSON}",
    "audit csv": f"audit people.csv {_NAMES} --epsilon 0.1 --threshold 0.5 {_JSON}",
    "audit stream": f"audit people.parquet {_NAMES} --stream --bootstrap 100 {_JSON}",
    "audit text": f"audit people.parquet {_NAMES} --group race --weight w --epsilon 0.9 --norm 2",
    "transform csv": f"transform people.csv {_MODEL} --id id -o out.csv {_JSON}",
    "transform parquet": f"transform people.parquet {_MODEL} --id name -o out.parquet",
    "transform stream": f"transform people.csv {_MODEL} --id name --stream -o out.parquet {_JSON}",
    "transform seed": f"transform people.parquet {_MODEL} --seed 5 --column q -o out.csv",
    "transform key": f"transform people.csv {_KEYED} --key-file key.txt -o out.csv {_JSON}",
    "threshold json": f"threshold people.csv {_NAMES} --model model.json --cost-fp 1 --cost-fn 3 {_JSON}",
    "threshold text": f"threshold people.parquet {_NAMES} --model model.json --recall 0.8",
    "explain json": f"{_ONE} --id 12 {_JSON}",
    "explain text": f"{_ONE} --id 'person 12'",
    "monitor json": f"monitor later.csv {_NAMES} --model model.json {_JSON}",
    "monitor text": f"monitor later.parquet {_MODEL}",
    "monitor quiet": f"monitor people.csv {_NAMES} --model model.json --bootstrap 0",
    "frontier json": f"frontier people.csv {_NAMES} {_FITTED} --epsilons 0,0.05,0.3 -o out.csv {_JSON}",
    "frontier text": f"frontier people.parquet {_NAMES} --group race {_FITTED} --epsilons 0.05,0.2 --no-bound",
    "sql duckdb": f"sql {_MODEL} --dialect duckdb --id id",
    "sql spark": f"sql {_MODEL} --dialect spark --id name --id-type text -o out.sql {_JSON}",
    "error usage": f"fit people.csv {_NAMES} -o m.json",
    "error no file": f"audit nothing.csv {_NAMES}",
    "error no column": "audit people.csv --score q --label y --group sex",
    "error epsilon": f"fit people.csv {_NAMES} --epsilon 5 -o m.json",
    "error text score": "audit people.csv --score name --label y --group sex",
    "error label": "fit people.csv --score p --label w --group sex --epsilon 0.1 -o m.json",
    "error no id": f"transform people.csv {_MODEL} -o out.csv",
    "error no key": f"transform people.csv {_KEYED} -o out.csv",
    "error unknown group": "transform people.csv --model model.json --score p --group race --id id -o out.csv",
    "error model file": "explain --model people.csv --score 0.5 --group f",
    "error suffix": f"fit people.csv {_NAMES} --epsilon 0.1 -o m.pickle",
}


@cache
def _contents() -> dict[str, bytes]:
    """Files and models for the command line."""
    found = {"key.txt": b"a secret key of some length"}
    for file, seed, lifts in (("people", 30, (0.4, 1.0)), ("later", 31, (0.9, 1.0))):
        data = _people(seed, 900, "fm", lifts)
        rng = _rng(seed + 10)
        table = pa.table(
            {
                "id": np.arange(900) * 3,
                "name": [f"person {i}" for i in range(900)],
                "p": data.scores,
                "y": data.y,
                "sex": data.groups,
                "race": np.array(["k", "l"])[rng.integers(0, 2, 900)],
                "w": np.round(0.5 + rng.random(900), 3),
            }
        )
        for suffix, write in (("csv", pyarrow.csv.write_csv), ("parquet", pyarrow.parquet.write_table)):
            stream = io.BytesIO()
            write(table, stream)
            found[f"{file}.{suffix}"] = stream.getvalue()
        if file == "people":
            for model, key in (("model.json", None), ("keyed.json", "a secret key of some length")):
                post = FairROC(0.05, salt=1, key=key).fit(data.scores, data.y, sensitive_features=data.groups)
                found[model] = post.model_.to_json().encode()
    lines = [f"{g},{p / 20},{3 + (p * (5 + g) + 7 * g) % 11 + p},{30 - p}" for g in range(2) for p in range(20)]
    found["counts.csv"] = "\n".join(["sex,p,n1,n0", *lines, ""]).encode()
    return found


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        for file, content in _contents().items():
            (Path(name) / file).write_bytes(content)
        yield Path(name)


def observe_command(name: str) -> Found:
    """What a command prints, writes and returns."""
    found, arguments = Found(), shlex.split(COMMANDS[name])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FAIRROC_", "PYTHONWARN"))}
    with _folder() as folder:
        before = {path.name for path in folder.iterdir()}
        done = subprocess.run(
            [sys.executable, "-m", "fairroc", *arguments],
            cwd=folder,
            env={**kept, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        written = sorted(path for path in folder.iterdir() if path.name not in before)
        found.add("exit code", done.returncode)
        found.add("files", [path.name for path in written])
        found.say("stderr", done.stderr)
        for path in written:
            _add_file(found, path)
    if COMMANDS[name].endswith(_JSON) and done.returncode < 2:
        body = json.loads(done.stdout)
        assert json.dumps(body, ensure_ascii=False, allow_nan=False)
        found.add("stdout", _known(body))
    elif arguments[0] == "sql":
        _add_sql(found, "stdout", done.stdout)
    else:
        found.say("stdout", done.stdout)
    return found


def _add_file(found: Found, path: Path) -> None:
    """A written file's content; of a model only that it loads, for its salt is drawn."""
    if path.suffix == ".json":
        model = FairModel.load(path)
        found.add(path.name, {"names": list(model.names), "epsilon": model.epsilon, "levels": model.levels})
    elif path.suffix == ".sql":
        _add_sql(found, path.name, path.read_text(encoding="utf-8"))
    elif path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
        found.add(path.name, {"types": [str(kind) for kind in table.schema.types], "columns": table.to_pydict()})
    else:
        content = path.read_text(encoding="utf-8")
        header, *rows = csv.reader(content.splitlines())
        if (kept := [i for i, name in enumerate(header) if name not in LATER]) != list(range(len(header))):
            header, *rows = [[row[i] for i in kept] for row in (header, *rows)]
            content = "".join(",".join(row) + "\n" for row in (header, *rows))
        columns = {name: list(map(_number, column)) for name, *column in zip(header, *rows, strict=True)}
        found.add(path.name, {"outline": _text_outline(content), "columns": columns})


def _known(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in LATER}


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


# -- comparing --------------------------------------------------------------------------------------------------------


@cache
def _stored(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def differences(stored: Any, came: Any, path: str = "") -> list[str]:
    """Where two pieces of plain data differ: fractions may be off a little, sums of many by a little of their size."""
    if isinstance(stored, dict) and isinstance(came, dict):
        if stored.keys() != came.keys():
            return [f"{path}: fields {sorted(stored)} != {sorted(came)}"]
        wide, found = max(1.0, abs(stored["size"])) if "in place" in stored else 1.0, []
        for name in stored:
            if wide == 1.0 or name not in ("sum", "in place"):
                found += differences(stored[name], came[name], f"{path}/{name}")
            elif not abs(stored[name] - came[name]) <= CLOSE * wide:
                found.append(f"{path}/{name}: {stored[name]!r} != {came[name]!r}")
        return found
    if isinstance(stored, list) and isinstance(came, list):
        if len(stored) != len(came):
            return [f"{path}: length {len(stored)} != {len(came)}"]
        return [d for i, pair in enumerate(zip(stored, came, strict=True)) for d in differences(*pair, f"{path}/{i}")]
    if isinstance(stored, float) and isinstance(came, float):
        same = stored == came or math.isclose(stored, came, rel_tol=CLOSE, abs_tol=CLOSE)
    else:
        same = repr(stored) == repr(came)
    return [] if same else [f"{path}: {stored!r} != {came!r}"]


def _compare(kind: str, name: str) -> None:
    found = KINDS[kind][1](name)
    numbers, words = json.loads(json.dumps([found.numbers, found.words]))
    off = differences(_stored(_file_of(kind, name))[name], numbers, "numbers")
    if off:
        off.insert(0, "numbers are not what they were; if that is wanted: python tests/promises/test_golden.py --write")
    said = differences(_stored("words")[kind][name], words, "words")
    if said:
        how = "the words alone are" if not off else "words, too, are"
        off += [
            f"{how} not what they were; if that is wanted: python tests/promises/test_golden.py --write words",
            *said,
        ]
    if off:
        more = f"\n... and {len(off) - 25} more" if len(off) > 25 else ""
        pytest.fail(f"{name}: " + "\n".join(off[:25]) + more, pytrace=False)


def _file_of(kind: str, name: str) -> str:
    return f"numbers-{CASES[name].data if kind == 'python' else kind}"


KINDS: dict[str, tuple[dict[str, Any], Callable[[str], Found]]] = {
    "python": (CASES, observe),
    "more": (MORE, observe_more),
    "commands": (COMMANDS, observe_command),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fit_and_all_that_follows_is_as_it_was(name: str) -> None:
    _compare("python", name)


@pytest.mark.parametrize("name", MORE)
def test_counts_files_classifiers_and_refusals_are_as_they_were(name: str) -> None:
    _compare("more", name)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_as_it_was(name: str) -> None:
    _compare("commands", name)


def test_nothing_stored_is_left_out() -> None:
    assert {kind: set(stored) for kind, stored in _stored("words").items()} == {k: set(v[0]) for k, v in KINDS.items()}
    files = {_file_of(kind, name) for kind, (cases, _) in KINDS.items() for name in cases}
    assert {path.stem for path in GOLDEN.glob("*.json")} == files | {"words"}
    for file in files:
        assert set(_stored(file)) == {
            n for kind, (cases, _) in KINDS.items() for n in cases if _file_of(kind, n) == file
        }


def test_fractions_may_differ_in_last_digits_and_nothing_else_may() -> None:
    one = _packed([[0, 0.5, 0.25], *([i, 0.125, i / 7] for i in range(20))])
    for change, off in ((1e-12, 0), (1e-6, 1)):
        other = _packed([[0, 0.5 + change, 0.25], *([i, 0.125, i / 7] for i in range(20))])
        assert bool(differences(one, other)) == bool(off)
    moved = _packed([[0, 0.5, 0.25], *([i, 0.125, i / 7] for i in (*range(5), 6, 5, *range(7, 20)))])
    assert differences(one, moved) and differences(1, 1.0) and differences([1], [1, 2]) and differences("a", "b")
    assert _text_outline("a 1.5 7 -2e-05") == _text_outline("a 1.25 7 3.0") != _text_outline("a 1.25 8 3.0")


def _same_json(one: FairROC, other: FairROC) -> None:
    bodies = [json.loads(post.model_.to_json()) for post in (one, other)]
    for body in bodies:
        del body["fit"]["date"], body["checksum"]
    assert bodies[0] == bodies[1]


@pytest.mark.filterwarnings("ignore::fairroc.FairrocWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_counts_give_the_model_of_the_rows(name: str) -> None:
    case, data = CASES[name], DATA[CASES[name].data]()
    counts = ScoreCounts.from_rows(data.scores, data.y, **data.how)
    _same_json(_fitted(case, data), fit_counts(counts, salt=1, **case.options))


@pytest.mark.filterwarnings("ignore::fairroc.FairrocWarning")
@pytest.mark.parametrize("name", [*COUNTED, "two-froc", "two-queries", "crossing-draw"])
def test_the_order_of_rows_plays_no_part(name: str) -> None:
    case, data = CASES[name], DATA[CASES[name].data]()
    order = np.argsort(_rng(99).random(len(data.scores)), kind="stable")
    _same_json(_fitted(case, data), _fitted(case, data.ordered(order)))


@pytest.mark.parametrize("name", ["fractional", "whole"])
def test_weighted_rows_in_another_order_change_last_digits_at_most(name: str) -> None:
    case, data = CASES[name], DATA[CASES[name].data]()
    order = np.argsort(_rng(99).random(len(data.scores)), kind="stable")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        bodies = [json.loads(_fitted(case, one).model_.to_json()) for one in (data, data.ordered(order))]
    for body in bodies:
        del body["fit"], body["checksum"]
    assert not differences(*bodies)


# -- writing ----------------------------------------------------------------------------------------------------------


def _write(words_only: bool) -> None:
    found = {kind: {name: ask(name) for name in cases} for kind, (cases, ask) in KINDS.items()}
    files: dict[str, Any] = {"words": {kind: {n: f.words for n, f in of.items()} for kind, of in found.items()}}
    if not words_only:
        for old in GOLDEN.glob("*.json"):
            old.unlink()
        for kind, of in found.items():
            for name, one in of.items():
                files.setdefault(_file_of(kind, name), {})[name] = one.numbers
    GOLDEN.mkdir(exist_ok=True)
    for name, body in files.items():
        (GOLDEN / f"{name}.json").write_text(_lines(body), encoding="utf-8", newline="\n")


def _lines(body: dict[str, Any]) -> str:
    """JSON in lines, so that a change shows: one for each field of a result."""
    return _indented(body, 4) + "\n"


def _indented(value: Any, depth: int, margin: str = "") -> str:
    if not depth or not isinstance(value, dict) or not value or "in place" in value or "outline" in value:
        return json.dumps(value, ensure_ascii=False)
    parts = [f"{margin} {json.dumps(name)}: {_indented(part, depth - 1, margin + ' ')}" for name, part in value.items()]
    return "{\n" + ",\n".join(parts) + f"\n{margin}}}"


if __name__ == "__main__":
    if sys.argv[1:] not in (["--write"], ["--write", "words"]):
        sys.exit(__doc__)
    _write(words_only=sys.argv[2:] == ["words"])
