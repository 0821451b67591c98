"""Tables read in batches give what the same rows in memory give, and say where something is wrong."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairroc
from fairroc import FairModel
from fairroc.cli import output
from fairroc.cli.main import main
from fairroc.errors import DataError
from fairroc.people.counts import ScoreCounts
from fairroc.people.rows import read_columns
from fairroc.people.streaming import count_table
from fairroc.tables import read
from fairroc.tables import write as writing
from fairroc.tables.columns import ColumnNames
from fairroc.tables.files import find_parts
from fairroc.tables.read import is_large, part_schema, read_batches
from refusals import refuses
from strategies import SEEDS

ENDINGS = [".csv", ".csv.gz", ".tsv", ".parquet", ".arrow", ".stream.ipc"]
Run = Callable[..., tuple[int, str, str]]
NAMES = ["--score", "p", "--label", "y", "--group", "sex"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "ROWS", 64)
    monkeypatch.setattr(read, "CSV_BLOCK", 1024)
    monkeypatch.setattr(writing, "ROW_GROUP", 300)


def people(n: int = 900, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["F", "M"], n), rng.choice(["x", "y, z"], n)
    scores = rng.random(n).round(3)
    labels = (rng.random(n) < np.where(sex == "F", scores, 0.25 + scores / 2)).astype(int)
    return pa.table(
        {
            "id": np.arange(1000, 1000 + n),
            "name": [f'n"{i}"' if i % 7 == 0 else f"n{i:04}" for i in range(n)],
            "p": scores,
            "y": labels,
            "sex": sex.tolist(),
            "race": race.tolist(),
            "w": rng.integers(1, 4, n),
        }
    )


PEOPLE = people()


def write(table: pa.Table, path: Path) -> Path:
    name = path.name
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(table, path, row_group_size=200)
    elif name.endswith((".arrow", ".ipc")):
        make = pa.ipc.new_stream if "stream" in name else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=150)
    else:
        text = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(delimiter="\t" if ".tsv" in name else ",")
        pyarrow.csv.write_csv(table, text, options)
        data = text.getvalue().to_pybytes()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def changed(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values if hasattr(values, "type") else [values])


def with_value(table: pa.Table, name: str, row: int, value: Any) -> pa.Table:
    values = table.column(name).to_pylist()
    values[row] = value
    return changed(table, name, pa.array(values))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *words: (main([*map(str, words)]), *capsys.readouterr())


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """An empty folder for files that are read as one."""
    folder = tmp_path / "parts"
    folder.mkdir()
    return folder


def same_models(run: Run, folder: Path, data: Path, *more: Any) -> None:
    """Fitted in memory and from a stream, with the same words."""
    common = ["fit", data, *NAMES, "--epsilon", "0.05", *more, "-o"]
    memory, stream = run(*common, folder / "memory.json"), run(*common, folder / "stream.json", "--stream")
    assert memory[0] == stream[0] == 0 and memory[1] == stream[1]
    assert bare(folder / "memory.json") == bare(folder / "stream.json")


def bare(path: Path) -> str:
    """A model file without salt and date."""
    model = FairModel.load(path)
    return replace(model, salt=0, record=replace(model.record, date="2000-01-01T00:00:00Z")).to_json()


# ---- fit and audit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "more"),
    [
        *((ending, []) for ending in ENDINGS),
        (".csv", ["--group", "race"]),
        (".parquet", ["--group", "race"]),
        (".parquet", ["--queries", 20]),
        (".parquet", ["--method", "froc"]),
        (".parquet", ["--norm", "inf", "--draw", "all", "--epsilon", "0.01"]),
    ],
)
def test_the_model_is_the_same(tmp_path: Path, run: Run, ending: str, more: Sequence[Any]) -> None:
    same_models(run, tmp_path, write(PEOPLE, tmp_path / f"d{ending}"), *more)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_audit_is_the_same(tmp_path: Path, run: Run, ending: str) -> None:
    common = ["audit", write(PEOPLE, tmp_path / f"d{ending}"), *NAMES, "--epsilon", "0.1", "--format", "json"]
    memory, stream = run(*common), run(*common, "--stream")
    assert memory[0] == stream[0] == 1
    assert json.loads(memory[1]) == json.loads(stream[1])


def test_a_folder_of_any_files(tmp_path: Path, parts: Path, run: Run) -> None:
    """Parts in several formats and subfolders are one table; so are those that fit a pattern."""
    (parts / "more").mkdir()
    for i, ending in enumerate(ENDINGS):
        place = parts / "more" if i % 2 else parts
        write(PEOPLE.slice(150 * i, 150), place / f"part{i}{ending}")
    (parts / "_SUCCESS").touch()
    (parts / ".part.crc").touch()
    write(PEOPLE, tmp_path / "whole.parquet")
    common = [*NAMES, "--epsilon", "0.05", "-o"]
    for data, name in ((parts, "a"), (f"{parts}/**/*", "b"), (tmp_path / "whole.parquet", "c")):
        if name == "b":
            (parts / "_SUCCESS").unlink()
        assert run("fit", data, *common, tmp_path / f"{name}.json")[0] == 0
    assert bare(tmp_path / "a.json") == bare(tmp_path / "b.json") == bare(tmp_path / "c.json")


def test_one_small_file_by_its_folder_or_a_pattern(tmp_path: Path, parts: Path, run: Run, transform: Run) -> None:
    data = write(PEOPLE, parts / "d.csv")
    for name, words in {"a": data, "b": data.parent, "c": data.parent / "*.csv"}.items():
        assert run("audit", words, *NAMES, "--bootstrap", "0")[0] == 0
        assert transform(words, tmp_path / f"{name}.csv")[0] == 0
        assert (tmp_path / f"{name}.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


def test_counts_of_files(tmp_path: Path) -> None:
    """In Python: counts to fit on, exact or in bins."""
    table = changed(people(6000), "p", pa.array(np.random.default_rng(3).random(6000)))
    data = write(table, tmp_path / "d.parquet")
    exact = fairroc.count_files(data, score="p", label="y", group="sex")
    assert exact.rows == 6000 and exact.error == 0.0 and exact.bits is None
    coarse = fairroc.count_files(data, score="p", label="y", group=["sex", "race"], max_distinct=1024)
    assert coarse.rows == 6000 and coarse.error > 0 and len(coarse.names) == 4
    single = fairroc.count_files(data, score="p", label="y", group="sex", max_distinct=1024)
    cut = exact.binned(single.bits or 0)
    for mine, theirs in zip(
        (*single.scores, *single.negatives, *single.positives, *(single.spread or ())),
        (*cut.scores, *cut.negatives, *cut.positives, *(cut.spread or ())),
        strict=True,
    ):
        assert mine.tolist() == theirs.tolist()


LABELS: list[tuple[Callable[[int], Any], list[str]]] = [
    (lambda y: bool(y), []),
    (lambda y: float(y), []),
    (lambda y: 2 * y - 1, []),
    (lambda y: "yes" if y else "no", ["--pos-label", "yes"]),
    (lambda y: 7 if y else 3, ["--pos-label", "7"]),
    (lambda y: ["0", "1.0"][y], ["--pos-label", "1.0"]),
]


@pytest.mark.parametrize(("label", "more"), LABELS)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_labels_of_all_kinds(
    tmp_path: Path, run: Run, ending: str, label: Callable[[int], Any], more: list[str]
) -> None:
    """The label of the first batches is one only: what the labels are is known at the end."""
    rows = PEOPLE.sort_by("y")
    table = changed(rows, "y", pa.array([label(y) for y in rows.column("y").to_pylist()]))
    same_models(run, tmp_path, write(table, tmp_path / f"d{ending}"), *more)


def test_one_group_under_many_types(tmp_path: Path) -> None:
    """1, 1.0, a decimal 1.00, "1" and "1.0" are one group, in whichever files they are."""
    values = np.random.default_rng(1).integers(1, 3, 900)
    columns = [
        (pa.array(values[:200]), ".parquet"),
        (pa.array(values[200:400].astype(float)), ".parquet"),
        (pa.array(values[400:600].astype(str)).dictionary_encode(), ".parquet"),
        (pa.array([Decimal(f"{value}.00") for value in values[600:700].tolist()]), ".arrow"),
        (pa.array([f"{value}.0" for value in values[700:800]]), ".csv"),
        (pa.array([f"{value}.0" if i % 3 else str(value) for i, value in enumerate(values[800:])]), ".csv"),
    ]
    done = 0
    for i, (column, ending) in enumerate(columns):
        write(changed(PEOPLE.slice(done, len(column)), "sex", column), tmp_path / f"{i}{ending}")
        done += len(column)
    found = count_table(find_parts(tmp_path), ColumnNames("p", ("sex",), "y"))
    assert found.names == ("1", "2") and found.rows == 900
    rows = ScoreCounts.from_rows(
        PEOPLE.column("p").to_numpy(), PEOPLE.column("y").to_numpy(), sensitive_features=values
    )
    assert all((a == b).all() for a, b in zip(found.positives, rows.positives, strict=True))


def test_missing_groups_become_a_group(tmp_path: Path, run: Run) -> None:
    sex = [None if i % 5 == 0 else value for i, value in enumerate(PEOPLE.column("sex").to_pylist())]
    for ending in (".csv", ".parquet"):
        data = write(changed(PEOPLE, "sex", pa.array(sex)), tmp_path / f"d{ending}")
        same_models(run, tmp_path, data, "--missing", "group")


@given(SEEDS, st.integers(2, 8), st.integers(20, 200), st.sampled_from([2, 20, 1000]), st.booleans())
def test_counts_are_those_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, seed: int, groups: int, rows: int, distinct: int, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, distinct, rows) / 8 - 3
    y, group, weight = rng.integers(0, 2, rows), rng.integers(0, groups, rows), rng.integers(0, 3, rows)
    y[:2], weight[:2] = (0, 1), 1
    table = pa.table({"p": scores, "y": y, "g": group, "w": weight})
    folder = tmp_path_factory.mktemp("parts")
    cut = int(rng.integers(1, rows))
    write(table.slice(0, cut), folder / "1.parquet")
    write(table.slice(cut), folder / "2.csv")
    found = count_table(find_parts(folder), ColumnNames("p", ("g",), "y", "w" if weighted else None))
    columns = read_columns(scores, y, sensitive_features=group, sample_weight=weight if weighted else None, whole=False)
    expected = ScoreCounts.from_columns(columns)
    kept = [g for g, part in enumerate(expected.scores) if len(part)]
    assert found.names == tuple(expected.names[g] for g in kept) and found.bits is None
    for mine, theirs in ((found.scores, expected.scores), (found.negatives, expected.negatives),
                         (found.positives, expected.positives)):  # fmt: skip
        assert [part.tolist() for part in mine] == [theirs[g].tolist() for g in kept]


@pytest.mark.parametrize("more", [[], ["--queries", "50"]])
def test_bins_when_there_are_too_many_scores(tmp_path: Path, run: Run, more: list[str]) -> None:
    """What the bins cost is stated, and holds for the gap before."""
    rng = np.random.default_rng(3)
    table = changed(people(6000), "p", pa.array(rng.random(6000)))
    labels = rng.random(6000) < np.where(np.array(table.column("sex")) == "F", np.array(table.column("p")), 0.5)
    data = write(changed(table, "y", pa.array(labels.astype(int))), tmp_path / "d.parquet")
    common = ["fit", data, *NAMES, "--epsilon", "0.05", "--format", "json", *more, "-o"]
    exact = json.loads(run(*common, tmp_path / "a.json")[1])
    code, out, _ = run(*common, tmp_path / "b.json", "--stream", "--max-distinct", "2048")
    binned = json.loads(out)
    assert code == 0 and exact["count_error"] == 0.0 and 0 < binned["count_error"] < 0.05
    assert abs(binned["gap_before"] - exact["gap_before"]) <= 2 * binned["count_error"]
    text = run(*[word for word in common if word not in ("--format", "json")], tmp_path / "b.json", "--stream",
               "--max-distinct", "2048")[1]  # fmt: skip
    assert "bins" in text


# ---- what is wrong, and where ----------------------------------------------------------------------------------


WRONG: list[tuple[str, Any, str]] = [
    ("p", None, "scores must not be missing"),
    ("p", float("nan"), "scores must not be missing"),
    ("p", float("inf"), "scores must be finite"),
    ("p", 1e308, "scores must lie within"),
    ("y", None, "y must not be missing"),
    ("sex", None, "must not be missing"),
    ("w", -1, "sample_weight (on the command line: --weight) must be >= 0"),
    ("w", None, "must not be missing"),
]


@pytest.mark.parametrize(("name", "value", "words"), WRONG)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_the_row_is_named(
    tmp_path: Path, parts: Path, run: Run, ending: str, name: str, value: Any, words: str
) -> None:
    write(PEOPLE, parts / f"a{ending}")
    bad = write(with_value(PEOPLE, name, 678, value), parts / f"b{ending}")
    code, out, err = run("fit", parts, *NAMES, "--weight", "w", "--epsilon", "0.05", "-o", tmp_path / "m.json")
    assert code == 2 and not out and err.count("\n") == 1 and not (tmp_path / "m.json").exists()
    assert words in err and f"'{bad}'" in err and "first such row there is 679" in err


def test_a_word_among_numbers(tmp_path: Path, run: Run) -> None:
    """A CSV column that changes its type half-way."""
    data = write(changed(PEOPLE, "p", pa.array([*map(str, range(700)), *["much"] * 200])), tmp_path / "d.csv")
    for command in (
        ["fit", data, *NAMES, "--epsilon", "0.05", "-o", tmp_path / "m.json", "--stream"],
        ["audit", data, *NAMES, "--stream"],
    ):
        code, _, err = run(*command)
        assert code == 2 and err.count("\n") == 1
        assert f"'{data}'" in err and "row 701 " in err and "'much'" in err


@pytest.mark.parametrize("command", ["audit", "audit --stream", "monitor", "transform"])
def test_numbers_and_fields_that_no_reader_can_take(tmp_path: Path, run: Run, model: Path, command: str) -> None:
    """A space that is no blank behind a number, and fields far longer than a block: the same from every command."""
    more = [] if "audit" in command else ["--model", model]
    more += ["--seed", "1", "-o", tmp_path / "o.csv"] if command == "transform" else []
    names = NAMES if command != "transform" else [*NAMES[:2], *NAMES[4:]]
    rows = [f"{i / 900},{i % 2},{'FM'[i % 2 ^ i // 8 % 2]},x" for i in range(900)]
    wrong = {
        "0.5\u00a0,1,F,x": "column 'p' must hold numbers; row 401 (counted from 1, without the header) holds '0.5\\x",
        f"0.5,1,F,{'z' * 5000}": "must fit into 0 MiB, but one after row ",
        f'0.5,1,F,"{"z" * 5000}"': "must fit into 0 MiB, but one after row ",
    }
    for row, words in wrong.items():
        data = tmp_path / "d.csv"
        data.write_text("p,y,sex,note\n" + "\n".join([*rows[:400], row, *rows[401:]]) + "\n", encoding="utf-8")
        code, out, err = run(*command.split(), data, *names, *more)
        assert code == 2 and not out and len(err) < 5000
        assert words in err


def test_a_type_that_changes_between_files(tmp_path: Path, run: Run) -> None:
    bad, texts = tmp_path / "b.parquet", pa.array(list(map(str, PEOPLE.column("y").to_pylist())))
    write(PEOPLE, tmp_path / "a.parquet")
    for name, column, words in (
        ("p", pa.array(["high"] * 900), "real numbers"),
        ("y", texts, f"text in '{bad}' and numbers in '{tmp_path / 'a.parquet'}'"),
    ):
        write(changed(PEOPLE, name, column), bad)
        code, _, err = run("fit", tmp_path, *NAMES, "--epsilon", "0.05", "-o", tmp_path / "m.json")
        assert code == 2 and err.count("\n") == 1 and f"'{bad}'" in err and words in err


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (changed(PEOPLE, "y", pa.array([i % 3 for i in range(900)])), "y must hold two values, got 3: 0 (300 rows)"),
        (changed(PEOPLE, "y", pa.array([1] * 900)), "all 900 rows have label 1"),
        (changed(PEOPLE, "y", pa.array(["a", "b"] * 450)), "y holds 'a' and 'b'; pass pos_label="),
        (changed(PEOPLE, "y", PEOPLE.column("id")), "y must hold two values, got 900"),
        (changed(PEOPLE, "sex", pa.array(["F"] * 900)), "one group only: 'F' holds all 900 rows"),
        (PEOPLE.rename_columns(["id", "name", "q", "y", "sex", "race", "w"]), "no column 'p'"),
        (PEOPLE.slice(0, 0), "must hold at least one row of data"),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_same_errors_as_in_memory(tmp_path: Path, run: Run, ending: str, table: pa.Table, words: str) -> None:
    data = write(table, tmp_path / f"d{ending}")
    common = ["fit", data, *NAMES, "--epsilon", "0.05", "-o", tmp_path / "m.json"]
    memory, stream = run(*common), run(*common, "--stream")
    assert memory[0] == stream[0] == 2 and words in memory[2]
    assert memory[2] == stream[2]


NESTED = {
    "list": pa.array([["F"]] * 900),
    "struct": pa.array([{"sex": "F"}] * 900),
    "map": pa.array([[("sex", 1)]] * 900, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("more", [[], ["--stream"]])
def test_columns_that_are_not_there_or_hold_no_plain_values(
    tmp_path: Path, run: Run, ending: str, more: list[str]
) -> None:
    data = write(PEOPLE, tmp_path / f"d{ending}")
    for option, name in (("--group", "sexx"), ("--label", "yy"), ("--score", "pp"), ("--group", "sex.list.element")):
        words = [name if NAMES[i - 1] == option else word for i, word in enumerate(NAMES)]
        code, _, err = run("audit", data, *words, *more)
        assert code == 2 and f"no column {name!r}; columns: 'id'" in err
    for kind, values in NESTED.items():
        for name, what in (("sex", "sensitive_features"), ("y", "y"), ("p", "scores")):
            data = write(changed(PEOPLE, name, values), tmp_path / f"{kind}{ending}")
            code, _, err = run("audit", data, *NAMES, *more)
            assert code == 2 and f"audit: {what}" in err
            assert ("must be real numbers" if name == "p" else "must hold one plain value per row") in err


def test_groups_that_would_share_a_name(tmp_path: Path) -> None:
    """Also where they never meet in one batch."""
    table = PEOPLE.slice(0, 2).append_column("b", [["b & c", "c"]])
    table = changed(table, "sex", pa.array(["a", "a & b"]))
    for i in range(2):
        write(table.slice(i, 1), tmp_path / f"{i}.parquet")
    refuses("would both be called 'a & b & c'", count_table, find_parts(tmp_path), ColumnNames("p", ("sex", "b"), "y"))


def test_too_many_labels_or_a_budget_too_small(tmp_path: Path) -> None:
    data = write(people(1500), tmp_path / "d.parquet")
    refuses("column 'id' has more than 1000", count_table, find_parts(data), ColumnNames("p", ("sex",), "id"))
    refuses("--max-distinct", count_table, find_parts(data), ColumnNames("p", ("sex",), "y"), most=5)
    refuses("named twice", ColumnNames, "p", ("sex", "sex"), "y")


# ---- which files -----------------------------------------------------------------------------------------------


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    for name, words in (("", "has none"), ("*.csv", "no file fits"), ("d.csv", "there is no file")):
        refuses(words, find_parts, tmp_path / name)
    write(PEOPLE, tmp_path / "d.csv")
    (tmp_path / "notes.txt").write_text("no table")
    refuses(r"notes\.txt' is none; name the files by a pattern", find_parts, tmp_path)
    assert [part.path.name for part in find_parts(tmp_path / "*.csv")] == ["d.csv"]


@pytest.mark.parametrize("data", ["", "*/*.csv", "**/*.csv"])
def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str) -> None:
    """Nor can it on a test machine where everything may be read."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(PEOPLE, tmp_path / name / "d.csv")
    assert len(find_parts(tmp_path / data)) == 2
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path) == tmp_path / "b":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(
        DataError, match=rf"cannot read the folder '{tmp_path / 'b'}': Permission denied; its files would"
    ):
        find_parts(tmp_path / data)


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_links(tmp_path: Path, run: Run) -> None:
    """Those to other files and folders are followed; no row is read twice."""
    parts, other = tmp_path / "parts", tmp_path / "other"
    for folder in (parts, other):
        folder.mkdir()
        write(PEOPLE, folder / "d.csv")
    (parts / "other").symlink_to(other)
    for data in (parts, parts / "**" / "*.csv"):
        assert len(find_parts(data)) == 2
    loops = {"back": "../parts", "again.csv": "d.csv", "self.csv": "self.csv", "no.csv": "nowhere"}
    for name, target in loops.items():
        (parts / name).symlink_to(target)
        for data in (parts, f"{parts}/**/*.csv"):
            code, out, err = run("audit", data, *NAMES)
            assert code == 2 and not out
            assert ("would be read twice" if name in list(loops)[:2] else "leads nowhere or back to itself") in err
        (parts / name).unlink()
    (tmp_path / "m.json").symlink_to("m.json")
    code, _, err = run("fit", parts, *NAMES, "--epsilon", "0.1", "-o", tmp_path / "m.json")
    assert code == 2 and "it is a link that leads back to itself; name another" in err


