"""The nodes by which ranks join collectives, and which of them are one collective."""

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import BARRIER, NAMED_KINDS
from hocket.chakra import CollectiveType, NodeType
from hocket.simulator.traces.groups import Groups
from hocket.simulator.traces.nodes import Nodes
from hocket.simulator.traces.numbering import number_equal, occurrence

__all__ = ["Joins"]

_KIND_NAMES: tuple[str, ...] = tuple(dict.fromkeys(each.kind for each in CollectiveType))
_KIND_OF_TYPE = np.array([_KIND_NAMES.index(CollectiveType(code).kind) for code in range(len(CollectiveType))])
_ROOTED = [kind for kind in NAMED_KINDS if kind.rooted]
_SIZE_MAY_DIFFER = [kind for kind in NAMED_KINDS if kind.in_blocks and not kind.reduces]
_MOST_BYTES = 2**62  # of the buffers of a group


class Joins:
    """Columns (int64) over the collective nodes: `rows` of `Nodes`, `kind`, `size` (bytes of the rank's input), `root`
    (a position in the group, 0 where there is none), `position` of the rank in its group, `instance` (which
    collective). `leader` is the first join of each one's collective, `first` that of each collective. `rootless` are
    the kinds of which some join lacks a root.

    The k-th collective of a process group on one member is the k-th on all. Raises TraceError, naming file and node,
    for missing attributes, unknown kinds, groups and roots, and ranks that disagree.
    """

    def __init__(self, nodes: Nodes) -> None:
        rows = np.flatnonzero(nodes.type == NodeType.COMM_COLL)
        code = nodes.required(rows, "comm_type", "comm_type")
        nodes.require(
            code < len(_KIND_OF_TYPE), rows, lambda at: f"comm_type {code[at]} is not a collective of the schema (0..9)"
        )
        self.rows = rows
        self.kind = _KIND_OF_TYPE[code]
        self.size = np.zeros(len(rows), np.int64)
        sized = ~self.is_one_of(BARRIER)
        self.size[sized] = nodes.required(rows[sized], "comm_bytes", "comm_size")
        self.groups = Groups(nodes, rows)
        self.position = self.groups.own_position
        most = _MOST_BYTES // np.array([len(ranks) for ranks in self.groups.members], np.int64)[self.groups.of]
        nodes.require(self.size <= most, rows, lambda at: f"comm_size {self.size[at]} is too large for any network")
        self.root = self._roots(nodes)
        self._number = occurrence(self.groups.of * nodes.num_ranks + nodes.rank[rows])
        self.instance, self.first = number_equal(self._alike(nodes), self._number)
        self._order_by_leader(nodes)
        self.leader = self.first[self.instance]
        self._require_agreement(nodes)

    def _order_by_leader(self, nodes: Nodes) -> None:
        """Numbers collectives in the order in which their groups' first ranks come to them, of ranks alike the lowest
        first: what goes first where several are sent at one instant. All groups that do alike have it so."""
        row = nodes.row_in_trace[self.rows]
        leads = np.flatnonzero(self._leads(nodes))
        key = np.full((2, len(self.first)), np.iinfo(np.int64).max)
        key[:, self.instance[leads]] = row[leads], nodes.rank[self.rows[leads]]
        order = np.lexsort(key[::-1])
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        self.instance, self.first = number[self.instance], self.first[order]

    def _leads(self, nodes: Nodes) -> NDArray[np.bool_]:
        """Which joins are of the first of its group, or of who stands for it."""
        if nodes.fold is None:
            return np.equal(self.position, 0)
        leader = np.array([ranks[0] for ranks in self.groups.members], np.int64)[self.groups.of]
        led: NDArray[np.bool_] = nodes.fold.row_of[leader] == nodes.trace[self.rows]
        return led

    def _alike(self, nodes: Nodes) -> NDArray[np.int64]:
        """The group of each join; where others stand for it, one of these."""
        if nodes.fold is None:
            return self.groups.of
        leaders: dict[str, int] = {}
        numbers = [leaders.setdefault(nodes.fold.group_of.get(name, name), len(leaders)) for name in self.groups.names]
        return np.array(numbers, np.int64)[self.groups.of]

    def is_one_of(self, *kinds: str) -> NDArray[np.bool_]:
        """Which joins are of these kinds."""
        return np.isin(self.kind, [_KIND_NAMES.index(kind) for kind in kinds])

    def kind_of(self, at: int) -> str:
        """The kind of a join."""
        return _KIND_NAMES[int(self.kind[at])]

    def ranks_of(self, at: int) -> tuple[int, ...]:
        """World ranks of the group of a join."""
        return self.groups.members[int(self.groups.of[at])]

    def _roots(self, nodes: Nodes) -> NDArray[np.int64]:
        root = nodes.column("root")[self.rows]
        rooted = self.is_one_of(*_ROOTED)
        has_root = rooted & (root >= 0)
        self.rootless = sorted(_KIND_NAMES[kind] for kind in np.unique(self.kind[rooted & ~has_root]))
        position = np.zeros(len(root), np.int64)
        position[has_root] = self.groups.position(self.groups.of[has_root], root[has_root])
        nodes.require(
            position >= 0,
            self.rows,
            lambda at: f"root {root[at]} is not in its process group {list(self.ranks_of(at))}",
        )
        return position

    def _require_agreement(self, nodes: Nodes) -> None:
        def here(at: int) -> str:
            name = self.groups.names[self.groups.of[at]]
            return f"collective {self._number[at]} of process group '{name}' is {self.kind_of(at)}"

        def differs(at: int) -> str:
            ranks, other = self.ranks_of(at), int(self.leader[at])
            return (
                f"{here(at)} with root {ranks[self.root[at]]} here, but {self.kind_of(other)} with root"
                f" {ranks[self.root[other]]} in {nodes.describe(int(self.rows[other]))}"
            )

        def differs_in_size(at: int) -> str:
            other = int(self.leader[at])
            return (
                f"{here(at)} of {self.size[at]} bytes here, but another rank has {self.size[other]} bytes"
                f" (first seen in {nodes.describe(int(self.rows[other]))})"
            )

        leader = self.leader
        nodes.require((self.kind == self.kind[leader]) & (self.root == self.root[leader]), self.rows, differs)
        same_size = self.size == self.size[leader]
        nodes.require(same_size | self.is_one_of(*_SIZE_MAY_DIFFER), self.rows, differs_in_size)
