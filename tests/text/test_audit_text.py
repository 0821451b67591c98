"""The text of an audit says what the audit says, aloud."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from fairroc.auditing.audit import audit
from fairroc.auditing.findings import Audit, GapInterval
from fairroc.core.constraint import equalized_odds
from fairroc.text.audit import audit_text
from fairroc.text.people import epsilon_words, people_words


@pytest.fixture(scope="module")
def found() -> Audit:
    rng = np.random.default_rng(3)
    scores, groups = rng.random(800), rng.choice(["left", "right"], 800)
    return audit(scores, rng.random(800) < scores, sensitive_features=groups, epsilon=0.01, threshold=0.5)


def row(text: str, head: str, name: str) -> list[str]:
    """Cells of the line of a name, in the table whose head begins so."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(head))
    return re.split(r"\s{2,}", next(line for line in lines[begin:] if line.startswith(name)))


def test_every_figure_is_there(found: Audit) -> None:
    text = audit_text(found, verbose=True)
    low, high = found.gap_interval.bootstrap
    assert f"it lies between {low:.3f} and {high:.3f} (95% confidence, bootstrap)" in text
    low, high = found.gap_interval.dkw
    assert f"(safe limits for any sample size, DKW: between {low:.3f} and {high:.3f})" in text
    low, high = found.auc_interval
    assert f"Overall AUC {found.auc:.3f} (between {low:.3f} and {high:.3f}, 95% confidence)." in text
    assert people_words(equalized_odds(1), found.gap, measured=True) in text
    assert epsilon_words(equalized_odds(1), 0.01) in text
    for g in found.groups:
        span = f"{g.auc_interval[0]:.3f} to {g.auc_interval[1]:.3f}"
        figures = (g.bnsp_auc, g.bpsn_auc, g.calibration.error, *g.band.bootstrap)
        cells = [f"{g.rows:,}", f"{g.positives:,}", f"{g.auc:.3f}", span, *(f"{x:.3f}" for x in figures)]
        assert row(text, "group", g.group) == [g.group, *cells]
    for g in found.decision.groups:
        figures = (g.selection_rate, g.tpr, g.fpr, g.precision, g.accuracy)
        assert row(text, "If everyone with score >= 0.5", g.group) == [g.group, *(f"{x:.3f}" for x in figures)]
    cross = {(c.positives, c.negatives): f"{c.auc:.3f}" for c in found.cross_aucs}
    own = [f"{g.auc:.3f}" for g in found.groups]
    assert row(text, "Chance that a positive of one group (row)", "left") == ["left", own[0], cross["left", "right"]]
    for share in ("disparate_impact", "demographic_parity_difference", "equal_opportunity_difference"):
        assert f": {getattr(found.decision, share):.3f}" in text
    assert f"|dFPR| + |dTPR| {found.decision.equalized_odds_l1:.3f}" in text


def test_details_are_for_who_asks(found: Audit) -> None:
    brief = audit_text(found)
    assert "DKW" not in brief and "±" not in brief and "(row)" not in brief
    assert set(brief.splitlines()) - set(audit_text(found, verbose=True).splitlines()) <= {
        line for line in brief.splitlines() if line.startswith(("group", "left", "right"))
    }


def test_users_have_their_own_word(found: Audit) -> None:
    text = audit_text(found, positive_means="sent to review")
    assert "selected" not in text and "If everyone with score >= 0.5 is sent to review:" in text
    assert row(text, "group", "group")[0] == "group" and "group  sent to review" in text


def test_a_gap_above_epsilon_reads_as_above_it(found: Audit) -> None:
    assert ": 0.0502\n" in audit_text(replace(found, gap=0.0502, epsilon=0.05, fair=False))
    assert ": 0.050\n" in audit_text(replace(found, gap=0.0502, epsilon=None, fair=None))


@pytest.mark.parametrize(
    ("interval", "gap", "words"),
    [
        (
            (0.2, 0.4),
            0.3,
            "NOT within epsilon = 0.1 at every threshold, and neither is any of the interval: chance does not explain",
        ),
        (
            (0.05, 0.4),
            0.3,
            "NOT within epsilon = 0.1 at every threshold on these rows, but the interval extends down to it",
        ),
        (
            (0.0, 0.2),
            0.05,
            "is within epsilon = 0.1 at every threshold on these rows, but the interval extends beyond it",
        ),
        ((0.0, 0.09), 0.05, "is within epsilon = 0.1 at every threshold, and so is the whole interval."),
    ],
)
def test_the_verdict_knows_doubt(found: Audit, interval: tuple[float, float], gap: float, words: str) -> None:
    told = GapInterval(0.95, (0.0, 2.0), interval)
    assert words in audit_text(replace(found, gap=gap, gap_interval=told, epsilon=0.1, fair=gap <= 0.1))


