"""What a user simulates: a schedule, a collective, a program of an interpreter, the traces of a job."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import SimulationError
from hocket.chakra import TraceSet
from hocket.schedule import (
    NVIDIA,
    Collective,
    Kernel,
    Kind,
    Passes,
    Program,
    Protocol,
    Schedule,
    lower_bound,
    verify,
)
from hocket.schedule.algorithms.place import Place
from hocket.simulator.algorithm_choice import AUTO, DEFAULT_ALGORITHMS, AlgorithmChooser, Programs
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.disturbance import UNDISTURBED, Disturbance, disturbed
from hocket.simulator.kernels import KernelPasses
from hocket.simulator.memory import RemoteMemory
from hocket.simulator.models import LinkSetting, Model, Queueing, Switching, per_link, setting_name
from hocket.simulator.placement import check_placement
from hocket.simulator.prediction import CollectiveTime, Prediction
from hocket.simulator.programs import program_workload
from hocket.simulator.simulation import Fidelity, simulate
from hocket.simulator.traces import Hardware, workload_of
from hocket.simulator.workload import CollectiveCall, Workload, single_call
from hocket.topology import Topology
from hocket.workload.accelerators import Accelerator

__all__ = ["simulate_collective", "simulate_kernel", "simulate_program", "simulate_schedule", "simulate_traces"]


def simulate_schedule(
    schedule: Schedule,
    *,
    model: str = Model.CONGESTION,
    switching: LinkSetting = Switching.CUT_THROUGH,
    queueing: LinkSetting = Queueing.FIFO,
    record_links: bool = False,
    link_bins: int = 0,
    latencies: bool = False,
) -> Prediction:
    """The time of a schedule on its topology when every transfer leaves as soon as it can, in its order per route.

    `switching` and `queueing` are a value for all links or one for each class of links, `Topology.classes`. With
    `record_links` the prediction holds what every link did when (for timelines), with `link_bins` (even) how busy each
    was in about so many bins of time, in constant memory; with `latencies` what its collectives take without any bytes
    (CollectiveTime.regime). Raises SimulationError for an unknown model, switching, queueing or class of links, a
    queueing under a model other than congestion, and an odd number of bins.
    """
    fidelity = _fidelity(schedule.topology, model, switching, queueing, record_links, link_bins, latencies)
    call = CollectiveCall.of(schedule.collective, schedule.ranks.tolist())
    workload = single_call(call, schedule.topology.num_ranks)
    return simulate(workload, schedule.topology, fidelity, lambda _: [CollectivePlan(schedule, schedule.generator)])


def simulate_collective(
    collective: Collective,
    topology: Topology,
    algorithm: str = AUTO,
    *,
    programs: Programs | None = None,
    model: str = Model.CONGESTION,
    switching: LinkSetting = Switching.CUT_THROUGH,
    queueing: LinkSetting = Queueing.FIFO,
    record_links: bool = False,
    link_bins: int = 0,
    latencies: bool = False,
) -> Prediction:
    """The time of a collective on the first ranks of a topology, by a native algorithm, a `.schedule` file, `auto`,
    or a name in `programs` as in `simulate_traces`.

    Raises ScheduleError when the algorithm is unknown or cannot do the collective, and SimulationError for an unknown
    model, switching, queueing or class of links.
    """
    fidelity = _fidelity(topology, model, switching, queueing, record_links, link_bins, latencies)
    call = CollectiveCall.of(collective, range(collective.num_ranks))
    planner = AlgorithmChooser(topology, {collective.kind: algorithm}, programs)
    return simulate(single_call(call, topology.num_ranks), topology, fidelity, planner.candidates)


def simulate_program(
    program: Program,
    topology: Topology,
    size_bytes: int,
    *,
    protocols: Mapping[str, Protocol] = NVIDIA,
    passes: Passes | None = None,
    disturbance: Disturbance = UNDISTURBED,
    placement: Sequence[int] | None = None,
    model: str = Model.CONGESTION,
    switching: LinkSetting = Switching.CUT_THROUGH,
    queueing: LinkSetting = Queueing.FIFO,
    record_links: bool = False,
    link_bins: int = 0,
    latencies: bool = False,
) -> Prediction:
    """The time of one call of `size_bytes` (as nccl-tests counts it) by an interpreter's program, rank r on rank
    `placement[r]` (None: r) of the topology: its order, channels, protocol, slots and slices
    (`hocket.simulator.programs`). `passes` says how the call is cut; None: as MSCCL's interpreter does by `protocols`.
    `disturbance` names its ranks.

    The bound is that of the collective in pieces as small as the program's smallest message. Raises SimulationError
    for a size that no runtime would take it for, DeadlockError when it never ends, ScheduleError for a program that
    breaks a rule of structure, and TopologyError when the topology has too few ranks.
    """
    fidelity = _fidelity(topology, model, switching, queueing, record_links, link_bins, latencies=False)
    passes = Passes.of(program, size_bytes, protocols) if passes is None else passes
    workload, own = disturbed(program_workload(program, passes), disturbance)
    if placement is not None:
        workload = replace(workload, placement=check_placement(placement, program.num_ranks, topology))
    collective = None if program.kind is Kind.CUSTOM else passes.collective(program)
    group = range(program.num_ranks) if placement is None else placement
    return _one_call(workload, own, topology, fidelity, collective, group, program.name, latencies)


def simulate_kernel(
    kernel: Kernel,
    topology: Topology,
    *,
    disturbance: Disturbance = UNDISTURBED,
    model: str = Model.CONGESTION,
    switching: LinkSetting = Switching.CUT_THROUGH,
    queueing: LinkSetting = Queueing.FIFO,
    record_links: bool = False,
    link_bins: int = 0,
    latencies: bool = False,
) -> Prediction:
    """The time of one call by kernels that use switches that compute (`hocket.simulator.kernels`), rank r on rank r of
    the topology; and what disturbs it.

    What the call moves is verified: raises ScheduleError if not every rank gets what the collective promises, or where
    no switch computes for the ranks that need one.
    """
    fidelity = _fidelity(topology, model, switching, queueing, record_links, link_bins, latencies=False)
    passes = KernelPasses(kernel, Place(topology, np.arange(kernel.num_ranks, dtype=np.int32)))
    workload, own = disturbed(passes.workload(), disturbance)
    prediction = _one_call(
        workload, own, topology, fidelity, kernel.collective, range(kernel.num_ranks), kernel.name, latencies
    )
    if fidelity.model is not Model.BOUND:
        verify(passes.schedule(prediction.node_start_ps[own], prediction.node_finish_ps[own]))
    return prediction


def _one_call(
    workload: Workload,
    own: NDArray[np.bool_],
    topology: Topology,
    fidelity: Fidelity,
    collective: Collective | None,
    group: Sequence[int],
    algorithm: str,
    latencies: bool,
) -> Prediction:
    """What a workload takes whose nodes `own` are a call of a collective (None: no bound is known) on the topology's
    ranks `group`."""
    prediction = simulate(workload, topology, fidelity, lambda _: [])
    if not own.all():
        finish = np.zeros(workload.num_ranks, np.int64)
        np.maximum.at(finish, workload.rank[own], prediction.node_finish_ps[own])
        prediction = replace(prediction, time_ps=int(finish.max()), finish_ps=finish)
    if collective is None:
        return prediction
    bound = lower_bound(collective, topology, group=np.array(group, np.int32), shared=fidelity.model is Model.FLOW)
    call = CollectiveTime(
        kind=collective.kind,
        group=tuple(range(collective.num_ranks)),
        size_bytes=collective.size_bytes,
        algorithm=algorithm,
        start_ps=0,
        ready_ps=0,
        finish_ps=prediction.time_ps,
        bound_ps=bound.time_ps,
        latency_ps=_without_bytes(workload, topology, fidelity).time_ps if latencies else None,
    )
    return replace(
        prediction,
        workload=replace(
            workload,
            calls=(CollectiveCall.of(collective, call.group),),
            call_of=np.zeros(1, np.int32),
            groups=("",),
            group_of=np.zeros(1, np.int32),
        ),
        bound_ps=bound.time_ps,
        collectives=(call,),
    )


def _without_bytes(workload: Workload, topology: Topology, fidelity: Fidelity) -> Prediction:
    empty = replace(
        workload,
        message_bytes=np.zeros_like(workload.message_bytes),
        access_service_ps=np.zeros_like(workload.access_service_ps),
    )
    return simulate(empty, topology, replace(fidelity, record_links=False, link_bins=0), lambda _: [])


def simulate_traces(
    traces: TraceSet,
    topology: Topology,
    *,
    model: str = Model.CONGESTION,
    switching: LinkSetting = Switching.CUT_THROUGH,
    queueing: LinkSetting = Queueing.FIFO,
    algorithms: Mapping[str, str] | Literal["auto"] = DEFAULT_ALGORITHMS,
    programs: Programs | None = None,
    chunks_per_rank: int = 1,
    compute_scale: Fraction = Fraction(1),
    overlap_slowdown: Fraction = Fraction(1),
    placement: Sequence[int] | None = None,
    accelerator: Accelerator | None = None,
    remote_memory: RemoteMemory | None = None,
    reprices: bool = False,
    record_links: bool = False,
    link_bins: int = 0,
    latencies: bool = False,
) -> Prediction:
    """The time of a job's traces on a topology, trace rank r on topology rank `placement[r]` (None: r).

    `algorithms` maps a kind of collective (or `barrier`) to a native algorithm, a `.schedule` file, or `auto`: the
    native algorithm that is fastest on its own under the model (as a string: for all kinds), or a name in `programs`,
    which says the program that a call follows, or why it follows a native algorithm. `chunks_per_rank` cuts the
    collectives of native algorithms. Every computation takes `compute_scale` times its recorded duration: what if
    the processors were faster? While a rank communicates it computes `overlap_slowdown` times as long. What has no
    recorded duration takes what `accelerator` (operations and bytes) and `remote_memory` (memory nodes) say; with
    `reprices` also computations that have one, where their operations are known.
    Raises TraceError when the traces are inconsistent, DeadlockError when they never end, TopologyError when the
    topology has too few ranks, ScheduleError for an algorithm that cannot do what is asked, and SimulationError for an
    unknown model, switching, queueing or class of links, a slowdown below 1, and a placement that is none.
    """
    fidelity = _fidelity(topology, model, switching, queueing, record_links, link_bins, latencies)
    fidelity = replace(fidelity, slowdown=_at_least_1(overlap_slowdown))
    chosen = dict.fromkeys(DEFAULT_ALGORITHMS, AUTO) if isinstance(algorithms, str) else algorithms
    workload = workload_of(traces, chunks_per_rank, Hardware(accelerator, remote_memory, reprices))
    if compute_scale != 1:
        workload = workload.with_compute_scaled(compute_scale)
    if placement is not None:
        places = check_placement(placement, workload.num_ranks, topology)
        note = f"links name ranks of the topology; the job's ranks 0, 1, ... sit on {_shortened(places)}"
        workload = replace(workload, placement=places, notes=(*workload.notes, note))
    return simulate(workload, topology, fidelity, AlgorithmChooser(topology, chosen, programs).candidates)


def _fidelity(
    topology: Topology,
    model: str,
    switching: LinkSetting,
    queueing: LinkSetting,
    record_links: bool,
    link_bins: int,
    latencies: bool,
) -> Fidelity:
    if model not in set(Model):
        raise SimulationError(f"unknown model '{model}'; there are {', '.join(Model)}")
    per_link(switching, Switching, topology)
    if per_link(queueing, Queueing, topology).any() and model != Model.CONGESTION:
        raise SimulationError(
            f"queueing {setting_name(queueing)}: disciplines are for congestion, {model} has no queues"
        )
    if link_bins < 0 or link_bins % 2:
        raise SimulationError(f"link_bins must be even and not negative, got {link_bins}")
    return Fidelity(
        Model(model), switching, queueing, record_links=record_links, link_bins=link_bins, latencies=latencies
    )


def _at_least_1(slowdown: Fraction) -> Fraction:
    if slowdown < 1 or slowdown.numerator >= 2**31:
        raise SimulationError(f"overlap_slowdown {slowdown}: expected a fraction of at least 1, of integers below 2^31")
    return slowdown


def _shortened(places: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, places[:16]))
    return f"{shown}, ..." if len(places) > 16 else shown
