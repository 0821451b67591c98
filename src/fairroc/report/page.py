"""A report as one HTML file that opens offline, from templates in Jinja2.

Everything that goes into a page is escaped, but markup that another template made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from unicodedata import category

from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError
from fairroc.options import POSITIVE_MEANS, REPORT, Missing, SmallTreatment
from fairroc.people.door import read_people
from fairroc.plot import palette
from fairroc.report.data import Asked, ReportData, gather
from fairroc.report.families import FAMILIES, FamilyReport, family_options, gather_families, view_families
from fairroc.report.figures import Picture, Shape
from fairroc.report.view import view, words
from fairroc.tables.files import check_writable
from fairroc.tables.write import written_together

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SUFFIXES, JSON_SUFFIXES = (".html", ".htm"), (".json",)


@documented(options=REPORT, setup=PEOPLE)
def write_report(
    path: str | os.PathLike[str],
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    epsilon: Any = None,
    constraint: str = "equalized_odds",
    ratio: float | None = None,
    norm: Any = 1,
    draw: str = "few",
    where: Any = None,
    promise: str = "new",
    use_group: bool = True,
    combine: str = "intersection",
    threshold: float | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing = "error",
    confidence: float = 0.95,
    bootstrap: int = 1000,
    random_state: Any = 0,
    min_class_rows: int = 1,
    small_groups: SmallTreatment = "error",
    positive_means: str = "selected",
    title: str = "Scores and groups",
    json: str | os.PathLike[str] | None = None,
    control_features: Any = None,
    group_probabilities: Any = None,
) -> ReportData | FamilyReport:
    """Write a report of a score to one HTML file, and return what it shows.

    With ``use_group=False``, ``combine="each"``, control features or probabilities of the groups it is a page of the
    fit alone, which needs epsilon or a ratio and has no sliders; what must be asked about the law comes first.

    Parameters
    ----------
    path : file to write, .html.
    epsilon, ratio : what is allowed; the fair score at it is fitted and certified. Without either the page shows the
        frontier only.
    title : of the page.
    json : another file to write, .json: everything that the page shows, unrounded.
    control_features, group_probabilities : as `FairROC.fit` takes them.

    Returns: ReportData or FamilyReport: all that the page shows, as data; printed, it is a table.
    Raises: DataError, FairrocError
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = write_report(f"{folder}/report.html", scores, y, sensitive_features=sex, epsilon=0.1, draw="all")
    >>> told.audit.gap > told.certificate.gap
    True
    """
    check_writable(path, SUFFIXES)
    if json is not None:
        check_writable(json, JSON_SUFFIXES)
    how: dict[str, Any] = {
        "epsilon": epsilon,
        "constraint": constraint,
        "ratio": ratio,
        "norm": norm,
        "draw": draw,
        "where": where,
        "promise": promise,
        "missing": missing,
        "min_class_rows": min_class_rows,
        "small_groups": small_groups,
    }
    known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
    told = {"control_features": control_features, "group_probabilities": group_probabilities}
    if not use_group or combine != "intersection" or control_features is not None or group_probabilities is not None:
        if json is not None or threshold is not None:
            raise DataError(f"json and threshold must be left out with {FAMILIES}: their page has neither.")
        options = family_options(**how, use_group=use_group, combine=combine)
        means = POSITIVE_MEANS.checked(positive_means)
        found = gather_families(scores, y, options, title=title, positive_means=means, **known, **told)
        write_family_page(path, found)
        return found
    asked = Asked.checked(
        **how,
        threshold=threshold,
        confidence=confidence,
        bootstrap=bootstrap,
        random_state=random_state,
        positive_means=positive_means,
    )
    people = read_people(scores, y, **known, missing=missing, small=asked.settings.small_rule)
    data = gather(people, asked, title=title)
    write_page(path, data, json)
    return data


def write_page(path: str | os.PathLike[str], data: ReportData, json_path: str | os.PathLike[str] | None = None) -> None:
    """Write the page of a report, and its JSON twin where one is wanted: all of both, or nothing."""
    with written_together() as begin:
        begin_page(begin, path, data, json_path)


def begin_page(
    begin: Callable[[Path], AbstractContextManager[BinaryIO]],
    path: str | os.PathLike[str],
    data: ReportData,
    json_path: str | os.PathLike[str] | None = None,
) -> None:
    """The same among files that are `written_together`."""
    content = page(data).encode()
    if json_path is not None:
        with begin(Path(json_path)) as sink:
            sink.write(f"{json.dumps(twin(data), ensure_ascii=False, allow_nan=False, indent=1)}\n".encode())
    with begin(Path(path)) as sink:
        sink.write(content)


def write_family_page(path: str | os.PathLike[str], data: FamilyReport) -> None:
    """Write the page of a fit whose score is not told the groups that it compares: all of it, or nothing."""
    content = environment().get_template("families.html").render(view_families(data), style=_style()).encode()
    with written_together() as begin, begin(Path(path)) as sink:
        sink.write(content)


def _style() -> Markup:
    from markupsafe import Markup

    return Markup(palette.style_variables() + palette.dark_variables()) + static("page.css")


def twin(data: ReportData) -> dict[str, Any]:
    """Everything that the page shows, ready for JSON: its numbers, none rounded, and its words."""
    return {**data.to_dict(), "words": words(data)}


def page(data: ReportData) -> str:
    """The whole page: text, tables and pictures as plain HTML, and a script that makes them move."""
    return (
        environment()
        .get_template("page.html")
        .render(
            view(data),
            style=_style(),
            data=script_json(data.for_script()),
            script=static("page.js"),
        )
    )


# -- templates -------------------------------------------------------------------------------------------------------


@cache
def environment(package: str = "fairroc.report") -> Environment:
    """The templates of a package, those of the report behind them."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, "fairroc.report"))]),
        autoescape=True,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def _plain(value: Any) -> Any:
    """Text without control characters and lone surrogates, which have no place in a page."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "".join(c if c == "\n" or category(c) not in ("Cc", "Cs") else "\ufffd" for c in value)


def static(name: str, package: str = "fairroc.report") -> Markup:
    """A style sheet or a script as it is."""
    from markupsafe import Markup

    found = environment(package)
    assert found.loader is not None
    return Markup(found.loader.get_source(found, name)[0])


def script_json(data: Any) -> Markup:
    """JSON that can stand inside a script element: no character that could end it."""
    from markupsafe import Markup

    plain = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        plain = plain.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(plain)


def svg(picture: Picture) -> Markup:
    """A picture as SVG."""
    return _macro("picture", picture)


def swatch(shapes: Sequence[Shape]) -> Markup:
    """A sample of lines and marks, for a legend."""
    return _macro("swatch", shapes)


def _macro(name: str, value: Any) -> Markup:
    found: Markup = getattr(environment().get_template("macros.html").module, name)(value)
    return found
