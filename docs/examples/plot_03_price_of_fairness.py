"""
The price of fairness
=====================

How much AUC does each epsilon cost these people? The frontier fits at every epsilon. Triangles end at the bound: no
fair score, randomised or not, can have a larger AUC on these people. Where the curve gets steep, a little more epsilon
buys much.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairroc import FrontierDisplay, frontier
from fairroc.datasets import load_adult_sample

people = load_adult_sample().to_pandas()
X = pd.get_dummies(people.drop(columns=["label", "split", "sex", "race"]))
train = (people["split"] == "train").to_numpy()
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], people["label"][train])
score, held = model.predict_proba(X[~train])[:, 1], people[~train]

# %%
epsilons = [0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3]
how = {"promise": "fitted", "draw": "all"}  # epsilon for these very people, as a mixture of thresholds keeps it
found = frontier(score, held["label"], sensitive_features=held["sex"], epsilons=epsilons, **how)
for point in found.points:
    print(f"epsilon {point.epsilon:.2f}: AUC {point.auc:.4f}, bound {point.auc_bound:.4f}")

# %%
figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
FrontierDisplay.from_frontier(found, ax=axes)
plt.show()
