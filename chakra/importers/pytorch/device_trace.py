"""The trace of a rank that computes on a device: what its streams did, in the order they did it.

The host's operators are no nodes: they run beside the device. Where a stream is idle and nothing else holds it, it
waits for the host, and a COMP node `host` lasts as long.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from hocket.chakra.builder import TraceBuilder
from hocket.chakra.importers.lanes import add_call
from hocket.chakra.importers.pytorch.issues import Issue, complete
from hocket.chakra.importers.pytorch.kineto import DeviceEvent, Kineto
from hocket.chakra.importers.pytorch.launches import launch_times, step_numbers
from hocket.chakra.importers.pytorch.starts import Start, starts_of
from hocket.chakra.importers.pytorch.streams import awaited, dependencies
from hocket.chakra.importers.pytorch.untimed import kernels_of_untimed
from hocket.chakra.importers.pytorch.work import OperatorWork
from hocket.chakra.importers.rank import IssuedCall, Notes
from hocket.chakra.losses import Loss, Lost
from hocket.chakra.profiled import HOST, RUNS_SIDE_BY_SIDE, UNSIZED, unsized
from hocket.chakra.steps import NO_STEP
from hocket.chakra.trace import NodeType, Trace

__all__ = ["device_trace", "issues_of_kernels"]


def device_trace(
    rank: int,
    kineto: Kineto,
    of_kernel: Mapping[int, Collection[Issue]],
    calls: Mapping[Issue, IssuedCall],
    notes: Notes,
) -> Trace:
    """The trace of a rank whose profile has a device: `of_kernel` are the issues of its events (`issues_of_kernels`),
    `calls` what is known of them."""
    events, launches = kineto.device, launch_times(kineto)
    deps = dependencies(kineto, launches, of_kernel)
    if not kineto.waited:
        notes["streams' waits, which have to be inferred (enable_cuda_sync_events=True records them)"] += 1
    _note_overlaps(events, notes)
    steps = sorted(kineto.steps)
    begin = min([event.start for event in events[:1]] + [start for start, _ in steps])
    starts = starts_of(events, launches, deps, begin)
    step_of = step_numbers([start for start, _ in steps], launches, starts)
    builder = _Device(rank, kineto)
    place = NO_STEP
    for index in sorted(range(len(events)), key=lambda index: (step_of[index], index)):
        if step_of[index] != place:
            place = step_of[index]
            builder.begin_step(steps[place][1])
        known = [_timed(calls[issue], events[index]) for issue in of_kernel.get(index, ()) if issue in calls]
        builder.add(index, events[index], known, starts[index])
    apart = {index for index in of_kernel if events[index].is_communication}
    unawaited = len(apart - awaited([start.after for start in starts], of_kernel))
    if unawaited:
        loss = Loss(Lost.WAIT, "", "no later kernel is seen to wait for the collective")
        notes.lose(rank, loss, "collectives that no later kernel is seen to wait for", unawaited)
    return builder.build()


def _note_overlaps(events: Sequence[DeviceEvent], notes: Notes) -> None:
    """Counts events that began before the one before them on their stream ended, and for how long they overlapped."""
    ends: dict[int, int] = {}
    overlaps = []
    for event in events:
        end = ends.get(event.stream, event.start)
        overlaps += [min(end, event.end) - event.start] if end > event.start else []
        ends[event.stream] = max(end, event.end)
    if overlaps:
        took = f"they overlapped for {sum(overlaps) / 1e6:.3f} ms in all"
        notes[f"kernels that began before the one before them on their stream ended: after it, {took}"] += len(overlaps)


def _timed(call: IssuedCall, event: DeviceEvent) -> IssuedCall:
    return replace(call, start=event.start, end=event.end, extra={**call.extra, "stream": event.stream})


def issues_of_kernels(rank: int, kineto: Kineto, issues: Sequence[Issue], notes: Notes) -> dict[int, list[Issue]]:
    """Which operations each of NCCL's kernels on the rank does, by the index of its event: the one that launched it,
    else, as with batches of messages, all that its thread recorded since its last launch, else what the execution trace
    alone tells, else what the kernel's own attributes say. `notes` counts as lost what has no kernel."""
    recorded: dict[int, list[Issue]] = defaultdict(list)
    by_external = {}
    for issue in issues:
        if not issue.is_gloo and not issue.is_direct and issue.is_timed:
            recorded[issue.event.thread].append(issue)
            by_external[(issue.record or issue.event).external] = issue
    found: dict[int, list[Issue]] = {}
    unexplained: list[int] = []
    events = kineto.device
    kernels = [index for index, event in enumerate(events) if event.is_collective]
    kernels.sort(key=lambda index: kineto.launches.get(events[index].correlation, (events[index].start, -1)))
    for index in kernels:
        time, thread = kineto.launches.get(events[index].correlation, (events[index].start, -1))
        waiting = recorded[thread]
        count = sum(1 for issue in waiting if issue.event.start <= time)
        own = by_external.get(events[index].external)
        found[index] = [own] if own in waiting[:count] and own is not None else waiting[:count]
        del waiting[:count]
        record = events[index].record
        if len(found[index]) == 1 and record is not None:
            complete(found[index][0], record)
        if not found[index]:
            unexplained.append(index)
    found |= kernels_of_untimed([(index, events[index]) for index in unexplained], issues)
    _note_unexplained(rank, kineto, [index for index in unexplained if not found[index]], notes)
    found |= _direct(rank, events, issues, notes)
    _note_left(rank, issues, {issue for own in found.values() for issue in own}, notes)
    return {index: own for index, own in found.items() if own}


