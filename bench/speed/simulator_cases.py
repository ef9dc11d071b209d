"""The simulator's rates: events, messages, flows, packets, and workloads made of traces."""

from collections.abc import Callable
from functools import partial

from hocket.base.splitmix import SplitMix
from hocket.bench.speed.case import SpeedCase, Work
from hocket.chakra import CollectiveType, NodeType, Trace, TraceBuilder, TraceSet
from hocket.schedule import Kind
from hocket.schedule.algorithms import pattern
from hocket.simulator import Fidelity, Packets
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.engine_run import engine_job, run_engine
from hocket.simulator.models import Model
from hocket.simulator.traces import Hardware, workload_of
from hocket.simulator.workload import CollectiveCall, Workload, single_call
from hocket.topology import load, routing_of

__all__ = ["CASES"]

_LINKS = "bandwidth=50GB/s,latency=500ns"
_MESSAGES_A_CHAIN = 16
_SHIFTED = 2**20  # bytes that each rank of the permutation sends
_GROUP = 8  # ranks of a tensor-parallel group


def _collective(kind: Kind, algorithm: str, large: str, small: str, model: Model) -> Callable[[bool], Work]:
    def prepare(full: bool) -> Work:
        topology = load(f"{large if full else small},{_LINKS}")
        call = CollectiveCall(kind, tuple(range(topology.num_ranks)), 2**26)
        plan = CollectivePlan(pattern(algorithm, call.collective, topology), algorithm)
        _ = plan.plan
        job = engine_job(single_call(call, topology.num_ranks), topology, routing_of(topology))
        run = partial(run_engine, job, [plan], topology, Fidelity(model))
        return Work(run, run().events)

    return prepare


def _flows(full: bool) -> Work:
    """Chains of messages to random ranks, each sent when the one before it has come."""
    topology = load(f"{'fat_tree:16x16,spines=16' if full else 'fat_tree:4x4,spines=4'},{_LINKS}")
    chains = 2 * topology.num_ranks
    workload = _random_messages(topology.num_ranks, chains)
    job = engine_job(workload, topology, routing_of(topology))
    return Work(partial(run_engine, job, [], topology, Fidelity(Model.FLOW)), chains * _MESSAGES_A_CHAIN)


def _packets(full: bool) -> Work:
    """Each rank sends to the one half way round, as packets."""
    topology = load(f"{'fat_tree:16x16,spines=16' if full else 'fat_tree:4x4,spines=4'},{_LINKS}")
    job = engine_job(_shift(topology.num_ranks), topology, routing_of(topology, "ecmp"))
    fidelity = Fidelity(Model.PACKET, packets=Packets(), routing="ecmp")
    run = partial(run_engine, job, [], topology, fidelity)
    traffic = run().packets
    assert traffic is not None
    return Work(run, int(traffic.packets.sum()))


def _random_messages(num_ranks: int, chains: int) -> Workload:
    random = SplitMix(1)
    builders = [TraceBuilder() for _ in range(num_ranks)]
    for chain in range(chains):
        src = chain % num_ranks
        before: tuple[int, ...] = ()
        for _ in range(_MESSAGES_A_CHAIN):
            dst, size = (src + 1 + random.below(num_ranks - 1)) % num_ranks, 2**16 + random.below(2**20)
            before = (_send(builders[src], src, dst, size, before),)
    return workload_of(TraceSet(tuple(builder.build() for builder in builders)), 1, Hardware())


def _shift(num_ranks: int) -> Workload:
    builders = [TraceBuilder() for _ in range(num_ranks)]
    for src, builder in enumerate(builders):
        _send(builder, src, (src + num_ranks // 2) % num_ranks, _SHIFTED, ())
    return workload_of(TraceSet(tuple(builder.build() for builder in builders)), 1, Hardware())


def _send(builder: TraceBuilder, src: int, dst: int, size: int, before: tuple[int, ...]) -> int:
    return builder.add(NodeType.COMM_SEND, "send", deps=before, comm_bytes=size, comm_src=src, comm_dst=dst)


def _workload(full: bool) -> Work:
    """Traces of tensor- and data-parallel ranks, already read."""
    num_ranks, layers = (256, 100) if full else (32, 20)
    groups = {f"tp{k}": tuple(range(_GROUP * k, _GROUP * k + _GROUP)) for k in range(num_ranks // _GROUP)}
    groups |= {f"dp{k}": tuple(range(k, num_ranks, _GROUP)) for k in range(_GROUP)}
    traces = TraceSet(tuple(_layers(rank, layers) for rank in range(num_ranks)), groups)
    return Work(partial(workload_of, traces, 1, Hardware()), sum(len(trace) for trace in traces.traces))


def _layers(rank: int, layers: int) -> Trace:
    builder = TraceBuilder()
    last: list[int] = []
    for layer in range(layers):
        computed = builder.add_comp("attention", duration_ns=1_000 + layer, deps=last)
        for name in (f"tp{rank // _GROUP}", f"dp{rank % _GROUP}"):
            computed = builder.add_collective(
                "all_reduce", CollectiveType.ALL_REDUCE, 2**20, group=name, deps=[computed]
            )
        last = [computed]
    return builder.build()


CASES = (
    SpeedCase(
        "events",
        "events",
        "all_reduce on a torus, links with queues",
        _collective(Kind.ALL_REDUCE, "halving_doubling", "torus:32x32", "torus:8x8", Model.CONGESTION),
    ),
    SpeedCase(
        "messages",
        "messages",
        "all_to_all behind a switch",
        _collective(Kind.ALL_TO_ALL, "direct", "switch:512", "switch:64", Model.CONGESTION),
    ),
    SpeedCase("flows", "flows", "max-min sharing of a fat tree", _flows),
    SpeedCase("packets", "packet-hops", "a permutation through a fat tree", _packets),
    SpeedCase("workload", "trace nodes", "traces turned into a workload", _workload),
)
