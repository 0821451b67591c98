"""The fitted model as plain data, and what numpy does with it: fair scores and acceptance rates of checked columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, Frozen, IntArray
from fairroc.core.constraint import Constraint, Norm
from fairroc.core.kernel import Kernel
from fairroc.core.realised import RealisedRoc, all_points, realise
from fairroc.core.roc import Population, RocCurve
from fairroc.core.scale import Scale
from fairroc.errors import DataError, UnknownGroupError, several, warn_user
from fairroc.model import draw
from fairroc.model.lookup import Lookup, OneRow
from fairroc.model.proxy import ProxyTree
from fairroc.model.tables import LookupTables, lookup_tables
from fairroc.options import COMBINE, CONSTRAINT, DRAW, Missing, fairness_of
from fairroc.people.cells import WeightedRows
from fairroc.people.people import People, Sample
from fairroc.people.rows import LARGEST, ScoreColumns, known_groups, read_scores
from fairroc.people.sample import thin_points
from fairroc.people.small import Regrouped, SmallRule
from fairroc.people.spread import named_features, order_of, probabilities_of
from fairroc.people.tensors import is_tensor
from fairroc.stats.bootstrap import even_steps
from fairroc.summary import Titled
from fairroc.tables.columns import require_distinct

FEW = 8
"""Rows up to which one after the other is faster than all at once."""

BEYOND = 0.01
"""Share of the width of the fitted scores' range that others may lie beyond it."""

SOME, MANY = 10, 100
"""Rows from which more than half of the scores beyond the fitted ones are an error; and ids that repeat, or 1 % of the
scores there, worth a warning."""


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """Who was in a group when the model was fitted."""

    name: str
    rows: int
    positives: int


@dataclass(frozen=True, slots=True)
class Compared(Titled):
    """Groups that a fit kept close to each other, where these are not what a model is told of a person: those of one
    attribute, or of one attribute inside a stratum. ``epsilon`` is how close."""

    attribute: str
    stratum: str | None
    epsilon: float
    groups: tuple[GroupRecord, ...]


@dataclass(frozen=True, slots=True)
class FitRecord:
    """Where a model comes from: enough to tell two fits apart, nothing that identifies a person."""

    package: str
    date: str
    rows: int
    weighted: bool
    data: str


