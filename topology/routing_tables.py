"""The routing tables of a topology's nodes, checked, and what they load its links with."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import Infeasible
from hocket.topology.model import Topology
from hocket.topology.paths import WHOLE_SHARE, Paths
from hocket.topology.routings.policy import FabricRouting
from hocket.topology.routings.spray import ROUTINGS as SPRAY

__all__ = [
    "RoutingTables",
    "alike_links",
    "has_loop",
    "has_several_paths",
    "has_single_spines",
    "links_to_ranks",
    "num_arrived",
    "one_path_notes",
    "routing_tables",
]

_MOST_PAIRS = 1 << 15  # a tenth of a second
_PAIRS_AT_ONCE = 1 << 13
_MOST_CELLS = 4_000_000  # of destinations x links at a time: memory stays below some hundred MB


@dataclass(frozen=True, eq=False)
class RoutingTables:
    """Entry k: of what node `node[k]` sends on to rank `destination[k]`, the link `link[k]` takes `part[k]` (0 to 1),
    when every rank sends the same to every other. By node, destination, link.

    `pairs` of ranks, of which `arrived` arrive; the ranks in `looping` are destinations whose tables lead around;
    `most_paths` and `most_links` of a pair. `all_to_all` and `shift`: the bytes that each link carries a byte that each
    rank sends, spread over all others, or all to the rank half of all ranks further. `shifts`: of each s from 1 up the
    seconds that the busiest link needs for a byte of each rank to the one s further (float64; empty of large ones).
    """

    node: NDArray[np.int32]
    destination: NDArray[np.int32]
    link: NDArray[np.int32]
    part: NDArray[np.float64]
    pairs: int
    arrived: int
    looping: list[int]
    most_paths: int
    most_links: int
    all_to_all: NDArray[np.float64]
    shift: NDArray[np.float64]
    shifts: NDArray[np.float64]


def routing_tables(topology: Topology, routing: FabricRouting) -> RoutingTables:
    """The tables that the paths of all pairs of ranks follow, of flow 0 where flows are hashed.

    Raises Infeasible, naming the pair, where there is no route, and TopologyError for a routing that is none for the
    topology.
    """
    ranks = topology.num_ranks
    entries: list[tuple[NDArray[np.int32], ...]] = []
    parts: list[NDArray[np.float64]] = []
    load = np.zeros(topology.num_links)
    pairs = arrived = most_paths = most_links = 0
    looping: list[int] = []
    of_shifts = np.zeros(ranks * topology.num_links if ranks * topology.num_links <= _MOST_CELLS else 0)
    for destinations in _batches(topology):
        asked = np.array([(src, dst) for dst in destinations for src in range(ranks) if src != dst], np.int32)
        paths = routing.paths(topology, asked.reshape(-1, 2))
        carried = _carried(paths, asked[:, 1] - destinations[0], len(destinations), topology.num_links)
        pairs, arrived = pairs + len(asked), arrived + num_arrived(topology, asked, paths)
        most_paths = max(most_paths, int(paths.counts.max(initial=0)))
        most_links = max(most_links, int(np.diff(paths.link_offset).max(initial=0)))
        if len(of_shifts):
            of_shifts += _carried(paths, (asked[:, 1] - asked[:, 0]) % ranks, ranks, topology.num_links).ravel()
        row, link = np.nonzero(carried)
        order = np.lexsort((link, topology.src[link], row))
        row, link = row[order], link[order]
        sent = np.zeros((len(destinations), topology.num_nodes))
        np.add.at(sent, (row, topology.src[link]), carried[row, link])
        looping += [dst for at, dst in enumerate(destinations) if has_loop(topology, link[row == at])]
        entries.append((topology.src[link], (row + destinations[0]).astype(np.int32), link.astype(np.int32)))
        parts.append(carried[row, link] / sent[row, topology.src[link]])
        load += carried.sum(axis=0) / max(1, ranks - 1)
    nodes, destination, taken = (np.concatenate(column) for column in zip(*entries, strict=True))
    order = np.lexsort((taken, destination, nodes))
    part = np.concatenate(parts)[order]
    counts = (pairs, arrived, looping, most_paths, most_links)
    shifts = (of_shifts.reshape(-1, topology.num_links)[1:] / topology.bandwidth).max(axis=1)
    loads = (load, _shift(topology, routing), shifts)
    return RoutingTables(nodes[order], destination[order], taken[order], part, *counts, *loads)


@lru_cache(maxsize=16)
def has_several_paths(topology: Topology) -> bool:
    """Whether routings have a choice: some pair of ranks has several shortest paths. Of more than 181 ranks not all
    destinations are looked at, but evenly spread ones."""
    ranks = topology.num_ranks
    count = min(ranks, max(1, _MOST_PAIRS // ranks))
    # one further than evenly, so that not all are the same rank of their machines
    destinations = np.arange(count) * (ranks // count + (count < ranks)) % ranks
    pairs = np.column_stack([np.tile(np.arange(ranks), count), np.repeat(destinations, ranks)]).astype(np.int32)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    spray = FabricRouting(SPRAY[0])
    try:
        return any(
            not spray.paths(topology, pairs[begin : begin + _PAIRS_AT_ONCE]).has_one_each
            for begin in range(0, len(pairs), _PAIRS_AT_ONCE)
        )
    except Infeasible:  # of ranks that nothing joins nothing can be said
        return True


def has_single_spines(topology: Topology) -> bool:
    """Whether the machines' fabric has switches above the leaves, and no choice among them."""
    fabric = np.isin(topology.link_class, [at for at, name in enumerate(topology.classes) if name == "fabric"])
    inner = np.arange(topology.num_nodes) < topology.num_ranks
    inner[topology.src[~fabric]] = inner[topology.dst[~fabric]] = True
    above = fabric & ~inner[topology.src] & ~inner[topology.dst]
    return bool(above.any()) and not has_several_paths(topology)


