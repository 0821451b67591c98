"""What a reproduction leaves: CSV files, a page, a short README with figures; all of it or nothing."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fairroc.errors import DataError
from fairroc.tables.write import written_together
from fairroc_studies.paper.claims import claims, tally
from fairroc_studies.paper.figures import Figure, beside_fnnc, beside_peers, pair_figures, standalone
from fairroc_studies.paper.page import TITLE, page, versions, work_words
from fairroc_studies.paper.study import Result, model_title, problem_title
from fairroc_studies.paper.verdicts import Claim, Evidence

if TYPE_CHECKING:
    from fairroc_studies.paper.study import Study

FIGURES = "figures"
KEY_PAIRS = (("adult", "lr"), ("adult", "rf"), ("compas", "rf"), ("adult", "fnnc"), ("celeba", "resnet"))
"""Runs whose figures the README shows, where they exist; otherwise the first run."""

KEY_FIGURES = (
    *("roc-none", "roc-froc", "roc-optimal"),
    *("accuracy-test", "disparate_impact-test", "auc_loss_upper-test"),
)
ACROSS = 3
"""Figures side by side in the README; wide ones are two."""

Written: TypeAlias = tuple[Claim, ...]


def write(study: Study, folder: str | os.PathLike[str], *, command: str, date: str) -> Written:
    """Write results.csv, summary.csv, claims.csv, index.html, README.md and figures/*.svg; gives the claims.

    The files appear together when all are written; other files of the folder are left alone.
    """
    target = Path(folder)
    found = claims(study)
    texts = dict(_texts(study, found, command=command, date=date))
    new = _made(target)
    try:
        with written_together() as begin:
            for name, text in texts.items():
                with begin(target / name) as sink:
                    sink.write(text.encode())
    except BaseException:
        _unmake(new)
        raise
    return found


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raise unless the folder can be made or written to; to be called before long work."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise DataError(f"the output must be a folder, but '{target}' is a file; name another with -o.")
    nearest = next(parent for parent in (target, *target.absolute().parents) if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise DataError(f"cannot make the folder '{target}': '{nearest}' cannot be written to; name another with -o.")


def _made(target: Path) -> list[Path]:
    """Make the folder and that of its figures; the new ones, inner ones last."""
    wanted = target / FIGURES
    new = [path for path in (*reversed(wanted.parents), wanted) if not path.exists()]
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _unmake(new)
        raise DataError(f"cannot make the folder '{wanted}': {error.strerror}; name another with -o.") from None
    return new


def _unmake(new: Sequence[Path]) -> None:
    for path in reversed(new):
        with suppress(OSError):
            path.rmdir()


def _texts(study: Study, found: Written, *, command: str, date: str) -> Iterator[tuple[str, str]]:
    evidence = Evidence(study)
    pictures = dict(_key_figures(evidence))
    yield "results.csv", _csv(Result.columns(), (_row(row, Result.columns()) for row in study.results))
    rows = [summary.to_row() for summary in evidence.table.summaries]
    yield "summary.csv", _csv(list(rows[0]) if rows else ["problem"], rows)
    yield "claims.csv", _csv(Claim.columns(), (_row(claim, Claim.columns()) for claim in found))
    yield "index.html", page(study, found, command=command, date=date)
    yield "README.md", _readme(study, found, pictures, command=command, date=date)
    for picture in (picture for some in pictures.values() for picture in some):
        yield f"{FIGURES}/{picture.name}.svg", standalone(picture)


# -- CSV ---------------------------------------------------------------------------------------------------------------


def _row(item: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def _csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Text of a CSV file; floats as Python writes them, so that they come back the same; None is an empty field."""
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


# -- README ------------------------------------------------------------------------------------------------------------


def _key_figures(evidence: Evidence) -> Iterator[tuple[str, list[Figure]]]:
    """A handful by run, each with its own legend."""
    pairs = evidence.table.pairs()
    for problem, model in [pair for pair in KEY_PAIRS if pair in pairs] or pairs[:1]:
        drawn = pair_figures(evidence, problem, model, named=True)
        found = [p for row in drawn.values() for p in row if p.name.endswith(KEY_FIGURES)]
        if model == "fnnc":
            found += beside_fnnc(evidence, problem, named=True)
        if (problem, model) == ("adult", "rf"):
            found += beside_peers(evidence, problem, model, named=True)
        yield f"{problem_title(problem)}, {model_title(model)}", found


def _gallery(title: str, pictures: Sequence[Figure]) -> Iterator[str]:
    """Tables of pictures with their captions as heads: repositories show them side by side."""
    yield from ("", f"### {_plain(title)}")
    for wide, some in groupby(pictures, key=lambda picture: picture.wide):
        row = list(some)
        across = 2 if wide else ACROSS
        for first in range(0, len(row), across):
            shown = row[first : first + across]
            images = [f"![{_plain(picture.caption)}]({FIGURES}/{picture.name}.svg)" for picture in shown]
            yield from (
                "",
                f"| {' | '.join(_plain(picture.caption) for picture in shown)} |",
                f"|{'---|' * len(shown)}",
                f"| {' | '.join(images)} |",
            )


def _readme(study: Study, found: Written, pictures: Mapping[str, Sequence[Figure]], *, command: str, date: str) -> str:
    lines = [
        f"# {TITLE}",
        "",
        f"Made by `{command}` on {date} with {versions(study.facts)}.",
        work_words(study.facts),
        "",
        "[index.html](index.html) has all figures and tables (it opens offline), [summary.csv](summary.csv) means and "
        "spreads, [claims.csv](claims.csv) the table below with rules and notes. The command also writes "
        "`results.csv`, every measured row.",
        "",
        "## Claims and verdicts",
        "",
        ". ".join(f"{words.capitalize()}: {count}" for words, count in tally(found).items()) + ".",
        "",
        *_markdown(
            ["claim", "measured with FROC", "exact method", "verdict"],
            ([c.claim, c.measured, c.exact, c.verdict] for c in found if c.verdict != "not run"),
        ),
        "",
        "The page has the rules by which claims are judged, and those that were not run.",
        "",
        "## Some figures",
        *(line for title, some in pictures.items() for line in _gallery(title, some)),
        "",
        *(["## Skipped", "", *(f"- {_plain(line)}" for line in study.skipped), ""] if study.skipped else []),
    ]
    return "\n".join(lines)


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_plain, row))} |"


def _plain(words: str) -> str:
    """Text that Markdown takes as it is, on one line."""
    for letter in "\\|<>[]*_`":
        words = words.replace(letter, f"\\{letter}")
    return " ".join(words.split())


# -- terminal ----------------------------------------------------------------------------------------------------------


def study_text(study: Study, found: Written, folder: str | os.PathLike[str]) -> str:
    """Verdicts, what was skipped, and where the page is."""
    ran = [claim for claim in found if claim.verdict != "not run"]
    width = max((len(claim.verdict) for claim in ran), default=0)
    parts = [
        [f"{claim.verdict:<{width}}  {claim.claim}" for claim in ran],
        [f"{count:>3} {words}" for words, count in tally(found).items()],
        [f"skipped: {' '.join(line.split())}" for line in study.skipped],
        [f"Measured numbers, rules and figures: {Path(folder) / 'index.html'}"],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def study_dict(study: Study, found: Written, folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "output": str(folder),
        "page": str(Path(folder) / "index.html"),
        "rows": len(study.results),
        "verdicts": tally(found),
        "claims": [_row(claim, Claim.columns()) for claim in found],
        "skipped": list(study.skipped),
        "facts": study.facts,
    }
