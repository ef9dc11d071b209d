"""Accelerators as rooflines: how long a kernel takes, from its operations and the bytes that it moves.

time = max(operations / (peak * efficiency), bytes / (bandwidth * efficiency)): Williams, Waterman, Patterson,
"Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import StrEnum
from hocket.base.errors import FormatError
from hocket.base.registry import Entry, Registry
from hocket.base.strict_yaml import nearest
from hocket.base.units import parse_bandwidth, parse_bytes
from hocket.workload.accelerator_figures import FIGURES, Figures
from hocket.workload.accelerator_file import is_accelerator_file, read_spec
from hocket.workload.kernels import MEMORY_IN_STEPS, ROOFLINE, SHAPED, KernelShapes

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
_SHAPES = tuple(field.name for field in fields(KernelShapes))
# Of matrix multiplications that nobody measured: about the median of those below that somebody did.
DEFAULT_EFFICIENCY = Fraction(4, 5)


class Precision(StrEnum):
    """Number format of the matrix multiplications, and of FP8 how its scales come about.

    FP8: one scale a tensor, from the steps before; FP8_CURRENT: from the tensor itself; FP8_BLOCK: one for 128 x 128 or
    1 x 128 elements; MXFP8: for 32, NVFP4: for 16 elements, in hardware.
    """

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    FP8_CURRENT = "fp8-current"
    FP8_BLOCK = "fp8-block"
    MXFP8 = "mxfp8"
    NVFP4 = "nvfp4"


@dataclass(frozen=True)
class Accelerator(Entry):
    """One accelerator: dense peak in FLOP/s for each precision it has, memory bandwidth in bytes/s, memory in bytes.

    `matmul_efficiency` and `memory_efficiency` are the parts of the peaks that kernels reach, in (0, 1]; of formats
    narrower than 16 bits `narrow_efficiency`, where that was measured. `kernels` is what their shapes make of it.
    `source` says where the figures come from, `devices` how drivers call such GPUs, `spec` what `parse_accelerator`
    reads as it.
    """

    peak: Mapping[Precision, int]
    memory_bandwidth: int
    memory_bytes: int
    matmul_efficiency: Fraction = DEFAULT_EFFICIENCY
    memory_efficiency: Fraction = Fraction(1)
    narrow_efficiency: Fraction | None = None
    kernels: KernelShapes = ROOFLINE
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
            spec = f"{found.spec},efficiency={float(matmul):.9g}"
            found = replace(found, matmul_efficiency=matmul, narrow_efficiency=None, spec=spec)
        if memory is not None:
            found = replace(found, memory_efficiency=memory, spec=f"{found.spec},memory_efficiency={float(memory):.9g}")
        return found

    def time_ps(self, num_ops: int, num_bytes: int, precision: Precision = Precision.BF16) -> int:
        """Time of a kernel of `num_ops` floating-point operations that moves `num_bytes`, rounded up.

        Raises FormatError when the accelerator has no such precision.
        """
        return max(_ceil_div(num_ops, self._matmul_rate(precision)), self._memory_ps(num_bytes))

    def matmul_ps(
        self, m: int, n: int, k: int, num_bytes: int, precision: Precision = Precision.BF16, groups: int = 1
    ) -> int:
        """Time of `groups` multiplications [m, k] x [k, n] in one kernel that moves `num_bytes`, by their shape."""
        speed = Fraction(self._peak(precision), self._peak(self.wide))
        rate = self._matmul_rate(precision) * self.kernels.matmul(m, n, k, groups, speed)
        return self._launched(max(_ceil_div(2 * m * n * k * groups, rate), self._memory_ps(num_bytes)))

    def attention_ps(self, num_ops: int, num_bytes: int, keys: int, head: int, backward: bool = False) -> int:
        """Time of FlashAttention's kernel at 16 bits: each query meets `keys` keys, heads have `head` elements."""
        reached = self.kernels.attended(keys, head, backward)
        rate = self._peak(self.wide) * reached if reached else self._matmul_rate(self.wide)
        return self._launched(max(_ceil_div(num_ops, rate), self._memory_ps(num_bytes)))

    def elementwise_ps(self, num_bytes: int) -> int:
        """Time of a kernel that does nothing but move bytes."""
        return self._launched(self._memory_ps(num_bytes))

    @property
    def wide(self) -> Precision:
        """Its format of 16 bits: BF16, or FP16 where it lacks that."""
        return Precision.BF16 if Precision.BF16 in self.peak else Precision.FP16

    def _launched(self, time_ps: int) -> int:
        return time_ps + 1000 * self.kernels.launch_ns if time_ps else 0

    def _memory_ps(self, num_bytes: int) -> int:
        return _ceil_div(num_bytes, self.memory_bandwidth * self.memory_efficiency)

    def _matmul_rate(self, precision: Precision) -> Fraction:
        narrow = precision not in (Precision.BF16, Precision.FP16) and self.narrow_efficiency
        return self._peak(precision) * (narrow or self.matmul_efficiency)

    def _peak(self, precision: Precision) -> int:
        if precision not in self.peak:
            raise FormatError(f"{self.name} has no {precision}; it has {', '.join(self.peak)}")
        return self.peak[precision]

    def times_ps(
        self, num_ops: NDArray[np.int64], num_bytes: NDArray[np.int64], precision: Precision = Precision.BF16
    ) -> NDArray[np.int64]:
        """`time_ps` of many kernels: columns of n in, n picoseconds out; traces repeat few different kernels often."""
        kernels, row = np.unique(np.stack([num_ops, num_bytes], axis=1), axis=0, return_inverse=True)
        times = [self.time_ps(ops, size, precision) for ops, size in kernels.tolist()]
        return np.array(times, np.int64)[row.reshape(-1)]


