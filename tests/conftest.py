"""One hypothesis profile for all tests: the same examples on every run, no clocks."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fairroc",
    derandomize=True,
    deadline=None,
    max_examples=60,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fairroc")
