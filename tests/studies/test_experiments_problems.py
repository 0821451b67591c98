"""fairroc.experiments: problems, splits, the models of scikit-learn, and their scores.

Models must see neither the labels of the people they are measured on nor, if told so, the protected columns.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.errors import DataError, DatasetError
from fairroc_studies.harness.store import Store
from fairroc_studies.models.linear import matrix
from fairroc_studies.models.recipes import RECIPES, Recipe, scored
from fairroc_studies.problems import problem as problem_module
from fairroc_studies.problems import registry as problems
from fairroc_studies.problems.problem import Problem, Split, digest, inputs, split
from fairroc_studies.problems.registry import FULL, PROBLEMS, QUICK, load

TABLES = [name for name in FULL if name != "celeba"]
MODELS = ["lr", "rf"]


def made(sizes: dict[tuple[str, bool], int], seed: int = 0) -> Problem:
    """People of these groups and labels, shuffled, with words, numbers and nulls."""
    random = np.random.default_rng(seed)
    groups = np.array([group for (group, _), n in sizes.items() for _ in range(n)])
    labels = np.array([label for (_, label), n in sizes.items() for _ in range(n)], dtype=bool)
    order = random.permutation(len(groups))
    groups, labels = groups[order], labels[order]
    n = len(groups)
    word = random.choice(["x", "y", "z", "rare"], n, p=[0.4, 0.3, 0.25, 0.05]).tolist()
    number = (random.normal(size=n) + labels).tolist()
    features = pa.table(
        {
            "group": groups.tolist(),
            "word": [None if drop else value for value, drop in zip(word, random.random(n) < 0.1, strict=True)],
            "number": [None if drop else value for value, drop in zip(number, random.random(n) < 0.1, strict=True)],
            "count": random.integers(0, 5, n),
            "constant": np.full(n, 0.1),
        }
    )
    problem = Problem("made", "made up", features, ("group",), labels, groups, "a", "")
    return replace(problem, digest=digest(problem))


SIZES = {("a", False): 61, ("a", True): 37, ("b", False): 44, ("b", True): 58}


def cells(problem: Problem, rows: Any = slice(None)) -> Counter[tuple[str, bool]]:
    return Counter(zip(problem.groups[rows].tolist(), problem.labels[rows].tolist(), strict=True))


def with_column(problem: Problem, name: str, values: Any) -> Problem:
    place = problem.features.column_names.index(name)
    return replace(problem, features=problem.features.set_column(place, name, pa.array(values)))


# Problems


@pytest.mark.parametrize("name", TABLES)
def test_every_problem_is_whole(name: str) -> None:
    problem = load(name)
    assert problem.name == name and problem.title == PROBLEMS[name].title
    assert len(problem.labels) == len(problem.groups) == problem.features.num_rows == problem.rows
    assert problem.rows == (48_842 if name.startswith("adult") else 6_172)
    assert set(problem.protected) < set(problem.features.column_names)
    assert {*problem.unprivileged, problem.privileged} == set(problem.groups.tolist())
    assert problem.privileged not in problem.unprivileged
    assert not {"label", "income", "two_year_recid", "Two_yr_Recidivism"} & set(problem.features.column_names)
    assert len(cells(problem)) == 2 * len(set(problem.groups.tolist()))
    part = split(problem, 3)
    for rows in (part.train, part.calibration, part.test):
        assert min(cells(problem, rows).values()) >= 25
    with pytest.raises(ValueError, match="read-only"):
        problem.labels[0] = True


def test_adult_is_all_of_it() -> None:
    problem = load("adult")
    assert problem.features.num_columns == 14
    assert int(problem.labels.sum()) == 7_841 + 3_846
    assert problem.features["occupation"].null_count == 2_809
    assert problem.privileged == "Male" and problem.unprivileged == ("Female",)
    assert problem.groups.tolist() == problem.features["sex"].to_pylist()


@pytest.mark.parametrize("name", ["compas", "compas-propublica"])
def test_compas_has_the_groups_of_the_paper(name: str) -> None:
    problem = load(name)
    assert cells(problem) == {
        ("African-American", False): 1_514,
        ("African-American", True): 1_661,
        ("Other", False): 3_363 - 1_514,
        ("Other", True): 2_809 - 1_661,
    }
    assert problem.privileged == "Other"


def test_compas_features_are_the_table_but_its_label() -> None:
    problem = load("compas")
    assert problem.features.num_columns == 11
    left = inputs(problem, protected=False).column_names
    assert left == [
        *("Number_of_Priors", "score_factor", "Age_Above_FourtyFive", "Age_Below_TwentyFive", "Female", "Misdemeanor")
    ]
    assert "Female" not in inputs(load("compas-race-sex"), protected=False).column_names


def test_raw_compas_leaves_out_what_compas_made_and_what_came_later() -> None:
    assert set(load("compas-propublica").features.column_names) == {
        *("sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"),
        "c_charge_degree",
    }


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("adult-race", {"White", "Black", "Other"}),
        ("compas-race", {"African-American", "Caucasian", "Hispanic", "Other"}),
        ("adult-sex-race", {"Female & White", "Female & Other", "Male & White", "Male & Other"}),
        (
            "compas-race-sex",
            {f"{race} & {sex}" for race in ("African-American", "Other") for sex in ("Female", "Male")},
        ),
    ],
)
def test_no_more_races_are_merged_than_needed(name: str, groups: set[str]) -> None:
    problem = load(name)
    assert set(problem.groups.tolist()) == groups
    assert min(cells(problem).values()) >= problems.LEAST
    people = (
        problems._words(load(name.partition("-")[0] + "-propublica").features, "race") if "compas" in name else None
    )
    race = problems._words(problem.features, "race") if people is None else people
    merged = race[np.char.find(problem.groups, "Other") >= 0]
    largest = Counter(merged.tolist()).most_common(1)[0][0]
    finer = np.where(race == largest, np.char.add(problem.groups, "!"), problem.groups)
    assert min(cells(replace(problem, groups=finer)).values()) < problems.LEAST


@pytest.mark.parametrize("rows", [1, 200, 3_000, 10**9])
@pytest.mark.parametrize("name", ["compas", "compas-race"])
def test_sample_keeps_everybody_in_proportion(name: str, rows: int) -> None:
    whole, some = load(name), load(name, rows=rows)
    share = min(rows / whole.rows, 1)
    for cell, n in cells(whole).items():
        assert cells(some)[cell] == max(round(share * n), problem_module.TINY)
    assert some.features.num_rows == some.rows
    kept = set(map(tuple, some.features.to_pandas().astype(str).to_numpy().tolist()))
    assert kept <= set(map(tuple, whole.features.to_pandas().astype(str).to_numpy().tolist()))
    assert (some.digest == whole.digest) == (rows > whole.rows)
    assert some.digest == load(name, rows=rows).digest
    split(some, 0)


@pytest.mark.parametrize("rows", [0, -1, 2.5, True])
def test_sample_of_no_number(rows: Any) -> None:
    with pytest.raises(DataError, match="rows must be a whole number above 0, or None for everybody; got"):
        load("compas", rows=rows)


def test_unknown_problem() -> None:
    with pytest.raises(DataError, match=r"no problem 'adlt'; choose one of: adult, compas, .*Did you mean 'adult'\?"):
        load("adlt")
    assert set(QUICK) < set(FULL) < set(PROBLEMS)


# Splits


@given(st.lists(st.integers(5, 40), min_size=4, max_size=6).filter(lambda n: len(n) % 2 == 0), st.integers(0, 99))
def test_split_shares_everybody_out(sizes: list[int], seed: int) -> None:
    names = [(group, label) for group in "abc" for label in (False, True)]
    problem = made(dict(zip(names, sizes, strict=False)))
    parts = split(problem, seed)
    assert parts.seed == seed
    rows = np.concatenate([parts.train, parts.calibration, parts.test])
    assert np.array_equal(np.sort(rows), np.arange(problem.rows))
    for cell, n in cells(problem).items():
        for part, share in ((parts.train, 0.6), (parts.calibration, 0.2), (parts.test, 0.2)):
            assert abs(cells(problem, part)[cell] - share * n) <= 1
            assert cells(problem, part)[cell] >= 1


def test_split_depends_on_the_seed_alone() -> None:
    problem = made(SIZES)
    for seed in range(3):
        assert np.array_equal(split(problem, seed).train, split(problem, seed).train)
        assert not np.array_equal(split(problem, seed).train, split(problem, seed + 1).train)


def test_split_of_too_few() -> None:
    with pytest.raises(DataError, match=r"5 people or more .* group 'b' has 4 with label 1\. Take more rows"):
        split(made({("a", False): 9, ("a", True): 9, ("b", False): 9, ("b", True): 4}), 0)


def test_own_partition_is_the_first_split() -> None:
    problem = made(SIZES)
    own = np.random.default_rng(1).choice(["train", "valid", "test"], problem.rows)
    parted = replace(problem, partition=own)
    parts = split(parted, 0)
    for name, rows in (("train", parts.train), ("valid", parts.calibration), ("test", parts.test)):
        assert rows.tolist() == [row for row in range(problem.rows) if own[row] == name]
    assert np.array_equal(split(parted, 1).train, split(problem, 1).train)


# Digests


@given(st.data())
def test_any_change_changes_the_digest(data: st.DataObject) -> None:
    problem = made(SIZES)
    assert digest(problem) == problem.digest
    names = problem.features.column_names
    column, row = data.draw(st.sampled_from(names)), data.draw(st.integers(0, problem.rows - 1))
    values = problem.features[column].to_pylist()
    new = data.draw(st.sampled_from(["new", None, "x"] if column in ("group", "word") else [None, -1.5, 7]))
    other = with_column(problem, column, [new if i == row else value for i, value in enumerate(values)])
    assert (digest(other) == problem.digest) == (new == values[row])
    labels, groups = problem.labels.copy(), problem.groups.copy()
    labels[row], groups[row] = not labels[row], "c"
    assert digest(replace(problem, labels=labels)) != problem.digest
    assert digest(replace(problem, groups=groups)) != problem.digest


def test_every_field_is_in_the_digest() -> None:
    problem = made(SIZES)
    renamed = [f"{name}!" for name in problem.features.column_names]
    changes: dict[str, Any] = {
        "name": "other",
        "title": "other",
        "features": problem.features.rename_columns(renamed),
        "protected": ("group", "word"),
        "labels": ~problem.labels,
        "groups": np.where(problem.groups == "a", "b", "a"),
        "privileged": "b",
        "partition": np.full(problem.rows, "test"),
    }
    assert {field.name for field in fields(Problem)} == {*changes, "digest", "images"}  # pictures: see CelebA
    digests = {digest(replace(problem, **{name: value})) for name, value in changes.items()}
    assert len({*digests, problem.digest}) == len(changes) + 1


def test_digest_is_about_values_not_about_storage() -> None:
    problem = made(SIZES)
    halves = pa.concat_tables([problem.features.slice(0, 7), problem.features.slice(7)])
    assert halves["word"].num_chunks == 2
    schema = {"group": pa.large_string(), "word": pa.string(), "number": pa.float64(), "count": pa.int8()}
    cast = halves.cast(pa.schema({**schema, "constant": pa.float64()}))
    assert digest(replace(problem, features=cast)) == problem.digest


# The table of numbers


def sklearn_matrix(problem: Problem, rows: Any) -> np.ndarray:
    """The same by scikit-learn's own encoders."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = problem.features.to_pandas()
    words = frame[["group", "word"]].astype(object)
    frame["group"], frame["word"] = words["group"], words["word"].where(words["word"].notna(), None)
    numeric = ["number", "count", "constant"]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["group", "word"]),
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
    )
    lost = frame[["number"]].isna().to_numpy(dtype=float)
    encoded = encoder.fit(frame.iloc[rows]).transform(frame)
    return np.hstack([encoded, lost]) if lost[rows].any() else encoded


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(8, 60))
def test_matrix_is_that_of_scikit_learns_encoders(seed: int, n: int) -> None:
    """Columns may come in another order, which inner products of rows do not see."""
    problem = made(SIZES, seed)
    rows = np.random.default_rng(seed).permutation(problem.rows)[:n]
    X, expected = matrix(problem, rows, protected=True), sklearn_matrix(problem, rows)
    assert X.shape == expected.shape and X.dtype == np.float64
    np.testing.assert_allclose(X @ X.T, expected @ expected.T, atol=1e-9)


