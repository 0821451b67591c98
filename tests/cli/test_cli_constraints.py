"""Constraints on the command line: `fairroc fit` keeps what Python keeps, and refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_cli import FITTED
from test_pipeline import normal_rows

from fairroc import FairModel
from fairroc.cli.main import main
from fitted_people import FairROC

ROWS = normal_rows(62, n=800, digits=2)
COLUMNS = ["--score", "p", "--label", "y", "--group", "g"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("constraints") / "rows.csv"
    lines = [f"{p},{y},{g}" for p, y, g in zip(ROWS.scores, ROWS.y, ROWS.groups, strict=True)]
    path.write_text("\n".join(["p,y,g", *lines]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        ("--constraint equal_opportunity --epsilon 0.05", {"constraint": "equal_opportunity", "epsilon": 0.05}),
        ("--constraint predictive_equality --ratio 0.8", {"constraint": "predictive_equality", "ratio": 0.8}),
        (
            "--constraint demographic_parity --epsilon 0.1 --draw never",
            {"constraint": "demographic_parity", "epsilon": 0.1, "draw": "never"},
        ),
        (
            "--constraint demographic_parity --epsilon 0.02 --where 0:0.2",
            {"constraint": "demographic_parity", "epsilon": 0.02, "where": (0, 0.2)},
        ),
        ("--epsilon-fpr 0.1 --epsilon-tpr 0.05", {"epsilon": {"fpr": 0.1, "tpr": 0.05}}),
        ("--constraint equal_opportunity --epsilon 0.05 --stream", {"constraint": "equal_opportunity"}),
    ],
)
def test_fit_is_what_python_fits(table, capsys, tmp_path, flags, asked):
    path = tmp_path / "model.json"
    assert main(["fit", str(table), *COLUMNS, *FITTED, *flags.split(), "-o", str(path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    post = FairROC(**asked).fit(ROWS.scores, ROWS.y, sensitive_features=ROWS.groups)
    found = post.certificate_
    assert told["gap"] == pytest.approx(found.gap, abs=1e-12)
    assert told["auc"] == pytest.approx(found.auc, abs=1e-12)
    assert told["auc_bound"] == pytest.approx(found.auc_bound, abs=1e-12)
    for name in ("constraint", "ratio", "draw", "epsilon"):
        assert told[name] == getattr(found, name)
    assert told["where"] == (None if found.where is None else list(found.where))
    assert told["tolerances"] == (None if found.tolerances is None else list(found.tolerances))
    model = FairModel.load(path)
    one, other = (
        each.acceptance_rate(ROWS.scores, sensitive_features=ROWS.groups, threshold=0.7)
        for each in (model, post.model_)
    )
    assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "flags", ["--constraint equal_opportunity --ratio 0.8 --where 0.05:1", "--epsilon-fpr 1 --epsilon-tpr 0.1"]
)
def test_the_text_names_what_is_kept(table, capsys, tmp_path, flags):
    assert main(["fit", str(table), *COLUMNS, *flags.split(), "-o", str(tmp_path / "model.json")]) == 0
    text = capsys.readouterr().out
    assert "TPR" in text
    assert ("ratio" in text) == ("--ratio" in flags)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("", "give --epsilon E, the largest gap allowed (try 0.05), or for one rate --ratio R (try 0.8)"),
        ("--epsilon-fpr 0.1", "give --epsilon-fpr and --epsilon-tpr together"),
        ("--epsilon-fpr 0.1 --epsilon-tpr 0.1 --epsilon 0.1", "and neither --epsilon nor --ratio beside them"),
        ("--epsilon-fpr 0.1 --epsilon-tpr 0.1 --ratio 0.8", "and neither --epsilon nor --ratio beside them"),
        ("--epsilon-fpr 0.1 --epsilon-tpr 2", "tolerances of 'fpr' and 'tpr' must be above 0 and at most 1"),
        ("--constraint equal_opportunity --epsilon-fpr 0.1 --epsilon-tpr 0.1", "epsilon must be one number"),
        ("--constraint equal_opportunity --epsilon 0.1 --ratio 0.8", "give either epsilon or ratio"),
        ("--constraint equal --epsilon 0.1", "constraint must be 'equalized_odds'"),
        ("--ratio 0.8", "ratio must be None with constraint='equalized_odds'"),
        ("--constraint equal_opportunity --ratio 2", "ratio must be above 0 and at most 1, got 2"),
        ("--constraint equal_opportunity --epsilon 0.1 --where 0.2:0.1", "where must be two rising shares of people"),
        (
            "--constraint equal_opportunity --epsilon 0 --draw never",
            "cannot be kept without draws on these people",
        ),
        ("--epsilon 0.1 --draw never --queries 9", "draw must be 'few' or 'all' with queries, got 'never'"),
        ("--epsilon 0.1 --draw never --method froc", "draw must be 'few' or 'all' with method='froc', got 'never'"),
        ("--epsilon 0.1 --confidence 0.9", "confidence must be left out with promise='fitted'"),
    ],
)
def test_refusals_are_one_line(table, capsys, tmp_path, flags, said):
    path = tmp_path / "model.json"
    assert main(["fit", str(table), *COLUMNS, *FITTED, *flags.split(), "-o", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.2", "two numbers with a colon between"),
        ("a:b", "must be a number"),
        ("0:", "must be a number"),
        ("0-1", "colon"),
    ],
)
def test_windows_that_are_none(table, capsys, text, said):
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "fit",
                str(table),
                *COLUMNS,
                "--constraint",
                "equal_opportunity",
                "--epsilon",
                "0.1",
                "--where",
                text,
                "-o",
                "m.json",
            ]
        )
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_an_offer_without_draws_can_be_taken(table, capsys, tmp_path):
    words = [
        "fit",
        str(table),
        *COLUMNS,
        *FITTED,
        "--constraint",
        "demographic_parity",
        "--draw",
        "never",
        "-o",
        str(tmp_path / "m.json"),
    ]
    assert main([*words, "--epsilon", "0"]) == 2
    offered = capsys.readouterr().err.split("leave a gap of ")[1].split(". ")[0]
    assert main([*words, "--epsilon", offered]) == 0
