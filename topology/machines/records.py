"""Machines by name: what is in each, as data. docs/topology.md says where every number comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hocket.topology.machines.hardware import GPUS, GpuKind

__all__ = ["MACHINES", "MachineRecord"]


@dataclass(frozen=True)
class MachineRecord:
    """One machine: GPUs `gpu` of `hardware.GPUS`, linked through NVSwitches or directly, and their NICs.

    `nvswitches`: how many NVLinks of a GPU go to each NVSwitch; or `pairs` of GPUs, each with the number of its links.
    `nics` network devices of `nic` Gbit/s as NCCL counts them, shared evenly by the GPUs: several cards that NCCL's
    network plugin stripes over are one. `numa` CPUs `cpu` of `hardware.CPUS`, evenly `switches` PCI switches (0: the
    devices are at the CPU's own ports); `lane_speed` (100 Mbit/s) where it is not the GPU's own. `hosts` machines that
    share their NVSwitches are one; all other numbers but `gpus` and `nics` are of one host.
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

MACHINES = {
    "dgx-1": MachineRecord("v100", "broadwell", 4, 100, switches=4, pairs=_CUBE_MESH),
    "dgx-a100": MachineRecord("a100", "amd", 8, 200, numa=4, switches=4, nvswitches=_A100),
    "dgx-h100": MachineRecord("h100", "sapphire_rapids", 8, 400, nvswitches=_H100),
    "dgx-h200": MachineRecord("h200", "sapphire_rapids", 8, 400, nvswitches=_H100),
    "dgx-b200": MachineRecord("b200", "emerald_rapids", 8, 400, nvswitches=_B200),
    "gb200-nvl72": MachineRecord("gb200", "grace", 72, 400, switches=0, gpus=72, nvswitches=(18,), hosts=18),
    "mi250": MachineRecord("mi250", "amd", 8, 200, numa=4, switches=8, gpus=16, pairs=_PACKAGES),
    "mi300x": MachineRecord("mi300x", "amd", 8, 400, pairs=_EVERY_PAIR),
    "p4d": MachineRecord("a100", "skylake", 4, 100, switches=4, nvswitches=_A100, lane_speed=60, ports="rdmap"),
    "p4de": MachineRecord("a100", "skylake", 4, 100, switches=4, nvswitches=_A100, lane_speed=60, ports="rdmap"),
    "p5": MachineRecord("h100", "amd", 8, 400, nvswitches=_H100, ports="rdmap"),
    "p5en": MachineRecord("h200", "sapphire_rapids", 8, 400, nvswitches=_H100, ports="rdmap"),
    "p6-b200": MachineRecord("b200", "emerald_rapids", 8, 400, nvswitches=_B200, ports="rdmap"),
    "ndv2": MachineRecord("v100", "skylake", 1, 100, switches=0, pairs=_CUBE_MESH, ports="mlx5_ib"),
    "ndv4": MachineRecord("a100", "amd", 8, 200, numa=4, switches=4, nvswitches=_A100, ports="mlx5_ib"),
    "ndv5": MachineRecord("h100", "sapphire_rapids", 8, 400, nvswitches=_H100, ports="mlx5_ib"),
    "ndv5-mi300x": MachineRecord("mi300x", "sapphire_rapids", 8, 400, pairs=_EVERY_PAIR, ports="mlx5_ib"),
}
