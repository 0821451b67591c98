"""What a command prints: data to standard output, words and a bar to standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

WIDTH = 24
PATIENCE = 0.5
"""Seconds of work before a bar appears."""


def say(words: str) -> None:
    """Words about the run, on standard error."""
    print(words, file=sys.stderr)


def put(text: str) -> None:
    """Print a result; if the output's encoding lacks some character, all but ASCII is escaped as in JSON."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = "".join(letter if letter.isascii() else json.dumps(letter)[1:-1] for letter in text)
    print(text, flush=True)


def as_json(data: dict[str, Any]) -> str:
    """A result as JSON, laid out for reading."""
    from fairroc.model.file import pretty

    return pretty(data)


def put_result(form: str, data: dict[str, Any], text: Callable[[], str]) -> None:
    """Print a result in the form asked for, "json" or "text"."""
    put(as_json(data) if form == "json" else text())


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
