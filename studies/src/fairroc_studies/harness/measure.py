"""CPU seconds and extra memory of one call, measured in the process that makes it."""

from __future__ import annotations

import ctypes
import gc
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # what the kernel wants to hear to set the peak resident size back to the present one


@dataclass(frozen=True)
class Cost:
    """CPU seconds (best of ``calls``, and those of the first call, which may prepare what later ones use), and bytes
    that the process held at its peak during the first call beyond what it held before."""

    cpu: float
    first: float
    memory: int
    calls: int


def measure(call: Callable[[], Any], *, budget: float = 0.0, most: int = 5) -> tuple[Any, Cost]:
    """Call once, and again while less than ``budget`` CPU seconds are spent (ten times that for the second call)."""
    before = _start_of_peak()
    first, result = _timed(call)
    memory = max(_peak() - before, 0)
    best, spent, calls = first, first, 1
    while calls < most and spent < (10.0 if calls == 1 else 1.0) * budget:
        seconds, result = _timed(call)
        best, spent, calls = min(best, seconds), spent + seconds, calls + 1
    return result, Cost(best, first, memory, calls)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


def _start_of_peak() -> int:
    """Give freed memory back to the system, set the peak back; the resident bytes now."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    try:
        CLEAR.write_text(RESET_PEAK)
    except OSError:  # no such file on this system: the peak since the process began has to do
        return _peak()
    return _status("VmRSS")


def _peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(field: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} has no {field}")
