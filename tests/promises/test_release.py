"""What a release needs: one version everywhere, Pythons that are tested, a note from the changelog, clean files."""

from __future__ import annotations

import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import fairroc

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import release  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOG = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n### Added\n- A.\n\n## [0.1.0] - 2026-11-01\n- B.\n"


def test_one_version() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert cited is not None and cited[1] == release.version() == fairroc.__version__


def test_every_supported_python_is_tested() -> None:
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={listed[0]}"
    matrix = re.search(
        r"^  fresh:.*?python: \[(.*?)\]", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"), re.M | re.S
    )
    assert matrix is not None and re.findall(r"[\d.]+", matrix[1]) == listed


def test_the_note_of_a_version() -> None:
    assert release.note(LOG, "0.2.0") == "### Added\n- A."
    assert release.note(LOG, "0.1.0") == "- B."
    assert release.note(LOG, "0.2") is None and release.note(LOG, "Unreleased") == ""


def test_what_a_distribution_should_not_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needed = ("fairroc/datasets/data/adult_sample.csv", "fairroc/datasets/data/LICENSE-adult.txt", "LICENSE")
    good, bad = tmp_path / "good.whl", tmp_path / "bad.tar.gz"
    with zipfile.ZipFile(good, "w") as wheel:
        for name in needed:
            wheel.writestr(name, "x")
    large, cached = tmp_path / "large", tmp_path / "x.pyc"
    large.write_bytes(bytes(int(release.LARGEST) + 1))
    cached.write_bytes(b"x")
    with tarfile.open(bad, "w:gz") as sdist:
        sdist.add(large, "fairroc-1/docs/large.csv")
        sdist.add(cached, "fairroc-1/src/__pycache__/x.pyc")
    assert release.check([good]) == 0
    assert release.check([good, bad]) == 1
    said = capsys.readouterr().out
    assert all(words in said for words in ("x.pyc should not", "large.csv is large", "LICENSE is missing", "3 files"))
