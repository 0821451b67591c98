"""A folder for regulators: impact ratios, the four-fifths rule, a model card and technical documentation.

Data first (`PackData`, whose JSON has a schema), then Markdown from templates, tables as CSV, and a manifest with the
SHA-256 of every file. Texts from the data are escaped for the format that they go into.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairroc.auditing.audit import Settings, audit_quietly
from fairroc.auditing.impact import (
    Classification,
    ImpactTable,
    Scored,
    WorstRatio,
    classify,
    impact_table,
    worst_ratios,
)
from fairroc.docstrings import PEOPLE, documented
from fairroc.errors import DataError
from fairroc.model.model import ModelData, expected_people
from fairroc.options import KEPT, PACK, POS_LABEL, checked, same
from fairroc.people.door import read_people
from fairroc.people.factorise import named_columns
from fairroc.people.people import People
from fairroc.people.rows import checked_scores, checked_weights, same_length
from fairroc.report.data import Asked, Made, ReportData, Source, gather, made_now
from fairroc.report.families import FAMILIES
from fairroc.report.view import words
from fairroc.summary import Summary, figure, flat
from fairroc.tables.write import written_together
from fairroc.text.words import RATES, asked_words, percent

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FORMAT, VERSION = "fairroc pack", 1
"""Of pack.json; the version rises when a field changes its meaning or goes."""

MANIFEST, SCHEMA = "manifest.json", "pack.schema.json"
TABLES = ("bias-audit.md", "four-fifths.md")
DOCUMENTS = ("README.md", *TABLES, "eu-ai-act.md")
SHARES = (0.1, 0.25, 0.5)
"""Of all people selected, at the thresholds looked at where none is chosen."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Gap and AUCs of a score on the people of a pack; of a fair score in expectation over the draw."""

    gap: float
    auc: float | None
    groups: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, eq=False)
class PackRows:
    """Columns of a pack, one value for each row: scores, what the model takes for groups, categories, weights."""

    scores: Any
    features: Any
    parts: tuple[Classification, ...]
    weights: Any = None


@dataclass(frozen=True, slots=True, repr=False)
class PackData(Made):
    """All that a pack holds; ``write_pack`` returns it.

    Attributes
    ----------
    report : what `write_report` shows of the same people; None without labels.
    model : of the fair score: fitted here, or ``given``; None where there is none.
    original, fair : gap and AUCs of both scores on these people, by the model's constraint; None without labels.
    medians : of all people's scores, by the name of the score.
    unknown : values that mean an unknown category, beside missing ones and blanks.
    decided : whether a threshold was chosen, or the tables of selection rates are at several.
    tables, worst : impact ratios, and the smallest over all thresholds.
    command, files : what was run, and the files read with their SHA-256; None and empty in Python.
    """

    rows: int
    weighted: bool
    report: ReportData | None
    model: ModelData | None
    given: bool
    original: Measured | None
    fair: Measured | None
    medians: dict[str, float]
    columns: tuple[str, ...]
    unknown: tuple[str, ...]
    exclude_below: float
    selection_rate: float | None
    decided: bool
    tables: tuple[ImpactTable, ...]
    worst: tuple[WorstRatio, ...]
    command: str | None = None
    files: tuple[dict[str, Any], ...] = ()

    def _summary(self) -> Summary:
        rows = [
            [" & ".join(t.by), t.score, t.measure.replace("_", " "), f"{t.threshold:.4g}", *_lowest(t)]
            for t in self.tables
        ]
        head = ["by", "score", "rate", "at", "lowest ratio", "of"]
        both = ("largest gap", self.original), ("  of the fair score", self.fair)
        facts = [(name, f"{found.gap:.4f}") for name, found in both if found is not None]
        return Summary(f"Pack '{self.title}': {self.rows:,} rows", facts, head, rows, noun="tables")

    def to_dict(self) -> dict[str, Any]:
        """Every figure of the pack, none rounded, ready for JSON (``pack.schema.json`` in this package).

        Returns: dict: as in pack.json.
        """
        shown = ("audit", "certificate", "one_draw", "new_people", "warnings")
        found = dict.fromkeys(shown) | {"warnings": []} if self.report is None else self.report.to_dict()
        return {
            "format": FORMAT,
            "version": VERSION,
            **same(self, "title", "made", "package", "command"),
            "source": self._facts()["source"],
            "categories": list(self.columns),
            "unknown": list(self.unknown),
            **same(self, "rows", "weighted", "exclude_below", "selection_rate", "decided"),
            "medians": self.medians,
            "tables": [asdict(table) for table in self.tables],
            "worst": [asdict(each) for each in self.worst],
            "original": None if self.original is None else asdict(self.original),
            "fair": None if self.fair is None else asdict(self.fair),
            "model": None if self.model is None else _model_facts(self.model, self.given),
            **{name: found[name] for name in shown},
        }

    def side_by_side(self, measure: str) -> list[tuple[ImpactTable, ImpactTable | None]]:
        """The original score's tables, each with that of the fair score."""
        mine = [table for table in self.tables if table.measure == measure]
        first, second = ([table for table in mine if table.score == name] for name in ("original", "fair"))
        return list(zip_longest(first, second))


