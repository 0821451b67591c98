"""The five constants of the XXH64 specification, as Python integers."""

from fairroc.model.xxh64 import MASK, PRIMES

__all__ = ["MASK", "P1", "P2", "P3", "P4", "P5"]

P1, P2, P3, P4, P5 = PRIMES
