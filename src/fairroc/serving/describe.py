"""The service described for machines (OpenAPI) and for people (one page), with examples that are true for its model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np

from fairroc._version import __version__
from fairroc.model.explanation import told_examples
from fairroc.model.file import pretty
from fairroc.options import same
from fairroc.serving.payload import (
    CHANCES,
    COLUMNS,
    CONTROL,
    Form,
    Payload,
    Rules,
    answer,
    explained,
    explanation,
    fair_scores,
)
from fairroc.serving.problems import TITLES

FORMS: dict[Form, str] = {
    "one": "One person.",
    "rows": "Several people, one object for each.",
    "columns": "Several people as columns, which is shorter and faster.",
}
ALIVE = {"status": "ok", "fairroc": __version__}
UNUSED = "Ids may be left out, and are ignored: the model draws nobody."
NUMBER: dict[str, Any] = {"type": "number"}
TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def facts(rules: Rules) -> dict[str, Any]:
    """What is served: nothing that gives the key away."""
    model = rules.model
    return {
        "fairroc": __version__,
        "checksum": rules.checksum,
        "fitted": {"by": model.record.package, "date": model.record.date, "rows": model.record.rows},
        **same(model, "constraint", "epsilon", "ratio", "norm", "promise"),
        "groups": [group.name for group in model.groups],
        **_told_facts(rules),
        **same(model, "levels", "needs_ids"),
        "keyed": model.key_fingerprint is not None,
        **same(rules.settings, "id_type", "on_unknown_group", "max_people"),
    }


def _told_facts(rules: Rules) -> dict[str, Any]:
    """Of a model that is told something else than the groups it keeps close: what, and which these are."""
    model = rules.model
    if not model.compared:
        return {}
    compared = [
        same(one, "attribute", "stratum", "epsilon") | {"groups": [group.name for group in one.groups]}
        for one in model.compared
    ]
    told = {"use_group": model.use_group, CHANCES: list(rules.chances), "controls": model.controls}
    return {**told, "compared": compared}


def openapi(rules: Rules) -> dict[str, Any]:
    """The description of all paths."""
    people, shown = _people(rules)
    asked, answered = _examples(people, rules)
    person = asked["one"] | {"threshold": people.score[0]}
    if not shown:  # a draw that a secret key decided is nobody's example
        answered, person = {}, {name: value for name, value in person.items() if name != "id"}
    limits = f"A body has {rules.settings.max_body:g} MB at most, and {rules.settings.max_people:,} people."
    same = "id, score and group" if rules.model.needs_ids else "score and group"
    more = limits if rules.model.needs_ids else f"{limits} {UNUSED}"
    title = f"Fair scores of people. The same {same} always get the same fair score."
    paths = {
        "/v1/scores": _post(title, more, "Scores", _named(asked), _named(answered)),
        "/v1/explanations": _post(
            "What can happen to one person, and why.",
            "Without an id nothing is drawn.",
            "Explanation",
            {"one": {"value": person}},
            {"one": {"value": explanation(person, rules)}},
        ),
        "/v1/model": _get("What is served.", facts(rules)),
        "/health/live": _get("Whether the process answers.", ALIVE),
        "/health/ready": _get(
            "Whether new requests are welcome; 503 once the service stops.", {"status": "ok", "model": rules.checksum}
        ),
    }
    about = f"Fair scores by the model {rules.checksum}, by fairroc {__version__}. {limits}"
    return {
        "openapi": "3.1.0",
        "info": {"title": "fairroc", "version": __version__, "description": about},
        "paths": paths,
        "components": {"schemas": _schemas(rules)},
    }


def page(described: dict[str, Any]) -> str:
    """The description as a page of HTML that loads nothing from anywhere."""
    from jinja2 import Environment

    text = files("fairroc.serving").joinpath("templates", "docs.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"pretty": _short, "quoted": shlex.quote}
    found: str = environment.from_string(text).render(api=described, problems=TITLES)
    return found


def _short(value: Any) -> str:
    text = pretty(value)
    return text if len(text) < 1500 else f"{text[:1500]}\n..."


# ---- examples --------------------------------------------------------------------------------------------------------


def _people(rules: Rules) -> tuple[Payload, bool]:
    """Two people whose fair scores follow from score and group alone, if there are such; and whether to show them."""
    model = rules.model
    low, high = model.score_range if np.isfinite(model.score_range).all() else (0.0, 1.0)
    grid = [float(f"{score:.3g}") for score in np.linspace(low, high, 12)[1:-1].tolist()]
    told, chosen, fixed = known_people(rules)[:2], [], True
    for one in told:
        sure = [score for score in grid if explained({"score": score, **one}, rules).reason in ("order", "unchanged")]
        chosen.append(sure[len(sure) // 2] if sure else grid[len(grid) // 2])
        fixed = fixed and bool(sure)
    ids: list[Any] = [101, 102] if rules.settings.id_type != "text" else ["a-101", "a-102"]
    columns = {field: [one[field] for one in told] for field in told[0]}
    if model.needs_ids:
        columns["id"] = ids[: len(told)]
    people = Payload("rows", chosen, **columns)
    return people, fixed or model.key_fingerprint is None


def known_people(rules: Rules) -> list[dict[str, Any]]:
    """What the model is told of people, one of each of its groups."""
    model = rules.model
    if model.proxy is None and not model.controls:
        return [{"group": name} for name in model.names]
    found = []
    for one in told_examples(model):
        values = {"group": one.groups, CONTROL: one.controls}
        told: dict[str, Any] = {field: part[0] if len(part) == 1 else [*part] for field, part in values.items() if part}
        found.append(told | ({CHANCES: one.probabilities} if one.probabilities else {}))
    return found


def _examples(people: Payload, rules: Rules) -> tuple[dict[str, Any], dict[str, Any]]:
    """Requests in every form, and their answers."""
    fair, notes = fair_scores(people, rules)
    first = ["id"] if rules.model.needs_ids else []
    told = {field: getattr(people, field) for field in (*first, *rules.fields[:-1])}
    rows = [dict(zip(told, row, strict=True)) for row in zip(*told.values(), strict=True)]
    asked = {
        "one": rows[0],
        "rows": {"people": rows},
        "columns": {COLUMNS[field]: column for field, column in told.items()},
    }
    answered = {form: answer(replace(people, form=form), fair.tolist(), notes, rules) for form in FORMS}
    return asked, answered | {"one": answered["one"] | {"warnings": []}}


def _named(examples: dict[str, Any]) -> dict[str, Any]:
    return {name: {"summary": FORMS[name], "value": examples[name]} for name in FORMS if name in examples}


# ---- OpenAPI ---------------------------------------------------------------------------------------------------------


def _post(summary: str, more: str, schema: str, asked: dict[str, Any], answered: dict[str, Any]) -> dict[str, Any]:
    body = {"schema": {"$ref": f"#/components/schemas/{schema}Request"}, "examples": asked}
    found: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{schema}"}}
    if answered:
        found["examples"] = answered
    answers: dict[str, Any] = {"200": {"description": "Done.", "content": {"application/json": found}}}
    for status, title in sorted(
        {status: title for status, title in TITLES.values() if status not in (404, 405)}.items()
    ):
        problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
        answers[str(status)] = {"description": title, "content": {"application/problem+json": problem}}
    request = {"required": True, "content": {"application/json": body}}
    return {"post": {"summary": summary, "description": more, "requestBody": request, "responses": answers}}


def _get(summary: str, example: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object"}, "example": example}}
    return {"get": {"summary": summary, "responses": {"200": {"description": "Done.", "content": content}}}}


def _schemas(rules: Rules) -> dict[str, Any]:
    model, most = rules.model, rules.settings.max_people
    whole: dict[str, Any] = {"type": "integer", "minimum": -(2**63), "maximum": 2**64 - 1}
    text: dict[str, Any] = {"type": "string"}
    value = {"type": ["string", "number", "boolean", "null"]}
    ids: dict[str, Any] = {"integer": whole, "text": text}.get(rules.settings.id_type or "", {"anyOf": [whole, text]})
    several = {"anyOf": [value, {"type": "array", "items": value, "minItems": 1}]}
    listed = f"One of {', '.join(model.names)}; or a list of the values of several columns, in the order of the fit."
    every = {
        "score": NUMBER,
        "group": {"description": listed, **several},
        CONTROL: several | {"description": "The stratum; a list of several columns' values, in the order of the fit."},
        CHANCES: _chances(rules.chances),
        "id": ids | {"description": '17 and "17" are two ids, with two draws.'}
        if model.needs_ids
        else {"description": UNUSED},
    }
    one = {field: every[field] for field in rules.fields}
    told, needed = list(rules.fields[:-1]), list(rules.needed)
    columns = {COLUMNS[name]: _array(part, most) for name, part in one.items()}
    fair = {"fair_score": NUMBER, "id": {"type": ["integer", "string", "null"]}}
    end = {"warnings": TEXTS, "model": {"type": "string"}}
    return {
        "Person": _object(one, needed),
        "ScoresRequest": {
            "anyOf": [
                {"$ref": "#/components/schemas/Person"},
                _object({"people": _array({"$ref": "#/components/schemas/Person"}, most)}, ["people"]),
                _object(columns, [COLUMNS[name] for name in needed]),
            ]
        },
        "Scores": {
            "anyOf": [
                _object(fair | end, ["fair_score", "id", "warnings", "model"]),
                _object({"people": {"type": "array", "items": _object(fair, ["fair_score", "id"])}} | end, ["people"]),
                _object({"fair_scores": {"type": "array", "items": NUMBER}} | end, ["fair_scores"]),
            ]
        },
        "ExplanationRequest": _object(one | {"threshold": NUMBER, "positive_means": text}, told),
        "Explanation": {"type": "object", "required": ["score", "group", "reason", "outcomes", "text", "model"]},
        "Problem": {
            "type": "object",
            "properties": {
                **{name: {"type": "string"} for name in ("type", "title", "detail")},
                "status": {"type": "integer"},
                "errors": {
                    "type": "array",
                    "items": _object(
                        {name: {"type": "string"} for name in ("pointer", "detail")}, ["pointer", "detail"]
                    ),
                },
            },
            "required": ["type", "title", "status", "detail"],
        },
    }


def _chances(names: Sequence[str]) -> dict[str, Any]:
    """Probabilities of the groups of one person."""
    part = {"type": "number", "minimum": 0, "maximum": 1}
    listed = {"type": "array", "items": part, "minItems": len(names), "maxItems": len(names)}
    ways = [_object(dict.fromkeys(names, part), list(names)), listed, *([part] if len(names) == 1 else [])]
    return {"description": f"Probabilities of the groups: {', '.join(names)}, by name or in this order.", "anyOf": ways}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _array(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most}
