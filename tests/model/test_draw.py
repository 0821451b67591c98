"""The draws: ids by type, salts and keys, and every refusal."""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import fractions
import pickle
import re
import struct
import subprocess
import sys
import uuid
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairroc.errors import DataError, FairrocWarning
from fairroc.model import draw, xxh64
from fairroc.model.draw import (
    SKETCH,
    IdCount,
    IntegerDraws,
    Secret,
    derive_seed,
    effective_salt,
    key_fingerprint,
    new_salt,
    read_key_file,
    uniform_from_id,
    uniforms_from_ids,
    uniforms_from_state,
)
from refusals import refuses

INT64 = st.integers(-(2**63), 2**63 - 1)
KEY = b"0123456789abcdef"
HASHES = ("xxh64", "blake2b")


def wheel_int(value: int, seed: int) -> int:
    return xxhash.xxh64_intdigest(struct.pack("<Q", value % 2**64), seed)


def wheel_text(text: str, seed: int) -> int:
    return xxhash.xxh64_intdigest(text.encode(), seed)


def draws(ids, salt=7, **options):
    return uniforms_from_ids(ids, salt=salt, **options)


# ---- salts and keys ----------------------------------------------------------------------------------------


def test_spark_chains_columns_from_seed_42():
    """The example in Spark's own documentation: xxhash64('Spark', array(123), 2)."""
    h = xxhash.xxh64_intdigest(b"Spark", 42)
    for value in (123, 2):
        h = xxhash.xxh64_intdigest(struct.pack("<i", value), h)
    assert struct.unpack("<q", struct.pack("<Q", h)) == (5602566077635097486,)


@pytest.mark.parametrize("key", [None, KEY])
@settings(deadline=None)
@given(salt=INT64, number=INT64, text=st.text())
def test_draw_is_sparks_two_column_hash(key, salt, number, text):
    effective = effective_salt(salt, key)
    seed = wheel_int(effective, 42)
    assert derive_seed(salt, key) == seed
    want = [(wheel_int(number, seed) >> 11) * 2.0**-53, (wheel_text(text, seed) >> 11) * 2.0**-53]
    assert draws([number], salt, key=key).tolist() == want[:1]
    assert draws([text], salt, key=key).tolist() == want[1:]


def test_pinned_values():
    """These must never change: stored models would give other draws."""
    assert effective_salt(7, KEY) == -7609902384001511343
    assert key_fingerprint(7, KEY) == "f876c279b8b23cc1"
    assert draws([1, "1"]).tolist() == [0.1686014787181892, 0.5278254848475714]
    assert draws([1, "1"], key=KEY).tolist() == [0.6801304414623135, 0.4942066665877747]
    assert draws([1, "1"], key=KEY, hash="blake2b").tolist() == [0.10537429823147937, 0.13086075942222197]
    assert draws([1, "1"], hash="blake2b").tolist() == [0.07058025045900873, 0.7219152144086405]


def test_new_salts_are_signed_64_bit_and_differ():
    salts = [new_salt() for _ in range(200)]
    assert len(set(salts)) == 200
    assert all(-(2**63) <= s < 2**63 for s in salts)
    assert any(s < 0 for s in salts)
    assert any(s > 0 for s in salts)


def test_keys():
    assert effective_salt(7) == 7
    assert effective_salt(7, KEY.decode()) == effective_salt(7, KEY) != effective_salt(8, KEY)
    assert effective_salt(7, b"k" * 64) != effective_salt(7, b"k" * 65) != effective_salt(7, b"k" * 66)
    assert -(2**63) <= effective_salt(7, KEY) < 2**63
    assert effective_salt(np.int64(7), KEY) == effective_salt(7, KEY)


