"""How to deploy: the exact commands, or the same in Python."""

from __future__ import annotations

import shlex

from fairroc.fitting.fit import DEFAULT_TIES
from fairroc.report.data import ReportData, Source
from fairroc.report.html_tags import Html, join, tag

DEFAULT_NORM = 1


def deploy(data: ReportData) -> Html:
    """Commands that fit and apply the score of this report."""
    asked = data.audit.epsilon
    epsilon = tag("span", f"{data.frontier.points[data.chosen].epsilon:.4g}" if asked is None else f"{asked:g}")
    if asked is None:
        epsilon = tag("span", epsilon, class_="command-epsilon")
    lines = _python(data, epsilon) if data.source is None else _shell(data, data.source, epsilon)
    steps = [tag("li", words, tag("pre", tag("code", code), tabindex="0")) for words, code in lines]
    return tag("ol", *steps)


def _shell(data: ReportData, source: Source, epsilon: Html) -> list[tuple[str, Html]]:
    roles, label = ["--score", source.score], ["--label", source.label or "LABEL"]
    counted = label if source.counts is None else ["--positives", source.counts[0], "--negatives", source.counts[1]]
    groups = [word for name in source.groups for word in ("--group", name)]
    more = [] if source.weight is None else ["--weight", source.weight]
    more += [] if source.pos_label is None else ["--pos-label", source.pos_label]
    more += ["--missing", "group"] if data.missing == "group" else []
    settings = [] if data.norm == DEFAULT_NORM else ["--norm", str(data.norm)]
    settings += [] if data.ties == DEFAULT_TIES else ["--ties", data.ties]
    allowed = join(["--epsilon ", epsilon])
    fit = _lines(
        shlex.join(["fairroc", "fit", source.data]),
        shlex.join([*roles, *counted]),
        shlex.join([*groups, *more]),
        join([allowed, " ", shlex.join([*settings, "-o", "model.json"])]),
    )
    transform = _lines(
        "fairroc transform NEW.csv", "--model model.json", shlex.join([*roles, *groups]), "--id ID -o FAIR.csv"
    )
    known = [] if source.weight is None else ["--weight", source.weight]
    known += [] if source.pos_label is None else ["--pos-label", source.pos_label]
    watch = _lines("fairroc monitor NEW.csv", "--model model.json", shlex.join([*roles, *groups]), shlex.join(known))
    fair = shlex.join(["--score", f"{source.score}_fair", *label])
    norm = "" if data.norm == DEFAULT_NORM else f" --norm {data.norm}"
    audit = _lines("fairroc audit FAIR.csv", fair, shlex.join([*groups, *more]), join([allowed, norm]))
    return [
        ("Fit the fair score on rows like these; add --key-file to make draws secret:", fit),
        ("Apply it to new rows. The same id always gets the same draw:", transform),
        (f"Watch whether new people are like these; once labels are known, add {shlex.join(label)}:", watch),
        ("When their labels are known, look again:", audit),
    ]


def _lines(*parts: str) -> Html:
    """One command on several lines."""
    return join((part for part in parts if part), " \\\n  ")


def _python(data: ReportData, epsilon: Html) -> list[tuple[str, Html]]:
    norm = "" if data.norm == DEFAULT_NORM else f', norm="{data.norm}"'
    ties = "" if data.ties == DEFAULT_TIES else f', ties="{data.ties}"'
    weight = ", sample_weight=weight" if data.weighted else ""
    missing = ', missing="group"' if data.missing == "group" else ""
    fit = ["post = FairROC(epsilon=", epsilon, f"{norm}{ties}{missing})"]
    return [
        (
            "Fit the fair score on rows like these, and keep it:",
            join(
                [
                    "from fairroc import FairROC\n\n",
                    *fit,
                    f"\npost.fit(scores, y, sensitive_features=groups{weight})\n",
                    'post.model_.save("model.json")',
                ]
            ),
        ),
        (
            "Apply it to new rows. The same id always gets the same draw:",
            join(
                [
                    'from fairroc import FairModel\n\nmodel = FairModel.load("model.json")\n',
                    "fair = model.transform(new_scores, sensitive_features=new_groups, ids=new_ids)",
                ]
            ),
        ),
    ]