def _ceil_div(amount: int, rate: Fraction) -> int:
    return -(-amount * rate.denominator * _PICOSECONDS // rate.numerator)


def _of(figures: Figures) -> Accelerator:
    rates = {
        Precision.BF16: figures.bf16,
        Precision.FP16: figures.fp16,
        **dict.fromkeys((Precision.FP8, Precision.FP8_CURRENT, Precision.FP8_BLOCK), figures.fp8),
        # What multiplies 4 bits has scales for 32 elements in hardware, too.
        Precision.MXFP8: figures.fp8 if figures.fp4 else "",
        Precision.NVFP4: figures.fp4,
    }
    return Accelerator(
        {precision: parse_peak(rate) for precision, rate in rates.items() if rate},
        parse_bandwidth(figures.bandwidth),
        parse_bytes(figures.memory),
        Fraction(figures.efficiency) if figures.efficiency else DEFAULT_EFFICIENCY,
        memory_efficiency=MEMORY_IN_STEPS,
        narrow_efficiency=Fraction(figures.fp8_efficiency) if figures.fp8_efficiency else None,
        kernels=SHAPED,
        devices=figures.devices,
        spec=figures.name,
        name=figures.name,
        summary=figures.summary,
        source=figures.source or f"data sheet of {figures.summary}",
        example=f"{figures.name},efficiency=0.7",
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


ACCELERATORS = Registry("accelerator", (_of(figures) for figures in FIGURES))


def accelerator_of_device(device: str) -> Accelerator | None:
    """The accelerator that a driver calls `NVIDIA H100 80GB HBM3`, by the longest of its names; None: none of these."""
    words = set(re.split(r"[\s_]+", device)) | set(re.split(r"[\s_-]+", device))
    found = [(len(name), one) for one in ACCELERATORS.values() for name in one.devices if name in words]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def parse_accelerator(text: str) -> Accelerator:
    """An accelerator by name, `h100`, or by its figures, `peak=989TFLOP/s,memory=3.35TB/s,capacity=80GB`.

    The peak then holds for every precision, and the efficiency is DEFAULT_EFFICIENCY, as of all that nobody measured. A
    name takes figures that replace its own: `h100,memory=3TB/s,efficiency=0.7,memory_efficiency=0.9`, and those of
    `KernelShapes`. An accelerator by its figures is a plain roofline, and so is `h100,kernels=roofline`. Raises
    FormatError for anything else. A file (.yaml) is what `hocket calibrate --kernels` wrote.
    """
    if is_accelerator_file(text):
        text = read_spec(text)
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
        return replace(accelerator, matmul_efficiency=parse_efficiency(value), narrow_efficiency=None)
    if key == "memory_efficiency":
        return replace(accelerator, memory_efficiency=parse_efficiency(value))
    if key == "narrow_efficiency":
        return replace(accelerator, narrow_efficiency=parse_efficiency(value))
    if key == "kernels" and value in ("roofline", "shaped"):
        return replace(accelerator, kernels=ROOFLINE if value == "roofline" else SHAPED)
    if key in _SHAPES:
        return replace(accelerator, kernels=accelerator.kernels.with_figure(key, value, text))
    raise FormatError(
        f"accelerator '{text}': '{part}' is none of peak=, memory=, capacity=, efficiency=, memory_efficiency=, "
        f"narrow_efficiency=, kernels=roofline, kernels=shaped, {'=, '.join(_SHAPES)}="
    )
