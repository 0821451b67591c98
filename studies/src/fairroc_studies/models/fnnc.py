"""FNNC: a small neural network that is held to equalized odds while it is trained (in-processing).

After Padala and Gujar, "FNNC: Achieving Fairness through Neural Networks" (IJCAI 2020, doi:10.24963/ijcai.2020/315):
a network with two hidden layers is to be accurate subject to ``|dFPR| + |dFNR| <= target`` between any two groups, and
is trained in batches on the Lagrangian

    cross-entropy + multiplier * (|dFPR| + |dFNR| - target)

in two steps for each batch: the weights go down it, the multiplier goes up it. Rates count a person by a probability
instead of a decision, so that they have a gradient.

Changes from the paper, so that the target holds for *decisions* on the people trained on, at little accuracy:

- rates are taken at the network's logit times ``SHARPNESS``: nearer to those of the decisions than the rates of the
  probabilities, which may agree while those of the decisions do not;
- every batch holds the share of each group and label that all people have;
- the multiplier has a sign for each of the two differences: ``max over |m| <= multiplier of m . (dFPR, dFNR)`` is the
  sum of their sizes. A batch's difference is right on average, the size of it is not: it is never 0, and one multiplier
  of sizes grows until nobody is accepted. A running mean of the differences, ``DAMPING`` times, joins the multipliers
  and keeps them from swinging;
- in the second half of the training the network is looked at every few batches, with the last layer's bias set so
  that it is as accurate as can be on the people trained on among all that meet the target there. The best is kept.
  Accepting nobody meets every target, so the one that is kept always does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError
from fairroc_studies.models.linear import matrix
from fairroc_studies.models.neural import probabilities, repeatable, training_device
from fairroc_studies.problems.problem import FloatArray, IntArray, Problem

if TYPE_CHECKING:
    import torch
    from torch import Tensor

HIDDEN = (100, 50)
"""Neurons of the two hidden layers."""
BATCH = 1000
"""People in a batch: enough for a rate of each group and label."""
RATE = 0.003
"""Adam's first step size; it falls to 0 along half a cosine, and the multipliers' with it."""
MULTIPLIER_RATE = 0.1
"""How fast multipliers rise with what they price."""
DAMPING = 4.0
"""Weight of the running mean of the differences beside their multipliers."""
MEMORY = 0.9
"""Share of the running mean that is left after a batch."""
SHARPNESS = 5.0
"""Factor of the logit in the rates: 1 gives the rates of the probabilities, infinity those of the decisions."""
LOOK = 5
"""Batches from one look at a network to the next."""
PLAIN, CONSTRAINED = 300, 600
"""Batches of a training without and with a constraint: on Adult about 10 and 20 epochs."""


@dataclass(frozen=True, slots=True, eq=False)
class FnncFit:
    """A trained network's scores, and what its constraint came to."""

    scores: FloatArray  # (n,) probabilities of all rows of the problem
    target: float | None  # None: trained for accuracy alone
    reached: float  # |dFPR| + |dFNR| of the decisions score >= 1/2 on the rows trained on, largest over pairs of groups
    accuracy: float  # of these decisions
    epochs: float  # times that each row had been trained on
    multiplier: float  # at that time, summed over pairs of groups; 0 without a constraint

    @property
    def met(self) -> bool:
        """Whether the decisions on the rows trained on meet the target."""
        return self.target is None or self.reached <= self.target


def train(
    problem: Problem, rows: IntArray, seed: int, *, protected: bool, target: float | None = None, **options: Any
) -> FloatArray:
    """Probabilities of all rows of ``problem`` by a network that saw the labels of ``rows`` only. (n,)"""
    return fit(problem, rows, seed, protected=protected, target=target, **options).scores


def fit(
    problem: Problem,
    rows: IntArray,
    seed: int,
    *,
    protected: bool,
    target: float | None = None,
    batches: int | None = None,
) -> FnncFit:
    """Train on ``rows`` in so many ``batches``; ``target``: what ``|dFPR| + |dFNR|`` may be, None: no constraint.

    On the rows trained on the decisions ``score >= 1/2`` meet the target; others are not promised anything. Groups
    that have one label only among ``rows`` are under no constraint. The same seed gives the same network, bit for
    bit, on the same processor; a graphics processor is used where there is one.
    """
    if target is not None and not 0 <= target < math.inf:
        raise DataError(f"target must be a number from 0 on, or None for no constraint; it is {target!r}.")
    groups = np.unique(problem.groups[rows], return_inverse=True)[1]
    labels = problem.labels[rows]
    features = matrix(problem, rows, protected=protected).astype(np.float32)
    with repeatable(seed) as generator:
        people = _People(features, rows, 2 * groups + labels)
        kept = _trained(people, target, batches or (PLAIN if target is None else CONSTRAINED), generator)
    scores = probabilities(kept.logits.astype(np.float64) - kept.shift)
    accepted = scores[rows] >= 0.5
    return FnncFit(
        scores=scores,
        target=target,
        reached=odds_gap(accepted, labels, groups),
        accuracy=float(np.mean(accepted == labels)),
        epochs=kept.batches / people.batches,
        multiplier=kept.multiplier,
    )


