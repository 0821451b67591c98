"""Run seeds through a target, and shrink what it finds."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

MOST_STEPS = 400
"""Smaller inputs that are tried for each finding."""

LONGEST = 300
"""Seconds that an input may take: far more than any takes, on any machine."""


class Target(Protocol):
    """A part of the product, the inputs that attack it, and what must hold."""

    def make(self, seed: int) -> Any:
        """The input of a seed; it has a ``family``, and a ``repr`` that can be pasted."""

    def check(self, case: Any) -> str | None:
        """What is wrong, in words whose part before the first colon names the fault, or None."""

    def smaller(self, case: Any) -> Iterator[Any]:
        """Inputs like this one with less in them, the smallest first."""


@dataclass
class Tried:
    """How many inputs of each family were tried, and what was found."""

    families: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    findings: dict[str, tuple[int, Any, str]] = field(default_factory=dict)

    def add(self, other: Tried) -> None:
        self.families += other.families
        self.failed += other.failed
        for fault, finding in other.findings.items():
            self.findings.setdefault(fault, finding)


def judged(target: Target, case: Any) -> str | None:
    """What is wrong with this input; an exception is, a warning of numpy's is, and so is no end of it."""
    try:
        with warnings.catch_warnings(), limited(LONGEST):
            warnings.simplefilter("error", RuntimeWarning)
            return target.check(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """A `TimeoutError` after so many seconds, where there are alarms and this is the main thread."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fault_of(complaint: str) -> str:
    return complaint.partition(":")[0]


def shrunk(target: Target, case: Any, complaint: str) -> tuple[Any, str]:
    """The smallest input found with the same fault."""
    left = MOST_STEPS
    found = True
    while found and left > 0:
        found = False
        for other in target.smaller(case):
            left -= 1
            said = judged(target, other)
            if said is not None and fault_of(said) == fault_of(complaint):
                case, complaint, found = other, said, True
                break
            if left <= 0:
                break
    return case, complaint


def run(target: Target, seeds: Iterable[int], until: float = float("inf")) -> Tried:
    """Try seeds, up to a moment of `time.monotonic`; the first finding of every fault is shrunk."""
    tried = Tried()
    for seed in seeds:
        if time.monotonic() > until:
            break
        case = target.make(seed)
        tried.families[case.family] += 1
        complaint = judged(target, case)
        if complaint is None:
            continue
        tried.failed[case.family] += 1
        if fault_of(complaint) not in tried.findings:
            tried.findings[fault_of(complaint)] = (seed, *shrunk(target, case, complaint))
    return tried
