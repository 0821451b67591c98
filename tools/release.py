"""What a release needs.

``python tools/release.py v0.1.0`` prints the release note, the version's section of CHANGELOG.md. Exit 1 where the tag
is not the package's version, or where the changelog has no section for it.

``python tools/release.py --check dist/*`` says what a distribution holds. Exit 1 where it holds what it should not.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

LARGEST, MOST = 1.5e6, 12e6
"""Bytes of one file, and of all, before they are compressed."""

UNWANTED = re.compile(r"__pycache__|\.pyc$|/\.venv|/\.?(pytest|mypy|ruff)_cache|\.egg-info|/demo/|\.DS_Store")
ROOT = Path(__file__).resolve().parents[1]


def version() -> str:
    """The package's."""
    found = re.search(r'"(.+)"', (ROOT / "src" / "fairroc" / "_version.py").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def note(changelog: str, wanted: str) -> str | None:
    """What a changelog says about a version.

    >>> note("# Changelog\\n## [0.2.0] - 2026-12-01\\n### Added\\n- A.\\n## [0.1.0] - 2026-11-01\\n- B.\\n", "0.2.0")
    '### Added\\n- A.'
    """
    found = re.search(rf"^## \[{re.escape(wanted)}\][^\n]*\n(.*?)(?=^## \[|\Z)", changelog, re.M | re.S)
    return None if found is None else found[1].strip()


def contents(path: Path) -> dict[str, int]:
    """Files of a distribution and their sizes."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {member.filename: member.file_size for member in wheel.infolist()}
    with tarfile.open(path) as sdist:
        return {member.name: member.size for member in sdist.getmembers() if member.isfile()}


def faults(files: Mapping[str, int]) -> list[str]:
    """What should not be in a distribution, or is missing.

    >>> faults({"fairroc/x.pyc": 1, "fairroc/datasets/data/adult_sample.csv": 1, "LICENSE": 1, "LICENSE-adult.txt": 1})
    ['fairroc/x.pyc should not be in it']
    """
    found = [f"{name} should not be in it" for name in files if UNWANTED.search(f"/{name}")]
    found += [f"{name} is large: {size:,} bytes" for name, size in files.items() if size > LARGEST]
    if (total := sum(files.values())) > MOST:
        found.append(f"all files together are large: {total:,} bytes")
    needed = ("LICENSE", "LICENSE-adult.txt", "adult_sample.csv")
    return found + [f"{name} is missing" for name in needed if not any(file.endswith(name) for file in files)]


def check(paths: list[Path]) -> int:
    """Print what distributions hold; 1 where something is wrong with them."""
    wrong = 0
    for path in paths:
        files = contents(path)
        packed, unpacked = path.stat().st_size / 1e6, sum(files.values()) / 1e6
        print(f"{path.name}: {len(files)} files, {packed:.2f} MB ({unpacked:.1f} MB unpacked)")
        for fault in faults(files):
            print(f"  {fault}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        sys.exit(check([Path(name) for name in sys.argv[2:]]))
    tag = sys.argv[1]
    if tag != f"v{version()}":
        sys.exit(f"the tag must be v{version()}, the version in src/fairroc/_version.py; got {tag}.")
    text = note((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version())
    if not text:
        sys.exit(f"CHANGELOG.md must have a section '## [{version()}] - DATE'; there is none. Rename [Unreleased].")
    print(text)
