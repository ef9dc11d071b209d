"""What disturbs a call: ranks that come to it late, and other traffic on its links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hocket.chakra.steps import NO_STEP
from hocket.core.errors import SimulationError
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["UNDISTURBED", "Disturbance", "Flow", "disturbed"]

_NAME = "disturbance"
_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Flow:
    """One message of `size_bytes` from rank to rank that is sent at the beginning."""

    src: int
    dst: int
    size_bytes: int


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

    A late rank's nodes that waited for nothing wait for its coming; a flow is a message of its own, sent at time 0.
    Raises SimulationError as `Disturbance.check`.
    """
    disturbance.check(workload.num_ranks)
    late, flows = list(disturbance.late_ps.items()), disturbance.flows
    rank = np.array([*(rank for rank, _ in late), *(flow.src for flow in flows)], np.int64)
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

    roots = np.flatnonzero(np.diff(workload.dependency_offset) == 0)
    comes = np.full(workload.num_ranks, -1)
    comes[rank[: len(late)]] = new[: len(late)]
    roots = roots[comes[workload.rank[roots]] >= 0]
    waits = column(np.diff(workload.dependency_offset), 0)
    waits[row[roots]] = 1
    offset = np.append(0, np.cumsum(waits))
    coming = np.zeros(offset[-1], bool)
    coming[offset[row[roots]]] = True
    dependency = np.empty(offset[-1], np.int64)
    dependency[coming], dependency[~coming] = comes[workload.rank[roots]], row[workload.dependency]

    def messages(values: NDArray[_Number], more: ArrayLike) -> NDArray[_Number]:
        return np.append(values, np.broadcast_to(more, len(flows))).astype(values.dtype)

    carried = len(workload.message_src) + np.arange(len(flows))
    return (
        replace(
            workload,
            rank_offset=workload.rank_offset + np.append(0, np.cumsum(added)),
            kind=column(workload.kind, [NodeKind.DELAY] * len(late) + [NodeKind.SEND] * len(flows)),
            operand=column(workload.operand, [*(time_ps for _, time_ps in late), *carried.tolist()]),
            member=column(workload.member, 0),
            node_id=column(workload.node_id, len(row) + np.arange(len(rank))),
            name=column(workload.name, len(workload.strings)),
            step=column(workload.step, NO_STEP),
            strings=(*workload.strings, _NAME),
            dependency_offset=offset,
            dependency=dependency,
            message_src=messages(workload.message_src, [flow.src for flow in flows]),
            message_dst=messages(workload.message_dst, [flow.dst for flow in flows]),
            message_tag=messages(workload.message_tag, -1),
            message_bytes=messages(workload.message_bytes, [flow.size_bytes for flow in flows]),
            message_priority=messages(workload.message_priority, 0),
        ),
        own,
    )
