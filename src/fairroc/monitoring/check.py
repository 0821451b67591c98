"""Check new people against a fitted model: scores, groups and, with labels where it takes any, the gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.model.families import FamilyPeople
from fairroc.model.model import ModelData, Reference
from fairroc.monitoring.drift import (
    PSI_LEVELS,
    Drift,
    DriftTest,
    FamilyGap,
    GroupDrift,
    ScoreShift,
    Status,
    UnknownGroup,
)
from fairroc.monitoring.gap import GapNow, GroupAucs, Watch, family_gap, gap_now, segment_aucs
from fairroc.people.people import People
from fairroc.stats.two_sample import (
    absent_p_value,
    holm,
    largest_shift,
    outside_p_value,
    parts_p_value,
    psi,
    psi_bins,
    psi_by_chance,
    rows_to_see,
    shares,
    shift_p_value,
    visible_shift,
)

TELLING = 0.1
"""A shift that carries a tenth of a group's people over some score: where it would not show, rows are too few."""

NO_LABELS = "no labels were given (y=, on the command line: --label)"
NO_GROUPS = (
    "the model is not told the groups, and none were given to measure it by (sensitive_features=, on the command line: "
    "--group)"
)

CLASSES = {"scores": None, "negatives": 0, "positives": 1}

Tested: TypeAlias = tuple[str, str | None, float]
"""What a test looked at, the group, its p-value."""


@dataclass(frozen=True, slots=True, eq=False)
class BinnedPeople:
    """Weight of people by bin and label, and the effective sample size by label."""

    mass: FloatArray  # (bins, 2)
    sizes: FloatArray  # (2,)

    def of(self, label: int | None) -> FloatArray:
        """(bins,) people of one label or of both, scaled to the effective sample size."""
        if label is not None:
            return np.asarray(shares(self.mass[:, label]) * self.sizes[label])
        return np.asarray(shares(self.mass.sum(axis=1)) * joined_size(self.mass.sum(axis=0), self.sizes))

    def labels(self) -> FloatArray:
        """(2,) negatives and positives, on the scale of ``of(None)``."""
        by_label = self.mass.sum(axis=0)
        return np.asarray(shares(by_label) * joined_size(by_label, self.sizes))


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One fitted group's new people beside the fitted ones."""

    reference: Reference
    fitted: BinnedPeople
    new: BinnedPeople
    rows: int
    below: int
    above: int

    def sizes(self, label: int | None) -> tuple[float, float]:
        """Effective sample size of the fitted and of the new people."""
        return float(self.fitted.of(label).sum()), float(self.new.of(label).sum())


def joined_size(mass: FloatArray, sizes: FloatArray) -> float:
    """Effective sample size of several parts together, given the parts' weights and effective sizes."""
    used = sizes > 0
    return float(1.0 / (shares(mass)[used] ** 2 / sizes[used]).sum())


def check(
    model: ModelData,
    people: People,
    watch: Watch,
    *,
    labelled: bool,
    families: Sequence[FamilyPeople] | None = None,
) -> Drift:
    """Compare new people, with small groups as the model has them, with the fitted ones, without words. O(n log B)
    for B bins, and where the gap is measured what an audit takes.

    Where the model is not told the groups that it compares, ``people`` are by segments and ``families`` by groups; None
    where the groups are not known.
    """
    people = people.used()
    seen = _seen(model, people)
    whole = _fitted_groups(model), _new_groups(model, people)
    tests = [*_tests(seen, labelled), *_share_tests(model, *whole)]
    now, gaps = GapNow(None, NO_LABELS, {}), tuple[FamilyGap, ...]()
    if model.compared:
        tests += _group_share_tests(model, families or ())
        gaps = _family_gaps(model, families, watch, labelled)
        worst = max(gaps, key=_severity)
        aucs = segment_aucs(model, people, watch) if labelled else {}
        now = GapNow(worst.gap, worst.reason, aucs)
    elif labelled or not model.fairness.needs_labels:
        now = gap_now(model, people, watch, labelled)
    adjusted = zip(tests, holm([p for *_, p in tests]), strict=True)
    done = tuple(DriftTest(*test, adjusted=p, found=p < 1.0 - watch.confidence) for test, p in adjusted)
    rows = dict(zip(people.names, people.group_counts()[0].tolist(), strict=True))
    groups = tuple(
        _group(model, g, seen.get(name), rows.get(name, 0), done, now.aucs.get(name), watch.confidence, labelled)
        for g, name in enumerate(model.names)
    )
    groups = _with_shares(groups, *whole)
    unknown = tuple(UnknownGroup(name, count) for name, count in rows.items() if count and name not in model.names)
    return Drift(
        rows=people.rows,
        confidence=watch.confidence,
        groups=groups,
        unknown=unknown,
        tests=done,
        gap=now.check,
        gap_reason=now.reason,
        small_groups=people.small,
        segments="group" if model.use_group else "cell",
        families=gaps,
    )


