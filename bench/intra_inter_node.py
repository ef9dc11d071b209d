"""Where traffic between nodes holds back that inside them: the setups of "On the Impact of Intra-node Communication in
the Performance of Supercomputer and Data Center Interconnection Networks" (Tarraga-Moreno et al.), by model packet.

Run: python -m hocket.bench.intra_inter_node [--microseconds 200]

Nodes of 8 accelerators and a NIC on a switch of 512 Gbit/s a port, NICs of 400 Gbit/s on a fat tree of two levels with
d_mod_k. Every accelerator makes messages of 4 KiB at random times, which with a probability (C1: 20 %, C4: 5 %, C5: 0)
go to another node. Inside a node packets have 128 + 20 bytes, between nodes 4096 + 64; a NIC makes 32 of one in 32 *
8.26 ns, the one constant that the paper does not say (it is fitted: 143.4 Gbit/s). `4 KiB`: packets of 4096 + 64 bytes
everywhere. Buffers have 64 KiB a link, half of the paper's, so that they are full after 100 us. Throughput over the
peak of all accelerators, in bytes on links inside nodes, in the second half of the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hocket.bench.command_line import command_line
from hocket.chakra import NodeType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, LinkPackets, Packets, Prediction, simulate_traces
from hocket.simulator.workload import NodeKind
from hocket.topology import Topology

MESSAGE = 4096
NIC_BITS, ACCELERATORS = 400, 8
SMALL_BYTES, LARGE_BYTES = MESSAGE + 32 * 20, MESSAGE + 64  # of a message on a link inside a node, in packets of either
SPLIT_PS = 8_260
BUFFER = 64 * 2**10
INSIDE, BETWEEN = "node", "fabric"
#: Parts of the messages that go to another node.
PATTERNS: Mapping[str, float] = {"C1": 0.20, "C2": 0.15, "C3": 0.10, "C4": 0.05, "C5": 0.0}


@dataclass(frozen=True)
class Fabric:
    """Nodes and the ports of the switches that join them, half of them up."""

    nodes: int
    radix: int

    @property
    def switches(self) -> int:
        down = self.radix // 2
        return self.nodes // down + down

    def topology(self, gbits: int) -> Topology:
        """Accelerators of `gbits` a port are the ranks; switches: inside nodes, NICs, leaves, spines."""
        down = self.radix // 2
        ranks, leaves = self.nodes * ACCELERATORS, self.nodes // down
        inside, nics, first_leaf = ranks, ranks + self.nodes, ranks + 2 * self.nodes
        pairs = [(rank, inside + rank // ACCELERATORS, INSIDE, gbits) for rank in range(ranks)]
        pairs += [(inside + node, nics + node, INSIDE, gbits) for node in range(self.nodes)]
        pairs += [(nics + node, first_leaf + node // down, BETWEEN, NIC_BITS) for node in range(self.nodes)]
        spines = first_leaf + leaves
        pairs += [(first_leaf + leaf, spines + at, BETWEEN, NIC_BITS) for leaf in range(leaves) for at in range(down)]
        links, classes = [], []
        for a, b, kind, speed in pairs:
            latency_ps = 5_000 if kind == INSIDE else 50_000
            links += [(a, b, latency_ps, speed * 10**9 // 8), (b, a, latency_ps, speed * 10**9 // 8)]
            classes += [kind, kind]
        machine = np.arange(ranks) // ACCELERATORS
        switches = 2 * self.nodes + leaves + down
        return Topology.from_links(
            f"{self.nodes} nodes", ranks, links, num_switches=switches, machine=machine.tolist(), link_class=classes
        )


def packets(converts: bool) -> Packets:
    """Small packets inside nodes, which NICs convert, or large ones everywhere. The oldest message goes first, at its
    rank too: an accelerator has one queue."""
    if not converts:
        return Packets(mtu=4096, header=64, buffer=BUFFER, flow="credits", arbitration="age")
    small = LinkPackets(mtu=128, header=20, split=SPLIT_PS)
    classes = {INSIDE: small}
    return Packets(mtu=4096, header=64, buffer=BUFFER, flow="credits", arbitration="age", classes=classes)


def traffic(num_ranks: int, gap_ps: float, part: float, until_ps: int) -> TraceSet:
    """What all accelerators send until then, at random times `gap_ps` apart on average: a node of the trace that takes
    the time to the next message, and the message."""
    random = np.random.default_rng(0)
    builders = []
    for src in range(num_ranks):
        builder = TraceBuilder()
        first = src // ACCELERATORS * ACCELERATORS
        after: tuple[int, ...] = ()
        left = float(until_ps)
        while (gap := random.exponential(gap_ps)) < left:
            left -= gap
            after = (builder.add(NodeType.COMP, "gap", deps=after, duration_ns=max(1, round(gap / 1000))),)
            if random.random() < part:
                dst = int(random.integers(num_ranks - ACCELERATORS))
                dst += ACCELERATORS * (dst >= first)
            else:
                dst = first + int(random.integers(ACCELERATORS - 1))
                dst += dst >= src
            builder.add(NodeType.COMM_SEND, "send", deps=after, comm_bytes=MESSAGE, comm_src=src, comm_dst=dst)
        builders.append(builder)
    return TraceSet(tuple(builder.build() for builder in builders))


def came_by(prediction: Prediction, until_ps: int) -> int:
    """How many messages came in the second half of the time."""
    finish_ps = prediction.node_finish_ps[prediction.workload.kind == NodeKind.SEND]
    return int(((finish_ps > until_ps // 2) & (finish_ps <= until_ps)).sum())


def measured(fabric: Fabric, gbits: int, part: float, load: float, converts: bool, until_ps: int) -> float:
    """The throughput of a pattern at an offered load, over the peak."""
    topology = fabric.topology(gbits)
    time_ps = (SMALL_BYTES if converts else LARGE_BYTES) * 8 * 1000 / gbits  # of a message on a link
    traces = traffic(topology.num_ranks, time_ps / load, part, until_ps)
    fidelity = Fidelity("packet", packets=packets(converts), routing="d_mod_k")
    came = came_by(simulate_traces(traces, topology, fidelity=fidelity), until_ps)
    return came * time_ps / (topology.num_ranks * (until_ps - until_ps // 2))


def saturation(gbits: int, part: float) -> float:
    """The load at which NICs that convert 143.4 Gbit/s are full, as sources are queues."""
    nic = 128 * 8 * 1000 / SPLIT_PS * (SMALL_BYTES / MESSAGE)
    return 1.0 if part == 0 else min(1.0, min(gbits, nic, NIC_BITS) / (part * ACCELERATORS * gbits))


def main() -> None:
    parser = command_line()
    parser.add_argument("--microseconds", type=int, default=200, help="of traffic")
    until_ps = parser.parse_args().microseconds * 1_000_000
    print(
        f"{'nodes':>5} {'pattern':<8} {'Gbit/s':>6} {'packets':<8} {'load':>5} {'throughput':>10} {'closed form':>11}"
    )
    fabric = Fabric(32, 8)
    for pattern, gbits, load, converts in CASES:
        part = PATTERNS[pattern]
        found = measured(fabric, gbits, part, load, converts, until_ps)
        expected = f"{min(load, saturation(gbits, part)):11.1%}" if converts else ""
        said = "148 B" if converts else "4 KiB"
        print(f"{fabric.nodes:>5} {pattern:<8} {gbits:>6} {said:<8} {load:5.0%} {found:10.1%} {expected}", flush=True)


CASES = [
    ("C1", 512, 1.0, True),
    ("C4", 512, 0.5, True),
    ("C4", 512, 1.0, True),
    ("C5", 512, 1.0, True),
    ("C4", 512, 1.0, False),
    ("C1", 128, 1.0, True),
]


if __name__ == "__main__":
    main()
