"""Results of runs as JSON, one file for each part, and the facts that go with them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairroc_studies.peers.envs import version_of
from fairroc_studies.problems.cases import FOLDER, ROOT

PARTS = ("speed", "growth", "quality")


def facts(command: str, peers: tuple[str, ...]) -> dict[str, Any]:
    """Command, date, machine, versions, and which source of fairroc it was."""
    own = {name: version(name) for name in ("fairroc", "numpy", "scikit-learn")}
    return {
        "command": command,
        "date": f"{date.today():%-d %B %Y}",
        "machine": machine(),
        "source": source(),
        "versions": {"Python": platform.python_version()} | own | {peer: version_of(peer) for peer in peers},
    }


def machine() -> str:
    """Processor, number of cores, memory."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{(names or [platform.processor() or platform.machine()])[0]}, {os.cpu_count()} cores, {memory:.0f} GB"


def source() -> str:
    """Ten hex digits that change with any line of the package."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def keep(part: str, results: dict[str, Any]) -> None:
    """Write a part's results, with a note whether the source is still the one they began with."""
    path, meta = _path(part), results["meta"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results | {"meta": meta | {"changed": meta["source"] != source()}}, indent=1))


def kept(part: str) -> dict[str, Any] | None:
    """The last results of a part, if there are any."""
    path = _path(part)
    return json.loads(path.read_text()) if path.exists() else None


def _path(part: str) -> Path:
    return FOLDER / "results" / f"{part}.json"
