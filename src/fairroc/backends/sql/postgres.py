"""The transform as a PL/pgSQL function: binary searches by ``width_bucket``, and XXH64 in halves of 32 bits.

PostgreSQL raises where a bigint overflows, but its shifts drop what does not fit. So a product modulo 2**64 is put
together from products of 32 by 16 bits, which fit. It also raises where a product of doubles is too small for any
double but zero; there zero is put by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairroc.backends.sql import common
from fairroc.backends.sql.common import P1, P2, P3, P4, P5, Ask, cell_text, double_quoted, numbers, single_quoted
from fairroc.backends.sql.lists import BELOW, below_differs
from fairroc.errors import DataError
from fairroc.model.tables import CellTable, LookupTables
from fairroc.model.xxh64 import MASK

LOW = (1 << 32) - 1

BEGIN, END = "$fairroc$", "$fairroc$"


def write(ask: Ask) -> str:
    """CREATE FUNCTION of (score, group, ..., probability, ..., id). The id is there also where nobody is drawn, and may
    be left out, so that a refit replaces the function whether it draws or not."""
    tables = ask.model.tables
    id_type = "bigint" if ask.id_type == "integer" else "text"
    groups = [f"g{i + 1}" for i in range(len(ask.groups))] if len(ask.groups) != 1 else ["g"]
    chances = [f"p{i + 1}" for i in range(len(ask.probabilities))]
    arguments = ["score double precision", *(f"{name} text" for name in groups)]
    arguments += [f"{name} double precision" for name in chances]
    columns = [double_quoted(ask.score), *(f"{double_quoted(name)}::text" for name in ask.groups)]
    columns += map(double_quoted, ask.probabilities)
    arguments.append(f"id {id_type} DEFAULT NULL")
    columns += [] if ask.id is None else [double_quoted(ask.id)]
    name = double_quoted(ask.function)
    call = f"{name}({', '.join(columns)}) AS {double_quoted(ask.column)}"
    use = f"PostgreSQL 13 or newer. SELECT *, {call} FROM {ask.table}"
    body = "\n".join(["DECLARE", *_declared(ask), "BEGIN", *_door(ask, groups, chances), *_body(ask, tables), "END"])
    if BEGIN in body:
        raise DataError(f"a group's name holds {BEGIN!r}, with which PostgreSQL's SQL is quoted; rename it and refit.")
    return (
        ask.heading(*use.splitlines())
        + f"CREATE OR REPLACE FUNCTION {name}({', '.join(arguments)})\n"
        + "RETURNS double precision LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 AS "
        + f"{BEGIN}\n{body}\n{END};\n"
    )


def _declared(ask: Ask) -> Iterator[str]:
    line = {"integer": "c", "text": "name", "double precision": "x y"}
    drawn = {
        "bigint": "h w l a0 a1 a2 a3",
        "integer": "n at c r o k",
        "bytea": "b",
        "text": "name",
        "double precision": "u place lower x y",
    }
    for kind, names in (line if ask.id is None else drawn).items():
        yield from (f"  {name} {kind};" for name in names.split())


def _door(ask: Ask, groups: list[str], chances: list[str]) -> Iterator[str]:
    """Checks, and the group's name."""
    yield _stop("score IS NULL OR NOT score BETWEEN -1e307 AND 1e307", common.SCORE)
    if ask.id is not None:
        empty = " OR id = ''" if ask.id_type == "text" else ""
        yield _stop(f"id IS NULL{empty}", common.ID)
    if chances:
        inside = " AND ".join(f"{name} BETWEEN 0 AND 1" for name in chances)
        yield _stop(f"NOT coalesce({inside}, false)", common.PROBABILITY)
    missing = ask.missing_name
    texts = [ask.named(name, r"E'\\1\\2'", ' COLLATE "C"') for name in groups]
    parts = [text if missing is None else f"coalesce({text}, {_text(missing)})" for text in texts]
    if ask.model.proxy is not None:
        parts.append(f"({cell_text(ask.model.proxy, chances, _text, lambda limit, _: f'{limit}::double precision')})")
    yield "  name := " + " || ' & ' || ".join(parts) + ";"
    yield _stop("name IS NULL", common.GROUP)


def _stop(where: str, why: str) -> str:
    return f"  IF {where} THEN\n    {_raised(_text(why))}\n  END IF;"


def _raised(message: str) -> str:
    return f"RAISE EXCEPTION USING MESSAGE = {message}, ERRCODE = '22023';"


