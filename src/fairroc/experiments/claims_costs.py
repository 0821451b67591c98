"""Claims about what fairness costs: accuracy, AUC, scatter of the draw, and other methods beside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fairroc.experiments.published import (
    ACCURACY_DROP,
    EXPERIMENTS,
    FAIRNESS_GAIN,
    LR_EPSILON,
    LR_LOSS,
    Experiment,
)
from fairroc.experiments.study import Measured
from fairroc.experiments.summary import Slope, closeness, slope
from fairroc.experiments.verdicts import MEASURED, NEAR, Claim, Evidence, count, judge, not_run, points

__all__ = ["cost_claims"]

VARIANCE_FACTOR, COV_FACTOR = 4.0, 2.0
"""Ten draws fix a variance to about a factor of 4 either way; a CoV is its root."""

SLOPE_FACTOR = 2.0
"""Slopes were read off plots; half to twice the published one counts as the same."""

GONE, HALF = 0.005, 0.5
"""An AUC loss of at most GONE counts as none; one that fell to this share of its largest has at least decayed."""

LEVEL = 1e-3
"""Losses and accuracies that differ by less count as equal (a tenth of a point)."""

SMALL = 0.05
"""Epsilons and targets up to here count as small."""


def cost_claims(evidence: Evidence) -> Iterator[Claim]:
    """Claims in the order of the paper."""
    yield _minimal_loss(evidence)
    yield _lr_accuracy(evidence)
    yield _two_percent(evidence)
    for problem in ("adult", "compas"):
        yield _fnnc_lower(evidence, problem)
        yield _fnnc_overachieves(evidence, problem)
    yield _projection(evidence)
    for published in EXPERIMENTS:
        yield _scatter(evidence, published)
    for published in EXPERIMENTS:
        if published.slope is not None:
            yield _slope(evidence, published)
    for published in EXPERIMENTS:
        if published.auc_loss:
            yield _decays(evidence, published)
    yield _linear_time()


def _linear_time() -> Claim:
    return not_run(
        "linear-time",
        "abstract, appendix D",
        "FROC takes time linear in the number of thresholds.",
        "exponent of a fit of time against k below 1.1",
        "not run: times are the benchmarks' business, not this command's",
        "The published code, timed elsewhere, had exponents of 1.95 to 2.01.",
    )


# -- AUC ---------------------------------------------------------------------------------------------------------------


def _minimal_loss(evidence: Evidence) -> Claim:
    id, place = "minimal-loss", "theorem 4.2"
    words = "FROC loses the least AUC that fairness at epsilon costs."
    rule = f"fitted people: FROC's loss in AUC of the upper group exceeds the exact method's by at most {LEVEL}"
    note = "Assumption 4.2 (1) holds at few thresholds of real data; the theorem then says nothing."
    excess = [
        mine - best
        for problem, model in evidence.table.pairs()
        for froc, exact in zip(
            *(evidence.rows(problem, model, method, "fitted") for method in ("froc", "optimal")), strict=False
        )
        if froc.epsilon == exact.epsilon
        and (mine := froc.mean("auc_loss_upper")) is not None
        and (best := exact.mean("auc_loss_upper")) is not None
    ]
    if not excess:
        return not_run(id, place, words, rule, "not run: no fits of froc and optimal at the same epsilon", note)
    least = [value <= LEVEL for value in excess]
    said = f"{count(least, 'problems × models × epsilons')}; FROC loses up to {max(excess):.4f} more AUC"
    return Claim(id, place, words, said, "the least loss, by construction", judge(least, least), rule, note)


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


# -- accuracy ----------------------------------------------------------------------------------------------------------


def _lost(evidence: Evidence, epsilon: float, problem: str, model: str, method: str, who: Measured) -> float | None:
    """Accuracy lost from the model as it is."""
    before, after = evidence.before(problem, model, who), evidence.at(epsilon, problem, model, method, who)
    if before is None or after is None:
        return None
    old, new = before.mean("accuracy"), after.mean("accuracy")
    return None if old is None or new is None else old - new


def _lr_accuracy(evidence: Evidence) -> Claim:
    id, place = "lr-accuracy", "section 5, results"
    words = f"Adult, logistic regression: below {100 * LR_LOSS:g} % of accuracy is lost at epsilon {LR_EPSILON}."
    rule = f"mean over splits: less than {100 * LR_LOSS:g} points lost, at the epsilon nearest to {LR_EPSILON}"
    found = {
        (method, who): _lost(evidence, LR_EPSILON, "adult", "lr", method, who)
        for method in ("froc", "optimal")
        for who in MEASURED
    }
    held = {who: [loss < LR_LOSS] for who in MEASURED if (loss := found["froc", who]) is not None}
    if not held:
        why = evidence.why_not("adult", "lr")
        if evidence.main("adult", "lr") is not None:
            why = f"not run: no epsilon near {LR_EPSILON}; ask for more with --epsilons"
        return not_run(id, place, words, rule, why)
    used = evidence.at(LR_EPSILON, "adult", "lr", "froc", "fitted")
    where = "" if used is None else f" at epsilon {used.epsilon:.4g}"
    said, exact = (
        "; ".join(f"{who} people: {points(found[method, who])} lost" for who in MEASURED if (method, who) in found)
        for method in ("froc", "optimal")
    )
    verdict = judge(held.get("fitted", []), held.get("test", []))
    return Claim(id, place, words, said + where, exact, verdict, rule, "Algorithm 1 elsewhere: .8425 to .8416.")


def _cheapest(evidence: Evidence, problem: str, model: str, method: str, who: Measured) -> float | None:
    """Least accuracy lost at an epsilon that brings disparate impact nearer to 1 by FAIRNESS_GAIN; None: none does."""
    before = evidence.before(problem, model, who)
    if before is None or (start := closeness(before.mean("disparate_impact"))) is None:
        return None
    old = before.mean("accuracy") or 0.0
    return min(
        (
            old - accuracy
            for row in evidence.rows(problem, model, method, who)
            if (near := closeness(row.mean("disparate_impact"))) is not None
            and near - start >= FAIRNESS_GAIN
            and (accuracy := row.mean("accuracy")) is not None
        ),
        default=None,
    )


def _two_percent(evidence: Evidence) -> Claim:
    id, place = "two-percent", "section 5, results"
    words = "In general, across all experiments: 7–8 % more fairness costs at most 2 % of accuracy."
    rule = (
        f"for every problem and model some epsilon brings disparate impact {points(FAIRNESS_GAIN, 0)} nearer to 1 "
        f"and loses at most {points(ACCURACY_DROP, 0)} of accuracy"
    )
    pairs = [pair for pair in evidence.table.pairs() if evidence.rows(*pair, "froc", "fitted")]
    if not pairs:
        return not_run(id, place, words, rule, "not run: no fits of froc")
    held, said = {}, {}
    for method in ("froc", "optimal"):
        for who in MEASURED:
            costs = [_cheapest(evidence, *pair, method, who) for pair in pairs]
            held[method, who] = [cost is not None and cost <= ACCURACY_DROP for cost in costs]
        said[method] = "; ".join(f"{who} people: {count(held[method, who])} problems × models" for who in MEASURED)
    worst = _worst_drop(evidence, pairs)
    verdict = judge(held["froc", "fitted"], held["froc", "test"])
    drop = f". Largest drop at any epsilon, test people: {points(worst)}"
    return Claim(id, place, words, said["froc"] + drop, said["optimal"], verdict, rule)


def _worst_drop(evidence: Evidence, pairs: list[tuple[str, str]]) -> float | None:
    drops = [
        (before.mean("accuracy") or 0.0) - accuracy
        for pair in pairs
        if (before := evidence.before(*pair, "test")) is not None
        for row in evidence.rows(*pair, "froc", "test")
        if (accuracy := row.mean("accuracy")) is not None
    ]
    return max(drops, default=None)


# -- other methods -----------------------------------------------------------------------------------------------------


def _beside_fnnc(evidence: Evidence, problem: str, method: str, who: Measured) -> list[tuple[float, float, float]]:
    """(target, accuracy of FNNC, of the method on plain FNNC at that epsilon) of small targets, on the same splits."""
    shared = evidence.on_shared(problem, "fnnc", ("fnnc", method))
    protected = bool(evidence.main(problem, "fnnc"))
    return [
        (row.epsilon, theirs, ours)
        for row in evidence.rows(problem, "fnnc", "fnnc", who, shared)
        if row.epsilon is not None
        and row.epsilon <= SMALL
        and (theirs := row.mean("accuracy")) is not None
        and (after := shared.at(row.epsilon, NEAR, problem, "fnnc", method, measured=who, protected=protected))
        is not None
        and (ours := after.mean("accuracy")) is not None
    ]


def _title(problem: str) -> str:
    return {"adult": "Adult", "compas": "COMPAS"}.get(problem, problem)


def _no_fnnc(evidence: Evidence, problem: str) -> str:
    if evidence.main(problem, "fnnc") is None:
        return evidence.why_not(problem, "fnnc")
    return f"not run: no constrained FNNC with a target up to {SMALL}"


def _fnnc_lower(evidence: Evidence, problem: str) -> Claim:
    id, place = f"fnnc-{problem}", f"appendix, {_title(problem)} – FNNC; figure C1 against C1-FROC"
    words = f"{_title(problem)}: FNNC with a fairness target is slightly less accurate than FROC on plain FNNC."
    rule = f"mean over targets up to {SMALL}: FNNC is less accurate, by at most {points(ACCURACY_DROP, 0)}"
    held: list[list[bool]] = []
    said = {"froc": [], "optimal": []}  # type: dict[str, list[str]]
    for who in MEASURED:
        for method, words_of in said.items():
            rows = _beside_fnnc(evidence, problem, method, who)
            if rows:
                mean = sum(ours - theirs for _, theirs, ours in rows) / len(rows)
                words_of.append(f"{who} people: {100 * mean:+.2f} points")
                if method == "froc":
                    held.append([0 < mean <= ACCURACY_DROP])
    if not held:
        return not_run(id, place, words, rule, _no_fnnc(evidence, problem))
    told = "FROC less FNNC, " + "; ".join(said["froc"])
    verdict = judge(held[0], held[1] if len(held) > 1 else [])
    return Claim(id, place, words, told, "; ".join(said["optimal"]), verdict, rule)


def _fnnc_overachieves(evidence: Evidence, problem: str) -> Claim:
    id, place = f"fnnc-overachieves-{problem}", f"section 5, results; appendix, {_title(problem)} – FNNC"
    words = f"{_title(problem)}: FNNC overachieves small fairness targets."
    rule = f"at most targets up to {SMALL} the gap at its decision, twice the mean equalized odds, is below the target"
    held, said = [], []
    for who in MEASURED:
        rows = [r for r in evidence.rows(problem, "fnnc", "fnnc", who) if r.epsilon is not None and r.epsilon <= SMALL]
        over = [2 * (row.mean("meo") or 0.0) < (row.epsilon or 0.0) for row in rows]
        if over:
            held.append([sum(over) > len(over) / 2])
            said.append(f"{who} people: {count(over, 'targets')}")
    if not held:
        return not_run(id, place, words, rule, _no_fnnc(evidence, problem))
    verdict = judge(held[0], held[1] if len(held) > 1 else [])
    return Claim(id, place, words, "; ".join(said), "", verdict, rule)


def _projection(evidence: Evidence) -> Claim:
    id, place = "fairprojection", "figure C3-FROC against FairProjection; section 5, results"
    words = "Adult, random forest: at small unfairness FROC is at least as accurate as FairProjection-CE and -KL."
    rule = f"at each of their points with mean equalized odds up to {SMALL}, FROC is as fair and as accurate to {LEVEL}"
    note = "The stored results of FairProjection's authors are for race on Adult; these are for sex."
    held: dict[tuple[str, Measured], list[bool]] = {
        (method, who): [
            (best := _best(evidence, method, who, meo)) is not None and best >= accuracy - LEVEL
            for theirs in ("fairprojection-ce", "fairprojection-kl")
            for row in evidence.rows("adult", "rf", theirs, who)
            if (meo := row.mean("meo")) is not None and meo <= SMALL and (accuracy := row.mean("accuracy")) is not None
        ]
        for method in ("froc", "optimal")
        for who in MEASURED
    }
    if not held["froc", "fitted"] and not held["froc", "test"]:
        ran = bool(evidence.rows("adult", "rf", "fairprojection-ce", "test"))
        why = f"not run: FairProjection never got below {SMALL}" if ran else "not run: no FairProjection on adult × rf"
        return not_run(id, place, words, rule, why, note)
    said, exact = (
        "; ".join(f"{who} people: at {count(held[method, who], 'of their points')}" for who in MEASURED)
        for method in ("froc", "optimal")
    )
    return Claim(id, place, words, said, exact, judge(held["froc", "fitted"], held["froc", "test"]), rule, note)


def _best(evidence: Evidence, method: str, who: Measured, meo: float) -> float | None:
    """Accuracy of the method's most accurate fit that is as fair."""
    rows = evidence.rows("adult", "rf", method, who)
    fair = [r.mean("accuracy") or 0.0 for r in rows if (mine := r.mean("meo")) is not None and mine <= meo]
    return max(fair, default=None)


# -- published numbers -------------------------------------------------------------------------------------------------

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
