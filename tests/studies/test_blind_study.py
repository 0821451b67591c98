"""The study of fair scores without the group: what they do to new people, by plain counting; tables and page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from fairroc.people.door import read_people
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.questions import blind, blind_fits, blind_growth, blind_linearpost
from fairroc_studies.questions.blind_fits import Figures, fitted
from fairroc_studies.questions.blind_people import Known, looked_at, thirds


def people(seed: int, rows: int = 240, *, several: bool = False) -> Known:
    """Two groups with other base rates, scores with ties, and a guess of the group; half of all are of each race."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    label = rng.random(rows) < 0.3 + 0.3 * group
    label[:8], group[:8] = [False, True] * 4, [0, 0, 1, 1] * 2
    score = np.round((rng.random(rows) + 0.5 * label + 0.4 * group) / 1.9, 2)
    guess = np.clip(0.3 + 0.4 * group + rng.normal(0, 0.2, rows), 0, 1)
    race = np.resize(["x", "x", "x", "x", "y", "y", "y", "y"], rows)
    attributes = {"sex": np.array(["f", "m"])[group]} | ({"race": race} if several else {})
    return Known(score, label, attributes, {"m": guess})


def counted(chances: NDArray[Any], known: Known, group: NDArray[Any]) -> float:
    """Largest |dFPR| + |dTPR| of two groups, from everybody's chance of being selected."""
    rates = np.array([[chances[(group == g) & (known.labels == y)].mean() for y in (0, 1)] for g in np.unique(group)])
    return float(max(np.abs(one - other).sum() for one in rates for other in rates))


OPTIONS: list[dict[str, Any]] = [{}, {"use_group": False}, {"combine": "each"}]


@pytest.mark.parametrize("options", OPTIONS)
def test_what_a_fair_score_does_to_new_people_by_plain_counting(options: dict[str, Any]) -> None:
    several = options.get("combine") == "each"
    known, new = people(1, several=several), people(2, 200, several=several)
    post = fitted(known, 0.1, **options)
    found = looked_at(post.model_, new)
    told: dict[str, Any] = {"sensitive_features": new.features}
    if not options.get("use_group", True):
        told = {"group_probabilities": new.probabilities}
    drawn = np.unique([post.transform(new.scores, **told, random_state=k) for k in range(4)])
    chances = np.array([post.acceptance_rate(new.scores, **told, threshold=t) for t in [*drawn, np.inf]])
    for truth, group in zip(found.gaps.values(), new.attributes.values(), strict=False):
        gaps = [counted(one, new, group) for one in chances]
        assert truth - 0.02 < max(gaps) <= truth + 1e-9
    fpr, tpr = (chances[:, new.labels == label].mean(axis=1) for label in (False, True))
    assert found.auc == pytest.approx(-np.trapezoid(tpr, fpr), abs=5e-3)
    assert max(list(looked_at(post.model_, known).gaps.values())[: len(new.attributes)]) <= 0.1 + 1e-9


def test_the_original_score_and_a_known_group_as_elsewhere() -> None:
    known, new = people(3), people(4)
    plain = looked_at(None, new)
    cuts = [counted(new.scores >= t, new, new.attributes["sex"]) for t in np.unique(new.scores)]
    assert plain.gap == pytest.approx(max(cuts), abs=1e-12)
    assert plain.auc == pytest.approx(roc_auc_score(new.labels, new.scores), abs=1e-12)
    model = fitted(known, 0.1).model_
    there = read_people(new.scores, new.labels, sensitive_features=new.features).exact
    truth, found = outcome(model.kernels, there), looked_at(model, new)
    assert (found.gap, found.auc) == pytest.approx((truth.gap, truth.auc), abs=1e-12)


def test_thirds_share_nobody_and_have_their_part_of_every_cell() -> None:
    cells = np.repeat([0, 1, 2], [30, 7, 300])
    parts = thirds(cells, 5)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(337))
    assert all(np.abs(np.bincount(cells[part]) - [10, 7 / 3, 100]).max() <= 1 for part in parts)
    assert not np.array_equal(parts[0], thirds(cells, 6)[0])


