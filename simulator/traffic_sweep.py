"""A pattern of traffic over loads, or over how many messages are under way: what is carried, how late, and where it
saturates."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hocket.base.errors import SimulationError
from hocket.simulator.offered_traffic import OfferedTraffic, TrafficPoint
from hocket.topology import Topology

__all__ = ["ClassUse", "Saturation", "TrafficSweep", "class_uses", "parse_loads", "sweep_traffic"]

#: Of what is offered: whoever carries less is saturated.
CARRIED = 0.95
_MOST_LOADS = 1000
_LOAD = r"[0-9]{1,4}(?:\.[0-9]{1,6})?%?"


@dataclass(frozen=True, slots=True)
class Saturation:
    """Between which loads less than CARRIED of what is offered begins to arrive (`above`: the last load of which all
    does, 0: none; `from_load` None: at none of them), and the most that is carried, a part as loads are."""

    above: float
    from_load: float | None
    throughput: float


@dataclass(frozen=True, slots=True)
class ClassUse:
    """How busy the links of a class are, and what waits for them, bytes: at one link on average and at most."""

    name: str
    links: int
    busy_mean: float
    busy_most: float
    waiting_mean: float
    waiting_most: int
    buffer_mean: float
    buffer_most: int


@dataclass(frozen=True, eq=False)
class TrafficSweep:
    """A point for each load in ascending order, or for each window."""

    traffic: OfferedTraffic
    points: tuple[TrafficPoint, ...]

    @property
    def topology(self) -> Topology:
        return self.traffic.topology

    @property
    def is_open(self) -> bool:
        """Whether it is over loads, not over messages under way."""
        return self.points[0].load is not None

    @property
    def saturation(self) -> Saturation | None:
        """Where it saturates; None of a closed loop, which offers as much as is carried."""
        if not self.is_open:
            return None
        above, from_load = 0.0, None
        for point in self.points:
            load = point.load or 0.0
            if point.throughput < CARRIED * load:
                from_load = load
                break
            above = load
        return Saturation(above, from_load, max(point.throughput for point in self.points))


def sweep_traffic(
    traffic: OfferedTraffic, loads: Sequence[float], windows: Sequence[int], each: Callable[[TrafficPoint], None]
) -> TrafficSweep:
    """The points of these loads in ascending order, or of these windows where there are any; `each` hears of them as
    they come."""
    points = []
    values: Sequence[float] = windows or loads
    for value in sorted(set(values)):
        points.append(traffic.with_window(int(value)) if windows else traffic.at_load(value))
        each(points[-1])
    return TrafficSweep(traffic, tuple(points))


def class_uses(topology: Topology, point: TrafficPoint) -> list[ClassUse]:
    """Of each class of links that has any."""
    found = []
    for number, name in enumerate(topology.classes):
        of = topology.link_class == number
        if not of.any():
            continue
        busy, packets = point.busy[of], point.packets
        found.append(
            ClassUse(
                name=name,
                links=int(of.sum()),
                busy_mean=float(busy.mean()),
                busy_most=float(busy.max()),
                waiting_mean=float(packets.waiting_mean_bytes[of].mean()),
                waiting_most=int(packets.waiting_most_bytes[of].max()),
                buffer_mean=float(packets.buffer_mean_bytes[of].mean()),
                buffer_most=int(packets.buffer_most_bytes[of].max()),
            )
        )
    return found


def parse_loads(text: str) -> list[float]:
    """`70%`, `0.7`, `10%,50%`, `10%..100%` (in steps of 10 %) or `60%..80%:5%`, ascending parts of 1.

    Raises SimulationError for what is none.
    """
    found: set[Fraction] = set()
    for part in text.split(","):
        match = re.fullmatch(rf"({_LOAD})(?:\.\.({_LOAD})(?::({_LOAD}))?)?", part.strip())
        if not match:
            raise SimulationError(f"load '{part}': expected such as 70%, 10%..100% or 60%..80%:5%")
        first, last, step = (None if each is None else _share(each) for each in match.groups())
        assert first is not None
        last, step = first if last is None else last, Fraction(1, 10) if step is None else step
        if step <= 0 or last < first or (last - first) / step >= _MOST_LOADS:
            raise SimulationError(f"load '{part}': expected FIRST..LAST:STEP, such as 60%..80%:5%")
        found |= {first + number * step for number in range(int((last - first) / step) + 1)}
    if not all(0 < load <= 1 for load in found):
        raise SimulationError(f"load '{text}': expected more than 0 %, and at most 100 %")
    return [float(load) for load in sorted(found)]


def _share(text: str) -> Fraction:
    return Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
