"""Folded schedules: what is said of representatives holds of all transfers."""

from dataclasses import replace

import numpy as np
import pytest
from folding import folded_schedules
from homes import LINK
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import (
    Bound,
    Collective,
    FoldedSchedule,
    Kind,
    Phase,
    Schedule,
    Symmetry,
    TransferColumns,
    concatenate,
    reverse,
    verify,
)
from hocket.topology import Topology, load

STEP_PS = 500_000 + 20  # a chunk of 1 byte over 500 ns and 50 GB/s, 20 ps a byte


def ring_gather(n: int, chunks: int = 1) -> FoldedSchedule:
    """all_gather on a two-way ring, by the clockwise links into rank 0: over the last of them come, one after the
    other, the chunks of the ranks n-1, n-2, ..., 1."""
    topology = load(f"ring:{n},{LINK}")
    into = np.flatnonzero((topology.dst == 0) & (topology.src == n - 1))[:1].astype(np.int32)
    rank = np.arange(n - 1, 0, -1)
    chunk = (rank[:, None] * chunks + np.arange(chunks)).ravel().astype(np.int32)
    start_ps = (np.arange(n - 1)[:, None] * max(STEP_PS, chunks * 20) + np.arange(chunks) * 20).ravel()
    phase = Phase(np.array([0, 1]), into, TransferColumns(chunk, np.zeros(len(chunk), np.int32), start_ps))
    collective = Collective(Kind.ALL_GATHER, n, n * chunks, chunks)
    return FoldedSchedule(collective, topology, Symmetry.shifts(n), (phase,), False, None, "test", 0)


def test_one_link_says_what_all_do() -> None:
    schedule = ring_gather(5, chunks=2)
    # 4 chunks per rank in pieces of two, of 5 ranks
    assert (schedule.num_representatives, schedule.num_transfers) == (8, 40)
    # 4 hops, and the second piece 20 ps behind the first
    assert schedule.time_ps == 4 * STEP_PS + 20
    report = verify(schedule)
    assert (report.num_transfers, report.time_ps, report.wire_bytes) == (40, schedule.time_ps, 40)
    # every clockwise link carries 8 bytes, the others none
    assert sorted(report.link_busy_ps.tolist()) == [0] * 5 + [160] * 5
    assert schedule.busiest_link_ps == 159  # rounded down
    expanded = schedule.expand()
    assert verify(expanded).describe() == report.describe()
    assert verify(expanded).link_busy_ps.tolist() == report.link_busy_ps.tolist()


@settings(max_examples=150)
@given(folded_schedules())
def test_what_is_right_folded_is_right_spelled_out(schedule: FoldedSchedule) -> None:
    folded, expanded = verify(schedule), schedule.expand()
    whole = verify(expanded)
    assert folded.num_transfers == whole.num_transfers == expanded.num_transfers
    last = schedule.phases[-1]
    assert isinstance(last.transfers, TransferColumns)
    idle_ps = last.transfers.start_ps[0] if last.mirrored else 0  # times of a mirrored phase count from its end
    assert folded.time_ps == schedule.time_ps == whole.time_ps + idle_ps
    # chunks count as the largest here, so each byte of a remainder once more on every hop
    assert 0 <= folded.wire_bytes - whole.wire_bytes <= folded.num_transfers
    assert (folded.link_busy_ps >= whole.link_busy_ps).all()
    assert schedule.busiest_link_ps >= expanded.busiest_link_ps


def _mutate(columns: TransferColumns, num_routes: int, num_chunks: int, data: st.DataObject) -> TransferColumns:
    """One transfer less, or with another chunk, route or start; in the order of starts."""
    chunk, route, start_ps = columns.chunk.copy(), columns.route.copy(), columns.start_ps.copy()
    at = data.draw(st.integers(0, len(chunk) - 1))
    what = data.draw(st.sampled_from(["chunk", "route", "start", "less"]))
    if what == "chunk":
        chunk[at] = data.draw(st.integers(0, num_chunks - 1))
    elif what == "route":
        route[at] = data.draw(st.integers(0, num_routes - 1))
    elif what == "start":
        start_ps[at] = max(0, start_ps[at] + data.draw(st.sampled_from([-2000, -11, -5, -1, 1, 5, 2000])))
    else:
        chunk, route, start_ps = (np.delete(column, at) for column in (chunk, route, start_ps))
    order = np.argsort(start_ps, kind="stable")
    return TransferColumns(chunk[order], route[order], start_ps[order])


def _delivers_twice(schedule: Schedule) -> bool:
    """Whether a rank gets a chunk again, or has it from the begin; sends it again, where chunks go point to point."""
    collective = schedule.collective
    if collective.kind is Kind.ALL_TO_ALL:
        pairs = set(zip(schedule.chunk.tolist(), schedule.src.tolist(), strict=True))
        return len(pairs) < schedule.num_transfers
    holds = [(chunk, rank) for chunk, rank in enumerate(collective.origin.tolist())]
    pairs = [*holds, *zip(schedule.chunk.tolist(), schedule.dst.tolist(), strict=True)]
    return len(set(pairs)) < len(pairs)


