"""The report: its data are the audit's and the certificate's, every name is escaped, and it reads without a script."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import PEOPLE, ROLES, Run, run, write

from fairroc import audit
from fairroc.core.constraint import equalized_odds
from fairroc.core.roc import RocCurve
from fairroc.errors import DataError, FairrocWarning, SmallGroupWarning
from fairroc.fitting.fit import fit_quietly
from fairroc.people.door import read_people
from fairroc.report import page as module
from fairroc.report.data import (
    CELLS,
    MOST_POINTS,
    ReportData,
    Source,
    crossing_pairs,
    fair_lines,
    gather,
    original_lines,
    round_epsilons,
    threshold_grid,
)
from fairroc.report.figures import axis
from fairroc.report.page import environment, page, script_json, twin
from fairroc.report.view import cards
from fairroc.text.words import short
from fitted_people import FairROC, fitted_options, fitted_report, frontier, write_report

__all__ = ["run"]  # a fixture

SMALL, LARGE = 400_000, 1_500_000
"""Bytes of a page of two groups, and of forty."""

SCHEMA = json.loads((Path(module.__file__).parent / "schema.json").read_text(encoding="utf-8"))
WILD = [
    '"quoted" & <b>bold</b>',
    "</script><script>alert(1)</script>",
    "🙂 Ω שלום",
    "x" * 200,
    "$title ${css}",
    "\x00 \n",
]


def people(rows: int = 3000, groups: int = 2, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, rows)
    y = rng.random(rows) < 0.4
    scores = 1 / (1 + np.exp(-(rng.normal(size=rows) * (1 + 0.5 * group) + 1.5 * y - 0.4 * group)))
    return scores, y, group


def made(
    scores: Any, y: Any, groups: Any, *, weight: Any = None, source: Source | None = None, **asked: Any
) -> ReportData:
    columns = read_people(scores, y, sensitive_features=groups, sample_weight=weight)
    day = datetime(2026, 1, 2, tzinfo=UTC)
    return gather(columns, fitted_report(bootstrap=100, **asked), title="People", source=source, made=day)


@pytest.fixture(scope="module")
def data() -> ReportData:
    scores, y, groups = people()
    return made(scores, y, groups, epsilon=0.05, threshold=0.5, draw="all")


class Reader(HTMLParser):
    """Text outside scripts and styles, all tags, and the embedded data."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.json = ""
        self.feed(content)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))
        if name not in ("meta", "link", "input", "br"):
            self.inside.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.inside.pop() == name

    def handle_data(self, words: str) -> None:
        if "script" in self.inside:
            if self.tags[-1][1].get("id") == "data":
                self.json += words
        elif "style" not in self.inside:
            self.words.append(words)

    @property
    def text(self) -> str:
        return "".join(self.words)


# ---- data ----------------------------------------------------------------------------------------------------


def test_data_are_those_of_audit_and_certificate(data: ReportData) -> None:
    scores, y, groups = people()
    shown = json.loads(json.dumps(twin(data)))
    expected = audit(scores, y, sensitive_features=groups, epsilon=0.05, threshold=0.5, bootstrap=100)
    assert shown["audit"] == json.loads(json.dumps(expected.to_dict()))
    post = FairROC(epsilon=0.05, draw="all").fit(scores, y, sensitive_features=groups)
    certificate = post.certificate_
    assert shown["one_draw"] == post.one_draw_.to_dict()
    assert {**shown["certificate"], "seconds": 0} == json.loads(json.dumps({**certificate.to_dict(), "seconds": 0}))
    epsilons = [point["epsilon"] for point in shown["frontier"]["points"]]
    found = frontier(scores, y, sensitive_features=groups, epsilons=epsilons, draw="all")
    assert shown["frontier"] == json.loads(json.dumps(found.to_dict()))
    assert epsilons[shown["chosen"]] == 0.05


