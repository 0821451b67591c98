"""``python -m fuzz [TARGET ...] [--seeds FROM TO] [--seconds N] [--jobs N]``: exit 1 if something was found."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice

from fuzz import commands, files, geometry, models, people
from fuzz.driving import Target, Tried, run

TARGETS: dict[str, type[Target]] = {
    "core": geometry.Geometry,
    "fits": people.Fits,
    "models": models.Models,
    "readers": files.Readers,
    "commands": commands.Commands,
}
PIECE, AHEAD = 100, 64
"""Seeds that one process tries at a time, and how many such pieces are handed out ahead."""


def pieces(seeds: range) -> Iterator[range]:
    """
    >>> list(pieces(range(3, 120)))
    [range(3, 103), range(103, 120)]
    """
    return (range(start, min(start + PIECE, seeds.stop)) for start in range(seeds.start, seeds.stop, PIECE))


def attempt(name: str, seeds: range, until: float) -> tuple[int, Tried]:
    """Try some seeds on one target: how many, and what came out."""
    tried = run(TARGETS[name](), seeds, until)
    return tried.families.total(), tried


def attack(name: str, seeds: range, seconds: float, pool: ProcessPoolExecutor) -> Tried:
    """Try seeds on one target for some time, on all processes."""
    until, tried, start = time.monotonic() + seconds, Tried(), time.monotonic()
    waiting, left = set(), pieces(seeds)
    while waiting or time.monotonic() < until:
        waiting |= {pool.submit(attempt, name, piece, until) for piece in islice(left, AHEAD - len(waiting))}
        if not waiting:
            break
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        count, part = 0, Tried()
        for one in done:
            number, found = one.result()
            count += number
            part.add(found)
        tried.add(part)
        if sys.stderr.isatty() and count:
            print(f"\r{name}: {tried.families.total():,} tried", end="", file=sys.stderr, flush=True)
    passed = time.monotonic() - start
    print(f"\r## {name}: {tried.families.total():,} of seeds {seeds.start:,} to {seeds.stop - 1:,} in {passed:.0f} s\n")
    print("| family | tried | failed |\n| --- | ---: | ---: |")
    for family, count in sorted(tried.families.items()):
        print(f"| {family} | {count:,} | {tried.failed[family]:,} |")
    for fault, (seed, case, complaint) in sorted(tried.findings.items()):
        print(f"\n{fault} (seed {seed})\n  {complaint}\n  smallest input: {case!r}")
    print(flush=True)
    return tried


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)}; default: all of them")
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 1_000_000), metavar=("FROM", "TO"))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each target; default: no limit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes; default: one for each core")
    asked = parser.parse_args()
    unknown = set(asked.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    with ProcessPoolExecutor(asked.jobs) as pool:
        tried = [attack(name, range(*asked.seeds), asked.seconds, pool) for name in asked.targets or TARGETS]
    return int(any(part.findings for part in tried))


if __name__ == "__main__":
    sys.exit(main())
