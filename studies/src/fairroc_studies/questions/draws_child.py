"""What a fit does to the people it is fitted to, by whichever fairroc is on the path.

Run as a file it prints JSON: ``PYTHONPATH=TREE/src python -P draws_child.py PEOPLE.npz "[0.02, 0.05]"``.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np

import fairroc


def fitted(scores: Any, labels: Any, groups: Any, epsilon: float, **options: Any) -> dict[str, Any]:
    """Figures of a fit with promise="fitted" among the fitted people: "drawn" by group, "share" of all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        post = fairroc.FairROC(epsilon, promise="fitted", salt=1, **options)
        post.fit(scores, labels, sensitive_features=groups)
        fair = post.transform(scores, sensitive_features=groups, ids=np.arange(len(scores)))
    found = post.certificate_
    return {
        "epsilon": epsilon,
        **{name: getattr(found, name) for name in ("gap", "gap_before", "auc", "auc_before")},
        "least": getattr(found, "least_gap_without_draw", None),
        "drawn": {str(group.group): group.randomised_share for group in found.groups},
        "share": sum(group.rows * group.randomised_share for group in found.groups) / found.rows,
        "scores": len(np.unique(fair)),
    }


if __name__ == "__main__":
    with np.load(sys.argv[1]) as file:
        columns: dict[str, Any] = {name: file[name] for name in ("scores", "labels", "groups")}
    fits = [fitted(**columns, epsilon=epsilon) for epsilon in json.loads(sys.argv[2])]
    print(json.dumps({"home": fairroc.__file__, "fits": fits}))
