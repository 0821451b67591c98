"""One fair score from any trained classifier: equalized ROC curves at every threshold, at the least loss of AUC."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairroc._version import __version__

if TYPE_CHECKING:
    from fairroc.auditing import Audit, audit
    from fairroc.certificate import Certificate
    from fairroc.choosing import Choice, choose_threshold
    from fairroc.classifier import FairROCClassifier
    from fairroc.errors import FairrocError, FairrocWarning
    from fairroc.estimator import FairROC
    from fairroc.explaining import Explanation
    from fairroc.model import FairModel
    from fairroc.plot.frontier import FrontierDisplay
    from fairroc.plot.gap import GapDisplay
    from fairroc.plot.roc import FairROCDisplay
    from fairroc.plot.scores import ScoreDisplay
    from fairroc.tradeoff import Frontier, frontier

_HOME = {
    "Audit": "auditing",
    "Certificate": "certificate",
    "Choice": "choosing",
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
    "ScoreDisplay": "plot.scores",
    "audit": "auditing",
    "choose_threshold": "choosing",
    "frontier": "tradeoff",
}

__all__ = [
    "Audit",
    "Certificate",
    "Choice",
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
    "ScoreDisplay",
    "__version__",
    "audit",
    "choose_threshold",
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
