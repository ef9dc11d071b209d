"""A rank's trace from what its lanes did: threads or streams, each a chain of computation and calls."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hocket.chakra.builder import TraceBuilder
from hocket.chakra.importers.rank import IssuedCall
from hocket.chakra.trace import CollectiveType, Trace

__all__ = ["LaneStep", "Operator", "add_call", "build_lanes"]


@dataclass(frozen=True, slots=True)
class Operator:
    """Computation of a lane, in ns; `num_ops` and `tensor_bytes` -1 where the operator does not tell them."""

    name: str
    start: int
    end: int
    lane: int = 0
    num_ops: int = -1
    tensor_bytes: int = -1


@dataclass(frozen=True, slots=True)
class LaneStep:
    """A training step of this number begins."""

    number: int
    start: int


def build_lanes(
    rank: int, items: Iterable[Operator | IssuedCall | LaneStep], gap: str | None, metadata: Mapping[str, object]
) -> Trace:
    """The trace of a rank, which begins with the first of `items`.

    Each lane is a chain of data dependencies; what it does between its operators and calls becomes a COMP node named
    `gap`, none where that is None. A call depends on what its lane did before its issue; where a lane waited for it,
    what follows there depends on it; between issue and wait both run side by side. The operators of a lane come in
    order and do not overlap.
    """
    events: list[tuple[int, int, bool, Operator | IssuedCall | LaneStep]] = []  # time, index, whether a wait
    for index, item in enumerate(items):
        events.append((item.start, -1 if isinstance(item, LaneStep) else index, False, item))
        if isinstance(item, IssuedCall) and item.wait is not None:
            events.append((max(item.wait.begin, item.start), index, True, item))
    events.sort(key=lambda event: event[:3])
    lanes = _Lanes(rank, gap, events[0][0] if events else 0, metadata)
    for time, index, is_wait, item in events:
        if isinstance(item, LaneStep):
            lanes.begin_step(item)
        elif isinstance(item, Operator):
            lanes.compute(item)
        elif is_wait:
            lanes.wait(index, item, time)
        else:
            lanes.issue(index, item)
    return lanes.builder.build()


class _Lanes:
    """Adds nodes, and keeps for each lane until when it is told and which nodes its next one depends on."""

    def __init__(self, rank: int, gap: str | None, begin: int, metadata: Mapping[str, object]) -> None:
        self.builder = TraceBuilder(metadata)
        self._rank = rank
        self._gap = gap
        self._until: dict[int, int] = defaultdict(lambda: begin)
        self._tails: dict[int, frozenset[int]] = defaultdict(frozenset)
        self._queues: dict[str, int] = {}
        self._calls: dict[int, tuple[int, frozenset[int]]] = {}  # by index: node, what it depends on

    def begin_step(self, step: LaneStep) -> None:
        for lane in list(self._until):
            self._fill(lane, step.start)
        self.builder.begin_step(step.number)

    def compute(self, operator: Operator) -> None:
        self._fill(operator.lane, operator.start)
        self._add_comp(
            operator.lane,
            operator.name,
            operator.start,
            operator.end,
            num_ops=operator.num_ops,
            tensor_bytes=operator.tensor_bytes,
        )

    def issue(self, index: int, call: IssuedCall) -> None:
        self._fill(call.lane, call.start)
        deps = self._tails[call.lane]
        queued = {self._queues[call.queue]} if call.queue in self._queues else set()
        node = add_call(self.builder, self._rank, call, sorted(deps | queued))
        if call.queue:
            self._queues[call.queue] = node
        self._calls[index] = node, deps

    def wait(self, index: int, call: IssuedCall, time: int) -> None:
        if call.wait is not None:
            lane = call.wait.lane
            self._fill(lane, time)
            node, deps = self._calls[index]
            self._tails[lane] = (self._tails[lane] - deps) | {node}
            self._until[lane] = max(self._until[lane], call.wait.end)

    def _fill(self, lane: int, until: int) -> None:
        if until > self._until[lane] and self._gap is not None:
            self._add_comp(lane, self._gap, self._until[lane], until)

    def _add_comp(self, lane: int, name: str, begin: int, end: int, **work: Any) -> None:
        begin = max(begin, self._until[lane])
        node = self.builder.add_comp(
            name, start_us=begin // 1000, duration_ns=max(end - begin, 0), deps=sorted(self._tails[lane]), **work
        )
        self._tails[lane] = frozenset({node})
        self._until[lane] = max(end, begin)


def add_call(builder: TraceBuilder, rank: int, call: IssuedCall, deps: list[int]) -> int:
    """Adds the node of a rank's call."""
    common: dict[str, Any] = {
        "start_us": call.start // 1000,
        "duration_ns": 0 if call.end is None else max(call.end - call.start, 0),
        "deps": deps,
        "group": call.group,
        "extra": call.extra,
    }
    if call.kind == "send":
        return builder.add_send("send", call.num_bytes, src=rank, dst=call.peer, tag=call.tag, **common)
    if call.kind == "recv":
        return builder.add_recv("recv", call.num_bytes, src=call.peer, dst=rank, tag=call.tag, **common)
    kind = CollectiveType[call.kind.upper()]
    dtype = "" if kind is CollectiveType.BARRIER else call.dtype  # what a backend sends for it tells nothing
    return builder.add_collective(
        call.kind, kind, call.num_bytes, root=call.root, in_splits=call.in_splits, dtype=dtype, **common
    )
