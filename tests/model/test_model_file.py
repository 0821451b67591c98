"""The model file: everything comes back, bit for bit, and nothing broken goes in."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import re
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline import DATE, DRAW, EPSILONS, Rows, fitted, normal_rows, same_bits, worlds

import sql_cases
from fairroc import FairModel, __version__
from fairroc.core.kernel import Kernel
from fairroc.errors import FairrocWarning, ModelFileError
from fairroc.fitting.fit import fit
from fairroc.model.file import (
    ADDED,
    FORMAT,
    VERSION,
    _checksum,
    _disorder,
    _parsed,
    _Texts,
    _written,
    checksum_in,
    dumps,
    pretty,
)
from fairroc.people.door import read_people
from fitted_people import FairROC, fitted_options
from oracles import place_chance
from sql_cases import ONE_RATE
from strategies import NORMS, SEEDS

ROWS = normal_rows(31, n=300, digits=1)
MODEL = fitted(ROWS, 0.1, draw="all").model
ORDERED = fitted(normal_rows(34, n=1500), 0.3, draw="few").model
TEXT = MODEL.to_json()


def rewritten(text: str, change) -> str:
    """The file after a change of its data, with a checksum that fits."""
    body = json.loads(text)
    body.pop("checksum")
    change(body)
    body["checksum"] = _checksum(body)
    return json.dumps(body)


# ---- there and back ----------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(worlds(), EPSILONS, NORMS, DRAW)
def test_round_trip_is_exact(rows, epsilon, norm, draw):
    """Text, fair scores and acceptance rates of the model read back are the same bits; identity models too."""
    model = fitted(rows, epsilon, norm, draw).model
    back = FairModel.from_json(model.to_json())
    assert back.to_json() == model.to_json()
    how = {"sensitive_features": rows.groups}
    ids = np.arange(len(rows.y))
    assert same_bits(back.transform(rows.scores, ids=ids, **how), model.transform(rows.scores, ids=ids, **how))
    t = float(np.median(rows.scores))
    rates = [m.acceptance_rate(rows.scores, threshold=t, **how) for m in (back, model)]
    assert same_bits(*rates)
    assert back.unchanged == model.unchanged


def test_ordered_models_come_back():
    assert ORDERED.ties == "order"
    assert any(kernel.ordered.any() for kernel in ORDERED.kernels)
    assert FairModel.from_json(ORDERED.to_json()).to_json() == ORDERED.to_json()


@pytest.mark.parametrize("name", ['say "hi"', "back\\slash", "line\nbreak\ttab", "é 漢字 🙂", "", " ", "null", "NaN"])
def test_names_of_any_text(name, tmp_path):
    rows = Rows(ROWS.scores, ROWS.y, np.where(ROWS.groups == "a", name, "other"))
    model = fitted(rows, 0.1).model
    model.save(tmp_path / "m.json")
    back = FairModel.load(tmp_path / "m.json")
    assert set(back.names) == {name, "other"}
    assert back.to_json() == model.to_json()


def test_file_is_plain_and_says_where_it_comes_from():
    body = json.loads(TEXT)
    assert (body["format"], body["version"]) == (FORMAT, VERSION)
    assert body["fit"]["package"] == f"fairroc {__version__}"
    assert body["fit"]["date"] == "2024-01-02T00:00:00Z"
    assert body["fit"]["rows"] == len(ROWS.y)
    assert re.fullmatch(r"[0-9a-f]{16}", body["fit"]["data"])
    assert TEXT.endswith("}\n")
    first = [line.strip() for line in TEXT.splitlines()[:3]]
    assert first == ["{", f'"format": "{FORMAT}",', f'"version": {VERSION},']


def test_the_checksum_is_found_without_parsing():
    assert checksum_in(TEXT) == json.loads(TEXT)["checksum"]


def test_salt_is_text_because_json_numbers_lose_64_bits():
    columns = read_people(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    for salt in (2**63 - 1, -(2**63), 0):
        model = FairModel.of(fit(columns, fitted_options(epsilon=0.1, draw="all"), salt=salt, date=DATE).model)
        assert json.loads(model.to_json())["salt"] == str(salt)
        assert FairModel.from_json(model.to_json()).salt == salt


def test_two_fits_differ_in_salt_alone():
    columns = read_people(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    options = fitted_options(epsilon=0.1, draw="all")
    one, two = (json.loads(dumps(fit(columns, options, date=DATE).model)) for _ in range(2))
    assert {key for key in one if one[key] != two[key]} == {"salt", "checksum"}
    fixed = [dumps(fit(columns, options, salt=5, date=DATE).model) for _ in range(2)]
    assert fixed[0] == fixed[1]
    later = json.loads(dumps(fit(columns, options, salt=5, date=datetime(2025, 6, 7, 8, 9, 10, 11, UTC)).model))
    assert later["fit"]["date"] == "2025-06-07T08:09:10Z"
    same = json.loads(fixed[0])
    assert {key for key in same if same[key] != later[key]} == {"fit", "checksum"}


def test_fingerprint_changes_with_the_data():
    other = Rows(np.where(np.arange(len(ROWS.y)) == 5, ROWS.scores + 3, ROWS.scores), ROWS.y, ROWS.groups)
    renamed = Rows(ROWS.scores, ROWS.y, np.where(ROWS.groups == "a", "x", "y"))
    weighted = Rows(ROWS.scores, ROWS.y, ROWS.groups, 1 + ROWS.y + (ROWS.groups == "a") * 1.0)
    found = {fitted(rows, 0.1).model.record.data for rows in (ROWS, other, renamed, weighted)}
    assert len(found) == 4
    assert fitted(ROWS, 0.05, "inf").model.record.data == MODEL.record.data


def test_key_is_not_in_the_file():
    post = FairROC(epsilon=0.1, draw="all", key="a very secret key", salt=1)
    text = post.fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups).model_.to_json()
    assert "secret" not in text
    assert FairModel.from_json(text).key_fingerprint == post.model_.key_fingerprint


# ---- writing -----------------------------------------------------------------------------------------------


def test_save_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    MODEL.save(path)
    assert path.read_text(encoding="utf-8") == TEXT

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises((OSError, ValueError), match="disk full"):
        ORDERED.save(path)
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == TEXT
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


def test_load_names_the_path(tmp_path):
    with pytest.raises(ModelFileError, match=r"no model file '.*gone\.json'; check the path"):
        FairModel.load(tmp_path / "gone.json")
    with pytest.raises(ModelFileError, match="cannot read the model file"):
        FairModel.load(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(ModelFileError, match=r"must be JSON in UTF-8, but '.*latin\.json' is not"):
        FairModel.load(tmp_path / "latin.json")
    (tmp_path / "half.json").write_text(TEXT[:200], encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"'.*half\.json': a model file must be whole JSON"):
        FairModel.load(tmp_path / "half.json")


# ---- damage ------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.integers(0, len(TEXT) - 3))
def test_truncation_is_refused(cut):
    with pytest.raises(ModelFileError, match="whole JSON"):
        FairModel.from_json(TEXT[:cut])


DIGITS = [match.start() for match in re.finditer("[0-9]", TEXT)]


@settings(max_examples=150)
@given(st.sampled_from(DIGITS), st.integers(1, 9))
def test_one_changed_digit_is_refused(place, by):
    """Unless the number still is the same float: then the model is the same, too."""
    digit = str((int(TEXT[place]) + by) % 10)
    try:
        model = FairModel.from_json(TEXT[:place] + digit + TEXT[place + 1 :])
    except ModelFileError:
        return
    assert model.to_json() == TEXT


@pytest.mark.parametrize("text", ["", "[]", "3", "null", '{"a": 1}', '{"format": "other"}', "[" * 100_000])
def test_other_files_are_refused(text):
    with pytest.raises(ModelFileError, match=r"whole JSON|another kind of file"):
        FairModel.from_json(text)


def test_a_file_that_is_no_json_is_not_called_damaged():
    with pytest.raises(ModelFileError, match=r"must be JSON; this is another kind of file. Pass the file that"):
        FairModel.from_json("id,p\n1,0.5\n")


@pytest.mark.parametrize("version", [0, -1, "1", None, [1], True, 1.0])
def test_a_version_that_is_none_is_refused(version):
    words = f"version must be a whole number from 1 to {VERSION}, got {version!r}"
    with pytest.raises(ModelFileError, match=re.escape(words)):
        FairModel.from_json(rewritten(TEXT, lambda body: body.update(version=version)))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda body: body.update(version=VERSION + 1), f"version {VERSION + 1}"),
        (lambda body: body.update(more=1), "the field 'more'"),
        (lambda body: body["fit"].update(more=1), "the field 'more'"),
        (lambda body: body["groups"][1].update(more=1), "the field 'more'"),
        (lambda body: body["groups"][0]["kernel"].update(more=1), "the field 'more'"),
        (lambda body: body["groups"][1]["reference"].update(more=1), "the field 'more'"),
        (lambda body: body["scale"].update(more=1), "the field 'more'"),
    ],
)
def test_files_of_a_newer_fairroc_ask_for_an_update(change, what):
    def newer(body):
        body["fit"]["package"] = "fairroc 99.1"
        change(body)

    words = f"has {what}, so it was written by a newer fairroc (fairroc 99.1); this is fairroc {__version__}"
    with pytest.raises(ModelFileError, match=re.escape(words) + ".* Update fairroc"):
        FairModel.from_json(rewritten(TEXT, newer))


def test_files_of_version_1_are_read():
    def older(body):
        body["version"] = 1
        del body["curve"], body["confidence"], body["draw"]

    back = FairModel.from_json(rewritten(TEXT, older))
    assert (back.curve, back.confidence) == ("raw", None)
    assert FairModel.from_json(back.to_json()).to_json() == back.to_json()
    with pytest.raises(ModelFileError, match=r"lacks or garbles a field .*curve"):
        FairModel.from_json(rewritten(TEXT, lambda body: body.pop("curve")))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", '"\\ud800"'])
def test_what_json_should_not_hold_is_refused(word):
    broken = TEXT.replace('"epsilon": 0.1', f'"epsilon": {word}', 1)
    assert broken != TEXT
    with pytest.raises(ModelFileError, match=r"must be whole JSON|checksum does not match"):
        FairModel.from_json(broken)


def test_a_missing_checksum_is_refused():
    body = json.loads(TEXT)
    del body["checksum"]
    with pytest.raises(ModelFileError, match="checksum does not match"):
        FairModel.from_json(json.dumps(body))


def test_layout_does_not_matter():
    """Only the data are summed: another indentation is the same model."""
    assert FairModel.from_json(json.dumps(json.loads(TEXT), indent=7)).to_json() == TEXT
    assert json.loads(pretty(json.loads(TEXT))) == json.loads(TEXT)


NUMBERS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 1, 0, 0.1, 1e-7, 1e16, 5e-324]), st.floats(-10, 10), st.integers())
PLAIN = st.one_of(NUMBERS, st.none(), st.booleans(), st.sampled_from(["", "a, b", '"', "\\", "é", "\n"]))
BODIES = st.recursive(
    st.one_of(PLAIN, st.lists(NUMBERS), st.lists(st.floats(0, 1))),
    lambda part: st.one_of(st.lists(part, max_size=4), st.dictionaries(st.text("ab, é", max_size=3), part, max_size=4)),
    max_leaves=20,
)


def slow_pretty(value, indent=0):
    """The layout, in the standard library's words."""
    pad = "  " * (indent + 1)
    if isinstance(value, dict) and value:
        inner = [f"{pad}{json.dumps(k, ensure_ascii=False)}: {slow_pretty(v, indent + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(inner) + "\n" + "  " * indent + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return "[\n" + ",\n".join(pad + slow_pretty(v, indent + 1) for v in value) + "\n" + "  " * indent + "]"
    return json.dumps(value, ensure_ascii=False)


@given(BODIES)
def test_text_and_checksum_are_those_of_the_standard_library(value):
    """Whatever is in lists: floats written once, both zeros, integers that equal floats, commas inside texts."""
    body = {"x": value}
    plain = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    truth = hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()
    written = _written(body, _Texts(), ", ")
    assert truth == _checksum(body) == _checksum(written)
    assert pretty(body) == pretty(written) == slow_pretty(body)
    back, texts = _parsed(json.dumps(body))
    assert _checksum(back, texts) == truth


def test_numbers_that_other_tools_wrote():
    """A number spelled otherwise is the same number."""
    text = TEXT.replace("0.1,", "1.0E-1,", 1)
    assert text != TEXT
    assert FairModel.from_json(text).to_json() == TEXT


def test_numbers_that_json_lacks_are_not_written():
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="no JSON number"):
            _written([0.5, number], _Texts(), ",")


