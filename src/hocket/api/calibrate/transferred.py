"""What a user's rows tell of NCCL with the help of public tables of other nodes, and which rows would tell more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import HocketError, RequestError
from hocket.base.units import format_bytes, format_time
from hocket.calibration.curve import MeasuredCurve, curves_of
from hocket.calibration.measurement import Measurement
from hocket.calibration.transfer import (
    CurveFeatures,
    Fit,
    Observed,
    PredictedTimes,
    features_of,
    observed,
    place_of,
    read_prior,
)
from hocket.calibration.transfer.plan import RunToMake, plan_runs
from hocket.calibration.transfer.prediction import NINETY
from hocket.nccl import NcclModel, Settings
from hocket.nccl.fitted import NCCL_NAMES
from hocket.nccl.libraries import library_of
from hocket.report.calibration_facts import AdaptedCurve, AdaptedFacts
from hocket.topology.machines.hosts import Hosts, hosts_of

__all__ = ["PredictedCurve", "Transferred", "transferred"]

_SIZES = np.array([8 << 10, 256 << 10, 4 << 20, 64 << 20, 1 << 30, 8 << 30], np.int64)
_MEASURABLE = np.array([8, 8 << 10, 256 << 10, 2 << 20, 16 << 20, 128 << 20, 1 << 30], np.int64)
_WRITTEN = np.array([1 << power for power in range(3, 35)], np.int64)
_RUNS = 4
_PS = 10**6  # of a us


@dataclass(frozen=True)
class PredictedCurve:
    """Times of a collective on so many nodes; `measured`: some of its rows are the user's."""

    kind: str
    ranks: int
    nodes: int
    measured: bool
    sizes: NDArray[np.int64]
    times: PredictedTimes

    @property
    def noise(self) -> float:
        """The spread of its times in the median (logarithms)."""
        return float(np.median(self.times.spread))

    def facts(self) -> AdaptedCurve:
        """What JSON and page have of it."""
        low, high = self.times.within
        columns = (each.tolist() for each in (self.sizes, self.times.time_us, low, high))
        return AdaptedCurve(str(self.kind), self.ranks, self.nodes, self.measured, *columns)

    def measurements(self) -> Iterator[Measurement]:
        """As if it had been measured."""
        for size, time_us in zip(self.sizes.tolist(), self.times.time_us.tolist(), strict=True):
            yield Measurement(self.kind, self.ranks, self.nodes, size, round(time_us * _PS), False, "predicted")


@dataclass(frozen=True, eq=False)
class Transferred:
    """What is predicted; rows that fit to nothing (place, factor); runs that would help, and the spread before them;
    of the nodes of the topology and fewer `whole` curves, from 8 B to 16 GiB, for a calibration."""

    situation: str
    curves: tuple[PredictedCurve, ...]
    disturbed: tuple[tuple[str, float], ...]
    spread: float = 0.0
    runs: tuple[RunToMake, ...] = ()
    whole: tuple[PredictedCurve, ...] = ()

    @property
    def notes(self) -> list[str]:
        """On the rows that fit to nothing."""
        return [
            f"{place}: {factor:.2f} times what the other rows say: named, not fitted"
            for place, factor in self.disturbed
        ]

    def facts(self) -> AdaptedFacts:
        """What JSON and page have of it."""
        return AdaptedFacts(self.situation, [curve.facts() for curve in self.curves])

    def lines(self) -> Iterator[str]:
        yield ""
        yield f"by these rows and public tables of other nodes, {self.situation} (docs/transfer.md); 90 % intervals"
        for curve in self.curves:
            head = f"{curve.kind:<16} {curve.ranks:>5} {curve.nodes:>5}"
            yield head if curve.measured else f"{head}  not measured"
            low, high = curve.times.within
            for at, size in enumerate(curve.sizes.tolist()):
                time, least, most = (_time(us[at]) for us in (curve.times.time_us, low, high))
                yield f"  {format_bytes(size):>10} {time:>10}  {least} to {most}"
        yield from (f"  note: {note}" for note in self.notes)
        if self.runs:
            yield f"runs that would help most (now 90 % within x/ {_within(self.spread)}, in the mean)"
        for run in self.runs:
            where = f"{run.place.kind} on {run.place.nodes} node{'s' * (run.place.nodes > 1)}"
            yield f"  {where:<24} {format_bytes(run.size_bytes):>8}: then x/ {_within(run.spread_after)}"


