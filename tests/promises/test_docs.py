"""Every code block of README and docs runs as a newcomer would paste it: page by page, from top to bottom.

Blocks of `python` and `bash` run, in a folder that holds what docs/guides/practice-files.md makes. A block that cannot
run here has a comment before it, `<!-- not run: reason -->`; REASONS lists them, and their number is limited. A `text`
block after `<!-- output -->` is what the block before it prints; "..." stands for anything. A `bash` block with a
first line `#!`, or that starts something in the background, runs as one script; free ports take the place of 8000, ...
Where there is no curl, `tests/like_curl.py` asks in its place.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
import sklearn

from fairroc.cli.main import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {DOCS / "gallery", DOCS / "_build", DOCS / "reference" / "generated"}
FILES = sorted(path for path in DOCS.rglob("*.md") if not GENERATED & {*path.parents} and path.name != "commands.md")
PAGES = ["README.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in FILES)]
CURL = ROOT / "tests" / "like_curl.py"
PRACTICE = "docs/guides/practice-files.md"

FENCE = re.compile(
    r"(?:^<!-- (?P<mark>not run: [^\n]*?|output) -->\n)?^(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)$",
    re.M | re.S,
)
SHOWN = {"text", "json", "sql", "csv", "html"}
REASONS = {
    "installs": "fairroc is installed already",
    "make": "a target of the project, which CI runs by itself",
    "Spark": "needs a Spark cluster",
    "studies": "takes minutes, and the studies' package",
    "data": "needs a data set that does not come with fairroc",
    "container": "needs Docker or Podman",
}
DEMO: list = []
"""The folder in which `fairroc demo` ran, and what it printed: several pages begin with it, and once is enough."""

LIMIT = 9
"""Blocks that may be marked as not run, without those of make, whose targets are looked up."""


@dataclass(frozen=True)
class Block:
    language: str
    needs: str | None
    mark: str | None
    body: str
    line: int


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        if match["info"].startswith("{"):
            continue  # a directive of the site
        language, _, rest = match["info"].partition(" ")
        line = text.count("\n", 0, match.start("body"))
        found.append(Block(language, rest.removeprefix("needs ") or None, match["mark"], match["body"], line))
    return found


def runs(block: Block) -> bool:
    return block.language in {"python", "bash"} and block.mark is None


RUN = [page for page in PAGES if any(runs(block) for block in blocks(page))]


def commands(body: str) -> list[str]:
    """Lines of a shell block, with continued lines joined, without comments, and without what installs fairroc."""
    lines = (line.strip() for line in body.replace("\\\n", " ").splitlines())
    return [line for line in lines if line and not line.startswith(("#", "pip install", "uvx "))]


def run_command(command: str) -> str:
    """Run one command as a shell would; plain commands of fairroc in this process, which saves its start."""
    words = shlex.split(command, comments=True)
    if words == ["fairroc", "demo"] and DEMO:
        shutil.copytree(DEMO[0] / "demo", "demo", dirs_exist_ok=True)
        return DEMO[1]
    if words[0] == "fairroc" and not {"|", ">", "&&"} & {*words}:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = main(words[1:])
        assert code in (0, 1), f"{command}\n{err.getvalue()}"
        return out.getvalue() + err.getvalue()
    python = f'"{sys.executable}"'
    shell = f'fairroc() {{ {python} -m fairroc "$@"; }}; python() {{ {python} "$@"; }}; set -eo pipefail; {command}'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode in (0, 1), f"{command}\n{done.stderr}"
    return done.stdout + done.stderr


def free_port(taken: dict[str, str], number: re.Match[str]) -> str:
    """A free port in the place of the one that a page names, the same each time."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return taken.setdefault(number[0], str(free.getsockname()[1]))


def run_script(body: str) -> str:
    """Run a block as one script, which stops at an error; what it leaves in the background ends with it."""
    script = re.sub(r"\b80\d\d\b", partial(free_port, {}), body)
    if shutil.which("curl") is None:
        script = f'curl() {{ {shlex.join([sys.executable, str(CURL)])} "$@"; }}\n{script}'
    done = bash(f"trap 'kill $(jobs -p) 2> /dev/null || true' EXIT; set -eo pipefail\n{script}")
    assert done.returncode == 0, f"{body}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def bash(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script, which finds the commands of this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {"PATH": path}
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=env, timeout=120)


