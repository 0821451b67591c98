"""How to deploy: the exact commands, or the same in Python."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from fairroc.options import NORM, TIES
from fairroc.report.data import ReportData, Source

LATER = "Apply it to new rows. The same id always gets the same draw:"


@dataclass(frozen=True, slots=True)
class Step:
    """One command or piece of Python; epsilon stands between ``before`` and ``after`` where there is an ``after``."""

    words: str
    before: str
    after: str | None = None

    @property
    def with_epsilon(self) -> bool:
        return self.after is not None


def steps(data: ReportData) -> list[Step]:
    """Fit and apply the score of this report, watch new people, and look again."""
    return _python(data) if data.source is None else _shell(data, data.source)


def _shell(data: ReportData, source: Source) -> list[Step]:
    roles, label = ["--score", source.score], ["--label", source.label or "LABEL"]
    counted = label if source.counts is None else ["--positives", source.counts[0], "--negatives", source.counts[1]]
    groups = [word for name in source.groups for word in ("--group", name)]
    known = [] if source.weight is None else ["--weight", source.weight]
    known += [] if source.pos_label is None else ["--pos-label", source.pos_label]
    more = [*groups, *known, *(["--missing", "group"] if data.missing == "group" else [])]
    norm = [] if data.norm == NORM.default else ["--norm", str(data.norm)]
    ties = [] if data.ties == TIES.default else ["--ties", data.ties]
    fit = [["fairroc", "fit", source.data], [*roles, *counted], more]
    transform = [["fairroc", "transform", "NEW.csv"], ["--model", "model.json"], [*roles, *groups]]
    watch = [["fairroc", "monitor", "NEW.csv"], ["--model", "model.json"], [*roles, *groups], known]
    audit = [["fairroc", "audit", "FAIR.csv"], ["--score", f"{source.score}_fair", *label], more]
    return [
        Step(
            "Fit the fair score on rows like these; add --key-file to make draws secret:",
            _lines(*fit, ["--epsilon", ""]),
            f" {shlex.join([*norm, *ties, '-o', 'model.json'])}",
        ),
        Step(LATER, _lines(*transform, ["--id", "ID", "-o", "FAIR.csv"])),
        Step(
            f"Watch whether new people are like these; once labels are known, add {shlex.join(label)}:",
            _lines(*watch),
        ),
        Step("When their labels are known, look again:", _lines(*audit, ["--epsilon", ""]), _after(norm)),
    ]


def _lines(*parts: list[str]) -> str:
    """One command on several lines; an empty last word is left open."""
    return " \\\n  ".join(shlex.join(part).removesuffix("''") for part in parts if part)


def _after(words: list[str]) -> str:
    return f" {shlex.join(words)}" if words else ""


def _python(data: ReportData) -> list[Step]:
    norm = "" if data.norm == NORM.default else f', norm="{data.norm}"'
    ties = "" if data.ties == TIES.default else f', ties="{data.ties}"'
    missing = ', missing="group"' if data.missing == "group" else ""
    weight = ", sample_weight=weight" if data.weighted else ""
    return [
        Step(
            "Fit the fair score on rows like these, and keep it:",
            "from fairroc import FairROC\n\npost = FairROC(epsilon=",
            f"{norm}{ties}{missing})\npost.fit(scores, y, sensitive_features=groups{weight})\n"
            'post.model_.save("model.json")',
        ),
        Step(
            LATER,
            'from fairroc import FairModel\n\nmodel = FairModel.load("model.json")\n'
            "fair = model.transform(new_scores, sensitive_features=new_groups, ids=new_ids)",
        ),
    ]