def _lowest(table: ImpactTable) -> list[str]:
    low = table.lowest
    return ["", ""] if low is None else [figure(low.ratio, 3), low.category]


def _model_facts(model: ModelData, given: bool) -> dict[str, Any]:
    """What a pack tells of a model: nothing that draws depend on."""
    names = ("epsilon", "ratio", "tolerances", "constraint", "norm", "where", "promise", "confidence", "method", "ties")
    return {
        **same(model, *names, "draw", "curve", "levels", "unchanged", "hash"),
        "draws_nobody": not model.needs_ids,
        "secret_key": model.key_fingerprint is not None,
        "given": given,
        "fitted": asdict(model.record),
        "groups": [asdict(group) for group in model.groups],
    }


@documented(options=(*PACK, POS_LABEL), setup=PEOPLE)
def write_pack(
    folder: str | os.PathLike[str],
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    categories: Any = None,
    unknown: Sequence[str] = (),
    model: ModelData | None = None,
    selection_rate: float | None = None,
    exclude_below: float = 0.02,
    allow_out_of_range: bool = False,
    sample_weight: Any = None,
    pos_label: Any = None,
    title: str = "Scores and groups",
    **options: Any,
) -> PackData:
    """Write a folder for regulators: impact ratios, the four-fifths rule, a model card, technical documentation.

    None of it is legal advice or a finding of compliance. See docs/guides/regulators.md. Without labels (``y=None``)
    there are the tables alone, of the original score and, with a model, of the fair one.

    Parameters
    ----------
    folder : str or path-like
        To write; it must not exist, be empty, or hold a pack whose files nobody has changed.
    y : array-like of shape (n,) of two labels, or None
        Labels; None for the tables alone.
    categories : mapping or data frame of columns, optional
        By which people are compared, such as {"sex": ..., "race": ...}: each, and every two of them together. By
        default the sensitive features.
    unknown : list of str
        Values that mean an unknown category, beside missing ones and blanks.
    model : FairModel, optional
        Whose fair score is shown beside the original; without it, one fitted here if epsilon or ratio is given.
    title : str
        Of the documents.
    **options : dict
        Those of `write_report`: epsilon, constraint, promise, threshold, missing, small_groups, ...

    Returns: PackData: all that the folder holds, as data; printed, it is a table.
    Raises: DataError, FairrocError
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = write_pack(f"{folder}/pack", scores, y, sensitive_features=sex, threshold=0.5, bootstrap=0)
    >>> told.tables[0].by, told.tables[0].measure
    (('group',), 'scoring_rate')
    """
    given = {"exclude_below": exclude_below, "allow_out_of_range": allow_out_of_range}
    settings = checked(PACK, {"selection_rate": selection_rate, **given})
    asked = check_asked(Asked.checked(**options), model, settings["selection_rate"], labelled=y is not None)
    check_folder(folder)
    found = named_columns(sensitive_features if categories is None else categories)
    named = {"group" if categories is None else "category": sensitive_features if categories is None else categories}
    rows = PackRows(scores, sensitive_features, classify(named if found is None else found, unknown), sample_weight)
    seen = None
    if y is not None:
        known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "pos_label": pos_label}
        missing = asked.options.missing if model is None else model.missing
        small = asked.settings.small_rule if model is None else model.small_rule
        people = read_people(scores, y, **known, missing=missing, small=small)
        seen = people, gather(people, asked, title=title, page=False)
    how: dict[str, Any] = {"model": model, "threshold": asked.settings.threshold, "unknown": unknown, "title": title}
    data = gather_pack(rows, seen, **how, **settings)
    write_folder(folder, data)
    return data


