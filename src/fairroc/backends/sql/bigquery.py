"""BigQuery's words for the query of `fairroc.backends.sql.buckets`: XXH64 in INT64, which must not overflow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairroc.backends.sql import common
from fairroc.backends.sql.buckets import BucketEngine
from fairroc.backends.sql.common import Ask, Within
from fairroc.backends.sql.limbs import HASH, LONGEST, LOW, Steps
from fairroc.backends.sql.lists import RowReader


class BigQuery(RowReader, BucketEngine):
    """GoogleSQL. It has no function that names a type, but refuses operations on others when a query is planned."""

    needs = "BigQuery (GoogleSQL)."

    scratch = HASH

    def quoted(self, name: str) -> str:
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def text(self, text: str) -> str:
        return f"'{text}'" if common.is_plain(text) else f"CAST(FROM_HEX('{text.encode().hex()}') AS STRING)"

    def number(self, text: str, double: bool) -> str:
        return f"CAST({text} AS {'FLOAT64' if double else 'INT64'})"

    def split(self, text: str) -> tuple[str, Callable[[int], str]]:
        rows = f"(SELECT n, SPLIT(r, ',') AS v FROM UNNEST(SPLIT('{text}', ' ')) AS r WITH OFFSET AS n)"
        return rows, lambda i: f"NULLIF(v[SAFE_OFFSET({i})], '')"

    def latest(self, column: str) -> str:
        return f"LAST_VALUE({column} IGNORE NULLS)"

    def listed(self, table: str, low: str, high: str) -> str:
        return f"SELECT c.*, b FROM {table} AS c, UNNEST(GENERATE_ARRAY({low}, {high})) AS b"

    def floor(self, number: str) -> str:
        return f"CAST(FLOOR({number}) AS INT64)"

    def bytes(self, text: str) -> str:
        return f"CAST({text} AS BYTES)"

    def fail(self, message: str, kind: str = "double", name: str | None = None, of: str = "fairroc_s") -> str:
        text = self.text(message)
        return f"ERROR({text})" if name is None else f"ERROR(CONCAT({text}, {name}))"

    def double(self, column: str) -> str:
        """Times 1: no text, and zeros keep their sign."""
        return f"CAST({column} * 1 AS FLOAT64)"

    def wrong(self, column: str, must: Within, kind: str = "double") -> str:
        return f"""WHEN {column} IS NULL OR NOT {self.double(column)} BETWEEN {must.low} AND {must.high}
      THEN {self.fail(must.wrong_number, kind)}"""

    def group(self, column: str, ask: Ask) -> str:
        named = ask.named(f"SUBSTR({column}, 1)", r"r'\1\2'")
        return named if ask.missing_name is None else f"COALESCE({named}, {self.text(ask.missing_name)})"

    def id(self, column: str, ask: Ask) -> str:
        if ask.id_type == "integer":
            return f"CASE WHEN {column} IS NULL THEN {self.fail(common.ID)} ELSE {column} & -1 END"
        text = f"SUBSTR({column}, 1)"
        return f"""CASE WHEN {column} IS NULL OR {text} = '' THEN {self.fail(common.ID)}
      WHEN BYTE_LENGTH({text}) > {LONGEST} THEN {self.fail(common.LONG.format(LONGEST))} ELSE {text} END"""

    def uniform(self, ask: Ask) -> tuple[Sequence[str], str]:
        steps = Steps(self, ask.seed)
        if ask.id_type == "integer":
            chain = steps.of_integer((f"((fairroc_id >> 32) & {LOW})", f"(fairroc_id & {LOW})"))
        else:
            digits = r"REGEXP_REPLACE(REVERSE(TO_HEX(CAST(fairroc_id AS BYTES))), r'(.)(.)', r'\2\1')"
            chain = steps.of_text("BYTE_LENGTH(fairroc_id)", digits)
        return chain, f"CAST({steps.upper_bits()} AS FLOAT64) * 1.1102230246251565e-16"

    def own(self, hidden: Sequence[str]) -> str:
        return f"t.* EXCEPT ({', '.join(hidden)})"

    # -- bits ---------------------------------------------------------------------------------------------------------

    def both(self, a: str, b: str) -> str:
        return f"({a} & {b})"

    def either(self, a: str, b: str) -> str:
        return f"({a} ^ {b})"

    def right(self, a: str, bits: int) -> str:
        return f"({a} >> {bits})"

    def hexadecimal(self, digits: str, count: int) -> str:
        return f"CAST(CONCAT('0x', {digits}) AS INT64)"

    def without(self, names: Sequence[str]) -> str:
        return f"* EXCEPT ({', '.join(names)})"
