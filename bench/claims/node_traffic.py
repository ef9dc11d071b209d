"""What claims D measure: throughput, saturation and latencies of nodes and NICs, by model packet."""

from collections.abc import Mapping

import numpy as np

from hocket.bench.claims.claim import Figures
from hocket.bench.intra_inter_node import PAPER, NodeTraffic, Precision
from hocket.simulator.offered_traffic import STAGES, TrafficPoint

__all__ = [
    "INTER",
    "arbitration_of_c1",
    "carried_without_saturation",
    "collapse",
    "fits_into_nics",
    "fitted_equation",
    "latency_of_c4",
    "saturates_at_full_load",
    "saturation_of_c1",
    "scale_out",
    "small_and_large_packets",
]

#: Part of the messages that leave their node.
INTER: Mapping[str, float] = {"C1": 0.20, "C2": 0.15, "C3": 0.10, "C4": 0.05}
_OVERHEAD = (20 / 128 + 1) / (64 / 4032 + 1)
_NODE_PEAK = 8 * 512  # Gbit/s of a node's accelerators
# A fabric of 512 nodes is in its steady state early: five times of what its NICs carry comes.
_LARGE = Precision(300, PAPER.buffer)


def _carried(asked: NodeTraffic, precision: Precision, load: float = 1.0) -> float:
    """Per cent of the peak."""
    return 100 * asked.at_load(load, precision).throughput


def small_and_large_packets(pattern: str, precision: Precision) -> dict[str, float]:
    """Per cent of the peak that is carried at full load."""
    return {
        "148 B, %": _carried(NodeTraffic(pattern), precision),
        "4096 B, %": _carried(NodeTraffic(pattern, converts=False), precision),
    }


def _in_the_network_us(point: TrafficPoint) -> float:
    """Of messages between nodes, from when they leave their accelerator: what waits there grows with the time."""
    return sum(part.mean_ps for part in point.parts[1:]) / 1e6


def latency_of_c4(precision: Precision) -> Figures:
    """At full load: the whole, and what a message takes at its destination, where waiting begins below saturation."""
    small = NodeTraffic("C4").at_load(1.0, precision)
    large = NodeTraffic("C4", converts=False).at_load(1.0, precision)
    below = NodeTraffic("C4").at_load(0.6, precision)
    nic, inside = STAGES.index("destination NIC"), STAGES.index("destination intra-node network")
    return {
        "148 B, us": _in_the_network_us(small),
        "4096 B, us": _in_the_network_us(large),
        "148 B, 60 %, destination NIC": below.parts[nic].mean_ps / 1e6,
        "148 B, 60 %, destination intra-node network": below.parts[inside].mean_ps / 1e6,
        "4096 B, destination NIC": large.parts[nic].mean_ps / 1e6,
        "4096 B, destination intra-node network": large.parts[inside].mean_ps / 1e6,
    }


def fitted_equation(precision: Precision) -> Figures:
    """Four functions fitted to what nodes carry under C1 to C4, as the paper does, and how far they are off at other
    shares, per cent on average; and Model_adjustment of the power law."""
    percent = np.array([100 * part for part in INTER.values()])
    carried = np.array([_NODE_PEAK / 100 * _carried(NodeTraffic(pattern), precision) for pattern in INTER])
    others = np.array([7.5, 12.5, 30.0])
    there = [_NODE_PEAK / 100 * _carried(NodeTraffic(f"inter:{part:g}%"), precision) for part in others.tolist()]
    slope, constant = np.polyfit(np.log(percent), np.log(carried), 1)
    power = np.exp(constant) * others**slope
    found = {"power law": float(np.mean(np.abs(power / there - 1)))}
    for name, degree in (("linear", 1), ("quadratic", 2), ("cubic", 3)):
        fit = np.polyval(np.polyfit(percent, carried, degree), others)
        found[name] = float(np.mean(np.abs(fit / there - 1)))
    adjustment = float(np.mean(carried * percent)) * _OVERHEAD
    off = {f"{name}, off by %": 100 * share for name, share in found.items()}
    return {"Model_adjustment": adjustment, "exponent": float(slope)} | off