def _family_gaps(
    model: ModelData, families: Sequence[FamilyPeople] | None, watch: Watch, labelled: bool
) -> tuple[FamilyGap, ...]:
    """The gap of every family that the model compares, with intervals that hold together."""
    reason = NO_GROUPS if families is None else NO_LABELS
    if families is None or (model.fairness.needs_labels and not labelled):
        return tuple(FamilyGap(one.attribute, one.stratum, one.epsilon, None, reason) for one in model.compared)
    each = replace(watch, confidence=1.0 - (1.0 - watch.confidence) / len(families))
    return tuple(family_gap(model, one, each, labelled) for one in families)


def _severity(family: FamilyGap) -> tuple[bool, float, float]:
    """How far a family is above its epsilon: for certain, and as measured."""
    if family.gap is None:
        return False, -np.inf, -np.inf
    low, _ = getattr(family.gap.interval, family.gap.method)
    return family.gap.answer == "outside", low - family.epsilon, family.gap.gap - family.epsilon


def _group_share_tests(model: ModelData, families: Sequence[FamilyPeople]) -> list[Tested]:
    """Whether groups have the same shares of all people as at the fit, where the model is not told of them; with
    weights it keeps no record of that."""
    if model.use_group or model.record.weighted:
        return []
    found: list[Tested] = []
    for family in families:
        if not family.names:
            continue
        mass, squares = family.people.group_masses()
        now = dict(zip(family.names, (mass * (mass.sum() / squares.sum())).tolist(), strict=True))
        fitted = np.array([group.rows for group in family.compared.groups], dtype=np.float64)
        new = np.array([now.get(group.name, 0.0) for group in family.compared.groups])
        found.append(("groups", family.compared.title, parts_p_value(fitted, new)))
    return found


def _seen(model: ModelData, people: People) -> dict[str, Seen]:
    """Fitted groups that have a reference and new people."""
    found, sizes = {}, people.class_sizes()
    for name, reference in zip(model.names, model.references, strict=False):
        if name not in people.names:
            continue
        code = people.names.index(name)
        sample = people.samples[code]
        below, *inside, above = sample.rows_between(reference.borders).tolist()
        rows = below + sum(inside) + above
        if rows:
            found[name] = Seen(
                reference=reference,
                fitted=BinnedPeople(reference.padded, reference.sizes),
                new=BinnedPeople(sample.between(reference.borders), sizes[code]),
                rows=rows,
                below=below,
                above=above,
            )
    return found


def _tests(seen: dict[str, Seen], labelled: bool) -> list[Tested]:
    """Tests of every group, with their p-values."""
    found: list[Tested] = []
    for name, group in seen.items():
        for what, label in CLASSES.items():
            if _comparable(group, label, labelled):
                distance, _ = largest_shift(group.fitted.of(label), group.new.of(label))
                found.append((what, name, shift_p_value(distance, *group.sizes(label))))
        fitted = group.sizes(None)[0]
        found.append(("range", name, outside_p_value(group.below + group.above, group.rows, fitted)))
        if labelled:
            found.append(("labels", name, parts_p_value(group.fitted.labels(), group.new.labels())))
    return found


def _comparable(group: Seen, label: int | None, labelled: bool) -> bool:
    """Whether there are new people of a label (None: of any)."""
    return label is None or (labelled and group.new.sizes[label] > 0)


def _share_tests(model: ModelData, fitted: FloatArray | None, new: FloatArray) -> list[Tested]:
    """Whether fitted groups have the same shares of all people as at the fit, and whether one is missing."""
    if fitted is None or not new.sum():
        return []
    absent = [
        ("missing", name, absent_p_value(float(rows), float(fitted.sum()), float(new.sum())))
        for name, rows, now in zip(model.names, fitted, new, strict=True)
        if not now
    ]
    return [*absent, ("shares", None, parts_p_value(fitted, new))]


