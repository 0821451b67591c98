"""What a fitted model does to tensors: transform and acceptance rates, on the device of the scores."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from fairroc.backends.torch.lookup import TensorDraws, device_lookup
from fairroc.errors import DataError
from fairroc.model.model import ModelData, warn_unknown
from fairroc.people.rows import ScoreColumns
from fairroc.people.tensors import (
    GroupCodes,
    Tensor,
    TensorColumns,
    host_array,
    host_features,
    is_tensor,
    load_torch,
    on_device,
    raw_scores,
    read_scores,
)


def transform(
    model: ModelData,
    scores: Tensor,
    features: Any,
    ids: Any,
    random_state: Any,
    key: bytes | str | None,
    on_unknown_group: str | None,
) -> Tensor:
    """Fair scores. Those on the host are looked up by numpy in the same memory."""
    if scores.device.type != "cpu":
        return _on_device(model, scores, features, (ids, random_state, key), on_unknown_group)
    ids = host_array(ids, "ids") if is_tensor(ids) else ids
    fair = model.drawn(_read_host(model, scores, features, on_unknown_group), ids, random_state, key)
    return load_torch().from_numpy(fair)


def acceptance_rate(
    model: ModelData, scores: Tensor, features: Any, threshold: float, on_unknown_group: str | None
) -> Tensor:
    """Probability, over the draw, that the fair score reaches the threshold."""
    if scores.device.type != "cpu":
        return rate_on_device(model, read(model, scores, features, on_unknown_group), threshold)
    return load_torch().from_numpy(model.rates(_read_host(model, scores, features, on_unknown_group), threshold))


def read(model: ModelData, scores: Tensor, features: Any, on_unknown_group: str | None) -> TensorColumns:
    """Check scores and groups of new rows against the fitted groups."""
    columns = read_scores(scores, features, model.names, on_unknown_group, model.missing, model.small_groups)
    warn_unknown(columns.unknown, len(columns.scores), on_unknown_group)
    return columns


def _read_host(model: ModelData, scores: Tensor, features: Any, on_unknown_group: str | None) -> ScoreColumns:
    """The same of tensors on the host, as arrays."""
    if isinstance(features, GroupCodes):
        columns = read(model, scores, features, on_unknown_group)
        return ScoreColumns(columns.scores.numpy(), columns.groups.numpy(), columns.unknown)
    return model.read(host_array(scores, "scores"), host_features(features), on_unknown_group)


def _on_device(
    model: ModelData, scores: Tensor, features: Any, source: tuple[Any, Any, Any], on_unknown_group: str | None
) -> Tensor:
    """Fair scores. Where one kernel can also check the rows, they are read only if it found a wrong one."""
    draws = fair = columns = None
    if model.tables is not None and fuses(scores.device):
        columns = raw_scores(scores, features, model.names, on_unknown_group, model.small_groups)
    if columns is not None:
        draws = draws_on_device(model, columns.scores, *source)
        fair = _fused(model, columns, draws)
    if fair is not None:
        return fair
    columns = read(model, scores, features, on_unknown_group)
    return fair_on_device(model, columns, draws_on_device(model, columns.scores, *source) if draws is None else draws)


def fair_on_device(model: ModelData, columns: TensorColumns, draws: TensorDraws | Tensor) -> Tensor:
    """Fair scores of checked rows."""
    if model.tables is None:
        return columns.scores.clone()
    if fuses(columns.scores.device):
        return _fused(model, columns, draws)
    uniforms = draws.at if isinstance(draws, TensorDraws) else draws.__getitem__
    return device_lookup(model.tables, columns.scores.device).scores(columns.scores, columns.groups, uniforms)


def _fused(model: ModelData, columns: TensorColumns, draws: TensorDraws | Tensor) -> Tensor:
    from fairroc.backends.torch.fused import fair_scores, fused_lookup

    return fair_scores(fused_lookup(model.tables, columns.scores.device), columns, draws)


@cache
def fuses(device: Any) -> bool:
    """Whether all steps can be one kernel there."""
    torch = load_torch()
    known = torch.version.cuda is not None and tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6)
    return device.type == "cuda" and known and find_spec("triton") is not None


def rate_on_device(model: ModelData, columns: TensorColumns, threshold: float) -> Tensor:
    """Acceptance rates, looked up on the device."""
    if model.tables is None:
        return (columns.scores >= threshold).double()
    return device_lookup(model.tables, columns.scores.device).rates(columns.scores, columns.groups, threshold)


def draws_on_device(
    model: ModelData, scores: Tensor, ids: Any, random_state: Any, key: bytes | str | None
) -> TensorDraws | Tensor:
    """Ids on the device, to be hashed there, or uniform numbers drawn on the host."""
    device, rows = scores.device, len(scores)
    if is_tensor(ids) and model.hash != "xxh64":
        if ids.device.type != "cpu":
            raise DataError(
                f"ids must be on the host where the model hashes them with {model.hash}, and these are on "
                f"'{ids.device}'; pass ids.cpu()."
            )
        ids = ids.numpy()
    if ids is None and random_state is None and model.draws_nobody:
        return load_torch().zeros(rows, dtype=load_torch().float64, device=device)
    if not is_tensor(ids):
        host = model.uniforms(rows, ids=ids, random_state=random_state, key=key)
        return load_torch().from_numpy(host).to(device)
    model.check_draw(rows, ids, random_state, key)
    return TensorDraws.of(on_device(ids, "ids", device), salt=model.salt, key=key)
