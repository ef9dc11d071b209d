"""Rooflines: published figures, exact times, and specs that are right or refused."""

import contextlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import FormatError
from hocket.topology.machines.records import MACHINES
from hocket.workload.accelerators import (
    ACCELERATORS,
    DEFAULT_EFFICIENCY,
    Precision,
    accelerator_of_device,
    parse_accelerator,
)


def test_compute_bound_and_memory_bound_kernels() -> None:
    accelerator = parse_accelerator("peak=1TFLOP/s,memory=100GB/s,efficiency=1")
    # 10^12 operations at 10^12 a second last 1 s; their 10^9 bytes at 10^11 a second only 10 ms.
    assert accelerator.time_ps(10**12, 10**9) == 10**12
    # 10^9 operations last 1 ms; 10^9 bytes 10 ms.
    assert accelerator.time_ps(10**9, 10**9) == 10**10
    assert accelerator.time_ps(0, 0) == 0


def test_efficiencies_stretch_each_side_alone() -> None:
    accelerator = parse_accelerator("peak=1TFLOP/s,memory=100GB/s,efficiency=0.5,memory_efficiency=25%")
    assert accelerator.time_ps(10**12, 0) == 2 * 10**12
    assert accelerator.time_ps(0, 10**9) == 4 * 10**10


def test_times_round_up_to_picoseconds() -> None:
    # 1 operation at 3 * 10^12 a second is a third of a picosecond.
    assert parse_accelerator("peak=3TFLOP/s,memory=1GB/s,efficiency=1").time_ps(1, 0) == 1


@pytest.mark.parametrize(
    ("name", "bf16_teraflops", "memory_gigabytes"),
    [
        ("a100", 312, 80),
        ("a100-40gb", 312, 40),
        ("h100", 989.4, 80),
        ("h800", 989.4, 80),
        ("h200", 989.4, 141),
        ("b200", 2250, 180),
        ("gb200", 2500, 186),
        ("mi250", 181, 64),
        ("mi300x", 1307.4, 192),
    ],
)
def test_data_sheets(name: str, bf16_teraflops: float, memory_gigabytes: int) -> None:
    accelerator = ACCELERATORS[name]
    assert accelerator.peak[Precision.BF16] == bf16_teraflops * 10**12
    assert accelerator.memory_bytes == memory_gigabytes * 10**9
    assert Fraction(1, 2) < accelerator.matmul_efficiency < 1


def test_columns_equal_single_kernels() -> None:
    accelerator = ACCELERATORS["h100"]
    ops, sizes = np.array([10**15, 5, 10**15, 0]), np.array([3, 10**9, 3, 7])
    expected = [accelerator.time_ps(int(a), int(b)) for a, b in zip(ops, sizes, strict=True)]
    assert accelerator.times_ps(ops, sizes).tolist() == expected
    assert len(accelerator.times_ps(ops[:0], sizes[:0])) == 0


def test_what_nobody_measured_has_one_default_of_efficiency() -> None:
    """By name or by figures: the same figures give the same times."""
    v100 = parse_accelerator("v100")
    figures = parse_accelerator("peak=125TFLOP/s,memory=900GB/s,capacity=32GB")
    # 10^12 operations at 125 x 10^12 x 0.8 a second
    assert v100.time_ps(10**12, 0, Precision.FP16) == figures.time_ps(10**12, 0, Precision.FP16) == 10**10
    assert figures.matmul_efficiency == DEFAULT_EFFICIENCY == Fraction(4, 5)
    measured = sorted(one.matmul_efficiency for one in ACCELERATORS.values() if one.measured)
    assert abs(measured[len(measured) // 2] - DEFAULT_EFFICIENCY) < Fraction(2, 100)  # the median of what was


TEXTS = [*ACCELERATORS, "h100,memory=3TB/s", "peak=1TFLOP/s,memory=2GB/s", " a100 , memory=1TB/s"]


@pytest.mark.parametrize("text", TEXTS)
def test_its_text_reads_back_as_the_same(text: str) -> None:
    found = parse_accelerator(text).with_efficiency(Fraction(7, 10), Fraction(1, 2))
    again = parse_accelerator(found.spec)
    for precision in found.peak:
        assert again.time_ps(10**12, 10**9, precision) == found.time_ps(10**12, 10**9, precision)
    assert again.name == found.name


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA A100-SXM4-40GB", "a100-40gb"),
        ("Tesla V100-SXM2-32GB", "v100"),
        ("NVIDIA GB200", "gb200"),
        ("AMD Instinct MI300X", "mi300x"),
        ("NVIDIA GeForce RTX 4090", None),
        ("", None),
    ],
)
def test_names_of_drivers(device: str, name: str | None) -> None:
    found = accelerator_of_device(device)
    assert (found.name if found else None) == name


def test_every_machine_has_an_accelerator() -> None:
    assert not {record.name for record in MACHINES.values() if record.accelerator not in ACCELERATORS}


def test_a_name_takes_other_figures() -> None:
    accelerator = parse_accelerator("h100,memory=3TB/s,efficiency=0.7")
    assert accelerator.memory_bandwidth == 3 * 10**12
    assert accelerator.matmul_efficiency == Fraction(7, 10)
    assert accelerator.peak == ACCELERATORS["h100"].peak


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h10", "did you mean"),
        ("peak=1TFLOP/s", "needs both"),
        ("peak=fast,memory=1GB/s", "not a positive rate"),
        ("h100,efficiency=1.2", "above 0 and at most 1"),
        ("h100,cores=132", "none of peak="),
    ],
)
def test_refused_specs(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_accelerator(text)


def test_a_precision_that_the_chip_lacks() -> None:
    with pytest.raises(FormatError, match="a100 has no fp8"):
        ACCELERATORS["a100"].time_ps(1, 1, Precision.FP8)


@given(st.text(max_size=40) | st.from_regex(r"(h100|peak=[0-9.]{1,9}TFLOP/s),(memory|efficiency)=[0-9.%a-zA-Z/]{0,9}"))
def test_any_text_is_an_accelerator_or_an_error(text: str) -> None:
    with contextlib.suppress(FormatError):
        assert parse_accelerator(text).time_ps(10, 10) > 0
