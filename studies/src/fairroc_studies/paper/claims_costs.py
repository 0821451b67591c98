"""Claims about what fairness costs: accuracy, AUC, scatter of the draw, and other methods beside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from fairroc_studies.paper.claims_numbers import number_claims
from fairroc_studies.paper.measuring import SAME_THRESHOLDS, exponent
from fairroc_studies.paper.published import (
    ACCURACY_DROP,
    COMPAS_GROUPS,
    EXPERIMENTS,
    FAIRNESS_GAIN,
    LR_EPSILON,
    LR_LOSS,
)
from fairroc_studies.paper.study import Measured
from fairroc_studies.paper.summary import closeness
from fairroc_studies.paper.verdicts import (
    LEVEL,
    MEASURED,
    NEAR,
    Claim,
    Evidence,
    by_people,
    count,
    judge,
    not_run,
    points,
)

GENERAL = (("adult", "lr"), *((e.problem, e.model) for e in EXPERIMENTS if e.slope is not None))
"""The paper's experiments with a disparate impact to improve; on CelebA it reports none."""
SMALL = 0.05
"""Epsilons and targets up to here count as small."""
OVER = 0.9
"""A target is overachieved where a tenth of it is left over."""
LINEAR = 1.2
"""An exponent up to here counts as linear: one measurement has noise, and a sort a logarithm."""


def cost_claims(evidence: Evidence) -> Iterator[Claim]:
    """Claims in the order of the paper."""
    yield _minimal_loss(evidence)
    yield _lr_accuracy(evidence)
    yield _two_percent(evidence)
    yield _celeba(evidence)
    for problem in ("adult", "compas"):
        yield _fnnc_lower(evidence, problem)
        yield _fnnc_overachieves(evidence, problem)
    yield _projection(evidence)
    yield _stored(evidence)
    yield from number_claims(evidence)
    yield _linear_time(evidence)


def _linear_time(evidence: Evidence) -> Claim:
    id, place = "linear-time", "abstract, appendix D"
    words = "FROC takes time linear in the number of thresholds."
    rule = f"two smooth curves: exponent of the time between the two largest numbers of thresholds at most {LINEAR:g}"
    note = "The published code, timed elsewhere, had exponents of 1.95 to 2.01. Curves that cross often have more cuts."
    times = [(int(k), float(seconds)) for k, seconds in evidence.facts.get("froc_seconds", ())]
    if len(times) < 2:
        return not_run(id, place, words, rule, "not run: not timed", note)
    grows = exponent(times)
    told = ", ".join(f"{1000 * seconds:.3g} ms at {k:,}" for k, seconds in times)
    linear = [grows <= LINEAR]
    return Claim(id, place, words, f"exponent {grows:.2f} ({told})", "", judge(linear, linear), rule, note)


# -- AUC ---------------------------------------------------------------------------------------------------------------


def _minimal_loss(evidence: Evidence) -> Claim:
    id, place = "minimal-loss", "theorem 4.2"
    words = "FROC loses the least AUC that fairness at epsilon costs."
    note = "Assumption 4.2 (1) holds at few thresholds of real data; the theorem then says nothing."
    same, every = (_excess(evidence, method) for method in (SAME_THRESHOLDS, "optimal"))
    among = "with the same 100 thresholds" if same else "with all scores"
    rule = f"fitted people: FROC's loss in AUC of the upper group exceeds the exact method's {among} by at most {LEVEL}"
    if not same:
        note += (
            " FROC works on 100 thresholds, the exact method on all scores: that alone costs part of the difference "
            "(.0005 to .0018 on two score sets of Adult), Algorithm 1 the rest."
        )
    excess = same or every
    if not excess:
        return not_run(id, place, words, rule, "not run: no fits of froc and optimal at the same epsilon", note)
    least = [value <= LEVEL for value in excess]
    said = f"{count(least, 'runs × epsilons')}; FROC loses up to {max(excess):.4f} more AUC"
    exact = "the least loss, by construction"
    if same and every:
        exact += f"; with all scores up to {max(every):.4f} less than FROC's"
    return Claim(id, place, words, said, exact, judge(least, least), rule, note)


