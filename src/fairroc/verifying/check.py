"""What a model file and its certificate state, beside what follows from them and from the people."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from html import escape
from itertools import accumulate, pairwise
from typing import Any

from fairroc.verifying.files import (
    ALLOWANCE,
    CERTIFICATE_VERSION,
    ONE,
    SINGLE,
    VERSION,
    ZERO,
    Body,
    Measure,
    MisreadError,
    Pair,
    checksum,
    decisions,
    hold,
    hold_certificate,
    hold_model,
    parsed,
    reading,
)
from fairroc.verifying.law import (
    Everybody,
    Figures,
    GroupPeople,
    Kernel,
    Progress,
    area,
    around,
    figures,
    hull,
    original,
    roc_hull,
)
from fairroc.verifying.least import Least, least_gap
from fairroc.verifying.spread import (
    Family,
    Table,
    families,
    family_gap,
    hold_spread,
    other_people,
    segment_people,
    told,
)

LOOSE = Fraction(1, 10**7)
"""A stated bound may exceed what its prices prove by this much; more is a bound that nobody proved."""

MANY, COARSE = 1 << 14, Fraction(1, 1 << 12)
"""Groups of more distinct scores are fitted at fewer points, but 4,096: then the scale's shares may be off by such a
part of people, and the groups' AUCs in the model file by less. The certificate's figures are of all scores."""

ASKED = (
    *("epsilon", "norm", "method", "ties", "inner_epsilon", "unchanged", "levels", "curve", "promise", "confidence"),
    *("constraint", "ratio", "tolerances", "draw", "where"),
)
"""What was asked for and done, in both files."""

SAME_FIT = "whoever fits the same people with the same options gets the same digits, on any machine"
"""What the fingerprint of a fit's decisions is for."""

