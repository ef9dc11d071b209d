"""Traces of ranks that compute on devices: what Kineto saw there, of the collectives what the collector recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.rank_names import name_ranks
from hocket.chakra.importers.common_calls import agreeing
from hocket.chakra.importers.pytorch.device_trace import device_trace, issues_of_kernels
from hocket.chakra.importers.pytorch.issues import Issue
from hocket.chakra.importers.rank import IssuedCall, Notes
from hocket.chakra.trace import Trace
from hocket.recording.matching import Numbering
from hocket.recording.mismatch import Mismatch
from hocket.recording.nccl.join import Attributes
from hocket.recording.profile import RecordedProfile
from hocket.recording.recording import Recording
from hocket.recording.timeline import attributes_of, step_begins

__all__ = ["joined_devices"]

Numbers = NDArray[np.int64]


def joined_devices(
    profiles: Mapping[int, RecordedProfile],
    recordings: Sequence[Recording],
    numbering: Numbering,
    sizes: Mapping[int, Numbers],
    tags: Mapping[int, Numbers],
    chosen: Mapping[int, Mapping[int, Attributes]],
) -> tuple[dict[int, Trace], list[Mismatch]]:
    """The traces of all ranks as the importer makes them of profiles with devices, and what they lack; none where not
    every rank has such a profile.

    Of the collectives kind, group, size, type, root, peer and tag are those of the recordings, whose calls may be the
    first of the profiles' only; `sizes`, `tags` and, by rank, `chosen` are as in `build_trace`. A collective
    of which some rank of its group has no kernel is left out. Times count from the first event of all.
    """
    without = [recording.rank for recording in recordings if recording.rank not in profiles]
    if without:
        lacking = f"{name_ranks(without)} without a profile of a device, so that the traces have times of the hosts"
        return {}, [Mismatch("profile", lacking)]
    notes = Notes()
    kernels = {
        rank: issues_of_kernels(rank, profile.kineto, profile.issues, notes) for rank, profile in profiles.items()
    }
    calls: dict[int, dict[Issue, IssuedCall]] = {}
    for recording in recordings:
        profile = profiles[recording.rank]
        done = {issue for own in kernels[recording.rank].values() for issue in own}
        calls[recording.rank] = {
            issue: _call(
                recording,
                row,
                numbering,
                sizes[recording.rank],
                tags[recording.rank],
                chosen.get(recording.rank, {}).get(row, {}),
            )
            for issue, row in profile.rows.items()
            if issue in done and row < len(recording)
        }
    groups = {str(number): group.ranks for number, group in numbering.values()}
    agreed = agreeing({rank: list(own.values()) for rank, own in calls.items()}, groups, notes)
    traces, begins = {}, {}
    for recording in recordings:
        rank = recording.rank
        common = set(map(id, agreed[rank]))
        known = {issue: call for issue, call in calls[rank].items() if id(call) in common}
        timeline = replace(profiles[rank].kineto, steps=_steps(profiles[rank], recording))
        traces[rank] = device_trace(rank, timeline, kernels[rank], known, notes)
        begins[rank] = profiles[rank].on_job_clock(traces[rank].start_us.astype(np.int64) * 1000)
    origin = min(int(begin.min()) for begin in begins.values())
    for rank, trace in traces.items():
        traces[rank] = replace(trace, start_us=((begins[rank] - origin) // 1000).astype(np.uint64))
    return traces, [Mismatch("profile", f"{note} ({count})") for note, count in sorted(notes.items())]


def _call(
    recording: Recording, row: int, numbering: Numbering, sizes: Numbers, tags: Numbers, chosen: Attributes
) -> IssuedCall:
    columns = recording.columns
    shape = recording.shapes[columns.shape[row]]
    return IssuedCall(
        shape.kind,
        str(numbering[shape.group.key][0]),
        int(sizes[row]),
        int(columns.start[row]),
        None,
        root=-1 if shape.root is None else shape.root,
        peer=int(columns.peer[row]),
        tag=int(tags[row]),
        in_splits=shape.in_splits,
        dtype=shape.dtype,
        sequence=int(columns.sequence[row]),
        extra={**attributes_of(shape, int(columns.batch[row])), **chosen},
    )


def _steps(profile: RecordedProfile, recording: Recording) -> list[tuple[int, int]]:
    """The recording's steps by the timeline's clock; those of before its first event begin with that."""
    numbers, marks = step_begins(recording)
    starts = [event.start for event in profile.kineto.device] + [event.start for event in profile.kineto.operations]
    shifts = profile.shifts[np.searchsorted(profile.recording.columns.issued, marks).clip(max=len(profile.shifts) - 1)]
    return [
        (max(mark, min(starts)), number)
        for mark, number in zip((np.array(marks) - shifts).tolist(), numbers, strict=True)
    ]
