"""One fair score from any trained classifier: equalized ROC curves at every threshold, at the least loss of AUC."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairroc._version import __version__

if TYPE_CHECKING:
    from fairroc.auditing import Audit, audit, audit_counts
    from fairroc.certificate import Certificate
    from fairroc.choosing import Choice, choose_threshold
    from fairroc.classifier import FairROCClassifier
    from fairroc.counts import ScoreCounts
    from fairroc.drift import Drift
    from fairroc.errors import FairrocError, FairrocWarning
    from fairroc.estimator import FairROC, fit_counts
    from fairroc.explaining import Explanation
    from fairroc.model import FairModel
    from fairroc.plot.frontier import FrontierDisplay
    from fairroc.plot.gap import GapDisplay
    from fairroc.plot.roc import FairROCDisplay
    from fairroc.plot.scores import ScoreDisplay
    from fairroc.streaming import count_files
    from fairroc.tradeoff import Frontier, frontier

_HOME = {
    "Audit": "auditing",
    "Certificate": "certificate",
    "Choice": "choosing",
    "Drift": "drift",
    "Explanation": "explaining",
    "FairModel": "model",
    "FairROC": "estimator",
    "FairROCClassifier": "classifier",
    "FairROCDisplay": "plot.roc",
    "FairrocError": "errors",
    "FairrocWarning": "errors",
    "Frontier": "tradeoff",
    "FrontierDisplay": "plot.frontier",
    "GapDisplay": "plot.gap",
    "ScoreCounts": "counts",
    "ScoreDisplay": "plot.scores",
    "audit": "auditing",
    "audit_counts": "auditing",
    "choose_threshold": "choosing",
    "count_files": "streaming",
    "fit_counts": "estimator",
    "frontier": "tradeoff",
}

__all__ = [
    "Audit",
    "Certificate",
    "Choice",
    "Drift",
    "Explanation",
    "FairModel",
    "FairROC",
    "FairROCClassifier",
    "FairROCDisplay",
    "FairrocError",
    "FairrocWarning",
    "Frontier",
    "FrontierDisplay",
    "GapDisplay",
    "ScoreCounts",
    "ScoreDisplay",
    "__version__",
    "audit",
    "audit_counts",
    "choose_threshold",
    "count_files",
    "fit_counts",
    "frontier",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairroc' has no attribute '{name}'")
    value = getattr(import_module(f"fairroc.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