def links_to_ranks(topology: Topology) -> NDArray[np.int64]:
    """How many links each node is from the nearest rank (int64)."""
    far = np.full(topology.num_nodes, topology.num_nodes)
    far[: topology.num_ranks] = 0
    while True:
        nearer = far.copy()
        np.minimum.at(nearer, topology.src, far[topology.dst] + 1)
        if np.array_equal(nearer, far):
            return far
        far = nearer


def alike_links(topology: Topology) -> NDArray[np.int64]:
    """A number for each link, the same for those of one class whose ends are as many links from the nearest rank."""
    far = links_to_ranks(topology)
    kinds = np.stack([topology.link_class, far[topology.src], far[topology.dst]])
    return np.asarray(np.unique(kinds, axis=1, return_inverse=True)[1], np.int64).ravel()


def one_path_notes(topology: Topology) -> tuple[str, ...]:
    """What to say to who asks for a routing where none has a choice."""
    if has_several_paths(topology):
        return ()
    remedy = "; give the fabric spines=N" * has_single_spines(topology)
    return (f"routing: every pair has one path on this topology: --routing changes nothing{remedy}",)


def num_arrived(topology: Topology, pairs: NDArray[np.int32], paths: Paths) -> int:
    """How many pairs have paths, all of which lead link by link from the source to the destination."""
    pair_of_path = np.repeat(np.arange(len(pairs)), paths.counts)
    path_of_link = np.repeat(np.arange(len(pair_of_path)), np.diff(paths.link_offset))
    starts, ends = topology.src[paths.links], topology.dst[paths.links]
    begins = np.append(True, path_of_link[1:] != path_of_link[:-1])[: len(path_of_link)]
    last = np.append(begins[1:], True)[: len(path_of_link)]
    came_from = np.where(begins, pairs[pair_of_path[path_of_link], 0], np.append(-1, ends[:-1])[: len(ends)])
    wrong_links = (starts != came_from) | (last & (ends != pairs[pair_of_path[path_of_link], 1]))
    wrong = np.zeros(len(pairs), bool)
    wrong[pair_of_path[path_of_link[wrong_links]]] = True
    wrong[pair_of_path[np.diff(paths.link_offset) == 0]] = True
    wrong[paths.counts == 0] = True
    return int(np.count_nonzero(~wrong))


def has_loop(topology: Topology, links: NDArray[np.integer]) -> bool:
    """Whether these links lead around: takes those away that end where none begins, until all are gone or none ends so
    (Kahn, CACM 1962)."""
    while len(links):
        goes_on = np.zeros(topology.num_nodes, bool)
        goes_on[topology.src[links]] = True
        left = links[goes_on[topology.dst[links]]]
        if len(left) == len(links):
            return True
        links = left
    return False


def _batches(topology: Topology) -> Iterator[range]:
    size = max(1, _MOST_CELLS // max(1, topology.num_links, topology.num_ranks))
    for begin in range(0, topology.num_ranks, size):
        yield range(begin, min(begin + size, topology.num_ranks))


def _carried(paths: Paths, row: NDArray[np.int32], rows: int, num_links: int) -> NDArray[np.float64]:
    """What each link carries to each destination, of a byte a pair."""
    of_path = np.repeat(row.astype(np.int64), paths.counts)
    lengths = np.diff(paths.link_offset)
    cell = np.repeat(of_path, lengths) * num_links + paths.links
    weight = np.repeat(paths.shares / WHOLE_SHARE, lengths)
    carried = np.bincount(cell, weight, minlength=rows * num_links)
    return np.asarray(carried, np.float64).reshape(rows, num_links)


def _shift(topology: Topology, routing: FabricRouting) -> NDArray[np.float64]:
    ranks = np.arange(topology.num_ranks, dtype=np.int32)
    pairs = np.stack([ranks, (ranks + len(ranks) // 2) % len(ranks)], axis=1).astype(np.int32)
    return routing.paths(topology, pairs).link_bytes(np.ones(len(pairs)), topology.num_links)
