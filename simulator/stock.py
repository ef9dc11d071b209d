"""What the process groups of a job follow when stock NCCL runs their collectives: its programs, its kernels over
switches that compute, or the times that its model says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hocket.base.errors import ScheduleError, TopologyError
from hocket.base.late_imports import late_imports
from hocket.nccl.words import is_nccl, is_nccl_model
from hocket.simulator.fixed_time import FixedTime
from hocket.simulator.spelled_out import Programmed, SpelledOut, SwitchKernel
from hocket.simulator.workload import CollectiveCall
from hocket.topology import Topology

with late_imports(__name__):
    from hocket.nccl import NcclModel
    from hocket.nccl.programs import NcclProgram
    from hocket.nccl.programs.groups import GroupPrograms
    from hocket.nccl.programs.spec import NcclAlgorithm, model_of
    from hocket.schedule import Kernel
    from hocket.schedule.algorithms.place import Place
    from hocket.simulator.kernels import KernelPasses

__all__ = ["Programs", "nccl_programs"]

#: What calls (on ranks of the topology) follow, by the name of the algorithm; a text says why there is none.
Programs = Mapping[str, Callable[[CollectiveCall], SpelledOut | str]]


def nccl_programs(algorithms: Iterable[str], topology: Topology, model: NcclModel | None = None) -> Programs:
    """For those of the algorithms that are NCCL's what each call follows; `model` is NCCL on the topology's machines,
    None: those that the topology's name says. Raises FormatError where it says none."""
    names = sorted({name for name in algorithms if is_nccl(name) or is_nccl_model(name)})
    if names and model is None:
        model = model_of(topology.name, topology.num_ranks)
    return {name: _follow(name, topology, GroupPrograms(model, NcclAlgorithm.of(name))) for name in names if model}


def _follow(name: str, topology: Topology, groups: GroupPrograms) -> Callable[[CollectiveCall], SpelledOut | str]:
    def timed(call: CollectiveCall) -> SpelledOut | str:
        expected = groups.expected(call.group, call.collective)
        return (
            expected if isinstance(expected, str) else FixedTime(expected.algorithm, call.collective, expected.time_ps)
        )

    def program(call: CollectiveCall) -> SpelledOut | str:
        found = groups.program(call.group, call.collective)
        if isinstance(found, NcclProgram):
            return Programmed(found.program, found.passes)
        return found if isinstance(found, str) else _placed(found, Place(topology, call.members))

    follow = timed if is_nccl_model(name) else program
    return lambda call: "blocks of several sizes go as messages" if call.block_bytes is not None else follow(call)


def _placed(kernel: Kernel, place: Place) -> SpelledOut | str:
    """The kernel on these ranks, or why no switches compute for them."""
    try:
        return SwitchKernel(KernelPasses(kernel, place))
    except (ScheduleError, TopologyError) as error:
        return str(error)
