"""The picture of the growth section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairroc_studies.speed.report import AXES, LINES

COLOURS = ("#0072B2", "#56B4E9", "#555555", "#D55E00", "#E69F00", "#999999")
"""Okabe and Ito's colours, told apart by people with any colour vision; references in grey."""

STYLES = ("-", "--", ":", "-", "--", ":")
MARKERS = ("o", "s", "^", "o", "s", "^")
ALL = 10**6
"""Where scores that are all different stand on the axis of different scores."""


def draw(records: Sequence[dict[str, Any]], path: Path) -> None:
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