def _body(ask: Ask, tables: LookupTables | None) -> Iterator[str]:
    """Find the cell, leave with the fair score of who keeps the order, else draw."""
    found = ["c := 0;"] * len(ask.model.names) if tables is None else list(_found(tables.cells))
    unknown, left = (_raised(f"{_text(why)} || name") for why in (common.UNKNOWN, common.LEFT_OUT))
    known = {name: found[code] for name, code in ask.model.codes.items()} | dict.fromkeys(ask.left_out, left)
    for i, (name, one) in enumerate(known.items()):
        yield f'  {"ELSIF" if i else "IF"} name COLLATE "C" = {_text(name)} THEN'
        yield f"    {one}"
    yield f"  ELSE\n    {unknown if ask.unknown_code is None else found[ask.unknown_code]}"
    yield "  END IF;"
    if tables is None:
        yield "  RETURN score;"
        return
    cells, knots = tables.cells, tables.knots
    line = [
        *_product(f"score - {_at(cells.origin, 'c')}", _at(cells.slope, "c")),
        f"  RETURN x + {_at(cells.value, 'c')};",
    ]
    if not tables.draws:
        yield from line
        return
    yield f"  r := {_at(cells.row, 'c')};"
    if (cells.row < 0).any():
        yield from ("  IF r < 0 THEN", *line, "  END IF;")
    yield from _integer_hash(ask.seed) if ask.id_type == "integer" else _text_hash(ask.seed)
    yield "  u := ((h >> 11) & 9007199254740991)::double precision * 1.1102230246251565e-16::double precision;"
    yield from _place(tables)
    yield f"  k := width_bucket(place, {_array(knots.y)});"
    yield f"  u := place - {_at(knots.y, 'k')};\n  lower := {_at(knots.score, 'k')};"
    yield "  IF u > 0 THEN"
    yield from _product("u", _at(knots.slope, "k"))
    below = (
        f"lower - abs(lower) * {BELOW!r}::double precision" if not below_differs(knots).any() else _at(knots.below, "k")
    )
    yield f"    u := x + lower;\n    lower := {below};"
    yield "    RETURN CASE WHEN u < lower THEN u ELSE lower END;"
    yield "  END IF;\n  RETURN lower;"


def _found(cells: CellTable) -> Iterator[str]:
    """For each group, how the cell of a score is found: among the starts of its cells but the first."""
    for before, starts in zip(cells.opens, cells.starts(), strict=True):
        found = f"width_bucket(score, {_array(starts[1:])}) + " if len(starts) > 1 else ""
        yield f"c := {found}{before + 1};"


def _place(tables: LookupTables) -> Iterator[str]:
    """The level drawn, and the place in it."""
    cells, outcomes = tables.cells, tables.outcomes
    last, lower = np.cumsum(outcomes.sizes()), _array(outcomes.lower)
    first = np.append(0, last[:-1])
    yield f"  n := {_at(first, 'r + 1')};"
    yield f"  o := n + width_bucket(u, ({lower})[n + 1:{_at(last, 'r + 1')}]);"
    yield f"  n := {_at(outcomes.level, 'o')};"
    yield f"  lower := CASE WHEN n = {_at(cells.first, 'c')} THEN {_at(cells.begin, 'c')} ELSE 0.0 END;"
    end = f"CASE WHEN n = {_at(cells.last, 'c')} THEN {_at(cells.end, 'c')} ELSE 1.0 END"
    yield from _product(f"(u - {_at(outcomes.lower, 'o')}) / {_at(outcomes.width, 'o')}", f"{end} - lower")
    yield "  place := x + lower + n;"


def _product(a: str, b: str) -> Iterator[str]:
    """``x := a * b``, which rounds to zero where the exact product is at most 2**-1075."""
    yield f"  x := {a};\n  y := {b};"
    yield "  IF abs(x) < 1 AND abs(y) < 1 AND x <> 0 AND y <> 0 AND (abs(x) < 1e-150 OR abs(y) < 1e-150) AND"
    tiny, large, limit = (f"{2.0**power!r}::double precision" for power in (-538, 600, -475))
    small, other = "least(abs(x), abs(y))", "greatest(abs(x), abs(y))"
    yield f"    (CASE WHEN {other} < {tiny} THEN true ELSE {small} * {large} * {other} <= {limit} END) THEN"
    yield "    x := CASE WHEN (x < 0) = (y < 0) THEN 0 ELSE '-0'::double precision END;"
    yield "  ELSE\n    x := x * y;\n  END IF;"


def _at(values: NDArray[np.generic], index: str) -> str:
    """An entry of a list, or the one value that all have."""
    if len({value.hex() if isinstance(value, float) else value for value in values.tolist()}) == 1:
        return f"'{values.tolist()[0]!r}'::{_kind(values)}"
    return f"({_array(values)})[{index}]"


def _array(values: NDArray[np.generic]) -> str:
    return f"'{{{numbers(values)}}}'::{_kind(values)}[]"


def _kind(values: NDArray[np.generic]) -> str:
    return "double precision" if values.dtype.kind == "f" else "integer"


def _text(text: str) -> str:
    """A text in quotes, whatever the server takes a backslash for."""
    quoted = single_quoted(text)
    return "E" + quoted.replace("\\", "\\\\") if "\\" in text else quoted


