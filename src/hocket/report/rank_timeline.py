"""What ranks do over time: a row per rank, or a group of ranks that do alike."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_time
from hocket.report.blocks import Block, Details, Figure
from hocket.report.charts import Chart, Span, TimeRow, span_chart
from hocket.report.figures import PARTS
from hocket.report.rank_groups import RanksAlike, alike
from hocket.simulator import Prediction
from hocket.simulator.analysis.ranks import COMMUNICATION
from hocket.simulator.intervals import reached_ps
from hocket.simulator.workload import NodeKind

__all__ = ["rank_shares", "rank_timeline"]

_BINS = 240
_MOST_ROWS = 32
_MOST_RANKS = 1200  # that are drawn one by one, on demand
_NAMES = tuple(PARTS)


def rank_timeline(prediction: Prediction) -> Iterator[Block]:
    """The timeline of a prediction that takes some time, and behind a line every rank's where it has groups."""
    shares = rank_shares(prediction, _BINS)
    most = shares.argmax(axis=0)
    groups = alike(np.rint(shares.reshape(-1, shares.shape[2]) * 20).astype(np.int64), _MOST_ROWS)
    ranks = prediction.workload.job_ranks
    together = " A row is a group of ranks that do alike, or that follow each other." if len(groups) < ranks else ""
    yield Figure(
        _chart(prediction.time_ps, shares, groups, 20),
        f"Time from left to right; each of {_BINS} parts of it has the colour of what takes most of it.{together}"
        " Waiting: in a collective or at a receive, before the last rank has come. Idle: none of these.",
    )
    if len(groups) < ranks <= _MOST_RANKS and not all(
        np.ptp(most[:, group.ranks], axis=1).max() == 0 for group in groups
    ):
        each = [RanksAlike(np.array([rank])) for rank in range(ranks)]
        yield Details("Every rank", [Figure(_chart(prediction.time_ps, shares, each, 5), "A row per rank, from 0 on.")])


def rank_shares(prediction: Prediction, bins: int) -> NDArray[np.float64]:
    """Shares of each of `bins` equal parts of the time that each rank of the job spends as `PARTS` says, which add up
    to 1: parts x bins x ranks."""
    workload = prediction.workload
    edges = np.linspace(0, prediction.time_ps, bins + 1)
    start, finish = prediction.node_start_ps, prediction.node_finish_ps
    begun = np.minimum(np.maximum(start[prediction.node_cause], start), finish)
    computing = workload.kind == NodeKind.COMPUTE
    communicating = np.isin(workload.kind, COMMUNICATION)

    def covered(*sets: tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.float64]:
        columns = [(workload.rank[rows], first[rows], last[rows]) for rows, first, last in sets]
        rank, first, last = (np.concatenate(column) for column in zip(*columns, strict=True))
        return _covered_bins(rank, first, last, workload.num_ranks, edges)

    work, active = (computing, start, finish), (communicating, begun, finish)
    compute, communicate, either = covered(work), covered(active), covered(work, active)
    all_of_it = covered(work, (communicating, start, finish))
    both = compute + communicate - either
    parts = np.stack([compute - both, both, either - compute, all_of_it - either])
    parts = np.clip(parts / (edges[1] - edges[0]), 0, 1)
    idle = np.clip(1 - parts.sum(axis=0), 0, 1)
    shares: NDArray[np.float64] = np.concatenate([parts, idle[None]]).transpose(0, 2, 1)
    return workload.by_rank(shares)


def _covered_bins(
    owner: NDArray[np.integer],
    start: NDArray[np.int64],
    finish: NDArray[np.int64],
    num_owners: int,
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Picoseconds that the intervals of each owner cover of what is between the edges: owners x bins."""
    covered = np.zeros((num_owners, len(edges) - 1))
    order = np.lexsort((start, owner))
    owner, start, finish = owner[order], start[order], finish[order]
    if not len(owner):
        return covered
    until = reached_ps(owner, finish)
    same = np.append(False, owner[1:] == owner[:-1])
    before = np.where(same, np.concatenate([until[:1], until[:-1]]), start)
    first = np.minimum(np.maximum(start, before), until)  # what is covered already begins no new time
    borders = np.searchsorted(owner, np.arange(num_owners + 1))
    for each in range(num_owners):
        rows = slice(borders[each], borders[each + 1])
        length = until[rows] - first[rows]
        if len(length):
            total = np.concatenate([[0], np.cumsum(length)])
            at = np.stack([first[rows], until[rows]], axis=1).reshape(-1)
            sums = np.stack([total[:-1], total[1:]], axis=1).reshape(-1)
            covered[each] = np.diff(np.interp(edges, at, sums))
    return covered


def _chart(time_ps: int, shares: NDArray[np.float64], groups: Sequence[RanksAlike], row_height: float) -> Chart:
    rows = []
    edges = np.linspace(0, time_ps, shares.shape[1] + 1)
    for group in groups:
        mean = shares[:, :, group.ranks].mean(axis=2)
        most = mean.argmax(axis=0)
        border = np.flatnonzero(np.diff(most, prepend=-1, append=-1))
        spans = [
            Span(_NAMES[most[first]], float(edges[first]), float(edges[last]))
            for first, last in zip(border[:-1].tolist(), border[1:].tolist(), strict=True)
        ]
        said = [
            f"{name} {format_time(share * time_ps)} ({share:.0%})"
            for name, share in zip(_NAMES, mean.mean(axis=1).tolist(), strict=True)
            if share >= 0.0005
        ]
        rows.append(TimeRow(group.name, spans, "\n".join([group.name, *said])))
    return span_chart(rows, time_ps, PARTS, "what ranks do over time", row_height)
