"""What fairroc needs at run time: ``python tools/dependencies.py FOLDER`` writes FOLDER/sbom.json and looks for known
vulnerabilities.

Looked at are fairroc and its extras as they are installed beside this Python, with all that they need in turn; tools of
tests are no part of it. The bill of materials is CycloneDX, by ``cyclonedx-py``; vulnerabilities come from PyPI's data
base by ``pip-audit``; both are looked for in ``--tools``. One with a fix ends with exit code 1. Where a tool is missing
or the data base cannot be reached, a line says so and the exit code is 0.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("", "plot", "report")
SECONDS = 25
"""Patience with a data base."""


def installed(root: str = "fairroc") -> dict[str, str]:
    """Versions of what is needed, by name; what is not installed here (an extra's alternative) is left out."""
    found: dict[str, str] = {}
    ahead = [(root, extra) for extra in EXTRAS]
    seen = set(ahead)
    while ahead:
        name, extra = ahead.pop()
        try:
            needed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if name != root:
            found[re.sub(r"[-_.]+", "-", name).lower()] = needed.version
        for requirement in map(Requirement, needed.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                new = {(requirement.name, part) for part in ("", *requirement.extras)} - seen
                seen |= new
                ahead += new
    return dict(sorted(found.items()))


def run(tool: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """A tool's run, or None where it is not there or does not come back."""
    try:
        return subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None


def write_bill(tools: Path, wanted: Path, bill: Path) -> str:
    """Write the bill of materials; a line about it."""
    how = ("--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library", "--output-reproducible")
    done = run(tools / "cyclonedx-py", "requirements", str(wanted), *how, "--of", "JSON", "-o", str(bill))
    if done is None or done.returncode or not bill.exists():
        return "no bill of materials: cyclonedx-py is not installed or failed."
    return f"{bill}: {len(json.loads(bill.read_text(encoding='utf-8'))['components'])} components."


def vulnerabilities(tools: Path, wanted: Path, result: Path) -> tuple[int, list[str], list[str]]:
    """How many packages could be looked up; what is known with a fix and without, a line each."""
    result.unlink(missing_ok=True)
    how = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--timeout", "5", "-f", "json")
    done = run(tools / "pip-audit", "-r", str(wanted), *how, "-o", str(result))
    if done is None or not result.exists() or not result.read_text(encoding="utf-8").strip():
        return 0, [], []
    fixed, open_, asked = [], [], 0
    for one in json.loads(result.read_text(encoding="utf-8"))["dependencies"]:
        asked += "skip_reason" not in one
        for known in one.get("vulns", ()):
            fixes = ", ".join(known["fix_versions"])
            line = f"{one['name']} {one['version']}: {known['id']}, {f'fixed in {fixes}' if fixes else 'no fix yet'}."
            (fixed if fixes else open_).append(line)
    return asked, fixed, open_


def main() -> int:
    """Write, look, say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tools", type=Path, default=Path(sys.executable).parent, help="folder of the two programs")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    versions, wanted = installed(), folder / "requirements.txt"
    wanted.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()), encoding="utf-8")
    print(write_bill(arguments.tools, wanted, folder / "sbom.json"))
    asked, fixed, open_ = vulnerabilities(arguments.tools, wanted, folder / "vulnerabilities.json")
    for line in (*fixed, *open_):
        print(line)
    told = f"{len(fixed)} with a fix, {len(open_)} without" if asked else "the data base cannot be reached"
    print(f"known vulnerabilities: {asked} of {len(versions)} packages looked up; {told}.")
    return 1 if fixed else 0


if __name__ == "__main__":
    sys.exit(main())
