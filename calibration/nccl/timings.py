"""Measurements as timings of NCCL's choices, for `hocket.nccl.tuning`."""

import re
from collections.abc import Iterable, Mapping

import numpy as np

from hocket.base.errors import FormatError
from hocket.calibration.measurement import Measurement
from hocket.calibration.pieces import Pieces
from hocket.nccl import ALGORITHMS, COLLECTIVES, PROTOCOLS, NcclModel
from hocket.nccl.choice import FORCING, NcclChoice
from hocket.nccl.fitted import NCCL_NAMES, NcclCalibration
from hocket.nccl.names import can_do
from hocket.nccl.tuning import Timing, model_choices

__all__ = ["calibrated_timings", "timings"]

_APART = re.compile("NCCL_(DEBUG|TESTS|HOSTID|COMM_ID|.*DUMP_FILE)")  # may differ from run to run
_SAY = (
    "let nccl-tests write it (-J FILE), or NCCL (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING), or say it:"
    " --run ALGORITHM/PROTOCOL=FILE, --baseline FILE"
)


def timings(
    measurements: Iterable[Measurement],
    declared: Mapping[NcclChoice, Iterable[Measurement]] | None = None,
    baseline: Iterable[Measurement] = (),
) -> list[Timing]:
    """Of `measurements`, of runs that say themselves what NCCL chose or that it was free to; of those that do not:
    `declared` by the choice that was forced, `baseline` where NCCL was free.

    Raises FormatError, naming file and line, for a row of which neither is told, a run that was another than is said,
    collectives that no tuner decides, and runs on different GPUs.
    """
    rows, own = list(measurements), list(baseline)
    forced = [(choice, each) for choice, found in (declared or {}).items() for each in found]
    _check_alike([*rows, *(each for _, each in forced), *own])
    return [*map(_timed, rows), *(_declared(each, choice) for choice, each in forced), *map(_own, own)]


def calibrated_timings(
    calibration: NcclCalibration,
    model: NcclModel,
    collectives: Iterable[str],
    sizes: Iterable[int],
    free: Mapping[tuple[str, int, int], Pieces] | None = None,
) -> list[Timing]:
    """What the fitted times say of NCCL's own choice (the model's) and of what else was measured on as many ranks, as
    far as the calibration tells them; nothing of collectives of which only one choice was. NCCL's own choice takes what
    the `free` fits of curves say, where these are given: they predict better.
    """
    kinds = {name: kind for kind, name in NCCL_NAMES.items()}
    found = []
    for collective in collectives:
        fit = calibration.fit(kinds[collective], model.ranks, model.nodes)
        if fit is None or len(fit.segments) < 2:
            continue
        least = min(segment.smallest for segment in fit.segments.values())
        most = max(segment.largest for segment in fit.segments.values())
        measured = [size for size in sizes if least <= size <= most]
        times = calibration.times_us(model, collective, measured)
        for at, own in enumerate(model_choices(model, collective, measured)):
            of_each = ((name, times[ALGORITHMS.index(name[0]), PROTOCOLS.index(name[1]), at]) for name in fit.segments)
            known = {NcclChoice(*name): float(time_us) for name, time_us in of_each if np.isfinite(time_us)}
            pieces = (free or {}).get((fit.kind, fit.ranks, fit.nodes))
            if pieces is not None and own in known:
                known[own] = float(pieces.time_us(measured[at]))
            for choice, time_us in known.items() if own in known else ():
                where = collective, model.ranks, model.nodes, measured[at], False, max(1, round(time_us * 1e6))
                found.append(Timing(*where, choice, own=choice == own, place=model.machine.source))
    return found


def _declared(each: Measurement, choice: NcclChoice) -> Timing:
    told = each.choice
    if told is not None and (told.algorithm, told.protocol) != (choice.algorithm, choice.protocol):
        raise FormatError(f"{each.place}: NCCL ran {told.name} here, not {choice.name} as --run says")
    timed = _as(each, choice, own=False)
    kernel = ALGORITHMS.index(choice.algorithm), PROTOCOLS.index(choice.protocol)
    if not can_do(COLLECTIVES.index(timed.collective), *kernel):
        raise FormatError(f"{each.place}: NCCL has no {choice.name} for {timed.collective}, as --run says")
    return timed


def _own(each: Measurement) -> Timing:
    timed = _as(each, each.choice, own=True)
    forced = each.run.forced(each.kind, each.place) if each.run else None
    if forced is not None and not forced.free:
        raise FormatError(f"{each.place}: NCCL's variables forced this run: it is no --baseline")
    return timed


def _timed(each: Measurement) -> Timing:
    own = _as(each, each.choice, own=True)
    forced = each.run.forced(each.kind, each.place) if each.run else None
    if forced is not None and forced.free:
        return own
    if each.choice is not None:
        return _as(each, each.choice, own=False)
    if forced is None:
        raise FormatError(f"{each.place}: not told which algorithm and protocol NCCL ran here: {_SAY}")
    raise FormatError(
        f"{each.place}: NCCL's variables leave more than one choice here, and its log does not say which: set NCCL_ALGO"
        " and NCCL_PROTO to one each (NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS to the same), or log"
        " (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING)"
    )


def _as(each: Measurement, choice: NcclChoice | None, *, own: bool) -> Timing:
    if each.kind not in NCCL_NAMES:
        raise FormatError(
            f"{each.place}: NCCL asks no tuner about {each.kind}, only about {', '.join(NCCL_NAMES)}: take it out"
        )
    where = NCCL_NAMES[each.kind], each.ranks, each.nodes, each.size_bytes, each.in_place, each.time_ps
    return Timing(*where, choice=choice, own=own, place=each.place)


def _check_alike(rows: list[Measurement]) -> None:
    """What a table cannot tell apart: GPUs, and variables that change how quick everything is."""
    devices: tuple[Measurement, frozenset[str]] | None = None
    variables: dict[str, tuple[Measurement, str]] = {}
    for each in rows:
        if each.run is None:
            continue
        if each.run.devices:
            devices = devices or (each, each.run.devices)
            if devices[1] != each.run.devices:
                first, second = (" and ".join(sorted(of)) for of in (devices[1], each.run.devices))
                raise FormatError(
                    f"{each.place}: measured on {second}, but {devices[0].place} on {first}: a table is for one kind of"
                    " machine; make one for each"
                )
        for name, value in (each.run.variables or {}).items():
            known, before = variables.setdefault(name, (each, value))
            if value != before and name not in FORCING and not _APART.match(name):
                raise FormatError(
                    f"{each.place}: measured with {name}={value}, but {known.place} with {before}: a table does not set"
                    " that; measure all alike"
                )
