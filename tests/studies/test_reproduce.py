"""A tiny version of everything that `fairroc reproduce --full` runs here: all problems, all models, one split."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from test_cli import Run, run
from test_experiments_problems import write_celeba

from fairroc_studies.models.recipes import RECIPES
from fairroc_studies.problems.registry import FULL, PAPER

__all__ = ["run"]  # a fixture

EPSILONS = 2
HERE = [name for name, recipe in RECIPES.items() if recipe.missing() is None]


def with_pictures(folder: Path, n: int) -> None:
    """CelebA's files for n people: an attribute that a picture's colour tells."""
    write_celeba(folder, n)
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow")
    place = folder / "img_align_celeba"
    place.mkdir()
    random = np.random.default_rng(0)
    lines = (folder / "list_attr_celeba.txt").read_text(encoding="utf-8").splitlines()[2:]
    for line in lines:
        name, attractive = line.split()[:2]
        pixels = random.integers(0, 120, (40, 32, 3))
        pixels[..., 0 if attractive == "1" else 2] += 110
        image.fromarray(pixels.astype(np.uint8)).save(place / name)


def test_everything_in_small(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRROC_TRACEBACK", "1")  # an unexpected error ends the run
    faces = tmp_path / "faces"
    faces.mkdir()
    with_pictures(faces, 150)
    ran = run(
        *("reproduce", "--full", "--no-peers", "--rows", "300", "--splits", "1", "--draw", "2"),
        *("--epsilons", EPSILONS, "--celeba", faces, "--jobs", "2", "--no-cache", "-o", tmp_path / "out"),
    )
    assert ran.code == 0, ran.err
    with (tmp_path / "out" / "results.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    tables = {name for name in HERE if not RECIPES[name].images}
    light = {name for name in tables if not RECIPES[name].heavy}
    for problem in FULL:
        models = tables if problem in PAPER else light
        if problem == "celeba":
            models |= set(HERE)
        assert {row["model"] for row in rows if row["problem"] == problem} == models
    for model in set(HERE):
        mine = [row for row in rows if row["model"] == model and row["problem"] == "celeba"]
        assert {row["protected"] for row in mine} == {"True", "False"}
        for kind, methods in (("splits", {"none", "froc", "optimal", "default"}), ("draws", {"froc", "optimal"})):
            assert methods <= {row["method"] for row in mine if row["kind"] == kind}
    fair = [row for row in rows if row["method"] in ("froc", "optimal") and row["gap"] and row["measured"] == "fitted"]
    assert fair and all(float(row["gap"]) <= float(row["epsilon"]) + 1e-9 for row in fair)
    if "fnnc" in HERE:
        held = [row for row in rows if row["method"] == "fnnc" and row["measured"] == "fitted"]
        assert len(held) == EPSILONS * len(PAPER)
        assert all(2 * float(row["meo"]) <= float(row["epsilon"]) + 1e-9 for row in held)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for name in RECIPES:
        told = "not installed" in page and RECIPES[name].title in page
        assert name in HERE or told
