"""XXH64 of many integers or texts at once, on numpy arrays and Arrow buffers.

The bits are those of the reference implementation and of Spark SQL's ``xxhash64``. pyarrow is loaded for
texts only.
"""

from __future__ import annotations

import importlib
import struct
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError

U64: TypeAlias = NDArray[np.uint64]
Bytes: TypeAlias = NDArray[np.uint8]
Index: TypeAlias = NDArray[np.int64]

MASK = 2**64 - 1
BLOCK = 2**15  # rows hashed at a time: two buffers of this many words stay in the fast caches
PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_P1, _P2, _P3, _P4, _P5 = map(np.uint64, PRIMES)  # the five constants of the XXH64 specification


def xxh64_ints(values: NDArray[np.integer[Any]], seed: int, room: U64 | None = None) -> U64:
    """XXH64 of the 8 little-endian bytes of each integer; ``uint64`` above ``2**63`` wraps around.

    With a room of 2 x BLOCK, up to BLOCK integers are hashed there.

    >>> hex(int(xxh64_ints(np.array([1]), seed=0)[0]))
    '0x9f29cb17a2a49995'
    """
    if values.dtype.kind not in "iu":
        raise DataError(f"xxh64_ints needs an integer array, got {values.dtype}; convert it first.")
    wide = np.uint64 if values.dtype.kind == "u" else np.int64
    start = np.uint64((seed + int(_P5) + 8) & MASK)
    out = np.empty(values.size, dtype=np.uint64) if room is None else room[0, : values.size]
    scratch = np.empty(min(BLOCK, values.size), dtype=np.uint64) if room is None else room[1]
    for lo in range(0, values.size, BLOCK):
        h = out[lo : lo + BLOCK]
        tmp = scratch[: h.size]
        np.multiply(values[lo : lo + BLOCK].astype(wide, copy=False).view(np.uint64), _P2, out=h)
        _spin(h, 31, _P1, tmp)
        h ^= start
        _spin(h, 27, _P1, tmp)
        h += _P4
        _avalanche(h, tmp)
    return out


