"""Data frames of any engine: pandas, polars (eager or lazy), Arrow, DuckDB, Dask and Spark.

Frames in memory go the way of all arrays. Lazy frames are counted by group, label and score by their own engine, and
only these counts come to Python. The fair scores are those of numpy, bit for bit, whatever the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from fairroc.auditing.audit import audit as audit_rows
from fairroc.auditing.audit import audit_counts
from fairroc.auditing.findings import Audit
from fairroc.backends.frames import Use
from fairroc.backends.frames import transform as transform_frame
from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError
from fairroc.estimators.fair_roc import FairROC
from fairroc.model.draw import Secret
from fairroc.model.model import ModelData
from fairroc.options import Missing
from fairroc.people.counts import ScoreCounts
from fairroc.people.frames import CELLS, is_spark, lazy_counts, opened, spark_counts
from fairroc.people.rows import take_columns
from fairroc.tables.columns import ColumnNames

__all__ = ["audit", "counts", "fit", "transform"]


EXAMPLE = f"""{PEOPLE}
>>> import pyarrow as pa
>>> frame = pa.table({{"p": scores, "y": y, "sex": sex, "person": range(1000)}})"""


@documented(setup=EXAMPLE)
def counts(
    frame: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    missing: Missing = "error",
    cells: int | None = None,
    bits: int | None = None,
) -> ScoreCounts:
    """Rows counted by group, label and score: all that a fit or an audit needs.

    A lazy frame is aggregated once by its own engine, and as many cells come to Python as there are different
    (group, label, score).

    Raises: DataError
    >>> counts(frame, score="p", label="y", group="sex").rows
    1000
    """
    how: dict[str, Any] = {"pos_label": pos_label, "missing": missing}
    names = ColumnNames.of(score=score, group=group, label=label, weight=weight)
    if is_spark(frame):
        names.require(frame.columns)
        return spark_counts(frame, names, **how, cells=CELLS if cells is None else cells, bits=bits)
    if cells is not None or bits is not None:
        raise DataError(
            f"cells and bits are for frames of Spark, got a {type(frame).__name__}; leave them out, and cut the counts "
            "afterwards: counts(...).binned(24)."
        )
    table = opened(frame)
    if isinstance(table, nw.LazyFrame):
        names.require(table.collect_schema().names())
        return lazy_counts(table, names, **how)
    taken = take_columns(frame, names)
    return ScoreCounts.from_rows(taken.score, taken.label, **taken.beside, **how)


@documented(setup=EXAMPLE)
def fit(
    frame: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    epsilon: Any = 0.05,
    cells: int | None = None,
    bits: int | None = None,
    group_probabilities: str | Sequence[str] | None = None,
    control_features: str | Sequence[str] | None = None,
    **params: Any,
) -> FairROC:
    """Fit a `FairROC` to columns of a frame.

    Parameters
    ----------
    group_probabilities : names of the columns of the groups' probabilities, for ``use_group=False``.
    control_features : names of the columns of strata, within which groups are compared.

    Raises: DataError
    >>> fit(frame, score="p", label="y", group="sex", epsilon=0.1).model_.names
    ('f', 'm')
    """
    post = FairROC(epsilon, **params)
    options = post.checked_options()
    named: dict[str, Any] = {"score": score, "label": label, "group": group, "weight": weight}
    names = ColumnNames.of(**named, group_probabilities=group_probabilities, control_features=control_features)
    if _is_counted(frame, cells, bits):
        if names.controls or names.probabilities or options.is_spread:
            raise DataError(
                "use_group=False, combine='each' and control_features take frames in memory, without cells and bits: "
                f"counts by group and score do not tell them apart. Got a {type(frame).__name__}; collect it first."
            )
        how = {"pos_label": post.pos_label, "missing": post.missing, "cells": cells, "bits": bits}
        return post.fit_counts(counts(frame, **named, **how))
    taken = take_columns(frame, names)
    told = {"control_features": taken.controls, "group_probabilities": taken.probabilities}
    return post.fit(taken.score, taken.label, **taken.beside, **told)


@documented(setup=EXAMPLE)
def audit(
    frame: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    missing: Missing = "error",
    cells: int | None = None,
    bits: int | None = None,
    **settings: Any,
) -> Audit:
    """Audit columns of a frame.

    Raises: DataError
    >>> round(audit(frame, score="p", label="y", group="sex", bootstrap=0).gap, 3)
    0.382
    """
    how: dict[str, Any] = {"pos_label": pos_label, "missing": missing}
    named: dict[str, Any] = {"score": score, "label": label, "group": group, "weight": weight}
    if _is_counted(frame, cells, bits):
        return audit_counts(counts(frame, **named, **how, cells=cells, bits=bits), **settings)
    taken = take_columns(frame, ColumnNames.of(**named))
    return audit_rows(taken.score, taken.label, **taken.beside, **how, **settings)


@documented(setup=EXAMPLE)
def transform(
    frame: Any,
    model: ModelData | FairROC,
    *,
    score: str,
    group: str | Sequence[str] | None = None,
    id: str | None = None,
    key: bytes | str | None = None,
    column: str | None = None,
    on_unknown_group: str | None = None,
    allow_out_of_range: bool | None = None,
    group_probabilities: str | Sequence[str] | None = None,
    control_features: str | Sequence[str] | None = None,
) -> Any:
    """The frame with one more column, the fair score (``<score>_fair`` unless named); the same kind of frame.

    Polars' lazy frames, Dask and Spark stay lazy: what is wrong with a row is then found when the result is asked for,
    on Spark by an executor, and the job fails with the message that says so. The model is a `FairModel` or
    a fitted `FairROC`, whose own key, unknown group and ``allow_out_of_range`` are taken unless others are given. How
    many scores are out of range, and ids that repeat, are judged by the whole of a frame in memory (DuckDB's too), by
    the partition or batch of a lazy one.

    Parameters
    ----------
    group : names of the columns of groups; not for a model that was fitted with ``use_group=False``.
    id : name of the column of ids; a model that draws nobody needs none, and ignores it.
    group_probabilities : names of the columns of the groups' probabilities that such a model was fitted with, found by
        name or else in the order of the fit.
    control_features : names of the columns of strata, for a model that was fitted with them, in the order of the fit.

    Returns: data frame: of the same kind, with one more column.
    Raises: DataError, UnknownGroupError
    >>> from fairroc.frames import fit
    >>> post = fit(frame, score="p", label="y", group="sex", epsilon=0.1)
    >>> transform(frame, post, score="p", group="sex", id="person").column_names[-1]
    'p_fair'
    """
    if not isinstance(model, ModelData):
        key = model.key if key is None else key
        on_unknown_group = model.on_unknown_group if on_unknown_group is None else on_unknown_group
        allow_out_of_range = model.allow_out_of_range if allow_out_of_range is None else allow_out_of_range
        model = model.model_
    if isinstance(key, Secret) and not key.is_lost:
        key = key.reveal()  # engines send it to their workers
    names = ColumnNames.of(
        score=score,
        group=group,
        id=id if model.needs_ids else None,
        group_probabilities=group_probabilities,
        control_features=control_features,
    )
    allowed = bool(allow_out_of_range)
    use = Use(model, names, column or f"{score}_fair", key, on_unknown_group, allow_out_of_range=allowed)
    return transform_frame(frame, use)


def _is_counted(frame: Any, cells: int | None, bits: int | None) -> bool:
    """Whether a frame is counted before anything else: lazy ones are, and `counts` refuses options for others."""
    return is_spark(frame) or cells is not None or bits is not None or isinstance(opened(frame), nw.LazyFrame)
