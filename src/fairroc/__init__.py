"""One fair score from any trained classifier: equalized ROC curves at every threshold, at the least loss of AUC."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairroc._version import __version__

if TYPE_CHECKING:
    from fairroc.auditing.audit import audit, audit_counts
    from fairroc.auditing.findings import Audit
    from fairroc.auditing.verify import verify
    from fairroc.errors import (
        DataError,
        DatasetError,
        FairrocError,
        FairrocWarning,
        ModelFileError,
        SmallGroupWarning,
        UnknownGroupError,
    )
    from fairroc.estimators.classifier import FairROCClassifier
    from fairroc.estimators.fair_roc import FairROC, fit_counts
    from fairroc.fairmodel import FairModel
    from fairroc.fitting.certificate import Certificate
    from fairroc.fitting.frontier import Frontier, frontier
    from fairroc.fitting.one_draw import OneDraw
    from fairroc.fitting.outlook import Outlook
    from fairroc.fitting.thresholds import Choice, choose_threshold
    from fairroc.model.explanation import Explanation
    from fairroc.model.maps import ScoreMap
    from fairroc.monitoring.drift import Drift
    from fairroc.people.counts import ScoreCounts
    from fairroc.people.streaming import count_files
    from fairroc.people.tensors import GroupCodes
    from fairroc.plot.frontier import FrontierDisplay
    from fairroc.plot.gap import GapDisplay
    from fairroc.plot.roc import FairROCDisplay
    from fairroc.plot.scores import ScoreDisplay
    from fairroc.report.pack import write_pack
    from fairroc.report.page import write_report
    from fairroc.verifying.check import Verification

_HOME = {
    "Audit": "auditing.findings",
    "Certificate": "fitting.certificate",
    "Choice": "fitting.thresholds",
    "DataError": "errors",
    "DatasetError": "errors",
    "Drift": "monitoring.drift",
    "Explanation": "model.explanation",
    "FairModel": "fairmodel",
    "FairROC": "estimators.fair_roc",
    "FairROCClassifier": "estimators.classifier",
    "FairROCDisplay": "plot.roc",
    "FairrocError": "errors",
    "FairrocWarning": "errors",
    "Frontier": "fitting.frontier",
    "FrontierDisplay": "plot.frontier",
    "GapDisplay": "plot.gap",
    "GroupCodes": "people.tensors",
    "ModelFileError": "errors",
    "OneDraw": "fitting.one_draw",
    "Outlook": "fitting.outlook",
    "ScoreCounts": "people.counts",
    "ScoreDisplay": "plot.scores",
    "ScoreMap": "model.maps",
    "SmallGroupWarning": "errors",
    "UnknownGroupError": "errors",
    "Verification": "verifying.check",
    "audit": "auditing.audit",
    "audit_counts": "auditing.audit",
    "choose_threshold": "fitting.thresholds",
    "count_files": "people.streaming",
    "fit_counts": "estimators.fair_roc",
    "frontier": "fitting.frontier",
    "verify": "auditing.verify",
    "write_pack": "report.pack",
    "write_report": "report.page",
}

__all__ = [
    "Audit",
    "Certificate",
    "Choice",
    "DataError",
    "DatasetError",
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
    "GroupCodes",
    "ModelFileError",
    "OneDraw",
    "Outlook",
    "ScoreCounts",
    "ScoreDisplay",
    "ScoreMap",
    "SmallGroupWarning",
    "UnknownGroupError",
    "Verification",
    "__version__",
    "audit",
    "audit_counts",
    "choose_threshold",
    "count_files",
    "fit_counts",
    "frontier",
    "verify",
    "write_pack",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairroc' has no attribute '{name}'")
    value = getattr(import_module(f"fairroc.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
