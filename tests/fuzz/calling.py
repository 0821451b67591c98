"""Run a command in this process."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from fairroc.cli.main import main


class Called(NamedTuple):
    """Exit code and what was printed."""

    code: int
    output: str
    error: str


def call(*words: str) -> Called:
    """Run ``fairroc WORDS``."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 2
    return Called(code, out.getvalue(), err.getvalue())


def unexpected(done: Called) -> str | None:
    """What no command may do: fail without words, or in words that nobody foresaw."""
    if done.code not in (0, 1, 2):
        return f"exit code: {done.code}"
    if "unexpected" in done.error and "please report" in done.error:
        return f"unforeseen: {done.error[-300:]}"
    if "Traceback" in done.error:
        return f"traceback: {done.error[-300:]}"
    if done.code == 2 and not done.error.strip():
        return "words: exit 2 without a word"
    return None
