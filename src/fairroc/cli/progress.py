"""A bar on standard error for long work; the library itself never prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WIDTH = 24
PATIENCE = 0.5
"""Seconds of work before a bar appears."""


@contextmanager
def progress_bar(title: str, *, patience: float | None = None) -> Iterator[Callable[[int, int], None]]:
    """Give a function ``(done, all)`` that draws a bar on a terminal, once work has gone on for ``patience`` seconds
    (None: PATIENCE); elsewhere nothing is written. The bar is wiped out at the end."""
    begin, shown = time.monotonic(), False
    wait = PATIENCE if patience is None else patience

    def show(done: int, total: int) -> None:
        nonlocal shown
        if sys.stderr.isatty() and time.monotonic() - begin >= wait:
            filled = WIDTH * done // total
            sys.stderr.write(f"\r\x1b[K{title} [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total}")
            sys.stderr.flush()
            shown = True

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
