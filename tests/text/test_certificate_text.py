"""Results as text: every number printed is one of the result's, rounded; odd names stay on their line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from unicodedata import category

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.auditing.findings import Audit, GroupAudit
from fairroc.core.constraint import equalized_odds
from fairroc.core.roc import PlaLoss
from fairroc.fitting.certificate import Certificate, GroupCertificate, certify
from fairroc.fitting.fit import fit
from fairroc.fitting.limits import Limit
from fairroc.fitting.one_draw import one_draw
from fairroc.fitting.outlook import outlook
from fairroc.people.door import read_people
from fairroc.text.audit import audit_text
from fairroc.text.certificate import fit_text, tie_words
from fairroc.text.people import epsilon_words
from fairroc.text.words import NAME_WIDTH, beyond, norm_words, short, table
from fitted_people import fitted_options
from looking_ahead import a_draw, an_outlook

NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?%?")
UNIT = st.floats(0, 1)
SIZES = st.integers(0, 10**9)
ODD = {
    "long": "x" * 200,
    "emoji": "👩‍👩‍👧 family 🏳️‍🌈" * 9,
    "line breaks": "one\ntwo\r\nthree\u2028four\x85five\x0bsix",
    "tags": "<b>bold</b><script>alert(1)</script>",
    "control": "red \x1b[31malert\x07\x00 \x9b31m",
    "tab": "\tleft\t\tright\t",
    "empty": "",
    "half a character": "\ud83d",
}
ANY_NAME = st.text(st.characters(), max_size=60)


def an_audit(names: Sequence[str] = ("a", "b"), **changes: object) -> Audit:
    groups = tuple(GroupAudit(name, 1234 + i, 567 + i, 0.61234 + i / 64) for i, name in enumerate(names))
    values = {
        "rows": 24690,
        "norm": 1.0,
        "auc": 0.70128,
        "gap": 0.25316,
        "gap_threshold": 0.4375,
        "gap_pair": tuple(names[:2]),
        "curve_gap": 0.13579,
        "epsilon": None,
        "fair": None,
        "groups": groups,
    }
    return Audit(**{**values, **changes})


def a_certificate(names: Sequence[str] = ("a", "b"), loss: PlaLoss | None = None, **changes: object) -> Certificate:
    groups = tuple(
        GroupCertificate(name, 3456 + i, 789 + i, 0.81, 0.82, 0.84, 0.83, 0.72, 0.625, 0.095, loss)
        for i, name in enumerate(names)
    )
    values = {
        "epsilon": 0.05,
        "norm": 1,
        "method": "optimal",
        "ties": "draw",
        "draw": "all",
        "inner_epsilon": 0.04,
        "unchanged": False,
        "rows": 6913,
        "levels": 47,
        "auc_before": 0.87654,
        "auc": 0.85432,
        "auc_bound": 0.86543,
        "gap_before": 0.34567,
        "gap": 0.04999,
        "groups": groups,
        "seconds": 98765.0,
    }
    return Certificate(**{**values, **changes})


def text_of(certificate: Certificate, names: Sequence[str] = ("a", "b"), *, verbose: bool = True) -> str:
    """The text of a fit that promises nothing wrong to new people."""
    ahead = an_outlook(limited_by=Limit(names[0], 1, 60, 0.125, 240))
    return fit_text(certificate, ahead, a_draw(), verbose=verbose)


def numbers(text: str) -> list[str]:
    """All numbers of a text but those inside quotes, those of "L-p" and those of people, which have their own tests."""
    in_people = "^(  There, |Epsilon |Ratio |Tolerances ).*$"
    return NUMBER.findall(re.sub(rf"'[^']*'|L-\S+|{in_people}", "", text, flags=re.M))


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def words_of(audited: Audit) -> list[str]:
    """The numbers that the text of an audit must hold, in order."""
    head = [f"{audited.rows:,}", str(len(audited.groups)), f"{audited.auc:.3f}"]
    beyond_ = audited.fair is False and audited.epsilon is not None
    head += [beyond(audited.gap, audited.epsilon) if beyond_ else f"{audited.gap:.3f}"]
    head += [f"{audited.gap_threshold:.6g}", f"{audited.curve_gap:.3f}"]
    head += [] if audited.epsilon is None else [f"{audited.epsilon:.4g}"]
    return head + [word for g in audited.groups for word in (f"{g.rows:,}", f"{g.positives:,}", f"{g.auc:.3f}")]


@st.composite
def audits(draw: st.DrawFn) -> Audit:
    names = ["a", "b", "c", "d"][: draw(st.integers(2, 4))]
    epsilon = draw(st.none() | st.floats(0, 2))
    gap = draw(st.floats(0, 2))
    return Audit(
        rows=draw(SIZES),
        norm=draw(st.sampled_from([1.0, 2.0, 3.5, math.inf])),
        auc=draw(UNIT),
        gap=gap,
        gap_threshold=draw(st.floats(-1e300, 1e300)),
        gap_pair=("a", "b"),
        curve_gap=draw(UNIT),
        epsilon=epsilon,
        fair=None if epsilon is None else gap <= epsilon,
        groups=tuple(GroupAudit(name, draw(SIZES), draw(SIZES), draw(UNIT)) for name in names),
    )


@given(audits())
def test_every_number_of_an_audit_is_the_results(audited: Audit) -> None:
    text = audit_text(audited, verbose=True)
    assert numbers(text) == words_of(audited)
    assert "'a' and 'b'" in text


@pytest.mark.parametrize(
    ("epsilon", "fair", "verdict"),
    [(0.3, True, "is within epsilon = 0.3"), (0.1, False, "is NOT within epsilon = 0.1")],
)
def test_verdict(epsilon: float, fair: bool, verdict: str) -> None:
    assert verdict in audit_text(an_audit(epsilon=epsilon, fair=fair))


def test_no_epsilon_no_verdict() -> None:
    assert "epsilon" not in audit_text(an_audit())


@pytest.mark.parametrize(
    ("norm", "words"),
    [
        (1.0, "|dFPR| + |dTPR|"),
        (1, "|dFPR| + |dTPR|"),
        (math.inf, "larger of |dFPR| and |dTPR|"),
        ("inf", "larger of |dFPR| and |dTPR|"),
        (2.0, "L-2 distance of (FPR, TPR)"),
        (3.5, "L-3.5 distance of (FPR, TPR)"),
    ],
)
def test_norm_words(norm: float | str, words: str) -> None:
    assert norm_words(norm) == words
    if not isinstance(norm, str):
        assert f"({words})" in audit_text(an_audit(norm=float(norm)))


def test_every_number_of_a_certificate_is_the_results() -> None:
    lines = text_of(a_certificate()).splitlines()
    assert numbers(lines[0]) == ["6,913", "2", "0.05"]
    rows = {cells(line)[0]: cells(line)[1:] for line in lines}
    assert rows["largest gap at any threshold"] == ["0.321", "0.043 ± 0.012", "0.346", "0.050"]
    assert rows["overall AUC"] == ["0.877", "0.849 ± 0.009", "0.877", "0.854"]
    assert "No score with a gap of at most 0.05 on these rows has an overall AUC above 0.865." in lines
    assert rows["group"] == ["rows", "AUC before", "after", "at best", "drawn", "to be fair", "ties only"]
    assert rows["a"] == ["3,456", "0.810", "0.830", "0.840", "72.0%", "62.5%", "9.5%"]
    assert rows["b"] == ["3,457", "0.810", "0.830", "0.840", "72.0%", "62.5%", "9.5%"]
    assert "47 levels" in text_of(a_certificate())
    ahead = 3 + 4 + 5  # limits, one draw, who is least certain
    counted = (
        3 + 5 + 2 + 5 + 7 + 7 + 2 + 2 + 1 + ahead
    )  # head, all people, a test set, groups, drawn, bound, levels: none besides
    assert len(numbers("\n".join(lines))) == counted


@pytest.mark.parametrize(
    ("least", "bound", "words"),
    [
        (None, None, "."),
        (0.03, 0.8612, "; none that draws nobody and keeps different scores of a group apart has one above 0.861."),
        (0.19, None, "; none that draws nobody and keeps different scores of a group apart has so small a gap (the "
         "least is about 0.190)."),
    ],
)  # fmt: skip
def test_both_bounds_are_told(least, bound, words) -> None:
    stated = a_certificate(least_gap_without_draw=least, auc_bound_without_draw=bound)
    assert f"No score with a gap of at most 0.05 on these rows has an overall AUC above 0.865{words}" in text_of(stated)
    told = f"{bound} where nobody is drawn" if bound else f"without a draw the least gap is about {least or 0:.4f}"
    assert (told in str(stated)) == (least is not None)


def test_many_drawn_are_told_once() -> None:
    """By the certificate where a draw was asked for, else by the fit's warning."""
    way = "Nobody is drawn with draw='never' (--draw never) or from an epsilon of 0.19 on with draw='few'."
    asked = a_certificate(drawn=0.72, least_gap_without_draw=0.19)
    assert f"A draw decides for 72.0% of people (72.0% of group 'a'). {way}" in text_of(asked)
    assert "A draw decides" not in text_of(replace(asked, draw="few"))
    few = tuple(replace(group, randomised_share=0.05) for group in asked.groups)
    assert "A draw decides" not in text_of(replace(asked, groups=few))
    one = text_of(a_certificate(drawn=0.72, draw="few", constraint="equal_opportunity"))
    assert "A draw decides for 72.0% of people (72.0% of group 'a').\n" in one


