"""The bar appears on a terminal only, not at once, and leaves nothing behind."""

from __future__ import annotations

import io
import sys
import time

import pytest

from fairroc.cli import output
from fairroc.cli.output import progress_bar, say


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "PATIENCE", patience)
    with progress_bar("work") as show:
        for done in (25, 50, 25, 100):
            show(done, 100)
    return stream.getvalue()


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(monkeypatch, Terminal(), 0.0)
    assert text.count("work [######..................] 25/100") == 1 and "50/100" in text  # it does not go back
    assert "work [########################] 100/100" in text
    assert text.endswith("\r\x1b[K") and "\n" not in text


def test_a_bar_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("work", patience=0.0) as show:
        show(0, 8)
        assert stream.getvalue() == "\r\x1b[Kwork [........................] 0/8"


def test_no_bar_for_short_work_or_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, Terminal(), 60.0) == ""
    assert drawn(monkeypatch, io.StringIO(), 0.0) == ""


def test_work_that_nobody_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being done, and for how long; words are said on a line of their own."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "TICK", 0.001)
    with output.one_command(), progress_bar("work", patience=0.0):
        while "work, 0 s" not in stream.getvalue():
            time.sleep(0.001)
        say("words")
    assert f"{output.WIPE}words\n" in stream.getvalue()


def test_patience_counts_from_the_beginning_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100, 3))
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    stream = Terminal()
    monkeypatch.setattr(output, "PATIENCE", 10.0)
    with output.one_command():
        monkeypatch.setattr(sys, "stderr", stream)
        for title in "ab":  # begins at 0; a from 3 to 12, b from 15 on
            with progress_bar(title) as show:
                show(1, 2)
    assert "a [" not in stream.getvalue() and "b [############............] 1/2" in stream.getvalue()


def test_a_message_that_quotes_a_field_of_millions_of_letters(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"row 7 holds '{'z' * 9_000_000}'. Mend it.")
    err = capsys.readouterr().err
    assert (
        err.startswith("row 7 holds 'zz") and err.endswith("zz'. Mend it.\n") and "z [...] z" in err and len(err) < 5000
    )