def odds_gap(accepted: NDArray[Any], labels: NDArray[Any], groups: NDArray[Any]) -> float:
    """``|dFPR| + |dFNR|`` of decisions, the largest over pairs of groups that have both labels; 0 without a pair.

    >>> odds_gap(np.array([1, 0, 0, 1, 1, 0]), np.array([1, 0, 1, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1]))
    1.0
    """
    cells = 2 * np.unique(groups, return_inverse=True)[1] + labels.astype(bool)
    totals = np.bincount(cells, minlength=2 * int(cells.max() // 2) + 2)
    counts = np.bincount(cells, weights=accepted, minlength=len(totals))
    return float(_gaps(counts[None], totals)[0])


def _gaps(accepted: NDArray[Any], totals: NDArray[Any]) -> FloatArray:
    """The largest |dFPR| + |dFNR| of a pair of groups at each of k points; (k, cells) accepted of (cells,) people.

    Of a cell's number the last bit is the label and the rest is the group.
    """
    both = totals.reshape(-1, 2).min(axis=1) > 0
    rates = accepted.reshape(len(accepted), -1, 2)[:, both] / totals.reshape(-1, 2)[both]
    worst = np.zeros(len(accepted))
    for first in range(rates.shape[1]):
        for second in range(first):
            np.maximum(worst, np.abs(rates[:, first] - rates[:, second]).sum(axis=1), out=worst)
    return worst


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A network as it was after some batches."""

    logits: NDArray[np.float32]  # (n,) of all rows
    shift: float  # what is taken off them
    batches: int
    multiplier: float


class _People:
    """Those trained on, on the device, and all others."""

    def __init__(self, features: NDArray[np.float32], rows: IntArray, cells: IntArray) -> None:
        import torch

        self.device = training_device()
        self.all = torch.from_numpy(features).to(self.device)
        self.features = self.all[torch.from_numpy(rows).to(self.device)]
        self.cells = cells
        self.totals = np.bincount(cells, minlength=2 * int(cells.max() // 2) + 2)
        numbers = torch.from_numpy(cells).to(self.device)
        self.labels = (numbers % 2).to(torch.float32)
        self.member = torch.nn.functional.one_hot(numbers, len(self.totals)).to(torch.float32)  # (rows, cells)
        self.batches = max(1, round(len(rows) / BATCH))  # in an epoch

    def epochs(self, generator: torch.Generator) -> Iterator[Tensor]:
        """Batches without end, every person once in an epoch: positions in ``rows``.

        A cell's people stand in random order at equal distances, from a random place on, so that each batch has
        its share of them up to one person.
        """
        import torch

        by_cell = np.argsort(self.cells, kind="stable")
        ends = np.cumsum(self.totals)
        rank = np.arange(len(by_cell)) - np.repeat(ends - self.totals, self.totals)
        while True:
            key = torch.rand(len(by_cell), generator=generator).numpy()
            start = torch.rand(len(self.totals), generator=generator).numpy()
            place = (rank + np.repeat(start, self.totals)) / np.repeat(self.totals, self.totals)
            order = np.lexsort((key, self.cells))[np.argsort(place, kind="stable")]
            yield from torch.from_numpy(order).to(self.device).tensor_split(self.batches)


def _network(inputs: int) -> Any:
    from torch import nn

    first, second = HIDDEN
    return nn.Sequential(
        nn.Linear(inputs, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 1), nn.Flatten(0)
    )


def _trained(people: _People, target: float | None, batches: int, generator: torch.Generator) -> _Look:
    """Train for ``batches``; give the last network, or with a target the most accurate that meets it."""
    import torch

    network = _network(people.all.shape[1]).to(people.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, batches)
    constraint = None if target is None else _Constraint(people, target)
    choice = _Choice(people, math.inf if target is None else target)
    for done, batch in zip(range(1, batches + 1), people.epochs(generator), strict=False):
        logits = network(people.features[batch])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, people.labels[batch])
        if constraint is not None:
            loss = loss + constraint.price(logits, people.member[batch], schedule.get_last_lr()[0] / RATE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if constraint is not None and 2 * done >= batches and ((batches - done) % LOOK == 0):
            choice.look(network, done, constraint.multiplier())
    return choice.kept if choice.kept is not None else _Look(_logits(network, people.all), 0.0, batches, 0.0)


def _logits(network: Any, features: Tensor) -> NDArray[np.float32]:
    import torch

    with torch.no_grad():
        logits: NDArray[np.float32] = network(features).cpu().numpy()
    return logits


class _Constraint:
    """The multipliers: for every pair of groups one of dFPR and one of dTPR, which is -dFNR. (pairs, 2)"""

    def __init__(self, people: _People, target: float) -> None:
        import torch

        both = np.flatnonzero(people.totals.reshape(-1, 2).min(axis=1) > 0)
        pairs = [(first, second) for first in both for second in both if first < second]
        self.pairs = torch.tensor(pairs, dtype=torch.int64, device=people.device).reshape(-1, 2)
        self.target = target
        self.multipliers = torch.zeros((len(pairs), 2), device=people.device)
        self.mean = torch.zeros_like(self.multipliers)
        self.weight = 0.0

    def price(self, logits: Tensor, member: Tensor, pace: float) -> Tensor:
        """What the differences of a batch cost, after the multipliers went up with them at ``pace`` of their rate."""
        import torch

        totals = member.sum(dim=0).reshape(-1, 2)
        rates = (torch.sigmoid(SHARPNESS * logits) @ member).reshape(-1, 2) / totals.clamp(min=1)
        first, second = self.pairs[:, 0], self.pairs[:, 1]
        known = (totals[first] > 0) & (totals[second] > 0)
        differences = (rates[first] - rates[second]) * known
        self.mean = MEMORY * self.mean + (1 - MEMORY) * differences.detach()
        self.weight = MEMORY * self.weight + 1 - MEMORY
        mean, step = self.mean / self.weight, MULTIPLIER_RATE * pace
        self.multipliers = _beyond(self.multipliers + step * mean, step * self.target)
        return ((self.multipliers + DAMPING * _beyond(mean, self.target)) * differences).sum()

    def multiplier(self) -> float:
        """The multiplier of |dFPR| + |dFNR|, summed over pairs of groups."""
        return float(self.multipliers.abs().amax(dim=1).sum()) if len(self.multipliers) else 0.0


def _beyond(vectors: Tensor, radius: float) -> Tensor:
    """Vectors (k, 2) less what is nearest to them with ``|x| + |y| <= radius``.

    For multipliers this is the step up ``m . (dFPR, dFNR) - target * max |m|``, whose maximum over m is 0 if
    ``|dFPR| + |dFNR| <= target`` and infinite otherwise.
    """
    import torch

    sizes = vectors.abs()
    total, largest = sizes.sum(dim=1, keepdim=True), sizes.amax(dim=1, keepdim=True)
    cut = torch.maximum((total - radius) / 2, largest - radius).clamp(min=0)
    return vectors.sign() * torch.minimum(sizes, cut)


class _Choice:
    """The most accurate network so far of those that meet the target."""

    def __init__(self, people: _People, target: float) -> None:
        self.people, self.target = people, target
        self.accuracy, self.kept = -1.0, None  # type: float, _Look | None

    def look(self, network: Any, batches: int, multiplier: float) -> None:
        accuracy, shift = _best_shift(
            _logits(network, self.people.features), self.people.cells, self.people.totals, self.target
        )
        if accuracy > self.accuracy:
            self.accuracy = accuracy
            self.kept = _Look(_logits(network, self.people.all), shift, batches, multiplier)


def _best_shift(logits: NDArray[np.float32], cells: IntArray, totals: IntArray, target: float) -> tuple[float, float]:
    """The highest accuracy of ``logits >= shift`` on people trained on, among all shifts that meet the target, and
    the shift: half way between two logits. O(n log n)."""
    order = np.argsort(-logits, kind="stable")
    falling = logits[order].astype(np.float64)
    ends = np.append(0, 1 + np.flatnonzero(np.append(falling[1:] < falling[:-1], True)))  # people accepted
    accepted = np.stack([np.append(0, np.cumsum(cells[order] == cell))[ends] for cell in range(len(totals))], axis=1)
    right = accepted[:, 1::2].sum(axis=1) + (totals[0::2] - accepted[:, 0::2]).sum(axis=1)
    best = int(np.argmax(np.where(_gaps(accepted, totals) <= target, right, -1)))
    above = falling[ends[best] - 1] if best > 0 else falling[0] + 2
    below = falling[ends[best]] if best + 1 < len(ends) else falling[-1] - 2
    return float(right[best] / len(cells)), float((above + below) / 2)
