"""What a reproduction says and leaves: summaries, slopes, verdicts, figures, the page, files that are whole."""

from __future__ import annotations

import csv
import math
import re
import statistics
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import SKIPPED, WILD, study

from browser import require_browser
from fairroc.errors import DataError
from fairroc.report.figures import path as _path
from fairroc.report.figures import thinned
from fairroc_studies.paper import output
from fairroc_studies.paper.claims import Claim, areas, claims, leads, tally, vertical
from fairroc_studies.paper.figures import beside_fnnc, beside_peers, pair_figures, standalone
from fairroc_studies.paper.output import study_dict, study_text, write
from fairroc_studies.paper.page import page
from fairroc_studies.paper.published import EXPERIMENTS, PROJECTIONS
from fairroc_studies.paper.study import Result, RocLines, Study
from fairroc_studies.paper.summary import FIGURES, STILL, Table, closeness, slope, summarise
from fairroc_studies.paper.verdicts import VERDICTS, Evidence, judge
from refusals import refuses

STUDY = study()
CLAIMS = claims(STUDY)
SEVERAL = study([("adult-race", "lr", True)], splits=2)
FILES = {"results.csv", "summary.csv", "claims.csv", "index.html", "README.md", "figures"}


def by_id(found: tuple[Claim, ...]) -> dict[str, Claim]:
    return {claim.id: claim for claim in found}


# ---- summaries -----------------------------------------------------------------------------------------------


def test_summaries_are_means_and_spreads() -> None:
    """Each against the standard library, on rows gathered another way."""

    def key(row: Result) -> tuple[Any, ...]:
        return (
            *(row.problem, row.model, row.protected, row.kind, row.method, row.measured),
            -1.0 if row.epsilon is None else row.epsilon,
        )

    groups = {k: list(rows) for k, rows in groupby(sorted(STUDY.results, key=key), key)}
    found = summarise(STUDY.results)
    assert len(found) == len(groups)
    for summary in found:
        s = summary.series
        rows = groups[
            s.problem,
            s.model,
            s.protected,
            s.kind,
            s.method,
            s.measured,
            -1.0 if summary.epsilon is None else summary.epsilon,
        ]
        assert summary.n == len(rows)
        for name in FIGURES:
            values = [value for row in rows if (value := getattr(row, name)) is not None]
            spread = summary.figures[name]
            if not values:
                assert spread is None
                continue
            assert spread is not None and spread.mean == pytest.approx(statistics.fmean(values), abs=1e-14)
            if len(values) == 1:
                assert (spread.sd, spread.variance, spread.cov) == (None, None, None)
            else:
                assert spread.sd == pytest.approx(statistics.stdev(values), abs=1e-12)
                assert spread.variance == pytest.approx(statistics.variance(values), abs=1e-14)
                mean = statistics.fmean(values)
                assert spread.cov == (pytest.approx(statistics.stdev(values) / abs(mean)) if mean else None)


def test_largest_scatter_is_the_maximum_over_epsilon() -> None:
    found = Table(STUDY.results).largest("adult", "rf", "classifiers", "test", protected=True)
    drawn = [
        row
        for row in STUDY.results
        if (row.problem, row.model, row.method, row.kind, row.measured, row.protected)
        == ("adult", "rf", "classifiers", "draws", "test", True)
    ]
    by_epsilon: dict[float | None, list[Result]] = {}
    for row in drawn:
        by_epsilon.setdefault(row.epsilon, []).append(row)
    assert len(by_epsilon) == 20
    variances = [statistics.variance([row.accuracy for row in rows]) for rows in by_epsilon.values()]
    impacts = [[row.disparate_impact or 0.0 for row in rows] for rows in by_epsilon.values()]
    assert found["accuracy_variance"] == pytest.approx(max(variances), rel=1e-9)
    assert found["impact_cov"] == pytest.approx(max(statistics.stdev(x) / statistics.fmean(x) for x in impacts))


