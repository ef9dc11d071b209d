"""Predicted beside measured times of public nccl-tests tables, before and after calibration.

Run: python -m hocket.bench.calibration [FOLDER]     (the CSVs of `hocket calibrate`, ../shared/data/nccl_tests)

A row a curve of eight sizes or more. Errors are |predicted / measured - 1|: the median and the worst above 1 MiB, the
median up to 1 MiB, over all rows, in and out of place. `uncalibrated` is the simulator on the machine as its data sheet
says (ring on one node, hierarchical on two), `topology` the simulator on the calibrated topology, which has one latency
and one bandwidth; `calibrated` is the fit on all sizes; `held out` predicts every other size from the rest, both ways;
`smooth` is a straight line in logarithms between the neighbours of each held-out size, which knows no model: where it
errs, the sizes do.
"""

from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hocket.bench.command_line import command_line
from hocket.calibration import (
    MESSAGE,
    Curve,
    Errors,
    HeldOut,
    Measurement,
    calibrate,
    calibrated_topology,
    curves_of,
    fit_curve,
    hold_out,
    read_measurements,
)
from hocket.calibration.simulated import simulated_us
from hocket.topology import Topology, load
from hocket.topology.failures import degrade

__all__ = ["main"]

LEAST_SIZES = 8


def machines() -> dict[str, tuple[str, Topology]]:
    """By file: what it is, and its data sheet. The p4de has 4 NICs of 100 Gbit/s, a quarter of the DGX A100's."""
    a100, h100 = load("dgx-a100:nodes=2"), load("dgx-h100:nodes=2")
    b200 = load("switch:8,bandwidth=900GB/s,latency=350ns")
    return {
        "a100_8gpu_1node_azure_allreduce": ("A100 ND v4", a100),
        "a100_16gpu_2node_azure_allreduce": ("A100 ND v4", a100),
        "a100_16gpu_2node_p4de_allreduce": ("A100 p4de", degrade(a100, ["pcie=0.25", "fabric=0.25"])),
        "h100_8gpu_1node_allreduce": ("H100 DGX", h100),
        "h100_16gpu_2node_ib_allreduce": ("H100 XE9680, IB", h100),
        "h100_16gpu_2node_p5_allreduce": ("H100 p5, EFA", h100),
        "h100_16gpu_2node_ringforced_allreduce": ("H100, bad fabric", h100),
        "b200_8gpu_allcolls": ("B200", b200),
    }


def main(folder: Path) -> None:
    table = Table("machine", "collective", "nodes", "uncalibrated", "topology", "calibrated", "held out", "smooth")
    for name, (machine, topology) in machines().items():
        measurements = read_measurements([folder / f"{name}.csv"])
        for curve in (each for each in curves_of(measurements) if len(each.sizes) >= LEAST_SIZES):
            rows = [each for each in measurements if (each.kind, each.nodes) == (curve.kind, curve.nodes)]
            table.add_row(machine, curve.kind, str(curve.nodes), *map(text, predictions(curve, rows, topology)))
    Console(width=150, highlight=False).print("median / worst above 1 MiB; median up to 1 MiB, in %", table)


def predictions(curve: Curve, rows: list[Measurement], topology: Topology) -> list[Errors | None]:
    """The errors of each column; none where nothing predicts."""
    calibrated = calibrated_topology(calibrate(rows, topology), topology, curve.kind).topology
    (held,) = hold_out([curve])
    fitted, interpolated = HeldOut(curve, fit_curve(curve).error), HeldOut(curve, smooth(curve))
    return [simulated(curve, topology), simulated(curve, calibrated), fitted.errors, held.errors, interpolated.errors]


def simulated(curve: Curve, topology: Topology) -> Errors | None:
    if curve.kind == MESSAGE:
        return None
    times = simulated_us(curve, topology, curve.sizes.tolist())
    return HeldOut(curve, times[np.searchsorted(curve.sizes, curve.size_bytes)] / curve.time_us - 1).errors


def smooth(curve: Curve) -> NDArray[np.float64]:
    """Errors of interpolating between the neighbouring sizes (beyond the last: as the last two)."""
    size, time = np.log(curve.sizes), np.zeros(len(curve.sizes))
    for at, each in enumerate(curve.sizes):
        time[at] = np.log(np.median(curve.time_us[curve.size_bytes == each]))
    error = np.zeros(len(curve.size_bytes))
    for at in range(len(size)):
        a, b = (at - 1, at + 1) if 0 < at < len(size) - 1 else (1, 2) if at == 0 else (at - 2, at - 1)
        guess = time[a] + (time[b] - time[a]) * (size[at] - size[a]) / (size[b] - size[a])
        rows = curve.size_bytes == curve.sizes[at]
        error[rows] = np.exp(guess) / curve.time_us[rows] - 1
    return error


def text(errors: Errors | None) -> str:
    if errors is None:
        return "-"
    small = f"{errors.small:.1%}" if errors.small == errors.small else "-"
    return f"{errors.median:.1%} / {errors.worst:.1%}; {small}".replace("%", "")


def options() -> ArgumentParser:
    parser = command_line()
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data/nccl_tests"))
    return parser


if __name__ == "__main__":
    main(options().parse_args().folder)
