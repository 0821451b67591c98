"""Bodies of requests to columns, columns to fair scores by the model's own checks, and which row is to blame."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal, NoReturn

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.errors import DataError, UnknownGroupError, several
from fairroc.fairmodel import FairModel
from fairroc.model.draw import IdCount, Secret
from fairroc.model.explanation import Explanation
from fairroc.model.model import checked_columns, unknown_note
from fairroc.people.rows import LARGEST, ScoreColumns, checked_scores
from fairroc.people.spread import probabilities_of
from fairroc.serving.problems import Problem

CONTROL, CHANCES = "control", "group_probabilities"
COLUMNS = {"score": "scores", "group": "groups", CONTROL: "controls", CHANCES: CHANCES, "id": "ids"}
"""Fields of a person, and what the columns of several people are called."""

Form = Literal["one", "rows", "columns"]

MORE = ("threshold", "positive_means")
"""What an explanation takes beside them."""

NAMED = 10
"""As many values are named in a problem."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service is started with; paths instead of secrets, so that it can be shown and sent to other processes."""

    model: str
    key: str | None = None
    on_unknown_group: str | None = None
    allow_out_of_range: bool = False
    id_type: str | None = None
    max_body: float = 8
    max_people: int = 100_000
    timeout: float = 30
    drain: float = 0
    log_format: str = "text"

    @property
    def largest(self) -> int:
        """Bytes of a body, at most."""
        return int(self.max_body * 1_000_000)


@dataclass(frozen=True, slots=True)
class Rules:
    """How requests are treated: the model, its key, and what is allowed."""

    model: FairModel
    checksum: str
    settings: Settings
    key: Secret | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """What is told of a person; the id last, which may be left out, and is ignored, where nobody is drawn."""
        model = self.model
        used = {"group": model.use_group, CONTROL: model.controls > 0, CHANCES: len(self.chances) > 0}
        return tuple(field for field in COLUMNS if used.get(field, True))

    @property
    def needed(self) -> tuple[str, ...]:
        """What must be told of a person."""
        return self.fields if self.model.needs_ids else self.fields[:-1]

    @property
    def chances(self) -> tuple[str, ...]:
        """Names of the groups' probabilities that the model is told."""
        return self.model.probability_columns


@dataclass(frozen=True, slots=True)
class Payload:
    """Columns of a request, one value for each person, as JSON has them; None of what the model does not use."""

    form: Form
    score: list[Any]
    group: list[Any] | None = None
    control: list[Any] | None = None
    group_probabilities: list[Any] | None = None
    id: list[Any] | None = None

    def pointer(self, field: str, row: int) -> str:
        """Where in the body a value stands (RFC 6901)."""
        at = {"one": f"#/{field}", "rows": f"#/people/{row}/{field}", "columns": f"#/{COLUMNS[field]}/{row}"}
        return at[self.form]


