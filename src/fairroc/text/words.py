"""Words that all texts share: names, numbers, percentages, lists, norms, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairroc.core.constraint import NORMS, Constraint, Distance, LpDistance, OneRate, Within
from fairroc.options import POSITIVE_MEANS
from fairroc.people.small import SmallGroups
from fairroc.summary import NAME_WIDTH as NAME_WIDTH
from fairroc.summary import figure as figure
from fairroc.summary import flat as flat
from fairroc.summary import percent as percent
from fairroc.summary import short as short
from fairroc.summary import span_words as span_words
from fairroc.summary import table as table

SELECTED: str = POSITIVE_MEANS.default
"""What a positive decision is called unless users have a word of their own."""

METHODS = {"bootstrap": "bootstrap", "dkw": "DKW, for any sample size"}
"""How an interval or a limit was found."""


def quoted(name: str) -> str:
    """A whole name in quotes."""
    return f"'{flat(name)}'"


def pair(names: tuple[str, str]) -> str:
    """Two short names in quotes."""
    return f"'{short(names[0])}' and '{short(names[1])}'"


def rounded(value: float | None, *, none: str = "") -> str:
    """A rate, a gap or an AUC as far as it matters, and never "-0.000"."""
    return none if value is None else f"{round(value, 3) + 0.0:.3f}"


def beyond(value: float, limit: float) -> str:
    """A value with as many decimals as it takes, three at least, to read as more than a limit.

    >>> beyond(0.0502, 0.05), beyond(0.21, 0.2)
    ('0.0502', '0.210')
    """
    return next((text for d in range(3, 9) if float(text := f"{value:.{d}f}") > limit), f"{value:.9f}")


def confidence(level: float) -> str:
    """A level of confidence."""
    return f"{100 * level:.4g}% confidence"


def plural(count: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(items: Sequence[str], most: int) -> str:
    """The first few of them, and how many more there are.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more} more" if more > 0 else "")


def norm_words(norm: float | int | str) -> str:
    """A norm as a formula of the two rates."""
    for known in NORMS.values():
        if norm in (known.norm, known.p):
            return known.formula
    return f"L-{norm:g} distance of (FPR, TPR)" if not isinstance(norm, str) else norm


def distance_words(distance: Distance) -> str:
    """What a gap is the size of, as a formula."""
    whole = distance.distance if isinstance(distance, Within) else distance
    return (
        whole.formula if isinstance(whole, Constraint) else norm_words(whole.p if isinstance(whole, LpDistance) else 1)
    )


MEANINGS = {
    "equalized_odds": "Equalized odds: of people with a positive label, and of people with a negative label, the same "
    "share of every group should be selected",
    "equal_opportunity": "Equal opportunity: of people with a positive label, the same share of every group should "
    "be selected",
    "predictive_equality": "Predictive equality: of people with a negative label, the same share of every group "
    "should be selected",
    "demographic_parity": "Demographic parity: of all people, whatever their label, the same share of every group "
    "should be selected",
}
"""What each constraint asks for at every threshold, by its name."""

RATES = {
    "equalized_odds": "true and false positive rates",
    "equal_opportunity": "true positive rates",
    "predictive_equality": "false positive rates",
    "demographic_parity": "selection rates",
}
"""What each constraint keeps close."""

RATIO_GAPS = "A gap is what the smallest ratio lacks of 1: 0.2 is a ratio of 0.8."


