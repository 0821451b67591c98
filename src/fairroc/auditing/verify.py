"""Check a model and its certificate against people, by the package that shares no code with the fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairroc.docstrings import documented
from fairroc.errors import ModelFileError
from fairroc.options import Missing
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc.people.small import REFUSE, SmallRule
from fairroc.verifying.check import Verification, verify_texts
from fairroc.verifying.law import GroupPeople


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
) -> Verification:
    """Check what a model states on the people it was fitted to, in exact rationals, without trusting the fit.

    Parameters
    ----------
    model : FairModel, path, or text of a model file
        What was fitted.
    certificate : path, or text such as ``FairROC.proof_``
        With it all stated figures are checked, and the proof of the AUC's bound.

    Returns: Verification: every check; ``passed`` says whether nothing is wrong. Printed, it is a table.
    Raises: DataError, ModelFileError
    >>> from fairroc import FairROC
    >>> s, y, g = [1, 2, 3, 4] * 100, [0, 0, 1, 1, 0, 1, 0, 1] * 50, [*"aaaabbbb"] * 50
    >>> post = FairROC(epsilon=0.1, ties="draw").fit(s, y, sensitive_features=g)
    >>> verify(post.model_, s, y, sensitive_features=g, certificate=post.proof_).passed
    True
    """
    text = file_text(model.to_json() if hasattr(model, "to_json") else model, "model")
    missing, small = rules(text)
    people = read_people(
        scores,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        pos_label=pos_label,
        missing=missing,
        small=small,
    )
    return verify_texts(text, None if certificate is None else file_text(certificate, "certificate"), cells_of(people))


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


def cells_of(people: People) -> list[GroupPeople]:
    """People as plain cells."""
    found = []
    for name, sample in zip(people.names, people.samples, strict=True):
        negatives, positives = sample.counts
        cells = zip(*(part.tolist() for part in sample.cells()), strict=True)
        found.append(GroupPeople(name, negatives + positives, positives, tuple(cells)))
    return found
