"""What NCCL did for each call of a recording, from the profile that its process left (`HOCKET_NCCL_PROFILE`).

A call and a record are one where both are the k-th of their function in one process group, or of its messages with one
rank: PyTorch counts per group and NCCL per function and communicator. A communicator is the group whose members it has.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.importers.nccl.calls import CallsDone, calls_done
from hocket.chakra.importers.nccl.members import Members
from hocket.chakra.importers.nccl.profile import POINT_TO_POINT, NcclProfile
from hocket.recording.calls import Group, GroupKey
from hocket.recording.nccl.alignment import Expected, Found, align_calls
from hocket.recording.nccl.functions import Place, expected_of
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["Attributes", "NcclCalls", "join_calls"]

Numbers = NDArray[np.int64]
Attributes = Mapping[str, int | str]


@dataclass(frozen=True, eq=False)
class NcclCalls:
    """What NCCL did in one rank: of the calls that were found, by their rows in the recording, `attributes`, and in
    `begin` and `end` when NCCL's kernels began and were complete on the job's clock (NONE: not known).

    `calls` is how many of the recording's calls NCCL should have, `records` how many it has, `unmatched` how many of
    those are no call's. `strangers` are communicators that are no group's, with their records.
    """

    attributes: Mapping[int, Attributes]
    begin: Numbers
    end: Numbers
    calls: int
    records: int
    unmatched: int
    strangers: Mapping[str, int]

    @property
    def timed(self) -> int:
        """Of how many calls the end is known."""
        return int((self.end != NONE).sum())

    def timed_calls(self, recording: Recording) -> Recording:
        """The recording with NCCL's begins and ends of its calls where they are known."""
        columns = recording.columns
        begin = np.where(self.begin == NONE, columns.begin, self.begin)
        return recording.timed(begin, np.where(self.end == NONE, columns.end, self.end))


def join_calls(
    profile: NcclProfile, recording: Recording, own_start: Numbers, members: Mapping[int, Members], one_clock: bool
) -> NcclCalls:
    """Puts the records of a process and the calls of its rank together.

    `own_start` are the calls' starts by the rank's own clock, which is the profile's monotonic one where `one_clock`;
    the recording's are on the job's. `members` are those of every communicator of the job.
    """
    done = calls_done(profile)
    starts = done.records["start_ns"] - profile.monotonic_ns
    groups, strangers = _groups(profile, done, recording, members)
    found = _found(profile, done, starts, members, groups)
    expected = _expected(recording, own_start, set(groups.values()))
    of_row: dict[int, list[int]] = defaultdict(list)
    for place, calls in expected.items():
        for row, record in align_calls(calls, found.get(place, ()), one_clock):
            of_row[row].append(record)
    begin, end = np.full(len(recording), NONE), np.full(len(recording), NONE)
    for row, records in of_row.items():
        if all(done.end_ns[records] > 0):
            last = int(done.end_ns[records].max())
            begun = (
                int(own_start[row]) + profile.monotonic_ns
                if one_clock
                else int(done.records["start_ns"][records].min())
            )
            issue = int(recording.columns.issued[row])
            end[row] = issue + max(0, last - begun)
            if all(done.gpu_ns[records] > 0):  # clocks may err, the GPU's timer tells how long it took
                first = int(done.gpu_start_ns[records].min())
                begin[row] = issue + max(0, first - begun)
                end[row] = begin[row] + last - first
    return NcclCalls(
        attributes={row: _attributes(done, records) for row, records in of_row.items()},
        begin=begin,
        end=end,
        calls=len({call.row for calls in expected.values() for call in calls}),
        records=len(done),
        unmatched=len(done) - sum(map(len, of_row.values())),
        strangers=strangers,
    )


