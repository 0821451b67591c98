"""
The lottery nobody needs
========================

The classic way to bring error rates close is a mixture of thresholds: near the cut-off a coin decides. A fair score
that is a function of score and group keeps the same epsilon and nearly the same AUC, and all people apart. Where
epsilon allows it, ``draw="few"`` is that; at a smaller epsilon ``draw="never"`` ties neighbouring scores instead.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC

rng = np.random.default_rng(0)
n = 5000
group = rng.choice(["A", "B"], n, p=[0.6, 0.4])
y = rng.random(n) < np.where(group == "A", 0.45, 0.3)
score = 1 / (1 + np.exp(-rng.normal(np.where(group == "A", 1.8, 1.5) * y - 0.9 + 0.6 * (group == "A"))))

figure, panels = plt.subplots(1, 3, figsize=(11, 4.2), sharex=True, sharey=True, layout="constrained")
titles = {"all": 'draw="all": the mixture', "few": 'draw="few"', "never": 'draw="never"'}
for axes, (draw, title) in zip(panels, titles.items(), strict=True):
    post = FairROC(epsilon=0.12, promise="fitted", draw=draw, salt=1).fit(score, y, sensitive_features=group)
    found = post.certificate_
    chance = post.acceptance_rate(score, sensitive_features=group, threshold=0.5)
    for name, colour, style in (("A", "#0072B2", "-"), ("B", "#D55E00", "--")):
        own = np.argsort(np.where(group == name, score, np.inf))[: (group == name).sum()]
        axes.plot(score[own], chance[own], style, color=colour, linewidth=2, label=f"group {name}")
    axes.axhspan(0.01, 0.99, color="0.94", zorder=0)
    drawn = sum(row.rows * row.randomised_share for row in found.groups) / found.rows
    hang = np.mean((chance > 0) & (chance < 1))
    axes.set_title(title, loc="left", fontweight="bold", pad=48)
    words = f"left to chance here: {hang:.0%} of decisions\ndrawn at some threshold: {drawn:.0%} of people"
    axes.text(0, 1.02, f"{words}\ngap {found.gap:.2f}, AUC {found.auc:.3f}", transform=axes.transAxes)
    axes.set(xlabel="original score", xlim=(0.2, 0.8))
    axes.spines[["top", "right"]].set_visible(False)

# %%
# In the grey, chance decides.
panels[0].set_ylabel("chance to be selected")
panels[0].legend(frameon=False, loc="upper left")
plt.show()
