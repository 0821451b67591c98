"""The look at dependencies: what it finds ends it, what it cannot reach does not."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "dependencies.py"
LOOKED_UP = {"name": "numpy", "version": "1", "vulns": []}
KNOWN = {"id": "CVE-1", "fix_versions": []}


def look(folder: Path) -> tuple[int, str]:
    command = [sys.executable, TOOL, folder / "out", "--tools", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def put(path: Path, lines: str) -> None:
    """A program that writes to the file after -o."""
    program = f"import sys\nout = open(sys.argv[sys.argv.index('-o') + 1], 'w')\n{lines}\n"
    path.with_suffix(".py").write_text(program, encoding="utf-8")
    words = shlex.join([sys.executable, str(path.with_suffix(".py"))])
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="programs in place of others, by their first line")
@pytest.mark.parametrize(
    ("found", "code", "words"),
    [
        ([LOOKED_UP], 0, "1 of {n} packages looked up; 0 with a fix, 0 without."),
        ([LOOKED_UP | {"vulns": [KNOWN]}], 0, "numpy 1: CVE-1, no fix yet."),
        ([LOOKED_UP | {"vulns": [KNOWN | {"fix_versions": ["2"]}]}], 1, "numpy 1: CVE-1, fixed in 2."),
        ([{"name": "numpy", "skip_reason": "not found"}], 0, "0 of {n} packages looked up; the data base cannot be"),
        (None, 0, "0 of {n} packages looked up; the data base cannot be reached."),
    ],
)
def test_what_is_known_is_told(tmp_path: Path, found: list[object] | None, code: int, words: str) -> None:
    report = json.dumps({"dependencies": found})
    put(tmp_path / "pip-audit", "sys.exit(1)" if found is None else f"out.write({report!r}); sys.exit({code})")
    put(tmp_path / "cyclonedx-py", """out.write('{"components": [1, 2]}')""")
    ended, text = look(tmp_path)
    listed = (tmp_path / "out" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert ended == code and words.format(n=len(listed)) in text and "sbom.json: 2 components." in text
    assert {"numpy", "pyarrow", "scikit-learn"} <= {line.split("==")[0] for line in listed}
    assert not any(line.startswith(("fairroc", "pytest", "ruff")) for line in listed)


def test_nothing_at_hand(tmp_path: Path) -> None:
    code, text = look(tmp_path)
    assert code == 0 and "no bill of materials" in text and "cannot be reached" in text
