"""The page of a fit whose score is not told the groups that it compares: without the group, by several attributes each
for itself, or within strata. It stands still: no sliders, no script."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fairroc.core.realised import all_points
from fairroc.errors import DataError
from fairroc.fitting.certificate import Certificate
from fairroc.fitting.one_draw import OneDraw
from fairroc.fitting.outlook import Outlook
from fairroc.fitting.spread import SpreadFit, fit_spread, spread_rows
from fairroc.fitting.spread_results import certify_spread, spread_model, spread_one_draw, spread_outlook
from fairroc.model.model import ModelData
from fairroc.options import LEVEL, POSITIVE_MEANS, Options
from fairroc.report.data import Made, Source, made_now
from fairroc.report.figures import roc_picture
from fairroc.report.view import Table
from fairroc.stats.bootstrap import Progress, portion
from fairroc.summary import Summary, size
from fairroc.text.families import bound_words, cell_words, told_words
from fairroc.text.report import family_limits, legal_caution, meaning_words
from fairroc.text.words import percent

FAMILIES = "use_group=False, combine='each', control_features and group_probabilities"

GAPS = ("groups of", "allowed", "original score", "fair score", "")
PEOPLE = ("group", "rows", "positives", "AUC, original score", "AUC, fair score", "people drawn")

Curve = tuple[tuple[float, ...], tuple[float, ...]]
"""FPR and TPR along a ROC curve."""


@dataclass(frozen=True, slots=True, eq=False)
class FamilyCurves:
    """ROC curves of the groups that are compared with each other: of the original score, and of the fair one in
    expectation over the draw."""

    title: str
    groups: tuple[str, ...]
    before: tuple[Curve, ...]
    after: tuple[Curve, ...]


@dataclass(frozen=True, slots=True, repr=False)
class FamilyReport(Made):
    """All that the page of a fit shows whose score is not told the groups that it compares.

    Attributes
    ----------
    certificate, outlook, one_draw : of the fit.
    curves : of every family of groups that is kept close.
    columns, attributes : names of the probabilities that the score is told, and of the attributes compared.
    model : what was fitted.
    """

    options: Options
    certificate: Certificate
    outlook: Outlook
    one_draw: OneDraw
    curves: tuple[FamilyCurves, ...]
    columns: tuple[str, ...]
    attributes: tuple[str, ...]
    positive_means: str
    model: ModelData

    def _summary(self) -> Summary:
        c = self.certificate
        facts = [("gap", f"{c.gap_before:.4f} before, {c.gap:.4f} for the fair score")]
        facts.append(("AUC", f"{c.auc_before:.4f} before, {c.auc:.4f} for the fair score"))
        rows = [[name, *cells] for name, *cells in gap_table(c)]
        return Summary(f"Report '{self.title}': {size(c.rows, len(c.groups))}", facts, list(GAPS), rows)

    def to_dict(self) -> dict[str, Any]:
        """Every figure of the page, none rounded, ready for JSON.

        Returns: dict: plain data.
        """
        return {
            **self._facts(),
            "certificate": self.certificate.to_dict(),
            "new_people": self.outlook.to_dict(),
            "one_draw": self.one_draw.to_dict(),
            "curves": [asdict(family) for family in self.curves],
        }


def family_options(**given: Any) -> Options:
    """How to fit, checked; an epsilon or a ratio must be asked for."""
    if given.get("epsilon") is None and given.get("ratio") is None:
        raise DataError(
            f"epsilon (--epsilon) or a ratio must be given with {FAMILIES}, got neither: their page shows a fit. Try "
            "0.05."
        )
    options = Options.checked(**{name: value for name, value in given.items() if value is not None})
    options.check_spread()
    return options


def gather_families(
    scores: Any,
    y: Any,
    options: Options,
    *,
    title: str,
    source: Source | None = None,
    progress: Progress | None = None,
    positive_means: str = POSITIVE_MEANS.default,
    **rows: Any,
) -> FamilyReport:
    """Fit and measure; ``rows`` are the other columns, as `fairroc.FairROC.fit` takes them."""
    found = fit_spread(spread_rows(scores, y, options, **rows), options, progress=portion(progress, 0, 60))
    model, told = spread_model(found), portion(progress, 60, 100)
    certificate = certify_spread(found, model)
    told(1, 3)
    ahead = spread_outlook(found, options.confidence or LEVEL.default)
    told(2, 3)
    drawn = spread_one_draw(found, model)
    return FamilyReport(
        **made_now(title, source),
        options=options,
        certificate=certificate,
        outlook=ahead,
        one_draw=drawn,
        curves=tuple(_curves(found)),
        columns=model.probability_columns,
        attributes=tuple(dict.fromkeys(one.attribute for one in model.compared)),
        positive_means=positive_means,
        model=model,
    )


def _curves(found: SpreadFit) -> list[FamilyCurves]:
    """The curves of every family that is kept close."""
    kept = []
    for family, members in found.compared:
        before = [_curve(found.before[p].fpr, found.before[p].tpr) for p in members.tolist()]
        after = before
        if found.solution is not None:
            points = [all_points([found.solution.realised[p]]) for p in members.tolist()]
            after = [_curve(fpr[:, 0], tpr[:, 0]) for fpr, tpr in points]
        kept.append(FamilyCurves(family.title, family.groups, tuple(before), tuple(after)))
    return kept


def _curve(fpr: Any, tpr: Any) -> Curve:
    return tuple(fpr.tolist()), tuple(tpr.tolist())


# -- the page ----------------------------------------------------------------------------------------------------------


def view_families(data: FamilyReport) -> dict[str, Any]:
    """What the template shows."""
    c, ahead, model = data.certificate, data.outlook, data.model
    new = f"{ahead.gap_estimate:.3f} ± {ahead.gap_standard_error:.3f}"
    return {
        "title": data.title,
        "source": data.source,
        "size": f"{c.rows:,} rows",
        "made": f"{data.made}, {data.package}",
        "meaning": meaning_words(c.fairness, data.positive_means),
        "caution": legal_caution(model.use_group, data.columns, data.attributes),
        "cards": [
            ("Largest gap, fitted people", f"{c.gap:.3f}", f"{c.gap_before:.3f} with the original score"),
            ("Largest gap, new people", new, "expected"),
            ("AUC, fitted people", f"{c.auc:.3f}", f"{c.auc_before:.3f} with the original score"),
            ("People drawn", percent(c.drawn), "whose fair score depends on a draw"),
        ],
        "told": " ".join([told_words(c), *cell_words(c), *bound_words(c)]),
        "gaps": Table("Largest gap at one threshold, fitted people", GAPS, gap_table(c), named=True),
        "families": [
            {
                "title": family.title,
                "before": roc_picture(family.groups, family.before, f"{family.title}: original score"),
                "after": roc_picture(family.groups, family.after, f"{family.title}: fair score"),
            }
            for family in data.curves
        ],
        "groups": Table("Groups compared, fitted people", PEOPLE, _people(c), named=True),
        "limits": list(family_limits(c, ahead, data.one_draw, data.columns)),
    }


def gap_table(c: Certificate) -> list[list[str]]:
    """Gaps of every family, those for information last."""
    rows = []
    for family in sorted(c.families, key=lambda one: not one.compared):
        allowed = "" if family.epsilon is None else f"{family.epsilon:.4g}"
        kind = "kept close" if family.compared else "for information"
        rows.append([family.title, allowed, f"{family.gap_before:.3f}", f"{family.gap:.3f}", kind])
    return rows


def _people(c: Certificate) -> list[list[str]]:
    return [
        [g.group, f"{g.rows:,}", f"{g.positives:,}", f"{g.auc_before:.3f}", f"{g.auc:.3f}", percent(g.randomised_share)]
        for g in c.groups
    ]
