"""Fits without the group, by several attributes each for itself, or within strata, in words: what the score is told,
gaps by attribute and stratum, and for whom the bound holds."""

from __future__ import annotations

from fairroc.fitting.certificate import Certificate, FamilyCertificate, Told
from fairroc.fitting.outlook import FamilyOutlook, Outlook
from fairroc.people.small import MERGED
from fairroc.text.people import epsilon_words
from fairroc.text.words import SELECTED, asked_words, flat, plural, quoted, rounded, short, small_lines

PROXY_CAUTION = (
    "A proxy of the group may be treated as the group by law: ask before you deploy. What is promised holds for the "
    "true groups of the fitted people, and only as long as the probabilities mean what they meant then: watch them "
    "(fairroc monitor)."
)
"""What must be known of a score that is told probabilities in place of the group."""


def own_epsilons(families: tuple[FamilyCertificate, ...] | tuple[FamilyOutlook, ...]) -> bool:
    """Whether attributes have an epsilon each."""
    return len({family.epsilon for family in families if family.epsilon is not None}) > 1


def worst(outlook: Outlook) -> FamilyOutlook | None:
    """Where attributes have an epsilon each: the one whose gap among new people is expected to exceed it most."""
    if not own_epsilons(outlook.families):
        return None
    return max(outlook.families, key=lambda one: one.gap_estimate / max(one.epsilon, 1e-9))


def size_words(c: Certificate) -> str:
    """How many rows and groups, of how many attributes and strata."""
    kept = [family for family in c.families if family.compared]
    attributes, strata = len({family.attribute for family in kept}), len({family.stratum for family in kept})
    of = f" of {attributes} attributes" if attributes > 1 else ""
    within = f" in {strata} strata" if strata > 1 else ""
    return f"{c.rows:,} rows, {plural(len(c.groups), 'group')}{of}{within}"


def head_lines(c: Certificate, word: str = SELECTED) -> list[str]:
    """What was asked for, what the score is told, and a warning where that is a proxy."""
    asked = asked_words(c.fairness, c.epsilon, c.ratio, c.tolerances, word)
    meaning = [epsilon_words(c.fairness, c.epsilon, word)]
    if own_epsilons(c.families):
        kept = [(flat(family.title), family.epsilon) for family in c.families if family.epsilon is not None]
        asked = f"epsilon {', '.join(f'{own:.4g} of {name}' for name, own in kept)} ({c.fairness.formula})"
        meaning = [f"{name}: {epsilon_words(c.fairness, own, word)}" for name, own in kept]
    proxy = [PROXY_CAUTION] if any(told.kind == "probability" for told in c.told) else []
    return [f"{size_words(c)}, {asked}.", *meaning, told_words(c), *proxy, *_small(c)]


def told_words(c: Certificate) -> str:
    """What the fair score is made from, as a sentence."""
    parts = ["the score", *map(_column, c.told)]
    made = "the score alone" if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    without = "" if c.use_group else ", without the group, which is needed only to fit and to measure"
    return f"The fair score is made from {made}{without}."


def _column(told: Told) -> str:
    name = short(told.column)
    if told.kind == "stratum":
        return f"{name} (stratum)"
    return name if told.of is None else f"{name} (probability of {quoted(told.of)})"


def _small(c: Certificate) -> list[str]:
    """Groups that were made one; or what is not told apart by itself, as too few people are in it."""
    small = c.small_groups
    if small is None or any(group.group.endswith(MERGED) for group in c.groups):
        return small_lines(small)
    return [f"Too few to be treated by themselves, and so treated alike: {small.listed()}."]


def gap_rows(c: Certificate, o: Outlook) -> list[list[str]]:
    """Gaps of each attribute and stratum, as rows of the table of new and fitted people; none where there is one."""
    if len(c.families) < 2:
        return []
    ahead, own = {family.title: family for family in o.families}, own_epsilons(c.families)
    return [_gap_row(family, ahead.get(family.title), own) for family in c.families]


def _gap_row(family: FamilyCertificate, ahead: FamilyOutlook | None, own: bool) -> list[str]:
    fitted = [f"{family.gap_before:.3f}", f"{family.gap:.3f}"]
    limit = f" (epsilon {family.epsilon:.4g})" if own and family.epsilon is not None else ""
    if ahead is None:
        return [f"by {family.title} *", "", "", *fitted]
    new = [f"{ahead.gap_before_estimate:.3f}", f"{ahead.gap_estimate:.3f} ± {ahead.gap_standard_error:.3f}"]
    return [f"by {family.title}{limit}", *new, *fitted]


def information_lines(c: Certificate) -> list[str]:
    """That intersections are not held close."""
    loose = [flat(family.title) for family in c.families if not family.compared]
    return [f"*: intersections, for information; each attribute is kept close for itself ({', '.join(loose)} are not)."
            for _ in loose[:1]]  # fmt: skip


def bound_words(c: Certificate) -> list[str]:
    """What no other score exceeds, and which scores are meant; by cells nothing where the original score is kept."""
    if not c.families:
        allowed = c.epsilon if c.allowed is None else c.allowed
        most = f"No score with a gap of at most {allowed:.4g} on these rows has an overall AUC above"
        return [f"{most} {rounded(c.auc_bound)}{_without_draw(c)}."]
    if c.unchanged:
        return []
    gap = "each gap within its epsilon" if own_epsilons(c.families) else f"a gap of at most {c.epsilon:.4g}"
    return [
        f"No score that is told no more than this one, never falls as the original one rises and has {gap} on these "
        f"rows has an overall AUC above {rounded(c.auc_bound)}."
    ]


def _without_draw(c: Certificate) -> str:
    """What no score exceeds that does without a draw, as the end of a sentence."""
    if c.least_gap_without_draw is None:
        return ""
    which = "; none that draws nobody and keeps different scores of a group apart has"
    if c.auc_bound_without_draw is None:
        return f"{which} so small a gap (the least is about {c.least_gap_without_draw:.3f})"
    return f"{which} one above {rounded(c.auc_bound_without_draw)}"


def cell_words(c: Certificate) -> list[str]:
    """What the linear program worked with."""
    if c.cells is None:
        return []
    n = c.cells
    told = "" if n.segments == 1 else f" in {plural(n.segments, 'segment')} that are told apart"
    return [
        f"Linear program: {plural(n.cells, 'cell')} of scores{told}, {plural(n.levels, 'level')}. Overall AUC with "
        f"people drawn inside cells {rounded(n.auc_cells)}; with levels that need not fit into one score at most "
        f"{rounded(n.auc_unnested)}."
    ]
