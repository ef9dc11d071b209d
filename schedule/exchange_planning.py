"""Exchange plans from programs: each message in the earliest round that the data in memory allows, one in a round on
each connection (chunks that follow each other through a chain of ranks are to be on their way at the same time).

The steps are taken in an order in which the interpreter may execute them. A proved program has no race: two steps that
touch the same chunks, one of them writing, have the same order in every execution. So two things more decide the round
of a message: when the chunks that it is sent from are there, and when those that it is received into are free. Both
follow from steps taken before, so that no plan can deadlock: a rank enters a round once it is through with those before
it, and by induction every rank gets through every round.

Between a send and its receive a program may overwrite what was sent: the interpreter's FIFO holds a copy. So does the
plan then, in its staging buffer, where messages that are to be reduced with what is there arrive too.
"""

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import DeadlockError
from hocket.schedule.exchange import STAGING, Exchange, ExchangeMessage, ExchangePlan, LocalStep, Piece, RankPlan
from hocket.schedule.exchange_copies import without_copies
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.memory import lay_out
from hocket.schedule.program import BUFFERS, Program, StepType

__all__ = ["plan_exchanges"]

_TYPES = tuple(StepType)
_RECEIVE_AND_REDUCE = (
    StepType.RECEIVE_REDUCE_COPY,
    StepType.RECEIVE_REDUCE_SEND,
    StepType.RECEIVE_REDUCE_COPY_SEND,
)


def plan_exchanges(program: Program, in_place: bool) -> ExchangePlan:
    """The plan of a program that `execute` has proved for this kind of call. The same on every machine; time and memory
    are nearly linear in the steps and in the chunks that they move.

    Raises ScheduleError for a broken structure, as `execute`, and DeadlockError where some steps can never begin.
    """
    return _Planner(program, in_place).plan()


@dataclass(slots=True, eq=False)
class _Slot:
    """Chunks of staging, taken from round `first` to round `last`, both included."""

    first: int
    last: int
    count: int
    offset: int = -1


_Place = Piece | _Slot


@dataclass(slots=True, eq=False)
class _Posted:
    """A message that is sent and not received yet. `location`: of its chunks, where they lie in a program's buffer;
    `there`: the round after which they do."""

    rank: int
    place: _Place
    location: int
    count: int
    there: int


class _Rank:
    """What one rank does, by round; and which messages it has posted."""

    def __init__(self) -> None:
        self.sends: defaultdict[int, list[tuple[int, _Place, int]]] = defaultdict(list)
        self.receives: defaultdict[int, list[tuple[int, _Place, int]]] = defaultdict(list)
        self.local_steps: defaultdict[int, list[tuple[_Place, _Place | None, _Place, int]]] = defaultdict(list)
        self.slots: list[_Slot] = []
        self.posted: list[_Posted] = []

    def take_slot(self, first: int, count: int) -> _Slot:
        slot = _Slot(first, first, count)
        self.slots.append(slot)
        return slot

    def plan(self) -> RankPlan:
        staging_chunks = _lay_out_slots(self.slots)
        rounds = sorted({*self.sends, *self.receives, *self.local_steps})
        return RankPlan(staging_chunks, tuple(map(self._exchange, rounds)))

    def _exchange(self, number: int) -> Exchange:
        return Exchange(
            number,
            tuple(ExchangeMessage(peer, _piece(place), count) for peer, place, count in self.sends.get(number, ())),
            tuple(ExchangeMessage(peer, _piece(place), count) for peer, place, count in self.receives.get(number, ())),
            tuple(
                LocalStep(_piece(source), None if other is None else _piece(other), _piece(target), count)
                for source, other, target, count in self.local_steps.get(number, ())
            ),
        )


def _piece(place: _Place) -> Piece:
    return Piece(STAGING, place.offset) if isinstance(place, _Slot) else place