def _groups(
    profile: NcclProfile, done: CallsDone, recording: Recording, members: Mapping[int, Members]
) -> tuple[dict[int, GroupKey], dict[str, int]]:
    """The group of each of the process's communicators, by their numbers in it; those of no group, with their records.

    Of groups of the same members a communicator is the one whose name it has; else they are taken in the order in which
    they were made, where there are as many of both.
    """
    known = {shape.group.key: shape.group for shape in recording.shapes}
    alike: dict[Members, list[int]] = defaultdict(list)
    for number, communicator in enumerate(profile.communicators):
        alike[members[communicator.id]].append(number)
    groups: dict[int, GroupKey] = {}
    for ranks, numbers in alike.items():
        fitting = sorted((group for group in known.values() if _fits(ranks, group)), key=lambda group: group.order)
        if len(fitting) == 1:
            groups |= dict.fromkeys(numbers, fitting[0].key)
            continue
        for number in numbers:
            name = profile.communicators[number].name
            if named := [group for group in fitting if name in (group.name, group.description)]:
                groups[number] = named[0].key
        left = [group.key for group in fitting if group.key not in groups.values()]
        unnamed = [number for number in numbers if number not in groups]
        if len(left) == len(unnamed):
            groups |= dict(zip(unnamed, left, strict=True))
    collectives = done.records["communicator"][done.records["kind"] != POINT_TO_POINT]
    counts = np.bincount(collectives, minlength=len(profile.communicators))
    strangers = {
        f"{communicator.id:#x} ({communicator.name or 'without a name'}, {communicator.ranks} ranks)": int(
            counts[number]
        )
        for number, communicator in enumerate(profile.communicators)
        if number not in groups and counts[number]
    }
    return groups, strangers


def _fits(ranks: Members, group: Group) -> bool:
    return len(ranks) == len(group.ranks) and all(
        rank in (None, other) for rank, other in zip(ranks, group.ranks, strict=True)
    )


def _found(
    profile: NcclProfile,
    done: CallsDone,
    starts: Numbers,
    members: Mapping[int, Members],
    groups: Mapping[int, GroupKey],
) -> dict[Place, list[Found]]:
    """The records by function and place, in order. Messages of all communicators are one order: some groups send by a
    communicator of two ranks."""
    found: dict[Place, list[Found]] = defaultdict(list)
    for row, record in enumerate(done.records):
        number, function = int(record["communicator"]), done.function(row)
        place: GroupKey | int | None
        if record["kind"] == POINT_TO_POINT:
            ranks, peer = members[profile.communicators[number].id], int(record["peer"])
            place = ranks[peer] if 0 <= peer < len(ranks) else None
        else:
            place = groups.get(number)
        if place is not None:
            order = len(found[function, place]) if isinstance(place, int) else int(done.number[row])
            found[function, place].append(Found(row, int(starts[row]), int(done.count_bytes[row]), order))
    for (_, place), records in found.items():
        if not isinstance(place, int) and len({int(done.records["communicator"][one.row]) for one in records}) > 1:
            # Of several communicators of one group, each counts by itself.
            records[:] = [Found(one.row, one.start, one.num_bytes, order) for order, one in enumerate(records)]
    return found


def _expected(recording: Recording, own_start: Numbers, joined: set[GroupKey]) -> dict[Place, list[Expected]]:
    """The calls by function and place, in order: those on devices, or where there are none those of joined groups."""
    columns = recording.columns
    on_devices = any(shape.stream is not None for shape in recording.shapes)
    expected: dict[Place, list[Expected]] = defaultdict(list)
    rows = zip(columns.shape.tolist(), columns.peer.tolist(), columns.batch.tolist(), own_start.tolist(), strict=True)
    for row, (number, peer, batch, start) in enumerate(rows):
        shape = recording.shapes[number]
        if shape.stream is None if on_devices else shape.group.key not in joined:
            continue
        for place, num_bytes in expected_of(shape, recording.rank, peer):
            several = "coalesced" in shape.op
            expected[place].append(Expected(row, start, num_bytes, several, -1 if batch == NONE else batch))
    return expected


def _attributes(done: CallsDone, records: Sequence[int]) -> Attributes:
    """Those of a call, for which NCCL was called once or, as for an all_to_all, several times."""
    if len(records) == 1:
        return done.attributes(records[0])
    texts: dict[str, set[str]] = defaultdict(set)
    numbers: dict[str, list[int]] = defaultdict(list)
    for record in records:
        for name, value in done.attributes(record).items():
            if isinstance(value, str):
                texts[name].add(value)
            else:
                numbers[name].append(value)
    found: dict[str, int | str] = {name: "+".join(sorted(values)) for name, values in texts.items()}
    found |= {name: (sum if name.endswith("_bytes") else max)(values) for name, values in numbers.items()}
    if all(done.gpu_ns[list(records)] > 0):
        begins = done.gpu_start_ns[list(records)]
        found["nccl_gpu_ns"] = int((begins + done.gpu_ns[list(records)]).max() - begins.min())
    return found | {"nccl_calls": len(records)}
