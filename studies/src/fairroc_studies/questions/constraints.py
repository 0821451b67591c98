"""What each constraint costs on the same scores, what other libraries make of it, and how long a fit takes.

    python -m fairroc_studies constraints                    # three tables and docs/img/constraints.png
    python -m fairroc_studies constraints --only costs --output DIR

Four scores (Adult by sex and COMPAS by race, logistic regression and random forest: files in the folder scores/ of
FAIRROC_DATA, or else models trained here) are cut into halves at random: the fair score is fitted to one half, and both
are looked at. Gaps and AUCs are exact expectations over the draw, at every threshold; those of several cuts are
averaged.

Beside: fairlearn's ThresholdOptimizer makes one decision for one objective, so it is refitted for 39 ratios of the
weights of both classes and its decisions are joined by straight lines into a curve. EquiPy gives a score with equal
selection rates and mixes some of the original one into it on request; it has no tolerance, so the mixture with the
largest AUC is taken that keeps epsilon among the fitted people (or else the one with the least gap).

Speed is CPU time on one thread, in one run.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from fairroc import FairROC
from fairroc.core.constraint import ONE_RATE, Difference, RateName
from fairroc.errors import DataError
from fairroc.fitting.solving import drawn_share
from fairroc.options import CONSTRAINT
from fairroc.people.door import read_people
from fairroc_studies.harness.curve import Curve
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.harness.people import Case, Part, load, save
from fairroc_studies.harness.tables import DOCS, seconds, table
from fairroc_studies.peers.child import measure
from fairroc_studies.peers.children import Answer, Task, run_many
from fairroc_studies.peers.runners.reference import RocCurve
from fairroc_studies.problems.scores import score_files, trained_file
from fairroc_studies.problems.synthetic import synthetic

EPSILON = 0.05
CONSTRAINTS: tuple[str, ...] = CONSTRAINT.values
RATES: tuple[RateName, ...] = ("tpr", "fpr", "selection")
TITLES = {
    "adult_lr": "Adult, logistic",
    "adult_rf10": "Adult, forest",
    "compas_lr": "COMPAS, logistic",
    "compas_rf10": "COMPAS, forest",
}
WORDS = {None: "original score"} | {name: name.replace("_", " ") for name in CONSTRAINTS}
FAIRLEARN = {
    "equal_opportunity": "true_positive_rate_parity",
    "predictive_equality": "false_positive_rate_parity",
    "demographic_parity": "demographic_parity",
}
KEPT = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of the original score in EquiPy's."""
SECONDS = 120.0
"""Time that a task of another library may take."""
SIZES = ((100_000, 2), (100_000, 8), (1_000_000, 32))
"""Rows and groups; equalized odds is left out of the last, which would take a minute."""
MOST_GROUPS = 8


@dataclass(frozen=True)
class Figures:
    """AUC of all people, and the largest difference of each rate at one threshold; the share of people drawn."""

    auc: float
    tpr: float
    fpr: float
    selection: float
    drawn: float = 0.0

    def gap(self, constraint: str) -> float:
        return float(getattr(self, ONE_RATE[constraint]))


Both = tuple[Figures, Figures]  # of the people fitted, and of the others


