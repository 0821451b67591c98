"""Every claim of the paper that a run can judge: claim, what was measured, verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fairroc.froc.geometry import signed_auc
from fairroc_studies.paper.claims_costs import cost_claims
from fairroc_studies.paper.published import LR_EPSILON, MAX_DIFFERENCE
from fairroc_studies.paper.study import Measured, Result, RocLines
from fairroc_studies.paper.verdicts import VERDICTS, Claim, Evidence, count, judge, not_run
from fairroc_studies.problems.problem import FloatArray

if TYPE_CHECKING:
    from fairroc_studies.paper.study import Study


ROUNDING = 1e-9
"""A gap may exceed epsilon by so much: sums of many shares are no more exact."""
LEAD = 0.01
"""A curve leads where it is so much above the other; less can be noise of a few people."""
RARELY = 0.25
"""Crossings in at most this share of all score sets are rare."""
CLOSE = 0.01
"""A published difference of curves counts as found again if ours is within this."""


def fairness_claims(evidence: Evidence) -> Iterator[Claim]:
    """Claims in the order of the paper."""
    yield from (_gap_claim(evidence, *stated) for stated in GAPS)
    yield _rarely_cross(evidence)
    yield _consistently_higher(evidence)
    yield _max_difference(evidence)


# -- gaps --------------------------------------------------------------------------------------------------------------


def _gaps(evidence: Evidence, method: str, measured: Measured, groups: range) -> list[Result]:
    """Rows whose gap can be compared with epsilon, of problems with so many groups."""
    sizes = {lines.problem: len(lines.groups) for lines in evidence.rocs}
    return [
        row
        for row in evidence.results
        if (row.method, row.measured, row.kind) == (method, measured, "splits")
        and row.gap is not None
        and row.epsilon is not None
        and sizes.get(row.problem, 2) in groups
    ]


def _within(rows: list[Result]) -> list[bool]:
    return [(row.gap or 0.0) <= (row.epsilon or 0.0) + ROUNDING for row in rows]


def _gap_words(evidence: Evidence, method: str, groups: range) -> str:
    said = []
    for measured in ("fitted", "test"):
        rows = _gaps(evidence, method, measured, groups)
        if rows:
            said.append(f"{measured} people: {count(_within(rows), 'fits within epsilon')}{_near_words(rows)}")
    return "; ".join(said)


def _near_words(rows: list[Result]) -> str:
    """Mean gap at the epsilon nearest to .05."""
    nearest = min((row.epsilon or 0.0 for row in rows), key=lambda e: abs(e - LR_EPSILON))
    gaps = [row.gap for row in rows if row.epsilon == nearest and row.gap is not None]
    return f" (mean gap {sum(gaps) / len(gaps):.3f} at epsilon {nearest:.3f})"


def _gap_claim(
    evidence: Evidence, id: str, place: str, words: str, method: str, groups: range, why: str, note: str
) -> Claim:
    fitted, test = (_within(_gaps(evidence, method, m, groups)) for m in ("fitted", "test"))
    rule = "every fit of every split: gap ≤ epsilon (to 1e-9)"
    if not fitted and not test:
        return not_run(id, place, words, rule, why, note)
    exact = _gap_words(evidence, "optimal", groups)
    return Claim(id, place, words, _gap_words(evidence, method, groups), exact, judge(fitted, test), rule, note)


GAPS = (
    (
        "gap",
        "definition of ε₁-equalized ROC, Algorithm 1",
        "At every threshold the L1 gap of the two groups is at most epsilon.",
        *("froc", range(2, 3), "not run: no fits of froc on problems with two groups"),
        "The published code was measured elsewhere: it drops points, and classifiers it builds exceed epsilon.",
    ),
    (
        "classifiers",
        "section 3.4",
        "A probabilistic classifier exists for each point of the fair curve, and is as fair as the point.",
        *("classifiers", range(2, 3), "not run: no fits of the paper's own classifiers"),
        "As printed, p_b has the wrong sign, and points above the hull cannot be attained; both are mended here. Where "
        "Algorithm 1 leaves an end point or a point of a crossing unfair, its classifier is as unfair.",
    ),
    (
        "several-groups",
        "appendix D.6",
        "With several groups, too, the fair curves are within epsilon of each other.",
        *("froc", range(3, 10_000), "not run: no problem of this run has more than two groups"),
        "As written only neighbouring curves are compared; the ends of m groups can be (m − 1) epsilon apart.",
    ),
)
"""What `_gap_claim` takes after the evidence."""


# -- curves before -----------------------------------------------------------------------------------------------------


def along(line: tuple[tuple[float, float], ...], at: FloatArray) -> FloatArray:
    """tpr − fpr of a curve at places of fpr + tpr, which never falls along it."""
    fpr, tpr = np.asarray(line, dtype=np.float64).T
    return np.asarray(np.interp(at, fpr + tpr, tpr - fpr), dtype=np.float64)


def leads(lines: RocLines) -> FloatArray:
    """(groups, groups) how far each curve is above each other one at most; half of what one gains in tpr − fpr."""
    at = np.linspace(0.0, 2.0, 2001)
    height = np.stack([along(line, at) for line in lines.lines])
    return np.asarray(np.max(height[:, None] - height[None], axis=2) / 2)


def vertical(lines: RocLines) -> float:
    """Largest difference of two curves' tpr at one fpr."""
    at = np.linspace(0.0, 1.0, 2001)
    curves = []
    for line in lines.lines:
        fpr, tpr = np.asarray(line, dtype=np.float64).T
        last = np.append(np.diff(fpr) > 0, True)  # the top of every upright piece
        curves.append(np.interp(at, fpr[last], tpr[last]))
    return float(np.max(np.ptp(np.stack(curves), axis=0)))


