"""Tables as they come: whatever is done to a file, all its rows are read, in memory and streamed, or it is refused."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fuzz.calling import Called, call, unexpected

COLUMNS = ("--score", "score", "--label", "label", "--group", "group")
NOTES = ("plain", "", 'said ""yes""', "a,b", "é", " x ", "1", "NULL", "line\nbreak", "x" * 400)


@dataclass(frozen=True)
class Table:
    """Rows of a CSV file, how it is written, and what was done to it at a row."""

    family: str
    rows: tuple[tuple[str, ...], ...]
    style: tuple[str, ...]
    at: int

    @property
    def content(self) -> bytes:
        separator = ";" if "semicolon" in self.style else "\t" if "tab" in self.style else ","
        end = "\r\n" if "crlf" in self.style else "\n"
        lines = [separator.join(_quoted(cell, separator, "quotes" in self.style) for cell in row) for row in self.rows]
        head = separator.join(("score", "label", "group", "note"))
        lines = DAMAGES[self.family]([head, *lines], 1 + self.at % len(lines), separator)
        text = end.join(lines) + (end if "no end" not in self.style else "")
        content = (b"\xef\xbb\xbf" if "bom" in self.style else b"") + text.encode("utf-8", errors="surrogateescape")
        return gzip.compress(content, 1, mtime=0) if "gz" in self.style else content


class Readers:
    """An exit of 0 or 1 means that every row was read; memory and stream agree."""

    def make(self, seed: int) -> Table:
        rng = np.random.default_rng([4, seed])
        rows = []
        for i in range(int(rng.choice([8, 12, 40]))):
            cells = (repr(round(float(rng.random()), 3)), str((i // 2) % 2), "ab"[i % 2], str(rng.choice(NOTES)))
            rows.append(cells)
        style = [word for word in ("quotes", "crlf", "no end", "bom", "gz") if rng.random() < 0.25]
        style += [str(rng.choice(["comma", "comma", "semicolon", "tab"]))]
        return Table(str(rng.choice(sorted(DAMAGES))), tuple(rows), tuple(style), int(rng.integers(1000)))

    def check(self, case: Table) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / ("people.csv.gz" if "gz" in case.style else "people.csv")
            path.write_bytes(case.content)
            ways = {
                way: call("audit", str(path), *COLUMNS, "--bootstrap", "0", "--format", "json", *more)
                for way, more in (("in memory", ()), ("streamed", ("--stream",)))
            }
            left = sorted(entry.name for entry in Path(folder).iterdir())
        if left != [path.name]:
            return f"files: left behind {left}"
        for way, done in ways.items():
            wrong = unexpected(done) or _lost(done, case)
            if wrong:
                fault, _, rest = wrong.partition(":")
                return f"{fault} {way}:{rest}"
        one, other = ways.values()
        if (one.code == 2) != (other.code == 2):
            return f"ways: {[(way, done.code, done.error[-300:]) for way, done in ways.items()]}"
        return None

    def smaller(self, case: Table) -> Iterator[Table]:
        for word in case.style:
            yield replace(case, style=tuple(other for other in case.style if other != word))
        size = len(case.rows) // 2
        while size >= 1 and len(case.rows) > 4:
            for start in range(0, len(case.rows), size):
                rows = case.rows[:start] + case.rows[start + size :]
                if len(rows) >= 4:
                    yield replace(case, rows=rows)
            size //= 2
        if any(row[3] != "plain" for row in case.rows):
            yield replace(case, rows=tuple((*row[:3], "plain") for row in case.rows))


def _lost(done: Called, case: Table) -> str | None:
    """Rows that went missing without a word."""
    if done.code == 2:
        return None
    rows = sum(group["rows"] for group in json.loads(done.output)["groups"])
    there = len(case.rows)
    if case.family == "cut in a line":  # what is left may be a whole table
        there = 1 + case.at % len(case.rows)
    if case.family in NO_TABLE or rows != there:
        return f"rows: {rows} of {there} rows were read"
    return None


def _quoted(cell: str, separator: str, always: bool) -> str:
    if always or separator in cell or "\n" in cell or '"' in cell:
        return '"' + cell.replace('""', '"').replace('"', '""') + '"'
    return cell


def _cell(change: Callable[[list[str]], None]) -> Callable[[list[str], int, str], list[str]]:
    """Damage to the cells of one row, which may span lines."""

    def damage(lines: list[str], at: int, separator: str) -> list[str]:
        cells = lines[at].split(separator)
        change(cells)
        return [*lines[:at], separator.join(cells), *lines[at + 1 :]]

    return damage


def _set(column: int, text: str) -> Callable[[list[str], int, str], list[str]]:
    def change(cells: list[str]) -> None:
        cells[column] = text

    return _cell(change)


def _append(column: int, text: str) -> Callable[[list[str], int, str], list[str]]:
    def change(cells: list[str]) -> None:
        cells[column] = cells[column] + text

    return _cell(change)


DAMAGES: dict[str, Callable[[list[str], int, str], list[str]]] = {
    "untouched": lambda lines, at, _: lines,
    "a stray quote before a note": lambda lines, at, s: [*lines[:at], _stray(lines[at], s), *lines[at + 1 :]],
    "a stray quote after a score": _append(0, '"'),
    "a stray quote before a score": lambda lines, at, s: [*lines[:at], '"' + lines[at], *lines[at + 1 :]],
    "cut in a line": lambda lines, at, s: [*lines[:at], lines[at][: len(lines[at]) // 2]],
    "cut inside a quoted note": lambda lines, at, s: [*lines[:at], s.join((*lines[at].split(s)[:3], '"no end'))],
    "a cell too many": lambda lines, at, s: [*lines[:at], lines[at] + s + "more", *lines[at + 1 :]],
    "a cell too few": lambda lines, at, s: [*lines[:at], s.join(lines[at].split(s)[:2]), *lines[at + 1 :]],
    "an empty line": lambda lines, at, s: [*lines[:at], "", *lines[at:]],
    "an empty score": _set(0, ""),
    "a score that is no number": _set(0, "n/a"),
    "nan": _set(0, "nan"),
    "infinity": _set(0, "inf"),
    "a comma for the point": _set(0, '"0,5"'),
    "a space that is not one": _append(0, "\u00a0"),
    "a byte that is no text": _append(2, "\udcff"),
    "a null byte": _append(2, "\x00"),
    "a label of 2": _set(1, "2"),
    "an empty label": _set(1, ""),
    "an empty group": _set(2, ""),
    "a header again": lambda lines, at, s: [*lines[:at], lines[0], *lines[at:]],
    "a comment": lambda lines, at, s: [*lines[:at], "# a comment", *lines[at:]],
    "a column twice": lambda lines, at, s: [line + s + line.split(s)[0] for line in lines],
    "no header": lambda lines, at, s: lines[1:],
    "nothing but a header": lambda lines, at, s: lines[:1],
    "a long cell": _append(-1, "x" * 200_000),
    "a huge number": _set(0, "1" + "0" * 400),
    "a hexadecimal number": _set(0, "0x1p-1"),
}
NO_TABLE = {"cut inside a quoted note", "nothing but a header", "no header"}
"""What must be refused, however few rows it has."""


def _stray(line: str, separator: str) -> str:
    cells = line.split(separator)
    cells[3] = '"' + cells[3]
    return separator.join(cells)
