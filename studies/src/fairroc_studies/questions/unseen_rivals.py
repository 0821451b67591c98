"""The rivals' part of the question "unseen"."""

from __future__ import annotations

import math
from typing import Any

from fairroc.errors import FairrocError
from fairroc_studies.peers.rivals import error_parity_many, fairprojection
from fairroc_studies.questions.unseen_people import Job, parts

RIVALS = ("FairProjection-CE", "FairProjection-KL", "error-parity")
TOLERANCES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
"""FairProjection's own."""
ERROR_PARITY = (0.0, 0.05, 0.1)
"""Epsilons of error-parity, which is slow."""


def points(job: Job, method: str) -> dict[str, list[dict[str, Any]]]:
    """What came out: gap and AUC among the people left over for every tolerance (nothing where it fails)."""
    split = parts(job)
    if split is None:
        return {}
    if method == "error-parity":
        swept = error_parity_many([split], ERROR_PARITY, workers=1)[0]
        return {method: [_point(e, r.gap, r.auc_hull, r.error or "") for r, e in zip(swept, ERROR_PARITY, strict=True)]}
    found = []
    for tolerance in TOLERANCES:
        try:
            rival = fairprojection(*split, tolerance, method[-2:].lower())
            found.append(_point(tolerance, rival.gap, rival.auc, ""))
        except FairrocError as error:
            found.append(_point(tolerance, math.nan, math.nan, str(error)[:80]))
    return {method: found}


def _point(tolerance: float, gap: float, auc: float, what: str) -> dict[str, Any]:
    known = not math.isnan(gap)
    return {"epsilon": tolerance, "what": what, "gap": gap if known else None, "auc": auc if known else None}