def run_page(page: str) -> None:
    names: dict = {"__name__": "__main__"}
    printed = ""
    with sklearn.config_context():
        for block in blocks(page):
            if block.mark == "output":
                told = ".*?".join(re.escape(part) for part in re.split(r"\s*\.\.\.\s*", normal(block.body)))
                assert re.search(told, normal(printed), re.S), f"{page}:{block.line}: other output now:\n{printed}"
            elif runs(block) and (block.needs is None or find_spec(block.needs)):
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    if block.language == "python":
                        code = compile("\n" * block.line + block.body, str(ROOT / page), "exec")
                        exec(code, names)
                    elif block.body.startswith("#!") or re.search(r" &$", block.body, re.M):
                        print(run_script(block.body))
                    else:
                        for command in commands(block.body):
                            print(run_command(command))
                printed = out.getvalue()


def normal(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def practice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("practice")
    with contextlib.chdir(folder):
        run_page(PRACTICE)
    return folder


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("demo")
    with contextlib.chdir(folder):
        DEMO[:] = folder, run_command("fairroc demo")


@pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")
@pytest.mark.parametrize("page", RUN)
def test_blocks_run(page: str, practice: Path, demo: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page == PRACTICE:
        assert {path.name for path in practice.iterdir()} >= {
            "people.csv",
            "new.csv",
            "parts",
            "deciles.csv",
            "model.json",
        }
        return
    shutil.copytree(practice, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    run_page(page)


def test_the_nightly_job_says_by_its_exit_code_what_to_do(
    practice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script of the page on deployment, without the help of `run_script`."""
    script = next(block.body for block in blocks("docs/guides/deploy.md") if block.body.startswith("#!"))
    shutil.copytree(practice, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    Path("fair-2026-01.key").write_text("a secret of more than 16 bytes", encoding="utf-8")
    columns, key = ["--score", "p", "--label", "y", "--group", "sex"], ["--key-file", "fair-2026-01.key"]
    assert main(["fit", "people.csv", *columns, "--epsilon", "0.05", *key, "-o", "fair-2026-01.json"]) == 0
    new = Path("new.csv").read_text(encoding="utf-8")
    Path("new.csv").write_text(new.replace("Female", "Mars"), encoding="utf-8")
    assert bash(script).returncode == 2 and not Path("fair.csv").exists()  # a group that was not fitted
    Path("new.csv").write_text(new.replace("Female", "Male"), encoding="utf-8")
    assert bash(script).returncode == 1 and Path("fair.csv").exists()  # other people than in the fit


def left_out() -> dict[tuple[str, int], str]:
    marks = {(page, block.line): block.mark for page in PAGES for block in blocks(page)}
    return {place: mark for place, mark in marks.items() if mark is not None and mark != "output"}


def test_few_blocks_are_left_out_and_each_says_why() -> None:
    marked = left_out()
    for place, mark in marked.items():
        assert mark.removeprefix("not run: ").partition(",")[0] in REASONS, (place, mark)
    others = {place: mark for place, mark in marked.items() if mark != "not run: make"}
    assert len(others) <= LIMIT, others


def test_what_pages_make_is_a_target() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    asked = [block.body for page in PAGES for block in blocks(page) if block.mark == "not run: make"]
    named = re.findall(r"^make ([\w-]+)", "".join(asked), re.M)
    assert {"demo", "test"} <= {*named} <= {*targets}


@pytest.mark.parametrize("page", PAGES)
def test_every_block_has_a_language(page: str) -> None:
    """So that none escapes."""
    for block in blocks(page):
        assert block.language in SHOWN | {"python", "bash"}, (block.line, block.language)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Also on a page read outside of the site, and to a heading that is there."""
    for path, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", (ROOT / page).read_text(encoding="utf-8")):
        if "://" in path or path.startswith("mailto:"):
            continue
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{path}#{anchor}"


def anchors(text: str) -> set[str]:
    """Names of headings, as GitHub and the site make them."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head).lower()).replace(" ", "-")
        for head in heads
    }


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_files_that_a_page_names_are_there(page: str) -> None:
    """Modules by their place in the package, tests by their place in the project."""
    for name in re.findall(r"`((?:\w+/)+[\w*]+\.py)`", (ROOT / page).read_text(encoding="utf-8")):
        found = [*ROOT.glob(name), *ROOT.glob(f"src/fairroc/{name}"), *ROOT.glob(f"studies/src/fairroc_studies/{name}")]
        assert found, name


if __name__ == "__main__":
    print(sum(runs(block) for page in PAGES for block in blocks(page)), "blocks run, of", len(RUN), "pages; not run:")
    print(*(f"{page}:{line}: {mark}" for (page, line), mark in left_out().items()), sep="\n")
