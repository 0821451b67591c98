"""What a prompt and a notebook show of a result: a few facts and one table, as aligned text and as HTML.

Pure functions of words, and two bases for dataclasses whose own fields would fill the screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from typing import Any
from unicodedata import bidirectional, category

NAME_WIDTH = 28
"""Longer group names are shortened in tables."""

FACT_WIDTH = 96
"""Longer facts are shortened."""

MOST_ROWS = 15
"""As many rows of a table are shown."""

Cells = Sequence[str]


@dataclass(frozen=True, slots=True)
class Summary:
    """A result in brief. ``total`` is how many rows there are where ``rows`` are some of them."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    head: Cells = ()
    rows: Sequence[Cells] = ()
    total: int | None = None
    noun: str = "groups"
    notes: Sequence[str] = ()

    @property
    def shown(self) -> Sequence[Cells]:
        """The rows that fit."""
        return self.rows[:MOST_ROWS]

    @property
    def after(self) -> list[str]:
        """What stands below the table."""
        total = len(self.rows) if self.total is None else self.total
        more = total - len(self.shown)
        return [*([f"and {more:,} more {self.noun}"] if more > 0 else []), *(cut(note) for note in self.notes)]


class Titled:
    """What is about groups of one attribute, or of one attribute inside a stratum."""

    __slots__ = ()
    attribute: str
    stratum: str | None

    @property
    def title(self) -> str:
        """The attribute, and the stratum it is looked at in."""
        return self.attribute if self.stratum is None else f"{self.attribute} within {self.stratum}"


TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Characters that turn the direction of all that follows on a line."""


def flat(name: str) -> str:
    """A name on one line, without control characters."""
    odd = (category(letter) in ("Cc", "Cs") or bidirectional(letter) in TURNS for letter in name)
    return " ".join("".join(" " if bad else letter for bad, letter in zip(odd, name, strict=True)).split())


def cut(words: str, width: int = FACT_WIDTH) -> str:
    """Words on one line of limited length.

    >>> cut("one, two\\n three", 9)
    'one, two…'
    """
    line = flat(words)
    return line if len(line) <= width else line[: width - 1] + "…"


def short(name: str) -> str:
    """A name that fits a table."""
    return cut(name, NAME_WIDTH)


def figure(value: float | None, digits: int = 4, *, none: str = "") -> str:
    """A number with so many decimals."""
    return none if value is None else f"{value:.{digits}f}"


def percent(share: float | None) -> str:
    """A share of people."""
    return "" if share is None else f"{share:.1%}"


def span(interval: tuple[float, float] | None, digits: int = 3) -> str:
    """From where to where; nothing where that is not known."""
    return "" if interval is None else f"{interval[0]:.{digits}f} to {interval[1]:.{digits}f}"


def span_words(where: tuple[float, float] | None) -> str:
    """A window of shares of people; everybody without one."""
    low, high = (f"{100 * share:.4g}%" for share in where or (0.0, 1.0))
    return f"{low} to {high} of people"


def window(where: tuple[float, float] | None) -> list[tuple[str, str]]:
    """The fact at which thresholds a gap was measured; none where at all.

    >>> window((0.05, 0.3))
    [('  measured', 'where 5% to 30% of people are selected')]
    """
    return [] if where is None else [("  measured", f"where {span_words(where)} are selected")]


def size(rows: int, groups: int) -> str:
    """How many rows and groups."""
    return f"{rows:,} rows, {groups:,} groups"


def table(head: Cells, rows: Iterable[Cells]) -> list[str]:
    """Lines of a table: first column to the left, the others to the right.

    >>> table(["group", "rows"], [["a", "1,200"], ["b", "80"]])
    ['group   rows', 'a      1,200', 'b         80']
    """
    cells = [[short(row[0]), *row[1:]] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in cells
    ]


def as_text(summary: Summary) -> str:
    """Title, facts, table and notes, a blank line before and after the table.

    >>> print(as_text(Summary("Counts", [("people", "9")], ["group", "rows"], [["a", "4"], ["b", "5"]])))
    Counts
      people  9
    <BLANKLINE>
    group  rows
    a         4
    b         5
    """
    width = max((len(name) for name, _ in summary.facts), default=0)
    facts = [f"  {name:<{width}}  {cut(value)}".rstrip() for name, value in summary.facts]
    grid = table(summary.head, summary.shown) if summary.rows else []
    parts = [[cut(summary.title), *facts], [*grid, *summary.after]]
    return "\n\n".join("\n".join(part) for part in parts if part)


def as_html(summary: Summary) -> str:
    """The same as tables with a caption and headed rows, without scripts, ids or colours of their own.

    >>> as_html(Summary("A < B", [("people", "9")])).count("&lt;")
    1
    """
    facts = "".join(
        f'<tr><th scope="row" style="{LEFT}">{escape(name)}</th><td style="{LEFT}">{escape(cut(value))}</td></tr>'
        for name, value in summary.facts
    )
    title = escape(cut(summary.title))
    caption = f'<caption style="{CAPTION}">{title}</caption>'
    first = f"<table>{caption}<tbody>{facts}</tbody></table>"
    second = "" if not summary.rows else f'<table aria-label="{title}">{_grid(summary)}</table>'
    return f"<div>{first}{second}{''.join(f'<p>{escape(note)}</p>' for note in summary.after)}</div>"


LEFT, RIGHT = "padding:.2em .6em;text-align:left", "padding:.2em .6em;text-align:right"
CAPTION = "caption-side:top;text-align:left;font-weight:bold;color:inherit"


def _grid(summary: Summary) -> str:
    """Head and rows; the first cell of each names it."""
    names = [
        f'<th scope="col" style="{RIGHT if i else LEFT}">{escape(cell)}</th>' for i, cell in enumerate(summary.head)
    ]
    rows = [
        f'<tr><th scope="row" style="{LEFT}">{escape(short(first))}</th>'
        + "".join(f'<td style="{RIGHT}">{escape(cell)}</td>' for cell in rest)
        + "</tr>"
        for first, *rest in summary.shown
    ]
    return f"<thead><tr>{''.join(names)}</tr></thead><tbody>{''.join(rows)}</tbody>"


# ---- dataclasses -------------------------------------------------------------------------------------------------


def worded(value: Any) -> str:
    """A value in few letters: numbers rounded to four decimals, collections by their size.

    >>> worded(0.15404999999912206), worded(3.2e-9), worded((1.0, 2.25)), worded(list(range(99)))
    ('0.154', '3.2e-09', '(1, 2.25)', '99 values')
    """
    if isinstance(value, str):
        return repr(short(value))
    value = value.item() if getattr(value, "shape", None) == () else value
    if isinstance(value, float):
        return f"{value:.2g}" if 0 < abs(value) < 5e-5 else f"{round(value, 4):.10g}"
    if is_dataclass(value) and not isinstance(value, type):
        values = (getattr(value, f.name) for f in fields(value))
        large = any(hasattr(v, "shape") or (isinstance(v, tuple | list | dict) and len(v) > 3) for v in values)
        return type(value).__name__ if large else brief(value)
    if isinstance(value, tuple | list | dict):
        plain = not isinstance(value, dict) and all(isinstance(v, float | int | str) for v in value)
        return f"({', '.join(map(worded, value))})" if plain and len(value) <= 3 else f"{len(value):,} values"
    return f"array of shape {tuple(value.shape)}" if hasattr(value, "shape") else cut(repr(value), NAME_WIDTH)


def brief(thing: Any) -> str:
    """A dataclass on one line: its fields but those that are None or empty.

    >>> brief(Summary("Counts", total=3, noun="people"))
    "Summary(title='Counts', total=3, noun='people')"
    """
    known = [(f.name, getattr(thing, f.name)) for f in fields(thing) if f.repr]
    empty: tuple[Any, ...] = (None, "", (), [], {})
    told = [f"{name}={worded(value)}" for name, value in known if hasattr(value, "shape") or value not in empty]
    return f"{type(thing).__name__}({', '.join(told)})"


class Result:
    """Base of dataclasses that are shown as a table: `_summary` says which, by default one of all fields."""

    __slots__ = ()

    def _summary(self) -> Summary:
        thing: Any = self
        known = [(f.name, getattr(thing, f.name)) for f in fields(thing) if f.repr]
        told = [(name.replace("_", " "), worded(value)) for name, value in known if value is not None]
        return Summary(type(self).__name__, told)

    def __repr__(self) -> str:
        return as_text(self._summary())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return as_html(self._summary())


class Part(Result):
    """Base of parts of results, which also stand in tuples: on one line there, as a table when printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return brief(self)

    def __str__(self) -> str:
        return as_text(self._summary())
