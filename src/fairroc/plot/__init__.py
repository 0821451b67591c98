"""Pictures. Nothing is shown or saved here, and pyplot is left alone: the caller gets matplotlib figures.

The Displays follow scikit-learn's: ``from_predictions`` and ``from_estimator`` compute and draw, ``plot`` draws again.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairroc.plot.frontier import FrontierDisplay as FrontierDisplay
    from fairroc.plot.gap import GapDisplay as GapDisplay
    from fairroc.plot.roc import FairROCDisplay as FairROCDisplay
    from fairroc.plot.roc import before_after as before_after
    from fairroc.plot.scores import ScoreDisplay as ScoreDisplay

_HOME = {
    "FairROCDisplay": "roc",
    "FrontierDisplay": "frontier",
    "GapDisplay": "gap",
    "ScoreDisplay": "scores",
    "before_after": "roc",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairroc.plot' has no attribute '{name}'")
    value = getattr(import_module(f"fairroc.plot.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