def halves(part: Part, seed: int) -> Case:
    """Two halves of the people at random."""
    order = np.random.default_rng(seed).permutation(part.rows)
    return Case(part.take(order[: part.rows // 2]), part.take(order[part.rows // 2 :]))


def fitted(part: Part, epsilon: float, **options: Any) -> FairROC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options.setdefault("promise", "fitted")
        post = FairROC(epsilon, salt=1, **options)
        groups = part.group_names if part.names else part.groups
        return post.fit(part.scores, part.labels, sensitive_features=groups)


def looked_at(post: FairROC | None, part: Part) -> Figures:
    """What a fair score (None: the original one) does to people, in expectation over the draw."""
    people = read_people(part.scores, part.labels, sensitive_features=part.group_names).exact
    kernels = () if post is None else post.model_.kernels
    tpr, fpr, selection = (outcome(kernels, people, Difference(rate)) for rate in RATES)
    drawn = drawn_share(people, kernels) if kernels else 0.0
    return Figures(tpr.auc, tpr.gap, fpr.gap, selection.gap, drawn)


def mean(figures: Iterable[Figures]) -> Figures:
    return Figures(*np.mean([astuple(one) for one in figures], axis=0).tolist())


# -- what each costs ---------------------------------------------------------------------------------------------------


@cache
def files() -> dict[str, Part]:
    """The files of scores at hand, or else scores of models trained here on public data."""
    return score_files() or {name: trained(*title.lower().split(", ")) for name, title in TITLES.items()}


def trained(name: str, model: str) -> Part:
    case = load(trained_file(name, model, 0))
    everyone = case.calibration.then(case.test)
    return Part.named(everyone.scores, everyone.labels, everyone.groups)


def costs(splits: int) -> dict[str, dict[str | None, Both]]:
    """Means over so many cuts of the people, by score, then by constraint (None: the original score)."""
    return {
        name: {constraint: cost(part, constraint, splits) for constraint in (None, *CONSTRAINTS)}
        for name, part in files().items()
    }


def cost(part: Part, constraint: str | None, splits: int) -> Both:
    found = []
    for case in (halves(part, seed) for seed in range(splits)):
        post = None if constraint is None else fitted(case.calibration, EPSILON, constraint=constraint)
        found.append((looked_at(post, case.calibration), looked_at(post, case.test)))
    known, new = zip(*found, strict=True)
    return mean(known), mean(new)


def cost_table(found: dict[str, dict[str | None, Both]]) -> str:
    rates = ["TPR gap", "FPR gap", "selection gap"]
    head = ["score", "constraint", "AUC", *rates, "drawn", "new people: AUC", *rates]
    rows = []
    for name, by_constraint in found.items():
        for constraint, (known, new) in by_constraint.items():
            gaps = [[f"{getattr(one, rate):.3f}" for rate in RATES] for one in (known, new)]
            drawn = "" if constraint is None else f"{known.drawn:.0%}"
            line = [f"{known.auc:.4f}", *gaps[0], drawn, f"{new.auc:.4f}", *gaps[1]]
            rows.append([TITLES[name], WORDS[constraint], *line])
    return table(head, rows)


def picture(found: dict[str, dict[str | None, Both]], path: Path) -> None:
    """A panel for each score; in a line for each constraint the gaps of the three rates, fitted filled, new hollow."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from fairroc.plot.palette import GRID, GROUPS, LIMIT

    figure = Figure(figsize=(10, 6.4), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    styles: list[dict[str, Any]] = [
        {"marker": m, "color": c, "ls": "none"} for m, c in zip("o^s", GROUPS, strict=False)
    ]
    for axes, (name, by_constraint) in zip(panels.flat, found.items(), strict=False):
        axes.axvline(EPSILON, color=LIMIT, lw=1)
        for row, (known, new) in enumerate(by_constraint.values()):
            axes.axhline(row, color=GRID, lw=0.8, zorder=0)
            for shift, rate, style in zip((-0.18, 0.0, 0.18), RATES, styles, strict=True):
                axes.plot([getattr(known, rate)], [row + shift], **style)
                axes.plot([getattr(new, rate)], [row + shift], mfc="white", **style)
            beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": 8}
            axes.text(1.01, row, f"{known.auc:.3f}\n{new.auc:.3f}", va="center", **beside)
        axes.text(1.01, -0.72, "AUC", **beside)
        axes.set_title(TITLES[name], fontsize=10, loc="left")
        axes.set_yticks(range(len(by_constraint)), [WORDS[constraint] for constraint in by_constraint])
    panels[0, 0].invert_yaxis()
    panels[0, 0].set_xlim(0, None)
    for axes in panels[1]:
        axes.set_xlabel("largest difference of two groups at one threshold")
    plain: dict[str, Any] = {"marker": "o", "color": "#555555", "ls": "none"}
    shown = [Line2D([], [], label=Difference.WORDS[rate], **style) for rate, style in zip(RATES, styles, strict=True)]
    shown += [
        Line2D([], [], label="fitted people (AUC above)", **plain),
        Line2D([], [], label="new people (AUC below)", mfc="white", **plain),
        Line2D([], [], color=LIMIT, label=f"epsilon {EPSILON:g}"),
    ]
    figure.legend(handles=shown, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


# -- beside other libraries --------------------------------------------------------------------------------------------


def of_curve(accepted: Any, part: Part) -> Figures:
    """What the decisions of another library do, from people accepted by `Part.cells`."""
    curve = Curve.of(accepted, part.totals)
    lines = curve.rates[..., 1], curve.rates[..., 0], curve.selection
    return Figures(curve.auc, *(float(np.ptp(line, axis=1).max()) for line in lines))


def answered(answer: Answer, case: Case) -> Both | str:
    """Figures of both halves, or why there are none."""
    if answer.error:
        return answer.error
    return of_curve(answer.arrays["fitted"], case.calibration), of_curve(answer.arrays["test"], case.test)


def kindest(found: Sequence[Both | str], constraint: str) -> Both | str:
    """The largest AUC of the fitted people that keeps epsilon among them, or the least gap."""
    known = [one for one in found if not isinstance(one, str)]
    if not known:
        return found[0]
    within = [one for one in known if one[0].gap(constraint) <= EPSILON]
    if within:
        return max(within, key=lambda one: one[0].auc)
    return min(known, key=lambda one: one[0].gap(constraint))


def rivals(cases: dict[str, Case]) -> dict[tuple[str, str, str], Both | str]:
    """By score, constraint and rival."""
    with tempfile.TemporaryDirectory() as folder:
        asked: list[tuple[tuple[str, str, str], Task]] = []
        for name, case in cases.items():
            path = Path(folder) / f"{name}.npz"
            save(path, case)
            plain = {"ask": "both", "many": True, "data": str(path)}
            for constraint, theirs in FAIRLEARN.items():
                for tolerance, title in ((None, "fairlearn, 39 decisions"), (EPSILON, f"fairlearn, tol={EPSILON:g}")):
                    task = plain | {"method": "OneRate", "options": {"constraints": theirs, "tolerance": tolerance}}
                    asked.append(((name, constraint, title), Task("fairlearn", task)))
            for kept in KEPT:
                task = plain | {"method": "Barycentre", "options": {"kept": kept}}
                titles = (
                    ("EquiPy", f"EquiPy, mixed to {EPSILON:g}") if kept == 0 else (f"EquiPy, mixed to {EPSILON:g}",)
                )
                asked += [((name, "demographic_parity", title), Task("equipy", task)) for title in titles]
        answers = run_many([task for _, task in asked], seconds=SECONDS, workers=1)
    found: dict[tuple[str, str, str], list[Both | str]] = {}
    for (key, _), answer in zip(asked, answers, strict=True):
        found.setdefault(key, []).append(answered(answer, cases[key[0]]))
    return {key: kindest(each, key[1]) for key, each in found.items()}


def own(cases: dict[str, Case]) -> dict[tuple[str, str, str], Both | str]:
    """The same of fairroc; epsilon may be refused without draws."""
    ways: dict[str, tuple[float, dict[str, Any]]] = {
        "fairroc ε = 0": (0.0, {"draw": "all"}),
        f"fairroc ε = {EPSILON:g}, ties drawn": (EPSILON, {"draw": "all"}),
        f"fairroc ε = {EPSILON:g}": (EPSILON, {}),
        f"fairroc ε = {EPSILON:g}, no draws": (EPSILON, {"draw": "never"}),
        f'fairroc ε = {EPSILON:g}, promise="new"': (EPSILON, {"promise": "new"}),
    }
    found: dict[tuple[str, str, str], Both | str] = {}
    for name, case in cases.items():
        for constraint in FAIRLEARN:
            found[name, constraint, "original score"] = looked_at(None, case.calibration), looked_at(None, case.test)
            for title, (epsilon, options) in ways.items():
                try:
                    post = fitted(case.calibration, epsilon, constraint=constraint, **options)
                    found[name, constraint, title] = looked_at(post, case.calibration), looked_at(post, case.test)
                except DataError:
                    found[name, constraint, title] = "refused"
    return found


def beside_table(found: dict[tuple[str, str, str], Both | str], side: int) -> str:
    """Gap of the constrained rate and AUC of every method, of the people fitted (0) or the others (1)."""
    methods = list(dict.fromkeys(title for _, _, title in found))
    rows = []
    for name, constraint in dict.fromkeys(key[:2] for key in found):
        line = [TITLES[name], WORDS[constraint]]
        for method in methods:
            both = found.get((name, constraint, method), "–")
            line.append(both if isinstance(both, str) else f"{both[side].gap(constraint):.3f}, {both[side].auc:.4f}")
        rows.append(line)
    return table(["score", "constraint", *methods], rows)


def beside() -> str:
    cases = {name: halves(part, 0) for name, part in files().items()}
    found = own(cases) | rivals(cases)
    return "\n\n".join(
        f"{who}: gap, AUC\n\n{beside_table(found, n)}" for n, who in enumerate(("Fitted people", "New people"))
    )


# -- speed -------------------------------------------------------------------------------------------------------------


def speed() -> str:
    head = ["rows", "groups", "fit", "CPU s", "× equalized odds", "× roc_curve per group"]
    rows = []
    for count, groups in SIZES:
        part = synthetic(count, groups=groups)
        calls: dict[str, Callable[[], Any]] = {"scikit-learn roc_curve, once per group": partial(RocCurve().fit, part)}
        for name in CONSTRAINTS:
            if groups <= MOST_GROUPS or name in ONE_RATE:
                calls[WORDS[name]] = partial(fitted, part, EPSILON, constraint=name)
        spent = {title: measure(call, budget=1.0, most=3)[1].cpu for title, call in calls.items()}
        roc, odds = next(iter(spent.values())), spent.get(WORDS[CONSTRAINTS[0]])
        for title, cpu in spent.items():
            against = "" if odds is None else f"{cpu / odds:.2f}"
            rows.append([f"{count:,}", str(groups), title, seconds(cpu), against, f"{cpu / roc:.2f}"])
    return table(head, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("costs", "beside", "speed"), default=("costs", "beside", "speed"))
    parser.add_argument("--splits", type=int, default=5, help="cuts of the people that the costs are averaged over")
    parser.add_argument("--output", type=Path, default=DOCS / "img", help="folder of the picture")
    chosen = parser.parse_args(arguments)
    if "costs" in chosen.only:
        found = costs(chosen.splits)
        print(f"## Costs at epsilon {EPSILON:g}, means over {chosen.splits} cuts\n\n{cost_table(found)}")
        picture(found, chosen.output / "constraints.png")
    if "beside" in chosen.only:
        print(f"\n## Beside other libraries, one cut\n\n{beside()}")
    if "speed" in chosen.only:
        print(f"\n## Speed\n\n{speed()}")
