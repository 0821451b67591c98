"""The page of a report in a real browser, offline: sliders move, numbers are the audit's, no request leaves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import require_browser
from fairroc import audit
from fitted_people import write_report

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the page is tested with playwright, which is not installed"
)

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SIZES = [(1280, 900), (375, 800)]
MARGINS = (54, 12, 10, 42)
"""Of a plot, in pixels: left, right, top, bottom."""

NAMES = np.array(['</script><b>"A"</b>', "B" * 200, "🙂"])


def people() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    group, y = rng.integers(0, 3, 3000), rng.random(3000) < 0.4
    return rng.normal(size=3000) * (1 + 0.5 * group) + 1.5 * y - 0.4 * group, y, NAMES[group]


class Opened:
    """A page, with what it complained of and asked for."""

    def __init__(self, context: Any, path: Path, size: tuple[int, int]) -> None:
        self.page = context.new_page()
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def rates(self) -> list[list[str]]:
        """The table of rates, row by row."""
        read = "rows => rows.map(row => [...row.cells].slice(1).map(cell => cell.textContent))"
        return self.page.eval_on_selector_all("#rates tbody tr", read)

    def slide(self, name: str, value: int) -> None:
        self.page.locator(f"#{name}").fill(str(value))

    def drawn(self) -> None:
        """Wait for the next picture."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def dots(self, plot: str) -> list[list[float]]:
        """Where the marks of all groups lie, as rates: the axes of a plot go from 0 to 1."""
        self.drawn()
        read = "dots => dots.map(dot => dot.getAttribute('d').match(/^M([-.0-9]+) ([-.0-9]+)/).slice(1).map(Number))"
        places = self.page.eval_on_selector_all(f"#{plot} path.at", read)
        _, _, width, height = map(float, self.page.get_attribute(f"#{plot} svg", "viewBox").split())
        left, right, top, bottom = MARGINS
        return [[(x - left) / (width - left - right), 1 - (y - top) / (height - top - bottom)] for x, y in places]

    def curve(self, plot: str, group: int) -> str:
        self.drawn()
        return self.page.get_attribute(f"#{plot} path[data-group='{group}']:not(.at)", "d")

    def data(self) -> dict[str, Any]:
        return json.loads(self.page.text_content("#data"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    scores, y, groups = people()
    write_report(path, scores, y, sensitive_features=groups, epsilon=0.1, draw="all", bootstrap=100)
    return path


@pytest.fixture(scope="module", params=[True, False], ids=["script", "no-script"])
def contexts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, bool]]:
    program, profile = require_browser(), tmp_path_factory.mktemp("profile")
    with sync_api.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(profile), executable_path=program, args=ARGUMENTS, java_script_enabled=request.param, offline=True
        )
        yield context, request.param
        context.close()


SCRIPTED = pytest.mark.parametrize("contexts", [True], indirect=True, ids=["script"])


@pytest.fixture(params=SIZES, ids=["wide", "narrow"])
def opened(request: pytest.FixtureRequest, contexts: tuple[Any, bool], report: Path) -> Iterator[tuple[Opened, bool]]:
    found = Opened(contexts[0], report, request.param)
    yield found, contexts[1]
    found.page.close()
    assert found.complaints == []
    assert found.requests == [report.as_uri()]


def test_page(opened: tuple[Opened, bool]) -> None:
    found, scripted = opened
    if scripted:
        _moves(found)
        _keyboard(found)
        _isolates(found)
        _tells(found)
        _prints(found)
        _fits(found)
    else:
        _still(found)


def _moves(found: Opened) -> None:
    """Both sliders move dots, curves, table and words; the numbers are those of an audit."""
    data = found.data()
    assert data["frontier"]["epsilon"][data["chosen"]] == 0.1
    for place in (3, 60, len(data["thresholds"]) - 1):
        found.slide("threshold", place)
        threshold = data["thresholds"][place]
        scores, y, groups = people()
        at = audit(scores, y, sensitive_features=groups, threshold=threshold, bootstrap=0).decision
        assert at is not None
        rows = found.rates()
        for shown, real in ((2, [g.tpr for g in at.groups]), (4, [g.fpr for g in at.groups])):
            assert [float(row[shown]) for row in rows[:3]] == pytest.approx(real, abs=6e-4)
        assert float(rows[3][2]) == pytest.approx(at.equalized_odds_l1, abs=6e-4)
        assert float(rows[3][3]) <= 0.1 + 1e-3
        drawn = [group[2][place] / data["units"] for group in data["fair"][data["chosen"]]]
        assert [float(row[6].rstrip("%")) for row in rows[:3]] == pytest.approx(
            [100 * share for share in drawn], abs=0.051
        )
        whole = 100 * sum(share * of_all for share, of_all in zip(drawn, data["shares"], strict=True))
        told = found.page.text_content("#said").split(" There a draw decides for ")[1]
        assert float(told.split("% of people. ")[0]) == pytest.approx(whole, abs=0.051)
        real = [rate for g in at.groups for rate in (g.fpr, g.tpr)]
        assert [x for place_ in found.dots("roc-before") for x in place_] == pytest.approx(real, abs=1e-3)
        assert found.page.text_content("output.threshold-now") == f"{float(f'{threshold:.4g}'):g}"
    curve, dots, meant = found.curve("roc-fair", 1), found.dots("roc-fair"), found.page.text_content("#meant")
    found.slide("threshold", 60)
    found.slide("epsilon", 0)
    assert found.curve("roc-fair", 1) != curve and found.dots("roc-fair") != dots
    assert float(found.rates()[3][3]) <= 1e-3
    words = found.page.text_content("#said")
    assert "with epsilon 0, 0.000" in words and f"{data['frontier']['auc'][0]:.3f}" in words
    assert meant.startswith("Epsilon 0.1: ") and found.page.text_content("#meant").startswith("Epsilon 0: ")
    assert found.page.locator("#away").is_visible()
    found.page.locator("#back").click()
    assert found.page.text_content("output.epsilon-now") == "0.1" and not found.page.locator("#away").is_visible()


