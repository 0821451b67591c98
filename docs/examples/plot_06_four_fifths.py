"""
The four-fifths rule at every threshold
=======================================

The four-fifths rule compares the smallest share selected with the largest. ``ratio=0.8`` keeps it at every threshold
that selects 5 % of all people or more, without any draw: the same score and group, the same fair score.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC

rng = np.random.default_rng(0)
n = 8000
group = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2])
shift = np.select([group == "A", group == "B"], [0.6, 0.2], 0.0)
y = rng.random(n) < 0.25 + 0.1 * (group == "A")
score = 1 / (1 + np.exp(-(rng.normal(1.4 * y + shift) - 1)))

rule = {"constraint": "demographic_parity", "ratio": 0.8, "where": (0.05, 1)}
post = FairROC(**rule, promise="fitted", draw="never", salt=1)  # kept among these people, and measured among them
fair = post.fit(score, y, sensitive_features=group).transform(score, sensitive_features=group)

# %%
# Smallest over largest share selected, against the share of all people selected.
shares = np.linspace(0.02, 0.98, 200)


def ratio(scores):
    thresholds = np.quantile(scores, 1 - shares)
    rates = np.array([[np.mean(scores[group == g] >= t) for g in "ABC"] for t in thresholds])
    return rates.min(axis=1) / rates.max(axis=1)


figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
axes.plot(shares, ratio(score), color="0.55", linewidth=2, label="original score")
axes.plot(shares, ratio(fair), color="#0072B2", linewidth=2.5, label="fair score")
axes.axhline(0.8, color="#D55E00", linestyle="--", linewidth=1.2)
axes.text(0.98, 0.78, "four fifths", color="#D55E00", ha="right", va="top")
axes.axvspan(0, 0.05, color="0.93")
axes.set(xlabel="share of all people selected", ylabel="smallest / largest share selected", xlim=(0, 1), ylim=(0, 1.02))
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
