"""Uniform numbers for rows: the only place where randomness enters.

With row ids, the uniform is a keyed hash of the id: the same person, model and key always give the same
number, in any order, batch, process or engine. XXH64 is used because numpy here and Spark SQL's ``xxhash64``
compute the same bits, fast. See ``docs/draws.md`` for what the key does and does not protect.
"""

from __future__ import annotations

import hashlib
import importlib
import numbers
import os
import secrets
from collections.abc import Callable
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError

__all__ = [
    "derive_seed",
    "effective_salt",
    "key_fingerprint",
    "new_salt",
    "read_key_file",
    "uniforms_from_ids",
    "uniforms_from_state",
    "xxh64_ints",
    "xxh64_texts",
]

U64: TypeAlias = NDArray[np.uint64]
Bytes: TypeAlias = NDArray[np.uint8]
Index: TypeAlias = NDArray[np.int64]
Hasher: TypeAlias = Callable[[Any], U64]

_MASK = 2**64 - 1
_BLOCK = 2**15  # rows hashed at a time: two buffers of this many words stay in the fast caches
_SPARK_SEED = 42  # what Spark's xxhash64(...) starts from
_P1, _P2, _P3, _P4, _P5 = map(  # the five constants of the XXH64 specification
    np.uint64,
    (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5),
)
_MISSING = frozenset({"None", "nan", "NaN", "NaT", "<NA>", "--"})  # str() of the usual missing values
_FLOAT = (
    "A float id column usually is an integer column with missing values: fill or drop those rows and convert "
    "to int64. If the ids are not whole numbers, turn them into text."
)
_DATE = "Dates and times read differently in different engines: turn them into text in one fixed format."
_NESTED = "Ids must be one column (1-d): join the parts of an id into one text."
_REFUSED: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "A bool cannot tell rows apart: pass the column that names the person."),
    ((list, tuple, set, frozenset, dict, np.ndarray, np.void), _NESTED),
    ((date, time, timedelta, np.datetime64, np.timedelta64), _DATE),
    ((numbers.Complex,), _FLOAT),
)


def xxh64_ints(values: NDArray[np.integer[Any]], seed: int) -> U64:
    """XXH64 of the 8 little-endian bytes of each integer; ``uint64`` above ``2**63`` wraps around.

    >>> hex(int(xxh64_ints(np.array([1]), seed=0)[0]))
    '0x9f29cb17a2a49995'
    """
    if values.dtype.kind not in "iu":
        raise DataError(f"xxh64_ints needs an integer array, but got {values.dtype}; convert it first.")
    wide = np.uint64 if values.dtype.kind == "u" else np.int64
    start = np.uint64((seed + int(_P5) + 8) & _MASK)
    out = np.empty(values.size, dtype=np.uint64)
    scratch = np.empty(min(_BLOCK, values.size), dtype=np.uint64)
    for lo in range(0, values.size, _BLOCK):
        h = out[lo : lo + _BLOCK]
        tmp = scratch[: h.size]
        np.multiply(values[lo : lo + _BLOCK].astype(wide, copy=False).view(np.uint64), _P2, out=h)
        _spin(h, 31, _P1, tmp)
        h ^= start
        _spin(h, 27, _P1, tmp)
        h += _P4
        _avalanche(h, tmp)
    return out


def xxh64_texts(texts: Any, seed: int) -> U64:
    """XXH64 of the UTF-8 bytes of each text: a list, numpy or Arrow array of strings, without nulls.

    >>> hex(int(xxh64_texts(["abc"], seed=0)[0]))
    '0x44bc2cf5ad770999'
    """
    parts = [np.empty(0, dtype=np.uint64)]
    for chunk in _text_chunks(texts):
        _, offsets, content = chunk.buffers()
        wide = np.int32 if str(chunk.type) == "string" else np.int64
        ends = np.frombuffer(offsets, dtype=wide)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = np.frombuffer(content or b"", dtype=np.uint8)
        for lo in range(0, len(chunk), _BLOCK):
            bounds = ends[lo : lo + _BLOCK + 1].astype(np.int64)
            parts.append(_hash_block(data, bounds[:-1], np.diff(bounds), seed))
    return np.concatenate(parts)


