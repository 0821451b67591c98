"""The model file: versioned JSON that people can read, checked in full when it is loaded. No pickle."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fairroc._version import __version__
from fairroc.core.chain import FloatArray, IntArray, ratio
from fairroc.core.constraint import NORMS
from fairroc.core.kernel import Kernel
from fairroc.core.scale import Scale
from fairroc.errors import DataError, ModelFileError
from fairroc.model.model import Compared, FitRecord, GroupRecord, ModelData, Reference
from fairroc.model.proxy import ProxyTree
from fairroc.options import (
    COMBINE,
    CONSTRAINT,
    DRAW,
    HASH,
    METHOD,
    MISSING,
    NORM,
    PROMISE,
    QUERIES,
    RATIO,
    SMALL_GROUPS,
    WHERE,
    Options,
    same,
)
from fairroc.people.rows import LARGEST
from fairroc.people.small import Regrouped
from fairroc.tables.write import write_text_atomic

FORMAT = "fairroc-model"
OTHER = "this is another kind of file. Pass the file that 'fairroc fit -o' or FairModel.save wrote."
VERSION, WITH_CONSTRAINT = 6, 4
"""The first is raised whenever a field is added or changes its meaning; from the second on no field of `ADDED` may
lack."""

DONE = ("order", "draw")
"""What a file says of ties."""

ADDED = ("curve", "confidence", "promise", "constraint", "ratio", "draw", "where", "tolerances")
"""Fields of later versions that older files may lack."""

PLAIN = (
    *("epsilon", "constraint", "ratio", "tolerances", "where", "norm", "method", "queries", "draw", "ties"),
    "inner_epsilon",
    *("curve", "promise", "confidence", "levels", "missing", "hash"),
)
"""Attributes of a model that its file holds as they are, in this order."""

SUM_TOLERANCE = 1e-9
"""How far a row of probabilities read from a file may be from one, and two rows from their order."""

MOST, MOST_BY_CHARACTER = 1 << 27, 1 << 9
"""Probabilities that all tables of a file may have, zeros included: so many, and about so many for each character."""


def dumps(model: ModelData) -> str:
    """JSON text of a model. Floats are written so that they come back bit for bit."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "fit": asdict(model.record),
        **same(model, *PLAIN),
        "salt": str(model.salt),
        "key_fingerprint": model.key_fingerprint,
        "unchanged": model.unchanged,
        **({} if model.small_groups is None else {"small_groups": asdict(model.small_groups)}),
        **_spread_to_data(model),
        "scale": None,
        "groups": [asdict(group) for group in model.groups],
    }
    texts = _Texts()
    if model.scale is not None:
        body["scale"] = {"place": model.scale.y.tolist(), "score": model.scale.score.tolist()}
    for group, kernel in zip(body["groups"], model.kernels, strict=False):
        group["kernel"] = _kernel_to_data(kernel, texts)
    for group, reference in zip(body["groups"], model.references, strict=False):
        group["reference"] = _reference_to_data(reference)
    return sealed(_written(body, texts, ", "))


def _spread_to_data(model: ModelData) -> dict[str, Any]:
    """What a model is told and which groups it compares, where the two differ."""
    if not model.compared:
        return {}
    return {
        **same(model, "use_group", "combine", "controls"),
        "compared": [asdict(compared) for compared in model.compared],
        "proxy": None if model.proxy is None else model.proxy.to_data(),
    }


def sealed(body: dict[str, Any]) -> str:
    """JSON text with a checksum of all the rest."""
    return pretty({**body, "checksum": _checksum(body)}) + "\n"


def checksum_in(text: str) -> str:
    """The checksum that a text of `sealed` ends with."""
    return text.rpartition('"checksum": "')[2].partition('"')[0]


