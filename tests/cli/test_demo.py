"""The demo leaves what it says, on the real data set and on the made-up one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

from fairroc.cli import demo
from fairroc.errors import DataError, DatasetError
from fairroc.fairmodel import FairModel


def check_folder(folder: Path, epsilon: float) -> None:
    """Model, fair scores and picture are there, and the model gives the fair scores of the file again."""
    assert {path.name for path in folder.iterdir()} == {
        *("fair_scores.csv", "model.json", "report.html", "roc.png", "scores.csv")
    }
    model = FairModel.load(folder / "model.json")
    assert model.epsilon == epsilon
    table = pyarrow.csv.read_csv(folder / "fair_scores.csv")
    again = model.transform(table["score"], sensitive_features=table["group"], ids=table["id"])
    assert np.array_equal(again, table["score_fair"].to_numpy())
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"Epsilon {epsilon:g}: at every threshold" in page
    assert (folder / "roc.png").read_bytes().startswith(b"\x89PNG")


def test_adult(tmp_path: Path) -> None:
    said: list[str] = []
    text = demo.run_demo(tmp_path / "new" / "demo", epsilon=0.1, say=said.append)
    assert "Adult" in text
    assert "epsilon 0.1" in text
    first, second = (text.index(words) for words in ("new people (expected)", "Was the estimate right?"))
    assert first < second < text.index('promise="new"', second)
    assert "fairroc fit" in text
    assert f"{tmp_path / 'new' / 'demo'}/report.html" in text
    assert any("training" in line for line in said)
    check_folder(tmp_path / "new" / "demo", 0.1)


def test_a_made_up_example_takes_the_place_of_missing_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And an old picture stays until the new one is whole."""

    def nothing() -> None:
        raise DatasetError("adult.data was not found. More words.")

    figure = pytest.importorskip("matplotlib.figure").Figure
    save, seen = figure.savefig, []

    def saved(*given: Any, **how: Any) -> None:
        save(*given, **how)
        seen.append((tmp_path / "roc.png").read_text())

    monkeypatch.setattr(demo, "adult_scores", nothing)
    monkeypatch.setattr(figure, "savefig", saved)
    (tmp_path / "roc.png").write_text("old")
    said: list[str] = []
    text = demo.run_demo(tmp_path, epsilon=0.05, say=said.append)
    assert text.startswith("made-up lending example")
    assert any("adult.data was not found" in line for line in said)
    assert seen == ["old"]
    check_folder(tmp_path, 0.05)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="needs a folder to write to"):
        demo.run_demo(tmp_path / "file" / "demo", say=print)
