"""The model file and the certificate, read anew: what they must be, and what must be close."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

ALLOWANCE = Fraction(1, 10**9)
"""What stated figures may be off by, and a gap above epsilon: the fit computes in doubles, this package does not."""

EDGE, SAME = Fraction(1, 10**12), Fraction(1, 10**15)
"""Shares of people this near to a window's end are inside; rates this near to each other have the ratio 1."""

VERSION, CERTIFICATE_VERSION = 6, 1
"""The latest versions of both files."""

FEW_SELECTED = Fraction(0.05)
"""With promise "new" a ratio is measured where this share or more is selected (docs/guides/constraints.md)."""

RATES = {"equal_opportunity": "tpr", "predictive_equality": "fpr", "demographic_parity": "selection"}
SINGLE = ("fpr", "tpr", "selection_rate")
GARBLED = (KeyError, TypeError, IndexError, AttributeError, OverflowError, ValueError)
ZERO, ONE = Fraction(0), Fraction(1)

Pair: TypeAlias = tuple[Fraction, Fraction]
Body: TypeAlias = Mapping[str, Any]


class MisreadError(Exception):
    """A file is not what it must be; the text says why."""


@contextmanager
def reading() -> Iterator[None]:
    """Where a field is missing or of another kind than it must be, the file is misread."""
    try:
        yield
    except GARBLED as error:
        raise MisreadError(f"it lacks or garbles a field ({error!r})") from None


