"""What the process groups of a job follow when stock NCCL runs their collectives: its programs, its kernels over
switches that compute, or the times that its model says."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import BARRIER
from hocket.base.errors import ScheduleError, TopologyError
from hocket.base.late_imports import late_imports
from hocket.nccl.words import is_nccl, is_nccl_model
from hocket.schedule import Kind
from hocket.simulator.fixed_time import PIECES, FixedTime
from hocket.simulator.spelled_out import Programmed, SpelledOut, SwitchKernel
from hocket.simulator.workload import CollectiveCall, Workload
from hocket.topology import Topology

with late_imports(__name__):
    from hocket.nccl import ALGORITHMS, PATH_TYPES, PROTOCOLS, NcclModel
    from hocket.nccl.programs import KINDS, NcclProgram
    from hocket.nccl.programs.groups import GroupPrograms
    from hocket.nccl.programs.spec import NcclAlgorithm, model_of
    from hocket.schedule import Kernel
    from hocket.schedule.algorithms.place import Place
    from hocket.simulator.kernels import KernelPasses

__all__ = ["MOST_MESSAGES", "MOST_MESSAGES_ASKED", "LibraryCalls", "Programs", "nccl_programs"]

MOST_MESSAGES, MOST_MESSAGES_ASKED = 2**20, 2**22
"""Jobs whose collectives of the library make more take the times of its model: they would take seconds and GiB. The
second where links are asked about: some minutes and 3 GiB at most."""

#: What calls (on ranks of the topology) follow, by the name of the algorithm; a text says why there is none.
Programs = Mapping[str, Callable[[CollectiveCall], SpelledOut | str]]

_BARRIER_BYTES = 4  # PyTorch's barrier is an all_reduce of one float
_SMALL_MESSAGE = 16 << 10  # NCCL_P2P_LL_THRESHOLD: up to here messages go by LL
_NVLINK, _PCI, _NETWORK = range(3)


def nccl_programs(algorithms: Iterable[str], topology: Topology, model: NcclModel | None = None) -> Programs:
    """For those of the algorithms that are NCCL's what each call follows; `model` is NCCL on the topology's machines,
    None: those that the topology's name says. Raises FormatError where it says none."""
    names = sorted({name for name in algorithms if is_nccl(name) or is_nccl_model(name)})
    if names and model is None:
        model = model_of(topology.name, topology.num_ranks)
    return {name: _follow(name, topology, GroupPrograms(model, NcclAlgorithm.of(name))) for name in names if model}


def _follow(name: str, topology: Topology, groups: GroupPrograms) -> Callable[[CollectiveCall], SpelledOut | str]:
    def timed(call: CollectiveCall) -> SpelledOut | str:
        return _timed(groups, call)

    def program(call: CollectiveCall) -> SpelledOut | str:
        return _program(groups, call, topology)

    follow = timed if is_nccl_model(name) else program
    return lambda call: "blocks of several sizes go as messages" if call.block_bytes is not None else follow(call)


def _timed(groups: GroupPrograms, call: CollectiveCall) -> FixedTime | str:
    expected = groups.expected(call.group, call.collective)
    if isinstance(expected, str):
        return expected
    collective = replace(call.collective, chunks_per_rank=PIECES)
    return FixedTime(expected.algorithm, collective, expected.time_ps)


def _program(groups: GroupPrograms, call: CollectiveCall, topology: Topology) -> SpelledOut | str:
    found = groups.program(call.group, call.collective)
    if isinstance(found, NcclProgram):
        return Programmed(found.program, found.passes)
    return found if isinstance(found, str) else _placed(found, Place(topology, call.members))


def _placed(kernel: Kernel, place: Place) -> SpelledOut | str:
    """The kernel on these ranks, or why no switches compute for them."""
    try:
        return SwitchKernel(KernelPasses(kernel, place))
    except (ScheduleError, TopologyError) as error:
        return str(error)