def test_all_ways_of_one_split(monkeypatch: pytest.MonkeyPatch) -> None:
    known = replace(people(1), attributes={"group": people(1).attributes["sex"]})
    found = blind_fits._blind(known, replace(known))
    assert list(found) == list(blind_fits.WAYS)
    for way, one in found.items():
        assert one.fitted == one.new and one.fitted_auc == one.new_auc  # the new people are the fitted ones
        assert (one.new["group"] <= blind_fits.EPSILON + 1e-9) == (way != "original")
        assert (one.gap_estimate is None) == (way == "original")
    assert found["original"].new_auc > found["proxy"].new_auc > found["score"].new_auc
    monkeypatch.setattr(blind, "guessed_people", lambda *_: (known, known))
    runs = {"adult": [found, found]}
    assert "0.050 ± 0.000" in blind.cost_table(runs)
    assert blind.stated_table(runs).count("Adult, sex") == 3


def test_several_attributes_each_and_their_intersections() -> None:
    known = people(1, several=True)
    found = blind_fits._attributes(known, replace(known))
    assert found["intersection"].new["sex & race"] <= blind_fits.EPSILON + 1e-9
    assert max(found["each"].new[name] for name in ("sex", "race")) <= blind_fits.EPSILON + 1e-9
    assert found["each"].new["sex & race"] > found["intersection"].new["sex & race"]
    assert found["each"].least > found["intersection"].least
    assert blind.attribute_table({"adult": [found]}).count("| new |") == 3


def test_one_decision_is_the_most_accurate_of_the_fitted_people() -> None:
    known = people(1)
    numbered = replace(known, attributes={"group": (known.attributes["sex"] == "m").astype(int)})
    model = fitted(numbered, 0.1, use_group=False, norm="inf").model_
    accuracy, gap = blind_linearpost.decided(model, numbered, numbered)
    told = {"group_probabilities": known.probabilities}
    fair = [model.transform(known.scores, **told, random_state=k) for k in range(3)]
    chances = [model.acceptance_rate(known.scores, **told, threshold=t) for t in np.unique(fair)]
    best = max(float(np.where(known.labels, one, 1 - one).mean()) for one in chances)
    assert best - 1e-9 <= accuracy <= best + 0.01
    assert gap <= 0.1 + 1e-9


def test_growth_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    known = people(1)
    adult = replace(known, attributes={"group": np.where(known.attributes["sex"] == "m", "Male", "Female")})
    monkeypatch.setattr(blind_growth, "guessed_people", lambda *_: (adult, adult))
    monkeypatch.setattr(blind_growth, "CELL_ROWS", 2000)
    drawn = blind_growth.people(300)
    assert len(np.unique(drawn.scores)) == 300 and abs(drawn.scores.mean() - known.scores.mean()) < 0.05
    assert len(np.unique(blind_growth.people(400, 6).attributes["group"])) == 6
    cost = blind_growth.by_rows(300, "each")
    assert cost["fit"] > 0 and cost["segments"] == 4
    assert len(blind.fit_line(cost)) == len(blind.fit_line({"error": "stopped"})) == 7
    cells = blind_growth.by_cells(100)
    assert 0 < cells["cells"] <= 100 and len(blind.cell_line(cells)) == 4


def test_a_section_replaces_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gaps = {"sex": 0.1, "race": 0.2, "sex & race": 0.3}
    one = Figures(gaps, 0.8, gaps, 0.7, rows=1000, least=41)
    monkeypatch.setattr(blind, "attributes", lambda *_: dict.fromkeys(blind_fits.COMBINED, one))
    monkeypatch.setattr(blind, "cost_of", lambda *_: {"error": "stopped after 1 s"})
    page = tmp_path / "blind.md"
    blind.main(["--only", "growth", "--rows", "1e4", "--page", str(page)])
    blind.main(["--only", "attributes", "--splits", "2", "--page", str(page)])
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Without the group") and text.index("## Sex and race each") < text.index("## Growth")
    assert "stopped after 1 s" in text and "0.300 ± 0.000" in text and "| 41 | 18,000 |" in text
    assert "## Growth" in capsys.readouterr().out
