"""Explanations in words that a person concerned can read: no promise without its condition."""

from __future__ import annotations

from fairroc.model.explanation import Explanation, Outcome
from fairroc.options import CONSTRAINT, PROMISE
from fairroc.text.words import RATES, SELECTED, quoted, threshold_words

_SCALE = "all groups are put on one scale, on which about as many people as before reach each threshold"


def explanation_text(found: Explanation, *, promise: str = PROMISE.default, positive_means: str = SELECTED) -> str:
    """An explanation as short paragraphs; ``promise`` is the model's."""
    word, new = positive_means, promise == "new"
    parts = [_opening(found), _where(found), _why(found, word, new), _possible(found)]
    parts += [_decision(found, word), _drawn(found, word), _closing(found, word, new)]
    return "\n\n".join(part for part in parts if part)


def _opening(found: Explanation) -> str:
    words = f"A person of group {quoted(found.group)} with the score {_figure(found.score)}."
    if found.merged:
        words += (
            f" This group was too small to be fitted by itself; it was merged into group {quoted(found.treated_as)}, "
            "and the person is treated as that."
        )
    elif found.treated_as != found.group:
        words += (
            f" The model was not fitted to this group; the person is treated as group {quoted(found.treated_as)}, and "
            "nothing was measured on people like this one."
        )
    return words


def _where(found: Explanation) -> str:
    block = found.block
    if block is None:
        return ""
    name, low, high = quoted(found.treated_as), _figure(block.low), _figure(block.high)
    if block.highest and block.lowest:
        people = "any score"
    elif block.highest:
        people = f"a score of {low} or more"
    elif block.lowest:
        people = f"a score below {high}"
    else:
        people = f"a score from {low} up to (but not including) {high}"
    alike = "keep their order" if found.reason == "order" else "are all treated alike"
    words = f"People of group {name} with {people} {alike}."
    if found.outside == "above":
        words += (
            " This score is above all scores the model was fitted to in this group; it is treated like the highest."
        )
    elif found.outside == "below":
        words += " This score is below all scores the model was fitted to in this group; it is treated like the lowest."
    return words


def _why(found: Explanation, word: str, new: bool) -> str:
    within = f"{_close(found)} {threshold_words(found.where, word)}"
    if found.reason == "unchanged":
        rates = f"the groups' {RATES[found.constraint]}"
        why = (
            f"among new people {rates} were expected to be {within} already, or no closer with another score"
            if new
            else f"on the people the model was fitted to, {rates} were {within} already"
        )
        return f"Nothing is changed: {why}. The fair score is the score itself, and nothing is drawn."
    if found.reason == "order":
        never = found.draws == "never"
        whom = "The score decides alone: nothing is drawn" if never else "Nothing is drawn for this person"
        follows = f"{whom}, and the fair score follows from the score and the group."
        return f"{follows} It can differ from the score, {_moved(found, word)}."
    if found.reason == "transport":
        return (
            "The fair score is partly drawn at random, because fairness moves people here: so that the groups' "
            f"{RATES[found.constraint]} come {within}, some people of this group get a higher and some a lower place "
            "than their score alone would give. Who does is left to chance. Besides, fair scores here can lie above or "
            f"below the original ones, because {_SCALE}."
        )
    return (
        "The fair score is drawn at random among places close to this person's own in the group: it decides the order "
        "of people with equal or neighbouring scores, and moves nobody further within the group. Fair scores here can "
        f"still lie above or below the original ones, {_moved(found, word)}."
    )


def _moved(found: Explanation, word: str) -> str:
    """Why fair scores differ from the original ones where nobody leaves the own place in the group."""
    if found.constraint == CONSTRAINT.default:
        return f"because {_SCALE}"
    words = (
        f"because the scores of a whole group are moved, in their order, so that the groups' "
        f"{RATES[found.constraint]} come {_close(found)} {threshold_words(found.where, word)}, and because {_SCALE}"
    )
    return words if found.where is None else f"{words}. At other thresholds the original order stays, as far as it can"


def _close(found: Explanation) -> str:
    """How close the rates are."""
    if found.ratio is not None:
        return f"so close that the smallest is at least {found.ratio:.4g} of the largest"
    if found.tolerances is not None:
        return "within {1:.4g} (true) and {0:.4g} (false) of each other".format(*found.tolerances)
    return f"within epsilon {found.epsilon:.4g} of each other"


def _possible(found: Explanation) -> str:
    if len(found.outcomes) == 1 and found.outcomes[0].low == found.outcomes[0].high:
        return f"The fair score is {_figure(found.outcomes[0].high)}."
    rows = [f"  {_interval(line):<32}{_percent(line.probability)}" for line in found.lines]
    return "\n".join(["Possible fair scores and their probabilities:", *rows])


def _decision(found: Explanation, word: str) -> str:
    if found.threshold is None or found.acceptance is None:
        return ""
    before = word if found.accepted_before else f"not {word}"
    chance = f"{word} with probability {_percent(found.acceptance)}"
    after = {0.0: f"not {word}, for certain", 1.0: f"{word} for certain"}.get(found.acceptance, chance)
    at = f"At the threshold {_figure(found.threshold)}"
    return f"{at}: by the original score the person is {before}; by the fair score, {after}."


def _drawn(found: Explanation, word: str) -> str:
    draw = found.draw
    if draw is None:
        return ""
    chance = "" if found.reason in ("order", "unchanged") else ", by the draw that belongs to it"
    words = f"For the id {quoted(str(draw.id))} the fair score is {_figure(draw.score)}{chance}"
    if draw.accepted is not None:
        words += f": it {'reaches' if draw.accepted else 'does not reach'} the threshold, so the person is "
        words += word if draw.accepted else f"not {word}"
    return f"{words}. The same id, score, group, model and key always give the same result."


def _closing(found: Explanation, word: str, new: bool) -> str:
    draw = "" if found.draws == "never" else "on average over the draw, "
    within = f"{_close(found)} {threshold_words(found.where, word)}"
    what, whom = ("should lie", "among new people like the") if new else ("lie", "on the")
    return (
        f"Fair here means that the groups' {RATES[found.constraint]} {what} {within}, {draw}{whom} {found.rows:,} "
        f"people the model was fitted to ({found.group_rows:,} of them in group {quoted(found.treated_as)}). It says "
        "nothing else about this person."
    )


def _interval(line: Outcome) -> str:
    if line.low == line.high:
        return _figure(line.high)
    return f"{_figure(line.low)} to {_figure(line.high)}"


def _figure(number: float) -> str:
    return f"{number:.6g}"


def _percent(share: float) -> str:
    """A probability that is not rounded to none or to all."""
    if 0 < share < 0.001:
        return "less than 0.1%"
    return "more than 99.9%" if 0.999 < share < 1 else f"{share:.1%}"