@pytest.mark.skipif(sys.platform != "linux", reason="names of files that are no text")
@pytest.mark.parametrize("command", ["fit", "audit", "frontier"])
def test_names_that_are_no_text(tmp_path: Path, run: Run, command: str) -> None:
    data = write(PEOPLE, tmp_path / os.fsdecode(b"d\xff.csv"))
    more = ["--epsilon", "0.1", "-o", tmp_path / "m.json"] if command == "fit" else []
    for path in (data, tmp_path) if command != "frontier" else (data,):
        code, _, err = run(command, path, *NAMES, *more)
        assert code == 2 and "the name of a file must be UTF-8 text, got b'" in err and "d\\xff.csv'; rename it" in err


def test_what_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file becomes decides, not how well it is packed."""
    table = changed(PEOPLE, "name", pa.array(["the same long text in every row"] * 900))
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    for ending in (".parquet", ".arrow", ".stream.ipc"):
        path = tmp_path / f"a{ending}"
        if ending == ".parquet":
            pyarrow.parquet.write_table(table, path, compression="zstd")
        else:
            make = pa.ipc.new_stream if "stream" in ending else pa.ipc.new_file
            with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema, options=packed) as writer:
                writer.write_table(table, max_chunksize=300)
        one = find_parts(path)
        for limit, columns, large in (
            (2800 * read.VALUE, ["p", "y", "sex"], False),
            (1800 * read.VALUE, ["p", "y", "sex"], True),
            (1000 * read.VALUE, ["p"], False),
        ):
            monkeypatch.setattr(read, "LARGE", limit)
            assert is_large(one, columns) == large, (ending, limit)
        assert is_large(one * 2, ["p"])
    plain = write(table, tmp_path / "a.csv")
    one = find_parts(write(table, tmp_path / "a.csv.gz"))
    assert one[0].size * 2 < plain.stat().st_size
    for limit, large in ((plain.stat().st_size, False), (plain.stat().st_size - 100, True)):
        monkeypatch.setattr(read, "LARGE", limit)
        assert is_large(one, ["p"]) == is_large(find_parts(plain), ["p"]) == large
    text = "p\n" + "\n".join(map(repr, np.random.default_rng(0).random(40_000)))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode(), 1))
    monkeypatch.setattr(read, "SAMPLE", len(text) // 20)
    monkeypatch.setattr(read, "PACKED", len(text) // 8)  # the beginning tells the whole
    for limit, large in ((len(text) * 3 // 2, False), (len(text) // 2, True)):
        monkeypatch.setattr(read, "LARGE", limit)
        assert is_large(find_parts(tmp_path / "b.csv.gz"), ["p"]) == large


def test_a_file_that_is_packed_two_hundredfold_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"p\n" + b"0.5\n" * 12_000_000, 1))
    parts = find_parts(tmp_path / "d.csv.gz")
    assert parts[0].size < 300_000
    for limit, large in ((50 << 20, False), (40 << 20, True)):
        monkeypatch.setattr(read, "LARGE", limit)
        assert is_large(parts, ["p"]) == large


def close(one: Any, other: Any) -> None:
    """The same plain data but for rounding."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list):
        for pair in zip(one, other, strict=True):
            close(*pair)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
    else:
        assert one == other


