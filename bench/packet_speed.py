"""How many packet-hops the packet model works off per second of CPU time on one core.

Messages as `flow_speed` has them, so many bytes each, to random ranks; and a permutation, each rank to one other.
Memory is the peak of the process, which runs one case.

Run: python -m hocket.bench.packet_speed
"""

import resource
import time

import numpy as np

from hocket.bench.command_line import command_line
from hocket.bench.flow_speed import leaf_spine, random_flows
from hocket.chakra import NodeType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, Packets
from hocket.simulator.engine_run import engine_job, run_engine
from hocket.simulator.traces import Hardware, workload_of
from hocket.simulator.workload import Workload
from hocket.topology import Topology, load, routing_of

LINKS = "bandwidth=50GB/s,latency=500ns"
SHIFTED = 4 * 2**20
REPEATS = 3


def permutation(num_ranks: int, size: int = SHIFTED) -> Workload:
    """Each rank sends to one other, chosen at random."""
    to = np.random.default_rng(0).permutation(num_ranks)
    builders = [TraceBuilder() for _ in range(num_ranks)]
    for src, dst in enumerate(to.tolist()):
        if src != dst:
            builders[src].add(NodeType.COMM_SEND, "send", comm_bytes=size, comm_src=src, comm_dst=dst)
    return workload_of(TraceSet(tuple(builder.build() for builder in builders)), 1, Hardware())


def main() -> None:
    print(
        f"{'case':<30} {'settings':<14} {'packet-hops':>11} {'predicted us':>12} {'run s':>7} {'hops/s':>8} {'RSS':>8}"
    )
    spine = leaf_spine()
    fat_tree = load(f"fat_tree:16x16,spines=16,{LINKS}")
    large = load(f"fat_tree:64x64,spines=64,{LINKS}")
    for packets in (Packets(), Packets(flow="credits"), Packets(ecn=True), Packets(train=8)):
        _measure("random, leaf-spine 16x16", random_flows(spine.num_ranks), spine, packets)
        _measure("permutation, fat_tree:16x16", permutation(fat_tree.num_ranks), fat_tree, packets)
    _measure("permutation, fat_tree:64x64", permutation(large.num_ranks, SHIFTED // 4), large, Packets())


def _measure(name: str, workload: Workload, topology: Topology, packets: Packets) -> None:
    job = engine_job(workload, topology, routing_of(topology, "ecmp"))
    fidelity = Fidelity("packet", packets=packets, routing="ecmp")
    seconds = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        outcome = run_engine(job, [], topology, fidelity)
        seconds = min(seconds, time.process_time() - start)
    assert outcome.packets is not None
    hops = int(outcome.packets.packets.sum())
    said = f"{packets.flow}{', ecn' * packets.ecn}{f', train={packets.train}' * (packets.train > 1)}"
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    end_us = outcome.finish_ps.max() / 1e6
    speed = hops / seconds / 1e6
    print(f"{name:<30} {said:<14} {hops:>11} {end_us:12.1f} {seconds:7.3f} {speed:6.1f} M {rss:4.0f} MiB")


if __name__ == "__main__":
    command_line().parse_args()
    main()