def test_matrix_of_a_column_without_values() -> None:
    problem = made(SIZES)
    rows = np.arange(50)
    values = [None] * 50 + [2.0] * (problem.rows - 50)
    X = matrix(with_column(problem, "number", values), rows, protected=False)
    assert np.isfinite(X).all()


def test_matrix_leaves_out_pictures_and_protected_columns() -> None:
    problem = made(SIZES)
    rows = np.arange(100)
    pictures = replace(problem, features=problem.features.append_column("image", pa.array(["x.jpg"] * problem.rows)))
    assert np.array_equal(matrix(pictures, rows, protected=True), matrix(problem, rows, protected=True))
    bare = replace(problem, features=problem.features.drop_columns(["group"]), protected=())
    assert np.array_equal(matrix(problem, rows, protected=False), matrix(bare, rows, protected=True))


# Models


def changed_labels(problem: Problem, rows: Any, random: np.random.Generator) -> Problem:
    labels = problem.labels.copy()
    labels[rows] = random.random(len(rows)) < 0.5
    return replace(problem, labels=labels)


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_models_see_labels_of_the_training_rows_only(model: str, seed: int) -> None:
    problem, random = made(SIZES, seed), np.random.default_rng(seed)
    parts, train = split(problem, seed), RECIPES[model].train
    scores = train(problem, parts.train, seed, protected=True)
    unseen = np.concatenate([parts.calibration, parts.test])
    assert np.array_equal(train(changed_labels(problem, unseen, random), parts.train, seed, protected=True), scores)
    assert not np.array_equal(
        train(changed_labels(problem, parts.train, random), parts.train, seed, protected=True), scores
    )


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_models_without_protected_columns_do_not_see_them(model: str, seed: int) -> None:
    problem, random = made(SIZES, seed), np.random.default_rng(seed)
    rows, train = split(problem, seed).train, RECIPES[model].train
    told = with_column(
        problem, "group", np.where(problem.labels, "p", random.choice(["q", "r"], problem.rows)).tolist()
    )
    assert np.array_equal(train(problem, rows, seed, protected=False), train(told, rows, seed, protected=False))
    assert not np.array_equal(train(problem, rows, seed, protected=True), train(told, rows, seed, protected=True))


