"""The plain answers of `hocket simulate`, beside NCCL's model and public measurements of nccl-tests.

Run: python -m hocket.bench.stock_default [FOLDER]     (CSVs of `hocket calibrate`, ../shared/data/nccl_tests)

A row a curve: `hocket simulate KIND -t MACHINE --size SIZE`, with no other flag, at each measured size. `as NCCL's
model` is how many of the times are what NCCL's own model says of its choice, to the picosecond (over EFA with the
latency that it takes, not the one that NCCL is told: docs/nccl-model.md); it says nothing of messages (alltoall,
sendrecv), which take a launch, a step and what the links take. Errors are simulated / measured - 1 in %, in and out of
place: the median of their sizes and the largest, with its size, up to 1 MiB and above. `on links` is the same where
links are asked about (`--model congestion`), so that NCCL's programs run chunk by chunk. Nothing is calibrated:
`hocket calibrate` fits a machine to its measurements (docs/calibrate.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.api.simulate.request import Simulation
from hocket.base.collectives import MESSAGE, SENDRECV
from hocket.base.units import format_bytes
from hocket.bench.command_line import command_line
from hocket.calibration import MeasuredCurve, curves_of, read_measurements
from hocket.nccl import NcclModel
from hocket.nccl.fitted import NCCL_NAMES
from hocket.topology.machines.hosts import hosts_of

__all__ = ["MACHINES", "Answered", "answered"]

FOLDER = Path("../shared/data/nccl_tests")
SMALL = 2**20
#: The preset of the machine that each file was measured on; a name alone fits several numbers of nodes.
MACHINES = {
    "a100_8gpu_1node_azure_allreduce": "ndv4",
    "a100_16gpu_2node_azure_allreduce": "ndv4",
    "a100_16gpu_2node_p4de_allreduce": "p4de",
    "b200_8gpu_allcolls": "dgx-b200",
    "gb200_72gpu_nvl72_allreduce": "gb200-nvl72",
    "h100_8gpu_1node_allreduce": "dgx-h100",
    "h100_16gpu_2node_ib_allreduce": "dgx-h100",
    "h100_16gpu_2node_p5_allreduce": "p5",
    "h100_16gpu_2node_ringforced_allreduce": "dgx-h100",
}


@dataclass(frozen=True)
class Answered:
    """A curve: `spec` is what was asked, `time_us` (float64, of `sizes`) what was answered, `model_us` what NCCL's
    model says (None: it has none)."""

    curve: MeasuredCurve
    spec: str
    sizes: NDArray[np.int64]
    time_us: NDArray[np.float64]
    model_us: NDArray[np.float64] | None

    @property
    def as_model(self) -> int:
        """At how many sizes the two are the same picosecond."""
        assert self.model_us is not None
        return int(np.count_nonzero(np.rint(self.time_us * 1e6) == np.rint(self.model_us * 1e6)))

    @property
    def errors(self) -> NDArray[np.float64]:
        """Of each measurement."""
        return self.time_us[np.searchsorted(self.sizes, self._asked.size_bytes)] / self._asked.time_us - 1

    @property
    def _asked(self) -> MeasuredCurve:
        """The measurements of the sizes that were asked about."""
        return self.curve.at(np.isin(self.curve.size_bytes, self.sizes))

    def worst(self, *, small: bool) -> str:
        """`median / worst at size` in %, of measurements up to SMALL or above."""
        of = (self._asked.size_bytes <= SMALL) == small
        if not of.any():
            return "-"
        errors, sizes = self.errors[of], self._asked.size_bytes[of]
        at = int(np.argmax(np.abs(errors)))
        return f"{np.median(np.abs(errors)):.1%} / {errors[at]:+.1%} at {format_bytes(int(sizes[at]))}"


def answered(folder: Path, step: int = 1, model: str | None = None) -> Iterator[tuple[str, Answered]]:
    """Every curve of the files in `folder` that MACHINES names, with its file's name; of each `step`th size. `model`
    of the network, where one is asked for."""
    asked = {} if model is None else {"model": model}
    for name, machine in MACHINES.items():
        for curve in curves_of(read_measurements([folder / f"{name}.csv"])):
            whole = machine == "gb200-nvl72"
            spec = machine if curve.nodes == 1 or whole else f"{machine}:nodes={curve.nodes}"
            what = SENDRECV if curve.kind == MESSAGE else curve.kind
            sizes = np.asarray(curve.sizes, np.int64)[::step]
            results = (Simulation.of(what, spec, int(size), **asked).perform() for size in sizes)
            time_us = np.array([result.time_ps for result in results]) / 1e6
            yield name, Answered(curve, spec, sizes, time_us, _model_us(curve.kind, spec, sizes))


def _model_us(kind: str, spec: str, sizes: NDArray[np.int64]) -> NDArray[np.float64] | None:
    if kind not in NCCL_NAMES:
        return None
    hosts = hosts_of(spec)
    model = NcclModel(hosts.machine, hosts.nodes, domain=hosts.domain)
    name, times = NCCL_NAMES[kind], []
    for size in sizes.tolist():
        chosen = min((term for term in model.terms(name, size) if not term.out), key=lambda term: term.time_us)
        times.append(model.takes_us(name, chosen, size))
    return np.array(times)


def main() -> None:
    parser = command_line()
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    heads = ["file", "asked", "sizes", "as NCCL's model", "median / worst up to 1 MiB", "above"]
    print(f"| {' | '.join([*heads, 'on links, up to 1 MiB', 'above'])} |")
    print("|---|---|---:|---|---|---|---|---|")
    for (name, each), (_, on_links) in zip(answered(folder), answered(folder, model="congestion"), strict=True):
        kind = SENDRECV if each.curve.kind == MESSAGE else each.curve.kind
        equal = "messages" if each.model_us is None else f"{each.as_model} of {len(each.sizes)}"
        cells = [name, f"`{kind} -t {each.spec}`", str(len(each.sizes)), equal]
        cells += [one.worst(small=small) for one in (each, on_links) for small in (True, False)]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