# ---- structure, with a checksum that fits ------------------------------------------------------------------


def put(*path_and_value):
    """A change that puts a value at a path of keys."""
    *path, last, value = path_and_value

    def change(body):
        for key in path:
            body = body[key]
        body[last] = value

    return change


def on_kernel(field, edit):
    def change(body):
        kernel = body["groups"][0]["kernel"]
        kernel[field] = edit(copy.deepcopy(kernel[field]))

    return change


def swapped(values):
    return [values[1], values[0], *values[2:]]


def scaled_row(values):
    return [[values[0][0], *(v * 1.001 for v in values[0][1:])], *values[1:]]


def negative_row(values):
    return [[0, -0.5, 1.5], *values[1:]]


BROKEN = {
    "one group": (lambda b: b.update(groups=b["groups"][:1]), "two or more"),
    "same names": (put("groups", 1, "name", "a"), "different names"),
    "name is a number": (put("groups", 1, "name", 5), "'name' must be str"),
    "rows are text": (put("groups", 0, "rows", "10"), "'rows' must be int"),
    "more positives than rows": (put("groups", 0, "positives", 10**6), "both labels"),
    "norm 2": (put("norm", 2), "norm must be 1 or 'inf'"),
    "norm true": (put("norm", True), "'norm' must be int or str"),
    "ties": (put("ties", "coin"), "ties must be 'order' or 'draw'"),
    "hash": (put("hash", "md5"), "hash must be 'xxh64' or 'blake2b'"),
    "epsilon 3": (put("epsilon", 3.0), r"epsilon must lie in \[0, 2\]"),
    "epsilon negative": (put("inner_epsilon", -0.1), r"epsilon must lie in \[0, 2\]"),
    "epsilon text": (put("epsilon", "0.1"), "'epsilon' must be"),
    "salt number": (put("salt", 7), "'salt' must be str"),
    "salt no integer": (put("salt", "7.5"), "garbles a field"),
    "salt beyond 64 bits": (put("salt", str(2**63)), "64-bit"),
    "queries text": (put("queries", "all"), "'queries' must be"),
    "method number": (put("method", 1), "'method' must be str"),
    "unknown method": (put("method", "best"), "method must be 'optimal' or 'froc'"),
    "key fingerprint": (put("key_fingerprint", 1), "'key_fingerprint' must be"),
    "unchanged number": (put("unchanged", 0), "true or false"),
    "levels float": (put("levels", 3.0), "'levels' must be int"),
    "levels off": (put("levels", 10**15), "table rows of 1000000000000000 levels are too many"),
    "no levels": (lambda b: b.pop("levels"), "lacks or garbles a field"),
    "no groups": (lambda b: b.pop("groups"), "lacks or garbles a field"),
    "groups a number": (put("groups", 3), "'groups' must be list|garbles a field"),
    "fit a list": (put("fit", []), "'fit' must be dict|garbles a field"),
    "fit with more": (put("fit", "more", 1), "written by a newer fairroc"),
    "fit rows text": (put("fit", "rows", "many"), "'rows' must be int"),
    "no kernel": (lambda b: b["groups"][0].pop("kernel"), "any other has"),
    "unchanged with kernels": (put("unchanged", True), "an unchanged score has no kernels"),
    "unknown field": (put("more", 1), "written by a newer fairroc"),
    "version true": (put("version", True), "got True"),
    "no scale": (put("scale", None), "garbles a field"),
    "scale starts late": (put("scale", "place", 0, 0.25), "rise from 0 to n"),
    "scale short": (lambda b: b["scale"]["score"].pop(), "as many scores as places"),
    "scale rises": (lambda b: b["scale"]["score"].reverse(), "scores must fall"),
    "scale text": (put("scale", "score", ["high", "low"]), "'scale' must hold numbers"),
    "thresholds rise": (on_kernel("thresholds", swapped), "thresholds must fall strictly"),
    "thresholds tie": (on_kernel("thresholds", lambda v: [v[0], v[0], *v[2:]]), "thresholds must fall strictly"),
    "thresholds nested": (on_kernel("thresholds", lambda v: [v]), "'a' must hold numbers"),
    "thresholds none": (on_kernel("thresholds", lambda v: []), "one entry in every list"),
    "threshold missing": (on_kernel("thresholds", lambda v: [None, *v[1:]]), "'a' must hold numbers"),
    "ceiling low": (on_kernel("ceiling", lambda v: -1e9), "ceiling is too low"),
    "row sums": (on_kernel("table", scaled_row), "sum to one"),
    "negative chance": (on_kernel("table", negative_row), "not negative"),
    "row beyond the levels": (on_kernel("table", lambda v: [[10**6, 1.0], *v[1:]]), "beyond the levels"),
    "row before the levels": (on_kernel("table", lambda v: [[-1, 1.0], *v[1:]]), "beyond the levels"),
    "empty row": (on_kernel("table", lambda v: [[], *v[1:]]), "garbles a field"),
    "no row of the table": (on_kernel("row", lambda v: [10**6, *v[1:]]), "no row of the table"),
    "row negative": (on_kernel("row", lambda v: [-1, *v[1:]]), "no row of the table"),
    "row float": (on_kernel("row", lambda v: [0.5, *v[1:]]), "whole numbers"),
    "row short": (on_kernel("row", lambda v: v[1:]), "one entry in every list"),
    "last beyond": (on_kernel("last", lambda v: [10**6, *v[1:]]), "levels are off"),
    "first below": (on_kernel("first", lambda v: [-2, *v[1:]]), "levels are off"),
    "half a place": (on_kernel("last", lambda v: [0, *v[1:]]), "half a place"),
    "start beyond": (on_kernel("start", lambda v: [1.5, *v[1:]]), r"lie in \[0, 1\]"),
    "ordered two": (on_kernel("ordered", lambda v: [2, *v[1:]]), "0 and 1"),
    "ordered nowhere": (on_kernel("ordered", lambda v: [1, *v[1:]]), "inside one level"),
    "ordered true": (on_kernel("ordered", lambda v: [False, *v[1:]]), "0 and 1"),
    "rows reversed": (on_kernel("table", lambda v: v[::-1]), "a lower score must not have better chances"),
    "blocks reversed": (on_kernel("row", lambda v: v[::-1]), "a lower score must not have better chances"),
    "chances of text": (on_kernel("table", lambda v: [[0, "1.0"], *v[1:]]), "table row holds something else"),
    "row begins at true": (on_kernel("table", lambda v: [[True, *v[0][1:]], *v[1:]]), "table row holds something else"),
    "thresholds of text": (on_kernel("thresholds", lambda v: list(map(str, v))), "'a' must hold numbers"),
    "threshold too large": (on_kernel("thresholds", lambda v: [1.7e308, *v[1:]]), "within ±1e307"),
    "threshold too low": (on_kernel("thresholds", lambda v: [*v[:-1], -1.7e308]), "within ±1e307"),
    "ceiling too large": (on_kernel("ceiling", lambda v: 1.7e308), "within ±1e307"),
    "scale too large": (put("scale", "score", 0, 1.7e308), "within ±1e307"),
    "edge too large": (put("groups", 0, "reference", "highest", 1.7e308), "within ±1e307"),
    "counts too large": (put("groups", 0, "reference", "negatives", 0, 1e307), "too large for their sum"),
    "rows beyond 64 bits": (put("groups", 0, "rows", 10**30), r"below 2\*\*63"),
    "queries 0": (put("queries", 0), "'queries' must be above 0"),
    "salt with blanks": (put("salt", " 7"), "64-bit"),
    "a fingerprint of other length": (put("key_fingerprint", "0123"), "16 hex characters"),
    "a table for nothing": (put("levels", 10**8), "table rows of 100000000 levels are too many"),
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_broken_structure_is_refused(case):
    """In a sentence that goes on after its colons."""
    change, words = BROKEN[case]
    with pytest.raises(ModelFileError, match=words) as refused:
        FairModel.from_json(rewritten(TEXT, change))
    assert not re.search(r": [A-Z]|[A-Z]{2}\. Use the", str(refused.value))


@given(st.integers(1, 4), st.integers(1, 4), SEEDS)
def test_disorder_is_that_of_single_people(blocks, levels, seed):
    """Rows and own parts of any kind: the most by which a lower score leads, at any place and just before it."""
    rng = np.random.default_rng(seed)
    chances = rng.random((2, levels)) * (rng.random((2, levels)) < 0.7) + 1e-3
    first = rng.integers(-1, levels, blocks)
    last = np.where(first < 0, -1, np.minimum(first + rng.integers(0, 2, blocks), levels - 1))
    start, stop = np.sort(rng.integers(0, 5, (2, blocks)) / 4, axis=0)
    no = np.zeros(blocks, dtype=np.bool_)
    kernel = Kernel(
        *(np.arange(blocks, 0, -1.0), blocks + 1.0, rng.integers(0, 2, blocks)),
        *(chances / chances.sum(axis=1, keepdims=True), first, last, start, stop, no, no.copy()),
    )
    places = np.unique(np.concatenate([level + np.arange(5) / 4 for level in range(levels)]))
    lead = [
        place_chance(kernel, low, y, closed) - place_chance(kernel, high, y, closed)
        for y in places
        for closed in (True, False)
        for high, low in pairwise(kernel.thresholds)
    ]
    assert max(0.0, _disorder(kernel)) == pytest.approx(max([0.0, *lead]), abs=1e-12)


# ---- constraints -------------------------------------------------------------------------------------------

ASKED = {
    **{name: {"epsilon": 0.1} | how for name, how in ONE_RATE.items()},
    "ratio": {"constraint": "demographic_parity", "ratio": 0.8},
    "ratio, where": {"constraint": "equal_opportunity", "ratio": 0.9, "where": (0.05, 0.5)},
    "tolerances": {"epsilon": {"fpr": 0.2, "tpr": 0.05}},
    "unchanged": {"constraint": "demographic_parity", "epsilon": 1.0, "where": (0.0, 1 / 3)},
}


@cache
def asked(name: str) -> FairModel:
    return sql_cases.fitted(("a", "b"), seed=3, n=1500, **ASKED[name])


@pytest.mark.parametrize("name", ASKED)
def test_every_constraint_comes_back(name):
    """Options, text and fair scores, bit for bit; what was asked for is in the file."""
    model, rows = asked(name), sql_cases.rows_for(asked(name))
    back = FairModel.from_json(model.to_json())
    fields = ("constraint", "ratio", "draw", "where", "tolerances", "epsilon", "norm")
    assert [getattr(back, field) for field in fields] == [getattr(model, field) for field in fields]
    assert back.fairness == model.fairness and back.to_json() == model.to_json()
    assert same_bits(replace(rows, model=back).expected, rows.expected)
    how, body = ASKED[name], json.loads(model.to_json())
    wanted = {option: how[option] for option in ("constraint", "ratio", "draw", "where") if option in how}
    assert {option: body[option] for option in wanted} == json.loads(json.dumps(wanted))
    assert body["tolerances"] == ([0.2, 0.05] if name == "tolerances" else None)


PARITY, BOXES, RATIO = "parity, never", "tolerances", "ratio, where"
BROKEN_ASKED = {
    "constraint": (PARITY, put("constraint", "equal_outcomes"), "constraint must be 'equalized_odds'"),
    "constraint a number": (PARITY, put("constraint", 1), "'constraint' must be str, not 1"),
    "no constraint": (PARITY, lambda b: b.pop("constraint"), "lacks or garbles a field"),
    "draw": (PARITY, put("draw", "always"), "draw must be 'few', 'never' or 'all', got 'always'"),
    "draw a flag": (PARITY, put("draw", False), "'draw' must be str, not False"),
    "no draw": (PARITY, lambda b: b.pop("draw"), "lacks or garbles a field"),
    "draws of older versions": (PARITY, put("draws", "never"), "'draws' is a field of older versions"),
    "a window drawn for all": ("ratio, where", put("draw", "all"), "draw must be 'few' or 'never' with where"),
    "one rate by froc": (PARITY, put("method", "froc"), "method must be 'optimal' with"),
    "one rate in norm inf": (PARITY, put("norm", "inf"), "norm must be 1 with"),
    "ratio 0": (RATIO, put("ratio", 0), "ratio must be above 0 and at most 1, got 0"),
    "ratio text": (RATIO, put("ratio", "0.9"), "'ratio' must be int or float or NoneType, not '0.9'"),
    "ratio true": (RATIO, put("ratio", True), "'ratio' must be"),
    "another ratio": (RATIO, put("ratio", 0.8), "epsilon must be what the ratio or the tolerances say"),
    "ratio of both rates": (RATIO, put("constraint", "equalized_odds"), "ratio must be None with"),
    "window falls": (RATIO, put("where", [0.5, 0.05]), "where must be two rising shares"),
    "window of text": (RATIO, put("where", ["0.1", "0.5"]), "where must be two rising shares"),
    "window of three": (RATIO, put("where", [0.1, 0.5, 0.6]), "where must be two rising shares"),
    "window beyond": (RATIO, put("where", [0.1, 1.5]), "where must be two rising shares"),
    "window a number": (RATIO, put("where", 0.5), "'where' must be list or NoneType, not 0.5"),
    "tolerance 0": (BOXES, put("tolerances", [0.0, 0.05]), "tolerances of 'fpr' and 'tpr' must be above 0"),
    "one tolerance": (BOXES, put("tolerances", [0.05]), "garbles a field"),
    "tolerance of text": (BOXES, put("tolerances", ["0.2", 0.05]), "tolerances of 'fpr' and 'tpr'"),
    "other tolerances": (BOXES, put("tolerances", [0.2, 0.1]), "epsilon must be what the ratio or the tolerances say"),
    "tolerances in norm 1": (BOXES, put("norm", 1), "norm must be 'inf' with tolerances"),
    "tolerances of one rate": (PARITY, put("tolerances", [0.2, 0.1]), "norm must be 'inf' with tolerances"),
}


@pytest.mark.parametrize("case", BROKEN_ASKED)
def test_broken_constraints_are_refused(case):
    name, change, words = BROKEN_ASKED[case]
    with pytest.raises(ModelFileError, match=re.escape(words)) as refused:
        FairModel.from_json(rewritten(asked(name).to_json(), change))
    assert not re.search(r": [A-Z]|[A-Z]{2}\. Use the", str(refused.value))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_files_are_of_equalized_odds(version):
    """They lack the fields of later versions, and give the same fair scores."""

    def older(body):
        body["version"] = version
        for field in ADDED:
            del body[field]

    back = FairModel.from_json(rewritten(TEXT, older))
    asked_for = (back.constraint, back.ratio, back.draw, back.where, back.tolerances)
    assert asked_for == ("equalized_odds", None, "all", None, None)
    how = {"sensitive_features": ROWS.groups, "ids": np.arange(len(ROWS.y))}
    assert same_bits(back.transform(ROWS.scores, **how), MODEL.transform(ROWS.scores, **how))
    with pytest.raises(ModelFileError, match="lacks or garbles a field"):
        FairModel.from_json(rewritten(TEXT, lambda body: body.pop("where")))


def with_draws(version: int, ties: str, draws: str):
    """A change to what older versions said of draws."""

    def change(body):
        body["version"], body["ties"], body["draws"] = version, ties, draws
        del body["draw"]

    return change


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("name", [PARITY, "opportunity", "opportunity, draw", BOXES])
def test_files_that_told_of_ties_and_draws_are_read(name, version):
    """draws="never" is draw="never"; else ties="draw" is "all", and "order" is "few". Scores are the same bits."""
    model = asked(name)
    draws = "never" if model.draw == "never" else "ties"
    text = rewritten(model.to_json(), with_draws(version, model.ties, draws))
    back = FairModel.from_json(text)
    assert (back.draw, back.ties) == (model.draw, model.ties)
    assert back.to_json() == model.to_json()
    assert same_bits(replace(sql_cases.rows_for(model), model=back).expected, sql_cases.rows_for(model).expected)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("ties", "draws", "draw"),
    [("order", "ties", "few"), ("draw", "ties", "all"), ("order", "never", "never"), ("draw", "never", "never")],
)
def test_ties_and_draws_of_older_versions_become_draw(version, ties, draws, draw):
    back = FairModel.from_json(rewritten(asked(PARITY).to_json(), with_draws(version, ties, draws)))
    assert (back.draw, back.ties) == (draw, ties)
    body = json.loads(back.to_json())
    assert (body["version"], body["draw"], body["ties"]) == (VERSION, draw, ties) and "draws" not in body


