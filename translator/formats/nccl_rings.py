"""Rings of schedules and NCCL's graph files: stock NCCL runs its own ring on those of a file (`NCCL_GRAPH_FILE`), and
its dumps (`NCCL_GRAPH_DUMP_FILE`) make schedules. NCCL keeps the order of the GPUs in each channel; how many chunks go
when is its own affair.
"""

from pathlib import Path

import numpy as np

from hocket.base.errors import FormatError, ScheduleError
from hocket.base.files import write_file
from hocket.schedule import Collective, Kind, Schedule
from hocket.schedule.algorithms import along_rings
from hocket.topology import Topology
from hocket.topology.formats.nccl.graph import (
    GraphChannel,
    GraphId,
    GraphPattern,
    NcclGraph,
    NcclGraphs,
    graphs_text,
    read_nccl_graphs,
)
from hocket.translator.formats.format import ScheduleFormat

__all__ = ["FORMATS", "nccl_graph", "read_nccl_graph", "read_ring_orders", "rings"]

_KINDS = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE)
_GB_PER_S = 10**9


def rings(schedule: Schedule) -> list[tuple[int, ...]]:
    """The rings that the chunks go round, each from rank 0 on, in the order of their first chunk.

    Raises ScheduleError for a kind that NCCL does not do by rings, and when a chunk goes round no ring of all ranks.
    """
    if schedule.collective.kind not in _KINDS:
        raise ScheduleError(f"{schedule.collective.kind} has no rings; {', '.join(_KINDS)} may have")
    ranks = schedule.collective.num_ranks
    hops = np.unique(np.stack([schedule.chunk, schedule.src, schedule.dst], axis=1), axis=0)
    found: dict[tuple[int, ...], None] = {}
    for chunk in range(schedule.collective.num_chunks):
        first, last = np.searchsorted(hops[:, 0], [chunk, chunk + 1])
        found[_ring(chunk, hops[first:last, 1:].tolist(), ranks)] = None
    return list(found)


def _ring(chunk: int, hops: list[list[int]], ranks: int) -> tuple[int, ...]:
    """The ring along which a chunk takes all hops but one at most."""
    following: dict[int, int] = dict(zip(*zip(*hops, strict=True), strict=True)) if hops else {}
    open_ends = sorted(set(range(ranks)) - set(following)), sorted(set(range(ranks)) - set(following.values()))
    if len(following) == len(hops) and len(open_ends[0]) == len(open_ends[1]) <= 1:
        if open_ends[0]:
            following[open_ends[0][0]] = open_ends[1][0]
        ring, rank = [0], following[0]
        while rank != 0 and len(ring) <= ranks:
            ring.append(rank)
            rank = following[rank]
        if len(ring) == ranks:
            return tuple(ring)
    raise ScheduleError(
        f"chunk {chunk} does not go round a ring of all {ranks} ranks: NCCL's graph files can only say rings;"
        " translate it to MSCCL XML instead"
    )


def nccl_graph(schedule: Schedule) -> str:
    """The graph file: a channel a ring, at the bandwidth of the slowest link that each ring has to itself. GPUs have no
    ranks in it, so that it is good for every job on such a machine.

    Raises ScheduleError as `rings` does, and for ranks on several machines: NCCL needs the NICs there.
    """
    topology, found = schedule.topology, rings(schedule)
    if len(np.unique(topology.machine[schedule.ranks])) > 1:
        raise ScheduleError("a graph file names the NICs between machines, which a schedule does not: take one machine")
    speed = int(topology.bandwidth[schedule.route_links].min()) / _GB_PER_S / len(found)
    graph = NcclGraph(
        line=0,
        id=GraphId.RING,
        pattern=GraphPattern.RING,
        cross_nic=0,
        speed_intra=speed,
        speed_inter=speed,
        latency_inter=0,
        type_intra="NVL",
        type_inter="PIX",
        same_channels=True,
        channels=tuple(GraphChannel(0, tuple(int(schedule.ranks[rank]) for rank in ring)) for ring in found),
    )
    return graphs_text(NcclGraphs("", (graph,)))


def read_nccl_graph(path: Path | str, collective: Collective, topology: Topology) -> Schedule:
    """The untimed schedule of NCCL's ring algorithm on a graph file's rings; GPU `dev` (or `rank`) r is rank r.

    NCCL cuts the buffer into as many parts as there are channels; here chunk k of a rank goes on ring k mod channels.
    Raises FormatError for a file without rings of all ranks, ScheduleError for a collective that has none.
    """
    orders = read_ring_orders(path)
    try:
        return along_rings([np.array(order) for order in orders], collective, topology)
    except ScheduleError as error:
        raise ScheduleError(f"{path}: {error}") from error


def read_ring_orders(path: Path | str) -> list[tuple[int, ...]]:
    """The order of the GPUs in each channel of the ring graph: their ranks, or their numbers where it has no ranks.

    Raises FormatError as `read_nccl_graphs` does, and for a file without rings of two GPUs or more.
    """
    graph = read_nccl_graphs(path).get(GraphId.RING)
    if graph is None or not graph.channels or len(graph.channels[0].gpus) < 2:
        raise FormatError(f'{path}: expected <graph id="0" pattern="4"> with channels, each a ring of the same GPUs')
    return [channel.ranks or channel.gpus for channel in graph.channels]


def _write(schedule: Schedule, path: Path) -> list[str]:
    text, found = nccl_graph(schedule), len(rings(schedule))
    write_file(path, text)
    return [
        f"{path}: {found} ring{'s' * (found > 1)}; NCCL runs its own ring algorithm on them:",
        f"  NCCL_GRAPH_FILE={path} NCCL_ALGO=Ring NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH all_reduce_perf ...",
        "  NCCL_GRAPH_DUMP_FILE=used.xml shows what it took; the log lists the rings as `Channel 00/..`",
    ]


FORMATS = (
    ScheduleFormat(
        name="nccl-graph",
        summary="a graph file whose rings stock NCCL takes (NCCL_GRAPH_FILE)",
        needs="chunks that go round rings of all ranks of one machine",
        source="NCCL's src/graph/search.cc",
        example="hocket translate ar.schedule --to nccl-graph -o rings.xml",
        write=_write,
    ),
)
