"""Fair without the group, and by several attributes each: what it costs, what it says about new people, how it grows.

    python -m fairroc_studies blind                              # all, an hour or two; writes docs/results/blind.md
    python -m fairroc_studies blind --only people --splits 3     # one section of the page
    python -m fairroc_studies blind --only growth --rows 1e4 1e5

Sections: people (the group known, guessed, or ignored), honest (what is said about new people, in large sets),
linearpost (one decision on LinearPost's protocol, which needs lightgbm; OxonFair), attributes (sex and race each, or
their intersections), growth (rows, cells, groups). What was computed is kept, so a run that was ended goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from fairroc_studies.harness.people import Array
from fairroc_studies.harness.tables import DOCS, megabytes, rows_name, seconds, shown, table, update
from fairroc_studies.questions import blind_linearpost
from fairroc_studies.questions.blind_fits import (
    COMBINED,
    EPSILON,
    WAYS,
    Figures,
    attributes,
    blind,
    guessed_people,
)
from fairroc_studies.questions.blind_growth import CELL_ROWS, GROUP_ROWS, LEAVES, LEVELS, cost_of
from fairroc_studies.questions.blind_honest import NAMES, TRAIN_ROWS, honest
from fairroc_studies.questions.linearpost import FIRST_SEED

DATA = {
    "adult": "Adult, sex",
    "compas": "COMPAS, race",
    "census": "Census-Income, sex",
    "happiness": "General Social Survey, race",
    "labsup": "Mothers of two, black or Hispanic",
    "mortgages": "US census of 1960, race",
}
"""Data sets and their groups."""
TITLES = {"original": "original score", "known": "group known", "proxy": "proxy", "score": "score alone"}
CLASS_ROWS = 738
"""People whose rates at all thresholds are known to within .05 at 95 % confidence: log(2 / .05) / (2 * .05**2)."""
SECTIONS = ("people", "honest", "linearpost", "attributes", "growth")


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


# -- the group known, guessed, or ignored ------------------------------------------------------------------------------


def people_section(names: Sequence[str], splits: int) -> str:
    found = {name: [blind(name, seed) for seed in range(splits)] for name in names}
    return f"""## The group known, guessed, or ignored

`python -m fairroc_studies blind --only people --data {" ".join(names)} --splits {splits}`

{splits} splits of each data set (of sets with more than 30,000 people, other than Adult, a sample of that size). A
third of the people, with its share of every group and label, trains two logistic regressions without the group's
columns: one of the label, the score, and one of the group, the proxy. Another third is fitted at epsilon {EPSILON:g};
the last third are the new people. The models were trained on neither of the two.

New people, gap / AUC:

{cost_table(found)}

{lost(found)}

What the fit says of new people (`outlook_`) beside what was found among them. What is said is about all people; a gap
that is found in a third of the people is larger, since chance moves their rates too, the more the fewer they are. The
next section looks at sets so large that this plays no part.

{stated_table(found)}"""


def lost(found: dict[str, list[dict[str, Figures]]]) -> str:
    """What each way costs new people in AUC beside the group known."""
    said = []
    for way in ("proxy", "score"):
        each = [mean(run["known"].new_auc - run[way].new_auc for run in runs) for runs in found.values()]
        said.append(f"the {TITLES[way]} {mean(each):.3f} ({min(each):.3f} to {max(each):.3f})")
    return f"AUC lost beside the group known, mean over the sets (least and most): {said[0]}, {said[1]}."


def proxy_auc(name: str) -> float:
    """How well the proxy tells the groups of the fitted people apart, of two groups."""
    from sklearn.metrics import roc_auc_score

    known = guessed_people(name, 0)[0]
    assert known.probabilities is not None
    group, chances = next(iter(known.probabilities.items()))
    return float(roc_auc_score(known.attributes["group"] == group, chances))


def cost_table(found: dict[str, list[dict[str, Figures]]]) -> str:
    rows = []
    for name, runs in found.items():
        line = [DATA[name], f"{runs[0]['known'].rows:,}", f"{runs[0]['original'].least:,}", f"{proxy_auc(name):.2f}"]
        for way in WAYS:
            each = [run[way] for run in runs]
            line.append(f"{shown([one.new['group'] for one in each])} / {mean(one.new_auc for one in each):.4f}")
        low, high = (f([run["proxy"].cells for run in runs]) for f in (min, max))
        rows.append([*line, f"{low}" if low == high else f"{low} to {high}"])
    head = ["data, group", "fitted", "smallest class", "proxy's AUC", *TITLES.values(), "proxy's cells of guesses"]
    return table(head, rows)


def stated_table(found: dict[str, list[dict[str, Figures]]]) -> str:
    rows = []
    for name, runs in found.items():
        rows += [[DATA[name], TITLES[way], *stated([run[way] for run in runs])] for way in WAYS[1:]]
    return table(["data, group", "fair score", *STATED], rows)


STATED = ["gap, stated", "gap, found", "found less stated", "within the upper limit", "AUC, stated", "AUC, found"]


def stated(each: Sequence[Figures]) -> list[str]:
    """What fits say of new people, and what is found."""
    said, true = [one.gap_estimate or 0.0 for one in each], [one.new["group"] for one in each]
    within = sum(gap <= (one.upper or 0.0) for gap, one in zip(true, each, strict=True))
    return [
        *(f"{mean(said):.3f}", f"{mean(true):.3f}"),
        *(shown(np.subtract(true, said).tolist(), sign=True), f"{within} of {len(each)}"),
        *(f"{mean(one.auc_estimate or 0.0 for one in each):.4f}", f"{mean(one.new_auc for one in each):.4f}"),
    ]


def honest_section(sizes: Sequence[int], splits: int) -> str:
    titles = {"known": "group known", "proxy": "proxy", "proxy, new": 'proxy, promise="new"'}
    rows = []
    for name in NAMES:
        for size in sizes:
            runs = [honest(name, size, seed) for seed in range(splits)]
            for way, title in titles.items():
                cells = f"{mean(run[way].cells for run in runs):.1f}"
                rows.append([DATA[name], f"{size:,}", title, cells, *stated([run[way] for run in runs])])
    return f"""## Is what is said about new people true?

