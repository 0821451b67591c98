"""AutoGluon's weighted ensemble of tree models on a problem's table, on the processor."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from fairroc.errors import FairrocError
from fairroc_studies.problems.problem import FloatArray, IntArray, Problem, codes, inputs, is_words, numbers

if TYPE_CHECKING:
    import pandas as pd

ENSEMBLE = "WeightedEnsemble_L2"
LABEL = "label of the people trained on"  # a name that no feature has
MODELS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "GBM": ("lightgbm", [{}, {"extra_trees": True, "ag_args": {"name_suffix": "XT"}}]),
    "RF": ("sklearn", [{"criterion": "gini", "ag_args": {"name_suffix": "Gini"}}]),
    "XT": ("sklearn", [{"criterion": "gini", "ag_args": {"name_suffix": "Gini"}}]),
}
"""AutoGluon's names of the models that are weighted, the module each needs, and their settings: a few of AutoGluon's
own defaults, those that take seconds. Neural networks, which take minutes, are left out."""


def train(
    problem: Problem, rows: IntArray, seed: int, *, protected: bool, seconds: float = 60.0, cpus: int = 1
) -> FloatArray:
    """P(label 1) of all rows by AutoGluon's WeightedEnsemble_L2 trained on ``rows``. (n,)

    ``seconds``: what the training may take; models that do not fit into it are left out, so a slow machine may give
    other scores. With time to spare the same seed gives the same scores. Its files go to a temporary folder.
    """
    from autogluon.tabular import TabularPredictor

    table = _frame(problem, protected=protected)
    known = table.iloc[rows].assign(**{LABEL: problem.labels[rows].astype(np.int64)})
    with _quiet(), TemporaryDirectory(prefix="fairroc-") as folder:
        predictor = TabularPredictor(
            LABEL,
            problem_type="binary",
            eval_metric="roc_auc",
            path=folder,
            verbosity=0,
            positive_class=1,
            learner_kwargs={"random_state": seed},
        )
        models = {name: options for name, (module, options) in MODELS.items() if find_spec(module)}
        try:
            predictor.fit(known, hyperparameters=models, time_limit=seconds, num_cpus=cpus, num_gpus=0)
            names = predictor.model_names()
        except (AssertionError, RuntimeError) as error:  # what it raises when it has no model in the end
            names, why = [], f" ({error})"
        else:
            why = ""
        if ENSEMBLE not in names:
            raise FairrocError(
                f"AutoGluon must come out with {ENSEMBLE}, but trained {', '.join(names) or 'no model'} on {len(rows)} "
                f"rows in {seconds:g} seconds{why}. Give it more time or more rows."
            )
        scores = predictor.predict_proba(table, model=ENSEMBLE, as_multiclass=False)
    return np.asarray(scores, dtype=np.float64)


def _frame(problem: Problem, *, protected: bool) -> pd.DataFrame:
    """The features as AutoGluon wants them: numbers, and words as categories, null where missing."""
    import pandas as pd

    table = inputs(problem, protected=protected)
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if is_words(table[name]):
            words, places = codes(table[name])
            columns[name] = pd.Categorical.from_codes(places, words)
        else:
            columns[name] = numbers(table[name])
    return pd.DataFrame(columns)


@contextmanager
def _quiet() -> Iterator[None]:
    """Neither warnings nor log lines of what runs inside; errors come through."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
