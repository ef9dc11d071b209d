"""Runs a workload on a topology under a model and says what happened."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import Job, Plan, replay
from hocket.base.collectives import BARRIER
from hocket.base.errors import ScheduleError, TopologyError
from hocket.schedule import Bound, lower_bound
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.deadlock import require_all_done
from hocket.simulator.expansion import Expansion
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.folded_calls import FoldedCalls
from hocket.simulator.intervals import covered_ps
from hocket.simulator.launches import Launches
from hocket.simulator.message_paths import message_paths, port_notes
from hocket.simulator.models import Model, Queueing, Switching, per_link, setting_name
from hocket.simulator.ns3_run import witnessed
from hocket.simulator.outcome import Outcome
from hocket.simulator.packet_channels import packet_notes, packet_settings
from hocket.simulator.packets import PacketTraffic
from hocket.simulator.prediction import CollectiveTime, LinkUse, Occupancy, Prediction
from hocket.simulator.spelled_out import SpelledOut
from hocket.simulator.workload import CannotFold, CollectiveCall, NodeKind, Replicas, Workload, single_call
from hocket.simulator.workload_bound import WorkloadBound
from hocket.topology import FabricRouting, Topology, routing_of
from hocket.topology.routing_tables import one_path_notes

__all__ = ["Candidates", "engine_job", "run_engine", "simulate"]

_MOST_LINKS_SEARCHED = 10_000_000  # for distances in all calls of a job from a member: a second
_SEARCHED = 4  # members of a call in larger jobs
_UNSLOWED = (
    "--overlap-slowdown slows nothing on ranks whose streams a profile tells: they were recorded beside communication"
)

Candidates = Callable[[CollectiveCall], Iterable[CollectivePlan | SpelledOut]]


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

    def routed(call: CollectiveCall) -> Iterator[CollectivePlan | SpelledOut]:
        return _routed(candidates(call), routing, fidelity)

    def fastest(call: CollectiveCall) -> CollectivePlan | SpelledOut:
        return _fastest(routed(call), call, topology, fidelity)

    followed = None if fidelity.model == Model.BOUND else [fastest(call) for call in calls]
    run = followed
    if placed.replicas is not None and followed is not None:
        folded = FoldedCalls(followed, calls, placed.replicas, routed, fastest)
        run, placed = folded.plans, replace(placed, replicas=replace(placed.replicas, link=folded.link))
    bounds = _bounds(calls, followed, topology, routing, fidelity, placed.replicas)
    job = engine_job(placed, topology, routing)
    workload_bound = WorkloadBound.of(placed, topology, job, bounds, relays=any(_relays(calls, followed)))
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
    followed: list[CollectivePlan | SpelledOut] | None,
    calls: Sequence[CollectiveCall],
    topology: Topology,
    fidelity: Fidelity,
) -> tuple[list[str], list[int | None]]:
    """The algorithm of each call, and what it takes without bytes."""
    if followed is None:
        return [str(fidelity.model)] * len(calls), [None] * len(calls)
    pairs = zip(followed, calls, strict=True)
    return [each.algorithm for each in followed], [_latency(each, call, topology, fidelity) for each, call in pairs]


def _routed(
    candidates: Iterable[CollectivePlan | SpelledOut], routing: FabricRouting, fidelity: Fidelity
) -> Iterator[CollectivePlan | SpelledOut]:
    """The candidates, in the messages that the model speaks of (textbooks' have all that a step brings to a rank),
    which follow the routing where they name no routes."""
    by_step = fidelity.model == Model.ANALYTICAL
    for choice in candidates:
        yield replace(choice, by_step=by_step, routing=routing) if isinstance(choice, CollectivePlan) else choice


def _relays(calls: Sequence[CollectiveCall], followed: Sequence[CollectivePlan | SpelledOut] | None) -> list[bool]:
    """Of each call, whether ranks outside its group take part."""
    return [choice.relays for choice in followed] if followed else [False] * len(calls)


def _bounds(
    calls: Sequence[CollectiveCall],
    followed: Sequence[CollectivePlan | SpelledOut] | None,
    topology: Topology,
    routing: FabricRouting,
    fidelity: Fidelity,
    replicas: Replicas | None,
) -> list[Bound]:
    """That of each call. With replicas, members that do alike are equally far from the others; of large jobs the
    distances of some members count, as those of all would take longer than the simulation."""
    relays, splits = _relays(calls, followed), _splits(calls, followed, topology, routing)
    searched: Sequence[tuple[int, ...] | None] = [None] * len(calls)
    if replicas is not None:
        searched = [tuple(np.unique(of, return_index=True)[1].tolist()) for of in replicas.members]
    elif len(calls) * topology.num_links > _MOST_LINKS_SEARCHED:
        searched = [tuple(range(0, len(call.group), -(-len(call.group) // _SEARCHED))) for call in calls]
    shared = fidelity.shares_links(topology)
    return [
        _bound(call, topology, shared, helped, split, members)
        for call, helped, split, members in zip(_bounded(calls, followed), relays, splits, searched, strict=True)
    ]


def _splits(
    calls: Sequence[CollectiveCall],
    followed: Sequence[CollectivePlan | SpelledOut] | None,
    topology: Topology,
    routing: FabricRouting,
) -> list[bool]:
    """Of each call, whether its messages may go in parts."""
    if followed is None:
        return [routing.splits(topology)] * len(calls)
    return [choice.splits if isinstance(choice, CollectivePlan) else routing.splits(topology) for choice in followed]


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
    followed: list[CollectivePlan | SpelledOut],
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
    placed: Workload, followed: Sequence[CollectivePlan | SpelledOut], message_launch_ps: NDArray[np.int64] | None
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


def _bounded(
    calls: Sequence[CollectiveCall], followed: Sequence[CollectivePlan | SpelledOut] | None
) -> Iterator[CollectiveCall]:
    """What bounds are for: the calls, in chunks of the schedule that each follows, where that has chunks of its own."""
    if followed is None:
        yield from calls
        return
    for call, choice in zip(calls, followed, strict=True):
        is_own = choice.collective is call.collective
        yield call if is_own else CollectiveCall.of(choice.collective, call.group)


@lru_cache(maxsize=128)
def _bound(
    call: CollectiveCall,
    topology: Topology,
    shared: bool,
    relays: bool,
    split: bool,
    searched: tuple[int, ...] | None,
) -> Bound:
    """Kept for the same call by other algorithms, as sweeps ask."""
    return lower_bound(
        call.collective,
        topology,
        group=call.members,
        shared=shared,
        relays=relays,
        split=split,
        searched=searched,
    )


def _run(
    workload: Workload,
    placed: Workload,
    job: Job,
    followed: list[CollectivePlan | SpelledOut],
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
    return _replay(_job_alone((0,), 1, topology), [folded.plan], topology, fidelity).unfolded(folded.order, folded.link)


def _modelled(
    workload: Workload, job: Job, followed: list[CollectivePlan], topology: Topology, fidelity: Fidelity
) -> Outcome:
    """Runs the job of a workload under its model, in the engine or by another simulator."""
    if fidelity.model == Model.NS3:
        return witnessed(job, [choice.plan for choice in followed], workload, topology, fidelity)
    return run_engine(job, followed, topology, fidelity)


def run_engine(job: Job, followed: list[CollectivePlan], topology: Topology, fidelity: Fidelity) -> Outcome:
    """Runs a job whose calls follow `followed`."""
    return _replay(job, [choice.plan for choice in followed], topology, fidelity)


def _replay(job: Job, plans: list[Plan], topology: Topology, fidelity: Fidelity) -> Outcome:
    found = replay(
        job,
        plans,
        topology.graph,
        fidelity.model,
        stores=per_link(fidelity.switching, Switching, topology),
        queueing=per_link(fidelity.queueing, Queueing, topology),
        slowdown=(fidelity.overlap_slowdown.numerator, fidelity.overlap_slowdown.denominator),
        record_occupancy=fidelity.record_links,
        link_bins=fidelity.link_bins,
        adaptive=fidelity.routed(topology).policy.chooses,
        packets=packet_settings(job, plans, topology, fidelity),
    )
    if "packets" in found:
        found["packets"] = PacketTraffic.of(found["packets"]).until(int(found["finish_ps"].max(initial=0)))
    return Outcome(**found)


def _fastest(
    candidates: Iterable[CollectivePlan | SpelledOut], call: CollectiveCall, topology: Topology, fidelity: Fidelity
) -> CollectivePlan | SpelledOut:
    """The candidate that is fastest when the group does nothing else; the first of equals. Plans are large: it holds
    no more than two at a time, and makes none for what the busiest link alone already makes too slow."""
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


def _name_all_routes(placed: Workload, followed: Sequence[CollectivePlan | SpelledOut]) -> bool:
    """Whether there are schedules alone, which name their routes: no routing says which paths messages take."""
    named = [isinstance(choice, CollectivePlan) and choice.names_routes for choice in followed]
    return bool(named) and all(named) and not len(placed.message_src)


def _notes(
    placed: Workload,
    followed: Sequence[CollectivePlan | SpelledOut],
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


def _latency(choice: object, call: CollectiveCall, topology: Topology, fidelity: Fidelity) -> int | None:
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
        job, plan = _job_alone(call.group, topology.num_ranks, topology), choice.plan
    else:
        job, plan = _job_alone((0,), 1, topology), folded.plan
    return int(_replay(job, [plan], topology, without_record).finish_ps.max())


@lru_cache(maxsize=16)
def _job_alone(group: tuple[int, ...], num_ranks: int, topology: Topology) -> Job:
    """The job of so many ranks in which a group does one collective; which one, its plan says."""
    return engine_job(single_call(CollectiveCall(BARRIER, group, 0), num_ranks), topology, routing_of(topology))


def engine_job(workload: Workload, topology: Topology, routing: FabricRouting) -> Job:
    """The engine's form of a workload; its calls are numbered like their plans."""
    paths = message_paths(workload, topology, routing)
    if workload.replicas is not None and workload.replicas.link is not None:
        paths = paths._replace(links=workload.replicas.link[paths.links])
    return Job(
        graph=topology.graph,
        rank_offset=workload.rank_offset,
        kind=workload.engine_kind,
        operand=workload.operand,
        member=workload.member,
        dependency_offset=workload.dependency_offset,
        dependency=workload.dependency,
        message_paths=paths,
        message_bytes=workload.message_bytes,
        message_priority=workload.message_priority,
        message_stream=_streams(workload),
        access_memory=np.unique(workload.access_memory, return_inverse=True)[1].astype(np.int32),
        access_service_ps=workload.access_service_ps,
        access_latency_ps=workload.access_latency_ps,
        plan_of=workload.call_of,
        priority_of=workload.call_priority,
        plan_members=workload.plan_members,
    )


def _streams(workload: Workload) -> NDArray[np.int32]:
    """The messages that follow one another, by number (int32)."""
    channels, channel = np.unique(workload.message_channel, return_inverse=True)
    nodes = 1 + max(workload.message_src.max(initial=0), workload.message_dst.max(initial=0))
    pair = workload.message_src.astype(np.int64) * nodes + workload.message_dst
    return np.unique(pair * max(1, len(channels)) + channel, return_inverse=True)[1].astype(np.int32)


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