def gather_pack(
    rows: PackRows,
    seen: tuple[People, ReportData] | None,
    *,
    threshold: float | None = None,
    model: ModelData | None = None,
    unknown: Collection[str] = (),
    selection_rate: float | None = None,
    exclude_below: float = 0.02,
    allow_out_of_range: bool = False,
    title: str = "Scores and groups",
    source: Source | None = None,
) -> PackData:
    """Everything that a pack holds: all tables, and what was ``seen`` of people with labels."""
    scores = checked_scores(rows.scores) + 0.0
    weights = np.ones(len(scores)) if rows.weights is None else checked_weights(rows.weights)
    same_length(scores=scores, categories=rows.parts[0].codes, sample_weight=weights)
    used = seen[1].model if model is None and seen is not None else model
    every = [Scored("original", scores, weights)]
    if used is not None:
        if seen is not None and seen[0].small is not None and seen[0].small.merged_into is None:
            raise DataError(
                "a pack needs a fair score for everybody, but small_groups='drop' leaves people out. Take 'merge' (on "
                "the command line: --small-groups merge), or leave out epsilon and model."
            )
        taken = used.read(scores, rows.features, allow_out_of_range=allow_out_of_range)
        every.append(Scored("fair", scores, weights, lambda t: used.rates(taken, t)))
    shares = SHARES if selection_rate is None else (selection_rate,)
    cuts = list(dict.fromkeys(map(every[0].selecting, shares))) if threshold is None else [threshold]
    medians = {score.name: score.median() for score in every}
    looks = [("scoring_rate", score, medians[score.name]) for score in every]
    looks += [("selection_rate", score, cut) for score in every for cut in cuts]
    how: dict[str, Any] = {"exclude_below": exclude_below, "weighted": rows.weights is not None}
    worst = [each for score in every for each in worst_ratios(rows.parts, score, exclude_below=exclude_below)]
    places = {of.by: place for place, of in enumerate(rows.parts)}
    return PackData(
        **made_now(title, source),
        rows=len(scores),
        weighted=rows.weights is not None,
        report=None if seen is None else seen[1],
        model=used,
        given=model is not None,
        original=None if seen is None else _measured(*seen, used),
        fair=None if seen is None or used is None else _measured(expected_people(used, seen[0]), seen[1], used),
        medians=medians,
        columns=tuple(part.by[0] for part in rows.parts if len(part.by) == 1),
        unknown=tuple(unknown),
        exclude_below=exclude_below,
        selection_rate=selection_rate,
        decided=threshold is not None or selection_rate is not None,
        tables=tuple(impact_table(of, score, measure, at, **how) for of in rows.parts for measure, score, at in looks),
        worst=tuple(sorted(worst, key=lambda each: places[each.by])),
    )


