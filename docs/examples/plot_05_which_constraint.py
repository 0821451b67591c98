"""
What each constraint does to the other rates
============================================

Every constraint keeps its own rate close, and says nothing of the others: they can get *worse*. Equalized odds
watches both error rates. Look at all three before choosing.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairroc import FairROC
from fairroc.datasets import load_adult_sample

people = load_adult_sample().to_pandas()
X = pd.get_dummies(people.drop(columns=["label", "split", "sex", "race"]))
train = (people["split"] == "train").to_numpy()
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], people["label"][train])
score, held = model.predict_proba(X[~train])[:, 1], people[~train]

# %%
names = ["equalized_odds", "equal_opportunity", "predictive_equality", "demographic_parity"]
found = {
    name: FairROC(epsilon=0.05, constraint=name, promise="fitted", salt=1)
    .fit(score, held["label"], sensitive_features=held["sex"])
    .certificate_
    for name in names
}
gaps = {"original score": found["equalized_odds"].rates_before} | {name: found[name].rates for name in names}
gaps = {name: [rates.tpr, rates.fpr, rates.selection_rate] for name, rates in gaps.items()}

# %%
figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
colours = ["0.6", "#0072B2", "#009E73", "#E69F00", "#CC79A7"]
for place, ((name, values), colour) in enumerate(zip(gaps.items(), colours, strict=True)):
    axes.bar(np.arange(3) + (place - 2) * 0.16, values, width=0.15, color=colour, label=name.replace("_", " "))
axes.axhline(0.05, color="0.3", linestyle="--", linewidth=1)
axes.text(2.46, 0.055, "epsilon", ha="right", color="0.3")
axes.set(xticks=range(3), xticklabels=["TPR", "FPR", "share selected"], ylabel="largest difference of women and men")
axes.legend(frameon=False, fontsize="small")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
