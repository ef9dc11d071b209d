"""What bounds a whole workload from below."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import Job, critical_path
from hocket.schedule import Bound
from hocket.simulator.member_bounds import member_bounds
from hocket.simulator.outcome import Outcome
from hocket.simulator.traffic import traffic_bound_ps
from hocket.simulator.workload import NodeKind, Workload
from hocket.topology import Topology

__all__ = ["WorkloadBound"]


@dataclass(frozen=True, eq=False)
class WorkloadBound:
    """Earliest times of each node (int64, -1: never), earliest ends of each collective instance (int64), the time
    before which the workload cannot be done, and how many ranks it has."""

    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]
    collective_ps: NDArray[np.int64]
    bound_ps: int
    num_ranks: int

    def outcome(self, topology: Topology) -> Outcome:
        """As if all took no longer than they must, and used no links."""
        return Outcome.without_network(self.start_ps, self.finish_ps, self.num_ranks, topology.num_links)

    @classmethod
    def of(
        cls, workload: Workload, topology: Topology, job: Job, bounds: list[Bound], *, relays: bool
    ) -> "WorkloadBound":
        """The largest of: the critical path with each collective at its members' bounds; a rank's whole computation;
        each collective's bound after its first member's earliest start; all the bytes through the ranks' links.
        `bounds` are those of the workload's calls; `relays`: ranks outside a group take part in its collective."""
        calls = workload.calls
        members = [member_bounds(call.collective, topology, call.members) for call in calls]
        if workload.replicas is not None:
            members = [each.folded(of) for each, of in zip(members, workload.replicas.members, strict=True)]
        start, finish = critical_path(
            job,
            topology.graph,
            bound_offset=np.append(0, np.cumsum(workload.plan_members)).astype(np.int64),
            own_ps=np.concatenate([np.zeros(0, np.int64), *(bound.own_ps for bound in members)]),
            hear_ps=np.concatenate([np.zeros(0, np.int64), *(bound.hear_ps for bound in members)]),
            source=np.concatenate([np.zeros(0, np.int32), *(bound.source for bound in members)]),
        )
        computing = workload.engine_kind == NodeKind.COMPUTE
        computation = np.zeros(workload.num_ranks, np.int64)
        np.add.at(computation, workload.rank[computing], workload.operand[computing])

        taking_part = workload.kind == NodeKind.COLLECTIVE
        first = np.full(len(workload.call_of), np.iinfo(np.int64).max)
        np.minimum.at(first, workload.operand[taking_part], start[taking_part])
        collectives = first + np.array([bound.time_ps for bound in bounds], np.int64)[workload.call_of]
        bound_ps = max(int(times.max(initial=0)) for times in (finish, computation, collectives))
        bound_ps = max(bound_ps, traffic_bound_ps(workload, topology, members, relays=relays))
        return cls(start, finish, collectives, bound_ps, workload.num_ranks)
