"""The door for torch tensors: scores, groups and labels checked on their own device, with the messages of all arrays.

Rows do not leave their device: only distinct groups, labels and counted scores come to the host. torch is never
imported unless a tensor was passed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.docstrings import documented
from fairroc.errors import DataError
from fairroc.options import Missing, check_missing
from fairroc.people.factorise import MAKE_A_GROUP, as_column, as_text, cross_names, group_codes, sensitive_columns
from fairroc.people.rows import (
    LARGEST,
    NO_MISSING_GROUP,
    known_groups,
    one_label,
    positive_labels,
    refuse_extremes,
    same_length,
    unknown_groups,
)
from fairroc.people.small import Regrouped
from fairroc.people.spread import (
    PROBABILITIES,
    WHAT,
    feature_columns,
    feature_name,
    order_of,
    probabilities_of,
)
from fairroc.summary import Result

Tensor: TypeAlias = Any

CHUNK, HOST_CHUNK = 1 << 24, 1 << 16
"""Rows worked on at once: enough for any device, few enough that what is between input and output stays small."""

FEW = 16
"""Up to here comparing with each number is faster than counting, where all rows would add to the same few places."""

NARROW = 1 << 16
"""Whole numbers within a range of this many are counted, others sorted."""


@documented()
@dataclass(frozen=True, eq=False, repr=False)
class GroupCodes(Result):
    """Groups of rows as numbers: ``names[codes[i]]`` is the group of row i.

    Parameters
    ----------
    codes : tensor or array of shape (n,) of integers
        The number of each row's group.
    names : sequence of str
        Names of the groups, by number.

    >>> len(GroupCodes([0, 1, 1], ["f", "m"]))
    3
    """

    codes: Tensor
    names: Sequence[Any]

    def __len__(self) -> int:
        return len(self.codes)


def is_tensor(values: Any) -> bool:
    """Whether this is a torch tensor, told without loading torch."""
    return any(kind.__name__ == "Tensor" and kind.__module__ == "torch" for kind in type(values).__mro__)


def load_torch() -> Any:
    """The torch that made the tensors."""
    return import_module("torch")


@dataclass(frozen=True, slots=True, eq=False)
class TensorColumns:
    """Scores and groups of n rows to transform, checked against the names of a model; with a table, not checked yet."""

    scores: Tensor  # (n,) float64, finite
    groups: Tensor  # (n,) int32 codes into the model's names
    unknown: int = 0  # rows whose group the model does not know
    first: int = 0  # the number of table[0]
    table: tuple[int, ...] | None = None  # codes of the groups' numbers, -1 of those that name no group


@dataclass(frozen=True, slots=True, eq=False)
class TensorRows:
    """Scores, labels and groups of n rows to count, checked."""

    scores: Tensor  # (n,) float64, finite
    labels: Tensor  # (n,) bool
    groups: Tensor  # (n,) int32 codes into names
    names: tuple[str, ...]  # sorted, every one present


def read_scores(
    scores: Tensor,
    features: Any,
    names: Sequence[str],
    on_unknown_group: str | None,
    missing: Missing,
    small: Regrouped | None = None,
) -> TensorColumns:
    """As `rows.read_scores`, for a tensor of scores; groups are tensors, `GroupCodes` or host data."""
    torch, column = load_torch(), _one_column(scores, "scores")
    known = known_groups(names, on_unknown_group, small)
    check_missing(missing)
    parts = _group_parts(features)
    rows = same_length(scores=column, **parts)
    if not rows:
        return TensorColumns(_numbers(column), torch.zeros(0, dtype=torch.int32, device=column.device), 0)
    codes, found, sizes = _groups(features, parts, missing, NO_MISSING_GROUP, column.device)
    strange = [code for code, name in enumerate(found) if name not in known and sizes[code]]
    unknown = sum(sizes[code] for code in strange)
    if unknown and on_unknown_group is None:
        raise unknown_groups(names, unknown, rows, [found[code] for code in strange], small)
    other = known.get(on_unknown_group or "", -1)
    return TensorColumns(_numbers(column), _recoded(codes, [known.get(name, other) for name in found]), unknown)


def raw_scores(
    scores: Tensor, features: Any, names: Sequence[str], on_unknown_group: str | None, small: Regrouped | None = None
) -> TensorColumns | None:
    """Rows whose groups are one tensor of whole numbers, not looked at yet; None where `read_scores` must read them."""
    torch, parts = load_torch(), _group_parts(features)
    groups = next(iter(parts.values()))
    kinds = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool)
    if len(parts) > 1 or not is_tensor(groups) or groups.dtype not in kinds or groups.device != scores.device:
        return None
    column = _one_column(scores, "scores")
    rows = same_length(scores=column, **parts)
    texts: tuple[str, ...] | None = ("False", "True") if groups.dtype == torch.bool else None
    if isinstance(features, GroupCodes):
        texts = tuple(map(as_text, features.names))
    first, table = _numbered(tuple(names), on_unknown_group, small, texts)
    if not rows or not table:
        return None
    groups = (groups.view(torch.uint8) if groups.dtype == torch.bool else groups).contiguous()
    floats = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    column = column.contiguous() if column.dtype in floats else _reals(column)
    return TensorColumns(column, groups, 0, first, table)


@lru_cache(maxsize=16)
def _numbered(
    names: tuple[str, ...], on_unknown_group: str | None, small: Regrouped | None, texts: tuple[str, ...] | None
) -> tuple[int, tuple[int, ...]]:
    """The least number that names a group, and the codes of all from it on, none if they lie too far apart. Numbers
    stand for ``texts``, else for themselves."""
    known = known_groups(names, on_unknown_group, small)
    if texts is not None:
        return 0, tuple(known.get(text, -1) for text in texts) if len(texts) <= NARROW else ()
    numbers = {int(name): code for name, code in known.items() if re.fullmatch("0|-?[1-9][0-9]{0,17}", name)}
    first, last = min(numbers, default=0), max(numbers, default=-1)
    return first, tuple(numbers.get(i, -1) for i in range(first, last + 1)) if last - first < NARROW else ()


def read_rows(scores: Tensor, y: Any, features: Any, pos_label: Any, missing: Missing) -> TensorRows:
    """As :func:`fairroc.people.rows.read_columns` for a part of a table, for tensors of scores and labels."""
    column, label_column = _one_column(scores, "scores"), on_device(y, "y", scores.device)
    check_missing(missing)
    parts = _group_parts(features)
    rows = same_length(scores=column, y=label_column, **parts)
    if not rows:
        raise DataError("the columns must hold at least one row, got none.")
    labels = _labels(label_column, pos_label)
    codes, found, sizes = _groups(features, parts, missing, MAKE_A_GROUP, column.device)
    names = tuple(sorted(name for name, size in zip(found, sizes, strict=True) if size))
    rank = {name: code for code, name in enumerate(names)}
    return TensorRows(_numbers(column), labels, _recoded(codes, [rank.get(name, 0) for name in found]), names)


def coded_features(features: Any, what: str, missing: Missing, device: Any) -> list[GroupCodes]:
    """Columns of groups or strata, tensors or host data, each as numbers on the device and what these are called."""
    torch, found = load_torch(), list[GroupCodes]()
    for name, part in _feature_columns(features, what).items():
        if not len(part):  # an empty batch says nothing about the types of its columns
            found.append(GroupCodes(torch.zeros(0, dtype=torch.int32, device=device), [""]))
        elif isinstance(part, GroupCodes) or is_tensor(part):
            codes, values, _ = _factorised(on_device(getattr(part, "codes", part), name, device), name)
            found.append(GroupCodes(codes, [_named(value, part) for value in values]))
        else:
            host, texts = group_codes({name: part}, missing, NO_MISSING_GROUP)
            found.append(GroupCodes(torch.tensor(host.astype(np.int32), device=device), texts))
    return found


def _feature_columns(features: Any, what: str) -> dict[str, Any]:
    """Columns by the name that messages give them."""
    if isinstance(features, GroupCodes) or (is_tensor(features) and (features.ndim < 2 or features.shape[1] == 1)):
        return {what: features}
    if is_tensor(features):
        return {f"{what}[{i}]": features[:, i] for i in range(features.shape[1])}
    if isinstance(features, Mapping):
        own = {name: isinstance(part, GroupCodes) or is_tensor(part) for name, part in features.items()}
        return {
            f"{what}[{name!r}]": part if own[name] else as_column(part, f"{what}[{name!r}]")
            for name, part in features.items()
        }
    return feature_columns(features, what)


def crossed(parts: Sequence[GroupCodes], rows: int) -> GroupCodes:
    """Columns of numbers as one, and the names joined."""
    same_length(scores=range(rows), **{f"column {i + 1} of the groups": part for i, part in enumerate(parts)})
    codes, names = parts[0].codes, list(map(as_text, parts[0].names))
    for part in parts[1:]:
        codes = codes.long() * len(part.names) + part.codes
        names = [f"{name} & {other}" for name in names for other in map(as_text, part.names)]
    return GroupCodes(codes, names)


def device_probabilities(probabilities: Any, columns: Sequence[str], device: Any) -> list[Tensor]:
    """Checked probabilities of the groups, doubles on the device, in the order of the fit."""
    if probabilities is None:
        probabilities_of(None, columns)
    given = [(what, on_device(part, what, device)) for what, part in _feature_columns(probabilities, WHAT).items()]
    found = []
    for place in order_of([feature_name(what) for what, _ in given], columns):
        what, column = given[place]
        numbers = _reals(column, what)
        beyond = int((~((numbers >= 0) & (numbers <= 1))).sum())
        if lost := int(numbers.isnan().sum()):
            refuse_extremes(what, len(numbers), lost, 0, 0)
        if beyond:
            raise DataError(f"{what} must lie between 0 and 1, but {beyond} of {len(numbers)} do not. {PROBABILITIES}")
        found.append(numbers)
    return found


def on_device(values: Any, what: str, device: Any) -> Tensor:
    """One column of numbers as a tensor on the scores' device; host data is copied there."""
    torch = load_torch()
    if not is_tensor(values):
        array = np.asarray(values)
        if array.dtype.kind not in "iufb":
            raise DataError(
                f"{what} must be numbers where the scores are a tensor, got {array.dtype}; pass a tensor of whole "
                "numbers on the same device."
            )
        values = torch.tensor(array, device=device)
    column = _one_column(values, what)
    if column.device != device:
        raise DataError(
            f"all tensors must be on one device, but the scores are on '{device}' and {what} on '{column.device}'; "
            f"move them with .to('{device}')."
        )
    return column


