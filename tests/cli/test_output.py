"""The bar appears on a terminal only, not at once, and leaves nothing behind."""

from __future__ import annotations

import io
import sys

import pytest

from fairroc.cli import output
from fairroc.cli.output import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "PATIENCE", patience)
    with progress_bar("work") as show:
        for done in (25, 50, 100):
            show(done, 100)
    return stream.getvalue()


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(monkeypatch, Terminal(), 0.0)
    assert "work [######..................] 25/100" in text
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
