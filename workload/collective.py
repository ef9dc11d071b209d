"""Traces of one collective, or of a ring of messages, done again and again: microbenchmarks of communication."""

from collections.abc import Sequence
from dataclasses import dataclass

from hocket.base.enums import StrEnum
from hocket.base.errors import TraceError
from hocket.chakra.builder import TraceBuilder
from hocket.chakra.trace import CollectiveType, Trace, TraceSet

__all__ = ["Benchmark", "CommunicationPattern", "generate_collective"]


class CommunicationPattern(StrEnum):
    """What a benchmark does: a collective of the schema, or `ring_exchange`, in which everybody sends to the next."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    BARRIER = "barrier"
    RING_EXCHANGE = "ring_exchange"


_SIZE_COUNTS_OUTPUT = (CommunicationPattern.ALL_GATHER, CommunicationPattern.GATHER)  # a rank's input is its part of it
_ROOTED = (
    CommunicationPattern.BROADCAST,
    CommunicationPattern.REDUCE,
    CommunicationPattern.GATHER,
    CommunicationPattern.SCATTER,
)
_MAY_BE_UNEVEN = (CommunicationPattern.ALL_TO_ALL, CommunicationPattern.ALL_GATHER, CommunicationPattern.GATHER)
_MAY_BE_CUT = (CommunicationPattern.ALL_TO_ALL, CommunicationPattern.REDUCE_SCATTER, CommunicationPattern.SCATTER)


@dataclass(frozen=True)
class Benchmark:
    """`repeat` times: `compute_ns` of computation on every rank, then the pattern in every group.

    `size_bytes` is nccl-tests' size, the larger of a rank's buffers (a message's size for ring_exchange); `sizes`
    instead gives the input of each member of a group. What members cannot share evenly differs by a byte. `splits` cuts
    an input into parts for the members, in proportion; without any, it is cut evenly. `root` is a position in the
    group. `groups` are disjoint world ranks; without any, all ranks are one group.
    """

    pattern: CommunicationPattern
    num_ranks: int
    size_bytes: int = 0
    sizes: tuple[int, ...] = ()
    splits: tuple[int, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    root: int = 0
    repeat: int = 1
    compute_ns: int = 0

    def __post_init__(self) -> None:
        seen: set[int] = set()
        for group in self.groups:
            if not group or min(group) < 0 or max(group) >= self.num_ranks:
                raise TraceError(f"group {list(group)}: its ranks must be among 0..{self.num_ranks - 1}")
            if len(set(group)) != len(group) or seen & set(group):
                raise TraceError(f"group {list(group)}: a rank can be in one group only, and once")
            seen |= set(group)
        for size in {len(group) for group in self.groups} or {self.num_ranks}:
            self._check(size)

    def _check(self, num_members: int) -> None:
        if not 0 <= self.root < num_members:
            raise TraceError(f"root {self.root} is not a position in a group of {num_members}")
        if num_members < 2 and self.pattern is CommunicationPattern.RING_EXCHANGE:
            raise TraceError("a group of one rank has nobody to exchange messages with")
        if self.sizes and self.pattern not in _MAY_BE_UNEVEN:
            raise TraceError(f"{self.pattern} has the same size on all ranks; only {', '.join(_MAY_BE_UNEVEN)} may not")
        if self.sizes and len(self.sizes) != num_members:
            raise TraceError(f"{len(self.sizes)} sizes for {num_members} members of a group: one each is needed")
        if self.splits and self.pattern not in _MAY_BE_CUT:
            raise TraceError(f"{self.pattern} has no input to cut; {', '.join(_MAY_BE_CUT)} have")
        if self.splits and (len(self.splits) != num_members or not sum(self.splits)):
            raise TraceError(f"splits {list(self.splits)} are no parts for {num_members} members of a group: one each")
        for size in self.sizes or (self.size_bytes,):
            if self.splits and size % sum(self.splits):
                raise TraceError(f"{size} bytes are no multiple of the {sum(self.splits)} that the splits make")

    def input_bytes(self, member: int, num_members: int) -> int:
        """Bytes of the input of the group's `member`: what a trace counts."""
        if self.pattern is CommunicationPattern.BARRIER or (
            self.pattern is CommunicationPattern.SCATTER and member != self.root
        ):
            return 0
        if self.sizes:
            return self.sizes[member]
        if self.pattern not in _SIZE_COUNTS_OUTPUT:
            return self.size_bytes
        return (member + 1) * self.size_bytes // num_members - member * self.size_bytes // num_members


def generate_collective(benchmark: Benchmark) -> TraceSet:
    """The benchmark's traces; its groups are called 1, 2, ..., and ranks outside all groups only compute."""
    groups = {str(number): group for number, group in enumerate(benchmark.groups, start=1)}
    place = {rank: (name, group) for name, group in groups.items() for rank in group}
    everybody = tuple(range(benchmark.num_ranks))
    traces = [
        _rank_trace(benchmark, rank, *(place.get(rank, ("", ())) if groups else ("", everybody))) for rank in everybody
    ]
    return TraceSet(tuple(traces), groups)


def _rank_trace(benchmark: Benchmark, rank: int, group: str, members: Sequence[int]) -> Trace:
    builder = TraceBuilder({"world_size": benchmark.num_ranks})
    before: tuple[int, ...] = ()
    for step in range(benchmark.repeat):
        builder.begin_step(step)
        if benchmark.compute_ns:
            before = (builder.add_comp("compute", duration_ns=benchmark.compute_ns, deps=before),)
        if members:
            before = _add_pattern(builder, benchmark, rank, group, members, step, before)
    return builder.build()


def _add_pattern(
    builder: TraceBuilder,
    benchmark: Benchmark,
    rank: int,
    group: str,
    members: Sequence[int],
    step: int,
    deps: tuple[int, ...],
) -> tuple[int, ...]:
    """Adds one round; returns the nodes that end it."""
    member = members.index(rank)
    num_bytes = benchmark.input_bytes(member, len(members))
    if benchmark.pattern is CommunicationPattern.RING_EXCHANGE:
        after, before = members[(member + 1) % len(members)], members[member - 1]
        return (
            builder.add_recv("receive", num_bytes, src=before, dst=rank, tag=step, deps=deps),
            builder.add_send("send", num_bytes, src=rank, dst=after, tag=step, deps=deps),
        )
    kind = CollectiveType[benchmark.pattern.name]
    root = members[benchmark.root] if benchmark.pattern in _ROOTED else -1
    name, splits = benchmark.pattern.value, benchmark.splits
    return (builder.add_collective(name, kind, num_bytes, group=group, root=root, in_splits=splits, deps=deps),)
