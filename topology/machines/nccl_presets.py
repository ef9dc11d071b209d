"""Machines by name as NCCL sees them: NUMA nodes, PCI switches, GPUs and NICs."""

from itertools import count

from hocket.topology.formats.nccl.bandwidth import unknown_gpu
from hocket.topology.formats.nccl.machine import Cpu, Dialect, LinkTarget, NcclMachine, NvLink, Pci
from hocket.topology.machines.hardware import CPUS
from hocket.topology.machines.nccl_parts import address_of, gpu_device, nic_device, pci_switch
from hocket.topology.machines.records import MACHINES, MachineRecord

__all__ = ["nccl_preset"]

_US = 10**6  # ps
_Device = tuple[str, int]  # what, and which of them


def nccl_preset(name: str) -> NcclMachine:
    """One host of a machine of `records.MACHINES`."""
    record = MACHINES[name]
    groups = record.switches or record.numa
    devices: list[list[_Device]] = [[] for _ in range(groups)]
    for what, number in (("gpu", record.gpus // record.hosts), ("nic", record.rails)):
        for one in range(number):
            devices[one * groups // number].append((what, one))
    parts = count()
    address: dict[_Device, int] = {}
    for at, group in enumerate(devices):
        above = [("switch", at)] if record.switches else []
        address |= {device: address_of(next(parts)) for device in (*above, *group)}
    kind = CPUS[record.cpu]
    cpus = []
    for numa in range(record.numa):
        children: list[Pci] = []
        for at in range(numa * groups // record.numa, (numa + 1) * groups // record.numa):
            below = [_device(record, address, device) for device in devices[at]]
            children += [pci_switch(address["switch", at], record.lanes, below)] if record.switches else below
        cpus.append(Cpu(0, numa, kind.arch, kind.vendor, kind.family, kind.model, tuple(children)))
    return NcclMachine(name, Dialect.RCCL if record.kind.gcn else Dialect.NCCL, tuple(cpus), _notes(record))


def _notes(record: MachineRecord) -> tuple[str, ...]:
    unknown = unknown_gpu(record.kind.sm, record.kind.gcn)
    return (*record.notes, *([unknown] if unknown else []), *([record.latency.note] if record.latency else []))


def _device(record: MachineRecord, address: dict[_Device, int], device: _Device) -> Pci:
    what, number = device
    if what == "nic":
        told, takes = (record.latency.told_us * _US, record.latency.takes_us * _US) if record.latency else (0, -1)
        name = f"{record.ports}{number}"
        return nic_device(address[device], record.lanes, number, name, record.nic * 1000, told, takes)
    links = [NvLink(0, 0, LinkTarget.SWITCH, links) for links in record.nvswitches]
    links += [
        NvLink(0, address["gpu", sum(pair) - number], LinkTarget.GPU, links)
        for pair, links in record.pairs.items()
        if number in pair
    ]
    return gpu_device(address[device], record.lanes, record.kind, number, links)
