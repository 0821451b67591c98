"""Sums and functions that give the same digits on every machine.

Where several answers are equally good, last digits decide which one is taken. A matrix product adds up in an order that
depends on the processor and on the number of threads, and exponentials and logarithms come from libraries that differ
in their last digit. What a fit decides by is made here instead: of additions, multiplications, divisions and roots of
whole arrays, which IEEE 754 fixes to the last digit, in an order that the shapes alone fix.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""The logarithm of 2 in two parts: the first has so few digits that whole multiples of it are exact."""

SMALLEST, LARGEST = -708.0, 709.0
"""Exponents beyond these would not give normal numbers."""

PARTS = 64
"""Numbers from 1 to 2 whose exponentials are known, so that few terms of a power series are left."""

EXP_SERIES = tuple(1.0 / math.factorial(n) for n in range(7))
"""The power series of exp on [-log(2) / 128, log(2) / 128]: what is left out is below 1e-19."""

LOG_SERIES = tuple(1.0 / (2 * n + 1) for n in range(1, 13))
"""The same of the logarithm, in the square of (x - 1) / (x + 1), for x between the root of one half and its inverse."""

FEW = 32
"""So few parts are added up one after the other: quicker than sums of short rows."""

FINE = float(1 << 26)
"""Shares and parts of estimates are whole multiples of one over this."""

MIXER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number, 2**64 over the golden ratio: its multiples, modulo 2**64, are spread evenly."""

NOTHING = 1e-20
"""A column that others explain but for so small a share of its square adds rounding alone."""

HALF_LOG_CIRCLE = 0.91893853320467274178
"""Half the logarithm of two pi."""

HALF_ROOT = 0.70710678118654752440
"""The square root of one half: where a fraction below it is doubled."""


def weighted(parts: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted sums over the last axis, from the first part on.

    >>> weighted(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 0.25]))
    array([1. , 2.5])
    """
    if parts.shape[-1] > FEW:
        return np.asarray(np.add.reduce(np.ascontiguousarray(parts * weights), axis=-1))
    total = parts[..., 0] * weights[0]
    for i in range(1, parts.shape[-1]):
        total += parts[..., i] * weights[i]
    return np.asarray(total)


def uneven(count: int) -> FloatArray:
    """Numbers between 0 and 1, always the same, of which no few add up to the same as others: what settles ties.

    Places in a list, multiplied and folded in whole numbers of 64 bits.
    """
    mixed = np.arange(1, count + 1, dtype=np.uint64) * MIXER
    for _ in range(2):
        mixed ^= mixed >> np.uint64(32)
        mixed *= MIXER
    return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)


def dot(one: FloatArray, other: FloatArray) -> float:
    """The sum of products of two lines of numbers."""
    return float(np.add.reduce(np.ascontiguousarray(one * other)))


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """The matrix product of (..., n, k) and (..., k, m), one of the k parts after the other.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([[13., 16.]])
    """
    total = left[..., :, :1] * right[..., :1, :]
    for i in range(1, left.shape[-1]):
        total += left[..., :, i : i + 1] * right[..., i : i + 1, :]
    return np.asarray(total)


def share_product(shares: FloatArray, parts: FloatArray) -> FloatArray:
    """The same for estimates, quickly: of (..., n, k) shares whose sizes sum to 1 at most in every row, and (..., k, m)
    parts from -1 to 1.

    Both are rounded to multiples of 2**-26 first, and counted in these. So every sum of products is a whole number of
    no more than 2**52: exact, in whatever order a processor adds them up.

    >>> share_product(np.array([[0.5, 0.25]]), np.array([[1.0], [0.5]]))
    array([[0.625]])
    """
    whole_shares, whole_parts = shares * FINE, parts * FINE
    found = np.matmul(np.rint(whole_shares, out=whole_shares), np.rint(whole_parts, out=whole_parts))
    return np.asarray(np.divide(found, FINE * FINE, out=found))


def orthonormal(columns: FloatArray) -> FloatArray:
    """Orthonormal columns that span what (n, k) columns do, from the first on; 0 where one adds nothing new."""
    found = np.zeros_like(columns)
    for i, column in enumerate(columns.T):
        left, size = column.copy(), dot(column, column)
        for known in (*found.T[:i], *found.T[:i]):  # twice, for what rounding leaves
            left -= dot(known, left) * known
        if (rest := dot(left, left)) > NOTHING * size:
            found[:, i] = left / math.sqrt(rest)
    return found


def solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """x with ``matrix x = right`` for positive definite (..., k, k) matrices and (..., k, m) right sides.

    Elimination without exchanges, which such matrices do not need.

    >>> solved(np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([[8.0], [8.0]])).ravel()
    array([1., 2.])
    """
    size = matrix.shape[-1]
    shape = (*np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2]), size, size + right.shape[-1])
    rows = np.empty(shape)
    rows[..., :size], rows[..., size:] = matrix, right
    for i in range(size - 1):
        share = rows[..., i + 1 :, i : i + 1] / rows[..., i : i + 1, i : i + 1]
        rows[..., i + 1 :, i:] -= share * rows[..., i : i + 1, i:]
    found = rows[..., size:]
    for i in reversed(range(size)):
        if i + 1 < size:
            found[..., i : i + 1, :] -= product(rows[..., i : i + 1, i + 1 : size], found[..., i + 1 :, :])
        found[..., i : i + 1, :] /= rows[..., i : i + 1, i : i + 1]
    return found.copy()


def cholesky(matrix: FloatArray) -> FloatArray:
    """The lower root of positive definite (..., k, k) matrices.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    left, found = matrix.copy(), np.zeros_like(matrix)
    for i in range(matrix.shape[-1]):
        found[..., i:, i] = left[..., i:, i] / np.sqrt(left[..., i, i])[..., None]
        own = found[..., i + 1 :, i]
        left[..., i + 1 :, i + 1 :] -= own[..., :, None] * own[..., None, :]
    return found


def solved_above(root: FloatArray, right: FloatArray) -> FloatArray:
    """x with ``root.T x = right`` for lower (..., k, k) roots and (..., k) right sides: with normal right sides, draws
    of the precision that the root is of.

    >>> solved_above(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([3.0, 2.0])).tolist()
    [1.0, 1.0]
    """
    found = np.array(right)
    for i in reversed(range(found.shape[-1])):
        found[..., i] /= root[..., i, i]
        found[..., :i] -= root[..., i, :i] * found[..., i : i + 1]
    return found


@cache
def _roots_of_two() -> FloatArray:
    """Two to the power of i / PARTS, from square roots of square roots."""
    found, root, step = np.ones(PARTS), 2.0, PARTS
    while step > 1:
        root, step = math.sqrt(root), step // 2
        found[np.arange(PARTS) // step % 2 == 1] *= root
    return found


def exp(x: Any) -> FloatArray:
    """The exponential function to a few units of the last digit, for exponents from -708 to 709; beyond, as there.

    >>> exp(np.array([0.0, 1.0, -1000.0])).round(12).tolist()
    [1.0, 2.718281828459, 0.0]
    """
    x = np.clip(np.asarray(x, dtype=np.float64), SMALLEST, LARGEST)
    steps = np.rint(x * (PARTS / (LN2_HIGH + LN2_LOW)))
    rest = (x - steps * (LN2_HIGH / PARTS)) - steps * (LN2_LOW / PARTS)
    whole = steps.astype(np.int32)
    total = np.full_like(rest, EXP_SERIES[-1])
    for term in EXP_SERIES[-2::-1]:
        total *= rest
        total += term
    total *= _roots_of_two()[whole % PARTS]
    return np.asarray(np.ldexp(total, whole // PARTS))


def log(x: Any) -> FloatArray:
    """The natural logarithm of positive numbers, to a few units of the last digit.

    >>> log(np.array([1.0, 10.0, 1e-300])).round(12).tolist()
    [0.0, 2.302585092994, -690.775527898214]
    """
    part, power = np.frexp(np.asarray(x, dtype=np.float64))
    low = part < HALF_ROOT
    part, power = np.where(low, 2.0 * part, part), power - low
    s = (part - 1.0) / (part + 1.0)
    square, total = s * s, np.zeros_like(s)
    for term in LOG_SERIES[::-1]:
        total += term
        total *= square
    return np.asarray(power * LN2_HIGH + (2.0 * (s + s * total) + power * LN2_LOW))


def log_gamma(x: FloatArray) -> FloatArray:
    """The logarithm of the gamma function of positive numbers, by Stirling's series from 8 on.

    >>> log_gamma(np.array([2.5, 5.0])).round(9).tolist()
    [0.28468287, 3.17805383]
    """
    grown, factor = np.array(x, dtype=np.float64), np.ones_like(x)
    for _ in range(8):
        low = grown < 8.0
        factor = np.where(low, factor * grown, factor)
        grown += low
    inverse = 1.0 / grown
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return np.asarray((grown - 0.5) * log(grown) - grown + HALF_LOG_CIRCLE + series - log(factor))
