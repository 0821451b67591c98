"""FairProjection: the probability nearest to a classifier's that meets group fairness on average.

Alghamdi, Hsu, Jeong, Wang, Michalak, Asoodeh, Calmon: "Beyond Adult and COMPAS: Fair Multi-Class Prediction via
Information Projection" (NeurIPS 2022, arXiv:2206.07801), for two labels and people whose group is known.

With b = (1 - s, s) the classifier's probabilities, h those sought and q = b the estimate of P(Y=y | score, group):

    minimise  mean D(h, b)   subject to   C m <= 0,   m[y, a] = mean(q_y h_y 1[group = a])

D is sum h log(h / b) ("kl") or sum b log(b / h) ("ce"). The rows of C say that in every group the estimated rate of
right decisions, P(Yhat=y | Y=y, group), differs from that of all people by at most the share ``tolerance`` of it (mean
equalized odds). The dual has one price for each
row; w = prices C tilts a person's probabilities by v_y = q_y w[y, group], and h follows from v in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError, FairrocError
from fairroc.people.door import people_of
from fairroc.people.people import both_labels
from fairroc.people.rows import read_columns, read_scores

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.signedinteger[Any]]
Divergence: TypeAlias = Literal["ce", "kl"]

TOLERANCES = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""What the studies try; they play epsilon's part."""
ACCURACY = 1e-9
"""Largest violation of a rate's bound, and largest price times slack, at which the solver stops."""
EQUAL = 1e-9
"""A smaller tolerance counts as none: bounds so close together are one equation."""
ROUNDING = 1e-14
"""A mean of many terms of order one is no more accurate than this; a smaller rise does not count."""
STEPS = 200
"""Newton needs 5 to 40 steps; more mean that something is wrong."""
RIDGE = 1e-12
"""Share of the Hessian's trace added to its diagonal: rows of C depend on each other, so it is singular."""
CENTRE = 0.1
"""Every step aims at this share of the present mean of price times slack."""
EDGE = 0.99
"""Share of the way to the nearest bound that a step may go."""
MARGIN = 1e-6
"""Scores are moved into [MARGIN, 1 - MARGIN], in their order: a probability of 0 or 1 could not be tilted."""
SUFFICIENT = 1e-4
"""Share of the promised decrease that a step must reach."""


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A solved projection: prices of the constraints, and what they make of a person."""

    divergence: Divergence
    prices: FloatArray  # (rows of C,) >= 0, the dual variables
    tilt: FloatArray  # (2, groups) w = prices C
    slack: FloatArray  # (rows of C,) C m of the fitted people; <= 0 up to the solver's accuracy
    distance: float  # mean D(h, b) of the fitted people
    steps: int

    def positive(self, scores: FloatArray, groups: IntArray) -> FloatArray:
        """P(Yhat=1) of people with P(Y=1) = ``scores`` by the classifier."""
        v = np.stack((1.0 - scores, scores)) * self.tilt[:, groups]
        return _tilted(self.divergence, scores, v[1] - v[0])


class FairProjection:
    """Post-process P(Y=1) into a probability whose rates, expected under the label model, agree across groups.

    Parameters
    ----------
    divergence : "ce" or "kl"
    tolerance : a number >= 0; largest relative difference of a group's rate from that of all people
    regularisation : a number >= 0; half of it times the squared length of the prices is added to the dual
    smoothing : a number >= 0; half of it times the mean squared length of people's tilts v is added to the dual

    With either of the two above zero the constraint holds only about; the authors take 1 / sqrt(n).
    The result is a deterministic score. Nothing holds beyond the mean: at a threshold the groups' rates can differ.

    >>> far = FairProjection("kl", tolerance=9.0).fit([0.2, 0.8, 0.3, 0.7], [0, 1, 0, 1], list("aabb"))
    >>> far.transform([0.4], ["b"]).round(5)
    array([0.4])
    """

    def __init__(
        self,
        divergence: Divergence = "ce",
        tolerance: float = 0.0,
        *,
        regularisation: float = 0.0,
        smoothing: float = 0.0,
    ) -> None:
        self.divergence = divergence
        self.tolerance = tolerance
        self.regularisation = regularisation
        self.smoothing = smoothing

    def fit(self, scores: Any, y: Any, groups: Any) -> FairProjection:
        """Solve the dual on these people; O(n) for each of about ten steps."""
        self._check()
        people = read_columns(scores, y, sensitive_features=groups)
        both_labels(people_of(people))
        base = _inside(people.scores)
        self.names_ = people.names
        options = (self.divergence, self.tolerance, self.regularisation, self.smoothing)
        self.projection_ = project(base, people.groups, len(people.names), *options)
        return self

    def transform(self, scores: Any, groups: Any) -> FloatArray:
        """P(Yhat=1) of new people."""
        if not hasattr(self, "projection_"):
            raise FairrocError("transform needs a fitted projection; call fit(scores, y, groups) first.")
        people = read_scores(scores, sensitive_features=groups, names=self.names_)
        return self.projection_.positive(_inside(people.scores), people.groups)

    def _check(self) -> None:
        if self.divergence not in get_args(Divergence):
            raise DataError(f"divergence must be one of {get_args(Divergence)}, got {self.divergence!r}.")
        for name in ("tolerance", "regularisation", "smoothing"):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
                raise DataError(f"{name} must be a number >= 0, got {value!r}.")


def _inside(scores: FloatArray) -> FloatArray:
    """Probabilities in the open interval (0, 1), in the order of the scores."""
    outside = int(np.sum((scores < 0) | (scores > 1)))
    if outside:
        raise DataError(
            f"scores must be probabilities in [0, 1]; {outside} of {len(scores)} are not. "
            "Calibrate the score first, for example with scikit-learn's CalibratedClassifierCV."
        )
    return MARGIN + (1.0 - 2.0 * MARGIN) * scores


# -- closed forms ------------------------------------------------------------------------------------------------------


def _tilted(divergence: Divergence, b1: FloatArray, d: FloatArray) -> FloatArray:
    """h_1 that minimises D(h, b) + v h where d = v_1 - v_0."""
    if divergence == "kl":
        small = np.exp(-np.abs(d))
        up, stay = np.where(d > 0, small, 1.0), np.where(d > 0, 1.0, small)
        return np.asarray(b1 * up / (b1 * up + (1.0 - b1) * stay))
    rise, fall = np.maximum(d, 0.0), np.minimum(d, 0.0)
    lowered = 2.0 * b1 / (1.0 + rise + np.sqrt((1.0 + rise) ** 2 - 4.0 * b1 * rise))
    rest = 2.0 * (1.0 - b1) / (1.0 - fall + np.sqrt((1.0 - fall) ** 2 + 4.0 * (1.0 - b1) * fall))
    return np.clip(np.where(d > 0, lowered, 1.0 - rest), 0.0, 1.0)  # the root may be off by rounding


def _response(divergence: Divergence, b1: FloatArray, h1: FloatArray) -> FloatArray:
    """-dh_1 / dd."""
    if divergence == "kl":
        return h1 * (1.0 - h1)
    b0, h0 = 1.0 - b1, 1.0 - h1
    curve = b1 * h0**2 + b0 * h1**2
    return np.divide((h1 * h0) ** 2, curve, out=np.zeros_like(h1), where=curve > 0)


def _distance(divergence: Divergence, b1: FloatArray, h1: FloatArray) -> FloatArray:
    """D(h, b) of every person."""
    b, h = np.stack((1.0 - b1, b1)), np.stack((1.0 - h1, h1))
    first, second = (h, b) if divergence == "kl" else (b, h)
    ratio = np.divide(first, second, out=np.ones_like(first), where=(first > 0) & (second > 0))
    return np.asarray((first * np.log(ratio)).sum(axis=0))


# -- the dual ----------------------------------------------------------------------------------------------------------


def fit_as_authors(divergence: Divergence, tolerance: float, scores: Any, y: Any, groups: Any) -> FairProjection:
    """A fit with ``regularisation`` and ``smoothing`` as near to the authors' own as we know.

    The strength 1 / sqrt(n) is theirs. What it acts on was chosen, for each divergence, by how near it comes to their
    stored COMPAS results (`fairroc_studies.paper.stored`); one choice for both misses a figure by more than .01.
    """
    strength = len(scores) ** -0.5
    smoothing = strength if divergence == "ce" else 0.0
    return FairProjection(divergence, tolerance, regularisation=strength, smoothing=smoothing).fit(scores, y, groups)


def project(
    scores: FloatArray,
    groups: IntArray,
    size: int,
    divergence: Divergence,
    tolerance: float,
    regularisation: float = 0.0,
    smoothing: float = 0.0,
) -> Projection:
    """Minimise mean D(h, b) subject to C m <= 0.

    Shares of the cells are those of the label model, not of the sample, so that a constant h always meets C m <= 0.
    """
    q = np.stack((1.0 - scores, scores))
    share = np.stack([np.bincount(groups, part, size) for part in q]) / len(groups)
    rate, everyone = _rates(share)
    bounds = np.concatenate((rate - tolerance * everyone, -rate - tolerance * everyone))
    scale = np.tile(share.ravel(), 2)
    data = (scores, q, groups, size, divergence, regularisation, smoothing)
    dual = _Dual(*data, bounds * scale[:, None], scale)
    none = np.zeros(len(bounds))
    if np.all(bounds @ dual.at(none).m <= 0):
        prices, steps = none, 0
    elif tolerance <= EQUAL:
        half = scale[: 2 * size]
        signed, steps = _equations(_Dual(*data, rate * half[:, None], half))
        prices = np.concatenate((np.maximum(signed, 0.0), np.maximum(-signed, 0.0)))
    else:
        prices, steps = _interior(dual)
    point = dual.at(prices)
    return Projection(
        divergence,
        prices * scale,
        (prices @ dual.rows).reshape(2, size),
        bounds @ point.m,
        float(np.mean(_distance(divergence, scores, point.h1))),
        steps,
    )


def _rates(share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Matrices that take m to the 2 * groups differences of a rate from everyone's, and to everyone's rates."""
    size = share.shape[1]
    everyone = np.repeat(np.repeat(np.diag(1.0 / share.sum(axis=1)), size, axis=0), size, axis=1)
    return np.asarray(np.diag(1.0 / share.ravel()) - everyone), everyone


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    value: float  # of the dual, which is minimised
    slope: FloatArray  # (rows,)
    m: FloatArray  # (2 * groups,)
    h1: FloatArray  # (n,)