STREAMED = [
    ["threshold", "--label", "y", "--selection-rate", "0.3"],
    ["threshold", "--label", "y", "--cost-fp", "1", "--cost-fn", "2"],
    ["frontier", "--label", "y", "--epsilons", "0,0.1"],
    ["monitor", "--label", "y"],
    ["monitor"],
    ["report", "--label", "y", "--bootstrap", "0"],
]


@pytest.mark.parametrize("words", STREAMED, ids=" ".join)
def test_other_commands_are_the_same(tmp_path: Path, run: Run, model: Path, words: list[str]) -> None:
    """From a file in memory, from a stream, and from a folder with a batch of one label only."""
    whole, folder = write(PEOPLE.sort_by("y"), tmp_path / "d.parquet"), tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        write(PEOPLE.sort_by("y").slice(300 * i, 300), folder / f"{i}.csv")
    more = ["--model", model] if words[0] in ("threshold", "monitor") else []
    more += ["-o", tmp_path / "page.html", "--title", "People"] if words[0] == "report" else []
    found, pages = [], set()
    for data in ([whole], [whole, "--stream"], [folder])[: 2 if words[0] == "report" else 3]:
        code, out, err = run(words[0], *data, "--score", "p", "--group", "sex", *words[1:], *more, "--format", "json")
        assert code in (0, 1), err
        found.append({"code": code, **json.loads(out)})
        pages.add((tmp_path / "page.html").read_bytes() if words[0] == "report" else b"")
    for other in found[1:]:
        close(found[0], other)
    assert len(pages) == 1, "pages differ"