def test_fingerprint_follows_the_key():
    mark = key_fingerprint(7, KEY)
    assert len(mark) == 16
    assert int(mark, 16) >= 0
    assert mark == key_fingerprint(7, KEY.decode())
    assert mark != key_fingerprint(7, KEY + b"!")
    assert mark != key_fingerprint(8, KEY)
    assert effective_salt(7, KEY).to_bytes(8, "little", signed=True).hex() != mark


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_key_file(tmp_path, end):
    path = tmp_path / "key"
    path.write_bytes(b"secret\nof two lines" + end)
    assert read_key_file(path) == read_key_file(str(path)) == b"secret\nof two lines"


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n", b"x" * 15 + b"\r\n"])
def test_short_key_file(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    got = len(content.strip())
    refuses(rf"key file '.*key' must hold at least 16 random bytes, got {got}; make one", read_key_file, path)


def test_key_file_missing(tmp_path):
    refuses(r"must exist and be readable, but '.*none' is not \(No such file.*check", read_key_file, tmp_path / "none")


@pytest.mark.parametrize("function", [effective_salt, derive_seed, key_fingerprint])
@pytest.mark.parametrize("key", [b"", "", "k", b"0123456789abcde"])
def test_short_key(function, key):
    refuses(rf"key must be at least 16 random bytes, got {len(key)}: .*, or None", function, 7, key)


def test_key_of_a_wrong_type():
    refuses(r"key must be bytes, text or None, got int; encode it first", derive_seed, 7, 5)


@pytest.mark.parametrize("salt", [2**63, -(2**63) - 1, 1.0, True, None, "7"])
@pytest.mark.parametrize("hash_name", HASHES)
def test_bad_salt(salt, hash_name):
    refuses(r"salt must be a signed 64-bit integer, got .*; use .*new_salt\(\)", draws, [1], salt, hash=hash_name)


# ---- uniforms from ids -------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("hash_name", HASHES)
@pytest.mark.parametrize("kind", [int, str])
def test_draws_are_uniform(key, hash_name, kind):
    n = 20_000
    u = np.sort(draws([kind(k) for k in range(n)], key=key, hash=hash_name))
    assert u.dtype == np.float64
    assert u[0] >= 0
    assert u[-1] < 1
    grid = np.arange(n + 1) / n
    distance = max(np.max(grid[1:] - u), np.max(u - grid[:-1]))
    assert distance < 1.95 / np.sqrt(n)
    assert np.unique(u).size == n


def test_largest_hash_stays_below_one(monkeypatch):
    monkeypatch.setattr(draw, "xxh64_ints", lambda v, seed: np.full(v.size, 2**64 - 1, dtype=np.uint64))
    monkeypatch.setattr(draw, "derive_seed", lambda salt, key: 0)
    assert draws(np.array([1])).tolist() == [1 - 2.0**-53]


@pytest.mark.parametrize("hash_name", HASHES)
@settings(deadline=None)
@given(ids=st.lists(INT64 | st.text(), min_size=1), rng=st.randoms(use_true_random=False))
def test_order_and_batches_do_not_matter(hash_name, ids, rng):
    whole = draws(ids, hash=hash_name)
    by_id = dict(zip([(type(i), i) for i in ids], whole, strict=True))
    shuffled = rng.sample(ids, len(ids))
    assert draws(shuffled, hash=hash_name).tolist() == [by_id[type(i), i] for i in shuffled]
    cut = rng.randint(0, len(ids))
    parts = np.concatenate([draws(ids[:cut], hash=hash_name), draws(ids[cut:], hash=hash_name)])
    assert parts.tolist() == whole.tolist()


def test_input_is_left_as_it_was():
    values = np.arange(10)
    draws(values)
    assert values.tolist() == list(range(10))


INTS = [5, 0, 3, 127, 5]
INT_COLUMNS = {
    "tuple": tuple(INTS),
    "numpy scalars": [np.int8(v) for v in INTS],
    **{f"numpy {t}": np.array(INTS, dtype=t) for t in ("i1", "u1", "i2", "u4", "i8", "u8", ">i4", object)},
    "numpy strided": np.repeat(INTS, 2)[::2],
    "masked, none masked": np.ma.array(INTS, mask=[False] * 5),
    "pandas": pd.Series(INTS, index=[9, 8, 7, 6, 5]),
    "pandas Int64": pd.Series(INTS, dtype="Int64"),
    "pandas arrow": pd.Series(INTS, dtype="int32[pyarrow]"),
    "pandas object": pd.Series(INTS, dtype=object),
    "pandas category": pd.Series(INTS, dtype="category"),
    "pandas Index": pd.Index(INTS),
    "pandas array": pd.array(INTS, dtype="Int64"),
    "polars": pl.Series(INTS),
    "polars u16": pl.Series(INTS, dtype=pl.UInt16),
    "polars i128": pl.Series(INTS, dtype=pl.Int128),
    "narwhals": nw.from_native(pl.Series(INTS), series_only=True),
    "arrow": pa.array(INTS),
    "arrow u8": pa.array(INTS, type=pa.uint8()),
    "arrow sliced": pa.array([1, None, *INTS, 4])[2:7],
    "arrow chunked": pa.chunked_array([INTS[:2], [], INTS[2:]]),
    "arrow dictionary": pa.array(INTS).dictionary_encode(),
}
TEXTS = ["b", "a1", "", "x" * 40, "é漢"]
TEXT_COLUMNS = {
    "tuple": tuple(TEXTS),
    "numpy": np.array(TEXTS),
    "numpy object": np.array(TEXTS, dtype=object),
    "numpy bytes": np.array([t.encode() for t in TEXTS]),
    "numpy strided": np.repeat(TEXTS, 2)[::2],
    "bytes": [t.encode() for t in TEXTS],
    "str and bytes": [TEXTS[0], *(t.encode() for t in TEXTS[1:])],
    "str_": [np.str_(t) for t in TEXTS],
    "pandas": pd.Series(TEXTS),
    "pandas object": pd.Series(TEXTS, dtype=object),
    "pandas bytes": pd.Series([t.encode() for t in TEXTS]),
    "pandas string": pd.Series(TEXTS, dtype="string"),
    "pandas category": pd.Series(TEXTS, dtype="category"),
    "pandas Categorical": pd.Categorical(TEXTS),
    "pandas Index": pd.Index(TEXTS),
    "polars": pl.Series(TEXTS),
    "polars categorical": pl.Series(TEXTS, dtype=pl.Categorical),
    "polars enum": pl.Series(TEXTS, dtype=pl.Enum(TEXTS)),
    "polars object": pl.Series(TEXTS, dtype=pl.Object),
    "polars binary": pl.Series([t.encode() for t in TEXTS]),
    "arrow": pa.array(TEXTS),
    "arrow view": pa.array(TEXTS, type=pa.string_view()),
    "arrow binary": pa.array([t.encode() for t in TEXTS]),
    "arrow sliced": pa.array(["no", None, *TEXTS, "no"])[2:7],
    "arrow chunked": pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
    "arrow dictionary": pa.array(TEXTS).dictionary_encode(),
    "arrow dictionary chunked": pa.chunked_array([TEXTS[:1], TEXTS[1:]]).dictionary_encode(),
}

if hasattr(np.dtypes, "StringDType"):  # numpy 2
    TEXT_COLUMNS["numpy StringDType"] = np.array(TEXTS, dtype=np.dtypes.StringDType())


@pytest.mark.parametrize("hash_name", HASHES)
@pytest.mark.parametrize("name", INT_COLUMNS)
def test_integers_in_every_container(name, hash_name):
    got = draws(INT_COLUMNS[name], hash=hash_name)
    assert got.tolist() == draws(INTS, hash=hash_name).tolist()
    assert got[0] == got[4]


@pytest.mark.parametrize("hash_name", HASHES)
@pytest.mark.parametrize("name", TEXT_COLUMNS)
def test_texts_in_every_container(name, hash_name):
    assert draws(TEXT_COLUMNS[name], hash=hash_name).tolist() == draws(TEXTS, hash=hash_name).tolist()


@pytest.mark.parametrize("hash_name", HASHES)
@pytest.mark.parametrize(
    "make",
    [
        list,
        pd.Series,
        pd.Index,
        lambda v: pd.Series(v, dtype="category"),
        lambda v: np.array(v, dtype=object),
    ],
)
def test_mixed_columns_go_by_each_type(make, hash_name):
    mixed = draws(make([1, "1", 2, "b"]), hash=hash_name)
    assert mixed[[0, 2]].tolist() == draws([1, 2], hash=hash_name).tolist()
    assert mixed[[1, 3]].tolist() == draws(["1", "b"], hash=hash_name).tolist()
    assert mixed[0] != mixed[1]


def test_other_objects_go_by_their_text():
    class Plain(str, enum.Enum):  # noqa: UP042
        A = "a"

    someone = uuid.UUID(int=12345)
    for column in (
        [someone],
        pd.Series([someone]),
        pl.Series([someone], dtype=pl.Object),
        pa.array([someone]),
    ):
        assert draws(column).tolist() == draws([str(someone)]).tolist()
    assert draws([decimal.Decimal("1.50")]).tolist() == draws(["1.50"]).tolist()
    assert draws(pl.Series([decimal.Decimal("1.50")])).tolist() == draws(["1.50"]).tolist()
    assert draws([Plain.A]).tolist() == draws(["a"]).tolist()


@pytest.mark.parametrize("hash_name", HASHES)
def test_big_unsigned_ids_wrap(hash_name):
    big = [2**63, 2**64 - 1, 1]
    want = draws([-(2**63), -1, 1], hash=hash_name).tolist()
    for column in (
        big,
        np.array(big, dtype=np.uint64),
        pl.Series(big, dtype=pl.UInt64),
        [*big[:2], np.int8(1)],
    ):
        assert draws(column, hash=hash_name).tolist() == want


@pytest.mark.parametrize("hash_name", HASHES)
@pytest.mark.parametrize(
    "empty",
    [
        [],
        (),
        range(0),
        np.array([]),
        np.array([]).astype(int),
        np.array([], dtype="U3"),
        np.array([], dtype="S3"),
        np.array([], dtype="M8[s]"),
        np.array([], dtype=bool),
        np.array([], dtype=object),
        np.ma.array([]),
        pa.array([]),
        pa.array([], type=pa.float32()),
        pa.array([], type=pa.date32()),
        pa.array([], type=pa.list_(pa.int8())),
        pa.array([], type=pa.string()).dictionary_encode(),
        pa.chunked_array([], type=pa.float64()),
        pd.Series([]),
        pd.Series([], dtype=float),
        pd.Series([], dtype="Int64"),
        pd.Series([], dtype="category"),
        pd.Index([]),
        pd.Series([1, 2])[:0],
        pl.Series([]),
        pl.Series([], dtype=pl.Float64),
        pl.Series([], dtype=pl.Object),
        pl.Series(["a"])[:0],
    ],
)
def test_no_ids_no_draws(empty, hash_name):
    got = draws(empty, hash=hash_name)
    assert got.shape == (0,)
    assert got.dtype == np.float64


def test_salt_key_and_hash_change_every_draw():
    ids = np.arange(500)
    versions = [
        draws(ids, salt, key=key, hash=name)
        for salt in (7, 8)
        for key in (None, KEY, KEY + b"!", b"k" * 65)
        for name in HASHES
    ]
    assert np.unique(np.stack(versions)).size == len(versions) * 500
    assert np.abs(np.corrcoef(np.stack(versions)) - np.eye(len(versions))).max() < 0.2


def seed_behind(h, number):
    """Undo XXH64 of one integer: the seed is all that is unknown, and every step can be undone."""
    p1, p2, p3, p4, p5 = (int(p) for p in (xxh64._P1, xxh64._P2, xxh64._P3, xxh64._P4, xxh64._P5))
    word = number * p2 % 2**64
    word = (word << 31 | word >> 33) % 2**64 * p1 % 2**64
    h ^= h >> 32
    h = h * pow(p3, -1, 2**64) % 2**64
    h ^= (h >> 29) ^ (h >> 58)
    h = h * pow(p2, -1, 2**64) % 2**64
    h ^= h >> 33
    h = (h - p4) * pow(p1, -1, 2**64) % 2**64
    h = (h >> 27 | h << 37) % 2**64
    return ((h ^ word) - p5 - 8) % 2**64


def test_two_published_draws_give_the_xxh64_seed_away():
    """Why docs/explanation/draws.md says to keep draws secret, or to use BLAKE2b."""
    seed = derive_seed(7, KEY)
    seen = [int(u * 2**53) for u in draws([11, 12], key=KEY)]
    guesses = (seed_behind(seen[0] << 11 | low, 11) for low in range(2**11))
    assert [g for g in guesses if wheel_int(12, g) >> 11 == seen[1]] == [seed]


def test_another_process_draws_the_same():
    code = "from fairroc.model.draw import uniforms_from_ids as u; print(u([1, 'a'], salt=7, key='k' * 16).tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(draws([1, "a"], key="k" * 16).tolist())


# ---- refusals ----------------------------------------------------------------------------------------------

MISSING = [
    [1, None, 3, float("nan")],
    ["a", None, "b", None],
    ["a", pd.NA, pd.NaT, 1],
    [decimal.Decimal("NaN"), np.datetime64("NaT"), "a", 2],
    np.array(["a", None, None, "b"], dtype=object),
    np.array(["2020-01-01", "NaT", "NaT", "2020-01-01"], dtype="M8[D]"),
    np.ma.array([1, 2, 3, 4], mask=[True, True, False, False]),
    pd.Series([1, None, 3, None], dtype="Int64"),
    pd.Series(["a", None, None, "b"]),
    pd.Series(["a", None, None, "b"], dtype=object),
    pd.Series(["a", None, None, "b"], dtype="category"),
    pd.Index(["a", None, None, "b"]),
    pl.Series([1, None, 3, None]),
    pl.Series(["a", None, None, "b"]),
    pa.array([1, None, 3, None]),
    pa.array(["a", None, None, "b"]).dictionary_encode(),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 0]), pa.array(["a", None])),
]


