"""A report as one HTML file that opens offline: data first, then the page."""

from __future__ import annotations

import os
from typing import Any

from fairroc.options import Missing
from fairroc.people.rows import read_columns
from fairroc.plot import palette
from fairroc.report.data import Asked, ReportData, gather
from fairroc.report.templates import environment, require_report, script_json, static
from fairroc.report.view import view
from fairroc.tables.files import check_writable
from fairroc.tables.write import write_text_atomic

__all__ = ["page", "write_page", "write_report"]

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
    require_report()
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


def page(data: ReportData) -> str:
    """The whole page: text, tables and pictures as plain HTML, and scripts that make them move."""
    require_report()
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    return (
        environment()
        .get_template("page.html")
        .render(
            view(data),
            style=Markup(palette.style_variables()) + static("page.css"),
            data=script_json({**data.to_dict(), "palette": palette.SCRIPT}),
            plotly=Markup(get_plotlyjs()),
            script=static("page.js"),
        )
    )
