"""Any traces at all either run to their end, never below the bound, or end in one of our errors."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.chakra import CollectiveType, NodeType, Trace, TraceBuilder, TraceSet
from hocket.core.errors import HocketError
from hocket.simulator import simulate_traces
from hocket.topology import load

RANKS = 3
TOPOLOGY = load("switch:3,bandwidth=1GB/s,latency=1us")


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
        )
    return builder.build()


@st.composite
def consistent_jobs(draw: st.DrawFn) -> TraceSet:
    """Every rank does the same collectives with its own computations between them; they may overlap."""
    kinds = draw(st.lists(st.sampled_from(CollectiveType), min_size=1, max_size=4))
    sizes = [draw(st.integers(0, 5_000)) for _ in kinds]
    overlap = [draw(st.booleans()) for _ in kinds]
    ranks = []
    for _ in range(RANKS):
        builder = TraceBuilder()
        last: tuple[int, ...] = ()
        for kind, size, goes_on in zip(kinds, sizes, overlap, strict=True):
            work = builder.add_comp("work", duration_ns=draw(st.integers(0, 5_000)), deps=last)
            call = builder.add_collective("call", kind, size, deps=(work,), root=1)
            last = (work,) if goes_on else (call,)
        ranks.append(builder.build())
    return TraceSet(tuple(ranks))


@settings(deadline=None, max_examples=150)
@given(st.lists(traces(), min_size=1, max_size=RANKS), st.sampled_from(["bound", "analytical", "congestion"]))
def test_nonsense_ends_in_a_typed_error(ranks: list[Trace], model: str) -> None:
    try:
        prediction = simulate_traces(TraceSet(tuple(ranks), {"pair": (0, 1)}), TOPOLOGY, model=model)
    except HocketError:
        return
    assert (prediction.node_finish_ps >= prediction.node_start_ps).all()


@settings(deadline=None, max_examples=60)
@given(consistent_jobs(), st.sampled_from(["cut_through", "store_and_forward"]))
def test_a_consistent_job_ends_and_is_not_below_its_bound(job: TraceSet, switching: str) -> None:
    prediction = simulate_traces(job, TOPOLOGY, switching=switching)
    assert not prediction.below_bound
    least = simulate_traces(job, TOPOLOGY, model="bound")
    assert least.time_ps == prediction.bound_ps
    assert (least.finish_ps <= prediction.finish_ps).all()
