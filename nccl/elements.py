"""A machine of a topology file as the rows of numbers that the engine takes."""

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TopologyError
from hocket.topology.formats.nccl.bandwidth import cpu_bandwidth, cpu_bandwidth_since_2_31, link_bandwidth
from hocket.topology.formats.nccl.machine import Cpu, Dialect, Gpu, NcclMachine, Net, Nic, Pci

__all__ = ["elements_of"]

_CPU, _PCI, _GPU, _NIC, _NET, _NVLINK, _C2C, _PCI_LINK = range(8)
_ARCHES = {"x86_64": 0, "ppc64": 1, "arm64": 2}
_VENDORS = {"": 0, "GenuineIntel": 1, "AuthenticAMD": 2, "CentaurHauls": 3, "  Shanghai  ": 3}
_VALUES = 9


def elements_of(*hosts: NcclMachine, release: int = 3007, as_taken: bool = False) -> NDArray[np.int64]:
    """Kind, parent and values (core/include/hocket/nccl/system.hpp) of each element, row by row in the files' order:
    of an NVLink domain NCCL puts the files of all hosts together.

    GPUs without a rank take no part where others have one, as in a job that does not use them. CPUs are as quick among
    each other as the `release` takes them to be (3007: 2.30.7). NICs have the latency that NCCL is told; `as_taken`:
    the one that they have, where that is known.
    Raises TopologyError for a machine that is not NCCL's.
    """
    rows = _Rows(release, as_taken)
    for number, host in enumerate(hosts):
        if host.dialect != Dialect.NCCL:
            raise TopologyError(
                f"{host.source}: a machine of RCCL, not of NCCL: its programs, logs and tables for a tuner are not"
                f" modelled. `hocket nccl choose -t {host.source}` tells RCCL's choices, `hocket simulate --topology`"
                " runs on it"
            )
        rows.add_host(number, host)
    return np.array(rows.rows, np.int64).reshape(-1)


class _Rows:
    def __init__(self, release: int, as_taken: bool) -> None:
        self.release = release
        self.as_taken = as_taken
        self.rows: list[list[int]] = []
        self.gpus: list[Gpu] = []
        self.host = 0

    def add_host(self, number: int, machine: NcclMachine) -> None:
        self.host = number
        self.gpus = [gpu for _, gpu in machine.job_gpus()]
        for cpu in machine.cpus:
            self._cpu(cpu)

    def _add(self, kind: int, parent: int, *values: int) -> int:
        signed = (value - 2**64 if value >= 2**63 else value for value in values)
        self.rows.append([kind, parent, *signed, *[0] * (_VALUES - len(values))])
        return len(self.rows) - 1

    def _cpu(self, cpu: Cpu) -> None:
        at = self._add(_CPU, -1, cpu.numa, _ARCHES[cpu.arch], _VENDORS[cpu.vendor], self._speed(cpu), self.host)
        for child in cpu.children:
            if isinstance(child, Pci):
                self._pci(child, at)
            else:
                self._nic(child, at)

    def _speed(self, cpu: Cpu) -> int:
        return cpu_bandwidth(cpu) if self.release < 3100 else cpu_bandwidth_since_2_31(cpu)

    def _pci(self, pci: Pci, parent: int) -> None:
        at = self._add(_PCI, parent, pci.bus_id, int(pci.kind), pci.device, pci.lane_speed, pci.width)
        for gpu in pci.gpus:
            if gpu in self.gpus:
                self._gpu(gpu, at)
        if pci.nic is not None:
            self._nic(pci.nic, at)
        for child in pci.pcis:
            self._pci(child, at)
        for target in pci.pcilinks:
            self._add(_PCI_LINK, at, target)

    def _gpu(self, gpu: Gpu, parent: int) -> None:
        at = self._add(_GPU, parent, gpu.dev, gpu.sm, int(gpu.gdr))
        for link in gpu.nvlinks:
            self._add(_NVLINK, at, link.target, int(link.to), link.count, link_bandwidth(Dialect.NCCL, gpu))
        for c2c in gpu.c2cs:
            self._add(_C2C, at, c2c.bandwidth, c2c.count)

    def _nic(self, nic: Nic, parent: int) -> None:
        at = self._add(_NIC, parent)
        for net in nic.nets:
            self._add(_NET, at, *self._net(net))

    def _net(self, net: Net) -> tuple[int, ...]:
        # Cards of different hosts are different cards.
        guid = net.guid if net.guid < 0 else (net.guid + (self.host << 40)) % 2**64
        latency_ps = net.takes_ps if self.as_taken and net.takes_ps >= 0 else net.latency_ps
        numbers = net.dev, net.speed, net.port, int(net.gdr), guid, net.rail, net.plane, latency_ps
        return *numbers, int(net.collnet)
