"""Where each rank stands in the plan, and the process groups."""

from dataclasses import dataclass, replace
from enum import IntEnum

from hocket.base.enums import StrEnum
from hocket.workload.llm.pipeline import PipelineSchedule
from hocket.workload.llm.plan import ParallelPlan
from hocket.workload.llm.routing import TokenDispatch

__all__ = ["GroupKind", "ParallelRanks", "Peer"]


class GroupKind(StrEnum):
    """Kinds of process groups; "dp" holds all copies of a dense parameter (dp * cp ranks), "expert_dp" of an expert.

    "ep_node" holds the expert parallel ranks of a node, "ep_nodes" those in one place of theirs.
    With hybrid sharding "dp_shard" holds the shards of one copy, "dp_replica" the copies of one shard."""

    TENSOR = "tp"
    CONTEXT = "cp"
    CONTEXT_HEADS = "cp_heads"
    DATA = "dp"
    PIPELINE = "pp"
    EXPERT = "ep"
    EXPERT_NODE = "ep_node"
    EXPERT_NODES = "ep_nodes"
    EXPERT_DATA = "expert_dp"
    EMBEDDING = "embedding"
    SHARD = "dp_shard"
    REPLICA = "dp_replica"
    EXPERT_SHARD = "expert_dp_shard"
    EXPERT_REPLICA = "expert_dp_replica"


class Peer(IntEnum):
    """The other end of a message, seen from any rank."""

    SELF = 0
    NEXT_STAGE = 1
    PREVIOUS_STAGE = 2
    NEXT_CONTEXT = 3
    PREVIOUS_CONTEXT = 4


_DENSE = GroupKind.DATA, GroupKind.SHARD, GroupKind.REPLICA
_EXPERTS = GroupKind.EXPERT_DATA, GroupKind.EXPERT_SHARD, GroupKind.EXPERT_REPLICA


@dataclass(frozen=True)
class _Place:
    tp: int
    cp: int
    dp: int
    pp: int


class ParallelRanks:
    """All ranks of a plan. Groups are called `KIND.NUMBER`, numbered by their first rank; none has one rank only."""

    def __init__(self, plan: ParallelPlan) -> None:
        self._plan = plan
        self._places = [self._place(rank) for rank in range(plan.num_ranks)]
        self._rank_of = {place: rank for rank, place in enumerate(self._places)}
        self._names: list[dict[GroupKind, str]] = [{} for _ in self._places]
        self.groups: dict[str, tuple[int, ...]] = {}
        self._add_groups()

    def stage(self, rank: int) -> int:
        return self._places[rank].pp

    def expert_place(self, rank: int) -> int:
        """The rank's place in its expert parallel group."""
        name = self._names[rank].get(GroupKind.EXPERT)
        return self.groups[name].index(rank) if name else 0

    def group_names(self, rank: int) -> dict[GroupKind, str]:
        """The rank's group of each kind that it is in."""
        return self._names[rank]

    def peers(self, rank: int) -> list[int]:
        """World ranks in the order of `Peer`."""
        place, plan = self._places[rank], self._plan
        return [
            rank,
            *(self._neighbour(place, pp=(place.pp + step) % plan.pp) for step in (1, -1)),
            *(
                self._neighbour(place, cp=(place.cp + step) % plan.cp)
                for step in (plan.context_heads, -plan.context_heads)
            ),
        ]

    def _place(self, rank: int) -> _Place:
        coordinates = {}
        for dimension in self._plan.order:
            rank, coordinates[dimension] = divmod(rank, getattr(self._plan, dimension))
        return _Place(**coordinates)

    def _neighbour(self, place: _Place, *, pp: int | None = None, cp: int | None = None) -> int:
        return self._rank_of[_Place(place.tp, place.cp if cp is None else cp, place.dp, place.pp if pp is None else pp)]

    def _add_groups(self) -> None:
        self._add(GroupKind.TENSOR, self._alike("cp", "dp", "pp"))
        context, inner = self._alike("tp", "dp", "pp"), self._plan.context_heads
        self._add(GroupKind.CONTEXT, context)
        cuts = range(0, self._plan.cp, inner)
        self._add(GroupKind.CONTEXT_HEADS, [group[cut : cut + inner] for group in context for cut in cuts])
        replicas = self._alike("tp", "pp")
        self._add_copies(self._with_opposite(replicas), self._plan.shards, _DENSE)
        self._add(GroupKind.PIPELINE, self._alike("tp", "cp", "dp"))
        ep = self._plan.ep
        if ep > 1:
            experts = [group[i : i + ep] for group in replicas for i in range(0, len(group), ep)]
            self._add(GroupKind.EXPERT, experts)
            if self._plan.dispatch is TokenDispatch.NODES:
                size = self._plan.expert_node_ranks
                self._add(GroupKind.EXPERT_NODE, [one[i : i + size] for one in experts for i in range(0, ep, size)])
                self._add(GroupKind.EXPERT_NODES, [one[i::size] for one in experts for i in range(size)])
            copies = [group[i::ep] for group in replicas for i in range(ep)]
            self._add_copies(self._with_opposite(copies), self._plan.shards // ep, _EXPERTS)
        if self._plan.pp > 1:
            ends = (0, self._plan.pp - 1)
            pipelines = self._alike("tp", "cp", "dp")
            self._add(
                GroupKind.EMBEDDING, [[rank for rank in group if self.stage(rank) in ends] for group in pipelines]
            )

    def _add_copies(self, groups: list[list[int]], shards: int, kinds: tuple[GroupKind, ...]) -> None:
        copies, shard, replica = kinds
        self._add(copies, groups)
        if self._plan.shard_group:
            cuts = range(0, len(groups[0]), shards)
            self._add(shard, [group[cut : cut + shards] for group in groups for cut in cuts])
            self._add(replica, [group[place::shards] for group in groups for place in range(shards)])

    def _with_opposite(self, groups: list[list[int]]) -> list[list[int]]:
        """The groups; with DualPipe, whose opposite stages hold the same layers, each with that of the opposite
        stage."""
        if self._plan.schedule is not PipelineSchedule.DUALPIPE:
            return groups
        last = self._plan.pp - 1
        joined: dict[_Place, list[int]] = {}
        for group in groups:
            place = self._places[group[0]]
            joined.setdefault(replace(place, pp=min(place.pp, last - place.pp)), []).extend(group)
        return [sorted(group) for group in joined.values()]

    def _alike(self, *dimensions: str) -> list[list[int]]:
        """The ranks that have these coordinates in common, ascending."""
        alike: dict[tuple[int, ...], list[int]] = {}
        for rank, place in enumerate(self._places):
            alike.setdefault(tuple(getattr(place, dimension) for dimension in dimensions), []).append(rank)
        return list(alike.values())

    def _add(self, kind: GroupKind, groups: list[list[int]]) -> None:
        for number, group in enumerate(sorted(groups)):
            if len(group) > 1:
                name = f"{kind}.{number}"
                self.groups[name] = tuple(group)
                for rank in group:
                    self._names[rank][kind] = name
