"""What draws cost: who is drawn, AUC and fair scores for every draw=, beside older fits and other methods.

    python -m fairroc_studies draws [--workers N] [-o docs/results/draws.md]

The score files and held-out people of the registry's problems, two groups each, fitted with promise="fitted"; older
fits come from a git worktree of their commit. Prints the tables into the page, whose words are written by hand.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairroc.fitting.walking import DRAW_PRICE
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.tables import DOCS, table, update
from fairroc_studies.problems.scores import FILES
from fairroc_studies.questions.draws_beside import HEAD, table_rows
from fairroc_studies.questions.draws_fits import BEFORE, EPSILONS, PRICES, Fit, People, gathered, least
from fairroc_studies.questions.draws_people import MANY, pair, pairs

SAME, FEW_PEOPLE = 5e-5, 5e-4
"""AUCs, and shares of people drawn, that are nearer than this are equal."""
FELL = 0.002
PROTOTYPE = {
    "adult_lr": {0.05: 0.8659, 0.1: 0.8810, 0.2: 0.8946},
    "adult_rf10": {0.05: 0.8833, 0.1: 0.9012, 0.2: 0.9106},
    "compas_lr": {0.05: 0.7152, 0.1: 0.7185, 0.2: 0.7164},
    "compas_rf10": {0.05: 0.7219, 0.1: 0.7262, 0.2: 0.7259},
}
"""The larger AUC of a prototype's two scores that draw nobody: a walk on 450 positions, bands on 160."""


class Pair(NamedTuple):
    """A set at an epsilon, with its fits."""

    people: People
    epsilon: float
    few: Fit
    never: Fit
    all: Fit
    before: Fit | None

    @property
    def below(self) -> bool:
        """Whether epsilon is below the least gap without a draw."""
        return self.epsilon < self.people.least

    def more(self, figure: str, other: Fit | None) -> float:
        """Of a figure, what few has more than another fit, if there is that."""
        return 0.0 if other is None else float(self.few[figure] - other[figure])

    def worth_more(self, other: Fit | None) -> float:
        """The same of AUC less the price of draws."""
        return self.more("auc", other) - DRAW_PRICE * self.more("share", other)


def pairs_of(one: People) -> list[Pair]:
    """Those at epsilons below the gap of the original score."""
    below = [e for e in EPSILONS if e < one.first["gap_before"]]
    return [Pair(one, e, *(one.at(way, e) for way in Pair._fields[2:])) for e in below]  # type: ignore[arg-type]


def summary(every: Sequence[Pair]) -> str:
    """How many are drawn and what it costs: by epsilon, and at or above the least gap and below it."""
    kinds = {f"ε = {e:g}": [one for one in every if one.epsilon == e] for e in EPSILONS}
    for title, below in (("ε at or above the least gap", False), ("ε below the least gap", True)):
        kinds[title] = [one for one in every if one.below == below]
    rows = []
    for title, chosen in kinds.items():
        row = [title, str(len(chosen))]
        for fits in ([one.before for one in chosen if one.before], [one.few for one in chosen]):
            shares = [fit["share"] for fit in fits]
            row += [str(np.count_nonzero(shares)), percent(np.median(shares))] if shares else ["–", "–"]
        for other in ("before", "never", "all"):
            differences = [one.more("auc", getattr(one, other)) for one in chosen if getattr(one, other)]
            row.append(f"{np.median(differences):+.4f}" if differences else "–")
        rows.append([*row, f"{np.median([one.few['scores'] for one in chosen]):,.0f}" if chosen else "–"])
    head = ["", "pairs", f"{BEFORE} draws: at pairs", "people", "few draws: at pairs", "people"]
    return table([*head, f"AUC of few less {BEFORE}", "less never", "less all", "fair scores of few"], rows)


def percent(share: float) -> str:
    return f"{share:.0%}" if share == 0 or share >= 0.005 else f"{share:.1%}"


