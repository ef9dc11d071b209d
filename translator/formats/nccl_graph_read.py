"""The rings in NCCL's graph files (`NCCL_GRAPH_FILE`, `NCCL_GRAPH_DUMP_FILE`), and the schedule that they make."""

from pathlib import Path

import numpy as np

from hocket.base.errors import FormatError, ScheduleError
from hocket.schedule import Collective, Schedule
from hocket.schedule.algorithms import along_rings
from hocket.topology import Topology
from hocket.topology.formats.nccl.graph import GraphId
from hocket.topology.formats.nccl.graph_xml import read_nccl_graphs

__all__ = ["read_nccl_graph", "read_ring_orders"]


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
