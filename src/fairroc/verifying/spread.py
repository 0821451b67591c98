"""Models that are not told the groups they compare: which segment everybody is in, and every group's law.

People are treated by segments: intersections of attributes, these inside strata, or the leaves of a tree over
probabilities (docs/reference/model-file.md). A group's rates are the sum over the segments that its people are in.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from fairroc.verifying.files import GARBLED, ZERO, Body, Measure, MisreadError, hold, is_numbers, reading
from fairroc.verifying.law import Everybody, GroupPeople, Kernel, Line, Progress, figures, original, sweep

FIELDS = ("use_group", "combine", "controls", "compared", "proxy")
"""What the files of such models have beside the others."""

MERGED = "other (merged)"
"""What groups too small for themselves are called together."""


class Person(NamedTuple):
    """One row: strata, attributes and probabilities in the order of the fit's columns."""

    score: float
    label: bool
    weight: float
    strata: tuple[str, ...]
    groups: tuple[str, ...]
    probabilities: tuple[float, ...]


class Table(NamedTuple):
    """All people, and the names of their attributes."""

    people: Sequence[Person]
    attributes: tuple[str, ...]


class Needs(NamedTuple):
    """What must be known of people to verify a model: columns of probabilities, how many control features; and whether
    the model is told the group."""

    columns: tuple[str, ...]
    controls: int
    use_group: bool


def needs(text: str) -> Needs | None:
    """What a model file of this kind says; None for all other files, also for garbled ones."""
    try:
        body = json.loads(text)
        hold_spread(body)
        if "compared" not in body:
            return None
        columns = () if body["proxy"] is None else tuple(body["proxy"]["columns"])
        return Needs(columns, body["controls"], body["use_group"])
    except (*GARBLED, MisreadError, RecursionError):
        return None


@reading()
def hold_spread(body: Body) -> None:
    """Raise unless what is told and what is compared is as docs/reference/model-file.md says."""
    if body["version"] < 5 or "compared" not in body:
        hold(not any(name in body for name in FIELDS), "it says nothing of groups compared")
        return
    hold(type(body["use_group"]) is bool and body["combine"] in ("each", "intersection"), "what is told is garbled")
    hold(type(body["controls"]) is int and body["controls"] >= 0, "'controls' is no number of columns")
    hold(isinstance(body["compared"], list) and body["compared"], "it compares nobody")
    for one in body["compared"]:
        names = [group["name"] for group in one["groups"]]
        hold(len(names) > 1 and len(set(names)) == len(names), "a family needs two groups or more, each once")
        known = isinstance(one["attribute"], str) and (isinstance(one["stratum"], str) if body["controls"] else True)
        hold(known, "a family's attribute or stratum is garbled")
        hold(is_numbers([one["epsilon"]]) and 0 <= one["epsilon"] <= body["epsilon"], "a family's epsilon is off")
    hold((body["proxy"] is None) == body["use_group"], "it must have a proxy, or be told the group")
    if body["proxy"] is not None:
        _hold_tree(body["proxy"])


def _hold_tree(proxy: Body) -> None:
    columns, column = proxy["columns"], proxy["column"]
    parts = [proxy[name] for name in ("left", "right", "column")]
    hold(all(is_numbers(part, int) for part in parts) and is_numbers(proxy["threshold"]), "the proxy holds no numbers")
    hold(all(len(part) == len(column) > 0 for part in (*parts, proxy["threshold"])), "nodes need one entry everywhere")
    hold(all(-1 <= at < len(columns) for at in column), "a node names no column")
    inner = [node for node, at in enumerate(column) if at >= 0]
    children = [child for node in inner for child in (proxy["left"][node], proxy["right"][node])]
    later = all(proxy[side][node] > node for node in inner for side in ("left", "right"))
    hold(later and sorted(children) == list(range(1, len(column))), "the nodes are no tree")


def leaves(proxy: Body, node: int = 0) -> list[int]:
    """Nodes without children, from left to right."""
    if proxy["column"][node] < 0:
        return [node]
    return [*leaves(proxy, proxy["left"][node]), *leaves(proxy, proxy["right"][node])]


def cell(proxy: Body, order: Sequence[int], probabilities: Sequence[float]) -> str:
    """The name of the leaf that probabilities lead to."""
    node = 0
    while (column := proxy["column"][node]) >= 0:
        node = proxy["left" if probabilities[column] <= proxy["threshold"][node] else "right"][node]
    width = len(str(len(order)))
    return f"cell {order.index(node) + 1:0{width}}"


def told(body: Body, table: Table) -> list[str]:
    """The segment of everybody, as the file calls it."""
    small = body.get("small_groups") or {"groups": (), "merged_into": None}
    order = [] if body["proxy"] is None else leaves(body["proxy"])
    found = []
    for person in table.people:
        last = person.groups if body["proxy"] is None else (cell(body["proxy"], order, person.probabilities),)
        name = " & ".join((*person.strata, *last))
        found.append(small["merged_into"] if name in small["groups"] else name)
    return found


