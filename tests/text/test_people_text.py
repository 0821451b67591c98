"""Gaps in people: the sentence of every constraint, and the word for a positive decision."""

from __future__ import annotations

from typing import Any

import pytest

from fairroc.core.constraint import Difference, Distance, LpDistance, Ratio, equalized_odds, own_tolerances
from fairroc.errors import DataError
from fairroc.options import IN_PEOPLE, check_positive_means
from fairroc.text.people import epsilon_words, people_words

SUM = "of 100 positives and of 100 negatives in each group, the differences between two groups in how many are selected"
EACH = "of 100 people with the same true label in each group, at most 5 more are selected in one group than in another"


@pytest.mark.parametrize(
    ("constraint", "epsilon", "words"),
    [
        (equalized_odds(1), 0.05, f"Epsilon 0.05: at every threshold, {SUM} add up to at most 5."),
        (equalized_odds("inf"), 0.05, f"Epsilon 0.05: at every threshold, {EACH}."),
        (LpDistance(2), 0.05, f"Epsilon 0.05: at every threshold, {EACH}."),
        (
            own_tolerances(0.1, 0.02),
            0.02,
            "Tolerances 0.1 (FPR) and 0.02 (TPR): at every threshold, of 100 negatives at most 10 and of 100 positives "
            "at most 2 more are selected in one group than in another.",
        ),
        (
            Difference("fpr"),
            0.05,
            "Epsilon 0.05: at every threshold, of 100 people with a negative label in each group, at most 5 more are "
            "selected in one group than in another.",
        ),
        (
            Ratio("selection", (0, 0.2)),
            0.2,
            "Ratio 0.8: at every threshold at which 0% to 20% of people are selected, of equally many people in "
            "each group, for every 100 selected in one group at least 80 are selected in any other.",
        ),
        (equalized_odds("inf"), 1, "Epsilon 1: at every threshold, any difference is allowed."),
        (
            Difference("tpr"),
            0,
            "Epsilon 0: at every threshold, of people with a positive label, the same share is selected in every "
            "group.",
        ),
    ],
)  # fmt: skip
def test_what_is_asked_for(constraint: Distance, epsilon: float, words: str) -> None:
    assert epsilon_words(constraint, epsilon) == words
    assert epsilon_words(constraint, epsilon, "flagged") == words.replace(" selected", " flagged")


def test_help_says_the_same() -> None:
    assert people_words(equalized_odds(1), 0.05) == IN_PEOPLE


def test_what_is_measured() -> None:
    assert people_words(equalized_odds(1), 0.15404, measured=True) == f"{SUM} add up to about 15"
    words = people_words(Ratio("tpr"), 0.268, measured=True)
    assert "for every 100 selected in one group about 73 are selected in another" in words


@pytest.mark.parametrize(
    ("ratio", "people"),
    [(0.8, "100|80"), (0.995, "1,000|995"), (0.9999, "10,000|9,999"), (1 / 3, "10,000|about 3,333")],
)
def test_a_ratio_is_not_rounded_up(ratio: float, people: str) -> None:
    base, count = people.split("|")
    words = f"for every {base} selected in one group at least {count} are selected in any other"
    assert words in people_words(Ratio("tpr"), 1 - ratio)


@pytest.mark.parametrize(
    ("gap", "people"),
    [(0.01, "100|1"), (0.015, "1,000|15"), (0.0154, "1,000|about 15"), (0.0525, "100|about 5"),
     (0.00012, "10,000|about 1"), (1 / 3, "100|about 33")],
)  # fmt: skip
def test_of_how_many_people(gap: float, people: str) -> None:
    base, count = people.split("|")
    words = people_words(Difference("selection"), gap, measured=True)
    assert words == f"of {base} people in each group, {count} more are selected in one group than in another"


def test_less_than_can_be_counted() -> None:
    assert people_words(equalized_odds(1), 1e-6).endswith("almost the same share is selected in every group")


@pytest.mark.parametrize("word", ["flagged", "sent to review", "co-opted", "ausgewählt", " put  aside "])
def test_words_of_users(word: str) -> None:
    assert check_positive_means(word) == " ".join(word.split())


@pytest.mark.parametrize("word", ["", " ", "a b c d", "<b>", "x" * 31, "flag\u202eged", "1", None, 7, "-"])
def test_words_that_are_none(word: Any) -> None:
    with pytest.raises(DataError, match=r"positive_means .* must be one to three plain words .* got .* Try 'flagged'"):
        check_positive_means(word)