`python -m fairroc_studies blind --only honest --sizes {" ".join(map(str, sizes))} --splits {splits}`

Sets of more than 200,000 people, of whom {TRAIN_ROWS:,} train score and proxy, few are fitted at epsilon {EPSILON:g},
and all others are new people, so many that chance adds little to their gap. {splits} splits.

{table(["data, group", "fitted", "fair score", "segments", *STATED], rows)}"""


# -- one decision, on LinearPost's protocol ----------------------------------------------------------------------------


def linearpost_section(seeds: int) -> str:
    name, model = "adult", "GBDT"
    chosen = range(FIRST_SEED, FIRST_SEED + seeds)
    plain = np.array([blind_linearpost.plain(name, model, seed) for seed in chosen])
    rows = [["the model itself, cut at .5", "", *decisions(plain)]]
    for accuracy, gap in blind_linearpost.PUBLISHED[name, model]:
        rows.append(["LinearPost, published", "", f"{accuracy:.4f}", f"{gap:.4f}", "one decision", "–"])
    for bound, answer in blind_linearpost.oxonfair(name, model, chosen).items():
        line = [answer, "", "", ""] if isinstance(answer, str) else decisions(np.array(answer))
        rows.append(["OxonFair, inferred groups", f"{bound:g}", *line])
    for epsilon in blind_linearpost.EPSILONS:
        found = np.array([blind_linearpost.ours(name, model, seed, epsilon) for seed in chosen])
        rows.append(["fairroc, proxy", f"{epsilon:g}", *decisions(found)])
    head = ["", "epsilon", "accuracy", "gap", "gap at any threshold", "AUC"]
    return f"""## One decision, on LinearPost's protocol

`python -m fairroc_studies blind --only linearpost --seeds {seeds}` (needs lightgbm)

Adult, gradient boosting, seeds {chosen[0]} to {chosen[-1]}: 35 % of the people train one model of sex and income
together, without the column of sex; it gives the score and the guess of the sex. 35 % are for post-processing, 30 % to
test, drawn anew for every seed. The gap is max(|ΔFPR|, |ΔTPR|) (`norm="inf"`) of test people. Our decision is the one
that is most accurate for the people fitted. OxonFair 0.3 has an offset for each guessed group and one for people whose
group is uncertain; as a score we took its probability with the offset added. LinearPost's figures are published means
over the same five seeds.

{table(head, rows)}"""


def decisions(found: Array) -> list[str]:
    """Accuracy, gap, gap at any threshold and AUC, with standard errors."""
    return [shown(column.tolist(), 4) for column in found.T]


# -- several attributes ------------------------------------------------------------------------------------------------


def attributes_section(splits: int) -> str:
    found = {name: [attributes(name, seed) for seed in range(splits)] for name in ("adult", "compas")}
    return f"""## Sex and race each, or their intersections

`python -m fairroc_studies blind --only attributes --splits {splits}`

Adult and COMPAS with four races each (the rarest are "Other"), score without sex and race, thirds as above, epsilon
{EPSILON:g}, {splits} splits, group known. Gaps by sex, by race, and of the eight intersections, which `combine="each"`
does not keep close. "Smallest class" is the group and label with the fewest people among those compared; "rows needed"
how many rows like these would give it {CLASS_ROWS} people, enough to know its rates to ± .05 at 95 % confidence (DKW).

{attribute_table(found)}

