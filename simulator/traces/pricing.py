"""Which accelerator the recorded durations of computations are of, and what another makes of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.base.text import printable
from hocket.chakra import Trace
from hocket.workload.accelerators import Accelerator, Precision, accelerator_of_device, parse_accelerator

__all__ = ["TimesOf", "described", "differing", "origins_of", "rescaled_ps"]

_MOST_NAMED = 3
_KEYS = ("accelerator", "gpu", "precision")


@dataclass(frozen=True)
class TimesOf:
    """What the times of a trace are of: `name`, "" where it does not say; `accelerator` where that is a known one;
    `priced` by Hocket, or recorded. `precision` of the multiplications where it says so."""

    name: str = ""
    accelerator: Accelerator | None = None
    priced: bool = False
    precision: Precision | None = None

    def precision_on(self, accelerator: Accelerator) -> Precision:
        """At which an accelerator does the work: where it is not known at BF16, or at FP16 by what lacks that."""
        default = Precision.BF16 if Precision.BF16 in accelerator.peak else Precision.FP16
        return self.precision or default

    def __str__(self) -> str:
        return f"is priced as {self.name}" if self.priced else f"was recorded on {self.name}"


def _origin_of(trace: Trace) -> TimesOf:
    """By the metadata: `accelerator` and `precision` of what Hocket priced, `gpu` of what was recorded."""
    priced, device, precision = (trace.metadata.get(key) for key in _KEYS)
    known = Precision(precision) if isinstance(precision, str) and precision in list(Precision) else None
    if isinstance(priced, str) and priced:
        try:
            return TimesOf(printable(priced), parse_accelerator(priced), priced=True, precision=known)
        except FormatError:
            return TimesOf(printable(priced), priced=True, precision=known)
    if isinstance(device, str) and device:
        return TimesOf(printable(device), accelerator_of_device(device), precision=known)
    return TimesOf(precision=known)


def origins_of(traces: Sequence[Trace]) -> tuple[list[TimesOf], NDArray[np.int64]]:
    """The distinct origins of traces, and for each trace its number among them."""
    keys = [tuple(str(trace.metadata.get(key, "")) for key in _KEYS) for trace in traces]
    first = {key: trace for key, trace in zip(reversed(keys), reversed(traces), strict=True)}
    distinct = list(dict.fromkeys(keys))
    number = {key: at for at, key in enumerate(distinct)}
    return [_origin_of(first[key]) for key in distinct], np.array([number[key] for key in keys], np.int64)


def rescaled_ps(
    recorded: NDArray[np.int64],
    num_ops: NDArray[np.int64],
    num_bytes: NDArray[np.int64],
    origin: TimesOf,
    accelerator: Accelerator,
) -> NDArray[np.object_]:
    """Recorded times on another accelerator than that of their `origin`, which is known: as much longer as its roofline
    says of their operations and bytes. So the kernels keep the part of the peaks that they reached."""
    own = origin.accelerator
    assert own is not None
    kernels, row = np.unique(np.stack([recorded, num_ops, num_bytes], axis=1), axis=0, return_inverse=True)
    times = [
        -(
            -time
            * accelerator.time_ps(ops, size, origin.precision_on(accelerator))
            // own.time_ps(ops, size, origin.precision_on(own))
        )
        for time, ops, size in kernels.tolist()
    ]
    return np.array(times, object)[row.reshape(-1)]


def differing(origins: Iterable[TimesOf], accelerator: Accelerator, by_figures: bool) -> Iterator[TimesOf]:
    """Those of another accelerator, or of other figures of the same."""
    for origin in origins:
        own = origin.accelerator
        if origin.name and (own is None or own.name != accelerator.name or (by_figures and own != accelerator)):
            yield origin


def described(origins: Iterable[TimesOf]) -> str:
    """`is priced as h100`, of the first few."""
    texts = [str(origin) for origin in origins]
    return ", ".join(texts[:_MOST_NAMED]) + ", ..." * (len(texts) > _MOST_NAMED)
