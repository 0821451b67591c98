"""XXH64 of integer tensors, and the draws made of it: the bits of `fairroc.model.xxh64`, in signed arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairroc.errors import DataError
from fairroc.model.draw import derive_seed
from fairroc.model.xxh64 import _P1, _P2, _P3, _P4, _P5
from fairroc.people.tensors import Tensor, load_torch

__all__ = ["TensorDraws", "hash_constants", "xxh64_tensor"]


@dataclass(frozen=True, eq=False)
class TensorDraws:
    """The draws of integer ids on a device, hashed when they are asked for."""

    ids: Tensor
    seed: int

    @classmethod
    def of(cls, ids: Tensor, *, salt: int, key: bytes | str | None = None) -> TensorDraws:
        """For the ids of rows, a model's salt and its key."""
        torch = load_torch()
        if ids.dtype == torch.bool or ids.is_floating_point() or ids.is_complex():
            raise DataError(
                f"ids must be integers where they are a tensor, one per row, got {ids.dtype}; convert them to "
                "int64 before they lose digits, or pass text ids as a list."
            )
        return cls(ids, derive_seed(salt, key))

    def at(self, rows: Tensor | slice) -> Tensor:
        """The draws of some rows."""
        torch = load_torch()
        hashed = xxh64_tensor(self.ids[rows], self.seed)
        return _logical(hashed, 11).to(torch.float64).mul_(2.0**-53)

    def wide(self) -> Tensor:
        """The 64 bits of every id."""
        return _wide(self.ids).contiguous()


def hash_constants(seed: int) -> tuple[int, int, int, int, int]:
    """What a hash with this seed begins with, and the first four primes, as signed numbers."""
    return _signed(seed + int(_P5) + 8), _signed(_P1), _signed(_P2), _signed(_P3), _signed(_P4)


def xxh64_tensor(values: Tensor, seed: int) -> Tensor:
    """XXH64 of the 8 little-endian bytes of each integer; the 64 bits as a signed number."""
    h = _wide(values) * _signed(_P2)
    h = _spin(h, 31, _P1)
    h ^= hash_constants(seed)[0]
    h = _spin(h, 27, _P1)
    h += _signed(_P4)
    for shift, factor in ((33, _P2), (29, _P3), (32, None)):
        h ^= _logical(h, shift)
        if factor is not None:
            h *= _signed(factor)
    return h


def _wide(values: Tensor) -> Tensor:
    torch = load_torch()
    return values.view(torch.int64) if values.dtype == getattr(torch, "uint64", None) else values.to(torch.int64)


def _spin(h: Tensor, left: int, factor: Any) -> Tensor:
    """Rotate left, then multiply."""
    turned = _logical(h, 64 - left)
    turned |= h << left
    turned *= _signed(factor)
    return turned


def _logical(h: Tensor, right: int) -> Tensor:
    """Shift right and fill with zeros: signed numbers would fill with their sign."""
    shifted: Tensor = h >> right
    shifted &= (1 << (64 - right)) - 1
    return shifted


def _signed(number: Any) -> int:
    """64 bits as a signed number."""
    bits = int(number) & (2**64 - 1)
    return bits - 2**64 if bits >= 2**63 else bits