def _one_column(tensor: Tensor, what: str) -> Tensor:
    if tensor.ndim == 2 and tensor.shape[1] == 1:
        tensor = tensor[:, 0]
    if tensor.ndim != 1:
        pair = what == "scores" and tuple(tensor.shape[1:]) == (2,)
        hint = " Pass the score of the positive class: probabilities[:, 1]." if pair else ""
        raise DataError(f"{what} must be one column, got a tensor of shape {tuple(tensor.shape)}.{hint}")
    if tensor.requires_grad:
        raise DataError(
            f"{what} must not carry gradients: a fair score is drawn and has none. Pass {what}.detach(), or compute "
            "them under torch.no_grad()."
        )
    return tensor


def host_array(tensor: Tensor, what: str) -> NDArray[Any]:
    """A tensor on the host as an array, of the same memory where numpy knows its numbers."""
    torch = load_torch()
    column = on_device(tensor, what, torch.device("cpu"))
    if what == "scores":
        column = _reals(column)
    return np.asarray((column.to(torch.float64) if column.dtype == torch.bfloat16 else column).numpy())


def host_features(features: Any) -> Any:
    """Groups on the host as arrays; whatever is no tensor comes back as it is."""
    parts = _group_parts(features) if is_tensor(features) or isinstance(features, Mapping) else {}
    if not any(is_tensor(part) for part in parts.values()):
        return features
    arrays = {what: host_array(part, what) for what, part in parts.items()}
    return arrays if len(arrays) > 1 else next(iter(arrays.values()))