def _keyboard(found: Opened) -> None:
    """The sliders are reached by tab and moved by arrows, and the focus can be seen."""
    page = found.page
    page.locator("#threshold").focus()
    before = page.input_value("#threshold")
    page.keyboard.press("ArrowRight")
    assert int(page.input_value("#threshold")) == int(before) + 1
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "epsilon"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert page.get_attribute("#threshold", "aria-valuetext").startswith("score at least")


def _isolates(found: Opened) -> None:
    """A group is seen alone by its button, by a click on its curve, and until Escape."""
    page, faded = found.page, "#roc-before path[stroke='var(--rule)'][data-group]"
    page.locator("#chips button").nth(2).focus()
    page.keyboard.press("Enter")
    found.drawn()
    assert page.locator(faded).count() == 2 and len(found.dots("roc-fair")) == 1
    assert page.locator("#rates tr.on").count() == 1 and f"{found.data()['labels'][1]}: the gap" in page.text_content(
        "#said"
    )
    assert page.locator("#chips button[aria-pressed=true]").count() == 1
    page.keyboard.press("Escape")
    found.drawn()
    assert page.locator(faded).count() == 0 and page.locator("#rates tr.on").count() == 0
    _, _, width, height = map(float, page.get_attribute("#roc-before svg", "viewBox").split())
    (x, y), (left, right, top, bottom) = found.dots("roc-before")[0], MARGINS
    place = {"x": left + x * (width - left - right), "y": top + (1 - y) * (height - top - bottom)}
    page.locator("#roc-before svg").click(position=place)
    found.drawn()
    assert page.locator(faded).count() == 2
    page.keyboard.press("Escape")


def _tells(found: Opened) -> None:
    """Values are told where the pointer is, and where the focus is; arrows move the threshold."""
    page, tip = found.page, found.page.locator("#gap-plot .tip")
    page.locator("#gap-plot svg").hover(position={"x": 150, "y": 80})
    assert "score ≥" in tip.text_content() and tip.is_visible()
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    page.locator("#rates").scroll_into_view_if_needed()
    page.locator("#chips button").last.focus()
    for _ in range(3):  # both ROC plots, then the gap
        page.keyboard.press("Tab")
    before = int(page.input_value("#threshold"))
    page.keyboard.press("ArrowLeft")
    assert int(page.input_value("#threshold")) == before - 1
    assert tip.is_visible() and page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert f"score ≥ {page.text_content('output.threshold-now')}" in tip.text_content()


WHOLE_WORDS = """() => [...document.querySelectorAll('th, td')].flatMap(cell => {
  const broken = [], walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    for (const match of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (match[0].length < 30 && tops.size > 1) broken.push(match[0]);
    }
  }
  return broken;
})"""


def _fits(found: Opened) -> None:
    """Nothing is wider than the screen, the plots are drawn, static pictures make room, tables keep words whole."""
    page = found.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".plot > svg > path").count() > 20
    assert page.locator("svg.static:visible").count() == 0
    assert page.locator("#rates").is_visible()
    assert page.locator("b").count() == 0  # the tag in a group's name stayed text
    page.evaluate("() => document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert page.evaluate(WHOLE_WORDS) == []
    for width in (600, 1100, 375):
        page.set_viewport_size({"width": width, "height": 700})
        found.drawn()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for box in page.evaluate(PLOTS):
            assert 260 <= box["height"] <= 430 and box["width"] <= width


PLOTS = "() => [...document.querySelectorAll('.plot > svg')].map(plot => plot.getBoundingClientRect().toJSON())"


def _prints(found: Opened) -> None:
    """Paper shows the epsilon of the certificate, light, without controls; the screen comes back as it was."""
    page = found.page
    found.slide("epsilon", 0)
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert {*page.locator(".epsilon-now").all_text_contents()} == {"0.1"}
    hidden = "input, button, select, nav, #said, #chips, details"
    assert page.locator(hidden).filter(visible=True).count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen", color_scheme="dark")
    assert page.text_content("output.epsilon-now") == "0"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="light")


