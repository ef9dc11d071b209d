"""NCCL for the process groups of a job: each has a communicator of its own, on the GPUs that it uses."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from hocket.base.errors import HocketError
from hocket.nccl.model import NcclModel
from hocket.nccl.programs.counting import num_messages
from hocket.nccl.programs.request import NcclProgram
from hocket.nccl.programs.spec import ModelledTime, NcclAlgorithm
from hocket.schedule import Collective, Kernel
from hocket.topology.formats.nccl.machine import Gpu, NcclMachine, Nic, Pci

__all__ = ["GroupPrograms"]

_Found = TypeVar("_Found")
#: A machine as NCCL sees it, by the places that are used of each of its hosts.
_Used = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class GroupPrograms:
    """Programs by `algorithm` for groups of the ranks of a cluster, of whose machines `whole` is the model."""

    whole: NcclModel
    algorithm: NcclAlgorithm

    def program(self, group: Sequence[int], collective: Collective) -> NcclProgram | Kernel | str:
        """What the group's members, in their order, do for a collective; or why that is not known."""
        return self._of(group, lambda model: self.algorithm.program(model, collective))

    def expected(self, group: Sequence[int], collective: Collective) -> ModelledTime | str:
        """What NCCL's model says that the collective takes; or why it says nothing."""
        return self._of(group, lambda model: self.algorithm.expected(model, collective))

    def num_messages(self, group: Sequence[int], collective: Collective) -> int:
        """About how many messages the program has; 0 where there is none."""
        found = self._of(group, lambda model: num_messages(self.algorithm.call(model, collective)))
        return 0 if isinstance(found, str) else found

    def _of(self, group: Sequence[int], found: Callable[[NcclModel], _Found]) -> _Found | str:
        try:
            return found(_model_of_group(self.whole, tuple(group)))
        except HocketError as error:
            return str(error)


@lru_cache(maxsize=4096)
def _model_of_group(whole: NcclModel, group: tuple[int, ...]) -> NcclModel:
    """NCCL of a communicator of these ranks of the cluster, in their order, whatever GPUs of whatever nodes they are.

    As `initTransportsRank` of src/init.cc (2.30): a node is what its ranks say of it, and nodes count in the order in
    which the ranks name them; each searches channels on its own GPUs, and all count with the least that any has found.
    Raises TopologyError for what is none.
    """
    if group == tuple(range(whole.ranks)):
        return whole
    gpus = whole.ranks // whole.nodes
    hosts: dict[int, list[int]] = {}
    for rank in group:
        hosts.setdefault(rank // gpus, []).append(rank % gpus)
    machines: dict[int, list[int]] = {}
    for host in hosts:
        machines.setdefault(host // whole.domain, []).append(host)
    used = [tuple(tuple(sorted(hosts[host])) for host in sorted(own)) for own in machines.values()]
    kinds = tuple(sorted(Counter(used).items()))
    numbers = {kind: number for number, (kind, _) in enumerate(kinds)}
    position = {rank: at for at, rank in enumerate(group)}
    members = [
        tuple(position[host * gpus + place] for host in sorted(own) for place in sorted(hosts[host]))
        for own in machines.values()
    ]
    return _searched(whole, kinds).arranged(members, [numbers[kind] for kind in used])


@lru_cache(maxsize=1024)
def _searched(whole: NcclModel, kinds: tuple[tuple[_Used, int], ...]) -> NcclModel:
    """Of so many machines of each kind."""
    every = tuple(range(whole.ranks // whole.nodes))
    if kinds == ((((every,) * whole.domain), whole.nodes // whole.domain),):
        return whole
    hosts = [(tuple(_using(whole.machine, places) for places in used), count) for used, count in kinds]
    return NcclModel.of_machines(hosts, whole.settings, whole.constants, whole.domain, whole.measured)


@lru_cache(maxsize=256)
def _using(machine: NcclMachine, places: tuple[int, ...]) -> NcclMachine:
    """The machine for a job that uses its GPUs with these places alone, in their order."""
    taking_part = [gpu for _, gpu in machine.job_gpus()]
    by_rank = sorted(taking_part, key=lambda gpu: gpu.rank)  # stable: without ranks in the file's order
    place = {gpu: at for at, gpu in enumerate(by_rank)}

    def rank(gpu: Gpu) -> int:
        return places.index(place[gpu]) if gpu in place and place[gpu] in places else -1

    def used(pci: Pci) -> Pci:
        gpus = tuple(replace(gpu, rank=rank(gpu)) for gpu in pci.gpus)
        return replace(pci, gpus=gpus, pcis=tuple(used(child) for child in pci.pcis))

    def under(child: Pci | Nic) -> Pci | Nic:
        return used(child) if isinstance(child, Pci) else child

    cpus = tuple(replace(cpu, children=tuple(under(child) for child in cpu.children)) for cpu in machine.cpus)
    return replace(machine, cpus=cpus)
