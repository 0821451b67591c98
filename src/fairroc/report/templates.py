"""Templates in Jinja2: everything that goes into a page is escaped, but markup that another template made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from unicodedata import category

from fairroc.errors import FairrocError
from fairroc.report.figures import Picture, Shape

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["environment", "require_report", "script_json", "static", "svg", "swatch"]


def require_report() -> None:
    """Raise an error that says what to install where a package is missing that a report needs."""
    missing = [package for package in ("jinja2", "plotly") if find_spec(package) is None]
    if missing:
        raise FairrocError(
            f"a report needs {' and '.join(missing)}; install what it needs with: pip install 'fairroc[report]'."
        )


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
