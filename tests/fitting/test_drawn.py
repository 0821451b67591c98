"""Everybody is told how many people a draw decides for, in which group and at which threshold, and what is without."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import EPSILONS, Rows, acceptance, all_thresholds, even_rows, fitted, normal_rows, worlds

from fairroc import FairrocWarning, choose_threshold
from fairroc.cli.main import main
from fairroc.core.strand import strands_of
from fairroc.core.walk import best_walk
from fairroc.fitting import walking
from fairroc.fitting.certificate import certify
from fairroc.fitting.fit import MANY_DRAWN
from fairroc.fitting.one_draw import one_draw
from fairroc.fitting.outlook import outlook
from fairroc.fitting.thresholds import Aim, choose_threshold_of
from fairroc.model.tables import hanging_shares
from fairroc.report import page as pages
from fairroc.report.data import gather
from fairroc.report.view import cards
from fairroc.text.certificate import certificate_text, choice_text, fit_text
from fairroc.text.frontier import frontier_text, recommended_words
from fitted_people import FairROC, fitted_report, frontier
from strategies import NORMS

SENTENCE = re.compile(r"A draw decides for (\S+)% of people \((\S+)% of group '(.+)'\)\. Nobody is drawn with (.*)\.")
ROWS = even_rows(1200)


def warned(rows: Rows = ROWS, **how) -> tuple[FairROC, list[str]]:
    """A fit, and what it says of draws."""
    post = FairROC(**{"epsilon": 0.05, "salt": 1} | how)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        post.fit(rows.scores, rows.y, sensitive_features=rows.groups)
    return post, [str(each.message) for each in seen if SENTENCE.match(str(each.message))]


# -- the bound of scores that draw nobody and keep all scores apart ----------------------------------------------------


def keeps_apart(done, rows: Rows) -> bool:
    """Whether nobody is drawn and people of one group share a fair score only where they shared the original one."""
    if done.model.needs_ids:
        return False
    fair = done.model.transform(rows.scores, sensitive_features=rows.groups)
    parts = [rows.groups == name for name in np.unique(rows.groups)]
    return all(len(np.unique(fair[part])) == len(np.unique(rows.scores[part])) for part in parts)


@settings(max_examples=20)
@given(worlds(max_groups=4), EPSILONS | st.sampled_from([0.2, 0.5, 1.0]), NORMS, st.sampled_from(["few", "never"]))
def test_no_score_without_a_draw_exceeds_the_bound(rows, epsilon, norm, draw) -> None:
    done = fitted(rows, epsilon, norm, draw)
    stated = certify(done)
    bound = stated.auc_bound_without_draw
    assert bound is None or bound <= stated.auc_bound
    assert stated.unchanged or (bound is None) == (stated.least_gap_without_draw > epsilon + 1e-12)
    if keeps_apart(done, rows) and not stated.unchanged:
        assert stated.auc <= bound


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_one_at_all_scores(seed, monkeypatch) -> None:
    """Walks are found on few points; what no score exceeds is looked for on all."""
    rows = normal_rows(seed, n=2500, groups=2 + seed % 2)
    for name, points in (("POINTS", 64), ("FEWEST_POINTS", 32)):
        monkeypatch.setattr(walking, name, points)
    done = fitted(rows, 0.3, 1, "never")
    exact = done.people.exact
    best = best_walk(strands_of(exact.curves, exact.weights0, exact.weights1, done.model.fairness), 0.3)
    bound = done.solver.walks.most_auc(0.3)
    assert len(done.solver.walks.curves[0].thresholds) < len(exact.curves[0].thresholds)
    apart = done.solver.walks.apart(done.solver._goal(0.3))
    assert max(apart.performance.auc, best.auc) <= bound <= best.auc + 0.01


def test_other_constraints_have_no_such_bound() -> None:
    post, _ = warned(constraint="equal_opportunity")
    assert (post.certificate_.auc_bound_without_draw, post.certificate_.least_gap_without_draw) == (None, None)


# -- one sentence, with the way out ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "way"),
    [
        ({}, r"draw='never' \(--draw never\) or from an epsilon of 0\.\d+ on"),
        ({"epsilon": {"fpr": 0.03, "tpr": 0.03}}, r"draw='never' \(--draw never\)"),
        ({"queries": 20}, r"method='optimal', no queries and draw='never' \(--method optimal --draw never\)"),
        ({"method": "froc"}, r"method='optimal', no queries and draw='never' \(--method optimal --draw never\)"),
    ],
    ids=["plain", "tolerances", "queries", "froc"],
)
def test_who_is_drawn_is_said_once_with_a_way_out(how, way) -> None:
    post, said = warned(**how)
    stated = post.certificate_
    most = max(stated.groups, key=lambda group: group.randomised_share)
    ((whole, share, group, ways),) = (SENTENCE.match(each).groups() for each in said)
    assert (whole, share) == (f"{100 * stated.drawn:.1f}", f"{100 * most.randomised_share:.1f}") and group == most.group
    assert most.randomised_share > MANY_DRAWN and re.fullmatch(way, ways)
    told = fit_text(stated, post.outlook_, post.one_draw_)
    assert "A draw decides" not in told and "Drawn: share of people" in told


def test_the_way_out_leads_out() -> None:
    post, (said,) = warned()
    least = float(re.search(r"epsilon of (\S+) on", said)[1])
    assert post.certificate_.least_gap_without_draw <= least < post.certificate_.least_gap_without_draw + 0.001
    for how in ({"draw": "never"}, {"epsilon": least + 0.002}):
        free, said = warned(**how)
        assert not free.model_.needs_ids and said == []


@pytest.mark.parametrize("how", [{"draw": "all"}, {"draw": "never"}, {"constraint": "equal_opportunity"}])
def test_nobody_is_warned_of_what_was_asked_for(how) -> None:
    assert warned(**how)[1] == []


def test_new_people_can_do_without_a_draw() -> None:
    rows = normal_rows(3, n=900)
    said = [each for epsilon in (0.02, 0.05) for each in warned(rows, epsilon=epsilon, promise="new")[1]]
    assert all(each.endswith("Nobody is drawn with draw='never' (--draw never).") for each in said)
    post, said = warned(rows, epsilon=0.02, promise="new", draw="never")
    assert not said and not post.model_.needs_ids and not post.model_.unchanged


def test_the_command_says_it_once(tmp_path, capsys) -> None:
    table = tmp_path / "people.csv"
    lines = [f"{s},{y},{g}" for s, y, g in zip(ROWS.scores, ROWS.y, ROWS.groups, strict=True)]
    table.write_text("\n".join(["p,y,g", *lines]), encoding="utf-8")
    how = [str(table), "--score", "p", "--label", "y", "--group", "g", "--epsilon", "0.05", "--promise", "fitted"]
    for more, times in (((), 1), (("--draw", "all"), 1), (("--draw", "never"), 0)):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            main(["fit", *how, *more, "-o", str(tmp_path / "model.json")])
        said = capsys.readouterr()
        assert (said.out + said.err).count("A draw decides for") == times


# -- decisions at a threshold ------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(worlds(max_groups=3), EPSILONS, st.sampled_from(["few", "never", "all"]))
def test_whose_decision_hangs_on_the_draw(rows, epsilon, draw) -> None:
    """By the kernels, at every threshold: those whose chance to be accepted is neither none nor one."""
    done = fitted(rows, epsilon, draw=draw)
    if done.solution is None:
        return
    thresholds = all_thresholds(done, rows)[::5]
    accepted = acceptance(done.model, rows, thresholds)
    hang = (accepted > 0) & (accepted < 1)
    places = done.model.scale.to_place(thresholds)
    for name, curve, kernel in zip(done.people.names, done.raw.curves, done.model.kernels, strict=True):
        mine = rows.groups == name
        share = hang[:, mine] @ rows.mass[mine] / rows.mass[mine].sum()
        by_label = [rows.mass[mine & (rows.y == label)].sum() for label in (0, 1)]
        assert curve.prior == pytest.approx(by_label[1] / sum(by_label))
        assert hanging_shares(curve, kernel, places) == pytest.approx(share, abs=1e-9)
    if draw == "never":
        assert not hang.any()


@pytest.mark.parametrize("draw", ["few", "all"])
def test_an_explanation_says_whether_the_decision_hangs_on_the_draw(draw) -> None:
    done = fitted(ROWS, 0.05, draw=draw)
    choice = choose_threshold_of(done.model, done.people, Aim("recall", target=0.5))
    some = np.random.default_rng(0).choice(len(ROWS.y), 60, replace=False)
    found = [
        done.model.explain(ROWS.scores[i], ROWS.groups[i], threshold=choice.threshold, id=int(i)) for i in some.tolist()
    ]
    for each in found:
        ends = [(line.low, line.high) for line in each.outcomes]
        may = min(low for low, _ in ends) < choice.threshold < max(high for _, high in ends)
        assert each.hangs_on_draw == (0 < each.acceptance < 1) == may == each.to_dict()["hangs_on_draw"]
        assert ("the decision hangs on the draw" in each.text) == may
        assert ("whatever the draw" in each.text) == (not may and each.reason in ("transport", "ties"))
    assert {each.hangs_on_draw for each in found} == {True, False}
    assert done.model.explain(0.5, "a").hangs_on_draw is None
    words = choice_text(choice)
    most = max(choice.groups, key=lambda rates: rates.drawn_share)
    assert (
        f"a draw decides for {choice.overall.drawn_share:.1%} of people ({choice.overall.drawn_rows:,} of 1,200)"
        in words
    )
    assert f"for {most.drawn_share:.1%} of group '{most.group}'." in words
    assert f"{choice.overall.drawn_share:.1%} of people" in str(choice)


def test_a_threshold_where_nothing_hangs_on_the_draw() -> None:
    """Of a score that draws some: they are all on one side of it."""
    done = fitted(ROWS, 0.05, draw="few")
    choice = choose_threshold_of(done.model, done.people, Aim("recall", target=1.0))
    words = choice_text(choice)
    assert choice.overall.drawn_rows == 0 and not choice.draws_nobody
    assert "At this threshold nobody's decision hangs on a draw." in words and "by a draw" not in words
    assert "Figures are exact on these rows" in words


# -- the frontier ------------------------------------------------------------------------------------------------------


def test_a_recommended_row_says_who_is_drawn() -> None:
    how = {"sensitive_features": ROWS.groups, "bound": False}
    found = frontier(ROWS.scores, ROWS.y, epsilons=[0.05], **how)
    (point,), least = found.points, found.least_gap_without_draw
    kept = replace(found, points=(replace(point, gap_estimate=0.05),))
    most = max(point.groups, key=lambda group: group.randomised_share)
    drawn = (
        f"{point.randomised_share:.1%} of people are drawn there ({most.randomised_share:.1%} of group '{most.group}')"
    )
    words = f" {drawn}; the least gap without a draw, different scores of a group kept apart, is about {least:.3f}."
    assert words in recommended_words(kept)
    both = frontier(ROWS.scores, ROWS.y, epsilons=[0.0, least + 0.02], **how)
    free = replace(both, points=(both.points[0], replace(both.points[1], gap_estimate=0.0, auc_estimate=1.0)))
    assert "Nobody is drawn there; the least gap" in recommended_words(free)
    new = frontier(ROWS.scores, ROWS.y, epsilons=[0.0], promise="new", **how)
    assert new.recommended is None and "Epsilon 0:" not in frontier_text(new)


# -- words of fits that draw nobody ------------------------------------------------------------------------------------

NOBODY = re.compile(
    r"[Nn]obody is drawn|draws? nobody|without a draw|draw='never'|draw=\"never\"|--draw never|drawn\s+nobody"
)
MENTION = re.compile(r"\b(draw\w*|chance\w*|random\w*|luck\w*|lotter\w*)\b", re.I)


def test_a_fit_that_draws_nobody_does_not_speak_of_chance() -> None:
    """In no part of its text."""
    post, said = warned(draw="never")
    done, stated = post.fitted_, post.certificate_
    choice = choose_threshold(post, ROWS.scores, ROWS.y, sensitive_features=ROWS.groups, recall=0.7)
    every = [
        *said,
        *(fit_text(stated, outlook(done), one_draw(done), verbose=verbose) for verbose in (False, True)),
        certificate_text(stated),
        choice_text(choice),
        str(choice),
        frontier_text(frontier(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups, draw="never"), verbose=True),
        *(post.model_.explain(0.4, name, threshold=0.5, id=3).text for name in ("a", "b")),
        *(str(post.model_.explain(0.4, name, threshold=0.5, id=3)) for name in ("a", "b")),
    ]
    asked = fitted_report(epsilon=0.05, draw="never", bootstrap=0)
    data = gather(done.people, asked)
    shown = pages.page(data)
    body = re.sub(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>", " ", shown)
    assert not data.draws and "drawn-plot" not in shown.split("<script>")[0]
    for text in (*every, unescape(body)):
        left = NOBODY.sub("", text)
        assert not MENTION.search(left), (
            MENTION.search(left) and left[max(0, MENTION.search(left).start() - 80) :][:160]
        )
    assert cards(data)[-1][:2] == ("Fitted people: drawn", "nobody")


def test_the_report_says_who_is_drawn(recwarn) -> None:
    data = gather(fitted(ROWS, 0.05).people, fitted_report(epsilon=0.05, bootstrap=0, threshold=0.8))
    stated, lines = data.certificate, data.fair[data.chosen]
    most = max(stated.groups, key=lambda group: group.randomised_share)
    title, value, note, _ = cards(data)[-1]
    at = sum(share * group.drawn[data.start] for share, group in zip(data.shares, lines.groups, strict=True))
    choice_at = [done_share(data.model, ROWS, 0.8)]
    assert (title, value) == ("Fitted people: drawn", f"{stated.drawn:.1%}")
    assert note.startswith(
        f"{most.randomised_share:.1%} of '{most.group}'; {at:.1%} of decisions at score ≥ 0.8; least gap"
    )
    assert at == pytest.approx(choice_at[0])
    shown = pages.page(data)
    assert 'id="drawn-plot"' in shown and "decided by a draw" in shown
    assert not any(any(group.drawn) for group in data.before.groups)
    assert [str(each.message) for each in recwarn if issubclass(each.category, FairrocWarning)]
    assert sum("A draw decides for" in words for words in data.warnings) == 1


def done_share(model, rows: Rows, threshold: float) -> float:
    """Share of rows whose decision at a threshold hangs on the draw."""
    from fairroc import FairModel

    rate = FairModel.of(model).acceptance_rate(rows.scores, sensitive_features=rows.groups, threshold=threshold)
    return float(((rate > 0) & (rate < 1)).mean())
