"""Whether several runs of one collective can be of one machine, under one choice of NCCL's."""

from collections.abc import Iterable

import numpy as np

from hocket.base.errors import FormatError
from hocket.calibration.measurement import Measurement
from hocket.nccl.choice import FORCING
from hocket.nccl.fitted import NCCL_NAMES

__all__ = ["refuse_mixed"]

_APART = 1.3  # times, in the median over the sizes: more than runs of one machine are
_LEAST_SIZES = 4


def refuse_mixed(measurements: Iterable[Measurement]) -> None:
    """Compares the second and later run of the same calls with the first. Raises FormatError, naming both, where they
    are farther apart than repetitions are, or NCCL's choice was forced otherwise or is known to be another."""
    runs: dict[tuple[str, int, int], list[dict[tuple[int, bool], Measurement]]] = {}
    told: dict[tuple[object, ...], tuple[Measurement, str]] = {}
    for each in measurements:
        if each.stream:
            continue
        found = runs.setdefault((each.kind, each.ranks, each.nodes), [])
        _refuse_other_choice(each, told)
        call = each.size_bytes, each.in_place
        run = next((run for run in found if call not in run), None)
        if run is None:
            run = {}
            found.append(run)
        run[call] = each
    for (kind, ranks, nodes), (first, *others) in runs.items():
        for other in others:
            pairs = [(first[call], again) for call, again in other.items() if call in first]
            apart = np.exp(np.median([abs(np.log(a.time_ps / b.time_ps)) for a, b in pairs]))
            if len({a.size_bytes for a, _ in pairs}) >= _LEAST_SIZES and apart > _APART:
                raise FormatError(
                    f"{pairs[0][0].place} and {pairs[0][1].place}: both measure {kind} on {ranks} ranks of {nodes}"
                    f" node{'s' * (nodes > 1)}, and their times are {apart:.2f} times apart in the median: two machines"
                    " or settings are mixed: give the runs of one"
                )


def _refuse_other_choice(each: Measurement, told: dict[tuple[object, ...], tuple[Measurement, str]]) -> None:
    """`told` is what was known of measurements before: of all that are alike how they were forced, of each size what
    ran."""
    key = each.kind, each.ranks, each.nodes
    known: list[tuple[tuple[object, ...], str]] = []
    if each.kind in NCCL_NAMES and each.run and each.run.variables is not None:
        forced = " ".join(f"{name}={each.run.variables[name]}" for name in FORCING if name in each.run.variables)
        known.append((key, forced or "NCCL's own choice"))
    if each.choice:
        known.append(((*key, each.size_bytes), f"{each.choice.algorithm}/{each.choice.protocol}"))
    for of, what in known:
        first, before = told.setdefault(of, (each, what))
        if what != before:
            raise FormatError(
                f"{each.place} and {first.place}: {each.kind} on {each.ranks} ranks by {what} and by {before}: times"
                " of different choices of NCCL make no curve: calibrate each alone; `hocket nccl tuner make` compares"
                " them"
            )