def test_certificate_of_a_real_fit() -> None:
    rng = np.random.default_rng(4)
    scores, groups = rng.random(800), rng.choice(["left", "right"], 800)
    labels = rng.random(800) < np.where(groups == "left", scores, 0.5)
    fitted = fit(
        read_people(scores, labels, sensitive_features=groups), fitted_options(epsilon=0.02, draw="all"), salt=1
    )
    c = certify(fitted)
    o = outlook(fitted)
    rows = {cells(line)[0]: cells(line)[1:] for line in fit_text(c, o, one_draw(fitted)).splitlines()}
    new = [f"{o.gap_before_estimate:.3f}", f"{o.gap_estimate:.3f} ± {o.gap_standard_error:.3f}"]
    assert rows["largest gap at any threshold"] == [*new, f"{c.gap_before:.3f}", f"{c.gap:.3f}"]
    new = [f"{o.auc_before:.3f}", f"{o.auc_estimate:.3f} ± {o.auc_standard_error:.3f}"]
    assert rows["overall AUC"] == [*new, f"{c.auc_before:.3f}", f"{c.auc:.3f}"]
    for g in c.groups:
        aucs = [f"{g.auc_before:.3f}", f"{g.auc:.3f}", f"{g.auc_fair:.3f}"]
        assert rows[g.group] == [f"{g.rows:,}", *aucs, f"{g.randomised_share:.1%}"]