WRONG: dict[str, Callable[[Pair], bool]] = {
    "nobody is drawn where ε is at or above the least gap": lambda one: not one.below and one.few["share"] > 0,
    "never draws nobody": lambda one: one.never["share"] > 0,
    "all gaps are within ε": lambda one: max(one.few["gap"], one.never["gap"], one.all["gap"]) > one.epsilon + 1e-9,
    "few has no less AUC than never": lambda one: one.more("auc", one.never) < -SAME,
    f"few draws no more people than {BEFORE}": lambda one: one.more("share", one.before) > FEW_PEOPLE,
    f"few is worth no less than {BEFORE}, at its own price": lambda one: one.worth_more(one.before) < -SAME,
    "few is worth no less than what other prices choose, at its own": lambda one: any(
        one.worth_more(one.people.at(f"price {price:g}", one.epsilon)) < -SAME for price in PRICES
    ),
    "never has at least the prototype's AUC": lambda one: (
        one.never["auc"] < PROTOTYPE.get(one.people.name, {}).get(one.epsilon, 0.0) - SAME
    ),
}
"""What should hold, and where it does not."""


def exceptions(every: Sequence[Pair]) -> str:
    rows = []
    for title, wrong in WRONG.items():
        found = [f"{one.people.name} at {one.epsilon:g}" for one in every if wrong(one)]
        rows.append([title, str(len(found)), "; ".join(found)])
    return table([f"of {len(every)} pairs", "exceptions", "where"], rows)


def files_table(every: Sequence[Pair]) -> str:
    rows = []
    for one in every:
        row = [f"{one.people.name} ({one.few['gap_before']:.3f}, {one.people.least:.3f})", f"{one.epsilon:g}"]
        for fit in (one.before, one.few):
            row += [percent(fit["share"]), f"{fit['auc']:.4f}", f"{fit['scores']:,}"] if fit else ["–"] * 3
        row += [f"{one.never['auc']:.4f}", f"{one.never['scores']:,}", f"{one.all['auc']:.4f}"]
        known = PROTOTYPE[one.people.name].get(one.epsilon)
        rows.append([*row, f"{known:.4f}" if known else "–"])
    head = ["scores (gap now, least)", "ε", f"{BEFORE}: drawn", "AUC", "fair scores", "few: drawn", "AUC"]
    return table([*head, "fair scores", "never: AUC", "fair scores", "all: AUC", "prototype: AUC"], rows)


def wide(sets: Sequence[People], ways: str, show: Callable[[Fit], str]) -> str:
    """One row for each set, with some of its fits in each cell."""
    rows = []
    for one in sets:
        first, fits = one.first, [[getattr(each, way) for way in ways.split()] for each in pairs_of(one)]
        known = [f"{one.rows:,}", f"{first['gap_before']:.3f}", f"{one.least:.3f}", f"{first['auc_before']:.4f}"]
        shown = [" / ".join(show(fit) for fit in each if fit) for each in fits]
        rows.append([one.name, *known, *shown, *["="] * (len(EPSILONS) - len(shown))])
    return table(["set", "people", "gap now", "least gap", "AUC now", *(f"ε = {e:g}" for e in EPSILONS)], rows)


def largest_fall(fits: Sequence[Fit]) -> tuple[float, float, float]:
    """The largest fall of AUC from an epsilon to a larger one at which no fewer people are drawn, and both epsilons;
    where the original score is kept does not count."""
    ordered = sorted((fit for fit in fits if fit["epsilon"] < fit["gap_before"]), key=lambda fit: fit["epsilon"])
    both = [(low, high) for low, high in combinations(ordered, 2) if high["share"] >= low["share"] - FEW_PEOPLE]
    falls = [(low["auc"] - high["auc"], low["epsilon"], high["epsilon"]) for low, high in both]
    return max(falls, default=(0.0, 0.0, 0.0))


