"""Latency and bandwidth of a level under each protocol, from the fits of curves that use it.

A curve of one machine gives `intra-node` at once: a = steps x latency, B = bandwidth / share. A curve of several gives
`inter-node`: its latency less that of the steps inside; its bandwidth where the inside is not the limit, else only that
it is no less. Curves of several numbers of nodes are averaged by their certainty.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.calibration.fitting import CurveFit
from hocket.calibration.pieces import PROTOCOLS, Pieces
from hocket.calibration.structure import INTER, INTRA, Use, use_of

__all__ = ["Estimate", "LevelFit", "fit_levels", "pieces_of"]

_LIMITING = 0.95  # of the time of all bytes: what takes less is not what limits


@dataclass(frozen=True, slots=True)
class Estimate:
    """A positive value and the factor of its 95 % interval (inf: not told)."""

    value: float
    spread: float

    @classmethod
    def mean(cls, several: Sequence["Estimate"]) -> "Estimate":
        """The mean of logarithms, weighted by their certainty."""
        error = np.array([max(np.log(min(each.spread, 1e3)) / 2, 1e-3) for each in several])
        weight = 1 / error**2
        value = np.exp((weight * np.log([each.value for each in several])).sum() / weight.sum())
        told = any(np.isfinite(each.spread) for each in several)
        return cls(float(value), float(np.exp(2 / np.sqrt(weight.sum()))) if told else np.inf)


@dataclass(frozen=True, slots=True)
class LevelFit:
    """A level under one protocol of one kind of collective: a step's latency (us; None: too short to tell) and each
    rank's bandwidth (bytes/s), which is only a lower limit where `at_least`."""

    kind: str
    level: str
    protocol: str
    latency_us: Estimate | None
    bandwidth: Estimate
    at_least: bool


def fit_levels(fits: Iterable[CurveFit]) -> tuple[LevelFit, ...]:
    """The levels of each kind of collective, by kind, level and protocol."""
    by_kind: dict[str, list[CurveFit]] = {}
    for fit in fits:
        by_kind.setdefault(fit.curve.kind, []).append(fit)
    found: list[LevelFit] = []
    for kind in sorted(by_kind):
        inside: dict[str, LevelFit] = {}
        for level, chosen in (
            (INTRA, [fit for fit in by_kind[kind] if fit.curve.nodes == 1]),
            (INTER, [fit for fit in by_kind[kind] if fit.curve.nodes > 1]),
        ):
            levels = _level(kind, level, chosen, inside)
            found += levels
            inside = {each.protocol: each for each in levels}
    return tuple(found)


def pieces_of(levels: Iterable[LevelFit], kind: str, ranks: int, nodes: int, pipelining: float) -> Pieces | None:
    """What the levels of a kind make of a call; None where a level that it uses was not measured."""
    known = {(each.level, each.protocol): each for each in levels if each.kind == kind}
    uses = use_of(kind, ranks, nodes)
    protocols = max((tuple(p for at, p in known if at == level) for level in uses), key=len, default=())
    if not protocols or any(not any(at == level for at, _ in known) for level in uses):
        return None
    latency, inverse = [], []
    for protocol in protocols:
        of_each = {
            level: _nearest({p: fit for (at, p), fit in known.items() if at == level}, protocol) for level in uses
        }
        latency.append(sum(use.steps * _latency(of_each[level]) for level, use in uses.items()))
        inverse.append(max(use.share / of_each[level].bandwidth.value for level, use in uses.items()) * 1e6)
    order = np.argsort(latency, kind="stable")
    return Pieces(np.array(latency)[order], np.array(inverse)[order], pipelining)


def _latency(fit: LevelFit) -> float:
    return 0.0 if fit.latency_us is None else fit.latency_us.value


def _nearest(fits: dict[str, LevelFit], protocol: str) -> LevelFit:
    """That of the protocol, or of the next slower one that was seen."""
    order = PROTOCOLS[3]
    later = [name for name in order[order.index(protocol) :] if name in fits]
    return fits[later[0]]


def _level(kind: str, level: str, fits: Sequence[CurveFit], inside: dict[str, LevelFit]) -> list[LevelFit]:
    found = []
    for protocol in PROTOCOLS[3]:
        latencies: list[Estimate] = []
        free: list[Estimate] = []
        limited: list[Estimate] = []
        for fit in fits:
            if protocol not in fit.pieces.names:
                continue
            uses = use_of(kind, fit.curve.ranks, fit.curve.nodes)
            at = fit.pieces.names.index(protocol)
            near = _nearest(inside, protocol) if inside and level == INTER and INTRA in uses else None
            latencies += _latencies(fit, at, uses, level, near)
            bandwidth = float(fit.pieces.bandwidth[at]) * uses[level].share
            estimate = Estimate(bandwidth, float(fit.bandwidth_spread[at]))
            taken = fit.pieces.bandwidth[at] * uses[INTRA].share / near.bandwidth.value if near else 0.0
            (limited if taken > _LIMITING else free).append(estimate)
        if free or limited:
            latency = Estimate.mean(latencies) if latencies else None
            found.append(LevelFit(kind, level, protocol, latency, Estimate.mean(free or limited), not free))
    return found


def _latencies(fit: CurveFit, at: int, uses: dict[str, Use], level: str, near: LevelFit | None) -> list[Estimate]:
    """The step's latency that a curve tells: none where the steps inside the machine take all of it."""
    total, spread = float(fit.pieces.latency_us[at]), float(fit.latency_spread[at])
    rest = total - (uses[INTRA].steps * _latency(near) if near else 0.0)
    if rest < 0.02 * total:
        return []
    error = np.log(spread) * total / rest
    return [Estimate(rest / uses[level].steps, float(np.exp(min(error, 7.0))))]
