"""Any traces at all either run to their end, never below the bound, or end in one of our errors."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import HocketError
from hocket.chakra import CollectiveType, NodeType, Trace, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, RemoteMemory, simulate_traces
from hocket.simulator.analysis import critical_path
from hocket.topology import ROUTINGS, Topology, load
from hocket.workload.accelerators import parse_accelerator

RANKS = 3
TOPOLOGY = load("switch:3,bandwidth=1GB/s,latency=1us")
ROUTED = Topology.from_links(
    "leaves",
    4,
    [
        (*ends, 10**6, 10**9)
        for a, b in [(0, 4), (0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 6), (4, 7), (5, 6), (5, 7)]
        for ends in ((a, b), (b, a))
    ],
    num_switches=4,
)
LINE = load("mesh:4,bandwidth=1GB/s,latency=1us")
CHIP = parse_accelerator("peak=1TFLOP/s,memory=2GB/s,efficiency=1")
MEMORY = RemoteMemory(latency_ps=10**6, bandwidth=10**9, ranks=2)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """A few nodes of any type whose attributes may or may not make sense."""
    builder = TraceBuilder()
    for _ in range(draw(st.integers(0, 5))):
        small = st.integers(-1, RANKS)
        builder.add(
            draw(st.sampled_from(NodeType)),
            "node",
            duration_ns=draw(st.integers(0, 5_000)),
            deps=draw(st.lists(st.integers(0, 5), max_size=2)),
            group=draw(st.sampled_from(["", "pair", "unknown"])),
            comm_type=draw(st.integers(-1, 10)),
            comm_bytes=draw(st.integers(-1, 5_000)),
            comm_src=draw(small),
            comm_dst=draw(small),
            comm_tag=draw(small),
            root=draw(small),
            num_ops=draw(st.integers(-1, 2**62)),
            tensor_bytes=draw(st.integers(-1, 2**62)),
            in_splits=draw(st.integers(-1, 0)),  # the text "node": no sizes
        )
    return builder.build()


@st.composite
def consistent_jobs(draw: st.DrawFn) -> TraceSet:
    """Every rank does the same collectives, uneven where they can be, with its own computations and loads from memory
    between them; they may overlap."""
    kinds = draw(st.lists(st.sampled_from(CollectiveType), min_size=1, max_size=4))
    sizes = [draw(st.lists(st.integers(0, 1_000), min_size=RANKS, max_size=RANKS)) for _ in kinds]
    overlap = [draw(st.booleans()) for _ in kinds]
    ranks = []
    for rank in range(RANKS):
        builder = TraceBuilder()
        last: tuple[int, ...] = ()
        for kind, parts, goes_on in zip(kinds, sizes, overlap, strict=True):
            work = builder.add_comp("work", duration_ns=draw(st.integers(0, 5_000)), deps=last)
            fetch = builder.add(NodeType.MEM_LOAD, "fetch", tensor_bytes=draw(st.integers(0, 5_000)), deps=last)
            own_block = kind in (CollectiveType.ALL_GATHER, CollectiveType.GATHER)
            size, splits = (parts[rank], []) if own_block or not any(parts) else (sum(parts), parts)
            deps = draw(st.sampled_from([(work,), (work, fetch)]))
            call = builder.add_collective("call", kind, size, deps=deps, root=1, in_splits=splits)
            last = (work,) if goes_on else (call,)
        ranks.append(builder.build())
    return TraceSet(tuple(ranks))


@settings(max_examples=150)
@given(
    st.lists(traces(), min_size=1, max_size=RANKS),
    st.sampled_from(["bound", "uncontended", "analytical", "congestion", "flow"]),
    st.sampled_from([None, MEMORY]),
)
def test_nonsense_ends_in_a_typed_error(ranks: list[Trace], model: str, memory: RemoteMemory | None) -> None:
    try:
        prediction = simulate_traces(
            TraceSet(tuple(ranks), {"pair": (0, 1)}),
            TOPOLOGY,
            fidelity=Fidelity(model),
            accelerator=CHIP,
            remote_memory=memory,
        )
    except HocketError:
        return
    assert (prediction.node_finish_ps >= prediction.node_start_ps).all()


@settings(max_examples=100)
@given(
    consistent_jobs(),
    st.sampled_from(["analytical", "congestion", "flow"]),
    st.sampled_from(["cut_through", "store_and_forward"]),
    st.sampled_from([1, 0]),
    st.permutations(range(4)),
)
def test_a_consistent_job_ends_and_is_not_below_its_bound(
    job: TraceSet, model: str, switching: str, sharing: int, places: list[int]
) -> None:
    memory = RemoteMemory(2 * 10**6, 10**9, sharing)
    where = places[:RANKS]
    prediction = simulate_traces(
        job, LINE, fidelity=Fidelity(model, switching=switching), remote_memory=memory, placement=where
    )
    assert not prediction.below_bound
    assert critical_path(prediction).duration_ps.sum() == prediction.time_ps
    least = simulate_traces(job, LINE, fidelity=Fidelity("bound"), remote_memory=memory, placement=where)
    assert least.time_ps == prediction.bound_ps
    assert (least.finish_ps <= prediction.finish_ps).all()


@settings(max_examples=100)
@given(
    consistent_jobs(),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5_000)), max_size=6),
    st.sampled_from(["analytical", "congestion", "flow"]),
    st.sampled_from(["cut_through", "store_and_forward"]),
    st.sampled_from([name for name in ROUTINGS if name != "dimension_order"]),
)
def test_no_routing_brings_a_job_below_its_bound(
    job: TraceSet, messages: list[tuple[int, int]], model: str, switching: str, routing: str
) -> None:
    sends, receives = TraceBuilder(), TraceBuilder()
    for tag, size in messages:
        sends.add(NodeType.COMM_SEND, "send", comm_src=0, comm_dst=1, comm_tag=tag, comm_bytes=size)
        receives.add(NodeType.COMM_RECV, "receive", comm_src=0, comm_dst=1, comm_tag=tag, comm_bytes=size)
    fidelity, bound = Fidelity(model, switching=switching, routing=routing), Fidelity("bound", routing=routing)
    memory = RemoteMemory(2 * 10**6, 10**9, 1)
    for traces, places in ((job, [0, 2, 3]), (TraceSet((sends.build(), receives.build())), [0, 2])):
        prediction = simulate_traces(traces, ROUTED, fidelity=fidelity, remote_memory=memory, placement=places)
        assert not prediction.below_bound
        assert critical_path(prediction).duration_ps.sum() == prediction.time_ps
        least = simulate_traces(traces, ROUTED, fidelity=bound, remote_memory=memory, placement=places)
        assert (least.finish_ps <= prediction.finish_ps).all()
