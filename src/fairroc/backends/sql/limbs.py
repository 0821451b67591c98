"""XXH64 in SQL for engines whose integers must not overflow: two limbs of 32 bits, as columns.

Every number on the way is from 0 to below 2**63: products are of 32 by 16 bits, and bits that would leave a limb to the
left are cut off before they are moved. So the bits are right wherever integers have 64 bits, signed or not, or more.
Shifts to the left are products and disjoint bits are added; what is asked of an engine is AND, XOR and a shift to the
right, of numbers that are not negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from fairroc.backends.sql.common import P1, P2, P3, P4, P5
from fairroc.model.xxh64 import MASK

LOW = (1 << 32) - 1

STRIPES = 4
LONGEST = 32 * STRIPES + 31
"""Bytes of a text that can be hashed: every stripe of 32 is written out."""

Pair = tuple[str, str]
HASH: Pair = ("fairroc_hi", "fairroc_lo")


class Bits(Protocol):
    """An engine's words for bits and bytes."""

    def both(self, a: str, b: str) -> str:
        """Bits that both numbers have."""

    def either(self, a: str, b: str) -> str:
        """Bits that one of two numbers has."""

    def right(self, a: str, bits: int) -> str:
        """A shift to the right."""

    def hexadecimal(self, digits: str, count: int) -> str:
        """A number by its digits, so many of them."""

    def without(self, names: Sequence[str]) -> str:
        """All columns but some."""


