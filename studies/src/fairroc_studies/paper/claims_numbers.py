"""Claims that are numbers of the paper's appendix: scatter of ten runs, slopes, decay of the AUC loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fairroc_studies.paper.published import EXPERIMENTS, Experiment
from fairroc_studies.paper.study import Measured
from fairroc_studies.paper.summary import Slope, slope
from fairroc_studies.paper.verdicts import LEVEL, MEASURED, Claim, Evidence, by_people, judge, not_run, points

VARIANCE_FACTOR, COV_FACTOR = 4.0, 2.0
"""Ten draws fix a variance to about a factor of 4 either way; a CoV is its root."""

POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

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
    told = _scatter_words(known)
    told = f"{told[:1].upper()}{told[1:]}"
    words = f"{published.title}: largest variance and coefficient of variation (CoV) of ten runs. {told}."
    rule = (
        f"scaled to all {published.people:,} people of the data, ours is at most {VARIANCE_FACTOR:g} times the "
        f"variance and {COV_FACTOR:g} times the CoV; smaller counts too"
    )
    protected = evidence.main(problem, model)
    if protected is None:
        return not_run(id, place, words, rule, evidence.why_not(problem, model))
    method = "classifiers" if _drawn(evidence, problem, model, "classifiers", "fitted", known) else "froc"
    found = {who: _drawn(evidence, problem, model, method, who, known) for who in MEASURED}
    if not any(found.values()):
        return not_run(id, place, words, rule, "not run: a variance needs two draws or more")
    parts = evidence.facts.get("problems", {}).get(problem, {})
    scaled = {
        who: _scaled(f, published, parts.get("calibration" if who == "fitted" else "test")) for who, f in found.items()
    }
    held = {
        who: [ours <= known[name] * (VARIANCE_FACTOR if "variance" in name else COV_FACTOR) for name, ours in f.items()]
        for who, f in scaled.items()
    }
    said = "; ".join(f"{who} people: {_scatter_words(found[who])}" for who in MEASURED if found[who])
    if scaled["fitted"] and scaled["fitted"] != found["fitted"]:
        said += f". Scaled, fitted people: {_scatter_words(scaled['fitted'])}"
    best = _drawn(evidence, problem, model, "optimal", "fitted", known)
    exact = f"fitted people: {_scatter_words(best)}" if best else ""
    own = "These are the paper's own classifiers. " if method == "classifiers" else ""
    note = (
        f"{own}A variance falls as one over the number of people drawn for. The paper does not say how many; all of "
        "them is the most it can have been, so scaled to them ours is as small as it can fairly be."
    )
    return Claim(id, place, words, said, exact, judge(held["fitted"], held["test"]), rule, note)


def _drawn(
    evidence: Evidence, problem: str, model: str, method: str, who: Measured, known: dict[str, float]
) -> dict[str, float]:
    """Our maxima of those that were published."""
    protected = bool(evidence.main(problem, model))
    found = evidence.table.largest(problem, model, method, who, protected=protected)
    return {name: value for name in known if (value := found[name]) is not None}


def _scaled(found: dict[str, float], published: Experiment, people: int | None) -> dict[str, float]:
    """What the scatter would be if all people of the data had been drawn for."""
    share = (people or published.people) / published.people
    return {name: value * (share if name.endswith("variance") else share**0.5) for name, value in found.items()}


def small(value: float) -> str:
    """Three digits; a power of ten where there would be many zeros.

    >>> small(7.59e-6), small(0.0123)
    ('7.59 × 10⁻⁶', '0.0123')
    """
    if value == 0 or abs(value) >= 1e-3:
        return f"{value:.3g}"
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{float(digits):g} × 10{str(int(power)).translate(POWERS)}"


def _scatter_words(found: dict[str, float]) -> str:
    said = []
    for short, title in (("accuracy", "accuracy"), ("impact", "disparate impact")):
        parts = []
        if (variance := found.get(f"{short}_variance")) is not None:
            parts.append(f"variance {small(variance)}")
        if (cov := found.get(f"{short}_cov")) is not None:
            parts.append(f"CoV {100 * cov:.3g} %")
        if parts:
            said.append(f"{title} {', '.join(parts)}")
    return "; ".join(said)


def _slope(evidence: Evidence, published: Experiment) -> Claim:
    problem, model, wanted = published.problem, published.model, published.slope or 0.0
    id, place = f"slope-{problem}-{model}", published.place
    words = f"{published.title}: one point of accuracy improves disparate impact by {wanted:g} points."
    rule = f"least-squares slope over epsilons between {wanted / SLOPE_FACTOR:g} and {wanted * SLOPE_FACTOR:g}"
    if evidence.main(problem, model) is None:
        return not_run(id, place, words, rule, evidence.why_not(problem, model))
    found = {
        (method, who): slope(evidence.rows(problem, model, method, who))
        for method in ("froc", "optimal")
        for who in MEASURED
    }
    if found["froc", "fitted"] is None and found["froc", "test"] is None:
        return not_run(id, place, words, rule, "not run: a slope needs three epsilons or more")
    held = {
        who: [one.fit is not None and wanted / SLOPE_FACTOR <= one.fit <= wanted * SLOPE_FACTOR]
        for who in MEASURED
        if (one := found["froc", who]) is not None
    }
    said, exact = by_people(lambda method, who: slope_words(found[method, who]) if found[method, who] else None)
    said += _direction([found["froc", who] for who in MEASURED], wanted)
    return Claim(id, place, words, said, exact, judge(held.get("fitted", []), held.get("test", [])), rule)


def _direction(found: Sequence[Slope | None], wanted: float) -> str:
    """Which way slopes that are not the published one differ from it."""
    fits = [one.fit for one in found if one is not None and one.fit is not None]
    more, less = any(fit > wanted * SLOPE_FACTOR for fit in fits), any(fit < wanted / SLOPE_FACTOR for fit in fits)
    if more and not less:
        return ". More than published: fairness was cheaper here"
    if less and not more:
        return ". Less than published: fairness was dearer here"
    return ""


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
    rule = f"the upper group's mean loss falls, to {GONE} or less at the largest epsilon; partly if to half its largest"
    note = "Below 0: the AUC is larger than the model's own, since randomising between thresholds rounds the curve out."
    said, gone, half = [], [], []
    for measured in MEASURED:
        losses = _losses(evidence, problem, model, "froc", measured)
        if len(losses) >= 2:
            falls = all(b <= a + LEVEL for a, b in pairwise(losses))
            gone.append(falls and losses[-1] <= GONE)
            half.append(falls and losses[-1] <= max(HALF * max(losses), GONE))
            said.append(f"{measured} people: from {_signed(losses[0])} to {_signed(losses[-1])}")
    if not said:
        return not_run(id, place, words, rule, evidence.why_not(problem, model))
    first = _losses(evidence, problem, model, "froc", "fitted")
    last = _losses(evidence, problem, model, "optimal", "fitted")
    exact = f"fitted people: from {_signed(last[0])} to {_signed(last[-1])}" if last else ""
    verdict = judge(gone[:1], gone[1:], partly=any(half))
    below = note if min((*first, *last), default=0.0) < -LEVEL / 10 else ""
    return Claim(id, place, words, "; ".join(said), exact, verdict, rule, below)


def _signed(value: float) -> str:
    return f"{value:.4f}".replace("-", "−")


def _losses(evidence: Evidence, problem: str, model: str, method: str, measured: Measured) -> list[float]:
    rows = evidence.rows(problem, model, method, measured)
    return [loss for row in rows if (loss := row.mean("auc_loss_upper")) is not None]
