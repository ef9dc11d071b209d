"""What a user simulates: a schedule, a collective, a program of an interpreter, the traces of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import SimulationError
from hocket.base.late_imports import late_imports
from hocket.nccl.words import is_nccl, is_nccl_model
from hocket.schedule import NVIDIA, Collective, Kind, Protocol, lower_bound
from hocket.simulator.algorithm_choice import AUTO, DEFAULT_ALGORITHMS, LIBRARY, AlgorithmChooser
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.disturbance import UNDISTURBED, Disturbance, disturbed
from hocket.simulator.fidelity import STANDARD, Fidelity
from hocket.simulator.fixed_time import PIECES, FixedTime
from hocket.simulator.models import Model, Queueing, Switching, per_link
from hocket.simulator.placement import check_placement
from hocket.simulator.prediction import CollectiveTime, Prediction
from hocket.simulator.simulation import simulate
from hocket.simulator.workload import CannotFold, CollectiveCall, Workload, single_call
from hocket.topology import Topology

with late_imports(__name__):
    from hocket.chakra import TraceSet
    from hocket.chakra.roles import kinds_of_traces
    from hocket.nccl import NcclModel
    from hocket.nccl.programs import KINDS
    from hocket.nccl.programs.spec import NcclAlgorithm, model_of
    from hocket.schedule import Kernel, Passes, Program, Schedule, verify
    from hocket.schedule.algorithms.place import Place
    from hocket.schedule.kernel_links import with_steps
    from hocket.simulator.fold import Fold, folds_of
    from hocket.simulator.kernels import KernelPasses
    from hocket.simulator.memory import RemoteMemory
    from hocket.simulator.programs import program_workload, sending
    from hocket.simulator.stock import MOST_MESSAGES, MOST_MESSAGES_ASKED, LibraryCalls
    from hocket.simulator.traces import Hardware, workload_of
    from hocket.workload.accelerators import Accelerator

_MOST_NODES = 1 << 22
"""From which on a job is folded: what all its ranks do would take some 100 B a node."""

__all__ = [
    "simulate_collective",
    "simulate_expected",
    "simulate_kernel",
    "simulate_program",
    "simulate_schedule",
    "simulate_traces",
]


def simulate_schedule(
    schedule: Schedule,
    fidelity: Fidelity = STANDARD,
) -> Prediction:
    """The time of a schedule on its topology when every transfer leaves as soon as it can, in its order per route.

    Raises SimulationError for a fidelity that the topology cannot have.
    """
    call = CollectiveCall.of(schedule.collective, schedule.ranks.tolist())
    workload = single_call(call, schedule.topology.num_ranks)
    found = simulate(workload, schedule.topology, fidelity, lambda _: [CollectivePlan(schedule, schedule.generator)])
    return replace(found, routing=None)  # of its bound too


def simulate_collective(
    collective: Collective,
    topology: Topology,
    algorithm: str = AUTO,
    *,
    fidelity: Fidelity = STANDARD,
    nccl: NcclModel | None = None,
    disturbance: Disturbance = UNDISTURBED,
    by_chunks: bool = False,
    launch_ps: int = 0,
) -> Prediction:
    """The time of a collective on the first ranks of a topology, by a native algorithm, a `.schedule` file, `auto`
    (the native one that is fastest), or by stock NCCL: `nccl`, `nccl:ring/ll128/4`, or `nccl-model` for the time that
    NCCL's model says. `library`: what the machine's stock library runs, in the time of its model, or `by_chunks` on the
    links (up to MOST_MESSAGES_ASKED), and messages for what it has no kernels for. `nccl` is NCCL on the topology's
    machines; None: those that the topology's name says. What disturbs the call can be said of NCCL's
    programs. `launch_ps`: how long a call by `auto` takes to begin.

    Raises ScheduleError when the algorithm is unknown or cannot do the collective, FormatError where NCCL is asked for
    and its machines are not known, and SimulationError for a fidelity that the topology cannot have, and for a
    disturbance of another algorithm.
    """
    if is_nccl(algorithm):
        found = NcclAlgorithm.of(algorithm).program(nccl or model_of(topology.name, topology.num_ranks), collective)
        if isinstance(found, Kernel):
            return simulate_kernel(found, topology, disturbance=disturbance, fidelity=fidelity)
        return simulate_program(
            found.program,
            topology,
            found.passes.size_bytes,
            passes=found.passes,
            disturbance=disturbance,
            fidelity=fidelity,
        )
    if disturbance.late_ps or disturbance.flows:
        raise SimulationError(
            f"algorithm {algorithm}: late ranks and other traffic can only be simulated with a program or NCCL's"
            " kernels: name the program's file, or give --algorithm nccl on a cluster with NCCL"
        )
    call = CollectiveCall.of(collective, range(collective.num_ranks))
    workload = single_call(call, topology.num_ranks)
    if algorithm == LIBRARY:
        most = MOST_MESSAGES_ASKED if by_chunks else 0
        return _by_library(workload, topology, fidelity, {collective.kind: LIBRARY}, nccl, most)
    planner = AlgorithmChooser(topology, {collective.kind: algorithm}, nccl, launch_ps=launch_ps)
    return simulate(workload, topology, fidelity, planner.candidates)


def simulate_expected(
    collective: Collective, topology: Topology, algorithm: str, time_ps: int, fidelity: Fidelity = STANDARD
) -> Prediction:
    """A collective that takes `time_ps` by `algorithm`, as a library's model says; with what links allow at best."""
    found = FixedTime(algorithm, replace(collective, chunks_per_rank=PIECES), time_ps)
    call = CollectiveCall.of(collective, range(collective.num_ranks))
    return simulate(single_call(call, topology.num_ranks), topology, fidelity, lambda _: [found])


