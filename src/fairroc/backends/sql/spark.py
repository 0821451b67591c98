"""Spark SQL's words for the query of `fairroc.backends.sql.buckets`, with Spark's own XXH64; a row's own columns travel
in one struct."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairroc.backends.sql import common
from fairroc.backends.sql.buckets import Engine
from fairroc.backends.sql.common import Ask

INTEGERS = "'tinyint','smallint','int','bigint'"


class Spark(Engine):
    """Spark 3.4 or newer."""

    needs = "Spark 3.4 or newer."
    kept = "struct(*) AS fairroc_t"
    suffix = "D"
    broadcast = "/*+ BROADCAST({}) */ "

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, text: str) -> str:
        """In quotes, or by its bytes where quoting would depend on a setting."""
        if common.is_plain(text):
            return f"'{text}'"
        return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"

    def number(self, text: str, double: bool) -> str:
        return f"CAST({text} AS {'DOUBLE' if double else 'INT'})"

    def split(self, text: str) -> tuple[str, Callable[[int], str]]:
        rows = f"(SELECT n, split(r, ',') AS v FROM (SELECT posexplode(split('{text}', ' ')) AS (n, r)))"
        return rows, lambda i: f"nullif(get(v, {i}), '')"

    def latest(self, column: str) -> str:
        return f"last_value({column}, true)"

    def listed(self, table: str, low: str, high: str) -> str:
        return f"SELECT c.*, explode(sequence({low}, {high})) AS b FROM {table} AS c"

    def floor(self, number: str) -> str:
        return f"CAST(floor({number}) AS BIGINT)"

    def bytes(self, text: str) -> str:
        return f"CAST({text} AS BINARY)"

    def fail(self, message: str, kind: str = "double", name: str | None = None, of: str = "fairroc_s") -> str:
        text = self.text(message)
        return f"raise_error({text})" if name is None else f"raise_error(concat({text}, {name}))"

    def score(self, column: str) -> str:
        kind, number = f"typeof({column})", f"CAST({column} AS DOUBLE)"
        return f"""CASE WHEN NOT ({kind} IN ({INTEGERS},'double','float') OR {kind} LIKE 'decimal%')
      THEN {self.fail(common.SCORE_TYPE)}
      WHEN {column} IS NULL OR NOT {number} BETWEEN -1E307D AND 1E307D
      THEN {self.fail(common.SCORE)} ELSE {number} END"""

    def group(self, column: str, ask: Ask) -> str:
        text, kind = f"CAST({column} AS STRING)", f"typeof({column})"
        whole = f"CASE WHEN {text} LIKE '%.0' THEN left({text}, length({text}) - 2) ELSE nullif({text}, 'NaN') END"
        truth = f"CASE {text} WHEN 'true' THEN 'True' WHEN 'false' THEN 'False' END"
        other = ask.named(text, "'$1$2'")
        named = (
            f"CASE WHEN {kind} IN ('double','float') THEN {whole} WHEN {kind} = 'boolean' THEN {truth} ELSE {other} END"
        )
        return named if ask.missing_name is None else f"coalesce({named}, {self.text(ask.missing_name)})"

    def id(self, column: str, ask: Ask) -> str:
        kind, text = f"typeof({column})", f"CAST({column} AS STRING)"
        if ask.id_type == "integer":
            return f"""CASE WHEN {kind} NOT IN ({INTEGERS}) THEN {self.fail(common.INTEGER)}
      WHEN {column} IS NULL THEN {self.fail(common.ID)} ELSE CAST({column} AS BIGINT) END"""
        return f"""CASE WHEN NOT ({kind} LIKE 'string%' OR {kind} LIKE '%char%') THEN {self.fail(common.TEXT)}
      WHEN {column} IS NULL OR {text} = '' THEN {self.fail(common.ID)} ELSE CAST({text} AS BINARY) END"""

    def uniform(self, ask: Ask) -> tuple[Sequence[str], str]:
        bits = f"shiftrightunsigned(xxhash64(CAST('{ask.salt}' AS BIGINT), t.fairroc_id), 11)"
        return (), f"CAST({bits} AS DOUBLE) * 1.1102230246251565E-16D"

    def own(self, hidden: Sequence[str]) -> str:
        return "t.fairroc_t.*"
