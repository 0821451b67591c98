"""Every parameter that a user can set beside the data: name, default, check and one sentence, once.

The command line's flags and help, the settings of a fit, an audit, a frontier, a report and a check of new people, and
docs/reference/options.md (`python -m fairroc.options` prints it) are made from these declarations; the constructors of
the estimators, the functions' signatures and the model file are held to them by tests. Nothing here loads numpy, so
that `fairroc --help` is quick.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from fairroc.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from fairroc.core.constraint import Constraint, Norm

Missing: TypeAlias = Literal["error", "group"]
SmallTreatment: TypeAlias = Literal["error", "merge", "drop"]

MIN_DRAWS, MOST_DRAWS = 100, 1_000_000
"""Fewer bootstrap draws leave the 95 % limit to two or three of them; more than these tell nothing new."""

FROC_NORM = 1
"""What the paper's method keeps close: |dFPR| + |dTPR|."""

FROC_QUERIES = 100
"""Queries of the paper's method where no number is asked for: it works on queries only (docs/explanation/froc.md)."""

MOST_QUERIES = 10_000_000
"""More thresholds than this are more than scores; without queries= all scores are used."""

LEAST_DISTINCT = 1 << 10


# ---- checks ------------------------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether a value is a real number that a float can hold; a bool is none."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and float(value) is not None
    except OverflowError:  # whole numbers have no largest one
        return False


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of any type of number."""
    return is_number(value) and float(value).is_integer()


def check_epsilon(epsilon: Any) -> float:
    """Return the allowed distance between ROC curves as a float in [0, 2]."""
    if is_number(epsilon) and 0 <= epsilon <= 2:
        return float(epsilon)
    raise DataError(f"epsilon must be between 0 and 2, got {epsilon!r}. Try 0.05; 0 asks for equal ROC curves.")


def check_tolerance(epsilon: Any) -> float | tuple[float, float] | dict[str, float]:
    """Return the allowed distance, a tolerance for FPR and one for TPR, or a distance for each attribute."""
    if not isinstance(epsilon, Mapping):
        return check_epsilon(epsilon)
    if epsilon and not set(epsilon) & {"fpr", "tpr"}:
        return {str(name): check_epsilon(each) for name, each in epsilon.items()}
    if set(epsilon) != {"fpr", "tpr"}:
        raise DataError(
            f"epsilon must be a number, or have one tolerance for 'fpr' and one for 'tpr', got {dict(epsilon)!r}. "
            "Try {'fpr': 0.1, 'tpr': 0.05}; for one rate alone take constraint='equal_opportunity' (TPR) or "
            "'predictive_equality' (FPR)."
        )
    fpr, tpr = epsilon["fpr"], epsilon["tpr"]
    if not all(is_number(each) and 0 < each <= 1 for each in (fpr, tpr)):
        raise DataError(
            f"tolerances of 'fpr' and 'tpr' must be above 0 and at most 1, got {dict(epsilon)!r}. "
            "Try {'fpr': 0.1, 'tpr': 0.05}; epsilon=0 asks for no difference in either."
        )
    return float(fpr), float(tpr)


def check_ratio(ratio: Any) -> float:
    """Return the smallest ratio allowed between two groups' rates."""
    if is_number(ratio) and 0 < ratio <= 1:
        return float(ratio)
    raise DataError(f"ratio must be above 0 and at most 1, got {ratio!r}. Try 0.8, the four-fifths rule.")


def check_where(where: Any) -> tuple[float, float]:
    """Return the shares of all people selected between which the constraint binds."""
    several = where.tolist() if hasattr(where, "tolist") else where  # an array
    ends = tuple(several) if isinstance(several, Sequence) and not isinstance(several, str) else ()
    if len(ends) == 2 and all(map(is_number, ends)) and 0 <= ends[0] < ends[1] <= 1:
        return float(ends[0]), float(ends[1])
    raise DataError(
        f"where must be two rising shares of people from 0 to 1, got {where!r}. Try (0, 0.2) (on the command line: "
        "0:0.2) for thresholds that select up to a fifth of all people."
    )


