"""Hypothesis: the same examples on every run, no clocks. `make test-slow` takes more, `make fuzz` other ones.

MLflow, where it is imported, tells nobody about it.
"""

import os

from hypothesis import HealthCheck, Phase, settings

os.environ["MLFLOW_DISABLE_TELEMETRY"] = os.environ["DO_NOT_TRACK"] = "true"
settings.register_profile(
    "fairroc",
    derandomize=True,
    deadline=None,
    max_examples=20,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fairroc")
settings.register_profile("quick", settings.get_profile("fairroc"), phases=[Phase.explicit, Phase.generate])
settings.register_profile("thorough", settings.get_profile("fairroc"), max_examples=200)
settings.register_profile("brief", settings.get_profile("quick"), max_examples=8)