class Family(NamedTuple):
    """Groups that are compared, by name with their people in every segment; and who is none of them."""

    title: str
    stated: Body
    groups: dict[str, dict[str, list[Person]]]
    others: list[str]


def families(body: Body, table: Table, segments: Sequence[str]) -> Iterator[Family]:
    """The people of every family that a model compares."""
    attributes = list(dict.fromkeys(one["attribute"] for one in body["compared"]))
    for one in body["compared"]:
        names = [group["name"] for group in one["groups"]]
        groups: dict[str, dict[str, list[Person]]] = {name: defaultdict(list) for name in names}
        others = []
        for person, segment in zip(table.people, segments, strict=True):
            if body["controls"] and " & ".join(person.strata) != one["stratum"]:
                continue
            name = " & ".join(person.groups)
            if body["combine"] == "each":
                name = person.groups[_place(attributes, table.attributes, one["attribute"])]
            name = MERGED if name not in groups and MERGED in groups else name
            if name in groups:
                groups[name][segment].append(person)
            else:
                others.append(name)
        title = one["attribute"] if one["stratum"] is None else f"{one['attribute']} within {one['stratum']}"
        yield Family(title, one, groups, sorted(set(others)))


def _place(attributes: Sequence[str], given: Sequence[str], name: str) -> int:
    """The column of an attribute: by its name, or by its order."""
    return list(given).index(name) if set(attributes) <= set(given) else attributes.index(name)


def other_people(body: Body, table: Table, found: Sequence[Family]) -> list[str]:
    """In what these are not the people whose groups the model compares."""
    attributes = list(dict.fromkeys(one["attribute"] for one in body["compared"]))
    off = []
    if body["combine"] == "each" and len(attributes) != len(table.attributes):
        off.append(f"the data has {len(table.attributes)} attributes, and the model compares {len(attributes)}")
    strata = {" & ".join(person.strata) for person in table.people} if body["controls"] else set()
    known = {(one["attribute"], one["stratum"]) for one in body["compared"]}
    missing = [stratum for stratum in sorted(strata) for name in attributes if (name, stratum) not in known]
    off += [f"stratum {stratum!r} is in the data alone" for stratum in missing]
    for family in found:
        off += [f"group {name!r} of {family.title} is in the data alone" for name in family.others]
        for group in family.stated["groups"]:
            used = [one for part in family.groups[group["name"]].values() for one in part if one.weight > 0]
            own = (len(used), sum(one.label for one in used))
            if own != (group["rows"], group["positives"]):
                off.append(
                    f"group {group['name']!r} of {family.title} has {own[0]} rows, {own[1]} of them positive, but "
                    f"{group['rows']} and {group['positives']} in the model"
                )
    return off


def segment_people(table: Table, segments: Sequence[str]) -> list[GroupPeople]:
    """People by segments; rows of no weight are nobody's."""
    found: defaultdict[str, list[Person]] = defaultdict(list)
    for person, segment in zip(table.people, segments, strict=True):
        if person.weight > 0:
            found[segment].append(person)
    return [_group(name, people) for name, people in sorted(found.items())]


def _group(name: str, people: Sequence[Person]) -> GroupPeople:
    cells = tuple((person.score, person.label, person.weight) for person in people)
    return GroupPeople(name, len(people), sum(person.label for person in people), cells)


def family_gap(
    family: Family, kernels: dict[str, Kernel], measure: Measure, progress: Progress | None = None
) -> Fraction:
    """The gap of a family at all thresholds, of the original score where there are no kernels."""
    parts = [
        (g, segment, _group(segment, people))
        for g, own in enumerate(family.groups.values())
        for segment, people in own.items()
        if any(person.weight > 0 for person in people)
    ]
    if not kernels:
        cells = [tuple(c for h, _, own in parts if h == g for c in own.cells) for g in range(len(family.groups))]
        everybody = Everybody.of([GroupPeople("", 0, 0, own) for own in cells])
        return figures(original(everybody), everybody, measure, progress).gap
    each = Everybody.of([own for *_, own in parts])
    totals = [(0, 0)] * len(family.groups)
    for (g, *_), own in zip(parts, each.totals, strict=True):
        totals[g] = (totals[g][0] + own[0], totals[g][1] + own[1])
    lines: list[list[Line]] = [[] for _ in totals]
    for (g, segment, _), scores, masses in zip(parts, each.scores, each.masses, strict=True):
        lines[g].append(kernels[segment].law(scores, masses, totals[g]))
    return figures([summed(own) for own in lines], Everybody([], [], totals), measure, progress).gap


def summed(lines: Sequence[Line]) -> Line:
    """The rates of people who come in parts, each with a law of its own."""
    if len(lines) == 1:
        return lines[0]
    found = Line([], [], [])
    for place, before, after in sweep(lines, None):
        found.places.append(place)
        for points, kept in ((before, found.before), (after, found.after)):
            kept.append((sum((x for x, _ in points), ZERO), sum((y for _, y in points), ZERO)))
    return found
