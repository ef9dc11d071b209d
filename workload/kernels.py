"""What kernels reach of an accelerator's peaks, by their shapes.

A multiplication [m, k] x [k, n] reaches `k / (k + inner)` of its best, because every tile of the output is begun and
ended once, and `tiles / (tiles + half_tiles)` of that, because the last wave of tiles does not fill the chip. A format
twice as fast ends twice as soon and begins no faster: `inner` is BF16's, and as much larger as the format is faster.
DeepGEMM's table of FP8 multiplications on H800 (github.com/deepseek-ai/DeepGEMM, README of version 1.0; k from 512 to
16384, 4096 rows and groups of 256 to 8192) is met within 13 %, one row of 16 within 21 %.

Attention is FlashAttention's: of long sequences and wide heads it reaches `attention` of the peak forward and
`attention_backward` backward, `d / (d + 40)` of that with heads of d elements and `s / (s + 300)` with s keys: after
the figures 5 and 6 of FlashAttention-3 (arXiv:2407.08608) and 4 to 6 of FlashAttention-2 (arXiv:2307.08691).
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hocket.base.errors import FormatError

__all__ = ["BENCHMARKED", "MEMORY_IN_STEPS", "ROOFLINE", "SHAPED", "KernelShapes"]

_TILE = 128
_HEAD, _KEYS = 40, 300


@dataclass(frozen=True)
class KernelShapes:
    """`inner` elements of k, at BF16, and `half_tiles` of 128 x 128 elements of output reach half of the best;
    `attention`, `attention_backward`: parts of the peak, 0: what multiplications reach; `sustained`: the part of their
    best that multiplications reach in a step, `grouped`: of that those of experts; `launch_ns`: what each kernel takes
    before it computes."""

    inner: int = 0
    half_tiles: int = 0
    attention: Fraction = Fraction(0)
    attention_backward: Fraction = Fraction(0)
    sustained: Fraction = Fraction(1)
    grouped: Fraction = Fraction(1)
    launch_ns: int = 0

    def matmul(self, m: int, n: int, k: int, groups: int, speed: Fraction) -> Fraction:
        """The part of its best that `groups` multiplications at `speed` times BF16's peak reach, in (0, 1]."""
        inner = self.inner * speed
        tiles = groups * -(-m // _TILE) * -(-n // _TILE)
        reached = Fraction(k) / (k + inner) * Fraction(tiles, tiles + self.half_tiles)
        return reached * self.sustained * (self.grouped if groups > 1 else 1)

    def attended(self, keys: int, head: int, backward: bool) -> Fraction:
        """The part of the peak that attention to `keys` keys with heads of `head` elements reaches; 0: not known."""
        best = self.attention_backward if backward else self.attention
        return best * Fraction(head, head + _HEAD) * Fraction(keys, keys + _KEYS)

    def with_figure(self, key: str, value: str, text: str) -> "KernelShapes":
        """Another figure, as `parse_accelerator` reads it. Raises FormatError, naming `text`, for one that is none."""
        whole = key in ("inner", "half_tiles", "launch_ns")
        try:
            figure = Fraction(int(value)) if whole else Fraction(value)
        except (ValueError, ZeroDivisionError):
            figure = Fraction(-1)
        if not 0 <= figure <= (1 << 31 if whole else 1) or (key in ("sustained", "grouped") and not figure):
            wanted = "0 or more" if whole else "0 to 1"
            raise FormatError(f"accelerator '{text}': {key}={value}; it must be {wanted}")
        changed: dict[str, Any] = {key: int(figure) if whole else figure}
        return replace(self, **changed)


ROOFLINE = KernelShapes()
# Kernels alone, as benchmarks run them: inner and half_tiles of DeepGEMM's table, attention of FlashAttention's.
BENCHMARKED = KernelShapes(
    inner=380,
    half_tiles=80,
    attention=Fraction(86, 100),
    attention_backward=Fraction(72, 100),
    grouped=Fraction(9, 10),
    launch_ns=3000,
)
# Kernels in training steps, hot and one after the other: as much slower as published steps say, all rows of
# `python -m hocket.bench.published_steps` fitted.
SHAPED = replace(
    BENCHMARKED,
    sustained=Fraction(85, 100),
    attention=Fraction(63, 100),
    attention_backward=Fraction(53, 100),
    grouped=Fraction(54, 100),
)
MEMORY_IN_STEPS = Fraction(76, 100)
"""Part of the memory's bandwidth that element-wise kernels reach there, likewise."""