SECONDS = (3e-4, 4e-5)
"""For one cell of people, and for every group's rates there, about."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. ``passed`` is None where it could not be looked at; ``note`` says what was found."""

    name: str
    passed: bool | None
    stated: float | None = None
    found: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Verification:
    """What was checked, and whether all of it holds. Printed, it is a table.

    Attributes
    ----------
    checks : tuple[Check, ...]
        What was looked at, in order.
    decisions : str or None
        Sixteen digits for what the fit decided: which scores go to which levels, in order or by a draw. The same people
        fitted with the same options give the same ones, on any machine and at any time. None if the file is garbled.

    Examples
    --------
    >>> from fairroc import FairROC, verify
    >>> from fairroc.datasets import make_scores
    >>> scores, y, sex = make_scores(400)
    >>> post = FairROC(epsilon=0.1, promise="fitted", draw="all").fit(scores, y, sensitive_features=sex)
    >>> verify(post.model_, scores, y, sensitive_features=sex).passed
    True
    """

    checks: tuple[Check, ...]
    decisions: str | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.passed is not False for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict[str, Any]

        Examples
        --------
        >>> from fairroc import Verification
        >>> Verification(()).to_dict()
        {'passed': True, 'decisions': None, 'checks': []}
        """
        checks = [asdict(check) for check in self.checks]
        return {"passed": self.passed, "decisions": self.decisions, "checks": checks}

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join((*map(str.ljust, row[:4], widths), row[4])).rstrip() for row in rows]
        known = [] if self.decisions is None else [f"Decisions {self.decisions} ({SAME_FIT})."]
        return "\n".join([*lines, "", *known, self._verdict()])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        (head, *rows), left = self._rows(), 'style="text-align:left"'
        names = "".join(f'<th scope="col" {left}>{escape(name)}</th>' for name in head)
        body = "".join(
            f'<tr><th scope="row" {left}>{escape(name)}</th>'
            + "".join(f"<td {left}>{escape(cell)}</td>" for cell in rest)
            + "</tr>"
            for name, *rest in rows
        )
        title = f'<caption style="caption-side:top;text-align:left;color:inherit">{escape(self._verdict())}</caption>'
        return f"<div><table>{title}<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>"

    def _rows(self) -> list[tuple[str, str, str, str, str]]:
        words = {True: "ok", False: "WRONG", None: "not checked"}
        rows = [("check", "", "stated", "found", "")]
        for check in self.checks:
            stated, found = ("" if value is None else f"{value:.9f}" for value in (check.stated, check.found))
            rows.append((check.name, words[check.passed], stated, found, check.note))
        return rows

    def _verdict(self) -> str:
        wrong = [check.name for check in self.checks if check.passed is False]
        return f"NOT signed off, wrong: {', '.join(wrong)}." if wrong else "Signed off: no check failed."


def seconds(people: Sequence[GroupPeople]) -> float:
    """How long the check takes, about."""
    cell, rates = SECONDS
    return (cell + rates * len(people)) * sum(len(group.cells) for group in people)


def verify_texts(
    model: str, certificate: str | None, given: Sequence[GroupPeople] | Table, progress: Progress | None = None
) -> Verification:
    """Check the text of a model file, and of its certificate if there is one, against the people it was fitted to. Of a
    model that is not told the groups it compares they are a table with all that it is told."""
    stated = None
    try:
        body = parsed(model, "fairroc-model", VERSION)
        hold_model(body)
        hold_spread(body)
        people, compared, others = _people(body, given)
        same = _same_people(body, people, others, len(given.people) if isinstance(given, Table) else None)
    except MisreadError as error:
        return Verification((Check("model file", False, note=str(error)),))
    checks = [_intact("model file", body), same]
    if certificate is not None:
        try:
            hold(not compared, "there is none for a model of this kind")
            stated = parsed(certificate, "fairroc-certificate", CERTIFICATE_VERSION)
            hold_certificate(stated, body)
            checks += [_intact("certificate file", stated), _same_fit(stated, body)]
        except MisreadError as error:
            checks, stated = [*checks, Check("certificate file", False, note=str(error))], None
    known = {group.name: group for group in people}
    if all(group["name"] in known for group in body["groups"]) and not others:
        everybody = Everybody.of([known[group["name"]] for group in body["groups"]])
        found = list(_derived(body, stated, everybody, compared, progress))
        if not same.passed:  # the order alone has nothing to do with people
            found = [found[0], *(replace(check, passed=None, note="of other data") for check in found[1:])]
        checks += found
    return Verification(tuple(checks), decisions(body))


@reading()
def _people(
    body: Body, given: Sequence[GroupPeople] | Table
) -> tuple[Sequence[GroupPeople], Sequence[Family], Sequence[str]]:
    """People by groups or segments; the families that are compared, where groups are spread over segments; and in what
    these are other people."""
    if not isinstance(given, Table):
        hold("compared" not in body, "it needs a table of people with all that it is told")
        return given, (), ()
    hold("compared" in body, "it is not of this kind")
    segments = told(body, given)
    found = list(families(body, given, segments))
    return segment_people(given, segments), found, other_people(body, given, found)


def _intact(name: str, body: Body) -> Check:
    same = body.get("checksum") == checksum(body)
    return Check(name, same, note="" if same else "its checksum does not match: it was edited or damaged")


def _same_fit(stated: Body, body: Body) -> Check:
    """Whether the certificate is this model's."""
    own, name = stated["figures"], "certificate of this model"
    off = [field for field in ASKED if field in body and own.get(field) != body[field]]
    off += ["rows"] * (own["rows"] != body["fit"]["rows"])
    for group, figure in zip(body["groups"], own["groups"], strict=True):
        same = (figure.get("group"), figure.get("rows"), figure.get("positives"))
        off += [f"group {group['name']!r}"] * (same != (group["name"], group["rows"], group["positives"]))
    off += ["the checksum"] * (stated.get("model") != checksum(body))
    return Check(name, not off, note=f"model and certificate differ in {off[0]}" if off else "")