PRIVATE = ("level", "internal", "raw order", "Ties", "DKW", "bootstrap", "curve", "hull", "transport", "Chosen")


def test_words_of_our_own_are_for_who_asks() -> None:
    for changes in (
        {},
        {"ties": "order", "draw": "few"},
        {"promise": "new", "curve": "walk"},
        {"loss": PlaLoss(0.25, 0.5)},
    ):
        brief = text_of(a_certificate(**changes), verbose=False)
        assert not [word for word in PRIVATE if word in brief]
        assert any(word in text_of(a_certificate(**changes)) for word in PRIVATE)
    assert epsilon_words(equalized_odds(1), 0.05) in text_of(a_certificate(), verbose=False)
    assert "selected" not in fit_text(a_certificate(), an_outlook(), a_draw(), positive_means="flagged")


def test_unchanged_score_is_told() -> None:
    text = text_of(a_certificate(unchanged=True, gap=0.0123))
    assert "already meets epsilon (gap 0.012)" in text
    assert "Ties: as in the original score." in text
    assert "already meets" not in text_of(a_certificate())


def test_tie_words() -> None:
    assert tie_words(a_certificate()) == "drawn."
    assert tie_words(a_certificate(ties="order", draw="few")) == "raw order kept (internal epsilon 0.04)."


def test_query_model_tells_the_loss_of_each_group() -> None:
    text = text_of(a_certificate(loss=PlaLoss(0.01234, 0.56789)))
    told = [line for line in text.splitlines() if line.startswith("Query model")]
    assert [numbers(line) for line in told] == [["0.012", "0.568"]] * 2
    assert "group 'a'" in told[0] and "group 'b'" in told[1]
    assert "Query model" not in text_of(a_certificate())


@pytest.mark.parametrize("name", ODD.values(), ids=ODD.keys())
def test_odd_names_keep_to_their_line(name: str) -> None:
    assert_laid_out([name, "plain"])


@given(st.lists(ANY_NAME, min_size=2, max_size=4))
def test_any_names_keep_to_their_line(names: list[str]) -> None:
    assert_laid_out(names)


def assert_laid_out(names: list[str]) -> None:
    """As many lines as with plain names, none of them much longer, no control characters, numbers in their places."""
    plain = [f"n{i}" for i in range(len(names))]
    loss = PlaLoss(0.25, 0.5)
    for odd, usual in (
        (audit_text(an_audit(names)), audit_text(an_audit(plain))),
        (text_of(a_certificate(names, loss), names), text_of(a_certificate(plain, loss), plain)),
    ):
        lines, model = odd.splitlines(), usual.splitlines()
        assert len(lines) == len(model)
        assert all(len(one) <= len(other) + 2 * NAME_WIDTH for one, other in zip(lines, model, strict=True))
        assert not [letter for letter in odd if category(letter) in ("Cc", "Cs") and letter != "\n"]
    table_lines = audit_text(an_audit(names)).splitlines()[-len(names) :]
    for i, line in enumerate(table_lines):
        assert line.endswith(f"1,{234 + i}        {567 + i}  {0.61234 + i / 64:.3f}")
        assert line.startswith(short(names[i]))


def test_short_keeps_plain_names_and_the_start_of_long_ones() -> None:
    for name in ("F", "Amer-Indian & M", "x" * NAME_WIDTH, "<b>", "👩‍👩‍👧"):
        assert short(name) == name
    assert short("x" * (NAME_WIDTH + 1)) == "x" * (NAME_WIDTH - 1) + "…"
    assert short("a\n  b\x00c") == "a b c"


def test_table_is_aligned() -> None:
    assert table(["group", "n"], [["long name", "1"], ["b", "1,000"]]) == [
        "group          n",
        "long name      1",
        "b          1,000",
    ]
