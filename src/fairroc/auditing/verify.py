"""Check a model and its certificate against people, by the package that shares no code with the fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from fairroc.docstrings import documented
from fairroc.errors import DataError, ModelFileError
from fairroc.options import Missing
from fairroc.people.door import read_people
from fairroc.people.factorise import group_codes
from fairroc.people.people import People
from fairroc.people.rows import read_columns
from fairroc.people.small import REFUSE, SmallRule
from fairroc.people.spread import named_features, probabilities_of
from fairroc.verifying.check import Verification, verify_texts
from fairroc.verifying.law import GroupPeople
from fairroc.verifying.spread import Needs, Person, Table, needs


@documented()
def verify(
    model: Any,
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
    certificate: Any = None,
    control_features: Any = None,
    group_probabilities: Any = None,
) -> Verification:
    """Check what a model states on the people it was fitted to, in exact rationals, without trusting the fit.

    Parameters
    ----------
    model : FairModel, path, or text of a model file
        What was fitted.
    certificate : path, or text such as ``FairROC.proof_``
        With it all stated figures are checked, and the proof of the AUC's bound.
    control_features, group_probabilities : as at the fit, for models that were fitted with them
        Of such models, and of ``combine="each"``, the gap of every family of groups is derived; there is no certificate
        file, and the bound is not checked.

    Returns: Verification: every check; ``passed`` says whether nothing is wrong. Printed, it is a table.
    Raises: DataError, ModelFileError
    >>> from fairroc import FairROC
    >>> s, y, g = [1, 2, 3, 4] * 100, [0, 0, 1, 1, 0, 1, 0, 1] * 50, [*"aaaabbbb"] * 50
    >>> post = FairROC(epsilon=0.1, promise="fitted", draw="all").fit(s, y, sensitive_features=g)
    >>> verify(post.model_, s, y, sensitive_features=g, certificate=post.proof_).passed
    True
    """
    text = file_text(model.to_json() if hasattr(model, "to_json") else model, "model")
    proof = None if certificate is None else file_text(certificate, "certificate")
    missing, small = rules(text)
    how: dict[str, Any] = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "pos_label": pos_label,
        "missing": missing,
    }
    if (asked := needs(text)) is not None:
        return verify_texts(text, proof, table_of(asked, scores, y, control_features, group_probabilities, **how))
    if control_features is not None or group_probabilities is not None:
        if not (garbled := verify_texts(text, None, ())).checks[0].passed:
            return garbled
        raise DataError("this model uses neither control_features nor group_probabilities, got some. Leave them out.")
    return verify_texts(text, proof, cells_of(read_people(scores, y, **how, small=small)))


def file_text(source: Any, what: str) -> str:
    """The text of a file, given as such or by its path."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, TypeError) as error:
        raise ModelFileError(f"cannot read the {what} file {source!r}: {error}; check the path.") from None


def rules(text: str) -> tuple[Missing, SmallRule]:
    """What a model file says about missing and small groups; whatever else is in it."""
    try:
        body = json.loads(text)
        small = body.get("small_groups") or {}
        rule = SmallRule(small["treatment"], int(small["min_class_rows"])) if small else REFUSE
        return "group" if body.get("missing") == "group" else "error", rule
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "error", REFUSE


def table_of(
    asked: Needs,
    scores: Any,
    y: Any,
    control_features: Any,
    group_probabilities: Any,
    *,
    sensitive_features: Any,
    missing: Missing,
    **how: Any,
) -> Table:
    """People as a plain table: the texts of their strata and groups, and their probabilities."""
    columns = read_columns(scores, y, sensitive_features=sensitive_features, missing=missing, **how)
    rows = len(columns.scores)
    given = {} if control_features is None else named_features(control_features, "control_features")
    if len(given) != asked.controls:
        raise DataError(f"control_features must have {asked.controls} columns, as in the fit, got {len(given)}.")
    if not asked.columns and group_probabilities is not None:
        raise DataError("this model does not use group_probabilities, got some. Leave them out.")
    known = probabilities_of(group_probabilities, asked.columns) if asked.columns else np.empty((rows, 0))
    attributes = named_features(sensitive_features, "sensitive_features")
    strata, groups = (_texts(part, missing, rows) for part in (given, attributes))
    if len(known) != rows:
        raise DataError(f"group_probabilities must have one row for each score, got {len(known)} and {rows} scores.")
    weights = np.ones(rows) if columns.weights is None else columns.weights
    parts = (columns.scores + 0.0, columns.labels, weights)
    plain = zip(*(part.tolist() for part in parts), strata, groups, map(tuple, known.tolist()), strict=True)
    return Table([Person(*row) for row in plain], tuple(attributes))


def _texts(columns: dict[str, Any], missing: Missing, rows: int) -> list[tuple[str, ...]]:
    """The values of columns as texts, row by row."""
    found = []
    for name, column in columns.items():
        codes, names = group_codes({name: column}, missing)
        if len(codes) != rows:
            raise DataError(f"{name} must have one row for each score, got {len(codes)} and {rows} scores.")
        found.append(np.array(names, dtype=object)[codes].tolist())
    return list(zip(*found, strict=True)) if found else [()] * rows


def cells_of(people: People) -> list[GroupPeople]:
    """People as plain cells."""
    found = []
    for name, sample in zip(people.names, people.samples, strict=True):
        negatives, positives = sample.counts
        cells = zip(*(part.tolist() for part in sample.cells()), strict=True)
        found.append(GroupPeople(name, negatives + positives, positives, tuple(cells)))
    return found
