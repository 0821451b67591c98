"""Fit: people -> ROC curves -> fair curves -> levels -> kernels -> model."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from fairroc._version import __version__
from fairroc.core.constraint import Constraint
from fairroc.core.estimate import ESTIMATES, blend, flattened, smooth
from fairroc.core.gap import is_fair, pooled_auc, threshold_gap
from fairroc.core.realised import Performance, RealisedRoc, performance, realise
from fairroc.core.scale import Scale, build_scale
from fairroc.errors import DataError, FairrocWarning, warn_all
from fairroc.fitting.solving import Goal, Solution, judged_exactly, solve
from fairroc.model import draw
from fairroc.model.model import FitRecord, GroupRecord, ModelData, Reference, reference_of
from fairroc.options import Options
from fairroc.people.people import SMALL_CLASS, People, Population, refuse_tiny_groups, thinned_population
from fairroc.stats.bands import dkw_widths
from fairroc.stats.bootstrap import safe_reach, sharp_reach

DRAWS = 1000
"""Draws of the bootstrap."""

SEED = 0
"""Draws are the same for the same people."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The class of people that limits what can be promised: the one whose band is widest.

    ``width`` is the half width of its DKW band, ``rows_to_halve`` how many rows of it would halve that.
    """

    group: str
    label: int
    rows: int
    width: float
    rows_to_halve: int


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the population's gap can exceed that of the fitted people, for any monotone score, at some level.

    ``dkw`` holds for any sample size (None for weighted rows), ``bootstrap`` for large samples, and is narrower. Both
    hold what counts in bins may hide.
    ``method`` names the one to rely on: DKW where some class has fewer than 50 rows.
    """

    level: float
    dkw: float | None
    bootstrap: float
    method: str
    limit: Limit

    @property
    def value(self) -> float:
        """The one to rely on."""
        return self.dkw if self.method == "dkw" and self.dkw is not None else self.bootstrap


def reach(people: People, constraint: Constraint, confidence: float) -> Reach:
    """How much people not seen can differ from these."""
    rows, sizes = people.class_rows(), people.class_sizes()
    noises, rng = people.noises(thin=True), np.random.default_rng(SEED)
    binned = people.error * constraint.largest
    sharp = sharp_reach(noises, constraint, draws=DRAWS, rng=rng, confidence=confidence) + binned
    widths = dkw_widths(sizes, confidence)
    safe = None if people.weighted else float(safe_reach(widths, constraint).max()) + binned
    g, label = divmod(int(np.argmin(sizes)), 2)
    known = int(rows[g, label])
    least = 2 * math.log(2 * sizes.size / (1.0 - confidence))  # widths end at 1: effective size that halves that
    halved = max(4 * known, math.ceil(least * (known / sizes[g, label])))
    limit = Limit(people.names[g], label, known, float(widths[g, label]), halved)
    small = safe is not None and int(rows.min()) < SMALL_CLASS
    return Reach(confidence, safe, sharp, "dkw" if small else "bootstrap", limit)


SMALL_SAMPLE = 1000
"""Where some class of a group has fewer rows, curve="auto" is smooth (measured: docs/unseen.md)."""

BLENDS = (1.0, 0.5)
"""Shares of an estimate in the curves that are tried, before the raw ones, until epsilon is kept."""


DIP = 0.4
"""A block of scores of an estimated curve is drawn, not kept in raw order, if it dips farther below the hull than so
many deviations of the raw curve."""