def parsed(body: bytes, rules: Rules) -> dict[str, Any]:
    """A body as JSON: one object, no NaN, no field twice, and no more objects than there may be people."""
    objects = count(-1)  # the body itself is one
    each = 2 if rules.chances else 1  # a person, and the person's probabilities

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(fields := dict(pairs)) < len(pairs):
            raise ValueError("an object has a field twice")
        if next(objects) >= rules.settings.max_people * each:
            raise _too_many(f"more than {rules.settings.max_people:,}", rules)
        return fields

    try:
        data = json.loads(body.decode(), parse_constant=_no_number, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is not UTF-8"
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError as error:
        why = str(error).partition(";")[0]
    else:
        if isinstance(data, dict):
            return data
        why = f"it is {_kind(data)}"
    raise Problem("invalid-json", f"The body must be one JSON object in UTF-8, but {why}.")


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def people_of(data: dict[str, Any], rules: Rules) -> Payload:
    """The people of a request: one, rows, or columns."""
    if "people" in data:
        _known(data, ("people",), "#")
        return _rows(_list(data, "people", rules), rules)
    if "scores" in data:
        names = {field: COLUMNS[field] for field in rules.fields}
        _known(data, tuple(names.values()), "#")
        read = {field: name for field, name in names.items() if field in rules.needed}
        columns: dict[str, Any] = {f: _list(data, name, rules) if name in data else None for f, name in read.items()}
        lengths = {names[field]: len(column) for field, column in columns.items() if column is not None}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise Problem("invalid-request", f"All columns must have one value for each person, got {listed}.")
        for field, column in columns.items():
            if column is None:
                _refuse(f"#/{names[field]}", f"is missing{WHY.get(field, '')}")
        return Payload("columns", **columns)
    _known(data, rules.fields, "#")
    return _one(data, rules, rules.needed)


WHY = {"id": ": the same id always gets the same draw"}


def _one(data: Mapping[str, Any], rules: Rules, needed: Sequence[str]) -> Payload:
    _has(data, needed, "#")
    return _payload({field: [data[field]] for field in rules.fields if field in data}, "one", rules)


def _payload(columns: dict[str, list[Any]], form: Form, rules: Rules) -> Payload:
    """People; ids that nobody looks at are only sent back, and anything but whole numbers and texts not even that."""
    if "id" in columns and not rules.model.needs_ids:
        columns["id"] = [one if type(one) in (int, str) else None for one in columns["id"]]
    return Payload(form, **columns)


def _rows(rows: list[Any], rules: Rules) -> Payload:
    fields, needed = rules.fields, rules.needed
    for number, row in enumerate(rows):
        if type(row) is not dict or row.keys() != {*fields}:
            at = f"#/people/{number}"
            if type(row) is not dict:
                _refuse(at, f"must be an object with {_listed(fields)}, got {_kind(row)}")
            _known(row, fields, at)
            _has(row, needed, at)
    return _payload({field: [row.get(field) for row in rows] for field in fields}, "rows", rules)


def _has(data: Mapping[str, Any], needed: Sequence[str], at: str) -> None:
    for field in needed:
        if field not in data:
            _refuse(f"{at}/{field}", f"is missing{WHY.get(field, '')}")


def _known(data: Mapping[str, Any], fields: Sequence[str], at: str) -> None:
    for field in data.keys() - set(fields):
        escaped = field[:40].replace("~", "~0").replace("/", "~1")
        _refuse(f"{at}/{escaped}", f"is not known here; there are {_listed(fields)}")


def _list(data: Mapping[str, Any], field: str, rules: Rules) -> list[Any]:
    found = data[field]
    if type(found) is not list or not found:
        _refuse(f"#/{field}", f"must be a list with at least one value, got {_kind(found)}")
    if len(found) > rules.settings.max_people:
        raise _too_many(f"{len(found):,}", rules)
    return found


def _too_many(got: str, rules: Rules) -> Problem:
    words = f"A request may hold {rules.settings.max_people:,} people at most (--max-people), got {got}; send several."
    return Problem("too-many-people", words)


def _refuse(pointer: str, words: str) -> NoReturn:
    raise Problem("invalid-request", f"{pointer} {words}.", [{"pointer": pointer, "detail": words}])


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "an empty list" if not value else "a list"
    kinds = {dict: "an object", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _listed(fields: Sequence[str]) -> str:
    return ", ".join(fields[:-1]) + (" and " if len(fields) > 1 else "") + fields[-1]


# ---- fair scores -----------------------------------------------------------------------------------------------------


def fair_scores(people: Payload, rules: Rules) -> tuple[FloatArray, list[str]]:
    """Fair scores, the bits of `FairModel.transform`, and what the command line would warn of; or a problem."""
    model, n = rules.model, len(people.score)
    _check_id_type(people, rules)
    try:
        plain = people.group if model.proxy is None and not model.controls else _told(people, rules, 0, n)
        fair = model.few(people.score, plain, people.id, None, rules.key, rules.settings.on_unknown_group)
        if fair is None:
            columns = _columns(people, rules, 0, n)
            uniforms = model.uniforms(n, ids=people.id, key=rules.key)
            fair = model.fair_scores(columns, uniforms)
        else:
            columns = ScoreColumns(np.array(people.score, dtype=np.float64), np.empty(0, dtype=np.int8), 0)
    except DataError as error:
        raise _located(people, rules, error) from None
    return fair, _notes(people, rules, columns)


def answer(people: Payload, fair: list[float], notes: list[str], rules: Rules) -> dict[str, Any]:
    """Fair scores in the form of the request."""
    end = {"warnings": notes, "model": rules.checksum}
    if people.form == "columns":
        return {"fair_scores": fair, **end}
    ids = people.id or [None] * len(fair)
    rows = [{"id": one, "fair_score": score} for one, score in zip(ids, fair, strict=True)]
    return (rows[0] if people.form == "one" else {"people": rows}) | end


def _columns(people: Payload, rules: Rules, low: int, high: int) -> ScoreColumns:
    """Checked scores and groups of some of the people."""
    told = _told(people, rules, low, high)
    return checked_columns(rules.model, people.score[low:high], told, rules.settings.on_unknown_group)


def _told(people: Payload, rules: Rules, low: int, high: int) -> Any:
    """What the model is told of some of the people beside the score."""
    groups, controls = (
        None if column is None else _features(column[low:high], field)
        for field, column in (("group", people.group), (CONTROL, people.control))
    )
    return rules.model.told(groups, _probabilities(people, rules, low, high), controls, high - low)


def _features(values: list[Any], field: str) -> Any:
    """One column of groups or strata, or several where each person has a list of values."""
    widths = {len(value) if type(value) is list else None for value in values}
    if widths == {None}:
        return values
    width = widths.pop()
    if widths or not width:
        raise DataError(
            f"Every {field} must be a name, or a list of as many values for every person, in the order of the fit."
        )
    return {str(i): [value[i] for value in values] for i in range(width)}


def _probabilities(people: Payload, rules: Rules, low: int, high: int) -> dict[str, list[Any]] | None:
    """Probabilities of some of the people by name: each has a list in the order of the fit, or an object; one alone may
    be a number."""
    if people.group_probabilities is None:
        return None
    names, rows = rules.chances, []
    for told in people.group_probabilities[low:high]:
        if type(told) is dict and told.keys() == {*names}:
            rows.append([told[name] for name in names])
        elif type(told) is list and len(told) == len(names):
            rows.append(told)
        elif len(names) == 1 and type(told) in (int, float):
            rows.append([told])
        else:
            raise DataError(f"every value of {CHANCES} must have {len(names)} numbers")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _notes(people: Payload, rules: Rules, columns: ScoreColumns) -> list[str]:
    """What `fairroc transform` would warn of, had it these people in a file."""
    model, n, notes = rules.model, len(people.score), []
    try:
        outside = model.range_note(model.outside(columns.scores), n, rules.settings.allow_out_of_range, many=1)
    except DataError as error:
        raise Problem("out-of-range", str(error)) from None
    if outside is not None:
        notes.append(outside)
    if columns.unknown:
        notes.append(unknown_note(columns.unknown, n, rules.settings.on_unknown_group))
    if people.id is not None and model.needs_ids and len(set(people.id)) < n:
        notes.append(IdCount().add(model.uniforms(n, ids=people.id, key=rules.key)).note)
    return notes


def _check_id_type(people: Payload, rules: Rules) -> None:
    """Raise if ids are not of the type that the service was started for."""
    wanted = {"integer": int, "text": str, None: None}[rules.settings.id_type] if rules.model.needs_ids else None
    if wanted is not None and people.id is not None and not set(map(type, people.id)) <= {wanted}:
        rows = [row for row, one in enumerate(people.id) if type(one) is not wanted]
        words = f"must be {'an integer' if wanted is int else 'text'} here (--id-type {rules.settings.id_type})"
        raise _problem("invalid-request", [(people.pointer("id", row), words) for row in rows[:NAMED]], len(rows))


# ---- who is to blame -------------------------------------------------------------------------------------------------


def _located(people: Payload, rules: Rules, error: DataError) -> Problem:
    """The problem behind an error of the model's checks: all values that they refuse, each by its place."""
    model = rules.model
    checks: dict[str, Callable[[int, int], object]] = {
        "score": lambda low, high: checked_scores(people.score[low:high])
    }
    sure = True
    if people.group_probabilities is not None:
        checks[CHANCES] = lambda low, high: probabilities_of(_probabilities(people, rules, low, high), rules.chances)
        sure = not _refused(checks[CHANCES], 0, len(people.score), 1)
    named = [field for field in ("group", CONTROL) if getattr(people, field) is not None]
    if named and sure:  # whose group is known
        unscored = replace(people, score=[0.0] * len(people.score))
        checks[named[0]] = lambda low, high: _columns(unscored, rules, low, high)
    if people.id is not None:
        ids = people.id
        checks["id"] = lambda low, high: model.uniforms(high - low, ids=ids[low:high], key=rules.key)
    known = several([repr(name) for name in model.names], ", ")
    must = {
        "score": "must be a finite number within ±1e307",
        "group": f"must be one of {known}" if not model.controls else f"must, with its {CONTROL}, be one of {known}",
        CONTROL: "must be a stratum whose people were fitted",
        CHANCES: f"must have numbers from 0 to 1 for {', '.join(rules.chances)}, as a list in this order or by name",
        "id": "must be an integer of 64 bits or text",
    }
    found = []
    for field, check in checks.items():
        for row in _refused(check, 0, len(people.score), NAMED):
            value = getattr(people, field)[row]
            found.append((people.pointer(field, row), f"{must[field]}, got {_shown(value)}"))
    kind = "unknown-group" if isinstance(error, UnknownGroupError) else "invalid-request"
    return _problem(kind, found[:NAMED], len(found)) if found else Problem(kind, str(error))


def _refused(check: Callable[[int, int], object], low: int, high: int, most: int) -> list[int]:
    """The first rows that a check refuses, found by halves."""
    try:
        check(low, high)
    except DataError:
        if high - low == 1:
            return [low]
        middle = (low + high) // 2
        found = _refused(check, low, middle, most)
        return found if len(found) >= most else found + _refused(check, middle, high, most - len(found))
    return []


def _problem(kind: str, found: list[tuple[str, str]], number: int) -> Problem:
    first = f"{found[0][0]} {found[0][1]}."
    more = "" if number == 1 else " More values cannot be used; see errors."
    return Problem(kind, first + more, [{"pointer": at, "detail": words} for at, words in found])


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


# ---- explanations ----------------------------------------------------------------------------------------------------


def explained(data: dict[str, Any], rules: Rules) -> Explanation:
    """What `FairModel.explain` says about one person."""
    _known(data, (*rules.fields, *MORE), "#")
    people, limit = _one(data, rules, rules.fields[:-1]), data.get("threshold")
    if limit is not None and not (type(limit) in (int, float) and abs(limit) <= LARGEST):
        words = "must be a finite number within ±1e307, on the score's scale"
        _refuse("#/threshold", f"{words}, got {_shown(limit)}")
    _check_id_type(people, rules)
    group, control = (None if part is None else part[0] for part in (people.group, people.control))
    try:
        chances = _probabilities(people, rules, 0, 1)
        return rules.model.explain(
            people.score[0],
            tuple(group) if isinstance(group, list) else group,
            control_features=tuple(control) if isinstance(control, list) else control,
            group_probabilities=None if chances is None else {name: values[0] for name, values in chances.items()},
            threshold=limit,
            id=None if people.id is None else people.id[0],
            key=rules.key if "id" in data else None,
            on_unknown_group=rules.settings.on_unknown_group,
            **({"positive_means": data["positive_means"]} if "positive_means" in data else {}),
        )
    except DataError as error:
        raise _located(people, rules, error) from None


def explanation(data: dict[str, Any], rules: Rules) -> dict[str, Any]:
    """The same as it is answered."""
    found = explained(data, rules)
    return {**found.to_dict(), "text": found.text, "model": rules.checksum}
