"""Measure fairroc and its peers and write docs/benchmarks.md.

    python -m fairroc_studies bench                      # the small version, a few minutes
    python -m fairroc_studies bench --full               # 1e6 and 1e7 rows, ten splits
    python -m fairroc_studies bench --only speed --rows 1e6
    python -m fairroc_studies bench --render             # the page again, from the last results

Results are kept as JSON in .bench/results; a run of some parts leaves the other sections of the page as they are.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from fairroc_studies.harness import document
from fairroc_studies.harness.progress import Progress
from fairroc_studies.peers.envs import PINS, NotAvailable, python_of
from fairroc_studies.problems.cases import ROOT
from fairroc_studies.speed import chart, report
from fairroc_studies.speed import results as store
from fairroc_studies.speed.quality import quality
from fairroc_studies.speed.speed import growth, speed, startup


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    options = _options(given)
    if not options.render:
        _measure(options, _command(given))
    bodies = _bodies(options.only, options.output)
    if not bodies:
        raise SystemExit("nothing to render: no results are kept yet. Run python -m fairroc_studies bench first.")
    document.update(options.output, bodies)


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
    parser.add_argument("--only", nargs="+", choices=store.PARTS, default=store.PARTS, help="parts to run or render")
    parser.add_argument(
        "--peers", nargs="*", choices=tuple(PINS), default=tuple(PINS), help="libraries to compare with"
    )
    parser.add_argument("--splits", type=int, help="seeded splits of the quality tables")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page from the last results")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks.md")
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
        facts = store.facts(command, options.peers)
        records = speed(options.rows, options.peers, rounds)
        store.keep("speed", {"meta": facts, "records": records, "startup": startup(10)})
    if "growth" in options.only:
        most, fixed = (10**7, 10**6) if options.full else (10**6, 10**5)
        facts = store.facts(command, ())
        store.keep("growth", {"meta": facts, "records": growth(most, fixed, 3 if options.full else 1)})
    if "quality" in options.only:
        facts, points = store.facts(command, options.peers), None if options.full else 400
        records = quality(options.splits, options.peers, points)
        store.keep("quality", {"meta": facts | {"splits": options.splits, "points": points}, "records": records})


def _make_environments(peers: tuple[str, ...]) -> None:
    """All of them before anything is timed; one that fails becomes a row of the report."""
    if peers:
        progress = Progress("environments", len(peers))
    for peer in peers:
        progress.step(peer)
        try:
            python_of(peer)
        except NotAvailable as why:
            sys.stderr.write(f"{peer} is not available: {why}\n")


def _bodies(parts: list[str], output: Path) -> dict[str, str]:
    """Sections for which there are results."""
    results: dict[str, Any] = {part: store.kept(part) for part in parts}
    bodies = {}
    if results.get("speed"):
        bodies["goals"] = report.goals_section(results["speed"])
        bodies["speed"] = report.speed_section(results["speed"])
    if results.get("growth"):
        chart.draw(results["growth"]["records"], output.parent / "img" / "growth.png")
        bodies["growth"] = report.growth_section(results["growth"], "img/growth.png")
    if results.get("quality"):
        bodies["every-threshold"] = report.curve_section(results["quality"])
        bodies["one-decision"] = report.decision_section(results["quality"])
    return bodies


if __name__ == "__main__":
    main()
