"""Bandwidths that NCCL's topology files do not say, as NCCL 2.30 (src/graph/topo.h, topo.cc) and RCCL assume them."""

from hocket.topology.formats.nccl.machine import Cpu, Dialect, Gpu

__all__ = ["cpu_bandwidth", "cpu_bandwidth_since_2_31", "link_bandwidth", "unknown_gpu"]

# MB/s of one NVLink, by the compute capability from which it holds; 8.6 is the exception.
_NVLINK = {100: 40_100, 90: 20_600, 70: 20_000, 60: 18_000, 0: 20_000}
_NVLINK_86 = 12_000
# The compute capabilities for whose GPUs NCCL's constants are: it has columns for 7.0, 8.0, 9.0 and 10.0.
_KNOWN_SM = {60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 103}
# AMD's of before, for which RCCL's lowest rate is meant.
_VEGA = ("900", "906", "908")
# MB/s of one xGMI link, by what the architecture's name holds.
_XGMI = {"90a": 36_000, "910": 36_000, "94": 48_000, "95": 48_000, "": 24_000}
# MB/s from a CPU to any other: by architecture, or by the vendor of an x86_64, or by Intel's model in family 6.
_CPU = {"arm64": 6_000, "ppc64": 32_000, "AuthenticAMD": 16_000, "CentaurHauls": 6_000, "  Shanghai  ": 6_000}
_INTEL = {0xCF: 40_000, 0x8F: 22_000, 0x55: 10_000, 0: 6_000}
_YONGFENG = 9_000  # Zhaoxin's family 7, model 0x5B
# Since 2.31: AMD's Zen 3 and 4, and Zen 5, by CPUID's family or the number that older files have in its place; and
# Intel's newest, whose models have lower numbers.
_AMD = {25: 24_000, 0xAF: 24_000, 26: 32_000, 0xBF: 32_000}
_NEWEST_INTEL = (0xAD, 0xAE, 0xAF)


def link_bandwidth(dialect: Dialect, gpu: Gpu) -> int:
    """MB/s of one NVLink or xGMI link of a GPU."""
    if dialect == Dialect.RCCL:
        return next(bandwidth for part, bandwidth in _XGMI.items() if part in gpu.gcn)
    return _NVLINK_86 if gpu.sm == 86 else next(bandwidth for sm, bandwidth in _NVLINK.items() if gpu.sm >= sm)


def unknown_gpu(sm: int, gcn: str = "") -> str:
    """A sentence where NCCL (RCCL, for GPUs of an architecture `gcn`) has no numbers for a GPU of its own and counts
    with another's; else nothing."""
    if gcn:
        known = any(part in gcn for part in (*filter(None, _XGMI), *_VEGA))
        return (
            "" if known else f"GPUs {gcn}: RCCL has no xGMI rate for them and counts {_XGMI[''] // 1000} GB/s per link"
        )
    if sm in _KNOWN_SM:
        return ""
    known_sm = next((known for known in (100, 90, 80) if sm >= known), 70)
    return (
        f"GPUs of sm {sm}: NCCL 2.30 has no constants of their own and counts with those of sm {known_sm}; nothing"
        " measured tells whether they hold"
    )


def cpu_bandwidth(cpu: Cpu) -> int:
    """MB/s from a CPU to each other one of its machine."""
    if cpu.vendor == "GenuineIntel":
        return next(speed for model, speed in _INTEL.items() if (cpu.family == 6 and cpu.model >= model) or not model)
    if cpu.vendor in ("CentaurHauls", "  Shanghai  ") and (cpu.family, cpu.model) == (7, 0x5B):
        return _YONGFENG
    return _CPU[cpu.vendor or cpu.arch]


def cpu_bandwidth_since_2_31(cpu: Cpu) -> int:
    """The same by NCCL 2.31."""
    if cpu.vendor == "AuthenticAMD" and cpu.arch == "x86_64":
        return _AMD.get(cpu.family, _CPU[cpu.vendor])
    if cpu.vendor == "GenuineIntel" and cpu.family == 6 and cpu.model in _NEWEST_INTEL:
        return _INTEL[0xCF]
    return cpu_bandwidth(cpu)
