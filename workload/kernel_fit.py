"""Efficiencies of kernels by shape, fitted to what a profile measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.chakra.importers.pytorch.products import MeasuredProducts
from hocket.chakra.importers.pytorch.work import Product
from hocket.workload.accelerators import Accelerator, Precision
from hocket.workload.kernels import KernelShapes

__all__ = ["KernelFit", "fit_kernels"]

_ROUNDS = 60
_NAMES = ("efficiency", "inner", "half_tiles", "launch_ns")
# What is expected before, and by which factor that may be off (standard deviation of its logarithm).
_SPREAD = np.array([1.0, 0.7, 0.7, 1.0])
_NOISE = 0.1  # of a measured time
_TILE = 128
_PLAIN = KernelShapes(inner=64, half_tiles=1, launch_ns=3000)
_STANDARD_DEVIATIONS = 1.96  # of an interval of 95 %


@dataclass(frozen=True)
class KernelFit:
    """`values` of KernelShapes and the efficiency, by name, each within a factor of `errors` either way (95 %);
    `accelerator` with them.

    `shapes` different multiplications were measured `kernels` times in all; their times are met within `median`, nine
    of ten within `tenth`, as parts of the time. `unseen`: what the profile cannot tell, which stays."""

    accelerator: Accelerator
    values: dict[str, float]
    errors: dict[str, float]
    shapes: int
    kernels: int
    median: float
    tenth: float
    unseen: tuple[str, ...]


def fit_kernels(measured: Sequence[MeasuredProducts], accelerator: Accelerator, precision: Precision) -> KernelFit:
    """What multiplications reach of the accelerator's peak at `precision`.

    Each shape counts once, with the median of its times; batches are left out, and what `grouped` says of them stays.
    Errors are of the logarithms, from the fit's curvature: where
    the shapes do not differ in what a figure is about, it stays where it is expected and its error is large. Raises
    FormatError where the multiplications were faster than the peak.
    """
    times: dict[Product, list[int]] = {}
    for profile in measured:
        for product, ns in profile.products:
            if product.groups == 1:
                times.setdefault(product, []).append(ns)
    if not times:
        raise FormatError("the profiles have batches of multiplications alone, and none that stands alone")
    shapes = np.array([product[:4] for product in times], np.float64)
    took = np.array([median(each) for each in times.values()]) * 1e-9
    peak = accelerator.peak.get(precision, 0)
    if not peak:
        raise FormatError(f"{accelerator.name} has no {precision}; it has {', '.join(accelerator.peak)}")
    speed = peak / accelerator.peak[accelerator.wide]
    before = _expected(accelerator)
    expected = accelerator.matmul_efficiency * before.sustained
    start = np.log([float(expected), before.inner, before.half_tiles, before.launch_ns])
    found, curvature = _least_squares(shapes, np.log(took), start, peak, speed)
    values = dict(zip(_NAMES, np.exp(found).tolist(), strict=True))
    if values["efficiency"] > 1:
        raise FormatError(
            f"multiplications took less than {accelerator.name} needs at its peak of {peak / 1e12:g} TFLOP/s at"
            f" {precision}: name what computed with --accelerator and --precision"
        )
    spread = np.sqrt(np.diag(np.linalg.inv(curvature)))
    errors = dict(zip(_NAMES, np.exp(_STANDARD_DEVIATIONS * spread).tolist(), strict=True))
    off = np.sort(np.abs(np.expm1(_predicted(shapes, found, peak, speed) - np.log(took))))
    return KernelFit(
        _with(accelerator, values),
        values,
        errors,
        len(times),
        sum(map(len, times.values())),
        float(np.median(off)),
        float(off[int(0.9 * (len(off) - 1))]),
        tuple(name for name, own, before in zip(_NAMES, spread, _SPREAD, strict=True) if own > 0.8 * before),
    )


def _expected(accelerator: Accelerator) -> KernelShapes:
    """The shapes' figures before the fit: the accelerator's; of one that is a plain roofline, such as a CPU, little."""
    kernels = accelerator.kernels
    return kernels if kernels.inner and kernels.half_tiles and kernels.launch_ns else _PLAIN


def _with(accelerator: Accelerator, values: dict[str, float]) -> Accelerator:
    efficiency = Fraction(round(10**6 * values["efficiency"]), 10**6)
    kernels = replace(
        accelerator.kernels,
        sustained=Fraction(1),
        inner=round(values["inner"]),
        half_tiles=round(values["half_tiles"]),
        launch_ns=round(values["launch_ns"]),
    )
    figures = f"sustained=1,inner={kernels.inner},half_tiles={kernels.half_tiles},launch_ns={kernels.launch_ns}"
    fitted = replace(accelerator.with_efficiency(max(efficiency, Fraction(1, 10**6))), kernels=kernels)
    return replace(fitted, spec=f"{fitted.spec},{figures}")


def _predicted(
    shapes: NDArray[np.float64], logarithms: NDArray[np.float64], peak: int, speed: float
) -> NDArray[np.float64]:
    """Logarithms of seconds of multiplications (rows of groups, m, n, k): `KernelShapes.matmul` and the launch."""
    groups, m, n, k = shapes.T
    efficiency, inner, half_tiles, launch_ns = np.exp(logarithms)
    tiles = groups * np.ceil(m / _TILE) * np.ceil(n / _TILE)
    reached = efficiency * k / (k + inner * speed) * tiles / (tiles + half_tiles)
    seconds: NDArray[np.float64] = np.log(2 * groups * m * n * k / (peak * reached) + launch_ns * 1e-9)
    return seconds


def _least_squares(
    shapes: NDArray[np.float64], took: NDArray[np.float64], start: NDArray[np.float64], peak: int, speed: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The logarithms of the figures that explain the times, and the curvature there."""
    found = start.copy()
    step = 1e-5
    for _ in range(_ROUNDS):
        here = _predicted(shapes, found, peak, speed)
        slope = np.array(
            [(_predicted(shapes, found + step * axis, peak, speed) - here) / step for axis in np.eye(len(start))]
        ).T
        errors = here - took
        weight = np.minimum(1, 2 * _NOISE / np.maximum(np.abs(errors), 1e-9)) / _NOISE**2
        curvature = slope.T @ (weight[:, None] * slope) + np.diag(1 / _SPREAD**2)
        change = np.linalg.solve(curvature, slope.T @ (weight * errors) + (found - start) / _SPREAD**2)
        found = found - np.clip(change, -1, 1)
        if np.abs(change).max() < 1e-6:
            break
    return found, curvature
