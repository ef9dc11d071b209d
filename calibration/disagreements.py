"""Measurements that do not fit the topology, or each other, and what may be behind it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.base.collectives import MESSAGE
from hocket.base.units import format_bandwidth, format_bytes
from hocket.calibration.calibration import Calibration
from hocket.calibration.fitting import CurveFit
from hocket.calibration.machine import TopologyLevel, group_of, levels_of
from hocket.calibration.measurement import Measurement
from hocket.calibration.structure import INTER, INTRA, most_share, use_of
from hocket.schedule import Collective, Kind, lower_bound
from hocket.topology import Topology

__all__ = ["Disagreement", "disagreements"]

_LARGE = 1 << 26  # from here on bandwidth decides
_POOR = 0.6  # of the topology's bandwidth; healthy machines reach 0.7 to 0.95 of data sheets
_FALLING = 0.9  # of the best bandwidth, at a larger size
_ROUNDING = 0.99  # of the bound: printed digits, and clocks
_MOST_ROWS = 5


@dataclass(frozen=True, slots=True)
class Disagreement:
    """`what` was measured (with its place), and `because` what would explain it."""

    what: str
    because: str

    def __str__(self) -> str:
        return f"{self.what}: {self.because}"


def disagreements(
    calibration: Calibration, topology: Topology, measurements: Iterable[Measurement] = ()
) -> tuple[Disagreement, ...]:
    """All that is found, what concerns whole machines first; `measurements` are looked at for messages of many at a
    time (perftest, osu_bw), which are not fitted."""
    levels = levels_of(topology)
    streams = [each for each in measurements if each.stream and each.kind == MESSAGE and each.nodes > 1]
    found = [*_above_bound(calibration.fits, topology), *_poor(calibration, levels)]
    found += [*_streams(streams, levels), *_falling(calibration.fits), *_apart(calibration)]
    return (*found, *_outliers(calibration.fits))


def _above_bound(fits: Sequence[CurveFit], topology: Topology) -> Iterator[Disagreement]:
    """Faster than any schedule on these links can be (`hocket.schedule.lower_bound`)."""
    for fit in fits:
        curve = fit.curve
        if curve.kind == MESSAGE:
            continue
        group = group_of(curve, topology)
        at = int(curve.size_bytes.argmax())
        size = int(curve.size_bytes[at])
        bound = lower_bound(Collective(Kind(curve.kind), curve.ranks, size), topology, group=group)
        if curve.time_us[at] < bound.time_ps / 1e6 * _ROUNDING:
            rate = size / curve.time_us[at] * 1e6
            yield Disagreement(
                f"{curve.place[at]}: {curve.name}: {format_bytes(size)} at {format_bandwidth(rate)} is"
                f" {bound.time_ps / 1e6 / curve.time_us[at]:.2f} times what the topology's links can carry",
                "its bandwidths are too low, the number of ranks or nodes is another, or switches reduce (NVLS, SHARP:"
                " nvls=1, sharp=1, in_network)",
            )


def _poor(calibration: Calibration, levels: dict[str, TopologyLevel]) -> Iterator[Disagreement]:
    """A level that gives far less bandwidth than it should, to the kind that gets the most of it."""
    for level, has in levels.items():
        rates = [
            (float(fit.pieces.bandwidth[-1]) * _share(fit, level), fit.curve)
            for fit in calibration.fits
            if level == (INTRA if fit.curve.nodes == 1 else INTER)
        ]
        rate, curve = max(rates, key=lambda each: each[0], default=(np.inf, None))
        part = rate / has.bandwidth
        if curve is None or part >= _POOR:
            continue
        local = curve.ranks // curve.nodes
        because = (
            f"as if {max(1, round(part * local))} of {local} NICs carried it: look for links that are down or degraded,"
            " NICs that no ring uses (NCCL_IB_HCA, NCCL_CROSS_NIC), or a fabric with less than the topology says"
            if level == INTER
            else "look for links that are down, traffic over PCIe instead (nvidia-smi topo -m, NCCL_P2P_DISABLE), or a"
            " machine with less than the topology says"
        )
        yield Disagreement(
            f"{level}: {curve.name} uses at most {format_bandwidth(rate)} per rank of the"
            f" {format_bandwidth(has.bandwidth)} that the topology says ({part:.0%})",
            because,
        )


def _share(fit: CurveFit, level: str) -> float:
    curve = fit.curve
    if level == INTER:
        return most_share(curve.kind, curve.ranks, curve.nodes)
    return use_of(curve.kind, curve.ranks, curve.nodes)[INTRA].share


def _streams(streams: Sequence[Measurement], levels: dict[str, TopologyLevel]) -> Iterator[Disagreement]:
    """A NIC measured alone, beside its link."""
    if not streams or INTER not in levels:
        return
    best = max(streams, key=lambda each: each.algbw)
    part = best.algbw / levels[INTER].bandwidth
    if not _POOR <= part <= 1 / _ROUNDING:
        yield Disagreement(
            f"{best.place}: one NIC alone moves {format_bandwidth(best.algbw)}, the topology says"
            f" {format_bandwidth(levels[INTER].bandwidth)} ({part:.0%})",
            "the topology's NICs are others, or this one runs at a lower rate (ibstat, PCIe width and generation)",
        )


def _falling(fits: Sequence[CurveFit]) -> Iterator[Disagreement]:
    """Bandwidth that falls as sizes grow."""
    for fit in fits:
        curve = fit.curve
        rate = curve.size_bytes / curve.time_us
        best = int(rate.argmax())
        later = np.flatnonzero(curve.size_bytes > curve.size_bytes[best])
        if not len(later) or curve.size_bytes[best] < _LARGE // 4:
            continue
        worst = int(later[rate[later].argmin()])
        if rate[worst] < _FALLING * rate[best]:
            yield Disagreement(
                f"{curve.place[worst]}: {curve.name}: {format_bytes(int(curve.size_bytes[worst]))} at"
                f" {format_bandwidth(rate[worst] * 1e6)}, after {format_bandwidth(rate[best] * 1e6)} at"
                f" {format_bytes(int(curve.size_bytes[best]))}",
                "another algorithm or protocol was chosen than is best, or the fabric congests: compare NCCL_ALGO, and"
                " the switches' pause and drop counters",
            )


def _apart(calibration: Calibration) -> Iterator[Disagreement]:
    """Runs on several numbers of nodes whose bandwidths between machines differ more than they are uncertain."""
    seen: dict[str, list[tuple[float, float, CurveFit]]] = {}
    for fit in calibration.fits:
        if fit.curve.nodes > 1 and fit.curve.kind != MESSAGE:
            share = use_of(fit.curve.kind, fit.curve.ranks, fit.curve.nodes)[INTER].share
            rate = float(fit.pieces.bandwidth[-1]) * share
            seen.setdefault(fit.curve.kind, []).append((rate, float(fit.bandwidth_spread[-1]), fit))
    for rates in seen.values():
        least, most = min(rates, key=lambda each: each[0]), max(rates, key=lambda each: each[0])
        if most[0] / most[1] > 1.25 * least[0] * least[1]:
            yield Disagreement(
                f"{least[2].curve.name} gets {format_bandwidth(least[0])} per rank between nodes,"
                f" {most[2].curve.name} {format_bandwidth(most[0])}",
                "a node or rail of the slower run is degraded (run pairs of its nodes), the fabric is oversubscribed,"
                " or NCCL chose another algorithm",
            )


def _outliers(fits: Sequence[CurveFit]) -> Iterator[Disagreement]:
    """Rows that the rest of their curve does not explain, the farthest first."""
    rows = [(abs(np.log1p(fit.error[row])), fit, row) for fit in fits for row in fit.outliers]
    rows.sort(key=lambda each: -each[0])
    for _, fit, row in rows[:_MOST_ROWS]:
        curve = fit.curve
        predicted = float(fit.pieces.time_us(curve.size_bytes[row]))
        yield Disagreement(
            f"{curve.place[row]}: {curve.name}: {format_bytes(int(curve.size_bytes[row]))} took"
            f" {curve.time_us[row]:.4g} us, the rest of the curve says {predicted:.4g} us",
            "a disturbed run (it weighs little in the fit); measure it again with more iterations (-n 100 -w 20)"
            if curve.time_us[row] > predicted
            else "another algorithm than at the sizes around it",
        )
    if len(rows) > _MOST_ROWS:
        yield Disagreement(f"{len(rows) - _MOST_ROWS} more rows", "off the rest of their curves, by less")
