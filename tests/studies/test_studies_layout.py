"""The rooms of the studies import one way, every study can be called by its name, and documents name no other."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import fairroc_studies
from fairroc_studies.__main__ import STUDIES, summary
from fairroc_studies.harness.store import _imports

# From the bottom up; a module may import from its own room and from rooms above its line.
ROOMS = (
    ("harness",),
    ("problems",),
    ("models",),
    ("peers",),
    ("paper",),
    ("questions", "speed"),
    ("reproduce", "__main__"),
)
HOME = Path(fairroc_studies.__file__).parent
ROOT = HOME.parents[2]
MODULES = sorted(
    ".".join(("fairroc_studies", *path.relative_to(HOME).with_suffix("").parts)).removesuffix(".__init__")
    for path in HOME.rglob("*.py")
    if path.parent != HOME or path.stem != "__init__"
)


def floor(module: str) -> int:
    room = module.split(".")[1]
    return next(number for number, rooms in enumerate(ROOMS) if room in rooms)


def imported(module: str) -> set[str]:
    """Modules of the studies that a module imports anywhere in its text."""
    return {name for name in _imports(module) if name.startswith("fairroc_studies.")} - {module}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module: str) -> None:
    for other in imported(module):
        assert floor(other) <= floor(module), f"{module} imports {other}, a room above it (ROOMS in {__file__})."


def test_no_cycles() -> None:
    packages = {module for module in MODULES if any(other.startswith(f"{module}.") for other in MODULES)}
    TopologicalSorter({module: imported(module) - packages for module in MODULES}).prepare()


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_has_a_main_and_a_line_about_it(study: str) -> None:
    path = HOME.joinpath(*STUDIES[study].split(".")).with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert "main" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert 10 < len(summary(study)) < 140


def test_documents_name_studies_that_exist() -> None:
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "studies").glob("*.md"), *HOME.rglob("*.py")]
    named = {
        name
        for file in files
        for name in re.findall(r"python -m fairroc_studies ([a-z]+(?:-[a-z]+)*)", file.read_text(encoding="utf-8"))
    }
    assert {"bench", "draws", "new"} <= named <= set(STUDIES)


def test_the_list_and_a_name_that_is_none() -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fairroc_studies", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=HOME.parent)

    listed = run()
    assert listed.returncode == 0 and all(f"\n  {name} " in listed.stdout for name in STUDIES)
    wrong = run("nothing")
    assert wrong.returncode == 2 and "got 'nothing'" in wrong.stderr and wrong.stderr.count("\n") == 1
