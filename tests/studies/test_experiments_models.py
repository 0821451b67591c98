"""The neural models and AutoGluon's ensemble: FNNC's constraint, what is learnt, and that nothing is left behind."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

from fairroc.errors import DataError, DatasetError, FairrocError
from fairroc_studies.models.recipes import RECIPES
from fairroc_studies.problems import registry as problems
from fairroc_studies.problems.problem import Problem, split


def made(n: int = 600, groups: int = 2, seed: int = 0) -> Problem:
    """People whose group shifts both their features and their labels, so that a plain model is far from equal odds."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    labels = rng.random(n) < 0.3 + 0.4 * group / max(1, groups - 1)
    features = pa.table(
        {
            "a": labels + group + rng.normal(size=n),
            "b": rng.normal(size=n),
            "word": np.where(rng.random(n) < 0.5, "x", "y"),
            "sex": np.array(list("fmxyz"))[group],
        }
    )
    names = np.array(list("fmxyz"))[group]
    return Problem("made", "made", features, ("sex",), labels, names, "m", "0" * 64)


def gap_by_hand(accepted: Any, labels: Any, groups: Any) -> float:
    def rate(group: Any, label: bool) -> float:
        chosen = [a for a, y, g in zip(accepted, labels, groups, strict=True) if g == group and y == label]
        return sum(chosen) / len(chosen)

    pairs = combinations(sorted(set(groups)), 2)
    return max(abs(rate(a, False) - rate(b, False)) + abs(rate(a, True) - rate(b, True)) for a, b in pairs)


# FNNC


def fnnc() -> Any:
    pytest.importorskip("torch", reason="FNNC needs torch")
    from fairroc_studies.models import fnnc

    return fnnc


@pytest.mark.parametrize(("name", "rows", "worst"), [("adult", 10000, 0.03), ("compas", None, 0.04)])
def test_fnnc_reaches_its_target_on_the_people_trained_on(name: str, rows: int | None, worst: float) -> None:
    """No slack: decisions at 1/2 on the training rows, and not by giving up being accurate (5 % target)."""
    problem = problems.load(name, rows=rows)
    train = split(problem, 0).train
    labels, groups = problem.labels[train], problem.groups[train]
    plain = fnnc().fit(problem, train, 0, protected=True)
    assert plain.reached > 0.08 and plain.multiplier == 0
    for target in (0.01, 0.05):
        fit = fnnc().fit(problem, train, 0, protected=True, target=target)
        gap = gap_by_hand(fit.scores[train] >= 0.5, labels, groups)
        assert fit.met and fit.reached == pytest.approx(gap, abs=1e-12) and gap <= target + 1e-12
        assert fit.accuracy == np.mean((fit.scores[train] >= 0.5) == labels)
    assert fit.accuracy >= plain.accuracy - worst > max(labels.mean(), 1 - labels.mean())


@pytest.mark.parametrize(("groups", "target"), [(3, 0.0), (3, 0.1), (4, 0.2)])
def test_fnnc_holds_every_pair_of_groups(groups: int, target: float) -> None:
    problem = made(900, groups)
    rows = split(problem, 0).train
    fit = fnnc().fit(problem, rows, 1, protected=False, target=target, batches=200)
    assert gap_by_hand(fit.scores[rows] >= 0.5, problem.labels[rows], problem.groups[rows]) <= target + 1e-12


def test_the_lagrangian_does_the_work() -> None:
    """The training brings the groups together, not the choice of a bias: a plain network has none so good."""
    module, problem = fnnc(), made(2000)
    rows = split(problem, 0).train
    cells = 2 * np.unique(problem.groups[rows], return_inverse=True)[1] + problem.labels[rows]
    plain = module.fit(problem, rows, 0, protected=True)
    logits = np.log(plain.scores[rows] / (1 - plain.scores[rows]))
    shifted, _ = module._best_shift(logits, cells, np.bincount(cells), 0.05)
    held = module.fit(problem, rows, 0, protected=True, target=0.05)
    assert held.accuracy > shifted + 0.02


