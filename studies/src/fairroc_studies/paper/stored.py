"""Our FairProjection beside the results that its authors stored.

Their protocol: ten seeded splits 70 / 30; the classifier and the projection both fitted on the 70 %; decisions at 0.5
on the 30 %. COMPAS: African-American and Caucasian people of ProPublica's filter; is_recid from age, charge degree,
race, sex, priors and days in jail. Adult: Black and White people (their Adult run is on race, not on sex); income
above 50K from age, years of education, race, sex, capital gain and loss, hours, marital status and relationship. Mean
equalized odds (MEO) is (|dTPR| + |dFPR|) / 2. Theirs estimates the group from the features (race among them), ours
knows it. Protocol and constraint were read from their public code, and the regularisation of each divergence was
picked among two by the COMPAS figures, so that agreement there is a check of the solver, not a forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc_studies.paper.published import ADULT_GROUPS, COMPAS_GROUPS, PROJECTIONS, Projected
from fairroc_studies.peers.fairprojection import Divergence, fit_as_authors

if TYPE_CHECKING:
    import pyarrow as pa


Array: TypeAlias = NDArray[Any]
People: TypeAlias = tuple[Array, Array, Array]
"""Features (or scores), labels (0 or 1), groups (0 or 1)."""
Fold: TypeAlias = tuple[People, People]
"""One split: scores, labels and groups of the 70 % and of the 30 %."""

SPLITS = 10
CLOSE = 0.01
"""No standard errors are stored; a figure as near as this counts as reproduced."""
NEEDS = ("sklearn",)
"""Modules whose versions decide about the figures too."""

DIVERGENCES: dict[str, Divergence] = {"FairProjection-CE": "ce", "FairProjection-KL": "kl"}
STORED = tuple(stored for stored in PROJECTIONS if stored.method in DIVERGENCES)
"""What `check` repeats."""


@dataclass(frozen=True, slots=True)
class Check:
    """One tolerance: what we measured and what is stored."""

    data: str
    model: str
    method: str
    tolerance: float
    accuracy: float
    meo: float
    stored_accuracy: float
    stored_meo: float

    @property
    def off(self) -> float:
        """The larger of the two differences."""
        return max(abs(self.accuracy - self.stored_accuracy), abs(self.meo - self.stored_meo))

    @property
    def close(self) -> bool:
        """Whether both figures are reproduced."""
        return self.off <= CLOSE


def check(stored: Iterable[Projected] = STORED, *, splits: int = SPLITS) -> tuple[Check, ...]:
    """Run the authors' protocol for stored results of theirs and put every figure beside the stored one.

    Needs scikit-learn and the data sets. Fewer ``splits`` than ten are faster and farther off.
    """
    wanted = tuple(stored)
    folds: dict[tuple[str, str], list[Fold]] = {}
    for data, model in dict.fromkeys((one.data, one.model) for one in wanted):
        folds[data, model] = list(_folds(PEOPLE[data](), model, splits))
    return tuple(row for one in wanted for row in _rows(one, folds[one.data, one.model]))


def _rows(stored: Projected, folds: Sequence[Fold]) -> Iterator[Check]:
    for tolerance, accuracy, meo in stored.points:
        at = float(tolerance or 0.0)
        ours = np.mean([_figures(fold, DIVERGENCES[stored.method], at) for fold in folds], axis=0)
        yield Check(stored.data, stored.model, stored.method, at, float(ours[0]), float(ours[1]), accuracy, meo)


def _folds(people: People, model: str, splits: int) -> Iterator[Fold]:
    from sklearn.model_selection import train_test_split

    features, y, group = people
    for split in range(splits):
        train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=split)
        scores = _classifier(model).fit(features[train], y[train]).predict_proba(features)[:, 1]
        yield (scores[train], y[train], group[train]), (scores[test], y[test], group[test])


def _figures(fold: Fold, divergence: Divergence, tolerance: float) -> tuple[float, float]:
    """Accuracy and MEO."""
    post = fit_as_authors(divergence, tolerance, *fold[0])
    scores, y, group = fold[1]
    yes = post.transform(scores, group) > 0.5
    first, second = (np.array([yes[(group == a) & (y == label)].mean() for label in (0, 1)]) for a in (0, 1))
    return float(np.mean(yes == y)), float(np.mean(np.abs(first - second)))


def _classifier(model: str) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    if model == "random forest":
        return RandomForestClassifier(10, min_samples_leaf=10, random_state=42)
    return LogisticRegression(max_iter=10_000)


# -- people ------------------------------------------------------------------------------------------------------------


def _compas() -> People:
    from fairroc.datasets import load_compas

    table = _among(load_compas(filtered=True), "race", ("African-American", "Caucasian"))
    stay = (_column(table, "c_jail_out") - _column(table, "c_jail_in")) // np.timedelta64(1, "D")
    group, sex = _is(table, "race", "Caucasian"), _is(table, "sex", "Male")
    degree = 2 * _is(table, "c_charge_degree", "F") - 1
    features = (_column(table, "age"), degree, group, sex, _column(table, "priors_count"), stay)
    return np.column_stack(features).astype(np.float64), _column(table, "is_recid"), group


def _adult() -> People:
    from fairroc.datasets import load_adult

    table = _among(load_adult(), "race", ("Black", "White"))
    group, sex = _is(table, "race", "White"), _is(table, "sex", "Male")
    numbers = [_column(table, name) for name in ("capital_gain", "capital_loss", "hours_per_week")]
    words = [_is(table, name, word) for name in ("marital_status", "relationship") for word in _words(table, name)]
    features = (_column(table, "age"), _column(table, "education_num"), group, sex, *numbers, *words)
    return np.column_stack(features).astype(np.float64), _column(table, "label"), group


PEOPLE: dict[str, Callable[[], People]] = {ADULT_GROUPS: _adult, COMPAS_GROUPS: _compas}


def _among(table: pa.Table, name: str, words: tuple[str, ...]) -> pa.Table:
    return table.filter(np.isin(_column(table, name).astype(str), words))


def _column(table: pa.Table, name: str) -> Array:
    column: Array = table[name].to_numpy()
    return column


def _is(table: pa.Table, name: str, word: str) -> Array:
    return np.equal(_column(table, name), word).astype(np.int64)


def _words(table: pa.Table, name: str) -> list[str]:
    return sorted(set(table[name].to_pylist()))


def main() -> None:
    rows = check()
    for title, found in groupby(rows, lambda row: f"{row.data}, {row.model}, {row.method}"):
        at = list(found)
        print(f"{title}: accuracy / MEO at tolerance", *(row.tolerance for row in at))
        print("  stored", *(f"{row.stored_accuracy:.4f}/{row.stored_meo:.4f}" for row in at))
        print("  ours  ", *(f"{row.accuracy:.4f}/{row.meo:.4f}" for row in at))
    for data in dict.fromkeys(row.data for row in rows):
        print(f"largest difference on {data}: {max(row.off for row in rows if row.data == data):.4f}")