def _excess(evidence: Evidence, method: str) -> list[float]:
    """What FROC loses more than a method at the same epsilon, fitted people: a value for each run and epsilon."""
    found = []
    for pair in evidence.table.pairs():
        theirs = {row.epsilon: row.mean("auc_loss_upper") for row in evidence.rows(*pair, method, "fitted")}
        for row in evidence.rows(*pair, "froc", "fitted"):
            mine, best = row.mean("auc_loss_upper"), theirs.get(row.epsilon)
            if mine is not None and best is not None:
                found.append(mine - best)
    return found


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
    where = "" if used is None else f" (at epsilon {used.epsilon:.3f})"
    said, exact = by_people(lambda method, who: f"{points(found[method, who])} lost")
    verdict = judge(held.get("fitted", []), held.get("test", []))
    note = "On another split, measured where fitted, Algorithm 1 lost .09 points: from .8425 to .8416."
    return Claim(id, place, words, said + where, exact, verdict, rule, note)


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
        f"in every experiment of the paper but CelebA's, whose curves it found close, some epsilon brings disparate "
        f"impact {points(FAIRNESS_GAIN, 0)} nearer to 1 and loses at most {points(ACCURACY_DROP, 0)} of accuracy"
    )
    pairs = [pair for pair in GENERAL if evidence.rows(*pair, "froc", "fitted")]
    if not pairs:
        return not_run(id, place, words, rule, "not run: none of the paper's experiments was part of this run")
    held = {
        (method, who): [
            (cost := _cheapest(evidence, *pair, method, who)) is not None and cost <= ACCURACY_DROP for pair in pairs
        ]
        for method in ("froc", "optimal")
        for who in MEASURED
    }
    said, exact = by_people(lambda method, who: count(held[method, who], "experiments"))
    worst = _worst_drop(evidence, pairs)
    verdict = judge(held["froc", "fitted"], held["froc", "test"])
    drop = f". Largest drop at any epsilon, test people: {points(worst)}"
    return Claim(id, place, words, said + drop, exact, verdict, rule)


def _celeba(evidence: Evidence) -> Claim:
    id, place = "impact-celeba-resnet", "appendix, CelebA"
    words = "CelebA, ResNet: the ROC curves are close to begin with, so disparate impact hardly improves."
    rule = f"no epsilon brings disparate impact {points(FAIRNESS_GAIN, 0)} nearer to 1"
    found = {(m, who): _gain(evidence, "celeba", "resnet", m, who) for m in ("froc", "optimal") for who in MEASURED}
    held = {who: [gain < FAIRNESS_GAIN] for who in MEASURED if (gain := found["froc", who]) is not None}
    if not held:
        return not_run(id, place, words, rule, evidence.why_not("celeba", "resnet"))
    said, exact = by_people(lambda m, who: None if found[m, who] is None else f"up to {points(found[m, who])} nearer")
    return Claim(id, place, words, said, exact, judge(held.get("fitted", []), held.get("test", [])), rule)


def _gain(evidence: Evidence, problem: str, model: str, method: str, who: Measured) -> float | None:
    """How much nearer to 1 disparate impact comes at the best epsilon."""
    before = evidence.before(problem, model, who)
    start = None if before is None else closeness(before.mean("disparate_impact"))
    rows = evidence.rows(problem, model, method, who)
    ends = [near for row in rows if (near := closeness(row.mean("disparate_impact"))) is not None]
    return None if start is None or not ends else max(ends) - start


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
    rule = (
        f"test people: FNNC is less accurate, by at most {points(ACCURACY_DROP, 0)}, at more than half of the targets "
        f"up to {SMALL}; partly if at some"
    )
    note = (
        "Fitted people are others for FNNC (train) than for FROC (calibration), so they do not decide. At the smallest "
        "targets FNNC accepts next to nobody; at others its gap on test people is often above FROC's."
    )

    def told(method: str, who: Measured) -> str | None:
        rows = _beside_fnnc(evidence, problem, method, who)
        return _ahead([ours - theirs for _, theirs, ours in rows]) if rows else None

    said, exact = by_people(told)
    test = _beside_fnnc(evidence, problem, "froc", "test")
    if not test:
        return not_run(id, place, words, rule, _no_fnnc(evidence, problem), note)
    lower = [0 < ours - theirs <= ACCURACY_DROP for _, theirs, ours in test]
    half = [sum(lower) > len(lower) / 2]
    return Claim(id, place, words, said, exact, judge(half, half, partly=any(lower)), rule, note)