# -- XXH64: statements on the bigint h --------------------------------------------------------------------------------


def _integer_hash(seed: int) -> Iterator[str]:
    yield "  h := id;"
    yield from _times("h", P2)
    yield _turn("h", 31)
    yield from _times("h", P1)
    yield f"  h := h # {_signed(seed + P5 + 8)};"
    yield _turn("h", 27)
    yield from _times("h", P1, P4)
    yield from _avalanche()


def _text_hash(seed: int) -> Iterator[str]:
    yield "  b := convert_to(id, 'UTF8');\n  n := length(b);\n  at := 0;"
    yield "  IF n >= 32 THEN"
    starts = (seed + P1 + P2, seed + P2, seed, seed - P1)
    yield from (f"  a{k} := {_signed(start)};" for k, start in enumerate(starts))
    yield "  WHILE at + 32 <= n LOOP"
    for k in range(4):
        yield f"  w := {_word(8 * k, 8)};"
        yield from _times("w", P2)
        yield from _add(f"a{k}", "w")
        yield _turn(f"a{k}", 31)
        yield from _times(f"a{k}", P1)
    yield "  at := at + 32;\n  END LOOP;\n  h := 0;"
    for k, left in enumerate((1, 7, 12, 18)):
        yield f"  w := a{k};"
        yield _turn("w", left)
        yield from _add("h", "w")
    for k in range(4):
        yield f"  w := a{k};"
        yield from _mixed()
        yield from _times("h", P1, P4)
    yield f"  ELSE\n  h := {_signed(seed + P5)};\n  END IF;\n  w := n;"
    yield from _add("h", "w")
    yield f"  WHILE at + 8 <= n LOOP\n  w := {_word(0, 8)};"
    yield from _mixed()
    yield _turn("h", 27)
    yield from _times("h", P1, P4)
    yield f"  at := at + 8;\n  END LOOP;\n  IF at + 4 <= n THEN\n  w := {_word(0, 4)};"
    yield from _times("w", P1)
    yield "  h := h # w;"
    yield _turn("h", 23)
    yield from _times("h", P2, P3)
    yield "  at := at + 4;\n  END IF;\n  WHILE at < n LOOP\n  w := get_byte(b, at);"
    yield from _times("w", P5)
    yield "  h := h # w;"
    yield _turn("h", 11)
    yield from _times("h", P1)
    yield "  at := at + 1;\n  END LOOP;"
    yield from _avalanche()


def _mixed() -> Iterator[str]:
    yield from _times("w", P2)
    yield _turn("w", 31)
    yield from _times("w", P1)
    yield "  h := h # w;"


def _avalanche() -> Iterator[str]:
    for shift, factor in ((33, P2), (29, P3), (32, 1)):
        yield f"  h := h # {_shifted('h', shift)};"
        if factor > 1:
            yield from _times("h", factor)


def _times(name: str, factor: int, plus: int = 0) -> Iterator[str]:
    """``name := name * factor + plus`` modulo 2**64."""
    low, high = factor & LOW, factor >> 32
    x, y = f"({name} & {LOW})", f"(({name} >> 32) & {LOW})"
    yield f"  l := {x} * {low & 65535} + (({x} * {low >> 16} & 65535) << 16) + {plus & LOW};"
    terms = [
        "(l >> 32)",
        f"({x} * {low >> 16} >> 16)",
        f"{x} * {high & 65535}",
        f"(({x} * {high >> 16} & 65535) << 16)",
        f"{y} * {low & 65535}",
        f"(({y} * {low >> 16} & 65535) << 16)",
        str(plus >> 32),
    ]
    yield f"  {name} := (({' + '.join(terms)}) << 32) | (l & {LOW});"


def _add(name: str, other: str) -> Iterator[str]:
    """``name := name + other`` modulo 2**64."""
    yield f"  l := ({name} & {LOW}) + ({other} & {LOW});"
    yield f"  {name} := (((({name} >> 32) & {LOW}) + (({other} >> 32) & {LOW}) + (l >> 32)) << 32) | (l & {LOW});"


def _turn(name: str, left: int) -> str:
    return f"  {name} := ({name} << {left}) | {_shifted(name, 64 - left)};"


def _shifted(name: str, right: int) -> str:
    """Shifted to the right, with zeros from the left."""
    return f"(({name} >> {right}) & {(1 << (64 - right)) - 1})"


def _word(offset: int, width: int) -> str:
    """Bytes of b from ``at + offset`` on as a little-endian number."""
    return " | ".join(f"(get_byte(b, at + {offset + i})::bigint << {8 * i})" for i in range(width))


def _signed(number: int) -> str:
    number &= MASK
    return f"'{number - (1 << 64) if number >> 63 else number}'::bigint"
