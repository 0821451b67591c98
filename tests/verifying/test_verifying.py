"""`fairroc verify`: what is right is signed off, what was tampered with is found, whatever the constraint."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
import test_golden as golden

from fairroc import FairModel, FairrocWarning, ScoreCounts, verify
from fairroc.auditing.verify import cells_of
from fairroc.cli.main import main
from fairroc.model.file import VERSION
from fairroc.people.door import read_people
from fairroc.verifying import check, files
from fairroc.verifying.law import Everybody, Kernel, around, figures, original, roc_hull
from fairroc_studies.questions.verify import OPTIONS, WAYS, Rows, fitted, random_rows, sealed, tampered
from fitted_people import FairROC, fit_counts

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.FairrocWarning")


def people(seed: int, rows: int = 160, groups: str = "ab", decimals: int = 2) -> tuple:
    rng = np.random.default_rng(seed)
    code, y = rng.integers(0, len(groups), rows), rng.integers(0, 2, rows)
    scores = np.round(rng.normal(size=rows) + y * (0.4 + code), decimals)
    return scores, y, np.array(list(groups))[code]


def wrong(rows: Rows) -> list[str]:
    return [found.name for found in rows.verified().checks if found.passed is False]


# -- what is right -----------------------------------------------------------------------------------------------------


BOUND = "bound of the AUC"
QUICK = ("two", "ties", "binary", "perfect", "fractional", "missing")
GOLDENS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in golden.CASES]


@pytest.mark.parametrize("name", GOLDENS)
def test_goldens_are_signed_off(name: str) -> None:
    case = golden.CASES[name]
    data = golden.DATA[case.data]()
    post = golden._fitted(case, data)
    how = {"sensitive_features": data.groups, "sample_weight": data.weights, "pos_label": data.pos_label}
    found = verify(post.model_, data.scores, data.y, **how, certificate=post.proof_)
    assert found.passed, str(found)
    assert all(one.passed is True for one in found.checks)


SEEDS = [seed if seed % 2 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(len(OPTIONS))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_models_of_all_constraints_are_signed_off(seed: int) -> None:
    rows = random_rows(seed)
    if rows is not None:
        found = rows.verified()
        assert found.passed, str(found)


@pytest.mark.parametrize("case", ["order", "draw", "one rate", "ratio"])
def test_bounds_are_proven_to_the_last_digits(case: str) -> None:
    """A looser proof would let a bound be stated that nobody proved."""
    (bound,) = (one for one in fitted(*people(14, 80, "abc", 1), **CASES[case]).verified().checks if one.name == BOUND)
    assert abs(bound.stated - bound.found) < 1e-10


def test_a_model_alone_is_checked_too() -> None:
    scores, y, groups = people(1)
    found = verify(fitted(scores, y, groups, epsilon=0.1).model, scores, y, sensitive_features=groups)
    assert found.passed
    assert [one.name for one in found.checks if one.passed is None] == ["bound of the AUC"]
    assert {"order within groups", "scale", "gap within epsilon", "groups' AUC, in the model"} <= {
        one.name for one in found.checks
    }


@pytest.mark.parametrize("how", [{"draw": "never"}, {"draw": "never", "constraint": "equal_opportunity"}, {}])
def test_who_draws_nobody_is_said(how: dict) -> None:
    rows = fitted(*people(1), epsilon=0.2, **how)
    checks = {one.name: one for one in rows.verified().checks}
    assert checks["gap within epsilon"].note == "nobody is drawn: the gap of every use"
    assert ("nobody is drawn" in checks) == ("draw" in how)
    body = json.loads(rows.model)
    body["groups"][0]["kernel"]["ordered"][-1] = 0
    assert ("nobody is drawn" in wrong(rows._replace(model=sealed(body)))) == ("draw" in how)


def test_small_groups_are_treated_as_by_the_fit() -> None:
    scores, y, groups = people(2)
    groups = np.where(np.arange(len(y)) < 6, np.where(np.arange(len(y)) < 3, "c", "d"), groups)
    y = np.concatenate(([0, 0, 1, 0, 1, 1], y[6:]))
    for treatment in ("merge", "drop"):
        rows = fitted(scores, y, groups, epsilon=0.1, small_groups=treatment, min_class_rows=2)
        assert not wrong(rows)


def test_counts_in_bins_are_checked_by_the_same_counts() -> None:
    scores, y, groups = people(3, decimals=7)
    counts = ScoreCounts.from_rows(scores, y, sensitive_features=groups, bits=12)
    post = fit_counts(counts, 0.1, salt=1)
    found = check.verify_texts(post.model_.to_json(), post.proof_, cells_of(counts.people()))
    assert counts.error > 0 and found.passed, str(found)
    assert not verify(post.model_, scores, y, sensitive_features=groups).passed


def test_files_of_older_versions_are_read() -> None:
    scores, y, groups = people(4)
    body = json.loads(fitted(scores, y, groups, epsilon=0.1).model)
    for name in ("constraint", "ratio", "tolerances", "where", "draw", "promise", "confidence", "curve"):
        del body[name]
    for group in body["groups"]:
        del group["reference"]
    old = sealed(body | {"version": 1})
    assert FairModel.from_json(old)
    assert verify(old, scores, y, sensitive_features=groups).passed


def test_both_readers_know_the_same_versions() -> None:
    assert files.VERSION == VERSION


# -- what is wrong -----------------------------------------------------------------------------------------------------


CASES = {
    "order": {"epsilon": 0.1},
    "draw": {"epsilon": 0.05, "draw": "all"},
    "one rate": {"epsilon": 0.05, "constraint": "equal_opportunity"},
    "ratio": {"ratio": 0.8, "constraint": "demographic_parity"},
}


NAMED = {
    "model: epsilon below the gap": "gap within epsilon",
    "model: blocks reversed": "order within groups",
    "model: a score of the scale": "scale",
    "model: a row more": "people of the fit",
    "model: cut off": "model file",
    "model: a field twice": "model file",
    "model: who is transported": "shares drawn",
    "certificate: of another model": "certificate of this model",
    "certificate: a smaller gap": "gap",
    "certificate: a larger AUC": "AUC",
    "certificate: fewer people drawn, all together": "shares drawn",
    "certificate: a smaller least gap without a draw": "least gap without a draw",
    "certificate: a larger least gap without a draw": "least gap without a draw",
    "model: nobody to be drawn": "nobody is drawn",
    "certificate: a lower bound": "bound of the AUC",
    "certificate: a higher bound": "bound of the AUC",
    "certificate: prices of nothing": "bound of the AUC",
    "certificate: two directions only": "bound of the AUC",
    "data: another label": "people of the fit",
}


@pytest.mark.parametrize(
    "case", ["order", "one rate", *(pytest.param(c, marks=pytest.mark.slow) for c in ("draw", "ratio"))]
)
def test_all_tampering_is_found_and_named(case: str) -> None:
    """Files that were tampered with have checksums that fit: only the numbers give them away."""
    rows = fitted(*people(5, 80, decimals=1), **CASES[case])
    assert not wrong(rows)
    tried = dict(tampered(rows))
    assert len(tried) >= len(WAYS) - 6 >= 30
    found = {name: wrong(other) for name, other in tried.items()}
    assert not [name for name, names in found.items() if not names]
    assert not {way: found[way] for way, name in NAMED.items() if way in found and name not in found[way]}


def test_the_verdict_names_what_is_wrong() -> None:
    rows = fitted(*people(5, 80, decimals=1), epsilon=0.1)
    stated = json.loads(rows.certificate)
    stated["figures"]["auc"] += 0.01
    said = str(rows._replace(certificate=sealed(stated)).verified())
    assert said.endswith("NOT signed off, wrong: AUC.")
    assert "off by 0.01" in said


def test_other_people_are_told_as_such() -> None:
    rows = fitted(*people(6), epsilon=0.1)
    scores, y, groups = people(7)
    found = rows._replace(scores=scores, y=y, groups=groups).verified()
    assert [one.name for one in found.checks if one.passed is False] == ["people of the fit"]
    told = next(one for one in found.checks if one.name == "people of the fit").note
    assert told.startswith("the stated figures are of other data: group 'a' has ")
    assert {one.note for one in found.checks if one.passed is None} == {"of other data"}


JUNK = (None, "x", -1, 1e308, 10**400, [], {}, True, 0.5, 5e-324, "1/2", [1.0], {"a": 1})


def test_garbled_files_never_break_the_check() -> None:
    """Any value in the place of any other: something is wrong, or nothing that anybody is promised has changed."""
    rows = fitted(*people(12, 40, decimals=0), epsilon=0.2)
    rng = np.random.default_rng(3)
    for turn in range(40):
        bodies = [json.loads(rows.model), json.loads(rows.certificate)]
        place = bodies[turn % 2]
        while True:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            key = keys[int(rng.integers(0, len(keys)))]
            if not isinstance(place[key], dict | list) or not place[key] or rng.random() < 0.1:
                break
            place = place[key]
        place[key] = JUNK[int(rng.integers(0, len(JUNK)))]
        bodies[1]["model"] = files.checksum(bodies[0])
        found = rows._replace(model=sealed(bodies[0]), certificate=sealed(bodies[1])).verified()
        assert str(found) and isinstance(found.passed, bool)


# -- each part beside something else that knows it ---------------------------------------------------------------------


def parts(rows: Rows) -> tuple[dict, Everybody, files.Measure]:
    body = json.loads(rows.model)
    everybody = Everybody.of(cells_of(read_people(rows.scores, rows.y, sensitive_features=rows.groups)))
    return body, everybody, files.Measure.of(body)


@pytest.mark.parametrize("case", CASES)
def test_laws_are_what_acceptance_rates_say(case: str) -> None:
    """At every knot of the scale: the mean chance of each label's people in each group."""
    rows = fitted(*people(8, 120), **CASES[case])
    body, everybody, _ = parts(rows)
    model = FairModel.from_json(rows.model)
    for g, group in enumerate(body["groups"]):
        line = Kernel(group["kernel"], body["levels"]).law(*(part[g] for part in everybody))
        for place, score in list(zip(body["scale"]["place"], body["scale"]["score"], strict=True))[2:-1:7]:
            rate = model.acceptance_rate(rows.scores, sensitive_features=rows.groups, threshold=score)
            own = (rows.groups == group["name"]) & (rows.y == 0)
            assert float(around(line, place)[1]) == pytest.approx(rate[own].mean(), abs=1e-9)


