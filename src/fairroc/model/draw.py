"""Uniform numbers for rows: the only place where randomness enters.

With row ids, the uniform is a keyed hash of the id: the same person, model and key always give the same
number, in any order, batch, process or engine. XXH64 is used because numpy here and Spark SQL's ``xxhash64``
compute the same bits, fast. See ``docs/explanation/draws.md`` for what the key does and does not protect.
"""

from __future__ import annotations

import hashlib
import numbers
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, time, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError, warn_user
from fairroc.model.xxh64 import (
    BLOCK,
    MASK,
    U64,
    arrow,
    refuse_missing,
    text_chunks,
    xxh64_bytes,
    xxh64_ints,
    xxh64_texts,
)
from fairroc.options import generator_from_state
from fairroc.tables.columns import as_numpy

Hasher: TypeAlias = Callable[[Any], U64]

KEY_BYTES = 16
"""The shortest key: what is shorter can be found by trying, with the fingerprint in the model file."""

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: multiples are spread evenly
_SPARK_SEED = 42  # what Spark's xxhash64(...) starts from
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


HIDDEN = "(hidden)"


class Secret(str):
    """A key that nothing shows: its text, in every form, is "(hidden)", and a pickle holds a fingerprint in its place.

    Copies within a process keep the key. Equal is what has the same bytes, text or not. The text "(hidden)", which the
    files of some tools hold, is a key that was lost.

    >>> key = Secret("a secret of 16 bytes or more")
    >>> print(key, repr(key), key == "a secret of 16 bytes or more", len(key.reveal()))
    (hidden) '(hidden)' True 28
    """

    __slots__ = ("_bytes", "mark")
    _bytes: bytes | None
    mark: str

    def __new__(cls, key: Any) -> Secret:
        """From bytes, or text as UTF-8; a secret stays what it is."""
        if isinstance(key, Secret):
            return key
        if key == HIDDEN:
            return cls.lost("")
        data = key.encode(errors="surrogatepass") if isinstance(key, str) else bytes(key)
        mark = hashlib.blake2b(key=_squeezed(data), digest_size=8, person=b"fairroc.secret").hexdigest()
        return cls._made(data, mark)

    @classmethod
    def _made(cls, data: bytes | None, mark: str) -> Secret:
        self = super().__new__(cls, HIDDEN)
        self._bytes, self.mark = data, mark
        return self

    @classmethod
    def lost(cls, mark: str) -> Secret:
        """What a pickle holds: that there was a key, not which one."""
        return cls._made(None, mark)

    @property
    def is_lost(self) -> bool:
        return self._bytes is None

    def reveal(self) -> bytes:
        """The key."""
        if self._bytes is None:
            raise DataError(
                "key must be given again, got an estimator out of a pickle or another file, which holds none. Use "
                "set_params(key=...)."
            )
        return self._bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (str, bytes)) and Secret(other).mark == self.mark

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.mark)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: Any) -> Secret:
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Secret.lost, (self.mark,)


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
    return xxh64_bytes(effective_salt(salt, key).to_bytes(8, "little", signed=True), _SPARK_SEED)


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
    if len(key) < KEY_BYTES:
        raise DataError(
            f"The key file {os.fspath(path)!r} must hold at least {KEY_BYTES} random bytes, got {len(key)}; make one "
            "with 'head -c 32 /dev/urandom | base64'."
        )
    return key


def _salt_bytes(salt: int) -> bytes:
    if isinstance(salt, bool) or not isinstance(salt, (int, np.integer)) or not -(2**63) <= salt < 2**63:
        raise DataError(f"salt must be a signed 64-bit integer, got {salt!r}; use fairroc.model.draw.new_salt().")
    return int(salt).to_bytes(8, "little", signed=True)


def _key_bytes(key: bytes | str) -> bytes:
    """Key as 16 to 64 bytes; a longer one is hashed first."""
    if not isinstance(key, (bytes, str)):
        raise DataError(f"key must be bytes, text or None, got {type(key).__name__}; encode it first.")
    raw = Secret(key).reveal()
    if len(raw) < KEY_BYTES:
        raise DataError(
            f"key must be at least {KEY_BYTES} random bytes, got {len(raw)}: a shorter one can be found by trying. "
            "Take secrets.token_hex(32), or None for no key."
        )
    return _squeezed(raw)


def _squeezed(raw: bytes) -> bytes:
    return raw if len(raw) <= 64 else hashlib.blake2b(raw).digest()