@pytest.mark.parametrize("version", [4, 5])
def test_older_files_that_do_not_tell_of_draws_are_refused(version):
    text = asked(PARITY).to_json()
    for draws, words in (("always", "draws must be 'ties' or 'never'"), (None, "draws must be 'ties' or 'never'")):
        with pytest.raises(ModelFileError, match=words):
            FairModel.from_json(rewritten(text, with_draws(version, "order", draws)))
    with pytest.raises(ModelFileError, match="'draw' is a field of later versions"):
        FairModel.from_json(rewritten(text, put("version", version)))
    with pytest.raises(ModelFileError, match=r"lacks or garbles a field .*draws"):
        FairModel.from_json(rewritten(text, lambda body: (body.pop("draw"), body.update(version=version))))


@pytest.mark.parametrize("draws", ["ties", "never"])
def test_a_file_of_this_version_with_draws_is_refused(draws):
    with pytest.raises(ModelFileError, match="'draws' is a field of older versions"):
        FairModel.from_json(rewritten(asked(PARITY).to_json(), put("draws", draws)))
    with pytest.raises(ModelFileError, match="'draws' is a field of older versions"):
        FairModel.from_json(rewritten(TEXT, put("draws", draws)))


def test_a_place_that_ends_before_it_begins_is_refused():
    def change(body):
        kernel = body["groups"][0]["kernel"]
        inside = next(i for i, start in enumerate(kernel["start"]) if start > 0 and kernel["ordered"][i])
        kernel["stop"][inside] = 0.0

    with pytest.raises(ModelFileError, match="must not end before it begins"):
        FairModel.from_json(rewritten(ORDERED.to_json(), change))


