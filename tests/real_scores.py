"""The stored scores of real people (data/README.md)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

SCORES = Path(__file__).parent / "data" / "scores"
NAMES = ("adult_lr", "adult_rf10", "compas_lr", "compas_rf10")


def columns(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels (0 or 1) and groups of a file."""
    with gzip.open(SCORES / f"{name}.csv.gz", "rt") as lines:
        assert next(lines).strip() == "score,label,group"
        score, label, group = zip(*(line.strip().split(",") for line in lines), strict=True)
    return np.array(score, dtype=float), np.array(label, dtype=int), np.array(group)


def by_group(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Scores and labels (True or False) by group."""
    scores, labels, groups = columns(name)
    return {g: (scores[groups == g], labels[groups == g] == 1) for g in np.unique(groups).tolist()}
