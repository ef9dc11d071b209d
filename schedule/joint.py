"""Several collectives at once, on links that they share: as one collective, and apart again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.collective import Collective
from hocket.schedule.conditions import Conditions, RankSetTable
from hocket.schedule.schedule import Schedule
from hocket.schedule.verification import VerifyReport, verify

__all__ = ["Joint", "verify_together"]


@dataclass(frozen=True, eq=False)
class Joint:
    """Collectives, each on a group of a topology's ranks, as the one `collective` of all `ranks` that are in any.

    Chunk c of `collective` is chunk `chunk[c]` of part `part[c]` (int32, those that are sent, part after part), and the
    ranks of its part are the set `members[c]` (int32, by number as in Conditions).
    """

    collectives: tuple[Collective, ...]
    groups: tuple[NDArray[np.int32], ...]
    ranks: NDArray[np.int32]
    collective: Collective
    part: NDArray[np.int32]
    chunk: NDArray[np.int32]
    members: NDArray[np.int32]

    @classmethod
    def of(cls, collectives: Sequence[Collective], groups: Sequence[NDArray[np.int32]]) -> "Joint":
        """Raises ScheduleError when a group does not fit its collective."""
        for collective, group in zip(collectives, groups, strict=True):
            if len(group) != collective.num_ranks:
                raise ScheduleError(f"{collective.describe()} does not fit the group {group.tolist()}")
        ranks = np.unique(np.concatenate(groups)).astype(np.int32)
        table, rows = RankSetTable(len(ranks)), []
        for at, (collective, group) in enumerate(zip(collectives, groups, strict=True)):
            place = np.searchsorted(ranks, group)
            chunk = np.flatnonzero(collective.sent)
            columns = (
                collective.renumbered(collective.origin[chunk], place, table),
                collective.renumbered(collective.destination[chunk], place, table),
                collective.chunk_bytes[chunk],
                np.full(len(chunk), at),
                chunk,
                np.full(len(chunk), table.number(place)),
            )
            rows.append(np.stack(columns))
        origin, destination, chunk_bytes, part, chunk, members = np.concatenate(rows, axis=1)
        conditions = Conditions(
            origin.astype(np.int32), destination.astype(np.int32), np.ascontiguousarray(chunk_bytes), table.sets
        )
        return cls(
            tuple(collectives),
            tuple(groups),
            ranks,
            Collective.custom(len(ranks), conditions),
            part.astype(np.int32),
            chunk.astype(np.int32),
            members.astype(np.int32),
        )

    def split(self, schedule: Schedule) -> list[Schedule]:
        """Of a schedule of `collective` what each part does, at the same times."""
        schedules = []
        for at, (collective, group) in enumerate(zip(self.collectives, self.groups, strict=True)):
            own = self.part[schedule.chunk] == at
            schedules.append(
                replace(
                    schedule,
                    collective=collective,
                    group=group,
                    chunk=self.chunk[schedule.chunk[own]],
                    route=schedule.route[own],
                    reduce=schedule.reduce[own],
                    start_ps=schedule.start_ps[own],
                    finish_ps=schedule.finish_ps[own],
                    bound=None,
                    own=schedule.own_of(own),
                )
            )
        return schedules

    def join(self, schedules: Sequence[Schedule]) -> Schedule:
        """The schedules of the parts as one of `collective`; the inverse of `split`. Raises ScheduleError when they
        differ in topology or the model of time."""
        first = schedules[0]
        number = [np.full(collective.num_chunks, -1, np.int32) for collective in self.collectives]
        for at, chunks in enumerate(number):
            own = np.flatnonzero(self.part == at)
            chunks[self.chunk[own]] = own
        for other in schedules[1:]:
            if other.topology.fingerprint != first.topology.fingerprint or other.blocking != first.blocking:
                raise ScheduleError("schedules at once must be of one topology and one model of time")
        offsets, routes, links, routes_before = [first.route_offset[:1]], [], [], 0
        for schedule in schedules:
            offsets.append(offsets[-1][-1] + schedule.route_offset[1:])
            links.append(schedule.route_links)
            routes.append(schedule.route + np.int32(routes_before))
            routes_before += len(schedule.route_offset) - 1
        start = np.concatenate([schedule.start_ps for schedule in schedules])
        order = np.argsort(start, kind="stable")
        is_own = np.concatenate([schedule.is_own for schedule in schedules])
        chunk = np.concatenate([numbers[each.chunk] for numbers, each in zip(number, schedules, strict=True)])
        return replace(
            first,
            collective=self.collective,
            group=self.ranks,
            relays=any(schedule.relays for schedule in schedules),
            route_offset=np.concatenate(offsets),
            route_links=np.concatenate(links),
            chunk=chunk[order],
            route=np.concatenate(routes)[order],
            reduce=np.concatenate([schedule.reduce for schedule in schedules])[order],
            start_ps=start[order],
            finish_ps=np.concatenate([schedule.finish_ps for schedule in schedules])[order],
            timed=all(schedule.timed for schedule in schedules),
            generator="+".join(dict.fromkeys(schedule.generator for schedule in schedules)),
            bound=None,
            own=None if all(each.own is None for each in schedules) else is_own[order],
        )


def verify_together(schedules: Sequence[Schedule]) -> VerifyReport:
    """What `verify` checks, of each schedule alone and of all at once: no link is held by two of them at a time.

    Raises ScheduleError naming the first violation; transfers and chunks are counted over all schedules then.
    """
    for schedule in schedules:
        verify(schedule)
    joint = Joint.of([each.collective for each in schedules], [each.ranks for each in schedules])
    return verify(joint.join(schedules))
