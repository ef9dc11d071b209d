"""What the communication of one rank of a job takes alone: NCCL's model for its collectives, the links' bandwidths for
messages and all-to-all, which NCCL sends as messages, too.

Groups that communicate at the same time do not slow each other here. Tokens go to a node once, as dispatchers of today
send them (DeepEP, HybridEP), however many of its experts they meet.
"""

from dataclasses import dataclass
from functools import cache, cached_property

from hocket.bench.published.rows import Job
from hocket.chakra.trace import CollectiveType
from hocket.nccl.programs.groups import GroupPrograms
from hocket.nccl.programs.spec import ModelledTime, NcclAlgorithm, model_of
from hocket.schedule import Collective, Kind
from hocket.topology import load
from hocket.workload.llm.plan import ParallelPlan
from hocket.workload.llm.ranks import GroupKind, ParallelRanks

__all__ = ["Prices"]

_LAUNCH_PS = 10_000_000  # of a message or an all-to-all: about what NCCL's constants give its base latency and steps
_RACK = 72  # GPUs of one NVLink domain as the topologies number them; published jobs use 64
_USED = 64


@dataclass(frozen=True)
class _Machine:
    """GPUs that reach each other by the faster links; bytes/s of one GPU by those and by the network."""

    gpus: int
    inside: int
    network: int


_GB = 10**9
# NVLink's and the NICs' rates each way, of one GPU, from the machines' data sheets; TPUs': all links of a chip.
_MACHINES = {
    "dgx-a100": _Machine(8, 300 * _GB, 25 * _GB),
    "dgx-h100": _Machine(8, 450 * _GB, 50 * _GB),
    "dgx-h200": _Machine(8, 450 * _GB, 50 * _GB),
    "dgx-b200": _Machine(8, 900 * _GB, 50 * _GB),
    "dgx-b300": _Machine(8, 900 * _GB, 100 * _GB),
    "gb200-nvl72": _Machine(_USED, 900 * _GB, 50 * _GB),
    "gb300-nvl72": _Machine(_USED, 900 * _GB, 100 * _GB),
    "mi300x": _Machine(8, 448 * _GB, 50 * _GB),
    "mi355x": _Machine(8, 538 * _GB, 50 * _GB),
    "tpu-v5p": _Machine(1 << 20, 600 * _GB, 6 * _GB),
    "tpu-v6e": _Machine(256, 400 * _GB, 12 * _GB),
    "tpu7x": _Machine(1 << 20, 600 * _GB, 12 * _GB),
}
_NODES_MET = {"deepseek-v3": 4}  # the most nodes that a token is sent to (arXiv:2412.19437, section 2.1.2)
_REACHED = 0.8  # of the links' rates, by messages


@cache
def _groups_of(machine: str) -> GroupPrograms | None:
    """NCCL on all the machine's GPUs; None where it has another library."""
    if machine.startswith(("tpu", "mi3")):
        return None
    topology = load(machine)
    return GroupPrograms(model_of(machine, topology.num_ranks), NcclAlgorithm.of("nccl-model"))


@cache
def _ranks_of(plan: ParallelPlan) -> ParallelRanks:
    return ParallelRanks(plan)


class Prices:
    """The times of a job's communication, those of a rank of a pipeline stage."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._name = job.machine.split(":")[0]
        self._machine = _MACHINES[self._name]
        self._ranks = _ranks_of(job.plan)
        self._top_k = job.card.experts.top_k if job.card.experts else 1
        self._nodes_met = _NODES_MET.get(job.model, self._top_k)

    @property
    def stages(self) -> int:
        return self._job.plan.pp

    def collective_ps(self, kind: CollectiveType, num_bytes: int, group: GroupKind, stage: int) -> int:
        """Of `num_bytes` of input on a rank."""
        members = self._members(group, stage)
        ranks = len(members)
        if kind is CollectiveType.ALL_TO_ALL:
            return self._all_to_all_ps(num_bytes, members)
        size = num_bytes * ranks if kind is CollectiveType.ALL_GATHER else num_bytes
        return _library_ps(self._job.machine, tuple(map(self._place, members)), kind.kind, size) or self._ring_ps(
            kind, size, members
        )

    def message_ps(self, num_bytes: int, stage: int, to_stage: int) -> int:
        """To the same rank of another stage, or for `to_stage` = `stage` of the next rank of the context."""
        own = self._stage_ranks[stage]
        other = self._stage_ranks[to_stage] if to_stage != stage else self._members(GroupKind.CONTEXT, stage)[1]
        near = self._domain(own) == self._domain(other)
        return _LAUNCH_PS + self._moved_ps(num_bytes, self._machine.inside if near else self._machine.network)

    @cached_property
    def _stage_ranks(self) -> list[int]:
        """The first rank of each stage."""
        first: dict[int, int] = {}
        for rank in range(self._job.plan.num_ranks):
            first.setdefault(self._ranks.stage(rank), rank)
        return [first[stage] for stage in range(self._job.plan.pp)]

    def _members(self, group: GroupKind, stage: int) -> tuple[int, ...]:
        return self._ranks.groups[self._ranks.group_names(self._stage_ranks[stage])[group]]

    def _domain(self, rank: int) -> int:
        return rank // self._machine.gpus

    def _place(self, rank: int) -> int:
        """The rank of the topology: racks hold more GPUs than jobs use of them."""
        return rank // _USED * _RACK + rank % _USED if "nvl72" in self._name else rank

    def _all_to_all_ps(self, num_bytes: int, members: tuple[int, ...]) -> int:
        own = self._domain(members[0])
        ranks, near = len(members), sum(self._domain(rank) == own for rank in members)
        domains = len({self._domain(rank) for rank in members})
        tokens = num_bytes / self._top_k  # bytes of all tokens, each once
        inside = tokens * _met(ranks, self._top_k) * (near - 1) / ranks
        outside = tokens * min(_met(domains, self._top_k), self._nodes_met) * (1 - 1 / domains)
        return _LAUNCH_PS + max(
            self._moved_ps(inside, self._machine.inside), self._moved_ps(outside, self._machine.network)
        )

    def _ring_ps(self, kind: CollectiveType, size: int, members: tuple[int, ...]) -> int:
        """Where there is no model of a library: the least that the links need, domain by domain, and a launch."""
        domains = len({self._domain(rank) for rank in members})
        near = -(-len(members) // domains)
        passes = 2 if kind is CollectiveType.ALL_REDUCE else 1
        inside = self._moved_ps(passes * size * (near - 1) / near, self._machine.inside)
        outside = self._moved_ps(passes * size * (domains - 1) / domains / near, self._machine.network)
        return _LAUNCH_PS + max(inside, outside)

    @staticmethod
    def _moved_ps(num_bytes: float, bandwidth: int) -> int:
        return int(num_bytes * 1e12 / (bandwidth * _REACHED))


def _met(places: int, picks: int) -> float:
    """How many of so many equally likely places picks meet on average."""
    return places * (1 - (1 - 1 / places) ** picks)


@cache
def _library_ps(machine: str, members: tuple[int, ...], kind: str, size: int) -> int | None:
    groups = _groups_of(machine)
    if groups is None:
        return None
    expected = groups.expected(members, Collective(Kind(kind), len(members), size))
    return expected.time_ps if isinstance(expected, ModelledTime) else None