@pytest.mark.parametrize("model", MODELS)
def test_models_rank_people(model: str) -> None:
    """Published AUCs of such models on COMPAS are about .7; chance is .5."""
    problem = load("compas")
    parts = split(problem, 0)
    scores = RECIPES[model].train(problem, parts.train, 0, protected=True)
    high, low = (scores[parts.test][problem.labels[parts.test] == label] for label in (True, False))
    assert (high[:, None] > low).mean() + (high[:, None] == low).mean() / 2 > 0.68
    assert scores.min() >= 0 and scores.max() <= 1


def test_logistic_regression_is_at_its_optimum() -> None:
    """Where the likelihood less half the squared weights is largest, the weights are X'(y - p) of the training rows, so
    every logit is the intercept plus that."""
    problem = load("adult", rows=3_000)
    rows = split(problem, 0).train
    X = matrix(problem, rows, protected=True)
    scores = RECIPES["lr"].train(problem, rows, 0, protected=True)
    left = problem.labels[rows] - scores[rows]
    intercepts = np.log(scores / (1 - scores)) - X @ (X[rows].T @ left)
    assert abs(left.mean()) < 1e-9
    clear = (scores > 1e-3) & (scores < 1 - 1e-3)  # elsewhere rounding hides the logit
    assert clear.mean() > 0.8 and np.ptp(intercepts[clear]) < 1e-4


