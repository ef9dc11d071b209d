"""The constants with which NCCL's own model comes as near to the calibrated times as its form allows.

NCCL's time of an algorithm and protocol is latency + bytes / bandwidth. Of each fitted segment that straight line is
taken which is nearest to it (relative least squares over the sizes measured). Its latency is a sum of constants
(`base_latency`, steps of `step_latency`), which are solved for together over all segments of an algorithm and protocol,
near NCCL's own where these do not tell them apart; its bandwidth is what a `most_...` allows, where NCCL has one.

The latencies of what was not measured, or not at sizes that tell them, are scaled as those of what was, in the mean:
left as they are they would look the better for not having been measured, and NCCL would choose them. Where it still
would choose what never was, at a size of a measured curve, they are raised until it does not. All other constants stay.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.nccl.releases import Releases
from hocket.nccl import ALGORITHMS, PROTOCOLS, Constants, NcclModel
from hocket.nccl.fitted import NCCL_NAMES, Name, NcclCurveFit, columns_at
from hocket.nccl.releases import Release

__all__ = ["constants_of"]

_NEAR = 0.02  # how much it counts that a constant is as far from NCCL's as that is large, beside a latency all wrong
_LEAST = 0.1  # of what a constant was
_POINTS = 16  # of a segment at which the line is drawn
_SLOWER = 1.01  # than what was measured is what was not
_TOLD = 0.05  # of the time at a segment's smallest size: what is less of latency is not told by it
_TINY = 1e-3  # GB/s: less than any graph's
_CAPS = {
    ("Ring", "LL"): "most_ll",
    ("Tree", "LL"): "most_ll",
    ("Ring", "LL128"): "most_ring_ll128",
    ("Tree", "LL128"): "most_tree_ll128",
    ("Tree", "Simple"): "most_tree",
    ("NVLSTree", "Simple"): "most_nvls_tree",
}

_Floats = NDArray[np.float64]
_Modelled = Callable[[Constants, int], NcclModel]


@dataclass(frozen=True, slots=True)
class _Line:
    """The straight line of a segment of `collective` on `nodes` machines: us (`told`: by its sizes), and GB/s."""

    collective: str
    nodes: int
    latency: float
    bandwidth: float
    told: bool


def constants_of(fits: Sequence[NcclCurveFit], release: Release, releases: Releases) -> Constants:
    """Those of a release but for what its fits tell."""

    def modelled(constants: Constants, nodes: int) -> NcclModel:
        return releases.with_constants(release, constants, nodes)

    lines: dict[Name, list[_Line]] = {}
    for name, line in _lines(fits, release, releases):
        lines.setdefault(name, []).append(line)
    own = constants = release.constants
    caps: dict[str, dict[tuple[int, ...], list[float]]] = {}
    told = {name: [line for line in found if line.told] for name, found in lines.items()}
    for name, found in lines.items():
        if told[name]:
            constants = _with_latencies(constants, name, told[name], modelled)
        if name in _CAPS:
            of_field = caps.setdefault(_CAPS[name], {})
            for line in found:
                place, value = _cap(constants, name, line, modelled)
                of_field.setdefault(place, []).append(value)
    constants = _scaled(own, constants, {name for name in lines if told[name]})
    for field, values in caps.items():
        table = getattr(constants, field).copy()
        for place, several in values.items():
            table[place] = np.exp(np.log(several).mean())
        constants = replace(constants, **{field: table})
    return _never_quicker(constants, fits, set(lines), modelled)


def _lines(fits: Sequence[NcclCurveFit], release: Release, releases: Releases) -> Iterator[tuple[Name, _Line]]:
    for fit in fits:
        if fit.kind not in NCCL_NAMES:
            continue
        model = releases.model(release, fit.nodes)
        for name, segment in fit.segments.items():
            sizes = np.unique(np.geomspace(segment.smallest, segment.largest, _POINTS).astype(np.int64))
            times = segment.time_us(columns_at(model, fit.kind, name, sizes))
            latency, bandwidth, _ = _term(model, NCCL_NAMES[fit.kind], name)
            if not bandwidth:  # it ran where the model says that it cannot
                continue
            expected = np.array([_term(model, NCCL_NAMES[fit.kind], name, size)[2] for size in sizes.tolist()])
            parts = np.stack([np.full(len(sizes), latency), expected - latency], axis=1) / times[:, None]
            slower, longer = np.linalg.lstsq(parts, np.ones(len(sizes)), rcond=None)[0]
            if slower <= 0 or longer <= 0:  # the sizes do not tell one of them: both change alike
                slower = longer = float(np.exp(np.log(times / expected).mean()))
            is_told = latency * slower >= _TOLD * float(times[0])
            yield name, _Line(NCCL_NAMES[fit.kind], fit.nodes, latency * slower, bandwidth / longer, is_told)


def _term(model: NcclModel, collective: str, name: Name, size: int = 1) -> tuple[float, float, float]:
    """NCCL's latency (us, of steps over the network what they take), bandwidth (GB/s) and time (us) of a size."""
    at = ALGORITHMS.index(name[0]) * len(PROTOCOLS) + PROTOCOLS.index(name[1])
    term = model.timed_by(name[1]).terms(collective, size)[at]
    return term.latency_us, term.bandwidth, term.time_us


