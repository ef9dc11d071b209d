"""Two nodes of PCIe 3.0 and EDR InfiniBand, and what perftest measured between them (table 1 of claims D)."""

from collections.abc import Mapping

from hocket.bench.claims.claim import Figures
from hocket.chakra import NodeType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, Packets, parse_packets, simulate_traces
from hocket.topology import Topology
from hocket.topology.machines.node_links import read_node_link

__all__ = ["IB_WRITE", "deviations", "host_link", "ib_write"]

#: Bytes: microseconds of ib_write_lat, GB/s of ib_write_bw.
IB_WRITE: Mapping[int, tuple[float, float]] = {
    1 << 8: (1.56, 0.87),
    1 << 9: (1.58, 1.75),
    1 << 10: (1.70, 3.30),
    1 << 11: (1.95, 7.35),
    1 << 12: (2.46, 11.02),
    1 << 13: (2.84, 11.58),
    1 << 14: (3.88, 11.53),
    1 << 15: (5.41, 11.60),
    1 << 16: (8.06, 11.62),
    1 << 17: (13.39, 11.90),
    1 << 18: (24.27, 11.92),
    1 << 19: (45.73, 11.93),
    1 << 20: (88.95, 11.93),
    1 << 21: (174.65, 11.93),
    1 << 22: (345.97, 11.86),
}
#: Packets of 128 bytes on PCIe, of 4 KiB between; a message takes the NIC as long as table 1 says of small ones.
_PERFTEST_PACKETS = "header=64,buffer=1MiB,pcie=pcie3x16,link.gap=292ns"
_THIRD_PS = 500_000  # of 1.5 us in all, which the latency of small messages leaves
_EDR = round(12.5e9 * 64 / 66)
_MANY = 1 << 22  # bytes of a bandwidth
_FROM = 1 << 13  # from there on packets, not the gap between messages, say the bandwidth
_GAP_US = 0.292


def host_link() -> Topology:
    """Rank 0, its NIC, the other NIC and rank 1, of one direction."""
    pcie = read_node_link("pcie3x16")
    rates = ((0, 2, pcie.bandwidth), (2, 3, _EDR), (3, 1, pcie.bandwidth))
    links = [(src, dst, _THIRD_PS, rate) for src, dst, rate in rates]
    return Topology.from_links("host link", 2, links, num_switches=2, link_class=["pcie", "link", "pcie"])


def ib_write(size: int) -> tuple[float, float]:
    """Microseconds of a message alone, and GB/s of many behind each other."""
    packets = parse_packets(_PERFTEST_PACKETS)
    alone, count = _time_us(size, 1, packets), max(2, _MANY // size)
    return alone, (count - 1) * size / (_time_us(size, count, packets) - alone) / 1000


def _time_us(size: int, count: int, packets: Packets) -> float:
    builder = TraceBuilder()
    for tag in range(count):
        builder.add(NodeType.COMM_SEND, "send", comm_bytes=size, comm_src=0, comm_dst=1, comm_tag=tag)
    traces = TraceSet((builder.build(), TraceBuilder().build()))
    return simulate_traces(traces, host_link(), fidelity=Fidelity("packet", packets=packets)).time_ps / 1e6


def deviations() -> Figures:
    """How far the curve is from what was measured, per cent: at most, and over how many sizes."""
    found = {size: ib_write(size) for size in IB_WRITE}
    late = {size: 100 * abs(found[size][0] / measured - 1) for size, (measured, _) in IB_WRITE.items()}
    wide = {size: 100 * abs(found[size][1] / measured - 1) for size, (_, measured) in IB_WRITE.items()}
    middle = [size for size in late if 1 << 14 <= size <= 1 << 16]
    later = [100 * abs((found[size][0] + _GAP_US) / IB_WRITE[size][0] - 1) for size in late if size > _FROM]
    return {
        "bandwidth from 8 KiB on": max(wide[size] for size in wide if size >= _FROM),
        "bandwidth below": max(wide[size] for size in wide if size < _FROM),
        "latency, 16 to 64 KiB": max(late[size] for size in middle),
        "latency, other sizes": max(late[size] for size in late if size not in middle),
        "latency from 16 KiB on with a gap more": max(later),
    }
