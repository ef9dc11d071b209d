"""What disturbs a call: ranks that come to it late, and other traffic on its links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hocket.base.errors import SimulationError
from hocket.chakra.steps import NO_STEP
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["UNDISTURBED", "Disturbance", "Flow", "disturbed"]

_NAME = "disturbance"
_PIECE, _AHEAD = 512 << 10, 8
_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Flow:
    """`size_bytes` from rank to rank from the beginning on, as NCCL sends over NVLink: in messages of 512 KiB, of which
    8 are under way at once."""

    src: int
    dst: int
    size_bytes: int

    @property
    def pieces(self) -> list[int]:
        """Bytes of each message."""
        whole, rest = divmod(self.size_bytes, _PIECE)
        return [_PIECE] * whole + [rest] * (rest > 0)


@dataclass(frozen=True, slots=True)
class Disturbance:
    """`late_ps`: how much later than the others ranks come to the call. `flows` are not waited for."""

    late_ps: Mapping[int, int] = field(default_factory=dict)
    flows: Sequence[Flow] = ()

    def check(self, num_ranks: int) -> None:
        """Raises SimulationError for a rank that is none, or nothing to send."""
        for rank in [*self.late_ps, *(end for flow in self.flows for end in (flow.src, flow.dst))]:
            if not 0 <= rank < num_ranks:
                raise SimulationError(f"rank {rank} is not one of {num_ranks}")
        for flow in self.flows:
            if flow.src == flow.dst or flow.size_bytes < 1:
                raise SimulationError(f"traffic from {flow.src} to {flow.dst} of {flow.size_bytes} B is none")


UNDISTURBED = Disturbance()


def disturbed(workload: Workload, disturbance: Disturbance) -> tuple[Workload, NDArray[np.bool_]]:
    """The workload so disturbed, and which of its nodes are those that it had, in their order.

    A late rank's nodes that waited for none of its own wait for its coming; flows are messages of their own.
    Raises SimulationError as `Disturbance.check`.
    """
    disturbance.check(workload.num_ranks)
    comings = len(disturbance.late_ps)
    sent = [(flow, place, size) for flow in disturbance.flows for place, size in enumerate(flow.pieces)]
    rank = np.array([*disturbance.late_ps, *(flow.src for flow, _, _ in sent)], np.int64)
    # of a message the one that it waits for, by their numbers among what is added
    after = np.array(
        [-1] * comings + [k - _AHEAD if place >= _AHEAD else -1 for k, (_, place, _) in enumerate(sent, comings)],
        np.int64,
    )
    order = np.argsort(rank, kind="stable")  # rows go rank after rank
    added = np.bincount(rank, minlength=workload.num_ranks)
    row = np.arange(len(workload.kind)) + (np.cumsum(added) - added)[workload.rank]
    own = np.zeros(len(row) + len(rank), bool)
    own[row] = True
    new = np.empty_like(order)
    new[order] = np.flatnonzero(~own)

    def column(values: NDArray[_Number], others: ArrayLike) -> NDArray[_Number]:
        result = np.empty(len(own), values.dtype)
        result[row], result[new] = values, others
        return result

    def messages(values: NDArray[_Number], more: ArrayLike) -> NDArray[_Number]:
        return np.append(values, np.broadcast_to(more, len(sent))).astype(values.dtype)

    waits_for = np.full(len(own), -1)  # what a node waits for beside what it did
    waits_for[new] = np.where(after >= 0, new[after], -1)
    coming = np.full(workload.num_ranks, -1)
    coming[rank[:comings]] = new[:comings]
    first = _first_of_their_rank(workload)
    waits_for[row[first]] = coming[workload.rank[first]]
    offset = np.append(0, np.cumsum(column(np.diff(workload.dependency_offset), 0) + (waits_for >= 0)))
    dependency = np.full(offset[-1], -1)
    dependency[offset[:-1][waits_for >= 0]] = waits_for[waits_for >= 0]
    dependency[dependency < 0] = row[workload.dependency]
    carried = len(workload.message_src) + np.arange(len(sent))
    return (
        replace(
            workload,
            rank_offset=workload.rank_offset + np.append(0, np.cumsum(added)),
            kind=column(workload.kind, [NodeKind.DELAY] * comings + [NodeKind.SEND] * len(sent)),
            operand=column(workload.operand, [*disturbance.late_ps.values(), *carried.tolist()]),
            member=column(workload.member, 0),
            node_id=column(workload.node_id, len(row) + np.arange(len(rank))),
            name=column(workload.name, len(workload.strings)),
            step=column(workload.step, NO_STEP),
            strings=(*workload.strings, _NAME),
            dependency_offset=offset,
            dependency=dependency,
            message_src=messages(workload.message_src, [flow.src for flow, _, _ in sent]),
            message_dst=messages(workload.message_dst, [flow.dst for flow, _, _ in sent]),
            message_tag=messages(workload.message_tag, -1),
            message_bytes=messages(workload.message_bytes, [size for _, _, size in sent]),
            message_priority=messages(workload.message_priority, 0),
            message_crossing=messages(workload.message_crossing, -1),
            message_channel=messages(workload.message_channel, -1),
        ),
        own,
    )


def _first_of_their_rank(workload: Workload) -> NDArray[np.bool_]:
    """Which nodes wait for none of their own rank's."""
    waiting = np.repeat(np.arange(len(workload.kind)), np.diff(workload.dependency_offset))
    first = np.ones(len(workload.kind), bool)
    first[waiting[workload.rank[waiting] == workload.rank[workload.dependency]]] = False
    return first
