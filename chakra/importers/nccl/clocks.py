"""Brings the clocks of a job's hosts together by the collectives that their ranks shared."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from hocket.base.collectives import NAMED_KINDS, nccl_name
from hocket.chakra.importers.nccl.calls import CallsDone
from hocket.chakra.importers.nccl.profile import COLLECTIVE, NcclProfile

__all__ = ["host_shifts"]

# NCCL's functions that no rank leaves before all have entered.
_SYNCHRONIZING = [nccl_name(kind) for kind in NAMED_KINDS if not kind.rooted]
# A collective: communicator, function, number.
_Place = tuple[int, str, int]


def host_shifts(profiles: Sequence[NcclProfile], done: Sequence[CallsDone]) -> dict[str, int]:
    """Nanoseconds to add to the times of each host, whose clocks count from the epoch; 0 for the first profile's.

    A collective ends nowhere before all its ranks have begun it. Where a host's clock contradicts that it is moved as
    little as makes it true, or to the middle where nothing does; else the machines' own synchronization is kept.
    """
    begins: dict[str, dict[_Place, int]] = defaultdict(dict)
    ends: dict[str, dict[_Place, int]] = defaultdict(dict)
    for profile, calls in zip(profiles, done, strict=True):
        begin, end = begins[profile.host], ends[profile.host]
        for place, start_ns, end_ns in _shared(profile, calls):
            begin[place] = max(begin.get(place, start_ns), start_ns)
            end[place] = min(end.get(place, end_ns), end_ns)
    first = profiles[0].host
    return {
        host: 0 if host == first else _shift(begins[first], ends[first], begins[host], ends[host]) for host in begins
    }


def _shared(profile: NcclProfile, calls: CallsDone) -> list[tuple[_Place, int, int]]:
    """The synchronizing collectives of a process whose end is known, with begin and end."""
    of_kind = np.isin(calls.records["function"], [name.encode() for name in _SYNCHRONIZING])
    rows = np.flatnonzero(of_kind & (calls.records["kind"] == COLLECTIVE) & (calls.end_ns > 0))
    names = [communicator.id for communicator in profile.communicators]
    return [
        (
            (names[int(calls.records["communicator"][row])], calls.function(row), int(calls.number[row])),
            int(calls.records["start_ns"][row]),
            int(calls.end_ns[row]),
        )
        for row in rows.tolist()
    ]


def _shift(
    begin: Mapping[_Place, int],
    end: Mapping[_Place, int],
    other_begin: Mapping[_Place, int],
    other_end: Mapping[_Place, int],
) -> int:
    common = begin.keys() & other_begin.keys()
    least = max((begin[place] - other_end[place] for place in common), default=0)
    most = min((end[place] - other_begin[place] for place in common), default=0)
    if least > most:
        return (least + most) // 2
    return min(max(0, least), most)
