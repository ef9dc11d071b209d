"""A workload in the engine's form, and what the engine makes of it."""

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import Job, Plan, replay
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.message_paths import message_paths
from hocket.simulator.models import Queueing, Switching, per_link
from hocket.simulator.outcome import Outcome
from hocket.simulator.packet_channels import packet_settings
from hocket.simulator.packets import PacketTraffic
from hocket.simulator.workload import Workload
from hocket.topology import FabricRouting, Topology

__all__ = ["engine_job", "run_engine", "run_plans"]


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


def run_engine(job: Job, followed: list[CollectivePlan], topology: Topology, fidelity: Fidelity) -> Outcome:
    """Runs a job whose calls follow `followed`."""
    return run_plans(job, [choice.plan for choice in followed], topology, fidelity)


def run_plans(job: Job, plans: list[Plan], topology: Topology, fidelity: Fidelity) -> Outcome:
    """Runs a job whose calls follow these plans, one a call, and takes the packets up to its end."""
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
