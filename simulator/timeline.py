"""A prediction as a timeline that Perfetto (https://ui.perfetto.dev) and chrome://tracing open."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hocket.core.files import atomic_write
from hocket.simulator.analysis import CriticalPath, critical_path
from hocket.simulator.models import Model
from hocket.simulator.prediction import Occupancy, Prediction
from hocket.simulator.workload import NodeKind

__all__ = ["write_timeline"]

_PICOSECONDS_PER_MICROSECOND = 1e6
_COMPUTE_LANE = 0


def write_timeline(prediction: Prediction, path: Path | str) -> None:
    """Writes gzipped Chrome trace JSON: a process per rank with a track for computation and as many for communication
    as it has in flight at once; if the prediction recorded them, a process with a track per busy link; and one with the
    critical path.

    Format: "Trace Event Format" (complete events `X`, times in microseconds).
    """
    with atomic_write(path, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        packed.write(b'{"displayTimeUnit": "ns", "traceEvents": [\n')
        for number, event in enumerate(_events(prediction)):
            packed.write((",\n" if number else "").encode() + json.dumps(event).encode())
        packed.write(b"\n]}\n")


def _events(prediction: Prediction) -> Iterator[dict[str, Any]]:
    for rank in range(prediction.workload.num_ranks):
        yield _name("process_name", rank, 0, f"rank {rank}")
        yield from _rank_events(prediction, rank)
    if prediction.occupancy is not None:
        yield from _link_events(prediction.occupancy, prediction, process=prediction.workload.num_ranks)
    if prediction.model != Model.BOUND:
        yield from _path_events(critical_path(prediction), process=prediction.workload.num_ranks + 1)


def _rank_events(prediction: Prediction, rank: int) -> Iterator[dict[str, Any]]:
    workload = prediction.workload
    first, last = workload.rank_offset[rank], workload.rank_offset[rank + 1]
    nodes = first + np.argsort(prediction.node_start_ps[first:last], kind="stable")
    lanes: list[tuple[str, int]] = []  # what each track beside computation is for, and when it is free again
    yield _name("thread_name", rank, _COMPUTE_LANE, "compute")
    for node in nodes.tolist():
        kind = workload.kind[node]
        start, finish = int(prediction.node_start_ps[node]), int(prediction.node_finish_ps[node])
        if kind == NodeKind.NOTHING or start == finish:
            continue
        lane = _COMPUTE_LANE
        if kind != NodeKind.COMPUTE:
            use = "memory" if kind == NodeKind.MEMORY else "communication"
            fits = (track for track, (own, until) in enumerate(lanes) if own == use and until <= start)
            free = next(fits, len(lanes))
            if free == len(lanes):
                yield _name("thread_name", rank, 1 + free, f"{use} {sum(own == use for own, _ in lanes)}")
                lanes.append((use, start))
            lanes[free] = use, finish
            lane = 1 + free
        name = workload.strings[workload.name[node]]
        yield _span(name, rank, lane, start, finish, _arguments(prediction, node))


def _arguments(prediction: Prediction, node: int) -> dict[str, Any]:
    workload = prediction.workload
    arguments: dict[str, Any] = {"node": int(workload.node_id[node])}
    operand = int(workload.operand[node])
    if workload.kind[node] == NodeKind.COLLECTIVE:
        collective = prediction.collectives[operand]
        arguments |= {
            "kind": collective.kind,
            "ranks": len(collective.group),
            "size_bytes": collective.size_bytes,
            "algorithm": collective.algorithm,
            "times_the_bound": round(collective.ratio, 3),
        }
    elif workload.kind[node] in (NodeKind.SEND, NodeKind.RECEIVE):
        arguments |= {
            "from_rank": int(workload.message_src[operand]),
            "to_rank": int(workload.message_dst[operand]),
            "size_bytes": int(workload.message_bytes[operand]),
        }
    return arguments


def _link_events(occupancy: Occupancy, prediction: Prediction, process: int) -> Iterator[dict[str, Any]]:
    topology = prediction.topology
    yield _name("process_name", process, 0, "links")
    for link in np.unique(occupancy.link).tolist():
        yield _name("thread_name", process, link, f"link {link}: {topology.src[link]} -> {topology.dst[link]}")
    columns = (occupancy.link, occupancy.collective, occupancy.message, occupancy.start_ps, occupancy.finish_ps)
    for link, collective, message, start, finish in zip(*(column.tolist() for column in columns), strict=True):
        kind = "message" if collective < 0 else prediction.collectives[collective].kind
        yield _span(kind, process, link, start, finish, {"collective": collective, "message": message})


def _path_events(path: CriticalPath, process: int) -> Iterator[dict[str, Any]]:
    yield _name("process_name", process, 0, "critical path")
    yield _name("thread_name", process, 0, "critical path")
    table = path.table()
    for what, name, node, source, rank, start, finish in zip(
        *(
            table[column].tolist()
            for column in ("what", "name", "node_id", "from_rank", "rank", "start_ps", "finish_ps")
        ),
        strict=True,
    ):
        arguments = {"name": name, "node": node, "from_rank": source, "rank": rank}
        yield _span(f"{what} on rank {rank}", process, 0, start, finish, arguments)


def _name(what: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": track, "args": {"name": name}}


def _span(name: str, process: int, track: int, start: int, finish: int, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "pid": process,
        "tid": track,
        "ts": start / _PICOSECONDS_PER_MICROSECOND,
        "dur": (finish - start) / _PICOSECONDS_PER_MICROSECOND,
        "args": arguments,
    }
