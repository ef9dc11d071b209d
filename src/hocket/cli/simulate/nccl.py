"""`hocket simulate KIND --algorithm nccl...`: what stock NCCL does, as a program or a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hocket.nccl import NcclModel
    from hocket.schedule import Collective, Kernel
    from hocket.schedule.algorithms.place import Place
    from hocket.simulator import Prediction
    from hocket.simulator.algorithm_choice import Programs
    from hocket.simulator.spelled_out import SpelledOut
    from hocket.simulator.sweep.curves import SimulatedCurve
    from hocket.simulator.workload import CollectiveCall
    from hocket.topology import Topology

__all__ = ["curve_of_predictions", "nccl_curve", "nccl_programs", "simulate_nccl"]


def simulate_nccl(
    algorithm: str, model: NcclModel, collective: Collective, topology: Topology, options: Mapping[str, Any]
) -> Prediction:
    """What a collective takes; `options` are those that `simulate_program` and `simulate_kernel` share."""
    from hocket.nccl.programs.spec import NcclAlgorithm
    from hocket.schedule import Kernel
    from hocket.simulator import simulate_kernel, simulate_program

    found = NcclAlgorithm.of(algorithm).program(model, collective)
    if isinstance(found, Kernel):
        return simulate_kernel(found, topology, **options)
    return simulate_program(found.program, topology, collective.size_bytes, passes=found.passes, **options)


def nccl_programs(algorithms: Iterable[str], topology: Topology, model: Callable[[], NcclModel]) -> Programs:
    """The programs and kernels of those algorithms that are NCCL's, and the times of its model, for the process groups
    of a job on a topology."""
    from hocket.nccl.programs import NcclProgram
    from hocket.nccl.programs.groups import GroupPrograms
    from hocket.nccl.programs.spec import NcclAlgorithm, is_nccl, is_nccl_model
    from hocket.schedule.algorithms.place import Place
    from hocket.simulator.spelled_out import Programmed
    from hocket.simulator.timed import Timed

    def follow(name: str) -> Callable[[CollectiveCall], SpelledOut | str]:
        groups = GroupPrograms(model(), NcclAlgorithm.of(name))

        def program(call: CollectiveCall) -> SpelledOut | str:
            if call.block_bytes is not None:
                return "blocks of several sizes go as messages"
            if is_nccl_model(name):
                expected = groups.expected(call.group, call.collective)
                return (
                    expected
                    if isinstance(expected, str)
                    else Timed(expected.algorithm, call.collective, expected.time_ps)
                )
            found = groups.program(call.group, call.collective)
            if isinstance(found, NcclProgram):
                return Programmed(found.program, found.passes)
            return found if isinstance(found, str) else _placed(found, Place(topology, call.members))

        return program

    return {name: follow(name) for name in sorted(set(algorithms)) if is_nccl(name) or is_nccl_model(name)}


def _placed(kernel: Kernel, place: Place) -> SpelledOut | str:
    """The kernel on these ranks, or why no switches compute for them."""
    from hocket.base.errors import ScheduleError, TopologyError
    from hocket.simulator.kernels import KernelPasses
    from hocket.simulator.spelled_out import SwitchKernel

    try:
        return SwitchKernel(KernelPasses(kernel, place))
    except (ScheduleError, TopologyError) as error:
        return str(error)


def nccl_curve(
    spec: str,
    algorithm: str,
    model: NcclModel,
    collective: Callable[[int], Collective],
    sizes: Sequence[int],
    topology: Topology,
    options: Mapping[str, Any],
) -> SimulatedCurve:
    """What collectives of these sizes take on the topology that `spec` names."""

    def predicted(size: int, latencies: bool) -> Prediction:
        return simulate_nccl(algorithm, model, collective(size), topology, {**options, "latencies": latencies})

    return curve_of_predictions(spec, algorithm, sizes, predicted)


def curve_of_predictions(
    topology: str, algorithm: str, sizes: Sequence[int], predicted: Callable[[int, bool], Prediction]
) -> SimulatedCurve:
    """The curve of what `predicted` says of each size, and without any bytes where it is asked to."""
    import numpy as np

    from hocket.simulator.analysis import collective_table
    from hocket.simulator.sweep.curves import curve_of

    ascending = sorted(set(sizes))
    found = [predicted(size, size == ascending[0]) for size in ascending]
    columns = [collective_table(prediction) for prediction in found]
    used = [prediction.collectives[0].algorithm for prediction in found]
    table = {
        "size_bytes": np.array([0, *ascending]),
        "time_ps": np.array([found[0].collectives[0].latency_ps, *(prediction.time_ps for prediction in found)]),
        "bound_ps": np.array([0, *(prediction.bound_ps for prediction in found)]),
        "used_algorithm": np.array([used[0], *used]),
    }
    for name in ("busbw", "ratio"):
        table[name] = np.array([1.0, *(each[name][0] for each in columns)])
    return curve_of(topology, algorithm, table)
