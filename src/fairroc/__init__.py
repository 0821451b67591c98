"""One fair score from any trained classifier: equalized ROC curves at every threshold, at the least loss of AUC."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairroc._version import __version__ as __version__

if TYPE_CHECKING:
    from fairroc.auditing.audit import audit as audit
    from fairroc.auditing.audit import audit_counts as audit_counts
    from fairroc.auditing.findings import Audit as Audit
    from fairroc.auditing.verify import verify as verify
    from fairroc.errors import DataError as DataError
    from fairroc.errors import DatasetError as DatasetError
    from fairroc.errors import FairrocError as FairrocError
    from fairroc.errors import FairrocWarning as FairrocWarning
    from fairroc.errors import ModelFileError as ModelFileError
    from fairroc.errors import SmallGroupWarning as SmallGroupWarning
    from fairroc.errors import UnknownGroupError as UnknownGroupError
    from fairroc.estimators.classifier import FairROCClassifier as FairROCClassifier
    from fairroc.estimators.fair_roc import FairROC as FairROC
    from fairroc.estimators.fair_roc import fit_counts as fit_counts
    from fairroc.fairmodel import FairModel as FairModel
    from fairroc.fitting.certificate import Certificate as Certificate
    from fairroc.fitting.frontier import Frontier as Frontier
    from fairroc.fitting.frontier import frontier as frontier
    from fairroc.fitting.one_draw import OneDraw as OneDraw
    from fairroc.fitting.outlook import Outlook as Outlook
    from fairroc.fitting.thresholds import Choice as Choice
    from fairroc.fitting.thresholds import choose_threshold as choose_threshold
    from fairroc.model.explanation import Explanation as Explanation
    from fairroc.model.maps import ScoreMap as ScoreMap
    from fairroc.monitoring.drift import Drift as Drift
    from fairroc.people.counts import ScoreCounts as ScoreCounts
    from fairroc.people.streaming import count_files as count_files
    from fairroc.people.tensors import GroupCodes as GroupCodes
    from fairroc.plot.frontier import FrontierDisplay as FrontierDisplay
    from fairroc.plot.gap import GapDisplay as GapDisplay
    from fairroc.plot.roc import FairROCDisplay as FairROCDisplay
    from fairroc.plot.scores import ScoreDisplay as ScoreDisplay
    from fairroc.report.pack import write_pack as write_pack
    from fairroc.report.page import write_report as write_report
    from fairroc.verifying.check import Verification as Verification

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

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairroc' has no attribute '{name}'")
    value = getattr(import_module(f"fairroc.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
