"""Fit: people -> ROC curves -> fair curves -> levels -> kernels -> model."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from fairroc._version import __version__
from fairroc.core.constraint import Constraint
from fairroc.core.realised import Performance, RealisedRoc, drawn_shares, performance, realise
from fairroc.core.roc import Population, RocCurve
from fairroc.core.scale import Scale, build_scale
from fairroc.errors import DataError, FairrocWarning, several, warn_all
from fairroc.fitting.limits import Limits, limits
from fairroc.fitting.new_people import LEAST_HELP
from fairroc.fitting.solver import Solver
from fairroc.fitting.solving import Solution, drawn_share, judged_exactly
from fairroc.model import draw
from fairroc.model.model import FitRecord, GroupRecord, ModelData, Reference, reference_of
from fairroc.options import Options
from fairroc.people.people import People, refuse_tiny_groups
from fairroc.stats.expected import Expected
from fairroc.summary import percent, short

TRIES = 5
"""Fits, at most, beside the last resort, in search of the largest gap that keeps a promise for the population."""

MANY_DRAWN = 0.05
"""From this share of a group on it is said how nobody would be drawn."""

FAR = 4
"""Standard errors by which the fitted people's gap may be above the expected one before that is said."""

NEAR = 0.01
"""Stop looking when the limit is short of epsilon by no more than this share."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model together with what it was made from, for certificates and plots.

    ``population`` holds the curves that were worked on, ``raw`` those at all distinct scores: the same, but for a query
    model and for very many scores. ``allowed`` is the gap allowed among the fitted people: epsilon, or less if epsilon
    was to hold in the population; None for promise="new", which forces nothing onto them. ``solver`` is what was asked
    for the solution. ``notes`` are the warnings that a user should see.
    """

    model: ModelData
    options: Options
    people: People
    population: Population
    solution: Solution | None
    allowed: float | None
    solver: Solver
    notes: tuple[FairrocWarning, ...] = ()

    @cached_property
    def expected(self) -> Expected:
        """What to expect of the fair score among new people."""
        return self.solver.expected(self.solution)

    @cached_property
    def expected_before(self) -> Expected:
        """What to expect of the original score among new people."""
        return self.solver.expected(None)

    @property
    def target(self) -> float:
        """The gap allowed among the fitted people, or that they have."""
        return self.performance.gap if self.allowed is None else self.allowed

    @property
    def measure(self) -> Constraint:
        """What gaps are measured by."""
        return self.options.measure

    @property
    def raw(self) -> Population:
        """The curves at all distinct scores."""
        return self.people.exact

    @cached_property
    def before(self) -> Performance:
        """Gap and AUCs of the original score, at all its thresholds."""
        aucs = tuple(curve.auc for curve in self.raw.curves)
        return Performance(self.solver.gap_before, self.solver.auc_before, aucs)

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
        same = self.measure == self.model.fairness
        if same and judged_exactly(self.solution, self.people, self.options.queries):
            return self.solution.performance
        return performance(self.realised, self.raw, self.measure)


