"""Sections of the page: one for each problem, in it one for each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fairroc_studies.paper.claims_numbers import slope_words, small
from fairroc_studies.paper.figures import (
    CURVES,
    OTHERS,
    PEERS,
    Figure,
    beside_fnnc,
    beside_peers,
    group_legend,
    legend,
    pair_figures,
)
from fairroc_studies.paper.published import EXPERIMENTS, LR_EPSILON, experiment
from fairroc_studies.paper.study import method_title, model_title, problem_title
from fairroc_studies.paper.summary import Summary, slope
from fairroc_studies.paper.tags import Html, join, table, tag
from fairroc_studies.paper.verdicts import MEASURED, NEAR, Evidence

SHOWN = (0.01, 0.05, 0.1, 0.2)
"""Epsilons of the tables, where a run has one near."""

OPEN = 6
"""With more runs than this only the first is unfolded."""

TAKEN = (("accuracy", 4), ("disparate_impact", 3), ("gap", 3))
"""Figures of the first table, with their digits."""

SETTINGS = {True: "with", False: "without"}
OURS = ("froc", "classifiers", "optimal", "default")


def anchor(problem: str, model: str) -> str:
    return f"run-{problem}-{model}"


def takeaways(evidence: Evidence) -> Html:
    """A few numbers for each run, test people, at the epsilon nearest to .05."""
    rows = []
    for problem, model in evidence.table.pairs():
        before, froc = evidence.before(problem, model, "test"), evidence.rows(problem, model, "froc", "test")
        if before is None or not froc:
            continue
        epsilon = min((row.epsilon or 0.0 for row in froc), key=lambda e: abs(e - LR_EPSILON))
        cells: list[object] = [_mean(before, figure, digits) for figure, digits in TAKEN]
        for method in ("froc", "optimal"):
            after = evidence.at(epsilon, problem, model, method, "test")
            cells += [_mean(after, figure, digits) for figure, digits in TAKEN]
        name = tag("a", f"{problem_title(problem)}, {model_title(model)}", href=f"#{anchor(problem, model)}")
        rows.append([name, f"{epsilon:.3f}", *cells])
    if not rows:
        return Html("")
    heads = (tag("th", words, scope="colgroup", colspan=3) for words in ("model as it is", "FROC", "exact optimum"))
    above = tag("tr", tag("td"), tag("td"), *heads, class_="level")
    caption = "Test people, at the epsilon nearest to .05, means over splits"
    three = ("accuracy", tag("abbr", "DI", title="disparate impact"), "gap")
    return table(caption, ["run", "epsilon", *(three * 3)], rows, above=above, id="taken")


def contents(evidence: Evidence) -> Html:
    """Links to all runs by problem, and where each figure of the paper is."""
    items = []
    for problem, pairs in groupby(evidence.table.pairs(), key=lambda pair: pair[0]):
        links = [tag("a", model_title(model), href=f"#{anchor(problem, model)}") for _, model in pairs]
        items.append(tag("li", tag("b", problem_title(problem)), tag("span", *links, class_="links")))
    buttons = tag(
        "p",
        *(
            tag("button", words, type="button", id=id)
            for words, id in (("Unfold all", "open-all"), ("Fold all", "close-all"))
        ),
        class_="needs-script screen-only",
    )
    found = table(
        "Where the paper's figures are", ["figure of the paper", "here"], _figure_rows(evidence), id="figures"
    )
    return join([tag("ul", *items, class_="contents"), buttons, found])


def _figure_rows(evidence: Evidence) -> Iterator[list[object]]:
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
    for words, problem, model, method in wanted:
        if evidence.rows(problem, model, method, "fitted") or evidence.rows(problem, model, method, "test"):
            where = f"{problem_title(problem)}, {model_title(model)}"
            yield [words, tag("a", where, href=f"#{anchor(problem, model)}")]
        else:
            ran = evidence.main(problem, model) is not None
            yield [words, f"not run: no {method_title(method)} here" if ran else evidence.why_not(problem, model)]


def sections(evidence: Evidence) -> Iterator[Html]:
    """One section for each problem."""
    pairs = evidence.table.pairs()
    for problem, models in groupby(pairs, key=lambda pair: pair[0]):
        blocks = [_run(evidence, *pair, unfolded=len(pairs) <= OPEN or pair == pairs[0]) for pair in models]
        title = tag("h2", problem_title(problem), id=f"h-{problem}")
        yield tag("section", title, *blocks, id=f"problem-{problem}", class_="runs", aria_labelledby=f"h-{problem}")


def _run(evidence: Evidence, problem: str, model: str, *, unfolded: bool) -> Html:
    drawn = pair_figures(evidence, problem, model)
    settings = evidence.table.protected(problem, model)
    main = "with" if settings[0] else "without"
    parts: list[object] = [
        tag("p", f"Figures: {main} the protected attribute among the features; bands: ± one standard deviation."),
        _row("ROC curves, split 0, fitted people", drawn["roc"]),
        group_legend(evidence, problem, model) if drawn["roc"] else "",
        tag("h4", "Against epsilon, means over splits"),
        legend(_known(evidence, problem, model, CURVES)),
        _row("Fitted people, as in the paper", drawn["fitted"]),
        _row("Test people", drawn["test"]),
        _beside(evidence, problem, model),
        _slopes(evidence, problem, model),
        _draws(evidence, problem, model),
        tag("details", tag("summary", _numbers_words(settings)), _numbers(evidence, problem, model)),
    ]
    name = model_title(model)
    title = tag("summary", f"{name[:1].upper()}{name[1:]}", tag("span", f" – {problem_title(problem)}", class_="note"))
    up = tag("p", tag("a", "Back to all runs", href="#contents"), class_="screen-only")
    return tag("details", title, *parts, up, id=anchor(problem, model), class_="run", open=True if unfolded else None)


def _numbers_words(settings: Sequence[bool]) -> str:
    both = ", with and without the protected attribute" if len(settings) > 1 else ""
    return f"Numbers, means over splits{both}"


def _row(title: str, figures: Sequence[Figure], *, grid: str = "three") -> Html:
    if not figures:
        return Html("")
    cells = [tag("figure", tag("figcaption", picture.short), picture.svg) for picture in figures]
    return join([tag("h4", title), tag("div", *cells, class_=grid)])


def _beside(evidence: Evidence, problem: str, model: str) -> Html:
    parts: list[object] = []
    if model == "fnnc" and (drawn := beside_fnnc(evidence, problem)):
        parts += [
            _row(
                "C1 against C1-FROC: FNNC by its target beside fair scores of plain FNNC, same splits",
                drawn,
                grid="pair",
            ),
            legend((*_known(evidence, problem, model, CURVES), "fnnc"), marked=("fnnc",)),
        ]
    if drawn := beside_peers(evidence, problem, model):
        known = _known(evidence, problem, model, (*CURVES[1:], *PEERS, *OTHERS, "none"))
        parts += [
            _row(f"Beside other methods on the same scores, {_splits(evidence, problem, model)}", drawn, grid="pair"),
            legend(known, marked=(*PEERS, *OTHERS, "none")),
            tag("details", tag("summary", "Numbers, other methods"), _peers(evidence, problem, model)),
        ]
    return join(parts)


def _known(evidence: Evidence, problem: str, model: str, methods: Sequence[str]) -> list[str]:
    """Those that were run."""
    return [method for method in methods if evidence.rows(problem, model, method, "test")]


def _splits(evidence: Evidence, problem: str, model: str) -> str:
    shared = evidence.shared(problem, model, (*CURVES[1:], *PEERS, *OTHERS))
    return "split 0" if shared == {0} else f"means over {len(shared)} splits"


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


FIGURES = (("accuracy", 4), ("disparate_impact", 3), ("meo", 3), ("gap", 3), ("auc_loss_upper", 4))
HEADS = ("accuracy", "disparate impact", "mean eq. odds", "gap", "AUC loss")


def _numbers(evidence: Evidence, problem: str, model: str) -> Html:
    """Every method at a few epsilons, with and without the protected attribute, fitted and test people."""
    rows: list[list[object]] = []
    for protected in evidence.table.protected(problem, model):
        for method in ("none", *OURS):
            by = {
                who: {r.epsilon: r for r in evidence.table.series(problem, model, method, who, protected=protected)}
                for who in MEASURED
            }
            shown = [row.epsilon for row in _near(list(by["fitted"].values()) or list(by["test"].values()))]
            rows += [[SETTINGS[protected], *_line(method, e, [by[who].get(e) for who in MEASURED])] for e in shown]
    head = ["protected attribute", "method", "epsilon", *(["fitted", "test"] * len(FIGURES))]
    return table("Means over splits; accuracy ± one standard deviation", head, rows, above=_above(3))


def _above(empty: int) -> Html:
    """The row of heads above fitted and test."""
    heads = (tag("th", words, scope="colgroup", colspan=2) for words in HEADS)
    return tag("tr", *(tag("td") for _ in range(empty)), *heads, class_="level")


def _line(method: str, epsilon: float | None, found: Sequence[Summary | None]) -> list[object]:
    """Method, epsilon, then every figure of fitted and of test people."""
    cells = [_mean(row, figure, digits, sd=figure == "accuracy") for figure, digits in FIGURES for row in found]
    return [method_title(method), "–" if epsilon is None else f"{epsilon:.3g}", *cells]


def _peers(evidence: Evidence, problem: str, model: str) -> Html:
    """Other methods at all their parameters."""
    rows: list[list[object]] = []
    for method in ("none", *PEERS, *OTHERS):
        by = {who: {r.epsilon: r for r in evidence.rows(problem, model, method, who)} for who in MEASURED}
        every = dict.fromkeys((*by["fitted"], *by["test"]))
        rows += [_line(method, epsilon, [by[who].get(epsilon) for who in MEASURED]) for epsilon in every]
    head = ["method", "its parameter", *(["fitted", "test"] * len(FIGURES))]
    return table("Means over splits; accuracy ± one standard deviation", head, rows, above=_above(2))


def _slopes(evidence: Evidence, problem: str, model: str) -> Html:
    """What one point of accuracy buys."""
    published = experiment(problem, model)
    rows = [
        [method_title(method), *(slope_words(slope(evidence.rows(problem, model, method, who))) for who in MEASURED)]
        for method in OURS
        if evidence.rows(problem, model, method, "fitted") or evidence.rows(problem, model, method, "test")
    ]
    if not rows:
        return Html("")
    if published is not None and published.slope is not None:
        rows.append(["published", f"{published.slope:.1f} points", "–"])
    caption = "Points of disparate impact that one point of accuracy buys"
    return tag("div", table(caption, ["method", "fitted people", "test people"], rows), class_="words")


DRAWN = (
    ("accuracy_variance", "accuracy, variance"),
    ("accuracy_cov", "accuracy, CoV"),
    ("impact_variance", "disparate impact, variance"),
    ("impact_cov", "disparate impact, CoV"),
)


def _draws(evidence: Evidence, problem: str, model: str) -> Html:
    """Largest variances and CoV of draws at one split, ours and the published."""
    protected = bool(evidence.main(problem, model))
    rows: list[list[object]] = []
    for method in OURS:
        for who in MEASURED:
            found = evidence.table.largest(problem, model, method, who, protected=protected)
            if any(value is not None for value in found.values()):
                rows.append([f"{method_title(method)}, {who} people", *(_scatter(n, found[n]) for n, _ in DRAWN)])
    published = experiment(problem, model)
    if not rows:
        return Html("")
    if published is not None:
        rows.append(["published", *(_scatter(name, getattr(published, name)) for name, _ in DRAWN)])
    number = _draw_count(evidence, problem, model)
    caption = f"{number} draws at one split: largest variance and coefficient of variation (CoV) over epsilon"
    return table(caption, ["method", *(words for _, words in DRAWN)], rows)


def _draw_count(evidence: Evidence, problem: str, model: str) -> int:
    kept = (s for s in evidence.table.summaries if s.series.kind == "draws")
    return max((s.n for s in kept if (s.series.problem, s.series.model) == (problem, model)), default=0)


def _scatter(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.3g} %" if name.endswith("cov") else small(value)
