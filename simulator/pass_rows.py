"""The rows of a workload whose ranks do the same nodes in every pass."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PassRows"]

_Ids = NDArray[np.int64]


class PassRows:
    """Node k of each pass is rank `rank[k]`'s. Rows go rank after rank: `once` that are of no pass, then pass after
    pass its nodes in their order. `offset`: where each rank's begin."""

    def __init__(self, rank: NDArray[np.integer[Any]], num_ranks: int, passes: int, once: int = 0) -> None:
        self._rank, self._times, self._once = rank, np.arange(passes), once
        self._count = np.bincount(rank, minlength=num_ranks)
        order = np.argsort(rank, kind="stable")
        self._at = np.empty_like(order)  # place of each node among those of its rank
        self._at[order] = np.arange(len(order)) - (np.cumsum(self._count) - self._count)[rank[order]]
        self.offset: _Ids = np.append(0, np.cumsum(once + self._count * passes))

    @property
    def total(self) -> int:
        return int(self.offset[-1])

    def of(self, node: _Ids, lag: _Ids | None = None) -> _Ids:
        """The nodes' rows in each pass (passes x nodes), `lag` passes before it; negative before the first."""
        when = self._times[:, None] - (0 if lag is None else lag[None, :])
        rank = self._rank[node]
        row = self.offset[rank] + self._once + when * self._count[rank] + self._at[node]
        return np.where(when >= 0, row, -1)

    def column(self, values: NDArray[np.generic], once: int = 0) -> _Ids:
        """A value of each node of a pass, or of each pass and node, in the order of the rows."""
        row = self.of(np.arange(len(self._rank)))
        result = np.full(self.total, once, np.int64)
        result[row.ravel()] = np.broadcast_to(values, row.shape).ravel()
        return result

    def dependencies(self, edges: tuple[_Ids, _Ids, _Ids], more: tuple[_Ids, _Ids] | None = None) -> tuple[_Ids, _Ids]:
        """CSR of what rows wait for: nodes, nodes that wait for them, how many passes later; and `more` rows, rows that
        wait for them."""
        before, after, lag = edges
        first, then = self.of(before, lag).ravel(), self.of(after).ravel()
        first, then = first[first >= 0], then[first >= 0]
        if more is not None:
            first, then = np.concatenate([first, more[0]]), np.concatenate([then, more[1]])
        order = np.argsort(then, kind="stable")
        return np.searchsorted(then[order], np.arange(self.total + 1)), first[order]
