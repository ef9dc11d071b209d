"""Machines by name as NCCL sees them: NUMA nodes, PCI switches, GPUs and NICs. The PCI addresses are made up."""

from itertools import count

from hocket.topology.hardware import CPUS
from hocket.topology.machine_records import MACHINES, MachineRecord
from hocket.topology.nccl_machine import (
    C2c,
    Cpu,
    Dialect,
    Gpu,
    LinkTarget,
    NcclMachine,
    Net,
    Nic,
    NvLink,
    Pci,
    PciClass,
)

__all__ = ["nccl_preset"]

_BUS = 0x1000  # one bus in a packed PCI address
_FIRST_BUS = 0x10
_SWITCH = 0x1000_C030_15D9_1D25  # vendor, device and subsystem: none that NCCL flattens
_NIC = 0x15B3_1021_15B3_0023
_GUID = 0xA0000
_WIDTH = 16

_Device = tuple[str, int]  # what, and which of them


def nccl_preset(name: str) -> NcclMachine:
    """One host of a machine of `machine_records.MACHINES`."""
    record = MACHINES[name]
    gpus, nics = record.gpus // record.hosts, record.rails
    groups = record.switches or record.numa
    devices: list[list[_Device]] = [[] for _ in range(groups)]
    for what, number in (("gpu", gpus), ("nic", nics)):
        for one in range(number):
            devices[one * groups // number].append((what, one))
    buses = count(_FIRST_BUS)
    address: dict[_Device, int] = {}
    for at, group in enumerate(devices):
        above = [("switch", at)] if record.switches else []
        address |= {device: next(buses) * _BUS for device in (*above, *group)}
    build = _Builder(record, address)
    kind = CPUS[record.cpu]
    cpus = []
    for numa in range(record.numa):
        children: list[Pci] = []
        for at in range(numa * groups // record.numa, (numa + 1) * groups // record.numa):
            below = tuple(build.device(device) for device in devices[at])
            children += [build.switch(at, below)] if record.switches else below
        cpus.append(Cpu(0, numa, kind.arch, kind.vendor, kind.family, kind.model, tuple(children)))
    return NcclMachine(name, Dialect.RCCL if record.kind.gcn else Dialect.NCCL, tuple(cpus))


class _Builder:
    def __init__(self, record: MachineRecord, address: dict[_Device, int]) -> None:
        self.record = record
        self.address = address

    def switch(self, at: int, below: tuple[Pci, ...]) -> Pci:
        return self._pci(("switch", at), PciClass.SWITCH, _SWITCH, pcis=below)

    def device(self, device: _Device) -> Pci:
        what, number = device
        if what == "gpu":
            kind = self.record.kind
            return self._pci(device, PciClass.GPU, kind.vendor << 48 | kind.device << 32, gpus=(self._gpu(number),))
        net = Net(
            line=0,
            name=f"{self.record.ports}{number}",
            dev=number,
            speed=self.record.nic * 1000,
            port=1,
            latency_ps=0,
            guid=_GUID + number,
            gdr=True,
            collnet=False,
            rail=-1,
            plane=-1,
        )
        return self._pci(device, PciClass.NIC, _NIC, nic=Nic(0, (net,)))

    def _pci(
        self,
        device: _Device,
        kind: PciClass,
        number: int,
        gpus: tuple[Gpu, ...] = (),
        nic: Nic | None = None,
        pcis: tuple[Pci, ...] = (),
    ) -> Pci:
        return Pci(0, self.address[device], kind, number, self.record.lanes, _WIDTH, gpus, nic, pcis, ())

    def _gpu(self, number: int) -> Gpu:
        kind = self.record.kind
        links = [NvLink(0, 0, LinkTarget.SWITCH, links) for links in self.record.nvswitches]
        links += [
            NvLink(0, self.address["gpu", sum(pair) - number], LinkTarget.GPU, links)
            for pair, links in self.record.pairs.items()
            if number in pair
        ]
        number_of_c2c, bandwidth = kind.c2c
        c2cs = (C2c(0, bandwidth, number_of_c2c),) if number_of_c2c else ()
        return Gpu(0, number, number, kind.sm, True, kind.gcn, tuple(links), c2cs)