def _ahead(leads: list[float]) -> str:
    """How often and how far a fair score is more accurate than FNNC."""
    mean, middle = 100 * sum(leads) / len(leads), 100 * median(leads)
    ahead = count([lead > 0 for lead in leads], "targets")
    return f"more accurate at {ahead}, by {mean:+.2f} points in the mean and {middle:+.2f} in the middle"


def _fnnc_overachieves(evidence: Evidence, problem: str) -> Claim:
    id, place = f"fnnc-overachieves-{problem}", f"section 5, results; appendix, {_title(problem)} – FNNC"
    words = f"{_title(problem)}: FNNC overachieves small fairness targets."
    rule = (
        f"at more than half of the targets up to {SMALL}, the gap at its decision (twice the mean equalized odds) is "
        f"at most {100 * OVER:g} % of the target"
    )
    note = "FNNC as written here keeps only networks that meet the target on its training people; this asks for more."
    held, said = [], []
    for who in MEASURED:
        rows = [r for r in evidence.rows(problem, "fnnc", "fnnc", who) if r.epsilon is not None and r.epsilon <= SMALL]
        over = [2 * (row.mean("meo") or 0.0) <= OVER * (row.epsilon or 0.0) for row in rows]
        if over:
            held.append([sum(over) > len(over) / 2])
            said.append(f"{who} people: {count(over, 'targets')}")
    if not held:
        return not_run(id, place, words, rule, _no_fnnc(evidence, problem), note)
    verdict = judge(held[0], held[1] if len(held) > 1 else [])
    return Claim(id, place, words, "; ".join(said), "", verdict, rule, note)


def _projection(evidence: Evidence) -> Claim:
    id, place = "fairprojection", "figure C3-FROC against FairProjection; section 5, results"
    words = "Adult, random forest: at small unfairness FROC is at least as accurate as FairProjection-CE and -KL."
    rule = (
        f"at each of their points with mean equalized odds up to {SMALL}, FROC's line of accuracy against mean "
        f"equalized odds is as high, to {LEVEL}"
    )
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
    said, exact = by_people(lambda method, who: f"as accurate at {count(held[method, who], 'points of theirs')}")
    return Claim(id, place, words, said, exact, judge(held["froc", "fitted"], held["froc", "test"]), rule, note)


def _stored(evidence: Evidence) -> Claim:
    id, place = "fairprojection-stored", "Alghamdi et al. (2022), the baseline B1; stored results of COMPAS"
    words = "FairProjection, written anew here, has its authors' accuracy and mean equalized odds on their groups."
    rule = "both figures of every stored COMPAS result within .01; no standard errors are stored"
    rows = [row for row in evidence.facts.get("fairprojection", ()) if row["data"] == COMPAS_GROUPS]
    if not rows:
        return not_run(id, place, words, rule, "not run: their protocol is repeated on all people only, without --rows")
    close = [bool(row["close"]) for row in rows]
    far = max(abs(row[name] - row[f"stored_{name}"]) for row in rows for name in ("accuracy", "meo"))
    said = f"FairProjection: {count(close, 'stored results')}; largest difference {far:.4f}"
    return Claim(id, place, words, said, "", judge(close, close), rule)


def _best(evidence: Evidence, method: str, who: Measured, meo: float) -> float | None:
    """Accuracy that the method has at this mean equalized odds or below: of a fit, or between two fits next to each
    other (flipping a coin between two classifiers gives every point between them, or a fairer one)."""
    rows = evidence.rows("adult", "rf", method, who)
    line = [(m, a) for row in rows if (m := row.mean("meo")) is not None and (a := row.mean("accuracy")) is not None]
    fair = [accuracy for mine, accuracy in line if mine <= meo]
    for (x0, y0), (x1, y1) in pairwise(line):
        if min(x0, x1) < meo < max(x0, x1):
            fair.append(y0 + (y1 - y0) * (meo - x0) / (x1 - x0))
    return max(fair, default=None)
