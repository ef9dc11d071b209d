"""Ranks that do the same are run as one; that must give what running all of them gives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from astra_inputs import SYSTEM
from hypothesis import given
from hypothesis import strategies as st

from hocket._core import astra as engine
from hocket.base.errors import HocketError
from hocket.bench.astra_sim_equality import agrees, predict, rows_of, setup_of, trace_of
from hocket.chakra import CollectiveType, Trace, TraceBuilder, TraceSet
from hocket.simulator.astra import AstraBackend, AstraDimension, AstraPrediction, AstraSetup, SystemFile, simulate_astra
from hocket.simulator.astra.collectives import Collectives
from hocket.simulator.astra.program import columns_of_one


@dataclass
class Job:
    trace: Trace
    setup: AstraSetup


def as_one(job: Job) -> AstraPrediction:
    return simulate_astra(TraceSet((job.trace,) * job.setup.num_ranks), job.setup)


def all_ranks(job: Job) -> AstraPrediction:
    """The same with one rank that differs in a column that compatibility mode does not read."""
    odd = replace(job.trace, root=np.full_like(job.trace.root, 7))
    return simulate_astra(TraceSet((odd, *(job.trace,) * (job.setup.num_ranks - 1))), job.setup)


def is_run_as_one(job: Job) -> bool:
    nodes, kept = columns_of_one(job.trace, (), bool(job.setup.system.replay_only))
    columns = dict(kept)
    Collectives(nodes, columns, job.setup)
    return engine.simulate_alike(job.setup.native, engine.Program(**columns)) is not None


def outcome(prediction: AstraPrediction) -> tuple[Any, ...]:
    """All but the number of events."""
    return (
        prediction.finish_ns.tolist(),
        prediction.compute_ns.tolist(),
        prediction.messages,
        prediction.notes,
    )


SHAPES = ("Ring", "FullyConnected", "Switch")
KINDS = (
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL,
)
ALGORITHMS = ("ring", "ring", "direct", "direct2", "direct1", "halvingDoubling", "doubleBinaryTree")
# Few and small values, so that things often happen at one instant.
sizes = st.sampled_from([4, 1000, 4096, 65536, 65537, 1 << 20])


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    backend = draw(st.sampled_from([AstraBackend.ANALYTICAL, AstraBackend.ANALYTICAL, AstraBackend.CONGESTION]))
    most = 1 if backend is AstraBackend.CONGESTION else 3
    lengths = draw(st.lists(st.sampled_from([2, 3, 4]), min_size=1, max_size=most))
    if backend is AstraBackend.CONGESTION:
        lengths = [draw(st.integers(3, 8))]
    bandwidths, latencies = st.sampled_from([1.0, 50.0]), st.sampled_from([0.0, 10.0, 500.0])
    dimensions = tuple(
        AstraDimension(draw(st.sampled_from(SHAPES)), n, draw(bandwidths), draw(latencies)) for n in lengths
    )
    flat = draw(st.booleans())
    system: dict[str, object] = {
        "scheduling-policy": draw(st.sampled_from(["LIFO", "FIFO", "EXPLICIT"])),
        "collective-optimization": draw(st.sampled_from(["baseline", "localBWAware"])),
        "preferred-dataset-splits": draw(st.integers(1, 7)),
        "active-chunks-per-dimension": draw(st.integers(1, 4)),
        "endpoint-delay": draw(st.sampled_from([0, 1, 10, 500])),
        "local-mem-bw": draw(st.sampled_from([0, 1, 1600])),
    }
    for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all"):
        chosen = [draw(st.sampled_from(ALGORITHMS)) for _ in dimensions]
        if flat and chosen[0] != "doubleBinaryTree":
            chosen = ["one" + chosen[0][0].upper() + chosen[0][1:]]
        system[f"{kind}-implementation"] = chosen
    setup = AstraSetup(
        dimensions,
        msgspec.convert(SYSTEM | system, SystemFile),
        backend=backend,
        queues_per_dimension=draw(st.sampled_from([1, 1, 2, 4])),
        rendezvous=draw(st.sampled_from([False, False, False, True])),
    )
    return Job(draw(traces()), setup)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Collectives and computations of the processor and the accelerator, after some of those before them."""
    builder = TraceBuilder()
    for node in range(draw(st.integers(1, 5))):
        deps: Sequence[int] = draw(st.lists(st.integers(0, node - 1), max_size=2, unique=True)) if node else []
        is_cpu_op = draw(st.sampled_from([False, False, False, True]))
        if draw(st.integers(0, 2)):
            priority = draw(st.integers(0, 2))
            kind = draw(st.sampled_from(KINDS))
            builder.add_collective("c", kind, draw(sizes), comm_priority=priority, is_cpu_op=is_cpu_op, deps=deps)
        else:
            builder.add_comp("w", duration_ns=draw(st.sampled_from([0, 1_000, 2_000])), is_cpu_op=is_cpu_op, deps=deps)
    return builder.build()


@given(jobs())
def test_one_for_all_gives_what_all_give(job: Job) -> None:
    try:
        expected = outcome(all_ranks(job))
    except HocketError as error:
        with pytest.raises(type(error)):
            as_one(job)
        return
    assert outcome(as_one(job)) == expected


def ring(ranks: int, **system: object) -> Job:
    builder = TraceBuilder()
    builder.add_collective("all", CollectiveType.ALL_REDUCE, 1 << 30)
    file = msgspec.convert(SYSTEM | system, SystemFile)
    return Job(builder.build(), AstraSetup((AstraDimension("Ring", ranks, 50.0, 500.0),), file))


def test_many_ranks_take_a_rank_s_events() -> None:
    # 16 chunks of 64 MiB, messages of 16384 B: 500 + 305 ns; 4095 of 8190 steps reduce for 3 * 10 ns.
    prediction = as_one(ring(4096, **{"preferred-dataset-splits": 16}))
    assert set(prediction.finish_ns.tolist()) == {16 * (10 + 8190 * (805 + 10) + 4095 * 30)}
    assert prediction.messages == 16 * 4096 * 8190
    assert prediction.events == 16  # phases


def test_a_tree_gives_ranks_different_parts() -> None:
    job = ring(8, **{"all-reduce-implementation": ["doubleBinaryTree"]})
    assert not is_run_as_one(job)
    assert outcome(as_one(job)) == outcome(all_ranks(job))


def test_traces_of_equal_content_are_one(tmp_path: Path) -> None:
    job = ring(4)
    copies = tuple(replace(job.trace, start_us=job.trace.start_us + rank) for rank in range(4))
    assert simulate_astra(TraceSet(copies), job.setup).events == as_one(job).events == 4
    assert all_ranks(job).events > 4


@pytest.mark.shared
@pytest.mark.parametrize(("sweep", "least"), [("a_seed000", 1.0), ("c_seed002", 0.85), ("e_congestion_aware", 0.6)])
def test_recorded_sweeps_as_one_and_as_all(shared: Path, sweep: str, least: float) -> None:
    rows = list(rows_of(shared / "astra_sim" / f"{sweep}.csv"))
    as_ones = sum(is_run_as_one(Job(trace_of(row), setup_of(row))) for row in rows)
    assert as_ones >= least * len(rows)
    assert all(agrees(row, predict(row)) for row in rows)
    for row in rows[:: len(rows) // 30]:
        job = Job(trace_of(row), setup_of(row))
        assert outcome(as_one(job)) == outcome(all_ranks(job))