@settings(max_examples=300)
@given(folded_schedules(remainders=False), st.data())
def test_what_is_wrong_folded_is_wrong_spelled_out(schedule: FoldedSchedule, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(schedule.phases) - 1))
    phase = schedule.phases[number]
    if len(phase.transfers) == 0:
        return
    assert isinstance(phase.transfers, TransferColumns)
    columns = _mutate(phase.transfers, phase.num_routes, schedule.collective.num_chunks, data)
    phases = list(schedule.phases)
    phases[number] = replace(phase, transfers=columns)
    changed = replace(schedule, phases=tuple(phases))
    try:
        verify(changed)
    except ScheduleError as error:
        assert str(error)
        with pytest.raises(ScheduleError):
            expanded = changed.expand()
            verify(expanded)
            if _delivers_twice(expanded):
                raise ScheduleError("which Schedule allows") from None
    else:
        verify(changed.expand())


def test_backwards_it_sums_up_on_the_reversed_topology() -> None:
    gather = ring_gather(5, chunks=2)
    scatter = reverse(gather)
    assert scatter.collective.kind is Kind.REDUCE_SCATTER
    assert verify(scatter).time_ps == gather.time_ps
    assert verify(scatter.expand()).describe() == verify(scatter).describe()
    with pytest.raises(ScheduleError, match="topology differs"):
        concatenate(scatter, gather, replace(gather.collective, kind=Kind.ALL_REDUCE))
    with pytest.raises(ScheduleError, match="expand"):
        concatenate(gather, gather.expand(), gather.collective)


def test_both_halves_are_an_all_reduce() -> None:
    gather = ring_gather(5)
    whole = replace(gather.collective, kind=Kind.ALL_REDUCE)
    # the links of the reversed ring lead the other way around; those of the ring itself that do carry the first half
    back = replace(gather, topology=gather.topology.reversed())
    (phase,) = back.phases
    into = np.flatnonzero((back.topology.dst == 0) & (back.topology.src == 4))[:1].astype(np.int32)
    back = replace(back, phases=(replace(phase, route_links=into),))
    scatter = replace(reverse(back), topology=gather.topology)
    both = concatenate(scatter, gather, whole)
    report = verify(both)
    # 2 * 4 steps; each of 5 ranks sends its sum of 4 chunks and passes on 4 chunks
    assert (report.time_ps, report.num_transfers) == (8 * STEP_PS, 2 * 4 * 5)
    assert verify(both.expand()).describe() == report.describe()


def test_refuses_a_topology_without_the_symmetry() -> None:
    schedule = ring_gather(5)
    topology = schedule.topology
    slower = topology.bandwidth.copy()
    slower[3] -= 1
    lame = replace(schedule, topology=replace(topology, bandwidth=slower))
    with pytest.raises(ScheduleError, match=r"does not have the symmetry of the schedule \(shift of 5\)"):
        verify(lame)


def over_switches(topology: Topology, route: list[int], chunks: list[int]) -> FoldedSchedule:
    """The chunks one after the other over a route into rank 0."""
    columns = TransferColumns(
        np.array(chunks, np.int32), np.zeros(len(chunks), np.int32), np.arange(len(chunks)) * 10**7
    )
    phase = Phase(np.array([0, len(route)]), np.array(route, np.int32), columns)
    n = topology.num_ranks
    return FoldedSchedule(
        Collective(Kind.ALL_GATHER, n, n), topology, Symmetry.shifts(n), (phase,), False, None, "test", 0
    )


def test_routes_go_over_switches() -> None:
    topology = load(f"switch:4,{LINK}")
    up, down = (int(np.flatnonzero(ends)[0]) for ends in (topology.src == 1, topology.dst == 0))
    # a ring over the switch: from rank 1 come its own chunk and those it got before
    assert verify(over_switches(topology, [up, down], [1, 2, 3])).num_transfers == 12


def test_refuses_links_that_images_share() -> None:
    # ranks 0 and 1 send to switch 2 and receive from switch 3; one link leads from the one to the other
    ends = [(0, 2), (2, 3), (3, 1), (1, 2), (3, 0)]
    topology = Topology.from_links("pair", 2, [(src, dst, 0, 10**9) for src, dst in ends], num_switches=2)
    with pytest.raises(ScheduleError, match="images of a transfer share a link"):
        verify(over_switches(topology, [3, 1, 4], [1]))


def test_refuses_what_cannot_be_folded() -> None:
    schedule = ring_gather(4)
    with pytest.raises(ScheduleError, match="gather cannot be folded"):
        replace(schedule, collective=replace(schedule.collective, kind=Kind.GATHER))
    with pytest.raises(ScheduleError, match="does not fit"):
        replace(schedule, collective=replace(schedule.collective, num_ranks=3))
    with pytest.raises(ScheduleError, match="broadcast has a root"):
        replace(schedule, collective=replace(schedule.collective, kind=Kind.BROADCAST))


def test_a_time_below_the_bound_is_refused() -> None:
    schedule = replace(ring_gather(4), bound=Bound(10**9, "a mistake"))
    with pytest.raises(ScheduleError, match="less than its lower bound"):
        verify(schedule)