def check_asked(asked: Asked, model: ModelData | None, selection_rate: float | None, *, labelled: bool) -> Asked:
    """What is asked for, if it goes together: of a model that is given, by its own constraint."""
    if asked.options.is_spread:
        raise DataError(f"a pack is about scores that are told the groups compared; leave out {FAMILIES}.")
    if model is not None and model.compared:  # its documents are of a score that is told the groups compared
        raise DataError(
            "a pack is about a model that is told the groups it compares, got one of use_group=False, combine='each' "
            "or control_features. Take write_report (fairroc report -o PAGE) with the same options, the output of "
            "fairroc fit, and fairroc verify."
        )
    if selection_rate is not None and asked.settings.threshold is not None:
        raise DataError("give either threshold or selection_rate, got both. Leave one out.")
    if asked.fits and not labelled:
        raise DataError("a fair score is fitted to labels, got none. Pass y (--label), or a model instead of epsilon.")
    if model is None:
        return asked
    if asked.fits:
        raise DataError("give either a model or epsilon (or ratio), which fits another one, got both. Leave one out.")
    kept = same(model, *KEPT)
    settings = replace(asked.settings, **kept | {"norm": float(model.norm)})
    return replace(asked, settings=settings, options=replace(asked.options, **kept))


def _measured(people: People, report: ReportData, model: ModelData | None) -> Measured:
    """Gap and AUCs of people's scores, by what the model keeps close; the audit's where there is no model."""
    found = report.audit
    if model is not None:
        asks = model.fairness.told() if model.promise == "new" else model.fairness
        found = audit_quietly(people, replace(Settings.of(model, bootstrap=0), where=asks.where))
    groups = [
        {"group": seen.group, "rows": seen.rows, "positives": seen.positives, "auc": each.auc}
        for seen, each in zip(report.audit.groups, found.groups, strict=True)
    ]
    return Measured(found.gap, found.auc, tuple(groups))


# -- files -----------------------------------------------------------------------------------------------------------


def check_folder(folder: str | os.PathLike[str]) -> tuple[Path, dict[str, str]]:
    """The folder and the SHA-256 of what a pack in it holds; raise if it holds anything else, or files changed since.

    Whoever has filled in a document shall not lose that.
    """
    place = Path(folder)
    if not place.is_dir():
        if place.exists() or place.is_symlink():
            raise DataError(f"cannot write the pack '{place}': it is there already and is no folder; name another.")
        if not place.absolute().parent.is_dir():
            raise DataError(f"cannot write the pack '{place}': there is no folder '{place.absolute().parent}'.")
        return place, {}
    try:
        held = json.loads((place / MANIFEST).read_bytes())
        known = {each["name"]: each["sha256"] for each in held["files"]} if held["format"] == FORMAT else {}
    except (OSError, ValueError, TypeError, KeyError):
        known = {}
    for path in sorted(place.iterdir()):
        if known and path.name == MANIFEST:
            continue
        if path.name not in known or not path.is_file():
            raise DataError(f"'{place}' must be a new or an empty folder, but it holds '{path.name}'; name another.")
        if hashlib.sha256(path.read_bytes()).hexdigest() != known[path.name]:
            raise DataError(f"'{path}' was changed since it was written, and would be lost; name another folder.")
    return place, known


def write_folder(folder: str | os.PathLike[str], data: PackData) -> list[str]:
    """Write all files of a pack, or none; their names."""
    content = documents(data)
    place, old = check_folder(folder)
    made = not place.exists()
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot write the pack '{place}': {error.strerror}; name another folder.") from None
    try:
        with written_together() as begin:
            for name, text in content.items():
                with begin(place / name) as sink:
                    sink.write(text)
    except BaseException:
        if made:
            shutil.rmtree(place, ignore_errors=True)
        raise
    for name in old.keys() - content.keys():
        (place / name).unlink(missing_ok=True)
    return list(content)