def test_the_original_score_is_counted_by_hand() -> None:
    everybody = Everybody.of(
        cells_of(read_people([3, 2, 1, 3, 2, 1], [1, 0, 1, 1, 1, 0], sensitive_features=[*"aaabbb"]))
    )
    measure = files.Measure(None, False, None, None)
    found = figures(original(everybody), everybody, measure)
    assert found.group_aucs == [Fraction(1, 2), Fraction(1)]
    assert found.auc == Fraction(5 + 2 * Fraction(1, 2), 8)  # of 8 pairs 5 are won and 2 tied
    assert found.gap == Fraction(3, 2)


@pytest.mark.parametrize("options", [one for one in OPTIONS[::2] if one.get("promise") != "population"], ids=str)
def test_any_prices_prove_a_bound_that_holds(options: dict) -> None:
    """Weak duality: prices of a liar prove less, never something false."""
    asked = {"epsilon": 0.1} | options
    if "ratio" in asked:
        del asked["epsilon"]
    rows = fitted(*people(9, 60, "abc", 1), **asked)
    _, everybody, measure = parts(rows)
    stated = json.loads(rows.certificate)
    hulls = [roc_hull(line) for line in original(everybody)]
    rng = np.random.default_rng(1)
    best = Fraction(stated["figures"]["auc"])
    for size in (1e-3, 0.03, 1.0):
        lied = [[[p + size * rng.normal() for p in price] for price in each] for each in stated["proof"]["prices"]]
        allowed = Fraction(stated["figures"]["allowed"])
        proof = {"directions": stated["proof"]["directions"], "prices": lied}
        assert check.proven(proof, allowed, measure, hulls, everybody) >= best - files.ALLOWANCE


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    scores, y, groups = people(10)
    lines = [f"{s},{label},{g}" for s, label, g in zip(scores, y, groups, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["p,y,sex", *lines, ""]))
    (tmp_path / "fewer.csv").write_text("\n".join(["p,y,sex", *lines[:-5], ""]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


NAMES = ["--score", "p", "--label", "y", "--group", "sex"]


def test_the_command_signs_off_and_says_what_is_wrong(folder, capsys) -> None:
    fit = ["fit", "people.csv", *NAMES, "--epsilon", "0.1", "-o", "m.json"]
    assert main([*fit, "--certificate", "c.json"]) == 0
    assert "certificate written to c.json" in capsys.readouterr().err
    asked = ["verify", "m.json", "people.csv", *NAMES, "--certificate", "c.json"]
    assert main(asked) == 0
    assert capsys.readouterr().out.endswith("Signed off: no check failed.\n")
    assert main([*asked, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True and found["checks"][0]["name"] == "model file"
    assert main(["verify", "m.json", "fewer.csv", *NAMES]) == 1
    assert "the stated figures are of other data" in capsys.readouterr().out
    assert main([*fit[:-1], "again.json", "--certificate", "again.json"]) == 2
    assert "--certificate must be another file than the model" in capsys.readouterr().err
    assert not (folder / "again.json").exists()
    assert main(["verify", "none.json", "people.csv", *NAMES]) == 2
    assert "cannot read the model file" in capsys.readouterr().err
    assert main(["verify", "people.csv", "people.csv", *NAMES]) == 1


def test_long_checks_say_so(folder, capsys, monkeypatch) -> None:
    main(["fit", "people.csv", *NAMES, "--epsilon", "0.1", "-o", "m.json"])
    monkeypatch.setattr(check, "SECONDS", (3.0, 1.0))
    assert main(["verify", "m.json", "people.csv", *NAMES]) == 0
    assert "this takes about" in capsys.readouterr().err


def test_proofs_are_of_the_last_fit() -> None:
    scores, y, groups = people(11)
    post = FairROC(0.1, salt=1).fit(scores, y, sensitive_features=groups)
    first = post.proof_
    post.fit(scores + y, y, sensitive_features=groups)
    assert json.loads(post.proof_)["model"] == json.loads(post.model_.to_json())["checksum"]
    assert json.loads(post.proof_)["model"] != json.loads(first)["model"]
    assert issubclass(FairrocWarning, UserWarning)


def test_figures_of_many_scores_may_be_coarser(monkeypatch) -> None:
    """Where the fit works on fewer points than scores, and there alone."""
    rows = fitted(*people(13, 60), epsilon=0.2)
    body, stated = json.loads(rows.model), json.loads(rows.certificate)
    body["groups"][0]["reference"]["auc"] -= 1e-4
    stated["model"] = files.checksum(body)
    other = rows._replace(model=sealed(body), certificate=sealed(stated))
    assert wrong(other) == ["groups' AUC before, in the model"]
    monkeypatch.setattr(check, "MANY", 10)
    assert not wrong(other)
