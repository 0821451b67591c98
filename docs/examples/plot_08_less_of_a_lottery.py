"""
How many people depend on a draw
================================

Fairness has to move some people, and leaves to chance whom. By default (``draw="few"``) fairroc keeps the order of
scores wherever it can, so that few depend on a draw; ``draw="all"`` buys the last bit of AUC on the fitted people
with a lottery for everybody.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC
from fairroc.errors import FairrocWarning

rng = np.random.default_rng(0)
n = 5000
group = rng.choice(["A", "B"], n, p=[0.65, 0.35])
y = rng.random(n) < np.where(group == "A", 0.4, 0.3)
score = rng.normal(2 * y, np.where(group == "A", 1.0, 1.4))

epsilons = [0.02, 0.05, 0.1, 0.2]
shares, aucs = {}, {}
for ties in ("order", "draw"):
    shares[ties], aucs[ties] = [], []
    for epsilon in epsilons:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", FairrocWarning
            )  # where epsilon leaves no room for the order, ties are drawn
            found = FairROC(epsilon=epsilon, ties=ties, salt=1).fit(score, y, sensitive_features=group).certificate_
        rows = sum(row.rows * row.randomised_share for row in found.groups)
        shares[ties].append(100 * rows / found.rows)
        aucs[ties].append(found.auc)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ties, colour, mark in (("draw", "#D55E00", "s"), ("order", "#0072B2", "o")):
    left.plot(epsilons, shares[ties], mark + "-", color=colour, label=f'ties="{ties}"', linewidth=2)
    right.plot(epsilons, aucs[ties], mark + "-", color=colour, linewidth=2)
left.set(xlabel="epsilon", ylabel="people who depend on a draw, %", ylim=(-3, 103))
right.set(xlabel="epsilon", ylabel="AUC on the fitted people")
left.legend(frameon=False, loc="center right")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
