"""What a fitted model does to tensors: transform and acceptance rates, on the device of the scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from fairroc.backends.torch.lookup import TensorDraws, device_lookup
from fairroc.errors import DataError
from fairroc.model.model import SOME, ModelData, warn_unknown
from fairroc.model.proxy import ProxyTree
from fairroc.people.rows import ScoreColumns
from fairroc.people.tensors import (
    GroupCodes,
    Tensor,
    TensorColumns,
    coded_features,
    crossed,
    device_probabilities,
    host_array,
    host_features,
    is_tensor,
    load_torch,
    on_device,
    raw_scores,
    read_scores,
)


def told(model: ModelData, scores: Tensor, groups: Any, probabilities: Any, controls: Any) -> Any:
    """What a model is told of people beside the score, as `ModelData.told` has it; cells are found on the device."""
    if model.use_group and not model.controls:
        return model.told(groups, probabilities, controls)
    model.check_told(groups, probabilities, controls)
    parts = [] if controls is None else coded_features(controls, "control_features", model.missing, scores.device)
    model.check_controls(len(parts))
    if model.use_group:
        parts += coded_features(groups, "sensitive_features", model.missing, scores.device)
    else:
        assert model.proxy is not None
        columns = model.proxy.columns
        chances = device_probabilities(probabilities, columns, scores.device) if columns else []
        leaf = _leaf(model.proxy, chances, len(scores), scores.device)
        parts.append(GroupCodes(leaf, model.proxy.names))
    return crossed(parts, len(scores))


def _leaf(tree: ProxyTree, columns: list[Tensor], rows: int, device: Any) -> Tensor:
    """Numbers of the leaves that probabilities lead to."""
    torch = load_torch()
    number = {node: i for i, node in enumerate(tree.leaves.tolist())}

    def below(node: int) -> Tensor:
        if node in number:
            return torch.tensor(number[node], device=device)
        low = columns[tree.column[node]] <= float(tree.threshold[node])
        return torch.where(low, below(int(tree.left[node])), below(int(tree.right[node])))

    leaf = below(0)
    return leaf if leaf.ndim else leaf.expand(rows).contiguous()


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows that a model is asked about: scores, what it is told beside them, and what is allowed."""

    model: ModelData
    scores: Tensor
    features: Any
    on_unknown_group: str | None
    allow_out_of_range: bool = False

    def read(self) -> TensorColumns:
        """Check scores and groups against the fitted ones."""
        model, other = self.model, self.on_unknown_group
        columns = read_scores(self.scores, self.features, model.names, other, model.missing, model.small_groups)
        warn_unknown(columns.unknown, len(columns.scores), other)
        self.judge_range(columns.scores)
        return columns

    def judge_range(self, scores: Tensor) -> None:
        """Warn of scores outside of the range of the fitted ones, or raise where they are most."""
        if len(scores) >= SOME:
            (least, most), (low, high) = load_torch().stack(scores.aminmax()).tolist(), self.model.wide_range
            if least < low or most > high:
                outside = int(((scores < low) | (scores > high)).sum())
                self.model.judge_range(outside, len(scores), self.allow_out_of_range)

    def read_host(self) -> ScoreColumns:
        """The same of tensors on the host, as arrays."""
        if isinstance(self.features, GroupCodes):
            columns = self.read()
            return ScoreColumns(columns.scores.numpy(), columns.groups.numpy(), columns.unknown)
        scores, features = host_array(self.scores, "scores"), host_features(self.features)
        return self.model.read(scores, features, self.on_unknown_group, self.allow_out_of_range)


def transform(rows: NewRows, ids: Any, random_state: Any, key: bytes | str | None) -> Tensor:
    """Fair scores. Those on the host are looked up by numpy in the same memory."""
    if rows.scores.device.type != "cpu":
        return _on_device(rows, ids, random_state, key)
    ids = host_array(ids, "ids") if is_tensor(ids) and rows.model.needs_ids else ids
    return load_torch().from_numpy(rows.model.drawn(rows.read_host(), ids, random_state, key))


def acceptance_rate(rows: NewRows, threshold: float) -> Tensor:
    """Probability, over the draw, that the fair score reaches the threshold."""
    if rows.scores.device.type != "cpu":
        return rate_on_device(rows.model, rows.read(), threshold)
    return load_torch().from_numpy(rows.model.rates(rows.read_host(), threshold))


def _on_device(rows: NewRows, *source: Any) -> Tensor:
    """Fair scores. Where one kernel can also check the rows, they are read only if it found a wrong one."""
    model, draws, fair, columns = rows.model, None, None, None
    if model.tables is not None and fuses(rows.scores.device):
        columns = raw_scores(rows.scores, rows.features, model.names, rows.on_unknown_group, model.small_groups)
    if columns is not None:
        draws = draws_on_device(model, columns.scores, *source)
        fair = _fused(model, columns, draws)
    if fair is not None and columns is not None:
        rows.judge_range(columns.scores)
        return fair
    columns = rows.read()
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
    if not model.needs_ids:
        return load_torch().zeros(rows, dtype=load_torch().float64, device=device)
    if is_tensor(ids) and model.hash != "xxh64":
        if ids.device.type != "cpu":
            raise DataError(
                f"ids must be on the host where the model hashes them with {model.hash}, and these are on "
                f"'{ids.device}'; pass ids.cpu()."
            )
        ids = ids.numpy()
    if not is_tensor(ids):
        host = model.uniforms(rows, ids=ids, random_state=random_state, key=key)
        return load_torch().from_numpy(host).to(device)
    model.check_draw(rows, ids, random_state, key)
    return TensorDraws.of(on_device(ids, "ids", device), salt=model.salt, key=key)
