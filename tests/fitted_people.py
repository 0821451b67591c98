"""Fits, frontiers and reports for tests of the people fitted: promise="fitted", where a test names no other."""

from __future__ import annotations

from functools import partial
from typing import Any

import fairroc
from fairroc import frames
from fairroc.options import Options
from fairroc.report.data import Asked

FITTED: dict[str, Any] = {"promise": "fitted"}

FairROC = partial(fairroc.FairROC, **FITTED)
FairROCClassifier = partial(fairroc.FairROCClassifier, **FITTED)
fit_counts = partial(fairroc.fit_counts, **FITTED)
frames_fit = partial(frames.fit, **FITTED)
frontier = partial(fairroc.frontier, **FITTED)
write_report = partial(fairroc.write_report, **FITTED)
fitted_options = partial(Options.checked, **FITTED)
fitted_report = partial(Asked.checked, **FITTED)
