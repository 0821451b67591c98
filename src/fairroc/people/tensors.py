"""Torch tensors: the counts and fair scores of numpy, bit for bit, on the device that holds the tensors.

Rows do not leave their device: only distinct groups, labels and counted scores come to the host. torch is never
imported unless a tensor was passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

__all__ = ["GroupCodes", "Tensor", "is_tensor", "load_torch"]

Tensor: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class GroupCodes:
    """Groups of rows as numbers: ``names[codes[i]]`` is the group of row i."""

    codes: Tensor
    names: Sequence[Any]

    def __len__(self) -> int:
        return len(self.codes)


def is_tensor(values: Any) -> bool:
    """Whether this is a torch tensor, told without loading torch."""
    return any(kind.__name__ == "Tensor" and kind.__module__ == "torch" for kind in type(values).__mro__)


def load_torch() -> Any:
    """The torch that made the tensors."""
    return import_module("torch")
