"""One fair score from any trained classifier: equalized ROC curves at every threshold, at the least loss of AUC."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairroc._version import __version__

if TYPE_CHECKING:
    from fairroc.auditing import Audit, audit
    from fairroc.certificate import Certificate
    from fairroc.classifier import FairROCClassifier
    from fairroc.errors import FairrocError, FairrocWarning
    from fairroc.estimator import FairROC
    from fairroc.model import FairModel

_HOME = {
    "Audit": "auditing",
    "Certificate": "certificate",
    "FairModel": "model",
    "FairROC": "estimator",
    "FairROCClassifier": "classifier",
    "FairrocError": "errors",
    "FairrocWarning": "errors",
    "audit": "auditing",
}

__all__ = [
    "Audit",
    "Certificate",
    "FairModel",
    "FairROC",
    "FairROCClassifier",
    "FairrocError",
    "FairrocWarning",
    "__version__",
    "audit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairroc' has no attribute '{name}'")
    value = getattr(import_module(f"fairroc.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
