"""The page of a report in a real browser, offline: sliders move, numbers are the audit's, no request leaves it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairroc import audit
from fairroc.report import write_report

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the page is tested with playwright, which is not installed"
)
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium on this machine, and `make test` could install none"
)

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SIZES = [(1280, 900), (375, 800)]
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

    def dots(self, trace: int) -> list[list[float]]:
        """Points of a trace of the ROC plot, as plotly holds them."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self.page.evaluate(
            f"() => ['x', 'y'].map(k => [...document.getElementById('roc-plot').data[{trace}][k]])"
        )

    def data(self) -> dict[str, Any]:
        return json.loads(self.page.text_content("#data"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    scores, y, groups = people()
    write_report(path, scores, y, sensitive_features=groups, epsilon=0.1, ties="draw", bootstrap=100)
    return path


@pytest.fixture(scope="module", params=[True, False], ids=["script", "no-script"])
def contexts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, bool]]:
    profile = tmp_path_factory.mktemp("profile")
    with sync_api.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(profile), executable_path=BROWSER, args=ARGUMENTS, java_script_enabled=request.param, offline=True
        )
        yield context, request.param
        context.close()


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
        _fits(found)
        _turns(found)
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
        assert [row[2] for row in rows[:3]] == [f"{group.tpr:.4f}" for group in at.groups]
        assert [row[4] for row in rows[:3]] == [f"{group.fpr:.4f}" for group in at.groups]
        assert rows[3][2] == f"{at.equalized_odds_l1:.4f}"
        assert float(rows[3][3]) <= 0.1 + 1e-4
        assert found.dots(6) == [[g.fpr for g in at.groups], [g.tpr for g in at.groups]]
        assert found.page.text_content("#threshold-value") == f"{float(f'{threshold:.4g}'):g}"
    curve, dots = found.dots(1), found.dots(7)
    found.slide("threshold", 60)
    found.slide("epsilon", 0)
    assert found.dots(1) != curve and found.dots(7) != dots
    assert float(found.rates()[3][3]) <= 1e-4
    words = found.page.text_content("#said")
    assert "with epsilon 0, 0.000" in words and f"{data['frontier']['auc'][0]:.4f}" in words


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


def _fits(found: Opened) -> None:
    """Nothing is wider than the screen, the plots are drawn, and the static pictures make room for them."""
    page = found.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".plot .main-svg").count() >= 3
    assert page.locator("svg.static:visible").count() == 0
    assert page.locator("#rates").is_visible()
    assert page.locator("b").count() == 0  # the tag in a group's name stayed text


def _turns(found: Opened) -> None:
    """Plots keep their height and take the new width when the window changes, and when it was printed."""
    page = found.page
    sizes = "() => [...document.querySelectorAll('.plot')].map(p => [p.querySelector('.main-svg'), p, p.parentElement]"
    sizes += ".map(e => [e.getBoundingClientRect().width, e.getBoundingClientRect().height]))"
    for width in (600, 1100, 375):
        page.set_viewport_size({"width": width, "height": 700})
        page.evaluate("window.dispatchEvent(new Event('beforeprint')); window.dispatchEvent(new Event('afterprint'))")
        page.wait_for_function(f"() => ({sizes})().every(([svg, plot]) => Math.abs(svg[0] - plot[0]) < 2)")
        for svg, plot, figure in page.evaluate(sizes):
            assert 390 <= svg[1] <= plot[1] + 1 <= figure[1] + 1
            assert plot[0] <= figure[0] <= width


def _still(found: Opened) -> None:
    page = found.page
    assert page.locator("svg.static:visible").count() == 3
    assert page.locator("input[type=range]:visible").count() == 0
    for part in ("#summary", "#rates", "#groups", "#certificate", "#deploy"):
        assert page.locator(part).first.is_visible()


def test_page_of_one_rate(contexts: tuple[Any, bool], tmp_path: Path) -> None:
    """The gap, words and window are those of the constraint, and the script's are the same."""
    context, scripted = contexts
    scores, y, groups = people()
    path, how = tmp_path / "one.html", {"constraint": "demographic_parity", "ratio": 0.8, "where": (0.1, 0.5)}
    write_report(path, scores, y, sensitive_features=groups, bootstrap=100, **how)
    found = Opened(context, path, SIZES[0])
    data = found.data()
    assert "Demographic parity: of all people" in found.page.text_content(".meaning")
    assert found.rates()[3][0] == f"{data['audit']['gap']:.4f}"
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
        shares = [chosen[groups == name].mean() for name in data["names"]]
        rows = found.rates()
        assert rows[3][0] == f"{1 - min(shares) / max(shares):.4f}" and rows[3][2:] == [""] * 4
        assert rows[4][0] == f"{max(shares) - min(shares):.4f}"
        tpr = [chosen[(groups == name) & y].mean() for name in data["names"]]
        assert rows[4][2] == f"{max(tpr) - min(tpr):.4f}"
        words = found.page.text_content("#said")
        assert f"the selection rate ratio is {min(shares) / max(shares):.3f}; with ratio 0.8, " in words
        counts = 0.1 <= chosen.mean() <= 0.5
        assert ("This threshold does not count." in words) != counts
        assert not counts or float(rows[3][1]) <= 0.2 + 1e-4
        outside += not counts
    assert 0 < outside < 4
    grey = found.page.evaluate(
        "() => document.getElementById('gap-plot').layout.shapes.filter(s => s.type === 'rect').length"
    )
    assert grey == 2
    found.slide("threshold", data["start"])
    found.slide("epsilon", 0)
    assert "with ratio 1, 1.000" in found.page.text_content("#said")
