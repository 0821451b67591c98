"""What a command prints: data to standard output, words and a bar to standard error."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TextIO

WIDTH = 24
WIPE = "\r\x1b[K"
PATIENCE, TICK = 2.0, 1.0
"""Seconds of work before a line about it appears, and from then on between two looks at the clock."""


_begun: list[float] = []


@contextmanager
def one_command() -> Iterator[None]:
    """For as long as a command runs: its patience counts from here."""
    _begun.append(time.monotonic())
    try:
        yield
    finally:
        _begun.clear()


LONGEST = 4000
"""Letters of a message: a field of a file that it quotes may have millions."""


def say(words: str) -> None:
    """Words about the run, on standard error."""
    for line in _Line.open:
        line.wipe()
    half = LONGEST // 2
    words = words if len(words) <= LONGEST else f"{words[:half]} [...] {words[-half:]}"
    _print(f"{words}\n", sys.stderr)


def put(text: str, end: str = "\n") -> None:
    """Print a result."""
    _print(f"{text}{end}", sys.stdout)


def _print(text: str, stream: TextIO) -> None:
    """Print at once; if the stream's encoding lacks some character, all but ASCII is escaped as in JSON. A reader that
    went away, as `head` does, has all it wanted: the command goes on and says by its exit code what it found."""
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        text = "".join(letter if letter.isascii() else json.dumps(letter)[1:-1] for letter in text)
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def as_json(data: dict[str, Any]) -> str:
    """A result as JSON, laid out for reading."""
    from fairroc.model.file import pretty

    return pretty(data)


def put_result(form: str, data: dict[str, Any], text: Callable[[], str]) -> None:
    """Print a result in the form asked for, "json" or "text"."""
    put(as_json(data) if form == "json" else text())


class _Line:
    """One line on a terminal: what is being done, with a bar as far as somebody counts, and for how many seconds."""

    lock = threading.Lock()
    open: ClassVar[list[_Line]] = []

    def __init__(self, title: str, wait: float) -> None:
        self.title, self.wait, self.begin = title, wait, time.monotonic()
        self.part: tuple[int, int] | None = None
        self.terminal, self.shown, self.over = sys.stderr.isatty(), False, threading.Event()

    def __call__(self, done: int, total: int) -> None:
        if self.part is None or self.part[1] != total or done >= self.part[0]:  # one bar does not go back
            self.part = done, total
        if self.terminal and time.monotonic() - self.begin >= self.wait:
            self.draw("")

    def watch(self) -> None:
        """Draw the line every second, whether or not anything is told."""
        while not self.over.wait(TICK):
            if (seconds := time.monotonic() - self.begin) >= self.wait:
                self.draw(f", {seconds:.0f} s")

    def draw(self, more: str) -> None:
        with self.lock:
            if self.part is not None:
                filled = WIDTH * self.part[0] // self.part[1]
                more = f" [{'#' * filled}{'.' * (WIDTH - filled)}] {self.part[0]}/{self.part[1]}{more}"
            sys.stderr.write(f"{WIPE}{self.title}{more}")
            sys.stderr.flush()
            self.shown = True

    def wipe(self) -> None:
        with self.lock:
            if self.shown:
                sys.stderr.write(WIPE)
                sys.stderr.flush()
            self.shown = False


@contextmanager
def progress_bar(title: str, *, patience: float | None = None) -> Iterator[Callable[[int, int], None]]:
    """On a terminal, say what is being done, once that has gone on for ``patience`` seconds (None: once the command has
    for PATIENCE seconds), with a bar as far as the function ``(done, all)`` that it gives is told. Elsewhere nothing is
    written; all is wiped out at the end."""
    since = time.monotonic() - _begun[-1] if _begun else 0.0
    line = _Line(title, PATIENCE - since if patience is None else patience)
    watch = threading.Thread(target=line.watch, daemon=True)
    if line.terminal:
        watch.start()
    _Line.open.append(line)
    try:
        yield line
    finally:
        line.over.set()
        if line.terminal:
            watch.join()
        _Line.open.remove(line)
        line.wipe()
