"""Collectives whose blocks differ in size: times worked out by hand, and what is refused."""

from pathlib import Path

import pytest

from hocket.base.errors import ScheduleError, TraceError
from hocket.chakra import CollectiveType, Trace, TraceBuilder, TraceSet, read_traces, write_traces
from hocket.schedule import Collective, Kind, load, lower_bound, save, verify
from hocket.schedule.algorithms import build
from hocket.simulator import simulate_collective, simulate_schedule, simulate_traces
from hocket.topology import load as load_topology
from hocket.translator import lower

US = 10**6  # picoseconds
# A microsecond for 1000 bytes over a link, and a microsecond of latency.
STAR3 = load_topology("switch:3,bandwidth=1GB/s,latency=500ns")
MESH3 = load_topology("fully_connected:3,bandwidth=1GB/s,latency=1us")
RING3 = load_topology("ring:3,bandwidth=1GB/s,latency=1us")


def test_all_to_all_moves_each_block_at_its_size() -> None:
    blocks = [
        0, 3_000, 1_000,
        0, 0, 2_000,
        5_000, 0, 0,
    ]  # fmt: skip
    collective = Collective.uneven(Kind.ALL_TO_ALL, 3, blocks)
    # The largest buffer: what ranks 0 and 2 send, and rank 0 receives, are 4, 5 and 5 kB.
    assert collective.size_bytes == 5_000
    prediction = simulate_collective(collective, MESH3, "direct")
    # Every pair has a link: rank 0 ends with the 5 kB from rank 2, at 1 + 5 us, as does rank 2; rank 1 with its 3 kB.
    assert prediction.finish_ps.tolist() == [6 * US, 4 * US, 6 * US]
    assert prediction.link_messages.sum() == 4  # the two empty blocks do not travel
    assert prediction.link_bytes.sum() == 11_000
    assert 3_500_000 <= prediction.bound_ps <= 6 * US  # at least 5 kB into rank 0 over two links, and a latency
    assert not prediction.below_bound


def test_all_gather_passes_uneven_blocks_around_a_ring() -> None:
    collective = Collective.uneven(Kind.ALL_GATHER, 3, [1_000, 2_000, 6_000])
    assert collective.size_bytes == 9_000
    prediction = simulate_collective(collective, load_topology("ring:3,bandwidth=1GB/s,latency=0ns"), "ring")
    # Two hops each, without latency: the 6 kB come to rank 0 at 6 us and to rank 1 at 12 us, when all is done.
    assert prediction.time_ps == 12 * US


def test_reduce_scatter_and_gather_weigh_blocks_by_their_rank() -> None:
    # Rank 0's block comes in from both others, 2 x 4 kB over its one link, and a microsecond of latency. Nothing beats
    # the time in which rank 2 gets rid of its part of both blocks: 5 kB, and the latency to those who want them.
    scattered = simulate_collective(Collective.uneven(Kind.REDUCE_SCATTER, 3, [4_000, 1_000, 0]), STAR3, "direct")
    assert (scattered.time_ps, scattered.bound_ps) == (9 * US, pytest.approx(6 * US, abs=10))
    gathered = simulate_collective(Collective.uneven(Kind.GATHER, 3, [7_000, 1_000, 2_000], root=0), STAR3, "direct")
    # 1 + 2 kB into rank 0 behind both links' latencies.
    assert (gathered.time_ps, gathered.bound_ps) == (4 * US, pytest.approx(4 * US, abs=10))
    nothing = simulate_collective(Collective.uneven(Kind.GATHER, 3, [7_000, 0, 0], root=0), STAR3, "direct")
    assert nothing.time_ps == nothing.bound_ps == 0


def test_blocks_are_cut_into_exact_chunks() -> None:
    collective = Collective.uneven(Kind.ALL_GATHER, 3, [7, 0, 2**53 + 1], chunks_per_rank=2)
    assert collective.chunk_bytes.tolist() == [3, 4, 0, 0, 2**52, 2**52 + 1]
    assert collective.sent.tolist() == [True, True, False, False, True, True]


def test_a_late_rank_holds_up_only_those_it_sends_to() -> None:
    """A bound that waited for everybody would be above the result."""
    collective = Collective.uneven(Kind.ALL_TO_ALL, 3, [0, 9_000, 0, 9_000, 0, 0, 0, 0, 0])
    prediction = simulate_collective(collective, MESH3, "direct")
    assert prediction.finish_ps.tolist() == [10 * US, 10 * US, 0]


def test_schedules_of_uneven_collectives_verify_save_and_serve(tmp_path: Path) -> None:
    collective = Collective.uneven(Kind.ALL_TO_ALL, 3, range(9))
    schedule = build("direct", collective, RING3)
    verify(schedule)
    path = tmp_path / "a2a.schedule"
    save(schedule, path)
    assert load(path).collective.block_bytes == tuple(range(9))
    even = tmp_path / "even.schedule"
    save(build("direct", Collective(Kind.ALL_TO_ALL, 3, 300), RING3), even)
    served = simulate_collective(collective, RING3, str(even))
    assert served.time_ps == simulate_schedule(schedule).time_ps
    assert lower_bound(collective, RING3).time_ps <= served.time_ps
    with pytest.raises(ScheduleError, match="all_to_all of uneven blocks: MSCCL programs cut buffers into equal"):
        lower(schedule, "msccl")