def are_on_host(scores: Any, features: Any) -> bool:
    """Whether rows are tensors that numpy can read where they are; group codes are read as tensors everywhere."""
    return is_tensor(scores) and scores.device.type == "cpu" and not isinstance(features, GroupCodes)


def host_rows(scores: Tensor, y: Any, features: Any, weight: Any) -> tuple[Any, Any, Any, Any]:
    """Such rows as arrays: scores, labels, groups and weights; whatever is no tensor comes back as it is."""
    return (
        host_array(scores, "scores"),
        host_array(y, "y") if is_tensor(y) else y,
        host_features(features),
        host_array(weight, "sample_weight") if is_tensor(weight) else weight,
    )


def _numbers(column: Tensor) -> Tensor:
    """Scores as contiguous float64 within ±LARGEST, in one reduction on the device."""
    torch, numbers = load_torch(), _reals(column)
    if len(numbers):
        low, high = (float(end) for end in torch.aminmax(numbers))
        if not (low >= -LARGEST and high <= LARGEST):
            nan, inf, large = (int(bad.sum()) for bad in (numbers.isnan(), numbers.isinf(), numbers.abs() > LARGEST))
            refuse_extremes("scores", len(numbers), nan, inf, large)
    return numbers


def _reals(column: Tensor, what: str = "scores") -> Tensor:
    """Scores or probabilities as contiguous float64."""
    torch = load_torch()
    if column.dtype == torch.bool or column.is_complex():
        advice = "Pass a score that ranks the rows, not a decision." if what == "scores" else PROBABILITIES
        raise DataError(f"{what} must be real numbers, got a tensor of {column.dtype}. {advice}")
    if column.device.type == "mps":
        raise DataError(
            f"{what} must be on a device that has float64, and '{column.device}' has none; move them with .cpu()."
        )
    return column.to(torch.float64).contiguous()