def line(points: list[tuple[float, float]]) -> list[Any]:
    """Summaries of one method with these accuracies and disparate impacts, by rising epsilon."""
    made = [
        Result("p", "m", True, "splits", 0, "froc", 0.01 * (i + 1), "test", accuracy, impact, 0.0)
        for i, (accuracy, impact) in enumerate(points)
    ]
    return list(summarise(made))


@given(st.lists(st.tuples(st.floats(0.5, 0.9), st.floats(0.1, 2.0)), min_size=3, max_size=12))
def test_slope_is_least_squares(points: list[tuple[float, float]]) -> None:
    found = slope(line(points))
    assert found is not None
    xs, ys = np.array([x for x, _ in points]), np.array([min(y, 1 / y) for _, y in points])
    if np.ptp(xs) < STILL:
        assert found.fit is None
    else:
        assert found.fit == pytest.approx(-np.polyfit(xs - xs.mean(), ys, 1)[0], rel=1e-6, abs=1e-9)
    if abs(xs[-1] - xs[0]) < STILL:
        assert found.ends is None
    else:
        assert found.ends == pytest.approx((ys[0] - ys[-1]) / (xs[-1] - xs[0]), abs=1e-12)


def test_slope_in_words() -> None:
    """Two points of disparate impact for each point of accuracy, on both sides of 1; too few epsilons give none."""
    assert slope(line([(0.80, 0.70), (0.81, 0.68), (0.82, 0.66)])).fit == pytest.approx(2.0)
    assert slope(line([(0.80, 1 / 0.70), (0.81, 1 / 0.68), (0.82, 1 / 0.66)])).fit == pytest.approx(2.0)
    assert slope(line([(0.80, 0.70), (0.81, 0.68)])) is None
    assert closeness(0.0) == 0.0 and closeness(math.inf) == 0.0 and closeness(None) is None


# ---- curves --------------------------------------------------------------------------------------------------


def roc(*lines: tuple[tuple[float, float], ...]) -> RocLines:
    return RocLines("p", "m", True, "none", None, tuple("abc"[: len(lines)]), lines)


def test_curves_are_compared_as_shapes() -> None:
    """A corner at (0, .8) against the diagonal: .8 above it at fpr 0, an area of .9; never below it."""
    both = roc(((0.0, 0.0), (0.0, 0.8), (1.0, 1.0)), ((0.0, 0.0), (1.0, 1.0)))
    assert vertical(both) == pytest.approx(0.8)
    assert areas(both) == pytest.approx([0.9, 0.5])
    lead = leads(both)
    assert lead[0, 1] == pytest.approx(0.4)  # at fpr + tpr = .8: (0, .8) against (.4, .4)
    assert lead[1, 0] == pytest.approx(0.0, abs=1e-12)


# ---- claims --------------------------------------------------------------------------------------------------


def test_every_claim_is_judged_once() -> None:
    assert len(by_id(CLAIMS)) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.verdict in VERDICTS
        assert claim.claim and claim.rule and claim.measured and claim.place
        assert (claim.verdict == "not run") == claim.measured.startswith("not run")
    assert sum(tally(CLAIMS).values()) == len(CLAIMS)
    ids = by_id(CLAIMS)
    for published in EXPERIMENTS:
        assert f"scatter-{published.problem}-{published.model}" in ids