def _still(found: Opened) -> None:
    page = found.page
    assert page.locator("svg.static:visible").count() == 5
    assert page.locator("input:visible, button:visible, .plot:visible").count() == 0
    for part in ("#summary", "#rates", "#groups", "#certificate", "#deploy"):
        assert page.locator(part).first.is_visible()


def test_page_of_one_rate(contexts: tuple[Any, bool], tmp_path: Path) -> None:
    """The gap, words and window are those of the constraint, and the script's are the same."""
    context, scripted = contexts
    scores, y, groups = people()
    path, how = tmp_path / "one.html", {"constraint": "demographic_parity", "ratio": 0.8, "where": (0.1, 0.5)}
    gap = write_report(path, scores, y, sensitive_features=groups, bootstrap=100, **how).audit.gap
    found = Opened(context, path, SIZES[0])
    data = found.data()
    assert "Demographic parity: of all people" in found.page.text_content(".meaning")
    assert found.rates()[3][0] == f"{gap:.3f}"
    if scripted:
        _moves_for_one_rate(found, data)
    found.page.close()
    assert found.complaints == []


def _moves_for_one_rate(found: Opened, data: dict[str, Any]) -> None:
    scores, y, groups = people()
    outside = 0
    for place in (3, 60, 110, len(data["thresholds"]) - 5):
        found.slide("threshold", place)
        chosen = scores >= data["thresholds"][place]
        shares = [chosen[groups == name].mean() for name in sorted(NAMES)]
        rows = found.rates()
        assert float(rows[3][0]) == pytest.approx(1 - min(shares) / max(shares), abs=2e-3) and not any(rows[3][2:])
        assert float(rows[4][0]) == pytest.approx(max(shares) - min(shares), abs=6e-4)
        tpr = [chosen[(groups == name) & y].mean() for name in sorted(NAMES)]
        assert float(rows[4][2]) == pytest.approx(max(tpr) - min(tpr), abs=6e-4)
        words = found.page.text_content("#said")
        ratio = float(words.split("the selection rate ratio is ")[1].split()[0])
        assert ratio == pytest.approx(min(shares) / max(shares), abs=2e-3) and "; with ratio 0.8, " in words
        counts = 0.1 <= chosen.mean() <= 0.5
        assert ("This threshold does not count." in words) != counts
        assert not counts or float(rows[3][1]) <= 0.2 + 1e-3
        outside += not counts
    assert 0 < outside < 4
    assert found.page.locator("#gap-plot .outside").count() == 2
    found.slide("threshold", data["start"])
    found.slide("epsilon", 0)
    assert "with ratio 1, 1.000" in found.page.text_content("#said")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of thirteen groups, with warnings."""
    path, rng = tmp_path_factory.mktemp("many") / "many.html", np.random.default_rng(1)
    group, y = rng.integers(0, 13, 2600), rng.random(2600) < 0.5
    scores, names = rng.normal(size=2600) + y * (1 + 0.1 * group), np.array([f"Group {k:02}" for k in range(13)])
    write_report(path, scores, y, sensitive_features=names[group], epsilon=0.2, draw="all", bootstrap=100)
    return path


@SCRIPTED
def test_many_groups_are_seen_one_by_one(contexts: tuple[Any, bool], many: Path) -> None:
    context, _ = contexts
    found = Opened(context, many, SIZES[0])
    minis = found.page.locator("#minis button")
    assert minis.count() == 13
    minis.nth(3).click()
    name = minis.nth(3).locator(".name").text_content()
    found.drawn()
    assert minis.nth(3).get_attribute("aria-pressed") == "true"
    assert found.page.locator("#group-list option:checked").text_content() == name
    assert len(found.dots("roc-fair")) == 1 and f"{name}: the gap" in found.page.text_content("#said")
    found.page.locator("#group-list").select_option("")
    assert len(found.dots("roc-fair")) == 2 == found.page.locator("#roc-fair .label").count()  # furthest apart
    assert found.page.locator("#roc-fair path[data-group]:not(.at)").count() == 13
    found.page.close()
    assert found.complaints == []


@SCRIPTED
@pytest.mark.parametrize(("size", "scheme"), [(SIZES[0], "light"), (SIZES[1], "dark")], ids=["wide", "narrow"])
def test_accessibility(
    contexts: tuple[Any, bool], report: Path, many: Path, size: tuple[int, int], scheme: str
) -> None:
    """axe finds no violation of its rules, best practices among them, with everything unfolded."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    context, _ = contexts
    for path in (report, many):
        found = Opened(context, path, size)
        found.page.emulate_media(color_scheme=scheme)
        found.page.evaluate("() => document.querySelectorAll('details').forEach(part => { part.open = true; })")
        seen = axe.Axe().run(found.page)
        found.page.close()
        assert [(fault["id"], [n["html"] for n in fault["nodes"]]) for fault in seen.response["violations"]] == []
        assert len(seen.response["passes"]) > 20