def _by_library(
    workload: Workload,
    topology: Topology,
    fidelity: Fidelity,
    algorithms: Mapping[str, str],
    nccl: NcclModel | None,
    most_messages: int,
    schedules: Mapping[tuple[str, tuple[int, ...]], Schedule] | None = None,
) -> Prediction:
    """What a workload takes some of whose collectives the stock library serves: chunk by chunk up to so many
    messages."""
    model = nccl or model_of(topology.name, topology.num_ranks)
    placed = workload.placed()
    library = LibraryCalls(model, topology, most_messages > 0, most_messages)
    kinds = [kind for kind, name in algorithms.items() if name == LIBRARY]
    messages = library.num_messages(placed, kinds) if most_messages else 0
    if messages > most_messages:
        library = replace(library, by_chunks=False)
    chooser = AlgorithmChooser(topology, algorithms, nccl, library, schedules=schedules)
    found = simulate(workload, topology, fidelity, chooser.candidates, library.message_launch_ps(placed))
    if fidelity.model == Model.BOUND:
        return replace(
            found, assumed=(*found.assumed, "each collective takes its lower bound, whatever the library does")
        )
    return replace(found, assumed=(*found.assumed, *library.sentences(placed, kinds, messages)))


def simulate_program(
    program: Program,
    topology: Topology,
    size_bytes: int,
    *,
    protocols: Mapping[str, Protocol] = NVIDIA,
    passes: Passes | None = None,
    disturbance: Disturbance = UNDISTURBED,
    placement: Sequence[int] | None = None,
    fidelity: Fidelity | None = None,
) -> Prediction:
    """The time of one call of `size_bytes` (as nccl-tests counts it) by an interpreter's program, rank r on rank
    `placement[r]` (None: r) of the topology: its order, channels, protocol, slots and slices
    (`hocket.simulator.programs`). `passes` says how the call is cut; None: as an interpreter does by
    `protocols`, those of a runtime, with what its kernels take, where they say that. `disturbance` names its ranks.

    `fidelity` None: thread blocks of kernels whose times are known share links fairly (model flow), as NCCL's channels
    do; else as standard.

    The bound is that of the collective in pieces as small as the program's smallest message. Raises SimulationError
    for a size that no runtime would take it for, DeadlockError when it never ends, ScheduleError for a program that
    breaks a rule of structure, and TopologyError when the topology has too few ranks.
    """
    group = range(program.num_ranks) if placement is None else check_placement(placement, program.num_ranks, topology)
    if passes is None:
        machine = topology.machine.tolist()  # of ranks that it lacks there is none, which `simulate` says
        passes = Passes.of(program, size_bytes, protocols, [machine[place] for place in group if place < len(machine)])
        network, standard = topology, STANDARD
        if passes.pace is not None:
            network = with_steps(topology, passes.pace, sending(program, group))
            standard = replace(STANDARD, model=Model.FLOW)
    else:
        network, standard = topology, STANDARD
    workload, own = disturbed(program_workload(program, passes), disturbance)
    if placement is not None:
        workload = replace(workload, placement=tuple(group))
    collective = None if program.kind is Kind.CUSTOM else passes.collective(program)
    found = _one_call(workload, own, network, fidelity or standard, collective, group, program.name)
    return replace(found, topology=topology)


