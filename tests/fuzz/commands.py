"""Commands with all options, good and bad: they do what they say, or refuse in words and write nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from fuzz.calling import call, unexpected

NUMBERS = (
    "0",
    "0.05",
    "1",
    "2",
    "-1",
    "nan",
    "inf",
    "1e-320",
    "1e400",
    "abc",
    "",
    "0.5",
    "3",
    "10" * 30,
    "0:1",
    ".2:.1",
)
NAMES = ("score", "label", "group", "id", "none", "", "sc ore", "note", "--", "é")
PLACES = ("DATA", "MODEL", "TABLES", "TABLES/PACK", "PACK", "OUT", "NEW", "PAGE", "nowhere/x.json", "../x.html")
WORDS = (
    "dbt",
    "few",
    "never",
    "all",
    "auto",
    "inf",
    "equal_opportunity",
    "demographic_parity",
    "merge",
    "new",
    "fitted",
    "population",
    "froc",
)
FLAGS = {
    "audit": "--epsilon --norm --threshold --bootstrap --confidence --constraint --ratio --where --stream --weight "
    "--pos-label --min-class-rows --small-groups --max-distinct --missing",
    "fit": "--epsilon --norm --draw --constraint --ratio --where --promise --method --stream --queries "
    "--small-groups --confidence --epsilon-fpr --epsilon-tpr",
    "transform": "--seed --id --column --on-unknown-group --stream --key-file",
    "threshold": "--cost-fp --cost-fn --selection-rate --precision --recall --allow-out-of-range",
    "explain": "--threshold --id --score --group",
    "monitor": "--label --confidence --bootstrap --seed --weight",
    "sql": "--dialect --id-type --form --column --function --table --tables --id --key-file",
    "onnx": "--ids --threshold --on-unknown-group --score --group",
    "frontier": "--epsilons --ratios --constraint --norm --method --draw --where --queries --no-bound --stream --curve",
    "report": "--epsilon --ratio --constraint --threshold --where --pack --category --unknown --model --selection-rate "
    "--exclude-below --json --title --stream --label --allow-out-of-range",
    "froc": "--queries --index --upper --epsilon --stream --weight",
    "verify": "--certificate --weight --pos-label --stream --missing",
}
ALONE = {"--stream", "--no-bound", "--allow-out-of-range"}


@dataclass(frozen=True)
class Command:
    """A command line; words in capitals (`STANDS`) stand for files and folders."""

    family: str
    words: tuple[str, ...]


class Commands:
    """Exit 0, 1 or 2; after an exit of 2 nothing new lies in the folder."""

    def make(self, seed: int) -> Command:
        rng = np.random.default_rng([5, seed])
        name = str(rng.choice(sorted(FLAGS)))
        words = [name, *BASES[name]]
        for _ in range(int(rng.choice([0, 1, 1, 2, 3]))):
            flag = str(rng.choice(FLAGS[name].split()))
            pool = (NUMBERS, NUMBERS, NAMES, WORDS, PLACES)[rng.integers(5)]
            words += [flag] if flag in ALONE else [flag, str(rng.choice(pool))]
        if rng.random() < 0.15:
            words[rng.integers(1, len(words))] = str(rng.choice(NUMBERS + NAMES + PLACES))
        return Command(name, tuple(words))

    def check(self, case: Command) -> str | None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "here"
            (folder / STANDS["TABLES"]).mkdir(parents=True)
            for file, content in _inputs().items():
                (folder / file).write_bytes(content)
            before = _content(Path(name))
            with chdir(folder):
                done = call(*("/".join(STANDS.get(part, part) for part in word.split("/")) for word in case.words))
            after = _content(Path(name))
        wrong = unexpected(done)
        if wrong:
            return wrong
        changed = {file for file, content in before.items() if after.get(file, b"") != content}
        if changed - _asked_for(case.words) or (changed and done.code == 2):
            return "inputs: a file that was read has changed"
        if done.code == 2 and after.keys() != before.keys():
            return f"files: exit 2 left {sorted(after.keys() - before.keys())}"
        return None

    def smaller(self, case: Command) -> Iterator[Command]:
        for i in range(1, len(case.words)):
            for size in (2, 1):
                yield replace(case, words=case.words[:i] + case.words[i + size :])


def _asked_for(words: tuple[str, ...]) -> set[str]:
    """Files that a command shall write, whatever they held, and does not name as anything else."""
    written = {to for flag, to in pairwise(words) if flag in ("-o", "--json")}
    return {f"here/{STANDS[to]}" for to in written if to in STANDS and words.count(to) == 1}


def _content(folder: Path) -> dict[str, bytes | None]:
    """All files below a folder, and all folders."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {name: path.read_bytes() if path.is_file() else None for name, path in found.items()}


STANDS = {
    "DATA": "data.csv",
    "MODEL": "model.json",
    "OUT": "out.csv",
    "NEW": "new.json",
    "GRAPH": "new.onnx",
    "PAGE": "new.html",
    "PICTURE": "new.svg",
    "SQL": "new.sql",
    "PACK": "pack",
    "TABLES": "tables",
}
PEOPLE = ("--score", "score", "--group", "group")
BASES: dict[str, tuple[str, ...]] = {
    "audit": ("DATA", *PEOPLE, "--label", "label", "--bootstrap", "0"),
    "fit": ("DATA", *PEOPLE, "--label", "label", "--epsilon", "0.05", "-o", "NEW"),
    "transform": ("DATA", "--model", "MODEL", *PEOPLE, "--id", "id", "-o", "OUT"),
    "threshold": ("DATA", "--model", "MODEL", *PEOPLE, "--label", "label"),
    "explain": ("--model", "MODEL", "--score", "0.4", "--group", "a"),
    "monitor": ("DATA", "--model", "MODEL", *PEOPLE, "--bootstrap", "0"),
    "sql": ("--dialect", "duckdb", "--model", "MODEL", *PEOPLE, "--id", "id", "-o", "SQL"),
    "onnx": ("--model", "MODEL", *PEOPLE, "-o", "GRAPH"),
    "frontier": ("DATA", *PEOPLE, "--label", "label", "--epsilons", "0,0.1", "-o", "OUT"),
    "report": ("DATA", *PEOPLE, "--label", "label", "--bootstrap", "0", "-o", "PAGE"),
    "froc": ("DATA", *PEOPLE, "--label", "label", "--epsilon", "0.05", "--index", "3", "-o", "PICTURE"),
    "verify": ("MODEL", "DATA", *PEOPLE, "--label", "label"),
}


@cache
def _inputs() -> dict[str, bytes]:
    """A table, and a model of it."""
    rng = np.random.default_rng(0)
    lines = ["id,score,label,group,note"]
    for i in range(60):
        score = round(float(rng.random()), 2)
        lines.append(f"{i},{score},{int(rng.random() < score)},{'ab'[i % 2]},x")
    data = "\n".join(lines).encode() + b"\n"
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "data.csv").write_bytes(data)
        done = call(
            "fit",
            f"{name}/data.csv",
            *PEOPLE,
            "--label",
            "label",
            "--epsilon",
            "0.05",
            "--promise",
            "fitted",
            "--draw",
            "all",
            "-o",
            f"{name}/model.json",
        )
        assert done.code == 0, done.error
        return {"data.csv": data, "model.json": (Path(name) / "model.json").read_bytes()}