def _note_left(rank: int, issues: Sequence[Issue], done: Collection[Issue], notes: Notes) -> None:
    """Counts as lost the operations that no kernel does, but for those of one rank, which need none, and what a thread
    issued last, of which the kernels ran when the profile had ended."""
    last = {issue.event.thread: issue.event.start for issue in issues if issue in done and issue.is_timed}
    for issue in issues:
        kind = issue.described.kind
        if issue in done or issue.is_direct:
            continue
        if issue.is_gloo:
            loss = Loss.of_call(kind, "gloo's, beside a device")
            notes.lose(rank, loss, "collectives of gloo beside a device: left out")
        elif issue.described.members == 1:
            loss = Loss(Lost.NODE, kind, "of a group of one rank, which moves nothing")
            notes.lose(rank, loss, "operations of NCCL in groups of one rank: left out")
        elif issue.is_timed and issue.event.start > last.get(issue.event.thread, issue.event.start):
            loss = Loss(Lost.NODE, kind, "its kernel ran after the end of the profile")
            notes.lose(rank, loss, "operations of NCCL whose kernel ran after the end of the profile: left out")
        else:
            loss = Loss.of_call(kind, "its kernel, which is not in the profile")
            notes.lose(rank, loss, "operations of NCCL without a kernel: left out")


def _note_unexplained(rank: int, kineto: Kineto, kernels: Sequence[int], notes: Notes) -> None:
    """Counts kernels of NCCL that nothing explains, and how long they took."""
    launched = {True: "launched during the recording, that no record explains", False: "launched before the recording"}
    for is_known, when in launched.items():
        own = [kineto.device[at] for at in kernels if (kineto.device[at].correlation in kineto.launches) == is_known]
        took = sum(event.end - event.start for event in own) / 1e6
        if own:
            note = f"kernels of NCCL {when}: {UNSIZED} at its recorded time, {took:.3f} ms in all"
            notes.lose(rank, Loss(Lost.KERNEL, "NCCL", f"{when}: {UNSIZED}"), note, len(own))


def _direct(rank: int, events: Sequence[DeviceEvent], issues: Sequence[Issue], notes: Notes) -> dict[int, list[Issue]]:
    """The operations that communicate by a kernel of their own: the longest that each launched."""
    longest: dict[int, int] = {}
    for index, event in enumerate(events):
        if event.kind == "kernel" and event.external >= 0:
            other = longest.setdefault(event.external, index)
            if event.end - event.start > events[other].end - events[other].start:
                longest[event.external] = index
    found = {}
    for issue in issues:
        if issue.is_direct and issue.event.external in longest:
            found[longest[issue.event.external]] = [issue]
        elif issue.is_direct:
            loss = Loss.of_call(issue.described.kind, "its kernel, which is not in the profile")
            notes.lose(rank, loss, f"{issue.event.name} without a kernel: left out")
    return found


class _Device:
    """Adds the nodes of a device's events, each after those that it follows."""

    def __init__(self, rank: int, kineto: Kineto) -> None:
        self._rank = rank
        metadata = {"generator": "PyTorch profiler"} | ({"gpu": kineto.gpu} if kineto.gpu else {})
        self._builder = TraceBuilder({**metadata, **RUNS_SIDE_BY_SIDE})
        self._nodes: dict[int, tuple[int, ...]] = {}
        self._work = _work_of_kernels(kineto)

    def begin_step(self, number: int) -> None:
        self._builder.begin_step(number)

    def add(self, index: int, event: DeviceEvent, calls: Sequence[IssuedCall], start: Start) -> None:
        before = self._nodes_of(start.after)
        if start.idle:
            host = self._builder.add_comp(
                HOST,
                start_us=(event.start - start.idle) // 1000,
                duration_ns=start.idle,
                deps=self._nodes_of(start.idle_after),
                extra={"stream": event.stream},
            )
            before.append(host)
        nodes = tuple(add_call(self._builder, self._rank, call, before) for call in calls)
        self._nodes[index] = nodes or (self._compute(index, event, before),)

    def _nodes_of(self, events: Sequence[int]) -> list[int]:
        return sorted({node for other in events for node in self._nodes[other]})

    def _compute(self, index: int, event: DeviceEvent, deps: list[int]) -> int:
        copies = {"HtoD": NodeType.MEM_LOAD, "DtoH": NodeType.MEM_STORE} if event.kind == "memcpy" else {}
        kind = next((kind for direction, kind in copies.items() if direction in event.name), NodeType.COMP)
        work = self._work.get(index)
        return self._builder.add(
            kind,
            unsized(event.name) if event.communicates else event.name,
            start_us=event.start // 1000,
            duration_ns=event.end - event.start,
            deps=deps,
            num_ops=-1 if work is None else work.num_ops,
            tensor_bytes=event.num_bytes or -1 if work is None else work.num_bytes,
            extra={"stream": event.stream},
        )

    def build(self) -> Trace:
        return self._builder.build()


def _work_of_kernels(kineto: Kineto) -> dict[int, OperatorWork]:
    """The work of operators, by the longest of the kernels each launched; the others of it have none."""
    work = {operation.external: operation.work for operation in kineto.operations if operation.work is not None}
    events = kineto.device
    kernels = [index for index, event in enumerate(events) if event.kind == "kernel" and event.external in work]
    kernels.sort(key=lambda index: events[index].external)
    found = {}
    for external, own in groupby(kernels, key=lambda index: events[index].external):
        longest = max(own, key=lambda index: (events[index].end - events[index].start, -index))
        found[longest] = work[external]
    return found
