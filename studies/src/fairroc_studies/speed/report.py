"""Records of a run as the sections of docs/results/benchmarks.md, with goals and whether a run meets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from fairroc_studies.harness.tables import mean_se, megabytes, million, rows_name, seconds, table
from fairroc_studies.peers.catalogue import BINNED, DRAW, NAIVE, ORDER, ROC_CURVE, SEARCH, THOUSAND, Entry
from fairroc_studies.speed.speed import MODELS, SOURCES

SPARE_MEMORY = 32e6
"""Bytes that a call may hold beyond its input and output."""

Records = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Goal:
    """A figure and the bound it is held against; ``figure`` is None where it could not be measured."""

    text: str
    figure: float | None
    bound: float
    unit: str
    at_least: bool

    @property
    def met(self) -> bool | None:
        if self.figure is None:
            return None
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound


def goals(records: Records, rows: int) -> list[Goal]:
    """The goals for speed and memory, at one size of a run."""
    found = {record["title"]: record for record in records if record["rows"] == rows}
    return [
        _speedup("exact fit, default, against roc_curve per group", found, ROC_CURVE, ORDER, "fit", 2.5),
        _speedup('exact fit, draw="all", against roc_curve per group', found, ROC_CURVE, DRAW, "fit", 2.5),
        _speedup("transform, default, against one np.searchsorted", found, SEARCH, ORDER, "predict", 2.0),
        _speedup("transform, 1,000 blocks, against one np.searchsorted", found, SEARCH, THOUSAND, "predict", 2.0),
        _speedup("transform, 1,000 blocks, against naive numpy, same model", found, NAIVE, THOUSAND, "predict", 8.0),
        *(
            _speedup(f"fit {entry.title[9:]}, against roc_curve per group", found, ROC_CURVE, entry, "fit", bound)
            for entry, bound in zip(BINNED, (40.0, 35.0), strict=True)
        ),
        *(_memory(f"extra memory of fit, {entry.title[9:]}", found, entry, "fit") for entry in (ORDER, DRAW)),
        *(
            _memory(f"extra memory of transform, {entry.title[9:]}", found, entry, "predict")
            for entry in (THOUSAND, ORDER)
        ),
    ]


def start_goals(startup: dict[str, float]) -> list[Goal]:
    """The goals for starting up."""
    extra = 1e3 * (startup["import"] - startup["bare"])
    return [
        Goal("`import fairroc`, beyond a bare interpreter", extra, 150, "ms", False),
        Goal("`fairroc --help`", 1e3 * startup["help"], 200, "ms", False),
    ]


def _speedup(
    text: str, found: dict[str, dict[str, Any]], reference: Entry, own: Entry, part: str, bound: float
) -> Goal:
    slow, fast = (found.get(entry.title, {}).get(part, {}).get("cpu") for entry in (reference, own))
    return Goal(text, None if slow is None or fast is None else slow / fast, bound, "×", True)


def _memory(text: str, found: dict[str, dict[str, Any]], entry: Entry, part: str) -> Goal:
    cost = found.get(entry.title, {}).get(part)
    if cost is None:
        return Goal(text, None, SPARE_MEMORY / 1e6, "MB", False)
    return Goal(text, cost["memory"] / 1e6, (cost["input"] + cost["output"] + SPARE_MEMORY) / 1e6, "MB", False)


Record = dict[str, Any]
Results = dict[str, Any]  # {"meta": ..., "records": [...], and for speed "startup"}


TITLES = {"adult": "Adult", "compas": "COMPAS", "logistic": "LR", "forest": "RF"}

CHANGED = "**The source changed during this run: the figures of fairroc do not belong to one version.**"


def measured_on(meta: dict[str, Any]) -> str:
    """Command, date, machine and versions of a section, in small print."""
    versions = ", ".join(f"{name} {version}" for name, version in meta["versions"].items())
    text = f"`{meta['command']}`, {meta['date']}, {meta['machine']}; {versions}; source {meta['source']}."
    return f"{text} {CHANGED}" if meta["changed"] else text


def unique(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


# -- speed -------------------------------------------------------------------------------------------------------------


SPEED = """\
Synthetic scores, all different, two groups. A fresh process for each measurement, contestants in turns, best of
{rounds} rounds (those that need more than a few seconds run once). *CPU s* is the best of up to five calls in a
process; *first call* is the first on a newly fitted model, which may build what later calls use. *Speed* is how many
times as fast (by CPU s) as the reference of the same run; *extra* is the peak of resident memory beyond what the
process held before, *in + out* the size of the arrays that went in and came out. Each library gets its input in the
form it takes; making that form is not timed. fairroc's fit is exact and asks for no certificate; its transform hashes
an integer id for each row. What the peers predict is a decision, a threshold rule for each group, which is less work
than a transform to a score."""


def speed_section(results: Results) -> str:
    records = results["records"]
    rounds = max(record.get("rounds", 0) for record in records)
    parts = ["## Speed", measured_on(results["meta"]), SPEED.format(rounds=rounds)]
    for rows in unique([record["rows"] for record in records]):
        chosen = [record for record in records if record["rows"] == rows]
        parts += [f"### Fit, {rows_name(rows)} rows", cost_table(chosen, "fit", [(ROC_CURVE, "roc_curve")])]
        references = [(SEARCH, "searchsorted"), (NAIVE, "naive")]
        parts += [f"### Transform or predict, {rows_name(rows)} rows", cost_table(chosen, "predict", references)]
    return "\n\n".join(parts)


def cost_table(records: Sequence[Record], part: str, references: Sequence[tuple[Entry, str]]) -> str:
    """CPU seconds, rows a second, speed against each reference, memory."""
    head = [
        "",
        "CPU s",
        "first call",
        "rows/s",
        *(f"speed, × {name}" for _, name in references),
        "extra MB",
        "in + out MB",
    ]
    found = {record["title"]: record for record in records}
    lines = []
    for record in records:
        if part not in record["timed"]:
            continue
        if "error" in record:
            lines.append([record["title"], record["error"], *[""] * (len(head) - 2)])
            continue
        cost = record[part]
        ratios = [_ratio(found.get(entry.title, {}).get(part), cost) for entry, _ in references]
        memory = [megabytes(cost["memory"]), megabytes(cost["input"] + cost["output"])]
        times = [seconds(cost["cpu"]), seconds(cost["first"]), million(record["rows"] / cost["cpu"])]
        lines.append([record["title"], *times, *ratios, *memory])
    return table(head, lines)


def _ratio(reference: Record | None, cost: Record) -> str:
    if reference is None:
        return "–"
    ratio = reference["cpu"] / cost["cpu"]
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def goals_section(results: Results) -> str:
    """Every goal at every size, with the figure and whether it is met."""
    records = results["records"]
    sizes = unique([record["rows"] for record in records])
    columns = [goals(records, rows) for rows in sizes]
    lines = [[same[0].text, _bound(same), *map(_verdict, same)] for same in zip(*columns, strict=True)]
    lines += [
        [goal.text, _bound([goal]), _verdict(goal), *[""] * (len(sizes) - 1)]
        for goal in start_goals(results["startup"])
    ]
    return "\n\n".join(
        [
            "## Goals",
            "From the same run as [Speed](#speed). Extra memory may reach input + output + 32 MB. Start-up is wall "
            "time, best of several. The model of 1,000 blocks has as many levels, and most blocks have hundreds of "
            "outcomes: its table is larger than the caches." + (f" {CHANGED}" if results["meta"]["changed"] else ""),
            table(["", "goal", *(f"{rows_name(rows)} rows" for rows in sizes)], lines),
        ]
    )


def _bound(same: Sequence[Goal]) -> str:
    goal = same[0]
    if goal.unit == "MB":
        return "≤ " + " / ".join(f"{one.bound:.0f}" for one in same) + " MB"
    return f"{'≥' if goal.at_least else '≤'} {goal.bound:g} {goal.unit}"


def _verdict(goal: Goal) -> str:
    if goal.figure is None:
        return "not measured"
    figure = f"{goal.figure:.2f}" if goal.unit == "×" else f"{goal.figure:.0f}"
    return f"{figure} {goal.unit}, {'met' if goal.met else 'not met'}"


# -- growth ------------------------------------------------------------------------------------------------------------

AXES = {"rows": "rows", "groups": "groups", "distinct": "different scores"}
COLOURS = ("#0072B2", "#56B4E9", "#555555", "#D55E00", "#E69F00", "#999999")
"""Okabe and Ito's colours, told apart by people with any colour vision; references in grey."""
STYLES = ("-", "--", ":", "-", "--", ":")
MARKERS = ("o", "s", "^", "o", "s", "^")
ALL = 10**6
"""Where scores that are all different stand on the axis of different scores."""
LINES: tuple[tuple[str, str, Entry], ...] = (
    ("fit, default", "fit", ORDER),
    ('fit, draw="all"', "fit", DRAW),
    ("roc_curve per group", "fit", ROC_CURVE),
    ("transform, default", "predict", ORDER),
    ('transform, draw="all"', "predict", DRAW),
    ("np.searchsorted", "predict", SEARCH),
)