def loads(text: str) -> ModelData:
    """A model from JSON text, or a `ModelFileError` that says what is wrong with it."""
    if not isinstance(text, str):
        raise ModelFileError(f"a model must be JSON text, got {type(text).__name__}. Decode it first.")
    body, texts = _parsed(text)
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ModelFileError(f'a model file must carry "format": "{FORMAT}"; {OTHER}')
    _check_version(body)
    stated = body.pop("checksum", None)
    try:
        intact = stated == _checksum(body, texts) or stated == _checksum(body)  # other tools write numbers otherwise
    except (ValueError, RecursionError):  # NaN, an infinite number, half a character: nothing that is ever written
        intact = False
    if not intact:
        raise ModelFileError(
            "the model file's checksum does not match its content: it was edited or damaged. Use the original file or "
            "refit."
        )
    try:
        _check_known(body)
        _check_size(body, len(text))
        return _model_from_data(_renamed(body))
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, MemoryError) as error:
        raise ModelFileError(f"the model file lacks or garbles a field ({error!r}); use the original file.") from None


def _check_version(body: dict[str, Any]) -> None:
    version = body.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(
            f"a model file's version must be a whole number from 1 to {VERSION}, got {version!r}. Use the original "
            "file or refit."
        )
    if version > VERSION:
        raise _newer(body, f"version {version}")


def _renamed(body: dict[str, Any]) -> dict[str, Any]:
    """The fields of this version: older ones told with "draws" whether somebody may be drawn."""
    if body["version"] == VERSION:
        _hold("draws" not in body, "'draws' is a field of older versions")
        return body
    _hold("draw" not in body, "'draw' is a field of later versions")
    draws = body["draws"] if body["version"] >= WITH_CONSTRAINT else body.get("draws", "ties")
    _hold(draws in ("ties", "never"), "draws must be 'ties' or 'never'")
    asked = "never" if draws == "never" else "all" if body["ties"] == "draw" else "few"
    return {name: value for name, value in body.items() if name != "draws"} | {"draw": asked}


def _check_known(body: dict[str, Any]) -> None:
    """Raise if there is a field that this version does not know."""
    parts = [(body, FIELDS), (body["fit"], {*_FIT_TYPES, "weighted"}), (body.get("scale"), SCALE_FIELDS)]
    parts.append((body.get("small_groups"), set(_SMALL_TYPES)))
    parts.append((body.get("proxy"), {"columns", *PROXY_LISTS}))
    for compared in body.get("compared", ()):
        parts += [(compared, COMPARED_FIELDS), *((group, set(_GROUP_TYPES)) for group in compared["groups"])]
    for group in body["groups"]:
        parts += [
            (group, GROUP_FIELDS),
            (group.get("kernel"), KERNEL_FIELDS),
            (group.get("reference"), REFERENCE_FIELDS),
        ]
    for part, known in parts:
        for field in sorted(part.keys() - known) if isinstance(part, dict) else ():
            raise _newer(body, f"the field {field!r}")


def _check_size(body: dict[str, Any], characters: int) -> None:
    """Raise if the tables would be absurdly larger than the file."""
    rows = sum(len(group["kernel"]["table"]) for group in body["groups"] if "kernel" in group)
    most = min(MOST, (1 << 20) + MOST_BY_CHARACTER * characters)
    _hold(rows * body["levels"] <= most, f"{rows} table rows of {body['levels']} levels are too many for this file")


def _newer(body: dict[str, Any], what: str) -> ModelFileError:
    fit = body.get("fit")
    package = fit.get("package") if isinstance(fit, dict) else None
    return ModelFileError(
        f"the model file has {what}, so it was written by a newer fairroc ({package or 'of unknown version'}); "
        f"this is fairroc {__version__}, which reads versions up to {VERSION}. Update fairroc."
    )


