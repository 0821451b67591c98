"""New people come first, a warning says what is wrong and how to get out of it, and every figure is the outlook's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_certificate_text import a_certificate, cells

from fairroc.fitting.limits import FEWEST_ROWS
from fairroc.fitting.new_people import choice, populations
from fairroc.people.door import read_people
from fairroc.text.certificate import fit_text
from fairroc.text.outlook import (
    CHOSEN,
    auc_words,
    caution,
    chosen_words,
    limit_words,
    met,
    new_people_lines,
    promise_words,
    side_by_side,
    unchanged_words,
)
from fairroc.text.words import Allowed
from fitted_people import fitted_options
from looking_ahead import a_draw, an_outlook

HIGH = {"gap_estimate": 0.12345, "epsilon": 0.05}
HARM = {"gap_estimate": 0.21234, "gap_before_estimate": 0.20987, "epsilon": 0.05}


def test_new_people_come_first():
    o = an_outlook()
    head, columns, gap, auc, note, test_set = side_by_side(o, a_certificate())
    assert cells(head) == ["new people (expected)", "fitted people"]
    assert cells(columns) == ["before", "after"] * 2
    assert head.index("fitted people") + len("fitted people") == len(columns) == len(gap)
    assert cells(gap)[1:3] == [f"{o.gap_before_estimate:.3f}", f"{o.gap_estimate:.3f} ± {o.gap_standard_error:.3f}"]
    assert cells(auc)[1:3] == [f"{o.auc_before:.3f}", f"{o.auc_estimate:.3f} ± {o.auc_standard_error:.3f}"]
    assert "standard error" in note
    assert f"A test set of {o.rows:,} of them is expected to show a gap of about {o.test_gap_estimate:.3f}" in test_set
    assert len(side_by_side(an_outlook(test_gap_estimate=None), a_certificate())) == 5


def test_nothing_to_warn_of():
    assert caution(an_outlook()) is None
    assert "ways out" not in fit_text(a_certificate(), an_outlook(), a_draw())


@pytest.mark.parametrize("promise", ["fitted", "population"])
def test_above_epsilon_has_three_ways_out(promise):
    o = an_outlook(**HIGH, promise=promise)
    found = caution(o)
    assert f"A gap of {o.gap_estimate:.3f} is expected among new people, above epsilon {o.epsilon:g}" in found.words
    assert ("which holds for the fitted people" in found.words) == (promise == "fitted")
    rows, new, larger = found.ways
    limit = o.limited_by
    assert f"group '{limit.group}' with label {limit.label}: {limit.rows} now; about {limit.rows_to_halve}" in rows
    assert "--promise new" in new
    assert larger == f"a larger epsilon: {met(o.gap_estimate):g} is what this score is expected to keep"
    assert met(o.gap_estimate) >= o.gap_estimate
    text = fit_text(a_certificate(promise=promise), o, a_draw())
    assert text.index("fitted people") < text.index(found.words) < text.index("At 95% confidence")


def test_a_ratio_and_tolerances_are_called_so():
    """Whoever asked for a ratio must not be sent to epsilon, which is a difference of rates."""
    high, ratio = HIGH | {"gap_estimate": 0.26, "epsilon": 0.2}, Allowed(0.2, ratio=0.8)
    found = caution(an_outlook(**high), ratio)
    assert "above what ratio 0.8 allows (0.2)" in found.words and found.ways[2].startswith("a smaller ratio: 0.74 is")
    assert not any("epsilon" in words for words in (found.words, *found.ways))
    assert caution(an_outlook(**high, promise="new"), ratio).ways[1] == "a smaller ratio: 0.74 can be met"
    own = caution(an_outlook(gap_estimate=0.04, epsilon=0.02), Allowed(0.02, tolerances=(0.1, 0.02)))
    assert own.ways[2].startswith("larger tolerances: 0.2 (FPR) and 0.04 (TPR) are what")
    text = fit_text(a_certificate(epsilon=0.2, ratio=0.8, constraint="equal_opportunity"), an_outlook(), a_draw())
    assert "ratio 0.8 holds for them on average over the draw" in text and "epsilon holds" not in text


def test_nobody_drawn_has_no_draw_in_words():
    changes = {"ties": "order", "constraint": "equal_opportunity"}
    nobody = tuple(
        replace(group, randomised_share=0.0, transport_share=0.0, tie_share=0.0) for group in a_certificate().groups
    )
    drawn, none, never = (
        fit_text(a_certificate(**changes, **how), an_outlook(), a_draw(), verbose=True)
        for how in ({"draw": "few"}, {"draw": "few", "groups": nobody}, {"draw": "never", "groups": nobody})
    )
    assert "--draw all would" in drawn and "expectations over the draw" in drawn
    assert "holds for them on average over the draw" in drawn
    assert "--draw all" not in none + never
    for text in (none, never):
        assert "Figures of the fitted people are exact." in text and "epsilon holds for them;" in text
        assert "expectations over the draw" not in text and "on average over the draw" not in text
    assert "--draw all" not in fit_text(
        a_certificate(where=(0, 0.2), draw="few", **changes), an_outlook(), a_draw(), verbose=True
    )


def test_above_epsilon_reads_as_more_than_epsilon():
    assert "A gap of 0.0503 is expected" in caution(an_outlook(gap_estimate=0.05026)).words
    assert "A gap of 0.051 is expected" in caution(an_outlook(gap_estimate=0.0512)).words


def test_out_of_reach_of_new_people():
    o = an_outlook(**HIGH, promise="new")
    found = caution(o)
    assert len(found.ways) == 2 and found.words.endswith("Two ways out:")
    needed = int(np.ceil(o.limited_by.rows * (o.gap_estimate / o.epsilon) ** 2))
    assert f"roughly {needed:,}, and all others in proportion" in found.ways[0]
    assert found.ways[1] == f"a larger epsilon: {met(o.gap_estimate):g} can be met"
    for epsilon in (0.0, 1e-6):
        assert "far more" in caution(an_outlook(gap_estimate=0.1, epsilon=epsilon, promise="new")).ways[0]


def test_harm_is_said_before_everything_else():
    o = an_outlook(**HARM)
    assert o.exceeds and o.harms
    found = caution(o)
    words = f"a gap of {o.gap_estimate:.3f}, no smaller than the original score's {o.gap_before_estimate:.3f}"
    assert words in found.words and "above epsilon" not in found.words
    assert len(found.ways) == 3 and "keeps the original score" in found.ways[1]
    text = fit_text(a_certificate(), o, a_draw())
    assert text.startswith("Among new people the fair score is expected to have a gap of")
    assert text.count(found.words) == 1 and "above epsilon" not in text


def test_the_limit_to_rely_on_is_named_first():
    o = an_outlook()
    assert limit_words(o).index(f"at most {o.upper_bootstrap:.3f}") < limit_words(o).index(f"says {o.upper_dkw:.3f}")
    o = an_outlook(method="dkw", upper=0.18765)
    first, then = f"at most {o.upper_dkw:.3f} (DKW", f"says {o.upper_bootstrap:.3f}"
    assert limit_words(o).index(first) < limit_words(o).index(then)
    assert f"fewer than {FEWEST_ROWS} rows" in limit_words(o)
    o = an_outlook(upper_dkw=None, dkw_reason="rows have weights")
    assert "no DKW limit: rows have weights" in limit_words(o) and "says" not in limit_words(o)


def test_an_auc_above_the_original_one_is_shown_as_what_it_is():
    assert auc_words(an_outlook()) == "" == auc_words(an_outlook(auc=0.87654))
    assert auc_words(an_outlook(auc=0.89123, auc_estimate=0.9)) == ""
    o = an_outlook(auc=0.89123)
    assert (
        f"AUC, {o.auc:.3f}, is above the original one's, {o.auc_before:.3f}. That is peculiar to the sample"
        in auc_words(o)
    )
    assert f"expect {o.auc_estimate:.3f} of new people" in auc_words(o)
    o = an_outlook(auc=0.89123, auc_estimate=0.88123)
    assert "Part of that is peculiar to the sample" in auc_words(o)
    assert auc_words(o) in fit_text(a_certificate(), o, a_draw())
    close = auc_words(an_outlook(auc=0.75392, auc_before=0.75361, auc_estimate=0.753))
    assert "AUC, 0.7539, is above the original one's, 0.7536." in close


def test_one_draw_is_said_where_somebody_is_drawn():
    o, drawn = an_outlook(), a_draw()
    told = new_people_lines(o, drawn)[-1]
    assert f"a gap of about {drawn.gap:.3f} ({drawn.expected:.3f} on average over all draws)" in told
    assert f"exceeds {drawn.upper:.3f}" in told
    assert not any("drawn once" in line for line in new_people_lines(o, a_draw(draws=0)))


@pytest.mark.parametrize(
    ("changes", "outlook", "words"),
    [
        ({}, {}, "Promise for the fitted people: epsilon holds for them on average over the draw"),
        ({"promise": "new"}, {}, "the gap expected among new people is within epsilon. Nothing is forced"),
        ({"promise": "new"}, HIGH, "epsilon 0.05 is out of reach with these rows at a price worth paying"),
        (
            {"promise": "population", "confidence": 0.9, "allowed": 0.0321},
            {},
            "at 90% confidence the gap among all people is within epsilon, so only 0.0321 is allowed",
        ),
        (
            {"promise": "population", "confidence": 0.9, "allowed": 0.05, "unchanged": True},
            {},
            "at 90% confidence the gap among all people is within epsilon.",
        ),
    ],
)
def test_the_promise_is_said_plainly(changes, outlook, words):
    assert words in promise_words(a_certificate(**changes), an_outlook(**outlook))


def test_what_was_chosen_is_said_in_words():
    assert chosen_words(a_certificate(curve="shift, 75% of the way")) == (
        "Chosen: a shift of each group's scores, 75% of the way."
    )
    assert chosen_words(a_certificate(unchanged=True)) == "Chosen: the original score."
    for name, words in CHOSEN.items():
        assert chosen_words(a_certificate(curve=name)) == f"Chosen: {words}."
    assert chosen_words(a_certificate(curve="smooth")) == "Chosen: smooth."  # of an older model


@pytest.mark.parametrize("draw", ["few", "never"])
def test_every_candidate_has_words(draw):
    rng = np.random.default_rng(5)
    groups, y = rng.choice(["a", "b"], 400), rng.random(400) < 0.4
    scores = rng.normal(1.2 * y + 0.5 * (groups == "a"))
    people = read_people(scores, y, sensitive_features=groups)
    found = choice(people, fitted_options(epsilon=0.1).fairness, draw, populations(people))
    assert {candidate.name.partition(",")[0] for candidate in found.candidates[1:]} <= set(CHOSEN)


@pytest.mark.parametrize(
    ("promise", "outlook", "words"),
    [
        ("fitted", {}, "The score already meets epsilon (gap 0.050)"),
        ("population", {}, "The score already meets epsilon (gap 0.050)"),
        ("new", {}, "The original score's gap among new people is expected to be within epsilon"),
        ("new", HIGH, "No other score is expected to be clearly better for new people"),
    ],
)
def test_why_a_score_stays_as_it_is(promise, outlook, words):
    told = unchanged_words(a_certificate(promise=promise, unchanged=True), an_outlook(**outlook))
    assert told == f"{words}: it stays as it is."


def test_new_people_are_not_told_that_epsilon_was_kept_on_these_rows():
    text = fit_text(
        a_certificate(promise="new", curve="walk", ties="order", draw="few"),
        an_outlook(promise="new"),
        a_draw(),
        verbose=True,
    )
    assert "is kept on these rows" not in text and "--draw all" not in text
