"""Snowflake's words for the query of `fairroc.backends.sql.buckets`: XXH64 in integers of up to 38 digits.

Snowflake has no function that stops a query. A text that is no number is cast to one in its place: the error shows the
text. It ends with something of the row, so that it is not looked at when the query is planned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairroc.backends.sql import common
from fairroc.backends.sql.buckets import BucketEngine
from fairroc.backends.sql.common import Ask, Within, double_quoted
from fairroc.backends.sql.limbs import HASH, LONGEST, Steps
from fairroc.backends.sql.lists import RowReader

KINDS = {"double": "FLOAT", "integer": "NUMBER(38, 0)", "text": "VARCHAR"}


class Snowflake(RowReader, BucketEngine):
    """Names are in quotes, and so in upper case where the table's are."""

    needs = "Snowflake."
    suffix = "::FLOAT"

    scratch = HASH

    def quoted(self, name: str) -> str:
        return double_quoted(name)

    def text(self, text: str) -> str:
        return f"'{text}'" if common.is_plain(text) else f"HEX_DECODE_STRING('{text.encode().hex().upper()}')"

    def number(self, text: str, double: bool) -> str:
        return f"CAST({text} AS {KINDS['double' if double else 'integer']})"

    def split(self, text: str) -> tuple[str, Callable[[int], str]]:
        rows = f"(SELECT f.INDEX AS n, f.VALUE::VARCHAR AS r FROM TABLE(FLATTEN(INPUT => SPLIT('{text}', ' '))) AS f)"
        return rows, lambda i: f"NULLIF(SPLIT_PART(r, ',', {i + 1}), '')"

    def latest(self, column: str) -> str:
        return f"LAST_VALUE({column}) IGNORE NULLS"

    def listed(self, table: str, low: str, high: str) -> str:
        numbers = f"ARRAY_GENERATE_RANGE({low}, {high} + 1)"
        return f"SELECT c.*, f.VALUE::NUMBER(38, 0) AS b FROM {table} AS c, LATERAL FLATTEN(INPUT => {numbers}) AS f"

    def floor(self, number: str) -> str:
        return f"CAST(FLOOR({number}) AS NUMBER(38, 0))"

    def bytes(self, text: str) -> str:
        return f"TO_BINARY({text}, 'UTF-8')"

    def fail(self, message: str, kind: str = "double", name: str | None = None, of: str = "fairroc_s") -> str:
        ending = f"COALESCE(LEFT(TO_VARCHAR({of}), 0), '')" if name is None else name
        return f"CAST(CAST({self.text(message)} || {ending} AS FLOAT) AS {KINDS[kind]})"

    def double(self, column: str) -> str:
        return f"CAST({column} AS FLOAT)"

    def wrong(self, column: str, must: Within, kind: str = "double") -> str:
        type_, low, high = f"SYSTEM$TYPEOF({column})", f"CAST('{must.low}' AS FLOAT)", f"CAST('{must.high}' AS FLOAT)"
        return f"""WHEN NOT ({type_} LIKE 'NUMBER%' OR {type_} LIKE 'FLOAT%')
      THEN {self.fail(must.wrong_type, kind, of=column)}
      WHEN {column} IS NULL OR NOT {self.double(column)} BETWEEN {low} AND {high}
      THEN {self.fail(must.wrong_number, kind, of=column)}"""

    def group(self, column: str, ask: Ask) -> str:
        kind = f"SYSTEM$TYPEOF({column})"
        named = ask.named(f"TO_VARCHAR({column})", r"'\\1\\2'")
        named = (
            f"CASE WHEN {kind} LIKE 'VARCHAR%' THEN {named} ELSE {self.fail(common.GROUP_TYPE, 'text', of=column)} END"
        )
        return named if ask.missing_name is None else f"COALESCE({named}, {self.text(ask.missing_name)})"

    def id(self, column: str, ask: Ask) -> str:
        kind = f"SYSTEM$TYPEOF({column})"
        if ask.id_type == "integer":
            low, high, turn = -(2**63), 2**64 - 1, 2**64
            number = f"CAST({column} AS NUMBER(38, 0))"
            return f"""CASE WHEN NOT {kind} LIKE 'NUMBER(%,0)%' THEN {self.fail(common.INTEGER, "integer", of=column)}
      WHEN {column} IS NULL THEN {self.fail(common.ID, "integer", of=column)}
      WHEN NOT {number} BETWEEN {low} AND {high} THEN {self.fail(common.INTEGER, "integer", of=column)}
      WHEN {number} < 0 THEN {number} + {turn} ELSE {number} END"""
        return f"""CASE WHEN NOT {kind} LIKE 'VARCHAR%' THEN {self.fail(common.TEXT, "text", of=column)}
      WHEN {column} IS NULL OR TO_VARCHAR({column}) = '' THEN {self.fail(common.ID, "text", of=column)}
      WHEN OCTET_LENGTH({column}) > {LONGEST}
      THEN {self.fail(common.LONG.format(LONGEST), "text", of=column)} ELSE TO_VARCHAR({column}) END"""

    def uniform(self, ask: Ask) -> tuple[Sequence[str], str]:
        steps = Steps(self, ask.seed)
        if ask.id_type == "integer":
            chain = steps.of_integer((self.right("fairroc_id", 32), f"MOD(fairroc_id, {1 << 32})"))
        else:
            digits = r"REGEXP_REPLACE(REVERSE(HEX_ENCODE(fairroc_id)), '(.)(.)', '\\2\\1')"
            chain = steps.of_text("OCTET_LENGTH(fairroc_id)", digits)
        return chain, f"CAST({steps.upper_bits()} AS FLOAT) * CAST('1.1102230246251565e-16' AS FLOAT)"

    def own(self, hidden: Sequence[str]) -> str:
        return f"t.* EXCLUDE ({', '.join(hidden)})"

    # -- bits; in brackets, for tools that make operators of functions

    def both(self, a: str, b: str) -> str:
        return f"(BITAND({a}, {b}))"

    def either(self, a: str, b: str) -> str:
        return f"(BITXOR({a}, {b}))"

    def right(self, a: str, bits: int) -> str:
        return f"(BITSHIFTRIGHT({a}, {bits}))"

    def hexadecimal(self, digits: str, count: int) -> str:
        return f"TO_NUMBER({digits}, '{'X' * count}')"

    def without(self, names: Sequence[str]) -> str:
        return f"* EXCLUDE ({', '.join(names)})"