def _with_latencies(constants: Constants, name: Name, lines: list[_Line], modelled: _Modelled) -> Constants:
    """The latencies are linear in the constants, so one step from NCCL's meets them."""
    algorithm, protocol = ALGORITHMS.index(name[0]), PROTOCOLS.index(name[1])
    own = np.array([constants.base_latency[algorithm, protocol], *constants.step_latency[:, algorithm, protocol]])

    def changed(values: _Floats) -> Constants:
        base, step = constants.base_latency.copy(), constants.step_latency.copy()
        base[algorithm, protocol], step[:, algorithm, protocol] = values[0], values[1:]
        return replace(constants, base_latency=base, step_latency=step)

    def latencies(values: _Floats) -> _Floats:
        models = {nodes: modelled(changed(values), nodes) for nodes in {line.nodes for line in lines}}
        return np.array([_term(models[line.nodes], line.collective, name)[0] for line in lines])

    wanted = np.array([line.latency for line in lines])
    of_nccl = latencies(own)
    slopes = np.array([latencies(own * (1 + np.eye(4)[at])) - of_nccl for at in range(4)]).T  # of doubling each
    left = np.concatenate([slopes / wanted[:, None], _NEAR * np.eye(4)])
    right = np.concatenate([(wanted - of_nccl) / wanted, np.zeros(4)])
    moved = np.linalg.lstsq(left, right, rcond=None)[0]
    return changed(own * np.maximum(1 + moved, _LEAST))


def _scaled(own: Constants, constants: Constants, measured: set[Name]) -> Constants:
    """With the latencies of what did not have its own measured, by kind of hardware."""
    known = np.zeros(own.base_latency.shape, np.bool_)
    for algorithm, protocol in measured:
        known[ALGORITHMS.index(algorithm), PROTOCOLS.index(protocol)] = True

    def scale(before: _Floats, after: _Floats) -> _Floats:
        told = known & (before > 0)
        mean = np.exp(np.log(after[told] / before[told]).mean()) if told.any() else 1.0
        return np.where(known, after, before * mean)

    base = scale(own.base_latency, constants.base_latency)
    step = np.array([scale(*tables) for tables in zip(own.step_latency, constants.step_latency, strict=True)])
    return replace(constants, base_latency=base, step_latency=step)


def _never_quicker(
    constants: Constants, fits: Sequence[NcclCurveFit], measured: set[Name], modelled: _Modelled
) -> Constants:
    """With latencies by which nothing that was never measured is quicker, anywhere on a curve, than all that the curve
    has."""
    lacking = np.zeros(constants.base_latency.shape)
    for fit in fits:
        if fit.kind not in NCCL_NAMES:
            continue
        model = modelled(constants, fit.nodes)
        size = min(segment.smallest for segment in fit.segments.values())
        while size <= max(segment.largest for segment in fit.segments.values()):
            name = NCCL_NAMES[fit.kind]
            terms = [term for term in model.terms(name, size) if not term.out]
            times = {(term.algorithm, term.protocol): model.takes_us(name, term, size) for term in terms}
            known = [time for ran, time in times.items() if ran in fit.segments]
            for (algorithm, protocol), time in times.items() if known else ():
                if (algorithm, protocol) not in measured:
                    at = ALGORITHMS.index(algorithm), PROTOCOLS.index(protocol)
                    lacking[at] = max(lacking[at], _SLOWER * min(known) - time)
            size *= 2
    of_nvls = np.arange(len(ALGORITHMS))[:, None] == ALGORITHMS.index("NVLS")  # which has no base
    step = constants.step_latency.copy()
    step[0] += np.where(of_nvls, lacking, 0)
    return replace(constants, base_latency=constants.base_latency + np.where(of_nvls, 0, lacking), step_latency=step)


def _cap(constants: Constants, name: Name, line: _Line, modelled: _Modelled) -> tuple[tuple[int, ...], float]:
    """The place in the field of _CAPS that limits the line's bandwidth, and the value that makes it the line's."""
    field = _CAPS[name]
    shape = getattr(constants, field).shape

    def bandwidth(table: _Floats) -> float:
        model = modelled(replace(constants, **{field: table}), line.nodes)
        return _term(model, line.collective, name)[1]

    share = bandwidth(np.full(shape, _TINY)) / _TINY
    numbered = _TINY * np.arange(1, 1 + np.prod(shape)).reshape(shape)
    at = round(bandwidth(numbered) / share / _TINY) - 1
    return tuple(int(index) for index in np.unravel_index(at, shape)), line.bandwidth / share
