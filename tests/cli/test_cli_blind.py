"""The command line without the group, by several attributes each for itself, and within strata."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairroc import FairModel, FairROC, audit, choose_threshold
from fairroc.cli.main import main
from fairroc.tables import read as tables_read

N = 400
pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


def make_people() -> dict[str, np.ndarray]:
    """Scores that say more of some than of others, and probabilities that tell the sexes about apart."""
    rng = np.random.default_rng(21)
    sex, race, job = rng.integers(0, 2, N), rng.integers(0, 2, N), rng.integers(0, 2, N)
    y = (rng.random(N) < 0.35 + 0.15 * sex).astype(int)
    raw = y * (0.8 + 0.7 * sex + 0.3 * race) + rng.normal(size=N) + 0.4 * sex
    told = np.clip(0.5 + 0.3 * (2 * sex - 1) + 0.2 * rng.normal(size=N), 0.01, 0.99).round(3)
    return {
        "id": np.arange(N),
        "p": (1 / (1 + np.exp(-raw))).round(3),
        "y": y,
        "sex": np.array(["F", "M"])[sex],
        "race": np.array(["u", "v"])[race],
        "job": np.array(["office", "shop"])[job],
        "r": told,
        "q": (1 - told).round(3),
    }


PEOPLE = make_people()
ROLES = ("--score", "p", "--label", "y")
BLIND = ("--use-group", "never", "--group", "sex", "--epsilon", "0.1", "--promise", "fitted")
EACH = ("--group", "sex", "--group", "race", "--combine", "each")
STRATA = ("--group", "sex", "--control", "job")


def write(path: Path, columns: dict[str, np.ndarray] = PEOPLE) -> Path:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("people") / "d.csv")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def runner(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()  # what the fits of other tests printed
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return runner


def fitted(data: Path, *options: str) -> Path:
    path = data.parent / f"{'-'.join(options).replace('/', '')}.json"
    if not path.exists():
        assert main(["fit", str(data), *ROLES, *options, "-o", str(path), "--quiet"]) == 0
    return path


@pytest.fixture(scope="module")
def blind(data: Path) -> Path:
    return fitted(data, *BLIND, "--group-probability", "r")


@pytest.fixture(scope="module")
def each(data: Path) -> Path:
    return fitted(data, *EACH, "--epsilon", "0.1")


@pytest.fixture(scope="module")
def strata(data: Path) -> Path:
    return fitted(data, *STRATA, "--epsilon", "0.1")


def fair(path: Path) -> list[float]:
    return [float(row["p_fair"]) for row in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))]


# ---- fit -------------------------------------------------------------------------------------------------------------


def test_fit_without_the_group(data: Path, tmp_path: Path, run: Any) -> None:
    """The figures of Python, what the score is told, and whom it was compared by."""
    target = tmp_path / "model.json"
    how = (*ROLES, *BLIND, "--group-probability", "r", "-o", target, "--format", "json")
    code, out, err = run("fit", data, *how)
    assert (code, err) == (0, f"model written to {target}\n")
    told = json.loads(out)
    post = FairROC(0.1, promise="fitted", use_group=False).fit(
        PEOPLE["p"], PEOPLE["y"], sensitive_features={"sex": PEOPLE["sex"]}, group_probabilities={"r": PEOPLE["r"]}
    )
    found = post.certificate_
    assert [told[name] for name in ("gap", "auc", "auc_bound")] == [found.gap, found.auc, found.auc_bound]
    assert told["gap"] <= 0.1 < told["gap_before"]
    assert told["told"] == [{"column": "r", "kind": "probability", "of": "M"}]
    assert (told["use_group"], told["combine"]) == (False, "intersection")
    (family,) = told["families"]
    assert (family["attribute"], family["stratum"], family["epsilon"]) == ("sex", None, 0.1)
    assert told["new_people"]["families"][0]["gap_estimate"] == told["new_people"]["gap_estimate"]
    model = FairModel.load(target)
    assert (model.use_group, model.proxy.columns) == (False, ("r",))


def test_fit_text_without_the_group(data: Path, tmp_path: Path, run: Any) -> None:
    """Two columns stand for the groups in the order of their names; the law is named; the next command runs."""
    how = (*ROLES, *BLIND, "--group-probability", "q", "r", "-o", tmp_path / "m.json")
    code, out, err = run("fit", data, *how)
    assert code == 0
    assert "made from the score, q (probability of 'F') and r (probability of 'M'), without the group" in out
    assert "A proxy of the group may be treated as the group by law: ask before you deploy." in out
    assert "No score that is told no more than this one, never falls as the original one rises" in out
    files = shlex.join(["transform", str(data), "--model", str(tmp_path / "m.json")])
    step = f"{files} --score p --group-probability q --group-probability r --id"
    assert step in err


def test_fit_with_the_score_alone_warns_of_no_proxy(data: Path, tmp_path: Path, run: Any) -> None:
    code, out, _ = run("fit", data, *ROLES, *BLIND, "-o", tmp_path / "m.json")
    assert code == 0
    assert "made from the score alone, without the group" in out
    assert "proxy" not in out
    code, _, err = run("transform", data, "--model", tmp_path / "m.json", "--score", "p", "--id", "id", "-o",
                       tmp_path / "o.csv")  # fmt: skip
    assert code == 0, err


def test_fit_by_each_attribute_with_its_own_epsilon(data: Path, tmp_path: Path, run: Any) -> None:
    own = ("--epsilon-of", "sex=0.1", "--epsilon-of", "race=0.2")
    code, out, _ = run("fit", data, *ROLES, *EACH, *own, "-o", tmp_path / "m.json")
    assert code == 0
    assert "400 rows, 4 groups of 2 attributes, epsilon 0.1 of sex, 0.2 of race" in out
    lines = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert float(lines["by sex (epsilon 0.1)"][-1]) <= 0.1
    assert float(lines["by race (epsilon 0.2)"][-1]) <= 0.2
    assert len(lines["by sex & race *"]) == 7  # nothing is said of new people
    assert [one.epsilon for one in FairModel.load(tmp_path / "m.json").compared] == [0.1, 0.2]


def test_fit_within_strata(data: Path, strata: Path) -> None:
    model = FairModel.load(strata)
    assert model.controls == 1
    assert [one.title for one in model.compared] == ["sex within office", "sex within shop"]


def test_fit_of_several_files(tmp_path: Path, run: Any) -> None:
    """A folder is read into memory: the same figures as from one file."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(2):
        write(folder / f"{part}.csv", {name: column[part::2] for name, column in PEOPLE.items()})
    code, out, _ = run(
        "fit", folder, *ROLES, *STRATA, "--epsilon", "0.1", "-o", tmp_path / "m.json", "--format", "json"
    )
    assert code == 0
    assert json.loads(out)["rows"] == N


