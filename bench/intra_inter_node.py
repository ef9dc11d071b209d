"""Where traffic between nodes holds back that inside them: the setups of "On the Impact of Intra-node Communication in
the Performance of Supercomputer and Data Center Interconnection Networks" (Tarraga-Moreno et al.), by model packet.

Run: python -m hocket.bench.intra_inter_node [--microseconds 1000]

Nodes of 8 accelerators and a NIC on a switch of 512 Gbit/s a port, NICs of 400 Gbit/s on a fat tree of two levels with
d_mod_k. Every accelerator makes messages of 4 KiB at random times, which with a probability (C1: 20 %, C4: 5 %, C5: 0)
go to another node. Inside a node packets have 128 + 20 bytes, between nodes 4096 + 64; a NIC makes 32 of one in 32 *
8.26 ns, the one constant that the paper does not say (it is fitted: 143.4 Gbit/s). `4 KiB`: packets of 4096 + 64 bytes
everywhere. Throughput over the peak of all accelerators, in bytes on links inside nodes, in the second half of the
time. Every line is a command too, `hocket traffic` (docs/traffic.md).
"""

from dataclasses import dataclass, replace
from functools import cache

from hocket.bench.command_line import command_line
from hocket.simulator import Fidelity, LinkPackets, Packets
from hocket.simulator.offered_traffic import OfferedTraffic, TrafficPoint, TrafficSetup
from hocket.topology import load

__all__ = ["PAPER", "QUICK", "NodeTraffic", "saturation"]

MESSAGE = 4096
NIC_BITS = 400
SMALL_BYTES = MESSAGE + 32 * 20  # of a message on a link inside a node, in packets of 148 bytes
SPLIT_PS = 8_260
INSIDE = "intra"
#: Leaves of the paper's fat trees: half the ports of a switch, by nodes.
LEAF = {32: 4, 128: 8, 512: 16}


@dataclass(frozen=True)
class Precision:
    """How long messages are made, and the buffer of each link: both a part of the paper's where that is quicker."""

    microseconds: int
    buffer: int


#: Its buffers, full after half of the time; and half of them.
PAPER = Precision(1000, 128 * 2**10)
QUICK = Precision(200, 64 * 2**10)


@dataclass(frozen=True)
class NodeTraffic:
    """A pattern on nodes of accelerators of `gbits` each; `converts`: packets of 148 bytes inside nodes,
    which NICs convert, else of 4 KiB everywhere."""

    pattern: str
    gbits: int = 512
    accelerators: int = 8
    nodes: int = 32
    converts: bool = True
    arbitration: str = "round_robin"

    @property
    def topology(self) -> str:
        leaf = LEAF[self.nodes]
        node = f"node:accelerators={self.accelerators},link={self.gbits}Gbit/s,nic={NIC_BITS}Gbit/s,latency=5ns"
        return f"{node},nodes={self.nodes},fabric=fat_tree,leaf={leaf},spines={leaf},fabric_latency=50ns"

    def packets(self, buffer: int) -> Packets:
        whole = Packets(mtu=4096, header=64, buffer=buffer, flow="credits", arbitration=self.arbitration)
        small = LinkPackets(mtu=128, header=20, split=SPLIT_PS)
        return replace(whole, classes={INSIDE: small}) if self.converts else whole

    def at_load(self, part: float, precision: Precision = PAPER) -> TrafficPoint:
        """What comes of a load."""
        return _measured(self, part, precision)


@cache
def _measured(asked: NodeTraffic, part: float, precision: Precision) -> TrafficPoint:
    until_ps = precision.microseconds * 10**6
    setup = TrafficSetup(asked.pattern, MESSAGE, until_ps, until_ps // 2)
    fidelity = Fidelity("packet", packets=asked.packets(precision.buffer), routing="d_mod_k")
    return OfferedTraffic(load(asked.topology), setup, fidelity).at_load(part)


def saturation(gbits: int, accelerators: int, part: float) -> float:
    """The load at which NICs that convert 143.4 Gbit/s are full, as sources are queues."""
    nic = 128 * 8 * 1000 / SPLIT_PS * (SMALL_BYTES / MESSAGE)
    return 1.0 if part == 0 else min(1.0, min(gbits, nic, NIC_BITS) / (part * accelerators * gbits))


def main(precision: Precision) -> None:
    heads = f"{'load':>5} {'throughput':>10} {'closed form':>11}"
    print(f"{'nodes':>5} {'pattern':<8} {'Gbit/s':>6} {'packets':<8} {heads}")
    for pattern, part, gbits, offered, converts in CASES:
        asked = NodeTraffic(pattern, gbits, converts=converts)
        found = asked.at_load(offered, precision).throughput
        expected = f"{min(offered, saturation(gbits, asked.accelerators, part)):11.1%}" if converts else ""
        said = "148 B" if converts else "4 KiB"
        print(f"{asked.nodes:>5} {pattern:<8} {gbits:>6} {said:<8} {offered:5.0%} {found:10.1%} {expected}", flush=True)


CASES = [
    ("C1", 0.20, 512, 1.0, True),
    ("C4", 0.05, 512, 0.5, True),
    ("C4", 0.05, 512, 1.0, True),
    ("C5", 0.0, 512, 1.0, True),
    ("C4", 0.05, 512, 1.0, False),
    ("C1", 0.20, 128, 1.0, True),
]


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--microseconds", type=int, default=PAPER.microseconds, help="of traffic")
    main(Precision(parser.parse_args().microseconds, PAPER.buffer))
