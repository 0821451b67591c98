"""Every parameter that a user can set beside the data: name, default, check and one sentence, once.

The command line's flags and help, the settings of a fit, an audit, a frontier, a report and a check of new people, and
docs/reference-options.md (`python -m fairroc.options` prints it) are made from these declarations; the constructors of
the estimators, the functions' signatures and the model file are held to them by tests. Nothing here loads numpy, so
that `fairroc --help` is quick.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fairroc.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from fairroc.core.constraint import Constraint, Norm

Missing: TypeAlias = Literal["error", "group"]
SmallTreatment: TypeAlias = Literal["error", "merge", "drop"]

MIN_DRAWS = 100
"""Fewer bootstrap draws leave the 95 % limit to two or three of them."""

FROC_NORM = 1
"""What the paper's method keeps close: |dFPR| + |dTPR|."""

FROC_QUERIES = 100
"""Queries of the paper's method where no number is asked for: it works on queries only (docs/froc.md measures it)."""

MOST_QUERIES = 10_000_000
"""More thresholds than this are more than scores; without queries= all scores are used."""

LEAST_DISTINCT = 1 << 10


# ---- checks ------------------------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether a value is a real number; a bool is none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of any type of number."""
    return is_number(value) and float(value).is_integer()


def check_epsilon(epsilon: Any) -> float:
    """Return the allowed distance between ROC curves as a float in [0, 2]."""
    if is_number(epsilon) and 0 <= epsilon <= 2:
        return float(epsilon)
    raise DataError(f"epsilon must be between 0 and 2, got {epsilon!r}. Try 0.05; 0 asks for equal ROC curves.")


def check_epsilons(epsilons: Any) -> tuple[float, ...]:
    """Return distinct epsilons, rising, from one number or several."""
    several = epsilons.tolist() if hasattr(epsilons, "tolist") else epsilons  # an array
    several = several if isinstance(several, Iterable) and not isinstance(several, str) else [several]
    found = tuple(sorted({check_epsilon(epsilon) for epsilon in several}))
    if not found:
        raise DataError("epsilons must hold at least one number in [0, 2], got none; leave it out for a default grid.")
    return found


def check_norm(norm: Any) -> Norm:
    """Return the norm to fit with: 1 or "inf"."""
    if not isinstance(norm, bool) and isinstance(norm, str | Real):
        if norm in (1, "1"):
            return 1
        if norm in ("inf", math.inf):
            return "inf"
    raise DataError(
        f"norm must be 1 or 'inf' to fit, got {norm!r}: the exact method takes these two; "
        "the audit measures any p >= 1."
    )


def check_audit_norm(norm: Any) -> float:
    """Return the norm to measure with as a float, 1 <= p <= inf."""
    try:
        p = float(norm) if isinstance(norm, str | Real) and not isinstance(norm, bool) else math.nan
    except ValueError:
        p = math.nan
    if p >= 1:
        return p
    raise DataError(f"norm must be a number p >= 1 or 'inf', got {norm!r}.")


def check_queries(queries: Any) -> int:
    """Return the number of thresholds to look at."""
    if is_whole(queries) and 2 <= queries <= MOST_QUERIES:
        return int(queries)
    raise DataError(
        f"queries must be a whole number from 2 to {MOST_QUERIES:,} (or None for all scores), got {queries!r}."
    )


def check_class_rows(rows: Any) -> int:
    """Return the number of rows that each class of a group needs."""
    if is_whole(rows) and rows >= 1:
        return int(rows)
    raise DataError(f"min_class_rows must be a whole number of at least 1, got {rows!r}.")


def check_confidence(confidence: Any) -> float:
    """Return the level of confidence intervals as a float inside (0, 1)."""
    if is_number(confidence) and 0 < confidence < 1:
        return float(confidence)
    raise DataError(f"confidence must lie between 0 and 1, both excluded, got {confidence!r}; pass for example 0.95.")


def check_cut(threshold: Any) -> float:
    """Return the threshold of a decision ``score >= threshold`` as a finite float."""
    if is_number(threshold) and math.isfinite(threshold):
        return float(threshold)
    raise DataError(
        f"threshold must be a finite number on the score's scale, got {threshold!r}; pass for example threshold=0.5."
    )


def check_bootstrap(draws: Any) -> int:
    """Return the number of bootstrap draws: 0 (none) or at least MIN_DRAWS."""
    if isinstance(draws, Integral) and not isinstance(draws, bool) and (int(draws) == 0 or int(draws) >= MIN_DRAWS):
        return int(draws)
    raise DataError(
        f"bootstrap must be a whole number of draws, at least {MIN_DRAWS}, or 0 for none, got {draws!r}; "
        "1000 is the default."
    )