def test_verdicts_of_the_made_up_study() -> None:
    """Its formulas decide them: fitted people within epsilon, test people not; 5 points of impact for one lost."""
    ids = by_id(CLAIMS)
    fitted = "reproduced on the fitted people only"
    assert ids["gap"].verdict == fitted
    assert ids["crossing"].verdict == "not reproduced"  # COMPAS, half of all
    assert ids["female-higher"].verdict == "reproduced"
    assert ids["slope-adult-fnnc"].verdict == "reproduced"
    assert "5.0 points (end to end 5.0)" in ids["slope-adult-fnnc"].measured
    assert ids["minimal-loss"].verdict == "not reproduced" or ids["minimal-loss"].verdict == "partly"
    assert ids["fnnc-adult"].verdict == "reproduced"
    assert "+0.40 points" in ids["fnnc-adult"].measured
    assert ids["fnnc-overachieves-adult"].verdict == fitted
    assert ids["impact-celeba-resnet"].verdict == "not run"
    assert ids["auc-loss-adult-rf"].verdict == "reproduced"  # to epsilon .2
    assert ids["auc-loss-adult-fnnc"].verdict == "reproduced"
    assert ids["scatter-adult-rf"].verdict == "reproduced"
    assert ids["lr-accuracy"].verdict == "not reproduced"
    assert ids["several-groups"].verdict == "not run"
    assert ids["scatter-celeba-resnet"].measured == f"not run: {SKIPPED[0]}"
    assert ids["scatter-adult-autogluon"].measured == f"not run: {SKIPPED[1]}"


def changed(change: Callable[[Result], Result], adult: int = 200) -> dict[str, Claim]:
    """Claims about changed rows; ``adult``: people of Adult that decisions were drawn for."""
    about = {"adult": {"calibration": adult, "test": adult}}
    facts = STUDY.facts | {"problems": STUDY.facts["problems"] | about}
    return by_id(claims(replace(STUDY, results=tuple(map(change, STUDY.results)), facts=facts)))


def test_verdicts_follow_the_rows() -> None:
    def wider(row: Result) -> Result:
        return replace(row, gap=None if row.gap is None else row.gap + 0.01)

    def tighter(row: Result) -> Result:
        return replace(row, gap=None if row.gap is None or row.epsilon is None else row.epsilon)

    def wilder(row: Result) -> Result:
        return replace(row, accuracy=row.accuracy + 0.02 * (row.repetition % 2)) if row.kind == "draws" else row

    def free(row: Result) -> Result:
        return replace(row, accuracy=0.9)

    assert changed(wider)["gap"].verdict == "not reproduced"
    assert changed(tighter)["gap"].verdict == "reproduced"
    assert changed(wilder, adult=48_842)["scatter-adult-rf"].verdict == "partly"  # disparate impact as before
    assert changed(free)["lr-accuracy"].verdict == "reproduced"
    assert changed(free)["slope-adult-rf"].verdict == "not reproduced"
    assert "undefined" in changed(free)["slope-adult-rf"].measured