def test_new_people_of_one_label_and_too_many_scores(tmp_path: Path, run: Run, model: Path) -> None:
    data = write(PEOPLE.filter(pc.equal(PEOPLE["y"], 1)), tmp_path / "d.csv")
    common = ["monitor", data, "--model", model, *NAMES, "--format", "json"]
    memory, stream = run(*common), run(*common, "--stream")
    assert memory == stream and memory[0] in (0, 1)
    table = people(3000)
    table = changed(table, "p", pa.array(np.random.default_rng(0).random(3000)))
    write(table, data)
    code, _, err = run(*common, "--max-distinct", 1024)
    assert code == 2 and "there may be 1,024 different (group, label, score) at most" in err
    code, _, err = run("frontier", data, *NAMES, "--epsilons", "0.1", "--no-bound", "--max-distinct", 1024)
    assert code == 0 and "warning: scores were counted in bins, so that rates can be off by up to 0." in err


@pytest.mark.parametrize("ending", ENDINGS)
def test_batches_are_the_rows_in_order(tmp_path: Path, ending: str) -> None:
    part = find_parts(write(PEOPLE, tmp_path / f"d{ending}"))[0]
    found = list(read_batches([part], ["y", "p"], numbers=["p"]))
    assert len(found) > 3 and [batch.rows.schema.names for batch in found] == [["y", "p"]] * len(found)
    assert [batch.first for batch in found] == np.cumsum([0, *(batch.rows.num_rows for batch in found)])[:-1].tolist()
    rows = pa.Table.from_batches([batch.rows for batch in found])
    assert rows.column("p").to_pylist() == PEOPLE.column("p").to_pylist()
    assert list(map(int, rows.column("y").to_pylist())) == PEOPLE.column("y").to_pylist()
    done = [batch.done for batch in found]
    assert done == sorted(done) and 0 < done[-1] <= part.size
    assert part_schema(part).names == PEOPLE.column_names


