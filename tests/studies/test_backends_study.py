"""The table of back ends: ways are measured against numpy, and a way that is not there is said to be missing."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from fairroc_studies.speed import backends, ways
from sql_cases import fitted

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
MODEL = fitted(("a", "b"), seed=1, n=600, epsilon=0.05, draw="all")


@pytest.mark.parametrize("name", ["numpy arrays", "Arrow table", "ONNX Runtime", "DuckDB, macro"])
def test_a_way_gives_the_bits_and_the_times(tmp_path: Path, monkeypatch, capsys, name: str) -> None:
    monkeypatch.setattr(ways, "LEAST", 0.001)
    monkeypatch.setattr(backends, "has", lambda python, modules: modules == ("onnx",))
    folder = tmp_path / "model"
    backends.exported(MODEL, folder, None)
    (folder / "groups").write_text("2")
    ways.child(name, folder, 300, time.time(), os.getpid())
    rows = ways.people(300, 2)
    expected = MODEL.transform(rows["p"], sensitive_features=rows["g"], ids=rows["id"])
    assert np.load(folder / "fair.npy").tobytes() == expected.tobytes()
    found = json.loads(capsys.readouterr().out)
    assert min(found["start"]) >= 0 and found["seconds"] > 0


def test_what_is_not_there_is_said_to_be_missing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(backends, "fitted", lambda groups, draw: MODEL)
    monkeypatch.setattr(backends, "people", lambda count, groups: ways.people(count, 2))
    monkeypatch.setattr(backends, "has", lambda python, modules: not modules or modules == ("duckdb",))
    same = {"DuckDB, query": True, "DuckDB, macro": False, "numpy arrays": True}
    monkeypatch.setattr(
        backends, "measure", lambda python, name, folder, rows: ((0.5, 0.25), rows / 12345.0, same[name])
    )
    lines = {line[0]: line[1:] for line in backends.all_lines(tmp_path, ["python"], 100, 1, None)}
    assert lines["numpy arrays"] == ["12,000", "12,000", "yes", "0.500 (0.250)", "Python, fairroc"]
    assert lines["DuckDB, macro"][2] == "**no**"
    assert {name for name, line in lines.items() if line[0] == "not measured"} == {*ways.WAYS} - {*same}
