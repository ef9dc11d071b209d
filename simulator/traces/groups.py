"""Process groups of communication nodes: which ranks, and who is where in them."""

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.simulator.traces.nodes import Nodes

__all__ = ["Groups"]


class Groups:
    """The process groups that some nodes name; groups of the same ranks under two names are two.

    `names` and `members` (world ranks in group order) of each group; `of` int64: the group of each of `rows`.
    Raises TraceError at the first node whose group is unknown, has ranks without a trace, or lacks the node's rank.
    """

    def __init__(self, nodes: Nodes, rows: NDArray[np.int64]) -> None:
        traces, strings = nodes.traces, {"": 0}
        text = nodes.text_column("process_group", strings)[rows]
        text[text < 0] = strings[""]
        if "" not in traces.groups and "0" not in traces.groups and "0" in strings:
            text[text == strings["0"]] = strings[""]  # two names of all ranks
        used, first, self.of = np.unique(text, return_index=True, return_inverse=True)
        spelled = tuple(strings)
        self.names = [spelled[index] for index in used.tolist()]
        self.members: list[tuple[int, ...]] = []
        for name, at in zip(self.names, first.tolist(), strict=True):
            self.members.append(_members(nodes, name, int(rows[at])))
        self._num_ranks = nodes.num_ranks
        keys = [number * self._num_ranks + np.array(ranks) for number, ranks in enumerate(self.members)]
        flat = np.concatenate([np.zeros(0, np.int64), *keys])
        positions = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(ranks)) for ranks in self.members)])
        order = np.argsort(flat)
        self._keys, self._positions = flat[order], positions[order]
        self.own_position = self.position(self.of, nodes.rank[rows])
        nodes.require(
            self.own_position >= 0,
            rows,
            lambda at: (
                f"its process group '{self.names[self.of[at]]}' is ranks {list(self.members[self.of[at]])},"
                f" without rank {nodes.rank[rows[at]]}"
            ),
        )

    def position(self, group: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
        """The position of each rank in its group, -1 where it is not a member."""
        if not len(self._keys):
            return np.full(len(group), -1)
        wanted = group * self._num_ranks + rank
        found = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        inside = (self._keys[found] == wanted) & (rank < self._num_ranks)
        return np.where(inside, self._positions[found], -1)


def _members(nodes: Nodes, name: str, row: int) -> tuple[int, ...]:
    """World ranks of a group; `row` is a node that names it."""
    try:
        ranks = nodes.members(name)
    except KeyError:
        raise TraceError(
            f"{nodes.describe(row)}: process group {name!r} is unknown; expected it in comm_groups.json beside the"
            " traces"
        ) from None
    if max(ranks) >= nodes.num_ranks:
        raise TraceError(
            f"{nodes.describe(row)}: process group {name!r} has rank {max(ranks)}, but there are traces of"
            f" {nodes.num_ranks} ranks only"
        )
    return ranks