def fit(
    people: People,
    options: Options,
    *,
    key: bytes | str | None = None,
    salt: int | None = None,
    date: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fitted:
    """Fit the fair score to people, and warn of what a user should know; ``progress(done, all)`` is told of steps."""
    fitted = fit_quietly(people, options, key=key, salt=salt, date=date, progress=progress)
    new = new_people_notes(options, fitted.expected_before.gap, fitted.expected.gap, fitted.model.unchanged)
    warn_all((*fitted.notes, *new, *_unlike(fitted)))
    return fitted


def fit_quietly(
    people: People,
    options: Options,
    *,
    key: bytes | str | None = None,
    salt: int | None = None,
    date: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fitted:
    """Fit the fair score to people; the warnings are kept as notes."""
    if options.is_spread:
        raise DataError(
            "people counted by group cannot be fitted with use_group=False or combine='each': they do not say what "
            "else is known of a person. Pass the rows to FairROC.fit."
        )
    refuse_tiny_groups(people, options.min_class_rows)
    solver = Solver(people, options, progress)
    population = solver.population
    salt = draw.new_salt() if salt is None else draw.effective_salt(salt)
    fingerprint = None if key is None else draw.key_fingerprint(salt, key)
    record = _record(people, population, date)

    def made(target: float | None, solution: Solution | None, *notes: FairrocWarning | None) -> Fitted:
        model = _model(people, options, target, solution, salt=salt, fingerprint=fingerprint, record=record)
        drawn = None if solution is None else _many_drawn(solution, people.names, solver)
        told = (*people.small_groups(), *_inverted(people), *(note for note in (*notes, drawn) if note is not None))
        return Fitted(model, options, people, population, solution, target, solver, told)

    def at(target: float) -> Fitted:
        solution = solver.at(target)
        return made(target, solution, None if solution is None else solution.note)

    if options.promise == "new":
        solution = solver.at(options.epsilon)
        return made(solver.gap_before if solution is None else None, solution)
    return at(options.epsilon) if options.confidence is None else _promised(at, options.epsilon, options.confidence)


def new_people_notes(options: Options, was: float, gap: float, unchanged: bool) -> list[FairrocWarning]:
    """One note, or none, where new people's gap is expected to be larger than with the original score, no smaller, or
    above epsilon."""
    new = options.promise == "new"
    more = "a smaller ratio" if options.ratio is not None else "a larger epsilon"
    more = more if options.tolerances is None else "larger tolerances"
    ways = f"Take more rows, or {more}." if new else f"Take promise='new' (--promise new), more rows, or {more}."
    rows = "More rows of the smallest group and label would help most."
    if not unchanged and gap > was - LEAST_HELP:
        how = "worse off" if gap >= was else "hardly better off"
        return [
            FairrocWarning(
                f"new people are expected to be {how} with this fair score: a gap of about {gap:.3f}, where the "
                f"original score has {was:.3f}. {ways}",
                f"It follows what is peculiar to these rows. {rows}",
            )
        ]
    if gap <= options.epsilon:
        return []
    if not new:
        words = f"expect a gap of about {gap:.3f} among new people, above epsilon {options.epsilon:.4g}. {ways}"
        return [FairrocWarning(words, f"Epsilon holds for the people it was promised for. {rows}")]
    kept = "The original score is kept, since nothing" if unchanged else "Nothing"
    return [
        FairrocWarning(
            f"no score that was tried is worth having that reaches an expected gap of {options.epsilon:.4g} among new "
            f"people with these rows: expect about {gap:.3f}. {ways}",
            f"{kept} does clearly better at its price. {rows}",
        )
    ]


def _unlike(fitted: Fitted) -> list[FairrocWarning]:
    """One note, or none, where the fitted people's gap is far above what is expected of new people."""
    gap, new = fitted.performance.gap, fitted.expected
    if gap <= new.gap + FAR * new.gap_deviation:
        return []
    words = (
        f"these {fitted.people.rows:,} rows have a gap of {gap:.3f}, more than {FAR} standard errors above the "
        f"{new.gap:.3f} that is expected of all new people: chance alone makes about "
        f"{fitted.solver.test_gap(fitted.solution):.3f} in so many rows"
    )
    return [FairrocWarning(f"{words}.", "A test set of new people shows which is right.")]


def _model(
    people: People,
    options: Options,
    target: float | None,
    solution: Solution | None,
    *,
    salt: int,
    fingerprint: str | None,
    record: FitRecord,
) -> ModelData:
    counts = zip(people.names, *people.group_counts(), strict=True)
    kept_at = options.epsilon if target is None else min(target, options.epsilon)
    return ModelData(
        **options.remembered(),
        ties=options.ties if solution is None else solution.ties,
        inner_epsilon=kept_at if solution is None else solution.inner_epsilon,
        groups=tuple(GroupRecord(name, int(n), int(positives)) for name, n, positives in counts),
        kernels=() if solution is None else solution.kernels,
        scale=None if solution is None else scale_of(people, solution),
        record=record,
        salt=salt,
        key_fingerprint=fingerprint,
        references=_references(people, solution),
        curve="raw" if solution is None else solution.curve,
        small_groups=None if people.small is None else people.small.known,
    )


def limits_of(fitted: Fitted, confidence: float) -> Limits:
    """Upper limits of a fitted score's gap among all people."""
    model = fitted.model
    return limits(fitted.people, model.kernels, fitted.realised, fitted.performance.gap, model.fairness, confidence)


def _promised(at: Callable[[float], Fitted], epsilon: float, confidence: float) -> Fitted:
    """The fit that allows the largest gap, about, of those whose limit is within epsilon; or an error that says what
    can be promised.

    From epsilon down by what the limit is too large, then by the slope between the last two, inside what does and what
    does not. The limit need not follow the gap allowed: where nothing else does, none is allowed.
    """
    best, above, guess, slope = None, math.inf, epsilon, 1.0
    before: tuple[float, float] | None = None
    for _ in range(TRIES):
        tried = at(guess)
        if epsilon >= tried.model.fairness.largest:
            return tried
        found = limits_of(tried, confidence)
        if found.value <= epsilon:
            best = tried
            if guess == epsilon or epsilon - found.value <= NEAR * epsilon:
                return best
        elif guess == 0:
            break
        else:
            above = guess
        if before is not None and guess != before[0]:
            slope = min(max((found.value - before[1]) / (guess - before[0]), 0.25), 1.0)
        before = guess, found.value
        low = 0.0 if best is None else best.target
        guess += ((1 - NEAR / 2) * epsilon - found.value) / slope
        if not low < guess < above:
            guess = low if best is None else (low + above) / 2
    if best is not None:
        return best
    tried = at(0.0)
    found = limits_of(tried, confidence)
    if found.value <= epsilon:
        return tried
    raise _refusal(tried, found)


def _refusal(tried: Fitted, found: Limits) -> DataError:
    people, epsilon, ratio = tried.people, tried.model.epsilon, tried.model.ratio
    least = min(math.ceil(1000 * found.value) / 1000, tried.model.fairness.largest)
    limit, times = found.limit, (found.value / max(epsilon, 1e-9)) ** 2
    needed = f"about {math.ceil(times * people.rows):,} rows" if times < 1e6 else "far more rows"
    rows = f"{limit.rows:,} rows" if limit.label is None else f"{limit.rows:,} rows of label {limit.label}"
    asked, can, take = f"epsilon {epsilon:g}", f"the smallest that can is {least:g}", f"epsilon {least:g} or more"
    if ratio is not None:
        asked, can = f"ratio {ratio:g}", f"the largest that can is {1 - least:g}"
        take = f"ratio {1 - least:g} or less"
        if least >= 1:
            can, take = "no ratio can", "an epsilon"
    elif tried.model.tolerances is not None:
        fpr, tpr = tried.model.tolerances
        asked = f"tolerances of {fpr:g} (FPR) and {tpr:g} (TPR)"
        grown = [min(math.ceil(round(1000 * least / epsilon * each, 6)) / 1000, 1.0) for each in (fpr, tpr)]
        can = "the smallest in the same proportion that can are {:g} and {:g}".format(*grown)
        take = "those or more"
    return DataError(
        f"{asked} cannot be promised at confidence {found.level:g} with {people.rows:,} rows, even with no gap among "
        f"them: {can} (by {found.method}), and group {limit.group!r} with its {rows} limits it. Take {take}, a lower "
        f"confidence, or {needed} like these."
    )


def scale_of(people: People, solution: Solution) -> Scale:
    """The scale on which a solution accepts the shares of people that the original score did."""
    return build_scale(people.thin.curves, solution.realised, people.thin.shares, people.samples)


def _inverted(people: People) -> list[FairrocWarning]:
    """One note, or none, on groups in which a high score speaks for the negative label."""
    curves = zip(people.names, people.thin.curves, strict=True)
    low = [f"'{name}' ({curve.auc:.3f})" for name, curve in curves if curve.auc < 0.5]
    note = FairrocWarning(
        f"AUC below 0.5 in group {several(low, ', ')}: a high score goes with the negative label there. Check the "
        "score's sign and pos_label (--pos-label).",
        "Nothing is flipped; at small epsilon such a group drags all others down.",
    )
    return [note] if low else []


def _many_drawn(solution: Solution, names: Sequence[str], solver: Solver) -> FairrocWarning | None:
    """A note where many people of a group are drawn who need not be: nobody asked for that."""
    options, judged = solver.options, solution.judged
    if options.draw != "few" or options.one_rate:
        return None
    shares = [sum(drawn_shares(*each)) for each in zip(judged.curves, solution.kernels, strict=True)]
    most = int(np.argmax(shares))
    if shares[most] <= MANY_DRAWN:
        return None
    plain = options.promise == "fitted" and options.queries is None and options.tolerances is None
    least = solver.least_gap_without_draw if plain else None
    least = None if least is None or least <= options.epsilon else least
    ways = ways_without_draw(least, queried=options.queries is not None)
    return FairrocWarning(
        drawn_words(drawn_share(judged, solution.kernels), names[most], shares[most], ways),
        "Without a draw neighbouring scores share one fair score where epsilon asks for it.",
    )


def drawn_words(whole: float, group: str, most: float, ways: str | None) -> str:
    """For whom a draw decides, and how nobody would be drawn, if that is known."""
    whom = f"A draw decides for {percent(whole)} of people ({percent(most)} of group '{short(group)}')."
    return whom if ways is None else f"{whom} Nobody is drawn with {ways}."


def ways_without_draw(least: float | None, *, queried: bool, more: str = "") -> str:
    """What to ask for so that nobody is drawn; ``least``: the epsilon from which draw='few' does, if that is known."""
    ways = "draw='never' (--draw never)"
    if queried:
        ways = "method='optimal', no queries and draw='never' (--method optimal --draw never)"
    return ways if least is None else f"{ways} or from an epsilon of {math.ceil(1000 * least) / 1000:g} on{more}"


def _references(people: People, solution: Solution | None) -> tuple[Reference, ...]:
    """What later checks compare new scores with."""
    samples = people.samples
    sizes = people.class_sizes() if people.weighted else [None] * len(samples)
    aucs = [None] * len(samples) if solution is None else solution.group_aucs
    return tuple(reference_of(*of_group) for of_group in zip(samples, sizes, aucs, strict=True))


def record_of(
    rows: int,
    weighted: bool,
    names: Sequence[str],
    curves: Sequence[RocCurve],
    weights: Iterable[Sequence[float]],
    date: datetime | None,
) -> FitRecord:
    """Where a model comes from; ``weights`` are those of every curve."""
    moment = (datetime.now(UTC) if date is None else date.astimezone(UTC)).replace(microsecond=0)
    return FitRecord(
        package=f"fairroc {__version__}",
        date=moment.isoformat().replace("+00:00", "Z"),
        rows=rows,
        weighted=weighted,
        data=_fingerprint(tuple(names), curves, weights),
    )


def _record(people: People, population: Population, date: datetime | None) -> FitRecord:
    weights = zip(population.weights0, population.weights1, population.shares, strict=True)
    return record_of(people.rows, people.weighted, people.names, population.curves, weights, date)


def _fingerprint(names: tuple[str, ...], curves: Sequence[RocCurve], every: Iterable[Sequence[float]]) -> str:
    """Sixteen hex digits that change with the groups, their sizes or their hulls."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(repr(names).encode())
    for curve, weights in zip(curves, every, strict=True):
        corners = curve.corners
        digest.update(np.array(weights).tobytes())
        digest.update(curve.thresholds[corners[1:] - 1].tobytes())
        digest.update(curve.fpr[corners].tobytes() + curve.tpr[corners].tobytes())
    return digest.hexdigest()