@dataclass(frozen=True, slots=True, eq=False)
class _Dual:
    """The dual of a projection: smooth and convex in the prices of ``rows``."""

    scores: FloatArray
    q: FloatArray
    groups: IntArray
    size: int
    divergence: Divergence
    regularisation: float
    smoothing: float
    rows: FloatArray  # (rows, 2 * groups), each times its scale
    scale: FloatArray  # (rows,) a price here times its scale is the price of the plain row

    def at(self, prices: FloatArray) -> _Point:
        tilt = prices @ self.rows
        v = self.q * tilt.reshape(2, -1)[:, self.groups]
        h1 = _tilted(self.divergence, self.scores, v[1] - v[0])
        m = self._means(self.q * np.stack((1.0 - h1, h1))).ravel()
        gain = float(np.mean(_distance(self.divergence, self.scores, h1))) + float(tilt @ m)
        held, spread = self._held(), self._spread()
        penalty = float(held @ prices**2 + spread @ tilt**2) / 2
        return _Point(penalty - gain, held * prices + self.rows @ (spread * tilt - m), m, h1)

    def hessian(self, point: _Point) -> FloatArray:
        k = _response(self.divergence, self.scores, point.h1)
        (own0, own1), (mixed,) = self._means(self.q**2 * k), self._means((self.q[0] * self.q[1] * k)[None])
        inner = np.block([[np.diag(own0), np.diag(-mixed)], [np.diag(-mixed), np.diag(own1)]])
        found: FloatArray = self.rows @ (inner + np.diag(self._spread())) @ self.rows.T
        return found + np.diag(self._held() + RIDGE * float(np.trace(found)))

    def _held(self) -> FloatArray:
        """Weights of the squared prices."""
        return self.regularisation * self.scale**2

    def _spread(self) -> FloatArray:
        """Weights of the squares of w, the mean over people of (q w)^2."""
        return self.smoothing * self._means(self.q**2).ravel()

    def _means(self, values: FloatArray) -> FloatArray:
        return np.stack([np.bincount(self.groups, part, self.size) for part in values]) / len(self.scores)


