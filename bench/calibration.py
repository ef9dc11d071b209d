"""Predicted beside measured times of public nccl-tests tables, before and after calibration, and NCCL's own.

Run: python -m hocket.bench.calibration [FOLDER]     (the CSVs of `hocket calibrate`, ../shared/data/nccl_tests)

A row a curve of eight sizes or more. Errors are |predicted / measured - 1|: the median and the worst above 1 MiB, the
median up to 1 MiB, over all rows, in and out of place.

First table: `uncalibrated` is the simulator on the machine as its data sheet says (ring on one node, hierarchical on
two), `topology` the simulator on the calibrated topology, which has one latency and one bandwidth; `calibrated` is the
fit on all sizes; `held out` predicts every other size from the rest, both ways; `smooth` is a straight line in
logarithms between the neighbours of each held-out size, which knows no model: where it errs, the sizes do; `repeated`
is how far the two measurements of a size are apart, in and out of place.

Second table: `NCCL` is what NCCL's model expects of what it chooses, `constants` the same with the calibrated constants
that a tuner plugin can give it; `fitted` and `held out` are of NCCL's structure (`--nccl`) on all sizes and on every
other one; `taken` says what predicts left-out sizes best on all curves of the cluster, `goal` whether that meets
5 / 15; 15 held out; `taken anew` is held out when that is told by each half of the sizes alone.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hocket.bench.command_line import command_line
from hocket.calibration import (
    FREE,
    MESSAGE,
    Errors,
    HeldOut,
    MeasuredCurve,
    Measurement,
    NcclCalibration,
    Releases,
    calibrate,
    calibrate_nccl,
    calibrated_topology,
    curves_of,
    fit_curve,
    hold_out,
    predictor,
    read_measurements,
)
from hocket.calibration.simulated import simulated_us
from hocket.nccl import PROTOCOLS, Constants, read_settings
from hocket.nccl.fitted import NCCL_NAMES
from hocket.topology import Topology, load
from hocket.topology.machines.loading import load_machine

__all__ = ["main"]

GOAL = Errors(0.05, 0.15, 0.15)

LEAST_SIZES = 8


@dataclass(frozen=True)
class Cluster:
    """What was measured (files), the preset that stands for its machine, NCCL's variables."""

    name: str
    preset: str
    files: tuple[str, ...]
    variables: tuple[str, ...] = ()

    @property
    def topology(self) -> Topology:
        return load(f"{self.preset}:nodes=2")

    def curves(self, folder: Path) -> Iterator[tuple[MeasuredCurve, list[Measurement]]]:
        measurements = read_measurements([folder / f"{name}.csv" for name in self.files])
        for curve in curves_of(measurements):
            if len(curve.sizes) >= LEAST_SIZES:
                yield curve, [each for each in measurements if (each.kind, each.nodes) == (curve.kind, curve.nodes)]


#: The XE9680 is a server of eight H100 and eight NICs of 400 Gbit/s, as the DGX is; so are the two with a bad fabric.
CLUSTERS = (
    Cluster("A100 ND v4", "ndv4", ("a100_8gpu_1node_azure_allreduce", "a100_16gpu_2node_azure_allreduce")),
    Cluster("A100 p4de", "p4de", ("a100_16gpu_2node_p4de_allreduce",)),
    Cluster("H100 DGX", "dgx-h100", ("h100_8gpu_1node_allreduce",)),
    Cluster("H100 XE9680, IB", "dgx-h100", ("h100_16gpu_2node_ib_allreduce",)),
    Cluster("H100 p5, EFA", "p5", ("h100_16gpu_2node_p5_allreduce",)),
    Cluster("H100, bad fabric", "dgx-h100", ("h100_16gpu_2node_ringforced_allreduce",), ("NCCL_ALGO=RING",)),
    Cluster("B200", "dgx-b200", ("b200_8gpu_allcolls",)),
)


def main(folder: Path) -> None:
    heads = "machine", "collective", "nodes"
    free = Table(*heads, "uncalibrated", "topology", "calibrated", "held out", "smooth", "repeated")
    nccl = Table(*heads, "NCCL", "constants", "fitted", "held out", "taken", "goal", "taken anew")
    for cluster in CLUSTERS:
        curves = [*cluster.curves(folder)]
        releases = Releases(load_machine(cluster.preset), read_settings(cluster.variables))
        calibration = calibrate_nccl([fit_curve(curve) for curve, _ in curves], releases)
        for (curve, rows), anew in zip(curves, taken_anew([curve for curve, _ in curves], releases), strict=True):
            head = cluster.name, curve.kind, str(curve.nodes)
            predicted = predictions(curve, rows, cluster.topology)
            of_nccl = nccl_predictions(curve, calibration, releases)
            held = predicted[3] if calibration.best == FREE else of_nccl[3]
            free.add_row(*head, *map(text, predicted))
            taken = "free" if calibration.best == FREE else f"NCCL {calibration.best}"
            nccl.add_row(*head, *map(text, of_nccl), taken, "met" if held and meets(held) else "not met", text(anew))
    console = Console(width=170, highlight=False)
    console.print("median / worst above 1 MiB; median up to 1 MiB, in %", free, nccl)


