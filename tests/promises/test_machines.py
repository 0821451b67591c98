"""The same on every machine: fits of random people, and all golden and kept files, as other processors compute them.

What differs from one x86 machine to the next is set in the environment, before numpy is loaded: which kernels OpenBLAS
takes, in how many threads, and which vector instructions numpy and the C library use.

    python tests/promises/test_machines.py [NAME ...] # golden and kept files under these settings, or all of them
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairroc import FairROC, FairrocError, FairrocWarning, verify
from fairroc.verifying.files import decisions

HERE = Path(__file__).resolve().parent
SEEDS, PARTS = 200, 8
REPEATED = ("test_golden.py", "test_kept.py")


def settings() -> dict[str, dict[str, str]]:
    """Environments that stand for processors, by name; SkylakeX where this one has its instructions."""
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__ as extras
        from numpy._core._multiarray_umath import __cpu_features__ as features
    except ImportError:  # numpy 1
        from numpy.core._multiarray_umath import __cpu_dispatch__ as extras
        from numpy.core._multiarray_umath import __cpu_features__ as features
    found = {
        "Haswell": {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"},
        "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX", "OPENBLAS_NUM_THREADS": "1"},
        "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"},
        "no vector instructions": {
            "OPENBLAS_CORETYPE": "Nehalem",
            "OPENBLAS_NUM_THREADS": "2",
            "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in extras if features.get(name)),
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4",
        },
    }
    if not any(features.get(name) for name in ("AVX512_SKX", "X86_V4")):
        del found["SkylakeX"]
    return found


# -- random people, from uniform and whole numbers alone ---------------------------------------------------------------


def people(seed: int) -> tuple[Any, ...]:
    """Scores, labels, codes of groups, and weights: ties, 0/1 scores, equal groups, crossing curves, 2 to 8 groups."""
    rng = np.random.Generator(np.random.PCG64(seed))
    kind, groups = seed % 8, 2 + seed // 8 % 7
    rows = int(rng.integers(30, 160)) * groups
    code, y = rng.integers(0, groups, rows), rng.integers(0, 2, rows)
    code[: 4 * groups], y[: 4 * groups] = np.repeat(np.arange(groups), 4), np.tile([0, 1], 2 * groups)
    lift = np.full(groups, 0.8) if kind in (1, 5) else 1.5 * rng.random(groups)
    scores = (rng.random(rows) + rng.random(rows) + y * lift[code]) / 4
    if kind == 2:
        place, other = rng.random(rows), rng.random(rows)
        scores = np.where(code == 0, np.maximum(place, other * y), np.minimum(place, 1 - other * (1 - y)))
    if kind in (3, 5):
        scores = np.floor(10 * scores)
    if kind == 4:
        scores = np.where(scores > 0.5, 1.0, 0.0)
    weights = {6: np.round(0.1 + 3 * rng.random(rows), 3), 7: rng.integers(1, 6, rows)}.get(kind)
    return np.round(scores, 4), y, code, weights, rng


def fitted(seed: int) -> Any:
    """What random people are fitted to, with random options: the model file without salt and date; or the refusal."""
    scores, y, code, weights, rng = people(seed)
    sex, names = code % 2, np.array([f"g{i}" for i in code])
    kinds: list[dict[str, Any]] = [
        *({"promise": promise} for promise in ("fitted", "new", "fitted", "new")),
        {"draw": "all"},
        {"draw": "never"},
        {"norm": "inf"},
        {"constraint": "equal_opportunity"},
        {"constraint": "demographic_parity", "ratio": 0.8},
        {"use_group": False},
        {"use_group": False, "promise": "new"},
        {"combine": "each"},
        {"promise": "population", "confidence": 0.9},
        {"method": "froc", "queries": 25},
    ]
    options = kinds[int(rng.integers(len(kinds)))]
    if "ratio" not in options:
        options = {
            "epsilon": float(rng.choice([0.0, 0.02, 0.05, 0.1, 0.2])) + 0.4 * ("confidence" in options),
            **options,
        }
    more, groups = {}, names
    if "use_group" in options:
        chance = rng.random((len(code), code.max() + 1)) + 2.0 * np.eye(code.max() + 1)[code]
        chance /= chance.sum(axis=1, keepdims=True)
        more = {"group_probabilities": {name: chance[:, i] for i, name in enumerate(np.unique(names).tolist())}}
    if "combine" in options:
        groups = {"group": names, "sex": np.where(rng.random(len(sex)) < 0.8, sex, 1 - sex)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairrocWarning)
            post = FairROC(**{"promise": "fitted", "salt": 1} | options)
            post.fit(scores, y, sensitive_features=groups, sample_weight=weights, **more)
    except FairrocError as error:
        return [options, str(error)]
    body = json.loads(post.model_.to_json())
    body["fit"]["date"] = body["checksum"] = ""
    return [options, decisions(body), body]


# -- tests -----------------------------------------------------------------------------------------------------------


def _fits(part: int, setting: dict[str, str]) -> Any:
    done = subprocess.run(
        [sys.executable, str(HERE / "test_machines.py"), "--part", str(part)],
        env=os.environ | setting,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("part", [0, 1, *(pytest.param(part, marks=pytest.mark.slow) for part in range(2, PARTS))])
def test_the_same_people_get_the_same_model_on_other_processors(part: int) -> None:
    from test_golden import differences

    one, other = (_fits(part, settings()[name]) for name in ("Haswell", "no vector instructions"))
    assert len(one) == SEEDS // PARTS and sum(len(fit) == 3 for fit in one) > SEEDS // PARTS / 2
    assert {fit[0].get("promise") for fit in one} >= {"fitted", "new"}
    assert not [f"fit {i}: {off}" for i, pair in enumerate(zip(one, other, strict=True)) for off in differences(*pair)]


def test_a_second_fit_decides_the_same_and_verify_says_so() -> None:
    scores, y, code, *_ = people(0)
    posts = [FairROC(0.05, promise="fitted").fit(scores, y, sensitive_features=code) for _ in range(2)]
    found = [verify(post.model_, scores, y, sensitive_features=code) for post in posts]
    assert posts[0].model_.salt != posts[1].model_.salt and found[0].decisions == found[1].decisions
    assert f"Decisions {found[0].decisions} " in str(found[0]) and len(found[0].to_dict()["decisions"]) == 16
    other = FairROC(0.06, promise="fitted").fit(scores, y, sensitive_features=code)
    assert verify(other.model_, scores, y, sensitive_features=code).decisions != found[0].decisions


def _repeat(names: list[str]) -> int:
    """Golden and kept files under some settings."""
    worst, known = 0, settings()
    for name in names:
        setting = known[name]
        print(f"{name}: {' '.join(f'{key}={value!r}' for key, value in setting.items())}", flush=True)
        tests = [str(HERE / file) for file in REPEATED]
        call = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *tests]
        worst = max(worst, subprocess.run(call, env=os.environ | setting, check=False).returncode)
    return worst


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        begin = int(sys.argv[2]) * (SEEDS // PARTS)
        json.dump([fitted(seed) for seed in range(begin, begin + SEEDS // PARTS)], sys.stdout)
    elif {*sys.argv[1:]} <= {*settings(), "every"}:
        sys.exit(_repeat([*settings()] if sys.argv[1:] in ([], ["every"]) else sys.argv[1:]))
    else:
        sys.exit(__doc__)
