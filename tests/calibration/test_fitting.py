"""Fits: known parameters come back within the stated uncertainty, and unseen sizes and nodes are predicted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import SIZES, TRUE, cluster, measured

from hocket.base.errors import FormatError
from hocket.calibration import Measurement, Pieces, calibrate, curves_of, fit_curve, hold_out, read_measurements


def test_pieces_are_what_is_documented() -> None:
    pieces = Pieces(np.array([10.0, 40.0]), np.array([1.0, 0.01]), 0.5)
    # 10 + 4 + 0.5 sqrt(10 x 4) = 17.16 by the first, 40 + 0.04 + 0.5 sqrt(1.6) = 40.67 by the second
    assert pieces.of_each([4])[:, 0] == pytest.approx([17.1623, 40.6725], abs=1e-3)
    assert pieces.time_us([4, 10**6]) == pytest.approx([17.1623, 40 + 10000 + 0.5 * 400000**0.5], abs=1e-3)


def test_known_parameters_come_back_within_the_stated_uncertainty() -> None:
    within = []
    for seed in range(25):
        fit = fit_curve(curves_of(measured(TRUE, noise=0.02, seed=seed))[0])
        assert fit.pieces.names == ("LL", "LL128", "Simple")
        for found, spread, true in (
            (fit.pieces.latency_us, fit.latency_spread, TRUE.latency_us),
            (fit.pieces.bandwidth, fit.bandwidth_spread, TRUE.bandwidth),
        ):
            off = np.abs(np.log(found / true)) / np.log(spread)
            within += (off <= 1).tolist()
            assert off.max() < 3  # six standard errors
        assert fit.latency_spread[0] < 1.05 and fit.bandwidth_spread[-1] < 1.05
        assert np.abs(fit.pieces.time_us(SIZES) / TRUE.time_us(SIZES) - 1).max() < 0.06
    # 95 % are stated; of 150 dependent ones fewer than 86 % would be 5 standard errors away
    assert np.mean(within) >= 0.86


@given(st.sets(st.integers(2, 2 * len(SIZES) - 3), min_size=1, max_size=4), st.floats(1.6, 8.0))
@settings(max_examples=8)
def test_outliers_are_named_and_change_little(rows: set[int], factor: float) -> None:
    clean = measured(TRUE, noise=0.005)
    wild = [
        replace(each, time_ps=round(each.time_ps * factor)) if at in rows else each for at, each in enumerate(clean)
    ]
    fit, undisturbed = (fit_curve(curves_of(rows)[0]) for rows in (wild, clean))
    assert set(fit.outliers.tolist()) >= rows and len(fit.outliers) <= len(rows) + 1
    assert fit.pieces.time_us(SIZES) == pytest.approx(undisturbed.pieces.time_us(SIZES), rel=0.04)


def test_fits_are_deterministic_and_order_does_not_matter() -> None:
    rows = measured(TRUE, noise=0.02)
    first, again, turned = (fit_curve(curves_of(each)[0]) for each in (rows, rows, rows[::-1]))
    assert (first.pieces.latency_us == again.pieces.latency_us).all()
    assert first.pieces.time_us(SIZES) == pytest.approx(turned.pieces.time_us(SIZES), rel=1e-6)


def test_a_plain_line_is_one_protocol() -> None:
    line = Pieces(np.array([30.0]), np.array([1e-3 / 100]), 0.0)
    fit = fit_curve(curves_of(measured(line, noise=0.01))[0])
    assert fit.pieces.names == ("Simple",)
    assert fit.pieces.bandwidth[0] == pytest.approx(100e9, rel=0.02)


def test_other_numbers_of_nodes_are_predicted() -> None:
    rows = [each for nodes in (1, 2, 4, 8) for each in measured(cluster(nodes), nodes, noise=0.01, seed=nodes)]
    held = hold_out(curves_of(rows), "nodes")
    assert [each.curve.nodes for each in held] == [2, 4, 8]
    for each in held:
        assert each.errors.median < 0.06 and each.errors.small < 0.06
    calibration = calibrate([each for each in rows if each.nodes < 4])
    assert calibration.time_us("all_reduce", 64, 8, SIZES) == pytest.approx(cluster(8).time_us(SIZES), rel=0.15)
    with pytest.raises(FormatError, match="all_gather on 16 ranks of 2 nodes"):
        calibration.time_us("all_gather", 16, 2, SIZES)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(SIZES), st.integers(1, 10**15)), min_size=4, max_size=40))
def test_any_times_are_fitted_or_refused(rows: list[tuple[int, int]]) -> None:
    curve = curves_of([Measurement("all_reduce", 8, 1, size, time, False, "made:1") for size, time in rows])[0]
    if len(curve.sizes) < 4:
        with pytest.raises(FormatError):
            fit_curve(curve)
        return
    fit = fit_curve(curve)
    assert np.isfinite(fit.pieces.time_us(SIZES)).all() and (np.diff(fit.pieces.latency_us) >= 0).all()
    assert (fit.latency_spread >= 1).all() and ((fit.weight >= 0) & (fit.weight <= 1)).all()


def test_too_little_is_refused() -> None:
    few = [each for each in measured(TRUE) if each.size_bytes in SIZES[:3]]
    with pytest.raises(FormatError, match=r"made:1.*4 sizes"):
        calibrate(few)
    with pytest.raises(FormatError, match=r"nothing can be held out.*8 sizes"):
        hold_out(curves_of(few))
    with pytest.raises(FormatError, match="two other numbers of nodes"):
        hold_out(curves_of(measured(TRUE)), "nodes")


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        *["a100_8gpu_1node_azure", "a100_16gpu_2node_azure", "a100_16gpu_2node_p4de"],
        *["h100_8gpu_1node", "h100_16gpu_2node_ib", "h100_16gpu_2node_p5"],
    ],
)
def test_held_out_sizes_of_public_tables(name: str, shared: Path) -> None:
    (held,) = hold_out(curves_of(read_measurements([shared / "nccl_tests" / f"{name}_allreduce.csv"])))
    errors = held.errors
    assert errors.median <= 0.05 and errors.worst <= 0.15 and errors.small <= 0.15