def areas(lines: RocLines) -> list[float]:
    """Area under every curve."""
    return [signed_auc(np.asarray(line, dtype=np.float64)) for line in lines.lines]


def _rarely_cross(evidence: Evidence) -> Claim:
    id, place, words = "crossing", "section 3.3", "ROC curves of two groups rarely cross."
    rule = f"in at most {100 * RARELY:g} % of the score sets each curve leads by more than {LEAD} somewhere"
    note = (
        "Curves as FROC sees them, those of the people fitted, noise of small groups included. Of 19 public score sets "
        "looked at elsewhere, all but Adult's crossed."
    )
    sets = [r for r in evidence.rocs if r.method == "none"]
    if not sets:
        return not_run(id, place, words, rule, "not run: no ROC curves", note)
    crossing = [bool(np.any((lead > LEAD) & (lead.T > LEAD))) for lead in map(leads, sets)]
    names = list(dict.fromkeys(r.problem for r, crosses in zip(sets, crossing, strict=True) if crosses))
    said = f"{count(crossing, 'score sets')} cross" + (f": {', '.join(names)}" if names else "")
    rare = [sum(crossing) <= RARELY * len(sets)]
    exact = "no assumption on crossings needed"
    return Claim(id, place, words, f"{said} (calibration part, split 0)", exact, judge(rare, rare), rule, note)


def _consistently_higher(evidence: Evidence) -> Claim:
    id, place = "female-higher", "section 5, results"
    words = "Adult, logistic regression: the female ROC curve is consistently above the male one."
    rule = f"the male curve is nowhere more than {LEAD} above"
    lines = evidence.lines("adult", "lr", "none")
    if lines is None or set(lines.groups) != {"Female", "Male"}:
        return not_run(id, place, words, rule, evidence.why_not("adult", "lr"))
    lead = leads(lines)
    female, male = lines.groups.index("Female"), lines.groups.index("Male")
    worst = float(lead[male, female])
    said = f"the male curve is above by at most {max(worst, 0.0):.4f}, the female one by {lead[female, male]:.3f}"
    return Claim(id, place, words, said, "", judge([worst <= LEAD], [worst <= LEAD]), rule)


def _max_difference(evidence: Evidence) -> Claim:
    id, place = "max-difference", "section 5, results"
    words = (
        f"Adult, logistic regression, before FROC: the largest difference of the two ROC curves is {MAX_DIFFERENCE}."
    )
    rule = f"the gap at one threshold or the vertical distance is within {CLOSE} of {MAX_DIFFERENCE}"
    note = (
        "The paper does not say how it measured; the rule takes its own distance and what a plot shows. On another "
        "split of Adult the gap was .406, the vertical distance .249 and the AUC difference .071."
    )
    lines, before = evidence.lines("adult", "lr", "none"), evidence.before("adult", "lr", "fitted")
    if lines is None or before is None:
        return not_run(id, place, words, rule, evidence.why_not("adult", "lr"), note)
    gap, upright, area = before.mean("gap"), vertical(lines), areas(lines)
    close = [abs(value - MAX_DIFFERENCE) <= CLOSE for value in (gap, upright) if value is not None]
    told = "–" if gap is None else f"{gap:.3f}"
    apart = float(np.max(leads(lines)))
    said = (
        f"L1 gap at one threshold {told}, vertical distance {upright:.3f}; across the diagonal each rate differs by "
        f"{apart:.3f}; AUC difference {np.ptp(area):.3f}"
    )
    return Claim(id, place, words, said, "", judge([any(close)], [any(close)]), rule, note)


def claims(study: Study) -> tuple[Claim, ...]:
    """All claims, each with a verdict; those whose runs are missing say so."""
    evidence = Evidence(study)
    return (*fairness_claims(evidence), *cost_claims(evidence))


def tally(found: tuple[Claim, ...]) -> dict[str, int]:
    """Number of claims by verdict, all verdicts in order."""
    return {verdict: sum(claim.verdict == verdict for claim in found) for verdict in VERDICTS}
