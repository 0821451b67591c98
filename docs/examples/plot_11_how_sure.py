"""
How sure can an audit be?
=========================

The same population, audited on 300 to 30,000 people. The measured gap is too large on few people, because chance adds
to a largest value; the interval says what the gap of all people can be.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import audit

rng = np.random.default_rng(3)
n = 30_000
group = rng.choice(["A", "B"], n)
y = rng.random(n) < 0.4
score = rng.normal(1.5 * y + 0.25 * (group == "A"))

sizes = [300, 1000, 3000, 10_000, 30_000]
found = [audit(score[:size], y[:size], sensitive_features=group[:size], bootstrap=500) for size in sizes]

# %%
figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for size, each in zip(sizes, found, strict=True):
    for interval, colour in ((each.gap_interval.dkw, "#BBBBBB"), (each.gap_interval.bootstrap, "#56B4E9")):
        axes.plot([size, size], interval, color=colour, linewidth=8, solid_capstyle="butt")
axes.plot(sizes, [each.gap for each in found], "o", color="#0b3c5d", markersize=8, zorder=5)
axes.plot([], [], color="#BBBBBB", linewidth=8, label="DKW: for any sample size")
axes.plot([], [], color="#56B4E9", linewidth=8, label="bootstrap")
axes.plot([], [], "o", color="#0b3c5d", label="measured")
axes.set(xscale="log", xlabel="people audited", ylabel="largest gap at any threshold", ylim=(0, None))
axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
axes.minorticks_off()
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()
