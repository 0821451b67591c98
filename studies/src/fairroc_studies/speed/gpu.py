"""Tensors on a GPU beside numpy and torch on the host: rows per second, and what a device-to-device copy would allow.

    python -m fairroc_studies gpu            # up to 1e8 rows
    python -m fairroc_studies gpu --rows 1000000

Needs numpy, narwhals and torch. Every contestant's result is compared with numpy's, bit for bit.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fairroc.errors import FairrocWarning
from fairroc.fairmodel import FairModel
from fairroc.fitting.fit import fit
from fairroc.options import Options
from fairroc.people.counts import ScoreCounts
from fairroc.people.door import read_people

FITTED = 200_000
"""Rows the models are fitted to."""
BITS = 20
"""Bits of the bins that are counted: some 2,000 bins for scores between 0 and 1."""
ROW = {"transform": 8 + 1 + 8 + 8, "count": 8 + 1 + 1}
"""Bytes of a row that must be read or written: score, group and id or label, and the fair score."""


@dataclass(frozen=True)
class People:
    scores: Any
    labels: Any
    groups: Any
    ids: Any

    def on(self, device: str) -> People:
        return People(*(torch.from_numpy(part).to(device) for part in vars(self).values()))


def people(n: int, seed: int) -> People:
    """Two groups of scores between 0 and 1."""
    rng = np.random.default_rng(seed)
    groups, labels = rng.integers(0, 2, n, dtype=np.int8), rng.integers(0, 2, n, dtype=np.int8)
    signal = rng.standard_normal(n)
    signal *= 1 + 0.3 * groups
    signal += labels * (1 + 0.5 * groups)
    return People(1 / (1 + np.exp(-signal)), labels, groups, np.arange(n, dtype=np.int64))


def model(ties: str) -> FairModel:
    known = people(FITTED, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairrocWarning)
        counted = read_people(known.scores, known.labels, sensitive_features=known.groups)
        return FairModel.of(fit(counted, Options.checked(epsilon=0.05, ties=ties), salt=1).model)


def best(call: Callable[[Any], Any], given: Any, device: str, budget: float = 2.0) -> tuple[float, Any]:
    """Least wall seconds of several calls after one that is not counted, and what the last one gave."""
    result, times = call(given), list[float]()
    while sum(times) < budget and len(times) < 10:
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
    array = result.cpu().numpy() if isinstance(result, torch.Tensor) else result
    return bool((array.view(np.int64) == right.view(np.int64)).all())


def tasks() -> dict[str, Callable[[People], Any]]:
    def transform(fitted: FairModel) -> Callable[[People], Any]:
        return lambda p: fitted.transform(p.scores, sensitive_features=p.groups, ids=p.ids)

    def count(bits: int | None) -> Callable[[People], Any]:
        return lambda p: ScoreCounts.from_rows(p.scores, p.labels, sensitive_features=p.groups, bits=bits)

    return {
        "transform, raw order": transform(model("order")),
        "transform, ties drawn": transform(model("draw")),
        f"count, bins of {BITS} bits": count(BITS),
        "count, exact": count(None),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    sizes = parser.parse_args(arguments).rows
    gpu = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if gpu else "no GPU"
    rate = copy_rate("cuda") if gpu else float("nan")
    print(f"torch {torch.__version__}, numpy {np.__version__}, {name}; a copy on it moves {rate / 1e12:.2f} TB/s.\n")
    print("| rows |  | numpy, M rows/s | torch on the host | GPU | GPU / numpy | share of a copy | same bits |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    failed = False
    todo = tasks()
    for rows in sizes:
        host = people(rows, 1)
        device = host.on("cuda") if gpu else None
        for title, call in todo.items():
            slow, right = best(call, host, "cpu")
            views, result = best(call, host.on("cpu"), "cpu")
            equal = same(result, right)
            cells = [f"{rows / slow / 1e6:.0f}", f"{rows / views / 1e6:.0f}"]
            if device is not None:
                fast, result = best(call, device, "cuda")
                equal &= same(result, right)
                share = ROW[title.split(",")[0]] * rows / fast / rate
                cells += [f"{rows / fast / 1e6:,.0f}", f"{slow / fast:.0f}", f"{share:.1%}"]
            else:
                cells += ["", "", ""]
            failed |= not equal
            print(f"| {rows:,} | {title} | {' | '.join(cells)} | {'yes' if equal else 'NO'} |", flush=True)
            del result, right
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
