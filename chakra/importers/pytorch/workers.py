"""Which group each of gloo's worker threads serves, by when the threads were started."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

__all__ = ["groups_of_workers"]

#: Threads that ProcessGroupGloo starts for a group (Options::threads of torch/csrc/distributed/c10d).
_WORKERS = 2


def groups_of_workers(
    possible: Mapping[int, set[str]], threads: Mapping[int, int], groups: Sequence[str]
) -> dict[int, set[str]]:
    """The groups that each worker may serve, of those that its operations may be in (`possible`); `threads` are the
    system's numbers of threads, `groups` are in the order in which they were made.

    gloo makes a group's threads one after the other when the group is made, behind one that serves its connections: so
    their numbers ascend in the order of the groups, two that follow each other directly are of one group, and none has
    more than two. Nothing is narrowed where that contradicts what is known, as where numbers began anew.
    """
    workers = sorted((worker for worker in possible if worker in threads), key=lambda worker: threads[worker])
    pairs = _together(workers, threads)
    fitting = [set.intersection(*(possible[worker] for worker in pair)) for pair in pairs]
    narrowed = _in_order([len(pair) for pair in pairs], fitting, groups)
    found = {worker: set(names) for worker, names in possible.items()}
    for pair, names in zip(pairs, narrowed, strict=True):
        for worker in pair if all(narrowed) else ():
            found[worker] = names
    return found


def _together(workers: Sequence[int], threads: Mapping[int, int]) -> list[list[int]]:
    """Workers whose numbers follow each other directly, at most two."""
    pairs: list[list[int]] = [[worker] for worker in workers[:1]]
    for before, worker in pairwise(workers):
        if threads[worker] == threads[before] + 1 and len(pairs[-1]) < _WORKERS:
            pairs[-1].append(worker)
        else:
            pairs.append([worker])
    return pairs


def _in_order(sizes: Sequence[int], fitting: Sequence[set[str]], groups: Sequence[str]) -> list[set[str]]:
    """The groups that each of the pairs is in where all are in some, in order, none of more than two workers."""
    before = _reachable(sizes, fitting, groups)
    after = _reachable(sizes[::-1], fitting[::-1], groups[::-1])[::-1]
    return [
        {
            groups[place]
            for place, used in first
            if any(len(groups) - 1 - other == place and used + more - size <= _WORKERS for other, more in last)
        }
        for size, first, last in zip(sizes, before, after, strict=True)
    ]


def _reachable(sizes: Sequence[int], fitting: Sequence[set[str]], groups: Sequence[str]) -> list[set[tuple[int, int]]]:
    """For each pair the places of the groups that it may be in after the pairs before it, each with how many workers
    the group then has."""
    found: list[set[tuple[int, int]]] = []
    for size, names in zip(sizes, fitting, strict=True):
        places = [place for place, name in enumerate(groups) if name in names]
        previous = found[-1] if found else {(-1, 0)}
        found.append(
            {
                (place, used + size if place == last else size)
                for place in places
                for last, used in previous
                if place > last or (place == last and used + size <= _WORKERS)
            }
        )
    return found
