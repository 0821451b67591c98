"""Documentation of public names, made whole: what many of them share is written here or in `options.py`, once.

`documented` fills in what a docstring leaves out: parameters that have a shared meaning, types of fields, what is
returned, what the errors named mean, and the first lines of an example. ``help()`` and the site then show all of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from textwrap import fill, indent
from typing import Any, TypeVar

from fairroc.options import AIM, ESTIMATOR, FRONTIER, MAX_DISTINCT, Option

T = TypeVar("T")

ROWS = "array-like of shape (n,)"
SHARED = {
    "scores": (f"{ROWS} of numbers", "One score for each row, on any scale; higher speaks for the positive label."),
    "y": (f"{ROWS} of two labels", "Labels: 0 and 1, -1 and 1, booleans, or any two with ``pos_label``."),
    "y_true": (f"{ROWS} of two labels", "Labels: 0 and 1, -1 and 1, booleans, or any two with ``pos_label``."),
    "y_score": (f"{ROWS} of numbers", "One score for each row; higher speaks for the positive label."),
    "X": ("array-like of shape (n, features)", "Rows, in any form that the estimator takes."),
    "sensitive_features": (f"{ROWS} or (n, columns)", "Group of each row; several columns mean their intersection."),
    "control_features": (
        f"{ROWS} or (n, columns)",
        "Stratum of each row, of a fit with control features: groups are compared inside each.",
    ),
    "group_probabilities": (
        f"{ROWS} or (n, columns)",
        "Probabilities of the groups, of a fit with ``use_group=False``: what takes the place of the group.",
    ),
    "sample_weight": (f"{ROWS} of numbers", "Weights of the rows; None: every row counts once."),
    "fair_scores": (f"{ROWS} of numbers", 'Other scores of the same rows, one draw say, to be shown as "after".'),
    "ids": (f"{ROWS} of integers or text", "Ids of the rows: the same id always gets the same draw."),
    "random_state": ("int, Generator or RandomState", "Seed of draws that need not be the same again."),
    "key": ("bytes or str", "The model's secret key, if it was fitted with one."),
    "on_unknown_group": ("str", "Fitted group that unknown groups are treated as; else they are an error."),
    "allow_out_of_range": ("bool", "Whether most scores may lie outside the range of the fitted ones."),
    "threshold": ("float", "Select ``fair score >= threshold``."),
    "estimator": ("fitted FairROC or FairROCClassifier", "Whose score is shown, before and after."),
    "model": ("FairModel, or a fitted FairROC", "Whose fair score is meant."),
    "model_or_estimator": ("FairModel, or a fitted FairROC or FairROCClassifier", "Whose fair score is meant."),
    "counts": ("ScoreCounts", "People counted by group, label and score."),
    "path": ("str or path-like", "The file."),
    "text": ("str", "The content of such a file."),
    "certificate": ("path or str", "The certificate's file, or text such as ``FairROC.proof_``."),
    "table": ("pyarrow.Table", "What another call gave."),
    "name": ("str", "The column's name, about as the data's home calls it."),
    "filtered": ("bool", "Whether to keep only the rows of ProPublica's analysis."),
    "positives": (ROWS, "How many people with the positive label have this score and group."),
    "negatives": (ROWS, "How many people with the negative label have this score and group."),
    "renamed": ("mapping of str to str or None", "The new name of every group."),
    "*others": ("ScoreCounts", "Counts of other rows."),
    "input_features": ("list of one str", "Name of the column of scores; None: the one seen in the fit."),
    "fitted": ("Fitted", "The ``fitted_`` of a fitted `FairROC`."),
    "found": ("Frontier", "What `fairroc.frontier` returned."),
    "max_gap": ("float in [0, 2]", "The gap that is allowed."),
    "groups": ("object", "Ignored."),
    "cells": ("int", "Of Spark frames: most cells that come to the driver; more are counted in bins."),
    "column": ("str", "Name of the new column."),
    "point": ("int", "Number of the point, from 0."),
    "uniforms": (ROWS, "A number from [0, 1) for each person."),
    "**kwargs": ("dict", "For `plot`."),
    "**params": ("dict", "Other parameters of `fairroc.FairROC`."),
    "**settings": ("dict", "Parameters of `fairroc.audit` beside the rows: epsilon, norm, threshold, bootstrap, ..."),
    "frame": ("data frame", "Of pandas, polars (eager or lazy), Arrow, DuckDB, Dask or Spark."),
    "score": ("str", "Name of the column of scores."),
    "label": ("str", "Name of the column of labels."),
    "group": ("str or list of str", "Names of the columns of groups; several mean their intersection."),
    "weight": ("str", "Name of the column of weights; None: every row counts once."),
    "bins": ("int", "Number of bins, at most."),
    "ax": ("matplotlib Axes, or two of them", "Where to draw; None makes a new figure."),
    "bits": ("int from 12 to 63", "Cut scores to bins of so many bits; None: exact scores."),
    "bound": ("bool", "Whether to bound the AUC of every fair score, to 1e-5."),
    "norm": ('1 or "inf"', "Distance of two groups' (fpr, tpr): |dFPR| + |dTPR|, or the larger of the two."),
    "points": ("ndarray of shape (k, 2)", "Points (fpr, tpr) to attain."),
    "queries": ("ndarray of shape (k, 2)", "Points (fpr, tpr) of the group at the thresholds."),
    "thresholds": ("ndarray of shape (k,)", "Falling thresholds."),
    "index": ("int from 1", "Number of the threshold, the strictest first."),
    "verify": ("bool", "False takes local files with another SHA-256 too."),
}
"""Type and meaning of parameters, by name."""

ERRORS = {
    "DataError": "If values, columns or parameters cannot be used as they are; the message says what must hold.",
    "UnknownGroupError": "If a row's group was not fitted, and ``on_unknown_group`` names none to treat it as.",
    "ModelFileError": "If the file cannot be read, is damaged, or is of an unknown version.",
    "DatasetError": "If the files are nowhere to be found, or are not the ones expected.",
    "NotFittedError": "If `fit` was not called before.",
    "FairrocError": "If a package is missing that this needs; the message says what to install.",
}
PEOPLE = """>>> from fairroc.datasets import make_scores
>>> scores, y, sex = make_scores()"""
FITTED = f"""{PEOPLE}
>>> from fairroc import FairROC
>>> post = FairROC(epsilon=0.1, promise="fitted", draw="all").fit(scores, y, sensitive_features=sex)"""
RUN = f"""{PEOPLE}
>>> from fairroc.froc import run_froc
>>> run = run_froc(scores, y, sensitive_features=sex, epsilon=0.1)"""
"""First lines of examples."""

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "Examples")
HEAD = re.compile(rf"^({'|'.join(SECTIONS)})\n-{{3,}}\n", re.M)
SHORT = re.compile(r"^(Returns|Raises): (.+(?:\n(?!R\w+: ).+)*)\n?", re.M)
WORD = re.compile(r"\w+")
KNOWN = {option.name: option for option in (*FRONTIER, *AIM, MAX_DISTINCT, *ESTIMATOR)}
WORDS = {
    "Any": "object",
    "FloatArray": "ndarray of float64",
    "BoolArray": "ndarray of bool",
    "NDArray[Any]": "ndarray",
    "str | os.PathLike[str]": "str or path-like",
    "str | Path": "str or path-like",
    "pa.Table": "pyarrow.Table",
    "Missing": "str",
}
TYPES = {"where": "(low, high), shares from 0 to 1", "epsilons": "numbers from 0 to 2", "missing": "{'error', 'group'}"}
"""Of options that the command line takes in another form."""

ROOMS = ("datasets", "estimators", "frames", "froc", "mlflow", "plot")
"""Where public names are found, if not in the package itself."""

WIDTH = 110
_NO_DEFAULT = inspect.Parameter.empty


def documented(*, options: Iterable[Option] = (), setup: str = "", raises: str = "") -> Callable[[T], T]:
    """Make the docstring of a function whole, or of a class and its own public methods.

    ``options`` come before shared meanings of parameters of the same name. ``setup`` are the first lines of every
    example, and ``raises`` the errors of a function, or of all methods that take parameters. A docstring may end in an
    example without a head, and have lines such as ``Returns: float: the gap.`` and ``Raises: DataError``.
    """
    own = {option.name: option for option in options}

    def finish(thing: T) -> T:
        for part in _parts(thing):
            if part.__doc__:
                part.__doc__ = _whole(part, own, setup, raises)
        return thing

    return finish


def _parts(thing: Any) -> Iterator[Any]:
    """A function, or a class and its public methods."""
    yield thing
    if isinstance(thing, type):
        for name, value in vars(thing).items():
            inner = getattr(value, "__func__", getattr(value, "fn", value))  # class methods; those available if ...
            if inspect.isfunction(inner) and not name.startswith("_"):
                yield inner
                if inner is not value and hasattr(value, "fn"):
                    value.__doc__ = inner.__doc__


def _whole(thing: Any, options: Mapping[str, Option], setup: str, raises: str) -> str:
    lead, *rest = HEAD.split(inspect.cleandoc(thing.__doc__))
    found = {"": lead, **dict(zip(rest[::2], rest[1::2], strict=True))}
    for name in [name for name in found if name != "Examples"]:  # examples without a head
        text, mark, code = found[name].partition("\n>>> ")
        if mark:
            found["Examples"] = f">>> {code}"
        found[name] = SHORT.sub("", text)
        found.update((match[1], " ".join(match[2].split())) for match in SHORT.finditer(text))
    given = _given(thing)
    if given:
        found["Parameters"] = "\n".join(_entries(found.get("Parameters", ""), given, partial(_parameter, options)))
    elif is_dataclass(thing) and isinstance(thing, type) and "Parameters" not in found:
        given = {field.name: (str(field.type), _NO_DEFAULT) for field in fields(thing) if field.repr}
        found["Attributes"] = "\n".join(_entries(found.get("Attributes", ""), given, _field))
    if not isinstance(thing, type) and "Yields" not in found:
        answer = str(thing.__annotations__.get("return", "None")).replace("Self", thing.__qualname__.split(".")[0])
        kind, _, text = found.get("Returns", "").partition(": ")
        if "\n" not in found.get("Returns", "") and answer != "None":
            found["Returns"] = _entry(kind or _type(answer), text)
    if raises and given and not isinstance(thing, type):
        found.setdefault("Raises", raises)
    if "\n" not in found.get("Raises", "\n"):
        found["Raises"] = "\n".join(_entry(name, ERRORS[name]) for name in found["Raises"].split(", "))
    if "Examples" in found:
        found["Examples"] = _pasted(thing, f"{setup}\n{found['Examples']}".strip())
    parts = [f"{name}\n{'-' * len(name)}\n{found[name].rstrip()}" for name in SECTIONS if found.get(name)]
    return "\n\n".join([found[""].rstrip(), *parts])


def _pasted(thing: Any, code: str) -> str:
    """An example that can be pasted: what it is about is imported first."""
    name, home = thing.__qualname__.split(".")[0], thing.__module__.split(".")[1]
    lines = [WORD.findall(line) for line in code.splitlines() if name in line]
    if not any(name in words for words in lines) or any(name in words and "import" in words for words in lines):
        return code
    return f">>> from fairroc{f'.{home}' if home in ROOMS else ''} import {name}\n{code}"


def _given(thing: Any) -> dict[str, tuple[str, Any]]:
    """Type and default of every parameter; a dataclass is made by others, unless it says how."""
    made = is_dataclass(thing) and "Parameters\n" not in (thing.__doc__ or "")
    if isinstance(thing, type) and (made or "__init__" not in vars(thing)):
        return {}
    known = inspect.signature(thing).parameters
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {
        f"{stars.get(one.kind, '')}{name}": (str(one.annotation), one.default)
        for name, one in known.items()
        if name not in ("self", "cls")
    }


def _entries(section: str, given: Mapping[str, tuple[str, Any]], made: Callable[..., str]) -> Iterator[str]:
    """One entry for each parameter or field: as the section has it, else ``made``; then those of properties."""
    own: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section.strip()) if section.strip() else []:
        for name in entry.partition("\n")[0].partition(" : ")[0].split(", "):
            own[name.strip()] = entry
    done: set[str] = set()
    for name, entry in [*((name, own.get(name, "")) for name in given), *own.items()]:
        if not entry:
            yield made(name, *given[name])
        elif entry not in done:
            done.add(entry)
            names, _, text = entry.partition(" : ")
            kinds = dict.fromkeys(_kind(n, *given[n]) for n in names.split(", ") if n in given)
            head = f"{names} : {' and '.join(kinds)}" if kinds else names
            body = entry.partition("\n")[2].strip()  # the meaning, below a type; else it begins in the first line
            yield entry if body and (body[0].isupper() or body[0] == '"') else _entry(head, text)


def _parameter(options: Mapping[str, Option], name: str, annotation: str, default: Any) -> str:
    """An entry from an option, or from a shared meaning."""
    if name in options or (name not in SHARED and name in KNOWN):
        option = options.get(name) or KNOWN[name]
        kind = {"number": "float, ", "whole": "int, "}.get(option.parse, "") + " or ".join(option.values)
        listed = f"{{{', '.join(map(repr, option.values))}}}"
        kind = TYPES.get(name) or (listed if option.check is None else kind)
        return _entry(f"{name} : {kind}{_default(default)}", option.help + ".")
    return _entry(f"{name} : {_kind(name, annotation, default)}", SHARED.get(name, ("", ""))[1])


def _field(name: str, annotation: str, default: Any) -> str:
    return f"{name} : {_kind(name, annotation, default)}{' or None' if annotation.endswith('| None') else ''}"


def _kind(name: str, annotation: str, default: Any) -> str:
    return f"{SHARED[name][0] if name in SHARED and annotation == 'Any' else _type(annotation)}{_default(default)}"


def _default(default: Any) -> str:
    if default is _NO_DEFAULT:
        return ""
    return ", optional" if default is None else f", default {default!r}"


def _type(annotation: str) -> str:
    plain = annotation.removesuffix(" | None")
    return WORDS.get(plain) or " or ".join(WORDS.get(part, part) for part in plain.split(" | "))


def _entry(head: str, text: str) -> str:
    words = " ".join(text.split())
    words = words[:1].upper() + words[1:]
    body = indent(fill(words, WIDTH), "    ") if len(words) > WIDTH else f"    {words}"  # filling takes its time
    return f"{head}\n{body}" if words else head
