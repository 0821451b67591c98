"""Tensors on a GPU beside numpy and torch on the host: rows per second, and what a device-to-device copy would allow.

    python -m fairroc_studies gpu                        # up to 1e8 rows, 2 to 1,000 groups
    python -m fairroc_studies gpu --rows 1000000 --groups 2
    python -m fairroc_studies gpu --tune                 # shapes of the kernel and sizes of its tables

Needs numpy, narwhals and torch. Every contestant's result is compared with numpy's, bit for bit; of more than ten
million rows numpy does the first ten.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import torch

from fairroc.errors import FairrocWarning
from fairroc.fairmodel import FairModel
from fairroc.fitting.fit import fit
from fairroc.options import Options
from fairroc.people import counting
from fairroc.people import tensors as door
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import read_people

FITTED = 200_000
"""Rows the models are fitted to."""
MOST_FITTED = 32
"""Groups they are fitted to at most; a model of more has those of 8 again and again."""
BITS = 20
"""Bits of the bins that are counted: some 2,000 bins for scores between 0 and 1."""
PART = 10**7
"""Rows that numpy does."""


@dataclass(frozen=True)
class People:
    scores: Any
    labels: Any
    groups: Any
    ids: Any

    def on_host(self) -> People:
        """The first rows as arrays."""
        return People(*(part[:PART].cpu().numpy() for part in vars(self).values()))

    def first(self, rows: int) -> People:
        return People(*(part[:rows] for part in vars(self).values()))


def people(n: int, seed: int, groups: int, device: str) -> People:
    """Groups of scores between 0 and 1."""
    draw = torch.Generator(device).manual_seed(seed)
    where: dict[str, Any] = {"generator": draw, "device": device}
    small = torch.int8 if groups < 128 else torch.int16
    group = torch.randint(0, groups, (n,), dtype=small, **where)
    label = torch.randint(0, 2, (n,), dtype=torch.int8, **where)
    signal = torch.randn(n, dtype=torch.float64, **where)
    step = group.to(torch.float64) / max(1, groups - 1)
    signal *= 1 + 0.3 * step
    signal += label * (1 + 0.5 * step)
    return People(torch.sigmoid(signal), label, group, torch.arange(n, device=device))


@cache
def model(groups: int, draw: str) -> FairModel:
    if groups > MOST_FITTED:
        small = model(8, draw)
        times, records = -(-groups // 8), small.groups[0]
        names = tuple(replace(records, name=str(i)) for i in range(groups))
        return replace(small, groups=names, kernels=(small.kernels * times)[:groups])
    known = people(FITTED, 0, groups, "cpu").on_host()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        counted = read_people(known.scores, known.labels, sensitive_features=known.groups)
        return FairModel.of(fit(counted, Options.checked(epsilon=0.05, promise="fitted", draw=draw), salt=1).model)


def best(call: Callable[[Any], Any], given: Any, device: str, budget: float = 2.0) -> tuple[float, Any]:
    """Least wall seconds of several calls after one that is not counted, and what the last one gave; on a GPU of so
    many that its clock has risen."""
    result, times = call(given), list[float]()
    while sum(times) < budget and len(times) < (100 if device == "cuda" else 10):
        wait(device)
        begin = time.perf_counter()
        del result
        result = call(given)
        wait(device)
        times.append(time.perf_counter() - begin)
    return min(times), result


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def copy_rate(device: str, size: int = 1 << 28) -> float:
    """Bytes read and written per second by a copy of two gigabytes on the device."""
    source = torch.zeros(size, dtype=torch.float64, device=device)
    target = torch.empty_like(source)
    seconds, _ = best(target.copy_, source, device, 0.5)
    return 2 * 8 * size / seconds


def same(result: Any, right: Any) -> bool:
    if isinstance(right, ScoreCounts):
        pairs = [
            pair
            for part in ("scores", "negatives", "positives")
            for pair in zip(getattr(result, part), getattr(right, part), strict=True)
        ]
        return all(a.tobytes() == b.tobytes() for a, b in pairs)
    array = result[:PART].cpu().numpy() if isinstance(result, torch.Tensor) else result
    return bool((array.view(np.int64) == right.view(np.int64)).all())


Task = Callable[[People], Any]


def transform(fitted: FairModel) -> Task:
    return lambda p: fitted.transform(p.scores, sensitive_features=p.groups, ids=p.ids)


def count(bits: int | None) -> Task:
    return lambda p: ScoreCounts.from_rows(p.scores, p.labels, sensitive_features=p.groups, bits=bits)


def tasks(groups: int) -> dict[str, Task]:
    return {
        "transform, raw order": transform(model(groups, "few")),
        "transform, ties drawn": transform(model(groups, "all")),
        f"count, bins of {BITS} bits": count(BITS),
        "count, exact": count(None),
    }


def row_bytes(title: str, p: People) -> int:
    """Bytes of a row that must be read or written: score, group, id and fair score, or score, group and label."""
    return 8 + p.groups.element_size() + (16 if title.startswith("transform") else 1)


def table(sizes: Sequence[int], groups: Sequence[int], gpu: bool, rate: float) -> bool:
    """Print all contestants; whether all gave numpy's bits."""
    print(
        "| rows | groups |  | numpy, M rows/s | torch on the host | GPU | GPU / numpy | share of a copy | same bits |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    right = True
    for rows, number in product(sizes, groups):
        device = people(rows, 1, number, "cuda" if gpu else "cpu")
        host = device.on_host()
        views = People(*map(torch.from_numpy, vars(host).values()))
        for title, call in tasks(number).items():
            slow, expected = best(call, host, "cpu", 0.5)
            seconds, result = best(call, views, "cpu", 0.5)
            equal, done = same(result, expected), len(host.scores)
            cells = [f"{done / slow / 1e6:.0f}", f"{done / seconds / 1e6:.0f}"]
            if gpu:
                fast, result = best(call, device, "cuda")
                whole = result if title.startswith("transform") or done == rows else call(device.first(done))
                equal &= same(whole, expected)
                share = row_bytes(title, device) * rows / fast / rate
                cells += [f"{rows / fast / 1e6:,.0f}", f"{slow * rows / done / fast:.0f}", f"{share:.1%}"]
            else:
                cells += ["", "", ""]
            right &= equal
            print(f"| {rows:,} | {number:,} | {title} | {' | '.join(cells)} | {'yes' if equal else 'NO'} |", flush=True)
            result = expected = whole = None
    return right


def steps_of_a_count(rows: int, groups: int) -> None:
    """Where an exact count on the GPU spends its time, beside torch's own sort of the scores."""
    p = people(rows, 1, groups, "cuda")

    def seconds(call: Callable[[Any], Any], given: Any) -> float:
        return best(call, given, "cuda", 1.0)[0]

    def on_device(read: Any) -> Any:
        keep, counting._host = counting._host, lambda tensor: np.zeros(len(tensor))
        try:
            return counting.exact_cells(read)
        finally:
            counting._host = keep

    read = door.read_rows(p.scores, p.labels, p.groups, None, "error")
    found = {
        "torch.sort of the scores": seconds(torch.sort, p.scores),
        "torch.unique of the scores, with counts": seconds(lambda x: torch.unique(x, return_counts=True), p.scores),
        "read and check the rows": seconds(lambda p: door.read_rows(p.scores, p.labels, p.groups, None, "error"), p),
        "count them on the device": seconds(on_device, read),
        "scores to the host, .cpu()": seconds(lambda x: x.cpu(), p.scores),
        "scores to the host, in pieces": seconds(counting._host, p.scores),
        "counts to the host, in pieces": seconds(counting._host, p.labels.to(torch.int64)),
        "all": seconds(count(None), p),
    }
    print(f"\nAn exact count of {rows:,} rows, {groups} groups, all scores distinct:")
    for what, took in found.items():
        share = found["torch.sort of the scores"] / took
        print(
            f"  {what:42} {took * 1e3:8.1f} ms {rows / took / 1e6:8,.0f} M rows/s, {share:7.1%} of torch.sort's speed"
        )


def looks() -> None:
    """What the tables' sizes allow, where Triton is."""
    try:
        from fairroc_studies.speed import gathers
    except ModuleNotFoundError:
        return
    print("\nRandom places of a table, 32 bytes each:")
    gathers.looks(best)


TUNED: dict[str, list[Any]] = {
    "ordered": [(64, 1, 1, 32), (64, 1, 4, 32), (64, 1, 16, 32), (128, 1, 4, 32), (128, 2, 4, 64), (512, 4, 2, 128)],
    "drawn": [(64, 1, 1, 32), (64, 1, 4, 32), (64, 1, 16, 32), (128, 1, 1, 32), (128, 2, 1, 32), (256, 4, 1, 32)],
    "PER_CELL": [1.0, 2.0, 4.0, 8.0, 16.0],
    "PER_START": [0.5, 1.0, 2.0, 4.0, 8.0],
    "PER_KNOT": [1.0, 4.0, 8.0, 16.0, 32.0],
    "FINER": [1, 2, 4, 8, 16],
}


def tune(rows: int, groups: Sequence[int], rate: float) -> None:
    """Share of a copy by shape of the kernel (see its SHAPES) and by the sizes of its tables."""
    from fairroc.backends.torch import fused

    def share(call: Task, p: People, where: Any, what: str, value: Any) -> str:
        usual = where[what]
        where[what] = value
        fused.fused_lookup.cache_clear()
        seconds, _ = best(call, p, "cuda", 0.1)
        where[what] = usual
        fused.fused_lookup.cache_clear()
        return f"{value} {row_bytes('transform', p) * rows / seconds / rate:.1%}"

    for number, (draw, kind) in product(groups, (("all", "drawn"), ("few", "ordered"))):
        p, call = people(rows, 1, number, "cuda"), transform(model(number, draw))
        for what in (kind, "PER_START" if draw == "all" else "PER_CELL", "PER_KNOT", "FINER"):
            where = fused.SHAPES if what == kind else vars(fused)
            line = [share(call, p, where, what, value) for value in TUNED[what]]
            print(f"{number:5,} groups, {draw:5}, {what:9}: {', '.join(line)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 8, 32, 1000])
    parser.add_argument("--tune", action="store_true", help="then try other shapes of the kernel")
    chosen = parser.parse_args(arguments)
    gpu = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if gpu else "no GPU"
    rate = copy_rate("cuda") if gpu else float("nan")
    print(f"torch {torch.__version__}, numpy {np.__version__}, {name}; a copy on it moves {rate / 1e12:.2f} TB/s.\n")
    right = table(chosen.rows, chosen.groups, gpu, rate)
    if gpu:
        steps_of_a_count(max(chosen.rows), min(chosen.groups))
        looks()
    if gpu and chosen.tune:
        tune(max(chosen.rows), [number for number in chosen.groups if number <= MOST_FITTED], rate)
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