def _hash_block(data: Bytes, starts: Index, size: Index, seed: int) -> U64:
    """XXH64 of ``data[start : start + size]`` per row: stripes of 32 bytes, then 8, 4 and 1 at a time."""
    h = np.full(size.size, (seed + int(_P5)) & _MASK, dtype=np.uint64)
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
    lanes = [np.full(at.size, (seed + s) & _MASK, dtype=np.uint64) for s in (p1 + p2, p2, 0, -p1)]
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


def _arrow() -> Any:
    return importlib.import_module("pyarrow")


def _text_chunks(texts: Any) -> list[Any]:
    """Arrow chunks of type string or large_string, without nulls."""
    pa = _arrow()
    try:
        if not isinstance(texts, (pa.Array, pa.ChunkedArray)):
            texts = pa.array(texts, type=pa.large_string())
        if texts.type not in (pa.string(), pa.large_string()):
            texts = texts.cast(pa.large_string())
    except (UnicodeError, pa.ArrowException) as error:
        raise DataError(
            f"Text ids must be valid UTF-8 text, but could not be read ({error}); decode or clean them first."
        ) from error
    _refuse_missing(texts.null_count, len(texts))
    return [texts] if isinstance(texts, pa.Array) else list(texts.chunks)


def new_salt() -> int:
    """Give a random signed 64-bit integer: the public salt of a newly fitted model."""
    return secrets.randbits(64) - 2**63


def effective_salt(salt: int, key: bytes | str | None = None) -> int:
    """Salt and secret key as one signed 64-bit integer, the first argument of Spark's ``xxhash64``.

    Without a key it is the salt. With a key, it must be kept as secret as the key.

    >>> effective_salt(7), effective_salt(7, "a secret of 16 bytes or more")
    (7, 5434873743964243373)
    """
    data = _salt_bytes(salt)
    if key is None:
        return int(salt)
    digest = hashlib.blake2b(data, key=_key_bytes(key), digest_size=8, person=b"fairroc.seed").digest()
    return int.from_bytes(digest, "little", signed=True)


def derive_seed(salt: int, key: bytes | str | None = None) -> int:
    """Seed with which ids are hashed: XXH64, from seed 42, of the effective salt.

    Spark SQL's ``xxhash64(a, b)`` starts from 42 and takes the hash of ``a`` as the seed for ``b``, so
    ``xxhash64(<effective salt>L, id)`` gives the same bits there.

    >>> derive_seed(7)
    15582532517514291953
    """
    return int(xxh64_ints(np.array([effective_salt(salt, key)], dtype=np.int64), _SPARK_SEED)[0])


def key_fingerprint(salt: int, key: bytes | str) -> str:
    """16 hex characters that change with the key, stored with the model so that a wrong key is noticed.

    They do not give the key away, but a short or guessable key can be found by trying: use at least 16
    random bytes.
    """
    secret = _key_bytes(key)
    return hashlib.blake2b(_salt_bytes(salt), key=secret, digest_size=8, person=b"fairroc.check").hexdigest()


def read_key_file(path: str | os.PathLike[str]) -> bytes:
    """Bytes of a key file, without the line end at its end."""
    try:
        key = Path(path).read_bytes()
    except OSError as error:
        raise DataError(
            f"The key file must exist and be readable, but {os.fspath(path)!r} is not ({error.strerror}); "
            "check the path."
        ) from error
    key = key[:-2] if key.endswith(b"\r\n") else key.removesuffix(b"\n")
    if not key:
        raise DataError(f"The key file {os.fspath(path)!r} is empty; write at least 16 random bytes to it.")
    return key


def _salt_bytes(salt: int) -> bytes:
    if isinstance(salt, bool) or not isinstance(salt, (int, np.integer)) or not -(2**63) <= salt < 2**63:
        raise DataError(
            f"salt must be a signed 64-bit integer, but got {salt!r}; use fairroc.draw.new_salt()."
        )
    return int(salt).to_bytes(8, "little", signed=True)


