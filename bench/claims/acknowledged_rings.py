"""An all_reduce around a ring in which nobody goes on before its message is acknowledged, by model packet: what the
ns-3 frontend of ASTRA-sim does, by its times."""

from collections.abc import Mapping

from hocket.bench.claims.claim import Figures
from hocket.chakra import NodeType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, Packets, Switching, simulate_traces
from hocket.topology import load

__all__ = ["NS3_US", "acknowledged_us", "rings"]

#: The author's ns-3 runs: microseconds on a switch and on a ring of 8, by bytes.
NS3_US: Mapping[int, tuple[float, float]] = {
    2**14: (113.944, 57.272),
    2**16: (116.436, 59.204),
    2**18: (123.996, 66.764),
    2**20: (154.096, 96.864),
    2**22: (279.564, 217.628),
    2**24: (784.628, 700.684),
}
RANKS, CHUNKS = 8, 4
_LINKS = "bandwidth=50GB/s,latency=500ns"
# Packets of 1000 bytes, as its configuration has them. The header is what its ring takes from 4 to 16 MiB beyond them.
_PACKETS = Packets(mtu=1000, header=97, buffer=32 * 2**20)
_ACK_BYTES = 60


def acknowledged_us(word: str, size: int, *, acknowledged: bool = True) -> float:
    """Microseconds of the all_reduce on `switch` or `ring`: four chunks one after the other, as ASTRA-sim has them, 14
    steps each."""
    step_bytes = size // CHUNKS // RANKS
    builders = [TraceBuilder() for _ in range(RANKS)]
    before: list[tuple[int, ...]] = [()] * RANKS
    for tag in range(CHUNKS * 2 * (RANKS - 1)):
        for rank, builder in enumerate(builders):
            following, last = (rank + 1) % RANKS, (rank - 1) % RANKS
            _send(builder, before[rank], rank, following, step_bytes, tag)
            came = _receive(builder, before[rank], last, rank, step_bytes, tag)
            after: tuple[int, ...] = (came,)
            if acknowledged:
                _send(builder, after, rank, last, _ACK_BYTES, -1 - tag)
                after = (came, _receive(builder, before[rank], following, rank, _ACK_BYTES, -1 - tag))
            before[rank] = after
    fidelity = Fidelity("packet", switching=Switching.STORE_AND_FORWARD, packets=_PACKETS)
    traces = TraceSet(tuple(builder.build() for builder in builders))
    return simulate_traces(traces, load(f"{word}:{RANKS},{_LINKS}"), fidelity=fidelity).time_ps / 1e6


def _send(builder: TraceBuilder, deps: tuple[int, ...], src: int, dst: int, size: int, tag: int) -> int:
    return builder.add(NodeType.COMM_SEND, "send", deps=deps, comm_bytes=size, comm_src=src, comm_dst=dst, comm_tag=tag)


def _receive(builder: TraceBuilder, deps: tuple[int, ...], src: int, dst: int, size: int, tag: int) -> int:
    return builder.add(
        NodeType.COMM_RECV, "receive", deps=deps, comm_bytes=size, comm_src=src, comm_dst=dst, comm_tag=tag
    )


def rings(size: int) -> Figures:
    """Both topologies with acknowledgements, and how they compare; without these, what the network alone would take."""
    switch, ring = (acknowledged_us(word, size) for word in ("switch", "ring"))
    alone = [acknowledged_us(word, size, acknowledged=False) for word in ("switch", "ring")]
    return {
        "switch, us": switch,
        "ring, us": ring,
        "packets": switch / ring,
        "switch without acknowledgements, us": alone[0],
        "ring without acknowledgements, us": alone[1],
    }
