"""A report as one HTML file that opens offline: data first, then the page."""

from __future__ import annotations

import os
from importlib.resources import files
from importlib.util import find_spec
from string import Template
from typing import Any

from fairroc.errors import FairrocError
from fairroc.options import Missing
from fairroc.people.rows import read_columns
from fairroc.plot import palette
from fairroc.report import html_parts as parts
from fairroc.report.data import Asked, ReportData, gather
from fairroc.report.html_deploy import deploy
from fairroc.report.html_svg import frontier_figure, gap_figure, roc_figure
from fairroc.report.html_tags import Html, script_json, tag, text
from fairroc.tables.files import check_writable, write_text_atomic

__all__ = ["page", "require_plotly", "write_page", "write_report"]

SUFFIXES = (".html", ".htm")


def write_report(
    path: str | os.PathLike[str],
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    epsilon: float | None = None,
    norm: Any = 1,
    ties: str | None = None,
    threshold: float | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing = "error",
    confidence: float = 0.95,
    bootstrap: int = 1000,
    random_state: Any = 0,
    title: str = "Scores and groups",
) -> ReportData:
    """Write a report of a score to one HTML file, and return what it shows.

    Parameters
    ----------
    path : file to write, .html.
    scores, y, sensitive_features, sample_weight, pos_label, missing : as in :func:`fairroc.audit`.
    epsilon : allowed gap; the fair score at it is fitted and certified. Without it the page shows the frontier only.
    norm, ties : as in :class:`fairroc.FairROC`.
    threshold : where the page starts; by default at the largest gap.
    confidence, bootstrap, random_state : as in :func:`fairroc.audit`.
    title : of the page.
    """
    require_plotly()
    check_writable(path, SUFFIXES)
    asked = Asked.checked(
        epsilon=epsilon,
        norm=norm,
        ties=ties,
        threshold=threshold,
        confidence=confidence,
        bootstrap=bootstrap,
        random_state=random_state,
        missing=missing,
    )
    columns = read_columns(
        scores,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        pos_label=pos_label,
        missing=missing,
    )
    data = gather(columns, asked, title=title)
    write_page(path, data)
    return data


def write_page(path: str | os.PathLike[str], data: ReportData) -> None:
    """Write the page of a report, whole or not at all."""
    write_text_atomic(path, page(data))


def require_plotly() -> None:
    """Raise an error that says what to install where plotly is missing."""
    if find_spec("plotly") is None:
        raise FairrocError("a report needs plotly; install it with: pip install 'fairroc[report]'.")


def page(data: ReportData) -> str:
    """The whole page: text, tables and pictures as plain HTML, and scripts that make them move."""
    require_plotly()
    from plotly.offline import get_plotlyjs

    return Template(_static("page.html")).substitute(
        title=text(data.title),
        css=f"{palette.style_variables()}\n{_static('page.css')}",
        subtitle=parts.subtitle(data),
        cards=parts.cards(data),
        summary=parts.summary(data),
        controls=_controls(data),
        rates=parts.rates_table(data),
        roc=roc_figure(data),
        gap=gap_figure(data),
        frontier=frontier_figure(data),
        frontier_table=parts.frontier_table(data),
        groups=parts.group_table(data),
        certificate=parts.certificate_part(data),
        card=parts.card(data),
        deploy=deploy(data),
        data=script_json({**data.to_dict(), "palette": palette.SCRIPT}),
        plotly=get_plotlyjs(),
        script=_static("page.js"),
    )


def _controls(data: ReportData) -> Html:
    """The two sliders, each with a label and its value."""
    points = data.frontier.points
    threshold = _slider("threshold", "Threshold: accept score ≥ ", len(data.thresholds), data.start)
    at = f"{data.thresholds[data.start]:.4g}"
    epsilon = _slider("epsilon", "Epsilon, the allowed gap: ", len(points), data.chosen)
    return tag(
        "div",
        tag("p", threshold[0], tag("output", at, id="threshold-value", for_="threshold"), threshold[1]),
        tag("p", epsilon[0], tag("output", f"{points[data.chosen].epsilon:.4g}", id="epsilon-value"), epsilon[1]),
        class_="controls needs-script",
        role="group",
        aria_label="Threshold and epsilon",
    )


def _slider(name: str, words: str, count: int, start: int) -> tuple[Html, Html]:
    last = count - 1
    return tag("label", words, for_=name), tag("input", type="range", id=name, min=0, max=last, value=start, step=1)


def _static(name: str) -> str:
    return files("fairroc.report").joinpath("static", name).read_text(encoding="utf-8")