def test_scatter_is_scaled_to_all_people() -> None:
    """Variances fall as one over the number drawn for: those of a fifth of Adult are divided by five, and so on."""
    name = "scatter-adult-rf"

    def of(variance: float) -> Callable[[Result], Result]:
        """Rows whose draws have this variance of accuracy, about: two values, far apart."""

        def change(row: Result) -> Result:
            far = math.sqrt(variance) * (1 if row.repetition % 2 else -1)
            return replace(row, accuracy=0.85 + far) if row.kind == "draws" else row

        return change

    published = next(e for e in EXPERIMENTS if (e.problem, e.model) == ("adult", "rf"))
    ours = statistics.variance([-1, 1, -1, 1, -1])  # times the number asked for
    for share, factor, holds in ((1, 3, True), (1, 5, False), (5, 15, True), (5, 25, False)):
        claim = changed(of(factor * published.accuracy_variance / ours), published.people // share)[name]
        assert (claim.verdict == "reproduced") == holds
        assert ("Scaled" in claim.measured) == (share != 1)
    assert "8.3 × 10⁻⁷" in claim.claim and "7.59 × 10⁻⁶" in claim.claim  # as published, no digit lost


def test_slopes_say_which_way_they_differ() -> None:
    def steeper(row: Result) -> Result:
        return replace(row, disparate_impact=0.3 + 3 * (row.disparate_impact or 0.0) - 0.9)

    def flatter(row: Result) -> Result:
        return replace(row, disparate_impact=0.3 + ((row.disparate_impact or 0.0) - 0.3) / 3)

    for change, words in ((steeper, "More than published"), (flatter, "Less than published")):
        claim = changed(change)["slope-adult-fnnc"]
        assert claim.verdict == "not reproduced" and words in claim.measured
    assert "published" not in by_id(CLAIMS)["slope-adult-fnnc"].measured


def test_least_loss_is_judged_on_the_same_thresholds_where_they_were_run() -> None:
    """FROC loses more than the exact method on all scores, but no more than that on its own thresholds."""
    assert by_id(CLAIMS)["minimal-loss"].verdict != "reproduced"
    assert "100 thresholds, the exact method on all scores" in by_id(CLAIMS)["minimal-loss"].note
    same = tuple(replace(row, method="optimal-100") for row in STUDY.results if row.method == "froc")
    claim = by_id(claims(replace(STUDY, results=STUDY.results + same)))["minimal-loss"]
    assert claim.verdict == "reproduced"
    assert "with the same 100 thresholds" in claim.rule and "with all scores up to" in claim.exact


def test_only_the_papers_experiments_count_for_all_of_them() -> None:
    """An extra problem that loses much, and CelebA, which gains nothing, change nothing."""
    runs = [("adult", "rf", True), ("compas-race", "rf", True), ("celeba", "resnet", False)]

    def worse(row: Result) -> Result:
        return row if row.problem == "adult" or row.method == "none" else replace(row, accuracy=0.5)

    made_up = study(runs)
    claim = by_id(claims(replace(made_up, results=tuple(map(worse, made_up.results)))))["two-percent"]
    assert claim.verdict == "reproduced" and "1 of 1 experiments" in claim.measured
    assert by_id(claims(study(runs[1:])))["two-percent"].verdict == "not run"


def test_overachieving_is_more_than_to_achieve() -> None:
    def just(row: Result) -> Result:
        return replace(row, meo=0.49 * (row.epsilon or 0.0)) if row.method == "fnnc" else row

    def well(row: Result) -> Result:
        return replace(row, meo=0.4 * (row.epsilon or 0.0)) if row.method == "fnnc" else row

    assert changed(just)["fnnc-overachieves-compas"].verdict == "not reproduced"
    assert changed(well)["fnnc-overachieves-compas"].verdict == "reproduced"


def test_celeba_hardly_improves() -> None:
    """In the made-up study disparate impact rises by up to .1; a third of that is little."""
    made_up = study([("celeba", "resnet", False)])
    assert by_id(claims(made_up))["impact-celeba-resnet"].verdict == "not reproduced"
    less = tuple(replace(r, disparate_impact=0.9 + (r.disparate_impact or 0.0) / 3 - 0.1) for r in made_up.results)
    claim = by_id(claims(replace(made_up, results=less)))["impact-celeba-resnet"]
    assert claim.verdict == "reproduced" and "3.3" in claim.measured


def test_fairprojection_is_compared_between_epsilons() -> None:
    """A coarse grid of epsilons is no reason to be beaten: between two fits a coin can be flipped."""

    def point(method: str, epsilon: float, meo: float, accuracy: float) -> Iterator[Result]:
        for who in ("fitted", "test"):
            yield Result("adult", "rf", True, "splits", 0, method, epsilon, who, accuracy, 0.5, meo)  # type: ignore[arg-type]

    froc = (*point("froc", 0.01, 0.01, 0.80), *point("froc", 0.1, 0.05, 0.84))
    for accuracy, verdict in ((0.8205, "reproduced"), (0.8225, "not reproduced")):
        rows = (*froc, *point("fairprojection-ce", 0.0, 0.03, accuracy))
        assert by_id(claims(replace(STUDY, results=rows)))["fairprojection"].verdict == verdict


def test_one_hopeless_network_is_no_lead() -> None:
    """FNNC accepts nobody at the smallest target and is more accurate at all others: a mean would say FROC leads."""

    def trivial_at_one_target(row: Result) -> Result:
        if row.method != "fnnc":
            return row
        return replace(row, accuracy=0.1 if row.epsilon == 0.001 else row.accuracy + 0.01)

    found = changed(trivial_at_one_target)["fnnc-adult"]
    assert found.verdict == "not reproduced"
    assert re.search(r"test people: more accurate at 1 of \d+ targets, by \+", found.measured)


def test_the_papers_classifiers_are_judged_by_their_own_gaps() -> None:
    assert by_id(CLAIMS)["classifiers"].verdict == "not run"

    def classifiers(row: Result, more: float) -> Result:
        gap = (row.epsilon or 0.0) + (more if row.measured == "test" else 0.0)
        return replace(row, method="classifiers", gap=gap) if row.method == "froc" and row.kind == "splits" else row

    assert changed(lambda row: classifiers(row, 0.0))["classifiers"].verdict == "reproduced"
    unfair = changed(lambda row: classifiers(row, 0.01))["classifiers"]
    assert unfair.verdict == "reproduced on the fitted people only"


def test_stored_results_of_fairprojection() -> None:
    stored = PROJECTIONS[0]
    tolerance, accuracy, meo = stored.points[0]
    row = {
        **{"data": stored.data, "model": stored.model, "method": stored.method, "tolerance": tolerance},
        **{"accuracy": accuracy + 0.0123, "meo": meo, "stored_accuracy": accuracy, "stored_meo": meo, "close": False},
    }
    close = row | {"accuracy": accuracy, "close": True}
    for rows, verdict in (
        ([row], "not reproduced"),
        ([close], "reproduced"),
        ([row, close], "partly"),
        ([], "not run"),
    ):
        what = replace(STUDY, facts={"fairprojection": rows})
        assert by_id(claims(what))["fairprojection-stored"].verdict == verdict
    assert f"<td>{accuracy + 0.0123:.4f}</td>" in made(replace(STUDY, facts={"fairprojection": [row]}))[0]


def test_several_groups_have_their_own_claim() -> None:
    ids = by_id(claims(SEVERAL))
    assert ids["several-groups"].verdict == "reproduced on the fitted people only"
    assert ids["gap"].verdict == "not run"


def test_methods_are_compared_on_the_same_splits() -> None:
    """FNNC with a target was run on split 0 only: the others' mean is then that of split 0."""
    results = tuple(row for row in STUDY.results if row.method != "fnnc" or row.repetition == 0)
    shifted = tuple(
        replace(row, accuracy=row.accuracy + 0.1) if row.kind == "splits" and row.repetition > 0 else row
        for row in results
    )
    for rows in (results, shifted):
        assert "+0.40 points" in by_id(claims(replace(STUDY, results=rows)))["fnnc-compas"].measured


def test_a_coarse_grid_says_so() -> None:
    found = by_id(claims(study([("adult", "lr", True)], splits=1, draws=1, count=2)))
    assert found["lr-accuracy"].measured == "not run: no epsilon near 0.05; ask for more with --epsilons"


def test_why_something_was_not_run() -> None:
    """A line about another model or problem is no reason."""
    lines = ("compas, fnnc, with the protected features: failed", "celeba: no folder", "FNNC: torch not installed")
    evidence = Evidence(replace(STUDY, skipped=lines))
    assert evidence.why_not("compas", "fnnc") == f"not run: {lines[0]}"
    assert evidence.why_not("adult", "fnnc") == f"not run: {lines[2]}"
    assert evidence.why_not("celeba", "resnet") == f"not run: {lines[1]}"
    assert evidence.why_not("compas", "rf") == "not run: rf on compas was not part of this run"


def test_judging() -> None:
    assert judge([True, True], [True]) == "reproduced"
    assert judge([True, True], [True, False]) == "reproduced on the fitted people only"
    assert judge([True], []) == "reproduced on the fitted people only"
    assert judge([True, False], [False]) == "partly"
    assert judge([False], [False]) == "not reproduced"
    assert judge([], []) == "not run"


# ---- figures -------------------------------------------------------------------------------------------------


def test_a_method_far_off_is_named_instead_of_drawn() -> None:
    def far(row: Result) -> Result:
        return replace(row, meo=0.9, accuracy=0.1) if row.method == "fairlearn" else row

    (near, *_), (squeezed, *_) = (
        beside_peers(Evidence(replace(STUDY, results=tuple(map(change, STUDY.results)))), "compas", "rf", named=True)
        for change in (lambda row: row, far)
    )
    assert "Outside" not in near.caption and ">fairlearn<" in near.svg
    assert "Outside: fairlearn (0.900, 0.100)" in squeezed.caption and ">fairlearn<" not in squeezed.svg


def test_figures_are_whole() -> None:
    evidence = Evidence(STUDY)
    drawn = [picture for row in pair_figures(evidence, "adult", "rf", named=True).values() for picture in row]
    drawn += [*beside_fnnc(evidence, "adult", named=True), *beside_peers(evidence, "compas", "rf", named=True)]
    assert len({picture.name for picture in drawn}) == len(drawn) == 3 + 6 + 4 + 2
    for picture in drawn:
        root = ET.fromstring(standalone(picture))
        title = root.find("{http://www.w3.org/2000/svg}title")
        assert title is not None and title.text and len(title.text) > 20
        assert picture.caption.split(",")[0].lower() in title.text.lower()


def test_points_are_where_the_numbers_are() -> None:
    """The line of FROC's accuracy on test people, read back from the picture through its own ticks."""
    evidence = Evidence(STUDY)
    picture = next(p for p in pair_figures(evidence, "compas", "lr")["test"] if p.name == "compas-lr-accuracy-test")
    root = ET.fromstring(picture.svg)
    ticks = [t for t in root.findall("text") if re.fullmatch(r"[\d.]+", t.text or "")]
    across = [(float(t.text or ""), float(t.get("x", ""))) for t in ticks if t.get("text-anchor") == "middle"]
    up = [(float(t.text or ""), float(t.get("y", "")) - 4) for t in ticks if t.get("text-anchor") == "end"]
    drawn = next(one for one in root.findall("path") if one.get("stroke") == "#D55E00")
    pixels = np.array(walked(drawn.get("d", "")))
    (x0, px0), (x1, px1), (y0, py0), (y1, py1) = across[0], across[-1], up[0], up[-1]
    xs = x0 + (pixels[:, 0] - px0) / (px1 - px0) * (x1 - x0)
    ys = y0 + (pixels[:, 1] - py0) / (py1 - py0) * (y1 - y0)
    rows = evidence.rows("compas", "lr", "froc", "test")
    assert (xs[0], xs[-1]) == pytest.approx((rows[0].epsilon, rows[-1].epsilon), abs=1e-4)
    wanted = [row.mean("accuracy") for row in rows]
    assert np.interp([row.epsilon or 0.0 for row in rows], xs, ys) == pytest.approx(wanted, abs=1e-4)


def walked(path: str) -> list[tuple[float, float]]:
    """Places that a path of one start and steps goes through."""
    numbers = [float(number) for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", path)]
    steps = np.array(numbers).reshape(-1, 2)
    return [tuple(place) for place in np.cumsum(steps, axis=0)]


@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), min_size=1, max_size=30))
def test_paths_go_through_their_places(places: list[tuple[float, float]]) -> None:
    different = [place for place, _ in groupby([(round(10 * x), round(10 * y)) for x, y in places])]
    assert np.allclose(walked(_path(places)), np.array(different) / 10, rtol=0, atol=1e-9)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), min_size=2, max_size=40), st.floats(0.01, 5))