def test_forest_depends_on_the_seed() -> None:
    problem = made(SIZES)
    rows, train = split(problem, 0).train, RECIPES["rf"].train
    assert np.array_equal(train(problem, rows, 1, protected=True), train(problem, rows, 1, protected=True))
    assert not np.array_equal(train(problem, rows, 1, protected=True), train(problem, rows, 2, protected=True))


# Recipes


def test_recipes_stand_on_the_text_of_their_modules() -> None:
    from fairroc_studies.harness.store import source_digest

    assert list(RECIPES) == [recipe.name for recipe in RECIPES.values()]
    assert {"lr", "rf", "fnnc", "autogluon", "resnet"} == set(RECIPES)
    assert len({source_digest(recipe.train.__module__) for recipe in RECIPES.values()}) == 4  # lr and rf share theirs


def test_missing_sees_into_packages_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    recipe = Recipe("m", "my model", print, ("made_of_parts.tabular", "numpy"))
    why = "my model: made_of_parts.tabular not installed; run: pip install './studies[models]'"
    assert recipe.missing() == why
    (tmp_path / "made_of_parts" / "core").mkdir(parents=True)
    assert recipe.missing() == why
    (tmp_path / "made_of_parts" / "tabular").mkdir()
    (tmp_path / "made_of_parts" / "tabular" / "__init__.py").write_text("raise SystemExit('must not be loaded')")
    assert recipe.missing() is None