def xxh64_bytes(data: bytes, seed: int) -> int:
    """XXH64 of a few bytes, without numpy.

    >>> hex(xxh64_bytes(b"abc", 0))
    '0x44bc2cf5ad770999'
    """
    p1, p2, p3, p4, p5 = PRIMES
    whole, n = len(data) & ~31, len(data)
    h = (seed + p5) & MASK
    if whole:
        lanes = [(seed + start) & MASK for start in (p1 + p2, p2, 0, -p1)]
        for i, word in enumerate(struct.unpack(f"<{whole // 8}Q", data[:whole])):
            lanes[i & 3] = _turned(lanes[i & 3] + word * p2, 31) * p1 & MASK
        h = sum(_turned(lane, left) for lane, left in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            h = ((h ^ _turned(lane * p2, 31) * p1) * p1 + p4) & MASK
    h += n
    at = n & ~7
    for word in struct.unpack(f"<{(at - whole) // 8}Q", data[whole:at]):
        h = _turned(h ^ _turned(word * p2, 31) * p1, 27) * p1 + p4
    if n & 4:
        h = _turned(h ^ int.from_bytes(data[at : at + 4], "little") * p1, 23) * p2 + p3
        at += 4
    for byte in data[at:]:
        h = _turned(h ^ byte * p5, 11) * p1
    for shift, factor in ((33, p2), (29, p3), (32, 1)):
        h &= MASK
        h = (h ^ h >> shift) * factor
    return h


def _turned(number: int, left: int) -> int:
    """64 bits rotated to the left."""
    number &= MASK
    return (number << left | number >> (64 - left)) & MASK


def xxh64_texts(texts: Any, seed: int) -> U64:
    """XXH64 of the UTF-8 bytes of each text: a list, numpy or Arrow array of strings, without nulls.

    >>> hex(int(xxh64_texts(["abc"], seed=0)[0]))
    '0x44bc2cf5ad770999'
    """
    parts = [np.empty(0, dtype=np.uint64)]
    for chunk in text_chunks(texts):
        _, offsets, content = chunk.buffers()
        wide = np.int32 if str(chunk.type) == "string" else np.int64
        ends = np.frombuffer(offsets, dtype=wide)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = np.frombuffer(content or b"", dtype=np.uint8)
        for lo in range(0, len(chunk), BLOCK):
            bounds = ends[lo : lo + BLOCK + 1].astype(np.int64)
            parts.append(_hash_block(data, bounds[:-1], np.diff(bounds), seed))
    return np.concatenate(parts)


def text_chunks(texts: Any) -> list[Any]:
    """Arrow chunks of type string or large_string, without nulls."""
    pa = arrow()
    try:
        if not isinstance(texts, (pa.Array, pa.ChunkedArray)):
            texts = pa.array(texts, type=pa.large_string())
        if texts.type not in (pa.string(), pa.large_string()):
            texts = texts.cast(pa.large_string())
    except (UnicodeError, pa.ArrowException) as error:
        raise DataError(
            f"Text ids must be valid UTF-8 text, but could not be read ({error}); decode or clean them first."
        ) from error
    refuse_missing(texts.null_count, len(texts))
    return [texts] if isinstance(texts, pa.Array) else list(texts.chunks)


def arrow() -> Any:
    """Load pyarrow: only for ids that need it."""
    return importlib.import_module("pyarrow")


def refuse_missing(missing: int, n: int) -> None:
    """Raise if ids are missing."""
    if missing:
        raise DataError(f"Every row needs an id, but {missing} of {n} ids are missing; fill or drop those rows.")


def _hash_block(data: Bytes, starts: Index, size: Index, seed: int) -> U64:
    """XXH64 of ``data[start : start + size]`` per row: stripes of 32 bytes, then 8, 4 and 1 at a time."""
    h = np.full(size.size, (seed + int(_P5)) & MASK, dtype=np.uint64)
    long = np.flatnonzero(size >= 32)
    if long.size:
        h[long] = _stripes(data, starts[long], size[long] // 32, seed)
    h += size.view(np.uint64)
    tail = size & 31
    at = starts + (size - tail)
    for k in range(3):
        rows = _where(tail >= 8 * (k + 1))
        words = _round(np.uint64(0), _gather(data, at[rows] + 8 * k, 8))
        h[rows] = _spin(h[rows] ^ words, 27, _P1) + _P4
    at += tail & 24
    rows = _where((tail & 4) != 0)
    h[rows] = _spin(h[rows] ^ _gather(data, at[rows], 4) * _P1, 23, _P2) + _P3
    at += tail & 4
    for k in range(3):
        rows = _where((tail & 3) > k)
        h[rows] = _spin(h[rows] ^ _gather(data, at[rows] + k, 1) * _P5, 11, _P1)
    _avalanche(h, np.empty_like(h))
    return h


def _stripes(data: Bytes, at: Index, count: Index, seed: int) -> U64:
    """Run the four lanes of XXH64 over ``count`` stripes of 32 bytes from ``at``, and merge the lanes."""
    p1, p2 = int(_P1), int(_P2)
    lanes = [np.full(at.size, (seed + s) & MASK, dtype=np.uint64) for s in (p1 + p2, p2, 0, -p1)]
    active = np.arange(at.size)
    for stripe in range(int(count.max())):
        active = active[count[active] > stripe]
        for k, lane in enumerate(lanes):
            words = _gather(data, at[active] + (32 * stripe + 8 * k), 8)
            lane[active] = _round(lane[active], words)
    h = np.zeros(at.size, dtype=np.uint64)
    for lane, left in zip(lanes, (1, 7, 12, 18), strict=True):
        h += _spin(lane.copy(), left, np.uint64(1))
    for lane in lanes:
        h = (h ^ _round(np.uint64(0), lane)) * _P1 + _P4
    return h


def _where(mask: NDArray[np.bool_]) -> Any:
    """Index of the rows in ``mask``: a plain slice (no copies) when all rows are in."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def _gather(data: Bytes, at: Index, width: int) -> U64:
    """Little-endian words of ``width`` bytes that start at any byte ``at``: an overlapping view, indexed."""
    shape = (max(data.size - width + 1, 0),)
    view: NDArray[Any] = np.ndarray(shape, dtype=f"<u{width}", buffer=data, strides=(1,))
    return view[at].astype(np.uint64, copy=False)


def _round(lane: U64 | np.uint64, words: U64) -> U64:
    return _spin(lane + words * _P2, 31, _P1)


def _spin(h: U64, left: int, factor: np.uint64, tmp: U64 | None = None) -> U64:
    """Rotate ``h`` left by ``left`` bits, then multiply; in place."""
    tmp = np.left_shift(h, np.uint64(left), out=tmp)
    h >>= np.uint64(64 - left)
    h |= tmp
    h *= factor
    return h


def _avalanche(h: U64, tmp: U64) -> None:
    """Do the last step of XXH64, in place: every input bit moves every output bit."""
    for shift, factor in ((33, _P2), (29, _P3), (32, np.uint64(1))):
        np.right_shift(h, np.uint64(shift), out=tmp)
        h ^= tmp
        if factor != 1:
            h *= factor
