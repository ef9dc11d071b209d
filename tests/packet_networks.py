"""Messages on small networks, by model packet."""

from collections.abc import Sequence

from hocket.chakra import NodeType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, Packets, Prediction, simulate_traces
from hocket.topology import Topology, load

__all__ = ["GB", "NS", "US", "Send", "run", "star", "traces_of"]

NS, US = 1000, 1_000_000
GB = 10**9  # at 1 GB/s a byte takes a nanosecond
Send = tuple[int, int, int]  # source, destination, bytes


def traces_of(num_ranks: int, sends: Sequence[Send]) -> TraceSet:
    builders = [TraceBuilder() for _ in range(num_ranks)]
    for tag, (src, dst, size) in enumerate(sends):
        builders[src].add(NodeType.COMM_SEND, "send", comm_bytes=size, comm_src=src, comm_dst=dst, comm_tag=tag)
    return TraceSet(tuple(builder.build() for builder in builders))


def run(topology: Topology, sends: Sequence[Send], packets: Packets | None = None, **options: object) -> Prediction:
    fidelity = Fidelity("packet", packets=packets, **options)  # type: ignore[arg-type]
    return simulate_traces(traces_of(topology.num_ranks, sends), topology, fidelity=fidelity)


def star(ranks: int, latency_ns: int = 100) -> Topology:
    return load(f"switch:{ranks},bandwidth=1GB/s,latency={latency_ns}ns")