def test_lines_are_exact(data: ReportData) -> None:
    scores, y, groups = people()
    post = FairROC(epsilon=0.05, draw="all").fit(scores, y, sensitive_features=groups)
    assert len(data.thresholds) <= MOST_POINTS and len(data.fair) <= 23
    assert data.thresholds[data.start] == 0.5 and data.audit.gap_threshold in data.thresholds
    for i in (0, 40, data.start, len(data.thresholds) - 1):
        t = data.thresholds[i]
        chance = post.acceptance_rate(scores, sensitive_features=groups, threshold=t)
        for g in (0, 1):
            for label, rate in ((False, "fpr"), (True, "tpr")):
                of = (groups == g) & (y == label)
                assert getattr(data.before.groups[g], rate)[i] == pytest.approx((scores[of] >= t).mean(), abs=1e-12)
                assert getattr(data.fair[data.chosen].groups[g], rate)[i] == pytest.approx(chance[of].mean(), abs=1e-9)
    assert max(data.before.gap) == pytest.approx(data.audit.gap, abs=1e-12)
    for lines, point in zip(data.fair, data.frontier.points, strict=True):
        assert max(lines.gap) <= point.epsilon + 1e-9


def test_fit_with_raw_order_is_shown_at_its_epsilon() -> None:
    scores, y, groups = people(20000)
    found = made(scores, y, groups, epsilon=0.15)
    assert found.certificate is not None and found.certificate.ties == "order"
    post = FairROC(epsilon=0.15).fit(scores, y, sensitive_features=groups)
    of, i = (groups == 1) & y, len(found.thresholds) // 2
    chance = post.acceptance_rate(scores, sensitive_features=groups, threshold=found.thresholds[i])[of].mean()
    assert found.fair[found.chosen].groups[1].tpr[i] == pytest.approx(chance, abs=1e-9)


def test_scores_of_few_points_have_thresholds_between() -> None:
    scores, y, groups = people()
    found = made(np.round(scores * 4), y, groups, epsilon=0.1, draw="all")
    assert 100 < len(found.thresholds) <= MOST_POINTS
    assert {0.0, 1.0, 2.0, 3.0, 4.0} <= set(found.thresholds)


@pytest.mark.parametrize("gap", [0.0, 1e-9, 0.0371, 0.2, 0.388, 1.0, 2.0])
def test_epsilons_are_round(gap: float) -> None:
    found = round_epsilons(gap, 0.05)
    assert found == tuple(sorted(set(found)))
    assert {0.0, gap, 0.05} <= set(found) and len(found) <= 23


def test_one_epsilon_where_the_score_is_fair() -> None:
    scores, y, _ = people(400)
    found = made(np.tile(scores, 2), np.tile(y, 2), np.repeat([0, 1], 400), epsilon=0.1)
    assert found.certificate is not None and found.certificate.unchanged
    assert "A draw decides" not in Reader(page(found)).text
    assert "the score stays as it is" in Reader(page(found)).text


def test_crossing_curves_are_found() -> None:
    corners = [[(0.0, 0.4)], [(0.2, 0.9)], [(0.1, 0.3)]]  # the first is higher early, the second later, the third never
    curves = [_curve(points) for points in corners]
    assert crossing_pairs(curves) == [(0, 1)]


def _curve(points: list[tuple[float, float]]) -> RocCurve:
    fpr, tpr = np.array([(0.0, 0.0), *points, (1.0, 1.0)]).T
    return RocCurve(np.arange(len(fpr) - 1.0, 0.0, -1.0), fpr.copy(), tpr.copy(), 0.5)


def test_warnings_are_given_and_shown() -> None:
    scores, y, groups = people(120)
    with pytest.warns(SmallGroupWarning, match="known to within") as given:
        found = made(scores, y, groups)
    assert len(given) == 1
    words = Reader(page(found)).text
    assert "its true positive rate is known to within" in words and "Few rows:" in words
    assert "No epsilon was asked for" in words


def test_weights_leave_out_what_they_do_not_cover() -> None:
    scores, y, groups = people()
    found = made(scores, y, groups, weight=np.linspace(1, 2, len(scores)), epsilon=0.1, draw="all")
    words = Reader(page(found)).text
    drawn = sum(g.rows * g.randomised_share for g in found.certificate.groups) / len(scores)  # type: ignore[union-attr]
    assert drawn > 0.5 and f"A draw decides for {drawn:.1%} of people" in words
    assert "rows are weighted" in words and "sample_weight=weight" in words


