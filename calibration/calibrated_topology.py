"""The calibrated topology: `hocket simulate` on it takes as long as was measured, for small and for large sizes.

A topology has one latency and one bandwidth per link, not three protocols, so two points of the model are met: the
smallest size measured, by the latencies, and the largest up to 1 GiB, by the bandwidths. Both are solved for with the
simulator itself, inside a machine first, then between machines.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hocket.base.collectives import MESSAGE
from hocket.base.units import format_bytes
from hocket.calibration.calibration import Calibration
from hocket.calibration.fitting import CurveFit
from hocket.calibration.machine import levels_of, rescaled
from hocket.calibration.simulated import algorithm_of, is_leading, simulated_us
from hocket.calibration.structure import INTER
from hocket.topology import Topology

__all__ = ["Calibrated", "calibrated_topology"]

_LARGE = 1 << 30
_HALVINGS = 24
_ROUNDS = 3
_RANGE = 64.0  # of factors that are looked among
_MET = 0.02  # of the time


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The topology, and sentences on what it meets and what it cannot."""

    topology: Topology
    notes: tuple[str, ...]


def calibrated_topology(calibration: Calibration, topology: Topology, kind: str) -> Calibrated:
    """The topology with the levels that fits of `kind` tell; the others keep their numbers."""
    notes = []
    result = topology
    for level in levels_of(topology):
        fits = [
            fit
            for fit in calibration.fits
            if fit.curve.kind == kind
            and (fit.curve.nodes > 1) == (level == INTER)
            and (kind == MESSAGE or is_leading(fit.curve, topology))
        ]
        if not fits:
            notes.append(f"{level}: not measured by {kind}: the topology's numbers stay")
            continue
        fit = min(fits, key=lambda each: (each.curve.nodes, -each.curve.ranks))
        result, told = _level(fit, result, level) if kind != MESSAGE else _messages(fit, result, level)
        notes += told
    note = f"calibrated by {kind}"
    if kind != MESSAGE:
        note += f", to be simulated by {algorithm_of(kind, 1)} on one node, {algorithm_of(kind, 2)} on several"
    note += "; its latencies and bandwidths are fitted, kernels' time in them: lower bounds are of these, not of the"
    note += " physical links"
    named = rescaled(result, {}, f"{topology.name} calibrated", (*topology.notes, note))
    return Calibrated(named, tuple(notes))


def _messages(fit: CurveFit, topology: Topology, level: str) -> tuple[Topology, list[str]]:
    """Messages alone: their latency and bandwidth are the level's."""
    pieces = fit.pieces
    wanted = {level: (round(float(pieces.latency_us[0]) * 1e6), round(float(pieces.bandwidth[-1])))}
    return rescaled(topology, wanted, topology.name, topology.notes), []


def _level(fit: CurveFit, topology: Topology, level: str) -> tuple[Topology, list[str]]:
    """The topology with the level's latency and bandwidth solved for."""
    curve, present = fit.curve, levels_of(topology)[level]
    small, large = int(curve.sizes[0]), min(int(curve.sizes[-1]), _LARGE)
    algorithm = algorithm_of(curve.kind, curve.nodes)
    notes = []

    def scaled(slower: float, wider: float) -> Topology:
        step = max(round(present.latency_ps * slower), 1), max(round(present.bandwidth * wider), 1)
        return rescaled(topology, {level: step}, topology.name, topology.notes)

    def ratio(slower: float, wider: float, size: int) -> float:
        """Simulated / fitted."""
        return float(simulated_us(curve, scaled(slower, wider), [size])[0] / fit.pieces.time_us(size))

    slower = wider = 1.0
    for _ in range(_ROUNDS):  # bytes of small, and latencies of large sizes, move the other a little
        slower = _solve(partial(ratio, wider=wider, size=small), grows=True)
        wider = min(_solve(partial(ratio, slower, size=large), grows=False), _widest(level))
    for size, value in ((small, "latency"), (large, "bandwidth")):
        off = ratio(slower, wider, size)
        if abs(off - 1) > _MET:
            notes.append(
                f"{level}: {format_bytes(size)} simulated by {algorithm} takes {off:.2f} times the measured time: no"
                f" {value} of this level alone meets it"
                + (", as NCCL overlaps what the algorithm does in turn" if off > 1 else "")
            )
    return scaled(slower, wider), notes


def _widest(level: str) -> float:
    """NICs are not quicker than their data sheets; what they seem to be is overlap."""
    return 1.0 if level == INTER else _RANGE


def _solve(ratio: Callable[[float], float], *, grows: bool) -> float:
    """The factor within 1 / 64 to 64 at which a monotone ratio is 1, by halving."""
    low, high = 1 / _RANGE, _RANGE
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if (ratio(middle) < 1) == grows:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