def _fitted_groups(model: ModelData) -> FloatArray | None:
    """(groups,) effective sample size of the fitted people; None where that is not known."""
    if not model.references:
        rows = np.array([group.rows for group in model.groups], dtype=np.float64)
        return None if model.record.weighted else rows
    mass = np.array([reference.counts.sum(axis=0) for reference in model.references])
    sizes = np.array([reference.sizes for reference in model.references])
    return np.asarray(shares(mass.sum(axis=1)) * joined_size(mass.ravel(), sizes.ravel()))


def _new_groups(model: ModelData, people: People) -> FloatArray:
    """(groups,) new people of the fitted groups, on the same scale."""
    mass, squares = people.group_masses()
    place = [people.names.index(name) if name in people.names else -1 for name in model.names]
    known = np.array([0.0 if i < 0 else mass[i] for i in place])
    total = float(sum(squares[i] for i in place if i >= 0))
    return np.asarray(known * (known.sum() / total)) if total else known


def _group(
    model: ModelData,
    g: int,
    seen: Seen | None,
    rows: int,
    tests: Sequence[DriftTest],
    aucs: GroupAucs | None,
    confidence: float,
    labelled: bool,
) -> GroupDrift:
    record, level = model.groups[g], (1.0 - confidence) / max(len(tests), 1)
    found = GroupDrift(record.name, "not checked" if rows else "missing", rows, record.rows)
    if aucs is not None:
        found = replace(found, auc=aucs.auc, auc_interval=aucs.interval, fair_auc=aucs.fair_auc)
    if model.references:
        reference = model.references[g]
        found = replace(
            found,
            lowest=float(reference.edges[0]),
            highest=reference.highest,
            fitted_positive_share=float(shares(reference.counts.sum(axis=0))[1]),
            fitted_auc=reference.auc,
            fitted_fair_auc=reference.fair_auc,
        )
    if seen is None:
        return found
    shifts: dict[str, Any] = {
        what: _shift(seen, label, level) if _comparable(seen, label, labelled) else None
        for what, label in CLASSES.items()
    }
    moved = any(test.found and test.group == record.name for test in tests)
    blind = visible_shift(level, *seen.sizes(None)) > TELLING
    status: Status = "moved" if moved else ("too few rows" if blind else "steady")
    return replace(
        _stability(found, seen, confidence),
        status=status,
        rows_needed=rows_to_see(TELLING, level, seen.sizes(None)[0]) if blind else None,
        **shifts,
        below=seen.below,
        above=seen.above,
        outside_expected=seen.rows * 2.0 / (seen.sizes(None)[0] + 1.0),
        positive_share=float(shares(seen.new.labels())[1]) if labelled else None,
    )


def _with_shares(groups: tuple[GroupDrift, ...], fitted: FloatArray | None, new: FloatArray) -> tuple[GroupDrift, ...]:
    now = shares(new).tolist() if new.any() else [None] * len(groups)
    before = [None] * len(groups) if fitted is None else shares(fitted).tolist()
    return tuple(
        replace(group, share=share, fitted_share=was) for group, share, was in zip(groups, now, before, strict=True)
    )


def _shift(seen: Seen, label: int | None, level: float) -> ScoreShift:
    fitted, new, edges = seen.fitted.of(label), seen.new.of(label), seen.reference.edges
    distance, border = largest_shift(fitted, new)
    above = border > len(edges)
    return ScoreShift(
        distance=distance,
        score=seen.reference.highest if above else float(edges[border - 1]),
        above=above,
        share=float(new[border:].sum() / new.sum()),
        fitted_share=float(fitted[border:].sum() / fitted.sum()),
        visible=visible_shift(level, *seen.sizes(label)),
    )


def _stability(found: GroupDrift, seen: Seen, confidence: float) -> GroupDrift:
    """With the population stability index over coarse bins; people outside the fitted range count to the nearest."""
    fitted = seen.fitted.of(None)[1:-1]
    new = seen.new.of(None)
    inside = new[1:-1].copy()
    inside[0] += new[0]
    inside[-1] += new[-1]
    coarse = psi_bins(fitted)
    index = psi(*(np.bincount(coarse, part).astype(np.float64) for part in (fitted, inside)))
    expected, limit = psi_by_chance(int(coarse.max()) + 1, *seen.sizes(None), confidence)
    level = next((word for most, word in PSI_LEVELS if index < most), "large")
    return replace(found, psi=index, psi_level=level, psi_expected=expected, psi_limit=limit)
