"""Kinds of GPUs and CPUs, by what their data sheets say of their links. docs/topology.md names the sources."""

from dataclasses import dataclass

__all__ = ["CPUS", "GPUS", "CpuKind", "GpuKind", "pcie_bandwidth"]

_GB = 10**9
_NVIDIA, _AMD = 0x10DE, 0x1002


@dataclass(frozen=True, slots=True)
class GpuKind:
    """`links` NVLinks (xGMI) go out of it, each of `link` bytes/s a direction. `sm` is the compute capability times
    ten, of AMD's the number of compute units, as RCCL writes it; `gcn` AMD's architecture. `lane_speed`: of its 16 PCI
    lanes, in 100 Mbit/s; `c2c`: links to the CPU in its package, of so many MB/s per direction; `sms`: NVIDIA's
    multiprocessors."""

    sm: int
    links: int
    link: int
    lane_speed: int
    vendor: int = _NVIDIA
    device: int = 0
    gcn: str = ""
    c2c: tuple[int, int] = (0, 0)
    sms: int = 0

    @property
    def multiprocessors(self) -> int:
        """Which run thread blocks, of AMD's the compute units: as the data sheets say."""
        return self.sm if self.gcn else self.sms

    @property
    def link_class(self) -> str:
        """What topologies call its links."""
        return "xgmi" if self.gcn else "nvlink"

    @property
    def nvls(self) -> bool:
        """Whether NVSwitches can reduce and multicast for it."""
        return not self.gcn and self.sm >= 90


@dataclass(frozen=True, slots=True)
class CpuKind:
    """As NCCL's topology files name it; family and model count for Intel's alone."""

    arch: str
    vendor: str = ""
    family: int = 0
    model: int = 0


GPUS = {
    "v100": GpuKind(70, 6, 25 * _GB, 60, device=0x1DB5, sms=80),
    "a100": GpuKind(80, 12, 25 * _GB, 120, device=0x20B0, sms=108),
    "a30": GpuKind(80, 4, 25 * _GB, 120, device=0x20B7, sms=56),
    "a10": GpuKind(86, 0, 0, 120, device=0x2236, sms=72),
    "a6000": GpuKind(86, 4, 14_062_500_000, 120, device=0x2230, sms=84),
    "l40s": GpuKind(89, 0, 0, 120, device=0x26B9, sms=142),
    "rtx4090": GpuKind(89, 0, 0, 120, device=0x2684, sms=128),
    "h100": GpuKind(90, 18, 25 * _GB, 240, device=0x2330, sms=132),
    "h800": GpuKind(90, 8, 25 * _GB, 240, device=0x2324, sms=132),
    "h200": GpuKind(90, 18, 25 * _GB, 240, device=0x2335, sms=132),
    "gh200": GpuKind(90, 18, 25 * _GB, 240, device=0x2342, c2c=(10, 44_712), sms=132),
    "b200": GpuKind(100, 18, 50 * _GB, 240, device=0x2901, sms=148),
    "gb200": GpuKind(100, 18, 50 * _GB, 240, device=0x2941, c2c=(5, 44_712), sms=152),
    "b300": GpuKind(103, 18, 50 * _GB, 480, device=0x3182, sms=148),
    "gb300": GpuKind(103, 18, 50 * _GB, 480, device=0x31C2, c2c=(5, 44_712), sms=152),
    "rubin": GpuKind(107, 36, 50 * _GB, 480, c2c=(10, 44_712), sms=224),
    "mi250": GpuKind(104, 8, 50 * _GB, 120, _AMD, 0x740C, gcn="gfx90a"),
    "mi300x": GpuKind(304, 7, 64 * _GB, 240, _AMD, 0x74A1, gcn="gfx942"),
    "mi325x": GpuKind(304, 7, 64 * _GB, 240, _AMD, 0x74A5, gcn="gfx942"),
    "mi350x": GpuKind(256, 7, 76_800_000_000, 240, _AMD, 0x75A0, gcn="gfx950"),
    "mi355x": GpuKind(256, 7, 76_800_000_000, 240, _AMD, 0x75A3, gcn="gfx950"),
}

CPUS = {
    "amd": CpuKind("x86_64", "AuthenticAMD", 23, 49),
    "broadwell": CpuKind("x86_64", "GenuineIntel", 6, 0x4F),
    "skylake": CpuKind("x86_64", "GenuineIntel", 6, 0x55),
    "ice_lake": CpuKind("x86_64", "GenuineIntel", 6, 0x6A),
    "sapphire_rapids": CpuKind("x86_64", "GenuineIntel", 6, 0x8F),
    "emerald_rapids": CpuKind("x86_64", "GenuineIntel", 6, 0xCF),
    "granite_rapids": CpuKind("x86_64", "GenuineIntel", 6, 0xAD),
    "grace": CpuKind("arm64"),
    "vera": CpuKind("arm64"),
    "power9": CpuKind("ppc64"),
}


def pcie_bandwidth(lane_speed: int) -> int:
    """Bytes/s of payload of 16 lanes, of which 128 of 130 bits and 256 of 280 bytes are payload: 14.4, 28.8, 57.6 GB/s
    of the third, fourth and fifth generation."""
    return 240 * 10**6 * lane_speed