def draw_growth(records: Sequence[dict[str, Any]], path: Path) -> None:
    """CPU seconds against rows, groups and different scores, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(AXES), figsize=(11, 4), sharey=True, layout="constrained")
    for panel, (axis, name) in zip(panels, AXES.items(), strict=True):
        chosen = [record for record in records if record["axis"] == axis and "error" not in record]
        for (label, part, entry), colour, style, marker in zip(LINES, COLOURS, STYLES, MARKERS, strict=True):
            points = [(r[axis] or ALL, r[part]["cpu"]) for r in chosen if r["title"] == entry.title]
            x, y = zip(*sorted(points), strict=True) if points else ((), ())
            panel.plot(x, y, style, color=colour, marker=marker, markersize=4, label=label)
        panel.set(xscale="log", yscale="log", xlabel=name)
        panel.grid(alpha=0.3)
    panels[1].set_xticks([2, 8, 32], ["2", "8", "32"])
    panels[1].minorticks_off()
    panels[2].set_xticks([10, 10**3, 10**5, ALL], ["10", "1,000", "100,000", "all"])
    panels[0].set_ylabel("CPU seconds")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False, fontsize=9
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def growth_section(results: Results, chart: str | None) -> str:
    records = results["records"]
    fixed = rows_name(next(record["rows"] for record in records if record["axis"] == "groups"))
    parts = [
        "## Growth",
        measured_on(results["meta"]),
        f"CPU seconds along one axis at a time; groups and different scores at {fixed} rows. *Blocks* and *levels* are "
        "the size of the fitted model's table (largest group), *first* the first transform after a fit, which builds "
        "what later ones use; each default / ties drawn.",
    ]
    if chart is not None:
        parts.append(f"![CPU seconds of fit and transform against rows, groups and different scores]({chart})")
    parts += [growth_table([record for record in records if record["axis"] == axis], axis) for axis in AXES]
    return "\n\n".join(parts)


def growth_table(records: Sequence[Record], axis: str) -> str:
    head = [AXES[axis], *(name for name, _, _ in LINES), "first", "blocks", "levels"]
    lines = []
    for value in unique([record[axis] for record in records]):
        found = {record["title"]: record for record in records if record[axis] == value}
        costs = [_seconds_of(found[entry.title], part) for _, part, entry in LINES]
        sizes = [
            " / ".join(str((found[entry.title].get("size") or {}).get(name, "–")) for entry in (ORDER, DRAW))
            for name in ("blocks", "levels")
        ]
        first = " / ".join(_seconds_of(found[entry.title], "predict", "first") for entry in (ORDER, DRAW))
        lines.append(["all" if value is None else rows_name(value), *costs, first, *sizes])
    return table(head, lines)


def _seconds_of(record: Record, part: str, which: str = "cpu") -> str:
    return record["error"] if "error" in record else seconds(record[part][which])


# -- quality -----------------------------------------------------------------------------------------------------------

SPLITS = """\
{splits} seeded splits 70 / 15 / 15: a logistic regression (LR) or a random forest (RF) learns on the first part, the
post-processor on the second, and everything is measured on the third: Adult (7,327 people, groups by sex) and COMPAS
(926 people, African-American or not). The people measured were in no fit, so no ε holds exactly on them. Numbers are
means ± standard errors over the splits, and exact expectations over the draws of a randomised rule, taken from its
probabilities."""

CURVE = """\
Each cell: the largest EO over all thresholds / AUC of all people. error-parity makes one decision, not a score; here it
is refitted for 39 ratios of the two costs, its EO is the largest of its 39 points and its AUC the area under straight
lines through them. fairroc's EO is taken at {grid}, that of the other scores at every score. fairroc works on raw
curves here; [`promise="new"`](../explanation/unseen.md), the default, is compared elsewhere.
oxonfair's score is the base score plus the offsets that were fitted for one decision, aif360's is mixed for equal cost:
neither sets out to bound the EO at other thresholds. Where ε leaves no room for the raw order, "few" draws as well,
and the two rows agree."""

DECISION = """\
The splits of [the section above](#quality-at-every-threshold), {splits} of them. Each cell: accuracy / balanced
accuracy / EO. The base score, aif360 and holisticai decide at 0.5. fairlearn, error-parity and oxonfair choose their
thresholds for accuracy on the calibration part; fairroc's threshold is chosen there too, after the fit (the row at .5
apart). aif360 RejectOption aims at balanced accuracy. The other rules are made for this one decision; fairroc's fit
serves all thresholds."""


def curve_section(results: Results) -> str:
    records = [record for record in results["records"] if record["ask"] == "curve"]
    text = SPLITS.format(splits=results["meta"]["splits"])
    cells = quality_table(records, lambda cell: [_mean(cell, "gap"), _mean(cell, "auc")])
    points = results["meta"]["points"]
    grid = f"{points} quantiles of a draw" if points else "400 quantiles of a draw and every knot of its scale"
    section = ["## Quality at every threshold", measured_on(results["meta"]), text, CURVE.format(grid=grid), cells]
    return "\n\n".join(section)


def decision_section(results: Results) -> str:
    records = [record for record in results["records"] if record["ask"] == "decision"]
    text = DECISION.format(splits=results["meta"]["splits"])
    cells = quality_table(records, lambda cell: [_mean(cell, name) for name in ("accuracy", "balanced", "eo")])
    return "\n\n".join(["## Quality of one decision", measured_on(results["meta"]), text, cells])


def quality_table(records: Sequence[Record], cell_of: Callable[[list[Record]], list[str]]) -> str:
    places = list(product(SOURCES, MODELS))
    lines = []
    for title in unique([record["title"] for record in records]):
        line = [title]
        for source, model in places:
            cell = [r for r in records if (r["title"], r["source"], r["model"]) == (title, source, model)]
            errors = [record["error"] for record in cell if "error" in record]
            line.append(errors[0] if errors else " / ".join(cell_of(cell)))
        lines.append(line)
    return table(["", *(f"{TITLES[source]} {TITLES[model]}" for source, model in places)], lines)


def _mean(records: Sequence[Record], name: str) -> str:
    """Mean and standard error without the leading zeros: .103 ± .008."""
    mean, error = mean_se([record[name] for record in records])
    texts = [f"{value:.3f}".removeprefix("0") for value in (mean, error)]
    return " ± ".join(texts) if len(records) > 1 else texts[0]
