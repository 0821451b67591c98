"""
When new people are no longer like the fitted ones
==================================================

A year later the scores of one group have moved. ``FairModel.check`` needs no labels to see it: here 2,000 people of a
month are compared with the model file, month by month, while group A's scores creep upwards from month 7 on.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC


def month(seed, n=2000, shift=0.0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["A", "B"], n)
    y = rng.random(n) < 0.4
    return rng.normal(1.5 * y + shift * (group == "A"), np.where(group == "A", 1, 1.4)), y, group


score, y, group = month(0, n=10_000)
model = FairROC(epsilon=0.1, salt=1).fit(score, y, sensitive_features=group).model_

# %%
shifts = [0.0] * 6 + [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
found = []
for number, shift in enumerate(shifts, start=1):
    score, y, group = month(number, shift=shift)
    found.append(model.check(score, sensitive_features=group))
print(next(each for each in found if each.drifted).reasons[0])

# %%
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
months = np.arange(1, 13)
for place, (name, colour) in enumerate((("A", "#0072B2"), ("B", "#E69F00"))):
    axes.plot(months, [each.groups[place].scores.distance for each in found], "o-", color=colour, label=f"group {name}")
visible = [each.groups[0].scores.visible for each in found]
axes.plot(months, visible, color="0.5", linestyle="--", linewidth=1, label="smallest change that shows")
for number, each in zip(months, found, strict=True):
    if each.drifted:
        axes.axvspan(number - 0.5, number + 0.5, color="#D55E00", alpha=0.12, linewidth=0)
axes.set(xlabel="month", ylabel="largest change of the share\nwho reach some score", xticks=months, ylim=(0, None))
axes.legend(frameon=False, loc="upper left")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
