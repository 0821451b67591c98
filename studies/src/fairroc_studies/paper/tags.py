"""HTML that escapes by construction: text is escaped wherever it goes, only `Html` is taken as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from unicodedata import category

from markupsafe import Markup, escape

Html = Markup

VOID = frozenset({"input"})

LONG = 40
"""Longer names may be cut short in a table; pointing at them shows the whole."""


def text(value: object) -> Html:
    """Any value as escaped text, without control characters and lone surrogates."""
    if isinstance(value, Html):
        return value
    plain = "".join(c if c == "\n" or category(c) not in ("Cc", "Cs") else "\ufffd" for c in str(value))
    return escape(plain)


def tag(name: str, *children: object, **attributes: object) -> Html:
    """An element; ``class_`` and ``for_`` lose their underscore, others become hyphens; None leaves one out.

    >>> tag("p", "a < b", class_="note", data_x='"')
    Markup('<p class="note" data-x="&#34;">a &lt; b</p>')
    """
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    inside = "".join(f" {key}" if value is True else f' {key}="{text(value)}"' for key, value in given.items())
    if name in VOID:
        return Html(f"<{name}{inside}>")
    return Html(f"<{name}{inside}>{join(children)}</{name}>")


def join(parts: Iterable[object], between: str = "") -> Html:
    """Escaped parts, one after the other."""
    return Html(text(between).join(text(part) for part in parts))


def name_of(value: str) -> Html:
    """A name from the data: its letters keep to themselves, whichever way they run."""
    return tag(
        "bdi", value if value.strip() else "(no name)", class_="name", title=value if len(value) > LONG else None
    )


def table(
    caption: object,
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    above: object = "",
    spoken: str | None = None,
    id: str | None = None,
) -> Html:
    """A table whose first column heads its rows, in a frame that scrolls by itself on a narrow screen.

    ``above`` is one more row of heads, ``spoken`` names the frame where the caption's words change.
    """
    top = join([above, tag("tr", *(tag("th", cell, scope="col") for cell in head))])
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    whole = tag("table", tag("caption", tag("span", caption)), tag("thead", top), tag("tbody", *body), id=id)
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=spoken or caption)
