"""The colours of all pictures and pages: matplotlib's, the report's figures and its style sheet, light and dark."""

from __future__ import annotations

from importlib.util import find_spec

from fairroc.errors import FairrocError

GROUPS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#2A98C9", "#333333", "#7A7A1F")
"""One for each group, after Okabe and Ito: told apart by colour-blind readers too, and dark enough on white."""

FAIR, FIT, ORIGINAL, LIMIT = GROUPS[0], GROUPS[1], "#555555", "#B00020"
"""The fair score, one fit among fair scores, the original score, and epsilon."""

CHANCE, GRID = "#cccccc", "#e5e5e5"
"""Lines that guide the eye: the diagonal, the grid."""

STYLE = {
    "paper": "#ffffff",
    "ink": "#1d1d1f",
    "soft": "#54545b",
    "line": "#d9d9de",
    "rule": "#8a8a93",
    "blue": "#005a8f",
    "focus": "#c05a00",
    "ground": "#f4f6f8",
    "good": "#00704f",
    "bad": "#b00020",
    "caution": "#fff4ee",
    "original": ORIGINAL,
    "fair": FAIR,
    "fit": FIT,
    "limit": LIMIT,
    "threshold": "#77777f",
    "chance": CHANCE,
    "grid": GRID,
    **{f"g{number}": colour for number, colour in enumerate(GROUPS)},
}
"""Variables of a page: its style sheet, and the lines of its figures."""

DARK_GROUPS = ("#56B4E9", "#FF9248", "#2FC79B", "#E08FCB", "#E0B040", "#9AD8F7", "#D0D0D0", "#C2C25A")
DARK = {
    "paper": "#15171b",
    "ink": "#eceef1",
    "soft": "#b4b8c0",
    "line": "#3a3e46",
    "rule": "#7f858f",
    "blue": "#7cc4f5",
    "focus": "#ffb454",
    "ground": "#1e2127",
    "good": "#4cd3a2",
    "bad": "#ff8a8a",
    "caution": "#33211f",
    "original": "#b8bcc4",
    "fair": DARK_GROUPS[0],
    "fit": DARK_GROUPS[1],
    "limit": "#ff8a8a",
    "threshold": "#9298a2",
    "chance": "#565b64",
    "grid": "#2f333a",
    **{f"g{number}": colour for number, colour in enumerate(DARK_GROUPS)},
}
"""The same on a dark screen."""


def style_variables() -> str:
    """The variables as a rule of CSS."""
    return f":root {{ {_declared(STYLE)} }}\n"


def dark_variables() -> str:
    """Those of a dark screen, as a rule of CSS; paper stays white."""
    return f"@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {_declared(DARK)} }} }}\n"


def _declared(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def require_matplotlib() -> None:
    """Raise an error that says what to install where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise FairrocError("a picture needs matplotlib; install it with: pip install 'fairroc[plot]'.")
