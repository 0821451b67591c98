"""Tables from and to files."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairroc.errors import DataError
from fairroc.tables import read as reading
from fairroc.tables.columns import as_arrow, as_numpy, codes_of, ids_from_text, numbers_from_text
from fairroc.tables.files import FORMATS, TABLE_SUFFIXES, check_writable, find_parts, table_suffix
from fairroc.tables.read import _pick, _quoted_fields, read_batches, read_table
from fairroc.tables.write import _needs_quotes, _write_csv_rows, write_table, write_text_atomic, written_together
from refusals import refuses

TABLE = pa.table({"p": [0.1, 0.25, 1 / 3], "sex": ["F", "M", "01"], "y": [0, 1, 1]})


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def csv_file(folder: Path, content: str | bytes, name: str = "d.csv") -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_people_are_read_without_pandas(tmp_path: Path, suffix: str) -> None:
    """Nor what takes as long to load: a command is done before they would be there."""
    path = tmp_path / f"d{suffix}"
    write_table(pa.table({"p": [0.1, 0.2, 0.3, 0.4], "y": [0, 1, 0, 1], "g": ["a", "a", "b", "b"]}), path)
    code = (
        "import sys, argparse; from fairroc.cli.data import read_data; read_data(argparse.Namespace(data=sys.argv[1], "
        "score='p', label='y', group=['g'], weight=None, pos_label=None, missing='error'));"
        "print({'narwhals', 'pandas', 'scipy', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


NUMBERS = [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()]


@given(st.sampled_from(NUMBERS), st.lists(st.integers(0, 1), max_size=30), st.integers(0, 9), st.integers(0, 9))
def test_arrow_columns_become_arrays(kind: pa.DataType, values: list[int], begin: int, cut: int) -> None:
    """As pyarrow converts them, also where a chunk begins inside a byte of truth values."""
    whole = pa.array(np.array(values, dtype=kind.to_pandas_dtype()), kind)
    for column in (whole[begin:], pa.chunked_array([whole[begin:], whole[:cut]])):
        found, truth = as_numpy(column), np.array(column.to_pylist(), dtype=kind.to_pandas_dtype())
        assert found.dtype == truth.dtype
        assert (found == truth).all()
    assert as_numpy(pa.array([*values, None], pa.int64())) is None
    assert as_numpy(pa.array(["a"])) is None
    assert as_arrow(np.array(values, dtype=np.float64)).to_pylist() == values


@given(st.lists(st.sampled_from(["a", "", "b", None]), max_size=40), st.integers(0, 9))
def test_places_in_a_dictionary(values: list[str | None], begin: int) -> None:
    chunk = pa.array(values, pa.string()).dictionary_encode()[begin:]
    texts = [*chunk.dictionary.to_pylist(), None]
    assert [texts[code] for code in codes_of(chunk).tolist()] == values[begin:]


def test_categories_of_a_csv_file(tmp_path: Path) -> None:
    """The same values in several batches, empty fields missing; labels get the type that all of them have."""
    rows = ["0.5,b,1", "0.5,,0", '1,"",1', "0.25,01,0"] * 3 + [f"{'0' * 5_000_000},a,1", "1,b,0"] * 2
    path = csv_file(tmp_path, "p,g,y\n" + "\n".join(rows) + "\n")
    plain, coded = (read_table(path, None, ["g"], numbers=["p"], categories=names) for names in ([], ["g", "y"]))
    assert coded["g"].num_chunks > 1
    assert coded["g"].to_pylist() == plain["g"].to_pylist()
    assert coded.select(["p", "y"]).equals(plain.select(["p", "y"]))


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


def test_csv_numbers(tmp_path: Path) -> None:
    table = read_table(csv_file(tmp_path, "p,y\n7, 1\n0.5,\n"), numbers=["p", "y"])
    assert table["p"].to_pylist() == [7.0, 0.5] and table["y"].to_pylist() == [1.0, None]
    assert {str(field.type) for field in table.schema} == {"double"}
    path = csv_file(tmp_path, "p,y\n7,1\nmuch,0\n")
    refuses(rf"^'{path}': column 'p' must hold numbers; row 2 \(.* holds 'much'", read_table, path, numbers=["p"])


def test_csv_types_are_those_of_all_values(tmp_path: Path) -> None:
    text = "i,b,d,f,n,t\n1,true,2020-01-31,1,,NA\n,false,2020-02-01,NaN,,x\n-3,,NA,2.5,,\n"
    table = read_table(csv_file(tmp_path, text))
    assert [str(field.type) for field in table.schema] == ["int64", "bool", "date32[day]", "double", "null", "string"]
    assert table["i"].to_pylist() == [1, None, -3] and table["t"].to_pylist() == ["NA", "x", None]


def test_csv_bom_quotes_and_newlines(tmp_path: Path) -> None:
    path = csv_file(tmp_path, '\ufeffp,note\r\n0.5,"two\nlines, one comma"\r\n1,x\r\n')
    table = read_table(path)
    assert table.column_names == ["p", "note"]
    assert table["note"].to_pylist() == ["two\nlines, one comma", "x"]


def test_csv_does_not_parse_unwanted_columns(tmp_path: Path) -> None:
    path = csv_file(tmp_path, b"p,name\n0.5,\xff\xfe\n")
    assert read_table(path, ["p"])["p"].to_pylist() == [0.5]
    for texts in ((), ["name"]):
        refuses(r"cannot read .*: .*invalid UTF8 data; save the file as UTF-8", read_table, path, text_columns=texts)


def test_arrow_stream(tmp_path: Path) -> None:
    path = tmp_path / "s.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert read_table(path, ["sex", "p"]).equals(TABLE.select(["sex", "p"]))


def test_feather(tmp_path: Path) -> None:
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "t.feather"))
    assert read_table(tmp_path / "t.feather").equals(TABLE)


class Name(str):
    """A column's name that counts how often any is compared with another."""

    __slots__ = ()
    compared: ClassVar[list[int]] = [0]
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        self.compared[0] += 1
        return str.__eq__(self, other)