@pytest.mark.parametrize("ids", MISSING, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("hash_name", HASHES)
def test_missing_ids_are_counted(ids, hash_name):
    refuses(r"Every row needs an id, but 2 of 4 ids are missing; fill or drop those rows", draws, ids, hash=hash_name)


def test_all_missing():
    for column in ([None], pa.array([None]), pl.Series([None])):
        refuses("1 of 1 ids are missing", draws, column)


@pytest.mark.parametrize(
    "ids",
    [
        np.array([1.0, np.nan, 3.0]),
        np.array([1.0, np.nan, 3.0], dtype=np.float16),
        pd.Series([1, None, 3]),
        pd.Series([1.0, None, 3.0], dtype="Float64"),
        pd.Index([1.0, None, 3.0]),
        pl.Series([1.0, float("nan"), 3.0]),
        pa.array([1.0, None, 3.0]),
    ],
    ids=lambda c: type(c).__name__,
)
def test_float_columns(ids):
    want = r"must be integers or text.*, got \w+ \(1 of 3 missing\)\. A float id column usually is an integer"
    refuses(want + r".*missing values: fill or drop.*int64.*turn them into text", draws, ids)


NAMED = "ids must be integers or text, one per row, got "
REFUSED = {
    "float": ([1.5, 2], "float. A float id column"),
    "numpy float": (["a", np.float32(2)], "float32. A float id column"),
    "complex": (np.array([1j]), "complex128. A float id column"),
    "fraction": ([fractions.Fraction(1, 2)], "Fraction. A float id column"),
    "bool": ([True, 1], "bool. A bool cannot tell rows apart: pass the column that names the person"),
    "numpy bools": (np.array([True]), "bool"),
    "pandas bools": (pd.Series([True]), "bool. A bool cannot"),
    "polars bools": (pl.Series([True]), "bool. A bool cannot"),
    "arrow bools": (pa.array([True]), "bool. A bool cannot"),
    "dates": (
        [datetime.date(2020, 1, 1)],
        "date. Dates and times read differently in different engines: turn them",
    ),
    "numpy dates": (np.array(["2020-01-01"], dtype="M8[s]"), "datetime64. Dates and times"),
    "numpy nanoseconds": (np.array(["2020-01-01"], dtype="M8[ns]"), "datetime64. Dates and times"),
    "numpy months": (np.array(["2020-01"], dtype="M8[M]"), "datetime64. Dates and times"),
    "numpy long double": (np.array([1], dtype=np.longdouble), "double (0 of 1 missing). A float id column"),
    "numpy records": (np.array([(1, 2)], dtype="i4,i4"), "void. Ids must be one column"),
    "span": ([np.timedelta64(3, "ns")], "timedelta64. Dates and times"),
    "numpy spans": (np.array([3], dtype="m8[s]"), "timedelta64. Dates and times"),
    "pandas dates": (pd.Series(pd.to_datetime(["2020-01-01"])), "timestamp["),
    "polars dates": (pl.Series([datetime.date(2020, 1, 1)]), "date32[day]. Dates and times"),
    "2-d": (np.ones((2, 2), dtype=int), "shape (2, 2). Ids must be one column (1-d): join the parts"),
    "0-d": (np.array(3), "shape (). Ids must be one column"),
    "nested": ([[1, 2], [3, 4]], "list. Ids must be one column"),
    "pairs": ([(1, "a")], "tuple. Ids must be one column"),
    "MultiIndex": (pd.MultiIndex.from_tuples([(1, "a")]), "tuple. Ids must be one column"),
    "arrow lists": (pa.array([[1]]), "list. Ids must be one column"),
    "pandas frame": (pd.DataFrame({"a": [1]}), "shape (1, 1). Ids must be one column"),
    "polars frame": (pl.DataFrame({"a": [1]}), "shape (1, 1). Ids must be one column"),
    "one text": ("abc", "a str. Pass one column of ids: a list, an array or a Series"),
    "nothing": (None, "a NoneType. Pass one column"),
    "dict": ({"a": 1}, "a dict. Pass one column"),
    "set": ({1, 2}, "a set. Pass one column"),
    "objects": ([object()], "object. Such objects have no fixed text form: pass text or integers"),
    "big": ([1, 2**64, -(2**63) - 1], f"2 integers beyond 64 bits (first: {2**64}). Pass them as text"),
    "big polars": (pl.Series([2**100], dtype=pl.Int128), f"1 integers beyond 64 bits (first: {2**100})"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_ids(name):
    ids, words = REFUSED[name]
    with pytest.raises(DataError) as caught:
        draws(ids)
    assert str(caught.value).startswith(NAMED + words)


@pytest.mark.parametrize(
    "ids",
    [
        [b"\xff"],
        np.array([b"\xff"]),
        pd.Series([b"\xff"]),
        pa.array([b"\xff"]),
        pa.array([b"\xff"], type=pa.large_binary()),
        pa.array([b"\xff"], type=pa.binary(1)),
        ["\ud800"],
        np.array(["\ud800"]),
    ],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.parametrize("hash_name", HASHES)
def test_text_must_be_utf8(ids, hash_name):
    refuses(r"Text ids must be valid UTF-8 text, but could not be read \(.*\); decode or", draws, ids, hash=hash_name)


def test_unknown_hash():
    refuses('hash must be "xxh64" or "blake2b", got \'md5\'; choose one of the two', draws, [1], hash="md5")


# ---- uniforms from a random state --------------------------------------------------------------------------


def test_random_states():
    want = np.random.default_rng(3).random(5).tolist()
    assert uniforms_from_state(3, 5).tolist() == want
    assert uniforms_from_state(np.int32(3), 5).tolist() == want
    assert uniforms_from_state(np.random.default_rng(3), 5).tolist() == want
    legacy = np.random.RandomState(3)
    assert uniforms_from_state(legacy, 5).tolist() == np.random.RandomState(3).random_sample(5).tolist()
    rng = np.random.default_rng(3)
    assert uniforms_from_state(rng, 5).tolist() != uniforms_from_state(rng, 5).tolist()
    assert uniforms_from_state(0, 0).shape == (0,)


@pytest.mark.parametrize("state", [True, -1, None, 1.0, "0", np.int64(-2), np.random])
def test_bad_random_state(state):
    want = r"random_state must be an integer of 0 or more, a numpy Generator or a RandomState, got .*; pass"
    refuses(want, uniforms_from_state, state, 3)


def test_global_numpy_state_is_untouched():
    before = np.random.get_state()  # noqa: NPY002
    draws([1, "a"])
    draws(np.arange(5), key=KEY, hash="blake2b")
    uniforms_from_state(1, 5)
    uniforms_from_state(np.random.default_rng(1), 5)
    uniforms_from_state(np.random.RandomState(1), 5)
    new_salt()
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    assert np.array_equal(before[1], after[1])
    assert before[2:] == after[2:]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50), st.booleans())
def test_integer_draws_are_the_draws_of_the_ids(ids, keyed):
    """Some rows, all rows, a slice: the numbers that hashing all ids gives."""
    values, key = np.array(ids, dtype=np.int64), "a secret of 16 bytes" if keyed else None
    every = uniforms_from_ids(values, salt=5, key=key)
    draws = IntegerDraws.of(values, salt=5, key=key)
    rows = np.arange(len(ids))[::-2]
    for some in (rows, slice(1, None), slice(0, 1)):
        found = draws.block(some)
        assert np.array_equal(found, every[some])
        assert np.shares_memory(found, draws.room) or not len(found)


# ---- ids that repeat ---------------------------------------------------------------------------------------------


def counted(batches: Sequence[NDArray[Any]]) -> IdCount:
    count = IdCount()
    for batch in batches:
        count.add(batch)
    return count


@settings(max_examples=60)
@given(
    ids=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3000), max_size=300),
    times=st.integers(1, 40),
    parts=st.integers(1, 6),
    seed=st.integers(0, 9),
)
def test_the_count_of_ids(ids: list[int], times: int, parts: int, seed: int) -> None:
    """Exact while there are few, and in any order and batch the same, by ids and by their draws."""
    rows = np.random.default_rng(seed).permutation(np.array(ids * times, dtype=np.int64))
    for marks in (rows, uniforms_from_ids(rows, salt=1)):
        for count in (counted([marks]), counted(np.array_split(marks, parts))):
            assert (count.rows, count.different) == (len(rows), len(set(ids)))
            assert count.repeat == (len(set(ids)) < len(rows))


