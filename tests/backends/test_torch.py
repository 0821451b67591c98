"""Torch tensors give what numpy gives, bit for bit, on the host and on every device; no hypothesis here, so that the
file also runs where only torch, numpy and pytest are."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from fairroc.core.doubles import ranks, with_ranks
from fairroc.errors import DataError, FairrocWarning, UnknownGroupError
from fairroc.fairmodel import FairModel
from fairroc.fitting.fit import fit
from fairroc.model.draw import uniforms_from_ids
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import read_people
from fairroc.people.rows import read_columns
from fairroc.people.tensors import GroupCodes, is_tensor
from fitted_people import fitted_options

torch = pytest.importorskip("torch")

from fairroc.backends import torch as models  # noqa: E402
from fairroc.backends.torch.lookup import TensorDraws  # noqa: E402
from fairroc.people import counting  # noqa: E402
from fairroc.people import tensors as door  # noqa: E402

torch.set_num_threads(1)
# Rows lie beyond all scores, and ids of few bits repeat.
pytestmark = pytest.mark.filterwarnings("ignore:.*(outside of the range|different ids):fairroc.errors.FairrocWarning")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
KEY = "a key of sixteen bytes"
NEAR = [0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 0), 0.25, 0.75]
POOLS = {
    "continuous": None,
    "ties": np.linspace(-2, 2, 9),
    "two": np.array([0.25, 0.75]),
    "near": np.array(NEAR),
    "small": np.array([-5e-324, 0.0, -0.0, 5e-324, 1e-323, 1e-300]),
    "extreme": np.array([-1e300, -1.0, -1e-300, 0.0, 1e-300, 1.0, 1e300]),
}
CASES = [
    *((pool, draw, 2, 1, None) for pool in POOLS for draw in ("all", "few", "never")),
    ("continuous", "few", 5, 1, None),
    ("continuous", "all", 8, "inf", None),
    ("ties", "all", 4, "inf", None),
    ("continuous", "few", 3, "inf", 40),
    ("continuous", "few", 2, 1, 7),
]


def people(seed, pool="continuous", groups=2, n=1500):
    rng = np.random.default_rng(seed)
    g, y = rng.integers(0, groups, n), rng.integers(0, 2, n)
    y[: 2 * groups], g[: 2 * groups] = np.arange(2 * groups) % 2, np.arange(2 * groups) // 2
    scores = y * (1 + 0.6 * g) + (1 + 0.3 * g) * rng.normal(size=n) + 0.4 * g
    if POOLS[pool] is not None:
        place = np.argsort(np.argsort(scores)) * len(POOLS[pool]) // n
        scores = np.sort(POOLS[pool])[place]
    return scores, y, g


@cache
def model_of(case, epsilon=0.15, key=None, hash="xxh64"):
    pool, draw, groups, norm, queries = case
    scores, y, g = people(3, pool, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        options = fitted_options(epsilon=epsilon, norm=norm, draw=draw, queries=queries, hash=hash)
        return FairModel.of(fit(read_people(scores, y, sensitive_features=g), options, salt=7, key=key).model)


def new_people(model, case):
    """Rows at, beside and between the model's borders and beyond all scores, with ids of any size and sign."""
    rng = np.random.default_rng(5)
    scores, _, _ = people(4, case[0], case[2], n=2500)
    ends = [] if model.unchanged else [part[1:] for part in model.tables.cells.starts()]
    border = np.concatenate([*ends, NEAR, [0.0, -0.0, 5e-324]])
    border = np.concatenate([border, np.nextafter(border, np.inf), np.nextafter(border, -np.inf)])
    scores = np.concatenate([scores, border, [-1e306, 1e306]])
    ids = rng.integers(-(2**63), 2**63 - 1, len(scores))
    ids[:4] = -(2**63), 2**63 - 1, 2**53 + 1, -1
    return scores, rng.integers(0, case[2], len(scores)), ids


def put(array, device):
    return torch.tensor(np.array(array), device=device)


def same_bits(tensor, array, device):
    assert is_tensor(tensor) and tensor.device.type == device and tensor.dtype == torch.float64
    return tensor.cpu().numpy().tobytes() == array.tobytes()


def ways():
    """The door, which takes numpy on the host and one kernel where it can, and step by step on the device."""
    return ["door", "steps"]


