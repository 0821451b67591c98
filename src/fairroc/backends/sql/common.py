"""What all dialects share: the checked request, the messages that the SQL raises, the formulas, and quoting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from fairroc.errors import DataError
from fairroc.model.draw import derive_seed, effective_salt
from fairroc.model.model import ModelData
from fairroc.model.proxy import ProxyTree
from fairroc.model.xxh64 import PRIMES
from fairroc.options import CONSTRAINT
from fairroc.people.factorise import LONG_NUMBER, MISSING_GROUP
from fairroc.people.rows import known_groups
from fairroc.tables.columns import require_distinct

P1, P2, P3, P4, P5 = PRIMES

SCORE_TYPE = "fairroc: scores must be numbers; cast the column to double"
SCORE = "fairroc: scores must be finite numbers within 1e307, not missing; drop or fill these rows"
PROBABILITY_TYPE = "fairroc: probabilities of groups must be numbers; cast the column to double"
PROBABILITY = "fairroc: probabilities of groups must lie between 0 and 1, not missing; drop or fill these rows"
GROUP = 'fairroc: a group is missing; fill it in, or refit with missing="group"'
GROUP_TYPE = "fairroc: groups must be text; cast the column to text"
UNKNOWN = "fairroc: the model does not know the group: "
LEFT_OUT = "fairroc: too small, and left out of the fit, was the group: "
ID = "fairroc: an id is missing; every row needs one"
INTEGER = "fairroc: ids must be integers of 64 bits; cast the column, or write the SQL for text ids"
TEXT = "fairroc: ids must be text; cast the column, or write the SQL for integer ids"
LONG = "fairroc: a text id has more than {} bytes, which is more than is written out; hash it to a shorter text first"
LOST = "fairroc: a row was found in no table; please report it"


# The formulas of fairroc.model.tables: t is a row with its cell, o its outcome, k its knot.

IN_ORDER = "(t.fairroc_s - t.fairroc_origin) * t.fairroc_slope + t.fairroc_fair"
AFTER_KNOT = "(t.fairroc_place - k.y) * k.slope + k.score"


def place_text(level: str, suffix: str) -> str:
    """The place on the scale of a row that is drawn; ``suffix`` makes a number a double."""
    begin = f"CASE WHEN o.level = t.fairroc_first_level THEN t.fairroc_first_share ELSE 0.0{suffix} END"
    end = f"CASE WHEN o.level = t.fairroc_last_level THEN t.fairroc_last_share ELSE 1.0{suffix} END"
    return f"(t.fairroc_u - o.lower) / (o.upper - o.lower) * ({end} - {begin}) + {begin} + {level}"


@dataclass(frozen=True, slots=True)
class Within:
    """What a column of numbers must hold: its ends, and what the SQL says of other types and of other numbers."""

    low: str
    high: str
    wrong_type: str
    wrong_number: str


SCORES = Within("-1e307", "1e307", SCORE_TYPE, SCORE)
PROBABILITIES = Within("0", "1", PROBABILITY_TYPE, PROBABILITY)


def cell_text(
    tree: ProxyTree, columns: Sequence[str], text: Callable[[str], str], number: Callable[[str, bool], str]
) -> str:
    """The name of the leaf that rows with these columns of probabilities, as doubles, belong to."""
    names = dict(zip(tree.leaves.tolist(), tree.names, strict=True))

    def below(node: int) -> str:
        if node in names:
            return text(names[node])
        limit = number(f"'{float(tree.threshold[node])!r}'", True)
        low, high = below(int(tree.left[node])), below(int(tree.right[node]))
        return f"CASE WHEN {columns[tree.column[node]]} <= {limit} THEN {low} ELSE {high} END"

    return below(0)


FORMS = {
    "duckdb": ("query", "function", "dbt"),
    "spark": ("query", "dbt"),
    "postgres": ("function",),
    "bigquery": ("query", "dbt"),
    "snowflake": ("query", "dbt"),
}
"""The forms of each dialect; the first is the one it gets unless another is asked for."""

ID_TYPES = ("integer", "text")


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A request to write a model as SQL; everything in it holds together. ``id`` is None just where nobody is drawn:
    then no id is looked at, and there is no secret.

    The texts of ``groups``, strata first, are joined to the name of a group; without the use of groups the name of the
    cell that ``probabilities``, in the order of the fit, lead to comes last.
    """

    model: ModelData
    form: str
    table: str
    score: str
    groups: tuple[str, ...]
    id: str | None
    id_type: str
    column: str
    function: str
    on_unknown_group: str | None
    salt: int = field(repr=False)  # with the key in it, as Spark's xxhash64 wants it
    seed: int = field(repr=False)  # of XXH64, the same otherwise
    secret: bool
    probabilities: tuple[str, ...] = ()
    stored: Callable[[str], str] | None = None  # the names of tables that were stored before

    @classmethod
    def checked(
        cls,
        model: ModelData,
        dialect: Any,
        *,
        form: Any,
        table: Any,
        score: Any,
        group: Any,
        group_probabilities: Any = None,
        control_features: Any = None,
        id: Any,
        id_type: Any,
        column: Any,
        function: Any,
        tables: Any,
        key: bytes | str | None,
        on_unknown_group: Any,
    ) -> Ask:
        """Check all that comes from a caller."""
        _one_of("dialect", dialect, FORMS, "--dialect")
        _one_of("id_type", id_type, ID_TYPES, "--id-type")
        if form is None:
            form = FORMS[dialect][0]
        _one_of(f"form for {dialect}", form, FORMS[dialect], "--form")
        own, probabilities, controls = (
            tuple(part) if isinstance(part, list | tuple) else () if part is None else (part,)
            for part in (group, group_probabilities, control_features)
        )
        column = f"{score}_fair" if column is None else column
        if not model.needs_ids:
            id = key = None
        named = {
            **{"score": (score,), "group": own if own or not model.use_group else ("",)},
            **{"group-probability": probabilities, "control": controls},
            **{"id": (id,) if model.needs_ids else (), "column": (column,), "function": (function,)},
        }
        for what, names in named.items():
            for name in names:
                _name(what, name)
        require_distinct(own)
        groups, probabilities = model.told_columns(own, probabilities, controls)
        require_distinct(groups)
        if score == id or {score, id} & {*groups}:
            twice = score if score == id or score in groups else id
            raise DataError(
                f"score, group and id must be different columns (on the command line: --score, --group, --id), but "
                f"{twice!r} is named twice; name the column of each."
            )
        if column in (score, id, *groups, *probabilities):
            raise DataError(f"the new column must have a name of its own, but {column!r} is one of the others.")
        if not isinstance(table, str) or not table.strip():
            raise DataError(f"table must name what to read (on the command line: --table), got {table!r}.")
        if model.hash != "xxh64" and id is not None:
            raise DataError(
                f'SQL can compute draws of hash="xxh64" only, but this model has hash={model.hash!r}; transform in '
                "Python, or refit with hash='xxh64' (docs/explanation/draws.md says what that gives up)."
            )
        _tables(tables, dialect)
        known_groups(model.names, on_unknown_group)
        if any("\0" in name for name in (*model.codes, *model.left_out)):
            raise DataError("a group's name holds a NUL character, which SQL text cannot; rename the group and refit.")
        return cls(
            model=model,
            form=form,
            table=table.strip(),
            score=score,
            groups=groups,
            probabilities=probabilities,
            id=id,
            id_type=id_type,
            column=column,
            function=function,
            on_unknown_group=on_unknown_group,
            salt=effective_salt(model.salt, key),
            seed=derive_seed(model.salt, key),
            secret=key is not None,
            stored=None if tables is None else lambda name: f"{tables}_{name}",
        )

    @property
    def unknown_code(self) -> int | None:
        """The number of the group that unknown groups are treated as."""
        return None if self.on_unknown_group is None else self.model.names.index(self.on_unknown_group)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Groups that the SQL refuses because the fit left them out."""
        return () if self.on_unknown_group is not None else self.model.left_out

    def named(self, text: str, parts: str, collation: str = "") -> str:
        """A text as Python names a group: numbers, where groups have such names, without zeros at their end. ``parts``
        are those of the pattern to keep."""
        names = " & ".join((*self.model.codes, *self.left_out)).split(" & ")
        if not any(LONG_NUMBER.fullmatch(name + (".0" if "." not in name else "0")) for name in names):
            return text
        short = f"regexp_replace({text}{collation}, '^(?:{LONG_NUMBER.pattern})$', {parts})"
        return f"(CASE WHEN {text}{collation} LIKE '%.%0' THEN {short} ELSE {text}{collation} END)"

    @property
    def missing_name(self) -> str | None:
        """The name of rows without a group, if the model has such a group."""
        return MISSING_GROUP if self.model.missing == "group" else None

    def heading(self, *lines: str) -> str:
        """Comment lines that say what the SQL is."""
        model = self.model
        what = [
            f"Fair score, {_asked(model)}, method {model.method}, draw {model.draw};",
            f"written by {_plain(model.record.package)}, fitted {_plain(model.record.date)}.",
            *lines,
        ]
        if self.secret:
            what.append("The constants below hold the draws' secret: keep this text as you keep the key.")
        return "".join(f"-- {line}\n" for line in what)


def _asked(model: ModelData) -> str:
    """The constraint and how close it is kept."""
    how = f"epsilon {model.epsilon!r}" if model.ratio is None else f"ratio {model.ratio!r}"
    if model.constraint == CONSTRAINT.default:
        how += f", norm {model.norm}"
    if model.tolerances is not None:
        how = "epsilon {!r} (FPR) and {!r} (TPR)".format(*model.tolerances)
    if model.where is not None:
        how += ", where shares {!r} to {!r} of people are selected".format(*model.where)
    return f"{model.constraint} at {how}"


def double_quoted(name: str) -> str:
    """An identifier, as standard SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def single_quoted(text: str) -> str:
    """A text, as standard SQL quotes it."""
    return "'" + text.replace("'", "''") + "'"


def is_plain(text: str) -> bool:
    """Whether every dialect takes a text in quotes for what it is."""
    return text.isascii() and text.isprintable() and not set(text) & set("'\\")


def numbers(values: NDArray[Any]) -> str:
    """Numbers with commas; doubles with all the digits that bring them back bit for bit."""
    return ",".join(map(repr, values.tolist()))


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _one_of(what: str, given: Any, allowed: Sequence[str] | dict[str, Any], flag: str) -> None:
    if given not in tuple(allowed):
        names = " or ".join(map(repr, allowed))
        raise DataError(f"{what} must be {names} (on the command line: {flag}), got {given!r}.")


def _tables(name: Any, dialect: str) -> None:
    if name is not None and dialect == "postgres":
        raise DataError("tables must be None for postgres, whose function holds its numbers (no --tables).")
    if name is not None:
        _name("tables", name)


def _name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise DataError(f"{what} must be a name (on the command line: --{what}), got {name!r}.")
