"""How many places of a table a GPU can look at in a second, for tables that fit its caches and such that do not. Loaded
only where Triton is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton  # type: ignore[import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,unused-ignore]

from fairroc.backends.torch.fused import _four, _pair

SIZES = [1 << 15, 1 << 18, 1 << 20, 1 << 23, 1 << 25, 1 << 26, 1 << 27, 1 << 29]
"""Bytes of tables of 32 bytes a place."""
ROWS, ROUNDS = 1 << 24, 16


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _look(table, out, last, HOW: tl.constexpr, LOOKS: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Random places, LOOKS for each row; nothing is written but what no sum is."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    word, total = row * -1640531527, tl.zeros([TILE], tl.float64)
    for _ in range(LOOKS):
        word = (word ^ ((word >> 15) & 0x1FFFF)) * 739982445 + 12345
        at = 4 * (((word >> 5) ^ word) & last)
        if HOW == 8:
            total += tl.load(table + at)
        elif HOW == 16:
            a, b = _pair(table, at, None)
            total += a + b
        elif HOW == 32:
            a, b, c, d = _four(table, at, "")
            total += (a + b) + (c + d)
        else:
            a, b = _pair(table, at, None)
            c, d = _pair(table + 2, at, None)
            total += (a + b) + (c + d)
    tl.store(out + row, total, mask=total < -1.0)


def looks(best: Callable[..., tuple[float, Any]], hows: tuple[int, ...] = (8, 16, 32)) -> None:
    """Print billions of places looked at in a second, by the table's size and the bytes read of a place."""
    out = torch.empty(ROWS, dtype=torch.float64, device="cuda")
    for size in SIZES:
        table, last, found = torch.rand(size // 8, dtype=torch.float64, device="cuda"), size // 32 - 1, list[str]()
        for how in hows:

            def call(how: int) -> None:
                _look[(ROWS // 64,)](table, out, last, HOW=how, LOOKS=ROUNDS, TILE=64, num_warps=1)  # noqa: B023

            seconds, _ = best(call, how, "cuda", 0.05)
            found.append(f"{how} bytes {ROWS * ROUNDS / seconds / 1e9:,.0f}")
        print(f"  a table of {size / 1e6:6.1f} MB: {', '.join(found)} billion places a second", flush=True)
