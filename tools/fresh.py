"""The first minute, timed: a new environment, the wheel, ``fairroc demo`` in an empty folder.

``python tools/fresh.py dist/fairroc-0.1.0-py3-none-any.whl [--oldest] [--python newest]``

Nothing of this environment is seen there: only the wheel and what it asks for, the newest or with ``--oldest`` the
oldest supported versions. Exit 1 if a step fails or the demo leaves less than it says.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEFT = ("report.html", "model.json", "fair_scores.csv", "scores.csv")
SEEN = ("PATH", "PATHEXT", "HOME", "USERPROFILE", "LOCALAPPDATA", "SYSTEMROOT", "TEMP", "TMP", "LANG", "SSL_CERT_FILE")
"""What a newcomer has set, and how packages are found (also everything that begins with PIP_)."""


def surroundings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in SEEN or name.startswith("PIP_")}


def step(name: str, command: list[str | Path], folder: Path) -> str:
    """Run a command, print how long it took, return what it printed."""
    begin = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env=surroundings(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=900,
    )
    print(f"{name:32} {time.perf_counter() - begin:6.1f} s", flush=True)
    if done.returncode:
        sys.exit(f"{name} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def newest() -> str:
    """The newest Python that runs here, of those on the path and those of pyenv."""
    for minor in range(19, 10, -1):
        places = Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3.{minor}")
        for python in (shutil.which(f"python3.{minor}"), *map(str, sorted(places))):
            if python and subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0:
                return python
    return sys.executable


def size(folder: Path) -> float:
    """Megabytes of all files below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def first_minute(wheel: Path, python: str, *, oldest: bool, show: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        constraints = []
        if oldest:
            text = subprocess.run(
                [sys.executable, Path(__file__).with_name("oldest.py")], capture_output=True, check=True
            )
            (folder / "oldest.txt").write_bytes(text.stdout)
            constraints = ["--constraint", folder / "oldest.txt"]
        environment, empty = folder / "env", folder / "empty"
        empty.mkdir()
        version = subprocess.run([python, "-V"], capture_output=True, check=True, encoding="utf-8").stdout.split()[1]
        step(f"new environment, Python {version}", [python, "-m", "venv", environment], folder)
        scripts = environment / ("Scripts" if os.name == "nt" else "bin")
        step("pip install", [scripts / "python", "-m", "pip", "install", "--quiet", *constraints, wheel], folder)
        print(step("fairroc --version", [scripts / "fairroc", "--version"], empty).strip())
        step("python -c 'import fairroc'", [scripts / "python", "-c", "import fairroc"], empty)
        text = step("fairroc demo", [scripts / "fairroc", "demo"], empty)
        if missing := [name for name in LEFT if not (empty / "demo" / name).is_file()]:
            sys.exit(f"fairroc demo left no {', '.join(missing)}:\n{text}")
        report = size(empty / "demo")
        listed = step("pip freeze", [scripts / "python", "-m", "pip", "freeze", "--exclude", "fairroc"], folder)
        print(f"environment {size(environment):.0f} MB, results {report:.1f} MB; {' '.join(listed.split())}")
        if show:
            print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="which one, or 'newest' that can be found")
    parser.add_argument("--oldest", action="store_true")
    parser.add_argument("--show", action="store_true", help="print what the demo printed")
    given = parser.parse_args()
    python = newest() if given.python == "newest" else given.python
    first_minute(given.wheel.resolve(), python, oldest=given.oldest, show=given.show)


if __name__ == "__main__":
    main()
