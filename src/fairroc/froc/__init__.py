"""The paper's method: Algorithm 1 on data, its diagnostics, and a randomised classifier for every threshold."""

from fairroc.froc.run import (
    Diagnostics,
    Froc,
    FrocRun,
    Mixture,
    Shift,
    algorithm_1,
    neighbour_mixture,
    query_grid,
    run_froc,
    triangle_mixture,
)

__all__ = [
    "Diagnostics",
    "Froc",
    "FrocRun",
    "Mixture",
    "Shift",
    "algorithm_1",
    "neighbour_mixture",
    "query_grid",
    "run_froc",
    "triangle_mixture",
]
