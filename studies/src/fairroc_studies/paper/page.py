"""The page of a reproduction: claims and verdicts, figures and tables, in the look of the report; opens offline.

What is shown is gathered here; how, is said by ``templates/study.html``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fairroc._version import __version__
from fairroc.plot.palette import style_variables
from fairroc.report.page import environment, static
from fairroc.text.words import figure
from fairroc_studies.paper.claims import tally
from fairroc_studies.paper.claims_numbers import slope_words, small
from fairroc_studies.paper.figures import (
    CURVES,
    OTHERS,
    PEERS,
    beside_fnnc,
    beside_peers,
    group_legend,
    legend,
    pair_figures,
)
from fairroc_studies.paper.published import EXPERIMENTS, LR_EPSILON, PROJECTIONS, experiment
from fairroc_studies.paper.study import method_title, model_title, problem_title
from fairroc_studies.paper.summary import Summary, slope
from fairroc_studies.paper.verdicts import MEASURED, NEAR, VERDICTS, Claim, Evidence

if TYPE_CHECKING:
    from fairroc_studies.paper.study import Study

TITLE = "The FROC paper's experiments, run again"
TEMPLATES = "fairroc_studies.paper"

SHOWN = (0.01, 0.05, 0.1, 0.2)
"""Epsilons of the tables, where a run has one near."""
OPEN = 6
"""With more runs than this only the first is unfolded."""
TAKEN = (("accuracy", 4), ("disparate_impact", 3), ("gap", 3))
"""Figures of the first table, with their digits."""

FIGURES = (("accuracy", 4), ("disparate_impact", 3), ("meo", 3), ("gap", 3), ("auc_loss_upper", 4))
HEADS = ("accuracy", "disparate impact", "mean eq. odds", "gap", "AUC loss")
OURS = ("froc", "classifiers", "optimal", "default")
DRAWN = {
    "accuracy_variance": "accuracy, variance",
    "accuracy_cov": "accuracy, CoV",
    "impact_variance": "disparate impact, variance",
    "impact_cov": "disparate impact, CoV",
}


@dataclass(frozen=True, slots=True)
class Grid:
    """A table whose first column heads its rows; ``above``: titles of the last columns, ``span`` together each."""

    caption: str
    head: Sequence[object]
    rows: Sequence[Sequence[object]]
    above: Sequence[str] = ()
    span: int = 2
    id: str | None = None


def page(study: Study, claims: tuple[Claim, ...], *, command: str, date: str) -> str:
    """The whole page."""
    evidence = Evidence(study)
    return (
        environment(TEMPLATES)
        .get_template("study.html")
        .render(
            **{"title": TITLE, "command": command, "date": date, "verdicts": VERDICTS},
            **{"facts": study.facts, "versions": versions(study.facts), "work": work_words(study.facts)},
            style=Markup(style_variables()) + static("page.css") + Markup("\n") + static("study.css", TEMPLATES),
            script=static("study.js", TEMPLATES),
            cards=_cards(evidence, claims),
            taken=_takeaways(evidence),
            judged=[claim for claim in claims if claim.verdict != "not run"],
            not_run=[claim for claim in claims if claim.verdict == "not run"],
            figure_rows=_figure_rows(evidence),
            problems=_problems(evidence),
            stored=_stored(study.facts),
            skipped=study.skipped,
        )
    )


def versions(facts: Mapping[str, Any]) -> str:
    """Programs and their versions; fairroc's first."""
    known = {"fairroc": __version__, **facts.get("versions", {})}
    return ", ".join(f"{name} {version}" for name, version in known.items())


def work_words(facts: Mapping[str, Any]) -> str:
    """How much was computed and how long it took, unless part of it was kept from an earlier run.

    >>> work_words({"jobs": 80, "stored": 0, "seconds": 92.3}), work_words({"jobs": 80, "stored": 8, "seconds": 3.0})
    ('80 models trained and measured in 92 seconds.', '80 models trained and measured, 8 of them in an earlier run.')
    """
    if "jobs" not in facts:
        return ""
    done, kept = f"{facts['jobs']:,} models trained and measured", facts.get("stored", 0)
    if kept:
        return f"{done}, {'all' if kept == facts['jobs'] else f'{kept:,}'} of them in an earlier run."
    return f"{done} in {facts.get('seconds', 0.0):,.0f} seconds."


def _cards(evidence: Evidence, claims: tuple[Claim, ...]) -> list[tuple[str, str, str]]:
    numbers = tally(claims)
    whole, fitted = numbers["reproduced"], numbers["reproduced on the fitted people only"]
    judged = len(claims) - numbers["not run"]
    return [
        ("Claims judged", f"{judged} of {len(claims)}", f"{numbers['not run']} not run here"),
        ("Reproduced", str(whole), f"and {fitted} on the fitted people only"),
        ("Partly", str(numbers["partly"]), "some runs, or part of the claim"),
        ("Not reproduced", str(numbers["not reproduced"]), "reasons in the table"),
        ("Runs", str(len(evidence.table.pairs())), f"problem × model; {len(evidence.results):,} result rows"),
    ]