def test_a_reader_that_is_left_early_ends(tmp_path: Path) -> None:
    import threading

    before = threading.active_count()
    reader = read_batches(find_parts(write(PEOPLE, tmp_path / "d.parquet")))
    next(reader)
    assert threading.active_count() == before + 1
    reader.close()
    assert threading.active_count() == before


# ---- transform -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    data = write(PEOPLE, folder / "d.parquet")
    assert main(["fit", str(data), *NAMES, "--epsilon", "0.05", "-o", str(folder / "m.json")]) == 0
    return folder / "m.json"


@pytest.fixture
def transform(run: Run, model: Path) -> Run:
    """The command with the module's model: its data, its output, and any further words."""
    how = ["--model", model, "--score", "p", "--group", "sex"]
    return lambda data, out, *words: run("transform", data, *how, *(words or ("--id", "id")), "-o", out)


def read_any(path: Path) -> pa.Table:
    if path.name.endswith(".parquet"):
        return pyarrow.parquet.read_table(path)
    if path.name.endswith(".arrow"):
        with pa.OSFile(str(path)) as source:
            return pa.ipc.open_file(source).read_all()
    return pyarrow.csv.read_csv(path)


@pytest.mark.parametrize(
    ("ending", "out", "draw"),
    [
        (".csv", ".csv", ["--id", "id"]),
        (".csv", ".csv", ["--id", "name"]),
        (".csv", ".csv", ["--seed", "3"]),
        (".csv.gz", ".csv.gz", ["--id", "id"]),
        (".tsv", ".parquet", ["--id", "id"]),
        (".parquet", ".parquet", ["--id", "id"]),
        (".parquet", ".parquet", ["--id", "name"]),
        (".parquet", ".csv", ["--seed", "3"]),
        (".arrow", ".arrow", ["--id", "id"]),
        (".stream.ipc", ".tsv", ["--id", "name"]),
    ],
)
def test_the_fair_scores_are_the_same(
    tmp_path: Path, transform: Run, monkeypatch: pytest.MonkeyPatch, ending: str, out: str, draw: list[str]
) -> None:
    """In many batches and in one."""
    data = write(PEOPLE, tmp_path / f"d{ending}")
    memory, stream = tmp_path / f"memory{out}", tmp_path / f"stream{out}"
    with monkeypatch.context() as patch:
        patch.setattr(read, "ROWS", 1 << 18)
        patch.setattr(read, "CSV_BLOCK", 1 << 23)
        assert transform(data, memory, *draw)[0] == 0
    code, words, _ = transform(data, stream, *draw)
    assert code == 0 and words == f"900 rows with fair scores in column 'p_fair' written to {stream}\n"
    if "csv" in out or "tsv" in out:
        assert memory.read_bytes() == stream.read_bytes()
    else:
        assert read_any(memory).equals(read_any(stream)) and read_any(stream).schema == read_any(memory).schema
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([data.name, memory.name, stream.name])


