"""What a job's traces hold, counted block by block."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hocket.chakra.losses import LOSSES, REPAIRS, Loss, losses_of
from hocket.chakra.trace import CollectiveType, NodeType, Trace, TraceSource

__all__ = ["CollectiveRow", "CountedLoss", "EqualCollectives", "TraceSummary", "kind_of_node", "summarize"]


@dataclass(frozen=True)
class CollectiveRow:
    """Communication of one kind, group and size: how many nodes on how many ranks, and their measured time."""

    kind: str
    group: str
    num_bytes: int
    num_nodes: int
    num_ranks: int
    total_bytes: int
    duration_us: int


@dataclass(frozen=True)
class EqualCollectives:
    """The equal collectives of one rank: `bytes` is the comm_size of one (-1: not recorded), `dtype` as recorded ("":
    it was not), `count` how many there are; `group_ranks` are world ranks, none where the group is unknown."""

    rank: int
    kind: str
    group_ranks: tuple[int, ...]
    bytes: int
    dtype: str
    count: int


@dataclass(frozen=True)
class CountedLoss:
    """How many of a kind the traces' metadata say were lost, or changed by a repair, and why."""

    what: str
    kind: str
    reason: str
    count: int


@dataclass(frozen=True)
class TraceSummary:
    """Counts over all ranks; `losses` and `repairs` are what the metadata say of these; `communication` is sorted
    by total bytes, largest first, `collectives` by rank."""

    num_ranks: int
    num_nodes: int
    nodes_per_type: dict[str, int]
    num_dependencies: int
    groups: dict[str, tuple[int, ...]]
    communication: tuple[CollectiveRow, ...]
    collectives: tuple[EqualCollectives, ...]
    losses: tuple[CountedLoss, ...] = ()
    repairs: tuple[CountedLoss, ...] = ()


_Key = tuple[int, str, str, int, str]  # rank, kind, group, bytes, dtype


def summarize(traces: TraceSource) -> TraceSummary:
    """Counts the nodes of all ranks, holding one block of them at a time; sizes are bytes, -1 where a node has none."""
    types: Counter[int] = Counter()
    nodes: Counter[_Key] = Counter()
    duration_us: Counter[_Key] = Counter()
    num_dependencies = 0
    metadata: dict[int, dict[str, object]] = {}
    for rank, trace in traces.blocks():
        metadata[rank] = trace.metadata
        types.update(dict(zip(*(part.tolist() for part in np.unique(trace.type, return_counts=True)), strict=True)))
        num_dependencies += len(trace.data_deps) + len(trace.ctrl_deps)
        for key, count, micros in _communication(rank, trace):
            nodes[key] += count
            duration_us[key] += micros
    return TraceSummary(
        num_ranks=traces.num_ranks,
        num_nodes=types.total(),
        nodes_per_type={kind.name: types[kind] for kind in NodeType if types[kind]},
        num_dependencies=num_dependencies,
        groups=dict(traces.groups),
        communication=_over_ranks(nodes, duration_us),
        collectives=_collectives(traces, nodes),
        losses=_counted(metadata.values(), LOSSES),
        repairs=_counted(metadata.values(), REPAIRS),
    )


def _counted(metadata: Iterable[dict[str, object]], key: str) -> tuple[CountedLoss, ...]:
    counts: Counter[Loss] = Counter()
    for of_rank in metadata:
        counts.update(losses_of(of_rank, key))
    return tuple(CountedLoss(str(loss.what), loss.kind, loss.reason, counts[loss]) for loss in sorted(counts))


def _communication(rank: int, trace: Trace) -> list[tuple[_Key, int, int]]:
    """Each kind of communication among the nodes: how many there are, and their measured time in us."""
    rows = np.flatnonzero(trace.type >= NodeType.COMM_SEND)
    columns = (trace.type, trace.comm_type, trace.process_group, trace.comm_bytes, trace.dtype)
    keys, place, counts = np.unique(
        np.stack([column[rows].astype(np.int64) for column in columns]), axis=1, return_inverse=True, return_counts=True
    )
    micros = np.zeros(len(counts), np.uint64)
    np.add.at(micros, place.ravel(), trace.duration_us[rows])
    texts = (*trace.strings, "")  # -1: absent
    return [
        ((rank, kind_of_node(node_type, comm_type), texts[group], size, texts[dtype]), count, duration)
        for (node_type, comm_type, group, size, dtype), count, duration in zip(
            keys.T.tolist(), counts.tolist(), micros.tolist(), strict=True
        )
    ]


def _over_ranks(nodes: Counter[_Key], duration_us: Counter[_Key]) -> tuple[CollectiveRow, ...]:
    counts: Counter[tuple[str, str, int]] = Counter()
    micros: Counter[tuple[str, str, int]] = Counter()
    ranks: dict[tuple[str, str, int], set[int]] = {}
    for key, count in nodes.items():
        rank, *(kind, group, size), _ = key
        counts[kind, group, size] += count
        micros[kind, group, size] += duration_us[key]
        ranks.setdefault((kind, group, size), set()).add(rank)
    rows = [
        CollectiveRow(*key, count, len(ranks[key]), count * max(key[2], 0), micros[key])
        for key, count in counts.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.total_bytes, row.kind, row.group, row.num_bytes)))


def _collectives(traces: TraceSource, nodes: Counter[_Key]) -> tuple[EqualCollectives, ...]:
    messages = {kind_of_node(kind, -1) for kind in (NodeType.COMM_SEND, NodeType.COMM_RECV)}
    counts: Counter[tuple[int, str, tuple[int, ...], int, str]] = Counter()
    for (rank, kind, group, size, dtype), count in nodes.items():
        if kind not in messages:
            counts[rank, kind, _members(traces, group), size, dtype] += count
    return tuple(EqualCollectives(*key, counts[key]) for key in sorted(counts))


def _members(traces: TraceSource, group: str) -> tuple[int, ...]:
    try:
        return traces.members(group)
    except KeyError:
        return ()


def kind_of_node(node_type: int, comm_type: int) -> str:
    """What a node of communication is, such as all_reduce or send."""
    if node_type != NodeType.COMM_COLL:
        return NodeType(node_type).name.removeprefix("COMM_").lower()
    return CollectiveType(comm_type).name.lower() if 0 <= comm_type <= max(CollectiveType) else "no comm_type"
