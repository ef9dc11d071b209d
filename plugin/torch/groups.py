"""The process groups a rank has used."""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

from hocket.plugin.torch import interfaces
from hocket.recording.stream import Stream, record

__all__ = ["CollectedGroup", "GroupWriter", "watch_destroyed"]

# PyTorch before 2.9 holds Python's lock while it destroys a group of gloo's and waits for its threads, which may need
# that lock to free what their last collective held: it hangs now and then, and often where they had called Python.
_SECONDS_TO_LET_GO = 0.02
_HOLDS_THE_LOCK = torch.__version__ < (2, 9)

# How many groups of the same members, sorted, were destroyed so far in this process.
_destroyed: Counter[tuple[int, ...]] = Counter()


class CollectedGroup:
    """A process group as the recorder needs it: its number in the stream, its world ranks, its next sequence number."""

    __slots__ = ("id", "ranks", "sequence")

    def __init__(self, identifier: int, ranks: list[int]) -> None:
        self.id = identifier
        self.ranks = ranks
        self.sequence = itertools.count()


def _peek(count: "itertools.count[int]") -> int:
    """What comes next, without taking it. Only its text tells: copies of iterators are gone from Python 3.14 on."""
    return int(repr(count)[len("count(") : -1])


class GroupWriter:
    """Writes each group to the stream at its first use; holds none alive."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._groups: WeakKeyDictionary[dist.ProcessGroup, CollectedGroup] = WeakKeyDictionary()
        self._ids = itertools.count()
        # Several threads may issue their first call in a group; a finalizer may issue one while its thread does.
        self._lock = threading.RLock()

    def find(self, process_group: dist.ProcessGroup) -> CollectedGroup:
        """The entry of a process group. Raises ValueError for one that torch.distributed does not know."""
        with self._lock:
            group = self._groups.get(process_group)
            if group is None:
                group = self._groups[process_group] = self._register(process_group)
            return group

    def find_by_name(self, name: str) -> tuple[int, list[int]]:
        """Number and world ranks of the process group of that name, which PyTorch gives to one only.

        Raises ValueError for one that torch.distributed does not know.
        """
        for process_group in interfaces.all_groups():
            if process_group.group_name == name:
                group = self.find(process_group)
                return group.id, group.ranks
        raise ValueError(f"torch.distributed knows no process group '{name}'")

    def advance(self, identifier: int, count: int) -> int:
        """Takes the numbers of so many collectives of a group; returns the first of them. Raises ValueError for one
        that is gone."""
        with self._lock:
            for group in self._groups.values():
                if group.id == identifier:
                    first = _peek(group.sequence)
                    group.sequence = itertools.count(first + count)
                    return first
        raise ValueError(f"process group {identifier} is gone")

    def _register(self, process_group: dist.ProcessGroup) -> CollectedGroup:
        ranks = dist.get_process_group_ranks(process_group)
        # Ranks may first use two groups of the same members in different order: creation order tells them apart.
        alike = [other for other in interfaces.all_groups() if _members(other) == _members(process_group)]
        group = CollectedGroup(next(self._ids), ranks)
        self._stream.keep(
            record(
                "group",
                id=group.id,
                name=process_group.group_name,
                description=process_group.group_desc,
                ranks=ranks,
                rank=process_group.rank(),
                backend=dist.get_backend(process_group),
                order=_destroyed[_members(process_group)] + alike.index(process_group),
            )
        )
        return group


def watch_destroyed(forget: Callable[[bool], None]) -> None:
    """Counts the groups that are destroyed, whose names others may get, and tells `forget` before, and whether they are
    all of them."""
    destroy = dist.destroy_process_group

    @wraps(destroy)
    def destroy_process_group(group: dist.ProcessGroup | None = None) -> None:
        known = interfaces.all_groups()
        every = group is None or group == dist.group.WORLD
        gone = known if every or group is None else [group]
        _destroyed.update(_members(other) for other in gone if other in known)
        forget(every)
        if _HOLDS_THE_LOCK:
            time.sleep(_SECONDS_TO_LET_GO)
        destroy(group)

    dist.destroy_process_group = dist.distributed_c10d.destroy_process_group = destroy_process_group


def _members(process_group: dist.ProcessGroup) -> tuple[int, ...]:
    return tuple(sorted(dist.get_process_group_ranks(process_group)))