def check_most(most: Any) -> int:
    """Return the number of distinct (group, label, score) that are to be counted exactly."""
    if is_whole(most) and most >= LEAST_DISTINCT:
        return int(most)
    raise DataError(
        f"max_distinct (on the command line: --max-distinct) must be a whole number of at least {LEAST_DISTINCT}, "
        f"got {most!r}."
    )


def check_missing(missing: Any) -> Missing:
    """Return what becomes of rows without a group: "error" or "group"."""
    return "group" if one_of("missing", missing, ("error", "group")) == "group" else "error"


def check_cost(name: str, cost: Any) -> float:
    """Return what a wrong decision costs."""
    if is_number(cost) and 0 <= cost < math.inf:
        return float(cost)
    raise DataError(f"{name} must be a number of at least 0, what one such error costs, got {cost!r}.")


def check_share(name: str, share: Any) -> float:
    """Return a share of people to aim at."""
    if is_number(share) and 0 < share <= 1:
        return float(share)
    raise DataError(f"{name} must lie above 0 and be at most 1, got {share!r}.")


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return a value that must be among those allowed."""
    if isinstance(value, str) and value in allowed:
        return value
    *first, last = map(repr, allowed)
    raise DataError(f"{name} must be {', '.join(first)} or {last}, got {value!r}.")


def generator_from_state(random_state: Any) -> np.random.Generator:
    """Random numbers for whoever is handed them: from a seed (a RandomState gives one), or the generator itself.

    >>> generator_from_state(0).standard_normal(2).round(4)
    array([ 0.1257, -0.1321])
    """
    import numpy as np

    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        raise DataError(
            "random_state must be an integer of 0 or more, a numpy Generator or a RandomState, got "
            f"{random_state!r}; pass for example random_state=0."
        )
    return np.random.default_rng(random_state)


# ---- declarations ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Option:
    """One parameter. A default of None means that it may be left open. Without a check of its own it is one of its
    ``values``. On the command line it is called ``word`` ("": as in Python; None: it is not there), and its text is
    read as ``parse`` says."""

    name: str
    default: Any
    values: tuple[str, ...]
    help: str
    check: Callable[[Any], Any] | None = None
    word: str | None = ""
    metavar: str = ""
    parse: Literal["text", "number", "whole", "numbers"] = "text"

    @property
    def flag(self) -> str | None:
        """The flag on the command line."""
        return None if self.word is None else f"--{(self.word or self.name).replace('_', '-')}"

    def checked(self, value: Any) -> Any:
        """The value as it is used, or an error that says what must hold."""
        if value is None and self.default is None:
            return None
        return one_of(self.name, value, self.values) if self.check is None else self.check(value)


def checked(options: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each option by its name: as given or its default, checked."""
    known = {option.name: option for option in options}
    if unknown := sorted(given.keys() - known.keys()):
        raise TypeError(f"unknown parameters {', '.join(unknown)}; there are {', '.join(known)}")
    return {name: option.checked(given.get(name, option.default)) for name, option in known.items()}


def _any(value: Any) -> Any:
    """A value that is checked where it is used, beside the data."""
    return value


