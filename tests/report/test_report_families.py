"""The page of a fit whose score is not told the groups it compares: the law first, and the certificate's numbers."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fairroc import DataError, write_pack
from fairroc.cli.main import main
from fairroc.report.families import FamilyReport
from family_cases import KINDS, people
from fitted_people import write_report

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

HOW = {
    "cells": {"use_group": False},
    "each": {"combine": "each"},
    "strata": {},
    "both": {"use_group": False},
}
LAW = {"cells": "a proxy", "both": "a proxy", "each": "needs everybody's group (sex, race)", "strata": "(group)"}


class Outline(HTMLParser):
    """Tags that are open, and text in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        if tag not in ("meta", "link", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        if tag != "path":
            assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data.strip())


@pytest.mark.parametrize("kind", [*KINDS[:3], pytest.param(KINDS[3], marks=pytest.mark.slow)])
def test_the_page_has_the_law_on_top_and_every_family(kind: str, tmp_path: Path) -> None:
    here, path = people(0, 300), tmp_path / "page.html"
    found = write_report(path, here.scores, here.y, epsilon=0.1, **here.known(kind), **HOW[kind], title="<b>&")
    assert isinstance(found, FamilyReport)
    page = Outline()
    page.feed(path.read_text(encoding="utf-8"))
    assert page.open == []
    text = "\n".join(page.text)
    assert "<script" not in path.read_text(encoding="utf-8") and "<b>&" in text
    law, gaps = text.index(LAW[kind]), text.index("Largest gap, fitted people")
    assert law < gaps
    told = found.certificate
    assert text.count("Fair score") == len(found.curves) == sum(family.compared for family in told.families)
    for family in told.families:
        row = text.index(family.attribute, gaps)
        assert f"{family.gap_before:.3f}" in text[row:] and f"{family.gap:.3f}" in text[row:]
        assert ("for information" in text) == (kind == "each")
    for curves in found.curves:
        for fpr, tpr in (*curves.before, *curves.after):
            assert (fpr[0], tpr[0]) == (0, 0) and fpr[-1] == pytest.approx(1) and tpr[-1] == pytest.approx(1)
    assert found.to_dict()["certificate"]["gap"] == told.gap
    assert "cell 1" not in text


def test_what_has_no_page_is_refused(tmp_path: Path) -> None:
    here = people(0, 120)
    for more, words in (
        ({}, "epsilon .* or a ratio must be given"),
        ({"epsilon": 0.1, "json": tmp_path / "a.json"}, "json and threshold must be left out"),
        (
            {"epsilon": 0.1, "draw": "never", "constraint": "demographic_parity"},
            "draw must be 'few' or 'all' with use_group=False",
        ),
    ):
        with pytest.raises(DataError, match=words):
            write_report(tmp_path / "p.html", here.scores, here.y, sensitive_features=here.sex, use_group=False, **more)
    assert not list(tmp_path.iterdir())


def test_a_pack_is_not_about_such_models(tmp_path: Path) -> None:
    from family_cases import model_of

    here = people(0, 120)
    groups = {"sex": here.sex, "race": here.race}
    with pytest.raises(DataError, match=re.escape("got one of use_group=False, combine='each' or control_features")):
        write_pack(tmp_path / "pack", here.scores, here.y, sensitive_features=groups, model=model_of("each"))
    with pytest.raises(DataError, match="a pack is about scores that are told the groups compared"):
        write_pack(tmp_path / "pack", here.scores, here.y, sensitive_features=groups, combine="each", epsilon=0.1)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_the_page(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = people(0, 300)
    lines = [",".join(map(str, row)) for row in zip(*here, strict=True)]
    Path("people.csv").write_text("\n".join(["p,y,sex,race,r", *lines, ""]), encoding="utf-8")
    base = ["report", "people.csv", "--score", "p", "--label", "y", "--group", "sex", "--epsilon", "0.1"]
    each = [*base, "--group", "race", "--combine", "each"]
    assert main([*each, "-o", "page.html"]) == 0
    assert "report written to page.html" in capsys.readouterr().out
    assert "needs everybody&#39;s group (sex, race)" in Path("page.html").read_text(encoding="utf-8")
    assert main([*each, "--pack", "folder"]) == 2
    assert "--pack must be left out with --use-group never" in capsys.readouterr().err
    assert main([*base, "--use-group", "never", "-o", "alone.html"]) == 0
    assert "no proxy of it" in Path("alone.html").read_text(encoding="utf-8")