def asked_words(
    constraint: Constraint,
    epsilon: float,
    ratio: float | None,
    tolerances: tuple[float, float] | None,
    word: str = SELECTED,
) -> str:
    """What must be close, and how close.

    >>> from fairroc.core.constraint import Difference, Ratio
    >>> asked_words(Difference("tpr"), 0.05, None, None)
    'epsilon 0.05 (difference of the TPR)'
    >>> asked_words(Ratio("selection", (0, 0.2)), 0.2, 0.8, None)
    'ratio 0.8 (smallest over largest selection rate), where 0% to 20% of people are selected'
    """
    within = where_words(constraint.where, word)
    if ratio is not None and isinstance(constraint, OneRate):
        return f"ratio {ratio:.4g} (smallest over largest {constraint.WORDS[constraint.rate]}){within}"
    if tolerances is not None:
        return f"|dFPR| at most {tolerances[0]:.4g} and |dTPR| at most {tolerances[1]:.4g}"
    return f"epsilon {epsilon:.4g} ({constraint.formula}){within}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a gap may be, in the words of what was asked for: epsilon, a ratio, or a tolerance for each rate.

    >>> Allowed(0.2, ratio=0.8).limit, Allowed(0.02, tolerances=(0.1, 0.02)).more(0.043)
    ('what ratio 0.8 allows (0.2)', 'larger tolerances: 0.215 (FPR) and 0.043 (TPR)')
    """

    epsilon: float
    ratio: float | None = None
    tolerances: tuple[float, float] | None = None
    of: str | None = None
    """The attribute whose epsilon it is, where attributes have one each."""

    @property
    def asked(self) -> str:
        """What was asked for."""
        if self.ratio is not None:
            return f"ratio {self.ratio:.4g}"
        if self.of is not None:
            return "each epsilon"
        return "epsilon" if self.tolerances is None else "both tolerances"

    @property
    def holds(self) -> str:
        """What holds for some people."""
        return f"{self.asked} {'holds' if self.tolerances is None else 'hold'}"

    @property
    def whole(self) -> str:
        """What a gap is within."""
        return self.asked if self.ratio is None else f"what {self.asked} allows"

    @property
    def limit(self) -> str:
        """What a gap is above, with its number."""
        if self.ratio is not None:
            return f"{self.whole} ({self.epsilon:.4g})"
        if self.tolerances is not None:
            return f"the smaller tolerance {self.epsilon:.4g}"
        return f"epsilon {self.epsilon:.4g}{'' if self.of is None else f' of {self.of}'}"

    @property
    def out_of_reach(self) -> str:
        """What no score keeps."""
        if self.tolerances is not None:
            return "they are out of reach"
        return f"{self.limit if self.ratio is None else self.asked} is out of reach"

    def more(self, gap: float | None = None) -> str:
        """What to ask for instead, so that a gap is within it."""
        if self.ratio is not None:
            words, values = "a smaller ratio", "" if gap is None or gap >= 1 else f"{1 - gap:.3g}"
        elif self.tolerances is not None and self.epsilon > 0:
            words, values = "larger tolerances", ""
            if gap is not None:
                fpr, tpr = (min(gap / self.epsilon * each, 1.0) for each in self.tolerances)
                values = f"{fpr:.3g} (FPR) and {tpr:.3g} (TPR)"
        else:
            words = "a larger epsilon" if self.of is None else f"a larger epsilon of {self.of}"
            values = "" if gap is None else f"{gap:.4g}"
        return f"{words}: {values}" if values else words


def meaning(constraint: str, word: str = SELECTED) -> str:
    """What a constraint asks for at every threshold, as a sentence without its stop."""
    return MEANINGS[constraint].replace(SELECTED, word)


def where_words(where: tuple[float, float] | None, word: str = SELECTED) -> str:
    """A window of shares of people selected, as the end of a phrase."""
    return "" if where is None else f", where {span_words(where)} are {word}"


def counted_words(error: float, gap: str) -> str:
    """What counting in bins leaves open; ``gap`` says what follows for the gap."""
    known = f"rates can be too low by up to {error:.2g}, {gap}"
    return f"People were counted in bins of scores: {known}. More bits reduce this."


def threshold_words(where: tuple[float, float] | None, word: str = SELECTED) -> str:
    """The thresholds that count."""
    return "at every threshold" + ("" if where is None else f" at which {span_words(where)} are {word}")


def small_lines(small: SmallGroups | None) -> list[str]:
    """Which groups were merged or left out, if any were."""
    return [] if small is None else [flat(small.words())]
