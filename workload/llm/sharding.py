"""Data parallelism of a stage: gradients in buckets during the backward pass, ZeRO's shards, the optimizer's step.

ZeRO (arXiv:1910.02054) stage 0 sums gradients by all_reduce; 1 to 3 by reduce_scatter, each rank updates its shard, and
all_gather brings the parameters back: once after the step, bucket by bucket (1, 2), or, as in FSDP (arXiv:2304.11277),
before each use, one part of the model ahead (3). Stages 2 and 3 keep no whole gradients: they reduce those of every
micro-batch, 0 and 1 those of the last one. Shards are of equal size; what does not divide is padded. Hybrid sharding
gathers and scatters within a shard group, and sums the shards of gradients over the groups.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hocket.chakra.trace import CollectiveType
from hocket.workload.llm.parameters import ParameterCount
from hocket.workload.llm.plan import PARAMETER_BYTES, ParallelPlan
from hocket.workload.llm.ranks import GroupKind
from hocket.workload.llm.tape import Tape
from hocket.workload.llm.work import Workbook

__all__ = ["DataParallel", "Unit"]

Unit = tuple[
    str, ParameterCount
]  # a part of the model that is gathered and reduced as one: its name and its parameters


@dataclass(frozen=True)
class _Copies:
    """The ranks that hold the same parameters: how many, and the groups in which they are divided and summed."""

    kind: GroupKind
    number: int
    shards: int
    shard: GroupKind
    replica: GroupKind


class DataParallel:
    """What a stage's parameters make it communicate.

    `uses` are the units in the order in which the stage will use them, and whether it then is done with them; ZeRO 3
    looks ahead in it.
    """

    def __init__(self, plan: ParallelPlan, tape: Tape, uses: Sequence[tuple[Unit, bool]]) -> None:
        self._plan, self._tape = plan, tape
        shard, expert_shard = GroupKind.DATA, GroupKind.EXPERT_DATA
        if plan.shard_group:
            shard, expert_shard = GroupKind.SHARD, GroupKind.EXPERT_SHARD
        self._dense = _Copies(GroupKind.DATA, plan.copies, plan.shards, shard, GroupKind.REPLICA)
        self._experts = _Copies(
            GroupKind.EXPERT_DATA,
            plan.copies // plan.ep,
            plan.shards // plan.ep,
            expert_shard,
            GroupKind.EXPERT_REPLICA,
        )
        self._wanted = iter(self._needed(uses))
        self._gathered: deque[tuple[int, ...]] = deque()
        for _ in range(plan.prefetch):
            self._ask()
        self._bucket: dict[_Copies, int] = {}
        self._reduced: list[int] = []
        self._after_step: list[tuple[_Copies, int]] = []

    def use(self) -> None:
        """Computation now needs the next unit in `uses`, and one further on is asked for."""
        self._ask()
        self._tape.join(self._gathered.popleft())

    def add_gradients(self, unit: Unit, last_micro_batch: bool) -> None:
        """The gradients of a unit are there; those of its whole bucket go out."""
        if self._plan.zero < 2 and not last_micro_batch:
            return
        name, parameters = unit
        for copies, count in self._counts(parameters):
            self._bucket[copies] = self._bucket.get(copies, 0) + count
            if self._plan.zero == 3 or self._bucket[copies] * self._plan.gradient_bytes >= self._plan.bucket_bytes:
                self._reduce(name, copies, last_micro_batch)

    def close_buckets(self, last_micro_batch: bool) -> None:
        """A chunk's backward pass is over: what is left goes out."""
        for copies in list(self._bucket):
            self._reduce("last", copies, last_micro_batch)

    def reduce_all(self, units: Iterable[Unit]) -> None:
        """All gradients are there, and go out in this order."""
        for unit in units:
            self.add_gradients(unit, True)
        self.close_buckets(True)

    def step(self, work: Workbook, parameters: ParameterCount, embedding: int) -> None:
        """The optimizer's step, when all gradients are there. `embedding`: gradients summed over both pipeline ends."""
        plan, tape = self._plan, self._tape
        tape.join(self._reduced)
        if plan.sequence_parallel:
            size = self._kept(parameters.replicated) * plan.gradient_bytes
            tape.run("sum of replicated gradients", CollectiveType.ALL_REDUCE, size, GroupKind.TENSOR)
        if embedding:
            size = self._kept(embedding) * plan.gradient_bytes
            tape.run("sum of embedding gradients", CollectiveType.ALL_REDUCE, size, GroupKind.EMBEDDING)
        updated = sum(-(-count // copies.shards) if plan.zero else count for copies, count in self._sizes(parameters))
        tape.compute("optimizer", work.optimizer(updated))
        for copies, count in self._after_step:
            tape.start("gather parameters", CollectiveType.ALL_GATHER, _shard(copies, count), copies.shard)

    def _needed(self, uses: Sequence[tuple[Unit, bool]]) -> Iterator[Unit | None]:
        """What to gather before each use: nothing where it is still whole."""
        whole: set[str] = set()
        for unit, is_last in uses:
            name = unit[0]
            yield None if name in whole or self._plan.zero < 3 else unit
            if is_last:
                whole.discard(name)
            elif self._plan.keep_gathered:
                whole.add(name)

    def _ask(self) -> None:
        """Asks for the parameters of the next use that none were asked for, when all before is done."""
        nodes: tuple[int, ...] = ()
        if unit := next(self._wanted, None):
            name, parameters = unit
            for copies, count in self._counts(parameters):
                if copies.shards > 1:
                    size, what = _shard(copies, count), f"{name} gather parameters"
                    nodes += self._tape.start(what, CollectiveType.ALL_GATHER, size, copies.shard)
        self._gathered.append(nodes)

    def _reduce(self, name: str, copies: _Copies, last_micro_batch: bool) -> None:
        count, tape = self._bucket.pop(copies), self._tape
        name, size, bytes_each = f"{name} reduce gradients", -(-count // copies.shards), self._plan.gradient_bytes
        nodes: tuple[int, ...] | None = None
        if not self._plan.zero:
            nodes = tape.start(name, CollectiveType.ALL_REDUCE, count * bytes_each, copies.kind, background=True)
        elif copies.shards > 1:
            scattered = size * copies.shards * bytes_each
            nodes = tape.start(name, CollectiveType.REDUCE_SCATTER, scattered, copies.shard, background=True)
        if self._plan.zero and copies.number > copies.shards:
            what = f"{name} of replicas"
            nodes = tape.start(
                what, CollectiveType.ALL_REDUCE, size * bytes_each, copies.replica, nodes, background=True
            )
        self._reduced += nodes or ()
        if self._plan.zero in (1, 2) and last_micro_batch and copies.shards > 1:
            self._after_step.append((copies, count))

    def _kept(self, count: int) -> int:
        """Of this many dense gradients those that a rank keeps: stages 2 and 3 leave it a shard."""
        return -(-count // self._dense.shards) if self._plan.zero >= 2 else count

    def _counts(self, parameters: ParameterCount) -> list[tuple[_Copies, int]]:
        """Parameters by the ranks that hold copies of them, where there are several."""
        return [(copies, count) for copies, count in self._sizes(parameters) if count and copies.number > 1]

    def _sizes(self, parameters: ParameterCount) -> tuple[tuple[_Copies, int], tuple[_Copies, int]]:
        """Without expert parallelism the experts are copied like everything else."""
        if self._plan.ep == 1:
            return (self._dense, parameters.dense + parameters.experts), (self._experts, 0)
        return (self._dense, parameters.dense), (self._experts, parameters.experts)


def _shard(copies: _Copies, count: int) -> int:
    """Bytes of a rank's part of so many parameters."""
    return -(-count // copies.shards) * PARAMETER_BYTES
