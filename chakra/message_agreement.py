"""Checks across ranks: every message needs its partner of the same size, in order, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hocket.chakra.finding import TraceFinding, TraceSeverity, at_node, source_of
from hocket.chakra.trace import NodeType, Trace, TraceSource

__all__ = ["MessageAgreement"]


@dataclass
class _Channel:
    """Messages from a rank to another with one tag: how many were seen, and the sizes of those without a partner."""

    num_sent: int = 0
    num_received: int = 0
    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    different: tuple[int, int, int] | None = None  # the first with two sizes: number, sent, received

    def add(self, sizes: list[int], is_send: bool) -> None:
        if is_send:
            self.num_sent += len(sizes)
            self.sent += sizes
        else:
            self.num_received += len(sizes)
            self.received += sizes
        met = min(len(self.sent), len(self.received))
        if self.different is None and self.sent[:met] != self.received[:met]:
            k = next(k for k in range(met) if self.sent[k] != self.received[k])
            number = min(self.num_sent, self.num_received) - met + k
            self.different = number, self.sent[k], self.received[k]
        del self.sent[:met], self.received[:met]


class MessageAgreement:
    """Whether messages fit together; blocks are added as they come."""

    def __init__(self, traces: TraceSource) -> None:
        self._traces = traces
        self._channels: dict[tuple[int, int, int], _Channel] = {}
        self._strangers: list[TraceFinding] = []

    def add(self, rank: int, trace: Trace) -> None:
        """The next nodes of a rank."""
        for kind in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            rows = np.flatnonzero(trace.type == kind)
            is_send = kind == NodeType.COMM_SEND
            self._strangers += self._foreign_ends(rank, trace, rows, "comm_src" if is_send else "comm_dst")
            ends = np.stack([trace.comm_src[rows], trace.comm_dst[rows], trace.comm_tag[rows]])
            keys, place = np.unique(ends, axis=1, return_inverse=True)
            order = np.argsort(place.ravel(), kind="stable")
            sizes = np.split(trace.comm_bytes[rows][order], np.cumsum(np.bincount(place.ravel()))[:-1])
            for key, of_key in zip(keys.T.tolist(), sizes, strict=False):
                self._channels.setdefault(tuple(key), _Channel()).add(of_key.tolist(), is_send)

    def findings(self) -> Iterator[TraceFinding]:
        """What does not fit together, when all nodes were added."""
        yield from self._strangers
        for (src, dst, tag), channel in sorted(self._channels.items()):
            text = f"from rank {src} to rank {dst} with tag {tag}"
            source = source_of(self._traces, src) if 0 <= src < self._traces.num_ranks else f"rank {src}"
            if channel.num_sent != channel.num_received:
                message = (
                    f"{channel.num_sent} sends and {channel.num_received} receives {text}: of each both are needed"
                )
                message += ", as a part of a job has them when it is cut by --steps"
                yield TraceFinding(TraceSeverity.ERROR, source, "comm_tag", message)
            elif channel.different:
                k, sent, received = channel.different
                message = f"message {k} {text} is sent with {sent} bytes and received with {received}"
                yield TraceFinding(TraceSeverity.ERROR, source, "comm_size", message)

    def _foreign_ends(self, rank: int, trace: Trace, rows: np.ndarray, own_field: str) -> Iterator[TraceFinding]:
        num_ranks = self._traces.num_ranks
        for name in ("comm_src", "comm_dst"):
            ends = getattr(trace, name)[rows]
            wrong = ends != rank if name == own_field else ends >= num_ranks
            expected = f"this is rank {rank}" if name == own_field else f"the job has ranks 0 to {num_ranks - 1}"
            for row, end in zip(rows[wrong], ends[wrong], strict=True):
                yield at_node(trace, source_of(self._traces, rank), row, name, f"{end}, but {expected}")
