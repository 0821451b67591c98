"""
Never fit to training scores
============================

A forest is nearly perfect on the people it was trained on. A fair score fitted to *those* scores learns a world that
new people do not live in. ``FairROCClassifier`` fits to out-of-fold scores instead.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from fairroc import FairROC, FairROCClassifier, GapDisplay, audit


def draw(n, seed):
    rng = np.random.default_rng(seed)
    group = rng.choice(["A", "B"], n)
    y = rng.integers(0, 2, n)
    noise = np.where(group == "A", 1.2, 2.4)[:, None] * rng.normal(size=(n, 4))
    return y[:, None] + noise, y, group


X, y, group = draw(2500, seed=0)
X_new, y_new, group_new = draw(10_000, seed=1)
ids = np.arange(len(y_new))
forest = RandomForestClassifier(40, random_state=0)

# %%
# Wrong: scores of the training rows. Right: scores of rows that each fold's model has not seen.
trained = clone(forest).fit(X, y)
how = {"epsilon": 0.1, "promise": "fitted", "draw": "all", "salt": 1}
wrong = FairROC(**how).fit(trained.predict_proba(X)[:, 1], y, sensitive_features=group)
wrong_score = wrong.transform(trained.predict_proba(X_new)[:, 1], sensitive_features=group_new, ids=ids)

right = FairROCClassifier(forest, cv=3, **how).fit(X, y, sensitive_features=group)
right_score = right.predict_proba(X_new, sensitive_features=group_new, ids=ids)[:, 1]

# %%
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name, scores, colour in (
    ("training scores", wrong_score, "#D55E00"),
    ("out-of-fold scores", right_score, "#0072B2"),
):
    display = GapDisplay.from_predictions(
        scores, y_new, sensitive_features=group_new, bootstrap=0, ax=axes, band=False, color=colour
    )
    display.line_[0].set_label(name)
    print(f"{name}: gap of new people {audit(scores, y_new, sensitive_features=group_new, bootstrap=0).gap:.3f}")
axes.axhline(0.1, color="0.4", linestyle="--", linewidth=1, label="epsilon")
axes.legend(frameon=False)
axes.set_title("")
plt.show()
