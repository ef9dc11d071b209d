"""Accelerators as rooflines: how long a kernel takes, from its operations and the bytes that it moves.

time = max(operations / (peak * efficiency), bytes / (bandwidth * efficiency)): Williams, Waterman, Patterson,
"Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import StrEnum
from hocket.base.errors import FormatError
from hocket.base.registry import Entry, Registry
from hocket.base.strict_yaml import nearest
from hocket.base.units import parse_bandwidth, parse_bytes

__all__ = [
    "ACCELERATORS",
    "DEFAULT_EFFICIENCY",
    "Accelerator",
    "Precision",
    "accelerator_of_device",
    "parse_accelerator",
    "parse_efficiency",
    "parse_peak",
]

_PICOSECONDS = 10**12
# Of matrix multiplications that nobody measured: about the median of those below that somebody did.
DEFAULT_EFFICIENCY = Fraction(4, 5)


class Precision(StrEnum):
    """Number format of the matrix multiplications."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"


@dataclass(frozen=True)
class Accelerator(Entry):
    """One accelerator: dense peak in FLOP/s for each precision it has, memory bandwidth in bytes/s, memory in bytes.

    `matmul_efficiency` and `memory_efficiency` are the parts of the peaks that kernels reach, in (0, 1]. `source` says
    where the figures come from, `devices` how drivers call such GPUs, `spec` what `parse_accelerator` reads as it.
    """

    peak: Mapping[Precision, int]
    memory_bandwidth: int
    memory_bytes: int
    matmul_efficiency: Fraction = DEFAULT_EFFICIENCY
    memory_efficiency: Fraction = Fraction(1)
    devices: tuple[str, ...] = ()
    spec: str = ""

    @property
    def measured(self) -> bool:
        """Whether somebody measured what multiplications reach."""
        return self.matmul_efficiency != DEFAULT_EFFICIENCY

    def with_efficiency(self, matmul: Fraction | None = None, memory: Fraction | None = None) -> "Accelerator":
        """The same accelerator with other efficiencies; None keeps one."""
        found = self
        if matmul is not None:
            found = replace(found, matmul_efficiency=matmul, spec=f"{found.spec},efficiency={float(matmul):.9g}")
        if memory is not None:
            found = replace(found, memory_efficiency=memory, spec=f"{found.spec},memory_efficiency={float(memory):.9g}")
        return found

    def time_ps(self, num_ops: int, num_bytes: int, precision: Precision = Precision.BF16) -> int:
        """Time of a kernel of `num_ops` floating-point operations that moves `num_bytes`, rounded up.

        Raises FormatError when the accelerator has no such precision.
        """
        if precision not in self.peak:
            raise FormatError(f"{self.name} has no {precision}; it has {', '.join(self.peak)}")
        rate = self.peak[precision] * self.matmul_efficiency
        bandwidth = self.memory_bandwidth * self.memory_efficiency
        return max(_ceil_div(num_ops, rate), _ceil_div(num_bytes, bandwidth))

    def times_ps(
        self, num_ops: NDArray[np.int64], num_bytes: NDArray[np.int64], precision: Precision = Precision.BF16
    ) -> NDArray[np.int64]:
        """`time_ps` of many kernels: columns of n in, n picoseconds out; traces repeat few different kernels often."""
        kernels, row = np.unique(np.stack([num_ops, num_bytes], axis=1), axis=0, return_inverse=True)
        times = [self.time_ps(ops, size, precision) for ops, size in kernels.tolist()]
        return np.array(times, np.int64)[row.reshape(-1)]


