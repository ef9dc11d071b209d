"""A prediction as a timeline that Perfetto (https://ui.perfetto.dev) and chrome://tracing open."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.text import clipped
from hocket.base.trace_events import arrow_event, name_event, span_event, write_events
from hocket.base.tracks import Tracks
from hocket.simulator.prediction import Occupancy, Prediction
from hocket.simulator.timeline_part import TimelinePart, timeline_part
from hocket.simulator.workload import NodeKind

__all__ = ["write_timeline"]

_PICOSECONDS_PER_MICROSECOND = 1e6
_USES = {NodeKind.COMPUTE: "compute", NodeKind.MEMORY: "memory"}
_ENDS = (NodeKind.SEND, NodeKind.RECEIVE)
_WITHIN_PS = 1000  # an arrow ends so long before the span does: viewers round to ns, and an end is outside


def write_timeline(
    prediction: Prediction, path: Path | str, about: Mapping[str, Any] | None = None, part: TimelinePart | None = None
) -> int:
    """Writes Chrome trace JSON, gzipped where the name ends in .gz: a process per rank with tracks for computation and
    communication, as many as it does at once, and arrows from sends to their receives; if the prediction recorded them,
    a process with a track per busy link; and one with the critical path. `about` is kept beside them. `part` says
    what is shown; by default as much as fits into 20 MB of JSON. Returns how many nodes it shows.
    """
    part = part or timeline_part(prediction)
    write_events(path, _events(prediction, part), about)
    return len(part.nodes)


def _events(prediction: Prediction, part: TimelinePart) -> Iterator[str]:
    """Events as JSON: hundreds of thousands, so each is put together from parts that are encoded once."""
    yield from _rank_events(prediction, part.nodes)
    if prediction.occupancy is not None:
        yield from _link_events(prediction.occupancy, prediction, part, process=prediction.workload.num_ranks)
    if part.path is not None:
        yield from _path_events(part, process=prediction.workload.num_ranks + 1)


def _rank_events(prediction: Prediction, shown: NDArray[np.int64]) -> Iterator[str]:
    workload = prediction.workload
    start_ps, finish_ps = prediction.node_start_ps, prediction.node_finish_ps
    ends = np.searchsorted(workload.rank[shown], np.arange(workload.num_ranks + 1))
    names = [json.dumps(clipped(text)) for text in workload.strings]
    arguments = _arguments(prediction)
    ends_shown = workload.operand[shown[np.isin(workload.kind[shown], _ENDS)]]
    messages, counts = np.unique(ends_shown, return_counts=True)
    joined = set(messages[counts == 2].tolist())  # an arrow has two ends
    columns = (workload.kind, start_ps, finish_ps, workload.name, workload.node_id, workload.operand)
    numbers = workload.rank_numbers.tolist()
    for rank in range(workload.num_ranks):
        if ends[rank] == ends[rank + 1]:
            continue
        yield name_event("process_name", rank, 0, f"rank {numbers[rank]}")
        tracks = Tracks(first="compute")
        nodes = shown[ends[rank] : ends[rank + 1]]
        for kind, start, finish, name, node_id, operand in zip(
            *(column[nodes].tolist() for column in columns), strict=True
        ):
            track, new = tracks.place(_USES.get(kind, "communication"), start, finish)
            if new is not None:
                yield name_event("thread_name", rank, track, new)
            yield _span(names[name], rank, track, start, finish, f'"node": {node_id}{arguments(kind, operand)}')
            if kind in _ENDS and operand in joined:
                begins = kind == NodeKind.SEND
                at = start if begins else finish - min(_WITHIN_PS, finish - start)
                yield arrow_event(operand, rank, track, at / _PICOSECONDS_PER_MICROSECOND, begins=begins)


def _arguments(prediction: Prediction) -> Callable[[int, int], str]:
    """What follows `node` in the arguments of a node of a kind and operand, as JSON."""
    workload = prediction.workload

    @cache
    def encoded(kind: int, operand: int) -> str:
        what: dict[str, Any]
        if kind == NodeKind.COLLECTIVE:
            collective = prediction.collectives[operand]
            what = {
                "kind": collective.kind,
                "ranks": len(collective.group),
                "size_bytes": collective.size_bytes,
                "algorithm": collective.algorithm,
                "times_the_bound": round(collective.ratio, 3),
            }
        elif kind in (NodeKind.SEND, NodeKind.RECEIVE):
            what = {
                "from_rank": int(workload.message_src[operand]),
                "to_rank": int(workload.message_dst[operand]),
                "size_bytes": int(workload.message_bytes[operand]),
            }
        else:
            return ""
        return f", {json.dumps(what)[1:-1]}"

    return encoded


def _link_events(occupancy: Occupancy, prediction: Prediction, part: TimelinePart, process: int) -> Iterator[str]:
    topology = prediction.topology
    yield name_event("process_name", process, 0, "links")
    for link in part.links.tolist():
        yield name_event("thread_name", process, link, f"link {link}: {topology.link_name(link)}")
    kinds = [json.dumps(collective.kind) for collective in prediction.collectives] + ['"message"']  # that is number -1
    columns = (occupancy.link, occupancy.collective, occupancy.message, occupancy.start_ps, occupancy.finish_ps)
    rows = np.isin(occupancy.link, part.links) & part.is_within(occupancy.start_ps, occupancy.finish_ps)
    for link, collective, message, start, finish in zip(*(column[rows].tolist() for column in columns), strict=True):
        arguments = f'"collective": {collective}, "message": {message}'
        yield _span(kinds[collective], process, link, start, finish, arguments)


def _path_events(part: TimelinePart, process: int) -> Iterator[str]:
    yield name_event("process_name", process, 0, "critical path")
    yield name_event("thread_name", process, 0, "critical path")
    assert part.path is not None
    table = part.path.table()
    for what, name, node, source, rank, start, finish in zip(
        *(
            table[column][part.segments].tolist()
            for column in ("what", "name", "node_id", "from_rank", "rank", "start_ps", "finish_ps")
        ),
        strict=True,
    ):
        arguments = json.dumps({"name": name, "node": node, "from_rank": source, "rank": rank})[1:-1]
        yield _span(json.dumps(f"{what} on rank {rank}"), process, 0, start, finish, arguments)


def _span(name: str, process: int, track: int, start: int, finish: int, arguments: str) -> str:
    """Name and arguments (without braces) are JSON."""
    begin, duration = start / _PICOSECONDS_PER_MICROSECOND, (finish - start) / _PICOSECONDS_PER_MICROSECOND
    return span_event(name, process, track, begin, duration, arguments)