def test_ids_of_both_kinds_in_csv(tmp_path: Path, transform: Run, model: Path) -> None:
    """An id's type does not depend on its batch."""
    ids = [str(i) if i < 500 else f"a{i}" if i % 2 else f"0{i}" for i in range(900)]
    data = write(changed(PEOPLE, "id", pa.array(ids)), tmp_path / "d.csv")
    assert transform(data, tmp_path / "a.csv")[0] == 0
    typed = [int(text) if i < 500 else text for i, text in enumerate(ids)]
    columns = PEOPLE.column("p"), PEOPLE.column("sex")
    fair = FairModel.load(model).transform(columns[0], sensitive_features=columns[1], ids=typed)
    assert read_any(tmp_path / "a.csv").column("p_fair").to_pylist() == fair.tolist()


def test_a_folder_into_a_file_or_a_folder(tmp_path: Path, parts: Path, transform: Run) -> None:
    for i in range(3):
        write(PEOPLE.slice(300 * i, 300), parts / f"{i}.parquet")
    whole = write(PEOPLE, tmp_path / "whole.parquet")
    for data, out in ((whole, "a.parquet"), (parts, "b.parquet"), (parts, "out/")):
        assert transform(data, f"{tmp_path}/{out}", "--seed", "5")[0] == 0
    expected = read_any(tmp_path / "a.parquet")
    assert read_any(tmp_path / "b.parquet").equals(expected)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["0.parquet", "1.parquet", "2.parquet"]
    assert pa.concat_tables([read_any(tmp_path / "out" / name) for name in names]).equals(expected)