def saturation_of_c1(precision: Precision) -> Figures:
    """Per cent of the peak at full load, and by how much arbitration changes it."""
    rates = (128, 256, 512)
    found = {f"{gbits} Gbit/s": _carried(NodeTraffic("C1", gbits), precision) for gbits in rates}
    aged = [_carried(NodeTraffic("C1", gbits, arbitration="age"), precision) for gbits in rates]
    differ = [abs(old / new - 1) for old, new in zip(found.values(), aged, strict=True)]
    return found | {"arbitration, largest difference": 100 * max(differ)}


def arbitration_of_c1(precision: Precision) -> Figures:
    """How much later messages between nodes are with the oldest first than in turns, per cent, at full load."""
    found = {}
    between = STAGES.index("inter-node network")
    for gbits in (128, 256, 512):
        turns, aged = (
            NodeTraffic("C1", gbits, arbitration=name).at_load(1.0, precision) for name in ("round_robin", "age")
        )
        found[f"aggregated, {gbits} Gbit/s"] = 100 * (_in_the_network_us(aged) / _in_the_network_us(turns) - 1)
        parts = aged.parts[between].mean_ps / turns.parts[between].mean_ps
        found[f"inter-node network, {gbits} Gbit/s"] = 100 * (parts - 1)
    return found


def carried_without_saturation(precision: Precision) -> Figures:
    """Gbit/s that accelerators of 128 Gbit/s offer on 32 nodes, and per cent of it that is carried at full load; of one
    a node, what leaves the node."""
    offered = {"1, Gbit/s": 32 * 128 * INTER["C1"]} | {f"{count}, Gbit/s": 32.0 * 128 * count for count in (2, 4, 8)}
    one = NodeTraffic("C1", 128, 1)
    shares = {"1": _carried(one, precision) / INTER["C1"]}
    for count in (2, 4):
        shares[str(count)] = _carried(NodeTraffic("C1", 128, count), precision)
    shares["8"] = _carried(NodeTraffic("C5", 128), precision)
    return offered | {f"{count}, carried, %": share for count, share in shares.items()}


def fits_into_nics(precision: Precision) -> Figures:
    """Gbit/s that leave a node, and per cent of the peak that is carried at full load."""
    leaving = {f"{pattern}, Gbit/s": 8 * 128 * share for pattern, share in INTER.items()}
    carried = {f"{pattern}, carried, %": _carried(NodeTraffic(pattern, 128), precision) for pattern in INTER}
    return leaving | carried


def saturates_at_full_load(gbits: int, accelerators: int, precision: Precision) -> Figures:
    """Per cent of the peak at full load, how late messages are that leave the node, and what leaves it then."""
    found = {}
    for pattern in ("C1", "C2", "C3"):
        point = NodeTraffic(pattern, gbits, accelerators).at_load(1.0, precision)
        found[f"{pattern}, %"] = 100 * point.throughput
        found[f"{pattern}, us"] = _in_the_network_us(point)
        found[f"{pattern} offers, Gbit/s"] = gbits * accelerators * INTER[pattern]
    return found


def scale_out(precision: Precision) -> Figures:
    """Equation 3 with its own constant, and with the one that the numbers come from; and what is measured."""
    found = {}
    for name, nodes in (("configuration 2", 128), ("configuration 4", 512)):
        found[name] = 15703.9 / (1.14 * 20) * nodes
        found[f"{name} with 16384"] = 16384 / (1.14 * 20) * nodes
    found["share, %"] = 100 * 15703.9 / (1.14 * 20) / _NODE_PEAK
    found["leaves a node"] = _NODE_PEAK * INTER["C1"] * 0.1754
    return found | {f"{nodes} nodes, %": share for nodes, share in _of_nodes(precision).items()}


def _of_nodes(precision: Precision) -> dict[int, float]:
    """Per cent of the peak under C1 at full load; of 512 nodes where there is time."""
    found = {nodes: _carried(NodeTraffic("C1", nodes=nodes), precision) for nodes in (32, 128)}
    if precision is PAPER:
        found[512] = _carried(NodeTraffic("C1", nodes=512), _LARGE)
    return found


def collapse(precision: Precision) -> Figures:
    """C1 at full load, per cent of the peak: small packets on more and more nodes, and large ones."""
    found = {f"148 B, {nodes} nodes": share for nodes, share in _of_nodes(precision).items()}
    for nodes in (32, 128):
        found[f"4096 B, {nodes} nodes"] = _carried(NodeTraffic("C1", nodes=nodes, converts=False), precision)
    return found
