"""The page of a reproduction: claims and verdicts, figures and tables, in the look of the report; opens offline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from fairroc.plot.palette import style_variables
from fairroc.report.page import static
from fairroc.text.words import figure
from fairroc_studies.paper import page_runs as runs
from fairroc_studies.paper.claims import tally
from fairroc_studies.paper.facts import parts_table, versions
from fairroc_studies.paper.published import PROJECTIONS
from fairroc_studies.paper.tags import Html, join, table, tag, text
from fairroc_studies.paper.verdicts import VERDICTS, Claim, Evidence

if TYPE_CHECKING:
    from fairroc_studies.paper.study import Study

TITLE = "The FROC paper's experiments, run again"

METHOD = (
    (
        "Three parts",
        "Every problem is split into 60 % train, 20 % calibration and 20 % test, by group and label. Models are "
        "trained on train; post-processors are fitted, and the decision threshold is chosen, on calibration.",
    ),
    (
        "Fitted and test people",
        "Fitted people are the calibration part: the paper, too, measured where it fitted. (FNNC with a target has no "
        "post-processor; its fitted people are the training part, and it decides at one half.) Test people were seen "
        "by nobody. What holds for the former need not hold for the latter.",
    ),
    (
        "Two repetitions, kept apart",
        "Splits: the whole way again with other parts; figures are exact expectations over the draw, and bands are "
        "± one standard deviation over splits. Draws: one split, one fit, decisions drawn again and again; only these "
        "compare with the published variances.",
    ),
    (
        "Epsilon",
        "Largest |ΔFPR| + |ΔTPR| of two groups at any one threshold. FNNC's target is that distance at its one "
        "decision; FairProjection's tolerance is its own parameter and means something else.",
    ),
    ("Accuracy", "At the operating point that is most accurate on the fitted people."),
    (
        "Disparate impact",
        "Smallest unprivileged group's share of accepted people over the privileged group's, at that point; equal "
        "shares give 1.",
    ),
    ("Mean equalized odds", "(|ΔFPR| + |ΔTPR|) / 2 at that point, the largest over pairs of groups."),
    ("Gap", "Largest |ΔFPR| + |ΔTPR| at any threshold, which is what epsilon bounds."),
    (
        "AUC loss",
        "AUC lost by the group with the larger AUC, as the paper counts it; results.csv has that of all people too.",
    ),
    (
        "What a point of accuracy buys",
        "Minus the least-squares slope, over epsilons, of the nearness of disparate impact to 1 (the smaller share "
        "over the larger) on accuracy, both as means over splits; beside it the ratio of gain and loss between the "
        "smallest and the largest epsilon. Undefined where accuracy moves by less than a tenth of a point.",
    ),
    (
        "Methods",
        "FROC, as one score: Algorithm 1, mended where it breaks, its curves made one randomised score. FROC, the "
        "paper's classifiers: one randomised classifier for each of 100 thresholds. Exact optimum: the largest AUC at "
        "epsilon, ties drawn. FairROC's default: what the library does unless told otherwise.",
    ),
)


def page(study: Study, claims: tuple[Claim, ...], *, command: str, date: str) -> str:
    """The whole page."""
    evidence = Evidence(study)
    return Template(_static("fairroc_studies.paper", "page.html")).substitute(
        title=text(TITLE),
        css=style_variables() + static("page.css"),
        more=_static("fairroc_studies.paper", "page.css"),
        subtitle=join([tag("code", command), f"; {date}; {versions(study.facts)}"]),
        cards=_cards(evidence, claims),
        summary=runs.takeaways(evidence),
        verdicts=verdict_table(claims),
        contents=runs.contents(evidence),
        runs=join(runs.sections(evidence), "\n"),
        elsewhere=_elsewhere(study.facts),
        skipped=_skipped(study.skipped),
        method=join([_method(), parts_table(study.facts)]),
        script=_static("fairroc_studies.paper", "page.js"),
    )


def _cards(evidence: Evidence, claims: tuple[Claim, ...]) -> Html:
    numbers = tally(claims)
    whole, fitted = numbers["reproduced"], numbers["reproduced on the fitted people only"]
    judged = len(claims) - numbers["not run"]
    shown = [
        ("Claims judged", f"{judged} of {len(claims)}", f"{numbers['not run']} not run here"),
        ("Reproduced", str(whole), f"and {fitted} on the fitted people only"),
        ("Partly", str(numbers["partly"]), "some runs, or part of the claim"),
        ("Not reproduced", str(numbers["not reproduced"]), "reasons in the table"),
        ("Runs", str(len(evidence.table.pairs())), f"problem × model; {len(evidence.results):,} result rows"),
    ]
    cells = [
        tag("div", tag("dt", name), tag("dd", value, class_="figure"), tag("dd", note, class_="note"))
        for name, value, note in shown
    ]
    return tag("dl", *cells, class_="cards")


def verdict_table(claims: Sequence[Claim]) -> Html:
    """Claims that were judged; those that were not are folded away."""
    judged = [claim for claim in claims if claim.verdict != "not run"]
    rest = [claim for claim in claims if claim.verdict == "not run"]
    words = (
        "Claims about one problem and model are judged with the protected attribute among the features; claims about "
        "all fits, classifiers or curves by every run, with it and without it."
    )
    parts: list[object] = [_claims(words, judged)] if judged else [tag("p", "No claim could be judged.")]
    if rest:
        folded = _claims("Not run here, and why", rest)
        parts.append(tag("details", tag("summary", f"{len(rest)} claims were not run here"), folded))
    return join(parts)


def _claims(caption: str, claims: Sequence[Claim]) -> Html:
    """Claim, FROC, exact method, verdict; the rule that decides stands under the claim."""
    head = ["claim, and when it counts as reproduced", "measured with FROC", "exact method", "verdict"]
    rows = [
        [
            join([claim.claim, *(tag("span", words, class_="small") for words in _under(claim))]),
            _labelled("FROC: ", claim.measured),
            _labelled("exact method: ", claim.exact),
            tag("span", claim.verdict, class_=f"verdict v{VERDICTS.index(claim.verdict)}"),
        ]
        for claim in claims
    ]
    return tag("div", table(caption, head, rows), class_="claims")


def _under(claim: Claim) -> list[str]:
    said = [f"{claim.place[:1].upper()}{claim.place[1:]}. Rule: {claim.rule}."]
    return [*said, claim.note] if claim.note else said


def _labelled(label: str, words: str) -> Html:
    """On a narrow screen, where the head is hidden, the label says what this is."""
    return join([tag("span", label, class_="label"), words]) if words else Html("")


def _elsewhere(facts: Mapping[str, Any]) -> Html:
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
    heads = (tag("th", words, scope="colgroup", colspan=2) for words in ("accuracy", "mean equalized odds"))
    above = tag("tr", tag("td"), tag("td"), tag("td"), *heads, class_="level")
    words = (
        "FairProjection's authors (Alghamdi et al., 2022) store means of ten splits at threshold 0.5, without "
        "standard errors. Their groups are not the paper's: African-American against Caucasian on COMPAS, race on "
        f"Adult. So they stand here by themselves{'' if ours else '; runs without --rows repeat their protocol'}."
    )
    found = table(
        "Stored results, and ours",
        ["data and model", "method", "tolerance", *(["stored", "ours"] * 2)],
        rows,
        above=above,
    )
    return join([tag("p", words), tag("details", tag("summary", f"{len(rows)} stored results"), found)])


def _skipped(lines: Iterable[str]) -> Html:
    items = [tag("li", line) for line in lines]
    return tag("ul", *items) if items else tag("p", "Nothing that was asked for.")


def _method() -> Html:
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", words)) for name, words in METHOD), class_="facts")


def _static(package: str, name: str) -> str:
    return files(package).joinpath("static", name).read_text(encoding="utf-8")