def parsed(text: str, form: str, version: int) -> dict[str, Any]:
    """JSON of a format and a version that is known."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        hold(len(dict(pairs)) == len(pairs), "a field occurs twice")
        return dict(pairs)

    def refuse(word: str) -> None:
        hold(False, f"{word} is no number")

    try:
        body = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise MisreadError(f"it is not whole JSON ({error})") from None
    hold(isinstance(body, dict) and body.get("format") == form, f'it lacks "format": "{form}"')
    known = type(body.get("version")) is int and 1 <= body["version"] <= version
    hold(known, f"versions 1 to {version} are known, got {body.get('version')!r}")
    return dict(body)


def checksum(body: Body) -> str:
    """BLAKE2b of all fields but the checksum, sorted by name, without blanks."""
    rest = {name: value for name, value in body.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()


def decisions(body: Body) -> str:
    """Sixteen digits for what a fit decided: which scores share a block, which levels its people can get, who keeps the
    order and who is drawn. Last digits of probabilities and places are no decisions, nor are salt, key and date.
    """
    kept = ("thresholds", "ceiling", "row", "first", "last", "ordered", "transported")
    kernels = []
    for group in body["groups"] if not body["unchanged"] else []:
        kernel = group["kernel"]
        levels = [[row[0], *(chance > 0 for chance in row[1:])] for row in kernel["table"]]
        kernels.append([*(kernel[field] for field in kept), levels])
    names = [group["name"] for group in body["groups"]]
    asked = [body.get(field) for field in ("epsilon", "norm", "constraint", "levels", "unchanged", "proxy", "compared")]
    return hashlib.blake2b(json.dumps([asked, names, kernels]).encode(), digest_size=8).hexdigest()


def hold(condition: Any, rule: str) -> None:
    """Raise unless a rule holds."""
    if not condition:
        raise MisreadError(rule)


@reading()
def hold_model(body: Body) -> None:
    """Raise unless the model file is what docs/reference/model-file.md says."""
    names = [group["name"] for group in body["groups"]]
    least = 1 if "compared" in body else 2
    hold(len(names) >= least and len(set(names)) == len(names), "it needs two groups or more, each once")
    hold(is_numbers([body["epsilon"], body["inner_epsilon"]]), "epsilon is no number")
    hold(0 <= body["inner_epsilon"] <= body["epsilon"] <= 2, "epsilon must lie in [0, 2], the internal one below it")
    Measure.of(body)
    hold(type(body["levels"]) is int and type(body["unchanged"]) is bool, "'levels' or 'unchanged' is garbled")
    if not body["unchanged"]:
        _hold_scale(body["scale"], body["levels"])
        for group in body["groups"]:
            try:
                _hold_kernel(group["kernel"], body["levels"])
            except MisreadError as error:
                raise MisreadError(f"group {group['name']!r}: {error}") from None


def is_numbers(values: Any, *kinds: type) -> bool:
    """Whether this is a list of finite numbers, of these kinds."""
    kinds = kinds or (int, float)
    return isinstance(values, list) and all(type(value) in kinds and math.isfinite(value) for value in values)


def _hold_scale(scale: Body, levels: int) -> None:
    place, score = scale["place"], scale["score"]
    hold(
        is_numbers(place) and is_numbers(score) and len(place) == len(score) > 1,
        "the scale must be two lists of numbers",
    )
    rises = place[0] == 0 and place[-1] == levels and all(a < b for a, b in pairwise(place))
    hold(rises, "the scale's places must rise from 0 to the number of levels")
    hold(all(a >= b for a, b in pairwise(score)), "the scale's scores must fall")


def _hold_kernel(kernel: Body, levels: int) -> None:
    cuts, table = kernel["thresholds"], kernel["table"]
    floats = [kernel[field] for field in ("thresholds", "start", "stop")]
    wholes = [kernel[field] for field in ("row", "first", "last", "ordered", "transported")]
    hold(all(map(is_numbers, floats)) and all(is_numbers(part, int) for part in wholes), "a list holds no numbers")
    hold(cuts and all(len(part) == len(cuts) for part in (*floats, *wholes)), "blocks need one entry in every list")
    hold(all(a > b for a, b in pairwise(cuts)), "thresholds must fall")
    hold(is_numbers([kernel["ceiling"]]) and kernel["ceiling"] >= cuts[0], "the ceiling is too low")
    for i, *chances in table:
        hold(type(i) is int and 0 <= i < i + len(chances) <= levels, "a row of the table is off the levels")
        hold(is_numbers(chances) and min(chances) >= 0, "chances must be numbers and not negative")
        hold(abs(sum(map(Fraction, chances), ZERO) - 1) <= ALLOWANCE, "chances must sum to one")
    for row, first, last, ordered, moved, start, stop in zip(*wholes, *floats[1:], strict=True):
        hold(0 <= row < len(table) and {ordered, moved} <= {0, 1}, "a block names no row, or a flag is not 0 or 1")
        hold(-1 <= first <= last < levels and (first < 0) == (last < 0), "a block's levels are off")
        hold(0 <= start <= 1 and 0 <= stop <= 1 and (first < last or start <= stop), "a block's places are off")
        i, *chances = table[row]
        alone = first == last and [i + k for k, chance in enumerate(chances) if chance > 0] == [first]
        hold(not ordered or alone, "a block that keeps its order must lie in one level")


@reading()
def hold_certificate(stated: Body, model: Body) -> None:
    """Raise unless the certificate is what docs/guides/verify.md says."""
    groups, of_both = len(model["groups"]), model.get("constraint", "equalized_odds") not in RATES
    figures, proof = stated["figures"], stated["proof"]
    names = ("auc_before", "auc", "auc_bound", "gap_before", "gap", "allowed", "levels", "rows")
    own = ("auc_before", "auc_hull", "auc", "transport_share", "tie_share", "randomised_share")
    hold(is_numbers([figures[name] for name in names]), "a figure is no number")
    hold(0 <= figures["allowed"] <= 2, "the gap allowed must lie in [0, 2]")
    hold(len(figures["groups"]) == groups, "it has another number of groups")
    hold(all(is_numbers([group[name] for name in own]) for group in figures["groups"]), "a figure is no number")
    for each in (figures["rates_before"], figures["rates"]):
        hold(is_numbers([each[name] for name in SINGLE]), "a rate is no number")
    least = figures.get("least_gap_without_draw")
    hold(least is None or is_numbers([least]), "the least gap without a draw is no number")
    directions, prices = proof["directions"], proof["prices"]
    hold(is_numbers(directions) and all(0 < b < 1 for b in directions), "directions must lie between 0 and 1")
    hold(len(prices) == len(directions) and all(len(each) == groups for each in prices), "prices are missing")
    known = all(is_numbers(price) and len(price) == 1 + of_both for each in prices for price in each)
    hold(known, "prices must be numbers, one for each rate")


class Measure(NamedTuple):
    """How far apart groups are: one ``rate`` alone, by difference or ``ratio``; or both rates, by the sum of their
    differences (without ``weights``) or the larger weighted one. ``window``: shares selected in which it counts."""

    rate: str | None
    ratio: bool
    weights: Pair | None
    window: Pair | None

    @classmethod
    def of(cls, body: Body) -> Measure:
        """What a model was asked to keep close."""
        name, epsilon = body.get("constraint", "equalized_odds"), Fraction(body["epsilon"])
        own, ratio, where = body.get("tolerances"), body.get("ratio"), body.get("where")
        window = None if where is None else (Fraction(where[0]), Fraction(where[1]))
        if name in RATES:
            hold(ratio is None or abs(1 - Fraction(ratio) - epsilon) <= SAME, "epsilon must be 1 less the ratio")
            hold(window is None or 0 <= window[0] < window[1] <= 1, "the window must be two rising shares")
            if ratio is not None and body.get("promise") == "new":
                low, high = window or (ZERO, ONE)
                window = max(low, FEW_SELECTED), max(high, FEW_SELECTED)
            return cls(RATES[name], ratio is not None, None, window)
        hold(name == "equalized_odds" and ratio is None and where is None, "nobody knows this constraint")
        known: dict[Any, Pair | None] = {1: None, "inf": (ONE, ONE)}
        hold(body["norm"] in known, "norm must be 1 or 'inf'")
        if own is None:
            return cls(None, False, known[body["norm"]], None)
        hold(
            is_numbers(own) and len(own) == 2 and min(own) == body["epsilon"] > 0,
            "epsilon must be the smaller tolerance",
        )
        return cls(None, False, (epsilon / Fraction(own[0]), epsilon / Fraction(own[1])), None)

    def corners(self, fpr: Fraction, tpr: Fraction, prior: Fraction) -> tuple[Fraction, ...]:
        """Numbers of a group whose widest ranges over the groups tell how far apart they are."""
        if self.rate is not None:
            return ({"fpr": fpr, "tpr": tpr, "selection": fpr + prior * (tpr - fpr)}[self.rate],)
        return (fpr + tpr, fpr - tpr) if self.weights is None else (fpr * self.weights[0], tpr * self.weights[1])

    def gap(self, points: Sequence[Pair], priors: Sequence[Fraction]) -> Fraction:
        """Largest distance of two groups."""
        each = [self.corners(*point, prior) for point, prior in zip(points, priors, strict=True)]
        ranges: list[Pair] = [(min(line), max(line)) for line in zip(*each, strict=True)]
        if self.ratio:
            ((low, high),) = ranges
            lacks = max(high - low - SAME, ZERO)
            return Fraction(high > SAME) if low <= 0 else lacks / high
        return max(high - low for low, high in ranges)

    def looks(self, selected: Fraction) -> bool:
        """Whether thresholds count that select such a share of all people."""
        return self.window is None or self.window[0] - EDGE <= selected <= self.window[1] + EDGE

    # Fair rates have a centre: no rate is farther from it than half of epsilon; of a ratio, all lie between it and
    # 1 / (1 - epsilon) times it. Prices of rates gain no more by that than `cost`, if they `pull` the centre nowhere.

    def closed(self, prices: Sequence[Sequence[float]], epsilon: Fraction) -> list[tuple[Fraction, ...]]:
        """Prices that pull the centre nowhere: the last group's follow from the others', whatever is stated."""
        free = self.ratio and epsilon >= 1  # any rates are fair, and no price proves more than none
        found = [tuple(ZERO if free else Fraction(part) for part in price) for price in prices[:-1]]
        pulls = [sum((self._pull(price, epsilon) for price in line), ZERO) for line in zip(*found, strict=True)]
        return [*found, tuple(-pull * (1 - epsilon) if self.ratio and pull < 0 else -pull for pull in pulls)]

    def _pull(self, price: Fraction, epsilon: Fraction) -> Fraction:
        return price / (1 - epsilon) if self.ratio and price > 0 else price

    def cost(self, price: Sequence[Fraction], epsilon: Fraction) -> Fraction:
        """Half of epsilon times the dual length of a price."""
        if self.ratio:
            return ZERO
        size = [abs(part) for part in price]
        if self.weights is not None:
            size = [size[0] / self.weights[0] + size[1] / self.weights[1]]
        return epsilon / 2 * max(size)

    def priced(self, price: Sequence[Fraction], prior: Fraction) -> Pair:
        """Prices of fpr and of tpr."""
        if self.rate is None:
            return price[0], price[1]
        parts = {"fpr": (ONE, ZERO), "tpr": (ZERO, ONE), "selection": (1 - prior, prior)}[self.rate]
        return price[0] * parts[0], price[0] * parts[1]