EPSILON = Option(
    "epsilon", 0.05, ("0 to 2",), "largest gap allowed between two groups' (FPR, TPR) at any threshold",
    check_epsilon, metavar="E", parse="number",
)  # fmt: skip
METHOD = Option("method", "optimal", ("optimal", "froc"), "the exact optimum, or the paper's algorithm")
NORM = Option("norm", 1, ("1", "inf"), "gap of two groups: |dFPR| + |dTPR|, or the larger of both", check_norm)
QUERIES = Option(
    "queries", None, (f"2 to {MOST_QUERIES:,}",),
    f"look at so many equidistant thresholds only; froc does, at {FROC_QUERIES} by default",
    check_queries, metavar="K", parse="whole",
)  # fmt: skip
# "order": on held-out data gap and AUC are as good or better, and far fewer people are drawn (docs/ties.md).
TIES = Option("ties", "order", ("order", "draw"), "inside a block of the hull: keep the raw order, or draw")
CURVE = Option(
    "curve", "auto", ("auto", "raw", "smooth", "binormal", "calibrated", "shrunk"),
    "ROC curves to work on: the sample's, or an estimate; auto is smooth for small samples, else raw",
    metavar="NAME",
)  # fmt: skip
CONFIDENCE = Option(
    "confidence", None, ("above 0, below 1",),
    "level of the promise for the population (default there: 0.95); given alone, it asks for that promise",
    check_confidence, metavar="C", parse="number",
)  # fmt: skip
PROMISE = Option(
    "promise", "fitted", ("fitted", "new", "population"),
    "for whom epsilon holds: exactly for the fitted people, by estimate for new people, or at some confidence for all",
)  # fmt: skip
KEY = Option("key", None, ("bytes or text",), "secret that the draws of ids depend on", _any, "key_file", "FILE")
HASH = Option("hash", "xxh64", ("xxh64", "blake2b"), "hash of ids: fast, or slower and cryptographic")
POS_LABEL = Option("pos_label", None, ("a label",), "the label that counts as positive", _any, metavar="VALUE")
MISSING = Option("missing", "error", ("error", "group"), "rows without a group: an error, or a group of their own")
SMALL_GROUPS = Option(
    "small_groups", "error", ("error", "merge", "drop"),
    "groups with too few rows of a class: an error, all made one group, or left out",
)  # fmt: skip
MIN_CLASS_ROWS = Option(
    "min_class_rows", 1, ("1 or more",), "rows of each class that a group needs, else it is small", check_class_rows,
    metavar="N", parse="whole",
)  # fmt: skip
ON_UNKNOWN_GROUP = Option(
    "on_unknown_group", None, ("a fitted group",), "fitted group that unknown groups are treated as; else an error",
    _any, metavar="GROUP",
)  # fmt: skip
SALT = Option(
    "salt", None, ("an integer",), "the model's public salt, for reproducible fits; else a new one", _any, None
)

LEVEL = replace(CONFIDENCE, default=0.95, help="level of all intervals and bands")
THRESHOLD = Option(
    "threshold", None, ("a finite number",), "also look at the one decision score >= T", check_cut,
    metavar="T", parse="number",
)  # fmt: skip
BOOTSTRAP = Option(
    "bootstrap", 1000, (f"0, or {MIN_DRAWS} and more",), "number of bootstrap draws; 0 for none", check_bootstrap,
    metavar="N", parse="whole",
)  # fmt: skip
RANDOM_STATE = Option(
    "random_state", 0, ("0 or more",), "seed of the bootstrap", generator_from_state, "seed", "S", "whole"
)
MAX_DISTINCT = Option(
    "max_distinct", 1 << 22, (f"{LEAST_DISTINCT:,} and more",),
    "distinct (group, label, score) that are counted exactly when a table is streamed", check_most,
    metavar="N", parse="whole",
)  # fmt: skip

FIT = (EPSILON, METHOD, NORM, QUERIES, TIES, CURVE, PROMISE, CONFIDENCE, HASH, MISSING, MIN_CLASS_ROWS, SMALL_GROUPS)
"""What `Options` holds."""

ESTIMATOR = (*FIT[:8], KEY, HASH, POS_LABEL, MISSING, MIN_CLASS_ROWS, SMALL_GROUPS, ON_UNKNOWN_GROUP, SALT)
"""Parameters of `FairROC`, in the order of its signature; `FairROCClassifier` has them too."""

AUDIT = (
    replace(NORM, values=("1 or more", "inf"), help="gap of two groups: p-norm of (dFPR, dTPR)", check=check_audit_norm,
            metavar="P"),
    replace(EPSILON, default=None, help="allowed gap, for a verdict; the command exits 1 if it is exceeded"),
    LEVEL, THRESHOLD, BOOTSTRAP, RANDOM_STATE, MIN_CLASS_ROWS, SMALL_GROUPS,
)  # fmt: skip
FRONTIER = (
    Option("epsilons", None, ("numbers, 0 to 2",), "allowed gaps (default: 21, from 0 to the score's own gap)",
           check_epsilons, metavar="E,E,...", parse="numbers"),
    NORM, METHOD, TIES, CURVE, replace(PROMISE, values=("fitted", "new")), QUERIES,
    MISSING, MIN_CLASS_ROWS, SMALL_GROUPS,
)  # fmt: skip
REPORT = (
    replace(EPSILON, default=None, help="allowed gap; without it nothing is fitted"),
    NORM, TIES, PROMISE, replace(THRESHOLD, help="where the page starts (default: the largest gap)"),
    LEVEL, BOOTSTRAP, RANDOM_STATE, MISSING, MIN_CLASS_ROWS, SMALL_GROUPS,
)  # fmt: skip
MONITOR = (
    replace(LEVEL, help="level of intervals; all tests together raise a false alarm with at most the rest"),
    BOOTSTRAP, RANDOM_STATE, ON_UNKNOWN_GROUP,
)  # fmt: skip
AIM = (
    *(
        Option(f"cost_{short}", None, ("0 or more",), f"cost of a false {word}", partial(check_cost, f"cost_{short}"),
               metavar=letter, parse="number")
        for short, word, letter in (("fp", "positive", "A"), ("fn", "negative", "B"))
    ),
    *(
        Option(name, None, ("above 0, at most 1",), sentence, partial(check_share, name), metavar="Q", parse="number")
        for name, sentence in (
            ("selection_rate", "select at most this share of people"),
            ("precision", "have at least this precision"),
            ("recall", "have at least this true positive rate"),
        )
    ),
)  # fmt: skip
FILES = (POS_LABEL, MISSING, MAX_DISTINCT)

