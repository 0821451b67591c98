"""Spark SQL's words for the query of `fairroc.backends.sql.buckets`, with Spark's own XXH64; a row's own columns travel
in one struct."""

from __future__ import annotations

from collections.abc import Sequence

from fairroc.backends.sql import common
from fairroc.backends.sql.buckets import BucketEngine
from fairroc.backends.sql.common import Ask, Within
from fairroc.backends.sql.lists import Column

INTEGERS = "'tinyint','smallint','int','bigint'"


FEW = 1 << 22
"""Up to so many steps, numbers of single rows are looked for in a list of them."""


class Spark(BucketEngine):
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

    def rows(self, columns: dict[str, Column], following: Sequence[str]) -> str:
        """Columns as lists, few numbers by a map: all that Spark works out while it plans, and it needs no window."""
        lists, named, fields, whole = [], ["n"], [], []
        size = len(next(iter(columns.values())).values)
        lists.append(f"sequence(1, {size})" if size else "CAST(array() AS ARRAY<INT>)")
        for name, column in columns.items():
            texts = column.texts()
            some = [i for i, text in enumerate(texts) if text]
            if len(some) * size < FEW and len(some) < size:
                found = f"try_element_at({self._map(column, some)}, n)" if some else "NULL"
                default = "NULL" if column.default is None else f"'{column.default!r}'"
                fields.append(f"{self.number(f'COALESCE({found}, {default})', column.is_double)} AS {name}")
                continue
            whole.append(f"{self._array([*map(repr, column.values.tolist())], column.is_double)} AS {name}")
            parts = {name: name, f"next_{name}": f"slice({name}, 2, {size})"} if name in following else {name: name}
            lists += parts.values()
            named += parts
            fields += parts
        joined = ",\n    ".join(whole)
        rows = f"SELECT inline(arrays_zip({', '.join(lists)})) AS ({', '.join(named)})\n  FROM (SELECT {joined})"
        return f"(SELECT n - 1 AS n, {', '.join(fields)}\n  FROM ({rows}))"

    def _map(self, column: Column, some: list[int]) -> str:
        keys = self._array([str(i + 1) for i in some], double=False)
        return (
            f"map_from_arrays({keys}, {self._array([repr(column.values[i].item()) for i in some], column.is_double)})"
        )

    def _array(self, texts: list[str], double: bool) -> str:
        """Read by Java from a text: bit for bit, and much faster to parse than so many literals."""
        kind = "DOUBLE" if double else "INT"
        return f"CAST(split('{','.join(texts)}', ',') AS ARRAY<{kind}>)" if texts else f"CAST(array() AS ARRAY<{kind}>)"

    def latest(self, column: str) -> str | None:
        return None

    def listed(self, table: str, low: str, high: str) -> str:
        return f"SELECT c.*, explode(sequence({low}, {high})) AS b FROM {table} AS c"

    def floor(self, number: str) -> str:
        return f"CAST(floor({number}) AS BIGINT)"

    def bytes(self, text: str) -> str:
        return f"CAST({text} AS BINARY)"

    def fail(self, message: str, kind: str = "double", name: str | None = None, of: str = "fairroc_s") -> str:
        text = self.text(message)
        return f"raise_error({text})" if name is None else f"raise_error(concat({text}, {name}))"

    def double(self, column: str) -> str:
        return f"CAST({column} AS DOUBLE)"

    def wrong(self, column: str, must: Within, kind: str = "double") -> str:
        type_, low, high = f"typeof({column})", must.low.upper(), must.high.upper()
        return f"""WHEN NOT ({type_} IN ({INTEGERS},'double','float') OR {type_} LIKE 'decimal%')
      THEN {self.fail(must.wrong_type, kind)}
      WHEN {column} IS NULL OR NOT {self.double(column)} BETWEEN {low}D AND {high}D
      THEN {self.fail(must.wrong_number, kind)}"""

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
