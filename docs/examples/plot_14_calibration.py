"""
What happens to calibration
===========================

Where the groups' base rates differ, no useful score is both calibrated within groups and equal in its error rates. A
fair score is for decisions; take probabilities from the original score.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC, audit

rng = np.random.default_rng(0)
n = 20_000
group = rng.choice(["A", "B"], n)
logit = rng.normal(np.where(group == "A", 0.2, -0.9), 1.6)
score = 1 / (1 + np.exp(-logit))
y = rng.random(n) < score  # the original score is calibrated: of people with 0.7, 70 % are positive

post = FairROC(epsilon=0.05, salt=1).fit(score, y, sensitive_features=group)
fair = post.transform(score, sensitive_features=group, ids=np.arange(n))

# %%
figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.6), sharey=True, layout="constrained")
for axes, scores, title in zip(panels, (score, fair), ("original score", "fair score, epsilon 0.05"), strict=True):
    found = audit(scores, y, sensitive_features=group, bootstrap=0)
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for row, colour, mark in zip(found.groups, ("#0072B2", "#E69F00"), "os", strict=True):
        bins = row.calibration.bins
        axes.plot(
            [each.mean_score for each in bins],
            [each.positive_share for each in bins],
            mark + "-",
            color=colour,
            label=f"group {row.group}",
        )
    axes.set(title=f"{title}: gap {found.gap:.2f}", xlabel="mean score", xlim=(0, 1), ylim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("share of positives")
panels[0].legend(frameon=False)
plt.show()