def test_many_columns_cost_no_more_each_than_a_few() -> None:
    """Names are looked up, not compared with all others."""
    names = [Name(f"c{i}") for i in range(1000)]
    assert _pick(Path("t.csv"), None, names) == names
    assert Name.compared[0] <= 5 * len(names)


class Counted:
    """A table that counts the columns of all tables made of it."""

    def __init__(self, table: pa.Table, made: list[int]) -> None:
        self.table, self.made = table, made

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.table, name)
        return (lambda *given: self.follow(found(*given))) if callable(found) else found

    def follow(self, found: Any) -> Any:
        if not isinstance(found, pa.Table):
            return found
        self.made.append(found.num_columns)
        return Counted(found, self.made)


def test_writing_many_columns_of_categories_makes_no_table_for_each() -> None:
    count, made, sink = 300, [], io.BytesIO()
    table = pa.table({f"c{i}": pa.array(["x", None]).dictionary_encode() for i in range(count)})
    _write_csv_rows(Counted(table, made), sink, ",")
    assert sink.getvalue().decode().splitlines() == [",".join(["x"] * count), "," * (count - 1)]
    assert sum(made) <= 2 * count


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_missing_column(tmp_path: Path, suffix: str) -> None:
    write_table(TABLE, tmp_path / f"t{suffix}")
    with pytest.raises(DataError, match=r"^no column 'sexe'; columns: 'p', 'sex', 'y'\. Did you mean 'sex'\?$"):
        read_table(tmp_path / f"t{suffix}", ["p", "sexe"])


def test_columns_separated_by_semicolons(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"columns: 'p;y'\. The columns seem not to be separated by commas: save"):
        read_table(csv_file(tmp_path, "p;y\n1;2\n"), ["p"])