# ---- the JSON twin ------------------------------------------------------------------------------------------


def declared(found: dict[str, Any]) -> None:
    """What the twin holds is what the schema declares, and nothing more at its top."""
    schema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(found)))
    assert set(found) == set(SCHEMA["properties"])


def test_the_twin_holds_what_the_page_shows(data: ReportData, tmp_path: Path) -> None:
    module.write_page(tmp_path / "r.html", data, tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    declared(found)
    assert found["thresholds"] == list(data.thresholds)  # to the last digit
    assert found["original"]["groups"][1]["tpr"] == list(data.before.groups[1].tpr)
    assert found["fair"][data.chosen]["gap"] == list(data.fair[data.chosen].gap)
    assert found["fair"][data.chosen]["epsilon"] == found["asked"]["epsilon"] == 0.05
    text = Reader((tmp_path / "r.html").read_text(encoding="utf-8")).text
    words = found["words"]
    single = [words[name] for name in ("meaning", "found", "sure", "asked", "verdict", "costs")]
    told = [*single, *words["unknown"], *words["certificate"], *found["warnings"]]
    told += [part for tile in words["tiles"] for part in (tile["title"], tile["value"], tile["note"])]
    told += [part["words"] for part in words["card"]] + [step["command"] for step in words["deploy"]]
    assert [part for part in told if part not in text] == []


def test_the_schema_finds_faults(data: ReportData) -> None:
    schema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    check = schema.Draft202012Validator(SCHEMA)
    found = json.loads(json.dumps(twin(data)))
    for fault in ({"version": 2}, {"groups": ["a"]}, {"chosen": -1}, {"new_people": {}}, {"asked": {}}):
        assert not check.is_valid(found | fault), fault


# ---- page ----------------------------------------------------------------------------------------------------


def test_essentials_are_there_without_a_script(data: ReportData) -> None:
    read = Reader(page(data))
    assert read.inside == []
    found = data.certificate
    assert found is not None
    for words in (
        "What was found",
        "What was asked",
        "What it costs",
        "What is not known",
        f"a gap of {data.audit.gap:.3f}",
        f"from {found.auc_before:.3f} to {found.auc:.3f}",
        f"has an overall AUC above {found.auc_bound:.3f}; none that draws nobody and keeps different scores of a group",
        f"among these {found.rows:,} a single draw has a gap of about",
        f"{data.audit.groups[0].rows:,}",
        f"{data.audit.groups[1].auc:.3f}",
        f"{data.before.groups[0].tpr[data.start]:.3f}",
        "Epsilon 0.05: at every threshold, of 100 positives and of 100 negatives in each group",
        "Model card",
        "How to deploy",
    ):
        assert words in read.text, words
    pictures = [given for name, given in read.tags if name == "svg"]
    assert len(pictures) == 5 and all(given["role"] == "img" for given in pictures)
    assert [name for name, _ in read.tags].count("caption") == [name for name, _ in read.tags].count("table")


def test_controls_can_be_reached_and_have_labels(data: ReportData) -> None:
    tags = Reader(page(data)).tags
    sliders = {given["id"] for name, given in tags if name == "input" and given["type"] == "range"}
    assert sliders == {"threshold", "epsilon"} == {given["for"] for name, given in tags if name == "label"}
    assert any(given.get("aria-live") == "polite" for _, given in tags)
    assert all("scope" in given for name, given in tags if name == "th")
    ids = [given["id"] for _, given in tags if "id" in given]
    assert len(ids) == len(set(ids))


def test_warnings_come_first_and_words_are_plain(data: ReportData) -> None:
    warned = replace(data, warnings=tuple(f"number {i}" for i in range(6)))
    text = Reader(page(warned)).text
    count = 6 + bool(data.outlook and data.outlook.exceeds)
    assert text.index(f"{count} warnings") < text.index("number 5") < text.index("New people: gap expected")
    calm = Reader(page(replace(data, warnings=(), outlook=replace(data.outlook, gap_estimate=0.01)))).text  # type: ignore[type-var]
    assert "No warnings" in calm and "warnings\n" not in calm
    for private in ("levels", "internal epsilon", "moved by draw", "accepted"):
        assert private not in text, private


def test_page_names_no_other_file(data: ReportData) -> None:
    read = Reader(page(data))
    links = [given[key] or "" for _, given in read.tags for key in ("src", "href") if key in given]
    assert all(link.startswith(("#", "data:")) for link in links)
    policy = next(given["content"] or "" for _, given in read.tags if given.get("http-equiv"))
    assert policy.startswith("default-src 'none'")


def test_size(data: ReportData) -> None:
    assert len(page(data).encode()) < SMALL


@pytest.mark.slow
def test_size_with_many_groups() -> None:
    scores, y, groups = people(9000, groups=40)
    assert len(page(made(scores, y, groups)).encode()) < LARGE


def test_many_groups_have_fewer_points() -> None:
    scores, y, groups = people(9000, groups=40)
    grid = threshold_grid(read_people(scores, y, sensitive_features=groups), 22, [0.5])
    assert 40 * 22 * len(grid) <= CELLS and 0.5 in grid


def test_every_name_is_escaped() -> None:
    scores, y, groups = people(groups=len(WILD))
    source = Source(WILD[1], WILD[0], "it's", (WILD[1], WILD[3]), weight=WILD[2])
    names = np.array(WILD, dtype=object)[groups]
    found = replace(made(scores, y, names, source=source), title=WILD[1])
    content = page(found)
    assert "alert(1)</script>" not in content and "<b>bold" not in content
    read = Reader(content)
    assert read.inside == []
    assert [name for name, _ in read.tags].count("script") == 2
    for name in WILD[:-1]:
        assert name in read.text
    assert json.loads(read.json)["labels"] == [short(name) or "(no name)" for name in sorted(WILD)]
    assert "</script>" in "".join(json.loads(read.json)["labels"])
    command = read.text[read.text.index("fairroc fit") :].splitlines()[0]
    assert command == "fairroc fit '</script><script>alert(1)</script>' \\"


def test_templates_escape() -> None:
    words = environment().from_string('<td title="{{ a }}">{{ b }}</td>').render(a='"<&', b="<i>\ud800\x07")
    assert words.encode() == '<td title="&#34;&lt;&amp;">&lt;i&gt;\ufffd\ufffd</td>'.encode()
    assert json.loads(script_json(["</script>", "&", "\u2028", "<!--"])) == ["</script>", "&", "\u2028", "<!--"]
    assert not re.search(r"[<>&\u2028]", script_json(["</script>", "&", "\u2028", "<!--"]))


# ---- new people ----------------------------------------------------------------------------------------------


def test_new_people_come_first(data: ReportData) -> None:
    found, ahead = data.certificate, data.outlook
    assert found is not None and ahead is not None
    gap, auc, *fitted = cards(data)
    assert gap.title.startswith("New people") and auc.title.startswith("New people")
    assert gap.value == f"{ahead.gap_estimate:.3f} ± {ahead.gap_standard_error:.3f}"
    assert auc.value == f"{ahead.auc_estimate:.3f} ± {ahead.auc_standard_error:.3f}"
    assert [card.value for card in fitted] == [
        f"{found.gap_before:.3f} → {found.gap:.3f}",
        f"{found.auc_before:.3f} → {found.auc:.3f}",
        f"{found.drawn:.1%}",
    ]
    assert gap.note.startswith("above epsilon 0.05; at most" if ahead.exceeds else "within epsilon 0.05; at most")
    assert f"{ahead.upper:.3f} at 95% confidence" in gap.note
    shown = json.loads(json.dumps(twin(data)["new_people"]))
    assert shown == json.loads(json.dumps(ahead.to_dict()))


@pytest.mark.parametrize(
    ("changes", "tone", "note", "words"),
    [
        ({"gap_estimate": 0.04}, "good", "within epsilon 0.05", None),
        ({"gap_estimate": 0.1}, "bad", "above epsilon 0.05", "A gap of 0.100 is expected among new people"),
        (
            {"gap_estimate": 0.3, "gap_before_estimate": 0.2},
            "bad",
            "above epsilon 0.05",
            "no smaller than the original score's 0.200",
        ),
    ],
)
def test_only_whom_it_meets_is_told_so(
    data: ReportData, changes: dict[str, float], tone: str, note: str, words: str | None
) -> None:
    """The fitted people are within epsilon in all of these."""
    ahead = replace(data.outlook, **changes)  # type: ignore[type-var]
    shown = replace(data, outlook=ahead)
    first, _, fitted, _, _ = cards(shown)
    assert (first.tone, fitted.tone) == (tone, "") and note in first.note and "within epsilon" in fitted.note
    read = Reader(page(shown))
    side = "within" if tone == "good" else "above"
    assert f"The fair score: a gap of about {ahead.gap_estimate:.3f} for new people, {side} epsilon;" in read.text
    assert "for the fitted people, within epsilon." in read.text
    assert ("caution" in [given.get("class") for _, given in read.tags]) == (words is not None)
    for way in () if words is None else (words, "more rows, first of group", "--promise new", "a larger epsilon"):
        assert way in read.text


def test_an_auc_above_the_original_one_is_marked(data: ReportData) -> None:
    found = data.certificate
    assert found is not None
    high = replace(data, certificate=replace(found, auc_before=found.auc - 0.01))
    assert cards(high)[3].note == "above the original, in this sample only"
    low = replace(found, auc_before=found.auc + 0.01, auc_bound=0.9, auc_bound_without_draw=None)
    assert cards(replace(data, certificate=low))[3].note == "no fair score exceeds 0.900"
    low = replace(low, auc_bound_without_draw=0.8)
    assert cards(replace(data, certificate=low))[3].note == "no fair score exceeds 0.900, none without a draw 0.800"


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_people_drawn_are_weighted_people() -> None:
    scores, y, groups = people(600, groups=3)
    how = {"constraint": "equal_opportunity", "epsilon": 0.05, "weight": 1.0 + 9 * (groups == 2)}
    shown = made(np.where(groups == 2, 0.5, scores), y, groups, **how)
    told = "90.9% of people"  # of rows: 60.7%
    assert any(words.startswith(f"A draw decides for {told} (100.0% of group ") for words in shown.warnings)
    assert f"For {told} the fair score depends on a random draw, for 100.0% of group " in Reader(page(shown)).text


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_the_script_tells_ratios_of_rare_people() -> None:
    """Two and one of 200,000 positives reach the highest score: at this threshold the page opens."""
    scores, y, groups = np.tile([0.1, 0.3, 0.5, 0.7, 0.9], 40), np.tile([0, 0, 1, 1, 1], 40), np.repeat([0, 1], 100)
    weight = np.where(scores == 0.9, np.where(groups == 0, 0.1, 0.05), 10_000.0)
    shown = made(scores, y, groups, weight=weight, constraint="equal_opportunity", ratio=0.8)
    script, start = shown.for_script(), shown.start
    assert shown.thresholds[start] == 0.9 and shown.before.gap[start] == pytest.approx(0.5, abs=1e-5)
    first, second = (group[1][start] / script["units"] for group in script["before"])
    assert second / first == pytest.approx(0.5, abs=1e-4)
    assert all(isinstance(rate, int) for group in made(scores, y, groups).for_script()["before"] for rate in group[0])


def test_every_axis_has_ticks() -> None:
    for high in (*(i / 100 for i in range(1, 201)), 1e-310, 1e300):  # 0.3 / 3 is less than 0.1
        assert 4 <= len(axis("epsilon", 0.0, high).ticks) <= 8, high
    assert axis("epsilon", 0.0, 5e-324).ticks == (0.0,)


@pytest.mark.parametrize(
    ("promise", "asked", "flags"),
    [
        ("new", "", ""),
        ("fitted", ', promise="fitted"', "--promise fitted "),
        ("population", ', promise="population", confidence=0.9', "--promise population --confidence 0.9 "),
    ],
)
@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_the_promise_goes_into_the_fit_and_its_commands(promise: str, asked: str, flags: str) -> None:
    scores, y, groups = people(1000)
    shown = made(scores, y, groups, epsilon=0.25, promise=promise, confidence=0.9)
    found = shown.certificate
    assert found is not None and (found.promise, found.confidence) == (promise, 0.9 if "confidence" in asked else None)
    text = Reader(page(shown)).text
    assert f"FairROC(epsilon=0.25{asked})" in text
    source = Source("people.csv", "p", "y", ("sex",))
    assert f"--epsilon 0.25 {flags}-o model.json" in Reader(page(replace(shown, source=source))).text
    post = FairROC(epsilon=0.25, promise=promise, confidence=found.confidence).fit(scores, y, sensitive_features=groups)
    i = shown.start
    chance = post.acceptance_rate(scores, sensitive_features=groups, threshold=shown.thresholds[i])
    mine = (groups == 1) & y
    assert shown.fair[shown.chosen].groups[1].tpr[i] == pytest.approx(chance[mine].mean(), abs=1e-9)


def test_a_score_that_a_fit_keeps_is_drawn_as_it_is() -> None:
    """Whatever the frontier found at that epsilon: promise="new" may keep a score that the fitted people would not."""
    scores, y, groups = people(300)
    counted = read_people(scores, y, sensitive_features=groups)
    kept, other = (fit_quietly(counted, fitted_options(epsilon=e, draw="all")) for e in (2.0, 0.1))
    assert kept.model.unchanged and other.solution is not None
    grid = threshold_grid(counted, 2, [])
    before = original_lines(counted, grid, equalized_odds(1))
    first, second, last = (
        fair_lines(counted, grid, equalized_odds(1), found, before) for found in (other.solution, other, kept)
    )
    assert last == before != first == second


def test_one_bar_runs_over_all_parts() -> None:
    told: list[tuple[int, int]] = []
    asked = fitted_report(bootstrap=100, epsilon=0.05, draw="all")
    scores, y, groups = people()
    gather(read_people(scores, y, sensitive_features=groups), asked, progress=lambda *at: told.append(at))
    done = [at for at, _ in told]
    assert {total for _, total in told} == {100} and done == sorted(done) and done[-1] == 100
    assert {15, 30, 100} <= set(done) and len({at for at in done if 40 <= at < 95}) > 10


def test_commands_have_the_epsilon_asked_for() -> None:
    scores, y, groups = people()
    source = Source("people.csv", "p", "y", ("sex",))
    words = Reader(page(made(scores, y, groups, source=source, epsilon=0.1234567, norm="inf"))).text
    assert (
        "--epsilon 0.1234567 --norm inf --promise fitted -o model.json" in words
        and "--epsilon 0.1234567 --norm inf\n" in words
    )


# ---- doors ---------------------------------------------------------------------------------------------------


def test_write_report(tmp_path: Path) -> None:
    scores, y, groups = people()
    out = tmp_path / "r.html"
    found = write_report(out, scores, y, sensitive_features=groups, epsilon=0.1, norm="inf", draw="all", bootstrap=100)
    assert found.options.norm == "inf"
    assert (
        'FairROC(epsilon=0.1, norm="inf", draw="all", promise="fitted")' in Reader(out.read_text(encoding="utf-8")).text
    )


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("r.pdf", {}, "must end in one of .html, .htm"),
        ("no/r.html", {}, "there is no folder"),
        ("r.html", {"epsilon": 3}, "epsilon must be between 0 and 2"),
        ("r.html", {"norm": 2}, "norm must be 1 or 'inf'"),
        ("r.html", {"draw": "x"}, "draw must be"),
    ],
)
def test_errors_leave_no_file(tmp_path: Path, name: str, options: dict[str, Any], words: str) -> None:
    scores, y, groups = people(100)
    with pytest.raises(DataError, match=re.escape(words)):
        write_report(tmp_path / name, scores, y, sensitive_features=groups, **options)
    assert list(tmp_path.iterdir()) == []


