"""Which of the plans that a call may follow it follows: the one that is fastest when its group does nothing else."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from hocket._core.simulator import Job
from hocket.base.collectives import BARRIER
from hocket.base.errors import ScheduleError
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.engine_run import engine_job, run_plans
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.models import Model
from hocket.simulator.spelled_out import CallPlan
from hocket.simulator.workload import CollectiveCall, single_call
from hocket.topology import FabricRouting, Topology, routing_of

__all__ = ["fastest", "job_of_group", "latency_alone", "routed"]


def routed(candidates: Iterable[CallPlan], routing: FabricRouting, fidelity: Fidelity) -> Iterator[CallPlan]:
    """The candidates, in the messages that the model speaks of (textbooks' have all that a step brings to a rank),
    which follow the routing where they name no routes."""
    by_step = fidelity.model == Model.ANALYTICAL
    for choice in candidates:
        yield replace(choice, by_step=by_step, routing=routing) if isinstance(choice, CollectivePlan) else choice


def fastest(candidates: Iterable[CallPlan], call: CollectiveCall, topology: Topology, fidelity: Fidelity) -> CallPlan:
    """The candidate that is fastest when the group does nothing else; the first of equals. Plans are large: it holds
    no more than two at a time, and makes none for what the busiest link alone already makes too slow. Raises
    ScheduleError where there is no candidate."""
    choices = iter(candidates)
    best, second = next(choices, None), next(choices, None)
    if best is None:
        raise ScheduleError(f"no native algorithm does {call.kind} on {topology.name}: give a schedule of it")
    if second is None or not isinstance(best, CollectivePlan):
        return best
    least = _time_alone(best, call, topology, fidelity)
    for choice in chain([second], choices):
        assert isinstance(choice, CollectivePlan)  # a program has no rivals
        if fidelity.model != Model.UNCONTENDED and choice.busiest_link_ps >= least:
            continue
        if (time := _time_alone(choice, call, topology, fidelity)) < least:
            best, least = choice, time
    return best


def latency_alone(choice: object, call: CollectiveCall, topology: Topology, fidelity: Fidelity) -> int | None:
    """Picoseconds that a call takes alone, by its algorithm, when it moves no bytes; None where nobody asks for it, and
    of programs."""
    if not (fidelity.latencies and isinstance(choice, CollectivePlan)):
        return None
    empty = replace(call, size_bytes=0, block_bytes=None)
    return _time_alone(choice.without_bytes(), empty, topology, fidelity)


def _time_alone(choice: CollectivePlan, call: CollectiveCall, topology: Topology, fidelity: Fidelity) -> int:
    """Picoseconds that a call takes when its group does nothing else; ns-3 is not asked for rivals, but packets."""
    without_record = replace(fidelity, record_links=False, link_bins=0, latencies=False)
    if fidelity.model == Model.NS3:
        without_record = replace(without_record, model=Model.PACKET)
    folded = choice.folded if fidelity.may_fold and call.group == tuple(range(topology.num_ranks)) else None
    if folded is None:
        job, plan = job_of_group(call.group, topology.num_ranks, topology), choice.plan
    else:
        job, plan = job_of_group((0,), 1, topology), folded.plan
    return int(run_plans(job, [plan], topology, without_record).finish_ps.max())


@lru_cache(maxsize=16)
def job_of_group(group: tuple[int, ...], num_ranks: int, topology: Topology) -> Job:
    """The job of so many ranks in which a group does one collective; which one, its plan says."""
    return engine_job(single_call(CollectiveCall(BARRIER, group, 0), num_ranks), topology, routing_of(topology))
