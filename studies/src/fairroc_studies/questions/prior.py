"""How much do the groups of real score sets differ? The weights of the prior for new people, learned from them.

    python -m fairroc_studies prior                    # some minutes on one core; writes docs/results/prior.md
    python -m fairroc_studies prior --page other.md

The estimate for new people weighs amplitudes of the groups' differences (`fairroc.stats.posterior`): of what moves both
labels alike (first s), of what moves them apart (first d), and of all higher bends. How often each is met beforehand
is learned here by expectation and maximisation from the evidence of every set, whole and subsampled; a source weighs
the same however many sets it gives. Then each source is left out, and foretold by the others.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fairroc.stats import posterior
from fairroc.stats.bins import bins_of
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array
from fairroc_studies.harness.store import Store, key, source_digest
from fairroc_studies.harness.tables import DOCS, rows_name, table, update
from fairroc_studies.questions.new_child import read
from fairroc_studies.questions.new_people import LEAST, everybody, real_sets, source

ROWS = (300, 1000, 3000, 10_000, 20_000)
"""A set is looked at with so many people of it, and with all of them."""
STEPS, HALF = 300, 0.5
"""Steps of expectation and maximisation; and how much of a source each weight counts as beforehand."""
NEAR = 0.1
"""Weights that foretell sets less well by no more than this, in nats a set, agree with those that do best."""
TEXTS = (posterior.__name__, everybody.__module__, read.__module__)
"""Modules that decide what comes out."""
PARTS = {
    "first s (both labels alike)": posterior.SHIFTS,
    "first d (labels apart)": posterior.PARTINGS,
    "higher bends": posterior.HIGHER,
}


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the amplitudes of each part, and of no difference at all beside that."""

    parts: tuple[Array, ...]
    alike: float

    @property
    def product(self) -> Array:
        """(shifts, partings, higher) without what is for no difference at all."""
        first, second, third = self.parts
        return (1.0 - self.alike) * first[:, None, None] * second[:, None] * third

    @property
    def every(self) -> Array:
        """(m,) weights of the combinations, in the order of `posterior.amplitudes`."""
        every = self.product.ravel()
        every[0] += self.alike
        return every

    def foretold(self, evidence: Array) -> Array:
        """(sets,) logarithm of the evidence of sets; that of the best combination is 0."""
        return np.log(np.exp(evidence - evidence.max(axis=1, keepdims=True)) @ self.every)


FLAT = Weights(tuple(np.full(len(part), 1 / len(part)) for part in PARTS.values()), 0.0)
LIBRARY = Weights(tuple(np.array([*part.values()]) / sum(part.values()) for part in PARTS.values()), posterior.ALIKE)


def learned(evidence: Array, counts: Array) -> Weights:
    """The weights that make (sets, m) evidences likely, where each set counts as so much of a source."""
    likely, weights = np.exp(evidence - evidence.max(axis=1, keepdims=True)), Weights(FLAT.parts, 0.1)
    shape = tuple(len(part) for part in PARTS.values())
    for _ in range(STEPS):
        each = likely * weights.every
        met = (counts[:, None] * each / each.sum(axis=1, keepdims=True)).sum(axis=0)
        alike = met[0] * weights.alike / weights.every[0]
        met[0] -= alike
        parts = [met.reshape(shape).sum(axis=tuple({0, 1, 2} - {axis})) + HALF for axis in range(len(shape))]
        weights = Weights(tuple(part / part.sum() for part in parts), float((alike + HALF) / (counts.sum() + 2 * HALF)))
    return weights


def evidences(name: str) -> dict[str, list[float]]:
    """By rows the evidence of all combinations of amplitudes, for a set and samples of it."""
    people = everybody(name)
    kept = key("evidence", name, people.scores, people.cells, source_digest(*TEXTS))
    found: dict[str, list[float]] = Store().rows(kept, lambda: dict(_evidences(name)))
    return found


def _evidences(name: str) -> Iterator[tuple[str, list[float]]]:
    people = everybody(name)
    order = np.random.default_rng(0).permutation(people.rows)
    for rows in [*(rows for rows in ROWS if rows < people.rows), people.rows]:
        part = people.take(order[:rows])
        if part.totals.min() >= LEAST:
            known = read(part)
            bins = bins_of(known.thin.curves, known.thin.shares, known.class_sizes())
            evidence = posterior.weigh(posterior.departures(bins)).evidence
            yield str(rows), (evidence - evidence.max()).tolist()


