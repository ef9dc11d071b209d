"""A machine in one name: what a spec such as `dgx-b200:nodes=16` stands for beyond its topology."""

import re
from dataclasses import dataclass

from hocket.base.errors import TopologyError
from hocket.nccl.libraries import StockLibrary, library_of
from hocket.topology import Topology, load
from hocket.topology.machines.hosts import Hosts, NoMachines, hosts_of
from hocket.topology.machines.integrated_machines import INTEGRATED
from hocket.topology.machines.records import MachineRecord
from hocket.workload.accelerators import ACCELERATORS, Accelerator

__all__ = ["Installation", "installation"]


@dataclass(frozen=True, eq=False)
class Installation:
    """What `spec` names: its hosts as a library sees them, what computes in them, and their stock library; None where
    it says nothing of that, as a pure graph, and `unknown` says why. Of accelerators with a network of their own only
    what computes is known."""

    spec: str
    hosts: Hosts | None = None
    accelerator: Accelerator | None = None
    library: StockLibrary | None = None
    unknown: str = ""

    @property
    def record(self) -> MachineRecord | None:
        return self.hosts.record if self.hosts else None

    def topology(self) -> Topology:
        return load(self.spec)


def installation(spec: str, nodes: int | None = None) -> Installation:
    """What a spec names, with `nodes` hosts where it does not say how many.

    Raises FormatError and TopologyError for a spec that names machines wrongly.
    """
    try:
        hosts = hosts_of(spec, nodes)
    except (NoMachines, TopologyError) as error:
        word = re.split("[:,]", spec.strip(), maxsplit=1)[0]
        accelerator = ACCELERATORS[INTEGRATED[word].accelerator] if word in INTEGRATED else None
        return Installation(spec, accelerator=accelerator, unknown=str(error))
    return Installation(spec, hosts, ACCELERATORS.get(hosts.accelerator), library_of(hosts))
