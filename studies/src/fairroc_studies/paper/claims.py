"""Every claim of the paper that a run can judge: claim, what was measured, verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairroc_studies.paper.claims_costs import cost_claims
from fairroc_studies.paper.claims_fairness import fairness_claims
from fairroc_studies.paper.verdicts import VERDICTS, Claim, Evidence

if TYPE_CHECKING:
    from fairroc_studies.paper.study import Study


def claims(study: Study) -> tuple[Claim, ...]:
    """All claims, each with a verdict; those whose runs are missing say so."""
    evidence = Evidence(study)
    return (*fairness_claims(evidence), *cost_claims(evidence))


def tally(found: tuple[Claim, ...]) -> dict[str, int]:
    """Number of claims by verdict, all verdicts in order."""
    return {verdict: sum(claim.verdict == verdict for claim in found) for verdict in VERDICTS}
