"""The paper's method: Algorithm 1 on data, its diagnostics, and a randomised classifier for every threshold."""

from fairroc.froc.algorithm import Froc, Shift, algorithm_1, query_grid
from fairroc.froc.diagnostics import Diagnostics
from fairroc.froc.mixture import Mixture, neighbour_mixture, triangle_mixture
from fairroc.froc.run import FrocRun, run_froc

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