HULL_GAIN, HULL_POINTS = 0.003, 2048
"""Ties are drawn if the hulls of smooth curves, at so many points, gain more AUC than this."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model together with what it was made from, for certificates and plots.

    ``population`` holds the curves that were worked on, ``raw`` those at all distinct scores: the same, but for a query
    model and for very many scores. ``target`` is the gap allowed among the fitted people: epsilon, or less if epsilon
    was to hold in the population. ``notes`` are the warnings that a user should see.
    """

    model: ModelData
    options: Options
    people: People
    population: Population
    solution: Solution | None
    target: float
    notes: tuple[FairrocWarning, ...] = ()

    @property
    def raw(self) -> Population:
        """The curves at all distinct scores."""
        return self.people.exact

    @cached_property
    def before(self) -> Performance:
        """Gap and AUCs of the original score, at all its thresholds."""
        raw = self.raw
        gap = threshold_gap(raw.curves, self.model.constraint).value
        aucs = tuple(curve.auc for curve in raw.curves)
        return Performance(gap, pooled_auc(raw.curves, raw.weights0, raw.weights1), aucs)

    @cached_property
    def realised(self) -> tuple[RealisedRoc, ...]:
        """What the fair score does to every fitted person (empty for an unchanged score)."""
        if self.solution is not None and judged_exactly(self.solution, self.people, self.options.queries):
            return self.solution.realised
        return tuple(realise(curve, kernel) for curve, kernel in zip(self.raw.curves, self.model.kernels, strict=False))

    @cached_property
    def performance(self) -> Performance:
        """Exact gap and AUCs of the fair score over the draw, at all scores."""
        if self.solution is None:
            return self.before
        if judged_exactly(self.solution, self.people, self.options.queries):
            return self.solution.performance
        return performance(self.realised, self.raw.weights0, self.raw.weights1, self.model.constraint)


def fit(
    people: People,
    options: Options,
    *,
    key: bytes | str | None = None,
    salt: int | None = None,
    date: datetime | None = None,
) -> Fitted:
    """Fit the fair score to people, and warn of what a user should know."""
    fitted = fit_quietly(people, options, key=key, salt=salt, date=date)
    warn_all(fitted.notes)
    return fitted


def fit_quietly(
    people: People,
    options: Options,
    *,
    key: bytes | str | None = None,
    salt: int | None = None,
    date: datetime | None = None,
) -> Fitted:
    """Fit the fair score to people; the warnings are kept as notes."""
    refuse_tiny_groups(people, options.min_class_rows)
    notes: list[FairrocWarning] = [*people.small_groups(), *_inverted(people)]
    population = worked_on(people, options)
    target = options.epsilon if options.confidence is None else _promised(people, options, options.confidence)
    goal, solution = Goal(target, options.constraint, options.ties, options.method), None
    if not _is_fair(people, goal):
        ties, misled = settled_ties(people, options)
        solution = solve(population, people, replace(goal, ties=ties), estimates_of(people, options))
        notes += [note for note in (misled, solution.note) if note is not None]
    salt = draw.new_salt() if salt is None else draw.effective_salt(salt)
    counts = zip(people.names, *people.group_counts(), strict=True)
    model = ModelData(
        epsilon=options.epsilon,
        norm=options.norm,
        method=options.method,
        ties=options.ties if solution is None else solution.ties,
        inner_epsilon=target if solution is None else solution.inner_epsilon,
        queries=options.queries,
        groups=tuple(GroupRecord(name, int(n), int(positives)) for name, n, positives in counts),
        kernels=() if solution is None else solution.kernels,
        scale=None if solution is None else scale_of(people, solution),
        record=_record(people, population, date),
        salt=salt,
        missing=options.missing,
        hash=options.hash,
        key_fingerprint=None if key is None else draw.key_fingerprint(salt, key),
        references=_references(people, solution),
        curve="raw" if solution is None else solution.curve,
        confidence=options.confidence,
        small_groups=None if people.small is None else people.small.known,
    )
    return Fitted(model, options, people, population, solution, target, tuple(notes))


def worked_on(people: People, options: Options) -> Population:
    """The curves to work on where no estimate is: the people's, or queries."""
    return people.thin if options.queries is None else people.queried(options.queries)


def settled_ties(people: People, options: Options) -> tuple[str, FairrocWarning | None]:
    """How to treat ties: as asked for, but not in raw order where that misleads; then a note says so.

    Where the population's own curve dips below its hull, raw order loses what a draw attains, for new people too. A
    smooth estimate tells; the sample's curve dips by chance.
    """
    if options.ties == "draw" or options.queries is not None:
        return options.ties, None
    thin = thinned_population(people.thin, HULL_POINTS)
    curves = smooth(thin.curves, thin.shares, people.class_people())
    gain = float(thin.shares @ [curve.hull.auc - curve.auc for curve in curves])
    if gain <= HULL_GAIN:
        return options.ties, None
    return "draw", FairrocWarning(
        "ties are drawn: the order of scores misleads, as even smooth ROC curves lie below their hulls, by "
        f"{gain:.3f} of AUC on average. ties='draw' (--ties draw) says that draws are fine."
    )


