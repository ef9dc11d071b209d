"""A workload from the traces of a job."""

import numpy as np
from numpy.typing import NDArray

from hocket.chakra import NodeType, TraceSet
from hocket.chakra.losses import all_communication_lost, loss_lines, losses_of_job
from hocket.chakra.profiled import is_unsized, runs_side_by_side
from hocket.simulator.fold import Fold
from hocket.simulator.traces.collectives import CollectiveNodes, match_collectives
from hocket.simulator.traces.durations import Accesses, Computations, Hardware, computations, memory_accesses
from hocket.simulator.traces.messages import MessageNodes, match_messages
from hocket.simulator.traces.nodes import Nodes
from hocket.simulator.traces.replicas import folded_members, replicas_of
from hocket.simulator.workload import CannotFold, NodeKind, Workload

__all__ = ["workload_of"]


def workload_of(traces: TraceSet, chunks_per_rank: int, hardware: Hardware, fold: Fold | None = None) -> Workload:
    """The job's workload, or with `fold` that of the ranks that stand for others, ranks and nodes in ascending id.
    Collectives are cut into `chunks_per_rank`, and `hardware` prices what has no recorded duration.

    The k-th collective of a process group on one member is the k-th on all, and the k-th message with a source,
    destination and tag is the k-th receive of these; the order is that of the node ids. Raises TraceError, naming file
    and node, for duplicate ids, dependencies on absent nodes, missing attributes, unknown groups, nodes without a type
    or that nothing prices, and ranks that disagree; and CannotFold where parts of what is folded have unlike sizes.
    """
    nodes = Nodes(traces, fold)
    strings: dict[str, int] = {}
    name = nodes.text_column("name", strings)
    dependency_offset, dependency = nodes.dependencies()
    nodes.require(
        nodes.type != NodeType.INVALID,
        np.arange(len(nodes)),
        lambda _: "has no type (INVALID_NODE); every node needs one",
    )
    computed, accesses = computations(nodes, hardware), memory_accesses(nodes, hardware)
    if fold is not None and len(accesses.rows):
        raise CannotFold("memories, which ranks may share")
    collectives, messages = match_collectives(nodes, chunks_per_rank), match_messages(nodes)

    losses = losses_of_job(traces)
    unsized = np.array([*map(is_unsized, strings), False])[name[computed.rows]]
    kind, operand, member = _programs(nodes, computed, unsized, accesses, collectives, messages)
    return Workload(
        rank_offset=nodes.rank_offset,
        kind=kind,
        operand=operand,
        member=member,
        node_id=nodes.id,
        name=name,
        step=nodes.steps(),
        strings=tuple(strings),
        dependency_offset=dependency_offset,
        dependency=dependency,
        calls=collectives.calls,
        call_of=collectives.call_of,
        groups=collectives.groups,
        group_of=collectives.group_of,
        message_src=messages.src,
        message_dst=messages.dst,
        message_tag=messages.tag,
        message_bytes=messages.size,
        call_priority=collectives.priority,
        message_priority=messages.priority,
        message_crossing=np.full(len(messages.src), -1, np.int32),
        message_channel=np.zeros(len(messages.src), np.int64),
        access_memory=accesses.memory,
        access_service_ps=accesses.service_ps,
        access_latency_ps=accesses.latency_ps,
        notes=(
            *computed.notes,
            *collectives.notes,
            *messages.notes,
            *_unsized_note(nodes.count(computed.rows[unsized])),
        ),
        side_by_side=frozenset(at for at, trace in enumerate(nodes.traces.traces) if runs_side_by_side(trace)),
        replicas=replicas_of(nodes, collectives),
        lost=tuple(loss_lines(losses)),
        lost_all=all_communication_lost(losses, len(collectives.rows) + len(messages.rows)),
    )


def _programs(
    nodes: Nodes,
    computed: Computations,
    unsized: NDArray[np.bool_],
    accesses: Accesses,
    collectives: CollectiveNodes,
    messages: MessageNodes,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]]:
    """Columns `kind`, `operand` and `member` of the workload; `unsized` of what computes is communication."""
    kind = np.full(len(nodes), NodeKind.NOTHING, np.uint8)
    operand = np.zeros(len(nodes), np.int64)
    member = np.zeros(len(nodes), np.int32)
    kind[computed.rows] = np.where(unsized, NodeKind.COMMUNICATION, NodeKind.COMPUTE)
    operand[computed.rows] = computed.duration_ps
    kind[accesses.rows] = NodeKind.MEMORY
    operand[accesses.rows] = np.arange(len(accesses.rows))
    kind[collectives.rows] = NodeKind.COLLECTIVE
    operand[collectives.rows] = collectives.instance
    member[collectives.rows] = folded_members(nodes, collectives)
    kind[messages.rows] = np.where(messages.sends, NodeKind.SEND, NodeKind.RECEIVE)
    operand[messages.rows] = messages.number
    return kind, operand, member


def _unsized_note(count: int) -> tuple[str, ...]:
    return (f"{count} kernels that communicate bytes nobody knows take their recorded time and no links",) * (count > 0)
