"""Fits by cells as text: what the score is told, gaps by attribute and stratum, whose epsilon is exceeded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairroc.fitting.certificate import Certificate, FamilyCertificate, Told
from fairroc.fitting.outlook import FamilyOutlook, Outlook
from fairroc.people.small import SmallGroup, SmallGroups
from fairroc.text.certificate import certificate_text, fit_text
from fairroc.text.families import PROXY_CAUTION, bound_words, head_lines, told_words
from fairroc.text.outlook import allowed_by, caution, promise_words, side_by_side
from fitted_people import FairROC
from looking_ahead import a_draw

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


@pytest.fixture(scope="module")
def each() -> FairROC:
    """Sex and race each for itself, with own epsilons."""
    rng = np.random.default_rng(3)
    n = 300
    sex, race = rng.integers(0, 2, n), rng.integers(0, 2, n)
    y = (rng.random(n) < 0.4 + 0.1 * sex).astype(int)
    scores = (y * (0.8 + 0.8 * sex) + rng.normal(size=n)).round(2)
    names = {"sex": np.array(["F", "M"])[sex], "race": np.array(["u", "v"])[race]}
    return FairROC({"sex": 0.1, "race": 0.3}, combine="each", salt=1).fit(scores, y, sensitive_features=names)


@pytest.fixture(scope="module")
def found(each: FairROC) -> Certificate:
    return each.certificate_


@pytest.fixture(scope="module")
def ahead(each: FairROC) -> Outlook:
    return each.outlook_


STRATUM, SEX, RACE = Told("job", "stratum"), Told("sex", "group"), Told("race", "group")


@pytest.mark.parametrize(
    ("use_group", "told", "words"),
    [
        (True, (SEX, RACE), "The fair score is made from the score, sex and race."),
        (True, (STRATUM, SEX), "The fair score is made from the score, job (stratum) and sex."),
        (
            False,
            (Told("r", "probability", "M"),),
            "The fair score is made from the score and r (probability of 'M'), without the group, which is needed only "
            "to fit and to measure.",
        ),
        (
            False,
            (Told("a", "probability"), Told("b", "probability")),
            "The fair score is made from the score, a and b, without the group, which is needed only to fit and to "
            "measure.",
        ),
        (
            False,
            (),
            "The fair score is made from the score alone, without the group, which is needed only to fit and to "
            "measure.",
        ),
    ],
)
def test_what_the_score_is_told(found: Certificate, use_group: bool, told: tuple[Told, ...], words: str) -> None:
    c = replace(found, use_group=use_group, told=told)
    assert told_words(c) == words
    assert (PROXY_CAUTION in head_lines(c)) == any(one.kind == "probability" for one in told)


def test_head_names_every_epsilon(found: Certificate) -> None:
    first, sex, race, *_ = head_lines(found)
    assert first == "300 rows, 4 groups of 2 attributes, epsilon 0.1 of sex, 0.3 of race (|dFPR| + |dTPR|)."
    assert sex.startswith("sex: Epsilon 0.1: at every threshold") and sex.endswith("at most 10.")
    assert race.startswith("race: Epsilon 0.3: at every threshold") and race.endswith("at most 30.")


def test_head_with_one_epsilon_and_strata(found: Certificate) -> None:
    families = tuple(FamilyCertificate("sex", name, True, 0.1, 0.5, 0.1) for name in ("office", "shop"))
    first, second, *_ = head_lines(replace(found, epsilon=0.1, families=families))
    assert first == "300 rows, 4 groups in 2 strata, epsilon 0.1 (|dFPR| + |dTPR|)."
    assert second.startswith("Epsilon 0.1: at every threshold")


def test_gaps_of_new_and_fitted_people_by_attribute(found: Certificate, ahead: Outlook) -> None:
    lines = {line.split("  ")[0]: line.split() for line in side_by_side(ahead, found)}
    for family, new in zip(found.families, ahead.families, strict=False):
        told = lines[f"by {family.attribute} (epsilon {family.epsilon:g})"]
        assert told[4:] == [
            f"{new.gap_before_estimate:.3f}",
            f"{new.gap_estimate:.3f}",
            "±",
            f"{new.gap_standard_error:.3f}",
            f"{family.gap_before:.3f}",
            f"{family.gap:.3f}",
        ]
    crossed = found.families[-1]
    assert not crossed.compared and crossed.epsilon is None
    assert lines["by sex & race *"][-2:] == [f"{crossed.gap_before:.3f}", f"{crossed.gap:.3f}"]
    assert any(line.startswith("*: intersections, for information") for line in side_by_side(ahead, found))


def new(*gaps: float) -> tuple[FamilyOutlook, ...]:
    """What to expect by sex, within 0.1, and by race, within 0.3."""
    named = zip(("sex", "race"), (0.1, 0.3), gaps, strict=True)
    return tuple(FamilyOutlook(name, None, epsilon, 0.9, gap, 0.01) for name, epsilon, gap in named)


@pytest.mark.parametrize(
    ("gaps", "exceeds", "words", "way"),
    [
        (
            (0.15, 0.2),
            True,
            "A gap of 0.150 by sex is expected among new people, above epsilon 0.1 of sex",
            "sex: 0.15",
        ),
        (
            (0.05, 0.4),
            True,
            "A gap of 0.400 by race is expected among new people, above epsilon 0.3 of race",
            "race: 0.4",
        ),
        ((0.05, 0.2), False, "", ""),
    ],
)
def test_whose_epsilon_new_people_exceed(
    found: Certificate, ahead: Outlook, gaps: tuple[float, float], exceeds: bool, words: str, way: str
) -> None:
    """Each gap is held against its own epsilon: the largest one need not be too large."""
    o = replace(ahead, gap_before_estimate=0.9, gap_estimate=max(gaps), families=new(*gaps))
    assert o.exceeds is exceeds
    warned = caution(o, allowed_by(found, o))
    assert (warned is not None) is exceeds
    if warned is not None:
        assert warned.words.startswith(words)
        assert warned.ways[-1].startswith(f"a larger epsilon of {way}")


def test_promises_speak_of_each_epsilon(found: Certificate, ahead: Outlook) -> None:
    assert "each epsilon holds for them" in promise_words(found, ahead)
    c = replace(found, promise="new")
    o = replace(ahead, promise="new", gap_before_estimate=0.9, gap_estimate=0.2, families=new(0.15, 0.2))
    assert "epsilon 0.1 of sex is out of reach with these rows" in promise_words(c, o)
    assert f"Chosen: an internal epsilon of {c.inner_epsilon:.4g}" in promise_words(c, o)
    o = replace(o, families=new(0.05, 0.2))
    assert "the gap expected among new people is within each epsilon" in promise_words(c, o)


def test_whom_the_bound_is_for(found: Certificate) -> None:
    (words,) = bound_words(found)
    assert words == (
        "No score that is told no more than this one, never falls as the original one rises and has each gap within "
        f"its epsilon on these rows has an overall AUC above {found.auc_bound:.3f}."
    )
    assert bound_words(replace(found, unchanged=True)) == []


def test_few_people_are_treated_alike(found: Certificate) -> None:
    """Segments that were made one are no groups; groups that were made one are told as ever."""
    small = SmallGroups("merge", 10, (SmallGroup("M & w", 12, 5),), "other (merged)")
    said = head_lines(replace(found, small_groups=small))[-1]
    assert said == "Too few to be treated by themselves, and so treated alike: 'M & w' (12 rows, 5 positive)."
    merged = replace(found.groups[0], group="race: other (merged)")
    said = head_lines(replace(found, small_groups=small, groups=(*found.groups, merged)))[-1]
    assert said == "1 small group, 12 rows, merged into 'other (merged)': 'M & w' (12 rows, 5 positive)."


def test_whole_texts_have_what_was_worked_with(found: Certificate, ahead: Outlook) -> None:
    brief, long = (fit_text(found, ahead, a_draw(), verbose=verbose) for verbose in (False, True))
    assert "Linear program" not in brief and "at best" not in brief
    assert found.cells is not None
    assert f"Linear program: {found.cells.cells} cells of scores in 4 segments that are told apart" in long
    assert "Linear program" in certificate_text(found)


def test_odd_names_stay_on_their_line(found: Certificate, ahead: Outlook) -> None:
    odd = "one\ntwo\x1b[31m"
    families = tuple(replace(family, attribute=odd) for family in found.families)
    o = replace(ahead, families=tuple(replace(family, attribute=odd) for family in ahead.families))
    c = replace(found, families=families, told=(Told(odd, "probability", odd),))
    plain = fit_text(replace(found, told=(Told("r", "probability", "M"),)), ahead, a_draw())
    text = fit_text(c, o, a_draw())
    assert "\x1b" not in text and len(text.splitlines()) == len(plain.splitlines())


def test_summaries_have_the_gaps_of_each(found: Certificate) -> None:
    text = str(found)
    for family in found.families:
        assert f"{family.gap_before:.4f} before, {family.gap:.4f} after" in text
    assert "made from" in text and "the score, sex, race" in text
    assert "the score, r; not the group" in str(replace(found, use_group=False, told=(Told("r", "probability"),)))
