"""A machine of NCCL's topology files, or a cluster of several, as a topology: GPUs, NVSwitch, PCI tree, CPUs, NICs.

Bandwidths are those that NCCL 2.30 counts with, and RCCL for xGMI; the files say no latencies: docs/topology.md tells
what is assumed.
"""

from pathlib import Path

from hocket.base.enums import assert_never
from hocket.base.errors import TopologyError
from hocket.topology.formats.nccl.bandwidth import cpu_bandwidth, link_bandwidth
from hocket.topology.formats.nccl.machine import Cpu, Dialect, Gpu, LinkTarget, NcclMachine, Nic, Pci
from hocket.topology.machines.cluster import MOST_MACHINES, Machine, MachinePort, cluster
from hocket.topology.machines.fabric import Fabric
from hocket.topology.model import Topology

__all__ = ["from_nccl", "nccl_parts"]

_NS = 10**3
_MB = 10**6
_NVLINK_PS = 700 * _NS  # GPU - GPU; half of it GPU - NVSwitch, as the presets have it
_PCI_PS = 300 * _NS  # a link of the PCI tree, or between CPUs: two of them as the presets have GPU - NIC
_LATENCY = {"nvlink": _NVLINK_PS, "xgmi": _NVLINK_PS, "nvswitch": _NVLINK_PS // 2} | dict.fromkeys(
    ("pci", "c2c", "cpu"), _PCI_PS
)

_LOCAL = 5_000_000  # MB/s between what NCCL takes for one place


def from_nccl(
    machine: NcclMachine, nodes: int = 1, nvls: bool = False, sharp: bool = False, fabric: Fabric | None = None
) -> Topology:
    """`nodes` machines like this one; ranks go machine by machine, in the order of `rank` (of the file without it).

    Switches after the ranks: machine by machine its CPUs, then NVSwitch, PCI switches and NICs; with two machines or
    more those of the fabric. Classes: `nvlink` (AMD's: `xgmi`), `nvswitch`, `pci`, `c2c`, `cpu` (between CPUs),
    `fabric`. With `nvls` the NVSwitches compute, with `sharp` the fabric's switches. GPUs without a rank take no part
    where others have one.

    Raises TopologyError when `nodes` is out of range, or the machine lacks what is asked for.
    """
    fabric = fabric or Fabric()
    name = Path(machine.source).stem + f":nodes={nodes}" * (nodes > 1) + str(fabric)
    name += ",nvls=1" * nvls + ",sharp=1" * sharp
    if not 1 <= nodes <= MOST_MACHINES:
        raise TopologyError(f"{machine.source}: takes nodes from 1 to {MOST_MACHINES}")
    return cluster(name, [nccl_parts(machine)] * nodes, fabric, nvls, sharp)


def nccl_parts(machine: NcclMachine) -> Machine:
    """The machine as nodes and links."""
    inside = _Inside(machine)
    return Machine(
        machine.source,
        inside.gpus,
        (len(inside.number) - inside.gpus,),
        tuple(
            (src, dst, _LATENCY[kind], bandwidth * _MB, kind) for (src, dst, kind), bandwidth in inside.links.items()
        ),
        tuple(
            MachinePort(node, speed * 125_000, rail) for rail, (_, _, speed, node) in enumerate(sorted(inside.ports))
        ),
        inside.number["nvswitch"] if inside.computes else -1,
        machine.notes,
    )


class _Inside:
    """One machine: nodes by name, GPUs first; links (MB/s) by their ends and class; ports: dev, line, Mbit/s, node.

    PCI devices are told apart by address and line, as a file of RCCL's may have an address twice."""

    def __init__(self, machine: NcclMachine) -> None:
        self.machine = machine
        self.number: dict[object, int] = {}
        self.links: dict[tuple[int, int, str], int] = {}
        self.ports: set[tuple[int, int, int, int]] = set()
        found = sorted(machine.job_gpus(), key=lambda pair: pair[1].rank)  # stable: without ranks in the file's order
        self.gpus = sum(self._node(("gpu", pci.bus_id)) >= 0 for pci, _ in found)
        for cpu in machine.cpus:
            self._node(("cpu", cpu.numa))
        for cpu in machine.cpus:
            for child in cpu.children:
                self._device(child, ("cpu", cpu.numa), cpu)
        for _, above in machine.devices():
            self._pci_links(above[-1])
        for one in machine.cpus:
            for other in machine.cpus:
                if one is not other:
                    self._link(("cpu", one.numa), ("cpu", other.numa), "cpu", cpu_bandwidth(one))
        self.computes = "nvswitch" in self.number and min(gpu.sm for _, gpu in found) >= 90

    def _node(self, name: object) -> int:
        return self.number.setdefault(name, len(self.number))

    def _link(self, one: object, other: object, kind: str, bandwidth: int) -> None:
        """One way; a link that is there already gets wider."""
        key = self._node(one), self._node(other), kind
        self.links[key] = self.links.get(key, 0) + bandwidth

    def _both(self, one: object, other: object, kind: str, bandwidth: int) -> None:
        self._link(one, other, kind, bandwidth)
        self._link(other, one, kind, bandwidth)

    def _device(self, device: Pci | Nic, above: object, cpu: Cpu) -> None:
        if isinstance(device, Nic):
            self._nic(device, ("nic", above), above, _LOCAL)
            return
        bandwidth = device.bandwidth // _MB
        for gpu in device.gpus:
            if ("gpu", device.bus_id) in self.number:
                self._both(("gpu", device.bus_id), above, "pci", bandwidth)
                self._gpu(gpu, device.bus_id, cpu)
        if device.nic is not None:
            self._nic(device.nic, ("nic", device.bus_id, device.line), above, bandwidth)
        elif device.pcis:
            self._both(_switch(device), above, "pci", bandwidth)
            for child in device.pcis:
                self._device(child, _switch(device), cpu)

    def _pci_links(self, device: Pci) -> None:
        """Switches linked to each other, which NCCL takes for one place; it skips a target that is no switch."""
        for address in device.pcilinks if _switch(device) in self.number else ():
            others = (above[-1] for _, above in self.machine.devices() if above[-1].bus_id == address)
            for other in map(_switch, others):
                if other in self.number:
                    self._link(_switch(device), other, "pci", _LOCAL)

    def _nic(self, nic: Nic, name: object, above: object, bandwidth: int) -> None:
        if nic.nets:
            self._both(name, above, "pci", bandwidth)
            self.ports |= {(net.dev, net.line, net.speed, self._node(name)) for net in nic.nets}

    def _gpu(self, gpu: Gpu, bus_id: int, cpu: Cpu) -> None:
        name, one_link = ("gpu", bus_id), link_bandwidth(self.machine.dialect, gpu)
        kind = "xgmi" if self.machine.dialect == Dialect.RCCL else "nvlink"
        for link in gpu.nvlinks:
            bandwidth = link.count * one_link
            match link.to:
                case LinkTarget.SWITCH:
                    self._both(name, "nvswitch", "nvswitch", bandwidth)
                case LinkTarget.CPU:
                    self._both(name, ("cpu", cpu.numa), kind, bandwidth)
                case LinkTarget.GPU:
                    if link.target != bus_id and ("gpu", link.target) in self.number:
                        self._link(name, ("gpu", link.target), kind, bandwidth)
                case _:
                    assert_never(link.to)
        for c2c in gpu.c2cs:
            self._both(name, ("cpu", cpu.numa), "c2c", c2c.bandwidth * c2c.count)


def _switch(device: Pci) -> object:
    """The name of a PCI switch's node."""
    return "pci", device.bus_id, device.line
