"""Made-up people for examples: what a model would be told of one person of each of its groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairroc.model.model import ModelData
from fairroc.model.proxy import ProxyTree


class Told(NamedTuple):
    """What a model is told of a person beside the score; ``groups`` has several values where columns were crossed."""

    groups: tuple[str, ...]
    controls: tuple[str, ...]
    probabilities: dict[str, float]


def told_examples(model: ModelData) -> list[Told]:
    """One of each group that has a name of its own; without columns to split it at, a name is the one value."""
    tree = model.proxy
    small = () if model.small_groups is None or model.small_groups.merged_into is None else model.small_groups.groups
    found = []
    for name in (*model.names, *small):
        parts = tuple(name.split(" & "))
        strata, rest = parts[: model.controls], parts[model.controls :]
        if not rest or (tree is not None and rest[0] not in tree.names):
            continue  # the merged one, which nobody is called
        if tree is None:
            found.append(Told(rest, strata, {}))
        else:
            chances = inside(tree, tree.names.index(rest[0])) if tree.columns else []
            found.append(Told((), strata, dict(zip(tree.columns, chances, strict=True))))
    return found


def inside(tree: ProxyTree, leaf: int) -> list[float]:
    """Probabilities that lead to a leaf, in few digits where that will do."""
    low, high = np.zeros(len(tree.columns)), np.ones(len(tree.columns))
    node, target = 0, int(tree.leaves[leaf])
    while node != target:
        left, column, cut = int(tree.left[node]), tree.column[node], tree.threshold[node]
        if target in tree.under(left):
            high[column], node = min(high[column], cut), left
        else:
            low[column], node = max(low[column], cut), int(tree.right[node])
    middle = (low + high) / 2
    short = np.array([float(f"{one:.2g}") for one in middle.tolist()])
    found: list[float] = (short if tree.leaf(short[None])[0] == leaf else middle).tolist()
    return found