def transformed(model, scores, groups, way, *, ids=None, random_state=None, key=None):
    if way == "door":
        return model.transform(scores, sensitive_features=groups, ids=ids, random_state=random_state, key=key)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "fuses", lambda device: False)
        columns = models.NewRows(model, scores, groups, None).read()
        draws = models.draws_on_device(model, columns.scores, ids, random_state, key)
        return models.fair_on_device(model, columns, draws)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_fair_scores_and_rates(device, case, monkeypatch):
    monkeypatch.setattr("fairroc.backends.torch.lookup.CHUNK", 3000)
    if models.fuses(torch.device(device)):
        monkeypatch.setattr("fairroc.backends.torch.fused.SLICE", 1024)
    model = model_of(case)
    scores, groups, ids = new_people(model, case)
    fair = model.transform(scores, sensitive_features=groups, ids=ids)
    tensors = put(scores, device), put(groups, device)
    some = np.random.default_rng(1).choice(fair, 3)
    levels = np.concatenate([[-np.inf, np.inf, 0.5], some, [] if model.unchanged else model.scale.score[1::40][:3]])
    for way in ways():
        assert same_bits(transformed(model, *tensors, way, ids=put(ids, device)), fair, device)
    for threshold in levels:
        rate = model.acceptance_rate(scores, sensitive_features=groups, threshold=threshold)
        found = [model.acceptance_rate(tensors[0], sensitive_features=tensors[1], threshold=threshold)]
        if not model.unchanged:
            found.append(models.rate_on_device(model, models.NewRows(model, *tensors, None).read(), threshold))
        assert all(same_bits(part, rate, device) for part in found)
    chosen = model.predict(tensors[0], sensitive_features=tensors[1], threshold=0.5, ids=put(ids, device))
    assert chosen.dtype == torch.int64 and chosen.device.type == device
    assert (chosen.cpu().numpy() == (fair >= 0.5)).all()