@reading()
def _same_people(body: Body, people: Sequence[GroupPeople], others: Sequence[str], rows: int | None) -> Check:
    """Whether these are the people that the model was fitted to, as far as its counts tell, and ``others`` says no
    more; ``rows`` of all of them, where that is not what the groups have."""
    given, fitted = {group.name: group for group in people}, {group["name"]: group for group in body["groups"]}
    names = [name for name in (*given, *fitted) if (name in given) != (name in fitted)]
    off = [f"group {name!r} is in the {'data' if name in given else 'model'} alone" for name in names]
    for name, group in fitted.items():
        if (own := given.get(name)) is None:
            continue
        if (own.rows, own.positives) != (group["rows"], group["positives"]):
            told = f"{group['rows']} and {group['positives']} in the model"
            off.append(f"group {name!r} has {own.rows} rows, {own.positives} of them positive, but {told}")
        elif "reference" in group and not _same_bins(group["reference"], own):
            off.append(f"the scores of group {name!r} are not those that the model counted")
    if rows is None and body["fit"]["rows"] != sum(group["rows"] for group in fitted.values()):
        off.append("the model's rows are not the sum of its groups'")
    if rows is not None and body["fit"]["rows"] != rows:
        off.append(f"{rows} rows, but {body['fit']['rows']} in the model")
    off += others
    note = f"the stated figures are of other data: {off[0]}" if off else f"{body['fit']['rows']} rows"
    return Check("people of the fit", not off, note=note)


def _same_bins(reference: Body, own: GroupPeople) -> bool:
    """Whether bins of scores hold as many people of both labels as stated."""
    edges, found = reference["edges"], [[ZERO, ZERO] for _ in reference["edges"]]
    cells = [cell for cell in own.cells if cell[2] > 0]
    if min(cells)[0] != edges[0] or max(cells)[0] > reference["highest"]:
        return False
    for score, label, weight in cells:
        found[bisect_right(edges, score) - 1][label] += Fraction(weight)
    few = ALLOWANCE * sum(map(sum, found))
    stated = zip(reference["negatives"], reference["positives"], strict=True)
    pairs = [(Fraction(s), f) for both in zip(stated, found, strict=True) for s, f in zip(*both, strict=True)]
    return all(abs(a - b) <= few for a, b in pairs)


# ---- what follows ----------------------------------------------------------------------------------------------------


def _derived(
    body: Body, stated: Body | None, people: Everybody, compared: Sequence[Family], progress: Progress | None
) -> Iterator[Check]:
    """Everything that the model file and the people tell, beside what is stated. People come by groups; by segments,
    where families are ``compared``."""
    measure, before, kernels = Measure.of(body), original(people), dict[str, Kernel]()
    lines, shown, kind = before, progress, "groups"
    note = "the certificate states and proves it; none was given"
    if compared:
        shown, kind, note = None, "segments", "no file proves one for a model of this kind"
    if not body["unchanged"]:
        kernels = {group["name"]: Kernel(group["kernel"], body["levels"]) for group in body["groups"]}
        own = zip(*people, strict=True)
        lines = [kernel.law(*each) for kernel, each in zip(kernels.values(), own, strict=True)]
    yield _order(f"order within {kind}", kernels)
    was = figures(before, people, measure, None if kernels else shown)
    now = figures(lines, people, measure, shown) if kernels else was
    if kernels:
        yield _scale(body["scale"], now, people)
    shares = _drawn(kernels, people)
    nobody = not shares[-1]
    yield from _undrawn(body, kernels, shares[-1])
    for family in compared:
        gap, name = family_gap(family, kernels, measure, progress), f"gap within epsilon, by {family.title}"
        yield _promise(name, body, family.stated["epsilon"], None, gap, nobody)
    if not compared:
        yield _promise("gap within epsilon", body, body["epsilon"], stated, now.gap, nobody)
    hulls = [roc_hull(line) for line in before if stated is not None]
    for name, figures_of in _stated(body, stated, was, now, hulls, shares).items():
        yield _equal(
            name.replace("groups'", f"{kind}'"),
            *figures_of,
            _allowance(people) if "in the model" in name else ALLOWANCE,
        )
    if stated is None:
        if compared:
            yield Check("AUC", None, None, float(now.auc), "for information: no file states it")
        yield Check("bound of the AUC", None, note=note)
        return
    if measure.rate is None:
        walked = nobody and all(line.steps == len(own) for line, own in zip(lines, people.scores, strict=True))
        yield _least(stated, least_gap(before, measure), now.gap if walked else None)
    yield from _bound(stated, measure, hulls, people, now)