def _key_bytes(key: bytes | str) -> bytes:
    """Key as 1 to 64 bytes; a longer one is hashed first."""
    if not isinstance(key, (bytes, str)):
        raise DataError(f"key must be bytes, text or None, but got {type(key).__name__}; encode it first.")
    raw = key.encode() if isinstance(key, str) else key
    if not raw:
        raise DataError("key must not be empty; give at least 16 random bytes, or None for no key.")
    return raw if len(raw) <= 64 else hashlib.blake2b(raw).digest()


def uniforms_from_ids(
    ids: Any,
    *,
    salt: int,
    key: bytes | str | None = None,
    hash: str = "xxh64",  # noqa: A002
) -> NDArray[np.float64]:
    """One number in [0, 1) per id, the same for the same id, salt, key and hash, whatever the order.

    Parameters
    ----------
    ids : array, list, or pandas, polars or Arrow column
        Integers are hashed as 64-bit integers and all else as text, so ``1`` and ``"1"`` differ. Missing
        ids, floats, bools and dates are refused.
    salt : int
        The model's public salt, see :func:`new_salt`.
    key : bytes or str, optional
        Secret, at least 16 random bytes. Without it, anyone with the model can compute every draw.
    hash : {"xxh64", "blake2b"}
        "blake2b" is cryptographic and much slower: about a million rows per second.

    >>> uniforms_from_ids([101, 102, 101], salt=7).round(4)
    array([0.1062, 0.8216, 0.1062])
    """
    if hash not in ("xxh64", "blake2b"):
        raise DataError(f'hash must be "xxh64" or "blake2b", but got {hash!r}; choose one of the two.')
    hasher = _xxh64_hasher(salt, key) if hash == "xxh64" else _blake2b_hasher(salt, key)
    h = _hash_ids(ids, hasher)
    for lo in range(0, h.size, _BLOCK):  # the draws take the place of the hashes, block by block
        block = h[lo : lo + _BLOCK]
        block >>= np.uint64(11)
        np.multiply(block.view(np.int64), 2.0**-53, out=block.view(np.float64))
    return h.view(np.float64)


def uniforms_from_state(
    random_state: int | np.random.Generator | np.random.RandomState, n: int
) -> NDArray[np.float64]:
    """Draw ``n`` numbers in [0, 1) from a seed or a generator, never from numpy's global state.

    >>> uniforms_from_state(0, 2).round(4)
    array([0.637 , 0.2698])
    """
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return np.asarray(random_state.random(n), dtype=np.float64)
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        raise DataError(
            "random_state must be an integer of 0 or more, a numpy Generator or a RandomState, but got "
            f"{random_state!r}; pass for example random_state=0."
        )
    return np.random.default_rng(random_state).random(n)


def _xxh64_hasher(salt: int, key: bytes | str | None) -> Hasher:
    seed = derive_seed(salt, key)
    return lambda c: xxh64_ints(c, seed) if isinstance(c, np.ndarray) else xxh64_texts(c, seed)


def _blake2b_hasher(salt: int, key: bytes | str | None) -> Hasher:
    """Keyed BLAKE2b of the same bytes; its 32-byte key comes from the effective salt and the whole key."""
    material = _salt_bytes(effective_salt(salt, key))
    secret = b"" if key is None else _key_bytes(key)
    inner = hashlib.blake2b(material, key=secret, digest_size=32, person=b"fairroc.draw").digest()

    def hasher(column: Any) -> U64:
        if isinstance(column, np.ndarray):
            raw = column.astype("<u8" if column.dtype.kind == "u" else "<i8").tobytes()
            items = [raw[i : i + 8] for i in range(0, len(raw), 8)]
        else:
            chunks = [c.cast(_arrow().large_binary()) for c in _text_chunks(column)]
            items = [data for chunk in chunks for data in chunk.to_pylist()]
        digests = b"".join(hashlib.blake2b(data, key=inner, digest_size=8).digest() for data in items)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)

    return hasher


