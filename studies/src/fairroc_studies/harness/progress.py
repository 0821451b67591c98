"""One line on stderr that says how far a run has come."""

from __future__ import annotations

import sys
import time

WIDTH = 24


class Progress:
    """A bar on a terminal; a line for each step elsewhere."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done, self.begin = title, total, 0, time.monotonic()

    def step(self, what: str) -> None:
        """One more step is about to begin (or, with several workers, has ended)."""
        self.done = min(self.done + 1, self.total)
        filled = WIDTH * self.done // self.total
        spent = time.monotonic() - self.begin
        text = f"{self.title} [{'#' * filled}{'.' * (WIDTH - filled)}] {self.done}/{self.total} {spent:4.0f} s  {what}"
        live = sys.stderr.isatty()
        sys.stderr.write(f"\r\x1b[K{text}" if live else f"{text}\n")
        if live and self.done == self.total:
            sys.stderr.write("\n")
        sys.stderr.flush()
