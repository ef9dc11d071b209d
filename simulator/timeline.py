"""A prediction as a timeline that Perfetto (https://ui.perfetto.dev) and chrome://tracing open."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hocket.base.trace_events import name_event, span_event, write_events
from hocket.simulator.analysis import CriticalPath, critical_path
from hocket.simulator.models import Model
from hocket.simulator.prediction import Occupancy, Prediction
from hocket.simulator.workload import NodeKind

__all__ = ["write_timeline"]

_PICOSECONDS_PER_MICROSECOND = 1e6
_COMPUTE_LANE = 0
_USES = {NodeKind.COMPUTE: "compute", NodeKind.MEMORY: "memory"}


def write_timeline(prediction: Prediction, path: Path | str, about: Mapping[str, Any] | None = None) -> None:
    """Writes Chrome trace JSON, gzipped where the name ends in .gz: a process per rank with a track for computation and
    as many for communication as it has in flight at once; if the prediction recorded them, a process with a track per
    busy link; and one with the critical path. `about` is kept beside them.

    Format: "Trace Event Format" (complete events `X`, times in microseconds).
    """
    write_events(path, _events(prediction), about)


def _events(prediction: Prediction) -> Iterator[str]:
    """Events as JSON: hundreds of thousands, so each is put together from parts that are encoded once."""
    yield from _rank_events(prediction)
    if prediction.occupancy is not None:
        yield from _link_events(prediction.occupancy, prediction, process=prediction.workload.num_ranks)
    if prediction.model != Model.BOUND:
        yield from _path_events(critical_path(prediction), process=prediction.workload.num_ranks + 1)


def _rank_events(prediction: Prediction) -> Iterator[str]:
    workload = prediction.workload
    start_ps, finish_ps = prediction.node_start_ps, prediction.node_finish_ps
    shown = np.flatnonzero(~np.isin(workload.kind, (NodeKind.NOTHING, NodeKind.DELAY)) & (start_ps < finish_ps))
    shown = shown[np.lexsort((start_ps[shown], workload.rank[shown]))]
    ends = np.searchsorted(workload.rank[shown], np.arange(workload.num_ranks + 1))
    names = [json.dumps(text) for text in workload.strings]
    arguments = _arguments(prediction)
    columns = (workload.kind, start_ps, finish_ps, workload.name, workload.node_id, workload.operand)
    numbers = workload.rank_numbers.tolist()
    for rank in range(workload.num_ranks):
        yield name_event("process_name", rank, 0, f"rank {numbers[rank]}")
        if rank not in workload.side_by_side:
            yield name_event("thread_name", rank, _COMPUTE_LANE, "compute")
        lanes: list[tuple[str, int]] = []  # what each track beside computation is for, and when it is free again
        nodes = shown[ends[rank] : ends[rank + 1]]
        for kind, start, finish, name, node_id, operand in zip(
            *(column[nodes].tolist() for column in columns), strict=True
        ):
            lane = _COMPUTE_LANE
            if kind != NodeKind.COMPUTE or rank in workload.side_by_side:
                use = _USES.get(kind, "communication")
                free = 0
                while free < len(lanes) and (lanes[free][0] != use or lanes[free][1] > start):
                    free += 1
                if free == len(lanes):
                    yield name_event("thread_name", rank, 1 + free, f"{use} {sum(own == use for own, _ in lanes)}")
                    lanes.append((use, start))
                lanes[free] = use, finish
                lane = 1 + free
            yield _span(names[name], rank, lane, start, finish, f'"node": {node_id}{arguments(kind, operand)}')


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


def _link_events(occupancy: Occupancy, prediction: Prediction, process: int) -> Iterator[str]:
    topology = prediction.topology
    yield name_event("process_name", process, 0, "links")
    for link in np.unique(occupancy.link).tolist():
        yield name_event("thread_name", process, link, f"link {link}: {topology.link_name(link)}")
    kinds = [json.dumps(collective.kind) for collective in prediction.collectives] + ['"message"']  # that is number -1
    columns = (occupancy.link, occupancy.collective, occupancy.message, occupancy.start_ps, occupancy.finish_ps)
    for link, collective, message, start, finish in zip(*(column.tolist() for column in columns), strict=True):
        arguments = f'"collective": {collective}, "message": {message}'
        yield _span(kinds[collective], process, link, start, finish, arguments)


def _path_events(path: CriticalPath, process: int) -> Iterator[str]:
    yield name_event("process_name", process, 0, "critical path")
    yield name_event("thread_name", process, 0, "critical path")
    table = path.table()
    for what, name, node, source, rank, start, finish in zip(
        *(
            table[column].tolist()
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
