"""What NCCL's model says of a curve: the latency and the transfer that its times are made of, size by size."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.curve import MeasuredCurve
from hocket.calibration.transfer.nets import untold
from hocket.nccl import ALGORITHMS, PROTOCOLS, NcclModel
from hocket.nccl.fitted import NCCL_NAMES
from hocket.topology.formats.nccl.machine import NcclMachine
from hocket.topology.machines.records import MACHINES

__all__ = ["INSIDE", "CurveFeatures", "CurvePlace", "Observed", "features_of", "observed", "place_of"]

_Floats = NDArray[np.float64]

INSIDE = "inside one machine"
_GENERATIONS = {70: "Volta", 80: "Ampere", 90: "Hopper", 100: "Blackwell"}
_FABRICS = {"mlx": "InfiniBand or RoCE", "rdmap": "EFA", "efa": "EFA"}
_APART = 1.25
"""In and out of place farther apart than so: one of them was disturbed, and all such were the slower."""


@dataclass(frozen=True)
class CurvePlace:
    """Whose curve it is: `generation` of its GPUs, `fabric` that its ranks meet over; `several`: NCCL counts more than
    one machine."""

    machine: str
    generation: str
    fabric: str
    kind: str
    nodes: int
    several: bool

    @property
    def known_by(self) -> tuple[str, str]:
        """Generation and fabric: what of other machines tells of this one."""
        return self.generation, self.fabric


@dataclass(frozen=True, eq=False)
class CurveFeatures:
    """NCCL's own numbers at each of `size_bytes`: what it runs, its latency, the time of all bytes at its bandwidth,
    and its whole expectation (us).

    NCCL prices every channel at every size; a small call runs on few. `transfer_us` counts those that it runs on.
    """

    place: CurvePlace
    size_bytes: NDArray[np.int64]
    ran: tuple[tuple[str, str], ...]
    latency_us: _Floats
    transfer_us: _Floats
    expected_us: _Floats

    def at(self, chosen: NDArray[np.bool_]) -> "CurveFeatures":
        """The rows that are chosen."""
        ran = tuple(name for name, kept in zip(self.ran, chosen.tolist(), strict=True) if kept)
        parts = (self.latency_us[chosen], self.transfer_us[chosen], self.expected_us[chosen])
        return CurveFeatures(self.place, self.size_bytes[chosen], ran, *parts)


@dataclass(frozen=True, eq=False)
class Observed:
    """A curve's features and how long each size took (us)."""

    features: CurveFeatures
    time_us: _Floats

    def at(self, chosen: NDArray[np.bool_]) -> "Observed":
        return Observed(self.features.at(chosen), self.time_us[chosen])


def place_of(machine: str, model: NcclModel, kind: str) -> CurvePlace:
    """Of a curve of the model's ranks."""
    met = _fabric(model.machine)
    if model.machines == 1:
        met = INSIDE if model.domain == 1 else "NVLink domain of several hosts"
    elif model.domain > 1:
        met = f"NVLink domains of several hosts, joined by {met}"
    return CurvePlace(machine, _generation(model.machine), met, kind, model.nodes, model.machines > 1)


def features_of(place: CurvePlace, model: NcclModel, sizes: NDArray[np.int64]) -> CurveFeatures:
    """Of what NCCL chooses for each size (bytes as nccl-tests counts them) of the place's kind, one of NCCL_NAMES."""
    name, model = NCCL_NAMES[place.kind], untold(model)
    choices = model.choose(name, sizes)
    ran, latency, transfer, expected = [], [], [], []
    for size, algorithm, protocol in zip(
        sizes.tolist(), choices.algorithm.tolist(), choices.protocol.tolist(), strict=True
    ):
        term = model.terms(name, size)[algorithm * len(PROTOCOLS) + protocol]
        used = model.channels_for(term.algorithm, term.protocol, size)
        ran.append((ALGORITHMS[algorithm], PROTOCOLS[protocol]))
        latency.append(term.latency_us)
        transfer.append(size / (term.bandwidth * 1e3) * model.channels_of(term.algorithm) / used)
        expected.append(term.time_us)
    return CurveFeatures(place, sizes, tuple(ran), np.array(latency), np.array(transfer), np.array(expected))


def observed(place: CurvePlace, model: NcclModel, curve: MeasuredCurve) -> Observed:
    """Of every size of a curve: the middle of its measurements, the least where they are far apart."""
    times = [curve.time_us[curve.size_bytes == size] for size in curve.sizes]
    middle = [time.min() if time.max() > _APART * time.min() else np.median(time) for time in times]
    return Observed(features_of(place, model, curve.sizes), np.array(middle, np.float64))


def _generation(machine: NcclMachine) -> str:
    kinds = {gpu.sm for _, gpu in machine.job_gpus()}
    sm = min(kinds)
    return _GENERATIONS.get(sm, f"sm {sm}") if len(kinds) == 1 else "several"


def _fabric(machine: NcclMachine) -> str:
    """As the machine's record says it; else by the names of the network devices: InfiniBand and RoCE have the same."""
    if machine.source in MACHINES and (said := MACHINES[machine.source].fabric):
        return said
    names = {net.name for net in machine.nets()}
    found = {kind for name in names for start, kind in _FABRICS.items() if name.startswith(start)}
    return found.pop() if len(found) == 1 and names else "another network"