Each attribute within epsilon says nothing about the intersections: the cheapest way to balance a race may lead through
its few women, and then the intersections are farther apart than under the original score. The intersections within
epsilon do not keep sex or race within epsilon either where |ΔFPR| and |ΔTPR| are added, since the two may be those of
different pairs; with `norm="inf"` they do. `certificate_.families` has all of them."""


def attribute_table(found: dict[str, list[dict[str, Figures]]]) -> str:
    titles = {"original": "original score", "intersection": "intersections", "each": "each"}
    rows = []
    for name, runs in found.items():
        for way in COMBINED:
            each = [run[way] for run in runs]
            for whose in ("fitted", "new"):
                gaps = [[getattr(one, whose)[what] for one in each] for what in ("sex", "race", "sex & race")]
                auc = mean(getattr(one, f"{whose}_auc") for one in each)
                gap_said, auc_said = "", ""
                if whose == "new" and way != "original":
                    gap_said = f"{mean(one.gap_estimate or 0.0 for one in each):.3f}"
                    auc_said = f"{mean(one.auc_estimate or 0.0 for one in each):.4f}"
                few = min(one.least for one in each)
                least = [str(few), f"{each[0].rows * CLASS_ROWS / few:,.0f}"] if way != "original" else ["", ""]
                line = [f"{name.capitalize() if name == 'adult' else 'COMPAS'}, {each[0].rows:,} fitted", titles[way]]
                rows.append([*line, *least, whose, *map(shown, gaps), f"{auc:.4f}", gap_said, auc_said])
    head = ["data", "compared", "smallest class", "rows needed", "people", "sex", "race", "intersections", "AUC"]
    return table([*head, "gap, stated", "AUC, stated"], rows)


# -- growth ------------------------------------------------------------------------------------------------------------


def growth_section(rows: Sequence[float], cells: Sequence[int], groups: Sequence[int], limit: float) -> str:
    by_rows = [
        [rows_name(count), title, *fit_line(cost_of({"what": "rows", "rows": int(count), "way": way}, limit))]
        for count in rows
        for way, title in {"proxy": "proxy", "score": "score alone", "each": "two attributes, each"}.items()
    ]
    by_groups = [[str(k), *fit_line(cost_of({"what": "groups", "groups": k}, limit))] for k in groups]
    by_cells = [[rows_name(k), *cell_line(cost_of({"what": "cells", "cells": k}, limit))] for k in cells]
    asked = f"--rows {' '.join(f'{count:.0e}' for count in rows)} --cells {' '.join(map(str, cells))}"
    head = ["fit", "memory, MB", "certificate", "outlook", "segments", "cells", "levels"]
    return f"""## Growth

`python -m fairroc_studies blind --only growth {asked} --groups {" ".join(map(str, groups))}`

CPU seconds on one thread and the memory that the fit takes at its peak beyond the data, one run each in a process of
its own. People are Adult's drawn with replacement, with noise on the logits of score and guess, so that all scores
differ; of two attributes one is sex, one a coin.

{table(["rows", "fair score", *head], by_rows)}

Groups, {GROUP_ROWS:,} rows, a proxy with a probability of each:

{table(["groups", *head], by_groups)}

Cells: one linear program at {LEVELS - 1} levels, {CELL_ROWS:,} people counted into cells of {LEAVES} leaves once:

{table(["cells", "counting", "program", "memory, MB", "AUC"], by_cells)}"""


def fit_line(cost: dict[str, float | str]) -> list[str]:
    if "error" in cost:
        return [str(cost["error"]), *[""] * 6]
    times = [seconds(float(cost[name])) for name in ("fit", "certificate", "outlook")]
    sizes = [str(cost[name]) for name in ("segments", "cells", "levels")]
    return [times[0], megabytes(float(cost["memory"])), *times[1:], *sizes]


def cell_line(cost: dict[str, float | str]) -> list[str]:
    if "error" in cost:
        return ["", str(cost["error"]), "", ""]
    times = [seconds(float(cost[name])) for name in ("count", "fit")]
    return [*times, megabytes(float(cost["memory"])), f"{float(cost['auc']):.4f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), help="sets of the section people")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5, help="of LinearPost's protocol")
    parser.add_argument("--sizes", nargs="+", type=int, default=[2_000, 10_000], help="people fitted, section honest")
    parser.add_argument("--rows", nargs="+", type=float, default=[1e4, 1e5, 1e6, 1e7])
    parser.add_argument("--cells", nargs="+", type=int, default=[500, 1_000, 2_000, 5_000, 10_000])
    parser.add_argument("--groups", nargs="+", type=int, default=[2, 4, 10, 20])
    parser.add_argument("--limit", type=float, default=3600, help="seconds that a run of the growth may take")
    parser.add_argument("--page", type=Path, default=DOCS / "results" / "blind.md")
    chosen = parser.parse_args(arguments)
    made: dict[str, Callable[[], str]] = {
        "people": partial(people_section, chosen.data, chosen.splits),
        "honest": partial(honest_section, chosen.sizes, chosen.splits),
        "linearpost": partial(linearpost_section, chosen.seeds),
        "attributes": partial(attributes_section, chosen.splits),
        "growth": partial(growth_section, chosen.rows, chosen.cells, chosen.groups, chosen.limit),
    }
    for name in SECTIONS:
        if name in chosen.only:
            text = made[name]()
            print(f"{text}\n", flush=True)
            update(chosen.page, {name: text}, "blind.md")