# Scores


class Counting:
    """Trains nothing, counts how often; scores depend on all it is given."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, problem: Problem, rows: Any, seed: int, *, protected: bool, shift: float = 0.0) -> Any:
        self.calls += 1
        return np.arange(problem.rows) / problem.rows + shift + seed + protected + rows.sum()


def counting() -> tuple[Counting, Recipe]:
    train = Counting()
    return train, Recipe("counting", "counting", train, ("sklearn",), ("fairroc_studies.models.linear",))


def test_scored_are_the_parts() -> None:
    problem = made(SIZES)
    parts = split(problem, 4)
    result = scored(problem, RECIPES["lr"], parts, protected=False)
    scores = RECIPES["lr"].train(problem, parts.train, 4, protected=False)
    assert (result.problem, result.model, result.protected, result.seed) == ("made", "lr", False, 4)
    assert result.privileged == "a"
    pairs = ((result.train, parts.train), (result.calibration, parts.calibration), (result.test, parts.test))
    for columns, rows in pairs:
        assert np.array_equal(columns.scores, scores[rows])
        assert np.array_equal(columns.labels, problem.labels[rows])
        assert np.array_equal(columns.group_names, problem.groups[rows])
        assert columns.names == ("a", "b")


def test_cache_saves_the_training(tmp_path: Path) -> None:
    problem, (train, recipe) = made(SIZES), counting()
    parts, store = split(problem, 0), Store(tmp_path)
    first = scored(problem, recipe, parts, protected=True, cache=store)
    second = scored(problem, recipe, parts, protected=True, cache=Store(tmp_path))
    assert train.calls == 1
    assert first.digest == second.digest
    assert np.array_equal(first.test.scores, second.test.scores)
    scored(problem, recipe, parts, protected=True)
    assert train.calls == 2


def test_cache_tells_everything_apart(tmp_path: Path) -> None:
    problem, (train, recipe) = made(SIZES), counting()
    store = Store(tmp_path)

    def run(
        problem: Problem = problem, recipe: Recipe = recipe, seed: int = 0, protected: bool = True, **options: Any
    ) -> str:
        return scored(problem, recipe, split(problem, seed), protected=protected, cache=store, **options).digest

    seen = {
        run(),
        run(problem=made(SIZES, 1)),
        run(seed=1),
        run(protected=False),
        run(shift=1.0),
    }
    assert train.calls == len(seen) == 5

    def elsewhere(*arguments: Any, **options: Any) -> Any:
        return train(*arguments, **options)

    elsewhere.__module__ = "fairroc_studies.problems.registry"
    for other in (
        replace(recipe, name="other"),
        replace(recipe, train=elsewhere),
        replace(recipe, needs=("pyarrow",)),
    ):
        before = train.calls
        assert run(recipe=other) in seen
        assert train.calls == before + 1


def test_scored_digest_tells_scores_labels_and_groups() -> None:
    problem, (_, recipe) = made(SIZES), counting()
    parts = split(problem, 0)
    labels, groups = problem.labels.copy(), problem.groups.copy()
    labels[0], groups[0] = not labels[0], "a" if groups[0] == "b" else "b"
    results = [
        scored(other, recipe, parts, protected=True, **options).digest
        for other, options in (
            (problem, {}),
            (problem, {"shift": 1e-6}),
            (replace(problem, labels=labels), {}),
            (replace(problem, groups=groups), {}),
        )
    ]
    assert len(set(results)) == len(results)


@pytest.mark.parametrize(
    ("scores", "came"),
    [
        (np.zeros(3), r"got scores of shape \(3,\), 3 of them finite"),
        (np.full(200, np.nan), r"got scores of shape \(200,\), 0 of them finite"),
        (np.zeros((200, 1)), r"got scores of shape \(200, 1\), 200 of them finite"),
    ],
)
def test_scores_that_cannot_be_used(scores: Any, came: str) -> None:
    recipe = Recipe("bad", "bad model", lambda *_, **__: scores)
    problem = made(SIZES)
    with pytest.raises(DataError, match=f"bad model must give each of 200 people one finite score; {came}"):
        scored(problem, recipe, split(problem, 0), protected=True)


def test_model_that_cannot_be_trained_here() -> None:
    problem = made(SIZES)
    parts = split(problem, 0)
    with pytest.raises(DataError, match="nothing: no_such_module not installed; run: pip install"):
        scored(problem, Recipe("n", "nothing", print, ("no_such_module",)), parts, protected=True)
    with pytest.raises(DatasetError, match=r"learns from pictures, and made up has none\. Choose CelebA"):
        scored(problem, Recipe("i", "images", print, images=True), parts, protected=True)


# CelebA


def write_celeba(folder: Path, n: int = 400, *, partition: bool = True) -> None:
    """Men are tall, women smile; the partition comes in order, as the original does."""
    random = np.random.default_rng(0)
    male = random.random(n) < 0.4
    values = {
        "Attractive": random.random(n) < np.where(male, 0.3, 0.7),
        "Smiling": random.random(n) < 0.5,
        "Male": male,
        "Tall": random.random(n) < np.where(male, 0.8, 0.3),
    }
    names = [f"{i + 1:06d}.jpg" for i in range(n)]
    lines = [" ".join([name, *("1" if values[a][i] else "-1" for a in values)]) for i, name in enumerate(names)]
    (folder / "list_attr_celeba.txt").write_text("\n".join([str(n), " ".join(values), *lines, ""]))
    if partition:
        parts = [0 if i < n * 0.6 else 1 if i < n * 0.8 else 2 for i in range(n)]
        lines = [f"{name} {part}\n" for name, part in zip(names, parts, strict=True)]
        (folder / "list_eval_partition.txt").write_text("".join(lines))


def write_pictures(folder: Path, names: list[str]) -> Path:
    place = folder / "img_align_celeba"
    place.mkdir()
    for name in names:
        (place / name).write_bytes(b"jpg")
    return place


def test_celeba(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    problem = load("celeba", celeba=tmp_path)
    assert problem.title == "CelebA, Attractive by sex"
    assert problem.features.column_names == ["image", "Smiling", "Male", "Tall"]
    assert problem.protected == ("Male",)
    assert problem.privileged == "Female" and problem.unprivileged == ("Male",)
    assert problem.images is None
    parts = split(problem, 0)
    assert [len(rows) for rows in (parts.train, parts.calibration, parts.test)] == [240, 80, 80]
    assert parts.train.tolist() == list(range(240))
    assert scored(problem, RECIPES["lr"], parts, protected=True).test.rows == 80


def test_celeba_by_another_attribute(tmp_path: Path) -> None:
    write_celeba(tmp_path, partition=False)
    problem = load("celeba", celeba=tmp_path, target="tall")
    assert problem.title == "CelebA, Tall by sex"
    assert problem.privileged == "Male"
    assert "Tall" not in problem.features.column_names and "Attractive" in problem.features.column_names
    assert problem.partition is None
    assert len(split(problem, 0).train) == 240
    with pytest.raises(DatasetError, match=r"none called 'Smilling'\. Did you mean 'Smiling'\?"):
        load("celeba", celeba=tmp_path, target="Smilling")
    with pytest.raises(DataError, match="another attribute than the group's, Male"):
        load("celeba", celeba=tmp_path, target="male")


def test_celeba_sample_keeps_every_part(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    problem = load("celeba", celeba=tmp_path, rows=60)
    parts = split(problem, 0)
    whole = load("celeba", celeba=tmp_path)
    for part, rows in (("train", parts.train), ("valid", parts.calibration), ("test", parts.test)):
        for cell, n in cells(whole, whole.partition == part).items():
            assert cells(problem, rows)[cell] == min(max(round(n * 60 / 400), problem_module.TINY), n)


def test_celeba_pictures(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    without = load("celeba", celeba=tmp_path, rows=60)
    names = without.features["image"].to_pylist()
    place = write_pictures(tmp_path, names)
    problem = load("celeba", celeba=tmp_path, rows=60)
    assert problem.images == place
    assert problem.digest != without.digest
    (place / names[0]).write_bytes(b"another picture")
    assert load("celeba", celeba=tmp_path, rows=60).digest != problem.digest
    missing = 400 - len(names)
    with pytest.raises(DatasetError, match=f"must hold every picture of the attribute file; {missing} of 400"):
        load("celeba", celeba=tmp_path)


def test_celeba_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"CelebA needs list_attr_celeba\.txt"):
        load("celeba", celeba=tmp_path)


def test_splits_share_nobody() -> None:
    """Split is what later stages trust: rows of three parts of real people."""
    problem = load("compas")
    parts: Split = split(problem, 9)
    assert not set(parts.train) & set(parts.calibration) and not set(parts.test) & set(parts.train)
