"""What a calibration came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from hocket.api.calibrate.request import CalibrationRequest
from hocket.api.calibrate.transferred import Transferred
from hocket.api.result import Result
from hocket.base.text import printable_lines
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.calibration import FREE, Calibration, CostsFit, Disagreement, HeldOut, MeasuredCurve, NcclCalibration
from hocket.calibration.validation import Errors
from hocket.nccl.fitted import TERMS
from hocket.report.calibration_facts import CalibrationFacts, calibration_facts
from hocket.topology import Topology
from hocket.workload.kernel_fit import KernelFit

__all__ = ["CalibrationResult"]


@dataclass(eq=False, repr=False)
class CalibrationResult(Result):
    """The fits of measured curves (`calibration`), of what NCCL ran (`nccl`), errors of what was held out, what
    disagrees with the topology (`machine`) as it was given; what is `transferred` from other nodes' tables; the
    `calibrated` topology, and which files were written; or, of profiles, what their `kernels` reach, and of runs of
    programs what a runtime's kernels take (`costs`)."""

    request: CalibrationRequest
    calibration: Calibration
    nccl: NcclCalibration | None
    held_out: tuple[HeldOut, ...]
    disagreements: tuple[Disagreement, ...]
    num_measurements: int
    notes: list[str]
    machine: Topology | None = None
    transferred: Transferred | None = None
    calibrated: Any = None
    kernels: KernelFit | None = None
    costs: CostsFit | None = None
    written: list[str] = field(default_factory=list)

    def headline(self) -> str:
        if self.kernels is not None:
            return f"{self.kernels.kernels} multiplications of {self.kernels.shapes} shapes"
        if self.costs is not None:
            return f"{self.costs.costs.runtime}: {self.costs.costs.measured}"
        count = len(self.calibration.fits)
        return f"{self.num_measurements} measurements of {count} curve{'s' * (count != 1)}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        if self.kernels is not None:
            return {"kernels": _columns_of(self.kernels)}
        rows = [
            (str(fit.curve.kind), fit.curve.ranks, fit.curve.nodes, name, fit.pieces.latency_us[at], bandwidth)
            for fit in self.calibration.fits
            for at, name in enumerate(fit.pieces.names)
            for bandwidth in [float(fit.pieces.bandwidth[at])]
        ]
        names = ("collective", "ranks", "nodes", "protocol", "latency_us", "bandwidth")
        return {"fits": {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}}

    @cached_property
    def facts(self) -> CalibrationFacts:
        """What its JSON and its page have."""
        adapted = None if self.transferred is None else self.transferred.facts()
        notes = [note.removeprefix("note: ") for note in self.notes]
        notes += [*map(_too_short, self.calibration.left_out)]
        notes += [] if self.transferred is None else self.transferred.notes
        notes += [] if self.calibrated is None else self.calibrated.notes
        return calibration_facts(self.calibration, self.machine, self.held_out, self.disagreements, adapted, notes)

    def as_json(self) -> dict[str, Any]:
        form = super().as_json()
        if self.kernels is not None or self.costs is not None:
            return form
        return form | {"format": "hocket.fit", **msgspec.to_builtins(self.facts)}

    def _lines(self) -> Iterator[str]:
        yield from self.notes
        yield self.headline()
        if self.kernels is not None:
            yield from _of_kernels(self.kernels)
        if self.costs is not None:
            yield from _of_costs(self.costs)
        yield from self._fits()
        yield from self._levels()
        yield from self._of_nccl()
        if self.transferred is not None:
            yield from self.transferred.lines()
        if self.held_out:
            yield ""
            yield f"held out by {self.request.holdout}: errors of what was predicted without being fitted"
        for held in self.held_out:
            yield f"  {held.curve.name}: {held.errors}"
        if self.disagreements:
            yield from ("", "disagreements")
        for found in self.disagreements:
            yield f"  {found.what}"
            yield f"    {found.because}"
        if self.calibrated is not None:
            yield from (f"note: {note}" for note in self.calibrated.notes)
        yield from (f"wrote {path}" for path in self.written)

    def _fits(self) -> Iterator[str]:
        if self.calibration.fits:
            yield ""
            head = f"{'collective':<16} {'ranks':>5} {'nodes':>5}  {'protocol':<8}"
            yield f"{head} {'latency':>22} {'bandwidth':>26}  fit"
        for fit in self.calibration.fits:
            curve, pieces = fit.curve, fit.pieces
            off = str(Errors.of(curve.size_bytes, fit.error))
            for at, name in enumerate(pieces.names):
                head = f"{curve.kind:<16} {curve.ranks:>5} {curve.nodes:>5}" if at == 0 else f"{'':28}"
                latency = f"{pieces.latency_us[at]:.4g} us {_within(float(fit.latency_spread[at]))}"
                spread = _within(float(fit.bandwidth_spread[at]))
                bandwidth = f"{format_bandwidth(float(pieces.bandwidth[at]))} {spread}"
                yield f"{head}  {name:<8} {latency:>22} {bandwidth:>26}  {off if at == 0 else ''}".rstrip()
        for curve in self.calibration.left_out:
            yield f"note: {_too_short(curve)}"

    def _levels(self) -> Iterator[str]:
        if not self.calibration.levels:
            return
        yield ""
        yield f"{'level':<16} {'collective':<16} {'protocol':<8} {'per step':>22} {'per rank and direction':>26}"
        for each in self.calibration.levels:
            step = "not told"
            if each.latency_us is not None:
                step = f"{each.latency_us.value:.4g} us {_within(each.latency_us.spread)}"
            bandwidth = f"{format_bandwidth(each.bandwidth.value)} {_within(each.bandwidth.spread)}"
            bandwidth = f"at least {format_bandwidth(each.bandwidth.value)}" if each.at_least else bandwidth
            yield f"{each.level:<16} {each.kind:<16} {each.protocol:<8} {step:>22} {bandwidth:>26}"

    def _of_nccl(self) -> Iterator[str]:
        if self.nccl is None:
            return
        losses = ", ".join(
            f"{'without NCCL' if name == FREE else f'NCCL {name}'} {loss:.1f}"
            for name, loss in self.nccl.losses.items()
        )
        best = "the fits above" if self.nccl.best == FREE else f"the structure of NCCL {self.nccl.best}"
        yield ""
        yield f"sizes left out are best predicted by {best} (losses: {losses})"
        yield "  The smaller loss is the better. A time is the sum of its terms: a factor of the time that NCCL"
        yield "  expects, a latency, bytes over the bandwidth of a channel or of all, a ramp with the root of a"
        yield "  channel's bytes, chunks."
        for fit in self.nccl.fits:
            for (algorithm, protocol), segment in fit.segments.items():
                head = f"{fit.kind:<16} {fit.ranks:>5} {fit.nodes:>5}  {algorithm}/{protocol}"
                sizes = f"{format_bytes(segment.smallest)} .. {format_bytes(segment.largest)}"
                terms = zip(TERMS, segment.weights.tolist(), strict=True)
                said = ", ".join(f"{name} {_TERMS[name](value)}" for name, value in terms if value)
                yield f"{head:<46} {sizes:<20} {said}"