@pytest.mark.parametrize("shape", ["all different", "three each", "a few", "one id has half of the rows", "zipf"])
def test_the_estimate_of_many_ids(shape: str) -> None:
    """The ids with the smallest hashes, found by sorting all; what they say of all is right to 10 %."""
    rng = np.random.default_rng(0)
    ids = {
        "all different": rng.permutation(30_000),
        "three each": np.repeat(np.arange(10_000), 3),
        "a few": np.append(np.arange(30_000), np.arange(3000)),
        "one id has half of the rows": np.append(np.arange(15_000), np.full(15_000, -1)),
        "zipf": rng.zipf(1.3, 30_000),
    }[shape]
    draws = uniforms_from_ids(rng.permutation(ids), salt=2)
    hashes, times = np.unique(draws, return_counts=True)
    for count in (counted([draws]), counted(np.array_split(draws, 9)), counted(np.array_split(draws, 400))):
        assert np.array_equal(count.hashes, hashes[:SKETCH]) and np.array_equal(count.times, times[:SKETCH])
        assert count.limit == hashes[SKETCH] and count.repeat == (shape != "all different")
        assert count.different == pytest.approx(len(hashes), rel=0.1)
        assert shape != "all different" or count.different == len(ids)
    assert counted([ids]).different == pytest.approx(len(hashes), rel=0.1)


