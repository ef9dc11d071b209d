"""Which part of a prediction a timeline shows: what is asked for, and of the rest as much as viewers open well."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.text import clipped
from hocket.simulator.analysis import CriticalPath, critical_path
from hocket.simulator.models import Model
from hocket.simulator.prediction import Prediction
from hocket.simulator.workload import NodeKind

__all__ = ["MOST_BYTES", "TimelineCut", "TimelinePart", "timeline_part"]

MOST_BYTES = 20_000_000
"""Of a timeline's JSON, before it is packed, unless its ranks and links are named."""
#: At least as many bytes as an event takes beside its name and its arguments: digits of times, ranks, tracks and nodes.
_SPAN, _ARROW, _OF_LINK, _OF_PATH = 150, 130, 210, 240
_OF_MESSAGE, _OF_COLLECTIVE = 80, 110  # arguments
_HEAD = 200_000  # names of processes and tracks, the request
_SHARE_OF_PATH, _SHARE_OF_RANKS = 0.2, 0.75


@dataclass(frozen=True)
class TimelineCut:
    """What is asked for: ranks by their numbers, times from the first up to the second (ps), links by their ids (empty:
    none); None: as much as there is room for, or of times all."""

    ranks: Sequence[int] | None = None
    time_ps: tuple[int, int] | None = None
    links: Sequence[int] | None = None
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True, eq=False)
class TimelinePart:
    """What is shown: nodes rank by rank in the order of their starts, links (none where they were not recorded), and
    segments of the critical path; `left_out` says what is not, for want of room."""

    nodes: NDArray[np.int64]
    links: NDArray[np.int64]
    path: CriticalPath | None
    segments: NDArray[np.int64]
    time_ps: tuple[int, int]
    left_out: str = ""

    def is_within(self, start_ps: NDArray[np.int64], finish_ps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether what lasts that long is in the times that are shown."""
        return (start_ps < self.time_ps[1]) & (finish_ps >= self.time_ps[0])


def timeline_part(prediction: Prediction, cut: TimelineCut | None = None) -> TimelinePart:
    """What fits of what is asked for. Ranks and links that are named are shown whole; of those that are not, the rank
    that ends last, those on the critical path and then the others by number, and the busiest links."""
    cut = cut or TimelineCut()
    time_ps = cut.time_ps or (0, 2**62)
    path = None if prediction.model == Model.BOUND else critical_path(prediction)
    whole = TimelinePart(_nodes(prediction), _links(prediction, cut), path, np.arange(0), time_ps)
    room = cut.most_bytes - _HEAD
    segments, used = _segments(whole, room * _SHARE_OF_PATH)
    left = []
    if path is not None and cut.time_ps is None and len(segments) < len(path.node):
        left.append(f"{len(path.node) - len(segments):,} segments of the critical path")
    share = _SHARE_OF_RANKS if len(whole.links) else 1.0
    nodes, of_ranks, absent = _ranks(prediction, whole, cut, room * share - used)
    left += [absent] * bool(absent)
    links, absent = _fitting_links(prediction, whole, cut, room - used - of_ranks)
    left += [absent] * bool(absent)
    return TimelinePart(nodes, links, path, segments, time_ps, " and ".join(left))


def _nodes(prediction: Prediction) -> NDArray[np.int64]:
    """All that take time, rank by rank in the order of their starts."""
    workload, start_ps = prediction.workload, prediction.node_start_ps
    is_seen = ~np.isin(workload.kind, (NodeKind.NOTHING, NodeKind.DELAY)) & (start_ps < prediction.node_finish_ps)
    shown = np.flatnonzero(is_seen)
    return shown[np.lexsort((start_ps[shown], workload.rank[shown]))]


def _links(prediction: Prediction, cut: TimelineCut) -> NDArray[np.int64]:
    if prediction.occupancy is None:
        return np.zeros(0, np.int64)
    busy = np.unique(prediction.occupancy.link).astype(np.int64)
    return busy if cut.links is None else busy[np.isin(busy, np.array(cut.links, np.int64))]


def _segments(part: TimelinePart, room: float) -> tuple[NDArray[np.int64], float]:
    """Segments of the critical path, the longest ones where not all fit; and how many bytes they take at most."""
    if part.path is None or not len(part.path.node):
        return np.zeros(0, np.int64), 0.0
    table = part.path.table()
    found = np.flatnonzero(part.is_within(table["start_ps"], table["finish_ps"]))
    words = [*zip(table["name"][found].tolist(), table["what"][found].tolist(), strict=True)]
    cost = np.array([_OF_PATH + _escaped(name) + _escaped(what) for name, what in words], np.int64)
    longest = np.argsort(table["start_ps"][found] - table["finish_ps"][found], kind="stable")
    fitting = longest[np.cumsum(cost[longest]) <= room]
    return np.sort(found[fitting]), float(cost[fitting].sum())


def _ranks(
    prediction: Prediction, part: TimelinePart, cut: TimelineCut, room: float
) -> tuple[NDArray[np.int64], float, str]:
    """Nodes of the ranks that are shown, how many bytes they take at most, and what is left out."""
    workload, nodes = prediction.workload, part.nodes
    nodes = nodes[part.is_within(prediction.node_start_ps[nodes], prediction.node_finish_ps[nodes])]
    if cut.ranks is not None:
        numbers = workload.rank_numbers[workload.rank[nodes]]
        nodes = nodes[np.isin(numbers, np.array(cut.ranks, np.int64))]
    cost = _costs(prediction, nodes)
    if cut.ranks is not None:
        return nodes, float(cost.sum()), ""
    by_rank = np.bincount(workload.rank[nodes], weights=cost, minlength=workload.num_ranks)
    if by_rank.sum() <= room:
        return nodes, float(by_rank.sum()), ""
    order = _first_ranks(prediction, part.path)
    fits = np.zeros(workload.num_ranks, np.bool_)
    fits[order[np.cumsum(by_rank[order]) <= room]] = True
    if fits.any():
        absent = f"{np.count_nonzero(~fits):,} of {workload.num_ranks:,} ranks"
        return nodes[fits[workload.rank[nodes]]], float(by_rank[fits].sum()), absent
    of_first = np.flatnonzero(workload.rank[nodes] == order[0])
    kept = of_first[np.cumsum(cost[of_first]) <= room]
    absent = f"all ranks but the beginning of rank {int(workload.rank_numbers[order[0]])}"
    return nodes[kept], float(cost[kept].sum()), absent


def _costs(prediction: Prediction, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most as many bytes as the events of each node take."""
    workload = prediction.workload
    names = np.array([_escaped(text) for text in workload.strings], np.int64)
    cost = _SPAN + names[workload.name[nodes]]
    kind = workload.kind[nodes]
    cost[np.isin(kind, (NodeKind.SEND, NodeKind.RECEIVE))] += _OF_MESSAGE + _ARROW
    calls = [_OF_COLLECTIVE + _escaped(each.kind) + _escaped(each.algorithm) for each in prediction.collectives]
    is_call = kind == NodeKind.COLLECTIVE
    cost[is_call] += np.array(calls, np.int64)[workload.operand[nodes[is_call]]] if calls else 0
    return cost


def _first_ranks(prediction: Prediction, path: CriticalPath | None) -> NDArray[np.int64]:
    """Ranks in the order in which they find room."""
    ranks = prediction.workload.num_ranks
    spent = np.zeros(ranks, np.int64)
    if path is not None and len(path.node):
        of = {number: rank for rank, number in enumerate(prediction.workload.rank_numbers.tolist())}
        table = path.table()
        columns = (table[name].tolist() for name in ("rank", "start_ps", "finish_ps"))
        for number, start, finish in zip(*columns, strict=True):
            if number in of:
                spent[of[number]] += finish - start
    spent[int(prediction.finish_ps.argmax())] = 2**62
    return np.argsort(-spent, kind="stable")


def _fitting_links(
    prediction: Prediction, part: TimelinePart, cut: TimelineCut, room: float
) -> tuple[NDArray[np.int64], str]:
    occupancy, links = prediction.occupancy, part.links
    if occupancy is None or cut.links is not None or not len(links):
        return links, ""
    within = part.is_within(occupancy.start_ps, occupancy.finish_ps)
    most = _OF_LINK + max((_escaped(each.kind) for each in prediction.collectives), default=0)
    cost = np.bincount(occupancy.link[within], minlength=prediction.topology.num_links)[links] * float(most)
    busiest = np.argsort(-prediction.link_busy_ps[links], kind="stable")
    fitting = busiest[np.cumsum(cost[busiest]) <= room]
    absent = f"{len(links) - len(fitting):,} of {len(links):,} busy links" * (len(fitting) < len(links))
    return np.sort(links[fitting]), absent


def _escaped(text: str) -> int:
    """How many bytes JSON takes for as much of the text as is shown."""
    return len(json.dumps(clipped(text)))
