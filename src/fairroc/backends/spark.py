"""Fair scores of Spark's frames, on the executors, which need fairroc installed.

A model travels to them once, by broadcast, as its JSON text. Everything holds with ANSI mode on, Spark's default.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from fairroc.backends.frames import Use
from fairroc.model.file import dumps, loads
from fairroc.model.model import ModelData
from fairroc.people.spark import column, pyspark_module

__all__ = ["transform"]


def transform(df: Any, use: Use) -> Any:
    """The frame with the fair scores, computed when they are asked for."""
    import pyarrow as pa

    F = pyspark_module("functions")

    use.check(df.columns)
    sent, names, key, other = _sent(df, dumps(use.model)), use.names.groups, use.key, use.on_unknown_group

    def fair(scores: Any, ids: Any, *groups: Any) -> Any:
        model = _model(sent if isinstance(sent, str) else sent.value)
        features = groups[0] if len(groups) == 1 else dict(zip(names, groups, strict=True))
        return pa.array(model.drawn(model.read(scores, features, other), ids, None, key))

    fair.__annotations__ = dict.fromkeys(fair.__annotations__, pa.Array)  # tells Spark what to pass
    inputs = [column(name) for name in (use.names.score, use.names.id, *names) if name is not None]
    return df.withColumn(use.column, F.arrow_udf(fair, "double")(*inputs))


def _sent(df: Any, text: str) -> Any:
    """The text as a broadcast; Spark Connect has none, and sends it with the function."""
    return text if pyspark_module("utils").is_remote() else df.sparkSession.sparkContext.broadcast(text)


@lru_cache(maxsize=4)
def _model(text: str) -> ModelData:
    """The model, read once in each Python worker."""
    return loads(text)
