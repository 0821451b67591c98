"""Kept files: what a version wrote and answered, every later version reads and answers with the same bits.

``tests/kept/VERSION`` holds model files, the fair scores of stored people (by ids, with a key, and by a seed), and
audits. Fair scores have the same bits on every machine and with all supported versions of Python, numpy, pyarrow and
scikit-learn (``make versions``); what audits measure agrees to 1e-9. A folder of a released version is never written
again:

    python tests/promises/test_kept.py --write              # the folder of this version, before it is released
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairroc import FairModel, FairROC, __version__, audit
from fairroc.errors import FairrocWarning

KEPT = Path(__file__).resolve().parents[1] / "kept"
KEY = "a secret key of some length"
FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "two-order": ("two", {"epsilon": 0.05}),
    "two-draw": ("two", {"epsilon": 0.01, "draw": "all"}),
    "two-key": ("two", {"epsilon": 0.05, "draw": "all", "key": KEY}),
    "two-blake2b": ("two", {"epsilon": 0.1, "draw": "all", "hash": "blake2b"}),
    "two-froc": ("two", {"epsilon": 0.05, "method": "froc", "queries": 25}),
    "two-new": ("two", {"epsilon": 0.05, "promise": "new"}),
    "two-opportunity": ("two", {"epsilon": 0.05, "constraint": "equal_opportunity"}),
    "two-ratio": ("two", {"constraint": "demographic_parity", "ratio": 0.8}),
    "two-never": ("two", {"epsilon": 0.1, "constraint": "predictive_equality", "draw": "never"}),
    "three-inf": ("three", {"epsilon": 0.05, "norm": "inf"}),
    "three-own": ("three", {"epsilon": {"fpr": 0.1, "tpr": 0.05}, "draw": "all"}),
    "ties": ("ties", {"epsilon": 0.05}),
    "binary": ("binary", {"epsilon": 0.05}),
    "fractional": ("fractional", {"epsilon": 0.05}),
    "intersection": ("intersection", {"epsilon": 0.1}),
    "missing": ("missing", {"epsilon": 0.1, "missing": "group"}),
    "logits": ("logits", {"epsilon": 0.05}),
}
AUDITS = ("two", "three", "ties", "perfect", "crossing", "fractional")
ROWS = 90
VERSIONS = sorted(path.name for path in KEPT.iterdir()) if KEPT.is_dir() else []


def _groups(columns: Any) -> Any:
    """Groups from JSON: one column, or several by name."""
    if isinstance(columns, dict):
        return {name: np.array(column, dtype=object) for name, column in columns.items()}
    return np.array(columns, dtype=object if None in columns else None)


def answers(model: FairModel, asked: dict[str, Any]) -> dict[str, list[float]]:
    """What a model answers about people: fair scores by ids and by a seed, and chances at a threshold."""
    scores, groups = np.array(asked["scores"]), _groups(asked["groups"])
    keyed = {"key": KEY} if asked["keyed"] else {}
    return {
        "by id": model.transform(scores, sensitive_features=groups, ids=asked["ids"], **keyed).tolist(),
        "by seed": model.transform(scores, sensitive_features=groups, random_state=7).tolist(),
        "chances": model.acceptance_rate(scores, sensitive_features=groups, threshold=asked["threshold"]).tolist(),
    }


def audited(people: dict[str, Any]) -> Any:
    """An audit of people, as its JSON."""
    weights = people["weights"] and np.array(people["weights"])
    found = audit(
        np.array(people["scores"]),
        np.array(people["y"]),
        sensitive_features=_groups(people["groups"]),
        sample_weight=weights,
        bootstrap=100,
        random_state=0,
    )
    return json.loads(json.dumps(found.to_dict()))


def _read(version: str, name: str) -> Any:
    return json.loads((KEPT / version / f"{name}.json").read_text(encoding="utf-8"))


def test_this_version_is_kept() -> None:
    assert __version__ in VERSIONS
    for version in VERSIONS:
        models = {path.stem for path in (KEPT / version / "models").iterdir()}
        assert models == set(_read(version, "people")) == set(_read(version, "answers"))


@pytest.mark.parametrize("version", VERSIONS)
def test_models_of_every_version_give_the_same_bits(version: str) -> None:
    people, stored = _read(version, "people"), _read(version, "answers")
    for name, asked in people.items():
        path = KEPT / version / "models" / f"{name}.json"
        model = FairModel.load(path)
        assert answers(model, asked) == stored[name], name
        assert FairModel.from_json(model.to_json()).to_json() == model.to_json(), name


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
def test_audits_of_every_version_measure_the_same(version: str) -> None:
    from test_golden import differences

    for name, kept in _read(version, "audits").items():
        assert not differences(kept["audit"], audited(kept["people"])), name


# -- writing ----------------------------------------------------------------------------------------------------------


def _plain(groups: Any) -> Any:
    if isinstance(groups, dict):
        return {name: np.asarray(column).tolist() for name, column in groups.items()}
    return np.asarray(groups).tolist()


def _asked(data: Any, keyed: bool) -> dict[str, Any]:
    """People to ask about: fitted scores, scores between them and beyond them, and both zeros."""
    rng, sorted_scores = np.random.default_rng(11), np.unique(data.scores)
    at = rng.integers(0, len(data.scores), ROWS)
    scores = np.array(data.scores, dtype=float)[at]
    middles = (sorted_scores[1:] + sorted_scores[:-1]) / 2 if len(sorted_scores) > 1 else sorted_scores
    scores[::3] = rng.choice(middles, len(scores[::3]))
    scores[1:8] = [sorted_scores[0] - 1, sorted_scores[-1] + 1, 0.0, -0.0, 5e-324, -1e300, 1e300]
    groups = data.groups
    taken = {n: np.asarray(c)[at] for n, c in groups.items()} if isinstance(groups, dict) else np.asarray(groups)[at]
    return {
        "scores": scores.tolist(),
        "groups": _plain(taken),
        "ids": [f"person {i}" for i in range(ROWS)],
        "threshold": float(np.median(data.scores)),
        "keyed": keyed,
    }


def _write(folder: Path) -> None:
    from test_golden import DATA

    (folder / "models").mkdir(parents=True, exist_ok=True)
    for old in folder.rglob("*.json"):
        old.unlink()
    people, answered, audits = {}, {}, {}
    for name, (set_name, options) in FITS.items():
        data = DATA[set_name]()
        post = FairROC(salt=1, **options)
        post.fit(data.scores, data.y, sensitive_features=data.groups, sample_weight=data.weights)
        post.model_.save(folder / "models" / f"{name}.json")
        people[name] = _asked(data, "key" in options)
        answered[name] = answers(FairModel.load(folder / "models" / f"{name}.json"), people[name])
    for name in AUDITS:
        data = DATA[name]()
        columns = {"scores": data.scores, "y": data.y, "groups": data.groups, "weights": data.weights}
        plain = {n: None if c is None else _plain(c) for n, c in columns.items()}
        audits[name] = {"people": plain, "audit": audited(plain)}
    for name, body in (("people", people), ("answers", answered), ("audits", audits)):
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in body.items())
        (folder / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    warnings.simplefilter("ignore", FairrocWarning)
    _write(KEPT / __version__)
