"""What fairness costs on two real scores: prints the table of the README.

    python -m fairroc_studies price

Adult: a logistic regression for income above 50K that does not see sex (as in the demo), fitted on all 16,281 people of
the test part, groups by sex. COMPAS: the published decile score (integer points 1 to 10) for recidivism within two
years, 6,172 people, groups by race. AUCs and gaps are exact expectations over the draw on these people.
"""

from __future__ import annotations

import warnings
from typing import Any

from fairroc import Certificate, FairROC
from fairroc.cli.demo import adult_scores
from fairroc.datasets import load_compas

EPSILONS = (0.0, 0.01, 0.05, 0.1)


def compas_scores() -> Any:
    """The published decile scores; races with fewer than 50 people of a class go together as 'Other'."""
    table = load_compas(filtered=True).select(["decile_score", "label", "race"])
    named = {"African-American", "Caucasian", "Hispanic"}
    race = [name if name in named else "Other" for name in table["race"].to_pylist()]
    return table.rename_columns(["score", "label", "race"]).append_column("group", [race])


def fitted(people: Any, epsilon: float, ties: str) -> Certificate:
    post = FairROC(epsilon=epsilon, ties=ties, salt=0)
    post.fit(people["score"], people["label"], sensitive_features=people["group"])
    return post.certificate_


def rows(name: str, people: Any) -> list[str]:
    lines = []
    for epsilon in EPSILONS:
        order, draw = fitted(people, epsilon, "order"), fitted(people, epsilon, "draw")
        drawn = sum(g.rows * g.randomised_share for g in order.groups) / order.rows
        kept = f"{order.auc:.4f} ({drawn:.0%})" if order.ties == "order" else "–"
        lines.append(
            f"| {name} | {epsilon:g} | {order.gap_before:.3f} | {order.auc_before:.4f} | {kept} | {draw.auc:.4f} "
            f"| {draw.auc_bound:.4f} |"
        )
    return lines


def main() -> None:
    warnings.simplefilter("ignore")
    print("| score | ε | gap before | AUC before | AUC, raw order kept (people drawn) | AUC, ties drawn | bound |")
    print("|---|---|---|---|---|---|---|")
    for name, people in (("Adult, 2 groups", adult_scores()), ("COMPAS deciles, 4 groups", compas_scores())):
        print("\n".join(rows(name, people)))
