"""One index of Algorithm 1: whose query moves, where to, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from test_pipeline import normal_rows

from fairroc.errors import DataError
from fairroc.froc.algorithm import Shift
from fairroc.froc.run import WORDS, froc_index, moving_group, paper_run_on
from fairroc.people.door import read_people
from fairroc.text.certificate import index_text

ROWS = normal_rows(6, n=900, groups=3)
COLUMNS = read_people(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
RUN = paper_run_on(COLUMNS, epsilon=0.05, queries=30)


@pytest.mark.parametrize("index", range(1, len(RUN.thresholds) + 1))
def test_an_index_tells_the_run(index):
    """The farthest move by default; points, shift and distances as in the run; words in the text."""
    group = moving_group(RUN, COLUMNS.names, index)
    step = froc_index(RUN, COLUMNS.names, group, index)
    ways = np.abs(RUN.points[:, index - 1] - RUN.queries[:, index - 1]).sum(axis=1)
    assert ways[group] == ways.max()
    assert (step.index, step.queries, step.threshold) == (index, len(RUN.thresholds), RUN.thresholds[index - 1])
    assert step.query == tuple(RUN.queries[group, index - 1]) and step.point == tuple(RUN.points[group, index - 1])
    assert step.upper == COLUMNS.names[group] != step.lower
    assert step.shift == WORDS[Shift(RUN.shift[group, index - 1])]
    assert len(step.cuts) == RUN.cuts[group, index - 1]
    assert step.gap == pytest.approx(sum(abs(a - b) for a, b in zip(step.point, step.partner, strict=True)))
    text = index_text(step)
    assert f"Query {index} of {step.queries}: score >= {step.threshold:.6g}, epsilon 0.05" in text
    assert step.shift in text and f"'{step.upper}' (upper)" in text and f"{step.gap:.3f}" in text


def test_a_named_group():
    """Every group but the lowest can be named; its partner is the one just below."""
    lowest, middle, highest = (COLUMNS.names[g] for g in RUN.order[9])
    for upper, lower in ((middle, lowest), (highest, middle)):
        group = moving_group(RUN, COLUMNS.names, 10, upper)
        step = froc_index(RUN, COLUMNS.names, group, 10)
        assert (step.upper, step.lower) == (upper, lower)
    with pytest.raises(
        DataError, match=rf"upper must be a group that moves, but '{lowest}' has the lowest curve.*query 10"
    ):
        moving_group(RUN, COLUMNS.names, 10, lowest)
    with pytest.raises(DataError, match=r"upper must be a group of the data, got 'z'\. Name one of 'a', 'b', 'c'"):
        moving_group(RUN, COLUMNS.names, 10, "z")


@pytest.mark.parametrize("index", [0, -1, len(RUN.thresholds) + 1])
def test_index_out_of_range(index):
    with pytest.raises(DataError, match=rf"index must lie from 1 .* to {len(RUN.thresholds)}.*, got {index}\. Take"):
        moving_group(RUN, COLUMNS.names, index)


def test_words_of_a_clipped_move():
    group = moving_group(RUN, COLUMNS.names, 3)
    step = froc_index(RUN, COLUMNS.names, group, 3)
    odd = type(step)(**{**step.to_dict(), "clipped": True, "projected": True, "cuts": ()})
    assert f"{step.shift}; clipped to the unit square; moved onto the hull" in index_text(odd)
    assert "cuts" in index_text(odd) and "none" in index_text(odd)