@pytest.mark.parametrize(
    ("kind", "blocks", "message"),
    [
        (Kind.ALL_REDUCE, [1, 2, 3], "all_reduce: its ranks' sizes cannot differ"),
        (Kind.ALL_TO_ALL, [1, 2, 3], "all_to_all of 3 ranks has 9 blocks, got the sizes of 3"),
        (Kind.GATHER, [1, -2, 3], "must not be negative, got -2"),
    ],
)
def test_wrong_blocks_are_refused(kind: Kind, blocks: list[int], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        Collective.uneven(kind, 3, blocks)
    with pytest.raises(ScheduleError, match="size_bytes is 5, but the blocks make 6"):
        Collective(Kind.GATHER, 3, 5, block_bytes=(1, 2, 3))


def job(kind: CollectiveType, sizes: list[int], splits: list[list[int]], root: int = -1) -> TraceSet:
    """Traces of ranks that do one collective: bytes of each rank's input, and how it is cut."""
    traces: list[Trace] = []
    for size, cut in zip(sizes, splits, strict=True):
        builder = TraceBuilder()
        builder.add_collective("c", kind, size, root=root, in_splits=cut)
        traces.append(builder.build())
    return TraceSet(tuple(traces))


NONE: list[list[int]] = [[], [], []]


@pytest.mark.parametrize(
    ("traces", "kind", "blocks"),
    [
        # Rows of 10 bytes; rank 1, without splits, cuts evenly.
        (
            job(CollectiveType.ALL_TO_ALL, [60, 90, 10], [[1, 2, 3], [], [0, 0, 1]]),
            Kind.ALL_TO_ALL, (10, 20, 30, 30, 30, 30, 0, 0, 10),
        ),
        (job(CollectiveType.ALL_TO_ALL, [3, 4, 0], NONE), Kind.ALL_TO_ALL, (1, 1, 1, 1, 1, 2, 0, 0, 0)),
        (job(CollectiveType.ALL_GATHER, [10, 0, 7], NONE), Kind.ALL_GATHER, (10, 0, 7)),
        (job(CollectiveType.GATHER, [10, 0, 7], NONE, root=1), Kind.GATHER, (10, 0, 7)),
        (job(CollectiveType.REDUCE_SCATTER, [60] * 3, [[1, 2, 3]] * 3), Kind.REDUCE_SCATTER, (10, 20, 30)),
        (job(CollectiveType.SCATTER, [0, 60, 0], [[], [1, 2, 3], []], root=1), Kind.SCATTER, (10, 20, 30)),
    ],
)  # fmt: skip
def test_traces_say_the_sizes_of_blocks(traces: TraceSet, kind: Kind, blocks: tuple[int, ...], tmp_path: Path) -> None:
    write_traces(tmp_path, traces)
    prediction = simulate_traces(read_traces(tmp_path), RING3)
    assert [call.block_bytes for call in prediction.workload.calls] == [blocks]
    alone = Collective.uneven(kind, 3, blocks, root=1 if kind in (Kind.GATHER, Kind.SCATTER) else 0)
    assert prediction.time_ps == simulate_collective(alone, RING3, prediction.collectives[0].algorithm).time_ps
    assert ("spread evenly" in " ".join(prediction.notes)) == (blocks == (1, 1, 1, 1, 1, 2, 0, 0, 0))


def test_blocks_that_turn_out_equal_are_an_even_collective() -> None:
    prediction = simulate_traces(job(CollectiveType.ALL_TO_ALL, [30] * 3, [[5, 5, 5]] * 3), RING3)
    assert [(call.size_bytes, call.block_bytes) for call in prediction.workload.calls] == [(30, None)]


@pytest.mark.parametrize(
    ("sizes", "splits", "message"),
    [
        ([60] * 3, [[1, 2], [], []], r"rank 0: node 0 \(c\): in_split_size is '\[1, 2\]', expected 3 sizes"),
        ([60] * 3, [[], [1, 2, -3], []], r"rank 1: node 0 \(c\): in_split_size is '\[1, 2, -3\]', expected 3 sizes"),
        ([61] * 3, [[1, 2, 3]] * 3, "comm_size is 61, no multiple of the 6 of in_split_size"),
        ([6] * 3, [[0, 0, 0]] * 3, "comm_size is 6, no multiple of the 0 of in_split_size"),
        (
            [6] * 3,
            [[1, 2, 3], [1, 2, 3], [3, 2, 1]],
            r"in_split_size is \[3, 2, 1\], but \[1, 2, 3\] in rank 0: node 0",
        ),
    ],
)
def test_wrong_splits_are_refused(sizes: list[int], splits: list[list[int]], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        simulate_traces(job(CollectiveType.REDUCE_SCATTER, sizes, splits), RING3)
