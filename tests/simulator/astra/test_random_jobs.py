"""Any job has one result, or an error that says why; ranks that call the same collectives in the same order finish."""

from typing import Any

import msgspec
from astra_inputs import SYSTEM
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import HocketError
from hocket.chakra import CollectiveType, NodeType, Trace, TraceBuilder, TraceSet
from hocket.simulator.astra import AstraBackend, AstraDimension, AstraSetup, SystemFile, simulate_astra
from hocket.simulator.astra.system import MemoryFile

RANKS = 4
small = st.integers(-1, 5)
attributes = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(list(NodeType)),
        "duration_ns": st.integers(0, 9_000),
        "comm_type": st.integers(-1, 10),
        "comm_bytes": st.integers(-1, 1 << 51),
        "comm_src": small,
        "comm_dst": small,
        "comm_tag": small,
        "num_ops": st.integers(-1, 1 << 60),
        "tensor_bytes": st.integers(-1, 1 << 60),
        "involved_dims": st.integers(-1, 7),
        "is_cpu_op": st.booleans(),
        "deps": st.lists(st.integers(0, 5), max_size=2),
        "group": st.sampled_from(["", "", "1", "2", "x"]),
    }
)
algorithms = st.sampled_from(["ring", "direct", "direct2", "halvingDoubling", "doubleBinaryTree", "oneRing"])


def setup_of(algorithm: str, backend: AstraBackend, **changes: Any) -> AstraSetup:
    """A ring of four ranks."""
    kinds = {f"{kind}-implementation": [algorithm] for kind in ("all-reduce", "all-gather", "reduce-scatter")}
    system = msgspec.convert(SYSTEM | kinds | changes, SystemFile)
    memory = MemoryFile("MEMORY_POOL", 100, 1)
    return AstraSetup((AstraDimension("Ring", RANKS, 50.0, 500.0),), system, memory, backend)


@given(
    st.lists(st.lists(attributes, min_size=1, max_size=4), min_size=RANKS, max_size=RANKS),
    algorithms,
    st.sampled_from(AstraBackend),
    st.booleans(),
)
def test_any_job_runs_or_says_why_not(
    ranks: list[list[dict[str, Any]]], algorithm: str, backend: AstraBackend, roofline: bool
) -> None:
    builders = [TraceBuilder() for _ in ranks]
    for builder, nodes in zip(builders, ranks, strict=True):
        for node in nodes:
            values = dict(node)
            builder.add(values.pop("kind"), "n", **values)
    traces = TraceSet(tuple(builder.build() for builder in builders), {"1": (0, 1, 2, 3), "2": (3, 1)})
    setup = setup_of(algorithm, backend, **{"roofline-enabled": int(roofline), "peak-perf": 1})
    try:
        prediction = simulate_astra(traces, setup)
    except HocketError:
        return
    again = simulate_astra(traces, setup)
    assert prediction.as_json() == again.as_json()
    assert (prediction.finish_ns >= 0).all()


def same_calls(calls: list[tuple[CollectiveType, int]]) -> Trace:
    """The collectives one after another, with computation between them."""
    builder = TraceBuilder()
    last: list[int] = []
    for kind, size in calls:
        last = [builder.add_comp("c", duration_ns=3_000, deps=last)]
        last = [builder.add_collective("c", kind, size, deps=last)]
    return builder.build()


kinds = st.sampled_from([CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.REDUCE_SCATTER])


@given(
    st.lists(st.tuples(kinds, st.integers(4, 1 << 40)), min_size=1, max_size=4),
    algorithms,
    st.sampled_from(AstraBackend),
)
def test_ranks_that_agree_finish_and_computation_is_not_exposed(
    calls: list[tuple[CollectiveType, int]], algorithm: str, backend: AstraBackend
) -> None:
    prediction = simulate_astra(TraceSet((same_calls(calls),) * RANKS), setup_of(algorithm, backend))
    assert (prediction.compute_ns == 3_000 * len(calls)).all()
    assert prediction.exposed_ns == (prediction.finish_ns - 3_000 * len(calls)).tolist()
    assert (prediction.finish_ns > 3_000 * len(calls)).all()
