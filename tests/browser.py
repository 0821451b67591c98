"""A browser for pages, where there is one and playwright's driver runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@cache
def lacking() -> str:
    """Why no page can be opened, empty where one can: the driver needs more of a system than its package brings."""
    if not any(map(shutil.which, NAMES)):
        return "no chromium on this machine, and `make test` could install none"
    driver = subprocess.run([sys.executable, "-m", "playwright", "--version"], capture_output=True, text=True)
    return f"playwright does not run here: {driver.stderr.strip()}" if driver.returncode else ""


def require_browser() -> str:
    """The program; the test is skipped where a page cannot be opened."""
    if reason := lacking():
        pytest.skip(reason)
    return next(filter(None, map(shutil.which, NAMES)))