REFUSED = {
    "certificate": ((*BLIND, "--certificate", "c.json"), "--certificate must be left out with --use-group never"),
    "stream": ((*BLIND, "--stream"), "--stream and --max-distinct must be left out with --use-group never"),
    "probability": (
        ("--group", "sex", "--epsilon", "0.1", "--group-probability", "r"),
        "group_probabilities take the place of the group, so they go with use_group=False (--use-group never)",
    ),
    "no probability": (
        (*BLIND, "--group-probability", "id"),
        "group_probabilities['id'] must lie between 0 and 1, but 398 of 400 do not",
    ),
    "no column": ((*BLIND, "--group-probability", "none"), "none"),
    "epsilon of": (
        ("--group", "sex", "--epsilon-of", "sex=0.1"),
        "--epsilon-of goes with --combine each, and neither with --epsilon",
    ),
    "epsilon twice": ((*EACH, "--epsilon-of", "sex=0.1", "--epsilon", "0.1"), "--epsilon-of goes with --combine each"),
    "epsilon of one": (
        (*EACH, "--epsilon-of", "sex=0.1"),
        "--epsilon-of must name every group column once ('sex', 'race'), got 'sex'.",
    ),
    "method": ((*BLIND, "--method", "froc"), "method must be 'optimal' with use_group=False"),
    "promise": ((*BLIND, "--promise", "population"), "promise must be 'new' or 'fitted' with use_group=False"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_a_fit_refuses(data: Path, tmp_path: Path, run: Any, why: str) -> None:
    flags, words = REFUSED[why]
    code, out, err = run("fit", data, *ROLES, *flags, "-o", tmp_path / "m.json")
    assert (code, out) == (2, "")
    assert words in err and err.count("\n") == 1
    assert not (tmp_path / "m.json").exists()


def test_counts_do_not_tell_a_probability(data: Path, tmp_path: Path, run: Any) -> None:
    counts = ("--score", "p", "--positives", "y", "--negatives", "y")
    code, _, err = run("fit", data, *counts, *BLIND, "-o", tmp_path / "m.json")
    assert code == 2 and "--positives and --negatives must be left out with --use-group never" in err


@pytest.mark.parametrize("text", ["sex", "=0.1", "sex=many"])
def test_an_epsilon_of_nothing(data: Path, tmp_path: Path, run: Any, text: str) -> None:
    code, _, err = run("fit", data, *ROLES, *EACH, "--epsilon-of", text, "-o", tmp_path / "m.json")
    assert code == 2 and "--epsilon-of" in err and "must be a n" in err


def test_use_group_is_always_or_never(data: Path, tmp_path: Path, run: Any) -> None:
    code, _, err = run("fit", data, *ROLES, "--group", "sex", "--use-group", "no", "-o", tmp_path / "m.json")
    assert code == 2 and "must be always or never, got 'no'" in err


# ---- transform -------------------------------------------------------------------------------------------------------


def test_transform_without_the_group(data: Path, blind: Path, tmp_path: Path, run: Any, monkeypatch: Any) -> None:
    """In small batches, of a file that has no column of groups: the bits of Python."""
    monkeypatch.setattr(tables_read, "CSV_BLOCK", 1 << 11)
    new = write(tmp_path / "new.csv", {name: PEOPLE[name] for name in ("id", "p", "r")})
    out = tmp_path / "out.csv"
    code, _, err = run("transform", new, "--model", blind, "--score", "p", "--group-probability", "r", "--id", "id",
                       "-o", out)  # fmt: skip
    assert code == 0
    assert "--group GROUP" in err  # of the audit that may come next
    model = FairModel.load(blind)
    assert fair(out) == model.transform(PEOPLE["p"], group_probabilities=PEOPLE["r"], ids=PEOPLE["id"]).tolist()


def test_transform_within_strata(data: Path, strata: Path, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "out.csv"
    code, _, err = run("transform", data, "--model", strata, "--score", "p", *STRATA, "--id", "id", "-o", out)
    assert code == 0, err
    told = {"sensitive_features": PEOPLE["sex"], "control_features": PEOPLE["job"]}
    assert fair(out) == FairModel.load(strata).transform(PEOPLE["p"], **told, ids=PEOPLE["id"]).tolist()


def test_a_probability_beyond_1_is_found(blind: Path, tmp_path: Path, run: Any) -> None:
    new = write(tmp_path / "new.csv", {"id": [1, 2, 3], "p": [0.2, 0.3, 0.4], "r": [0.1, 0.2, 1.5]})
    code, _, err = run("transform", new, "--model", blind, "--score", "p", "--group-probability", "r", "--id", "id",
                       "-o", tmp_path / "out.csv")  # fmt: skip
    assert code == 2 and "must lie between 0 and 1" in err and "the first such row there is 3" in err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("name", "flags", "words"),
    [
        ("blind", ("--group", "sex", "--group-probability", "r"), "group (--group) must name no column, got sex"),
        ("blind", (), "group_probabilities (--group-probability) must name the columns that the model was fitted with"),
        ("blind", ("--group-probability", "r", "--control", "job"), "control_features (--control) must name no column"),
        ("blind", ("--group-probability", "p", "q"), "must have the 1 columns of the fit (r), got 2 (p, q)"),
        ("strata", ("--group", "sex"), "control_features (--control) must name the columns that the model was fitted"),
        ("strata", ("--control", "job"), "group (--group) must name the columns that the model was fitted with"),
        ("each", (), "group (--group) must name the columns that the model was fitted with"),
        ("each", ("--group", "sex", "--group-probability", "r"), "must name no column, got r"),
    ],
)
def test_what_a_model_is_not_told(
    data: Path, tmp_path: Path, run: Any, request: Any, name: str, flags: tuple[str, ...], words: str
) -> None:
    """Too much, or too little: said before any row is looked at."""
    model = request.getfixturevalue(name)
    out = tmp_path / "out.csv"
    code, _, err = run("transform", data, "--model", model, "--score", "p", *flags, "--id", "id", "-o", out)
    assert code == 2 and words in err and err.count("\n") == 1
    assert not out.exists()


# ---- threshold -------------------------------------------------------------------------------------------------------


def test_threshold_of_a_model_without_the_group(data: Path, blind: Path, run: Any) -> None:
    """Groups are for measuring: what Python finds, and an explanation without them."""
    how = ("--model", blind, *ROLES, "--group", "sex", "--group-probability", "r", "--recall", "0.8")
    code, out, _ = run("threshold", data, *how, "--format", "json")
    assert code == 0
    model = FairModel.load(blind)
    told = {"sensitive_features": {"sex": PEOPLE["sex"]}, "group_probabilities": PEOPLE["r"]}
    best = choose_threshold(model, PEOPLE["p"], PEOPLE["y"], **told, recall=0.8)
    assert json.loads(out) == json.loads(json.dumps(best.to_dict()))
    assert json.loads(out)["gap"] <= 0.1 + 1e-12
    code, _, err = run("threshold", data, *how)
    assert code == 0 and "--score SCORE --group-probability PROBABILITY --threshold" in err


def test_a_threshold_needs_what_the_model_is_told(data: Path, blind: Path, run: Any) -> None:
    code, _, err = run("threshold", data, "--model", blind, *ROLES, "--group", "sex", "--recall", "0.8")
    assert code == 2 and "group_probabilities (--group-probability) must name" in err


# ---- audit -----------------------------------------------------------------------------------------------------------


def one(group: str, rows: Any = slice(None), **how: Any) -> dict[str, Any]:
    """The audit of some rows by one attribute, through Python."""
    found = audit(PEOPLE["p"][rows], PEOPLE["y"][rows], sensitive_features=PEOPLE[group][rows], bootstrap=0, **how)
    return json.loads(json.dumps(found.to_dict()))


def test_audit_by_each_attribute(data: Path, run: Any) -> None:
    """Each as if it were audited by itself; the intersections without a verdict; exit 1 where one is too far."""
    own = ("--epsilon-of", "sex=0.1", "--epsilon-of", "race=1")
    code, out, _ = run("audit", data, *ROLES, *EACH, *own, "--bootstrap", "0", "--format", "json")
    found = json.loads(out)
    assert code == 1 and found["fair"] is False
    assert found["attributes"] == {"sex": one("sex", epsilon=0.1), "race": one("race", epsilon=1)}
    assert found["gap"] == max(each["gap"] for each in found["attributes"].values())
    assert found["intersections"]["fair"] is None
    assert [group["group"] for group in found["intersections"]["groups"]] == ["F & u", "F & v", "M & u", "M & v"]


def test_audit_within_strata(data: Path, run: Any) -> None:
    code, out, _ = run("audit", data, *ROLES, *STRATA, "--epsilon", "2", "--bootstrap", "0", "--format", "json")
    found = json.loads(out)
    assert code == 0 and found["fair"] is True
    inside = {name: one("sex", PEOPLE["job"] == name, epsilon=2) for name in ("office", "shop")}
    assert found["attributes"] == {"sex": inside}
    assert found["intersections"] is None


def test_audit_text_by_each_attribute(data: Path, run: Any) -> None:
    code, out, err = run("audit", data, *ROLES, *EACH, "--bootstrap", "0")
    assert code == 0
    first = [line.split("  ")[0] for line in out.splitlines()[1:5]]
    assert first == ["by", "sex", "race", "sex & race *"]
    assert "sex & race *: intersections, for information." in out
    fit = f"fairroc fit {shlex.quote(str(data))} --score p --label y"
    assert f"{fit} --group sex --group race --epsilon EPSILON --combine each" in err
    code, more, _ = run("audit", data, *ROLES, *EACH, "--bootstrap", "0", "--verbose")
    assert "By race:\n400 rows, 2 groups. Overall AUC" in more


def test_audit_of_ratios_in_strata(data: Path, run: Any) -> None:
    asked = ("--constraint", "demographic_parity", "--ratio", "0.8", "--where", "0.2:1", "--bootstrap", "0")
    code, out, err = run("audit", data, *ROLES, *STRATA, *asked)
    assert code == 1
    assert "By sex within office the ratio is NOT at least 0.8" in out and "smallest ratio" in out
    assert "--ratio 0.8 --constraint demographic_parity --where 0.2:1 --control job" in err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--stream",), "--stream and --max-distinct must be left out with --combine each and --control"),
        (("--small-groups", "drop"), "--small-groups must be error or merge with --combine each and --control"),
        (("--control", "id"), "sex must have two groups or more within '0'"),
    ],
)
def test_what_an_audit_refuses(data: Path, run: Any, flags: tuple[str, ...], words: str) -> None:
    code, out, err = run("audit", data, *ROLES, *EACH, *flags)
    assert (code, out) == (2, "") and words in err
