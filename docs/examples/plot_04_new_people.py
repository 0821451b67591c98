"""
New people see a larger gap
===========================

A score fitted to few people (``promise="fitted"``) follows their luck: its gap is within epsilon on them and larger on
everybody else. fairroc says so before you find out, and its default, ``promise="new"``, makes epsilon hold for that
estimate instead.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC, audit


def draw(n, seed):
    rng = np.random.default_rng(seed)
    group = rng.choice(["women", "men"], n)
    y = rng.random(n) < np.where(group == "women", 0.25, 0.4)
    return rng.normal(1.5 * y + np.where(group == "women", 0.0, 0.5)), y, group


others = draw(50_000, seed=99)

# %%
# Fit to three samples of 1,500 people, and look at 50,000 others.
gaps = {}
for promise in ("fitted", "new"):
    rows = []
    for seed in range(3):
        score, y, group = draw(1500, seed)
        post = FairROC(epsilon=0.1, promise=promise, salt=1).fit(score, y, sensitive_features=group)
        fair = post.transform(others[0], sensitive_features=others[2], ids=np.arange(50_000))
        found = audit(fair, others[1], sensitive_features=others[2], bootstrap=0).gap
        rows.append((post.outlook_.gap, post.outlook_.gap_estimate, found))
    gaps[promise] = np.array(rows)
    print(promise, "fitted {:.3f}, expected {:.3f}, found {:.3f}".format(*gaps[promise].mean(axis=0)))

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
rng = np.random.default_rng(0)
for axes, (promise, rows) in zip(panels, gaps.items(), strict=True):
    for place, colour in enumerate(("#E69F00", "#0072B2", "#009E73")):
        axes.plot(place + rng.uniform(-0.1, 0.1, 3), rows[:, place], "o", color=colour, markersize=8, alpha=0.7)
        axes.hlines(rows[:, place].mean(), place - 0.25, place + 0.25, color=colour, linewidth=3)
    axes.axhline(0.1, color="0.4", linestyle="--", linewidth=1)
    axes.set(title=f'promise="{promise}"', xticks=range(3), xlim=(-0.5, 2.5), ylim=(0, None))
    axes.set_xticklabels(["on the people\nfitted", "expected of\nnew people", "found among\nnew people"])
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("largest gap at any threshold")
panels[1].text(2.5, 0.1, "epsilon", ha="right", va="bottom", color="0.35")
plt.show()