class Steps:
    """Each step is the list of a SELECT from the step before."""

    def __init__(self, bits: Bits, seed: int) -> None:
        self.bits, self.seed = bits, seed

    def of_integer(self, halves: Pair) -> list[str]:
        """Hash an integer, whose upper and lower 32 bits are given."""
        return [
            "*, " + self.named({HASH: self.times(halves, P2)}),
            self.replaced({HASH: self.turned(HASH, 31)}),
            self.replaced({HASH: self.times(HASH, P1)}),
            self.replaced({HASH: self.turned(self.mixed(HASH, _constant(self.seed + P5 + 8)), 27)}),
            self.replaced({HASH: self.times(HASH, P1, P4)}),
            *self.avalanche(),
        ]

    def of_text(self, size: str, digits: str) -> list[str]:
        """Hash the bytes of a text: how many they are, and their hexadecimal digits, the last byte first."""
        return [f"*, {size} AS fairroc_n, {digits} AS fairroc_x", *self._words(), *self._stripes(), *self._tail()]

    # -- a text's parts -----------------------------------------------------------------------------------------------

    def _words(self) -> Iterator[str]:
        """All words that may be needed, those of the stripes and those of the tail, with what does not depend on the
        hash so far."""
        tail, four = self.bits.both("fairroc_n", "31"), self.bits.both("fairroc_n", "4")
        base = f"fairroc_n - {tail}"
        words = {
            _pair("w", s, k): self._word(f"{32 * s + 8 * k}", 8, f"fairroc_n >= {32 * s + 32}")
            for s in range(STRIPES)
            for k in range(4)
        }
        tails = {_pair("t", k): self._word(f"{base} + {8 * k}", 8, f"{tail} >= {8 * k + 8}") for k in range(3)}
        after = f"{base} + {self.bits.both('fairroc_n', '24')}"
        short = {_pair("f"): self._word(after, 4, f"{four} > 0")}
        after = f"{base} + {self.bits.both('fairroc_n', '28')}"
        single = {
            _pair("c", k): self._word(f"{after} + {k}", 1, f"{self.bits.both('fairroc_n', '3')} > {k}")
            for k in range(3)
        }
        lanes = {_pair("a", k): _constant(self.seed + start) for k, start in enumerate((P1 + P2, P2, 0, -P1))}
        yield "*, " + self.named({**words, **tails, **short, **single, **lanes})
        first = {pair: self.times(pair, P2) for pair in (*words, *tails)}
        first |= {pair: self.times(pair, P1) for pair in short} | {pair: self.times(pair, P5) for pair in single}
        yield self.replaced(first)
        yield self.replaced({pair: self.turned(pair, 31) for pair in tails})
        yield self.replaced({pair: self.times(pair, P1) for pair in tails})

    def _stripes(self) -> Iterator[str]:
        lanes = [_pair("a", k) for k in range(4)]
        for s in range(STRIPES):
            some = f"fairroc_n >= {32 * s + 32}"
            added = {lane: self.turned(self.sum(lane, _pair("w", s, k)), 31) for k, lane in enumerate(lanes)}
            yield self.replaced(added, some)
            yield self.replaced({lane: self.times(lane, P1) for lane in lanes}, some)
        turned = [self.turned(lane, left) for lane, left in zip(lanes, (1, 7, 12, 18), strict=True)]
        total, short = self.sum(*turned), _constant(self.seed + P5)
        begun = (_chosen("fairroc_n >= 32", long, other) for long, other in zip(total, short, strict=True))
        yield "*, " + self.named({HASH: (next(begun), next(begun))})
        for factor in (P2, 0, P1):
            yield self.replaced({lane: self.times(lane, factor) if factor else self.turned(lane, 31) for lane in lanes})
        for lane in lanes:
            yield self.replaced({HASH: self.times(self.mixed(HASH, lane), P1, P4)}, "fairroc_n >= 32")
        yield self.replaced({HASH: self.sum(HASH, ("0", "fairroc_n"))})

    def _tail(self) -> Iterator[str]:
        tail = self.bits.both("fairroc_n", "31")
        for k in range(3):
            yield from self._taken(_pair("t", k), f"{tail} >= {8 * k + 8}", 27, P1, P4)
        yield from self._taken(_pair("f"), f"{self.bits.both('fairroc_n', '4')} > 0", 23, P2, P3)
        for k in range(3):
            yield from self._taken(_pair("c", k), f"{self.bits.both('fairroc_n', '3')} > {k}", 11, P1)
        pairs = [_pair(name, *at) for name, at in (*(("t", (k,)) for k in range(3)), ("f", ()))]
        pairs += [_pair(name, k) for name, count in (("c", 3), ("a", 4)) for k in range(count)]
        pairs += [_pair("w", s, k) for s in range(STRIPES) for k in range(4)]
        yield self.bits.without(["fairroc_n", "fairroc_x", *(name for pair in pairs for name in pair)])
        yield from self.avalanche()

    def _taken(self, word: Pair, where: str, left: int, factor: int, plus: int = 0) -> Iterator[str]:
        yield self.replaced({HASH: self.turned(self.mixed(HASH, word), left)}, where)
        yield self.replaced({HASH: self.times(HASH, factor, plus)}, where)

    def _word(self, at: str, size: int, where: str) -> Pair:
        """Bytes from some place on as a little-endian number; 0 where the text has none there."""

        def half(offset: int, width: int) -> str:
            begin = f"2 * (fairroc_n - ({at}) - {offset + width}) + 1"
            digits = self.bits.hexadecimal(f"SUBSTR(fairroc_x, {begin}, {2 * width})", 2 * width)
            return _chosen(where, digits, "0")

        return half(4, 4) if size == 8 else "0", half(0, min(4, size))

    # -- numbers of 64 bits -------------------------------------------------------------------------------------------

    def avalanche(self) -> Iterator[str]:
        """The last steps."""
        hi, lo = HASH
        yield self.replaced({HASH: (hi, self.bits.either(lo, self.bits.right(hi, 1)))})
        yield self.replaced({HASH: self.times(HASH, P2)})
        moved = f"{self.bits.both(hi, str((1 << 29) - 1))} * 8 + {self.bits.right(lo, 29)}"
        yield self.replaced({HASH: (self.bits.either(hi, self.bits.right(hi, 29)), self.bits.either(lo, f"({moved})"))})
        yield self.replaced({HASH: self.times(HASH, P3)})

    def upper_bits(self) -> str:
        """After the last step, the first 53 bits of the hash."""
        hi, lo = HASH
        return f"{hi} * {1 << 21} + {self.bits.right(self.bits.either(lo, hi), 11)}"

    def named(self, values: dict[Pair, Pair]) -> str:
        return ", ".join(
            f"{value} AS {name}" for pair in values for value, name in zip(values[pair], pair, strict=True)
        )

    def replaced(self, values: dict[Pair, Pair], where: str | None = None) -> str:
        """Numbers take new values, where some condition holds."""
        if where is not None:
            values = {
                pair: (_chosen(where, new[0], pair[0]), _chosen(where, new[1], pair[1])) for pair, new in values.items()
            }
        return f"* REPLACE ({self.named(values)})"

    def times(self, number: Pair, factor: int, plus: int = 0) -> Pair:
        """``number * factor + plus`` modulo 2**64."""
        hi, lo = number
        c0, c1, c2, c3 = ((factor >> shift) & 65535 for shift in (0, 16, 32, 48))

        def cut(product: str) -> str:
            return f"{self.bits.both(f'({product})', '65535')} * 65536"

        low = f"({lo} * {c0} + {cut(f'{lo} * {c1}')} + {plus & LOW})"
        terms = [self.bits.right(low, 32), self.bits.right(f"({lo} * {c1})", 16), f"{lo} * {c2}", cut(f"{lo} * {c3}")]
        terms += [f"{hi} * {c0}", cut(f"{hi} * {c1}"), str(plus >> 32)]
        return self.bits.both(f"({' + '.join(terms)})", str(LOW)), self.bits.both(low, str(LOW))

    def sum(self, *numbers: Pair) -> Pair:
        """A sum modulo 2**64."""
        low = f"({' + '.join(lo for _, lo in numbers)})"
        high = " + ".join(hi for hi, _ in numbers)
        return self.bits.both(f"({high} + {self.bits.right(low, 32)})", str(LOW)), self.bits.both(low, str(LOW))

    def turned(self, number: Pair, left: int) -> Pair:
        """All bits moved to the left, by up to 31, those that drop out come in at the right."""
        hi, lo = number

        def joined(a: str, b: str) -> str:
            return f"({self.bits.both(a, str((1 << (32 - left)) - 1))} * {1 << left} + {self.bits.right(b, 32 - left)})"

        return joined(hi, lo), joined(lo, hi)

    def mixed(self, a: Pair, b: Pair) -> Pair:
        """XOR."""
        return self.bits.either(a[0], b[0]), self.bits.either(a[1], b[1])


def _pair(name: str, *at: int) -> Pair:
    whole = f"fairroc_{name}{'_'.join(map(str, at))}"
    return f"{whole}h", f"{whole}l"


def _constant(number: int) -> Pair:
    return str((number & MASK) >> 32), str(number & LOW)


def _chosen(where: str, then: str, other: str) -> str:
    return f"CASE WHEN {where} THEN {then} ELSE {other} END"