def _hash_ids(ids: Any, hasher: Hasher) -> U64:
    """Hash ids by type: integers reach ``hasher`` as a numpy array, texts as a list or an Arrow column."""
    if isinstance(ids, (list, tuple, range)):
        return _hash_objects(list(ids), hasher)
    if not isinstance(ids, np.ndarray):
        return _hash_series(ids, hasher)
    if ids.ndim != 1:
        raise _bad(f"shape {ids.shape}", _NESTED)
    kind = ids.dtype.kind
    if kind in "Mm":
        _refuse_missing(int(np.isnat(ids).sum()), ids.size)
    if isinstance(ids, np.ma.MaskedArray) or kind not in "iufUS":
        return _hash_objects(list(ids), hasher)
    if kind in "iu":
        return hasher(ids)
    pa = _arrow()
    if kind == "U":
        return hasher(pa.chunked_array(_text_chunks(ids)))
    return _hash_arrow(pa.array(ids.astype(np.float64) if kind == "f" else ids), hasher)


def _hash_series(ids: Any, hasher: Hasher) -> U64:
    """Hash an Arrow, pandas or polars column, or whatever can become a numpy array."""
    import narwhals as nw

    pa = _arrow()
    if isinstance(ids, (pa.Array, pa.ChunkedArray)):
        return _hash_arrow(ids, hasher)
    if nw.dependencies.is_pandas_index(ids):
        ids = ids.to_series()
    series = nw.from_native(ids, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        if not hasattr(ids, "__array__"):
            raise _bad(f"a {type(ids).__name__}", "Pass one column of ids: a list, an array or a Series.")
        return _hash_ids(np.asarray(ids), hasher)
    if series.dtype == nw.Object:
        return _hash_objects(series.to_list(), hasher)
    try:
        return _hash_arrow(series.to_arrow(), hasher)
    except pa.ArrowException:  # types that Arrow does not know, or categories of mixed types
        return _hash_objects(series.to_list(), hasher)


def _hash_arrow(column: Any, hasher: Hasher) -> U64:
    kind, types = column.type, _arrow().types
    if types.is_dictionary(kind):
        return _hash_arrow(column.cast(kind.value_type), hasher)
    if types.is_floating(kind):
        missing = int(np.isnan(column.to_numpy(zero_copy_only=False)).sum())
        raise _bad(f"{kind} ({missing} of {len(column)} missing)", _FLOAT)
    _refuse_missing(column.null_count, len(column))
    if types.is_integer(kind):
        return hasher(column.to_numpy())
    if types.is_temporal(kind):
        raise _bad(str(kind), _DATE)
    if str(kind) in ("string", "large_string", "string_view", "binary", "large_binary"):
        return hasher(column)
    return _hash_objects(column.to_pylist(), hasher)


def _hash_objects(values: list[Any], hasher: Hasher) -> U64:
    """Hash each value by its own type."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return hasher(values)
    if kinds == {int}:
        return hasher(_to_64_bits(values))
    plain = [_plain(v) for v in values]
    _refuse_missing(plain.count(None), len(plain))
    is_int = np.array([isinstance(v, int) for v in plain], dtype=np.bool_)
    out = np.empty(len(plain), dtype=np.uint64)
    out[is_int] = hasher(_to_64_bits([v for v in plain if isinstance(v, int)]))
    out[~is_int] = hasher([v for v in plain if not isinstance(v, int)])
    return out


def _plain(value: Any) -> int | str | bytes | None:
    """Turn one id into an integer or a text; None when it is missing."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64)):
        return int(value)
    if isinstance(value, (str, bytes)):
        return str.__str__(value) if isinstance(value, str) else value
    text = str(value)
    if text in _MISSING:
        return None
    for kinds, advice in _REFUSED:
        if isinstance(value, kinds):
            raise _bad(type(value).__name__, advice)
    if text == object.__repr__(value):
        raise _bad(type(value).__name__, "Such objects have no fixed text form: pass text or integers.")
    return text


def _to_64_bits(values: list[int]) -> NDArray[Any]:
    wrong = [v for v in values if not -(2**63) <= v < 2**64]
    if wrong:
        raise _bad(f"{len(wrong)} integers beyond 64 bits (first: {wrong[0]})", "Pass them as text.")
    return np.array([v & _MASK for v in values], dtype=np.uint64)


def _refuse_missing(missing: int, n: int) -> None:
    if missing:
        raise DataError(
            f"Every row needs an id, but {missing} of {n} ids are missing; fill or drop those rows."
        )


def _bad(came: str, advice: str) -> DataError:
    return DataError(f"ids must be integers or text, one per row, but got {came}. {advice}")
