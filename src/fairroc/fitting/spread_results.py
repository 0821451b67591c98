"""What a fit of groups that are spread over segments gives a user: model, certificate, outlook, and one draw."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from datetime import datetime

import numpy as np

from fairroc.core.chain import IntArray
from fairroc.core.gap import RateGaps, rate_gaps
from fairroc.core.program import bound_of, solve
from fairroc.core.realised import own_auc, realise
from fairroc.core.realised import rate_gaps as realised_gaps
from fairroc.core.scale import build_scale
from fairroc.fitting.certificate import (
    OF_MODEL,
    CellFigures,
    Certificate,
    FamilyCertificate,
    GroupCertificate,
    Told,
)
from fairroc.fitting.fit import record_of
from fairroc.fitting.held_out import drawn_family_gaps, effective_sizes
from fairroc.fitting.limits import Limit
from fairroc.fitting.new_people import helps
from fairroc.fitting.one_draw import DRAWS, SEED, TAIL, OneDraw
from fairroc.fitting.outlook import FamilyOutlook, Outlook
from fairroc.fitting.spread import ROUNDING, SpreadFit, gap_of_family, original_gaps
from fairroc.model import draw
from fairroc.model.model import Compared, FitRecord, GroupRecord, ModelData, Reference, reference_of
from fairroc.options import LEVEL, same
from fairroc.people.cells import WeightedRows
from fairroc.people.rows import ScoreColumns
from fairroc.stats.bands import dkw_widths

UPPER_DRAWS = 400
"""Populations drawn for an upper limit."""

NOT_FIXED = "it bounds scores that were not chosen among many by cells of the same people"


def spread_model(
    found: SpreadFit, *, key: bytes | str | None = None, salt: int | None = None, date: datetime | None = None
) -> ModelData:
    """The model of a fit."""
    rows, options, solution = found.rows, found.options, found.solution
    salt = draw.new_salt() if salt is None else draw.effective_salt(salt)
    compared = tuple(
        Compared(family.name, family.stratum, one.epsilon, _records(found, family.codes, family.groups))
        for (family, _), one in zip(found.compared, found.comparisons, strict=True)
    )
    scale = None
    if solution is not None:
        scale = build_scale([found.before[-1]], [solution.realised[-1]], np.ones(1))
    return ModelData(
        **options.remembered(),
        ties=options.ties if solution is None else solution.ties,
        inner_epsilon=options.epsilon if solution is None else min(solution.inner, options.epsilon),
        groups=_records(found, rows.segments, rows.names),
        kernels=() if solution is None else solution.kernels,
        scale=scale,
        record=_record(found, date),
        salt=salt,
        key_fingerprint=None if key is None else draw.key_fingerprint(salt, key),
        references=_references(found),
        small_groups=None if rows.small is None else rows.small.known,
        controls=rows.controls,
        compared=compared,
        proxy=found.tree,
    )


def _record(found: SpreadFit, date: datetime | None) -> FitRecord:
    """Where the model comes from."""
    rows = found.rows
    weights = ((float(prior),) for prior in found.grid.mixture.priors)
    return record_of(rows.rows, rows.weights is not None, rows.names, found.before, weights, date)


def _records(found: SpreadFit, codes: IntArray, names: tuple[str, ...]) -> tuple[GroupRecord, ...]:
    """Rows and positives of groups."""
    counts = found.rows.counts(codes, len(names)).tolist()
    return tuple(GroupRecord(name, sum(own), own[1]) for name, own in zip(names, counts, strict=True))


def _references(found: SpreadFit) -> tuple[Reference, ...]:
    """What later checks compare new scores of each segment with."""
    rows, kept = found.rows, []
    for s in range(len(rows.names)):
        mine = np.flatnonzero((rows.segments == s) & (rows.mass > 0))
        sample = WeightedRows(rows.scores[mine] + 0.0, rows.labels[mine], rows.mass[mine])
        sizes = None if rows.weights is None else sample.sizes(float(rows.mass.max()))
        fair = None if found.solution is None else own_auc(realise(sample.curve, found.solution.kernels[s]))
        kept.append(reference_of(sample, sizes, fair))
    return tuple(kept)


def certify_spread(found: SpreadFit, model: ModelData) -> Certificate:
    """Compute the certificate."""
    begin = time.perf_counter()
    options, solution, mixture, grid = found.options, found.solution, found.grid.mixture, found.grid
    families = _families(found)
    held = [family for family in families if family.compared]
    unchanged = solution is None
    auc = found.before[-1].auc if solution is None else solution.auc
    finest = mixture.cells(mixture.finest())
    bound = 1.0
    if grid.prices:
        bound = bound_of([prices.line(finest) for prices in grid.prices], finest.prior)
    cells = None
    if not unchanged:
        selection = solve(grid.cells, found.comparisons, grid.shares)
        unnested = bound_of([prices.line(grid.cells) for prices in grid.prices], finest.prior)
        cells = CellFigures(
            len(mixture.segments), grid.cells.count, len(grid.shares), selection.auc(grid.cells), unnested
        )
    gap = max(family.gap for family in held)
    small = next((family.small for family, _ in found.compared if family.small is not None), found.rows.small)
    return Certificate(
        **same(model, *OF_MODEL),
        rows=found.rows.rows,
        auc_before=found.before[-1].auc,
        auc=auc,
        auc_bound=max(bound, auc),
        gap_before=max(family.gap_before for family in held),
        gap=options.epsilon if options.epsilon < gap <= options.epsilon + ROUNDING else gap,
        groups=_groups(found),
        allowed=options.epsilon if options.promise != "new" else gap,
        small_groups=small,
        drawn=0.0 if solution is None else min(sum(mixture.drawn(solution.kernels, -1)), 1.0),
        rates_before=_rates(found, before=True),
        rates=_rates(found, before=unchanged),
        families=families,
        cells=cells,
        told=_told(found),
        seconds=time.perf_counter() - begin,
    )


def _told(found: SpreadFit) -> tuple[Told, ...]:
    rows = found.rows
    strata = [Told(name, "stratum") for name in rows.control_names]
    if found.options.use_group:
        return (*strata, *(Told(name, "group") for name in rows.attributes))
    whose = rows.probability_of or [None] * len(rows.columns)
    return (*strata, *(Told(name, "probability", of) for name, of in zip(rows.columns, whose, strict=True)))


def _families(found: SpreadFit) -> tuple[FamilyCertificate, ...]:
    own, kept = iter(found.comparisons), []
    for family, members in zip(found.rows.families, found.rows.members, strict=True):
        epsilon = next(own).epsilon if family.compared else None
        if len(members) < 2:
            continue
        before, gap = gap_of_family(found, members, found.options.fairness)
        if epsilon is not None and epsilon < gap <= epsilon + ROUNDING:
            gap = epsilon
        kept.append(FamilyCertificate(family.name, family.stratum, family.compared, epsilon, before, gap))
    return tuple(kept)


def _groups(found: SpreadFit) -> tuple[GroupCertificate, ...]:
    solution, mixture = found.solution, found.grid.mixture
    several, kept = len(found.compared) > 1, []
    for family, members in found.compared:
        for p, record in zip(members.tolist(), _records(found, family.codes, family.groups), strict=True):
            curve = found.before[p]
            transport, tie = (0.0, 0.0) if solution is None else mixture.drawn(solution.kernels, p)
            auc = curve.auc if solution is None else own_auc(solution.realised[p])
            kept.append(
                GroupCertificate(
                    group=f"{family.title}: {record.name}" if several else record.name,
                    rows=record.rows,
                    positives=record.positives,
                    auc_before=curve.auc,
                    auc_hull=curve.hull.auc,
                    auc_fair=auc,
                    auc=auc,
                    randomised_share=min(transport + tie, 1.0),
                    transport_share=min(transport, 1.0),
                    tie_share=tie,
                    pla_loss=None,
                )
            )
    return tuple(kept)


def _rates(found: SpreadFit, *, before: bool) -> RateGaps:
    """The largest difference of every rate in any family."""
    each = []
    for _, members in found.compared:
        if before or found.solution is None:
            each.append(rate_gaps([found.before[p] for p in members], labelled=True))
        else:
            each.append(realised_gaps([found.solution.realised[p] for p in members]))
    return RateGaps(*(max(getattr(one, name) for one in each) for name in ("fpr", "tpr", "selection_rate")))


def spread_outlook(found: SpreadFit, confidence: float = LEVEL.default) -> Outlook:
    """Look ahead."""
    new, before, solution = found.expected, found.expected_before, found.solution
    if solution is None:
        each = drawn_family_gaps(found.rows, found.grid.mixture, None, found.comparisons, UPPER_DRAWS)
    else:
        each = found.drawn_family_gaps(UPPER_DRAWS)
    upper = float(np.quantile(each.max(axis=0), confidence))
    gaps = original_gaps(found.grid.mixture, found.comparisons) if solution is None else solution.gaps
    return Outlook(
        epsilon=found.options.epsilon,
        promise=found.options.promise,
        level=confidence,
        gap_estimate=new.gap,
        gap_standard_error=new.gap_deviation,
        gap_before_estimate=before.gap,
        helps=solution is not None and helps(found.expected_gaps_before.max(axis=0), found.expected_gaps.max(axis=0)),
        test_gap_estimate=None,
        auc_estimate=new.auc,
        auc_standard_error=new.auc_deviation,
        auc_before=found.before[-1].auc,
        gap=max(gaps),
        auc=found.before[-1].auc if solution is None else solution.auc,
        upper=max(upper, max(gaps)),
        method="bootstrap",
        upper_dkw=None,
        upper_bootstrap=max(upper, max(gaps)),
        dkw_reason=NOT_FIXED,
        limited_by=_limit(found, confidence),
        told_from=0.0,
        rows=found.rows.rows,
        rows_to_halve=4 * found.rows.rows,
        families=_outlooks(found),
    )


def _outlooks(found: SpreadFit) -> tuple[FamilyOutlook, ...]:
    """What to expect of every family for itself."""
    before, after = found.expected_gaps_before, found.expected_gaps
    figures = zip(
        before.mean(axis=1).tolist(), after.mean(axis=1).tolist(), after.std(axis=1, ddof=1).tolist(), strict=True
    )
    return tuple(
        FamilyOutlook(family.name, family.stratum, one.epsilon, *three)
        for (family, _), one, three in zip(found.compared, found.comparisons, figures, strict=True)
    )


def _limit(found: SpreadFit, confidence: float) -> Limit:
    """The group and label with the widest band."""
    sizes = effective_sizes(found.rows)
    each = [
        (float(sizes[p, label]), family.title, name, label)
        for family, members in found.compared
        for p, name in zip(members.tolist(), family.groups, strict=True)
        for label in (0, 1)
    ]
    size, title, name, label = min(each)
    rows = max(1, math.floor(size))
    width = float(dkw_widths(np.array([[rows]]), confidence)[0, 0])
    group = f"{title}: {name}" if len(found.compared) > 1 else name
    return Limit(group, label, rows, width, 4 * rows)


def spread_one_draw(found: SpreadFit, model: ModelData, draws: int = DRAWS) -> OneDraw:
    """Simulate draws for the fitted people."""
    rows = found.rows
    expected = max(
        original_gaps(found.grid.mixture, found.comparisons) if found.solution is None else found.solution.gaps
    )
    if not model.needs_ids:
        return OneDraw(rows.rows, expected, expected, 0.0, expected, 0)
    rng = np.random.default_rng(SEED)
    columns = ScoreColumns(rows.scores, rows.segments, 0)
    gaps = np.zeros(draws)
    for i in range(draws):
        fair = model.fair_scores(columns, draw.uniforms_from_state(rng, rows.rows))
        drawn = replace(rows, scores=fair, segments=np.zeros(rows.rows, dtype=np.intp), names=("everybody",))
        gaps[i] = max(original_gaps(drawn.mixture(), found.comparisons))
    return OneDraw(
        rows.rows, expected, float(gaps.mean()), float(gaps.std(ddof=1)), float(np.quantile(gaps, 1.0 - TAIL)), draws
    )
