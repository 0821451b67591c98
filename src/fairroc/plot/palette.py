"""The colours of all pictures and pages: matplotlib's, the report's figures, its script and its style sheet."""

from __future__ import annotations

from importlib.util import find_spec

from fairroc.errors import FairrocError

GROUPS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#2AA1D3", "#333333", "#7A7A1F")
"""One for each group, after Okabe and Ito: told apart by colour-blind readers too, and dark enough on white."""

FAIR, FIT, ORIGINAL, LIMIT = GROUPS[0], GROUPS[1], "#555555", "#B00020"
"""The fair score, one fit among fair scores, the original score, and epsilon."""

LEVEL, THRESHOLD, CHANCE, GRID = "#999999", "#aaaaaa", "#cccccc", "#e5e5e5"
"""Lines that guide the eye: one constant level, the threshold, the diagonal, the grid."""

SCRIPT = {
    "groups": GROUPS,
    "fair": FAIR,
    "fit": FIT,
    "original": ORIGINAL,
    "limit": LIMIT,
    "level": LEVEL,
    "threshold": THRESHOLD,
    "grid": GRID,
}
"""What the script of a page reads."""

STYLE = {
    "ink": "#1d1d1f",
    "soft": "#5a5a60",
    "line": "#d9d9de",
    "rule": "#9a9aa2",
    "blue": "#005a8f",
    "focus": "#ff9500",
    "ground": "#f6f7f9",
    "good": "#00704f",
    "bad": "#b00020",
    "caution": "#fff5f0",
}
"""Variables of a page's style sheet."""


def style_variables() -> str:
    """The variables as a rule of CSS."""
    return f":root {{ {' '.join(f'--{name}: {colour};' for name, colour in STYLE.items())} }}"


def require_matplotlib() -> None:
    """Raise an error that says what to install where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise FairrocError("a picture needs matplotlib; install it with: pip install 'fairroc[plot]'.")
