"""What a rank does, step by step, when a trace is issued again: plain data that travels to the ranks' processes."""

from dataclasses import dataclass
from functools import cached_property

from hocket.base.enums import not_here
from hocket.runtime.replay.elements import Element

__all__ = ["RECEIVE", "SEND", "Operation", "RankProgram"]

SEND, RECEIVE = "send", "receive"


@dataclass(frozen=True)
class Operation:
    """A rank's part in a collective or message; equal parts share one object.

    `kind` is a Kind, `barrier`, `send` or `receive`; `group` indexes the groups of the replay, `position` is the rank's
    place among the group's ranks, ascending. `blocks` are bytes: of the whole buffer (all_reduce, broadcast, reduce and
    messages), of each member's block (all_gather, gather, reduce_scatter, scatter), of what each member has for each
    other (all_to_all, row by row). `root` and `peer` are world ranks.
    """

    kind: str
    element: Element
    group: int = 0
    group_size: int = 1
    position: int = 0
    blocks: tuple[int, ...] = ()
    root: int = -1
    peer: int = -1
    tag: int = 0

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The blocks in elements."""
        return tuple(block // self.element.size_bytes for block in self.blocks)

    @property
    def sent(self) -> tuple[int, ...]:
        """Of an all_to_all: elements that this rank has for each member."""
        return self.counts[self.position * self.group_size : (self.position + 1) * self.group_size]

    @property
    def received(self) -> tuple[int, ...]:
        """Of an all_to_all: elements that each member has for this rank."""
        return self.counts[self.position :: self.group_size]

    @cached_property
    def buffer_bytes(self) -> tuple[int, int]:
        """Bytes of the input and of the output, at most; blocks count as the largest (see `TorchFabric`)."""
        whole, block = len(self.blocks) * max(self.blocks, default=0), max(self.blocks, default=0)
        match self.kind:
            case "all_gather" | "gather":
                return block, whole
            case "reduce_scatter" | "scatter":
                return whole, block
            case "all_to_all":
                size = self.element.size_bytes
                return sum(self.sent) * size, sum(self.received) * size
            case "receive":
                return 0, block
            case "all_reduce" | "broadcast" | "reduce" | "send" | "barrier":
                return whole, 0
            case _:
                not_here(self.kind)


@dataclass(frozen=True, eq=False)
class RankProgram:
    """A rank's nodes in an order that no set of ranks can deadlock in, node k at index k of each list.

    `duration_ps` of computations, `operation` an index into `operations` (-1: computes), `stream` which thread does it.
    Before node k its thread waits until the nodes `waits[k]` are complete and node `after[k]` (-1: none) is issued.
    `row` is the node's row in the workload, `label` names it in messages.
    """

    row: list[int]
    label: list[str]
    duration_ps: list[int]
    operation: list[int]
    operations: tuple[Operation, ...]
    stream: list[int]
    waits: list[tuple[int, ...]]
    after: list[int]

    @property
    def num_streams(self) -> int:
        return max(self.stream, default=0) + 1

    @property
    def buffer_bytes(self) -> tuple[int, int]:
        """The largest input and output of its operations."""
        needs = [operation.buffer_bytes for operation in self.operations]
        return max((need for need, _ in needs), default=0), max((need for _, need in needs), default=0)
