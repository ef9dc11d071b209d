"""One machine as NCCL's topology files say it: NUMA nodes, the PCI tree under each, GPUs, NICs and GPU links.

Numbers are those of the file: its units are NCCL's, converted where they are used. `line` is where an element opens.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["C2c", "Cpu", "Dialect", "Gpu", "LinkTarget", "NcclMachine", "Net", "Nic", "NvLink", "Pci", "PciClass"]


class Dialect(IntEnum):
    """Who reads the file: the version of its `<system>`."""

    NCCL = 1
    RCCL = 2


class PciClass(IntEnum):
    """What a PCI device is to NCCL."""

    SWITCH = 0
    GPU = 1
    NVSWITCH = 2
    CPU = 3
    NIC = 4


class LinkTarget(IntEnum):
    """What is at the other end of a GPU's link."""

    GPU = 0
    SWITCH = 1
    CPU = 2


@dataclass(frozen=True, slots=True)
class NvLink:
    """`count` links to the GPU at bus id `target`, to the NVSwitches (all are one), or to the GPU's CPU."""

    line: int
    target: int
    to: LinkTarget
    count: int


@dataclass(frozen=True, slots=True)
class C2c:
    """`count` links of `bandwidth` MB/s each between GPU and CPU in one package."""

    line: int
    bandwidth: int
    count: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """`rank` is -1 where the file names none; `sm` is the compute capability times ten, `gcn` AMD's architecture."""

    line: int
    dev: int
    rank: int
    sm: int
    gdr: bool
    gcn: str
    nvlinks: tuple[NvLink, ...]
    c2cs: tuple[C2c, ...]


@dataclass(frozen=True, slots=True)
class Net:
    """A port of a NIC: `speed` in Mbit/s (10,000 where the file has none, as NCCL takes it); `guid` of the card, `rail`
    and `plane` are -1 where the file has none. `latency_ps` is what NCCL is told and chooses by, `takes_ps` what a step
    by LL or LL128 takes where that is known to be another (-1: it is not)."""

    line: int
    name: str
    dev: int
    speed: int
    port: int
    latency_ps: int
    guid: int
    gdr: bool
    collnet: bool
    rail: int
    plane: int
    takes_ps: int = -1


@dataclass(frozen=True, slots=True)
class Nic:
    line: int
    nets: tuple[Net, ...]


@dataclass(frozen=True, slots=True)
class Pci:
    """A PCI device: `lane_speed` in units of 100 Mbit/s, `width` lanes up; `pcilinks`: bus ids of linked switches."""

    line: int
    bus_id: int
    kind: PciClass
    device: int
    lane_speed: int
    width: int
    gpus: tuple[Gpu, ...]
    nic: Nic | None
    pcis: tuple["Pci", ...]
    pcilinks: tuple[int, ...]

    @property
    def bandwidth(self) -> int:
        """Bytes/s of its link up, per direction, as NCCL counts it: lanes x speed / 80 GB/s."""
        return self.width * self.lane_speed * 10**9 // 80


@dataclass(frozen=True, slots=True)
class Cpu:
    """A NUMA node. `arch`, `vendor` and `model` are the file's (`modelid` 0 where it has none)."""

    line: int
    numa: int
    arch: str
    vendor: str
    family: int
    model: int
    children: tuple[Pci | Nic, ...]


@dataclass(frozen=True, slots=True)
class NcclMachine:
    """A topology file. `notes` are sentences on how something was read that a user should know."""

    source: str
    dialect: Dialect
    cpus: tuple[Cpu, ...]
    notes: tuple[str, ...] = ()

    def devices(self) -> Iterator[tuple[Cpu, tuple[Pci, ...]]]:
        """Every PCI device after those above it, with its NUMA node."""

        def below(cpu: Cpu, above: tuple[Pci, ...]) -> Iterator[tuple[Cpu, tuple[Pci, ...]]]:
            yield cpu, above
            for pci in above[-1].pcis:
                yield from below(cpu, (*above, pci))

        for cpu in self.cpus:
            for child in cpu.children:
                if isinstance(child, Pci):
                    yield from below(cpu, (child,))

    def gpus(self) -> Iterator[tuple[Pci, Gpu]]:
        """The GPUs in the file's order, with their PCI devices."""
        for _, above in self.devices():
            for gpu in above[-1].gpus:
                yield above[-1], gpu

    def job_gpus(self) -> list[tuple[Pci, Gpu]]:
        """The GPUs that take part, in the file's order: those with a rank; all where none has one."""
        found = list(self.gpus())
        return [pair for pair in found if pair[1].rank >= 0] or found

    def nets(self) -> Iterator[Net]:
        """The network devices in the file's order."""
        for cpu in self.cpus:
            for child in cpu.children:
                if isinstance(child, Nic):
                    yield from child.nets
                else:
                    yield from _nets_below(child)


def _nets_below(pci: Pci) -> Iterator[Net]:
    if pci.nic is not None:
        yield from pci.nic.nets
    for child in pci.pcis:
        yield from _nets_below(child)
