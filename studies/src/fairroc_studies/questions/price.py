"""What fairness costs on two real scores, of new and of fitted people: prints the tables of docs/results/price.md.

    python -m fairroc_studies price

Adult: a logistic regression for income above 50K that does not see sex (as in the demo), fitted on all 16,281 people of
the test part, groups by sex. COMPAS: the published decile score (integer points 1 to 10) for recidivism within two
years, 6,172 people, groups by race. AUCs and gaps of the fitted people are exact expectations over the draw; those of
new people are estimates with their standard errors.
"""

from __future__ import annotations

import warnings
from typing import Any

from fairroc import Certificate, FairROC
from fairroc.cli.demo import adult_scores
from fairroc.datasets import load_compas
from fairroc.text.outlook import about

EPSILONS = (0.0, 0.01, 0.05, 0.1)
SHOWN = (0.05, 0.1)
"""Epsilons of the table of promises."""


def compas_scores() -> Any:
    """The published decile scores; races with fewer than 50 people of a class go together as 'Other'."""
    table = load_compas(filtered=True).select(["decile_score", "label", "race"])
    named = {"African-American", "Caucasian", "Hispanic"}
    race = [name if name in named else "Other" for name in table["race"].to_pylist()]
    return table.rename_columns(["score", "label", "race"]).append_column("group", [race])


def fitted(people: Any, epsilon: float, draw: str) -> Certificate:
    post = FairROC(epsilon=epsilon, draw=draw, salt=0)
    post.fit(people["score"], people["label"], sensitive_features=people["group"])
    return post.certificate_


def rows(name: str, people: Any) -> list[str]:
    lines = []
    for epsilon in EPSILONS:
        few, every = fitted(people, epsilon, "few"), fitted(people, epsilon, "all")
        drawn = sum(g.rows * g.randomised_share for g in few.groups) / few.rows
        kept = f"{few.auc:.4f} ({drawn:.0%})" if few.ties == "order" else "–"
        lines.append(
            f"| {name} | {epsilon:g} | {few.gap_before:.3f} | {few.auc_before:.4f} | {kept} | {every.auc:.4f} "
            f"| {every.auc_bound:.4f} |"
        )
    return lines


def promises(name: str, people: Any) -> list[str]:
    """New people beside the fitted ones, for the original score and both promises."""
    lines: list[str] = []
    for epsilon in SHOWN:
        for promise in ("fitted", "new"):
            post = FairROC(epsilon=epsilon, promise=promise, salt=0)
            post.fit(people["score"], people["label"], sensitive_features=people["group"])
            o, c = post.outlook_, post.certificate_
            if not lines:
                before = o.gap_before_estimate, o.auc_before, c.gap_before, c.auc_before
                lines.append(f"| {name} | original score | | {' | '.join(f'{x:.3f}' for x in before)} |")
            pairs = (o.gap_estimate, o.gap_standard_error), (o.auc_estimate, o.auc_standard_error)
            new = " | ".join(about(*pair) for pair in pairs)
            lines.append(f'| {name} | `promise="{promise}"` | {epsilon:g} | {new} | {c.gap:.3f} | {c.auc:.3f} |')
    return lines


def main() -> None:
    warnings.simplefilter("ignore")
    both = (("Adult, 2 groups", adult_scores()), ("COMPAS deciles, 4 groups", compas_scores()))
    print("| score | | ε | new people: gap expected | AUC expected | fitted people: gap | AUC |")
    print("|---|---|---|---|---|---|---|")
    for name, people in both:
        print("\n".join(promises(name, people)))
    print()
    print("| score | ε | gap before | AUC before | AUC, raw order kept (people drawn) | AUC, ties drawn | bound |")
    print("|---|---|---|---|---|---|---|")
    for name, people in both:
        print("\n".join(rows(name, people)))
