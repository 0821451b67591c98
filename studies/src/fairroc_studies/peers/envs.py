"""An environment of its own for every peer, made on demand and kept until its pins change."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from fairroc_studies.harness.store import home

COMMON = ("numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1", "pandas==3.1.1")
PINS: dict[str, tuple[str, ...]] = {
    "fairlearn": ("fairlearn==0.15.0", *COMMON),
    "error-parity": (
        "error-parity==0.3.12",
        "cvxpy==1.3.4",
        "ecos==2.0.14",
        "numpy==1.26.4",
        "scipy==1.17.1",
        "scikit-learn==1.9.1",
        "pandas==3.0.6",
    ),
    "oxonfair": ("oxonfair==0.3", *COMMON),
    "aif360": ("aif360==0.6.1", *COMMON),
    "holisticai": ("holisticai[bias]==1.0.14", "jax==0.10.2", "jaxlib==0.10.2", "flax==0.12.8", *COMMON),
}
MARKER = "benchmark-pins"


class NotAvailable(Exception):  # noqa: N818 - a state that the report shows, not a fault of the harness
    """An environment could not be made; the text says why."""


@cache
def python_of(library: str) -> Path:
    """The interpreter that runs a library: its environment's own (made if need be), or the project's."""
    if library not in PINS:
        return Path(sys.executable)
    why = _failure(library)
    if why is not None:
        raise NotAvailable(why)
    return _python(_home(library))


def version_of(library: str) -> str:
    """The pinned version of a peer."""
    return PINS[library][0].partition("==")[2]


@cache
def _failure(library: str) -> str | None:
    """Make the environment unless it is there with the same pins; why it failed, or None."""
    home, stamp = _home(library), _stamp(PINS[library])
    marker = home / MARKER
    if marker.is_file() and marker.read_text() == stamp:
        return None
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    pip = [str(_python(home)), "-m", "pip", "install", "--quiet", *PINS[library]]
    for command in ([sys.executable, "-m", "venv", str(home)], pip):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(home, ignore_errors=True)
            return last_error(done.stderr) or f"{' '.join(command[1:4])} ended with {done.returncode}"
    marker.write_text(stamp)
    return None


def last_error(text: str) -> str:
    """The last line that names an error, or else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "rror" in line]
    return (named or lines or [""])[-1][:200]


def _home(library: str) -> Path:
    return home() / "environments" / library


def _python(home: Path) -> Path:
    return home / "bin" / "python"


def _stamp(pins: tuple[str, ...]) -> str:
    """Changes with the pins and with the interpreter."""
    return hashlib.sha256("\n".join((sys.version, *pins)).encode()).hexdigest()
