"""Logistic regression and random forest of scikit-learn, and the table of numbers that models learn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairroc_studies.problems.problem import FloatArray, IntArray, Problem, codes, inputs, is_words, numbers

TOLERANCE = 1e-8
"""Largest slope of the likelihood at which Newton's method stops; near the optimum every step squares it."""


def matrix(problem: Problem, rows: IntArray, *, protected: bool) -> FloatArray:
    """(n, columns) numbers for all rows of the problem, fitted on ``rows`` alone and without their labels.

    A column of words becomes one of 0 and 1 for each word among ``rows``, and one for null if it is among them; another
    word is 0 in all. Numbers get mean 0 and standard deviation 1 on ``rows``; null becomes the median of ``rows``, and
    a column says where, if null is among them. Columns that do not vary on ``rows`` are 0. O(n columns).
    """
    table = inputs(problem, protected=protected)
    blocks = []
    for name in table.column_names:
        if is_words(table[name]):
            places = codes(table[name])[1]
            blocks.append((places[:, None] == np.unique(places[rows])).astype(np.float64))
        else:
            blocks.append(_standardised(numbers(table[name]), rows))
    joined: FloatArray = np.concatenate(blocks, axis=1)
    return joined


def _standardised(values: FloatArray, rows: IntArray) -> FloatArray:
    lost = np.isnan(values)
    known = values[rows][~lost[rows]]
    filled = np.where(lost, np.median(known) if len(known) else 0.0, values)
    seen = filled[rows]
    varies = seen.min() < seen.max()  # the deviation of equal numbers need not be exactly 0
    scaled = (filled - seen.mean()) / seen.std() if varies else np.zeros(len(filled))
    if not lost[rows].any():
        return scaled[:, None]
    return np.stack((scaled, lost.astype(np.float64)), axis=1)


def train_logistic(problem: Problem, rows: IntArray, seed: int, *, protected: bool, C: float = 1.0) -> FloatArray:
    """Scores of a logistic regression with ridge penalty 1 / C; its optimum is unique, so the seed plays no part.

    Newton's method: a few steps where L-BFGS needs hundreds on Adult's columns.
    """
    from sklearn.linear_model import LogisticRegression

    return _scores(LogisticRegression(C=C, solver="newton-cholesky", tol=TOLERANCE), problem, rows, protected)


def train_forest(
    problem: Problem, rows: IntArray, seed: int, *, protected: bool, trees: int = 10, leaf: int = 10
) -> FloatArray:
    """Scores of a random forest by Gini impurity: 10 trees, 10 people or more in a leaf, as in Alghamdi et al. 2022."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(trees, criterion="gini", min_samples_leaf=leaf, random_state=seed)
    return _scores(forest, problem, rows, protected)


def _scores(model: Any, problem: Problem, rows: IntArray, protected: bool) -> FloatArray:
    """P(label 1) of all people by a model of scikit-learn trained on ``rows``."""
    X = matrix(problem, rows, protected=protected)
    model.fit(X[rows], problem.labels[rows])
    scores: FloatArray = model.predict_proba(X)[:, 1]
    return scores
