"""Where packets and their finite buffers say something else than flows: incast and those beside it, collisions.

Run: python -m hocket.bench.packet_fabrics
"""

from collections.abc import Callable

import numpy as np

from hocket.bench.command_line import command_line
from hocket.chakra import NodeType, TraceBuilder, TraceSet
from hocket.schedule import Collective, Kind
from hocket.simulator import Fidelity, Packets, Prediction, simulate_collective, simulate_traces
from hocket.topology import Topology, load

SPEC = "fat_tree:8x8,spines=8,bandwidth=50GB/s,latency=500ns"
MIB = 2**20
FIDELITIES = {
    "flow": Fidelity("flow"),
    "congestion": Fidelity("congestion"),
    "pfc": Fidelity("packet"),
    "credits": Fidelity("packet", packets=Packets(flow="credits")),
    "pfc, ecn": Fidelity("packet", packets=Packets(ecn=True)),
    "lossy": Fidelity("packet", packets=Packets(flow="none", retransmit=1_000_000_000)),
}
Case = Callable[[Topology, Fidelity], int]


def sent(topology: Topology, sends: list[tuple[int, int, int]], fidelity: Fidelity) -> Prediction:
    """Messages (source, destination, bytes) that all begin at once."""
    builders = [TraceBuilder() for _ in range(topology.num_ranks)]
    for tag, (src, dst, size) in enumerate(sends):
        builders[src].add(NodeType.COMM_SEND, "send", comm_bytes=size, comm_src=src, comm_dst=dst, comm_tag=tag)
    return simulate_traces(TraceSet(tuple(each.build() for each in builders)), topology, fidelity=fidelity)


def incast(topology: Topology, fidelity: Fidelity) -> int:
    """32 ranks of four leaf switches send 1 MiB each to rank 0; when all is there."""
    return sent(topology, [(src, 0, MIB) for src in range(8, 40)], fidelity).time_ps


def beside_incast(topology: Topology, fidelity: Fidelity) -> int:
    """Rank 40, of another leaf switch, sends 1 MiB to rank 1, at rank 0's; when that is there."""
    prediction = sent(topology, [*((src, 0, MIB) for src in range(8, 40)), (40, 1, MIB)], fidelity)
    return int(prediction.finish_ps[40])


def permutation(topology: Topology, fidelity: Fidelity) -> int:
    """Each rank sends 4 MiB to one other."""
    to = np.random.default_rng(0).permutation(topology.num_ranks).tolist()
    return sent(topology, [(src, dst, 4 * MIB) for src, dst in enumerate(to) if src != dst], fidelity).time_ps


def all_to_all(topology: Topology, fidelity: Fidelity) -> int:
    """16 MiB a rank, all messages at once."""
    collective = Collective(Kind.ALL_TO_ALL, topology.num_ranks, 16 * MIB)
    return simulate_collective(collective, topology, "direct", fidelity=fidelity).time_ps


CASES: dict[str, Case] = {
    "incast 32:1": incast,
    "a message beside it": beside_incast,
    "random permutation": permutation,
    "all_to_all": all_to_all,
}


def main() -> None:
    topology = load(SPEC)
    print(f"{'case':<20} {'routing':<8} {' '.join(f'{name:>10}' for name in FIDELITIES)}")
    for name, case in CASES.items():
        for routing in ("ecmp", "spray"):
            times = [case(topology, _routed(fidelity, routing)) / 1e6 for fidelity in FIDELITIES.values()]
            print(f"{name:<20} {routing:<8} {' '.join(f'{time:10.1f}' for time in times)}", flush=True)


def _routed(fidelity: Fidelity, routing: str) -> Fidelity:
    return Fidelity(fidelity.model, packets=fidelity.packets, routing=routing)


if __name__ == "__main__":
    command_line().parse_args()
    main()