def simulate_kernel(
    kernel: Kernel,
    topology: Topology,
    *,
    disturbance: Disturbance = UNDISTURBED,
    fidelity: Fidelity = STANDARD,
) -> Prediction:
    """The time of one call by kernels that use switches that compute (`hocket.simulator.kernels`), rank r on rank r of
    the topology; and what disturbs it.

    What the call moves is verified: raises ScheduleError if not every rank gets what the collective promises, or where
    no switch computes for the ranks that need one.
    """
    passes = KernelPasses(kernel, Place(topology, np.arange(kernel.num_ranks, dtype=np.int32)))
    workload, own = disturbed(passes.workload(), disturbance)
    prediction = _one_call(workload, own, topology, fidelity, kernel.collective, range(kernel.num_ranks), kernel.name)
    if fidelity.model != Model.BOUND:
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
) -> Prediction:
    """What a workload takes whose nodes `own` are a call of a collective (None: no bound is known) on the topology's
    ranks `group`."""
    prediction = simulate(workload, topology, replace(fidelity, latencies=False), lambda _: [])
    if not own.all():
        finish = np.zeros(workload.num_ranks, np.int64)
        np.maximum.at(finish, workload.rank[own], prediction.node_finish_ps[own])
        prediction = replace(prediction, time_ps=int(finish.max()), finish_ps=finish)
    if collective is None:
        return prediction
    bound = lower_bound(collective, topology, group=np.array(group, np.int32), shared=fidelity.shares_links(topology))
    call = CollectiveTime(
        kind=collective.kind,
        group=tuple(range(collective.num_ranks)),
        size_bytes=collective.size_bytes,
        algorithm=algorithm,
        start_ps=0,
        ready_ps=0,
        finish_ps=prediction.time_ps,
        bound_ps=bound.time_ps,
        latency_ps=_without_bytes(workload, topology, fidelity).time_ps if fidelity.latencies else None,
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
    return simulate(empty, topology, replace(fidelity, record_links=False, link_bins=0, latencies=False), lambda _: [])


def simulate_traces(
    traces: TraceSet,
    topology: Topology,
    *,
    algorithms: Mapping[str, str] | str = DEFAULT_ALGORITHMS,
    nccl: NcclModel | None = None,
    chunks_per_rank: int = 1,
    compute_scale: Fraction = Fraction(1),
    host_scale: Fraction | None = None,
    placement: Sequence[int] | None = None,
    accelerator: Accelerator | None = None,
    remote_memory: RemoteMemory | None = None,
    reprices: bool = False,
    machine: Accelerator | None = None,
    by_chunks: bool = False,
    launch_ps: int = 0,
    schedules: Mapping[tuple[str, tuple[int, ...]], Schedule] | None = None,
    folded: bool | None = None,
    fidelity: Fidelity = STANDARD,
) -> Prediction:
    """The time of a job's traces on a topology, trace rank r on topology rank `placement[r]` (None: r).

    `algorithms` maps a kind of collective (or `barrier`) to a native algorithm, a `.schedule` file, or `auto`: the
    native algorithm that is fastest on its own under the model, or what stock NCCL does, as in `simulate_collective`.
    As a string: for all kinds (NCCL's: for those that it has programs for). What takes `library` is simulated chunk by
    chunk where that is up to MOST_MESSAGES messages in all (`by_chunks`: up to MOST_MESSAGES_ASKED), else in the times
    of its model. Calls of a kind by a group (ranks of the topology) that `schedules` has one for follow it, cut to
    their size. Without a library, messages and what takes `auto` or such a schedule begin `launch_ps` after they are
    called; where `nccl` is given and all take `auto`, when its messages would.
    `chunks_per_rank` cuts the collectives of native algorithms. Every computation takes `compute_scale` times its
    recorded duration (what the host does alone, in imported profiles, `host_scale` times; None: likewise): what if the
    processors were faster? While a rank communicates it computes
    `fidelity.overlap_slowdown` times as long. What has no recorded duration takes what `accelerator` (operations
    and bytes) and `remote_memory` (memory nodes) say; with `reprices` also computations that have one, where their
    work is known. `machine` is what the topology's GPUs are: it prices where there is no `accelerator`, and a note
    says where times are of another.
    `folded`: one rank of each kind is simulated for all that do alike, where that is exact (`Workload.replicas`; None:
    of jobs with more than 4,194,304 nodes; False: never).
    Raises TraceError when the traces are inconsistent, DeadlockError when they never end, TopologyError when the
    topology has too few ranks, ScheduleError for an algorithm that cannot do what is asked, and SimulationError for a
    fidelity that the topology cannot have, and a placement that is none.
    """
    chosen = _for_all_kinds(algorithms) if isinstance(algorithms, str) else algorithms
    places = None if placement is None else check_placement(placement, traces.num_ranks, topology)
    hardware = Hardware(accelerator, remote_memory, reprices, machine)

    def simulated(fold: Fold | None) -> Prediction:
        workload = workload_of(traces, chunks_per_rank, hardware, fold)
        if compute_scale != 1 or host_scale not in (None, 1):
            workload = workload.with_compute_scaled(compute_scale, host_scale)
        if places is not None:
            note = f"links name ranks of the topology; the job's ranks 0, 1, ... sit on {_shortened(places)}"
            workload = replace(workload, placement=places, notes=(*workload.notes, note))
        if LIBRARY in chosen.values():
            most = MOST_MESSAGES_ASKED if by_chunks else MOST_MESSAGES
            return _by_library(workload, topology, fidelity, chosen, nccl, most, schedules)
        if nccl is not None and {*chosen.values()} == {AUTO}:
            library = LibraryCalls(nccl, topology, by_chunks=False)
            chooser = AlgorithmChooser(topology, chosen, nccl, launch_ps=library.launch_ps, schedules=schedules)
            of_messages = library.message_launch_ps(workload.placed())
        else:
            chooser = AlgorithmChooser(topology, chosen, nccl, launch_ps=launch_ps, schedules=schedules)
            of_messages = np.full(len(workload.message_src), launch_ps, np.int64)
        return simulate(workload, topology, fidelity, chooser.candidates, of_messages)

    is_large = sum(len(trace) * count for trace, count in kinds_of_traces(traces)) > _MOST_NODES
    why = "ranks, links or what is asked of them differ" if places is None else "a placement is given"
    may_fold = places is None and (is_large if folded is None else folded)
    for fold in _folds(traces, topology, fidelity) if may_fold else ():
        try:
            return simulated(fold)
        except CannotFold as reason:  # for what the calls follow, which is known by now
            why = str(reason)
    found = simulated(None)
    if not is_large or folded is False:
        return found
    return replace(found, notes=(*found.notes, f"every rank was simulated, none standing for others: {why}"))


def _folds(traces: TraceSet, topology: Topology, fidelity: Fidelity) -> Iterator[Fold]:
    """Which ranks may stand for others, where nobody asks for every link's record."""
    if not fidelity.may_fold or fidelity.record_links or traces.num_ranks > topology.num_ranks:
        return
    if per_link(fidelity.queueing, Queueing, topology).any():
        return  # links that choose free at one instant what goes next in the order of what went before it, anywhere
    yield from folds_of(
        traces, topology, fidelity.routed(topology), (per_link(fidelity.switching, Switching, topology),)
    )


def _for_all_kinds(algorithm: str) -> Mapping[str, str]:
    kinds = KINDS.values() if is_nccl(algorithm) or is_nccl_model(algorithm) else DEFAULT_ALGORITHMS
    return dict.fromkeys(kinds, algorithm)


def _shortened(places: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, places[:16]))
    return f"{shown}, ..." if len(places) > 16 else shown
