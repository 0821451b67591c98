"""Measure fairroc and its peers and write docs/results/benchmarks.md.

    python -m fairroc_studies bench                      # the small version, a few minutes
    python -m fairroc_studies bench --full               # 1e6 and 1e7 rows, ten splits
    python -m fairroc_studies bench --only speed --rows 1e6
    python -m fairroc_studies bench --render             # the page again, from the last results

The last results are kept in the user's cache; a run of some parts leaves the other sections of the page as they are.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairroc.cli.output import progress_bar
from fairroc_studies.harness import tables
from fairroc_studies.harness.store import Store, source_digest
from fairroc_studies.peers.catalogue import LIBRARIES
from fairroc_studies.peers.children import NotAvailable, python_of, version_of
from fairroc_studies.speed import report
from fairroc_studies.speed.speed import growth, quality, speed, startup

PARTS = ("speed", "growth", "quality")


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    options = _options(given)
    if not options.render:
        _measure(options, _command(given))
    bodies = _bodies(options.only, options.output)
    if not bodies:
        raise SystemExit("nothing to render: no results are kept yet. Run python -m fairroc_studies bench first.")
    tables.update(options.output, bodies, "benchmarks.md")


def _command(given: list[str]) -> str:
    """What was called, but for where the page went."""
    kept = list(given)
    if "--output" in kept:
        del kept[kept.index("--output") : kept.index("--output") + 2]
    return " ".join(["python -m fairroc_studies bench", *kept])


def _options(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fairroc_studies bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--full", action="store_true", help="large sizes and ten splits: about an hour")
    parser.add_argument("--rows", nargs="+", type=float, help="sizes of the speed tables, for example 1e6 1e7")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run or render")
    parser.add_argument("--peers", nargs="*", choices=LIBRARIES, default=LIBRARIES, help="libraries to compare with")
    parser.add_argument("--splits", type=int, help="seeded splits of the quality tables")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page from the last results")
    parser.add_argument("--output", type=Path, default=tables.DOCS / "results" / "benchmarks.md")
    options = parser.parse_args(given)
    options.rows = [int(count) for count in options.rows or ((1e6, 1e7) if options.full else (1e5, 1e6))]
    options.splits = options.splits or (10 if options.full else 2)
    options.peers = tuple(options.peers)
    return options


def _measure(options: argparse.Namespace, command: str) -> None:
    """Run the parts asked for and keep their results."""
    _make_environments(options.peers)
    rounds = 5 if options.full else 2
    if "speed" in options.only:
        facts = _facts(command, options.peers)
        records = speed(options.rows, options.peers, rounds)
        keep("speed", {"meta": facts, "records": records, "startup": startup(10)})
    if "growth" in options.only:
        most, fixed = (10**7, 10**6) if options.full else (10**6, 10**5)
        facts = _facts(command, ())
        keep("growth", {"meta": facts, "records": growth(most, fixed, 3 if options.full else 1)})
    if "quality" in options.only:
        facts, points = _facts(command, options.peers), None if options.full else 400
        records = quality(options.splits, options.peers, points)
        keep("quality", {"meta": facts | {"splits": options.splits, "points": points}, "records": records})


def _facts(command: str, peers: tuple[str, ...]) -> dict[str, Any]:
    """Command, date, machine, versions, and which source of fairroc it was."""
    own = {name: version(name) for name in ("fairroc", "numpy", "scikit-learn")}
    return {
        "command": command,
        "date": f"{date.today():%-d %B %Y}",
        "machine": machine(),
        "source": _source(),
        "versions": {"Python": platform.python_version()} | own | {peer: version_of(peer) for peer in peers},
    }


def machine() -> str:
    """Processor, number of cores, memory."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{(names or [platform.processor() or platform.machine()])[0]}, {os.cpu_count()} cores, {memory:.0f} GB"


def _source() -> str:
    """Ten hex digits that change with any line of fairroc."""
    return source_digest("fairroc_studies.peers.runners.fairroc")[:10]


def keep(part: str, results: dict[str, Any]) -> None:
    """Keep a part's results, with a note whether the source is still the one they began with."""
    meta = results["meta"]
    Store().put_rows(f"bench-{part}", results | {"meta": meta | {"changed": meta["source"] != _source()}})


def _make_environments(peers: tuple[str, ...]) -> None:
    """All of them before anything is timed; one that fails becomes a row of the report."""
    with progress_bar("environments", patience=0.0) as show:
        for number, peer in enumerate(peers):
            show(number, len(peers))
            try:
                python_of(peer)
            except NotAvailable as why:
                sys.stderr.write(f"{peer} is not available: {why}\n")


def _bodies(parts: list[str], output: Path) -> dict[str, str]:
    """Sections for which there are results."""
    results: dict[str, Any] = {part: Store().get_rows(f"bench-{part}") for part in parts}
    bodies = {}
    if results.get("speed"):
        bodies["goals"] = report.goals_section(results["speed"])
        bodies["speed"] = report.speed_section(results["speed"])
    if results.get("growth"):
        report.draw_growth(results["growth"]["records"], output.parent / "img" / "growth.png")
        bodies["growth"] = report.growth_section(results["growth"], "img/growth.png")
    if results.get("quality"):
        bodies["every-threshold"] = report.curve_section(results["quality"])
        bodies["one-decision"] = report.decision_section(results["quality"])
    return bodies