def _labels(column: Tensor, pos_label: Any) -> Tensor:
    codes, found, sizes = _factorised(column, "y")
    kept = [(value, size) for value, size in zip(found, sizes, strict=True) if size]
    values, rows = [value for value, _ in kept], [size for _, size in kept]
    if len(values) == 1:
        hits = [bool(one_label(values[0], pos_label, 1, whole=False)[0])]
    else:
        hits = positive_labels(values, rows, pos_label)
    positive = {value for value, hit in zip(values, hits, strict=True) if hit}
    return _recoded(codes, [int(value in positive) for value in found]) > 0


def _group_parts(features: Any) -> dict[str, Any]:
    """Columns of groups by the name that messages give them."""
    what = "sensitive_features"
    if isinstance(features, GroupCodes):
        return {what: _one_column(features.codes, what)}
    if is_tensor(features):
        if features.ndim == 2 and features.shape[1] > 1:
            return {f"{what}[{i}]": features[:, i] for i in range(features.shape[1])}
        return {what: _one_column(features, what)}
    if isinstance(features, Mapping) and any(is_tensor(part) for part in features.values()):
        if not all(is_tensor(part) for part in features.values()):
            raise DataError(f"{what} must be all tensors or none; pass GroupCodes, or move the codes to the device.")
        return {f"{what}[{name!r}]": _one_column(part, f"{what}[{name!r}]") for name, part in features.items()}
    return dict(sensitive_columns(features))


