"""What a machine is, as data: GPUs, links, NICs, CPUs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hocket.base.registry import Entry
from hocket.topology.machines.hardware import GPUS, GpuKind

__all__ = ["MachineRecord", "NicLatency"]


@dataclass(frozen=True, slots=True)
class NicLatency:
    """Of a network device, microseconds: what its plugin tells NCCL (`ncclNetProperties.latency`), which chooses by it,
    and which Simple's steps take; and what LL's and LL128's steps take more than over InfiniBand."""

    told_us: int
    takes_us: int

    @property
    def note(self) -> str:
        """A sentence for users of NCCL's model."""
        return (
            f"the network plugin tells NCCL {self.told_us} us of latency, by which it chooses; a step by LL or LL128"
            f" takes {self.takes_us} us"
        )


@dataclass(frozen=True)
class MachineRecord(Entry):
    """One machine: GPUs `gpu` of `hardware.GPUS`, linked through NVSwitches or directly, and their NICs.

    `nvswitches`: how many NVLinks of a GPU go to each NVSwitch; or `pairs` of GPUs, each with the number of its links.
    `nics` network devices of `nic` Gbit/s as NCCL counts them, shared evenly by the GPUs: several cards that NCCL's
    network plugin stripes over are one. `numa` CPUs `cpu` of `hardware.CPUS`, evenly `switches` PCI switches (0: the
    devices are at the CPU's own ports); `lane_speed` (100 Mbit/s) where it is not the GPU's own. `hosts` machines that
    share their NVSwitches are one; all other numbers but `gpus` and `nics` are of one host. `cards`: what the network
    devices are, in words, `fabric` what joins them where their names (`ports`) do not say it; `memory` tells GPUs from
    others of their kind, where these are accelerators apart. `latency`: of the network devices, where NCCL is told one.
    `assumed`: which of these numbers no source says.
    """

    gpu: str
    cpu: str
    nics: int
    nic: int
    numa: int = 2
    switches: int = 8
    gpus: int = 8
    nvswitches: tuple[int, ...] = ()
    pairs: Mapping[tuple[int, int], int] = field(default_factory=dict)
    lane_speed: int = 0
    hosts: int = 1
    ports: str = "mlx5_"
    cards: str = ""
    fabric: str = ""
    memory: str = ""
    latency: NicLatency | None = None
    assumed: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user of these numbers should know, in sentences."""
        return (f"{self.name}: assumed: {self.assumed}",) if self.assumed else ()

    @property
    def accelerator(self) -> str:
        """What computes, by its name among accelerators."""
        return f"{self.gpu}-{self.memory}" if self.memory else self.gpu

    @property
    def kind(self) -> GpuKind:
        return GPUS[self.gpu]

    @property
    def lanes(self) -> int:
        """Speed of a PCI lane in 100 Mbit/s."""
        return self.lane_speed or self.kind.lane_speed

    @property
    def rails(self) -> int:
        """Network devices of one host."""
        return self.nics // self.hosts

    def nic_of(self, gpu: int) -> int:
        """The nearest network device of a GPU."""
        return gpu * self.nics // self.gpus