def falls_table(files: Sequence[People], others: Sequence[People]) -> str:
    rows = []
    for name, sets in [*((one.name, [one]) for one in files), (f"{len(others)} other sets", others)]:
        for draw in ("few", "never") if sets else ():
            by, low, high = max(largest_fall(list(one.fits[draw].values())) for one in sets)
            fell = [f"{by:.4f}", f"{low:g} to {high:g}"] if by > 0 else ["none", ""]
            rows.append([name, draw, *fell, "**no**" if by > FELL else "yes"])
    return table(["scores", "draw", "largest fall", "from ε to ε", f"within {FELL:g}"], rows)


def prices_table(every: Sequence[Pair], name: str = "adult_lr", epsilon: float = 0.05) -> str:
    """Means over all pairs below the least gap, and one pair."""
    chosen = [one for one in every if one.below]
    here = next((one for one in chosen if (one.people.name, one.epsilon) == (name, epsilon)), None)
    prices = {f"price {price:g}": f"price {price:g}" for price in sorted(PRICES, reverse=True)}
    prices[f"price {DRAW_PRICE:g}"] += ": few"
    rows = []
    for way, title in {"never": "never", **prices, "all": "all", "before": BEFORE}.items():
        found = [fit for one in chosen if (fit := one.people.at(way, one.epsilon))]
        row = [title, *["–"] * 7]
        if found:
            shares, aucs = zip(*((fit["share"], fit["auc"]) for fit in found), strict=True)
            row[1:4] = [f"{np.mean(shares):.1%}", str(np.count_nonzero(shares)), f"{np.mean(aucs):.4f}"]
        if here and (fit := here.people.at(way, epsilon)):
            groups = ", ".join(f"{group} {share:.0%}" for group, share in fit["drawn"].items())
            row[4:] = [f"{fit['share']:.1%}", groups, f"{fit['auc']:.5f}", f"{fit['scores']:,}"]
        rows.append(row)
    head = ["", f"{len(chosen)} pairs: people drawn", "pairs with draws", "AUC"]
    return table([*head, f"{name}, ε = {epsilon:g}: people drawn", "of each group", "AUC", "fair scores"], rows)


def bounds_table(rows: Sequence[Sequence[Any]]) -> str:
    shown = [
        [name, str(groups), f"{people:,}", f"{gap:.3f}", f"{low:.4f}", f"{high:.4f}", f"{high / low:.3f}"]
        for name, groups, people, gap, low, high in rows
    ]
    return table(["set", "groups", "people", "gap now", "least gap: at least", "at most", "ratio"], shown)


def bodies(sets: Sequence[People], why: str | None) -> dict[str, str]:
    """The tables of fits to two groups, by section."""
    files, others = ([one for one in sets if (one.name in FILES) is there] for there in (True, False))
    every = [each for one in sets for each in pairs_of(one)]
    left_out = f"**The fits of {BEFORE} are left out: {why}.**\n\n" if why else ""
    return {
        "summary": f"{left_out}{summary(every)}",
        "exceptions": exceptions(every),
        "files": files_table([one for one in every if one.people in files]),
        "falls": falls_table(files, others),
        "prices": prices_table(every),
        "drawn": wide(others, "few before", lambda fit: f"{percent(fit['share'])} ({fit['scores']:,})"),
        "auc": wide(others, "few never all before", lambda fit: f"{fit['auc']:.4f}"[1:]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("-o", "--output", type=Path, default=DOCS / "results" / "draws.md", help="page to write")
    asked = parser.parse_args()
    begin = time.perf_counter()
    sets, why = gathered(pairs(), asked.workers)
    made = bodies(sets, why)
    made["groups"] = bounds_table(in_order(least, [(name, by) for name in MANY for by in MANY[name]], asked.workers))
    files = [one.name for one in sets if one.name in FILES]
    made["beside"] = table(HEAD, [row for name in files for row in table_rows(name, pair(name))])
    update(asked.output, made, "draws.md")
    print(f"{asked.output} is written; {time.perf_counter() - begin:.0f} s on {asked.workers} processes")
