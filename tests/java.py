"""Whether Spark can run here; asked before it starts, since a failed start leaves open pipes behind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def require_java() -> None:
    """Skip the test unless there is a Java that runs."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    try:
        works = java is not None and subprocess.run([java, "-version"], capture_output=True).returncode == 0
    except OSError:
        works = False
    if not works:
        pytest.skip(f"Spark needs Java 17 or newer; {java or 'none'} was found and does not run")
