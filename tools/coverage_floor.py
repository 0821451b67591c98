"""Hold the coverage of every room to its floor. ``make coverage`` writes coverage.json and prints this.

Coverage counts statements and branches together. Exit 1 if a room is below its floor; a room far above it is named, so
that the floor is raised. Floors only rise.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

FLOORS = {"core": 100.0, "model": 99.8, "the rest": 96.0}
"""The least coverage in percent; of the rest without tests on Spark and PostgreSQL."""

ELSEWHERE = ("backends/torch/", "people/tensors.py")
"""Tested in another environment, with torch; not counted here."""


class Room(NamedTuple):
    """What of a room can be covered and what is."""

    name: str
    total: int
    covered: int
    missing: list[str]

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.total if self.total else 100.0


def room_of(path: str) -> str:
    """
    >>> room_of("src/fairroc/core/gap.py"), room_of("src/fairroc/cli/main.py")
    ('core', 'the rest')
    """
    first = path.rpartition("src/fairroc/")[2].partition("/")[0]
    return first if first in FLOORS else "the rest"


def rooms(files: dict[str, Any]) -> list[Room]:
    """Rooms of a report by coverage.py, with the places that are not covered."""
    found = {name: Room(name, 0, 0, []) for name in FLOORS}
    for path, file in sorted(files.items()):
        if any(name in path for name in ELSEWHERE):
            continue
        name, summary = room_of(path), file["summary"]
        places = [str(line) for line in file["missing_lines"]]
        places += [f"{line}->{to}" for line, to in file["missing_branches"] if line not in file["missing_lines"]]
        room = found[name]
        found[name] = Room(
            name,
            room.total + summary["num_statements"] + summary["num_branches"],
            room.covered + summary["covered_lines"] + summary["covered_branches"],
            room.missing + [f"{path}: {', '.join(places)}"] * bool(places),
        )
    return list(found.values())


def main() -> int:
    """``python tools/coverage_floor.py [--missing] [ROOM ...]``: all rooms where none is named."""
    asked = [word for word in sys.argv[1:] if word != "--missing"] or [*FLOORS]
    report = json.loads(Path("coverage.json").read_text(encoding="utf-8"))
    low = False
    for room in rooms(report["files"]):
        if room.name not in asked:
            continue
        floor = FLOORS[room.name]
        low |= room.percent < floor
        note = "below its floor" if room.percent < floor else "raise its floor" if room.percent >= floor + 1 else ""
        print(
            f"{room.name:9} {room.percent:6.2f} % of {room.total:6,} statements and branches, floor {floor:4.1f} {note}"
        )
        if "--missing" in sys.argv or room.percent < floor:
            print(*(f"  {line}" for line in room.missing), sep="\n")
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