@dataclass(frozen=True, eq=False)
class LibraryCalls:
    """What calls (on ranks of the topology) follow that the stock library serves, NCCL on the machines of `model`:
    chunk by chunk (`by_chunks`) or in the time of its model. What it has no kernels for it sends as messages in a
    group: these take the launch of a kernel and a step (`message_launch_ps`), and the network what it takes."""

    model: NcclModel
    topology: Topology
    by_chunks: bool
    most_messages: int = MOST_MESSAGES
    without_program: dict[str, None] = field(default_factory=dict)  # why calls take the time of the model, as they do

    def follow(self, call: CollectiveCall) -> SpelledOut | str:
        """A text says why the call goes as messages."""
        call = _counted(call)
        if why := _as_messages(call):
            return why
        if not self.by_chunks:
            return _timed(self._groups, call)
        found = _program(self._groups, call, self.topology)
        if isinstance(found, str):
            self.without_program[found] = None
            timed = _timed(self._groups, call)
            note = f"{found}: these take the time of NCCL's model"
            return timed if isinstance(timed, str) else replace(timed, note=note)
        return found

    def sentences(self, placed: Workload, kinds: Container[str], messages: int) -> Iterator[str]:
        """How the job is simulated whose calls of these kinds make about so many messages chunk by chunk (0: not
        counted)."""
        calls = [call for call in placed.calls if call.kind in kinds and len(call.group) > 1]
        if any(not _as_messages(_counted(call)) for call in calls):
            yield self._of_collectives(messages)
        if len(placed.message_src) or any(_as_messages(_counted(call)) for call in calls):
            yield "its messages on the links, after the launch and a step of NCCL's kernels"

    def _of_collectives(self, messages: int) -> str:
        if self.by_chunks and self.without_program:
            why = "; ".join(self.without_program)
            return f"its collectives in the time of its model, which feels nothing that is asked of links: {why}"
        if self.by_chunks and not messages:
            return "its collectives chunk by chunk on the links"
        if self.by_chunks:
            counted = f"about {messages:,} messages, up to {self.most_messages:,}"
            return f"its collectives chunk by chunk on the links: {counted}"
        if not messages:
            return "its collectives in the time of its model, which knows no links"
        return (
            "its collectives in the time of its model, which knows no links: chunk by chunk they would be about"
            f" {messages:,} messages, more than {self.most_messages:,}"
        )

    def num_messages(self, workload: Workload, kinds: Iterable[str]) -> int:
        """About how many messages all collectives of these kinds make chunk by chunk."""
        served = {*kinds}
        times = np.bincount(workload.call_of, minlength=len(workload.calls))
        times = (times if workload.replicas is None else times * workload.replicas.copies).tolist()
        return sum(
            count * self._groups.num_messages(call.group, call.collective)
            for call, count in zip(workload.calls, times, strict=True)
            if call.kind in served and call.kind != BARRIER and not _as_messages(call)
        )

    def launch_ps(self, call: CollectiveCall) -> int:
        """From a member's call until its first message of a group of them leaves."""
        size = max(call.block_bytes) if call.block_bytes else -(-call.size_bytes // max(1, len(call.group)))
        machines = {rank // self._per_machine for rank in call.group}
        return self._launches_ps[int(len(machines) > 1)][int(size > _SMALL_MESSAGE)]

    def message_launch_ps(self, placed: Workload) -> NDArray[np.int64]:
        """The same of each message of a job, whose ends are ranks of the topology."""
        src, dst = placed.message_src // self._per_machine, placed.message_dst // self._per_machine
        big = placed.message_bytes > _SMALL_MESSAGE
        launches: NDArray[np.int64] = np.array(self._launches_ps, np.int64)[(src != dst).astype(int), big.astype(int)]
        return launches

    @property
    def _groups(self) -> GroupPrograms:
        return GroupPrograms(self.model, NcclAlgorithm())

    @property
    def _per_machine(self) -> int:
        """Ranks of a machine as NCCL counts them."""
        return self.model.ranks // self.model.nodes * self.model.domain

    @property
    def _launches_ps(self) -> list[list[int]]:
        """Inside a machine and to another, by LL and Simple: NCCL's constants of a ring's launch and its step, with
        what a NIC takes by itself. Its model knows no messages, but their kernels are of the same primitives."""
        over_nvlink = self.model.graphs["Ring"]["type_intra"] <= PATH_TYPES.index("NVL")

        def launch_ps(hardware: int, protocol: str) -> int:
            timed, ring, at = self.model.timed_by(protocol), ALGORITHMS.index("Ring"), PROTOCOLS.index(protocol)
            constants, nic = timed.constants, timed.graphs["Ring"]["latency"] if hardware == _NETWORK else 0.0
            launch = constants.base_latency[ring, at] + constants.step_latency[hardware, ring, at]
            return round(1e6 * float(launch + nic))

        places = _NVLINK if over_nvlink else _PCI, _NETWORK
        return [[launch_ps(hardware, protocol) for protocol in ("LL", "Simple")] for hardware in places]


def _counted(call: CollectiveCall) -> CollectiveCall:
    """A barrier as the all_reduce that it is."""
    return replace(call, kind=Kind.ALL_REDUCE, size_bytes=_BARRIER_BYTES) if call.kind == BARRIER else call


def _as_messages(call: CollectiveCall) -> str:
    """Why NCCL sends a call as messages in a group; empty where it has kernels for it."""
    if call.kind not in KINDS.values():
        return f"{call.kind}: NCCL sends it as messages in a group"
    return "blocks of several sizes go as messages in a group" if call.block_bytes is not None else ""