def test_fnnc_is_repeatable_and_leaves_torch_alone() -> None:
    module, problem = fnnc(), made()
    import torch

    rows = split(problem, 0).train
    before = torch.get_num_threads(), torch.random.get_rng_state(), random.getstate()
    first = module.train(problem, rows, 0, protected=True, target=0.1, batches=50)
    assert torch.get_num_threads() == before[0]
    assert torch.equal(torch.random.get_rng_state(), before[1])
    assert random.getstate() == before[2]
    torch.manual_seed(5)
    again = module.train(problem, rows, 0, protected=True, target=0.1, batches=50)
    other = module.train(problem, rows, 1, protected=True, target=0.1, batches=50)
    if torch.cuda.is_available():
        assert np.allclose(first, again, atol=0.05)
    else:
        assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.isfinite(first).all() and (first >= 0).all() and (first <= 1).all()


@pytest.mark.parametrize("target", [-0.1, float("nan"), float("inf")])
def test_fnnc_of_no_target(target: float) -> None:
    problem = made(100)
    with pytest.raises(DataError, match="target must be a number from 0 on, or None"):
        fnnc().fit(problem, np.arange(50), 0, protected=True, target=target)


def test_a_group_with_one_label_is_under_no_constraint() -> None:
    problem = made(300, 3)
    rows = np.flatnonzero((problem.groups != "x") | ~problem.labels)
    fit = fnnc().fit(problem, rows, 0, protected=True, target=0.05, batches=60)
    kept = problem.groups[rows] != "x"
    assert gap_by_hand((fit.scores[rows] >= 0.5)[kept], problem.labels[rows][kept], problem.groups[rows][kept]) <= 0.05


@pytest.mark.parametrize("seed", range(5))
def test_best_shift_is_the_best_of_all(seed: int) -> None:
    """Against every threshold by hand, with ties among the logits."""
    module, rng = fnnc(), np.random.default_rng(seed)
    logits = rng.integers(-8, 8, 60).astype(np.float32) / 4
    labels, groups = rng.integers(0, 2, 60), rng.integers(0, 2 + seed % 2, 60)
    cells = 2 * groups + labels
    for target in (0.0, 0.2, 0.5, 3.0):
        accuracy, shift = module._best_shift(logits, cells, np.bincount(cells), target)
        found = []
        for cut in [-9.0, *np.unique(logits), 9.0]:
            accepted = logits >= cut
            if gap_by_hand(accepted, labels, groups) <= target + 1e-12:
                found.append(np.mean(accepted == labels))
        assert accuracy == max(found) == np.mean((logits >= shift) == labels)
        assert gap_by_hand(logits >= shift, labels, groups) <= target + 1e-12


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 5.0])
def test_beyond_is_the_rest_of_the_nearest_point(radius: float) -> None:
    """Against a search over the edge of the diamond."""
    module = fnnc()
    import torch

    vectors = np.random.default_rng(1).normal(size=(30, 2))
    along = np.linspace(0, 1, 4001)
    edge = np.concatenate([np.stack([a * along, b * (1 - along)], 1) for a, b in product((-1, 1), (-1, 1))]) * radius
    for vector, rest in zip(vectors, module._beyond(torch.from_numpy(vectors), radius).numpy(), strict=True):
        nearest = edge[np.argmin(((edge - vector) ** 2).sum(1))] if np.abs(vector).sum() > radius else vector
        assert rest == pytest.approx(vector - nearest, abs=1e-3)


def test_batches_hold_everybody_once_and_each_cell_in_proportion() -> None:
    module = fnnc()
    import torch

    rng = np.random.default_rng(0)
    cells = rng.choice(4, 3700, p=[0.5, 0.3, 0.15, 0.05])
    people = module._People(np.zeros((3700, 1), np.float32), np.arange(3700), cells)
    epoch = people.epochs(torch.Generator().manual_seed(0))
    orders = []
    for _ in range(2):
        batches = [next(epoch).cpu().numpy() for _ in range(people.batches)]
        orders.append(np.concatenate(batches))
        assert np.array_equal(np.sort(orders[-1]), np.arange(3700))
        for batch in batches:
            share = people.totals * len(batch) / 3700
            assert (np.abs(np.bincount(cells[batch], minlength=4) - share) <= 4).all()
    assert not np.array_equal(*orders)


