"""Tables from and to files."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.errors import DataError
from fairroc.files import TABLE_SUFFIXES, check_writable, read_table, write_table, write_text_atomic

TABLE = pa.table({"p": [0.1, 0.25, 1 / 3], "sex": ["F", "M", "01"], "y": [0, 1, 1]})


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def csv_file(folder: Path, content: str | bytes, name: str = "d.csv") -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def test_import_loads_no_pyarrow() -> None:
    code = "import sys, fairroc.files; print({'pyarrow', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"Out.x{suffix.upper()}"
    write_table(TABLE, path)
    assert read_table(path, text_columns=["sex"]).equals(TABLE)
    assert read_table(path, ["y", "p", "y"]).equals(TABLE.select(["y", "p"]))
    assert names_in(tmp_path) == [path.name]


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.sampled_from([".csv", ".csv.gz", ".pq", ".ipc"]))
def test_floats_survive_every_format(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], suffix: str
) -> None:
    path = tmp_path_factory.mktemp("f") / f"t{suffix}"
    write_table(pa.table({"p": pa.array(values, pa.float64())}), path)
    assert [float(v) for v in read_table(path)["p"].to_pylist()] == values


def test_csv_text_columns_are_not_converted(tmp_path: Path) -> None:
    path = csv_file(tmp_path, 'p,sex,zip\n0.5,NA,01\n0.25,,1.0\n1,"",true\n')
    table = read_table(path, ["p", "sex", "zip"], text_columns=["sex", "zip"])
    assert table["sex"].to_pylist() == ["NA", None, None]
    assert table["zip"].to_pylist() == ["01", "1.0", "true"]
    assert table["p"].to_pylist() == [0.5, 0.25, 1.0]


def test_csv_inference_missing_numbers_and_text(tmp_path: Path) -> None:
    table = read_table(csv_file(tmp_path, "p,q,y\n0.5,abc,yes\nNA,0.5,\n"))
    assert table["p"].to_pylist() == [0.5, None]
    assert table["q"].to_pylist() == ["abc", "0.5"]
    assert table["y"].to_pylist() == ["yes", None]


def test_csv_late_text_is_found_in_a_long_file(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "p,y\n" + "0.123456789,1\n" * 200_000 + "abc,1\n")
    column = read_table(path)["p"]
    assert pa.types.is_string(column.type)
    assert column[200_000].as_py() == "abc"


def test_csv_bom_quotes_and_newlines(tmp_path: Path) -> None:
    path = csv_file(tmp_path, '\ufeffp,note\r\n0.5,"two\nlines, one comma"\r\n1,x\r\n')
    table = read_table(path)
    assert table.column_names == ["p", "note"]
    assert table["note"].to_pylist() == ["two\nlines, one comma", "x"]


def test_csv_does_not_parse_unwanted_columns(tmp_path: Path) -> None:
    path = csv_file(tmp_path, b"p,name\n0.5,\xff\xfe\n")
    assert read_table(path, ["p"])["p"].to_pylist() == [0.5]
    with pytest.raises(DataError, match=r"column 'name' of .* must be UTF-8 text; save the file as UTF-8"):
        read_table(path)
    with pytest.raises(DataError, match=r"cannot read .*: .*invalid UTF8 data; check that the file is whole"):
        read_table(path, text_columns=["name"])


def test_arrow_stream(tmp_path: Path) -> None:
    path = tmp_path / "s.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert read_table(path, ["sex", "p"]).equals(TABLE.select(["sex", "p"]))


def test_feather(tmp_path: Path) -> None:
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "t.feather"))
    assert read_table(tmp_path / "t.feather").equals(TABLE)


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_missing_column(tmp_path: Path, suffix: str) -> None:
    write_table(TABLE, tmp_path / f"t{suffix}")
    with pytest.raises(DataError, match=r"^no column 'sexe'; columns: 'p', 'sex', 'y'\. Did you mean 'sex'\?$"):
        read_table(tmp_path / f"t{suffix}", ["p", "sexe"])


def test_missing_text_column(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^no column 'zzz'; columns: 'p', 'y'\.$"):
        read_table(csv_file(tmp_path, "p,y\n1,2\n"), text_columns=["zzz"])


def test_double_columns(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "p,q,q\n1,2,3\n")
    assert read_table(path, ["p"])["p"].to_pylist() == [1]
    with pytest.raises(DataError, match="has 2 columns 'q'; rename them apart"):
        read_table(path, ["p", "q"])
    write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.ipc")
    with pytest.raises(DataError, match="has 2 columns 'a'; rename them apart"):
        read_table(tmp_path / "t.ipc")


def test_bad_sources(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="must be a file, but it is a folder; name a file in it"):
        read_table(tmp_path / "folder.csv")
    with pytest.raises(DataError, match=r"there is no file '.*no.csv'; check the path"):
        read_table(tmp_path / "no.csv")
    with pytest.raises(DataError, match=r"must end in one of \.csv, .*, got '.*d\.xlsx'; rename it"):
        read_table(csv_file(tmp_path, "x", "d.xlsx"))
    for suffix in TABLE_SUFFIXES:
        (tmp_path / f"e{suffix}").touch()
        with pytest.raises(DataError, match="must hold a table, but it is empty"):
            read_table(tmp_path / f"e{suffix}")


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_csv_without_header(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match="must hold a header line, but it is empty"):
        read_table(csv_file(tmp_path, content, "d.csv.gz"))


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_no_rows(tmp_path: Path, suffix: str) -> None:
    write_table(TABLE.slice(0, 0), tmp_path / f"t{suffix}")
    with pytest.raises(DataError, match="must hold at least one row of data, got none"):
        read_table(tmp_path / f"t{suffix}")


def test_header_without_newline(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must hold at least one row of data, got none"):
        read_table(csv_file(tmp_path, "p,y"), ["p"])


@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet", ".feather"])
@pytest.mark.parametrize("part", [0.3, 0.9])
def test_truncated(tmp_path: Path, suffix: str, part: float) -> None:
    path = tmp_path / f"t{suffix}"
    write_table(pa.table({"p": [i * 0.37 for i in range(1000)]}), path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(DataError, match=r"^cannot read '.*': [^\n]+; check that the file is whole\.$") as caught:
        read_table(path)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet", "t.arrow", "t.csv"])
def test_not_what_the_suffix_says(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    with pytest.raises(DataError, match=r"cannot read|header of .* must be UTF-8 text; save the file as UTF-8"):
        read_table(tmp_path / name)


def test_ragged_csv(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read '.*': CSV parse error: .*Expected 2 columns, got 3"):
        read_table(csv_file(tmp_path, "p,y\n1,2\n1,2,3\n"))


def test_dictionary_columns_become_text_in_csv(tmp_path: Path) -> None:
    write_table(pa.table({"g": pa.array(["a", "b", "a"]).dictionary_encode()}), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv")["g"].to_pylist() == ["a", "b", "a"]


def test_equal_tables_give_equal_gz_bytes(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(TABLE, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "old")
    with pytest.raises(DataError, match=r"cannot write '.*d.csv': .*; nothing was changed"):
        write_table(pa.table({"nested": [[1], [2]]}), path)
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["d.csv"]


def test_interrupted_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv_file(tmp_path, "old", "m.json")

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text_atomic(path, "new")
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["m.json"]


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"^cannot write '.*': No space left on device; nothing was changed\.$"):
        write_text_atomic(tmp_path / "m.json", "new")
    assert names_in(tmp_path) == []


def test_write_text_follows_links_and_keeps_the_mode(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "old", "m.json")
    path.chmod(0o640)
    (tmp_path / "link.json").symlink_to(path)
    write_text_atomic(tmp_path / "link.json", "ε\n")
    assert path.read_bytes() == "ε\n".encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.json").is_symlink()


def test_check_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_writable(tmp_path / "t.csv")
    check_writable(tmp_path / "m.json", (".json",))
    check_writable(tmp_path / "anything", None)
    assert names_in(tmp_path) == []
    with pytest.raises(DataError, match=r"must end in one of .json, got '.*m.csv'; rename it"):
        check_writable(tmp_path / "m.csv", (".json",))
    with pytest.raises(DataError, match=r"there is no folder '.*nowhere'; create it first"):
        check_writable(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(DataError, match=r"there is no folder '.*nowhere'; create it first"):
        write_table(TABLE, tmp_path / "nowhere" / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="is there already and is not a plain file; name another"):
        check_writable(tmp_path / "folder.csv")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DataError, match=r"no permission to write in '.*'; name another folder"):
        check_writable(tmp_path / "t.csv")
