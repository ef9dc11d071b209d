"""NCCL's programs for the process groups of a job: each has a communicator of its own, on the GPUs that it uses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from hocket.base.errors import HocketError
from hocket.nccl.model import NcclModel
from hocket.nccl.programs.request import NcclProgram
from hocket.nccl.programs.spec import ModelledTime, NcclAlgorithm
from hocket.schedule import Collective, Kernel
from hocket.topology.formats.nccl.machine import Nic, Pci

__all__ = ["GroupPrograms"]

_Found = TypeVar("_Found")


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

    def _of(self, group: Sequence[int], found: Callable[[NcclModel], _Found]) -> _Found | str:
        gpus = self.whole.ranks // self.whole.nodes
        machines = sorted({rank // gpus for rank in group})
        local = tuple(sorted({rank % gpus for rank in group}))
        if list(group) != [machine * gpus + gpu for machine in machines for gpu in local]:
            return "groups are modelled that are in order and use the same GPUs of each machine"
        try:
            return found(_model(self.whole, local, len(machines)))
        except HocketError as error:
            return str(error)


@lru_cache(maxsize=64)
def _model(whole: NcclModel, local: tuple[int, ...], nodes: int) -> NcclModel:
    """NCCL on the GPUs with these places on so many of the machines."""
    if (len(local) * nodes, nodes) == (whole.ranks, whole.nodes):
        return whole
    ranks = iter([local.index(place) if place in local else -1 for place in whole.places])

    def used(pci: Pci) -> Pci:
        gpus = tuple(replace(gpu, rank=next(ranks)) for gpu in pci.gpus)
        return replace(pci, gpus=gpus, pcis=tuple(used(child) for child in pci.pcis))

    def under(child: Pci | Nic) -> Pci | Nic:
        return used(child) if isinstance(child, Pci) else child

    cpus = tuple(replace(cpu, children=tuple(under(child) for child in cpu.children)) for cpu in whole.machine.cpus)
    return NcclModel(replace(whole.machine, cpus=cpus), nodes, whole.settings, whole.constants)