def test_a_ratio_is_told_where_enough_people_are_selected() -> None:
    rng = np.random.default_rng(8)
    group, y = rng.integers(0, 2, 2000), rng.random(2000) < 0.5
    found = audit(rng.normal(y + 0.2 * group), y, sensitive_features=group, constraint="equal_opportunity", ratio=0.5)
    interval, text = found.gap_interval, audit_text(found)
    assert f"Smallest ratio at one threshold (smallest over largest TPR): {found.smallest_ratio:.3f}" in text
    assert f"  Where 5% to 100% of people are selected it is {1 - interval.gap:.3f}; fewer say little" in text
    assert f"that lies between {1 - interval.bootstrap[1]:.3f} and {1 - interval.bootstrap[0]:.3f} (95%" in text
    assert "The ratio is NOT at least 0.5 at every threshold" in text
    sure = replace(found, gap_interval=replace(interval, bootstrap=(0.1, 0.4)))
    assert "but the whole interval is where 5% to 100% of people are selected." in audit_text(sure)


def test_windows_and_own_tolerances_are_told() -> None:
    rng = np.random.default_rng(9)
    rows = {"y": rng.random(2000) < 0.5, "sensitive_features": rng.integers(0, 2, 2000)}
    scores = rng.normal(rows["y"])
    text = audit_text(audit(scores, **rows, where=(0.0, 0.25), epsilon=0.4, norm=2))
    assert "(L-2 distance of (FPR, TPR), where 0% to 25% of people are selected): " in text
    assert "The gap is within epsilon = 0.4 at every threshold at which 0% to 25% of people are selected" in text
    text = audit_text(audit(scores, **rows, epsilon={"fpr": 0.5, "tpr": 0.25}))
    assert "(larger of 0.5 |dFPR| and 1 |dTPR|): " in text
    assert "The gaps are within 0.5 (FPR) and 0.25 (TPR) at every threshold" in text


def test_what_is_missing_is_said() -> None:
    rng = np.random.default_rng(4)
    scores, groups = 3 * rng.random(800), rng.choice(["left", "right"], 800)
    rows = {"sensitive_features": groups, "sample_weight": rng.random(800)}
    text = audit_text(audit(scores, rng.random(800) < 0.5, **rows, threshold=9), verbose=True)
    assert "(no safe limits: DKW needs rows of equal weight" in text
    assert "No interval for an AUC: DeLong's interval needs rows of equal weight" in text
    assert "No calibration: scores must lie in [0, 1]" in text and "calibration error" not in text
    assert "Disparate impact: undefined, nobody is selected" in text
    assert row(text, "If everyone", "left") == [
        "left",
        "0.000",
        "0.000",
        "0.000",
        "none",
        row(text, "If everyone", "left")[-1],
    ]
    text = audit_text(audit(scores, rng.random(800) < 0.5, **rows, bootstrap=0), verbose=True)
    assert "No interval: DKW needs rows of equal weight" in text and "no bootstrap draws were asked for." in text
    assert "±" not in text
    del rows["sample_weight"]
    assert "(95% confidence, DKW)" in audit_text(audit(scores, rng.random(800) < 0.5, **rows, bootstrap=0))


def test_four_fifths_rule_is_told(found: Audit) -> None:
    for meets, words in ((True, ", meets the four-fifths rule"), (False, ", does NOT meet the four-fifths rule")):
        assert words in audit_text(replace(found, decision=replace(found.decision, four_fifths=meets)))


def test_many_groups_show_the_extremes_only() -> None:
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 7, 1400)
    found = audit(rng.random(1400), np.arange(1400) % 2, sensitive_features=groups, bootstrap=0)
    low, high = (pick(found.cross_aucs, key=lambda c: c.auc) for pick in (min, max))
    text = audit_text(found, verbose=True)
    assert f"lowest {low.auc:.3f} for '{low.positives}' above '{low.negatives}'" in text
    assert f"highest {high.auc:.3f} for '{high.positives}' above '{high.negatives}'" in text
    assert "(row)" not in text


@pytest.mark.parametrize("labelled", [True, False])
def test_of_many_groups_those_are_listed_that_tell_most(labelled: bool) -> None:
    rng = np.random.default_rng(6)
    groups, scores = np.arange(12_000) % 60, rng.random(12_000)
    shifted = scores + 0.3 * rng.random(60)[groups]
    found = audit(
        shifted,
        rng.random(12_000) < scores if labelled else None,
        sensitive_features=[f"g{g}" for g in groups],
        bootstrap=0,
        threshold=0.5,
        constraint="equalized_odds" if labelled else "demographic_parity",
    )
    first, second = audit_text(found).split("If everyone")
    listed = {line.split()[0] for line in first.splitlines() if re.match(r"g\d+ ", line)}
    assert "Of 60 groups, the two farthest apart" in first and "(all: --format json)" in first
    assert {*found.gap_pair} <= listed and len(listed) <= 12
    if labelled:
        lowest = [min(found.groups, key=lambda g: getattr(g, rate)).group for rate in ("bnsp_auc", "bpsn_auc")]
        assert {*lowest} <= listed
        assert "No AUCs across groups: there is one for every two of 60 groups" in first
        assert found.cross_aucs == () and "60 groups" in found.to_dict()["cross_aucs_reason"]
    rates = sorted(found.decision.groups, key=lambda g: g.selection_rate)
    ends = {line.split()[0] for line in second.splitlines() if re.match(r"g\d+ ", line)}
    assert "(of 60 groups, both ends)" in second and ends == {g.group for g in (*rates[:5], *rates[-5:])}
