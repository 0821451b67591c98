"""The demo leaves what it says, on the sample that comes with fairroc and on the full data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

from fairroc.cli import demo
from fairroc.datasets import _find
from fairroc.errors import DataError, DatasetError
from fairroc.fairmodel import FairModel

README = Path(__file__).parents[2] / "README.md"
FILES = {"fair_scores.csv", "model.json", "report.html", "roc.png", "scores.csv"}


def check_folder(folder: Path, epsilon: float, people: int) -> None:
    """Model, fair scores and report are there, and the model gives the fair scores of the file again."""
    model = FairModel.load(folder / "model.json")
    assert model.epsilon == epsilon
    table = pyarrow.csv.read_csv(folder / "fair_scores.csv")
    assert table.num_rows == people
    again = model.transform(table["score"], sensitive_features=table["group"], ids=table["id"])
    assert np.array_equal(again, table["score_fair"].to_numpy())
    assert "Adult, income above 50K" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:no score that was tried reaches")
def test_the_sample_as_the_readme_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One screen, from the wheel alone: no data set is looked for, and matplotlib may be missing."""

    def nothing(*_: object, **__: object) -> None:
        raise AssertionError("the demo looked for a data set")

    monkeypatch.setattr(_find, "contents", nothing)
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    text = demo.run_demo(Path("demo"))
    assert f"```text\n{text}\n```" in README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 25 and max(map(len, text.splitlines())) <= 120
    assert {path.name for path in Path("demo").iterdir()} == FILES - {"roc.png"}
    check_folder(Path("demo"), 0.05, 5_000)
    rows = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    before, after, exact = (rows[name] for name in ("original score", "fair score", "with --promise fitted"))
    assert float(exact[-4]) <= 0.05 < float(before[-4])  # the people fitted
    assert float(after[-2]) < float(exact[-2]) < float(before[-2]) / 2  # the people held out
    apart = [abs(float(a) - float(b)) for a, b in (rows["of 100 who do not"][i:][:2] for i in (-4, -2))]
    assert apart[1] < apart[0] / 2


@pytest.mark.filterwarnings("ignore:no score that was tried reaches")
def test_the_full_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And an old picture stays until the new one is whole."""
    figure, folder = pytest.importorskip("matplotlib.figure").Figure, tmp_path / "new" / "demo"
    save, seen = figure.savefig, []

    def saved(*given: Any, **how: Any) -> None:
        save(*given, **how)
        seen.append((folder / "roc.png").read_text(encoding="utf-8"))

    monkeypatch.setattr(figure, "savefig", saved)
    folder.mkdir(parents=True)
    (folder / "roc.png").write_text("old")
    text = demo.run_demo(folder, epsilon=0.1, full=True)
    assert "32,561 people trained" in text and "epsilon 0.1" in text and "8,140 more were held out" in text
    assert {path.name for path in folder.iterdir()} == FILES and all(name in text for name in FILES)
    assert (folder / "roc.png").read_bytes().startswith(b"\x89PNG")
    assert seen == ["old"]
    check_folder(folder, 0.1, 8_140)


def test_missing_data_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> None:
        raise DatasetError("adult.data was not found.")

    monkeypatch.setattr(_find, "contents", nothing)
    with pytest.raises(DatasetError, match=r"adult.data was not found.\nWithout --full"):
        demo.run_demo(tmp_path / "demo", full=True)
    assert not (tmp_path / "demo").exists()


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="needs a folder to write to"):
        demo.run_demo(tmp_path / "file" / "demo")
