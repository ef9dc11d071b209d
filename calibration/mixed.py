"""Whether several runs of one collective can be of one machine."""

from collections.abc import Iterable

import numpy as np

from hocket.calibration.measurement import Measurement
from hocket.core.errors import FormatError

__all__ = ["refuse_mixed"]

_APART = 1.3  # times, in the median over the sizes: more than runs of one machine are
_LEAST_SIZES = 4


def refuse_mixed(measurements: Iterable[Measurement]) -> None:
    """Compares the second and later run of the same calls with the first. Raises FormatError, naming both, where they
    are farther apart than repetitions are."""
    runs: dict[tuple[str, int, int], list[dict[tuple[int, bool], Measurement]]] = {}
    for each in measurements:
        if each.stream:
            continue
        found = runs.setdefault((each.kind, each.ranks, each.nodes), [])
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