def _undrawn(body: Body, kernels: Mapping[str, Kernel], share: Fraction) -> Iterator[Check]:
    """That nobody is drawn, where that was asked for."""
    if "never" in (body.get("draw"), body.get("draws")):
        good = all(all(kernel.ordered) for kernel in kernels.values())
        yield Check("nobody is drawn", good, 0.0, float(share), "" if good else "some scores' places are drawn")


def _drawn(kernels: Mapping[str, Kernel], people: Everybody) -> list[Fraction]:
    """Shares of every group's people whom fairness can move, who are drawn for ties alone, and both; and of all people
    both."""
    cells, sizes = zip(people.scores, people.masses, strict=True), [sum(total) for total in people.totals]
    shares = [kernel.drawn(*own) for kernel, own in zip(kernels.values(), cells, strict=False)]
    shares = shares or [(ZERO, ZERO)] * len(sizes)
    drawn = [moved + tied for moved, tied in shares]
    everybody = sum((share * size for share, size in zip(drawn, sizes, strict=True)), ZERO) / sum(sizes)
    return [*(part for own, both in zip(shares, drawn, strict=True) for part in (*own, both)), everybody]


def _stated(
    body: Body,
    stated: Body | None,
    was: Figures,
    now: Figures,
    hulls: Sequence[Sequence[Pair]],
    shares: Sequence[Fraction],
) -> dict[str, tuple[list[Any], list[Fraction]]]:
    """Stated figures and those found, by what they are."""
    claims: dict[str, tuple[list[Any], list[Fraction]]] = {}
    if all("reference" in group for group in body["groups"]):
        told = [[group["reference"][name] for group in body["groups"]] for name in ("auc", "fair_auc")]
        claims["groups' AUC before, in the model"] = told[0], was.group_aucs
        claims["groups' AUC, in the model"] = told[1], now.group_aucs
    if stated is not None:
        own = stated["figures"]
        for when, found in (("_before", was), ("", now)):
            after = when.replace("_", " ")
            claims[f"gap{after}"] = [own[f"gap{when}"]], [found.gap]
            claims[f"AUC{after}"] = [own[f"auc{when}"]], [found.auc]
            claims[f"groups' AUC{after}"] = [group[f"auc{when}"] for group in own["groups"]], found.group_aucs
            claims[f"gaps of single rates{after}"] = [own[f"rates{when}"][rate] for rate in SINGLE], found.rates
        claims["AUC of the hulls"] = [group["auc_hull"] for group in own["groups"]], [area(line) for line in hulls]
        drawn = [group[f"{kind}_share"] for group in own["groups"] for kind in ("transport", "tie", "randomised")]
        claims["shares drawn"] = [*drawn, own.get("drawn", float(shares[-1]))], list(shares)
    return claims


def _least(stated: Body, found: Least, walked: Fraction | None) -> Check:
    """Whether the stated least gap without a draw lies where it must. ``walked``: the gap of the model itself, where
    it draws nobody and keeps all scores apart."""
    name, least = "least gap without a draw", stated["figures"].get("least_gap_without_draw")
    if least is None:
        return Check(name, None, note="the certificate states none")
    lower, upper = found.lower, found.upper if walked is None else min(found.upper, walked)
    shown = min(max(Fraction(least), lower), upper)
    off = abs(Fraction(least) - shown)
    good = off <= ALLOWANCE + found.passed
    note = f"no walk keeps less than {float(lower):.6f}, and one keeps {float(upper):.6f}"
    note += f" (at fewer points than scores: off by {float(found.passed):.2g} at most)" * (found.passed > 0)
    return Check(name, good, least, float(shown), note if good else f"off by {float(off):.3g}: {note}")


def _allowance(people: Everybody) -> Fraction:
    """What figures may be off by that the fit derives from fewer points than there are scores."""
    return COARSE if max(map(len, people.scores)) > MANY else ALLOWANCE


