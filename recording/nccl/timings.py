"""Collectives that NCCL's profiler plugin recorded, as timings of NCCL's choices for `hocket.nccl.tuning`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hocket.base.errors import FormatError
from hocket.chakra.importers.nccl.calls import calls_done
from hocket.chakra.importers.nccl.profile import COLLECTIVE, NcclProfile, profile_files, read_profile
from hocket.nccl.choice import NcclChoice
from hocket.nccl.names import COLLECTIVES, algorithm_named, protocol_named
from hocket.nccl.tuning import Timing

__all__ = ["profile_timings"]


def profile_timings(path: Path | str, *, own: bool = False) -> list[Timing]:
    """A timing of each collective of a job's folder of profiles, or of one file; `own` where NCCL was free to choose.

    Ranks that come early wait for the last one: of the ranks that were recorded the shortest time is taken. Raises
    FormatError where no collective has both a known choice and the GPU's time.
    """
    profiles = [read_profile(file) for file in profile_files(path)]
    of_calls: dict[tuple[int, int, str], Timing] = {}
    for profile in profiles:
        for call, timed in _timings(profile, own):
            known = of_calls.get(call)
            if known is None or timed.time_ps < known.time_ps:
                of_calls[call] = timed
    if not of_calls:
        raise FormatError(
            f"{path}: no collective of which both algorithm and the GPU's time are known: record with"
            " HOCKET_NCCL_EVENTS=collective,kernel_channel"
        )
    return list(of_calls.values())


def _timings(profile: NcclProfile, own: bool) -> Iterator[tuple[tuple[int, int, str], Timing]]:
    """The collectives that the GPU's timer timed, each with what tells it apart in the job."""
    calls, place = calls_done(profile), str(profile.path)
    for row in np.flatnonzero((calls.gpu_ns > 0) & (calls.records["kind"] == COLLECTIVE)).tolist():
        record, function = calls.records[row], calls.function(row)
        algorithm, protocol = (record[name].decode(errors="replace") for name in ("algorithm", "protocol"))
        communicator = profile.communicators[int(record["communicator"])]
        blocks = communicator.ranks if function in ("AllGather", "ReduceScatter") else 1
        size = int(calls.count_bytes[row]) * blocks
        if function not in COLLECTIVES or not algorithm or not protocol or communicator.ranks < 2 or size == 0:
            continue
        choice = NcclChoice(algorithm_named(algorithm, place), protocol_named(protocol, place))
        where = function, communicator.ranks, communicator.nodes, size, False, int(calls.gpu_ns[row]) * 1000
        yield (communicator.id, int(calls.number[row]), function), Timing(*where, choice, own, place)