SECTIONS = {
    "Fit: `FairROC`, `FairROCClassifier`, `fairroc fit`": ESTIMATOR,
    "Audit: `audit`, `fairroc audit`": AUDIT,
    "Frontier: `frontier`, `fairroc frontier`": FRONTIER,
    "Report: `fairroc report`": REPORT,
    "New people: `FairModel.check`, `fairroc monitor`": MONITOR,
    "Threshold: `choose_threshold`, `fairroc threshold`": AIM,
    "Files: `count_files`, `fairroc audit` and `fairroc fit`": FILES,
}


# ---- what a fit takes --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Options:
    """Parameters of a fit, checked."""

    epsilon: float
    norm: Norm = 1
    method: str = METHOD.default
    queries: int | None = None
    ties: str = TIES.default
    hash: str = HASH.default
    min_class_rows: int = 1
    small_groups: SmallTreatment = "error"
    missing: Missing = "error"
    curve: str = CURVE.default
    promise: str = PROMISE.default
    confidence: float | None = None

    @property
    def constraint(self) -> Constraint:
        """What the fair score is to keep close."""
        from fairroc.core.constraint import equalized_odds

        return equalized_odds(self.norm)

    @classmethod
    def checked(cls, **given: Any) -> Options:
        """Options from whatever a caller gives (the parameters of FIT), or an error that says what must hold."""
        options = cls(**checked(FIT, given))
        if options.method == "froc":
            if options.norm != FROC_NORM:
                raise DataError(
                    "norm must be 1 for method='froc', whose geometry is that of |dFPR| + |dTPR|, got "
                    f"{options.norm!r}. Take norm=1, or method='optimal', which knows both norms."
                )
            options = replace(options, queries=options.queries or FROC_QUERIES)
        if options.curve not in ("auto", "raw") and (options.ties == "draw" or options.queries is not None):
            why = "ties='draw', which attains the raw curve's hull" if options.ties == "draw" else "queries"
            raise DataError(
                f"curve must be 'auto' or 'raw' with {why}, got {options.curve!r}. Take ties='order' and no queries."
            )
        return options._promised()

    def _promised(self) -> Options:
        """The promise with its confidence; a confidence alone asks for a promise for the population."""
        if self.promise == "fitted" and self.confidence is not None:
            return replace(self, promise="population")
        if self.promise == "population" and self.confidence is None:
            return replace(self, confidence=LEVEL.default)
        if self.promise == "new":
            if self.confidence is not None:
                raise DataError(
                    f"confidence must be left out with promise='new', which is an estimate, got {self.confidence:g}. "
                    "Take promise='population' for a promise at some confidence."
                )
            for option in (METHOD, QUERIES, TIES, CURVE):
                if (value := getattr(self, option.name)) != option.default:
                    raise DataError(
                        f"{option.name} must be {option.default!r} with promise='new', which chooses curves and ties "
                        f"itself, got {value!r}. Leave it out, or take promise='fitted'."
                    )
        return self


# ---- the table in the documents ----------------------------------------------------------------------------------


def reference() -> str:
    """The page docs/reference-options.md."""
    lines = [
        "# Options",
        "",
        "Every parameter that can be set beside the data, in Python and on the command line. This page is made by",
        "`python -m fairroc.options`.",
    ]
    for title, options in SECTIONS.items():
        lines += [
            "",
            f"## {title}",
            "",
            "| parameter | flag | values | default | what it does |",
            "|---|---|---|---|---|",
        ]
        lines += [" | ".join(_cells(option)).join(("| ", " |")) for option in options]
    return "\n".join(lines) + "\n"


def _cells(option: Option) -> tuple[str, ...]:
    flag = "" if option.flag is None else f"`{option.flag}`"
    values = ", ".join(option.values)
    return f"`{option.name}`", flag, values, f"`{option.default}`", option.help.replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
