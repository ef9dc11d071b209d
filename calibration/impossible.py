"""Rows that the machine cannot have: faster than its links carry, whatever runs."""

from collections.abc import Iterable

from hocket.base.collectives import NAMED_KINDS
from hocket.base.errors import FormatError
from hocket.base.units import format_bandwidth, format_bytes
from hocket.calibration.curve import curves_of
from hocket.calibration.machine import group_of
from hocket.calibration.measurement import Measurement
from hocket.schedule import Collective, Kind, lower_bound
from hocket.topology import Topology

__all__ = ["refuse_impossible"]

_ROUNDING = 0.97  # of the bound: printed digits, clocks, and sizes that are no whole elements
_MOST_NAMED = 4


def refuse_impossible(measurements: Iterable[Measurement], topology: Topology, spec: str) -> None:
    """`topology`: the machines that `spec` names, whose switches reduce if they can. Raises FormatError, naming the
    rows, where some took less than the lower bound of any schedule there."""
    found = []
    for curve in curves_of(measurements):
        if curve.kind not in NAMED_KINDS:
            continue
        group = group_of(curve, topology)
        bounds = {
            size: lower_bound(Collective(Kind(curve.kind), curve.ranks, size), topology, group=group).time_ps / 1e6
            for size in curve.sizes.tolist()
        }
        for size, time_us, place in zip(curve.size_bytes.tolist(), curve.time_us.tolist(), curve.place, strict=True):
            if time_us < _ROUNDING * bounds[size]:
                found.append((bounds[size] / time_us, f"{place}: {curve.name}: {format_bytes(size)}", size / time_us))
    if not found:
        return
    most, first, rate = max(found)
    others = [place.split(": ")[0] for _, place, _ in found if place != first]
    named = ", ".join(others[:_MOST_NAMED])
    more = f"; too fast are also {named}" + f" and {len(others) - _MOST_NAMED} more" * (len(others) > _MOST_NAMED)
    more = more if others else ""
    raise FormatError(
        f"{first} at {format_bandwidth(rate * 1e6)} is {most:.2f} times what the links of {spec} can carry{more}: they"
        " were measured on other machines, or another number of nodes: name those (--topology, --nodes), say that the"
        " network's switches reduce (sharp=1), or drop the rows"
    )
