"""A query as a macro for dbt, and the properties of the seeds that hold its tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from fairroc.backends.sql.common import Ask
from fairroc.backends.sql.lists import sql_tables
from fairroc.errors import DataError
from fairroc.model.tables import LookupTables

TYPES = {
    "duckdb": ("double", "integer"),
    "spark": ("double", "int"),
    "bigquery": ("float64", "int64"),
    "snowflake": ("float", "number(38, 0)"),
}
"""What each dialect calls doubles and integers."""

UNFIT = set("\"'`\\{}")


def macro(ask: Ask, write: Callable[[Ask], str]) -> str:
    """A macro whose arguments are a relation and the names of columns, and that stands for a subquery."""
    strata = ask.model.controls
    groups = [*_numbered("control", strata), *_numbered("group", len(ask.groups) - strata)]
    chances = _numbered("probability", len(ask.probabilities))
    named = zip([*groups, *chances], [*ask.groups, *ask.probabilities], strict=True)
    usual = {"score": ask.score, **dict(named)}
    usual |= {"id": ask.id or "", "column": ask.column}
    if not re.fullmatch(r"[A-Za-z_]\w*", ask.function, re.ASCII):
        raise DataError(f"a macro's name must be letters, digits and _ (--function), got {ask.function!r}.")
    for what, name in usual.items():
        if UNFIT & set(name):
            raise DataError(
                f"{what} must be a name without quotes and braces for dbt, got {name!r}; rename the column."
            )
    marked = {name: f"fairroc-argument-{name}-" for name in ("relation", *usual)}
    asked = replace(
        ask,
        table=marked["relation"],
        score=marked["score"],
        groups=tuple(marked[name] for name in groups),
        probabilities=tuple(marked[name] for name in chances),
        id=None if ask.id is None else marked["id"],
        column=marked["column"],
        stored=None if ask.stored is None else lambda name: f"fairroc-table-{name}-",
    )
    text = re.sub(r"\{(?=[{%#])", "fairroc-brace-", write(asked))
    text = text.replace("fairroc-brace-", "{{ '{' }}")
    for name, mark in marked.items():
        text = text.replace(mark, f"{{{{ {name} }}}}")
    for name in ("cells", "outcomes", "knots"):
        text = text.replace(f"fairroc-table-{name}-", f"{{{{ ref('{ask.function}_{name}') }}}}")
    defaults = (f"{name}='{value}'" if value else f"{name}=none" for name, value in usual.items())
    arguments = ", ".join(("relation", *defaults))
    return f"{{% macro {ask.function}({arguments}) %}}\n(\n{text})\n{{% endmacro %}}\n"


def _numbered(name: str, count: int) -> list[str]:
    """Names of so many arguments."""
    return [name] if count == 1 else [f"{name}_{i + 1}" for i in range(count)]


def seed_properties(tables: LookupTables, function: str, dialect: str) -> str:
    """YAML that gives the seeds' columns their types: without it, dbt would guess them, and round."""
    double, integer = TYPES[dialect]
    lines = ["version: 2", "seeds:"]
    for name, columns in sql_tables(tables).items():
        lines += [f"  - name: {function}_{name}", "    config:", "      column_types:"]
        for column, values in columns.items():
            lines.append(f'        {column}: "{double if values.dtype.kind == "f" else integer}"')
    return "\n".join(lines) + "\n"