def chosen_curve(people: People, options: Options) -> str:
    """The curves to work on, "auto" settled."""
    if options.curve != "auto":
        return options.curve
    small = people.class_people().min() < SMALL_SAMPLE
    return "smooth" if small and options.queries is None and options.ties == "order" else "raw"


def estimates_of(people: People, options: Options) -> list[tuple[str, Population]]:
    """Curves to try before the raw ones: estimates of the population's, whole and mixed with the raw ones."""
    name = chosen_curve(people, options)
    if name == "raw":
        return []
    raw = people.thin
    sizes = people.class_people()
    curves = ESTIMATES[name](raw.curves, raw.shares, sizes)
    mixed = [(share, blend(raw.curves, curves, share)) for share in BLENDS]
    return [
        (name if share == 1 else f"{name}, half", replace(raw, curves=flattened(part, sizes, DIP)))
        for share, part in mixed
    ]


def _promised(people: People, options: Options, confidence: float) -> float:
    """The gap among the fitted people that promises epsilon in the population, or an error that says what can be."""
    most = options.constraint.largest
    if options.epsilon >= most:
        return options.epsilon
    far = reach(people, options.constraint, confidence)
    if far.value <= options.epsilon:
        return options.epsilon - far.value
    least = min(math.ceil(1000 * far.value) / 1000, most)
    limit, times = far.limit, (far.value / max(options.epsilon, 1e-9)) ** 2
    needed = f"about {math.ceil(times * people.rows):,} rows" if times < 1e6 else "far more rows"
    raise DataError(
        f"epsilon {options.epsilon:g} cannot be promised at confidence {confidence:g} with {people.rows:,} rows, "
        f"whatever the score: the smallest that can is {least:g} (by {far.method}), and group {limit.group!r} "
        f"with its {limit.rows:,} rows of label {limit.label} limits it. Take epsilon "
        f"{least:g} or more, a lower confidence, or {needed} like these."
    )


def _is_fair(people: People, goal: Goal) -> bool:
    """Whether the original score meets epsilon at all its thresholds; the thin curves usually tell."""
    if not is_fair(people.thin.curves, goal.constraint, goal.epsilon + people.hidden):
        return False
    return is_fair(people.exact.curves, goal.constraint, goal.epsilon)


def scale_of(people: People, solution: Solution) -> Scale:
    """The scale on which a solution accepts the shares of people that the original score did."""
    return build_scale(people.thin.curves, solution.realised, people.thin.shares, people.samples)


def _inverted(people: People) -> list[FairrocWarning]:
    """One note, or none, on groups in which a high score speaks for the negative label."""
    curves = zip(people.names, people.thin.curves, strict=True)
    low = [f"'{name}' ({curve.auc:.3f})" for name, curve in curves if curve.auc < 0.5]
    note = (
        f"AUC below 0.5 in group {', '.join(low)}: a high score goes with the negative label there. Check the "
        "score's sign and pos_label. Nothing is flipped; at small epsilon such a group drags all others down."
    )
    return [FairrocWarning(note)] if low else []


def _references(people: People, solution: Solution | None) -> tuple[Reference, ...]:
    """What later checks compare new scores with."""
    samples = people.samples
    sizes = people.class_sizes() if people.weighted else [None] * len(samples)
    aucs = [None] * len(samples) if solution is None else solution.performance.group_aucs
    return tuple(reference_of(*of_group) for of_group in zip(samples, sizes, aucs, strict=True))


def _record(people: People, population: Population, date: datetime | None) -> FitRecord:
    moment = (datetime.now(UTC) if date is None else date.astimezone(UTC)).replace(microsecond=0)
    return FitRecord(
        package=f"fairroc {__version__}",
        date=moment.isoformat().replace("+00:00", "Z"),
        rows=people.rows,
        weighted=people.weighted,
        data=_fingerprint(people.names, population),
    )


def _fingerprint(names: tuple[str, ...], population: Population) -> str:
    """Sixteen hex digits that change with the groups, their sizes or their hulls."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(repr(names).encode())
    for curve, *weights in zip(
        population.curves, population.weights0, population.weights1, population.shares, strict=True
    ):
        corners = curve.corners
        digest.update(np.array(weights).tobytes())
        digest.update(curve.thresholds[corners[1:] - 1].tobytes())
        digest.update(curve.fpr[corners].tobytes() + curve.tpr[corners].tobytes())
    return digest.hexdigest()
