"""Displays of what an audit measures share their ways in."""

from __future__ import annotations

from typing import Any, Self

from fairroc.auditing.audit import Settings
from fairroc.options import Missing
from fairroc.plot import require_matplotlib, source
from fairroc.plot.source import BeforeAfter
from fairroc.plot.style import Display


class AuditedDisplay(Display):
    """A Display made from scores, labels and groups, or from a fitted model."""

    @classmethod
    def from_source(cls, found: BeforeAfter) -> Self:
        """Compute what `plot` draws."""
        raise NotImplementedError

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw."""
        raise NotImplementedError

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        y: Any,
        *,
        sensitive_features: Any,
        fair_scores: Any = None,
        epsilon: float | None = None,
        norm: Any = 1,
        sample_weight: Any = None,
        pos_label: Any = None,
        missing: Missing = "error",
        confidence: float = 0.95,
        bootstrap: int = 1000,
        random_state: Any = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw from scores, labels and groups.

        Parameters
        ----------
        scores, y, sensitive_features : one score, label and group (or several columns of groups) for each row.
        fair_scores : other scores of the same rows, one draw of a fair score say, to be shown as "after".
        epsilon, norm, sample_weight, pos_label, missing, confidence, bootstrap, random_state : as in `fairroc.audit`.
        ax, **kwargs : for `plot`.
        """
        require_matplotlib()
        settings = Settings.checked(
            norm=norm, epsilon=epsilon, confidence=confidence, bootstrap=bootstrap, random_state=random_state
        )
        found = source.from_predictions(
            scores,
            y,
            sensitive_features=sensitive_features,
            fair_scores=fair_scores,
            settings=settings,
            sample_weight=sample_weight,
            pos_label=pos_label,
            missing=missing,
        )
        return cls.from_source(found).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        bootstrap: int = 1000,
        random_state: Any = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw from a fitted model: the score it works on, and its fair score. Nothing is drawn at random.

        Parameters
        ----------
        estimator : fitted `FairROC`, `FairROCClassifier` or `FairModel`
        X : rows for a `FairROCClassifier`; for the others the original scores
        y : labels
        sensitive_features : groups, one for each row; only a `FairROCClassifier` that knows their columns does without.
        sample_weight, confidence, bootstrap, random_state : as in `fairroc.audit`.
        pos_label : None: the estimator's.
        ax, **kwargs : for `plot`.
        """
        require_matplotlib()
        found = source.from_estimator(
            estimator,
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            pos_label=pos_label,
            confidence=confidence,
            bootstrap=bootstrap,
            random_state=random_state,
        )
        return cls.from_source(found).plot(ax, **kwargs)
