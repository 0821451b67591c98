"""BigQuery's and Snowflake's SQL run by DuckDB: sqlglot translates it, and what it has no words for is put in here."""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import ErrorLevel, exp

TYPE_OF = """CREATE OR REPLACE MACRO snowflake_type_of(x) AS CASE
  WHEN typeof(x) LIKE '%INT' OR typeof(x) = 'INTEGER' THEN 'NUMBER(38,0)[SB16]'
  WHEN typeof(x) LIKE 'DECIMAL%' THEN replace('NUMBER' || typeof(x)[8:], ', ', ',') || '[SB16]'
  WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN 'FLOAT[DOUBLE]'
  WHEN typeof(x) = 'VARCHAR' THEN 'VARCHAR(16777216)[LOB]' ELSE typeof(x) END"""
"""What Snowflake's documentation shows of SYSTEM$TYPEOF."""


def parsed(sql: str, dialect: str) -> exp.Expression:
    """One statement; whatever sqlglot does not know in the dialect is an error."""
    tree = sqlglot.parse_one(sql, read=dialect, error_level=ErrorLevel.RAISE)
    assert not list(tree.find_all(exp.Command))
    return tree


def in_duckdb_words(sql: str, dialect: str) -> str:
    """The same query for DuckDB."""
    tree, changed = parsed(sql, dialect), _bigquery if dialect == "bigquery" else _snowflake
    for node in reversed(list(tree.dfs())):  # the inner ones first
        node.replace(changed(node))
    return tree.sql("duckdb", unsupported_level=ErrorLevel.RAISE)


def _call(name: str, *arguments: Any) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _table(select: str) -> exp.Expression:
    return sqlglot.parse_one(select, read="duckdb").subquery()


def _rows(lists: str, value: str, number: str, first: int) -> str:
    """A list as rows, numbered."""
    return f"SELECT unnest({lists}) AS {value}, unnest(range(len({lists}))) + {first} AS {number}"


def _bigquery(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Cast) and node.to.this in (exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY):
        return _call("encode", node.this)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Unhex):
        return _call("decode", node.this)
    if isinstance(node, exp.ByteLength):
        return _call("strlen", node.this)
    if isinstance(node, exp.Unnest) and node.args.get("offset"):  # sqlglot counts from 1 here, BigQuery from 0
        column = node.args["alias"].columns[0].name
        return _table(_rows(node.expressions[0].sql("duckdb"), column, node.args["offset"].name, 0))
    return node


def _snowflake(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Cast) and node.to.sql("snowflake") in ("DECIMAL(38, 0)", "NUMBER(38, 0)"):
        return exp.cast(node.this, "HUGEINT", dialect="duckdb")
    if isinstance(node, exp.ToNumber):
        return sqlglot.parse_one(f"CAST('0x' || {node.this.sql('duckdb')} AS BIGINT)", read="duckdb")
    if isinstance(node, exp.Anonymous) and node.name.upper() == "SYSTEM$TYPEOF":
        return _call("snowflake_type_of", *node.expressions)
    if isinstance(node, exp.ByteLength):
        return _call("strlen", node.this)
    return _flattened(node)


def _flattened(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.TableFromRows):
        found = _table(_rows(node.this.this.expression.sql("duckdb"), "value", "index", 0))
        found.set("alias", node.args["alias"])
        return found
    if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Explode):
        series = node.this.this.expression
        low, high = (f"CAST({series.args[end].sql('duckdb')} AS BIGINT)" for end in ("start", "end"))
        text = f"SELECT 1 FROM x, LATERAL (SELECT unnest(range({low}, {high})) AS value) AS f"
        return sqlglot.parse_one(text, read="duckdb").find(exp.Lateral)
    return node