def _equations(dual: _Dual) -> tuple[FloatArray, int]:
    """Prices of either sign at which the slope vanishes: damped Newton."""
    prices, scale = np.zeros(len(dual.rows)), dual.scale
    point = dual.at(prices)
    for step in range(STEPS):
        if np.max(np.abs(point.slope) / scale) <= ACCURACY:
            return prices, step
        direction = -np.linalg.solve(dual.hessian(point), point.slope)
        promised, noise = SUFFICIENT * float(point.slope @ direction), ROUNDING * max(1.0, abs(point.value))
        length = 1.0
        found = dual.at(prices + direction)
        while found.value > point.value + length * promised + noise and length > ROUNDING:
            length /= 2
            found = dual.at(prices + length * direction)
        prices, point = prices + length * direction, found
    raise _stuck(float(np.max(np.abs(point.slope) / scale)))


def _interior(dual: _Dual) -> tuple[FloatArray, int]:
    """Prices > 0 that are complementary to the slope: Newton on prices * slack = target, with a falling target.

    A primal-dual interior-point method; no set of active bounds has to be guessed.
    """
    prices, scale = np.full(len(dual.rows), 0.1), dual.scale
    point = dual.at(prices)
    slack = np.maximum(point.slope, 0.1 * scale)
    left = np.inf
    for step in range(STEPS):
        left = float(np.max(np.abs(np.minimum(prices * scale, point.slope / scale))))
        if left <= ACCURACY:
            return prices, step
        target = CENTRE * float(prices @ slack) / len(prices)
        bend = dual.hessian(point) + np.diag(slack / prices)
        direction = np.asarray(np.linalg.solve(bend, target / prices - point.slope), dtype=np.float64)
        sideways = (target - prices * slack - slack * direction) / prices
        length = min(1.0, EDGE * _reach(prices, direction), EDGE * _reach(slack, sideways))
        off = _off(point, prices, slack, target)
        while True:
            next_prices, next_slack = prices + length * direction, slack + length * sideways
            found = dual.at(next_prices)
            new = _off(found, next_prices, next_slack, target)
            if new <= (1.0 - SUFFICIENT * length) * off + ROUNDING or length < ROUNDING:
                break
            length /= 2
        prices, slack, point = next_prices, next_slack, found
    raise _stuck(left)


def _off(point: _Point, prices: FloatArray, slack: FloatArray, target: float) -> float:
    """How far prices and slack are from the equations of a target."""
    return float(np.linalg.norm(np.concatenate((point.slope - slack, prices * slack - target))))


def _reach(values: FloatArray, direction: FloatArray) -> float:
    """How often the direction can be added before a positive value is zero."""
    falling = direction < 0
    return float(np.min(-values[falling] / direction[falling], initial=np.inf))


def _stuck(left: float) -> FairrocError:
    return FairrocError(
        f"the dual of FairProjection must be solved to {ACCURACY}; after {STEPS} steps it is so to {left:.1e}. "
        "Merge tiny groups or raise the tolerance."
    )
