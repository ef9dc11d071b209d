"""The rings in NCCL's graph files (`NCCL_GRAPH_FILE`, `NCCL_GRAPH_DUMP_FILE`), and the schedule that they make."""

import re
from pathlib import Path

import numpy as np

from hocket.core.errors import FormatError, ScheduleError
from hocket.core.files import read_text
from hocket.core.tags import tags
from hocket.schedule import Collective, Schedule
from hocket.schedule.algorithms import along_rings
from hocket.topology import Topology

__all__ = ["read_nccl_graph", "read_ring_orders"]

_RING = "4"  # the pattern of rings


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
    """The order of the GPUs in each channel of the ring graph.

    Raises FormatError, naming file and line, when the text is no graph file, it has no ring graph, a GPU is no number
    or twice in a ring, or the rings are not of the same GPUs.
    """
    orders: list[dict[int, None]] = []
    inside, outermost = False, ""
    for line, _, name, attributes, opens in tags(read_text(path), str(path)):
        outermost = outermost or name
        if outermost != "graphs":
            raise FormatError(f"{path}: expected <graphs>; is this NCCL's graph file?")
        if name == "graph":
            inside = opens and attributes.get("pattern") == _RING
        elif inside and name == "channel" and opens:
            orders.append({})
        elif inside and name == "gpu" and orders:
            text = attributes.get("rank", attributes.get("dev", ""))
            if not re.fullmatch("[0-9]{1,6}", text) or int(text) in orders[-1]:
                raise FormatError(f'{path}:{line}: <gpu dev="{text}">: each ring names each GPU once, by its number')
            orders[-1][int(text)] = None
    if not orders or any(order.keys() != orders[0].keys() or len(order) < 2 for order in orders):
        raise FormatError(f'{path}: expected <graph pattern="{_RING}"> with channels, each a ring of the same GPUs')
    return [tuple(order) for order in orders]
