"""The two regimes of the first paper, by packets and by ns-3."""

from math import log

from hocket.schedule import Collective, Kind
from hocket.simulator import Fidelity, Packets, simulate_collective
from hocket.simulator.ns3 import found
from hocket.topology import load

__all__ = ["regimes"]

#: As ns-3's devices are: queues that never fill, first come, first served.
_MODELS = {
    "packets": Fidelity("packet", switching="store_and_forward", packets=Packets(arbitration="fifo", buffer=2**30)),
    "ns-3": Fidelity("ns3"),
}


def regimes(*, witnessed: bool = False) -> dict[str, float]:
    """Slopes of an all_reduce's time over its size, on a double logarithmic scale, at both ends, by a ring over a
    switch of 64, and its floor in steps times the latency of a link; with `witnessed` those of 16 in ns-3 too, where it
    is installed."""
    figures: dict[str, float] = {}
    for name, fidelity in _MODELS.items():
        if name == "ns-3" and not (witnessed and found() is not None):
            continue
        ranks, largest = (64, 2**26) if name == "packets" else (16, 2**24)
        sizes = (2**10, 2**12, largest // 4, largest)
        small, next_small, next_large, large = (_ring_ps(ranks, size, fidelity) for size in sizes)
        figures[f"slope of the floor, {name}"] = log(next_small / small, 4)
        figures[f"slope of the ramp, {name}"] = log(large / next_large, 4)
        figures[f"floor / (steps x latency), {name}"] = small / (2 * (ranks - 1) * 500_000)
    return figures


def _ring_ps(ranks: int, size_bytes: int, fidelity: Fidelity) -> int:
    topology = load(f"switch:{ranks},bandwidth=50GB/s,latency=500ns")
    collective = Collective(Kind.ALL_REDUCE, ranks, size_bytes)
    return simulate_collective(collective, topology, "ring", fidelity=fidelity).time_ps