def test_own_parts_that_break_the_order_are_refused():
    """The table is as it was, but the parts of two blocks inside one level change places."""

    def change(body):
        kernel = body["groups"][0]["kernel"]
        alike = zip(*(kernel[field] for field in ("row", "first", "last")), strict=True)
        places = list(zip(alike, kernel["start"], kernel["stop"], strict=True))
        at = next(i for i, (a, b) in enumerate(pairwise(places)) if a[0] == b[0] and a[0][1] == a[0][2] >= 0)
        for field in ("start", "stop"):
            kernel[field][at : at + 2] = kernel[field][at : at + 2][::-1]

    with pytest.raises(ModelFileError, match="a lower score must not have better chances"):
        FairModel.from_json(rewritten(ORDERED.to_json(), change))


def test_an_unchanged_score_has_no_scale():
    same = asked("unchanged").to_json()
    for name, value in (("scale", {"place": [0, 1], "score": [1, 0]}), ("levels", 3)):
        with pytest.raises(ModelFileError, match="neither levels nor a scale"):
            FairModel.from_json(rewritten(same, put(name, value)))


@pytest.mark.parametrize("field", ['"epsilon": 2.0,', '"salt": "9",', '"groups": [],'])
def test_a_field_that_comes_twice_is_refused(field):
    """The last one would count for Python, the first for others."""
    name = field.split(":")[0]
    for text in (TEXT.replace(name, f"{field} {name}", 1), TEXT.replace('"rows"', '"rows": 1, "rows"', 2)):
        with pytest.raises(ModelFileError, match="one field twice, of"):
            FairModel.from_json(text)


