"""Divides a rank's nodes among threads, so that nothing waits behind what it does not depend on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["MAX_STREAMS", "Streams", "divide"]

MAX_STREAMS = 8


@dataclass(frozen=True)
class Streams:
    """Of each node: its thread, the nodes it has to wait for there (what the thread knows to be complete left out), and
    the node that must be issued before it by another thread (-1: none)."""

    stream: list[int]
    waits: list[tuple[int, ...]]
    after: list[int]


@dataclass
class _Thread:
    """`passed[t]`: how many nodes of thread t are behind a point that this thread has waited for. `blocked` is how many
    of its own nodes there were behind its last wait or computation, `computed` the latter, where it was one (-1)."""

    passed: list[int] = field(default_factory=lambda: [0] * MAX_STREAMS)
    complete: set[int] = field(default_factory=set)
    length: int = 0
    blocked: int = 0
    computed: int = -1


def divide(dependencies: Sequence[Sequence[int]], computes: Sequence[bool], previous: Sequence[int]) -> Streams:
    """Nodes 0, 1, ... in an order in which they can be issued, with those that each depends on, whether it computes
    (and holds its thread), and which must be issued before it (-1: none).

    A node joins a thread whose last wait or computation it depends on anyway. A communication that first has to wait
    does not join one that has more to do as it is. From `MAX_STREAMS` on threads are shared.
    """
    threads: list[_Thread] = []
    stream: list[int] = []
    index: list[int] = []  # of each node in its thread, from 1 on
    clock: list[list[int]] = []
    waits: list[tuple[int, ...]] = []
    after: list[int] = []
    dependents = Counter(other for needed in dependencies for other in needed)  # those that have no thread yet

    def unknown(number: int, node: int) -> tuple[int, ...]:
        thread = threads[number]
        return tuple(
            other
            for other in dependencies[node]
            if (thread.passed[stream[other]] < index[other] if computes[other] else other not in thread.complete)
        )

    for node, needed in enumerate(dependencies):
        dependents.subtract(needed)
        passed = [0] * MAX_STREAMS
        for other in needed:
            passed = list(map(max, passed, clock[other]))
            passed[stream[other]] = max(passed[stream[other]], index[other])
        fitting = [number for number, thread in enumerate(threads) if passed[number] >= thread.blocked]
        if not computes[node]:
            fitting = [n for n in fitting if not (dependents[threads[n].computed] > 0 and unknown(n, node))]
        if fitting:
            number = max(fitting, key=lambda n: (-len(unknown(n, node)), threads[n].blocked))
        elif len(threads) < MAX_STREAMS:
            number = len(threads)
            threads.append(_Thread())
        else:
            number = min(range(MAX_STREAMS), key=lambda n: (len(unknown(n, node)), threads[n].length))
        thread = threads[number]
        waits.append(unknown(number, node))
        before = previous[node]
        after.append(before if before >= 0 and stream[before] != number else -1)
        thread.length += 1
        stream.append(number)
        index.append(thread.length)
        clock.append(passed)
        thread.passed = list(map(max, thread.passed, passed))
        thread.complete.update(needed)
        if computes[node] or waits[-1]:
            thread.blocked = thread.length
            thread.computed = node if computes[node] else -1
        if computes[node]:
            thread.passed[number] = thread.length
    return Streams(stream, waits, after)