def _equal(name: str, told: Sequence[Any], found: Sequence[Fraction], allowance: Fraction) -> Check:
    """Whether figures are what is stated; those shown are farthest apart."""
    if not all(type(each) in (int, float) and -2 <= each <= 2 for each in told):
        return Check(name, False, note="what is stated is no such number")
    off, i = max((abs(Fraction(a) - b), i) for i, (a, b) in enumerate(zip(told, found, strict=True)))
    good = off <= allowance
    return Check(name, good, float(told[i]), float(found[i]), "" if good else f"off by {float(off):.3g}")


def _order(name: str, kernels: Mapping[str, Kernel]) -> Check:
    """Whether within every group a higher score never gets a stochastically lower law."""
    if not kernels:
        return Check(name, True, note="the original score")
    (worst, threshold), group = max((kernel.disorder(), group) for group, kernel in kernels.items())
    good = worst <= ALLOWANCE
    more = f"group {group!r}: scores below {float(threshold):g} get a better law than above, by {float(worst):.3g}"
    return Check(name, good, note="" if good else more)


def _scale(scale: Body, now: Figures, people: Everybody) -> Check:
    """Whether every score of the scale selects the share of all people that it did before.

    A step selects any share between those before and after it. The highest score is spread over the places up to the
    second, and of several scores at one place one is at the next double.
    """
    rising, shares = people.selected()
    places, scores = scale["place"], scale["score"]
    worst, at = ZERO, scores[0]
    for i in range(1, len(places)):
        share = [*shares, ZERO][bisect_left(rising, scores[0] if i == 1 else scores[i])]
        nearby = [y for y in places[i - 1 : i + 2] if abs(y - places[i]) <= math.ulp(y)]
        low, high = around(now.selected, nearby[0])[0], around(now.selected, nearby[-1])[1]
        off = max(low - share, share - high)
        if i > 1 and rising[min(bisect_left(rising, scores[i]), len(rising) - 1)] != scores[i]:
            off = ONE  # nobody has such a score
        worst, at = max((worst, at), (off, scores[i]))
    good = worst <= _allowance(people)
    note = "" if good else f"at {at:g} the share of people selected is off by {float(worst):.3g}, or nobody's score"
    return Check("scale", good, note=note)


def _promise(name: str, body: Body, epsilon: float, stated: Body | None, gap: Fraction, nobody: bool) -> Check:
    """Whether the gap is within what was asked for, or within what the certificate allows; ``nobody`` is drawn."""
    if body.get("promise") == "new" and stated is None:
        return Check(name, None, epsilon, float(gap), "promised for new people only")
    allowed = epsilon if stated is None else stated["figures"]["allowed"]
    if body.get("promise") != "new" and allowed > epsilon:
        return Check(name, False, epsilon, float(allowed), "the certificate allows more than epsilon")
    over = gap - Fraction(allowed)
    good = over <= ALLOWANCE
    note = "nobody is drawn: the gap of every use" * nobody if good else f"exceeds what is allowed by {float(over):.3g}"
    return Check(name, good, float(allowed), float(gap), note)


# ---- the bound -------------------------------------------------------------------------------------------------------


def _bound(
    stated: Body, measure: Measure, hulls: Sequence[list[Pair]], people: Everybody, now: Figures
) -> Iterator[Check]:
    """Whether the prices prove the stated bound, and the AUC is within it."""
    told = Fraction(stated["figures"]["auc_bound"])
    found = proven(stated["proof"], Fraction(stated["figures"]["allowed"]), measure, hulls, people)
    note = "the prices prove less than is stated" * (found > told + ALLOWANCE)
    note = note or "the prices prove more: the bound is stated too high" * (told > found + LOOSE)
    yield Check("bound of the AUC", not note, float(told), float(found), note)
    good = now.auc <= told + ALLOWANCE
    note = "the AUC exceeds the bound" * (not good)
    yield Check("AUC within the bound", good, float(told), float(now.auc), note)


