"""
From a table of counts
======================

No rows at hand, only a published table: how many people of each group and decile did and did not have the outcome.
Counts are all that a fit needs. With ten scores only, ties have to be drawn: people of one decile are told apart by
nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import ScoreCounts, fit_counts

deciles = np.arange(1, 11)
yes = {"A": [31, 45, 66, 88, 110, 121, 140, 160, 190, 170], "B": [40, 52, 58, 55, 60, 52, 48, 45, 40, 22]}
no = {"A": [210, 205, 190, 170, 168, 140, 118, 92, 78, 40], "B": [420, 260, 190, 150, 130, 98, 70, 50, 36, 14]}
counts = ScoreCounts.from_table(
    np.tile(deciles, 2), yes["A"] + yes["B"], no["A"] + no["B"], sensitive_features=np.repeat(["A", "B"], 10)
)
post = fit_counts(counts, epsilon=0.05, promise="fitted", draw="all", salt=1)

# %%
# Chance to be selected at "decile 6 or more", before and after.
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
axes.step(deciles, deciles >= 6, where="mid", color="0.75", linewidth=6, label="before, both groups")
for name, colour, style in (("A", "#0072B2", "-"), ("B", "#E69F00", "--")):
    chance = post.model_.acceptance_rate(deciles.astype(float), sensitive_features=np.full(10, name), threshold=6)
    axes.step(deciles, chance, style, where="mid", color=colour, linewidth=2.5, label=f"after, group {name}")
found = post.certificate_
axes.set(
    xlabel="decile",
    ylabel="chance to be selected",
    xticks=deciles,
    title=f"gap {found.gap_before:.2f} → {found.gap:.2f}",
)
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()