def predictions(curve: MeasuredCurve, rows: list[Measurement], topology: Topology) -> list[Errors | None]:
    """The errors of each column of the first table; none where nothing predicts."""
    calibrated = calibrated_topology(calibrate(rows, topology), topology, curve.kind).topology
    (held,) = hold_out([curve])
    fitted, interpolated = HeldOut(curve, fit_curve(curve).error), HeldOut(curve, smooth(curve))
    columns = [simulated(curve, topology), simulated(curve, calibrated), fitted.errors, held.errors]
    return [*columns, interpolated.errors, repeated(curve)]


def nccl_predictions(curve: MeasuredCurve, calibration: NcclCalibration, releases: Releases) -> list[Errors | None]:
    """The errors of each column of the second table."""
    fit = calibration.fit(curve.kind, curve.ranks, curve.nodes)
    structure = releases.structure(calibration.release, curve)
    assert fit is not None
    fitted = errors_at_sizes(curve, fit.time_us(structure))
    (held,) = hold_out([curve], predict=predictor(calibration, releases, calibration.release.name))
    if curve.kind not in NCCL_NAMES:
        return [None, None, fitted, held.errors]
    choices = releases.model(calibration.release, curve.nodes).choose(NCCL_NAMES[curve.kind], curve.sizes)

    def expected(constants: Constants) -> Errors:
        """Of what NCCL chooses without them."""
        model = releases.with_constants(calibration.release, constants, curve.nodes)
        ran = choices.algorithm * len(PROTOCOLS) + choices.protocol
        pairs = zip(curve.sizes.tolist(), ran.tolist(), strict=True)
        terms = ((at, model.terms(choices.collective, at)[name]) for at, name in pairs)
        return errors_at_sizes(curve, np.array([model.takes_us(choices.collective, term, at) for at, term in terms]))

    return [expected(Constants.of_nccl()), expected(calibration.constants), fitted, held.errors]


def taken_anew(curves: list[MeasuredCurve], releases: Releases) -> list[Errors]:
    """Held out, each half of the sizes by what the other one alone takes for best."""
    errors = [np.zeros(len(curve.size_bytes)) for curve in curves]
    for half in range(2):
        seen = [~np.isin(curve.size_bytes, curve.sizes[half::2]) for curve in curves]
        parts = [curve.at(rows) for curve, rows in zip(curves, seen, strict=True)]
        predict = predictor(calibrate_nccl([fit_curve(part) for part in parts], releases), releases)
        for curve, part, rows, error in zip(curves, parts, seen, errors, strict=True):
            time = predict(part, curve.sizes)[np.searchsorted(curve.sizes, curve.size_bytes[~rows])]
            error[~rows] = time / curve.time_us[~rows] - 1
    return [HeldOut(curve, error).errors for curve, error in zip(curves, errors, strict=True)]


def errors_at_sizes(curve: MeasuredCurve, times: NDArray[np.float64]) -> Errors:
    """Of times at the curve's different sizes."""
    return HeldOut(curve, times[np.searchsorted(curve.sizes, curve.size_bytes)] / curve.time_us - 1).errors


def meets(errors: Errors) -> bool:
    return all(
        not ours > limit
        for ours, limit in zip(
            (errors.median, errors.worst, errors.small), (GOAL.median, GOAL.worst, GOAL.small), strict=True
        )
    )


def repeated(curve: MeasuredCurve) -> Errors | None:
    """How far two measurements of a size are from their middle, twice that; none where there is one of each."""
    middle = np.array([np.median(curve.time_us[curve.size_bytes == size]) for size in curve.sizes])
    twice = np.bincount(np.searchsorted(curve.sizes, curve.size_bytes)).max() > 1
    off = 2 * (curve.time_us / middle[np.searchsorted(curve.sizes, curve.size_bytes)] - 1)
    return HeldOut(curve, off).errors if twice else None


def simulated(curve: MeasuredCurve, topology: Topology) -> Errors | None:
    if curve.kind == MESSAGE:
        return None
    return errors_at_sizes(curve, simulated_us(curve, topology, curve.sizes.tolist()))


def smooth(curve: MeasuredCurve) -> NDArray[np.float64]:
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
