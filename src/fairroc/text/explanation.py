"""Explanations in words that a person concerned can read: no promise without its condition."""

from __future__ import annotations

from fairroc.model.explanation import Explanation, Outcome
from fairroc.options import CONSTRAINT, PROMISE
from fairroc.text.words import RATES, SELECTED, quoted, threshold_words


def explanation_text(found: Explanation, *, promise: str = PROMISE.default, positive_means: str = SELECTED) -> str:
    """An explanation as short paragraphs; ``promise`` is the model's.

    Of a model that is not told the group it reveals no guess of it: neither cell nor probabilities, but for auditors
    who asked for them.
    """
    word, new = positive_means, promise == "new"
    parts = [_opening(found), _where(found), _why(found, word, new), _possible(found)]
    parts += [_decision(found, word), _drawn(found, word), _closing(found, word, new), _for_auditors(found)]
    return "\n\n".join(part for part in parts if part)


def _opening(found: Explanation) -> str:
    if found.cells is not None:
        return _without_group(found)
    known = [("stratum", found.stratum)] * (found.stratum is not None) + list(found.attributes)
    facts = f" ({', '.join(f'{name} {quoted(str(value))}' for name, value in known)})" if known else ""
    words = f"A person of group {quoted(str(found.group))}{facts} with the score {_figure(found.score)}."
    if found.merged:
        words += (
            f" This group was too small to be fitted by itself; it was merged into group "
            f"{quoted(str(found.treated_as))}, and the person is treated as that."
        )
    elif found.treated_as != found.group:
        words += (
            f" The model was not fitted to this group; the person is treated as group "
            f"{quoted(str(found.treated_as))}, and nothing was measured on people like this one."
        )
    return words


def _without_group(found: Explanation) -> str:
    """Who is explained, of a model that is not told the group, and what it goes by."""
    stratum = "" if found.stratum is None else f" in the stratum {quoted(found.stratum)}"
    alone = "the score alone" if found.stratum is None else "the score and the stratum alone"
    words = f"A person{stratum} with the score {_figure(found.score)}. The model was not told the person's group. "
    if found.cells == 1:
        return f"{words}It goes by {alone}."
    return (
        f"{words}Beside the score it goes by estimates from other features, which part all people into {found.cells} "
        "cells. These serve to treat the groups alike, and decide nobody's group; neither the estimates nor the cell "
        "are part of this explanation."
    )


def _unit(found: Explanation) -> str:
    """What people are treated by."""
    return "group" if found.cells is None else "cell"


def _their(found: Explanation) -> str:
    """Whose treatment is told."""
    return f"group {quoted(str(found.treated_as))}" if found.cells is None else "this person's cell"


def _where(found: Explanation) -> str:
    block = found.block
    if block is None:
        return ""
    low, high = _figure(block.low), _figure(block.high)
    if block.highest and block.lowest:
        people = "any score"
    elif block.highest:
        people = f"a score of {low} or more"
    elif block.lowest:
        people = f"a score below {high}"
    else:
        people = f"a score from {low} up to (but not including) {high}"
    alike = {"order": "keep their order", "shared": "share one fair score"}.get(found.reason, "are all treated alike")
    words = f"People of {_their(found)} with {people} {alike}."
    if found.outside is not None:
        end = {"above": "highest", "below": "lowest"}[found.outside]
        words += (
            f" This score is {found.outside} all scores the model was fitted to in this {_unit(found)}; it is treated "
            f"like the {end}."
        )
    return words


def _why(found: Explanation, word: str, new: bool) -> str:
    within = f"{_close(found)} {threshold_words(found.where, word)}"
    unit = _unit(found)
    if found.reason == "unchanged":
        rates = f"the groups' {RATES[found.constraint]}"
        why = (
            f"among new people {rates} were expected to be {within} already, or no closer with another score"
            if new
            else f"on the people the model was fitted to, {rates} were {within} already"
        )
        return f"Nothing is changed: {why}. The fair score is the score itself."
    if found.reason in ("order", "shared"):
        whom = "The score decides alone:" if found.draws_nobody else "Nothing is drawn for this person, and"
        follows = f"{whom} the fair score follows from the score and the {unit}."
        return f"{follows} It can differ from the score, {_moved(found, word)}."
    if found.reason == "transport":
        return (
            "The fair score is partly drawn at random, because fairness moves people here: so that the groups' "
            f"{RATES[found.constraint]} come {within}, some people of this {unit} get a higher and some a lower place "
            "than their score alone would give. Who does is left to chance. Besides, fair scores here can lie above or "
            f"below the original ones, because {_scale(found)}."
        )
    return (
        f"The fair score is drawn at random among places close to this person's own in the {unit}: it decides the "
        "order of people with equal or neighbouring scores, and moves nobody further within the "
        f"{unit}. Fair scores here can still lie above or below the original ones, {_moved(found, word)}."
    )