@pytest.mark.parametrize("values", [[-1e-300, 0.0, 1e-300, -800.0, 800.0, -1e-17]])
def test_probabilities_say_on_which_side_of_a_half(values: list[float]) -> None:
    from fairroc_studies.models.neural import probabilities

    scores = probabilities(np.array(values))
    assert np.array_equal(scores >= 0.5, np.array(values) >= 0) and (scores >= 0).all() and (scores <= 1).all()


# all models of tables


def tables() -> list[Any]:
    return [pytest.param(RECIPES[name], id=name) for name in ("fnnc", "autogluon")]


@pytest.mark.parametrize("recipe", tables())
def test_models_of_tables(recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained on 180 people: it ranks others, labels of others play no part, without the protected column its values
    do not either, and nothing is left behind or said."""
    if recipe.missing():
        pytest.skip(recipe.missing())
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    problem = made(300)
    rows = split(problem, 0).train
    others = np.setdiff1d(np.arange(problem.rows), rows)
    scores = recipe.train(problem, rows, 0, protected=False)
    assert scores.shape == (300,) and scores.dtype == np.float64 and ((scores >= 0) & (scores <= 1)).all()
    assert roc_auc_score(problem.labels[others], scores[others]) > 0.7
    labels, sexes = problem.labels.copy(), problem.features["sex"].to_numpy(zero_copy_only=False).copy()
    labels[others] ^= True
    sexes[:] = sexes[::-1].copy()
    features = problem.features.set_column(problem.features.column_names.index("sex"), "sex", pa.array(sexes))
    assert np.array_equal(
        scores, recipe.train(replace(problem, labels=labels, features=features), rows, 0, protected=False)
    )
    assert not np.array_equal(scores, recipe.train(problem, rows, 0, protected=True))
    torch_makes = "torchinductor_"  # where it is first imported
    assert not [place for place in tmp_path.iterdir() if not place.name.startswith(torch_makes)]


def test_ensemble_without_time() -> None:
    if reason := RECIPES["autogluon"].missing():
        pytest.skip(reason)
    problem = made(100)
    with pytest.raises(FairrocError, match=r"must come out with WeightedEnsemble_L2.*more time"):
        RECIPES["autogluon"].train(problem, np.arange(60), 0, protected=True, seconds=0.01)


# ResNet


def faces(folder: Path, n: int = 60, size: tuple[int, int] = (32, 40)) -> Problem:
    """Pictures whose colour tells the label, but for noise."""
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow")
    rng = np.random.default_rng(0)
    labels, sex = rng.random(n) < 0.5, rng.integers(0, 2, n)
    names = [f"{row:03}.jpg" for row in range(n)]
    for name, label in zip(names, labels, strict=True):
        pixels = rng.integers(0, 120, (size[1], size[0], 3))
        pixels[..., 0 if label else 2] += 110
        image.fromarray(pixels.astype(np.uint8)).save(folder / name)
    features = pa.table({"image": names, "Male": sex})
    groups = np.where(sex == 1, "Male", "Female")
    return Problem("faces", "faces", features, ("Male",), labels, groups, "Male", "0" * 64, images=folder)


def resnet() -> Any:
    pytest.importorskip("torch", reason="ResNet needs torch")
    pytest.importorskip("PIL", reason="ResNet needs pillow")
    from fairroc_studies.models import resnet

    return resnet


OPTIONS: dict[str, Any] = {"epochs": 4, "batch": 8, "side": 32}


@pytest.mark.parametrize("protected", [True, False])
def test_resnet_learns_colours(tmp_path: Path, protected: bool) -> None:
    problem = faces(tmp_path)
    rows, steps = np.arange(40), []
    scores = resnet().train(
        problem, rows, 0, protected=protected, progress=lambda done, total: steps.append((done, total)), **OPTIONS
    )
    assert scores.shape == (60,) and ((scores >= 0) & (scores <= 1)).all()
    assert roc_auc_score(problem.labels[40:], scores[40:]) > 0.9
    done, totals = zip(*steps, strict=True)
    assert list(done) == sorted(set(done)) and set(totals) == {done[-1]}


def test_resnet_uses_the_group_only_if_it_may(tmp_path: Path) -> None:
    problem = faces(tmp_path, 24)
    swapped = replace(problem, groups=np.where(problem.groups == "Male", "Female", "Male"))
    options = {**OPTIONS, "epochs": 1}
    for protected in (True, False):
        a, b = (resnet().train(p, np.arange(12), 0, protected=protected, **options) for p in (problem, swapped))
        assert np.array_equal(a, b) is not protected


def test_pictures_are_the_scaled_middle(tmp_path: Path) -> None:
    """A picture of three bands, the middle one square: only this is read, whatever the orientation."""
    module = resnet()
    from PIL import Image

    bands = np.zeros((10, 30, 3), np.uint8)
    bands[:, :10, 0], bands[:, 10:20, 1], bands[:, 20:, 2] = 200, 200, 200
    for name, pixels in (("wide.png", bands), ("tall.png", bands.transpose(1, 0, 2)), ("grey.png", bands[..., 1])):
        Image.fromarray(np.ascontiguousarray(pixels)).save(tmp_path / name)
    pictures = module.Pictures(tmp_path, ("wide.png", "tall.png", "grey.png"), 4)
    for picture, colours in zip(pictures.read_all(lambda _: None), ([0, 200, 0], [0, 200, 0], [200] * 3), strict=True):
        assert picture.shape == (3, 4, 4)
        assert picture[:, 1:-1, 1:-1].tolist() == [[[value] * 2] * 2 for value in colours]


def test_missing_and_broken_pictures_are_named(tmp_path: Path) -> None:
    problem = faces(tmp_path, 8)
    (tmp_path / "003.jpg").write_bytes(b"no picture")
    with pytest.raises(DatasetError, match=r"003\.jpg cannot be read"):
        resnet().train(problem, np.arange(8), 0, protected=False, **OPTIONS)
    (tmp_path / "003.jpg").unlink()
    with pytest.raises(DatasetError, match=r"there is no file .*003\.jpg. Unpack"):
        resnet().train(problem, np.arange(8), 0, protected=False, **OPTIONS)
    with pytest.raises(DataError, match="a ResNet needs pictures, but 'faces' comes without"):
        resnet().train(replace(problem, images=None), np.arange(8), 0, protected=False, **OPTIONS)


def test_resnet_is_the_published_one() -> None:
    """11,689,512 weights with its 1,000 classes (the figure torchvision documents); here there is one class."""
    module = resnet()
    network = module._network(0)
    count = sum(weights.numel() for weights in network.parameters())
    assert count == 11_689_512 - 1000 * 513 + 513
    names = set(network.state_dict())
    assert {"conv1.weight", "bn1.running_mean", "layer2.0.downsample.0.weight", "layer4.1.bn2.bias", "fc.bias"} <= names


def test_resnet_begins_with_given_weights(tmp_path: Path) -> None:
    module = resnet()
    import torch

    source, network = module._network(0), module._network(2)
    with torch.no_grad():
        for weights in source.parameters():
            weights.fill_(0.25)
    torch.save(source.state_dict(), tmp_path / "weights.pt")
    module._begin_with(network, tmp_path / "weights.pt")
    own = network.state_dict()
    assert all(torch.equal(own[name], value) for name, value in source.state_dict().items() if "fc" not in name)
    assert own["fc.weight"].shape == (1, 514) and not (own["fc.weight"] == 0.25).all()
    torch.save({"conv1.weight": torch.zeros(3)}, tmp_path / "other.pt")
    with pytest.raises(DataError, match=r"must be those of a ResNet-18, but .*other\.pt has no 'conv1\.weight'"):
        module._begin_with(network, tmp_path / "other.pt")
    with pytest.raises(DatasetError, match=r"there is none at .*none\.pt"):
        module._begin_with(network, tmp_path / "none.pt")