def _ceil_div(amount: int, rate: Fraction) -> int:
    return -(-amount * rate.denominator * _PICOSECONDS // rate.numerator)


def _gpu(
    name: str,
    summary: str,
    bf16: str,
    fp8: str | None,
    bandwidth: str,
    memory: str,
    efficiency: str | None,
    devices: tuple[str, ...] = (),
    source: str = "",
) -> Accelerator:
    peak = {Precision.BF16: parse_peak(bf16), Precision.FP16: parse_peak(bf16)}
    if fp8:
        peak[Precision.FP8] = parse_peak(fp8)
    return Accelerator(
        peak,
        parse_bandwidth(bandwidth),
        parse_bytes(memory),
        DEFAULT_EFFICIENCY if efficiency is None else Fraction(efficiency),
        devices=devices,
        spec=name,
        name=name,
        summary=summary,
        source=source or f"data sheet of {summary}",
        example=f"{name},efficiency=0.7",
    )


def parse_peak(text: str) -> int:
    """A rate of computation such as `989TFLOP/s` or `1.5PFLOP/s`, in FLOP/s. Raises FormatError for another form."""
    match = re.fullmatch(r"\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([GTP])FLOP/s\s*", text)
    peak = Fraction(match[1]) * {"G": 10**9, "T": 10**12, "P": 10**15}[match[2]] if match else Fraction(0)
    if not 1 <= peak <= 2**63 - 1:
        raise FormatError(f"'{text}' is not a positive rate of computation such as 989TFLOP/s")
    return int(peak)


def parse_efficiency(text: str) -> Fraction:
    """A part of a peak such as `0.6` or `60%`. Raises FormatError unless it is above 0 and at most 1."""
    match = re.fullmatch(r"\s*([0-9]{1,3}(?:\.[0-9]{1,20})?|\.[0-9]{1,20})\s*(%?)\s*", text)
    value = Fraction(match[1]) / (100 if match[2] else 1) if match else Fraction(0)
    if not 0 < value <= 1:
        raise FormatError(f"'{text}' is not an efficiency above 0 and at most 1, such as 0.6 or 60%")
    return value


# Dense rates (NVIDIA's sheets give those with sparsity, twice as much) and memory are the vendors' data sheets'. The
# efficiency is the best that large BF16 matrix multiplications were measured to reach, in the table "Maximum Achievable
# Matmul FLOPS" of S. Bekman, Machine Learning Engineering (github.com/stas00/ml-engineering, compute/accelerator);
# H200 has H100's chip, both A100 the same, GB200 B200's. Of None nobody measured it. Nothing there measures memory, so
# memory is at its peak.
_BEKMAN = "S. Bekman, Machine Learning Engineering, compute/accelerator"
_VOLTA = replace(
    _gpu("v100", "NVIDIA V100 SXM2 32GB", "125TFLOP/s", None, "900GB/s", "32GB", None, ("V100",)),
    peak={Precision.FP16: parse_peak("125TFLOP/s")},
)
ACCELERATORS = Registry(
    "accelerator",
    (
        _VOLTA,
        _gpu("a100", "NVIDIA A100 SXM 80GB", "312TFLOP/s", None, "2039GB/s", "80GB", "0.869", ("A100",)),
        _gpu(
            "a100-40gb",
            "NVIDIA A100 SXM 40GB",
            "312TFLOP/s",
            None,
            "1555GB/s",
            "40GB",
            "0.869",
            ("A100-SXM4-40GB", "A100-PCIE-40GB"),
        ),
        _gpu("h100", "NVIDIA H100 SXM", "989.4TFLOP/s", "1978.9TFLOP/s", "3.35TB/s", "80GB", "0.803", ("H100",)),
        _gpu("h200", "NVIDIA H200 SXM", "989.4TFLOP/s", "1978.9TFLOP/s", "4.8TB/s", "141GB", "0.803", ("H200",)),
        _gpu("b200", "NVIDIA HGX B200", "2250TFLOP/s", "4500TFLOP/s", "7.7TB/s", "180GB", "0.776", ("B200",)),
        _gpu(
            "gb200",
            "NVIDIA GB200, one GPU",
            "2500TFLOP/s",
            "5000TFLOP/s",
            "8TB/s",
            "186GB",
            "0.776",
            ("GB200",),
            f"{_BEKMAN}; MLPerf's system descriptions: 186 GB",
        ),
        _gpu(
            "b300",
            "NVIDIA HGX B300",
            "2250TFLOP/s",
            "4500TFLOP/s",
            "8TB/s",
            "288GB",
            None,
            ("B300",),
            _BEKMAN,
        ),
        _gpu(
            "mi250",
            "AMD Instinct MI250, one of its two GCDs",
            "181TFLOP/s",
            None,
            "1.6TB/s",
            "64GB",
            None,
            ("MI250",),
            "data sheet of AMD Instinct MI250, halved: 362.1 TFLOP/s, 3.2 TB/s, 128 GB",
        ),
        _gpu(
            "mi300x", "AMD Instinct MI300X", "1307.4TFLOP/s", "2614.9TFLOP/s", "5.3TB/s", "192GB", "0.511", ("MI300X",)
        ),
    ),
)


def accelerator_of_device(device: str) -> Accelerator | None:
    """The accelerator that a driver calls `NVIDIA H100 80GB HBM3`, by the longest of its names; None: none of these."""
    words = set(re.split(r"[\s_]+", device)) | set(re.split(r"[\s_-]+", device))
    found = [(len(name), one) for one in ACCELERATORS.values() for name in one.devices if name in words]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def parse_accelerator(text: str) -> Accelerator:
    """An accelerator by name, `h100`, or by its figures, `peak=989TFLOP/s,memory=3.35TB/s,capacity=80GB`.

    The peak then holds for every precision, and the efficiency is DEFAULT_EFFICIENCY, as of all that nobody measured. A
    name takes figures that replace its own: `h100,memory=3TB/s,efficiency=0.7,memory_efficiency=0.9`. Raises
    FormatError for anything else.
    """
    name, *rest = [part.strip() for part in text.split(",")]
    if "=" in name:
        accelerator = Accelerator({}, 0, 0, name="custom", source=text)
        rest.insert(0, name)
    elif name in ACCELERATORS:
        accelerator = ACCELERATORS[name]
    else:
        raise FormatError(
            f"accelerator '{text}': no such name, {nearest(name, ACCELERATORS)}; "
            "or give its figures: peak=989TFLOP/s,memory=3.35TB/s,capacity=80GB"
        )
    for part in rest:
        accelerator = _with_figure(accelerator, part, text)
    if not accelerator.peak or not accelerator.memory_bandwidth:
        raise FormatError(f"accelerator '{text}': it needs both peak=...FLOP/s and memory=...B/s")
    return replace(accelerator, spec=",".join(part.strip() for part in text.split(",")))


def _with_figure(accelerator: Accelerator, part: str, text: str) -> Accelerator:
    key, _, value = part.partition("=")
    if key == "peak":
        return replace(accelerator, peak=dict.fromkeys(Precision, parse_peak(value)))
    if key == "memory":
        return replace(accelerator, memory_bandwidth=parse_bandwidth(value))
    if key == "capacity":
        return replace(accelerator, memory_bytes=parse_bytes(value))
    if key == "efficiency":
        return replace(accelerator, matmul_efficiency=parse_efficiency(value))
    if key == "memory_efficiency":
        return replace(accelerator, memory_efficiency=parse_efficiency(value))
    raise FormatError(
        f"accelerator '{text}': '{part}' is none of peak=, memory=, capacity=, efficiency=, memory_efficiency="
    )
