"""The folder for regulators: its figures by other means, every file by its schema or format, and all or nothing."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_cli import Run, run

from fairroc import write_pack
from fairroc.report import pack as module
from fitted_people import FairROC
from refusals import refuses

__all__ = ["run"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

SCHEMA = json.loads((Path(module.__file__).parent / "pack.schema.json").read_text(encoding="utf-8"))
FILES = {
    *("README.md", "bias-audit.md", "bias-audit.csv", "four-fifths.md", "four-fifths.csv", "eu-ai-act.md"),
    *("pack.json", "pack.schema.json", "manifest.json"),
}
WILD = [
    "=1+1",
    "a|b",
    "<b>x</b> & &lt;",
    'say "hi", *you* _and_ `me`',
    "two\nlines",
    "[x](http://y)",
    "@me",
    "-5",
    "{{ 7 * 7 }}",
]


def people(rows: int = 700, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["F", "M"], rows), rng.choice(["x", "y", "z"], rows, p=[0.7, 0.29, 0.01])
    y = rng.random(rows) < 0.4
    p = (1 / (1 + np.exp(-(rng.normal(size=rows) + 1.5 * y - 0.8 * (sex == "F"))))).round(3)
    return pd.DataFrame({"p": p, "y": y.astype(int), "sex": sex, "race": race, "w": 1 + np.arange(rows) % 3})


PEOPLE = people()


def made(folder: Path, data: pd.DataFrame = PEOPLE, **how: Any) -> tuple[Any, dict[str, Any]]:
    """A pack, and its pack.json, which is what the schema declares."""
    how = {"sensitive_features": data["sex"], "categories": data[["sex", "race"]], "bootstrap": 0} | how
    told = write_pack(folder, data["p"], data["y"], **how)
    return told, read(folder)


def read(folder: Path, without: Collection[str] = ()) -> dict[str, Any]:
    assert {path.name for path in folder.iterdir()} == FILES - {*without}
    found = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
    schema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema.Draft202012Validator.check_schema(SCHEMA)
    schema.Draft202012Validator(SCHEMA).validate(found)
    assert set(found) == set(SCHEMA["properties"])
    return dict(found)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("packs") / "pack"
    _, found = made(folder, epsilon=0.05, promise="fitted", draw="all", threshold=0.6)
    return folder, found


def tables_in(text: str) -> list[list[list[str]]]:
    """Cells of all tables of a document as a reader sees them; every row has as many as its head."""
    found: list[list[list[str]]] = []
    lines = text.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found += [] if before.startswith("|") else [[]]
            found[-1].append([re.sub(r"\\(.)", r"\1", cell) for cell in cells])
    for table in found:
        assert len({len(row) for row in table}) == 1 and set("".join(table[1])) <= set("-:"), table[:2]
    return found


# ---- figures -------------------------------------------------------------------------------------------------


def test_tables_are_those_of_counts_and_of_the_fair_score(fitted: tuple[Path, dict[str, Any]]) -> None:
    found = fitted[1]
    post = FairROC(epsilon=0.05, draw="all").fit(PEOPLE["p"], PEOPLE["y"], sensitive_features=PEOPLE["sex"])

    def fair(threshold: float) -> Any:
        return post.acceptance_rate(PEOPLE["p"], sensitive_features=PEOPLE["sex"], threshold=threshold)

    median, middle = found["medians"]["original"], found["medians"]["fair"]
    assert median == np.median(PEOPLE["p"])
    assert fair(np.nextafter(middle, np.inf)).mean() <= 0.5 + 1e-9 <= fair(middle).mean() + 2e-9
    chances = {
        ("original", "scoring_rate"): (PEOPLE["p"] > median).astype(float),
        ("original", "selection_rate"): (PEOPLE["p"] >= 0.6).astype(float),
        ("fair", "scoring_rate"): pd.Series(fair(np.nextafter(middle, np.inf))),
        ("fair", "selection_rate"): pd.Series(fair(0.6)),
    }
    kinds = [(tuple(t["by"]), t["score"], t["measure"]) for t in found["tables"]]
    assert len(set(kinds)) == len(kinds) == 12
    for table in found["tables"]:
        chance = chances[table["score"], table["measure"]]
        rates = chance.groupby([PEOPLE[name] for name in table["by"]]).mean()
        shares = PEOPLE.groupby(table["by"]).size() / len(PEOPLE)
        most = rates[shares >= 0.02].max()
        for each in table["categories"]:
            key = tuple(each["category"].split(" & ")) if len(table["by"]) == 2 else each["category"]
            assert each["rate"] == pytest.approx(rates[key], abs=1e-9)
            small = shares[key] < 0.02
            assert each["ratio"] == (None if small else pytest.approx(rates[key] / most)) and each["excluded"] == small
            assert (each["fisher"] is None) == (
                small or table["score"] == "fair" or each["category"] == table["highest"]
            )
    certificate = post.certificate_
    assert found["fair"]["gap"] == pytest.approx(certificate.gap, abs=1e-9)
    assert found["fair"]["auc"] == pytest.approx(certificate.auc, abs=1e-9)
    assert [g["auc"] for g in found["fair"]["groups"]] == pytest.approx([g.auc for g in certificate.groups], abs=1e-9)
    assert found["original"]["gap"] == pytest.approx(certificate.gap_before, abs=1e-9)


def test_csv_holds_the_figures_of_json(fitted: tuple[Path, dict[str, Any]]) -> None:
    folder, found = fitted
    for name, measures in (("bias-audit.csv", 2), ("four-fifths.csv", 1)):
        rows = list(csv.DictReader((folder / name).read_text(encoding="utf-8").splitlines()))
        wanted = [t for t in found["tables"] if measures == 2 or t["measure"] == "selection_rate"]
        flat = [(t, each) for t in wanted for each in t["categories"]]
        assert len(rows) == len(flat)
        for row, (table, each) in zip(rows, flat, strict=True):
            assert (row["by"], row["category"]) == (" & ".join(table["by"]), each["category"])
            assert float(row["threshold"]) == table["threshold"] and int(row["rows"]) == each["rows"]
            assert row["ratio"] == ("" if each["ratio"] is None else repr(each["ratio"]))
        fields = [[*SCHEMA["$defs"][part]["properties"]] for part in ("table", "category")]
        assert [*rows[0]] == [name for part in fields for name in part if name != "categories"]


def test_documents_show_the_figures_and_say_what_they_are_not(fitted: tuple[Path, dict[str, Any]]) -> None:
    folder, found = fitted
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    for text in texts.values():
        assert "**What this is, and what it is not.**" in text and "legal advice" in text
        assert "None" not in text.replace("None of it is legal", "") and "\\*\\*" not in text
    assert all("[to be filled in: " in texts[name] for name in ("README.md", "bias-audit.md", "eu-ai-act.md"))
    shown = [cells for part in tables_in(texts["bias-audit.md"]) for cells in part]
    for table in found["tables"]:
        for each in table["categories"] if table["score"] == "original" else ():
            ratio = "excluded" if each["excluded"] else f"{each['ratio']:.3f}"
            cells = [each["category"], f"{each['rows']:,}", f"{each['share']:.1%}", f"{each['rate']:.1%}", ratio]
            assert cells in [[cell.strip("*") for cell in row[:5]] for row in shown], cells
    excluded = next(e for t in found["tables"] for e in t["categories"] if e["category"] == "z")
    assert f"| z | {excluded['rows']} |" in texts["bias-audit.md"]
    assert "each with less than 2% of the data: z." in texts["bias-audit.md"]
    for section in ("5-300", "5-301(c)", "5-301(d)", "5-303"):
        assert section in texts["bias-audit.md"]
    assert "1607.4 D" in texts["four-fifths.md"] and "430 U.S. 482" in texts["four-fifths.md"]
    assert "RIN 3046-AB43" in texts["four-fifths.md"] and "Article 4a" in texts["eu-ai-act.md"]
    heads = re.findall(r"^## (\d)\. ", texts["eu-ai-act.md"], re.M)
    assert heads == list("123456789")
    assert all(f"2({letter})" in texts["eu-ai-act.md"] for letter in "abcdefgh")
    assert all(f"1({letter})" in texts["eu-ai-act.md"] for letter in "abcdefg")
    assert all(f"(Article {number})" in texts["eu-ai-act.md"] for number in (9, "10(3)", 14, "15(4)", "15(5)", 47, 72))
    for block in (part for text in texts.values() for part in text.split("\n\n")):
        assert "\n**" not in block, block  # a bold opening begins a paragraph of its own


def test_a_model_card_of_hugging_face(fitted: tuple[Path, dict[str, Any]]) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    folder, found = fitted
    _, head, body = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(head)
    assert card["license"] == "other" and card["license_name"] and "fairness" in card["tags"]
    ((index),) = card["model-index"]
    (result,) = index["results"]
    assert result["task"]["type"] == "tabular-classification" and result["dataset"].keys() == {"type", "name"}
    values = {metric["name"]: metric["value"] for metric in result["metrics"]}
    assert values["AUC, original score"] == found["original"]["auc"]
    assert values["AUC, fair score (expected over its draw)"] == found["fair"]["auc"]
    assert values["largest gap, fair score, expected of new people"] == found["new_people"]["gap_estimate"]
    for part in (
        "## Model details",
        "## Uses",
        "## Data",
        "## Results",
        "## Bias, risks and limits",
        "## How to use it",
    ):
        assert part in body
    assert tables_in(body)


def test_names_are_escaped_everywhere(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    data = people(900)
    names = np.array(WILD, dtype=object)[np.arange(900) % len(WILD)]
    how = {
        "sensitive_features": names,
        "categories": {"=sex|<i>": names, "race": data["race"]},
        "title": "# <x> | **y**\n---",
    }
    _, found = made(tmp_path / "pack", data, **how)
    assert {each["category"] for each in found["tables"][0]["categories"]} == set(WILD)
    for path in (tmp_path / "pack").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        body = text.split("\n---\n", 1)[1] if path.name == "README.md" else text
        tables_in(body)
        plain = re.sub(r"^(`{3,}).*?^\1$", "", body, flags=re.M | re.S)  # code blocks show what they hold
        assert "<b>" not in plain and "<x>" not in plain and "&lt;b&gt;x&lt;/b&gt; & &amp;lt;" in plain
        assert "{{ 7 \\* 7 }}" in plain and "\n---\n" not in plain
        assert "\\[x\\](http://y)" in plain and "\\*you\\* \\_and\\_ \\`me\\`" in plain
    card = yaml.safe_load((tmp_path / "pack" / "README.md").read_text(encoding="utf-8").split("---\n", 2)[1])
    assert card["model-index"][0]["name"] == "# <x> | **y** ---"
    for path in (tmp_path / "pack").glob("*.csv"):
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
        assert {len(row) for row in rows} == {20}
        cells = {row[8] for row in rows[1:]}
        assert {"'=1+1", "'@me", "'-5", "a|b", "two\nlines", 'say "hi", *you* _and_ `me`'} <= cells
        assert not [cell for row in rows for cell in row if cell[:1] in "=+@" and cell]


def test_unknown_people_weights_and_several_thresholds(tmp_path: Path) -> None:
    data = people()
    data.loc[::10, "race"], data.loc[5::50, "sex"] = "n/a", None
    how = {"unknown": ["n/a"], "sample_weight": data["w"], "missing": "group", "sensitive_features": data["race"]}
    _, found = made(tmp_path / "pack", data, exclude_below=0, **how)
    assert found["weighted"] and found["model"] is None and found["fair"] is None and not found["decided"]
    cuts = sorted({t["threshold"] for t in found["tables"] if t["measure"] == "selection_rate"}, reverse=True)
    assert len(cuts) == 3
    for share, cut in zip((0.1, 0.25, 0.5), cuts, strict=True):
        assert (
            data["w"][data["p"] >= cut].sum() <= share * data["w"].sum() < data["w"][data["p"] >= cut - 1e-9].sum() + 20
        )
    by = {tuple(t["by"]): t for t in found["tables"]}
    lost = {"sex": data["sex"].isna(), "race": data["race"] == "n/a"}
    assert by["sex",]["unknown_rows"] == lost["sex"].sum() == 14
    assert by["sex", "race"]["unknown_rows"] == (lost["sex"] | lost["race"]).sum()
    assert by["race",]["unknown_share"] == pytest.approx(data["w"][lost["race"]].sum() / data["w"].sum())
    text = (tmp_path / "pack" / "four-fifths.md").read_text(encoding="utf-8")
    assert "14 of unknown category" in text and "Rows here are weighted" in text and "At some thresholds" in text
    assert "No threshold was chosen" in (tmp_path / "pack" / "bias-audit.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "how",
    [
        {"constraint": "demographic_parity", "ratio": 0.8, "promise": "new"},
        {"constraint": "equal_opportunity", "epsilon": 0.1, "draw": "never", "selection_rate": 0.3},
        {"epsilon": {"fpr": 0.2, "tpr": 0.1}, "norm": "inf"},
        {"epsilon": 2.0},
    ],
    ids=str,
)
def test_every_kind_of_fair_score(tmp_path: Path, how: dict[str, Any]) -> None:
    told, found = made(tmp_path / "pack", **how)
    assert found["fair"]["gap"] == pytest.approx(found["certificate"]["gap"], abs=1e-9)
    assert found["original"]["gap"] == pytest.approx(found["certificate"]["gap_before"], abs=1e-9)
    if told.model.unchanged:
        pairs = [*told.side_by_side("scoring_rate"), *told.side_by_side("selection_rate")]
        for one, two in pairs:
            assert [each.rate for each in one.categories] == [each.rate for each in two.categories]
    text = (tmp_path / "pack" / "bias-audit.md").read_text(encoding="utf-8")
    assert ("expected over its draw" in text) == (not found["model"]["draws_nobody"])
    assert "Pack 'Scores and groups'" in str(told)


# ---- doors ---------------------------------------------------------------------------------------------------


def test_command(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    PEOPLE.assign(race=PEOPLE["race"].replace("z", "")).to_csv("people.csv", index=False)
    roles = ("report", "people.csv", "--score", "p", "--label", "y", "--group", "sex", "--bootstrap", "0")
    asked = ("--epsilon", "0.05", "--promise", "fitted", "--draw", "all")
    both = ("--category", "sex", "--category", "ethnicity=race", "--selection-rate", "0.2")
    ran = run(*roles, *both, *asked, "--pack", "first", "--format", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["pack"] == "first" and "output" not in json.loads(ran.out)
    first = read(tmp_path / "first")
    assert first["categories"] == ["sex", "ethnicity"] and first["source"]["data"] == "people.csv"
    assert first["tables"][-1]["unknown_rows"] == (PEOPLE["race"] == "z").sum()
    manifest = json.loads(Path("first/manifest.json").read_text(encoding="utf-8"))
    assert manifest["command"].startswith("fairroc report people.csv --score p") == first["command"].startswith(
        "fairroc"
    )
    assert manifest["data"][0]["sha256"] == hashlib.sha256(Path("people.csv").read_bytes()).hexdigest()
    for each in manifest["files"]:
        assert hashlib.sha256(Path("first", each["name"]).read_bytes()).hexdigest() == each["sha256"]
    assert {each["name"] for each in manifest["files"]} == FILES - {"manifest.json"}
    assert run("fit", "people.csv", *roles[2:8], *asked, "-o", "m.json").code == 0
    ran = run(*roles, *both, "--model", "m.json", "--pack", "second")
    assert ran.code == 0 and ran.out.endswith("; pack written to second\n")
    second = read(tmp_path / "second")
    assert second["tables"] == first["tables"] and second["worst"] == first["worst"]
    assert second["fair"] == first["fair"] and second["model"]["given"] and second["certificate"] is None
    known = json.loads(Path("second/manifest.json").read_text(encoding="utf-8"))["data"]
    assert [each["name"] for each in known] == ["people.csv", "m.json"]
    card = Path("second/README.md").read_text(encoding="utf-8")
    assert "Were the people here among them?" in card and "sensitive_features=groups, ids=ids)" in card
    Path("key").write_text("0123456789abcdef0123456789abcdef\n", encoding="utf-8")
    assert run("fit", "people.csv", *roles[2:8], *asked, "--key-file", "key", "-o", "m.json").code == 0
    assert run(*roles, *both, "--model", "m.json", "--pack", "second").code == 0
    assert "sensitive_features=groups, ids=ids, key=key)" in Path("second/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "give -o PAGE, the report to write, or --pack DIR"),
        (("-o", "r.html", "--category", "sex"), "--category goes with --pack DIR"),
        (("-o", "r.html", "--model", "m.json"), "--model goes with --pack DIR"),
        (("--pack", "d", "--json", "r.json"), "--json goes with -o PAGE"),
        (("--pack", "d", "--category", "rase"), "no column 'rase'; columns: .* Did you mean 'race'"),
        (("--pack", "d", "--category", "sex", "--category", "sex"), "must name every column once, got 'sex' twice"),
        (("--pack", "d", "--category", "p"), "categories of 'p' must be 1 to 100, got 1"),
        (("--pack", "d", "--exclude-below", "0.05"), "exclude_below must be between 0 and 0.02, got 0.05"),
        (("--pack", "d", "--threshold", "1", "--selection-rate", "0.1"), "give either threshold or selection_rate"),
        (("--pack", "d", "--label", "z"), "no column 'z'"),
        (("--pack", "no/d"), "there is no folder"),
        (("--pack", "people.csv"), "it is there already and is no folder"),
        (("--pack", "."), "must be a new or an empty folder, but it holds 'people.csv'"),
        (("--pack", "d", "--model", "none.json"), "none.json"),
    ],
)
def test_bad_arguments_leave_nothing(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    PEOPLE[:200].to_csv("people.csv", index=False)
    ran = run("report", "people.csv", "--score", "p", "--label", "y", "--group", "sex", "--bootstrap", "0", *flags)
    assert ran.code == 2 and re.search(words, ran.err), ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_what_does_not_go_together(tmp_path: Path) -> None:
    model = FairROC(epsilon=0.1).fit(PEOPLE["p"], PEOPLE["y"], sensitive_features=PEOPLE["sex"]).model_
    refuses("give either a model or epsilon", made, tmp_path / "a", model=model, epsilon=0.1)
    drop = {"sensitive_features": PEOPLE["race"], "epsilon": 0.3, "small_groups": "drop", "min_class_rows": 10}
    refuses("needs a fair score for everybody", made, tmp_path / "b", **drop)
    refuses("same number of rows", made, tmp_path / "c", categories={"sex": ["a", "b"]})
    assert list(tmp_path.iterdir()) == []


def test_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up leaves no pack, or the old one; nobody's own work is written over."""
    told, _ = made(tmp_path / "pack", threshold=0.5)
    before = {path.name: path.read_bytes() for path in (tmp_path / "pack").iterdir()}
    done = iter(range(3))

    def full(_: int) -> None:
        if next(done, None) is None:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        for name in ("pack", "new"):
            refuses("No space left on device", module.write_folder, tmp_path / name, told)
    assert {path.name: path.read_bytes() for path in (tmp_path / "pack").iterdir()} == before
    assert not (tmp_path / "new").exists()
    module.write_folder(tmp_path / "pack", told)  # again, over itself
    (tmp_path / "pack" / "notes.txt").write_text("mine", encoding="utf-8")
    refuses(r"holds 'notes.txt'", module.write_folder, tmp_path / "pack", told)
    (tmp_path / "pack" / "notes.txt").unlink()
    card = tmp_path / "pack" / "README.md"
    card.write_text(card.read_text(encoding="utf-8").replace("to be filled in: licence", "MIT"), encoding="utf-8")
    refuses(r"README.md' was changed since it was written", module.write_folder, tmp_path / "pack", told)