def test_what_is_no_text_is_refused():
    for given_ in (None, 5, TEXT.encode(), {}):
        with pytest.raises(ModelFileError, match="must be JSON text, got"):
            FairModel.from_json(given_)


# ---- damage of every field ---------------------------------------------------------------------------------

SMALL = dict(zip(("scores", "y"), np.random.default_rng(5).normal(size=(2, 120)), strict=True))
SMALL_GROUPS = np.array(["a", "b", "c"])[[0, 1] * 58 + [2] * 4]
SMALL = {"scores": SMALL["scores"] + (SMALL["y"] > 0) * (1 + (SMALL_GROUPS == "b")), "y": (SMALL["y"] > 0).astype(int)}
SMALL["scores"] = np.rint(2 * SMALL["scores"]) / 2
KINDS = {
    "draw": {"draw": "all", "epsilon": 0.1, "key": "a key of sixteen bytes"},
    "order": {"epsilon": 0.25},
    "parity": {"constraint": "demographic_parity", "ratio": 0.9},
    "same": {"epsilon": 2.0},
}
SAMPLED = 200
"""Damages of each kind of model; there are thousands."""

VALUES = (None, True, "", "1", -1, 0, 7, 0.5, -0.25, 1.7e308, 5e-324, 10**30, 10**9, [], [0], {}, {"more": 1})
DAMAGES = {
    **{f"is {value!r}": lambda old, value=value: value for value in VALUES},
    "inside a list": lambda old: [old],
    "inside an object": lambda old: {"value": old},
    "reversed": lambda old: old[::-1],
    "swapped": lambda old: [old[1], old[0], *old[2:]],
    "longer": lambda old: old + old[-1:],
    "shorter": lambda old: old[:-1],
    "first twice": lambda old: old[:1] + old[:1] + old[2:],
    "larger": lambda old: old * 1.01 + 1e-3 if type(old) is float else old + 1,
    "smaller": lambda old: old * 0.99 - 1e-3 if type(old) is float else old - 1,
    "more": lambda old: {**old, "more": 1},
}


