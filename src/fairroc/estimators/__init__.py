"""scikit-learn's way in: the post-processor, the wrapped classifier, scorers and folds."""

from fairroc.estimators.classifier import FairROCClassifier
from fairroc.estimators.crossfit import SensitiveStratifiedKFold, strata
from fairroc.estimators.fair_roc import FairROC, fit_counts
from fairroc.estimators.metrics import (
    FairScorer,
    auc_at_gap_score,
    auc_at_gap_scorer,
    best_within_gap,
    threshold_gap_score,
    threshold_gap_scorer,
)

__all__ = [
    "FairROC",
    "FairROCClassifier",
    "FairScorer",
    "SensitiveStratifiedKFold",
    "auc_at_gap_score",
    "auc_at_gap_scorer",
    "best_within_gap",
    "fit_counts",
    "strata",
    "threshold_gap_score",
    "threshold_gap_scorer",
]
