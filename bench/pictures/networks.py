"""Networks drawn: shapes of topologies, a message beside an incast, load against latency."""

from itertools import pairwise
from math import cos, pi, sin

from hocket.bench.packet_fabrics import FIDELITIES, SPEC, beside_incast
from hocket.bench.pictures.canvas import COLORS, GREY, INK, Canvas
from hocket.simulator import Fidelity
from hocket.simulator.offered_traffic import OfferedTraffic, TrafficSetup
from hocket.topology import Topology, load

__all__ = ["incast", "load_curves", "shapes"]

_LINKS = "bandwidth=50GB/s,latency=500ns"
_SHAPES = (
    "ring:8", "fully_connected:8", "switch:8", "hypercube:3", "mesh:4x4", "torus:4x4", "fat_tree:4x4,spines=2",
    "dragonfly:4x5",
)  # fmt: skip


def shapes() -> str:
    """Eight shapes of topologies: ranks dark, switches orange."""
    canvas = Canvas(900, 440)
    canvas.text(14, 24, "Shapes of topologies: ranks dark, switches and links around orange", size=15, bold=True)
    for panel, spec in enumerate(_SHAPES):
        left, top = 14 + 220 * (panel % 4), 44 + 200 * (panel // 4)
        topology = load(f"{spec},{_LINKS}")
        places = _places(spec, topology)
        for src, dst in sorted({(min(pair), max(pair)) for pair in zip(topology.src, topology.dst, strict=True)}):
            (x1, y1), (x2, y2) = places[src], places[dst]
            if spec.startswith("torus") and abs(x1 - x2) + abs(y1 - y2) > 60:  # around: a stub at both ends
                for x, y, away in ((x1, y1, -1), (x2, y2, 1)):
                    dx, dy = (14 * away, 0) if y1 == y2 else (0, 11 * away)
                    canvas.line(left + x, top + y, left + x + dx, top + y + dy, COLORS[1], width=2)
                continue
            canvas.line(left + x1, top + y1, left + x2, top + y2, COLORS[7], width=1.2)
        for node, (x, y) in enumerate(places):
            canvas.circle(left + x, top + y, 6, INK if node < topology.num_ranks else COLORS[1])
        canvas.text(left + 100, top + 178, spec, size=12, anchor="middle", bold=True)
    return canvas.svg("Eight topologies as nodes and links: ring, full mesh, switch, hypercube, mesh, torus and others")


def _places(spec: str, topology: Topology) -> list[tuple[float, float]]:
    """Of each node in a panel of 200 by 160: grids as grids, trees in rows, others on a circle."""
    ranks, nodes = topology.num_ranks, topology.num_nodes
    if spec.startswith(("mesh", "torus")):
        return [(25.0 + 50 * (rank % 4), 12.0 + 45 * (rank // 4)) for rank in range(ranks)]
    if spec.startswith("fat_tree"):
        leaves, spines = range(ranks // 4), range(nodes - ranks - ranks // 4)
        below = [(10.0 + 12 * rank, 145.0) for rank in range(ranks)]
        return below + [(28.0 + 48 * leaf, 85.0) for leaf in leaves] + [(60.0 + 80 * spine, 22.0) for spine in spines]
    circle = [(100 + 72 * sin(2 * pi * rank / ranks), 80 - 72 * cos(2 * pi * rank / ranks)) for rank in range(ranks)]
    return circle + [(100.0, 80.0)] * (nodes - ranks)


def incast() -> str:
    """When a message arrives that shares a link with an incast's packets, by each model and routing."""
    canvas = Canvas(900, 300)
    canvas.text(14, 24, "1 MiB beside an incast of 32 MiB, 64 ranks on a fat tree: its time in us", size=15, bold=True)
    topology = load(SPEC)
    names = [name for name in FIDELITIES if name != "lossy"]
    for block, routing in enumerate(("ecmp", "spray")):
        top = 44 + 128 * block
        canvas.text(14, top + 12, routing, size=13, bold=True)
        for row, name in enumerate(names):
            fidelity = Fidelity(FIDELITIES[name].model, packets=FIDELITIES[name].packets, routing=routing)
            time_us = beside_incast(topology, fidelity) / 1e6
            y = top + 20 + 20 * row
            said = f"packet, {name}" if FIDELITIES[name].model == "packet" else name
            canvas.text(150, y + 12, said, size=11, anchor="end")
            canvas.box(158, y, 1.4 * time_us, 15, COLORS[1] if said.startswith("packet") else COLORS[0])
            canvas.text(164 + 1.4 * time_us, y + 12, f"{time_us:.0f}", size=11)
    return canvas.svg("Bars of a message's time beside an incast, by model, with ECMP and with spray")


def load_curves() -> str:
    """Uniform traffic on two topologies: what is carried, and how late it is, over the offered load."""
    loads = [0.1 * step for step in range(1, 11)]
    canvas = Canvas(900, 300)
    canvas.text(14, 24, "Uniform traffic of 4 KiB messages on 64 ranks, packet by packet", size=15, bold=True)
    for panel, (words, high) in enumerate((("carried, % of the links", 100.0), ("mean latency, us (cut at 40)", 40.0))):
        left = 60 + 440 * panel
        canvas.text(left, 48, words, size=12, bold=True)
        for tick in range(5):
            y = 240 - 45 * tick
            canvas.line(left, y, left + 360, y, GREY)
            canvas.text(left - 8, y + 4, f"{high * tick / 4:g}", size=11, anchor="end")
        for share in (20, 40, 60, 80, 100):
            canvas.text(left + 3.6 * share, 258, f"{share}%", size=11, anchor="middle")
    for color, spec in zip(COLORS, ("torus:8x8", "fat_tree:8x8,spines=8"), strict=False):
        at = 60 if spec.startswith("torus") else 280
        canvas.box(at, 276, 12, 12, color)
        canvas.text(at + 18, 286, spec)
        setup = TrafficSetup("uniform", duration_ps=200_000_000, from_ps=100_000_000)
        traffic = OfferedTraffic(load(f"{spec},{_LINKS}"), setup, Fidelity("packet"))
        points = [traffic.at_load(share) for share in loads]
        for left, high, values in (
            (60, 100.0, [100 * point.throughput for point in points]),
            (500, 40.0, [point.mean_ps / 1e6 for point in points]),
        ):
            places = [
                (left + 360 * share, 240 - 180 * min(value / high, 1))
                for share, value in zip(loads, values, strict=True)
            ]
            for (x1, y1), (x2, y2) in pairwise(places):
                canvas.line(x1, y1, x2, y2, color, width=2.5)
    return canvas.svg("Carried traffic and mean latency over the offered load, for a torus and a fat tree")