@dataclass(frozen=True, eq=False)
class Learned:
    """Evidences of all sets at all sizes, where they come from, and how much of a source each counts as."""

    evidence: Array
    sources: Array
    counts: Array

    @classmethod
    def of(cls, found: Mapping[str, Mapping[str, Sequence[float]]]) -> Learned:
        every = [(source(name), len(by), row) for name, by in found.items() for row in by.values()]
        sources = np.array([one[0] for one in every])
        sets = {name: sum(source(other) == name for other in found) for name in set(sources.tolist())}
        counts = np.array([1.0 / (sets[name] * sizes) for name, sizes, _ in every])
        return cls(np.array([row for *_, row in every]), sources, counts)

    @cached_property
    def whole(self) -> Weights:
        return learned(self.evidence, self.counts)

    def left_out(self) -> Iterator[tuple[str, Weights, Array]]:
        """Every source, what the others teach, and which evidences are its own."""
        for name in sorted(set(self.sources.tolist())):
            own = self.sources == name
            yield name, learned(self.evidence[~own], self.counts[~own]), own


def weights_table(whole: Weights, others: Sequence[Weights]) -> str:
    """What was learned, its range with one source left out, and what the library holds."""
    lines = []
    for at, (title, part) in enumerate(PARTS.items()):
        for k, amplitude in enumerate(part):
            range_ = [one.parts[at][k] for one in others]
            cells = whole.parts[at][k], min(range_), max(range_), LIBRARY.parts[at][k]
            lines.append([title, f"{amplitude:g}", *_cells(*cells)])
    alike = [one.alike for one in others]
    lines.append(["no difference at all, beside that", "", *_cells(whole.alike, min(alike), max(alike), LIBRARY.alike)])
    return table(["part", "amplitude", "learned", "one source left out", "library"], lines)


def _cells(found: float, least: float, most: float, held: float) -> list[str]:
    return [f"{found:.2f}", f"{least:.2f} to {most:.2f}", f"{held:.2f}"]


def foretold_table(known: Learned, found: Mapping[str, object]) -> tuple[str, list[Weights], Array]:
    """How well every source's sets are foretold: by flat weights, the library's, and what other sources teach."""
    lines, others, means = [], [], []
    for name, weights, own in known.left_out():
        line = [float(one.foretold(known.evidence[own]).mean()) for one in (FLAT, LIBRARY, known.whole, weights)]
        moved = max(np.abs(a - b).max() for a, b in zip(weights.parts, known.whole.parts, strict=True))
        sets = sum(source(one) == name for one in found)
        lines.append([name, str(sets), *(f"{x:.2f}" for x in line), f"{moved:.2f}"])
        others.append(weights)
        means.append(line)
    mean = np.mean(means, axis=0)
    lines.append(["mean over sources", str(len(found)), *(f"{x:.2f}" for x in mean), ""])
    ways = ["flat weights", "the library's", "learned", "from the others alone"]
    return table(["source left out", "sets", *ways, "largest move of a weight"], lines), others, mean


def page(found: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    known = Learned.of(found)
    foretold, others, (flat, held, best, other) = foretold_table(known, found)
    agree = "agree" if held >= best - NEAR else "do not agree"
    sizes = sorted({int(rows) for by in found.values() for rows in by})
    return f"""{len(found)} sets of {len(others)} sources, {rows_name(sizes[0])} to {rows_name(sizes[-1])} rows,
{len(known.counts)} samples in all.

{weights_table(known.whole, others)}

How well the sets of a source are foretold without it: logarithm of the evidence, a mean over its sets and sizes; that
of the best combination of amplitudes would be 0.

{foretold}

The library's weights and the learned ones {agree}: they foretell all sources, from which both come, at {held:.2f} and
{best:.2f} nats a set (within {NEAR:g} counts as the same). To a source that was left out, what the others teach gives
{other:.2f}, and flat weights {flat:.2f}: beside what a set says itself, the prior decides little."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=real_sets(), metavar="SET", default=list(real_sets()))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--page", type=Path, default=DOCS / "results" / "prior.md")
    chosen = parser.parse_args(arguments)
    every = in_order(evidences, [(name,) for name in chosen.sets], chosen.workers)
    text = page(dict(zip(chosen.sets, every, strict=True)))
    print(text)
    update(chosen.page, {"weights": text}, "prior.md")
