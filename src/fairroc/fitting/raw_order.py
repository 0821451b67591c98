"""One rate in the raw order of scores: how little needs to be drawn so that the people's own rates are close."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairroc.core.constraint import FEW_SELECTED, Difference, Ratio
from fairroc.core.gap import ROUNDING, is_fair
from fairroc.core.roc import Population
from fairroc.errors import DataError
from fairroc.fitting.one_rate import (
    CAREFUL,
    EXACT,
    ORDERED,
    THIN,
    Share,
    cares,
    deviation,
    levels_of_rate,
    rate_kernels,
    widened,
)
from fairroc.fitting.solving import Goal, Solution, drawn_share, solution_of
from fairroc.people.people import People

TRIES = 8
"""Internal epsilons that are tried, at most."""

CLOSE = 0.02
"""No further try where the gap is within this share of epsilon."""

LEAST_INNER = 0.5
"""Smallest internal epsilon of one rate, as a share of epsilon, before single people are drawn."""

SINGLE = {
    CAREFUL: "where single people count for much of what is allowed, they are drawn too, each inside the part between "
    "the neighbours",
    EXACT: "single people count for more than is allowed, so that everybody is drawn, each inside the part between the "
    "neighbours",
}
"""Why people are drawn who share their score with nobody."""

FORESEEN, GUESS, FORESIGHT = 3, 2.5, 1.05
"""Tries of an internal epsilon that is foretold; how many pieces of raw order two groups' rates are first taken to be
off; and how many times what was seen to be off is taken off."""

FORETOLD = 0.2
"""An internal epsilon is foretold only if it is short of epsilon by no more than this share."""


class NeedsDrawsError(DataError):
    """Epsilon cannot be kept without draws; ``reached`` is the least gap that was seen."""

    reached: float


def solve_rate(people: People, path: Population, goal: Goal) -> Solution:
    """One rate in raw order: nobody is drawn but where people share a score, as far as that keeps epsilon.

    The curves of the ``path`` may be estimates: they say how to trade the groups off, and the people's own rates are
    kept close with any.
    """
    ratio, never, least = isinstance(goal.constraint, Ratio), goal.never, np.inf
    for window in widened(goal.constraint.where):
        for care in cares(never, ratio):
            found, gap = _with_care(people, path, goal, care, window)
            least = min(least, gap)
            if found is not None:
                return found
    raise _refuses_draws(goal, _reached(people, path, goal, least))


def _reached(people: People, path: Population, goal: Goal, least: float) -> float:
    """An epsilon that can be kept without draws, in few digits: the least gap seen, or more until it is kept."""
    digits = 3 if isinstance(goal.constraint, Ratio) else 4
    for _ in range(TRIES):
        asked = replace(goal, epsilon=min(np.ceil((least - ROUNDING) * 10**digits) / 10**digits, 1.0))
        if is_fair_score(people, asked):
            break
        found, least = _with_care(people, path, asked, ORDERED, asked.constraint.where)
        if found is not None:
            break
    return asked.epsilon


def _with_care(
    people: People, path: Population, goal: Goal, care: int, window: Share | None
) -> tuple[Solution | None, float]:
    """The largest internal epsilon, about, that keeps epsilon; and the least gap that was seen.

    On thin curves neighbouring scores count as tied, and what they may hide is added; people who are all drawn inside
    their part hide nothing.
    """
    found, least = _foretold(people, path, goal, care), np.inf
    low, high = 0.0 if goal.never or care == EXACT else LEAST_INNER * goal.epsilon, goal.epsilon
    inner, hidden = high, 0.0 if care == EXACT else people.hidden
    for _ in range(TRIES if found is None else 0):
        tried = _at(people, path, goal, inner, care, window)
        excess = tried.performance.gap + hidden - goal.epsilon
        least = min(least, goal.epsilon + excess)
        if excess <= ROUNDING:
            found, low = tried, inner
        else:
            high = inner
        if low >= high or (found is not None and -excess <= CLOSE * goal.epsilon):
            break
        inner = (low + high) / 2 if found is not None else max(low, inner - 1.2 * excess)
    if found is None:
        return None, least
    if isinstance(goal.constraint, Ratio):  # of small rates thin curves hide more
        least = _exact_gap(people, found, goal)
        if least > goal.epsilon + ROUNDING:
            return None, least
    draws = drawn_share(found.judged, found.kernels) > 0
    return found.changed(reason=SINGLE.get(care) if draws else None), least


def _foretold(people: People, path: Population, goal: Goal, care: int) -> Solution | None:
    """In a large sample: how far people's own rates can be off, group by group, tells the internal epsilon before any
    two groups are compared; None where that would cost too much of it."""
    constraint, hidden = goal.constraint, people.hidden
    if hidden == 0 or care == EXACT or not isinstance(constraint, Difference) or constraint.where is not None:
        return None
    inner = goal.epsilon - hidden - GUESS * THIN
    for _ in range(FORESEEN):
        if inner < (1.0 - FORETOLD) * goal.epsilon:
            return None
        found = _at(people, path, goal, inner, care, None)
        off = deviation(found.judged, found.realised, found.levels, constraint) + hidden
        if inner + off <= goal.epsilon:
            return found
        inner = goal.epsilon - FORESIGHT * off
    return None


def _exact_gap(people: People, tried: Solution, goal: Goal) -> float:
    """The gap at all scores."""
    if tried.judged is people.exact:
        return tried.performance.gap
    return solution_of(people.exact, tried.levels, tried.kernels, goal, tried.inner_epsilon).performance.gap


def _at(people: People, path: Population, goal: Goal, inner: float, care: int, window: Share | None) -> Solution:
    """The fair score at an internal epsilon, kept close inside a window."""
    assert isinstance(goal.constraint, Difference | Ratio)
    judged, constraint = people.thin, replace(goal.constraint, window=window)
    levels, never = levels_of_rate(path, inner, constraint, judged), goal.never
    kernels = rate_kernels(
        judged.curves, judged.curves, levels, constraint, epsilon=goal.epsilon, care=care, never=never
    )
    return solution_of(judged, levels, kernels, goal, inner)


def is_fair_score(people: People, goal: Goal) -> bool:
    """Whether the original score meets epsilon at all its thresholds; the thin curves usually tell."""
    if not is_fair(people.thin, goal.constraint, goal.epsilon + people.hidden):
        return False
    return is_fair(people.exact, goal.constraint, goal.epsilon)


def _refuses_draws(goal: Goal, reached: float) -> NeedsDrawsError:
    """What cannot be kept, and what can."""
    why = "cannot be kept without draws on these people: single people and people who share a score leave"
    if isinstance(goal.constraint, Ratio):
        left = f"a ratio of {1 - reached:.3f}. Take a smaller ratio" if reached < 1 else "a ratio of 0. Take an epsilon"
        low, high = goal.constraint.where or (0.0, 1.0)
        where = ""
        if low < FEW_SELECTED < high:
            where = f", a window (where=({FEW_SELECTED:g}, {high:g}): at the top a few people make any ratio)"
        words = f"ratio {1 - goal.epsilon:g} {why} {left}{where}, or draw='few'."
    else:
        words = f"epsilon {goal.epsilon:g} {why} a gap of {reached:.4f}. Take a larger epsilon, or draw='few'."
    found = NeedsDrawsError(words)
    found.reached = reached
    return found
