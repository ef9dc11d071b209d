"""What ranks do over time: for each of some equal parts of it, what takes most of that part."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import StrEnum
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.analysis.rank_groups import RanksAlike, alike
from hocket.simulator.analysis.ranks import COMMUNICATION
from hocket.simulator.intervals import reached_ps
from hocket.simulator.prediction import Prediction
from hocket.simulator.workload import NodeKind

__all__ = ["RankPart", "RankTimeline", "rank_parts_ps", "rank_shares", "rank_timeline"]

_MOST_BINS = 240
_MOST_ROWS = 32
_MOST_RANKS = 1200  # that are told one by one
_WHOLE = 10_000  # to which shares are rounded, so that they take little memory


class RankPart(StrEnum):
    """What a rank does, by the letter that stands for it in a `RankTimeline`."""

    COMPUTE = "c"
    OVERLAPPED = "o"
    EXPOSED = "x"
    WAITING = "w"
    KERNEL = "k"
    IDLE = "i"


@dataclass(frozen=True, eq=False)
class RankTimeline:
    """`rows`: groups of ranks that do alike, or that follow each other, with a letter (`RankPart`) for each of the
    equal parts of the time; `ranks` the letters of every rank, where rows take several together that differ."""

    rows: tuple[tuple[RanksAlike, str], ...]
    ranks: tuple[str, ...] = ()


def rank_timeline(prediction: Prediction) -> RankTimeline:
    """The timeline of a prediction; without rows where it takes no time."""
    if prediction.time_ps <= 0:
        return RankTimeline(())
    workload = prediction.workload
    shares = workload.by_rank(np.rint(_shares(prediction, _MOST_BINS) * _WHOLE).astype(np.int16))
    count = shares.shape[2]
    groups = alike(np.rint(shares.reshape(-1, count) * (20 / _WHOLE)).astype(np.int8), _MOST_ROWS)
    rows = tuple((group, _letters(shares[:, :, group.ranks].mean(axis=2))) for group in groups)
    if len(groups) == count or count > _MOST_RANKS:
        return RankTimeline(rows)
    most = shares.argmax(axis=0)
    if all(np.ptp(most[:, group.ranks], axis=1).max() == 0 for group in groups):
        return RankTimeline(rows)
    return RankTimeline(rows, tuple(_letters(shares[:, :, rank]) for rank in range(count)))


def rank_parts_ps(ranks: Columns) -> NDArray[np.int64]:
    """Picoseconds that each rank spends as each `RankPart` says until it is done, from `rank_table`: parts x ranks."""
    overlapped, waiting = ranks["overlapped_ps"], ranks["exposed_wait_ps"]
    exposed = ranks["communication_ps"] - overlapped - waiting
    kernel = ranks.get("kernel_ps", np.zeros_like(waiting))  # of no JSON that an older Hocket wrote
    return np.stack([ranks["compute_ps"] - overlapped, overlapped, exposed, waiting, kernel, ranks["idle_ps"]])


def rank_shares(prediction: Prediction, bins: int) -> NDArray[np.float64]:
    """Shares of each of `bins` equal parts of the time that each rank of the job spends as each `RankPart` says, which
    add up to 1: parts x bins x ranks."""
    return prediction.workload.by_rank(_shares(prediction, bins))


def _letters(shares: NDArray[np.generic]) -> str:
    """Of what takes most of each bin: `shares` are parts x bins."""
    letters = [*RankPart]
    return "".join(letters[part] for part in shares.argmax(axis=0).tolist())


def _shares(prediction: Prediction, bins: int) -> NDArray[np.float64]:
    """`rank_shares` of the ranks that were simulated."""
    workload = prediction.workload
    edges = np.linspace(0, prediction.time_ps, bins + 1)
    start, finish = prediction.node_start_ps, prediction.node_finish_ps
    begun = np.clip(start[prediction.node_cause], start, finish)
    computing = workload.kind == NodeKind.COMPUTE
    communicating = np.isin(workload.kind, COMMUNICATION)

    def covered(*sets: tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.float64]:
        columns = [(workload.rank[rows], first[rows], last[rows]) for rows, first, last in sets]
        rank, first, last = (np.concatenate(column) for column in zip(*columns, strict=True))
        return _covered_bins(rank, first, last, workload.num_ranks, edges)

    work, active = (computing, start, finish), (communicating, begun, finish)
    compute, communicate, either = covered(work), covered(active), covered(work, active)
    all_of_it = covered(work, (communicating, start, finish))
    with_kernels = covered(work, (communicating | (workload.kind == NodeKind.DELAY), start, finish))
    both = compute + communicate - either
    parts = np.stack([compute - both, both, either - compute, all_of_it - either, with_kernels - all_of_it])
    parts = np.clip(parts / (edges[1] - edges[0]), 0, 1)
    idle = np.clip(1 - parts.sum(axis=0), 0, 1)
    return np.concatenate([parts, idle[None]]).transpose(0, 2, 1)


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