def test_groups_are_the_categories_by_default(tmp_path: Path) -> None:
    _, found = made(tmp_path / "a", sensitive_features=PEOPLE[["sex", "w"]], categories=None)
    assert found["categories"] == ["sex", "w"]
    _, found = made(tmp_path / "b", sensitive_features=list(PEOPLE["sex"]), categories=None)
    assert found["categories"] == ["group"] and found["tables"][0]["by"] == ["group"]


def test_page_and_pack_together(tmp_path: Path, run: Run) -> None:
    PEOPLE[:150].to_csv(tmp_path / "few.csv", index=False)
    roles = ("--score", "p", "--label", "y", "--group", "sex", "--bootstrap", "0")
    ran = run("report", tmp_path / "few.csv", *roles, "-o", tmp_path / "r.html", "--pack", tmp_path / "pack")
    assert ran.code == 0 and (tmp_path / "r.html").is_file(), ran.err
    assert read(tmp_path / "pack")["categories"] == ["sex"]


@pytest.mark.parametrize("fails", ["inside", "page", "pack"])
def test_page_and_pack_or_neither(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """Whichever of them cannot be written."""
    PEOPLE[:150].to_csv(tmp_path / "few.csv", index=False)
    page, pack = tmp_path / "r.html", tmp_path / "pack"
    if fails == "inside":
        pack.mkdir()
        page = pack / "r.html"
    else:
        name = "fairroc.report.page.page" if fails == "page" else "fairroc.report.pack.documents"

        def full(data: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(name, full)
    before = sorted(tmp_path.rglob("*"))
    roles = ("--score", "p", "--label", "y", "--group", "sex", "--bootstrap", "0")
    ran = run("report", tmp_path / "few.csv", *roles, "-o", page, "--pack", pack)
    words = {"inside": "must hold its own files alone", "page": "No space", "pack": "No space"}[fails]
    assert ran.code == 2 and words in ran.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_pack_of_scores_on_another_scale(tmp_path: Path, run: Run) -> None:
    PEOPLE.assign(p=100 * PEOPLE["p"]).to_csv(tmp_path / "d.csv", index=False)
    post = FairROC(epsilon=0.05).fit(PEOPLE["p"], PEOPLE["y"], sensitive_features=PEOPLE["sex"])
    post.model_.save(tmp_path / "m.json")
    command = ("report", tmp_path / "d.csv", "--score", "p", "--group", "sex", "--model", tmp_path / "m.json")
    run(*command, "--pack", tmp_path / "pack").refused("--allow-out-of-range")
    assert not (tmp_path / "pack").exists()
    assert run(*command, "--pack", tmp_path / "pack", "--allow-out-of-range").code == 0


def test_tables_need_no_labels(tmp_path: Path, run: Run, fitted: tuple[Path, dict[str, Any]]) -> None:
    """As an employer's own data has none."""
    data, cards = PEOPLE.drop(columns="y"), {"README.md", "eu-ai-act.md"}
    data.to_csv(tmp_path / "people.csv", index=False)
    post = FairROC(epsilon=0.05, draw="all").fit(PEOPLE["p"], PEOPLE["y"], sensitive_features=PEOPLE["sex"])
    post.model_.save(tmp_path / "m.json")
    roles = (
        "report",
        tmp_path / "people.csv",
        "--score",
        "p",
        "--group",
        "sex",
        "--category",
        "sex",
        "--category",
        "race",
    )
    ran = run(*roles, "--threshold", "0.6", "--model", tmp_path / "m.json", "--pack", tmp_path / "pack")
    assert ran.code == 0 and ran.out.startswith("impact ratios of 700 rows; pack written to"), ran.err
    found = read(tmp_path / "pack", cards)
    assert found["tables"] == fitted[1]["tables"] and found["worst"] == fitted[1]["worst"]
    assert found["audit"] is None and found["original"] is None and found["source"]["label"] is None
    for flags, words in (
        (("--epsilon", "0.1", "--pack", tmp_path / "a"), "a fair score is fitted to labels, got none"),
        (("--pack", tmp_path / "a", "-o", tmp_path / "r.html"), "give either --label"),
    ):
        run(*roles, *flags).refused(words)
    told = write_pack(tmp_path / "b", data["p"], None, sensitive_features=data["sex"])
    assert told.original is None and read(tmp_path / "b", cards)["medians"].keys() == {"original"}
    assert str(told).startswith("Pack 'Scores and groups': 700 rows") and not (tmp_path / "a").exists()