def check_epsilons(epsilons: Any) -> tuple[float, ...]:
    """Return distinct epsilons, rising, from one number or several."""
    lacking = "epsilons must hold at least one number in [0, 2], got none; leave it out for a default grid."
    return _several(epsilons, check_epsilon, lacking)


def check_ratios(ratios: Any) -> tuple[float, ...]:
    """Return distinct ratios, falling, from one number or several."""
    lacking = "ratios must hold at least one number above 0 and at most 1, got none. Try [0.8, 0.9, 1]."
    return _several(ratios, check_ratio, lacking)[::-1]


def _several(numbers: Any, check: Callable[[Any], float], lacking: str) -> tuple[float, ...]:
    """The distinct ones of one number, an array or any other collection, rising; ``lacking``: what to say of none."""
    several = numbers.tolist() if hasattr(numbers, "tolist") else numbers
    each = several if isinstance(several, Iterable) and not isinstance(several, str) else [several]
    if not (found := tuple(sorted({check(one) for one in each}))):
        raise DataError(lacking)
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
    except (ValueError, OverflowError):
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
    """Return the number of bootstrap draws: 0 (none) or MIN_DRAWS to MOST_DRAWS."""
    whole = isinstance(draws, Integral) and not isinstance(draws, bool)
    if whole and (int(draws) == 0 or MIN_DRAWS <= int(draws) <= MOST_DRAWS):
        return int(draws)
    raise DataError(
        f"bootstrap must be a whole number of draws, at least {MIN_DRAWS}, or 0 for none, got {draws!r}; "
        f"1000 is the default, {MOST_DRAWS:,} the most."
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


def check_flag(name: str, flag: Any) -> bool:
    """Return whether something is asked for."""
    if isinstance(flag, bool) or type(flag).__name__ == "bool":  # numpy's own, which is not loaded here
        return bool(flag)
    raise DataError(f"{name} must be True or False, got {flag!r}.")


def check_positive_means(word: Any) -> str:
    """Return the word for a positive decision: one to three plain words, as they stand after "is" or "are"."""
    words = word.split() if isinstance(word, str) else []
    plain = all(part.replace("-", "").replace("'", "").isalpha() for part in words)
    if 1 <= len(words) <= 3 and plain and len(" ".join(words)) <= 30:
        return " ".join(words)
    raise DataError(
        "positive_means (on the command line: --positive-means) must be one to three plain words that go after 'is', "
        f"30 letters at most, got {word!r}. Try 'flagged' or 'invited'."
    )


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


def check_excluded(share: Any) -> float:
    """Return the share of all people below which a category may be left out of impact ratios."""
    if is_number(share) and 0 <= share <= 0.02:
        return float(share)
    raise DataError(
        f"exclude_below must be between 0 and 0.02, got {share!r}: 6 RCNY 5-301(d) lets categories below 2 % be "
        "excluded, and no larger ones. Take 0 to exclude none."
    )


def check_between(name: str, low: float, high: float, whole: bool, value: Any) -> Any:
    """Return a number between two others, as an int if it must be whole."""
    if (is_whole(value) if whole else is_number(value)) and low <= value <= high:
        return int(value) if whole else float(value)
    kind = "a whole number" if whole else "a number"
    raise DataError(f"{name} must be {kind} from {low:,} to {high:,}, got {value!r}.")


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
    parse: Literal["text", "number", "whole", "numbers", "window", "flag", "always"] = "text"

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


IN_PEOPLE = (
    "of 100 positives and of 100 negatives in each group, the differences between two groups in how many are selected "
    "add up to at most 5"
)
"""What an epsilon of 0.05 means for equalized odds; `fairroc.text.people` says it of any."""

EPSILON = Option(
    "epsilon", 0.05, ("0 to 2", "{'fpr': a, 'tpr': b}"),
    "largest gap allowed between two groups' rates at any threshold; one for both rates, or one for each. 0.05 means: "
    f"{IN_PEOPLE}",
    check_tolerance, metavar="E", parse="number",
)  # fmt: skip
CONSTRAINT = Option(
    "constraint", "equalized_odds",
    ("equalized_odds", "equal_opportunity", "predictive_equality", "demographic_parity"),
    "what must be close at every threshold: FPR and TPR, TPR, FPR, or the share of people selected",
    metavar="NAME",
)  # fmt: skip
RATIO = Option(
    "ratio", None, ("above 0, at most 1",),
    "for one rate, instead of epsilon: smallest over largest rate at any threshold, at least (four-fifths rule: 0.8)",
    check_ratio, metavar="R", parse="number",
)  # fmt: skip
DRAW = Option(
    "draw",
    "few",
    ("few", "never", "all"),
    "decide people by a draw: few (where epsilon cannot be kept without), never (scores are tied instead), or all",
)
WHERE = Option(
    "where", None, ("LO:HI, shares from 0 to 1",),
    "for one rate: only at thresholds that select this share of all people; elsewhere the original order stays",
    check_where, metavar="LO:HI", parse="window",
)  # fmt: skip
METHOD = Option(
    "method", "optimal", ("optimal", "froc"),
    "the exact optimum, or the paper's algorithm, which is for the fitted people: promise is 'fitted' with it",
)  # fmt: skip
NORM = Option("norm", 1, ("1", "inf"), "gap of two groups: |dFPR| + |dTPR|, or the larger of both", check_norm)
QUERIES = Option(
    "queries", None, (f"2 to {MOST_QUERIES:,}",),
    f"look at so many equidistant thresholds only; froc does, at {FROC_QUERIES} by default. With queries promise is "
    "'fitted'",
    check_queries, metavar="K", parse="whole",
)  # fmt: skip
CONFIDENCE = Option(
    "confidence", None, ("above 0, below 1",),
    "level of the promise for the population (default there: 0.95); given without a promise, it asks for that one",
    check_confidence, metavar="C", parse="number",
)  # fmt: skip
PROMISE = Option(
    "promise", "new", ("new", "fitted", "population"),
    "for whom epsilon holds: by estimate for new people, exactly for the fitted people, or at some confidence for all",
)  # fmt: skip
KEY = Option("key", None, ("bytes or text",), "secret that the draws of ids depend on", _any, "key_file", "FILE")
HASH = Option("hash", "xxh64", ("xxh64", "blake2b"), "hash of ids: fast, or slower and cryptographic")
POS_LABEL = Option("pos_label", None, ("a label",), "the label that counts as positive", _any, metavar="VALUE")
MISSING = Option("missing", "error", ("error", "group"), "rows without a group: an error, or a group of their own")
SMALL_GROUPS = Option(
    "small_groups", "error", ("error", "merge", "drop"),
    "groups with too few rows of a class: an error, all made one group, or left out",
)  # fmt: skip
USE_GROUP = Option(
    "use_group", True, ("True", "False"),
    "False (never): the fair score is made without the group, from probabilities of the groups or nothing beside the "
    "score; the group is needed to fit alone",
    partial(check_flag, "use_group"), metavar="always|never", parse="always",
)  # fmt: skip
COMBINE = Option(
    "combine", "intersection", ("intersection", "each"),
    "several group columns: compare their intersections, or every column's groups for themselves",
)  # fmt: skip
MIN_CLASS_ROWS = Option(
    "min_class_rows", 1, ("1 or more",), "rows of each class that a group needs, else it is small", check_class_rows,
    metavar="N", parse="whole",
)  # fmt: skip
ON_UNKNOWN_GROUP = Option(
    "on_unknown_group", None, ("a fitted group",), "fitted group that unknown groups are treated as; else an error",
    _any, metavar="GROUP",
)  # fmt: skip
ALLOW_OUT_OF_RANGE = Option(
    "allow_out_of_range", False, ("True", "False"),
    "take scores also where most lie outside of the fitted ones, as those on another scale do",
    partial(check_flag, "allow_out_of_range"), parse="flag",
)  # fmt: skip
POSITIVE_MEANS = Option(
    "positive_means", "selected", ("a word or two",),
    "what people with a positive decision are, in texts: selected, flagged, invited, ...", check_positive_means,
    metavar="WORD",
)  # fmt: skip
VERBOSE = Option(
    "verbose", False, ("True", "False"), "say more: details of warnings, of the method and of its limits",
    partial(check_flag, "verbose"), parse="flag",
)  # fmt: skip
QUIET = replace(VERBOSE, name="quiet", help="leave out which command may come next", check=partial(check_flag, "quiet"))
SALT = Option(
    "salt", None, ("an integer",), "the model's public salt, for reproducible fits; else a new one", _any, None
)

LEVEL = replace(CONFIDENCE, default=0.95, help="level of all intervals and bands")
THRESHOLD = Option(
    "threshold", None, ("a finite number",), "also look at the one decision score >= T", check_cut,
    metavar="T", parse="number",
)  # fmt: skip
BOOTSTRAP = Option(
    "bootstrap", 1000, (f"0, or {MIN_DRAWS} to {MOST_DRAWS:,}",), "number of bootstrap draws; 0 for none",
    check_bootstrap, metavar="N", parse="whole",
)  # fmt: skip
RANDOM_STATE = Option(
    "random_state", 0, ("0 or more",), "seed of the bootstrap", generator_from_state, "seed", "S", "whole"
)
MAX_DISTINCT = Option(
    "max_distinct", 1 << 22, (f"{LEAST_DISTINCT:,} and more",),
    "distinct (group, label, score) that are counted exactly when a table is streamed", check_most,
    metavar="N", parse="whole",
)  # fmt: skip

FIT = (
    EPSILON, CONSTRAINT, RATIO, METHOD, NORM, QUERIES, DRAW, WHERE, PROMISE, CONFIDENCE, USE_GROUP,
    COMBINE, HASH, MISSING, MIN_CLASS_ROWS, SMALL_GROUPS,
)  # fmt: skip
"""What `Options` holds."""

ESTIMATOR = (*FIT[:12], KEY, HASH, POS_LABEL, MISSING, MIN_CLASS_ROWS, SMALL_GROUPS, ON_UNKNOWN_GROUP,
             ALLOW_OUT_OF_RANGE, SALT)  # fmt: skip
"""Parameters of `FairROC`, in the order of its signature."""

CLASSIFIER = tuple(option for option in ESTIMATOR if option is not ALLOW_OUT_OF_RANGE)
"""Those of `FairROCClassifier`, whose scores are its own estimator's, on whatever scale."""

AUDIT = (
    replace(NORM, values=("1 or more", "inf"), help="gap of two groups: p-norm of (dFPR, dTPR)", check=check_audit_norm,
            metavar="P"),
    replace(EPSILON, default=None, help="allowed gap, for a verdict; the command exits 1 if it is exceeded. 0.05 "
            f"means: {IN_PEOPLE}"),
    replace(CONSTRAINT, help="what is compared at every threshold: FPR and TPR, TPR, FPR, or the share of people "
            "selected; the last needs no labels"),
    RATIO, replace(WHERE, help="only at thresholds that select this share of all people"),
    LEVEL, THRESHOLD, BOOTSTRAP, RANDOM_STATE, MIN_CLASS_ROWS, SMALL_GROUPS,
)  # fmt: skip
FRONTIER = (
    Option("epsilons", None, ("numbers, 0 to 2",), "allowed gaps (default: 21, from 0 to the score's "
           "own gap); one is recommended, and what it means in people is said",
           check_epsilons, metavar="E,E,...", parse="numbers"),
    Option("ratios", None, ("numbers above 0, at most 1",),
           "for one rate, instead of epsilons: smallest over largest rate at any threshold, at least", check_ratios,
           metavar="R,R,...", parse="numbers"),
    CONSTRAINT, NORM, METHOD, DRAW, WHERE, replace(PROMISE, values=("new", "fitted"), check=_any),
    QUERIES, MISSING, MIN_CLASS_ROWS, SMALL_GROUPS,
)  # fmt: skip
REPORT = (
    replace(EPSILON, default=None, help="allowed gap; without it, or a ratio, nothing is fitted. 0.05 means: "
            f"{IN_PEOPLE}"),
    CONSTRAINT, RATIO, NORM, DRAW, WHERE, PROMISE, USE_GROUP, COMBINE,
    replace(THRESHOLD, help="where the page starts (default: the largest gap)"),
    LEVEL, BOOTSTRAP, RANDOM_STATE, MISSING, MIN_CLASS_ROWS, SMALL_GROUPS, POSITIVE_MEANS,
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
PACK = (
    replace(AIM[2], help="decide at the lowest threshold that selects at most this share of people, instead of "
            "--threshold"),
    Option("exclude_below", 0.02, ("0 to 0.02",), "categories with a smaller share of all people get no impact "
           "ratio; 0 excludes none", check_excluded, metavar="Q", parse="number"),
    ALLOW_OUT_OF_RANGE,
)  # fmt: skip


def _between(name: str, default: float, low: float, high: float, sentence: str, letter: str, whole: bool) -> Option:
    values, kind = (f"{low:,} to {high:,}",), "whole" if whole else "number"
    check = partial(check_between, name, low, high, whole)
    return Option(name, default, values, sentence, check, metavar=letter, parse=kind)  # type: ignore[arg-type]


SERVE = (
    Option("host", "127.0.0.1", ("a name or address",), "address to listen on; 0.0.0.0 is all of them", _any,
           metavar="HOST"),
    _between("port", 8000, 0, 65_535, "port to listen on; 0 takes a free one", "PORT", True),
    _between("workers", 1, 1, 256, "processes that answer requests", "N", True),
    _between("max_body", 8, 0.001, 1024, "largest body of a request, in MB", "MB", False),
    _between("max_people", 100_000, 1, 10_000_000, "most people in a request", "N", True),
    _between("timeout", 30, 0.1, 3600, "seconds that a request may take to arrive, to wait for its turn, and an answer "
             "to be taken; and that requests in flight get when the service stops", "S", False),
    _between("drain", 0, 0, 3600, "seconds after SIGTERM in which /health/ready says no and all is still answered", "S",
             False),
    Option("id_type", None, ("integer", "text"), "refuse ids of the other type: 17 and \"17\" have different draws"),
    Option("log_format", "text", ("text", "json"), "of the log on standard error, one line for each request"),
)  # fmt: skip
FILES = (POS_LABEL, MISSING, MAX_DISTINCT)
WORDS = (POSITIVE_MEANS, VERBOSE, QUIET)

SECTIONS = {
    "Fit: `FairROC`, `FairROCClassifier`, `fairroc fit`": ESTIMATOR,
    "Audit: `audit`, `fairroc audit`": AUDIT,
    "Frontier: `frontier`, `fairroc frontier`": FRONTIER,
    "Report: `fairroc report`": REPORT,
    "For the regulator: `write_pack`, `fairroc report --pack`": PACK,
    "New people: `FairModel.check`, `fairroc monitor`": MONITOR,
    "Threshold: `choose_threshold`, `fairroc threshold`": AIM,
    "Service: `fairroc serve`": SERVE,
    "Files: `count_files` and the commands that read people": FILES,
    "Words: what commands print; `positive_means` also in `FairModel.explain` and `write_report`": WORDS,
}


# ---- what a fit takes --------------------------------------------------------------------------------------------


def tolerated(values: dict[str, Any], default: float | None = EPSILON.default) -> dict[str, Any]:
    """Checked values with epsilon as one number: a ratio, or a tolerance for each rate, says what it is."""
    found, ratio, epsilon = dict(values), values.get("ratio"), values["epsilon"]
    if isinstance(epsilon, dict):
        if values.get("combine") != "each" or ratio is not None:
            raise DataError(
                f"epsilon must be a number, or have one tolerance for 'fpr' and one for 'tpr', got {epsilon!r}. An "
                "epsilon for each attribute goes with combine='each' (--combine each), and not with a ratio."
            )
        return found | {"epsilon": max(epsilon.values()), "attribute_epsilons": tuple(epsilon.items())}
    if isinstance(epsilon, tuple):
        if values["constraint"] != CONSTRAINT.default or ratio is not None:
            raise DataError(
                "epsilon must be one number for a constraint on one rate, got one for 'fpr' and one for 'tpr'. Take "
                "constraint='equalized_odds' for both."
            )
        found |= {"epsilon": min(epsilon), "tolerances": epsilon, "norm": "inf"}
    if ratio is not None:
        if epsilon not in (default, None):
            raise DataError(
                f"give either epsilon or ratio, got epsilon {epsilon:g} and ratio {ratio:g}. Leave one out."
            )
        found["epsilon"] = 1.0 - ratio
    return found


def fairness(
    constraint: str,
    norm: Norm,
    tolerances: tuple[float, float] | None = None,
    as_ratio: bool = False,
    where: tuple[float, float] | None = None,
) -> Constraint:
    """The constraint that options name, as geometry."""
    from fairroc.core.constraint import ONE_RATE, Difference, Ratio, equalized_odds, own_tolerances

    if constraint != CONSTRAINT.default:
        return (Ratio if as_ratio else Difference)(ONE_RATE[constraint], where)
    return equalized_odds(norm) if tolerances is None else own_tolerances(*tolerances)


def refuse(asked: Any, options: Iterable[Option], why: str) -> None:
    """Raise where an option is not at its default."""
    for option in options:
        if (value := getattr(asked, option.name)) != option.default:
            raise DataError(f"{option.name} must be {option.default!r} {why}, got {value!r}. Leave it out.")


def refuse_for_one_rate(asked: Any, options: Iterable[Option]) -> None:
    """Raise where an option makes no sense for one rate."""
    refuse(asked, options, f"with constraint={asked.constraint!r}, which looks at one rate and at all scores")


def refuse_for_both_rates(asked: Any, options: Iterable[Option]) -> None:
    """Raise where an option makes sense for one rate only."""
    why = {
        "ratio": "a ratio of two rates at once means nothing at thresholds that select few people",
        "where": "inside a window the groups would have to leave their ROC curves and to find back",
    }
    for option in options:
        if (value := getattr(asked, option.name)) != option.default:
            raise DataError(
                f"{option.name} must be {option.default!r} with constraint='equalized_odds': {why[option.name]}. "
                f"Got {value!r}; leave it out, or take a constraint on one rate, such as 'equal_opportunity'."
            )


class AsksFor(Protocol):
    """Whatever remembers what must be close and how: options, a model, a result."""

    @property
    def constraint(self) -> str: ...
    @property
    def norm(self) -> Norm: ...
    @property
    def tolerances(self) -> tuple[float, float] | None: ...
    @property
    def ratio(self) -> float | None: ...
    @property
    def where(self) -> tuple[float, float] | None: ...


KEPT = ("constraint", "norm", "ratio", "tolerances", "where")
"""Names of these."""


def same(one: Any, *names: str) -> dict[str, Any]:
    """Fields that another object repeats, by their names."""
    return {name: getattr(one, name) for name in names}


def fairness_of(asked: AsksFor) -> Constraint:
    """The constraint that was asked for, as geometry."""
    return fairness(asked.constraint, asked.norm, asked.tolerances, asked.ratio is not None, asked.where)


@dataclass(frozen=True, slots=True)
class Options:
    """Parameters of a fit, checked."""

    epsilon: float
    norm: Norm = 1
    method: str = METHOD.default
    queries: int | None = None
    constraint: str = CONSTRAINT.default
    ratio: float | None = None
    draw: str = DRAW.default
    where: tuple[float, float] | None = None
    tolerances: tuple[float, float] | None = None
    hash: str = HASH.default
    min_class_rows: int = 1
    small_groups: SmallTreatment = "error"
    missing: Missing = "error"
    promise: str = PROMISE.default
    confidence: float | None = None
    use_group: bool = True
    combine: str = COMBINE.default
    attribute_epsilons: tuple[tuple[str, float], ...] | None = None

    @property
    def fairness(self) -> Constraint:
        """What the fair score is to keep close, as geometry."""
        return fairness_of(self)

    @property
    def ties(self) -> str:
        """Inside a block of a curve's hull: "draw" for everybody, or the "order" of the scores where it can be kept."""
        return "draw" if self.draw == "all" else "order"

    @property
    def is_spread(self) -> bool:
        """Whether what the fair score is told of a person is not the groups that are compared."""
        return not self.use_group or self.combine != COMBINE.default

    def check_spread(self) -> None:
        """Raise where an option makes no sense for groups that are spread over segments."""
        why = "use_group=False, combine='each' and control_features"
        refuse(self, (METHOD, QUERIES), f"with {why}")
        if self.draw == "never":
            raise DataError(
                f"draw must be 'few' or 'all' with {why}, got 'never': cells of people are partly selected there. Take "
                "'few', which says how many people are drawn."
            )
        if self.promise == "population":
            raise DataError(
                f"promise must be 'new' or 'fitted' with {why}: nothing is known yet that holds for everybody at some "
                "confidence. Leave confidence out."
            )
        if self.small_groups == "drop":
            raise DataError(f"small_groups must be 'error' or 'merge' with {why}, got 'drop'.")

    def remembered(self) -> dict[str, Any]:
        """What a model repeats."""
        how = ("epsilon", "method", "queries", "draw", "hash", "missing", "promise", "confidence", "use_group")
        return same(self, *KEPT, *how, "combine")

    @property
    def measure(self) -> Constraint:
        """What gaps are measured by: as asked for; a promise for new people, as far as these can be told about."""
        return self.fairness.told() if self.promise == "new" else self.fairness

    @property
    def one_rate(self) -> bool:
        """Whether one rate alone is to be close."""
        return bool(self.constraint != CONSTRAINT.default)

    @classmethod
    def checked(cls, **given: Any) -> Options:
        """Options from whatever a caller gives (the parameters of FIT), or an error that says what must hold."""
        values = checked(FIT, given)
        options = cls(**tolerated(values))
        if options.one_rate:
            options._check_one_rate()
        else:
            refuse_for_both_rates(options, (RATIO, WHERE))
        if options.method == "froc":
            if options.tolerances is not None:
                raise DataError(
                    "epsilon must be one number for method='froc', got one for 'fpr' and one for 'tpr'. Take "
                    "method='optimal' for both."
                )
            if options.norm != FROC_NORM:
                raise DataError(
                    "norm must be 1 for method='froc', whose geometry is that of |dFPR| + |dTPR|, got "
                    f"{options.norm!r}. Take norm=1, or method='optimal', which knows both norms."
                )
            options = replace(options, queries=options.queries or FROC_QUERIES)
        options._check_draw()
        return options._promised()

    def _check_draw(self) -> None:
        """Raise where nobody is to be drawn and the rest does not allow it."""
        if self.draw == "never" and self.queries is not None:
            why = "method='froc'" if self.method == "froc" else "queries"
            raise DataError(f"draw must be 'few' or 'all' with {why}, got 'never'. Leave out {why}, or draw.")

    def _check_one_rate(self) -> None:
        """Raise where an option makes no sense for one rate."""
        refuse_for_one_rate(self, (METHOD, NORM, QUERIES))
        if self.where is not None and self.draw == "all":
            raise DataError(
                f"draw must be 'few' or 'never' with where={self.where!r}, which keeps the order of scores, got 'all'. "
                "Leave it out."
            )

    def _promised(self) -> Options:
        """The promise with its confidence. Where it was left at its default, a confidence asks for a promise for the
        population, and what is not made for new people, the paper's method and queries, for the fitted ones."""
        if self.promise == "fitted" and self.confidence is not None:
            raise DataError(
                "confidence must be left out with promise='fitted', which holds exactly for the fitted people, got "
                f"{self.confidence:g}. Take promise='population' for a promise at some confidence."
            )
        if self.promise == "population" or self.confidence is not None:
            return replace(self, promise="population", confidence=self.confidence or LEVEL.default)
        return replace(self, promise="fitted") if self.queries is not None else self


# ---- the table in the documents ----------------------------------------------------------------------------------


def reference() -> str:
    """The page docs/reference/options.md."""
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