def proven(
    proof: Body, epsilon: Fraction, measure: Measure, hulls: Sequence[list[Pair]], people: Everybody
) -> Fraction:
    """An AUC that no fair score's exceeds, by weak duality, whatever the prices.

    In a direction (1 - b) TPR - b FPR of all people a group's part, less the price of its rates, is at most what it is
    at a corner of its hull. What the groups pay for their rates is nothing at a centre, and little as far from it as
    fair rates can be. So every direction gives a line that no fair score passes: here over the share of all people
    selected, q, as AUC = 1/2 + the area under TPR - FPR over q.
    """
    prior, known = people.prior, list(zip(hulls, people.weights, people.priors, strict=True))
    lines = [(ZERO, 1 / prior), (1 / (1 - prior), -1 / (1 - prior))]  # FPR >= 0, TPR <= 1
    for b, stated in zip(map(Fraction, proof["directions"]), proof["prices"], strict=True):
        prices = measure.closed(stated, epsilon)
        height = sum((measure.cost(price, epsilon) for price in prices), ZERO)
        for price, (corners, (w0, w1), own) in zip(prices, known, strict=True):
            of_fpr, of_tpr = measure.priced(price, own)
            height += _support(corners, w0 * b + of_fpr, w1 * (1 - b) - of_tpr)
        size = (1 - b) * (1 - prior) + b * prior
        lines.append((height / size, (2 * b - 1) / size))
    kept = _envelope(lines)
    if measure.window is not None:
        kept = _outside(kept, _free(hulls, people), measure.window)
    return Fraction(1, 2) + area(kept)


def _support(corners: Sequence[Pair], down: Fraction, up: Fraction) -> Fraction:
    """The largest ``up * tpr - down * fpr`` under a hull and above the diagonal."""
    if up <= 0:
        return max(ZERO, up - down)
    edges = list(pairwise(corners))
    at = bisect_left(edges, True, key=lambda e: up * (e[1][1] - e[0][1]) <= down * (e[1][0] - e[0][0]))
    return up * corners[at][1] - down * corners[at][0]


def _envelope(lines: Sequence[Pair]) -> list[Pair]:
    """Corners, from 0 to 1, of the lowest of lines (height at 0, slope)."""
    kept: list[Pair] = []
    begin: list[Fraction] = []
    for height, slope in sorted(lines, key=lambda line: (-line[1], line[0])):
        if kept and kept[-1][1] == slope:
            continue
        while kept and (height - kept[-1][0]) / (kept[-1][1] - slope) <= begin[-1]:
            kept.pop()
            begin.pop()
        begin.append((height - kept[-1][0]) / (kept[-1][1] - slope) if kept else ZERO)
        kept.append((height, slope))
    ends = [*begin, ONE]
    at = [(min(q, ONE), line) for q, line in zip(ends, [*kept, kept[-1]], strict=True)]
    return [(q, height + slope * q) for q, (height, slope) in at]


def _free(hulls: Sequence[list[Pair]], people: Everybody) -> list[Pair]:
    """(q, TPR - FPR) of the best score of all, fair or not: all groups' hulls by falling slope."""
    steps = [
        (w0 * (d[0] - a[0]), w1 * (d[1] - a[1]))
        for corners, (w0, w1) in zip(hulls, people.weights, strict=True)
        for a, d in pairwise(corners)
    ]
    steps.sort(key=lambda step: step[0] / (step[0] + step[1]))
    points = accumulate(steps, lambda a, b: (a[0] + b[0], a[1] + b[1]), initial=(ZERO, ZERO))
    return [(x + people.prior * (y - x), y - x) for x, y in points]


def _outside(kept: Sequence[Pair], free: Sequence[Pair], window: Pair) -> list[Pair]:
    """The lowest concave line above one line inside a window and above another outside of it."""
    points = [(q, d) for q, d in kept if window[0] < q < window[1]]
    points += [(q, d) for q, d in free if q <= window[0] or q >= window[1]]
    for (q, d), (r, e) in pairwise(free):
        points += [(end, d + (end - q) / (r - q) * (e - d)) for end in window if q < end < r]
    return hull(sorted(points))