def transferred(
    topology: str | None,
    measurements: Sequence[Measurement],
    settings: Settings,
    nodes: Sequence[int],
    *,
    plan: bool,
) -> Transferred | None:
    """Of the nodes that `topology` names, also on other numbers of `nodes`; None where it names none that NCCL runs on.

    Raises RequestError where what is asked for needs them.
    """
    hosts = _hosts(topology)
    if hosts is None:
        if plan or nodes:
            raise RequestError(
                "--plan and --predict-nodes need --topology, nodes that NCCL runs on, such as -t dgx-h100:nodes=2"
            )
        return None
    cluster = _Cluster(hosts, settings)
    curves = [each for each in curves_of(measurements) if each.kind in NCCL_NAMES and cluster.has(each)]
    if not curves and not plan:
        return None
    known = [cluster.observed(curve) for curve in curves]
    prior = read_prior()
    fit = prior.adapted(known) if known else Fit(prior.effects, ())
    kinds = dict.fromkeys(curve.kind for curve in curves) or {"all_reduce": None}
    counts = sorted({hosts.nodes, *nodes, *(cluster.nodes(curve) for curve in curves)})
    places = [(kind, count) for kind in kinds for count in counts]

    def predicted(kind: str, count: int, sizes: NDArray[np.int64]) -> PredictedCurve:
        features = cluster.features(kind, count, sizes)
        times = prior.predict(features, fit if known else None)
        measured = fit.curve_at(features.place) is not None
        return PredictedCurve(kind, cluster.model(count).ranks, count, measured, sizes, times)

    found = tuple(predicted(*place, _SIZES) for place in places)
    written = [place for place in places if known and place[1] <= hosts.nodes and hosts.domain == 1]
    whole = tuple(predicted(*place, _WRITTEN) for place in written)
    first = cluster.features(*places[0], _SIZES).place
    situation = "adapted to the nodes" if known else prior.situation(first)
    spread, runs = 0.0, tuple[RunToMake, ...]()
    if plan:
        spread, best = plan_runs(fit, [cluster.features(kind, count, _MEASURABLE) for kind, count in places], _RUNS)
        runs = tuple(best)
    return Transferred(situation, found, tuple(_disturbed(fit, curves)), spread, runs, whole)


class _Cluster:
    """NCCL on different numbers of like nodes."""

    def __init__(self, hosts: Hosts, settings: Settings) -> None:
        self.hosts = hosts
        self.settings = settings
        self.gpus = len(hosts.machine.job_gpus())
        self._models: dict[int, NcclModel] = {}

    def nodes(self, curve: MeasuredCurve) -> int:
        """As NCCL counts them: where a rack is one machine of the topology, its hosts."""
        return curve.ranks // self.gpus

    def has(self, curve: MeasuredCurve) -> bool:
        """Whether the curve's ranks are whole nodes."""
        nodes = self.nodes(curve)
        return nodes > 0 and curve.ranks == nodes * self.gpus and nodes % min(self.hosts.domain, nodes) == 0

    def model(self, nodes: int) -> NcclModel:
        if nodes not in self._models:
            domain = min(self.hosts.domain, nodes)
            self._models[nodes] = NcclModel(self.hosts.machine, nodes, self.settings, domain=domain)
        return self._models[nodes]

    def observed(self, curve: MeasuredCurve) -> Observed:
        model = self.model(self.nodes(curve))
        return observed(place_of(self.hosts.name, model, curve.kind), model, curve)

    def features(self, kind: str, nodes: int, sizes: NDArray[np.int64]) -> CurveFeatures:
        model = self.model(nodes)
        return features_of(place_of(self.hosts.name, model, kind), model, sizes)


def _hosts(topology: str | None) -> Hosts | None:
    if topology is None:
        return None
    try:
        hosts = hosts_of(topology)
    except HocketError:  # a pure graph, or nodes of several kinds
        return None
    return hosts if library_of(hosts).modelled else None


def _disturbed(fit: Fit, curves: Sequence[MeasuredCurve]) -> Iterator[tuple[str, float]]:
    """The rows that the fit leaves out, with how many times longer they took."""
    for fitted, curve in zip(fit.curves, curves, strict=True):
        sizes = fitted.observed.features.size_bytes
        for at in np.flatnonzero(fitted.disturbed).tolist():
            place = curve.place[int(np.searchsorted(curve.size_bytes, sizes[at]))]
            yield f"{place} ({format_bytes(int(sizes[at]))})", float(np.exp(fitted.left[at]))


def _time(us: float) -> str:
    return format_time(float(f"{us * 1e6:.4g}"))


def _within(spread: float) -> str:
    return f"{np.exp(NINETY * spread):.2f}"