@pytest.mark.parametrize("output", ["parts/", "parts/x.csv", "parts/more/", "parts/more/x.csv", "parts/0.csv", "link/"])
def test_outputs_among_the_inputs(tmp_path: Path, parts: Path, transform: Run, output: str) -> None:
    (parts / "more").mkdir()
    (tmp_path / "link").symlink_to(parts)
    for i in range(2):
        write(PEOPLE.slice(450 * i, 450), parts / f"{i}.csv")
    before = {path: path.read_bytes() for path in parts.glob("*.csv")}
    target = f"{tmp_path}/{output}"
    code, out, err = transform(parts, target)
    place = tmp_path / output / ("0.csv" if output.endswith("/") else "")
    assert code == 2 and not out and err.count("\n") == 1 and f"'{place}'" in err and "with -o" in err
    assert {path: path.read_bytes() for path in parts.rglob("*.csv")} == before
    code, _, err = transform(parts / "*.csv", target)
    assert code == (0 if "more" in output else 2)
    for name, place, wanted in (("0.csv", "parts/", 2), ("[0]*.csv", "parts/0.csv", 2), ("0.csv", "parts/x.csv", 0)):
        assert output != place or transform(parts / name, target)[0] == wanted
    assert before.items() <= {path: path.read_bytes() for path in parts.glob("*.csv")}.items()


