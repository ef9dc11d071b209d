"""Data parallelism of a stage: gradients in buckets during the backward pass, ZeRO's shards, the optimizer's step.

ZeRO (arXiv:1910.02054) stage 0 sums gradients by all_reduce; 1 to 3 by reduce_scatter, each rank updates its shard, and
all_gather brings the parameters back: once after the step, bucket by bucket (1, 2), or, as in FSDP (arXiv:2304.11277),
before each use, one part of the model ahead (3). Stages 2 and 3 keep no whole gradients: they reduce those of every
micro-batch, 0 and 1 those of the last one. Shards are of equal size; what does not divide is padded.
"""

from collections.abc import Iterable, Sequence

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


class DataParallel:
    """What a stage's parameters make it communicate.

    `uses` are the units in the order in which the stage will use them; ZeRO 3 looks one ahead in it.
    """

    def __init__(self, plan: ParallelPlan, tape: Tape, uses: Sequence[Unit]) -> None:
        self._plan, self._tape, self._uses = plan, tape, uses
        self._copies = {GroupKind.DATA: plan.copies, GroupKind.EXPERT_DATA: plan.copies // plan.ep}
        self._num_used = 0
        self._gathered: tuple[int, ...] = self._gather(0) if uses else ()
        self._bucket: dict[GroupKind, int] = {}
        self._reduced: list[int] = []
        self._after_step: list[tuple[GroupKind, int]] = []

    def use(self) -> None:
        """Computation now needs the next unit in `uses`, and the one after that is asked for."""
        gathered = self._gathered
        self._num_used += 1
        self._gathered = self._gather(self._num_used)
        self._tape.join(gathered)

    def add_gradients(self, unit: Unit, last_micro_batch: bool) -> None:
        """The gradients of a unit are there; those of its whole bucket go out."""
        if self._plan.zero < 2 and not last_micro_batch:
            return
        name, parameters = unit
        for group, count in self._counts(parameters):
            self._bucket[group] = self._bucket.get(group, 0) + count
            if self._plan.zero == 3 or self._bucket[group] * self._plan.gradient_bytes >= self._plan.bucket_bytes:
                self._reduce(name, group, last_micro_batch)

    def close_buckets(self, last_micro_batch: bool) -> None:
        """A chunk's backward pass is over: what is left goes out."""
        for group in list(self._bucket):
            self._reduce("last", group, last_micro_batch)

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
        updated = sum(
            -(-count // self._copies[group]) if plan.zero else count for group, count in self._sizes(parameters)
        )
        tape.compute("optimizer", work.optimizer(updated))
        for group, count in self._after_step:
            tape.start("gather parameters", CollectiveType.ALL_GATHER, self._shard(group, count), group)

    def _gather(self, use: int) -> tuple[int, ...]:
        """Asks for the parameters of a use, when all before is done."""
        if self._plan.zero < 3 or use >= len(self._uses):
            return ()
        name, parameters = self._uses[use]
        nodes: tuple[int, ...] = ()
        for group, count in self._counts(parameters):
            size = self._shard(group, count)
            nodes += self._tape.start(f"{name} gather parameters", CollectiveType.ALL_GATHER, size, group)
        return nodes

    def _reduce(self, name: str, group: GroupKind, last_micro_batch: bool) -> None:
        count = self._bucket.pop(group)
        size, kind = count * self._plan.gradient_bytes, CollectiveType.ALL_REDUCE
        if self._plan.zero:
            kind = CollectiveType.REDUCE_SCATTER
            size = -(-count // self._copies[group]) * self._copies[group] * self._plan.gradient_bytes
        self._reduced += self._tape.start(f"{name} reduce gradients", kind, size, group, background=True)
        if self._plan.zero in (1, 2) and last_micro_batch:
            self._after_step.append((group, count))

    def _kept(self, count: int) -> int:
        """Of this many dense gradients those that a rank keeps: stages 2 and 3 leave it a shard."""
        return -(-count // self._copies[GroupKind.DATA]) if self._plan.zero >= 2 else count

    def _shard(self, group: GroupKind, count: int) -> int:
        return -(-count // self._copies[group]) * PARAMETER_BYTES

    def _counts(self, parameters: ParameterCount) -> list[tuple[GroupKind, int]]:
        """Parameters by the group that holds copies of them, where there is one."""
        return [(group, count) for group, count in self._sizes(parameters) if count and self._copies[group] > 1]

    def _sizes(self, parameters: ParameterCount) -> tuple[tuple[GroupKind, int], tuple[GroupKind, int]]:
        """Without expert parallelism the experts are copied like everything else."""
        if self._plan.ep == 1:
            return (GroupKind.DATA, parameters.dense + parameters.experts), (GroupKind.EXPERT_DATA, 0)
        return (GroupKind.DATA, parameters.dense), (GroupKind.EXPERT_DATA, parameters.experts)
