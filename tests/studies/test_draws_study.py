"""The study of draws: figures of a fit by plain counting, what is told of made-up fits, and its page."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairroc.estimators.metrics import threshold_gap_score
from fairroc_studies.harness.people import Part
from fairroc_studies.peers.child import answers
from fairroc_studies.questions import draws, draws_beside, draws_fits, draws_people
from fairroc_studies.questions.draws import exceptions, largest_fall, pairs_of, prices_table, summary
from fairroc_studies.questions.draws_child import fitted
from fairroc_studies.questions.draws_fits import BEFORE, EPSILONS, PRICES, People


def made(rows: int = 160) -> Part:
    rng = np.random.default_rng(4)
    group, label = np.tile([0, 1], rows // 2), np.repeat([0, 1], rows // 2)
    return Part.named((rng.random(rows) + label * (0.4 + 0.5 * group)).round(2), label, np.array(["a", "b"])[group])


@pytest.mark.parametrize("draw", ["few", "never", "all"])
def test_figures_of_a_fit_by_plain_counting(draw: str) -> None:
    part = made()
    found = fitted(part.scores, part.labels, part.group_names, 0.1, draw=draw)
    sizes = {name: int((part.group_names == name).sum()) for name in part.names}
    assert found["share"] == pytest.approx(sum(found["drawn"][name] * n for name, n in sizes.items()) / part.rows)
    assert found["gap_before"] == pytest.approx(
        threshold_gap_score(part.labels, part.scores, sensitive_features=part.group_names), abs=1e-12
    )
    assert found["auc_before"] == pytest.approx(roc_auc_score(part.labels, part.scores), abs=1e-12)
    assert found["gap"] <= 0.1 + 1e-9 < found["gap_before"] and 0 < found["least"] < found["gap_before"]
    assert draw == "few" or found["share"] == (draw == "all")
    assert 1 < found["scores"] <= part.rows


# -- what is told of fits ----------------------------------------------------------------------------------------------


def fit(epsilon: float, auc: float, share: float, gap: float | None = None) -> dict[str, Any]:
    about = {"epsilon": epsilon, "gap": epsilon if gap is None else gap, "gap_before": 0.15, "least": 0.08}
    return about | {"auc": auc, "auc_before": 0.9, "share": share, "drawn": {"a": share, "b": 0.0}, "scores": 40}


def people(*, few: float = 0.8, share: float = 0.0, name: str = "adult_lr", before: bool = True) -> People:
    """Nobody need be drawn from .08 on; at .02 and .05 a third are, before all are; prices from 0 to 1 draw fewer."""
    shares = {epsilon: 0.3 if epsilon < 0.08 else share for epsilon in EPSILONS}
    fits = {
        "few": {e: fit(e, few, shares[e]) for e in EPSILONS},
        "never": {e: fit(e, 0.79, 0.0) for e in EPSILONS},
        "all": {e: fit(e, 0.82, 1.0) for e in EPSILONS},
        **{f"price {price:g}": {e: fit(e, 0.8, 1 - price / 2) for e in (0.02, 0.05)} for price in PRICES},
    }
    return People(name, 200, fits | ({"before": {e: fit(e, 0.8, 0.9) for e in EPSILONS}} if before else {}))


def judged(**about: Any) -> dict[str, str]:
    """Numbers of exceptions by what should hold, where there are any."""
    every = pairs_of(people(name="set", **about))
    lines = [line.strip("| ").split(" | ") for line in exceptions(every).splitlines()[2:]]
    return {line[0]: line[2] for line in lines if line[1] != "0"}


def test_exceptions_are_found() -> None:
    assert judged() == {}
    assert judged(before=False) == {}
    assert judged(share=0.01) == {"nobody is drawn where ε is at or above the least gap": "set at 0.1"}
    places = "set at 0.02; set at 0.05; set at 0.1"
    cheaper = {"few is worth no less than what other prices choose, at its own": "set at 0.02; set at 0.05"}
    assert judged(few=0.788) == {"few has no less AUC than never": places, **cheaper}
    worse = judged(few=0.795, share=0.95)
    assert worse[f"few draws no more people than {BEFORE}"] == "set at 0.1"
    assert worse[f"few is worth no less than {BEFORE}, at its own price"] == "set at 0.1"
    (short,) = [one for one in pairs_of(people()) if one.epsilon == 0.05]
    told = exceptions([short, short._replace(few=fit(0.05, 0.8, 0.3, gap=0.06))])
    assert "| all gaps are within ε | 1 |" in told and "prototype's AUC | 2 | adult_lr at 0.05; " in told


def test_a_fall_counts_where_no_fewer_are_drawn() -> None:
    fits = [fit(0.01, 0.80, 0.2), fit(0.02, 0.79, 0.2), fit(0.03, 0.70, 0.1), fit(0.04, 0.75, 0.1), fit(0.2, 0.5, 0.3)]
    assert largest_fall(fits) == (pytest.approx(0.01), 0.01, 0.02)  # at 0.2 the original score is kept
    assert largest_fall(fits[2:])[0] < 0 and largest_fall([]) == (0.0, 0.0, 0.0)


def test_tables_of_made_up_fits() -> None:
    every = pairs_of(people())
    assert [one.epsilon for one in every if one.below] == [0.02, 0.05] and len(every) == 3
    told = summary(every)
    assert "| ε below the least gap | 2 | 2 | 90% | 2 | 30% | +0.0000 | +0.0100 | -0.0200 | 40 |" in told
    assert "| ε at or above the least gap | 1 | 1 | 90% | 0 | 0% |" in told and "| ε = 0.2 | 0 | – |" in told
    prices = prices_table(every)
    assert "| never | 0.0% | 0 | 0.7900 | 0.0% | a 0%, b 0% | 0.79000 | 40 |" in prices
    assert "| price 0.05: few | 97.5% | 2 |" in prices and prices.index("price 1 ") < prices.index("price 0 ")
    alone = pairs_of(people(before=False, name="other"))
    assert f"| {BEFORE} | – |" in prices_table(alone) and "| ε below the least gap | 2 | – | – | 2 |" in summary(alone)


# -- people, older fits, the page --------------------------------------------------------------------------------------


def test_groups_are_crossed_and_small_ones_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"x & 1": 90, "y & 1": 70, "x & 2": 80, "y & 2": 40}
    names = np.repeat(list(sizes), list(sizes.values()))
    order = np.random.default_rng(0).permutation(len(names))
    columns = {"first": np.char.partition(names, " & ")[:, 0], "second": np.char.partition(names, " & ")[:, 2]}
    label = np.arange(len(names)) % 2
    kept = {"logistic": label + 0.5, "label": label[order], "group": names[order], "row": order}
    monkeypatch.setattr(draws_people, "held_out", lambda *_: kept)
    monkeypatch.setattr(draws_people, "_words", lambda _, column: columns[column])
    found = draws_people.crossed("adult", ("first", "second"))
    assert found.names == ("x & 1", "x & 2", "y & 1") and found.rows == 240  # 20 of y & 2 have each label
    assert (np.bincount(found.groups) == [90, 80, 70]).all()


def test_a_commit_that_cannot_be_had_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(OSError, match="git has no commit 0000000 here"), draws_fits.older("0000000"):
        pass

    def no_git(*_: Any, **__: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory", "git")

    monkeypatch.setattr(subprocess, "run", no_git)
    monkeypatch.setattr(draws_fits, "pair", lambda _: made())
    monkeypatch.setattr(draws_fits, "job", lambda _: {"few": [fit(e, 0.8, 0.0) for e in EPSILONS]})
    ((one,), why) = draws_fits.gathered(["x"], 1)
    assert why is not None and "git" in why and one.at("before", 0.05) is None and one.rows == 160


def test_the_page_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By real fits of few people; a tree's fits come from its own sources, here those of this tree."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(draws_fits, "pair", lambda _: made())
    monkeypatch.setattr(draws_fits, "crossed", lambda *_: made())
    for module, name, value in (
        (draws, "pairs", lambda: ["compas_lr", "small"]),
        (draws, "MANY", {"small": ((),)}),
        (draws, "table_rows", lambda name, _: [[name, *map(str, range(7))]]),
        (draws, "pair", lambda _: made()),
        *((draws_fits, name, (0.05, 0.2)) for name in ("FINE", "EPSILONS")),
        (draws, "EPSILONS", (0.05, 0.2)),
        *((module, "PRICES", PRICES[2:4]) for module in (draws, draws_fits)),
    ):
        monkeypatch.setattr(module, name, value)
    here = draws_fits.DOCS.parent
    monkeypatch.setattr(draws_fits, "before", lambda people, _: [draws_fits.fitted_by(here, one) for one in people])
    page = tmp_path / "draws.md"
    monkeypatch.setattr("sys.argv", ["draws", "--workers", "1", "-o", str(page)])
    draws.main()
    text = page.read_text(encoding="utf-8")
    sections = re.findall(r"<!-- begin: (\S+) -->\n(.*?)\n<!-- end: \1 -->", text, re.DOTALL)
    assert len(sections) == 9 and all(body.startswith("|") for _, body in sections)
    assert {"## The price of a draw", "## Three and more groups"} <= set(text.splitlines())  # other pages lead there
    assert "| nobody is drawn where ε is at or above the least gap | 0 |" in text and "are left out:" not in text


def test_answers_that_change() -> None:
    rng = np.random.default_rng(1)
    assert answers(lambda rows: rows % 2, lambda rows: rows, 50) == {"again": 0.0, "shuffled": 0.0}
    found = answers(lambda rows: rng.random(len(rows)) < 0.5, lambda rows: rows, 4000)
    assert found == pytest.approx({"again": 0.5, "shuffled": 0.5}, abs=0.04)
    fixed = answers(lambda rows: np.arange(len(rows)) % 2, lambda rows: rows, 4000)
    assert fixed["again"] == 0 and fixed["shuffled"] == pytest.approx(0.5, abs=0.05)


def test_own_methods_beside_each_other() -> None:
    rows = {row[0]: row[1:] for row in draws_beside._own(made())}
    assert set(draws_beside.OWN) < set(rows) and all(len(row) == len(draws_beside.HEAD) - 2 for row in rows.values())
    assert all(
        float(row[0]) <= 0.05 and row[4:] == ["0.0%", "0.0%"] for name, row in rows.items() if "no ids" not in name
    )
    assert rows['fairroc, `draw="never"`'][3] == "0%" and rows['fairroc, `draw="all"`'][3] == "100%"
