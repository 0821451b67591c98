"""XXH64 bit for bit: against the wheel of the reference implementation."""

from __future__ import annotations

import random
import struct

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.errors import DataError
from fairroc.model import xxh64
from fairroc.model.xxh64 import xxh64_bytes, xxh64_ints, xxh64_texts

INT64 = st.integers(-(2**63), 2**63 - 1)
SEEDS = st.integers(0, 2**64 - 1)


def wheel_int(value: int, seed: int) -> int:
    return xxhash.xxh64_intdigest(struct.pack("<Q", value % 2**64), seed)


def wheel_text(text: str, seed: int) -> int:
    return xxhash.xxh64_intdigest(text.encode(), seed)


@settings(deadline=None)
@given(st.lists(INT64, max_size=30), SEEDS)
def test_ints_equal_the_wheel(values, seed):
    got = xxh64_ints(np.array(values, dtype=np.int64), seed)
    assert got.dtype == np.uint64
    assert got.tolist() == [wheel_int(v, seed) for v in values]


@given(st.binary(max_size=100), SEEDS)
def test_few_bytes_equal_the_wheel(data, seed):
    assert xxh64_bytes(data, seed) == xxhash.xxh64_intdigest(data, seed)


def test_ints_at_the_extremes_and_of_every_dtype():
    for dtype in (
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.uint8,
        np.uint16,
        np.uint32,
        np.uint64,
        ">i8",
        ">u2",
    ):
        info = np.iinfo(dtype)
        values = np.array([info.min, 0, 1, info.max - 1, info.max], dtype=dtype)
        want = [wheel_int(int(v), 3) for v in values]
        assert xxh64_ints(values, 3).tolist() == want
        assert xxh64_ints(values[::-1], 3).tolist() == want[::-1]
    wrapped = xxh64_ints(np.array([2**64 - 1], dtype=np.uint64), 3)
    assert wrapped.tolist() == xxh64_ints(np.array([-1]), 3).tolist()


def test_seeds_may_be_signed_or_unsigned():
    values = np.array([1, 2])
    assert xxh64_ints(values, -1).tolist() == xxh64_ints(values, 2**64 - 1).tolist()
    assert xxh64_texts(["a" * 40], -1).tolist() == [wheel_text("a" * 40, 2**64 - 1)]


def test_input_is_left_as_it_was():
    values = np.arange(10)
    xxh64_ints(values, 1)
    assert values.tolist() == list(range(10))


@settings(deadline=None)
@given(st.lists(st.text(max_size=100), max_size=30), SEEDS)
def test_texts_equal_the_wheel(texts, seed):
    got = xxh64_texts(texts, seed)
    assert got.dtype == np.uint64
    assert got.tolist() == [wheel_text(t, seed) for t in texts]


@pytest.mark.parametrize("seed", [0, 1, 42, 2**63, 2**64 - 1])
def test_texts_of_every_length(seed):
    rng = random.Random(seed)
    texts = ["".join(rng.choices("aé漢😀z0", k=n)) for n in range(101)]
    texts += ["x" * n for n in range(101)] + ["y" * 1000, "z" * 4096, "", "a\0b"]
    rng.shuffle(texts)
    assert xxh64_texts(texts, seed).tolist() == [wheel_text(t, seed) for t in texts]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 8, 12, 16, 24, 31, 32, 33, 63, 64, 65])
def test_texts_all_of_one_length(size):
    texts = [f"{k:0{size}d}"[:size] for k in range(9)]
    assert xxh64_texts(texts, 5).tolist() == [wheel_text(t, 5) for t in texts]


def test_many_blocks(monkeypatch):
    monkeypatch.setattr(xxh64, "BLOCK", 8)
    values = np.arange(-20, 21)
    texts = [str(v) * (v % 23) for v in range(41)]
    assert xxh64_ints(values, 1).tolist() == [wheel_int(int(v), 1) for v in values]
    assert xxh64_texts(texts, 1).tolist() == [wheel_text(t, 1) for t in texts]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_arrow_text_types_slices_and_chunks(kind):
    texts = ["", "a", "é漢", "12345678", "x" * 50, "y" * 33, "last"]
    want = [wheel_text(t, 9) for t in texts]
    column = pa.array(texts, type=kind)
    assert xxh64_texts(column, 9).tolist() == want
    assert xxh64_texts(column[2:6], 9).tolist() == want[2:6]
    chunked = pa.chunked_array([column[:3], column[3:3], column[3:]])
    assert xxh64_texts(chunked, 9).tolist() == want
    assert xxh64_texts(chunked.slice(1, 4), 9).tolist() == want[1:5]
    assert xxh64_texts(column[:0], 9).size == 0
    assert xxh64_texts(pa.chunked_array([], type=kind), 9).size == 0


def test_xxh64_ints_wants_integers():
    for wrong in (np.array([1.0]), np.array(["1"]), np.array([True])):
        words = f"^xxh64_ints needs an integer array, got {wrong.dtype}; convert it first"
        with pytest.raises(DataError, match=words):
            xxh64_ints(wrong, 0)


def test_xxh64_texts_wants_no_nulls():
    with pytest.raises(DataError, match="1 of 2 ids are missing"):
        xxh64_texts(["a", None], 0)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_bytes_of_every_length(seed):
    """One text at a time: every number of stripes, words, half words and bytes."""
    data = bytes(range(7, 251))
    for size in range(len(data)):
        assert xxh64_bytes(data[:size], seed) == xxhash.xxh64_intdigest(data[:size], seed)