def _lay_out_slots(slots: list[_Slot]) -> int:
    """Gives each slot the lowest offset that no slot of the same rounds has; returns the chunks needed."""
    end = 0
    active: list[_Slot] = []
    for slot in sorted(slots, key=lambda slot: slot.first):
        active = sorted((other for other in active if other.last >= slot.first), key=lambda other: other.offset)
        slot.offset = 0
        for other in active:
            if slot.offset + slot.count <= other.offset:
                break
            slot.offset = max(slot.offset, other.offset + other.count)
        active.append(slot)
        end = max(end, slot.offset + slot.count)
    return end


class _Planner:
    def __init__(self, program: Program, in_place: bool) -> None:
        self._program, self._memory = program, lay_out(program, in_place)
        memory = self._memory
        flat = FlatProgram(program, memory)
        self._in_place = in_place
        self._types = [_TYPES[number] for number in flat.type.tolist()]
        self._counts: list[int] = flat.count.tolist()
        self._sources: list[int] = flat.source.tolist()
        self._destinations: list[int] = flat.destination.tolist()
        self._depends_on: list[int] = flat.depends_on.tolist()
        self._send_connection: list[int] = flat.send_connection.tolist()
        self._receive_connection: list[int] = flat.receive_connection.tolist()
        self._block_rank: list[int] = flat.block_rank.tolist()
        self._rows = flat.steps.rows
        self._next: list[int] = flat.first_step[:-1].tolist()
        self._behind: list[int] = flat.first_step[1:].tolist()
        self._ranks = [_Rank() for _ in range(program.num_ranks)]
        # By location, the round after which its value is there, and the last in which it was read or written.
        self._there: NDArray[np.int32] = np.zeros(len(memory.rank), np.int32)
        self._touched: NDArray[np.int32] = np.zeros(len(memory.rank), np.int32)
        self._queues: defaultdict[int, deque[_Posted]] = defaultdict(deque)  # by connection
        self._last: defaultdict[int, int] = defaultdict(int)  # round with a message, by connection
        self._round: list[int] = [-1] * len(self._types)  # of each step that was taken
        self._waiting: defaultdict[int, list[int]] = defaultdict(list)  # blocks, by the step they wait for
        self._hungry: dict[int, int] = {}  # blocks, by the connection they wait at
        self._ready: list[tuple[int, int]] = []  # heap: (round to expect, block)

    def plan(self) -> ExchangePlan:
        for block in range(len(self._next)):
            self._look_at(block)
        taken = 0
        while self._ready:
            _, block = heapq.heappop(self._ready)
            step = self._next[block]
            self._next[block] += 1
            self._round[step] = self._take(step, block)
            taken += 1
            for other in (block, *self._waiting.pop(step, ())):
                self._look_at(other)
        if taken < len(self._types):
            raise DeadlockError(f"{len(self._types) - taken} steps can never begin; `hocket verify` tells why")
        parts = (rank.plan() for rank in self._ranks)
        shorter = (without_copies(part, self._program, self._memory, rank) for rank, part in enumerate(parts))
        return ExchangePlan(self._in_place, tuple(shorter))

    def _look_at(self, block: int) -> None:
        """Makes the block ready if its next step is; else notes what it waits for."""
        step = self._next[block]
        if step == self._behind[block]:
            return
        awaited, connection = self._depends_on[step], self._receive_connection[block]
        if awaited != -1 and (awaited < 0 or self._round[awaited] < 0):
            self._waiting[awaited].append(block)
        elif self._types[step].receives and not self._queues[connection]:
            self._hungry[connection] = block
        else:
            expected = self._queues[connection][0].there + 1 if self._types[step].receives else 0
            heapq.heappush(self._ready, (max(expected, self._round[awaited] if awaited >= 0 else 0), block))

    def _take(self, step: int, block: int) -> int:
        """The round of the step."""
        kind, rank = self._types[step], self._block_rank[block]
        if kind is StepType.NOP:
            return 0
        if kind.writes:
            self._save_posted(rank, self._destinations[step], self._counts[step])
        if kind is StepType.SEND:
            at = self._sources[step]
            there = _latest(self._there, at, self._counts[step])
            self._post(block, _Posted(rank, self._source(step), at, self._counts[step], there))
            return there
        return self._receive(step, block) if kind.receives else self._work(step, rank)

    def _work(self, step: int, rank: int) -> int:
        """A copy or a reduction within the rank, in the first round at whose end all is ready for it."""
        count, source, target = self._counts[step], self._source(step), self._target(step)
        at = max(
            _latest(self._there, self._sources[step], count), _latest(self._touched, self._destinations[step], count)
        )
        reduces = self._types[step] is StepType.REDUCE
        local_step = (target, source, target, count) if reduces else (source, None, target, count)
        self._ranks[rank].local_steps[at].append(local_step)
        self._read(self._sources[step], count, at)
        self._write(self._destinations[step], count, at)
        return at

    def _receive(self, step: int, block: int) -> int:
        kind, count, rank = self._types[step], self._counts[step], self._block_rank[block]
        connection = self._receive_connection[block]
        posted = self._queues[connection].popleft()
        source_at, target_at = self._sources[step], self._destinations[step]
        at = max(posted.there, self._last[connection]) + 1
        place: _Place
        if kind in _RECEIVE_AND_REDUCE:
            at = max(at, _latest(self._there, source_at, count))
            if kind.writes:
                at = max(at, _latest(self._touched, target_at, count))
            slot = self._ranks[rank].take_slot(at, count)
            place = self._target(step) if kind.writes else slot
            self._ranks[rank].local_steps[at].append((self._source(step), slot, place, count))
            self._read(source_at, count, at)
            self._deliver(posted, rank, slot, at)
        else:
            at = max(at, _latest(self._touched, target_at, count) + 1)
            place = self._target(step)
            self._deliver(posted, rank, place, at)
        self._last[connection] = at
        if kind.writes:
            self._write(target_at, count, at)
        if kind.sends:
            self._post(block, _Posted(rank, place, target_at, count, at))
        return at

    def _deliver(self, posted: _Posted, rank: int, place: _Place, at: int) -> None:
        """Sends the message in round `at`."""
        sender = self._ranks[posted.rank]
        sender.sends[at].append((rank, posted.place, posted.count))
        self._ranks[rank].receives[at].append((posted.rank, place, posted.count))
        if isinstance(posted.place, _Slot):
            posted.place.last = at
        else:
            sender.posted.remove(posted)
            self._read(posted.location, posted.count, at)

    def _post(self, block: int, posted: _Posted) -> None:
        connection = self._send_connection[block]
        self._queues[connection].append(posted)
        if not isinstance(posted.place, _Slot):
            self._ranks[posted.rank].posted.append(posted)
        if connection in self._hungry:
            self._look_at(self._hungry.pop(connection))

    def _save_posted(self, rank: int, location: int, count: int) -> None:
        """Before these chunks are written: copies what is still to be sent from there."""
        mine, kept = self._ranks[rank], []
        for posted in mine.posted:
            if posted.location < location + count and location < posted.location + posted.count:
                slot = mine.take_slot(posted.there, posted.count)
                mine.local_steps[posted.there].append((posted.place, None, slot, posted.count))
                self._read(posted.location, posted.count, posted.there)
                posted.place = slot
            else:
                kept.append(posted)
        mine.posted = kept

    def _read(self, location: int, count: int, at: int) -> None:
        touched = self._touched[location : location + count]
        np.maximum(touched, at, out=touched)

    def _write(self, location: int, count: int, at: int) -> None:
        self._there[location : location + count] = at
        self._touched[location : location + count] = at

    def _source(self, step: int) -> Piece:
        row = self._rows[step]
        return Piece(BUFFERS[row["src_buffer"]], int(row["src_offset"]))

    def _target(self, step: int) -> Piece:
        row = self._rows[step]
        return Piece(BUFFERS[row["dst_buffer"]], int(row["dst_offset"]))


def _latest(rounds: NDArray[np.int32], location: int, count: int) -> int:
    return int(rounds[location : location + count].max())