def _stored(facts: Mapping[str, Any]) -> Grid:
    """What FairProjection's authors store, beside ours where their protocol was repeated."""
    ours = {
        (row["data"], row["model"], row["method"], row["tolerance"]): (row["accuracy"], row["meo"])
        for row in facts.get("fairprojection", ())
    }
    rows = []
    for stored in PROJECTIONS:
        for tolerance, *theirs in stored.points:
            mine = ours.get((stored.data, stored.model, stored.method, tolerance), (None, None))
            pairs = [figure(value, none="–") for pair in zip(theirs, mine, strict=True) for value in pair]
            told = "–" if tolerance is None else f"{tolerance:g}"
            rows.append([f"{stored.data}; {stored.model}", stored.method, told, *pairs])
    head = ["data and model", "method", "tolerance", *(["stored", "ours"] * 2)]
    return Grid("Stored results, and ours", head, rows, ("accuracy", "mean equalized odds"))


# -- runs --------------------------------------------------------------------------------------------------------------


def _anchor(problem: str, model: str) -> str:
    return f"run-{problem}-{model}"


def _takeaways(evidence: Evidence) -> Grid | None:
    """A few numbers for each run, test people, at the epsilon nearest to .05."""
    rows = []
    for problem, model in evidence.table.pairs():
        before, froc = evidence.before(problem, model, "test"), evidence.rows(problem, model, "froc", "test")
        if before is None or not froc:
            continue
        epsilon = min((row.epsilon or 0.0 for row in froc), key=lambda e: abs(e - LR_EPSILON))
        after = [evidence.at(epsilon, problem, model, method, "test") for method in ("froc", "optimal")]
        cells = [_mean(row, figure, digits) for row in (before, *after) for figure, digits in TAKEN]
        where = f"{problem_title(problem)}, {model_title(model)}"
        name = Markup('<a href="#{}">{}</a>').format(_anchor(problem, model), where)
        rows.append([name, f"{epsilon:.3f}", *cells])
    if not rows:
        return None
    three = ("accuracy", Markup('<abbr title="disparate impact">DI</abbr>'), "gap")
    caption = "Test people, at the epsilon nearest to .05, means over splits"
    above = ("model as it is", "FROC", "exact optimum")
    return Grid(caption, ["run", "epsilon", *(three * 3)], rows, above, 3, id="taken")


def _figure_rows(evidence: Evidence) -> list[tuple[str, str | None, str]]:
    """Every figure of the paper, and the run that has it (its place and name), or why there is none."""
    wanted = [
        ("Adult logistic regression, ROC curves before and after", "adult", "lr", "froc"),
        ("C1 against C1-FROC: accuracy against epsilon, Adult", "adult", "fnnc", "fnnc"),
        ("C1 against C1-FROC: accuracy against epsilon, COMPAS", "compas", "fnnc", "fnnc"),
        ("C3-FROC against FairProjection: accuracy against mean equalized odds", "adult", "rf", "fairprojection-ce"),
        *(
            (f"{e.title}: ROC curves, accuracy, disparate impact, AUC loss", e.problem, e.model, "froc")
            for e in EXPERIMENTS
        ),
    ]
    found: list[tuple[str, str | None, str]] = []
    for words, problem, model, method in wanted:
        if any(evidence.rows(problem, model, method, who) for who in MEASURED):
            found.append((words, _anchor(problem, model), f"{problem_title(problem)}, {model_title(model)}"))
        else:
            ran = evidence.main(problem, model) is not None
            why = f"not run: no {method_title(method)} here" if ran else evidence.why_not(problem, model)
            found.append((words, None, why))
    return found


def _problems(evidence: Evidence) -> list[dict[str, Any]]:
    """Every problem with its runs."""
    pairs = evidence.table.pairs()
    return [
        {
            **{"name": problem, "title": problem_title(problem)},
            "runs": [_run(evidence, *pair) | {"open": len(pairs) <= OPEN or pair == pairs[0]} for pair in models],
        }
        for problem, models in groupby(pairs, key=lambda pair: pair[0])
    ]


def _run(evidence: Evidence, problem: str, model: str) -> dict[str, Any]:
    def known(*methods: str) -> list[str]:
        return [method for method in methods if evidence.rows(problem, model, method, "test")]

    settings = evidence.table.protected(problem, model)
    shared = evidence.shared(problem, model, (*CURVES[1:], *PEERS, *OTHERS))
    return {
        **{"id": _anchor(problem, model), "title": model_title(model), "problem": problem_title(problem)},
        **{"main": "with" if settings[0] else "without", "both": len(settings) > 1},
        **pair_figures(evidence, problem, model),
        "groups": group_legend(evidence, problem, model),
        "methods": legend(known(*CURVES)),
        "fnnc": beside_fnnc(evidence, problem) if model == "fnnc" else (),
        "fnnc_legend": legend((*known(*CURVES), "fnnc"), marked=("fnnc",)),
        "peers": beside_peers(evidence, problem, model),
        "peers_legend": legend(known(*CURVES[1:], *PEERS, *OTHERS, "none"), marked=(*PEERS, *OTHERS, "none")),
        "peers_table": _peers(evidence, problem, model),
        "splits": "split 0" if shared == {0} else f"means over {len(shared)} splits",
        "slopes": _slopes(evidence, problem, model),
        "draws": _draws(evidence, problem, model),
        "numbers": _numbers(evidence, problem, model),
    }


