"""Broken files, a full disk, a killed process: one line, exit code 2, nothing half-written, and a rerun works."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from fairroc.backends import files as rewriting
from fairroc.cli.main import main

NAMES = ["--score", "p", "--group", "sex"]
ROWS = 20_000


def people(n: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(0)
    sex, scores = rng.choice(["F", "M"], n), rng.random(n)
    labels = rng.random(n) < np.where(sex == "F", scores, 0.25 + scores / 2)
    return pa.table({"id": np.arange(n), "p": scores.round(3), "y": labels.astype(int), "sex": sex.tolist()})


PEOPLE = people()


def write(path: Path, table: pa.Table = PEOPLE) -> Path:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=2000)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2000)
    else:
        text = pa.BufferOutputStream()
        pyarrow.csv.write_csv(table, text)
        data = text.getvalue().to_pybytes()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    data = write(folder / "d.parquet")
    assert (
        main(
            [
                "fit",
                str(data),
                *NAMES,
                "--label",
                "y",
                "--epsilon",
                "0.05",
                "-o",
                str(folder / "m.json"),
            ]
        )
        == 0
    )
    return folder / "m.json"


def commands(data: Path, model: Path, folder: Path) -> dict[str, list[str]]:
    fit = [
        "fit",
        str(data),
        *NAMES,
        "--label",
        "y",
        "--epsilon",
        "0.05",
        "-o",
        str(folder / "new.json"),
    ]
    transform = ["transform", str(data), *NAMES, "--id", "id", "--model", str(model), "-o", str(folder / "out.parquet")]
    audit = ["audit", str(data), *NAMES, "--label", "y", "--bootstrap", "0"]
    return {"fit": [*fit, "--stream"], "transform": transform, "audit": [*audit, "--stream"]}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def failed(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    """The one line that a command which cannot run leaves."""
    code = main(words)
    out, err = capsys.readouterr()
    assert code == 2 and not out and err.count("\n") == 1, err
    return err


def cut(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def spoil(path: Path) -> None:
    """Overwrite some bytes of the scores in a later row group; the file's end is whole."""
    with pyarrow.parquet.ParquetFile(path) as file:
        column = file.metadata.row_group(6).column(PEOPLE.column_names.index("p"))
        begin = column.dictionary_page_offset or column.data_page_offset
    data = bytearray(path.read_bytes())
    data[begin : begin + 200] = b"\xff" * 200
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("command", ["fit", "audit", "transform"])
@pytest.mark.parametrize("name", ["d.parquet", "d.arrow", "d.csv.gz"])
def test_a_truncated_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: Path, command: str, name: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder / f"a-{name}")
    bad = write(folder / f"b-{name}")
    cut(bad, 0.6)
    words = commands(folder, model, tmp_path)[command]
    assert f"cannot read '{bad}'" in failed(capsys, words)
    assert names_in(tmp_path) == ["data"]
    write(bad)
    assert main(words) == 0


@pytest.mark.parametrize("command", ["fit", "transform"])
def test_a_spoilt_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], model: Path, command: str) -> None:
    """The rows before the spoilt ones are read and worked on; nothing of them is left."""
    data = write(tmp_path / "d.parquet")
    spoil(data)
    words = commands(data, model, tmp_path)[command]
    assert f"'{data}'" in failed(capsys, words)
    assert names_in(tmp_path) == ["d.parquet"]
    write(data)
    assert main(words) == 0


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from fairroc.tables import write
write.ROW_GROUP = 2000
from fairroc.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of a process")
@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.csv.gz", "out.arrow", "out/"])
def test_no_room_for_the_output(tmp_path: Path, model: Path, name: str) -> None:
    """The system lets files grow to 20 kB only. What was there before stays."""
    data = write(tmp_path / "d.parquet")
    output = tmp_path / name
    if not name.endswith("/"):
        output.write_text("before")
    words = ["transform", str(data), *NAMES, "--id", "id", "--model", str(model), "-o"]
    words.append(f"{tmp_path}/{name}")
    done = subprocess.run([sys.executable, "-c", LIMITED, *words], capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    assert "cannot write" in done.stderr and "File too large" in done.stderr and "nothing was changed" in done.stderr
    assert names_in(tmp_path) == sorted(["d.parquet", *([] if name.endswith("/") else [name])])
    assert name.endswith("/") or output.read_text(encoding="utf-8") == "before"
    assert main(words) == 0
    assert (output / "d.parquet" if name.endswith("/") else output).stat().st_size > 20_000


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.arrow"])
def test_a_full_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model: Path, name: str
) -> None:
    """Writing fails after some rows have been written."""
    data = write(tmp_path / "d.parquet")
    words = [*commands(data, model, tmp_path)["transform"][:-1], str(tmp_path / name)]
    written = 0
    plain = rewriting.table_writer

    def filling(sink: Any, suffix: str, schema: Any, **more: Any) -> Any:
        class Disk:
            closed = False

            def write(self, some: Any) -> int:
                nonlocal written
                written += len(some)
                if written > 10_000:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return sink.write(some)  # type: ignore[no-any-return]

            def flush(self) -> None: ...

        return plain(Disk(), suffix, schema, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "table_writer", filling)
        assert "No space left on device; nothing was changed" in failed(capsys, words)
    assert written > 10_000 and names_in(tmp_path) == ["d.parquet"]
    assert main(words) == 0


SLOW = """
import sys, time
from fairroc.tables import read, write
from fairroc.backends import files as rewriting
read.ROWS = 500
write.ROW_GROUP = 500
plain = rewriting._Work.rewritten
rewriting._Work.rewritten = lambda self, batch: (time.sleep(0.05), plain(self, batch))[1]
from fairroc.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_process(tmp_path: Path, model: Path) -> None:
    """No output appears; what is left is hidden and does not disturb."""
    data = write(tmp_path / "d.parquet")
    words = commands(data, model, tmp_path)["transform"]
    process = subprocess.Popen([sys.executable, "-c", SLOW, *words], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            left = [path for path in tmp_path.glob(".out.parquet.*.tmp") if path.stat().st_size > 1000]
            if left or process.poll() is not None:
                break
            time.sleep(0.05)
        assert left and process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert [path for path in tmp_path.iterdir() if not path.name.startswith(".")] == [data]
    assert main(words) == 0
    assert names_in(tmp_path) == [left[0].name, "d.parquet", "out.parquet"]


def test_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    data = write(tmp_path / "d.parquet")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    words = commands(data, model, tmp_path)["transform"]
    with monkeypatch.context() as patch:
        patch.setattr(rewriting._Work, "rewritten", interrupted)
        assert main(words) == 130
    assert names_in(tmp_path) == ["d.parquet"]
    assert main(words) == 0
