"""
Groups by two attributes
========================

Fair by sex and fair by race does not mean fair for Black women. Pass both columns, and their intersections become the
groups. A few of them are small: ``small_groups="merge"`` puts those with fewer than 20 people of a label together,
and says whom.
"""

import warnings

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairroc import FairROC, FairROCDisplay
from fairroc.datasets import load_adult_sample
from fairroc.errors import FairrocWarning

people = load_adult_sample().to_pandas()
X = pd.get_dummies(people.drop(columns=["label", "split", "sex", "race"]))
train = (people["split"] == "train").to_numpy()
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], people["label"][train])
score, held = model.predict_proba(X[~train])[:, 1], people[~train]

# %%
post = FairROC(epsilon=0.1, small_groups="merge", min_class_rows=20, salt=1)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FairrocWarning)  # it names the merged groups; so does the certificate
    post.fit(score, held["label"], sensitive_features=held[["sex", "race"]])
for row in post.certificate_.groups:
    print(f"{row.group:30} {row.rows:5} people, {row.positives:4} positives, AUC {row.auc_before:.3f} -> {row.auc:.3f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.9), layout="constrained")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FairrocWarning)
    FairROCDisplay.from_estimator(post, score, held["label"], sensitive_features=held[["sex", "race"]], ax=axes)
plt.show()
