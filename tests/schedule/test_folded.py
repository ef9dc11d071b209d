"""Folded schedules: what is said of representatives holds of all transfers."""

import numpy as np
from homes import LINK

from hocket.schedule import (
    Collective,
    FoldedSchedule,
    Kind,
    Phase,
    Symmetry,
    TransferColumns,
    verify,
)
from hocket.topology import load

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
    # 4 chunks a rank in pieces of two, of 5 ranks
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
