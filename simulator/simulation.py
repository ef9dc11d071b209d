"""Runs a workload on a topology under a model and says what happened."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import Job
from hocket.base.errors import TopologyError
from hocket.schedule import Bound
from hocket.simulator.call_alone import fastest, job_of_group, latency_alone, routed
from hocket.simulator.call_bounds import call_bounds, relays
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.deadlock import require_all_done
from hocket.simulator.engine_run import engine_job, run_engine, run_plans
from hocket.simulator.expansion import Expansion
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.folded_calls import FoldedCalls
from hocket.simulator.intervals import covered_ps
from hocket.simulator.launches import Launches
from hocket.simulator.message_paths import port_notes
from hocket.simulator.models import Model, setting_name
from hocket.simulator.ns3_run import witnessed
from hocket.simulator.outcome import Outcome
from hocket.simulator.packet_channels import packet_notes
from hocket.simulator.packets import PacketTraffic
from hocket.simulator.prediction import CollectiveTime, LinkUse, Occupancy, Prediction
from hocket.simulator.spelled_out import CallPlan
from hocket.simulator.workload import CannotFold, CollectiveCall, NodeKind, Replicas, Workload
from hocket.simulator.workload_bound import WorkloadBound
from hocket.topology import FabricRouting, Topology
from hocket.topology.routing_tables import one_path_notes

__all__ = ["Candidates", "simulate"]

_UNSLOWED = (
    "--overlap-slowdown slows nothing on ranks whose streams a profile tells: they were recorded beside communication"
)

Candidates = Callable[[CollectiveCall], Iterable[CallPlan]]


def simulate(
    workload: Workload,
    topology: Topology,
    fidelity: Fidelity,
    candidates: Candidates,
    message_launch_ps: NDArray[np.int64] | None = None,
) -> Prediction:
    """The prediction for a workload on a topology.

    A call follows the one of its candidates that is fastest when its group does nothing else; a program has no rivals.
    A message begins `message_launch_ps` (int64, one a message; None: 0) after its sender has come to it.

    Raises TopologyError when the topology has fewer ranks than the workload, Infeasible where ranks that must talk are
    not connected, DeadlockError when nodes are left that can never happen, and SimulationError for a fidelity that the
    topology cannot have.
    """
    routing = _checked_routing(workload, topology, fidelity)
    placed = workload.placed()
    calls = placed.calls

    def plans_of(call: CollectiveCall) -> Iterator[CallPlan]:
        return routed(candidates(call), routing, fidelity)

    def chosen(call: CollectiveCall) -> CallPlan:
        return fastest(plans_of(call), call, topology, fidelity)

    followed = None if fidelity.model == Model.BOUND else [chosen(call) for call in calls]
    run = followed
    if placed.replicas is not None and followed is not None:
        folded = FoldedCalls(followed, calls, placed.replicas, plans_of, chosen)
        run, placed = folded.plans, replace(placed, replicas=replace(placed.replicas, link=folded.link))
    bounds = call_bounds(calls, followed, topology, routing, fidelity, placed.replicas)
    job = engine_job(placed, topology, routing)
    workload_bound = WorkloadBound.of(placed, topology, job, bounds, relays=any(relays(calls, followed)))
    if run is None:
        outcome = workload_bound.outcome(topology)
    else:
        outcome = _launched(workload, placed, job, run, topology, routing, fidelity, message_launch_ps)
    outcome = _done(workload, placed.replicas, outcome)
    finish = outcome.finish_of_ranks(workload.rank, workload.num_ranks)
    named = _followed(followed, calls, topology, fidelity)
    return Prediction(
        model=str(fidelity.model),
        switching=setting_name(fidelity.switching),
        queueing=setting_name(fidelity.queueing),
        routing=None if _name_all_routes(placed, followed or []) else routing.name,
        topology=topology,
        workload=workload,
        time_ps=int(finish.max(initial=0)) if followed is not None else workload_bound.bound_ps,
        bound_ps=workload_bound.bound_ps,
        finish_ps=workload.by_rank(finish),
        compute_ps=workload.by_rank(_compute_time(workload, outcome)),
        collectives=_collective_times(workload, outcome, bounds, *named, workload_bound.collective_ps * (run is None)),
        link_busy_ps=outcome.link_busy_ps,
        link_bytes=outcome.link_bytes,
        link_messages=outcome.link_messages,
        node_start_ps=outcome.start_ps,
        node_finish_ps=outcome.finish_ps,
        node_cause=outcome.cause,
        slowed_ps=workload.by_rank(outcome.slowed_ps),
        occupancy=_occupancy(outcome) if fidelity.record_links else None,
        link_use=_link_use(outcome, topology.num_links) if fidelity.bins_links else None,
        events=outcome.events,
        folded=outcome.folded,
        notes=(*topology.notes, *workload.notes, *_notes(placed, followed or [], topology, fidelity, outcome.packets)),
        message_launch_ps=message_launch_ps,
        packets=outcome.packets,
    )


def _done(workload: Workload, replicas: Replicas | None, outcome: Outcome) -> Outcome:
    """What came of all links of the job. Raises DeadlockError where something never happened, CannotFold where that is
    of ranks that stand for others: it is told of all."""
    if replicas is not None:
        if (outcome.finish_ps < 0).any():
            raise CannotFold("a deadlock")
        return outcome if replicas.link is None else outcome.on_all_links(replicas.link)
    require_all_done(workload, outcome.start_ps, outcome.finish_ps)
    return outcome


def _followed(
    followed: list[CallPlan] | None,
    calls: Sequence[CollectiveCall],
    topology: Topology,
    fidelity: Fidelity,
) -> tuple[list[str], list[int | None]]:
    """The algorithm of each call, and what it takes without bytes."""
    if followed is None:
        return [str(fidelity.model)] * len(calls), [None] * len(calls)
    pairs = zip(followed, calls, strict=True)
    return [each.algorithm for each in followed], [
        latency_alone(each, call, topology, fidelity) for each, call in pairs
    ]


def _checked_routing(workload: Workload, topology: Topology, fidelity: Fidelity) -> FabricRouting:
    """How messages are routed, where topology, workload and fidelity go together."""
    fidelity.check(topology)
    ranks = workload.job_ranks
    if ranks > topology.num_ranks:
        raise TopologyError(
            f"{topology.name} has {topology.num_ranks} ranks, the workload {ranks}:"
            f" choose a topology with at least {ranks} ranks"
        )
    return fidelity.routed(topology)


def _launched(
    workload: Workload,
    placed: Workload,
    job: Job,
    followed: list[CallPlan],
    topology: Topology,
    routing: FabricRouting,
    fidelity: Fidelity,
    message_launch_ps: NDArray[np.int64] | None,
) -> Outcome:
    """What comes of a workload whose nodes begin late. A single call of all ranks is done that much later."""
    delays = _delays(placed, followed, message_launch_ps)
    if delays is None:
        return _run(workload, placed, job, followed, topology, routing, fidelity)
    if workload.is_one_call_of(topology.num_ranks) and not (fidelity.record_links or fidelity.link_bins):
        outcome = _run(workload, placed, job, followed, topology, routing, fidelity)
        return replace(outcome, finish_ps=outcome.finish_ps + delays)
    launches = Launches(placed, delays)
    later = launches.workload
    outcome = _run(later, later, engine_job(later, topology, routing), followed, topology, routing, fidelity)
    return launches.folded_back(outcome)


def _delays(
    placed: Workload, followed: Sequence[CallPlan], message_launch_ps: NDArray[np.int64] | None
) -> NDArray[np.int64] | None:
    """How long each node takes to begin; None where all begin at once."""
    of_calls = np.array([getattr(choice, "launch_ps", 0) for choice in followed], np.int64)
    if not of_calls.any() and (message_launch_ps is None or not message_launch_ps.any()):
        return None
    delays = np.zeros(len(placed.kind), np.int64)
    called, sent = (np.flatnonzero(placed.kind == kind) for kind in (NodeKind.COLLECTIVE, NodeKind.SEND))
    delays[called] = of_calls[placed.call_of[placed.operand[called]]]
    if message_launch_ps is not None:
        delays[sent] = message_launch_ps[placed.operand[sent]]
    return delays


def _run(
    workload: Workload,
    placed: Workload,
    job: Job,
    followed: list[CallPlan],
    topology: Topology,
    routing: FabricRouting,
    fidelity: Fidelity,
) -> Outcome:
    """Simulates one rank where all ranks do alike, else all of them."""
    plans = [choice for choice in followed if isinstance(choice, CollectivePlan)]
    if len(plans) < len(followed):
        spelled = {call: choice for call, choice in enumerate(followed) if not isinstance(choice, CollectivePlan)}
        expansion = Expansion(placed, spelled)
        spelled_job = engine_job(expansion.workload, topology, routing)
        return expansion.folded_back(_modelled(expansion.workload, spelled_job, plans, topology, fidelity))
    may_fold = fidelity.may_fold and not fidelity.record_links and workload.is_one_call_of(topology.num_ranks)
    folded = plans[0].folded if may_fold else None
    if folded is None:
        return _modelled(workload, job, plans, topology, fidelity)
    return run_plans(job_of_group((0,), 1, topology), [folded.plan], topology, fidelity).unfolded(
        folded.order, folded.link
    )


def _modelled(
    workload: Workload, job: Job, followed: list[CollectivePlan], topology: Topology, fidelity: Fidelity
) -> Outcome:
    """Runs the job of a workload under its model, in the engine or by another simulator."""
    if fidelity.model == Model.NS3:
        return witnessed(job, [choice.plan for choice in followed], workload, topology, fidelity)
    return run_engine(job, followed, topology, fidelity)


def _name_all_routes(placed: Workload, followed: Sequence[CallPlan]) -> bool:
    """Whether there are schedules alone, which name their routes: no routing says which paths messages take."""
    named = [isinstance(choice, CollectivePlan) and choice.names_routes for choice in followed]
    return bool(named) and all(named) and not len(placed.message_src)


def _notes(
    placed: Workload,
    followed: Sequence[CallPlan],
    topology: Topology,
    fidelity: Fidelity,
    packets: PacketTraffic | None,
) -> list[str]:
    """What is to be said of the plans that were followed, once each, of what crosses the topology's ports, of a
    routing that was asked for, and of virtual channels and trains."""
    spelled_out = [choice.workload for choice in followed if not isinstance(choice, CollectivePlan)]
    crossings = chain.from_iterable(each.crossings for each in (placed, *spelled_out))
    idle = one_path_notes(topology) if fidelity.routing is not None else ()
    unslowed = (_UNSLOWED,) if placed.side_by_side and fidelity.overlap_slowdown != 1 else ()
    said = dict.fromkeys(choice.note for choice in followed if choice.note)
    of_packets = packet_notes(packets, fidelity, topology)
    return [*said, *port_notes(crossings, topology), *idle, *unslowed, *of_packets]


def _compute_time(workload: Workload, outcome: Outcome) -> NDArray[np.int64]:
    """Time in which each rank computes, overlaps counted once."""
    computing = workload.kind == NodeKind.COMPUTE
    rank = workload.rank[computing]
    return covered_ps(rank, outcome.start_ps[computing], outcome.finish_ps[computing], workload.num_ranks)


def _collective_times(
    workload: Workload,
    outcome: Outcome,
    bounds: list[Bound],
    algorithms: list[str],
    latencies: list[int | None],
    earliest_ps: NDArray[np.int64] | int,
) -> tuple[CollectiveTime, ...]:
    """A collective ends with its last member, and not before `earliest_ps`."""
    nodes = workload.kind == NodeKind.COLLECTIVE
    instance = workload.operand[nodes]
    first = np.full(len(workload.call_of), np.iinfo(np.int64).max)
    ready = np.zeros(len(workload.call_of), np.int64)
    finish = np.zeros(len(workload.call_of), np.int64)
    np.minimum.at(first, instance, outcome.start_ps[nodes])
    np.maximum.at(ready, instance, outcome.start_ps[nodes])
    np.maximum.at(finish, instance, outcome.finish_ps[nodes])
    finish = np.maximum(finish, earliest_ps)
    return tuple(
        CollectiveTime(
            kind=workload.calls[call].kind,
            group=workload.calls[call].group,
            size_bytes=workload.calls[call].size_bytes,
            algorithm=algorithms[call],
            start_ps=start,
            ready_ps=last,
            finish_ps=end,
            bound_ps=bounds[call].time_ps,
            latency_ps=latencies[call],
        )
        for call, start, last, end in zip(
            workload.call_of.tolist(), first.tolist(), ready.tolist(), finish.tolist(), strict=True
        )
    )


def _occupancy(outcome: Outcome) -> Occupancy:
    return Occupancy(
        link=outcome.occupancy_link,
        collective=outcome.occupancy_collective,
        message=outcome.occupancy_message,
        start_ps=outcome.occupancy_start_ps,
        finish_ps=outcome.occupancy_finish_ps,
    )


def _link_use(outcome: Outcome, num_links: int) -> LinkUse:
    """The engine's bins up to the last in which anything happened."""
    busy = outcome.bin_busy_ps.reshape(num_links, -1)
    used = -(-int(outcome.finish_ps.max(initial=0)) // outcome.bin_ps)
    return LinkUse(outcome.bin_ps, busy[:, :used])