def test_thinned_lines_stay_near(places: list[tuple[float, float]], off: float) -> None:
    """Places in rising order, as those of every line here: what was left out is near the way through what was kept."""
    line = sorted(places)
    kept = thinned(line, off)
    assert kept[0] == line[0] and kept[-1] == line[-1]
    ways = list(pairwise(kept))
    for x, y in line:
        assert min(_to_segment((x, y), *way) for way in ways) <= off + 0.08  # half a step of the way


def _to_segment(place: tuple[float, float], start: tuple[float, float], end: tuple[float, float]) -> float:
    """Distance to the nearest of a thousand points of a way, and to its ends."""
    share = np.linspace(0, 1, 1001)[:, None]
    points = np.array(start) * (1 - share) + np.array(end) * share
    return float(np.min(np.hypot(*(points - np.array(place)).T)))


# ---- the page ------------------------------------------------------------------------------------------------


class Read(HTMLParser):
    """Tags with attributes, and the text outside styles and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("style", "script"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.words.append(data)


def made(what: Study, command: str = "fairroc reproduce") -> tuple[str, Read]:
    text = page(what, claims(what), command=command, date="2026-11-15")
    return text, Read(text)


@pytest.mark.parametrize("what", [STUDY, SEVERAL, replace(STUDY, skipped=(), rocs=(), facts={})], ids=str)
def test_page_has_no_holes(what: Study) -> None:
    _, read = made(what)
    words = " ".join(read.words)
    assert not re.search(r"\b(nan|None|inf|Infinity|undefined method)\b", words)
    for verdict in {claim.verdict for claim in claims(what)}:
        assert verdict in words
    ids = [given["id"] for _, given in read.tags if "id" in given]
    assert len(ids) == len(set(ids))
    links = [given["href"] for tag, given in read.tags if tag == "a"]
    assert links and {link[1:] for link in links if link} <= set(ids)
    assert not [given for _, given in read.tags if str(given.get("src", "")).startswith("http")]


def test_page_escapes_names() -> None:
    text, read = made(STUDY, command=f"fairroc reproduce --target '{WILD}'")
    assert WILD not in text
    assert any(WILD in words for words in read.words)
    svgs = re.findall(r"<svg.*?</svg>", text, flags=re.S)
    assert len(svgs) > 40
    for svg in svgs:
        ET.fromstring(svg)


def test_page_stays_small() -> None:
    problems = ("adult", "adult-race", "adult-sex-race", "compas", "compas-propublica", "compas-race", "x", "celeba")
    models = ("lr", "rf", "fnnc", "autogluon", "resnet")
    big = study([(p, m, True) for p in problems for m in models], splits=2, draws=2, count=20)
    text, read = made(big)
    assert len(text) < 1_500_000
    runs = [given for tag, given in read.tags if tag == "details" and given.get("class") == "run"]
    assert len(runs) == 40
    assert sum("open" in given for given in runs) == 1


# ---- files ---------------------------------------------------------------------------------------------------


def test_files_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    found = write(STUDY, folder, command="fairroc reproduce", date="2026-11-15")
    assert {path.name for path in folder.iterdir()} == FILES
    assert found == CLAIMS
    with (folder / "results.csv").open(newline="", encoding="utf-8") as file:
        again = tuple(_result(row) for row in csv.DictReader(file))
    assert again == STUDY.results
    with (folder / "claims.csv").open(newline="", encoding="utf-8") as file:
        assert tuple(Claim(**row) for row in csv.DictReader(file)) == CLAIMS  # type: ignore[arg-type]
    with (folder / "summary.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    summaries = summarise(STUDY.results)
    assert len(rows) == len(summaries)
    for row, summary in zip(rows, summaries, strict=True):
        for name in FIGURES:
            spread = summary.figures[name]
            told = None if row[f"{name}_mean"] == "" else float(row[f"{name}_mean"])
            assert told == (None if spread is None else pytest.approx(spread.mean, rel=1e-4, abs=1e-12))
            told = None if row[f"{name}_sd"] == "" else float(row[f"{name}_sd"])
            assert told == (
                None if spread is None or spread.sd is None else pytest.approx(spread.sd, rel=1e-2, abs=1e-12)
            )
        assert (row["accuracy_variance"] == "") == (row["kind"] == "splits")
        assert all(len(value) <= 20 for value in row.values())
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "fairroc reproduce" in readme and "2026-11-15" in readme and WILD not in readme
    pictures = re.findall(r"\]\((figures/[^)]+)\)", readme)
    assert {folder / name for name in pictures} == set((folder / "figures").iterdir())
    assert 5 <= len(pictures) <= 40
    assert "](results.csv)" not in readme and "](summary.csv)" in readme  # the former is too large for a repository
    heads, images = (
        [line for line in readme.splitlines() if line.startswith(start)] for start in ("| ROC curves before", "| ![ROC")
    )
    assert len(heads) == len(images) > 0
    assert {line.count("|") for line in heads + images} == {4}  # three in a row


def _result(row: dict[str, str]) -> Result:
    def number(name: str) -> float | None:
        return float(row[name]) if row[name] else None

    return Result(
        *(row["problem"], row["model"], row["protected"] == "True", row["kind"], int(row["repetition"])),  # type: ignore[arg-type]
        row["method"],
        number("epsilon"),
        row["measured"],  # type: ignore[arg-type]
        **{name: number(name) for name in FIGURES},  # type: ignore[arg-type]
    )


def test_writing_twice_leaves_the_rest_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    write(SEVERAL, tmp_path, command="a", date="2026-01-01")
    write(STUDY, tmp_path, command="b", date="2026-01-02")
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "keep"
    assert "2026-01-02" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert not list(tmp_path.rglob("*.tmp"))


def test_nothing_is_left_where_something_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(picture: Any) -> str:
        raise RuntimeError("no picture")

    with monkeypatch.context() as patch:
        patch.setattr(output, "standalone", broken)
        with pytest.raises(RuntimeError, match="no picture"):
            write(STUDY, tmp_path / "a" / "b", command="c", date="2026-01-01")
    assert list(tmp_path.iterdir()) == []

    def full(*_: Any) -> Any:
        raise DataError("disk is full")

    (tmp_path / "there").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("fairroc.tables.files.os.fsync", full)
        for folder in (tmp_path / "a" / "b", tmp_path / "there"):
            refuses("disk is full", write, STUDY, folder, command="c", date="2026-01-01")
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refuses("name another with -o", write, STUDY, tmp_path / "file" / "deep", command="c", date="2026-01-01")
    refuses("must be a folder", output.check_folder, tmp_path / "file")
    refuses("cannot be written to", output.check_folder, tmp_path / "file" / "deep")
    output.check_folder(tmp_path / "new" / "deep")
    assert not (tmp_path / "new").exists()


def test_text_and_json() -> None:
    text = study_text(STUDY, CLAIMS, "out")
    assert text.endswith(str(Path("out") / "index.html"))
    for claim in CLAIMS:
        assert (claim.claim in text) == (claim.verdict != "not run")
    data = study_dict(STUDY, CLAIMS, "out")
    assert data["verdicts"] == tally(CLAIMS)
    assert [claim["id"] for claim in data["claims"]] == [claim.id for claim in CLAIMS]
    assert data["rows"] == len(STUDY.results)


# ---- in a browser --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = require_browser()
    with sync_api.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=["--headless", "--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.mark.parametrize("width", [1200, 390])
def test_page_in_a_browser(browser: Any, tmp_path: Path, width: int) -> None:
    """No complaint, no request but the page's own, nothing wider than the screen; links unfold what they lead to."""
    path = tmp_path / "index.html"
    path.write_text(made(study([(p, "lr", True) for p in "abcdefg"], splits=2, draws=2))[0], encoding="utf-8")
    opened = browser.new_page(viewport={"width": width, "height": 900})
    complaints, requests = [], []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(path.as_uri())
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.locator("details.run[open]").count() == 1
    opened.click("#contents a[href='#run-f-lr']")
    opened.wait_for_function("document.getElementById('run-f-lr').open")
    opened.click("#open-all")
    assert opened.locator("details.run[open]").count() == 7
    assert opened.locator("details.run svg.static:visible").count() == 7 * 11
    opened.click("#close-all")
    assert opened.locator("details.run[open]").count() == 0
    opened.close()
    assert complaints == []
    assert [url.partition("#")[0] for url in requests] == [path.as_uri()]