def _parsed(text: str) -> tuple[Any, _Texts]:
    """JSON as the standard has it: no NaN, no lone surrogates, no numbers or nesting without end; and how its floats
    are written."""
    numbers = _Numbers()

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON number")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(fields := dict(pairs)) < len(pairs):
            raise ValueError(f"one field twice, of {', '.join(fields)}")
        return fields

    try:
        body = json.loads(text, parse_constant=refuse, parse_float=numbers.__getitem__, object_pairs_hook=once)
        text.encode()
        if "\\u" in text:  # half a character may be written so
            json.dumps(body, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        if error.pos == 0 and text:
            raise ModelFileError(f"a model file must be JSON; {OTHER}") from None
        why = f"reading stopped at line {error.lineno} ({error.msg})"
    except (ValueError, RecursionError) as error:
        why = f"reading stopped ({' '.join(str(error).split())[:80]})"
    else:
        return body, _Texts({number: text for text, number in numbers.items() if number and math.isfinite(number)})
    raise ModelFileError(
        f"a model file must be whole JSON; {why}. The file seems truncated or damaged: copy it again or refit."
    )


def save(model: ModelData, path: str | Path) -> None:
    """Write a model to a file, whole or not at all."""
    write_text_atomic(path, dumps(model))


def load(path: str | Path) -> ModelData:
    """Read a model file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ModelFileError(f"no model file '{path}'; check the path, or fit one with 'fairroc fit -o'.") from None
    except UnicodeDecodeError:
        raise ModelFileError(
            f"the model file must be JSON in UTF-8, but '{path}' is not. Pass the file that fairroc wrote; a "
            "classifier's archive (.zip) is for FairROCClassifier.load."
        ) from None
    except OSError as error:
        raise ModelFileError(f"cannot read the model file '{path}': {error}.") from None
    try:
        return loads(text)
    except ModelFileError as error:
        raise ModelFileError(f"'{path}': {error}") from None


class _Json(str):
    """A list of numbers as JSON text."""

    __slots__ = ()


class _Numbers(dict[str, float]):
    """Floats by their texts, each read once."""

    def __missing__(self, text: str) -> float:
        number = self[text] = float(text)
        return number


class _Texts(dict[Any, str]):
    """Texts of floats, each made once; of zeros, two of which are equal, every time."""

    def __missing__(self, number: float) -> str:
        if not math.isfinite(number):
            raise ValueError(f"{number} is no JSON number")
        text = repr(number)
        if number:
            self[number] = text
        return text


def _written(value: Any, texts: _Texts, comma: str) -> Any:
    """The same data with the text of every list of numbers in its place: the same numbers come over and over."""
    if isinstance(value, dict):
        return {name: _written(part, texts, comma) for name, part in value.items()}
    if not isinstance(value, list | tuple) or not value:
        return value
    first, kinds = value[0], set(map(type, value[1:]))
    if kinds <= {float} and type(first) in (int, float):
        parts = [texts[first] if type(first) is float else repr(first), *map(texts.__getitem__, value[1:])]
    elif kinds == {int} and type(first) is int:
        parts = list(map(repr, value))
    else:
        return [_written(part, texts, comma) for part in value] if isinstance(first, dict | list | tuple) else value
    return _Json(f"[{comma.join(parts)}]")


def _checksum(body: dict[str, Any], texts: _Texts | None = None) -> str:
    """Of all fields but itself, sorted by name, without blanks; floats as these texts have them, else at shortest."""
    digest = hashlib.blake2b(digest_size=16)

    def feed(value: Any) -> None:
        if isinstance(value, dict):
            for i, name in enumerate(sorted(value)):
                digest.update(f"{',' if i else '{'}{json.dumps(name, ensure_ascii=False)}:".encode())
                feed(value[name])
            digest.update(b"}" if value else b"{}")
        elif isinstance(value, list | tuple):
            for i, part in enumerate(value):
                digest.update(b"," if i else b"[")
                feed(part)
            digest.update(b"]" if value else b"[]")
        else:
            text = value.replace(", ", ",") if isinstance(value, _Json) else _plain(value)
            digest.update(text.encode())

    feed(_written(body, texts or _Texts(), ","))
    return digest.hexdigest()


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def pretty(body: dict[str, Any]) -> str:
    """JSON indented by its dicts, with lists of plain values on one line each."""
    pieces: list[str] = []

    def write(value: Any, pad: str) -> None:
        if isinstance(value, dict) and value:
            for i, (name, part) in enumerate(value.items()):
                pieces.append(f"{',' if i else '{'}\n{pad}  {_plain(name)}: ")
                write(part, pad + "  ")
            pieces.append(f"\n{pad}}}")
        elif isinstance(value, list | tuple) and value and isinstance(value[0], dict | list | tuple | _Json):
            for i, part in enumerate(value):
                pieces.append(f"{',' if i else '['}\n{pad}  ")
                write(part, pad + "  ")
            pieces.append(f"\n{pad}]")
        else:
            pieces.append(value if isinstance(value, _Json) else _plain(value))

    write(body, "")
    return "".join(pieces)


def _kernel_to_data(kernel: Kernel, texts: _Texts) -> dict[str, Any]:
    used, rows = kernel.table != 0, []
    begin, end = used.argmax(axis=1).tolist(), (used.shape[1] - used[:, ::-1].argmax(axis=1)).tolist()
    for row, i, j in zip(kernel.table, begin, end, strict=True):
        key = i, row[i:j].tobytes()  # many rows are the same
        if key not in texts:
            texts[key] = _Json(f"[{i}, {', '.join(map(texts.__getitem__, row[i:j].tolist()))}]")
        rows.append(texts[key])
    return {
        "thresholds": kernel.thresholds.tolist(),
        "ceiling": kernel.ceiling,
        **{name: getattr(kernel, name).tolist() for name in ("row", "first", "last", "start", "stop")},
        **{name: getattr(kernel, name).astype(int).tolist() for name in ("ordered", "transported")},
        "table": rows,
    }


def _reference_to_data(reference: Reference) -> dict[str, Any]:
    return {
        "edges": reference.edges.tolist(),
        "highest": reference.highest,
        "negatives": [_short(mass) for mass in reference.counts[:, 0].tolist()],
        "positives": [_short(mass) for mass in reference.counts[:, 1].tolist()],
        "sizes": [_short(size) for size in reference.sizes.tolist()],
        "auc": reference.auc,
        "fair_auc": reference.fair_auc,
    }


def _short(number: float) -> int | float:
    """A number as it is shortest in JSON: a count without ``.0``."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _model_from_data(body: dict[str, Any]) -> ModelData:
    _check_types(body)
    spread, groups = (
        _spread_from_data(body),
        _groups_from_data(body["groups"], 1 if "compared" in body else 2, "groups"),
    )
    names = [group.name for group in groups]
    _hold(body["norm"] in NORMS, "norm must be 1 or 'inf'")
    _hold(body["ties"] in DONE, f"ties must be {' or '.join(map(repr, DONE))}")
    for option in (METHOD, HASH, MISSING):
        _hold(body[option.name] in option.values, f"{option.name} must be {' or '.join(map(repr, option.values))}")
    _hold(0.0 <= body["inner_epsilon"] <= body["epsilon"] <= 2.0, "epsilon must lie in [0, 2]")
    asked, salt = _asked_from_data(body), body["salt"]
    _hold(-(2**63) <= int(salt) < 2**63 and str(int(salt)) == salt, "salt must be a signed 64-bit integer")
    known = body["key_fingerprint"] is None or re.fullmatch("[0-9a-f]{16}", body["key_fingerprint"])
    _hold(bool(known), "key_fingerprint must be null or 16 hex characters")
    kernels: tuple[Kernel, ...] = ()
    scale, levels = None, body["levels"]
    if body["unchanged"]:
        _hold(levels == 0 and body["scale"] is None, "an unchanged score has neither levels nor a scale")
    else:
        kernels = tuple(_kernel_from_data(g["kernel"], levels, g["name"]) for g in body["groups"])
        scale = _scale_from_data(body["scale"], levels)
    plain = ("norm", "method", "ties", "queries", "missing", "hash", "key_fingerprint")
    return ModelData(
        **{name: body[name] for name in plain},
        **asked,
        **spread,
        epsilon=float(body["epsilon"]),
        inner_epsilon=float(body["inner_epsilon"]),
        groups=groups,
        kernels=kernels,
        scale=scale,
        record=FitRecord(**body["fit"]),
        salt=int(salt),
        references=_references_from_data(body["groups"]),
        curve=body.get("curve", "raw"),
        confidence=body.get("confidence"),
        promise=body.get("promise", "fitted" if body.get("confidence") is None else "population"),
        small_groups=_small_from_data(body["small_groups"], names) if "small_groups" in body else None,
    )


def _spread_from_data(body: dict[str, Any]) -> dict[str, Any]:
    """What a model is told and which groups it compares, where the two differ."""
    if "compared" not in body:
        _hold(not SPREAD_FIELDS & body.keys(), "a model that is told the groups it compares says nothing else of them")
        return {}
    _hold(type(body["use_group"]) is bool and body["combine"] in COMBINE.values, "use_group or combine is off")
    _hold(type(body["controls"]) is int and 0 <= body["controls"] < 1000, "controls must be a small number")
    compared = tuple(_compared_from_data(one, body["epsilon"]) for one in body["compared"])
    _hold(len(compared) > 0, "some groups must be compared")
    _hold((body["proxy"] is None) == body["use_group"], "a model has a proxy if it does not use the group")
    proxy = None if body["proxy"] is None else _proxy_from_data(body["proxy"])
    if proxy is not None:
        ends = [group["name"].rpartition(" & ")[2] for group in body["groups"]]
        merged = body.get("small_groups", {}).get("merged_into")
        _hold(all(end in proxy.names or end == merged for end in ends), "a group is no cell of the proxy")
    return {name: body[name] for name in ("use_group", "combine", "controls")} | {"compared": compared, "proxy": proxy}


def _compared_from_data(data: dict[str, Any], largest: float) -> Compared:
    texts = (data["attribute"], *([] if data["stratum"] is None else [data["stratum"]]))
    _hold(all(isinstance(text, str) for text in texts), "attributes and strata must have names")
    epsilon = float(_floats([data["epsilon"]], "epsilon")[0])
    _hold(0 <= epsilon <= largest, "an attribute's epsilon must not be above the largest")
    return Compared(
        data["attribute"], data["stratum"], epsilon, _groups_from_data(data["groups"], 2, "compared groups")
    )


def _groups_from_data(data: list[dict[str, Any]], least: int, what: str) -> tuple[GroupRecord, ...]:
    groups = tuple(GroupRecord(g["name"], g["rows"], g["positives"]) for g in data)
    different = len({group.name for group in groups}) == len(groups)
    _hold(different and len(groups) >= least, f"{what} must be two or more with different names")
    whole = all(type(g.rows) is int and type(g.positives) is int and isinstance(g.name, str) for g in groups)
    _hold(whole and all(0 < g.positives < g.rows < 2**63 for g in groups), "groups must hold people of both labels")
    return groups


def _proxy_from_data(data: dict[str, Any]) -> ProxyTree:
    columns, threshold = data["columns"], _floats(data["threshold"], "threshold")
    _hold(isinstance(columns, list) and all(isinstance(name, str) for name in columns), "proxy columns must have names")
    _hold(len(set(columns)) == len(columns), "proxy columns must have different names")
    column, left, right = (_ints(data[name]) for name in ("column", "left", "right"))
    nodes = len(column)
    _hold(0 < nodes == len(threshold) == len(left) == len(right), "nodes of the proxy need one entry in every list")
    inner, at = column >= 0, np.arange(nodes)
    _hold(bool((column >= -1).all() and (column < len(columns)).all()), "a node of the proxy names no column")
    children = np.concatenate((left[inner], right[inner]))
    later = bool((left[inner] > at[inner]).all() and (right[inner] > at[inner]).all())
    _hold(later and sorted(children.tolist()) == list(range(1, nodes)), "the nodes of the proxy are no tree")
    return ProxyTree(tuple(columns), column, threshold, left, right)


def _asked_from_data(body: dict[str, Any]) -> dict[str, Any]:
    """What must be close and how, held to the rules of a fit; older files know equalized odds only."""
    given = {option.name: body.get(option.name, option.default) for option in (CONSTRAINT, RATIO, DRAW, WHERE)}
    tolerances = body.get("tolerances")
    if tolerances is not None:
        given["epsilon"] = dict(zip(("fpr", "tpr"), tolerances, strict=True))
        _hold(body["norm"] == "inf", "norm must be 'inf' with tolerances")
    elif given["ratio"] is None:
        given["epsilon"] = body["epsilon"]
    if given["constraint"] != CONSTRAINT.default:
        given |= {option.name: body[option.name] for option in (NORM, METHOD, QUERIES)}
    try:
        asked = Options.checked(**given)
    except DataError as error:
        raise ModelFileError(f"the model file breaks a rule: {error} Use the original file or refit.") from None
    _hold(asked.epsilon == body["epsilon"], "epsilon must be what the ratio or the tolerances say")
    return same(asked, "constraint", "ratio", "draw", "where", "tolerances")


_TYPES: dict[str, tuple[type, ...]] = {
    "fit": (dict,),
    "epsilon": (int, float),
    "norm": (int, str),
    "method": (str,),
    "queries": (int, type(None)),
    "inner_epsilon": (int, float),
    "levels": (int,),
    "salt": (str,),
    "key_fingerprint": (str, type(None)),
    "groups": (list,),
    "curve": (str,),
    "confidence": (int, float, type(None)),
    "promise": (str,),
    "constraint": (str,),
    "ratio": (int, float, type(None)),
    "draw": (str,),
    "where": (list, type(None)),
    "tolerances": (list, type(None)),
}
SPREAD_FIELDS = {"use_group", "combine", "controls", "compared", "proxy"}
FIELDS = {
    *(*_TYPES, *SPREAD_FIELDS, "format", "version", "ties", "draws", "missing", "hash", "unchanged", "small_groups"),
    "scale",
}
PROXY_LISTS = ("column", "threshold", "left", "right")
COMPARED_FIELDS = {"attribute", "stratum", "epsilon", "groups"}
_FIT_TYPES: dict[str, tuple[type, ...]] = {"package": (str,), "date": (str,), "rows": (int,), "data": (str,)}
_SMALL_TYPES: dict[str, tuple[type, ...]] = {
    "treatment": (str,),
    "min_class_rows": (int,),
    "groups": (list,),
    "merged_into": (str, type(None)),
}
_GROUP_TYPES: dict[str, tuple[type, ...]] = {"name": (str,), "rows": (int,), "positives": (int,)}
GROUP_FIELDS = {*_GROUP_TYPES, "kernel", "reference"}
SCALE_FIELDS = {"place", "score"}
KERNEL_FIELDS = {"thresholds", "ceiling", "row", "first", "last", "start", "stop", "ordered", "transported", "table"}
REFERENCE_FIELDS = {"edges", "highest", "negatives", "positives", "sizes", "auc", "fair_auc"}


def _check_types(body: dict[str, Any]) -> None:
    old = body["version"] < WITH_CONSTRAINT
    types = {field: kinds for field, kinds in _TYPES.items() if not (old and field in ADDED and field not in body)}
    groups = ((group, _GROUP_TYPES) for group in body["groups"])
    small = [(body["small_groups"], _SMALL_TYPES)] if "small_groups" in body else []
    parts = [(body, types), (body["fit"], _FIT_TYPES), *small, *groups]
    for data, types in parts:
        for field, kinds in types.items():
            if not isinstance(data[field], kinds) or isinstance(data[field], bool):
                _hold(False, f"'{field}' must be {' or '.join(kind.__name__ for kind in kinds)}, not {data[field]!r}")
    people = [body["fit"]["rows"], *(group["rows"] for group in body["groups"])]
    _hold(all(0 < rows < 2**63 for rows in people), "'rows' must be above 0 and below 2**63")
    _hold(body["queries"] is None or body["queries"] > 0, "'queries' must be above 0")
    confidence = body.get("confidence")
    promise = body.get("promise", "fitted")
    _hold(promise in PROMISE.values, f"'promise' must be {' or '.join(map(repr, PROMISE.values))}, not {promise!r}")
    _hold(confidence is None or 0 < confidence < 1, f"'confidence' must lie between 0 and 1, not {confidence!r}")
    kernels = ["kernel" in group for group in body["groups"]]
    _hold(not any(kernels) if body["unchanged"] else all(kernels), "an unchanged score has no kernels, any other has")
    flags = (body["unchanged"], body["fit"]["weighted"])
    _hold(all(isinstance(flag, bool) for flag in flags), "'unchanged' and 'weighted' must be true or false")


def _small_from_data(data: dict[str, Any], names: list[str]) -> Regrouped:
    """The groups that the fit merged or left out: none of them is a fitted one, but the one they were merged into."""
    small, into = data["groups"], data["merged_into"]
    _hold(all(isinstance(name, str) for name in small), "'small_groups' must name groups")
    apart = len(small) > 0 and len({*small, *names}) == len(small) + len(names)
    _hold(apart, "small groups must be one or more, with names that no fitted group has")
    _hold(data["treatment"] in SMALL_GROUPS.values[1:], "small groups must be treated by 'merge' or 'drop'")
    _hold(data["min_class_rows"] > 0, "'min_class_rows' must be above 0")
    merged = data["treatment"] == "merge"
    _hold(into in names if merged else into is None, "small groups must be merged into a fitted group, or left out")
    return Regrouped(data["treatment"], data["min_class_rows"], tuple(small), into)


def _references_from_data(groups: list[dict[str, Any]]) -> tuple[Reference, ...]:
    """The groups' references; none in models that come from files written before there were any."""
    present = ["reference" in group for group in groups]
    _hold(all(present) or not any(present), "all groups must have a reference, or none")
    return tuple(_reference_from_data(group["reference"], group["name"]) for group in groups) if all(present) else ()


def _reference_from_data(data: dict[str, Any], name: str) -> Reference:
    def hold(condition: bool, rule: str) -> None:
        _hold(condition, f"group '{name}', reference: {rule}")

    edges = _floats(data["edges"], name)
    counts = [_floats(data[label], name) for label in ("negatives", "positives")]
    sizes, aucs = _floats(data["sizes"], name), _floats([data["auc"], data["fair_auc"]], name)
    highest = _floats([data["highest"]], name)[0]
    hold(len(edges) > 0 and all(len(part) == len(edges) for part in counts), "bins need one entry in every list")
    hold(bool((np.diff(edges) > 0).all()) and highest >= edges[-1], "edges must rise, up to the highest score")
    sound = all(0 <= part.min() <= part.max() <= LARGEST / len(part) and part.max() > 0 for part in counts)
    hold(sound, "counts must not be negative, nor all 0, nor too large for their sum")
    hold(len(sizes) == 2 and bool((sizes > 0).all()), "sizes must be two numbers above 0")
    hold(bool(((aucs >= 0) & (aucs <= 1)).all()), "an AUC must lie in [0, 1]")
    return Reference(edges, float(highest), np.stack(counts, axis=1), sizes, float(aucs[0]), float(aucs[1]))


def _scale_from_data(data: dict[str, Any], levels: int) -> Scale:
    y, score = _floats(data["place"], "scale"), _floats(data["score"], "scale")
    _hold(len(y) == len(score) >= 2, "the scale needs as many scores as places, two at least")
    _hold(y[0] == 0 and y[-1] == levels and bool((np.diff(y) > 0).all()), "the scale's places must rise from 0 to n")
    _hold(bool((np.diff(score) <= 0).all()), "the scale's scores must fall")
    return Scale(y, score)


def _kernel_from_data(data: dict[str, Any], levels: int, name: str) -> Kernel:
    def hold(condition: bool, rule: str) -> None:
        _hold(condition, f"group '{name}': {rule}")

    table = np.zeros((len(data["table"]), levels))
    for i, (first, *chances) in enumerate(data["table"]):
        hold(type(first) is int and {float, int} >= set(map(type, chances)), "a table row holds something else")
        hold(first >= 0 and first + len(chances) <= levels, "a table row reaches beyond the levels")
        table[i, first : first + len(chances)] = chances
    hold(bool(np.isfinite(table).all() and (table >= 0).all()), "probabilities must be finite and not negative")
    hold(bool((np.abs(table.sum(axis=1) - 1) <= SUM_TOLERANCE).all()), "table rows must sum to one")
    columns: dict[str, Any] = {field: _floats(data[field], name) for field in ("thresholds", "start", "stop")}
    columns |= {field: _ints(data[field]) for field in ("row", "first", "last")}
    columns |= {field: _flags(data[field]) for field in ("ordered", "transported")}
    kernel = Kernel(**columns, ceiling=float(_floats([data["ceiling"]], name)[0]), table=table)
    blocks = len(kernel.thresholds)
    hold(blocks > 0 and all(len(own) == blocks for own in columns.values()), "blocks need one entry in every list")
    hold(bool((np.diff(kernel.thresholds) < 0).all()), "thresholds must fall strictly")
    hold(kernel.ceiling >= kernel.thresholds[0], "the ceiling is too low")
    hold(bool(((kernel.row >= 0) & (kernel.row < len(table))).all()), "a block names no row of the table")
    hold(bool(((kernel.first >= -1) & (kernel.last >= kernel.first) & (kernel.last < levels)).all()), "levels are off")
    hold(bool(((kernel.first < 0) == (kernel.last < 0)).all()), "a block has half a place")
    places = np.concatenate((kernel.start, kernel.stop))
    hold(bool(((places >= 0) & (places <= 1)).all()), "places inside a level must lie in [0, 1]")
    inside = kernel.first == kernel.last
    hold(bool((kernel.start <= kernel.stop)[inside].all()), "a block's place must not end before it begins")
    hold(bool((inside & (kernel.first >= 0))[kernel.ordered].all()), "an ordered block must lie inside one level")
    hold(_disorder(kernel) <= SUM_TOLERANCE, "a lower score must not have better chances than a higher one")
    return kernel


def _disorder(kernel: Kernel) -> float:
    """By how much, at most, a block's place is more likely to lie before some place than that of the block above it.

    Between ends of levels and of blocks' own parts these probabilities are straight lines. O(blocks * levels).
    """
    ends = np.pad(np.cumsum(kernel.table, axis=1), ((0, 0), (1, 0)))
    blocks = np.arange(len(kernel.row) - 1)
    new = np.flatnonzero(np.diff(kernel.row))
    some = max(1, (1 << 20) // ends.shape[1])
    parts = (new[at : at + some] for at in range(0, len(new), some))
    worst = [float((ends[kernel.row[part + 1]] - ends[kernel.row[part]]).max()) for part in parts]
    for first, place in ((kernel.first, kernel.start), (kernel.last, kernel.stop)):
        for own in (blocks, blocks + 1):
            level, x = np.maximum(first[own], 0), place[own]
            for before in (False, True):
                high, low = (_chance(kernel, ends, block, level, x, before) for block in (blocks, blocks + 1))
                worst.append(float((low - high).max(initial=0.0)))
    return max(worst, default=0.0)


def _chance(
    kernel: Kernel, ends: FloatArray, block: IntArray, level: IntArray, x: FloatArray, before: bool
) -> FloatArray:
    """Probability that people of blocks land up to x inside levels, or before it."""
    begin = np.where(level == kernel.first[block], kernel.start[block], 0.0)
    width = np.where(level == kernel.last[block], kernel.stop[block], 1.0) - begin
    reached = x > begin if before else x >= begin
    part = ratio(np.clip(x - begin, 0.0, np.maximum(width, 0.0)), width, reached)
    row = kernel.row[block]
    return np.asarray(ends[row, level] + kernel.table[row, level] * part)


def _floats(values: Any, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    _hold(isinstance(values, list) and {float, int} >= set(map(type, values)), f"'{name}' must hold numbers")
    array = np.array(values, dtype=np.float64)
    _hold(bool((np.abs(array) <= LARGEST).all()), f"'{name}' must hold numbers within ±1e307")
    return array


def _ints(values: Any) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    _hold(all(type(value) is int for value in values), "a list of whole numbers holds something else")
    return np.array(values, dtype=np.intp)


def _flags(values: Any) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    _hold(all(type(value) is int and value in (0, 1) for value in values), "a list of 0 and 1 holds something else")
    return np.array(values, dtype=np.bool_)


def _hold(condition: bool, rule: str) -> None:
    if not condition:
        raise ModelFileError(f"the model file breaks a rule: {rule}. Use the original file or refit.")
