"""
What can happen to one person
=============================

Fix a threshold of 0.5 and walk along the original scores: how likely is a person of each group to be selected with
the fair score? For low and high scores it is no and yes, as before; between lies the stretch where fairness leaves it
to chance. The probability never falls as the score rises.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC

rng = np.random.default_rng(0)
n = 12_000
group = rng.choice(["A", "B"], n, p=[0.65, 0.35])
y = rng.random(n) < np.where(group == "A", 0.4, 0.3)
score = 1 / (1 + np.exp(-(rng.normal(2 * y - 1.2 + 0.4 * (group == "A"), np.where(group == "A", 1.0, 1.5)))))
model = FairROC(epsilon=0.05, promise="fitted", salt=1).fit(score, y, sensitive_features=group).model_

# %%
grid = np.linspace(score.min(), score.max(), 800)
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name, colour, style in (("A", "#0072B2", "-"), ("B", "#E69F00", "--")):
    chance = model.acceptance_rate(grid, sensitive_features=np.full(len(grid), name), threshold=0.5)
    axes.plot(grid, chance, style, color=colour, linewidth=2.5, label=f"group {name}")
axes.axvline(0.5, color="0.6", linewidth=1)
axes.set(xlabel="original score", ylabel="chance to be selected at 0.5", ylim=(-0.03, 1.03))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The same in words, for the person with the id 1042:
for paragraph in model.explain(0.6, "A", threshold=0.5, id=1042).text.splitlines():
    print(textwrap.fill(paragraph, 90))