# -- tables ------------------------------------------------------------------------------------------------------------


def _mean(row: Summary | None, figure: str, digits: int, *, sd: bool = False) -> str:
    spread = None if row is None else row.figures[figure]
    if spread is None:
        return "–"
    more = f" ± {spread.sd:.{digits}f}" if sd and spread.sd is not None else ""
    return f"{spread.mean:.{digits}f}{more}"


def _near(rows: Sequence[Summary]) -> list[Summary]:
    """The rows nearest to the epsilons shown, each once; the last always."""
    found: dict[float | None, Summary] = {}
    for wanted in SHOWN:
        nearest = min(rows, key=lambda row: abs((row.epsilon or 0.0) - wanted), default=None)
        if nearest is not None and abs((nearest.epsilon or 0.0) - wanted) <= NEAR:
            found[nearest.epsilon] = nearest
    for row in rows[-1:]:
        found.setdefault(row.epsilon, row)
    return list(found.values())


def _numbers(evidence: Evidence, problem: str, model: str) -> Grid:
    """Every method at a few epsilons, with and without the protected attribute, fitted and test people."""
    rows: list[list[object]] = []
    for protected in evidence.table.protected(problem, model):
        for method in ("none", *OURS):
            by = {
                who: {r.epsilon: r for r in evidence.table.series(problem, model, method, who, protected=protected)}
                for who in MEASURED
            }
            shown = [row.epsilon for row in _near(list(by["fitted"].values()) or list(by["test"].values()))]
            setting = "with" if protected else "without"
            rows += [[setting, *_line(method, e, [by[who].get(e) for who in MEASURED])] for e in shown]
    head = ["protected attribute", "method", "epsilon", *(["fitted", "test"] * len(FIGURES))]
    return Grid("Means over splits; accuracy ± one standard deviation", head, rows, HEADS)


def _line(method: str, epsilon: float | None, found: Sequence[Summary | None]) -> list[object]:
    """Method, epsilon, then every figure of fitted and of test people."""
    cells = [_mean(row, figure, digits, sd=figure == "accuracy") for figure, digits in FIGURES for row in found]
    return [method_title(method), "–" if epsilon is None else f"{epsilon:.3g}", *cells]


def _peers(evidence: Evidence, problem: str, model: str) -> Grid:
    """Other methods at all their parameters."""
    rows: list[list[object]] = []
    for method in ("none", *PEERS, *OTHERS):
        by = {who: {r.epsilon: r for r in evidence.rows(problem, model, method, who)} for who in MEASURED}
        every = dict.fromkeys((*by["fitted"], *by["test"]))
        rows += [_line(method, epsilon, [by[who].get(epsilon) for who in MEASURED]) for epsilon in every]
    head = ["method", "its parameter", *(["fitted", "test"] * len(FIGURES))]
    return Grid("Means over splits; accuracy ± one standard deviation", head, rows, HEADS)


def _slopes(evidence: Evidence, problem: str, model: str) -> Grid | None:
    """What one point of accuracy buys."""
    published = experiment(problem, model)
    rows = [
        [method_title(method), *(slope_words(slope(evidence.rows(problem, model, method, who))) for who in MEASURED)]
        for method in OURS
        if any(evidence.rows(problem, model, method, who) for who in MEASURED)
    ]
    if not rows:
        return None
    if published is not None and published.slope is not None:
        rows.append(["published", f"{published.slope:.1f} points", "–"])
    caption = "Points of disparate impact that one point of accuracy buys"
    return Grid(caption, ["method", "fitted people", "test people"], rows)


def _draws(evidence: Evidence, problem: str, model: str) -> Grid | None:
    """Largest variances and CoV of draws at one split, ours and the published."""
    protected = bool(evidence.main(problem, model))
    rows: list[list[object]] = []
    for method in OURS:
        for who in MEASURED:
            found = evidence.table.largest(problem, model, method, who, protected=protected)
            if any(value is not None for value in found.values()):
                rows.append([f"{method_title(method)}, {who} people", *(_scatter(name, found[name]) for name in DRAWN)])
    published = experiment(problem, model)
    if not rows:
        return None
    if published is not None:
        rows.append(["published", *(_scatter(name, getattr(published, name)) for name in DRAWN)])
    drawn = (s for s in evidence.table.summaries if s.series.kind == "draws")
    number = max((s.n for s in drawn if (s.series.problem, s.series.model) == (problem, model)), default=0)
    caption = f"{number} draws at one split: largest variance and coefficient of variation (CoV) over epsilon"
    return Grid(caption, ["method", *DRAWN.values()], rows)


def _scatter(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.3g} %" if name.endswith("cov") else small(value)
