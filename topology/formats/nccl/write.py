"""A machine written as NCCL's topology file, which NCCL, RCCL and `read_nccl_topology` read."""

from collections.abc import Iterator
from fractions import Fraction

from hocket.topology.formats.nccl.attributes import bus_id_text
from hocket.topology.formats.nccl.machine import Cpu, Dialect, Gpu, LinkTarget, NcclMachine, Net, Nic, Pci, PciClass

__all__ = ["topology_text"]

_CLASSES = {
    PciClass.SWITCH: "0x060400",
    PciClass.GPU: "0x030200",
    PciClass.NVSWITCH: "0x068000",
    PciClass.CPU: "0x068001",
    PciClass.NIC: "0x020000",
}
_AMD_GPU = "0x120000"
_AMD_ARCH = 38911  # RCCL's feature flags of a GPU, the same in all files known
_LANE_SPEEDS = {15: "2.5", 30: "5.0", 60: "8.0", 120: "16.0", 240: "32.0", 480: "64.0"}
_ANY_SWITCH = "fffffff:ff:ff.0"  # what NCCL writes for an NVSwitch whose address it cannot see


def topology_text(machine: NcclMachine) -> str:
    """The file; reading it gives the machine again, but for lines and the addresses of NVSwitches, which are one."""
    return "\n".join(_Writer(machine).lines()) + "\n"


class _Writer:
    def __init__(self, machine: NcclMachine) -> None:
        self.machine = machine
        self.amd = machine.dialect == Dialect.RCCL

    def lines(self) -> Iterator[str]:
        yield f'<system version="{int(self.machine.dialect)}">'
        for cpu in self.machine.cpus:
            yield from self.cpu(cpu)
        yield "</system>"

    def cpu(self, cpu: Cpu) -> Iterator[str]:
        kind = f' arch="{cpu.arch}"'
        if cpu.arch == "x86_64":
            kind += f' vendor="{cpu.vendor}" familyid="{cpu.family}" modelid="{cpu.model}"'
        yield f'  <cpu numaid="{cpu.numa}" affinity=""{kind}>'
        for child in cpu.children:
            yield from self.pci(child, 4) if isinstance(child, Pci) else self.nic(child, 4)
        yield "  </cpu>"

    def pci(self, pci: Pci, indent: int) -> Iterator[str]:
        space = " " * indent
        kind = _AMD_GPU if self.amd and pci.kind == PciClass.GPU else _CLASSES[pci.kind]
        parts = [f"{pci.device >> shift & 0xFFFF:#06x}" for shift in (48, 32, 16, 0)]
        yield (
            f'{space}<pci busid="{bus_id_text(pci.bus_id)}" class="{kind}" vendor="{parts[0]}" device="{parts[1]}"'
            f' subsystem_vendor="{parts[2]}" subsystem_device="{parts[3]}"'
            f' link_speed="{_LANE_SPEEDS[pci.lane_speed]} GT/s PCIe" link_width="{pci.width}">'
        )
        for gpu in pci.gpus:
            yield from self.gpu(gpu, indent + 2)
        if pci.nic is not None:
            yield from self.nic(pci.nic, indent + 2)
        for child in pci.pcis:
            yield from self.pci(child, indent + 2)
        for target in pci.pcilinks:
            yield f'{space}  <pcilink target="{bus_id_text(target)}"/>'
        yield f"{space}</pci>"

    def gpu(self, gpu: Gpu, indent: int) -> Iterator[str]:
        space = " " * indent
        rank = f' rank="{gpu.rank}"' * (gpu.rank >= 0)
        amd = f' gcn="{gpu.gcn}" arch="{_AMD_ARCH}"' * self.amd
        yield f'{space}<gpu dev="{gpu.dev}" sm="{gpu.sm}"{amd}{rank} gdr="{gpu.gdr:d}">'
        word = "xgmi" if self.amd else "nvlink"
        targets = {
            LinkTarget.GPU: _AMD_GPU if self.amd else _CLASSES[PciClass.GPU],
            LinkTarget.SWITCH: _CLASSES[PciClass.NVSWITCH],
            LinkTarget.CPU: _CLASSES[PciClass.CPU],
        }
        for link in gpu.nvlinks:
            target = bus_id_text(link.target) if link.to == LinkTarget.GPU else _ANY_SWITCH
            yield f'{space}  <{word} target="{target}" count="{link.count}" tclass="{targets[link.to]}"/>'
        for c2c in gpu.c2cs:
            yield f'{space}  <c2c bw="{c2c.bandwidth}" count="{c2c.count}"/>'
        yield f"{space}</gpu>"

    def nic(self, nic: Nic, indent: int) -> Iterator[str]:
        space = " " * indent
        yield f"{space}<nic>"
        yield from (f"{space}  {self.net(net)}" for net in nic.nets)
        yield f"{space}</nic>"

    def net(self, net: Net) -> str:
        guid = f' guid="{net.guid:#x}"' * (net.guid >= 0)
        places = "".join(
            f' {key}="{number}"' for key, number in (("rail", net.rail), ("plane", net.plane)) if number >= 0
        )
        return (
            f'<net name="{net.name}" dev="{net.dev}" speed="{net.speed}" port="{net.port}"'
            f' latency="{float(Fraction(net.latency_ps, 10**6)):f}"{guid} maxconn="131072" gdr="{net.gdr:d}"'
            + ' coll="1"' * net.collnet
            + f"{places}/>"
        )
