"""Records what a pipeline stage does, with its streams: one of computation, one of each process group."""

from collections.abc import Callable, Mapping, Sequence

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
    All of it is step 0 of the job. `says` are attributes of the nodes that come next: `pass`, `stage`, `micro_batch`.
    """

    def __init__(self, metadata: dict[str, object]) -> None:
        self._builder = TraceBuilder(metadata)
        self._builder.begin_step(0)
        self._last: dict[GroupKind, tuple[int, ...]] = {}
        self.tail: tuple[int, ...] = ()
        self.says: Mapping[str, int | str] = {}

    def build(self) -> Trace:
        """The stage's trace. Raises Infeasible when a node has more operations or bytes than a trace can say."""
        try:
            return self._builder.build()
        except OverflowError as error:
            raise Infeasible(
                "plan: a node has 2^63 operations or bytes and more: choose shorter sequences, smaller micro-batches "
                "or more parallel ranks"
            ) from error

    def beside(self, passes: Sequence[Callable[[], None]]) -> None:
        """Passes that begin together: each waits for its own communication only, and what comes next for them all.
        They share the stream of computation; collectives of one group are in order within a pass."""
        tail, last, ends = self.tail, dict(self._last), []
        for each in passes:
            self.tail, self._last = tail, dict(last)
            each()
            ends.append((self.tail, self._last))
        if len(ends) > 1:
            self.tail = tuple(dict.fromkeys(node for end, _ in ends for node in end))
            groups = dict.fromkeys(group for _, of_group in ends for group in of_group)
            self._last = {
                group: tuple(dict.fromkeys(node for _, of_group in ends for node in of_group.get(group, ())))
                for group in groups
            }

    def compute(self, name: str, work: KernelWork, of_weights: bool = False) -> int:
        """Computation after all that is joined; `of_weights`: their gradient, whatever the pass."""
        node = self._builder.add_comp(
            name,
            num_ops=work.num_ops,
            tensor_bytes=work.num_bytes,
            duration_ns=-(-work.time_ps // _PICOSECONDS),
            deps=self.tail,
            extra={**self.says, "pass": "weight_gradient"} if of_weights else self.says,
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
        splits: Sequence[int] = (),
    ) -> tuple[int, ...]:
        """A collective after `after`, else after all that is joined; computation goes on until it is joined. `splits`:
        bytes for each member, where they are not cut evenly."""
        deps = self.tail if after is None else tuple(after)
        before = self._last.get(group, ())
        node = self._builder.add_collective(
            name,
            kind,
            num_bytes,
            group=group.value,
            comm_priority=_BACKGROUND if background else _CRITICAL,
            deps=deps,
            ctrl_deps=tuple(each for each in before if each not in deps),
            in_splits=splits,
            extra=self.says,
        )
        self._last[group] = (node,)
        return (node,)

    def run(self, name: str, kind: CollectiveType, num_bytes: int, group: GroupKind) -> None:
        """A collective that computation waits for."""
        self.tail = self.start(name, kind, num_bytes, group)

    def send(self, name: str, num_bytes: int, peer: int, tag: int, after: Sequence[int] | None = None) -> int:
        """A message to a peer; nothing waits for it."""
        return self._builder.add_send(
            name,
            num_bytes,
            src=Peer.SELF,
            dst=peer,
            tag=tag,
            comm_priority=_CRITICAL,
            deps=self.tail if after is None else after,
            extra=self.says,
        )

    def receive(self, name: str, num_bytes: int, peer: int, tag: int, after: Sequence[int]) -> int:
        """A message from a peer, awaited from `after` on; to be joined."""
        return self._builder.add_recv(
            name,
            num_bytes,
            src=peer,
            dst=Peer.SELF,
            tag=tag,
            comm_priority=_CRITICAL,
            deps=after,
            extra=self.says,
        )