def documents(data: PackData) -> dict[str, bytes]:
    """The content of every file by its name, the manifest last."""
    whole = data.to_dict()
    texts = {name: _rendered(name, data) for name in (TABLES if data.report is None else DOCUMENTS)}
    texts |= {
        "bias-audit.csv": _csv(data, "scoring_rate", *["selection_rate"] * data.decided),
        "four-fifths.csv": _csv(data, "selection_rate"),
        "pack.json": f"{json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1)}\n",
        SCHEMA: (Path(__file__).parent / SCHEMA).read_text(encoding="utf-8"),
    }
    content = {name: text.encode() for name, text in texts.items()}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "made": data.made,
        "package": data.package,
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "command": data.command,
        "data": list(data.files),
        "files": [
            {"name": name, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
            for name, text in content.items()
        ],
    }
    return content | {MANIFEST: f"{json.dumps(manifest, ensure_ascii=False, indent=1)}\n".encode()}


def file_facts(paths: Sequence[Path]) -> tuple[dict[str, Any], ...]:
    """Name, size and SHA-256 of files."""
    found = []
    for path in paths:
        with path.open("rb") as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
        found.append({"name": str(path), "bytes": path.stat().st_size, "sha256": digest})
    return tuple(found)


def _csv(data: PackData, *measures: str) -> str:
    """One row for each category of each table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names: list[str] = []
    for table in data.tables:
        if table.measure in measures:
            whole = asdict(table)
            parts = whole.pop("categories")
            first = {"by": " & ".join(whole.pop("by")), **whole}
            if not names:
                names = [*first, *parts[0]]
                writer.writerow(names)
            writer.writerows([_cell(value) for value in (first | part).values()] for part in parts)
    return out.getvalue()


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: text that begins like one gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and re.match(r"[=+\-@\t\r\n＝＋－＠]", value) else value


@cache
def _environment() -> Environment:
    """The templates of the documents; what comes from the data is escaped for Markdown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("fairroc.report", "templates/pack"),
        autoescape=True,
        finalize=lambda value: markdown(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    told: dict[str, Any] = {
        "pct": lambda share: "–" if share is None else percent(share),
        "num": lambda value, digits=3: figure(value, digits, none="–"),
        "pvalue": lambda p: "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}",
        "yaml": _yaml,
        "fenced": _fenced,
    }
    made.filters |= told
    return made


def markdown(text: str) -> Markup:
    """Text on one line that Markdown, in a table or out of one, shows as it is; markup that a template made stays.

    >>> print(markdown("a|b <i>*x*</i>"))
    a\\|b &lt;i&gt;\\*x\\*&lt;/i&gt;
    """
    from markupsafe import Markup

    if isinstance(text, Markup):
        return text
    plain = flat(text) or "(no name)"
    plain = re.sub(r"&(?=#?\w+;)", "&amp;", plain).replace("<", "&lt;").replace(">", "&gt;")
    return Markup(re.sub(r"([\\`*_\[\]|~$])", r"\\\1", plain))


def _yaml(value: Any) -> Markup:
    """A value as YAML, which reads JSON."""
    from markupsafe import Markup

    return Markup(json.dumps(flat(value) if isinstance(value, str) else value, ensure_ascii=False))


def _fenced(text: str) -> Markup:
    """A block of code whose fence is longer than any run of backticks in it."""
    from markupsafe import Markup

    fence = "`" * max(3, *(1 + len(run) for run in re.findall("`+", text)), 3)
    return Markup(f"{fence}\n{text}\n{fence}")


def _rendered(name: str, data: PackData) -> str:
    """A document in Markdown."""
    model, report = data.model, data.report
    asked = None if model is None else asked_words(model.fairness, model.epsilon, model.ratio, model.tolerances)
    text = (
        _environment()
        .get_template(name)
        .render(
            pack=data,
            report=report,
            model=model,
            asked=asked,
            rates=None if model is None else RATES[model.constraint],
            words=None if report is None else words(report),
            drawn=model is not None and model.needs_ids,
        )
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