KERNELS = """
import sys, numpy as np
import test_torch as tests
from fairroc.backends.torch import fused
models, torch = tests.models, tests.torch
models.fuses = lambda device: True
fused.SHAPES.update(ordered=(128, 4, 2, 64), drawn=(128, 4, 1, 64))
fused.SLICE = 256
for case in (tests.CASES[1], tests.CASES[6], tests.CASES[14]):
    model = tests.model_of(case)
    scores, groups, ids = tests.new_people(model, case)
    part = np.random.default_rng(0).choice(len(scores), 400, replace=False)
    scores, groups, ids = scores[part], groups[part], ids[part]
    rows = torch.tensor(scores), torch.tensor(groups)
    fair = models._on_device(models.NewRows(model, *rows, None), torch.tensor(ids), None, None)
    assert fair.numpy().tobytes() == model.transform(scores, sensitive_features=groups, ids=ids).tobytes()
    usual = fused.PER_CELL, fused.PER_START, fused.PER_KNOT, fused.FAR
    few = 0.02  # buckets, all of them crowded
    for sizes in ((few, few, few, usual[3]), (few, few, few, 0)):  # no cell has a node if none fits
        fused.PER_CELL, fused.PER_START, fused.PER_KNOT, fused.FAR = sizes
        fused.fused_lookup.cache_clear()
        assert models._on_device(models.NewRows(model, *rows, None), torch.tensor(ids), None, None).equal(fair)
    fused.PER_CELL, fused.PER_START, fused.PER_KNOT, fused.FAR = usual
    fused.fused_lookup.cache_clear()
    fair = models._on_device(models.NewRows(model, rows[0], rows[1].to(torch.int8), None), None, 3, None)
    assert fair.numpy().tobytes() == model.transform(scores, sensitive_features=groups, random_state=3).tobytes()
    columns = tests.door.raw_scores(*rows, model.names, None)
    draws = torch.zeros(len(scores), dtype=torch.float64)
    for row, column, value in ((7, rows[1], 99), (399, rows[0], float("nan")), (0, rows[0], 2e307)):
        before = column[row].clone()
        column[row] = value
        assert models._fused(model, columns, draws) is None
        column[row] = before
    assert models._fused(model, columns, draws) is not None
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="the kernels run as they are")
def test_kernels_interpreted():
    """Without a GPU Triton can run its kernels step by step."""
    pytest.importorskip("triton")
    here = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": here}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KERNELS], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_cases_draw_and_keep_order():
    drawn = [model_of(case).tables.cells.row >= 0 for case in CASES if not model_of(case).unchanged]
    assert any(part.all() for part in drawn)
    assert any(0 < part.mean() < 1 for part in drawn)


ONE_RATE = [
    {"constraint": "equal_opportunity", "epsilon": 0.05},
    {"constraint": "predictive_equality", "epsilon": 0.05, "draw": "all"},
    {"constraint": "demographic_parity", "ratio": 0.8},
    {"constraint": "demographic_parity", "epsilon": 0.1, "draw": "never", "where": (0.0, 0.4)},
    {"epsilon": {"fpr": 0.2, "tpr": 0.05}},
]


@pytest.mark.parametrize("how", ONE_RATE, ids=str)
@pytest.mark.parametrize("pool", ["continuous", "ties"])
@pytest.mark.parametrize("device", DEVICES)
def test_every_constraint(device, how, pool):
    """The same bits, and without ids where nobody is drawn."""
    if pool == "ties" and how.get("draw") == "never":
        how = {**how, "epsilon": 0.4}
    case = (pool, "few", 3, 1, None)
    scores, y, g = people(3, pool, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        people_in = read_people(scores, y, sensitive_features=g)
        model = FairModel.of(fit(people_in, fitted_options(**how), salt=7).model)
    scores, groups, ids = new_people(model, case)
    fair = model.transform(scores, sensitive_features=groups, ids=ids)
    tensors = put(scores, device), put(groups, device)
    for way in ways():
        assert same_bits(transformed(model, *tensors, way, ids=put(ids, device)), fair, device)
        if not model.needs_ids:
            assert same_bits(transformed(model, *tensors, way), fair, device)
            wild = {"ids": put(ids[:2], device), "random_state": "no seed", "key": "short"}
            assert same_bits(transformed(model, *tensors, way, **wild), fair, device)
    assert not model.needs_ids or how.get("draw") != "never"
    rate = model.acceptance_rate(scores, sensitive_features=groups, threshold=0.5)
    assert same_bits(model.acceptance_rate(tensors[0], sensitive_features=tensors[1], threshold=0.5), rate, device)


@pytest.mark.parametrize("device", DEVICES)
def test_an_unchanged_score(device):
    model = model_of(CASES[0], epsilon=2.0)
    assert model.unchanged
    scores = put([0.1, -0.0, 5e-324], device)
    for way in ways():
        fair = transformed(model, scores, put([0, 1, 0], device), way, ids=put([1, 2, 3], device))
        assert same_bits(fair, np.array([0.1, -0.0, 5e-324]), device)
        fair[0] = 9.0
        assert scores[0] == 0.1
    rate = model.acceptance_rate(scores, sensitive_features=put([0, 1, 0], device), threshold=0.0)
    assert same_bits(rate, np.ones(3), device)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "int8"])
@pytest.mark.parametrize("device", DEVICES)
def test_other_numbers_become_float64(device, dtype):
    model = model_of(CASES[1])
    scores = put(people(9)[0][:500], device).to(getattr(torch, dtype))
    groups, ids = put(people(9)[2][:500], device), torch.arange(500, device=device)
    plain = scores.to(torch.float64).cpu().numpy()
    fair = model.transform(plain, sensitive_features=groups.cpu().numpy(), ids=np.arange(500))
    for way in ways():
        assert same_bits(transformed(model, scores, groups, way, ids=ids), fair, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("codes", [False, True])
def test_scores_on_another_scale(device, codes):
    """Judged as in numpy, on any device."""
    model = model_of(CASES[1])
    scores, groups = people(9)[0][:300].clip(*model.score_range), people(9)[2][:300]
    features = put(groups, device)
    features = GroupCodes(features, ("0", "1")) if codes else features
    for beyond, allowed in ((2, False), (3, False), (150, False), (151, False), (151, True)):
        rows = put(np.where(np.arange(300) < beyond, 1e6, scores), device)
        act = partial(model.transform, rows, sensitive_features=features, random_state=0, allow_out_of_range=allowed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            if beyond > 150 and not allowed:
                with pytest.raises(DataError, match=r"151 of 300 scores .*: another scale"):
                    act()
                continue
            act()
        assert [str(one.message)[: len(f"{beyond} of 300")] for one in said] == [f"{beyond} of 300"] * (beyond > 2)


@pytest.mark.parametrize("device", DEVICES)
def test_draws(device):
    model = model_of(CASES[0], key=KEY)
    scores, groups, ids = new_people(model, CASES[0])
    tensors = put(scores, device), put(groups, device)
    words = [f"person {i}" for i in ids]
    for way in ways():
        keyed = model.transform(scores, sensitive_features=groups, ids=ids, key=KEY)
        assert same_bits(transformed(model, *tensors, way, ids=put(ids, device), key=KEY), keyed, device)
        assert same_bits(transformed(model, *tensors, way, ids=ids, key=KEY), keyed, device)
        text = model.transform(scores, sensitive_features=groups, ids=words, key=KEY)
        assert same_bits(transformed(model, *tensors, way, ids=words, key=KEY), text, device)
        seeded = model.transform(scores, sensitive_features=groups, random_state=3)
        assert same_bits(transformed(model, *tensors, way, random_state=3), seeded, device)
        with pytest.raises(DataError, match="key"):
            transformed(model, *tensors, way, ids=put(ids, device))
        with pytest.raises(DataError, match="give either ids or random_state"):
            transformed(model, *tensors, way, key=KEY)
        with pytest.raises(DataError, match="ids must be as many as scores"):
            transformed(model, *tensors, way, ids=put(ids[1:], device), key=KEY)


@pytest.mark.parametrize("device", DEVICES)
def test_ids_of_a_cryptographic_hash_are_hashed_on_the_host(device):
    model = model_of(CASES[1], hash="blake2b")
    scores, groups, ids = new_people(model, CASES[1])
    fair = model.transform(scores, sensitive_features=groups, ids=ids)
    tensors = put(scores, device), put(groups, device)
    for way in ways():
        assert same_bits(transformed(model, *tensors, way, ids=put(ids, "cpu")), fair, device)
    if device != "cpu":
        with pytest.raises(DataError, match="ids must be on the host"):
            transformed(model, *tensors, "door", ids=put(ids, device))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("device", DEVICES)
def test_hashes(device, dtype):
    info = np.iinfo(dtype)
    ids = np.array([0, 1, 100, info.min, info.max, info.max - 1], dtype=dtype)
    drawn = TensorDraws.of(put(ids, device), salt=-5, key=KEY).at(slice(None))
    assert same_bits(drawn, uniforms_from_ids(ids, salt=-5, key=KEY), device)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32", "uint64"])
@pytest.mark.parametrize("device", DEVICES)
def test_ids_of_any_whole_type(device, dtype):
    model = model_of(CASES[1])
    scores, groups, ids = new_people(model, CASES[1])
    ids = ids.astype(dtype)
    fair = model.transform(scores, sensitive_features=groups, ids=ids)
    assert same_bits(
        transformed(model, put(scores, device), put(groups, device), "door", ids=put(ids, device)), fair, device
    )


@pytest.mark.parametrize("ids", [[1.0, 2.0], [True, False]])
def test_ids_must_be_integers(ids):
    with pytest.raises(DataError, match="ids must be integers"):
        TensorDraws.of(torch.tensor(ids), salt=1)


# ---- groups ------------------------------------------------------------------------------------------------


def test_groups_by_number_name_and_several_columns(monkeypatch):
    monkeypatch.setattr("fairroc.people.tensors.HOST_CHUNK", 7)
    names = ["10 & -1", "10 & 70000", "2 & -1"]
    left, right = np.array([10, 10, 2, 10, 2] * 5), np.array([-1, 70000, -1, 70000, -1] * 5)
    codes = np.array([0, 1, 2, 1, 2] * 5)
    scores = torch.zeros(25)
    columns = torch.tensor(left), torch.tensor(right)
    for features in (
        {"a": columns[0], "b": columns[1]},
        torch.stack(columns, dim=1),
        {"a": left, "b": right},
        [names[code] for code in codes],
        GroupCodes(torch.tensor(codes).to(torch.uint8), names),
    ):
        found = door.read_scores(scores, features, names, None, "error")
        assert found.groups.tolist() == codes.tolist() and found.unknown == 0


@pytest.mark.parametrize("values", [[3, 1, 3], [3.0, 1.0, 3.0], [2**40, 1, 2**40], [0.5, 1.0, 0.5]])
def test_numbers_name_groups_as_they_do_in_numpy(values):
    scores, y = [0.1, 0.2, 0.3], [0, 1, 1]
    plain = read_columns(scores, y, sensitive_features=np.array(values), whole=False)
    found = door.read_rows(torch.tensor(scores), torch.tensor(y), torch.tensor(values), None, "error")
    assert found.names == plain.names and found.groups.tolist() == plain.groups.tolist()
    flags = torch.tensor([True, False, True])
    assert door.read_rows(torch.tensor(scores), torch.tensor(y), flags, None, "error").names == ("False", "True")


@pytest.mark.parametrize("device", DEVICES)
def test_unknown_groups(device):
    model = model_of(CASES[0])
    scores, groups = put([0.5, 0.6, 0.7], device), put([0, 5, 1], device)
    with pytest.raises(UnknownGroupError, match="the model knows the groups '0', '1', but 1 of 3 rows are of '5'"):
        model.transform(scores, sensitive_features=groups, random_state=0)
    with pytest.warns(FairrocWarning, match="1 of 3 rows belong to groups that were not fitted"):
        fair = model.transform(scores, sensitive_features=groups, random_state=0, on_unknown_group="1")
    same = model.transform(scores, sensitive_features=put([0, 1, 1], device), random_state=0)
    assert torch.equal(fair, same)
    with pytest.raises(DataError, match="on_unknown_group must name a group of the model"):
        model.transform(scores, sensitive_features=groups, random_state=0, on_unknown_group="7")


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "bool"])
def test_what_a_kernel_checks_itself(kind):
    """Tables of codes say what reading all rows says."""
    names = ["0", "1", "-7", "1000", "01", "x"] if kind != "bool" else ["True", "0"]
    values = {"int8": [0, 1, -7, 5], "uint8": [0, 1, 7], "int64": [1000, 1, -7, 2**40], "bool": [True, False]}[kind]
    groups = torch.tensor(values * 3, dtype=getattr(torch, kind))
    raw = door.raw_scores(torch.zeros(len(groups)), groups, names, "1" if kind != "bool" else "0", None)
    read = door.read_scores(torch.zeros(len(groups)), groups, [*names, "?"], "?", "error")
    place = raw.groups.long() - raw.first
    inside = (place >= 0) & (place < len(raw.table))
    codes = torch.where(inside, torch.tensor(raw.table)[place.clamp(0, len(raw.table) - 1)], -1)
    unknown = read.groups == len(names)
    assert ((codes < 0) == unknown).all() and (codes[~unknown] == read.groups[~unknown]).all()
    assert raw.scores.dtype == torch.float32 and unknown.any()


def test_codes_that_a_kernel_checks_itself():
    codes = torch.tensor([2, 0, 1], dtype=torch.int16)
    raw = door.raw_scores(torch.zeros(3, dtype=torch.int64), GroupCodes(codes, ["b", "c", "a"]), ["a", "b"], None)
    assert (raw.first, raw.table, raw.scores.dtype) == (0, (1, -1, 0), torch.float64)
    with pytest.raises(DataError, match="on_unknown_group must name a group of the model"):
        door.raw_scores(torch.zeros(3), codes, ["0", "1"], "c")
    with pytest.raises(DataError, match="all columns must have the same number of rows"):
        door.raw_scores(torch.zeros(2), codes, ["0", "1"], None)


@pytest.mark.parametrize(
    "features", [["0", "1"], torch.tensor([0.0, 1.0]), torch.tensor([[0, 1], [1, 0]]), {"a": torch.tensor([0, 1])}]
)
def test_other_groups_are_read_first(features):
    raw = door.raw_scores(torch.zeros(2), features, ["0", "1"], None)
    assert (raw is None) == (not isinstance(features, dict))
    assert door.raw_scores(torch.zeros(2), torch.tensor([0, 1]), ["0", str(10**6)], None) is None


def test_codes_need_names():
    with pytest.raises(DataError, match="group codes must lie from 0 to 1, the last of the 2 names, got 2"):
        door.read_scores(torch.zeros(3), GroupCodes(torch.tensor([0, 1, 2]), ["a", "b"]), ["a", "b"], None, "error")


# ---- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.5, float("nan")], "scores must not be missing, but 1 of 2 are"),
        ([float("-inf"), 0.5], "scores must be finite, but 1 of 2 are infinite"),
        ([1e308, 0.5], "scores must lie within ±1e307, but 1 of 2 do not"),
        ([True, False], "scores must be real numbers, got a tensor of torch.bool"),
        ([[0.5, 0.5], [0.1, 0.9]], r"scores must be one column, got a tensor of shape \(2, 2\). Pass the score of the"),
        ([0.5], "all columns must have the same number of rows, got scores 1, sensitive_features 2"),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_wrong_scores(device, scores, message):
    model = model_of(CASES[0])
    values = torch.tensor(scores, dtype=None if scores[0] is True else torch.float64, device=device)
    with pytest.raises(DataError, match=message):
        model.transform(values, sensitive_features=put([0, 1], device), random_state=0)


def test_gradients_are_refused():
    model = model_of(CASES[0])
    with pytest.raises(DataError, match=r"scores must not carry gradients.*Pass scores.detach\(\)"):
        model.transform(torch.tensor([0.5], requires_grad=True), sensitive_features=[0], random_state=0)


def test_one_device():
    other = torch.zeros(2, device="meta")
    with pytest.raises(DataError, match="all tensors must be on one device, but the scores are on 'cpu' and ids on"):
        door.on_device(other, "ids", torch.device("cpu"))


def test_missing_groups():
    with pytest.raises(DataError, match="sensitive_features must not be missing, but 1 of 2 are"):
        door.read_scores(torch.zeros(2), torch.tensor([0.0, float("nan")]), ["0"], None, "error")


@pytest.mark.parametrize("device", DEVICES)
def test_empty_and_one_column(device):
    model = model_of(CASES[1])
    nothing, none = torch.zeros(0, device=device), torch.zeros(0, dtype=torch.int64, device=device)
    for way in ways():
        assert transformed(model, nothing, none, way, ids=none).shape == (0,)
    assert model.acceptance_rate(nothing, sensitive_features=none, threshold=0.5).shape == (0,)
    column = put([[0.5], [0.6]], device)
    fair = model.transform(column, sensitive_features=put([[0], [1]], device), ids=put([1, 2], device))
    assert same_bits(fair, model.transform([0.5, 0.6], sensitive_features=[0, 1], ids=[1, 2]), device)


# ---- counts ------------------------------------------------------------------------------------------------


def equal_counts(found, right):
    assert (found.names, found.weighted, found.bits) == (right.names, right.weighted, right.bits)
    for part in ("scores", "negatives", "positives", *(["spread"] if right.bits else [])):
        for a, b in zip(getattr(found, part), getattr(right, part), strict=True):
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


def device_counts(scores, y, groups, bits):
    """Through the code for devices, on whatever device."""
    from fairroc.people.counts import of_groups

    rows = door.read_rows(scores, y, groups, None, "error")
    if bits is None:
        return of_groups(rows.names, [(*cells, None) for cells in counting.exact_cells(rows)], False, None)
    return of_groups(rows.names, [(*c, wide) for c, wide in counting.binned_cells(rows, bits)], False, bits)


@pytest.mark.parametrize("bits", [None, 12, 16, 24, 40, 63])
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("device", DEVICES)
def test_counts(device, pool, bits, monkeypatch):
    monkeypatch.setattr("fairroc.people.counting.MOST_BINS", 1 << 12)
    monkeypatch.setattr("fairroc.people.counting.PIECE", 100)
    scores, y, groups = people(6, pool, groups=3)
    right = ScoreCounts.from_rows(scores, y, sensitive_features=groups)
    right = right if bits is None else right.binned(bits)
    tensors = put(scores, device), put(y, device), put(groups, device)
    found = ScoreCounts.from_rows(tensors[0], tensors[1], sensitive_features=tensors[2], bits=bits)
    equal_counts(found, right)
    equal_counts(device_counts(*tensors, bits), right)
    equal_counts(ScoreCounts.from_rows(scores, y, sensitive_features=groups, bits=bits), right)


@pytest.mark.parametrize("labels", [[0.0, 1.0, 1.0], [-1, 1, 1], [False, True, True], [0, 0, 0], [1, 1, 1]])
@pytest.mark.parametrize("device", DEVICES)
def test_labels(device, labels):
    scores = [0.1, 0.2, 0.3]
    right = ScoreCounts.from_rows(scores, np.array(labels), sensitive_features=["a", "a", "b"])
    tensors = torch.tensor(scores, dtype=torch.float64, device=device), torch.tensor(labels, device=device)
    found = ScoreCounts.from_rows(
        tensors[0], tensors[1], sensitive_features=GroupCodes(put([1, 1, 0], device), ["b", "a"])
    )
    equal_counts(found, right)


@pytest.mark.parametrize("device", DEVICES)
def test_labels_need_a_positive_one(device):
    tensors = put([0.1, 0.2], device), put([3, 4], device), put([0, 1], device)
    with pytest.raises(DataError, match="y holds 3 and 4; pass pos_label="):
        ScoreCounts.from_rows(tensors[0], tensors[1], sensitive_features=tensors[2])
    found = ScoreCounts.from_rows(tensors[0], tensors[1], sensitive_features=tensors[2], pos_label=4)
    assert [part.tolist() for part in found.positives] == [[0], [1]]


@pytest.mark.parametrize("device", DEVICES)
def test_weights_are_summed_on_the_host(device):
    scores, y, groups = people(7)
    weights = np.random.default_rng(1).random(len(y))
    tensors = put(scores, device), put(y, device), put(groups, device), put(weights, device)
    how = {"sensitive_features": tensors[2], "sample_weight": tensors[3]}
    if device == "cpu":
        right = ScoreCounts.from_rows(scores, y, sensitive_features=groups, sample_weight=weights)
        equal_counts(ScoreCounts.from_rows(tensors[0], tensors[1], **how), right)
    else:
        with pytest.raises(DataError, match="sample_weight must be left out"):
            ScoreCounts.from_rows(tensors[0], tensors[1], **how)


@pytest.mark.parametrize("device", DEVICES)
def test_ranks_are_those_of_core(device):
    values = np.concatenate([np.array(NEAR), [5e-324, 0.0, 1e300], np.random.default_rng(2).normal(size=50)])
    values = np.concatenate([values, -values[values > 0]])
    assert (counting._rank(put(values, device)).cpu().numpy() == ranks(values)).all()
    assert same_bits(counting._with_rank(put(ranks(values), device)), with_ranks(ranks(values)), device)


@pytest.mark.parametrize("device", DEVICES)
def test_a_fit_to_tensors_is_the_fit_to_arrays(device):
    estimator = pytest.importorskip("fairroc.estimators.fair_roc")
    scores, y, groups = people(8)
    plain = estimator.FairROC(0.2, salt=1).fit(scores, y, sensitive_features=groups)
    post = estimator.FairROC(0.2, salt=1).fit(
        put(scores, device), put(y, device), sensitive_features=put(groups, device)
    )
    ids = np.arange(len(y))
    fair = post.transform(put(scores, device), sensitive_features=put(groups, device), ids=put(ids, device))
    assert same_bits(fair, plain.transform(scores, sensitive_features=groups, ids=ids), device)


def test_weighted_tensors_on_the_host_are_rows_not_cells() -> None:
    """Whatever takes people takes weighted tensors as it takes arrays: every row is one."""
    rng = np.random.default_rng(5)
    scores, y, groups = rng.random(300).round(1), rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    weight = rng.uniform(0.5, 2.0, 300)
    plain = {"sensitive_features": groups, "sample_weight": weight}
    tensors = {name: torch.tensor(part) for name, part in plain.items()}
    found, expected = (
        read_people(s, label, **how)
        for s, label, how in ((torch.tensor(scores), torch.tensor(y), tensors), (scores, y, plain))
    )
    assert found.rows == expected.rows == 300
    assert np.array_equal(found.class_sizes(), expected.class_sizes())
    assert all(np.array_equal(a.fpr, b.fpr) for a, b in zip(found.exact.curves, expected.exact.curves, strict=True))


@pytest.mark.parametrize("device", DEVICES)
def test_people_without_labels(device) -> None:
    scores = torch.tensor([0.5, 0.25, 1.0], dtype=torch.bfloat16, device=device)
    found = read_people(scores, None, sensitive_features=["a", "a", "b"], whole=False)
    assert found.rows == 3 and found.class_rows().tolist() == [[2, 0], [1, 0]]
    with pytest.raises(DataError, match="gradients"):
        read_people(scores.float().requires_grad_(), None, sensitive_features=["a", "a", "b"], whole=False)


def test_small_groups_are_merged_or_refused_as_in_numpy():
    """Also where rows without a group are one of them."""
    estimator = pytest.importorskip("fairroc.estimators.fair_roc")
    scores, y, g = people(3)
    names = np.array(["a", "b"], dtype=object)[g]
    names[-6:], y[-6:] = ["x", "x", "x", None, None, None], [0, 0, 0, 1, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        merging, dropping = (
            estimator.FairROC(0.1, salt=1, small_groups=treatment, missing="group")
            .fit(scores, y, sensitive_features=names)
            .model_
            for treatment in ("merge", "drop")
        )
        numbers = np.array([0 if name is None else ord(name) for name in names])
        post = estimator.FairROC(0.1, small_groups="merge")
        post.fit(torch.tensor(scores), torch.tensor(y), sensitive_features=torch.tensor(numbers))
    assert post.model_.small_groups.groups == ("0", "120")
    few = ["a", "x", "(missing)", "b"]
    codes = GroupCodes(torch.tensor([0, 1, 2, 3]), few)
    new, ids = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64), torch.arange(4)
    fair = merging.transform(new, sensitive_features=codes, ids=ids)
    assert same_bits(fair, merging.transform(new.numpy(), sensitive_features=few, ids=ids.numpy()), "cpu")
    with pytest.raises(UnknownGroupError, match="left out of the fit as too small"):
        dropping.transform(new, sensitive_features=codes, ids=ids)


# ---- cells, strata and attributes ----------------------------------------------------------------------------------

SPREAD = ("proxy", "proxy in strata", "score alone", "each", "strata")


def spread(name):
    """A model that is told something else than the groups it compares, and rows for it."""
    pytest.importorskip("sklearn")
    pytest.importorskip("scipy")
    from spread_cases import spread_case

    return spread_case(name)


def coded(columns, device):
    """Columns as tensors: whole numbers as they are, texts as codes."""
    found = {}
    for name, values in columns.items():
        texts, codes = np.unique(values, return_inverse=True)
        plain = values.dtype.kind == "i"
        codes = torch.tensor(values if plain else codes, device=device)
        found[name] = codes if plain else GroupCodes(codes, texts.tolist())
    return found


@pytest.mark.parametrize("name", SPREAD)
@pytest.mark.parametrize("device", DEVICES)
def test_cells_are_found_on_the_device(device, name):
    some = spread(name)
    if name == "each":
        told = {"sensitive_features": some.groups}
    else:
        controls, groups = coded(some.controls, device), coded(some.groups, device)
        told = {"control_features": controls or None, "sensitive_features": groups or None}
    chances = {column: torch.tensor(values, device=device) for column, values in some.probabilities.items()}
    matrix = torch.stack([*chances.values()], dim=1) if chances else None
    scores, ids = torch.tensor(some.scores, device=device), torch.tensor(some.ids, device=device)
    for probabilities in (chances or None, matrix, some.probabilities or None):
        fair = some.model.transform(scores, ids=ids, **told, group_probabilities=probabilities)
        assert fair.device.type == device
        assert fair.cpu().numpy().tobytes() == some.expected.tobytes()
    rates = some.model.acceptance_rate(scores, threshold=0.4, **told, group_probabilities=chances or None)
    expected = some.model.acceptance_rate(some.scores, threshold=0.4, **some.told)
    assert rates.cpu().numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_that_are_no_probabilities_are_refused(device):
    some = spread("proxy")
    scores, ids = torch.tensor(some.scores, device=device), torch.tensor(some.ids, device=device)
    good = torch.tensor(np.stack([*some.probabilities.values()], axis=1), device=device)
    assert len(some.model.transform(scores[:0], ids=ids[:0], group_probabilities=good[:0])) == 0
    for place, bad, message in (
        ((3, 2), 1.5, r"group_probabilities\[2\] must lie between 0 and 1, but 1 of 600 do not"),
        ((3, 0), float("nan"), r"group_probabilities\[0\] must not be missing, but 1 of 600 are"),
    ):
        wrong = good.clone()
        wrong[place] = bad
        with pytest.raises(DataError, match=message):
            some.model.transform(scores, ids=ids, group_probabilities=wrong)
    for wrong, message in (
        (good[:, :2], "must have the 3 columns of the fit"),
        (good[:-1], "all columns must have the same number of rows"),
        (good > 0.5, "must be real numbers, got a tensor of torch.bool"),
        (None, "group_probabilities must be given"),
    ):
        with pytest.raises(DataError, match=message):
            some.model.transform(scores, ids=ids, group_probabilities=wrong)
    with pytest.raises(DataError, match="this model does not use sensitive_features"):
        some.model.transform(scores, ids=ids, group_probabilities=good, sensitive_features=ids)
    strata = spread("proxy in strata")
    with pytest.raises(DataError, match="control_features must have 2 columns, as in the fit, got 1"):
        strata.model.transform(scores, ids=ids, group_probabilities=good[:, 0], control_features=ids % 2)
