"""Mutation testing of the core, the draws and the model file: tests must kill most of a seeded sample of mutants.

``make mutate`` runs it in an environment of its own; ``make mutate MUTATE="--each 2000"`` takes every mutant. mutmut
makes them. A module's mutants meet the tests of that module and a few whole fits (``TESTS``), not the whole suite: the
score is a lower bound. Exit 1 if it is below ``--floor``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "fairroc"
WORK = ROOT / "mutate"
MODULES = (
    *sorted(f"core/{path.name}" for path in (PACKAGE / "core").glob("*.py") if path.stem != "__init__"),
    "model/draw.py",
    "model/file.py",
    "model/xxh64.py",
)
_GOLDEN = "tests/promises/test_golden.py::test_a_fit_and_all_that_follows_is_as_it_was"
FITS = tuple(f"{_GOLDEN}[{name}]" for name in ("ties-draw", "five-draw", "two-queries", "two-zero-order", "two-froc"))
KEPT = "tests/promises/test_kept.py::test_models_of_every_version_give_the_same_bits"
_SMALL = tuple(
    f"tests/promises/test_small_groups.py::{name}"
    for name in ("test_damaged_files_are_refused", "test_the_model_file_remembers_names_alone")
)
TESTS = {
    "core/constraint.py": tuple(f"tests/core/test_{name}.py" for name in ("constraint", "gap", "ascent", "one_rate")),
    "core/kernel.py": ("tests/core/test_kernel.py", "tests/core/test_one_rate.py"),
    "core/nearest.py": ("tests/core/test_nearest.py", "tests/core/test_duality.py"),
    "core/normal.py": ("tests/core/test_normal.py", "tests/core/test_estimate.py"),
    "core/roc.py": ("tests/core/test_roc.py", "tests/core/test_gap.py"),
    "core/realised.py": ("tests/core/test_realised.py", "tests/core/test_kernel.py"),
    "model/draw.py": ("tests/model/test_draw.py", KEPT),
    "model/file.py": ("tests/model/test_model_file.py", *_SMALL, KEPT),
    "model/xxh64.py": ("tests/model/test_xxh64.py", "tests/model/test_draw.py", KEPT),
}
"""Which tests a module's mutants meet, where it is not ``tests/<room>/test_<module>.py``; ``FITS`` come on top."""

CONFIG = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = ["src/fairroc/{module}"]
also_copy = ["tests", "studies", "docs", "tools", "README.md"]
use_git_change_detection = false
pytest_add_cli_args = [
    "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=brief", "-p", "mutate",
    "-k", "not another_process and not load_no_frame_library",  # the package is not found there
]
pytest_add_cli_args_test_selection = {tests}
"""
DEAD = (1, 3, 24, 36, 152, 255, -24)
"""Exit codes of a mutant's tests that say they failed or took far too long."""


def pytest_collection_modifyitems(items: list[object]) -> None:
    """As a plugin of pytest: quick tests first, most mutants die in them."""
    stats = Path("mutmut-stats.json")
    seconds = json.loads(stats.read_text(encoding="utf-8"))["duration_by_test"] if stats.exists() else {}
    items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))  # type: ignore[attr-defined]


def chosen_tests(module: str) -> list[str]:
    """
    >>> chosen_tests("core/gap.py")[0]
    'tests/core/test_gap.py'
    """
    room, _, name = module.partition("/")
    return [*TESTS.get(module, (f"tests/{room}/test_{name}",)), "tests/core/test_read_only.py", *FITS]


def mutants_of(module: str) -> list[str]:
    """Full names of all mutants of a module."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    path = f"src/fairroc/{module}"
    found = mutate_file_contents(path, (ROOT / path).read_text(encoding="utf-8")).mutant_names
    return [f"fairroc.{module.removesuffix('.py').replace('/', '.')}.{name}" for name in found]


def prepared(module: str) -> Path:
    """A folder that mutmut can work in, with links to the sources."""
    folder = WORK / module.removesuffix(".py").replace("/", ".")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("src", "tests", "studies", "docs", "tools", "README.md"):
        (folder / name).symlink_to(ROOT / name)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    config = CONFIG.format(module=module, tests=json.dumps(chosen_tests(module)))
    (folder / "pyproject.toml").write_text(project + config, encoding="utf-8")
    return folder


def survivors(module: str, names: list[str], jobs: int) -> list[str]:
    """Those of some mutants that the module's tests do not kill."""
    folder = prepared(module)
    paths = [str(ROOT / "tools"), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs), *names]
    with (folder / "log").open("w", encoding="utf-8") as log:
        done = subprocess.run(command, cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT, check=False)
    meta = folder / "mutants" / "src" / "fairroc" / f"{module}.meta"
    codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"] if meta.exists() else {}
    if done.returncode or any(codes.get(name) is None for name in names):
        raise SystemExit(f"{module}: mutmut did not finish; see {folder / 'log'}")
    return [name for name in names if codes[name] not in DEAD]


def diff(module: str, name: str) -> str:
    """What a mutant changes, the lines alone."""
    command = [sys.executable, "-m", "mutmut", "show", name]
    folder = WORK / module.removesuffix(".py").replace("/", ".")
    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    lines = [line for line in shown.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return "\n".join(f"    {line}" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="such as core/gap.py; all where none is given")
    parser.add_argument("--each", type=int, default=10, help="how many mutants of every module; 10")
    parser.add_argument("--pick", type=int, help="only that many modules, chosen by the seed")
    parser.add_argument("--seed", default="0", help="chooses modules and mutants; a commit's name, say")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--floor", type=float, default=0.0, help="the least share killed, in percent")
    asked = parser.parse_args()
    modules = asked.modules or list(MODULES)
    if asked.pick is not None:
        modules = sorted(random.Random(asked.seed).sample(modules, asked.pick))
    tried = killed = total = 0
    weighted = variance = 0.0
    for module in modules:
        every = mutants_of(module)
        names = sorted(random.Random(f"{asked.seed} {module}").sample(every, min(asked.each, len(every))))
        left = survivors(module, names, asked.jobs)
        tried, killed, total = tried + len(names), killed + len(names) - len(left), total + len(every)
        weighted += len(every) * (1 - len(left) / len(names))
        share = (len(left) + 1) / (len(names) + 2)  # a module without survivors in the sample may have some
        variance += len(every) * (len(every) - len(names)) * share * (1 - share) / len(names)
        print(f"{module:20} {len(names) - len(left):4} of {len(names):4} killed, {len(every):4} in all", flush=True)
        for name in left:
            print(f"  {name}\n{diff(module, name)}", flush=True)
    score = 100.0 * weighted / total
    print(
        f"{killed} of {tried} killed; weighted by all {total:,}: {score:.1f} % "
        f"(95 % confidence: +/- {196.0 * variance**0.5 / total:.1f}), seed {asked.seed}"
    )
    return int(score < asked.floor)


if __name__ == "__main__":
    sys.exit(main())