def _scale(found: Explanation) -> str:
    units = "groups" if found.cells is None else "cells"
    return f"all {units} are put on one scale, on which about as many people as before reach each threshold"


def _moved(found: Explanation, word: str) -> str:
    """Why fair scores differ from the original ones where nobody leaves the own place in the group."""
    if found.constraint == CONSTRAINT.default:
        return f"because {_scale(found)}"
    words = (
        f"because the scores of a whole {_unit(found)} are moved, in their order, so that the groups' "
        f"{RATES[found.constraint]} come {_close(found)} {threshold_words(found.where, word)}, and because "
        f"{_scale(found)}"
    )
    return words if found.where is None else f"{words}. At other thresholds the original order stays, as far as it can"


def _close(found: Explanation) -> str:
    """How close the rates are, and by what."""
    attributes = list(dict.fromkeys(one.attribute for one in found.compared))
    strata = "" if found.stratum is None else " within each stratum"
    if len({one.epsilon for one in found.compared}) > 1:
        each = [f"within epsilon {one.epsilon:.4g} of each other by {one.attribute}" for one in found.compared]
        return f"{' and '.join(each)}, each for itself,{strata}"
    by = f" by {' and by '.join(attributes)}, each for itself," if len(attributes) > 1 else ""
    if found.ratio is not None:
        return f"so close that the smallest is at least {found.ratio:.4g} of the largest{by}{strata}"
    if found.tolerances is not None:
        return "within {1:.4g} (true) and {0:.4g} (false) of each other".format(*found.tolerances) + by + strata
    epsilon = found.compared[0].epsilon if found.compared else found.epsilon
    return f"within epsilon {epsilon:.4g} of each other{by}{strata}"


def _possible(found: Explanation) -> str:
    if len(found.outcomes) == 1 and found.outcomes[0].low == found.outcomes[0].high:
        return f"The fair score is {_figure(found.outcomes[0].high)}."
    rows = [f"  {_interval(line):<32}{_percent(line.probability)}" for line in found.lines]
    return "\n".join(["Possible fair scores and their probabilities:", *rows])


def _decision(found: Explanation, word: str) -> str:
    if found.threshold is None or found.acceptance is None:
        return ""
    before = word if found.accepted_before else f"not {word}"
    after = f"not {word}, for certain" if found.acceptance == 0 else f"{word} for certain"
    if found.hangs_on_draw:
        after = f"{word} with probability {_percent(found.acceptance)}, and the decision hangs on the draw"
    at = f"At the threshold {_figure(found.threshold)}"
    return f"{at}: by the original score the person is {before}; by the fair score, {after}."


def _drawn(found: Explanation, word: str) -> str:
    draw = found.draw
    if draw is None:
        return ""
    drawn = "" if found.reason in ("order", "shared", "unchanged") else ", by the draw that belongs to it"
    words = f"For the id {quoted(str(draw.id))} the fair score is {_figure(draw.score)}{drawn}"
    if draw.accepted is not None:
        words += f": it {'reaches' if draw.accepted else 'does not reach'} the threshold, so the person is "
        words += word if draw.accepted else f"not {word}"
        words += ", whatever the draw" if drawn and not found.hangs_on_draw else ""
    same = "group" if found.cells is None else "estimates"
    same = f"score, {same} and model" if found.draws_nobody else f"id, score, {same}, model and key"
    return f"{words}. The same {same} always give the same result."


def _closing(found: Explanation, word: str, new: bool) -> str:
    draw = "" if found.draws_nobody else "on average over the draw, "
    within = f"{_close(found)} {threshold_words(found.where, word)}"
    what, whom = ("should lie", "among new people like the") if new else ("lie", "on the")
    own = "" if found.group_rows is None else f" ({found.group_rows:,} of them in {_their(found)})"
    return (
        f"Fair here means that the groups' {RATES[found.constraint]} {what} {within}, {draw}{whom} {found.rows:,} "
        f"people the model was fitted to{own}. It says nothing else about this person."
    )


def _for_auditors(found: Explanation) -> str:
    """What the model goes by in place of the group."""
    if found.cell is None:
        return ""
    rules = [
        f"{quoted(name)} {'from' if above == 0 else 'above'} {above:.4g} up to {upto:.4g}"
        for name, above, upto in found.cell.bounds
    ]
    what = f": {' and '.join(rules)}" if rules else ""
    return (
        f"For auditors, as it tells a guess of the group: {quoted(found.cell.name)} of {found.cells} cells, "
        f"{found.cell.rows:,} of the fitted people{what}."
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
