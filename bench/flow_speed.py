"""How many flows the max-min model works off per second of CPU time on one core, against the queueing model.

Run: python -m hocket.bench.flow_speed
"""

import time

import numpy as np

from hocket.bench.command_line import command_line
from hocket.chakra import NodeType, TraceBuilder, TraceSet
from hocket.schedule import Kind
from hocket.schedule.algorithms import build
from hocket.simulator import Fidelity
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.engine_run import engine_job, run_engine
from hocket.simulator.models import Model
from hocket.simulator.traces import Hardware, workload_of
from hocket.simulator.workload import CollectiveCall, Workload, single_call
from hocket.topology import Topology, load, routing_of

CONCURRENT, FLOWS = 1024, 16_384
LEAVES, HOSTS_A_LEAF = 16, 16
BANDWIDTH, LATENCY_PS = 50 * 10**9, 500_000
REPEATS = 3


def leaf_spine() -> Topology:
    """Two levels of switches, non-blocking: a leaf's links up are one of their summed bandwidth."""
    hosts = LEAVES * HOSTS_A_LEAF
    links = []
    for host in range(hosts):
        links += _both(host, hosts + host // HOSTS_A_LEAF, BANDWIDTH)
    for leaf in range(LEAVES):
        links += _both(hosts + leaf, hosts + LEAVES, HOSTS_A_LEAF * BANDWIDTH)
    return Topology.from_links("leaf-spine 16x16", hosts, links, num_switches=LEAVES + 1)


def _both(a: int, b: int, bandwidth: int) -> list[tuple[int, int, int, int]]:
    return [(a, b, LATENCY_PS, bandwidth), (b, a, LATENCY_PS, bandwidth)]


def random_flows(num_ranks: int) -> Workload:
    """Chains of messages of 64 KiB to 1 MiB to random ranks: each starts when the one before it has arrived, so that
    CONCURRENT are in flight."""
    random = np.random.default_rng(0)
    builders = [TraceBuilder() for _ in range(num_ranks)]
    for chain in range(CONCURRENT):
        src = chain % num_ranks
        before: tuple[int, ...] = ()
        for _ in range(FLOWS // CONCURRENT):
            dst, size = (src + int(random.integers(1, num_ranks))) % num_ranks, int(random.integers(2**16, 2**20))
            node = builders[src].add(
                NodeType.COMM_SEND, "send", deps=before, comm_bytes=size, comm_src=src, comm_dst=dst
            )
            before = (node,)
    return workload_of(TraceSet(tuple(builder.build() for builder in builders)), 1, Hardware())


def main() -> None:
    print(f"{'case':<34} {'flows':>8} {'model':<11} {'predicted us':>12} {'run s':>8} {'flows/s':>10}")
    for spec in ("leaf-spine", "torus:16x16,bandwidth=50GB/s,latency=500ns"):
        topology = leaf_spine() if spec == "leaf-spine" else load(spec)
        name = f"random, {topology.name.partition(',')[0]}"
        _measure(name, FLOWS, random_flows(topology.num_ranks), topology, [])
    topology = load("ring:256,bandwidth=50GB/s,latency=500ns")
    call = CollectiveCall(Kind.ALL_REDUCE, tuple(range(256)), 2**26)
    ring = CollectivePlan(build("ring", call.collective, topology), "ring")
    _measure("disjoint, ring all_reduce", ring.plan.num_messages, single_call(call, 256), topology, [ring])


def _measure(name: str, flows: int, workload: Workload, topology: Topology, plans: list[CollectivePlan]) -> None:
    job = engine_job(workload, topology, routing_of(topology))
    for model in (Model.CONGESTION, Model.FLOW):
        seconds = float("inf")
        for _ in range(REPEATS):
            start = time.process_time()
            outcome = run_engine(job, plans, topology, Fidelity(model))
            seconds = min(seconds, time.process_time() - start)
        end_us = outcome.finish_ps.max() / 1e6
        print(f"{name:<34} {flows:8} {model:<11} {end_us:12.1f} {seconds:8.3f} {flows / seconds:10,.0f}")


if __name__ == "__main__":
    command_line().parse_args()
    main()
