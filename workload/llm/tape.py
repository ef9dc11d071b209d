"""Records what a pipeline stage does, with its streams: one of computation, one of each process group."""

from collections.abc import Sequence

from hocket.base.errors import Infeasible
from hocket.chakra.builder import TraceBuilder
from hocket.chakra.trace import CollectiveType, Trace
from hocket.workload.llm.ranks import GroupKind, Peer
from hocket.workload.llm.work import KernelWork

__all__ = ["Tape"]

_CRITICAL = 1  # comm_priority of what computation waits for; a greater one goes first
_BACKGROUND = 0
_PICOSECONDS = 1000


class Tape:
    """The nodes of a stage, the same on all its ranks: groups are kinds of groups, peers are kinds of peers.

    `tail` is what the next computation waits for: the computation before it, and all communication that was joined.
    The collectives of one group come one after the other, as in NCCL. Sizes are bytes; sizes of zero are left out.
    All of it is step 0 of the job.
    """

    def __init__(self, metadata: dict[str, object]) -> None:
        self._builder = TraceBuilder(metadata)
        self._builder.begin_step(0)
        self._last: dict[GroupKind, int] = {}
        self.tail: tuple[int, ...] = ()

    def build(self) -> Trace:
        """The stage's trace. Raises Infeasible when a node has more operations or bytes than a trace can say."""
        try:
            return self._builder.build()
        except OverflowError as error:
            raise Infeasible(
                "plan: a node has 2^63 operations or bytes and more: choose shorter sequences, smaller micro-batches "
                "or more parallel ranks"
            ) from error

    def compute(self, name: str, work: KernelWork) -> int:
        """Computation after all that is joined."""
        node = self._builder.add_comp(
            name,
            num_ops=work.num_ops,
            tensor_bytes=work.num_bytes,
            duration_ns=-(-work.time_ps // _PICOSECONDS),
            deps=self.tail,
        )
        self.tail = (node,)
        return node

    def join(self, nodes: Sequence[int]) -> None:
        """What comes next waits for these nodes as well."""
        self.tail += tuple(node for node in nodes if node not in self.tail)

    def start(
        self,
        name: str,
        kind: CollectiveType,
        num_bytes: int,
        group: GroupKind,
        after: Sequence[int] | None = None,
        background: bool = False,
    ) -> tuple[int, ...]:
        """A collective after `after`, else after all that is joined; computation goes on until it is joined."""
        deps = self.tail if after is None else tuple(after)
        before = self._last.get(group)
        self._last[group] = self._builder.add_collective(
            name,
            kind,
            num_bytes,
            group=group.value,
            comm_priority=_BACKGROUND if background else _CRITICAL,
            deps=deps,
            ctrl_deps=() if before is None or before in deps else (before,),
        )
        return (self._last[group],)

    def run(self, name: str, kind: CollectiveType, num_bytes: int, group: GroupKind) -> None:
        """A collective that computation waits for."""
        self.tail = self.start(name, kind, num_bytes, group)

    def send(self, name: str, num_bytes: int, peer: Peer, tag: int, after: Sequence[int] | None = None) -> int:
        """A message to a peer; nothing waits for it."""
        return self._builder.add_send(
            name,
            num_bytes,
            src=Peer.SELF,
            dst=peer,
            tag=tag,
            comm_priority=_CRITICAL,
            deps=self.tail if after is None else after,
        )

    def receive(self, name: str, num_bytes: int, peer: Peer, tag: int, after: Sequence[int]) -> int:
        """A message from a peer, awaited from `after` on; to be joined."""
        return self._builder.add_recv(
            name, num_bytes, src=peer, dst=Peer.SELF, tag=tag, comm_priority=_CRITICAL, deps=after
        )
