"""Model files: damaged in every way, they are refused in words, or are the very same model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fairroc import FairModel
from fairroc.errors import FairrocError

KEPT = Path(__file__).parents[1] / "kept"
STRANGE: list[Any] = [None, True, -1, 0, 1, 2, 1e308, -1e308, 1e-320, 2**63, 10**30, "", "a", "1", [], {}, [[]], 0.5]
NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, "-0.0", "0x10", "01", "1_000")


@dataclass(frozen=True)
class Damaged:
    """A kept model file, damaged by a list of edits, each from a seed."""

    family: str
    name: str
    edits: tuple[int, ...]

    @property
    def content(self) -> bytes:
        content = _files()[self.name]
        for seed in self.edits:
            try:
                content = DAMAGES[self.family](content, np.random.default_rng([2, seed]))
            except (ValueError, RecursionError):  # earlier damage has left nothing that can be edited
                break
        return content


class Models:
    """A file that loads gives scores in order, in range, and is written as it was read."""

    def make(self, seed: int) -> Damaged:
        rng = np.random.default_rng([3, seed])
        family, name = (str(rng.choice(sorted(of))) for of in (DAMAGES, _files()))
        return Damaged(family, name, tuple(rng.integers(0, 2**31, int(rng.choice([1, 1, 1, 2, 5]))).tolist()))

    def check(self, case: Damaged) -> str | None:
        content = case.content
        try:
            model = FairModel.from_json(content.decode("utf-8", errors="surrogateescape"))
        except FairrocError as error:
            return None if str(error).strip() else "words: refused without a word"
        if FairModel.from_json(model.to_json()).to_json() != model.to_json():
            return "file: a saved model reads as another"
        return _wrong_scores(model)

    def smaller(self, case: Damaged) -> Iterator[Damaged]:
        for i in range(len(case.edits) if len(case.edits) > 1 else 0):
            yield Damaged(case.family, case.name, case.edits[:i] + case.edits[i + 1 :])
        shortest = sorted(_files(), key=lambda name: len(_files()[name]))
        for name in shortest[: shortest.index(case.name)]:
            yield Damaged(case.family, name, case.edits)


def _wrong_scores(model: FairModel) -> str | None:
    groups = model.groups
    scores = np.sort(np.concatenate((np.linspace(-2, 3, 41), [0.0, -0.0, 5e-324, 1e300, -1e300])))
    for group in list(groups)[:3]:
        names = np.array([group] * len(scores), dtype=object)
        columns = (
            names
            if not isinstance(group, tuple)
            else {str(i): np.array([p] * len(scores), dtype=object) for i, p in enumerate(group)}
        )
        fair = model.transform(scores, sensitive_features=columns, random_state=0)
        if not np.isfinite(fair).all():
            return f"range: fair scores that are not finite in {group}"
        chances = model.acceptance_rate(scores, sensitive_features=columns, threshold=0.5)
        if not ((chances >= 0) & (chances <= 1)).all():
            return f"chances: outside of 0 to 1 in {group}"
        if (np.diff(chances) < -1e-9).any():
            return f"order: a higher score is selected less in {group}"
    return None


@cache
def _files() -> dict[str, bytes]:
    """Kept model files without their checksum, so that damage is not found by that alone."""
    newest = max(KEPT.iterdir())
    return {path.stem: _unsealed(path.read_bytes()) for path in sorted((newest / "models").glob("*.json"))}


def _unsealed(content: bytes) -> bytes:
    body = json.loads(content)
    body.pop("checksum", None)
    return json.dumps(body).encode()


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from _places(part, (*path, key))


def _at(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        body = body[key]
    return body


def _edited(content: bytes, rng: np.random.Generator, edit: Any) -> bytes:
    """A file with one place of its JSON changed; ``edit`` gets what holds the place and the key."""
    body = json.loads(content)
    places = list(_places(body))
    top = sorted({path[0] for path in places if path and isinstance(path[0], str)})
    first = top[rng.integers(len(top))] if top else places[0][0]  # long tables are not hit most of the time
    under = [path for path in places if path[0] == first]
    path = under[rng.integers(len(under))]
    edit(_at(body, path[:-1]), path[-1])
    return json.dumps(body).encode()


def _replace(content: bytes, rng: np.random.Generator) -> bytes:
    def edit(holder: Any, key: Any) -> None:
        holder[key] = STRANGE[rng.integers(len(STRANGE))]

    return _edited(content, rng, edit)


def _nudge(content: bytes, rng: np.random.Generator) -> bytes:
    def edit(holder: Any, key: Any) -> None:
        if isinstance(holder[key], int | float):
            holder[key] = [holder[key] * 2, -holder[key], holder[key] + 1, holder[key] * 1e300, 1 - holder[key]][
                rng.integers(5)
            ]

    return _edited(content, rng, edit)


def _remove(content: bytes, rng: np.random.Generator) -> bytes:
    def edit(holder: Any, key: Any) -> None:
        del holder[key]

    return _edited(content, rng, edit)


def _repeat(content: bytes, rng: np.random.Generator) -> bytes:
    def edit(holder: Any, key: Any) -> None:
        if isinstance(holder, list):
            holder.insert(key, holder[key])
        else:
            holder[f"{key}2"] = holder[key]

    return _edited(content, rng, edit)


def _reverse(content: bytes, rng: np.random.Generator) -> bytes:
    def edit(holder: Any, key: Any) -> None:
        if isinstance(holder[key], list):
            holder[key].reverse()
        elif isinstance(holder, list):
            holder.reverse()

    return _edited(content, rng, edit)


def _bytes(content: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        out[rng.integers(len(out))] = rng.integers(256)
    return bytes(out)


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content))] or b"{"


def _spelling(content: bytes, rng: np.random.Generator) -> bytes:
    """A number spelled as no JSON number may be, or as one that overflows."""
    body = json.loads(content)
    numbers = [path for path in _places(body) if isinstance(_at(body, path), float)]
    path = numbers[rng.integers(len(numbers))]
    _at(body, path[:-1])[path[-1]] = "@@"
    return json.dumps(body).replace('"@@"', NUMBERS[rng.integers(len(NUMBERS))]).encode()


def _twice(content: bytes, rng: np.random.Generator) -> bytes:
    """A field given twice."""
    body = json.loads(content)
    key = sorted(body)[rng.integers(len(body))]
    return content[:-1] + f", {json.dumps(key)}: {json.dumps(STRANGE[rng.integers(len(STRANGE))])}}}".encode()


def _deep(content: bytes, rng: np.random.Generator) -> bytes:
    body = json.loads(content)
    key = sorted(body)[rng.integers(len(body))]
    body[key] = "@@"
    depth = int(rng.choice([50, 5_000, 200_000]))
    return json.dumps(body).replace('"@@"', "[" * depth + "]" * depth).encode()


DAMAGES = {
    "a value replaced": _replace,
    "a number changed": _nudge,
    "a field removed": _remove,
    "an entry repeated": _repeat,
    "a list reversed": _reverse,
    "bytes changed": _bytes,
    "cut off": _cut,
    "a number misspelt": _spelling,
    "a field twice": _twice,
    "nested deeply": _deep,
}
