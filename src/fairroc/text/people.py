"""What a gap between groups means in people, and the word for a positive decision.

>>> from fairroc.core.constraint import Difference, Ratio, equalized_odds
>>> print(epsilon_words(equalized_odds(1), 0.05))
Epsilon 0.05: at every threshold, of 100 positives and of 100 negatives in each group, the differences between two \
groups in how many are selected add up to at most 5.
>>> print(epsilon_words(Difference("tpr"), 0.025, "flagged"))
Epsilon 0.025: at every threshold, of 1,000 people with a positive label in each group, at most 25 more are flagged in \
one group than in another.
>>> print(epsilon_words(Ratio("selection"), 0.005))
Ratio 0.995: at every threshold, of equally many people in each group, for every 1,000 selected in one group at least \
995 are selected in any other.
>>> print(people_words(Ratio("selection"), 0.268, measured=True))
of equally many people in each group, for every 100 selected in one group about 73 are selected in another
"""

from __future__ import annotations

from fairroc.core.constraint import Distance, EqualizedOddsMax, EqualizedOddsSum, OneRate, RateName, Ratio, Within
from fairroc.text.words import SELECTED, threshold_words

WHOSE: dict[RateName, str] = {"tpr": " with a positive label", "fpr": " with a negative label", "selection": ""}
"""Of whom a rate is taken, after "people"."""

BASES = (100, 1_000, 10_000)
"""Of how many people is told."""

NEAR, FEW = 1e-6, 5
"""Counts this close to a whole number are one; others are told of so many people that they are not fewer than this."""


def epsilon_words(constraint: Distance, epsilon: float, positive_means: str = SELECTED) -> str:
    """What is asked for, in people, as a sentence. Epsilon of a `Ratio` is 1 minus the ratio; with a tolerance for
    each rate it is the smaller one."""
    kind = _kind(constraint)
    name = f"Epsilon {epsilon:.4g}"
    if isinstance(kind, Ratio):
        name = f"Ratio {1.0 - epsilon:.4g}"
    elif isinstance(kind, EqualizedOddsMax) and kind.fpr != kind.tpr:
        name = f"Tolerances {epsilon / kind.fpr:.4g} (FPR) and {epsilon / kind.tpr:.4g} (TPR)"
    where = threshold_words(constraint.where, positive_means)
    return f"{name}: {where}, {people_words(constraint, epsilon, positive_means)}."


def people_words(constraint: Distance, gap: float, positive_means: str = SELECTED, *, measured: bool = False) -> str:
    """What a gap means at one threshold: the largest allowed, or one that was ``measured``. No capital, no stop."""
    kind, word = _kind(constraint), positive_means
    if gap >= constraint.largest and not measured:
        return "any difference is allowed"
    if gap * BASES[-1] < 0.5:
        whose = WHOSE[kind.rate] if isinstance(kind, OneRate) else " with the same true label"
        return f"of people{whose}, {'almost ' if gap > 0 else ''}the same share is {word} in every group"
    if isinstance(kind, Ratio):
        least, other = ("", "another") if measured else ("at least ", "any other")
        base = BASES[0] if measured else next((b for b in BASES if _is_whole(1.0 - gap, b)), BASES[-1])
        people = f"of equally many people{WHOSE[kind.rate]} in each group, for every {base:,} {word} in one group"
        return f"{people} {least}{_count(1.0 - gap, base)} are {word} in {other}"
    base = _base(gap)
    count = _count(gap, base) if measured else f"at most {_count(gap, base)}"
    if isinstance(kind, EqualizedOddsSum):
        people = f"of {base:,} positives and of {base:,} negatives in each group"
        return f"{people}, the differences between two groups in how many are {word} add up to {count}"
    return f"{_one_rate_each(kind, gap, base, count)} more are {word} in one group than in another"


def _one_rate_each(kind: Distance, gap: float, base: int, count: str) -> str:
    """Of how many people so many, where every rate is compared for itself. In a norm that mixes both rates neither
    differs by more than the whole."""
    if isinstance(kind, OneRate):
        return f"of {base:,} people{WHOSE[kind.rate]} in each group, {count}"
    if isinstance(kind, EqualizedOddsMax) and kind.fpr != kind.tpr:
        shares = {"negatives": min(gap / kind.fpr, 1.0), "positives": min(gap / kind.tpr, 1.0)}
        parts = [f"of {_base(own):,} {who} at most {_count(own, _base(own))}" for who, own in shares.items()]
        return " and ".join(parts)
    most = count if count.startswith("at most") else f"at most {count}"
    return f"of {base:,} people with the same true label in each group, {most}"


def _kind(constraint: Distance) -> Distance:
    return constraint.distance if isinstance(constraint, Within) else constraint


def _base(share: float) -> int:
    """Of how many people a share is a whole number of at least 1; else of how many it is not too few."""
    for base in BASES[:2]:
        if share * base > 1 - NEAR and _is_whole(share, base):
            return base
    return next((base for base in BASES if share * base >= FEW), BASES[-1])


def _count(share: float, base: int) -> str:
    """How many people of so many, "about" where that is rounded."""
    return f"{'' if _is_whole(share, base) else 'about '}{round(share * base):,}"


def _is_whole(share: float, base: int) -> bool:
    return abs(share * base - round(share * base)) < NEAR
