"""Machines by name: what is in each, as data. docs/topology.md says where every number comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hocket.base.registry import Entry, Registry
from hocket.topology.machines.hardware import GPUS, GpuKind

__all__ = ["MACHINES", "MachineRecord"]


@dataclass(frozen=True)
class MachineRecord(Entry):
    """One machine: GPUs `gpu` of `hardware.GPUS`, linked through NVSwitches or directly, and their NICs.

    `nvswitches`: how many NVLinks of a GPU go to each NVSwitch; or `pairs` of GPUs, each with the number of its links.
    `nics` network devices of `nic` Gbit/s as NCCL counts them, shared evenly by the GPUs: several cards that NCCL's
    network plugin stripes over are one. `numa` CPUs `cpu` of `hardware.CPUS`, evenly `switches` PCI switches (0: the
    devices are at the CPU's own ports); `lane_speed` (100 Mbit/s) where it is not the GPU's own. `hosts` machines that
    share their NVSwitches are one; all other numbers but `gpus` and `nics` are of one host. `cards`: what the network
    devices are, in words; `memory` tells GPUs from others of their kind, where these are accelerators apart.
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
    memory: str = ""

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


# Eight V100 in a hybrid cube mesh: pairs joined by one or two NVLinks, as `nvidia-smi topo -m` prints them.
_ONCE = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
_TWICE = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
_CUBE_MESH = dict.fromkeys(_ONCE, 1) | dict.fromkeys(_TWICE, 2)

# Eight MI250 of two GPUs (GCDs) each: four links between the halves of a package, one or two to others.
_HALVES = {(gpu, gpu + 1): 4 for gpu in range(0, 16, 2)}
_SINGLE = [(0, 2), (1, 2), (1, 3), (1, 5), (2, 6), (4, 12), (5, 13), (5, 14), (6, 13), (6, 14), (7, 15), (8, 10)]
_SINGLE += [(9, 10), (9, 11), (9, 13), (10, 14)]
_PACKAGES = _HALVES | dict.fromkeys(_SINGLE, 1) | dict.fromkeys([(0, 4), (3, 7), (8, 12), (11, 15)], 2)

_EVERY_PAIR = {(a, b): 1 for a in range(8) for b in range(a + 1, 8)}
_A100, _H100, _B200 = (2,) * 6, (4, 5, 5, 4), (9, 9)

MACHINES = Registry(
    "machine",
    (
        MachineRecord(
            "v100",
            "broadwell",
            4,
            100,
            switches=4,
            pairs=_CUBE_MESH,
            name="dgx-1",
            summary="8 V100, 6 NVLinks of 25 GB/s, hybrid cube mesh",
            source="DGX-1 data sheet; pairs and counts as `nvidia-smi topo -m` prints them",
            example="dgx-1:nodes=2",
        ),
        MachineRecord(
            "a100",
            "amd",
            8,
            200,
            numa=4,
            switches=4,
            nvswitches=_A100,
            name="dgx-a100",
            summary="8 A100, 12 x 25 GB/s",
            source="DGX A100 data sheet and user guide",
            example="dgx-a100:nodes=2",
        ),
        MachineRecord(
            "h100",
            "sapphire_rapids",
            8,
            400,
            nvswitches=_H100,
            name="dgx-h100",
            summary="8 H100, 18 x 25 GB/s",
            source="DGX H100 data sheet and user guide",
            example="dgx-h100:nodes=2",
        ),
        MachineRecord(
            "h200",
            "sapphire_rapids",
            8,
            400,
            nvswitches=_H100,
            name="dgx-h200",
            summary="8 H200, 18 x 25 GB/s (900 GB/s both ways)",
            source="DGX H200 data sheet",
            example="dgx-h200:nodes=2",
        ),
        MachineRecord(
            "b200",
            "emerald_rapids",
            8,
            400,
            nvswitches=_B200,
            name="dgx-b200",
            summary="8 B200, 18 x 50 GB/s (1.8 TB/s both ways)",
            source="DGX B200 data sheet and user guide",
            example="dgx-b200:nodes=2",
        ),
        MachineRecord(
            "gb200",
            "grace",
            72,
            400,
            switches=0,
            gpus=72,
            nvswitches=(18,),
            hosts=18,
            name="gb200-nvl72",
            summary="72 Blackwell, 18 x 50 GB/s",
            source="GB200 NVL72 product page: 130 TB/s = 72 x 1.8; MLPerf's system descriptions: 4 NICs and NV18 a"
            " tray",
            example="gb200-nvl72:nodes=2",
            cards="on 4 rails",
        ),
        MachineRecord(
            "mi250",
            "amd",
            8,
            200,
            numa=4,
            switches=8,
            gpus=16,
            pairs=_PACKAGES,
            name="mi250",
            summary="16 GCDs of 8 MI250, 7 xGMI of 50 GB/s",
            source="ROCm's description of the MI250; pairs and counts as in RCCL's topology file",
            example="mi250:nodes=2",
            cards="assumed",
        ),
        MachineRecord(
            "mi300x",
            "amd",
            8,
            400,
            pairs=_EVERY_PAIR,
            name="mi300x",
            summary="8 MI300X, 7 xGMI of 64 GB/s, fully connected",
            source="CDNA 3: 16 lanes of 32 Gbit/s a link, 128 GB/s both ways",
            example="mi300x:nodes=2",
            cards="assumed",
        ),
        MachineRecord(
            "a100",
            "skylake",
            4,
            100,
            switches=4,
            nvswitches=_A100,
            lane_speed=60,
            ports="rdmap",
            memory="40gb",
            name="p4d",
            summary="8 A100, 12 x 25 GB/s, PCI of Gen3",
            source="AWS EC2 P4 page: 400 Gbit/s; the tree of aws-ofi-nccl's topology file",
            example="p4d:nodes=2",
            cards="EFA, each of 2 GPUs",
        ),
        MachineRecord(
            "a100",
            "skylake",
            4,
            100,
            switches=4,
            nvswitches=_A100,
            lane_speed=60,
            ports="rdmap",
            name="p4de",
            summary="8 A100, 12 x 25 GB/s, PCI of Gen3",
            source="AWS EC2 P4 page: 400 Gbit/s; the tree of aws-ofi-nccl's topology file",
            example="p4de:nodes=2",
            cards="EFA, each of 2 GPUs",
        ),
        MachineRecord(
            "h100",
            "amd",
            8,
            400,
            nvswitches=_H100,
            ports="rdmap",
            name="p5",
            summary="8 H100",
            source="AWS EC2 user guide: up to 32 network cards, 3,200 Gbit/s",
            example="p5:nodes=2",
            cards="32 EFA of 100, 4 a GPU as one",
        ),
        MachineRecord(
            "h200",
            "sapphire_rapids",
            8,
            400,
            nvswitches=_H100,
            ports="rdmap",
            name="p5en",
            summary="8 H200",
            source="AWS EC2 P5 page: 3,200 Gbit/s; TorchX: 16 EFA",
            example="p5en:nodes=2",
            cards="16 EFA of 200, 2 a GPU as one",
        ),
        MachineRecord(
            "b200",
            "emerald_rapids",
            8,
            400,
            nvswitches=_B200,
            ports="rdmap",
            name="p6-b200",
            summary="8 B200",
            source="AWS EC2 P6 page: 3,200 Gbit/s; public reports: 8 EFA of 400",
            example="p6-b200:nodes=2",
            cards="EFA",
        ),
        MachineRecord(
            "v100",
            "skylake",
            1,
            100,
            switches=0,
            pairs=_CUBE_MESH,
            ports="mlx5_ib",
            name="ndv2",
            summary="8 V100 as in DGX-1",
            source="Azure NDv2 page; Azure's topology file",
            example="ndv2:nodes=2",
            cards="EDR",
        ),
        MachineRecord(
            "a100",
            "amd",
            8,
            200,
            numa=4,
            switches=4,
            nvswitches=_A100,
            ports="mlx5_ib",
            memory="40gb",
            name="ndv4",
            summary="8 A100",
            source="Azure ND A100 v4 page; Azure's topology file",
            example="ndv4:nodes=2",
            cards="HDR",
        ),
        MachineRecord(
            "h100",
            "sapphire_rapids",
            8,
            400,
            nvswitches=_H100,
            ports="mlx5_ib",
            name="ndv5",
            summary="8 H100",
            source="Azure ND H100 v5 page; Azure's topology file",
            example="ndv5:nodes=2",
            cards="NDR",
        ),
        MachineRecord(
            "mi300x",
            "sapphire_rapids",
            8,
            400,
            pairs=_EVERY_PAIR,
            ports="mlx5_ib",
            name="ndv5-mi300x",
            summary="8 MI300X",
            source="Azure ND MI300X v5 page: 8 x 400 Gbit/s NDR",
            example="ndv5-mi300x:nodes=2",
            cards="NDR",
        ),
    ),
)
