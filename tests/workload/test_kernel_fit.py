"""Efficiencies fitted to profiles."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from hocket.base.errors import FormatError
from hocket.chakra.importers.pytorch.products import MeasuredProducts, measured_products
from hocket.chakra.importers.pytorch.work import Product
from hocket.workload.accelerator_file import write_spec
from hocket.workload.accelerators import Accelerator, Precision, parse_accelerator
from hocket.workload.kernel_fit import fit_kernels

SHAPES = [Product(1, m, n, k, 2) for m, n, k in product((128, 1024, 8192), (1024, 8192), (64, 512, 4096, 16384))]


def timed(chip: Accelerator) -> MeasuredProducts:
    times = [chip.matmul_ps(each.m, each.n, each.k, 0, Precision.BF16, each.groups) for each in SHAPES]
    return MeasuredProducts("", tuple((each, -(-time // 1000)) for each, time in zip(SHAPES, times, strict=True)))


def test_what_made_the_times_is_found() -> None:
    chip = parse_accelerator("h100,efficiency=0.7,sustained=1,inner=500,half_tiles=60,launch_ns=6000")
    fit = fit_kernels([timed(chip)], parse_accelerator("h100"), Precision.BF16)
    assert fit.median < 0.01
    for name, expected in (("efficiency", 0.7), ("inner", 500), ("half_tiles", 60), ("launch_ns", 6000)):
        assert fit.values[name] == pytest.approx(expected, rel=0.05), name
        assert expected / fit.errors[name] < fit.values[name] < expected * fit.errors[name]
    assert not fit.unseen


def test_what_the_shapes_do_not_tell_is_said() -> None:
    chip = parse_accelerator("h100,efficiency=0.7,sustained=1")
    one = MeasuredProducts("", tuple(pair for pair in timed(chip).products if pair[0].k == 16384 and pair[0].m == 8192))
    assert {"inner", "launch_ns"} <= set(fit_kernels([one], parse_accelerator("h100"), Precision.BF16).unseen)


def test_faster_than_the_peak_is_refused() -> None:
    with pytest.raises(FormatError, match="less than v100 needs at its peak"):
        fit_kernels([timed(parse_accelerator("b200"))], parse_accelerator("v100"), Precision.FP16)


def test_a_file_prices_as_what_was_fitted(tmp_path: Path) -> None:
    fit = fit_kernels([timed(parse_accelerator("h100,efficiency=0.6"))], parse_accelerator("h100"), Precision.BF16)
    path = tmp_path / "here.yaml"
    write_spec(path, fit.accelerator.spec, fit.errors, "a test", "# made by a test\n")
    read = parse_accelerator(str(path))
    assert read.kernels == fit.accelerator.kernels
    assert read.matmul_ps(4096, 4096, 4096, 0) == fit.accelerator.matmul_ps(4096, 4096, 4096, 0)
    assert parse_accelerator(read.spec) == read  # what traces say of how they were priced
    assert read.matmul_efficiency > Fraction(1, 3)


def test_a_file_that_is_none_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "here.yaml"
    path.write_text("accelerator: h100\nspeed: 3\n")
    with pytest.raises(FormatError, match=r"here.yaml:2: "):
        parse_accelerator(str(path))


@pytest.mark.shared
def test_a_recorded_profile(shared: Path) -> None:
    measured = measured_products(shared / "torch_traces/profiler/ddp_tf/device.0.json.gz")
    assert measured.gpu == ""
    assert len(measured.products) == 27
    assert all(ns > 0 and min(shape) > 0 for shape, ns in measured.products)
    fit = fit_kernels([measured], parse_accelerator("peak=1TFLOP/s,memory=10GB/s"), Precision.BF16)
    assert 0.001 < fit.values["efficiency"] < 1
    assert fit.tenth < 1


@pytest.mark.shared
def test_a_profile_without_multiplications_is_refused(shared: Path) -> None:
    path = shared / "torch_traces/profiler/ddp_tf/host.0.json.gz"
    with pytest.raises(FormatError, match=r"host\.0\.json\.gz"):
        measured_products(path)