def test_command(tmp_path: Path, run: Run) -> None:
    out, table = tmp_path / "r.html", write(tmp_path)
    ran = run("report", table, *ROLES, "--epsilon", "0.1", "--draw", "all", "--weight", "w", "-o", out)
    assert ran.code == 0, ran.err
    assert f"report written to {out}" in ran.out
    words = Reader(out.read_text(encoding="utf-8")).text
    assert f"{len(PEOPLE):,} rows" in words
    for part in (f"fairroc fit {shlex.quote(str(table))} \\", "--weight w", "--epsilon 0.1 --draw all -o model.json"):
        assert part in words, part
    run("report", table, *ROLES, "--norm", "2", "-o", out).refused("norm must be 1 or 'inf'")


def test_command_writes_the_twin(tmp_path: Path, run: Run) -> None:
    out, table = tmp_path / "r.html", write(tmp_path)
    asked = ["report", table, *ROLES, "--positive-means", "flagged", "--bootstrap", "100", "-o", out]
    ran = run(*asked, "--json", tmp_path / "r.json", "--format", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["json"] == str(tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    declared(found)
    assert found["asked"]["positive_means"] == "flagged" and found["certificate"] is None
    assert found["source"]["data"] == str(table) and found["audit"]["rows"] == len(PEOPLE)
    words = Reader(out.read_text(encoding="utf-8")).text
    assert "are flagged" in words and "are selected" not in words
    out.unlink()
    run(*asked, "--json", tmp_path / "r.txt").refused("must end in one of .json")
    run(*asked, "--json", tmp_path / "no" / "r.json").refused("there is no folder")
    assert not out.exists()


CONSTRAINTS: list[dict[str, Any]] = [
    {"norm": 1},
    {"norm": "inf", "epsilon": 0.1},
    {"epsilon": {"fpr": 0.2, "tpr": 0.1}},
    {"constraint": "equal_opportunity", "epsilon": 0.1},
    {"constraint": "predictive_equality", "ratio": 0.8},
    {"constraint": "demographic_parity", "epsilon": 0.1, "draw": "never"},
    {"constraint": "demographic_parity", "ratio": 0.8, "where": (0.1, 0.4)},
]


def scripted(data: dict[str, Any], rates: np.ndarray) -> np.ndarray:
    """What the page's script makes of (groups, 2, k) rates."""
    found = []
    for corner in data["corners"]:
        lines = np.einsum("gr,grk->gk", np.array(corner), rates)
        most = lines.max(axis=0) if data["as_ratio"] else 1
        found.append(np.ptp(lines, axis=0) / np.where(most > 0, most, 1))
    return np.max(found, axis=0)


def measured(how: dict[str, Any], scores: Any, y: Any, groups: Any, threshold: float) -> tuple[float, bool]:
    """The gap of one threshold as its definition says, person by person, and whether it counts."""
    chosen = scores >= threshold
    shares = [chosen[groups == g].mean() for g in np.unique(groups)]
    tpr, fpr = ([chosen[(groups == g) & (y == label)].mean() for g in np.unique(groups)] for label in (True, False))
    low, high = how.get("where", (0.0, 1.0))
    counts = low <= chosen.mean() <= high
    name, epsilon = how.get("constraint", "equalized_odds"), how.get("epsilon")
    if name == "equalized_odds":
        pairs = [(abs(f - g), abs(t - u)) for f, t in zip(fpr, tpr, strict=True) for g, u in zip(fpr, tpr, strict=True)]
        if isinstance(epsilon, dict):
            least = min(epsilon.values())
            return max(max(f * least / epsilon["fpr"], t * least / epsilon["tpr"]) for f, t in pairs), counts
        return max(max(pair) if how["norm"] == "inf" else sum(pair) for pair in pairs), counts
    rates = {"equal_opportunity": tpr, "predictive_equality": fpr, "demographic_parity": shares}[name]
    apart, most = max(rates) - min(rates), max(rates)
    return (apart / most if "ratio" in how and most > 0 else apart), counts


@pytest.mark.parametrize("how", CONSTRAINTS, ids=str)
@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_all_of_the_page_is_of_the_constraint(how: dict[str, Any]) -> None:
    """Lines, script, audit, certificate and frontier say what the definition says."""
    scores, y, groups = people(600, groups=3)
    found = made(scores, y, groups, **how)
    data = found.for_script()
    slow = [measured(how, scores, y, groups, t) for t in found.thresholds]
    assert found.before.gap == pytest.approx([gap for gap, _ in slow], abs=1e-12)
    rates = np.array([[line.fpr, line.tpr] for line in found.before.groups])
    assert np.array(data["before"]) / data["units"] == pytest.approx(rates, abs=5.1e-6)
    assert scripted(data, rates) == pytest.approx([gap for gap, _ in slow], abs=1e-12)
    assert found.audit.gap == pytest.approx(max(gap for gap, counts in slow if counts), abs=1e-12)
    declared(twin(found))
    assert found.frontier.before.gap == pytest.approx(found.audit.gap, abs=1e-12)
    assert found.frontier.points[-1].unchanged
    inside = [t for t, (_, counts) in zip(found.thresholds, slow, strict=True) if counts]
    assert found.window == ((inside[0], inside[-1]) if "where" in how else None)
    if found.certificate is not None:
        assert found.certificate.gap_before == pytest.approx(found.audit.gap, abs=1e-12)
        assert found.frontier.points[found.chosen].auc == pytest.approx(found.certificate.auc, abs=1e-9)
        assert found.frontier.points[found.chosen].gap == pytest.approx(found.certificate.gap, abs=1e-9)


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_the_page_names_the_constraint_and_its_commands_ask_for_it() -> None:
    scores, y, groups = people(600)
    how = {"constraint": "demographic_parity", "ratio": 0.8, "where": (0.1, 0.4), "draw": "few"}
    shown = made(scores, y, groups, **how)
    words = Reader(page(shown)).text
    for part in (
        "Demographic parity: of all people, whatever their label, the same share of every group should be selected, "
        "at every threshold at which 10% to 40% of people are selected.",
        "Ratio, the smallest allowed: ",
        "gap (1 - ratio of the selection rate)",
        "largest difference of the TPR",
        "grey: thresholds that do not count",
        'FairROC(ratio=0.8, constraint="demographic_parity", where=(0.1, 0.4), promise="fitted")',
    ):
        assert part in words, part
    assert [card.title for card in cards(shown)][::2] == [
        "New people: selection rate ratio expected",
        "Fitted people: selection rate ratio",
        "Fitted people: drawn",
    ]
    assert cards(shown)[2].value.endswith(f"{1 - shown.certificate.gap:.3f}")  # type: ignore[union-attr]
    source = Source("people.csv", "p", "y", ("sex",))
    words = Reader(page(replace(shown, source=source))).text
    assert "--ratio 0.8 --constraint demographic_parity --where 0.1:0.4 --promise fitted -o model.json" in words
    assert "--ratio 0.8 --constraint demographic_parity --where 0.1:0.4\n" in words
    assert "selected" not in Reader(page(replace(shown, positive_means="let in"))).text
    own = made(scores, y, groups, epsilon={"fpr": 0.2, "tpr": 0.1}, source=source)
    assert "--epsilon-fpr 0.2 --epsilon-tpr 0.1 --promise fitted -o model.json" in Reader(page(own)).text
    assert cards(own)[2].note == "within both tolerances"
    assert 'FairROC(epsilon={"fpr": 0.2, "tpr": 0.1}, promise="fitted")' in Reader(page(replace(own, source=None))).text


def test_epsilons_that_need_draws_are_left_out_of_the_page() -> None:
    scores, y, groups = people(600)
    with pytest.warns(FairrocWarning, match="cannot be kept without draws"):
        shown = made(scores, y, groups, constraint="equal_opportunity", draw="never")
    assert shown.frontier.left_out[0] == 0 and len(shown.fair) == len(shown.frontier.points)
    words = Reader(page(shown)).text
    assert "cannot be kept without draws on these people" in words
    assert all(point.randomised_share == 0 for point in shown.frontier.points)


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_command_for_one_rate(tmp_path: Path, run: Run) -> None:
    out, table = tmp_path / "r.html", write(tmp_path)
    flags = ["--constraint", "equal_opportunity", "--ratio", "0.7", "--where", "0.1:0.9"]
    ran = run("report", table, *ROLES, *flags, "--bootstrap", "100", "-o", out)
    assert ran.code == 0, ran.err
    words = Reader(out.read_text(encoding="utf-8")).text
    assert (
        "Equal opportunity: of people with a positive label, the same share of every group should be selected" in words
    )
    ran = run("report", table, *ROLES, "--ratio", "0.7", "-o", out)
    assert ran.code == 2 and "ratio must be None with constraint='equalized_odds'" in ran.err