@cache
def small_model(kind: str) -> FairModel:
    scores, y = SMALL.values()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        how = {"small_groups": "drop", "min_class_rows": 5, "salt": 7} if kind != "same" else {"salt": 7}
        return FairROC(**KINDS[kind], **how).fit(scores, y, sensitive_features=SMALL_GROUPS).model_


def places(value, path=()):
    """Paths to every field, and to the first, a middle and the last entry of every list."""
    if path:
        yield path
    inner = (
        value if isinstance(value, dict) else {0, len(value) // 2, len(value) - 1} if isinstance(value, list) else ()
    )
    for key in inner if value else ():
        yield from places(value[key], (*path, key))


def damaged(body, path, damage):
    """A copy with the damage at the path; None where there is nothing to damage so."""
    body = copy.deepcopy(body)
    part = body
    for key in path[:-1]:
        part = part[key]
    if damage == "is gone":
        del part[path[-1]]
        return body
    try:
        new = DAMAGES[damage](part[path[-1]])
        if repr(new) == repr(part[path[-1]]):
            return None
    except (TypeError, LookupError):
        return None
    part[path[-1]] = new
    return body


def behaves(model, key):
    """Fair scores that are finite, on the scale, and never less likely to be high for a higher score."""
    grid = np.array([-1e300, *np.unique(SMALL["scores"]), 1e300])
    for name in model.names:
        groups = [name] * len(grid)
        fair = model.transform(grid, sensitive_features=groups, ids=np.arange(len(grid)), key=key)
        one = [model.transform([x], sensitive_features=[name], ids=[i], key=key)[0] for i, x in enumerate(grid)]
        assert fair.tolist() == one and np.isfinite(fair).all()
        if model.scale is not None:
            assert model.scale.score[-1] <= fair.min() and fair.max() <= model.scale.score[0]
        for limit in (*grid[1:-1:4], -1e307, 1e307):
            rate = model.acceptance_rate(grid, sensitive_features=groups, threshold=limit)
            assert (np.diff(rate) >= -1e-9).all() and ((rate >= 0) & (rate <= 1 + 1e-9)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_damage_is_refused_or_does_no_harm(kind):
    """Of every field: with the old checksum always refused; with one that fits, refused or a model that behaves."""
    model = small_model(kind)
    body = json.loads(model.to_json())
    if kind != "same":
        assert not model.unchanged and model.small_groups is not None
    cases = [(path, damage) for path in places(body) for damage in ("is gone", *DAMAGES)]
    refused = kept = 0
    for at in np.random.default_rng(1).permutation(len(cases))[:SAMPLED].tolist():
        changed = damaged(body, *cases[at])
        if changed is None:
            continue
        with pytest.raises(ModelFileError):
            FairModel.from_json(json.dumps(changed))
        changed.pop("checksum", None)
        try:
            found = FairModel.from_json(json.dumps({**changed, "checksum": _checksum(changed)}))
        except ModelFileError:
            refused += 1
            continue
        kept += 1
        if (found.key_fingerprint, found.salt) == (model.key_fingerprint, model.salt):  # else there is no such key
            behaves(found, KINDS[kind].get("key"))
    assert refused > kept > 0


def test_the_helper_leaves_a_good_file_good():
    """Otherwise the tests above would prove nothing."""
    assert FairModel.from_json(rewritten(TEXT, lambda body: None)).to_json() == TEXT
    assert all(math.isclose(sum(row[1:]), 1) for row in json.loads(TEXT)["groups"][0]["kernel"]["table"])
