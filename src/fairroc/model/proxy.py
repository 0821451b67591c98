"""What a model that is not told the group knows instead: a small tree over probabilities of the groups.

A person belongs to one of its leaves. Leaves have numbers, not names of groups: they tell apart people for whom the
same score means different things, and guess nobody's group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairroc.core.chain import FloatArray, Frozen, IntArray


@dataclass(frozen=True, eq=False)
class ProxyTree(Frozen):
    """A binary tree over columns of probabilities.

    Node i sends rows with ``probability[column[i]] <= threshold[i]`` to node ``left[i]``, all others to ``right[i]``;
    a leaf has the column -1. Node 0 is the root, children come after their parents. Leaves are numbered from left to
    right.

    Attributes
    ----------
    columns : names of the columns of probabilities, in the order of the fit.
    column, threshold, left, right : (nodes,) see above.
    """

    columns: tuple[str, ...]
    column: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray

    @cached_property
    def leaves(self) -> IntArray:
        """Nodes that are leaves, from left to right."""
        return np.array(self.under(0), dtype=np.intp)

    def under(self, node: int) -> list[int]:
        """Leaves below a node, from left to right; a leaf's own."""
        if self.column[node] < 0:
            return [node]
        return [*self.under(int(self.left[node])), *self.under(int(self.right[node]))]

    def bounds(self, leaf: int) -> dict[int, tuple[float, float]]:
        """Of columns that matter to a leaf, by number: above what its probabilities lie, and up to what."""
        found: dict[int, tuple[float, float]] = {}
        node, target = 0, int(self.leaves[leaf])
        while node != target:
            column, cut, left = int(self.column[node]), float(self.threshold[node]), int(self.left[node])
            low, high = found.get(column, (0.0, 1.0))
            below = target in self.under(left)
            found[column] = (low, min(high, cut)) if below else (max(low, cut), high)
            node = left if below else int(self.right[node])
        return found

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the leaves are called, from left to right; in the order of the alphabet too."""
        width = len(str(len(self.leaves)))
        return tuple(f"cell {i + 1:0{width}}" for i in range(len(self.leaves)))

    def leaf(self, probabilities: FloatArray) -> IntArray:
        """(n,) number of each row's leaf, for (n, columns) probabilities."""
        node = np.zeros(len(probabilities), dtype=np.intp)
        for i in np.flatnonzero(self.column >= 0).tolist():
            here = np.flatnonzero(node == i)
            low = probabilities[here, self.column[i]] <= self.threshold[i]
            node[here] = np.where(low, self.left[i], self.right[i])
        number = np.zeros(len(self.column), dtype=np.intp)
        number[self.leaves] = np.arange(len(self.leaves))
        return number[node]

    def label(self, probabilities: FloatArray) -> np.ndarray[Any, np.dtype[np.str_]]:
        """(n,) name of each row's leaf."""
        return np.array(self.names)[self.leaf(probabilities)]

    def to_data(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "columns": list(self.columns),
            "column": self.column.tolist(),
            "threshold": self.threshold.tolist(),
            "left": self.left.tolist(),
            "right": self.right.tolist(),
        }


def single_leaf(columns: tuple[str, ...]) -> ProxyTree:
    """A tree that tells nobody apart."""
    nowhere = np.full(1, -1, dtype=np.intp)
    return ProxyTree(columns, nowhere, np.zeros(1), nowhere.copy(), nowhere.copy())
