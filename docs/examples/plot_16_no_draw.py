"""
A fair score that is a function
===============================

With ``draw="never"`` the fair score is one rising line per group from the old score to the new one: a higher score
never gets a lower one, nobody needs an id, and ``fairroc table`` writes the lines as points to add. Each constraint
bends them in its own way.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairroc import FairROC, ScoreDisplay

rng = np.random.default_rng(0)
n = 4000
group = rng.choice(["A", "B"], n, p=[0.6, 0.4])
y = rng.random(n) < np.where(group == "A", 0.45, 0.3)
score = 1 / (1 + np.exp(-rng.normal(1.6 * y - 0.9 + 0.5 * (group == "A"))))

figure, panels = plt.subplots(1, 3, figsize=(11, 4), sharex=True, sharey=True, layout="constrained")
for axes, name in zip(panels, ("equalized_odds", "equal_opportunity", "demographic_parity"), strict=True):
    post = FairROC(epsilon=0.1, constraint=name, promise="fitted", draw="never", salt=1)
    post.fit(score, y, sensitive_features=group)
    ScoreDisplay.from_estimator(post, score, y, sensitive_features=group).plot(axes, which="map")
    axes.set_title(name.replace("_", " "), loc="left", fontweight="bold")
    axes.label_outer()
plt.show()
