"""Everything that can be measured: fairroc, the references and the peers, with what can be asked of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fairroc_studies.peers.children import PINS

LIMIT = 10**9


@dataclass(frozen=True)
class Entry:
    """A class of ``peers/runners/LIBRARY.py`` with its options; ``asks`` out of fit, predict, curve, decision."""

    title: str
    library: str
    method: str
    asks: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    most_rows: int = LIMIT  # for measurements of speed
    most_groups: int = LIMIT
    slow: bool = False  # a task takes longer than the start of a process

    @property
    def timed(self) -> list[str]:
        return [ask for ask in ("fit", "predict") if ask in self.asks]

    @property
    def peer(self) -> bool:
        return self.library in PINS


ROC_CURVE = Entry("scikit-learn roc_curve, once per group", "reference", "RocCurve", ("fit",))
SEARCH = Entry("np.searchsorted, 1,000 thresholds", "reference", "SearchSorted", ("predict",))
NAIVE = Entry("naive numpy, model of 1,000 blocks", "reference", "NaiveTransform", ("predict",))
THOUSAND = Entry("fairroc, model of 1,000 blocks", "fairroc", "Loaded", ("predict",))
ORDER = Entry("fairroc, default", "fairroc", "Post", ("fit", "predict"), {"epsilon": 0.05, "draw": "few"})
DRAW = Entry('fairroc, draw="all"', "fairroc", "Post", ("fit", "predict"), {"epsilon": 0.05, "draw": "all"})
BINNED = tuple(
    Entry(f'fairroc, counted in bins of {bits} bits, draw="all"', "fairroc", "Binned", ("fit",), {"bits": bits})
    for bits in (20, 24)
)

REFERENCES = (ROC_CURVE, SEARCH, NAIVE)
OWN = (THOUSAND, ORDER, DRAW, *BINNED)


def _fair(epsilon: float, draw: str, *asks: str, **options: Any) -> Entry:
    where = " at .5" if "threshold" in options else ""
    title = f"fairroc ε = {epsilon:g}, {draw}{where}"
    return Entry(title, "fairroc", "Post", asks, {"epsilon": epsilon, "draw": draw, **options})


def _relaxed(tolerance: float) -> Entry:
    asks = ("fit", "predict", "decision") if tolerance == 0.05 else ("decision",)
    return Entry(f"error-parity, tolerance {tolerance:g}", "error-parity", "Relaxed", asks, {"tolerance": tolerance})


def refitted(tolerance: float) -> Entry:
    """error-parity as a curve: each refit is an operating point."""
    title = f"error-parity, tolerance {tolerance:g}, refitted at 39 cost ratios"
    return Entry(title, "error-parity", "Relaxed", ("curve",), {"tolerance": tolerance})


BASE = Entry("base score", "reference", "Base", ("curve", "decision"))
DECISION = ("fit", "predict", "decision")
FAIRLEARN = Entry("fairlearn ThresholdOptimizer", "fairlearn", "EqualizedOdds", DECISION)
EQ_ODDS = Entry("aif360 EqOdds", "aif360", "EqOdds", DECISION, most_groups=2)
CALIBRATED = Entry("aif360 CalibratedEqOdds", "aif360", "CalibratedEqOdds", (*DECISION, "curve"), most_groups=2)
REJECT = Entry("aif360 RejectOption", "aif360", "RejectOption", DECISION, most_rows=10_000, most_groups=2, slow=True)
PEERS = (
    FAIRLEARN,
    *(_relaxed(tolerance) for tolerance in (0.0, 0.05, 0.1)),
    *(refitted(tolerance) for tolerance in (0.0, 0.05)),
    Entry(
        "oxonfair offsets, L1 ≤ .05", "oxonfair", "Offsets", ("fit", "predict", "curve", "decision"), {"bound": 0.05}
    ),
    EQ_ODDS,
    CALIBRATED,
    REJECT,
    Entry("holisticai EqualizedOdds", "holisticai", "EqOdds", DECISION, most_groups=2),
)
LIBRARIES = tuple(dict.fromkeys(entry.library for entry in PEERS))
FAIR = (
    *(_fair(epsilon, draw, "curve") for epsilon in (0.0, 0.01, 0.05, 0.1) for draw in ("all", "few")),
    *(_fair(epsilon, draw, "decision") for epsilon in (0.0, 0.05, 0.1) for draw in ("all", "few")),
    _fair(0.05, "few", "decision", threshold=0.5),
)
CATALOGUE = (*REFERENCES, *OWN, BASE, *PEERS, *FAIR)


def of_quality(ask: str, peers: tuple[str, ...]) -> list[Entry]:
    """Rows of a quality table: the base score, the chosen peers, fairroc."""
    chosen = [entry for entry in PEERS if entry.library in peers]
    return [entry for entry in (BASE, *chosen, *FAIR) if ask in entry.asks]


def of_speed(peers: tuple[str, ...]) -> list[Entry]:
    """Rows of the speed tables."""
    return [*REFERENCES, *OWN, *(entry for entry in PEERS if entry.library in peers and entry.timed)]
