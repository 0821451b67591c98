r"""
The gap at every threshold
==========================

A score that looks fair at one threshold may be far from it at the next. The gap is \|ΔFPR\| + \|ΔTPR\| of women and
men, at every threshold; its highest point is what an audit reports, and what epsilon limits.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairroc import FairROC, GapDisplay, audit
from fairroc.datasets import load_adult_sample

people = load_adult_sample().to_pandas()
X = pd.get_dummies(people.drop(columns=["label", "split", "sex", "race"]))
train = (people["split"] == "train").to_numpy()
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], people["label"][train])
score, held = model.predict_proba(X[~train])[:, 1], people[~train]

# %%
# Where is it largest, and between whom?
found = audit(score, held["label"], sensitive_features=held["sex"], bootstrap=0)
print(f"{found.gap:.3f} at score >= {found.gap_threshold:.3f}, between {' and '.join(found.gap_pair)}")

# %%
# Before and after, with what groups inside their 95 % bands can have.
post = FairROC(epsilon=0.1, salt=1).fit(score, held["label"], sensitive_features=held["sex"])
figure, axes = plt.subplots(figsize=(8, 4.4), layout="constrained")
GapDisplay.from_estimator(post, score, held["label"], sensitive_features=held["sex"], ax=axes)
plt.show()
