"""How fast synthetic traffic runs: packet-hops per second of CPU time on one core, and the memory that it takes.

A hop is a packet of the network (4 KiB, whatever NICs make of it inside nodes) on a link. Memory is the peak of
the process so far, which runs the small cases first.

Run: python -m hocket.bench.traffic_speed [--microseconds 100]
"""

import resource
import time

from hocket.bench.command_line import command_line
from hocket.simulator import Fidelity, parse_packets
from hocket.simulator.offered_traffic import OfferedTraffic, TrafficSetup
from hocket.topology import load

LINKS = "bandwidth=50GB/s,latency=500ns"
NODE = "accelerators=8,link=512Gbit/s,fabric=fat_tree"
CONVERTED = "header=64,flow=credits,intra.mtu=128,intra.header=20,intra.split=8.26ns"
CASES = (
    ("uniform", f"fat_tree:16x16,spines=16,{LINKS}", "", 0.5),
    ("uniform", f"fat_tree:16x16,spines=16,{LINKS}", "", 0.9),
    ("C4", f"node:{NODE},nodes=32,leaf=4,spines=4", CONVERTED, 1.0),
    ("uniform", f"fat_tree:64x64,spines=64,{LINKS}", "", 0.5),
    ("C4", f"node:{NODE},nodes=512,leaf=16,spines=16", CONVERTED, 1.0),
    ("C1", f"node:{NODE},nodes=512,leaf=16,spines=16", CONVERTED, 1.0),
)


def main(microseconds: int) -> None:
    heads = f"{'prepare s':>9} {'messages':>9} {'hops':>10} {'run s':>7} {'hops/s':>8} {'carried':>8} {'RSS':>9}"
    print(f"{'ranks':>5} {'pattern':<8} {'load':>5} {heads}")
    for case in CASES:
        print(measured(*case, microseconds), flush=True)


def measured(pattern: str, spec: str, packets: str, part: float, microseconds: int) -> str:
    """The line of a case."""
    start = time.process_time()
    setup = TrafficSetup(pattern, duration_ps=microseconds * 10**6, from_ps=microseconds * 10**6 // 2)
    fidelity = Fidelity("packet", packets=parse_packets(packets) if packets else None, routing="d_mod_k")
    traffic = OfferedTraffic(load(spec), setup, fidelity)
    prepared = time.process_time()
    found = traffic.at_load(part)
    seconds = time.process_time() - prepared
    hops = int(found.link_bytes.sum()) // setup.message_bytes
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ranks = traffic.topology.num_ranks
    counts = f"{prepared - start:9.2f} {found.made:>9} {hops:>10} {seconds:7.2f} {hops / seconds / 1e6:6.1f} M"
    return f"{ranks:>5} {pattern:<8} {part:5.0%} {counts} {found.throughput:8.1%} {rss:5.0f} MiB"


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--microseconds", type=int, default=100, help="of traffic")
    main(parser.parse_args().microseconds)
