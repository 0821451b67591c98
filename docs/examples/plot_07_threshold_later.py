"""
Choose the threshold later
==========================

Because the score is fair at every threshold, costs can decide where to cut, today or next year: whichever threshold
is chosen, the groups' rates stay within epsilon. Here a missed positive costs 1, 2 or 10 times as much as a false
alarm.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC, FairROCDisplay, choose_threshold

rng = np.random.default_rng(0)
n = 6000
group = rng.choice(["A", "B"], n, p=[0.65, 0.35])
y = rng.random(n) < np.where(group == "A", 0.4, 0.3)
score = 1 / (1 + np.exp(-(rng.normal(2 * y - 1.2, np.where(group == "A", 1.0, 1.7)))))
post = FairROC(epsilon=0.05, promise="fitted", salt=1).fit(score, y, sensitive_features=group)

# %%
figure, axes = plt.subplots(figsize=(5.6, 5.6), layout="constrained")
display = FairROCDisplay.from_estimator(post, score, y, sensitive_features=group, ax=axes, band=False)
for cost, mark in ((1, "o"), (2, "s"), (10, "D")):
    best = choose_threshold(post, score, y, sensitive_features=group, cost_fp=1, cost_fn=cost)
    for row, line in zip(best.groups, display.line_, strict=True):
        axes.plot(row.fpr, row.tpr, mark, color=line.get_color(), markersize=9, markeredgecolor="black", zorder=5)
    axes.annotate(
        f"miss costs {cost}: score ≥ {best.threshold:.2f}",
        (best.overall.fpr, best.overall.tpr),
        (14, -14),
        textcoords="offset points",
        fontsize="small",
    )
    print(f"cost {cost:2}: threshold {best.threshold:.3f}, gap there {best.gap:.3f}")
plt.show()