@dataclass(frozen=True, eq=False)
class ModelData:
    """A fitted model: all that its file holds, and the transform of checked columns.

    Users hold a `fairroc.FairModel`, which adds the rest.

    ``kernels`` is empty when the original score already met epsilon: then the fair score *is* the original score,
    bit for bit. ``references`` holds what `check` compares new scores with; it is empty in models of old files.
    ``curve`` names the estimate of the ROC curves that was worked on. ``promise`` says
    for whom epsilon was chosen: "fitted", "new" or, with ``confidence``, "population". ``small_groups`` are those that
    the fit merged or left out.

    ``compared`` is empty where a model is told the very groups that were kept close. Else ``groups`` are the segments
    that it is told apart by: intersections of attributes (``combine="each"``), these inside strata (so many
    ``controls``), or, without ``use_group``, the leaves of the ``proxy``.
    """

    epsilon: float
    norm: Norm
    method: str
    ties: str
    inner_epsilon: float
    queries: int | None
    groups: tuple[GroupRecord, ...]
    kernels: tuple[Kernel, ...]
    scale: Scale | None
    record: FitRecord
    salt: int
    missing: Missing = "error"
    hash: str = "xxh64"
    key_fingerprint: str | None = None
    references: tuple[Reference, ...] = ()
    curve: str = "raw"
    confidence: float | None = None
    promise: str = "fitted"
    small_groups: Regrouped | None = None
    constraint: str = CONSTRAINT.default
    ratio: float | None = None
    draw: str = DRAW.default
    where: tuple[float, float] | None = None
    tolerances: tuple[float, float] | None = None
    use_group: bool = True
    combine: str = COMBINE.default
    controls: int = 0
    compared: tuple[Compared, ...] = ()
    proxy: ProxyTree | None = None

    @property
    def probability_columns(self) -> tuple[str, ...]:
        """Names of the groups' probabilities that the model is told, in the order of the fit."""
        return () if self.proxy is None else tuple(self.proxy.columns)

    def told(
        self, sensitive_features: Any, group_probabilities: Any = None, control_features: Any = None, rows: int = 0
    ) -> Any:
        """What the model is told of people beside the score, in the place of the groups of a plain model: groups as
        they are, beside strata, or names of cells by probabilities."""
        self.check_told(sensitive_features, group_probabilities, control_features)
        if self.use_group and not self.controls:
            return sensitive_features
        parts = [] if control_features is None else [*named_features(control_features, "control_features").values()]
        self.check_controls(len(parts))
        if self.use_group:
            parts += named_features(sensitive_features, "sensitive_features").values()
        else:
            assert self.proxy is not None
            columns = self.probability_columns
            known = probabilities_of(group_probabilities, columns) if columns else np.empty((rows, 0))
            parts.append(self.proxy.label(known))
        return parts[0] if len(parts) == 1 else dict(enumerate(parts))

    def check_told(self, sensitive_features: Any, group_probabilities: Any, control_features: Any) -> None:
        """Raise unless just that is given which the model uses; of probabilities `probabilities_of` says what lacks."""
        for name, given, wanted in (
            ("group_probabilities", group_probabilities, len(self.probability_columns) > 0),
            ("control_features", control_features, self.controls > 0),
            ("sensitive_features", sensitive_features, self.use_group),
        ):
            if given is not None and not wanted:
                raise DataError(f"this model does not use {name}, got some. Leave them out, or fit with them.")
            if given is None and wanted and name != "group_probabilities":
                raise DataError(
                    f"{name} must be given, one row for each score, got none: the model was fitted with it."
                )

    def check_controls(self, columns: int) -> None:
        """Raise unless there are as many columns of strata as in the fit."""
        if columns != self.controls:
            raise DataError(f"control_features must have {self.controls} columns, as in the fit, got {columns}.")

    def told_columns(
        self, groups: Sequence[str], probabilities: Sequence[str], controls: Sequence[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the columns that hold what `told` takes, checked: those whose texts are joined to the name of a
        group, in order, and those of probabilities, in the order of the fit. Without the use of groups the name of the
        cell comes last."""
        columns = self.probability_columns
        for name, named, wanted in (
            ("group (--group)", groups, self.use_group),
            ("group_probabilities (--group-probability)", probabilities, len(columns) > 0),
            ("control_features (--control)", controls, self.controls > 0),
        ):
            if named and not wanted:
                raise DataError(
                    f"{name} must name no column, got {several(list(named), ', ')}: this model does not use them. "
                    "Leave it out, or fit with them."
                )
            if wanted and not named:
                of = f" ({several(list(columns), ', ')})" if name.startswith("group_") else ""
                raise DataError(f"{name} must name the columns that the model was fitted with{of}, got none.")
        if len(controls) != self.controls:
            raise DataError(
                f"control_features (--control) must name {self.controls} columns, as in the fit, got {len(controls)}: "
                f"{several(list(controls), ', ')}."
            )
        for named, what in ((groups, "group"), (probabilities, "probability"), (controls, "control")):
            require_distinct(named, what)
        order = order_of(probabilities, columns) if columns else []
        return (*controls, *groups), tuple(probabilities[place] for place in order)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.groups)

    @property
    def fairness(self) -> Constraint:
        """What the fair score keeps close, as geometry."""
        return fairness_of(self)

    @property
    def unchanged(self) -> bool:
        """Whether the original score was fair already and is returned as it is."""
        return not self.kernels

    @property
    def needs_ids(self) -> bool:
        """Whether somebody is drawn: then the fair score takes ids (with the model's key, if it has one) or a seed.
        Else it follows from score and group alone, and ids, key and seed are ignored wherever they are given."""
        return self.tables is not None and self.tables.draws

    @property
    def levels(self) -> int:
        """Number of levels of the fair score (0 for an unchanged score)."""
        return self.kernels[0].table.shape[1] if self.kernels else 0

    @cached_property
    def codes(self) -> dict[str, int]:
        """Numbers of the groups whose people the model can treat, by name: the fitted ones, and those merged."""
        return known_groups(self.names, None, self.small_groups)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Groups that were too small for the fit and not merged."""
        return () if self.small_groups is None else self.small_groups.left_out

    @property
    def small_rule(self) -> SmallRule:
        """How the door merges people for this model, as its fit did."""
        return SmallRule(fitted=self.small_groups)

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """The lowest and the highest fitted score; all numbers, where an old file does not tell."""
        if self.references:
            ends = [(float(one.edges[0]), one.highest) for one in self.references]
        else:
            ends = [(float(kernel.thresholds[-1]), kernel.ceiling) for kernel in self.kernels]
        return min((low for low, _ in ends), default=-np.inf), max((high for _, high in ends), default=np.inf)

    @property
    def wide_range(self) -> tuple[float, float]:
        """The same with BEYOND of its width on either side: bins of scores make no more of a difference."""
        low, high = self.score_range
        more = BEYOND * (high - low)
        return low - more, high + more

    def outside(self, scores: FloatArray) -> int:
        """How many scores lie outside of the fitted ones' range."""
        low, high = self.wide_range
        if not len(scores) or (scores.min() >= low and scores.max() <= high):
            return 0
        return int(np.count_nonzero(scores < low) + np.count_nonzero(scores > high))

    def judge_people(self, people: People, allowed: bool) -> None:
        """Warn of what `range_note` says of people's original scores."""
        low, high = self.wide_range
        places = np.array([low, np.nextafter(high, np.inf)])
        outside = sum(int(sample.rows_between(places)[[0, 2]].sum()) for sample in people.samples)
        self.judge_range(outside, people.rows, allowed)

    def judge_range(self, outside: int, rows: int, allowed: bool, many: int = MANY) -> None:
        """Warn of what `range_note` says."""
        if (note := self.range_note(outside, rows, allowed, many)) is not None:
            warn_user(note)

    def range_note(self, outside: int, rows: int, allowed: bool, many: int = MANY) -> str | None:
        """What to warn of where 1 % of scores lie outside of the fitted ones' range, from so many rows on; raise for
        more than half, unless that is allowed. A few rows say nothing: there is always a highest score."""
        if 100 * outside < max(rows, 1):
            return None
        low, high = self.score_range
        share = f"{outside:,} of {rows:,} scores ({outside / rows:.1%})"
        words = f"{share} lie outside of the range of those fitted, {low:.4g} to {high:.4g}"
        if 2 * outside > rows >= SOME and not allowed:
            raise DataError(
                f"{words}: another scale, such as logits where probabilities were fitted, or another score? Pass the "
                "score that was fitted, or allow_out_of_range=True (on the command line: --allow-out-of-range)."
            )
        ends = "" if self.unchanged else "; they count as its ends"
        return f"{words}{ends}. Is this the score that was fitted?" if rows >= many else None

    def read(
        self,
        scores: Any,
        sensitive_features: Any,
        on_unknown_group: str | None = None,
        allow_out_of_range: bool = False,
    ) -> ScoreColumns:
        """Check scores and groups of new rows against the fitted ones."""
        columns = checked_columns(self, scores, sensitive_features, on_unknown_group)
        warn_unknown(columns.unknown, len(columns.scores), on_unknown_group)
        if len(columns.scores) >= SOME:
            self.judge_range(self.outside(columns.scores), len(columns.scores), allow_out_of_range)
        return columns

    def drawn(self, columns: ScoreColumns, ids: Any, random_state: Any, key: bytes | str | None) -> FloatArray:
        """Fair scores of checked columns, drawn by ids or from a random state."""
        if not self.needs_ids:
            return self.fair_scores(columns, np.zeros(len(columns.scores)))
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and ids.ndim == 1 and self.hash == "xxh64":
            self.check_draw(len(columns.scores), ids, random_state, key)
            draws = draw.IntegerDraws.of(ids, salt=self.salt, key=key)  # only those who are drawn need a number
            self._warn_repeated(ids)
            return self._fair(columns, draws.block)
        uniforms = self.uniforms(len(columns.scores), ids=ids, random_state=random_state, key=key)
        if ids is not None:
            self._warn_repeated(uniforms)
        return self.fair_scores(columns, uniforms)

    def _warn_repeated(self, marks: NDArray[Any]) -> None:
        """Warn where many rows share ids, which integers or their draws tell."""
        if len(marks) >= MANY and not (marks[1:] > marks[:-1]).all():
            draw.IdCount().add(marks).warn()

    def few(
        self, scores: Any, groups: Any, ids: Any, random_state: Any, key: bytes | str | None, other: str | None
    ) -> FloatArray | None:
        """Fair scores of a few rows of plain numbers, groups and ids, one after the other: the bits of `read` and
        `drawn`. None where anything is not plain or not right: these tell what."""
        plain = self._plain_rows(scores, groups, ids if self.needs_ids else None, other)
        if plain is None:
            return None
        values, rows, marks = plain
        self.check_draw(len(values), ids, random_state, key)
        if self.tables is None:
            return np.array(values, dtype=np.float64)
        if marks:
            seed = self._seed if key is None else draw.derive_seed(self.salt, key)
            draws = [partial(draw.uniform_from_id, mark, seed) for mark in marks]
        else:
            uniforms = self.uniforms(len(values), random_state=random_state).tolist()
            draws = [partial(float, uniform) for uniform in uniforms]
        return np.array(list(map(self._one_row.score, values, rows, draws)))

    def _plain_rows(
        self, scores: Any, groups: Any, ids: Any, other: str | None
    ) -> tuple[list[float], list[int], list[Any] | None] | None:
        """Scores, codes of the groups, and ids of a few rows; None where anything is not plain or not right."""
        values, names = _plain(scores, (float, int)), _plain(groups, (str,)) or _plain(groups, (int,))
        marks = _plain(ids, (str,)) or _plain(ids, (int,))
        if not values or not names or len(values) != len(names) or not (other is None or other in self.names):
            return None
        rows = [self.codes.get(name if type(name) is str else str(name), -1) for name in names]
        if min(rows) < 0 or not all(-LARGEST <= value <= LARGEST for value in values):
            return None
        if ids is not None and (not marks or len(marks) != len(values) or self.hash != "xxh64" or not _sound(marks)):
            return None
        return list(map(float, values)), rows, marks

    def rates(self, columns: ScoreColumns, limit: float) -> FloatArray:
        """Acceptance rates of checked columns at a threshold."""
        if self._lookup is None:
            return (columns.scores >= limit).astype(np.float64)
        return self._lookup.rates(columns.scores, columns.groups, limit)

    def uniforms(
        self, n: int, *, ids: Any = None, random_state: Any = None, key: bytes | str | None = None
    ) -> FloatArray:
        """One uniform number for each row, from ids or from a random state; zeros, where nobody is drawn."""
        if not self.needs_ids:
            return np.zeros(n)
        self.check_draw(n, ids, random_state, key)
        if ids is None:
            return draw.uniforms_from_state(random_state, n)
        uniforms = draw.uniforms_from_ids(ids, salt=self.salt, key=key, hash=self.hash)
        _same_number(len(uniforms), n)
        return uniforms

    def fair_scores(self, columns: ScoreColumns, uniforms: FloatArray) -> FloatArray:
        """Fair scores of checked columns with given uniform numbers in [0, 1)."""
        return self._fair(columns, uniforms.__getitem__)

    def _fair(self, columns: ScoreColumns, uniforms: Callable[[IntArray | slice], FloatArray]) -> FloatArray:
        if self._lookup is None:
            return columns.scores.copy()
        return self._lookup.scores(columns.scores, columns.groups, uniforms)

    def check_draw(self, n: int, ids: Any, random_state: Any, key: bytes | str | None) -> None:
        """Raise unless there is one source of draws, or no need of any, and the key it needs."""
        if not self.needs_ids:
            return
        if (ids is None) == (random_state is None):
            given = "neither" if ids is None else "both"
            raise DataError(
                f"give either ids or random_state, got {given}. The fair score is drawn at random for each row: ids= "
                "(one id for each row) gives the same person the same draw every time, random_state=0 simulates one."
            )
        if ids is not None:
            self.check_key(key)
        if (isinstance(ids, np.ndarray) or is_tensor(ids)) and ids.ndim == 1:
            _same_number(len(ids), n)

    def check_key(self, key: bytes | str | None) -> None:
        """Raise unless this is the key the model was fitted with, or none if it was fitted without; where nobody is
        drawn, any will do."""
        if not self.needs_ids:
            return
        if self.key_fingerprint is None:
            if key is None:
                return
            raise DataError(
                "this model was fitted without a key, got one: it would draw again for everybody. Leave out key= (on "
                "the command line: --key-file), or refit with the key."
            )
        if key is None or (isinstance(key, draw.Secret) and key.is_lost):
            how = "pass key= (on the command line: --key-file)"
            raise DataError(
                f"this model was fitted with a key (fingerprint {self.key_fingerprint}) and its draws need it; "
                f"{how if key is None else 'files of estimators hold none, give it again with set_params(key=...)'}."
            )
        given = draw.key_fingerprint(self.salt, key)
        if given != self.key_fingerprint:
            raise DataError(
                f"this model was fitted with the key of fingerprint {self.key_fingerprint}, got one of {given}. Use "
                "the first key, or refit to change keys."
            )

    @cached_property
    def tables(self) -> LookupTables | None:
        """What fair scores are looked up in, in every engine; None for an unchanged score."""
        return None if self.scale is None else lookup_tables(self.kernels, self.scale)

    @cached_property
    def _lookup(self) -> Lookup | None:
        return None if self.tables is None else Lookup(self.tables)

    @cached_property
    def _one_row(self) -> OneRow:
        assert self.tables is not None
        return OneRow(self.tables)

    @cached_property
    def _seed(self) -> int:
        return draw.derive_seed(self.salt)


def _sound(ids: list[Any]) -> bool:
    """Whether all ids can be hashed: integers of 64 bits, or texts without half a character."""
    if type(ids[0]) is int:
        return bool(min(ids) >= -(2**63) and max(ids) < 2**64)
    try:
        "".join(ids).encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(values: Any, kinds: tuple[type, ...]) -> list[Any] | None:
    """A list, tuple or array of up to FEW values as a list, if all are of these very types."""
    if type(values) is np.ndarray:
        values = values.tolist() if values.ndim == 1 and len(values) <= FEW else None
    if not isinstance(values, list | tuple) or len(values) > FEW or not set(map(type, values)).issubset(kinds):
        return None
    return list(values)


def warn_unknown(unknown: int, rows: int, group: str | None) -> None:
    """Warn if some rows are of groups that were not fitted and got the treatment of another."""
    if unknown:
        warn_user(unknown_note(unknown, rows, group))


def checked_columns(
    model: ModelData, scores: Any, sensitive_features: Any, on_unknown_group: str | None
) -> ScoreColumns:
    """Scores and groups of new rows, checked by what a model knows; nothing is warned of."""
    how: dict[str, Any] = {"names": model.names, "missing": model.missing, "small": model.small_groups}
    return read_scores(scores, sensitive_features=sensitive_features, on_unknown_group=on_unknown_group, **how)


def unknown_note(unknown: int, rows: int, group: str | None) -> str:
    """What to warn of then."""
    return (
        f"{unknown} of {rows} rows belong to groups that were not fitted; they were treated as group '{group}', for "
        "which nothing was measured on them."
    )


def row_count(scores: Any) -> int:
    """Number of scores, whatever holds them."""
    return len(scores) if hasattr(scores, "__len__") else 0


def _same_number(ids: int, scores: int) -> None:
    if ids != scores:
        raise DataError(f"ids must be as many as scores, got {ids} ids and {scores} scores. Pass one id for each row.")


def check_threshold(threshold: Any) -> float:
    """A threshold as a float."""
    try:
        value = float(threshold)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if np.isnan(value):
        raise DataError(f"threshold must be a number on the score's scale, got {threshold!r}. Try 0.5.")
    return value


PARTS, PEOPLE = 64, 10
"""Even parts that the bins cut each label's scores into, or fewer, so that each holds about so many people or more: the
model file is no list of its people. With large ties by themselves there are at most 4 * PARTS bins."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference(Frozen):
    """The scores of one group's fitted people.

    Attributes
    ----------
    edges : (B,) rising. Bin b holds ``edges[b] <= score < edges[b + 1]``, the last one those up to ``highest``;
        ``edges[0]`` is the lowest score.
    highest : the highest score.
    counts : (B, 2) negatives and positives in each bin: rows, or their weight.
    sizes : (2,) effective sample size by label: the number of rows without weights.
    auc, fair_auc : of the original and of the fair score, within the group.
    """

    edges: FloatArray
    highest: float
    counts: FloatArray
    sizes: FloatArray
    auc: float
    fair_auc: float

    @property
    def borders(self) -> FloatArray:
        """(B + 1,) the edges, and the smallest number above the highest score."""
        return np.append(self.edges, np.nextafter(self.highest, np.inf))

    @property
    def padded(self) -> FloatArray:
        """(B + 2, 2) the fitted counts: nobody below the lowest score, nobody above the highest."""
        return np.pad(self.counts, ((1, 1), (0, 0)))


def reference_of(sample: Sample, sizes: FloatArray | None, fair_auc: float | None) -> Reference:
    """The reference of a group; ``sizes`` where rows are weighted, ``fair_auc`` where the score is changed."""
    curve, totals = sample.thin, np.array(sample.totals)
    index = _cuts(curve, totals if sizes is None else sizes)
    rates = np.stack((curve.fpr[index], curve.tpr[index]), axis=1)
    counts = np.diff(rates, axis=0)[::-1] * totals
    return Reference(
        edges=curve.thresholds[index[:0:-1] - 1].copy(),
        highest=sample.highest,
        counts=np.rint(counts) if sizes is None else counts,
        sizes=totals if sizes is None else sizes,
        auc=curve.auc,
        fair_auc=curve.auc if fair_auc is None else fair_auc,
    )


def _cuts(curve: RocCurve, sizes: FloatArray) -> IntArray:
    """Indices of the curve's points, first and last included, that cut both labels' scores into even parts."""
    parts = np.clip(sizes // PEOPLE, 1, PARTS).astype(int).tolist()
    inner = [even_steps(rate, part) for rate, part in zip((curve.fpr, curve.tpr), parts, strict=True)]
    found = np.unique(np.concatenate((*inner, [len(curve.thresholds)])))
    people = curve.fpr[found] * sizes[0] + curve.tpr[found] * sizes[1]
    kept, before = [0], 0.0
    for index, accepted in zip(found.tolist(), people.tolist(), strict=True):
        if accepted - before >= PEOPLE:
            kept, before = [*kept, index], accepted
    return np.array([*(kept[:-1] if len(kept) > 1 else kept), len(curve.thresholds)])


def expected_people(model: ModelData, people: People, *, on_unknown_group: str | None = None) -> People:
    """The fair score of these people in expectation over the draw, as people with weights.

    ``people`` have the original scores. What comes back has the same groups with the expected (fpr, tpr) of the fair
    score at every threshold where some group's curve bends, and the same total weight of each label; its scores are
    ranks. So whatever is measured on people with weights (a gap, an AUC) is measured exactly, and nothing is drawn.
    """
    if model.unchanged:
        return people
    seen, realised = expected_rocs(model, people, on_unknown_group=on_unknown_group)
    fpr, tpr = all_points(realised)
    each = np.sum([sample.totals for sample in people.samples], axis=0)
    negatives, positives = steps_of(fpr) * seen.weights0 * each[0], steps_of(tpr) * seen.weights1 * each[1]
    return people_of_steps(people.names, negatives, positives)


def people_of_steps(names: tuple[str, ...], negatives: FloatArray, positives: FloatArray) -> People:
    """People whose groups gain these (points, groups) weights at ranks, from the highest on."""
    points = thin_points(len(names))
    samples = [_rows(negatives[:, g], positives[:, g], points) for g in range(len(names))]
    return People(names, tuple(samples), weighted=True)


def expected_rocs(
    model: ModelData, people: People, *, on_unknown_group: str | None = None
) -> tuple[Population, tuple[RealisedRoc, ...]]:
    """These people and their way through a model that changes the score: exact rates at every place of its scale."""
    seen, kernels = treated(model, people, on_unknown_group=on_unknown_group)
    exact = seen.exact
    return exact, tuple(realise(curve, kernel) for curve, kernel in zip(exact.curves, kernels, strict=True))


def treated(
    model: ModelData, people: People, *, on_unknown_group: str | None = None
) -> tuple[People, tuple[Kernel, ...]]:
    """These people as a model that changes the score sees them, and every group's kernel.

    Scores below all fitted ones of their group are treated like the lowest.
    """
    kernels = tuple(model.kernels[treated_as(model, name, on_unknown_group)] for name in people.names)
    return people.not_below([float(kernel.thresholds[-1]) for kernel in kernels]), kernels


def treated_as(model: ModelData, name: str, on_unknown_group: str | None) -> int:
    """Number of the fitted group whose kernel a group gets."""
    codes = model.codes
    for known in (name, on_unknown_group):
        if known in codes:
            return codes[known]
    groups = ", ".join(repr(known) for known in model.names[:5])
    left = ", which was left out of the fit as too small" if name in model.left_out else ""
    raise UnknownGroupError(
        f"the model knows the groups {groups}, got {name!r}{left}. Fit again with it, or say in on_unknown_group= "
        "whose treatment it shall get."
    )


def steps_of(rates: FloatArray) -> FloatArray:
    """(points, groups) what each point adds to the one before."""
    return np.maximum(np.diff(rates, axis=0, prepend=0.0), 0.0)


def _rows(negatives: FloatArray, positives: FloatArray, points: int) -> WeightedRows:
    """One row for each point and label at which a group gains weight; the first point has the highest score."""
    used = [np.flatnonzero(weights) for weights in (negatives, positives)]
    return WeightedRows(
        scores=-np.concatenate(used).astype(np.float64),
        labels=np.repeat([False, True], [len(at) for at in used]),
        weights=np.concatenate((negatives[used[0]], positives[used[1]])),
        points=points,
    )
