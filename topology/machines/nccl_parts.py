"""Parts of a machine as NCCL sees them, made from what is known of their kind. The PCI addresses are made up."""

from collections.abc import Iterable

from hocket.topology.formats.nccl.machine import C2c, Gpu, Net, Nic, NvLink, Pci, PciClass
from hocket.topology.machines.hardware import GpuKind

__all__ = ["address_of", "gpu_device", "nic_device", "pci_switch"]

_FIRST_BUS, _BUS = 0x10, 0x1000  # in a packed PCI address
_SWITCH = 0x1000_C030_15D9_1D25  # vendor, device and subsystem: none that NCCL flattens
_NIC = 0x15B3_1021_15B3_0023
_GUID = 0xA0000
_WIDTH = 16


def address_of(part: int) -> int:
    """The packed PCI address of a machine's part by its number."""
    return (_FIRST_BUS + part) * _BUS


def pci_switch(address: int, lane_speed: int, below: Iterable[Pci]) -> Pci:
    return Pci(0, address, PciClass.SWITCH, _SWITCH, lane_speed, _WIDTH, (), None, tuple(below), ())


def gpu_device(address: int, lane_speed: int, kind: GpuKind, number: int, nvlinks: Iterable[NvLink]) -> Pci:
    """GPU `number`, which is its rank too."""
    links, bandwidth = kind.c2c
    c2cs = (C2c(0, bandwidth, links),) if links else ()
    gpu = Gpu(0, number, number, kind.sm, True, kind.gcn, tuple(nvlinks), c2cs)
    device = kind.vendor << 48 | kind.device << 32
    return Pci(0, address, PciClass.GPU, device, lane_speed, _WIDTH, (gpu,), None, (), ())


def nic_device(
    address: int, lane_speed: int, number: int, name: str, speed: int, latency_ps: int = 0, takes_ps: int = -1
) -> Pci:
    """A NIC of one port of `speed` Mbit/s, with GPUDirect RDMA; latencies as of `Net`."""
    net = Net(
        line=0,
        name=name,
        dev=number,
        speed=speed,
        port=1,
        latency_ps=latency_ps,
        guid=_GUID + number,
        gdr=True,
        collnet=False,
        rail=-1,
        plane=-1,
        takes_ps=takes_ps,
    )
    return Pci(0, address, PciClass.NIC, _NIC, lane_speed, _WIDTH, (), Nic(0, (net,)), (), ())