def test_what_is_said_of_repeated_ids() -> None:
    words = (
        " different ids: rows with the same id share one draw. If each row is another person, pass ids (--id) that "
        "tell people apart."
    )
    for ids, about in ((np.arange(1200) % 9, "1,200 rows have 9"), (np.arange(30_000) // 3, "30,000 rows have about ")):
        with pytest.warns(FairrocWarning) as said:
            counted([ids]).warn()
        message = str(said[0].message)
        assert message.startswith(about) and message.endswith(words) and re.search(r"(about )?[\d,]+ diff", message)
    counted([np.arange(1200)]).warn()
    counted([]).warn()


@pytest.mark.parametrize("key", ["a secret of some length", b"a secret of some length", "x" * 100, "\ud800" * 9])
def test_a_secret_is_equal_to_its_bytes_and_a_pickle_has_lost_them(key: str | bytes) -> None:
    secret, data = Secret(key), key.encode(errors="surrogatepass") if isinstance(key, str) else key
    assert secret.reveal() == data and not secret.is_lost and Secret(secret) is secret
    assert secret == key and secret == data and secret != data + b"!" and secret != 5
    assert hash(secret) == hash(Secret(data)) != hash(Secret(data + b"!"))
    assert copy.copy(secret) is copy.deepcopy(secret) is secret
    found = pickle.loads(pickle.dumps(secret))
    assert found.is_lost and found == secret and found.mark == secret.mark and str(found) == "(hidden)"
    assert len(secret.mark) == 16 and int(secret.mark, 16) >= 0
    refuses(r"^key must be given again, got an estimator out of a pickle.*\(key=...\)\.$", found.reveal)


@given(st.one_of(st.integers(-(2**63), 2**64 - 1), st.text(max_size=40)), st.integers(0, 2**32))
def test_one_id_draws_as_many_do(one, salt):
    """The quick way for one id gives the bits of the whole column."""
    assert uniform_from_id(one, derive_seed(salt)) == uniforms_from_ids([one], salt=salt)[0]
