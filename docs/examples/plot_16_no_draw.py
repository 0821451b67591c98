"""
A fair score without any draw
=============================

For one rate alone nobody has to be drawn: ``draw="never"`` gives one curve per group that turns the original score
into the fair one. A higher score never gets a lower one, and nobody needs an id.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC

rng = np.random.default_rng(0)
n = 8000
group = rng.choice(["A", "B"], n, p=[0.6, 0.4])
y = rng.random(n) < np.where(group == "A", 0.45, 0.3)
score = 1 / (1 + np.exp(-rng.normal(1.6 * y - 0.9 + 0.5 * (group == "A"))))

figure, panels = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
for axes, name in zip(panels, ("equal_opportunity", "predictive_equality", "demographic_parity"), strict=True):
    post = FairROC(epsilon=0.02, constraint=name, draw="never", salt=1).fit(score, y, sensitive_features=group)
    axes.plot([0, 1], [0, 1], color="0.8", linewidth=1)
    for each, colour, style in (("A", "#0072B2", "-"), ("B", "#E69F00", "--")):
        raw = np.sort(score[group == each])
        fair = post.transform(raw, sensitive_features=np.full(len(raw), each))
        axes.plot(raw, fair, style, color=colour, linewidth=2, label=f"group {each}")
    axes.set(title=name.replace("_", " "), xlabel="original score")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("fair score")
panels[0].legend(frameon=False)
plt.show()
