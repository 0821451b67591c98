"""Claims that are numbers of the paper's appendix: scatter of ten runs, slopes, decay of the AUC loss."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fairroc.experiments.published import EXPERIMENTS, Experiment
from fairroc.experiments.study import Measured
from fairroc.experiments.summary import Slope, slope
from fairroc.experiments.verdicts import LEVEL, MEASURED, Claim, Evidence, judge, not_run, points

__all__ = ["number_claims", "slope_words"]

VARIANCE_FACTOR, COV_FACTOR = 4.0, 2.0
"""Ten draws fix a variance to about a factor of 4 either way; a CoV is its root."""

SLOPE_FACTOR = 2.0
"""Slopes were read off plots; half to twice the published one counts as the same."""

GONE, HALF = 0.005, 0.5
"""An AUC loss of at most GONE counts as none; one that fell to this share of its largest has at least decayed."""


def number_claims(evidence: Evidence) -> Iterator[Claim]:
    """For every experiment of the appendix: scatter; then slopes; then AUC losses."""
    for published in EXPERIMENTS:
        yield _scatter(evidence, published)
    for published in EXPERIMENTS:
        if published.slope is not None:
            yield _slope(evidence, published)
    for published in EXPERIMENTS:
        if published.auc_loss:
            yield _decays(evidence, published)


SCATTER = ("accuracy_variance", "accuracy_cov", "impact_variance", "impact_cov")


def _scatter(evidence: Evidence, published: Experiment) -> Claim:
    problem, model = published.problem, published.model
    id, place = f"scatter-{problem}-{model}", published.place
    known = {name: value for name in SCATTER if (value := getattr(published, name)) is not None}
    words = f"{published.title}: over ten runs the largest {_scatter_words(known)}."
    rule = f"ours at most {VARIANCE_FACTOR:g} times the variance and {COV_FACTOR:g} times the CoV; smaller counts too"
    protected = evidence.main(problem, model)
    if protected is None:
        return not_run(id, place, words, rule, evidence.why_not(problem, model))
    method = "classifiers" if _drawn(evidence, problem, model, "classifiers", "fitted", known) else "froc"
    found = {who: _drawn(evidence, problem, model, method, who, known) for who in MEASURED}
    if not any(found.values()):
        return not_run(id, place, words, rule, "not run: a variance needs two draws or more")
    held = {
        who: [ours <= known[name] * (VARIANCE_FACTOR if "variance" in name else COV_FACTOR) for name, ours in f.items()]
        for who, f in found.items()
    }
    said = "; ".join(f"{who} people: {_scatter_words(found[who])}" for who in MEASURED if found[who])
    best = _drawn(evidence, problem, model, "optimal", "fitted", known)
    exact = f"fitted people: {_scatter_words(best)}" if best else ""
    own = "These are the paper's own classifiers. " if method == "classifiers" else ""
    note = f"{own}Scatter falls with the number of people drawn for: a fifth of the data here, not stated there."
    return Claim(id, place, words, said, exact, judge(held["fitted"], held["test"]), rule, note)


def _drawn(
    evidence: Evidence, problem: str, model: str, method: str, who: Measured, known: dict[str, float]
) -> dict[str, float]:
    """Our maxima of those that were published."""
    protected = bool(evidence.main(problem, model))
    found = evidence.table.largest(problem, model, method, who, protected=protected)
    return {name: value for name in known if (value := found[name]) is not None}


def _scatter_words(found: dict[str, float]) -> str:
    said = []
    for short, title in (("accuracy", "accuracy"), ("impact", "disparate impact")):
        parts = []
        if (variance := found.get(f"{short}_variance")) is not None:
            parts.append(f"variance {variance:.2g}")
        if (cov := found.get(f"{short}_cov")) is not None:
            parts.append(f"CoV {100 * cov:.2g} %")
        if parts:
            said.append(f"{title} {', '.join(parts)}")
    return "; ".join(said)


def _slope(evidence: Evidence, published: Experiment) -> Claim:
    problem, model, wanted = published.problem, published.model, published.slope or 0.0
    id, place = f"slope-{problem}-{model}", published.place
    words = f"{published.title}: one point of accuracy improves disparate impact by {wanted:g} points."
    rule = f"least-squares slope over epsilon from {wanted / SLOPE_FACTOR:g} to {wanted * SLOPE_FACTOR:g}"
    if evidence.main(problem, model) is None:
        return not_run(id, place, words, rule, evidence.why_not(problem, model))
    found = {
        (method, who): slope(evidence.rows(problem, model, method, who))
        for method in ("froc", "optimal")
        for who in MEASURED
    }
    if found["froc", "fitted"] is None and found["froc", "test"] is None:
        return not_run(id, place, words, rule, "not run: a slope needs three epsilons or more")
    held = {who: _same_slope(found["froc", who], wanted) for who in MEASURED}
    said, exact = (
        "; ".join(f"{who} people: {slope_words(found[method, who])}" for who in MEASURED if found[method, who])
        for method in ("froc", "optimal")
    )
    return Claim(id, place, words, said, exact, judge(held["fitted"], held["test"]), rule)


def _same_slope(found: Slope | None, wanted: float) -> list[bool]:
    if found is None:
        return []
    return [found.fit is not None and wanted / SLOPE_FACTOR <= found.fit <= wanted * SLOPE_FACTOR]


def slope_words(found: Slope | None) -> str:
    """A slope, its end-to-end ratio, or why there is none."""
    if found is None:
        return "too few epsilons"
    if found.fit is None:
        return f"undefined, accuracy moves by {points(found.accuracy_range)} only"
    ends = "" if found.ends is None else f" (end to end {found.ends:.1f})"
    return f"{found.fit:.1f} points{ends}"


def _decays(evidence: Evidence, published: Experiment) -> Claim:
    problem, model = published.problem, published.model
    id, place = f"auc-loss-{problem}-{model}", published.place
    words = f"{published.title}: the AUC loss decays to 0 as epsilon grows."
    rule = f"it falls, and is at most {GONE} at the largest epsilon; partly if it falls to half of its largest"
    said, gone, half = [], [], []
    for measured in MEASURED:
        losses = _losses(evidence, problem, model, "froc", measured)
        if len(losses) >= 2:
            falls = all(b <= a + LEVEL for a, b in pairwise(losses))
            gone.append(falls and losses[-1] <= GONE)
            half.append(falls and losses[-1] <= max(HALF * max(losses), GONE))
            said.append(f"{measured} people: {losses[0]:.4f} to {losses[-1]:.4f}")
    if not said:
        return not_run(id, place, words, rule, evidence.why_not(problem, model))
    last = _losses(evidence, problem, model, "optimal", "fitted")
    exact = f"fitted people: {last[0]:.4f} to {last[-1]:.4f}" if last else ""
    verdict = judge(gone[:1], gone[1:])
    if verdict == "not reproduced" and any(half):
        verdict = "partly"
    return Claim(id, place, words, "; ".join(said) + " (upper group)", exact, verdict, rule)


def _losses(evidence: Evidence, problem: str, model: str, method: str, measured: Measured) -> list[float]:
    rows = evidence.rows(problem, model, method, measured)
    return [loss for row in rows if (loss := row.mean("auc_loss_upper")) is not None]
