"""What the neural models share: where they are trained, and how a seed makes the training repeatable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from fairroc_studies.problems.problem import FloatArray

if TYPE_CHECKING:
    import torch


def training_device() -> torch.device:
    """The first graphics processor that torch can use, else the processor."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def repeatable(seed: int, *, threads: int = 1) -> Iterator[torch.Generator]:
    """Torch on ``threads`` threads, its first weights drawn from ``seed``; all is put back after.

    Gives a generator of its own for everything else that is drawn. Networks are to be made on the processor: only
    its random state is set and put back. On a processor the same seed then gives the same network, bit for bit; a
    graphics processor may add in another order from run to run.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            yield torch.Generator().manual_seed(seed)
    finally:
        torch.set_num_threads(before)


def probabilities(logits: FloatArray) -> FloatArray:
    """``1 / (1 + exp(-logit))``, in doubles: at least 1/2 where the logit is at least 0, and only there."""
    from scipy.special import expit

    scores: FloatArray = expit(np.asarray(logits, dtype=np.float64))
    below: FloatArray = np.where((logits < 0) & (scores >= 0.5), np.nextafter(0.5, 0.0), scores)
    return below