def test_missing_text_column(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^no column 'zzz'; columns: 'p', 'y'\.$"):
        read_table(csv_file(tmp_path, "p,y\n1,2\n"), text_columns=["zzz"])


def test_double_columns(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "p,q,q\n1,2,3\n")
    assert read_table(path, ["p"])["p"].to_pylist() == [1]
    refuses("has 2 columns 'q'; rename them apart", read_table, path, ["p", "q"])
    write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.ipc")
    refuses("has 2 columns 'a'; rename them apart", read_table, tmp_path / "t.ipc")


def test_bad_sources(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="must be a file, but it is a folder; name a file in it: this takes one file"):
        read_table(tmp_path / "folder.csv")
    refuses("must be a file, but it is a folder", read_table, tmp_path)
    refuses("there is no file", read_table, tmp_path / "nope")
    refuses(r"there is no file '.*no.csv'; check the path", read_table, tmp_path / "no.csv")
    with pytest.raises(DataError, match=r"must end in one of \.csv, .*, got '.*d\.xlsx'; save it as CSV"):
        read_table(csv_file(tmp_path, "x", "d.xlsx"))
    for suffix in TABLE_SUFFIXES:
        (tmp_path / f"e{suffix}").touch()
        refuses("must hold a table, but it is empty", read_table, tmp_path / f"e{suffix}")


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_csv_without_header(tmp_path: Path, content: str) -> None:
    refuses("must hold a header line, but it is empty", read_table, csv_file(tmp_path, content, "d.csv.gz"))


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_no_rows(tmp_path: Path, suffix: str) -> None:
    write_table(TABLE.slice(0, 0), tmp_path / f"t{suffix}")
    refuses("must hold at least one row of data, got none", read_table, tmp_path / f"t{suffix}")


def test_header_without_newline(tmp_path: Path) -> None:
    refuses("must hold at least one row of data, got none", read_table, csv_file(tmp_path, "p,y"), ["p"])


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
    refuses(r"cannot read|header of .* must be UTF-8 text; save the file as UTF-8", read_table, tmp_path / name)


def test_ragged_csv(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read '.*': CSV parse error: .*Expected 2 columns, got 3"):
        read_table(csv_file(tmp_path, "p,y\n1,2\n1,2,3\n"))


@pytest.mark.parametrize("ends", ["well", "badly", "early", "torn"])
def test_no_thread_has_a_csv_file_after_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    """However that ends: a thread that lets go of an object of Python's while Python shuts down aborts the process."""
    begun: list[int] = []
    done: list[int] = []

    class Slow(reading._Lines):
        def read(self, size: int) -> bytes:
            begun.append(size)
            if len(begun) > 2:
                time.sleep(0.1)  # who reads ahead is still at it when the first rows are refused, or are enough
            data = super().read(size)
            done.append(size)
            return data

    lent: list[list[weakref.ref[object]]] = []  # the file, and all bytes of it
    make = reading._Source

    def kept_in_mind(lines: Any) -> Any:
        source = make(lines)
        lent.append(source.lent)
        return source

    monkeypatch.setattr(reading, "_Lines", Slow)
    monkeypatch.setattr(reading, "_Source", kept_in_mind)
    monkeypatch.setattr(reading, "CSV_BLOCK", 1 << 10)
    text = "p,q\n" + ("1,2,3\n" if ends == "badly" else "") + "1,2\n" * 2000
    path = csv_file(tmp_path, text, "d.csv.gz" if ends == "torn" else "d.csv")
    if ends == "torn":
        path.write_bytes(path.read_bytes() + b"no gzip")
        monkeypatch.setattr(reading, "_csv_header", lambda path: (["p", "q"], True))  # it reads to the end
    batches = read_batches(find_parts(path))
    if ends == "badly":
        refuses("cannot read", next, batches)
    elif ends == "early":
        next(batches)
        batches.close()  # type: ignore[attr-defined]
    elif ends == "torn":
        refuses(r"cannot read .* check that the file is whole", list, batches)
    else:
        assert sum(batch.rows.num_rows for batch in batches) == 2000
    assert len(lent) == 1 and len(lent[0]) > 2
    assert [each() for each in lent[0]] == [None] * len(lent[0])
    assert len(begun) - len(done) == (ends == "torn")


def test_dictionary_columns_become_text_in_csv(tmp_path: Path) -> None:
    write_table(pa.table({"g": pa.array(["a", "b", "a"]).dictionary_encode()}), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv")["g"].to_pylist() == ["a", "b", "a"]


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_dictionary_columns_stay_such_elsewhere(tmp_path: Path, suffix: str) -> None:
    """Also where chunks have dictionaries of their own."""
    chunks = [pa.array(values).dictionary_encode() for values in (["a", "b"], ["b", "c"])]
    write_table(pa.table({"g": pa.chunked_array(chunks)}), tmp_path / f"t{suffix}")
    column = read_table(tmp_path / f"t{suffix}")["g"]
    assert pa.types.is_dictionary(column.type) and column.to_pylist() == ["a", "b", "b", "c"]


def test_equal_tables_give_equal_gz_bytes(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(TABLE, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "old")
    refuses(r"cannot write '.*d.csv': .*; nothing was changed", write_table, pa.table({"nested": [[1], [2]]}), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert names_in(tmp_path) == ["d.csv"]


def test_interrupted_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv_file(tmp_path, "old", "m.json")

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text_atomic(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
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


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_only_the_owner_reads_a_private_file(tmp_path: Path) -> None:
    old = csv_file(tmp_path, "old", "old.sql")
    old.chmod(0o644)
    for path in (old, tmp_path / "new.sql"):
        write_text_atomic(path, "secret", private=True)
        assert path.read_text(encoding="utf-8") == "secret" and path.stat().st_mode & 0o777 == 0o600


def write_three(folder: Path) -> None:
    with written_together() as begin:
        for name in ("a", "b", "c"):
            with begin(folder / name) as sink:
                sink.write(b"new")


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_a_rename_that_fails_says_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int) -> None:
    plain, calls = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) > fails:
            raise OSError(5, "Input/output error")
        return plain(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(DataError, match=r"cannot write .*: Input/output error") as caught:
        write_three(tmp_path)
    written = names_in(tmp_path)
    assert len(written) == fails
    assert ("nothing was changed" in str(caught.value)) == (fails == 0)
    said = str(caught.value).partition("only these files were written: ")[2]
    assert all(f"'{tmp_path / name}'" in said for name in written)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    """Also one that looks like ours and was left behind by a process that was killed: who knows whose it is."""
    other = tmp_path / ".m.json.0123abcd.tmp"
    other.write_text("of another process")
    os.utime(other, (0, 0))
    write_text_atomic(tmp_path / "m.json", "new")
    assert names_in(tmp_path) == [other.name, "m.json"]


def test_check_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_writable(tmp_path / "t.csv")
    check_writable(tmp_path / "m.json", (".json",))
    check_writable(tmp_path / "anything", None)
    assert names_in(tmp_path) == []
    refuses(r"must end in one of .json, got '.*m.csv'; rename it", check_writable, tmp_path / "m.csv", (".json",))
    refuses(r"there is no folder '.*nowhere'; create it first", check_writable, tmp_path / "nowhere" / "t.csv")
    refuses(r"there is no folder '.*nowhere'; create it first", write_table, TABLE, tmp_path / "nowhere" / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    refuses("is there already and is not a plain file; name another", check_writable, tmp_path / "folder.csv")
    monkeypatch.setattr(os, "access", lambda *_: False)
    refuses(r"no permission to write in '.*'; name another folder", check_writable, tmp_path / "t.csv")


# ---- text that must come back as it was ----------------------------------------------------------------------

MESSY = """\
id,zip,day,na,note,"a ""name"", quoted"
1,01234,2020-01-31,NA,"say ""hi"", all",x
,00000,1/2/2020,,,
0010,1e3,2020-01-31T00:00:00Z,null,"two
lines",NaN
 7 ,+5,true,N/A,'single', lead and trail
"""
FIELDS = st.text(st.sampled_from("aé👩 ,\"\t\r\n'01.-NA"), max_size=6)


def csv_bytes(rows: list[list[str]], delimiter: str) -> bytes:
    """CSV with quotes around those fields alone that need them."""

    def field(text: str) -> str:
        quoted = '"' + text.replace('"', '""') + '"'
        return quoted if set(text) & {'"', "\r", "\n", delimiter} else text

    return "".join(delimiter.join(map(field, row)) + "\n" for row in rows).encode()


def reads_like_two_rows(text: str, delimiter: str) -> bool:
    """Whether a field of several lines in quotes reads like two rows with a lone quote each, as ``,",`` has it."""
    ends = {text[:1], text[-1:]}
    return bool({"\r", "\n"} & set(text)) and ends <= {delimiter, "\r", "\n"} and delimiter in ends


def test_all_columns_as_text(tmp_path: Path) -> None:
    table = read_table(csv_file(tmp_path, "a,b,c\n01,2020-01-31,true\n1.50,NA,\n"), text_columns=None)
    assert {str(field.type) for field in table.schema} == {"string"}
    assert table.to_pydict() == {"a": ["01", "1.50"], "b": ["2020-01-31", "NA"], "c": ["true", None]}


def test_some_columns_as_text(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a,b\n01,02\n")
    assert read_table(path, ["b"], text_columns=None).to_pydict() == {"b": ["02"]}
    assert read_table(path, text_columns=["b"]).to_pydict() == {"a": [1], "b": ["02"]}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_text_columns_leave_the_types_of_other_formats(tmp_path: Path, suffix: str) -> None:
    write_table(TABLE, tmp_path / f"t{suffix}")
    assert read_table(tmp_path / f"t{suffix}", text_columns=None).equals(TABLE)


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz"])
def test_csv_comes_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    write_table(read_table(csv_file(tmp_path, MESSY, name), text_columns=None), tmp_path / f"out_{name}")
    data = (tmp_path / f"out_{name}").read_bytes()
    assert (gzip.decompress(data) if name.endswith(".gz") else data).decode() == MESSY


@given(
    st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=5),
    st.lists(FIELDS.filter(bool), min_size=2, max_size=2, unique=True),
    st.sampled_from([".csv", ".tsv"]),
)
def test_any_text_comes_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], names: list[str], suffix: str
) -> None:
    folder = tmp_path_factory.mktemp("c")
    assume(not any(reads_like_two_rows(text, "," if suffix == ".csv" else "\t") for row in rows for text in row))
    data = csv_bytes(
        [["n", *names], *([str(i), *row] for i, row in enumerate(rows))], "," if suffix == ".csv" else "\t"
    )
    table = read_table(csv_file(folder, data, f"d{suffix}"), text_columns=None)
    assert table.column_names == ["n", *names]
    assert list(zip(*(table[name].to_pylist() for name in names), strict=True)) == [
        (first or None, second or None) for first, second in rows
    ]
    write_table(table, folder / f"out{suffix}")
    assert (folder / f"out{suffix}").read_bytes() == data


def test_quotes_stand_only_where_they_are_needed(tmp_path: Path) -> None:
    day = pa.array([0, 1], pa.date32())
    kinds = pa.array(["a,b", "c"]).dictionary_encode()
    large = pa.array(['"', None], pa.large_string())
    table = pa.table({"p": [0.1, 1e-300], "n": [1, None], "b": [True, False], "d": day, "k": kinds, "l": large})
    write_table(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines() == [
        "p,n,b,d,k,l",
        '0.1,1,true,1970-01-01,"a,b",""""',
        "1e-300,,false,1970-01-02,c,",
    ]


def test_numbers_read_the_same_with_and_without_quotes_beside_them(tmp_path: Path) -> None:
    values = pa.array([0.1, 1 / 3, 1e-300, -0.0, 5e-324, 1e16, 123456789.0, float("inf")])
    for name, text in (("plain", "x"), ("quoted", "x,y")):
        write_table(pa.table({"p": values, "t": [text] * len(values)}), tmp_path / f"{name}.csv")
    plain, quoted = (
        [line.partition(",")[0] for line in (tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()]
        for name in ("plain", "quoted")
    )
    assert plain == quoted
    assert [float(text) for text in plain[1:]] == values.to_pylist()


@pytest.mark.parametrize("text", ["a,b", 'a"b', "a\nb", "a\rb"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_needs_quotes(text: str, kind: pa.DataType) -> None:
    assert _needs_quotes(pa.table({"n": [1, 2], "t": pa.array(["plain", text], kind)}), ",")
    assert _needs_quotes(pa.table({"n": [1, 2], text: [None, "x"]}), ",")


def test_needs_no_quotes() -> None:
    table = pa.table({"n": [1.5, None], "t": ["it's; a\ttab |", None], "e": pa.array([None, None], pa.string())})
    assert not _needs_quotes(table, ",")
    assert _needs_quotes(table, "\t")
    assert not _needs_quotes(pa.table({"t": ["a,b"]}), "\t")


def test_table_suffix() -> None:
    found = [table_suffix(Path(f"d{suffix}")) for suffix in TABLE_SUFFIXES]
    assert [suffix for suffix in found if FORMATS[suffix] == "csv"] == [".csv", ".csv.gz", ".tsv", ".tsv.gz"]
    refuses("the file name must end in one of", table_suffix, Path("d.xlsx"))


# ---- quotes that would hide rows ------------------------------------------------------------------------------


def parsed(text: str) -> tuple[int, list[tuple[int, int]], bool]:
    """Letter by letter: number of records, the quoted fields (where they open and close), whether one stays open."""
    records, fields, inside, start, line, place = 0, [], -1, True, "", 0
    while place < len(text):
        letter = text[place]
        if inside >= 0:
            if letter == '"' and text[place + 1 : place + 2] == '"':
                place += 1
            elif letter == '"':
                fields.append((inside, place))
                inside, start = -1, False
        elif letter == '"' and start:
            inside = place
        else:
            start = letter in ",\r\n"
            records += letter in "\r\n" and line != ""
        line = "" if inside < 0 and letter in "\r\n" else line + letter
        place += 1
    return records + (line != ""), fields, inside >= 0


@given(st.text('"",x\r\n', max_size=30), st.lists(st.integers(1, 8), min_size=1))
def test_quoted_fields_are_found_whatever_the_blocks(text: str, sizes: list[int]) -> None:
    blocks, data = [], text.encode()
    for size in itertools.cycle(sizes):
        if not data:
            break
        blocks, data = [*blocks, data[:size]], data[size:]
    found: list[int] = []
    done, left = -1, False
    for stretch, opens, closes, ends in _quoted_fields(blocks, ","):
        assert all(bytes(stretch[begin:end]) == b'"' * (end - begin) for begin, end in zip(closes, ends, strict=True))
        found += [done + end - 1 for end in ends.tolist()]
        done, left = done + len(stretch) - 1, len(opens) > len(closes)
    _, fields, open_ = parsed(text)
    assert left == open_
    assert found == [end for begin, end in fields if set(text[begin : end + 1]) != {'"'}]  # those cannot hide rows


@given(st.text('"x\r\n', max_size=30), st.sampled_from([".csv", ".tsv.gz"]))
def test_rows_are_all_there_or_a_quote_is_named(
    tmp_path_factory: pytest.TempPathFactory, text: str, suffix: str
) -> None:
    text = "a\nrow\n" + text
    records, fields, open_ = parsed(text)
    hidden = [
        (i, j) for i, j in fields if {"\r", "\n"} & set(text[i:j]) and text[j + 1 : j + 2] not in ("", "\r", "\n")
    ]
    path = csv_file(tmp_path_factory.mktemp("q"), text, f"d{suffix}")
    if not hidden and not open_:
        assert len(read_table(path)) == records - 1
        return
    first = min([i for i, _ in hidden] + ([text.rindex('"')] if open_ and not hidden else []))
    row = parsed(text[:first])[0] + (text[first - 1] in "\r\n") - 1
    with pytest.raises(DataError, match="a quote that opens a field must be closed where the field ends") as caught:
        read_table(path)
    if hidden:
        assert f"one in row {row} (counted from 1, without the header) of '{path}' is not" in str(caught.value)


STRAY = {
    "unclosed": (1000, '"open', {}),
    "closed by the next quoted field": (1000, '"open', {1500: '"some, text"'}),
    "closed by another stray one": (1000, '"', {1500: '"'}),
    "in the last column of the last row": (2000, '"cut', {}),
}


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz"])
@pytest.mark.parametrize("case", list(STRAY))
def test_a_stray_quote_is_named_with_its_row(tmp_path: Path, case: str, name: str) -> None:
    row, field, more = STRAY[case]
    notes = {7: '"two\nlines, ""quoted"""', 12: '5" wide', 13: '"Ace" Smith', 14: '""', 15: '"\nlist\n"'}

    def table(strays: dict[int, str]) -> Path:
        rows = [f"{i / 2000},{i % 2},{(notes | strays).get(i, 'x')}" for i in range(1, 2001)]
        return csv_file(tmp_path, "p,y,note\n" + "\n".join(rows), name)

    assert len(read_table(table({}), ["p"])) == 2000
    path = table({row: field, **more})
    for read in (lambda: read_table(path, ["p", "y"]), lambda: list(read_batches(find_parts(path), ["p", "y"]))):
        refuses(rf"one in row {row} \(counted from 1, without the header\) of '{path}' is", read)


# ---- numbers and ids in columns of text ----------------------------------------------------------------------


def texts(*values: str | None) -> pa.ChunkedArray:
    """A column in two chunks."""
    half = len(values) // 2
    return pa.chunked_array([pa.array(values[:half], pa.string()), pa.array(values[half:], pa.string())])


@given(st.lists(st.none() | st.floats(allow_nan=False), min_size=1))
def test_numbers_from_text(values: list[float | None]) -> None:
    column = texts(*(None if value is None else repr(value) for value in values))
    assert numbers_from_text(column, "p").to_pylist() == values


def test_numbers_from_text_trims_and_leaves_numbers_alone() -> None:
    assert numbers_from_text(texts(" 0.5", "1e-3 ", "7"), "p").to_pylist() == [0.5, 0.001, 7.0]
    assert numbers_from_text(pa.chunked_array([pa.array(["0.5"], pa.large_string())]), "p").to_pylist() == [0.5]
    numbers = TABLE["y"]
    assert numbers_from_text(numbers, "y") is numbers


@pytest.mark.parametrize(
    "word", ["abc", "0,5", "1_000", "0.5.5", "NA", "٣", "0x10", "50%", " ", "1e", "--1", "0.5\u00a0"]
)
@pytest.mark.parametrize("row", [1, 2, 5])
def test_the_first_text_that_is_no_number_is_named(word: str, row: int) -> None:
    values = ["0.1", None, "3", "4", "5"]
    values[row - 1] = word
    with pytest.raises(DataError) as caught:
        numbers_from_text(texts(*values, "also bad"), "p")
    assert str(caught.value).startswith(
        f"column 'p' must hold numbers; row {row} (counted from 1, without the header) holds {word!r}."
    )
    assert caught.value.__suppress_context__


@given(st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1))
def test_whole_ids_become_integers(values: list[int]) -> None:
    found = ids_from_text(texts(*map(str, values)))
    assert (found if isinstance(found, list) else found.to_pylist()) == values


def test_short_whole_ids_stay_in_arrow() -> None:
    assert ids_from_text(texts("1", "0", "-5", "9" * 18)).type == pa.int64()


@pytest.mark.parametrize(
    "word",
    [
        "007",
        "-0",
        "+1",
        "1.5",
        "1.",
        ".0",
        "1.0x",
        "v1.0",
        "1e3",
        " 1",
        "a",
        "1\n",
        "9" * 20,
        str(2**64),
        "-" + "9" * 19,
    ],
)
def test_what_is_no_whole_64_bit_number_stays_text(word: str) -> None:
    column = texts(word, "x")
    found = ids_from_text(column)
    assert (found if isinstance(found, list) else found.to_pylist()) == [word, "x"]
    assert ids_from_text(texts("12", word, "-3", str(2**63))) == [12, word, -3, 2**63]


@pytest.mark.parametrize("word", ["1.0", "0.0", "-7.00", "007.0", "9" * 30 + ".0"])
def test_ids_that_read_like_floats_are_refused(word: str) -> None:
    """Whatever the other ids are: some reader made floats of them, most likely because one was missing."""
    with pytest.raises(DataError) as caught:
        ids_from_text(texts("x", None, "12", word, "2.0"))
    assert str(caught.value) == (
        f"ids must be whole numbers or text, but 2 of 5 read like floats; the first is {word!r} in row 4 (counted from "
        "1, without the header). A float id column usually is an integer column with missing values: fill or drop "
        "those rows and write the ids without '.0'."
    )


def test_missing_ids_stay_missing() -> None:
    assert ids_from_text(texts("1", None, "x")) == [1, None, "x"]
    assert ids_from_text(texts("1", None)).to_pylist() == [1, None]
    assert ids_from_text(texts(None, None)).to_pylist() == [None, None]


def test_ids_with_types_are_left_alone() -> None:
    numbers = TABLE["y"]
    assert ids_from_text(numbers) is numbers