def test_the_advice_for_paths_of_the_wrong_kind(tmp_path: Path, parts: Path, run: Run, transform: Run) -> None:
    write(PEOPLE, parts / "a.csv")
    counted = ["--score", "p", "--group", "sex", "--positives", "y", "--negatives", "w"]
    for words in (["audit", parts, *counted], ["report", parts, *counted, "-o", tmp_path / "r.html"]):
        code, _, err = run(*words)
        assert code == 2 and "it is a folder; name a file in it: this takes one file" in err
    with pytest.raises(DataError, match=f"there is no file '{tmp_path / 'nope'}'"):
        fairroc.count_files(tmp_path / "nope", score="p", label="y", group="sex")
    (tmp_path / "out").mkdir()
    code, _, err = transform(parts, tmp_path / "out")
    assert code == 2 and f"(-o {tmp_path / 'out'}/)" in err
    assert transform(parts, f"{tmp_path / 'out'}/")[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
def test_more_files_than_may_be_open(
    tmp_path: Path, parts: Path, transform: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file at a time is open for writing; a file without rows gets one without rows."""
    for i in range(40):
        write(PEOPLE.slice(20 * i, 0 if i in (0, 7, 39) else 20), parts / f"{i:02}.csv")
    plain, most = os.fsync, 0

    def counted(descriptor: int) -> None:
        nonlocal most
        most = max(most, sum(path.name.endswith(".tmp") for path in held_files()))
        plain(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    assert transform(parts, f"{tmp_path / 'out'}/")[0] == 0
    assert most == 1  # the one that is written
    got = [read_any(path).num_rows for path in sorted((tmp_path / "out").iterdir())]
    assert got == [0 if i in (0, 7, 39) else 20 for i in range(40)]


def held_files() -> list[Path]:
    """Files that this process has open, by name."""
    links = Path("/proc/self/fd")
    if not links.exists():
        pytest.skip("no list of open files on this system")
    return [link.readlink() for link in links.iterdir() if link.is_symlink()]


def test_files_that_do_not_go_into_one(tmp_path: Path, parts: Path, transform: Run) -> None:
    write(PEOPLE, parts / "a.parquet")
    write(changed(PEOPLE, "w", pa.array(["w"] * 900)), parts / "b.parquet")
    code, _, err = transform(parts, tmp_path / "o.csv")
    assert code == 2 and err.count("\n") == 1 and "column 'w' is string and int64" in err
    assert transform(parts, f"{tmp_path / 'o'}/")[0] == 0
    (parts / "more").mkdir()
    write(PEOPLE, parts / "more" / "a.parquet")
    code, _, err = transform(parts, f"{tmp_path / 'p'}/")
    assert code == 2 and "two files are called 'a.parquet'" in err and not (tmp_path / "p").exists()


def test_categories_in_files(tmp_path: Path, parts: Path, transform: Run) -> None:
    """Dictionaries that differ from file to file: kept in Parquet, plain values in Arrow."""
    for i in range(2):
        rows = PEOPLE.slice(450 * i, 450).sort_by([("sex", "descending" if i else "ascending")])
        write(changed(rows, "sex", rows.column("sex").dictionary_encode()), parts / f"{i}.parquet")
    for name in ("o.parquet", "o.arrow", "o.csv"):
        assert transform(parts, tmp_path / name)[0] == 0
    expected = {row["id"]: (row["sex"], row["p_fair"]) for row in read_any(tmp_path / "o.parquet").to_pylist()}
    assert len(expected) == 900
    for name in ("o.arrow", "o.csv"):
        assert {row["id"]: (row["sex"], row["p_fair"]) for row in read_any(tmp_path / name).to_pylist()} == expected


def test_unknown_groups_are_counted_once(tmp_path: Path, transform: Run) -> None:
    sex = ["X" if i % 100 == 0 else value for i, value in enumerate(PEOPLE.column("sex").to_pylist())]
    data = write(changed(PEOPLE, "sex", pa.array(sex)), tmp_path / "d.parquet")
    code, _, err = transform(data, tmp_path / "o.csv", "--id", "id", "--on-unknown-group", "M")
    assert code == 0 and err.count("warning") == 1 and "warning: 9 of 900 rows belong to groups" in err
    code, _, err = transform(data, tmp_path / "o2.csv")
    assert code == 2 and "the model knows the groups 'F', 'M'" in err and "first such row there is 1," in err
    assert not (tmp_path / "o2.csv").exists()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("id", "7.0", "row 556 (counted"),
        ("id", "", "first such row there is 556"),
        ("p", "x", "row 556 (counted"),
        ("p", "", "first such row there is 556"),
        ("sex", "", "first such row there is 556"),
    ],
)
def test_transform_names_the_row(tmp_path: Path, transform: Run, name: str, value: str, words: str) -> None:
    texts = changed(PEOPLE, name, pa.array(list(map(str, PEOPLE.column(name).to_pylist()))))
    data = write(with_value(texts, name, 555, value), tmp_path / "d.csv")
    code, out, err = transform(data, tmp_path / "o.csv")
    assert code == 2 and not out and err.count("\n") == 1 and words in err and f"'{data}'" in err
    assert len(re.findall(r"\brow (?:there is )?\d+", err)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


def test_a_bar_on_a_terminal(tmp_path: Path, run: Run, transform: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write(PEOPLE, tmp_path / "d.parquet")
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    err = run("fit", data, *NAMES, "--epsilon", "0.05", "--stream", "-o", tmp_path / "m.json")[2]
    assert "\r\x1b[Kreading, MB [" in err
    assert "\r\x1b[Ktransforming, MB [" in transform(data, tmp_path / "o.csv")[2]


# ---- memory ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
def test_memory_is_bounded(tmp_path: Path) -> None:
    """Beside what a small file needs, which is mostly modules: streaming 6 million rows takes a fraction of the memory
    that loading them takes, and twice as many rows take hardly more."""

    def write_rows(name: str, rows: int) -> None:
        rng, chunk = np.random.default_rng(0), min(rows, 1_000_000)
        with pyarrow.parquet.ParquetWriter(tmp_path / f"{name}.parquet", SCHEMA) as writer:
            for begin in range(0, rows, chunk):
                scores, sex = rng.random(chunk), rng.integers(0, 2, chunk)
                labels = rng.random(chunk) < np.where(sex, scores, 0.5)
                ids, names = np.arange(begin, begin + chunk), pa.array(sex).cast(pa.string())
                writer.write_table(pa.table([ids, scores, labels.astype(np.int8), names], schema=SCHEMA))

    def megabytes(name: str, *more: str) -> tuple[int, int]:
        """Of a fit and of a transform."""
        data, model = str(tmp_path / f"{name}.parquet"), str(tmp_path / "m.json")
        fit = ["fit", data, *NAMES, "--epsilon", "0.1", "-o", model]
        transform = ["transform", data, "--model", model, "--score", "p", "--group", "sex", "--id", "id", "-o"]
        found = []
        for words in ([*fit, *more], [*transform, str(tmp_path / "o.parquet")]):
            script = MEASURED if more or words[0] == "fit" else LOADED
            done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
            code, peak = done.stderr.strip().splitlines()[-1].split()
            assert code == "0"
            found.append(int(peak))
        return found[0], found[1]

    for name, rows in (("small", 1000), ("half", 3_000_000), ("large", 6_000_000)):
        write_rows(name, rows)
    stream = ["--stream", "--max-distinct", "16384"]
    small = megabytes("small")
    loaded = [a - b for a, b in zip(megabytes("large"), small, strict=True)]
    half, streamed = ([a - b for a, b in zip(megabytes(n, *stream), small, strict=True)] for n in ("half", "large"))
    assert streamed[0] < 0.7 * loaded[0] and streamed[1] < 0.7 * loaded[1], (small, loaded, half, streamed)
    assert all(many < few + 80 for many, few in zip(streamed, half, strict=True)), (half, streamed)


SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.float64()), ("y", pa.int8()), ("sex", pa.string())])
# The peak of this process alone: ru_maxrss is no less than the parent's when it began.
PEAK = "int(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1]) // 1024"
MEASURED = """
import sys
from fairroc.cli.main import main
code = main(sys.argv[1:])
print(code, PEAK, file=sys.stderr)
""".replace("PEAK", PEAK)
LOADED = """
import sys
import pyarrow.parquet as pq
from fairroc import FairModel
table = pq.read_table(sys.argv[2])
model = FairModel.load(sys.argv[4])
fair = model.transform(table["p"], sensitive_features=table["sex"], ids=table["id"])
pq.write_table(table.append_column("p_fair", [fair]), sys.argv[-1])
print(0, PEAK, file=sys.stderr)
""".replace("PEAK", PEAK)
