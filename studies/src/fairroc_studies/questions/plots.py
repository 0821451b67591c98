"""The pictures of docs/guides/plots.md: one for each Display.

    python -m fairroc_studies plots              # writes docs/img/display-*.png
    python -m fairroc_studies plots --output DIR

Adult by sex, as in the demo: the model is fitted on one half of the people and shown on the other.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from fairroc import FairROC, FairROCDisplay, FrontierDisplay, GapDisplay, ScoreDisplay
from fairroc.cli.demo import adult_scores
from fairroc_studies.harness.tables import DOCS


def displays(people: Any) -> dict[str, Any]:
    """Every Display by the name of its picture."""
    half = np.arange(people.num_rows) % 2 == 0
    known, new = people.filter(half), people.filter(~half)
    post = FairROC(epsilon=0.05, promise="fitted", salt=1).fit(
        known["score"], known["label"], sensitive_features=known["group"]
    )
    rows = new["score"], new["label"]
    groups = {"sensitive_features": new["group"]}
    return {
        "roc": FairROCDisplay.from_estimator(post, *rows, **groups),
        "gap": GapDisplay.from_estimator(post, *rows, **groups),
        "scores": ScoreDisplay.from_estimator(post, *rows, **groups),
        "frontier": FrontierDisplay.from_predictions(*rows, **groups, promise="fitted"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=DOCS / "img")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    for name, display in displays(adult_scores()).items():
        path = folder / f"display-{name}.png"
        display.figure_.savefig(path, dpi=110)
        print(f"{path} {path.stat().st_size / 1024:.0f} KB")