def _groups(
    features: Any, parts: Mapping[str, Any], missing: Missing, advice: str, device: Any
) -> tuple[Tensor, list[str], list[int]]:
    """Codes, names that differ and the number of rows of each."""
    torch = load_torch()
    if not all(is_tensor(part) for part in parts.values()):
        host, found = group_codes(parts, missing, advice)
        codes = torch.tensor(host.astype(np.int32), device=device)
        return codes, list(found), np.bincount(host, minlength=len(found)).tolist()
    columns = []
    for what, part in parts.items():
        codes, values, sizes = _factorised(on_device(part, what, device), what)
        columns.append((codes, [_named(value, features) for value in values], sizes))
    codes, texts, sizes = columns[0]
    rows = [(text,) for text in texts]
    for other, texts, _ in columns[1:]:
        codes, pairs, sizes = _factorised(codes.long() * len(texts) + other, "sensitive_features")
        rows = [(*rows[pair // len(texts)], texts[pair % len(texts)]) for pair in pairs]
    names = cross_names(row for row, size in zip(rows, sizes, strict=True) if size)
    code = {name: i for i, name in enumerate(names)}
    whole = [0] * len(names)
    table = [code.get(" & ".join(row), 0) for row in rows]
    for i, size in zip(table, sizes, strict=True):
        whole[i] += size
    return _recoded(codes, table), list(names), whole


def _named(value: Any, features: Any) -> str:
    """Name of a group by its number: the number as text, or the name that `GroupCodes` gives it."""
    if not isinstance(features, GroupCodes):
        return as_text(value)
    if not (float(value).is_integer() and 0 <= value < len(features.names)):
        raise DataError(
            f"group codes must lie from 0 to {len(features.names) - 1}, the last of the {len(features.names)} names, "
            f"got {value}; add its name."
        )
    return as_text(features.names[int(value)])


def _factorised(column: Tensor, what: str) -> tuple[Tensor, list[Any], list[int]]:
    """Codes into rising values, and the number of rows of each, which may be 0."""
    torch = load_torch()
    if column.is_complex():
        raise DataError(f"{what} must be whole numbers, got a tensor of {column.dtype}.")
    if column.dtype == torch.bool:
        codes, sizes = column.to(torch.int32), [int((~column).sum()), int(column.sum())]
        return codes, [False, True], sizes
    if column.is_floating_point():
        lost = int(column.isnan().sum())
        if lost:
            raise DataError(
                f"{what} must not be missing, but {lost} of {len(column)} are; drop these rows, or give missing "
                "groups a number of their own."
            )
        whole = column.to(torch.int64)
        if bool((whole != column).any()):
            return _sorted_out(column)
        column = whole
    elif column.dtype not in (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8):
        column = column.to(torch.int64)
    low, high = (int(end) for end in torch.aminmax(column))
    if high - low >= NARROW:
        return _sorted_out(column)
    if high - low < FEW:
        sizes = [int((column == value).sum()) for value in range(low, high + 1)]
        return (column - low).to(torch.int32), list(range(low, high + 1)), sizes
    codes = torch.empty(len(column), dtype=torch.int32, device=column.device)
    total = torch.zeros(high - low + 1, dtype=torch.int64, device=column.device)
    step = HOST_CHUNK if column.device.type == "cpu" else CHUNK
    for begin in range(0, len(column), step):
        part = codes[begin : begin + step]
        part.copy_(column[begin : begin + step].to(torch.int64) - low)
        total += torch.bincount(part, minlength=len(total))
    return codes, list(range(low, high + 1)), total.tolist()


def _sorted_out(column: Tensor) -> tuple[Tensor, list[Any], list[int]]:
    torch = load_torch()
    values, codes, sizes = torch.unique(column, return_inverse=True, return_counts=True)
    return codes.to(torch.int32), values.tolist(), sizes.tolist()


def _recoded(codes: Tensor, table: Sequence[int]) -> Tensor:
    """``table[codes]``."""
    torch = load_torch()
    if list(table) == list(range(len(table))):
        return codes
    return torch.tensor(table, dtype=torch.int32, device=codes.device).index_select(0, codes)
