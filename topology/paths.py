"""Routes of pairs that may take several paths each, as columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket._core.topology import WHOLE_SHARE
from hocket.topology.routing import Routes

__all__ = ["WHOLE_SHARE", "Paths"]

_NONE = np.zeros(0, np.int64)


class Paths(NamedTuple):
    """Pair k has the paths `offset[k]:offset[k + 1]`, path p the links `links[link_offset[p]:link_offset[p + 1]]` and
    `share[p]` of WHOLE_SHARE. Where every pair has one path, `offset` and `share` are empty: path k is pair k's. All
    are int64 but the links (int32)."""

    offset: NDArray[np.int64]
    link_offset: NDArray[np.int64]
    links: NDArray[np.int32]
    share: NDArray[np.int64]

    @classmethod
    def single(cls, routes: Routes) -> "Paths":
        """One path for each pair."""
        offset, links = (np.ascontiguousarray(column) for column in routes)
        return cls(_NONE, offset.astype(np.int64, copy=False), links.astype(np.int32, copy=False), _NONE)

    @property
    def has_one_each(self) -> bool:
        return len(self.offset) == 0

    @property
    def first(self) -> NDArray[np.int64]:
        """The first path of each pair, and the number of all paths (int64)."""
        return np.arange(len(self.link_offset)) if self.has_one_each else self.offset

    @property
    def counts(self) -> NDArray[np.int64]:
        """Paths of each pair (int64)."""
        return np.diff(self.first)

    @property
    def shares(self) -> NDArray[np.int64]:
        """Of each path (int64)."""
        return np.full(len(self.link_offset) - 1, WHOLE_SHARE) if self.has_one_each else self.share

    def picked(self, pairs: NDArray[np.int64]) -> "Paths":
        """The paths of these pairs, by number, in this order; a pair may come more than once."""
        paths, counts = _rows(self.first, pairs)
        at, lengths = _rows(self.link_offset, paths)
        offset = _NONE if self.has_one_each else np.append(0, np.cumsum(counts))
        return Paths(offset, np.append(0, np.cumsum(lengths)), self.links[at], self.share[paths if len(offset) else []])

    @classmethod
    def joined(cls, parts: Sequence["Paths"]) -> "Paths":
        """The pairs of all parts, behind each other."""
        links = np.concatenate([np.zeros(0, np.int32), *(part.links for part in parts)])
        lengths = np.concatenate([_NONE, *(np.diff(part.link_offset) for part in parts)])
        link_offset = np.append(0, np.cumsum(lengths))
        if all(part.has_one_each for part in parts):
            return cls(_NONE, link_offset, links, _NONE)
        counts = np.concatenate([part.counts for part in parts])
        return cls(np.append(0, np.cumsum(counts)), link_offset, links, np.concatenate([part.shares for part in parts]))

    def link_bytes(self, pair_bytes: NDArray[np.number], num_links: int) -> NDArray[np.float64]:
        """What each link carries when so many bytes go over the paths of each pair (float64)."""
        of_path = np.repeat(pair_bytes, self.counts) * (self.shares / WHOLE_SHARE)
        carried = np.repeat(of_path, np.diff(self.link_offset))
        return np.bincount(self.links, carried, minlength=num_links).astype(np.float64)


def _rows(offset: NDArray[np.int64], wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the wanted rows of a CSR hold, row after row, and how much each."""
    counts = np.diff(offset)[wanted]
    begin = np.append(0, np.cumsum(counts))
    return np.repeat(offset[wanted] - begin[:-1], counts) + np.arange(begin[-1]), counts
