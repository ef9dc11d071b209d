"""A rank's calls as an execution trace: what each thread did in order, compute between its calls."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from hocket.chakra import CollectiveType, Trace, TraceBuilder
from hocket.chakra.importers.lanes import Operator
from hocket.chakra.steps import NO_STEP
from hocket.plugin.torch.matching import GroupKey, group_key
from hocket.plugin.torch.operations import PEER_TO_PEER
from hocket.plugin.torch.operators import Piece, pieces
from hocket.plugin.torch.recording import Call, Group, Recording

__all__ = ["build_trace", "window"]


def window(recording: Recording) -> tuple[int, int]:
    """When the recorded part of a rank begins and ends: steps' marks where there are, else its calls. Times in ns."""
    calls = recording.calls
    first = min(call.start for call in calls)
    last = max(max(call.start, call.end or 0, call.wait[1] if call.wait else 0) for call in calls)
    begins = [t for number, t in recording.steps if number == calls[0].step - 1]
    ends = [t for number, t in recording.steps if number == calls[-1].step]
    return min([first, *begins]), max([last, *ends])


def build_trace(
    recording: Recording,
    groups: Mapping[GroupKey, tuple[int, Group]],
    scattered: Mapping[tuple[int, int], int],
    origin: int,
    metadata: Mapping[str, object],
    operators: Mapping[int, Sequence[Operator]],
) -> Trace:
    """The trace of a rank, which has at least one call; `origin` is the time of its microsecond 0, `scattered` the
    input of each scatter (`matching.scattered_bytes`), `operators` what threads computed as far as it was profiled.

    Each thread is a chain of data dependencies. A call depends on the compute before its issue; where a thread waited
    for a call, the compute that follows depends on it; between issue and wait both run side by side. The messages of a
    batch are issued at once: nothing that the thread does comes between them. Of each recorded step the nodes are told
    (`hocket.chakra.steps`).
    """
    builder = _Builder(recording, groups, scattered, origin, metadata)
    begin, end = window(recording)
    events = []
    for index, call in enumerate(recording.calls):
        events.append((call.start, index, False, call.thread))
        if call.wait is not None:
            events.append((max(call.wait[0], call.start), index, True, call.wait_thread))
    events.sort()
    main = recording.calls[0].thread
    last = {thread: time for time, _, _, thread in events} | {main: end}
    cursors: dict[int, int] = defaultdict(lambda: begin)
    batches: dict[int, int | None] = defaultdict(lambda: None)  # that each thread is issuing

    def compute_until(time: int, thread: int) -> None:
        if time > cursors[thread]:
            for piece in pieces(operators, thread, cursors[thread], time):
                builder.compute(thread, piece)
        cursors[thread] = max(cursors[thread], time)

    begins = _step_begins(recording)
    cuts = [bisect_right(events, time, key=itemgetter(0)) for time, _ in begins[1:]]
    for (step_begin, number), first, behind in zip(begins, [0, *cuts], [*cuts, len(events)], strict=True):
        for thread, thread_end in last.items():
            if thread_end >= step_begin:  # what it computes is cut where the step begins
                compute_until(step_begin, thread)
        builder.begin_step(number)
        for time, index, is_wait, thread in events[first:behind]:
            call = recording.calls[index]
            if is_wait or call.batch is None or call.batch != batches[thread]:
                compute_until(time, thread)
            batches[thread] = None if is_wait else call.batch
            if is_wait and call.wait is not None:
                builder.wait(thread, index)
                cursors[thread] = max(cursors[thread], call.wait[1])
            else:
                builder.issue(thread, index, call)
    compute_until(end, main)
    return builder.build()


def _step_begins(recording: Recording) -> list[tuple[int, int]]:
    """When each recorded step begins, and its number; NO_STEP for what comes after the last that ended."""
    begin, end = window(recording)
    # A script that marks its steps itself begins to count again: of one number the last is meant.
    ends = sorted((time, number) for number, time in dict(recording.steps).items() if begin < time <= end)
    times, numbers = [begin, *(time for time, _ in ends)], [*(number for _, number in ends), NO_STEP]
    return list(zip(times, numbers, strict=True))


def _attributes(call: Call) -> dict[str, int | str]:
    """What a trace's columns do not hold: the batch of a message, by its number on this rank, and the reduction."""
    attributes: dict[str, int | str] = {} if call.batch is None else {"batch": call.batch}
    return attributes if call.reduction is None else attributes | {"reduce_op": call.reduction}


class _Builder:
    """Adds nodes, and keeps for each thread the nodes that its next one depends on."""

    def __init__(
        self,
        recording: Recording,
        groups: Mapping[GroupKey, tuple[int, Group]],
        scattered: Mapping[tuple[int, int], int],
        origin: int,
        metadata: Mapping[str, object],
    ) -> None:
        self._rank = recording.rank
        self._groups = groups
        self._scattered = scattered
        self._origin = origin
        self._builder = TraceBuilder(metadata)
        self._tails: dict[int, frozenset[int]] = defaultdict(frozenset)
        self._calls: dict[int, tuple[int, frozenset[int]]] = {}  # by index: node, what it depends on

    def compute(self, thread: int, piece: Piece) -> None:
        node = self._builder.add_comp(
            piece.name,
            start_us=(piece.begin - self._origin) // 1000,
            duration_ns=piece.end - piece.begin,
            deps=sorted(self._tails[thread]),
            num_ops=piece.num_ops,
            tensor_bytes=piece.tensor_bytes,
        )
        self._tails[thread] = frozenset({node})

    def issue(self, thread: int, index: int, call: Call) -> None:
        deps = self._tails[thread]
        common: dict[str, Any] = {
            "start_us": (call.start - self._origin) // 1000,
            "duration_ns": 0 if call.end is None else call.end - call.start,
            "deps": sorted(deps),
            "extra": _attributes(call),
        }
        number = self._groups[group_key(call.group)][0]
        group = str(number)
        if call.kind in PEER_TO_PEER:
            if call.peer is None:  # a receive from anyone that never ended: from whom is not known
                return
            source, destination = (self._rank, call.peer) if call.kind == "send" else (call.peer, self._rank)
            add = self._builder.add_send if call.kind == "send" else self._builder.add_recv
            node = add(call.kind, call.num_bytes, src=source, dst=destination, tag=call.tag, group=group, **common)
        else:
            kind = CollectiveType[call.kind.upper()]
            root = -1 if call.root is None else call.root
            node = self._builder.add_collective(
                call.kind,
                kind,
                self._scattered.get((number, call.sequence)) or call.num_bytes,
                group=group,
                root=root,
                in_splits=call.in_splits,
                dtype=call.dtype,
                **common,
            )
        self._calls[index] = node, deps

    def wait(self, thread: int, index: int) -> None:
        node, deps = self._calls[index]
        self._tails[thread] = (self._tails[thread] - deps) | {node}

    def begin_step(self, number: int) -> None:
        self._builder.begin_step(number)

    def build(self) -> Trace:
        return self._builder.build()