def uniforms_from_ids(
    ids: Any,
    *,
    salt: int,
    key: bytes | str | None = None,
    hash: str = "xxh64",
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
        raise DataError(f'hash must be "xxh64" or "blake2b", got {hash!r}; choose one of the two.')
    hasher = _xxh64_hasher(salt, key) if hash == "xxh64" else _blake2b_hasher(salt, key)
    return _to_uniforms(_hash_ids(ids, hasher))


@dataclass(frozen=True, eq=False)
class IntegerDraws:
    """The draws of integer ids, hashed by XXH64 when they are asked for: where few rows are drawn, few are hashed."""

    ids: NDArray[np.integer[Any]]
    seed: int

    @cached_property
    def room(self) -> U64:
        return np.empty((2, min(BLOCK, len(self.ids))), dtype=np.uint64)

    @classmethod
    def of(cls, ids: NDArray[np.integer[Any]], *, salt: int, key: bytes | str | None = None) -> IntegerDraws:
        """For the ids of rows, a model's salt and its key."""
        return cls(ids, derive_seed(salt, key))

    def block(self, rows: NDArray[np.intp] | slice) -> NDArray[np.float64]:
        """The draws of up to BLOCK rows, as :func:`uniforms_from_ids` gives them, in memory that the next call uses
        again.

        >>> IntegerDraws.of(np.array([101, 102]), salt=7).block(np.array([1])).round(4)
        array([0.8216])
        """
        h = xxh64_ints(self.ids[rows], self.seed, self.room)
        h >>= np.uint64(11)
        return np.multiply(h.view(np.int64), 2.0**-53, out=self.room[1, : h.size].view(np.float64))


SKETCH = 1 << 10
"""Different ids that are counted exactly; of more than these, as many are looked at."""


class IdCount:
    """How many different ids rows have, one batch after the other: the k-minimum-values sketch of Bar-Yossef et al.

    The ids with the SKETCH smallest hashes are kept, with the number of rows of each: a sample of all ids that depends
    neither on the order of rows nor on batches.
    """

    def __init__(self) -> None:
        self.rows, self.limit = 0, 1.0  # hashes at or above the limit are passed over
        self.hashes, self.times = np.empty(0), np.empty(0, dtype=np.int64)

    def add(self, ids: NDArray[Any]) -> Self:
        """Count more rows, by integer ids or by the draws of any ids."""
        whole = ids.dtype.kind in "iu"
        marks: NDArray[Any] = _mixed(ids) if whole else ids
        below = min(self.limit, 1.25 * SKETCH / max(1, len(ids)))
        while below:
            limit = np.uint64(below * 2.0**64) if whole and below < 1.0 else below
            few = marks[marks < limit] if below < 1.0 else marks
            below = self._merge(few * 2.0**-64 if whole else few, below)
        self.rows += len(ids)
        return self

    def _merge(self, hashes: NDArray[np.float64], below: float) -> float:
        """Take in all hashes below some number; if too few of them are small, nothing is done: try those below what
        is returned, else 0."""
        hashes, times = np.unique(hashes, return_counts=True)
        if len(hashes) <= SKETCH and below < self.limit:
            return min(1.0, 1.25 * below * SKETCH / len(hashes) if len(hashes) > 32 else 32 * below)
        if len(self.hashes):
            hashes, times = np.append(self.hashes, hashes), np.append(self.times, times)
            order = np.argsort(hashes, kind="stable")
            first = np.flatnonzero(np.diff(hashes[order], prepend=-1.0))
            times, hashes = np.add.reduceat(times[order], first), hashes[order[first]]
        kept = min(SKETCH, int(hashes.searchsorted(self.limit)))
        self.limit = min(self.limit, *hashes[kept : kept + 1].tolist(), 1.0)
        self.hashes, self.times = hashes[:kept], times[:kept]
        return 0.0

    @property
    def repeat(self) -> bool:
        """Whether rows share an id, as far as was looked at."""
        return bool(self.times.max(initial=0) > 1) or self.different < self.rows

    @property
    def different(self) -> int:
        """How many different ids there are. Where not all were looked at, two estimates: from the rows of those looked
        at, which is better where ids have about as many, and from how dense hashes lie."""
        if self.limit >= 1.0:
            return len(self.hashes)
        dense, mean = SKETCH / self.limit, self.times.mean()
        even = self.times.std() < mean and abs(self.rows / mean - dense) < 5 * dense / SKETCH**0.5
        return min(round(self.rows / mean if even else dense), self.rows)

    def warn(self) -> None:
        """Warn of what `note` says."""
        if self.repeat:
            warn_user(self.note)

    @property
    def note(self) -> str:
        """What to warn of if rows share ids: a column that does not name people gives all of them a few draws."""
        about = "about " if self.limit < 1.0 else ""
        return (
            f"{self.rows:,} rows have {about}{self.different:,} different ids: rows with the same id share one draw. "
            "If each row is another person, pass ids (--id) that tell people apart."
        )


def _mixed(ids: NDArray[np.integer[Any]]) -> U64:
    """Integers spread over all of 64 bits, no two made the same."""
    marks = ids.astype(np.uint64, copy=False) * _ODD
    marks ^= marks >> np.uint64(32)
    marks *= _ODD
    return marks


def uniform_from_id(id: int | str, seed: int) -> float:
    """The draw of one id, as :func:`uniforms_from_ids` gives it; the seed is that of `derive_seed`.

    >>> round(uniform_from_id(101, derive_seed(7)), 4)
    0.1062
    """
    data = id.encode() if isinstance(id, str) else (id & MASK).to_bytes(8, "little")
    return (xxh64_bytes(data, seed) >> 11) * 2.0**-53


def _to_uniforms(h: U64) -> NDArray[np.float64]:
    """The upper 53 bits of hashes as numbers in [0, 1), in their place."""
    for lo in range(0, h.size, BLOCK):
        block = h[lo : lo + BLOCK]
        block >>= np.uint64(11)
        np.multiply(block.view(np.int64), 2.0**-53, out=block.view(np.float64))
    return h.view(np.float64)


def uniforms_from_state(random_state: int | np.random.Generator | np.random.RandomState, n: int) -> NDArray[np.float64]:
    """Draw ``n`` numbers in [0, 1) from a seed or a generator, never from numpy's global state.

    >>> uniforms_from_state(0, 2).round(4)
    array([0.637 , 0.2698])
    """
    if isinstance(random_state, np.random.RandomState):
        return np.asarray(random_state.random(n), dtype=np.float64)
    return generator_from_state(random_state).random(n)


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
            chunks = [c.cast(arrow().large_binary()) for c in text_chunks(column)]
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
        refuse_missing(int(np.isnat(ids).sum()), ids.size)
    if isinstance(ids, np.ma.MaskedArray) or kind not in "iufUS":
        return _hash_objects(list(ids), hasher)
    if kind in "iu":
        return hasher(ids)
    pa = arrow()
    if kind == "U":
        return hasher(pa.chunked_array(text_chunks(ids)))
    return _hash_arrow(pa.array(ids.astype(np.float64) if kind == "f" else ids), hasher)


def _hash_series(ids: Any, hasher: Hasher) -> U64:
    """Hash an Arrow, pandas or polars column, or whatever can become a numpy array."""
    import narwhals as nw

    pa = arrow()
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
    if not len(column):  # whatever its type: an empty numpy array is of floats
        return np.empty(0, dtype=np.uint64)
    kind, types = column.type, arrow().types
    if types.is_dictionary(kind):
        return _hash_arrow(column.cast(kind.value_type), hasher)
    if types.is_floating(kind):
        missing = int(np.isnan(column.to_numpy(zero_copy_only=False)).sum())
        raise _bad(f"{kind} ({missing} of {len(column)} missing)", _FLOAT)
    refuse_missing(column.null_count, len(column))
    if types.is_integer(kind):
        return hasher(as_numpy(column))
    if types.is_temporal(kind):
        raise _bad(str(kind), _DATE)
    if str(kind) in ("string", "large_string", "string_view", "binary", "large_binary"):
        return hasher(column)
    return _hash_objects(column.to_pylist(), hasher)


def _hash_objects(values: list[Any], hasher: Hasher) -> U64:
    """Hash each value by its own type."""
    if not values:  # at once: pyarrow would load pandas
        return np.empty(0, dtype=np.uint64)
    kinds = set(map(type, values))
    if kinds == {str}:
        return hasher(values)
    if kinds == {int}:
        return hasher(_to_64_bits(values))
    plain = [_plain(v) for v in values]
    refuse_missing(plain.count(None), len(plain))
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
    return np.array([v & MASK for v in values], dtype=np.uint64)


def _bad(given: str, advice: str) -> DataError:
    return DataError(f"ids must be integers or text, one per row, got {given}. {advice}")
