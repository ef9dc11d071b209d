"""Kernels by their shapes, against published measurements."""

from dataclasses import replace
from fractions import Fraction
from math import log

import pytest

from hocket.base.errors import FormatError
from hocket.workload.accelerators import ACCELERATORS, Precision, parse_accelerator
from hocket.workload.kernels import BENCHMARKED, ROOFLINE

# DeepGEMM, README of version 1.0: FP8 on H800, whose chip is H100's; groups, rows of each, n, k, TFLOP/s.
DEEPGEMM = (
    (1, 4096, 2112, 7168, 1058), (1, 4096, 24576, 1536, 990), (1, 4096, 32768, 512, 590), (1, 4096, 7168, 16384, 1358),
    (1, 4096, 4096, 7168, 1304), (1, 4096, 7168, 2048, 1025), (4, 8192, 4096, 7168, 1297), (4, 8192, 7168, 2048, 1099),
    (8, 4096, 4096, 7168, 1288), (8, 4096, 7168, 2048, 1093), (1, 1024, 4096, 7168, 1233), (1, 1024, 7168, 2048, 925),
    (2, 512, 4096, 7168, 1040), (2, 512, 7168, 2048, 916), (4, 256, 4096, 7168, 932), (4, 256, 7168, 2048, 815),
)  # fmt: skip


def test_shapes_of_measured_multiplications() -> None:
    best = 1480  # what the largest would reach
    reached = replace(BENCHMARKED, grouped=Fraction(1)).matmul
    errors = sorted(
        abs(log(float(best * reached(m, n, k, groups, Fraction(2))) / measured))
        for groups, m, n, k, measured in DEEPGEMM
    )
    assert errors[-2] < log(1.13)
    assert errors[-1] < log(1.21)


def test_a_figure_alone_is_a_roofline() -> None:
    plain = parse_accelerator("peak=1TFLOP/s,memory=100GB/s,efficiency=1")
    assert plain.kernels == ROOFLINE
    assert plain.matmul_ps(1000, 1000, 500, 0) == 10**9
    assert plain.attention_ps(10**9, 0, 7, 64) == 10**9
    assert plain.elementwise_ps(10**8) == 10**9


def test_shapes_slow_down_and_launches_add() -> None:
    chip = parse_accelerator("peak=1TFLOP/s,memory=100GB/s,efficiency=1,inner=100,half_tiles=8,launch_ns=5,grouped=0.5")
    # k = 100 reaches half, 8 tiles of 128 x 128 half of that.
    assert chip.matmul_ps(1024, 128, 100, 0) == 4 * 2 * 1024 * 128 * 100 + 5000
    assert chip.matmul_ps(128, 128, 100, 0, groups=8) == 8 * 2 * 1024 * 128 * 100 + 5000
    assert chip.elementwise_ps(0) == 0


def test_narrow_formats_gain_less_from_small_products() -> None:
    chip = ACCELERATORS["b200"]
    gain = [
        chip.matmul_ps(8192, 8192, k, 0) / chip.matmul_ps(8192, 8192, k, 0, Precision.MXFP8) for k in (512, 4096, 65536)
    ]
    assert gain == sorted(gain)
    assert gain[-1] < 2


def test_attention_reaches_more_with_long_sequences_and_wide_heads() -> None:
    h100 = ACCELERATORS["h100"]
    rate = [10**15 / h100.attention_ps(10**15, 0, keys, head) for keys, head in ((512, 64), (4096, 64), (4096, 128))]
    assert rate == sorted(rate)
    alone = replace(h100, kernels=BENCHMARKED)
    # FlashAttention-3, figure 5: 648 TFLOP/s forward with the mask, heads of 128 and 16384 tokens; 8192 keys a query.
    assert 10**15 / alone.attention_ps(10**15, 0, 8192, 128) / 648 == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("text", ["h100,inner=-1", "h100,grouped=0", "h100,attention=2", "h100,launch_ns=fast"])
def test_refused_figures(text: str) -> None:
    with pytest.raises(FormatError, match="it must be"):
        parse_accelerator(text)
