"""MLflow: log, load and serve fair scores as models, and evaluate any score (``pip install 'fairroc[mlflow]'``).

A logged model is JSON, no pickle, and holds no key. MLflow loads it in any process with `fairroc` installed.
"""

from fairroc.mlflow.flavor import load_model, log_model, save_model
from fairroc.mlflow.scoring import load_scorer as _load_pyfunc

__all__ = ["load_model", "log_model", "save_model"]

_ = _load_pyfunc  # MLflow calls it by this name
