"""Print the oldest supported version of every dependency, as pip understands it: ``numpy==1.26.*``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def oldest(requirement: str) -> str:
    """
    >>> oldest("numpy>=1.26")
    'numpy==1.26.*'
    """
    name, least = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement).groups()  # type: ignore[union-attr]
    return f"{name}=={least}.*"


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    print(*(oldest(requirement) for requirement in project["dependencies"]), sep="\n")
