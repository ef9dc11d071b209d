"""A workload from the traces of a job."""

import numpy as np

from hocket._core.schedule import HORIZON_PS
from hocket.chakra import NodeType, TraceSet
from hocket.simulator.traces.collectives import match_collectives
from hocket.simulator.traces.messages import match_messages
from hocket.simulator.traces.nodes import Nodes
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["workload_of"]

_PICOSECONDS_PER_NANOSECOND = 1000
_MODELLED = (NodeType.METADATA, NodeType.COMP, NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV)


def workload_of(traces: TraceSet, chunks_per_rank: int = 1) -> Workload:
    """The job's workload, ranks and nodes in ascending id; collectives are cut into `chunks_per_rank`.

    The k-th collective of a process group on one member is the k-th on all, and the k-th message with a source,
    destination and tag is the k-th receive of these; the order is that of the node ids. A trace counts a collective's
    size as bytes of the input on a rank; where ranks differ (uneven all_to_all, all_gather) the largest counts.
    Raises TraceError, naming rank and node, for duplicate ids, dependencies on absent nodes, missing attributes,
    unknown groups, node types that are not modelled, and ranks that disagree.
    """
    nodes = Nodes(traces)
    dependency_offset, dependency = nodes.dependencies()
    nodes.require(
        np.isin(nodes.type, _MODELLED),
        np.arange(len(nodes)),
        lambda at: f"nodes of type {NodeType(nodes.type[at]).name} are not modelled; remove them or use COMP nodes",
    )
    duration_ns = nodes.column("duration_ns")
    nodes.require(
        (duration_ns >= 0) & (duration_ns <= HORIZON_PS // _PICOSECONDS_PER_NANOSECOND),
        np.arange(len(nodes)),
        lambda at: f"a duration of {duration_ns[at]} ns is not between 0 and 26 days",
    )
    collectives, messages = match_collectives(nodes, chunks_per_rank), match_messages(nodes)

    kind = np.full(len(nodes), NodeKind.NOTHING, np.uint8)
    operand = np.zeros(len(nodes), np.int64)
    member = np.zeros(len(nodes), np.int32)
    computing = nodes.type == NodeType.COMP
    kind[computing] = NodeKind.COMPUTE
    operand[computing] = duration_ns[computing] * _PICOSECONDS_PER_NANOSECOND
    kind[collectives.rows] = NodeKind.COLLECTIVE
    operand[collectives.rows] = collectives.instance
    member[collectives.rows] = collectives.member
    kind[messages.rows] = np.where(messages.sends, NodeKind.SEND, NodeKind.RECEIVE)
    operand[messages.rows] = messages.number
    strings: dict[str, int] = {}
    return Workload(
        rank_offset=nodes.rank_offset,
        kind=kind,
        operand=operand,
        member=member,
        node_id=nodes.id,
        name=nodes.text_column("name", strings),
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
        notes=(*collectives.notes, *messages.notes),
    )
