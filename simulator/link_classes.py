"""Which links do alike: those that messages of the same kinds take in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from hocket.topology import Paths, Topology

__all__ = ["LinkClasses"]

_Ints = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


class LinkClasses:
    """Collects which links the messages of each kind take; `settings` are columns over the links that must be alike.

    A message of each pair comes when its leader comes to it in its program, of equal places in programs that of the
    lower rank first: the sender, or the first of a collective's group.
    """

    def __init__(self, topology: Topology, settings: tuple[NDArray[np.uint8], ...]) -> None:
        self._columns = np.stack(
            [topology.latency_ps, topology.bandwidth, *(np.asarray(each, np.int64) for each in settings)]
        )
        self._num_links = topology.num_links
        self._uses: list[tuple[_Ints, _Ints, _Ints, _Ints]] = []
        self._kinds = 0

    def copy(self) -> LinkClasses:
        """One that can be added to."""
        found = copy(self)
        found._uses = [*self._uses]
        return found

    def add(self, kind: _Ints, program: _Ints, leader: _Ints, parts: Sequence[Paths]) -> bool:
        """Pair k of the paths of all parts is of `kind[k]` (from 0 up), and its leader is rank `leader[k]` that runs
        `program[k]`; False where pairs of one kind differ in that, or in their number of paths, lengths or shares."""
        paths = Paths.joined(parts)
        counts, lengths = paths.counts, np.diff(paths.link_offset)
        pair = np.repeat(np.arange(len(kind)), counts)
        number = np.arange(len(pair)) - np.repeat(paths.first[:-1], counts)
        of_path = np.repeat(np.arange(len(pair)), lengths)
        hop = np.arange(len(of_path)) - np.repeat(paths.link_offset[:-1], lengths)
        path = _joint(kind[pair], number)
        if not (_same(kind, program) and _same(kind, counts) and _same(path, lengths) and _same(path, paths.shares)):
            return False
        use = _joint(path[of_path], hop)
        of_use = pair[of_path]
        self._uses.append((use + self._kinds, program[of_use], leader[of_use], paths.links.astype(np.int64)))
        self._kinds += int(use.max(initial=-1)) + 1
        return True

    def standing_for_all(self) -> NDArray[np.int32] | None:
        """The link that stands for each link (int32); None unless every link that stands for others sees what each of
        them sees: every kind once, in the same order."""
        use, program, leader, link = (np.concatenate([_NONE, *column]) for column in self._columns_of_uses())
        label = self._labels(use, link)
        if not all(_same(label, column) for column in self._columns):
            return None
        if np.unique(np.stack([use, link]), axis=1).shape[1] != len(use):
            return None  # some link takes two messages of one kind
        size = np.bincount(label[np.unique(link)], minlength=self._num_links)
        if not np.array_equal(np.bincount(use, minlength=self._kinds)[use], size[label[link]]):
            return None
        if not _in_one_order(use, program, leader, link):
            return None
        found: NDArray[np.int32] = label.astype(np.int32)
        return found

    def _columns_of_uses(self) -> list[list[_Ints]]:
        return [[each[at] for each in self._uses] for at in range(4)]

    def _labels(self, use: _Ints, link: _Ints) -> _Ints:
        """The smallest link that each is joined with by kinds of messages."""
        label = np.arange(self._num_links)
        while True:
            of_use = np.full(self._kinds, self._num_links)
            np.minimum.at(of_use, use, label[link])
            found = label.copy()
            np.minimum.at(found, link, of_use[use])
            if np.array_equal(found, label):
                return label
            label = found


def _joint(first: _Ints, second: _Ints) -> _Ints:
    """A number from 0 up for each pair of numbers from 0 up."""
    wide = first * (int(second.max(initial=0)) + 1) + second
    number: _Ints = np.unique(wide, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def _in_one_order(use: _Ints, program: _Ints, leader: _Ints, link: _Ints) -> bool:
    """Whether the leaders of unlike programs have the same order at all links of a kind. Those of one program come in
    its order everywhere."""
    by_link = np.lexsort((leader, link))
    use, program, link = use[by_link], program[by_link], link[by_link]
    begins = np.append(True, link[1:] != link[:-1])[: len(link)]
    changes = begins | np.append(True, program[1:] != program[:-1])[: len(link)]
    run = np.cumsum(changes)
    place = run - run[begins][np.cumsum(begins) - 1]  # which program's turn it is at the link
    turns = np.unique(np.stack([link, program, place]), axis=1)
    once = np.unique(turns[:2], axis=1).shape[1] == turns.shape[1]
    return once and _same(use, place)


def _same(key: _Ints, values: NDArray[np.generic]) -> bool:
    """Whether all places of a key (from 0 up, not all need to be there) have one value."""
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return bool(np.array_equal(values[first][which.reshape(-1)], values))
