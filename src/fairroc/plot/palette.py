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

DARK_GROUPS = ("#56B4E9", "#FF9248", "#2FC79B", "#E08FCB", "#E0B040", "#9AD8F7", "#D0D0D0", "#C2C25A")
COLOURS = {
    "paper": ("#ffffff", "#15171b"),
    "ink": ("#1d1d1f", "#eceef1"),
    "soft": ("#54545b", "#b4b8c0"),
    "line": ("#d9d9de", "#3a3e46"),
    "rule": ("#8a8a93", "#7f858f"),
    "blue": ("#005a8f", "#7cc4f5"),
    "focus": ("#c05a00", "#ffb454"),
    "ground": ("#f4f6f8", "#1e2127"),
    "good": ("#00704f", "#4cd3a2"),
    "bad": ("#b00020", "#ff8a8a"),
    "caution": ("#fff4ee", "#33211f"),
    "original": (ORIGINAL, "#b8bcc4"),
    "fair": (FAIR, DARK_GROUPS[0]),
    "fit": (FIT, DARK_GROUPS[1]),
    "limit": (LIMIT, "#ff8a8a"),
    "threshold": ("#77777f", "#9298a2"),
    "chance": (CHANCE, "#565b64"),
    "grid": (GRID, "#2f333a"),
    **{f"g{number}": pair for number, pair in enumerate(zip(GROUPS, DARK_GROUPS, strict=True))},
}
"""Variables of a page, its style sheet and the lines of its figures: on white, and on a dark screen."""

STYLE, DARK = ({name: pair[i] for name, pair in COLOURS.items()} for i in (0, 1))


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