#: The weights of NCCL's terms, which are microseconds of each, as people read them.
_TERMS: Mapping[str, Callable[[float], str]] = {
    "expected": lambda factor: f"{factor:.4g} x",
    "latency": lambda time_us: format_time(time_us * 1e6),
    "channel": lambda us_per_byte: format_bandwidth(1e6 / us_per_byte),
    "ramp": lambda us_per_root: f"{us_per_root * 1e3:.4g} ns/sqrt(B)",
    "chunk": lambda time_us: format_time(time_us * 1e6),
    "byte": lambda us_per_byte: format_bandwidth(1e6 / us_per_byte),
}


def _too_short(curve: MeasuredCurve) -> str:
    return f"{curve.name}: {len(curve.sizes)} sizes are too few to fit; at least 4 are needed"


def _within(spread: float) -> str:
    """The 95 % interval as a factor, where it is told."""
    return f"x/ {spread:.2f}" if spread < 1e3 else "(not told)"


_FIGURES = {
    "efficiency": "of the peak, by the largest multiplications",
    "inner": "elements of k (at BF16) that reach half of that",
    "half_tiles": "tiles of 128 x 128 elements that reach half of that",
    "launch_ns": "ns before a kernel computes",
}


def _columns_of(fit: KernelFit) -> dict[str, Any]:
    within = [fit.errors[name] for name in fit.values]
    return {"figure": np.array([*fit.values]), "value": np.array([*fit.values.values()]), "within": np.array(within)}


def _of_kernels(fit: KernelFit) -> Iterator[str]:
    for name, what in _FIGURES.items():
        assumed = "; the profile does not tell it: what is expected" if name in fit.unseen else ""
        yield f"  {name:<11} {fit.values[name]:>9.4g} {_within(fit.errors[name]):<10} {what}{assumed}"
    yield f"  times of the shapes are met within {fit.median:.1%}, nine of ten within {fit.tenth:.1%}"
    yield f"  --accelerator {fit.accelerator.spec}"


def _of_costs(fit: CostsFit) -> Iterator[str]:
    off = np.abs(fit.error)
    for name, pace in fit.costs.paces.items():
        own = off[[run.program.protocol == name for run in fit.runs]]
        yield (
            f"  {name:<7} launch {format_time(pace.start_ps)}, step {format_time(pace.inside_ps)}, thread block"
            f" {format_bandwidth(pace.bandwidth)}; runs are met within {np.median(own):.0%}, nine of ten within"
            f" {np.quantile(own, 0.9):.0%}"
        )
    widest = int(fit.topology.bandwidth.max())
    yield f"  links   up to {format_bandwidth(widest)}: what the thread blocks of a rank share"
