"""What the messages of a program hold: its symbolic execution, one piece after the other."""

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule import StepType
from hocket.schedule.flatten import FlatProgram
from hocket.simulator.programs import StepPieces

__all__ = ["ChunkMove", "Contents"]

_TYPES = list(StepType)


@dataclass(slots=True)
class ChunkMove:
    """One chunk of one message, at moments counted from 0: it holds the contributions of the ranks in the bits of
    `ranks`; `finish` is when it is there, or, if `reduce`, added up (-1: not yet). `beside`: of the source's own
    contribution alone, while the source has more of the chunk elsewhere."""

    chunk: int
    ranks: int
    src: int
    dst: int
    start: int
    reduce: bool = False
    finish: int = -1
    beside: bool = False

    @property
    def own(self) -> bool:
        """Whether it is the source's own contribution alone."""
        return self.ranks == 1 << self.src


@dataclass(frozen=True, slots=True)
class _Value:
    """What a location holds; `moves` came in and may not be accounted for yet."""

    chunk: int
    ranks: int
    moves: tuple[ChunkMove, ...] = ()

    @property
    def pending(self) -> tuple[ChunkMove, ...]:
        return tuple(move for move in self.moves if move.finish < 0)


class Contents:
    """Executes a right program symbolically, in the order of the times of its `pieces`."""

    def __init__(self, flat: FlatProgram, pieces: StepPieces) -> None:
        self._flat, self._pieces = flat, pieces
        self._type = [_TYPES[number] for number in flat.type.tolist()]
        self._memory: list[_Value | None] = [
            None if chunk < 0 else _Value(chunk, 1 << rank)
            for chunk, rank in zip(flat.memory.initial.tolist(), flat.memory.rank.tolist(), strict=True)
        ]
        # what a schedule says that each rank holds of each chunk
        self._held = {
            (rank, value.chunk): value.ranks
            for rank, value in zip(flat.memory.rank.tolist(), self._memory, strict=True)
            if value is not None
        }
        self._moves: list[ChunkMove] = []
        self._now = 0
        self._step = 0

    def moves(self) -> list[ChunkMove]:
        """All of them, in the order of their start. Raises ScheduleError naming the step where a schedule cannot say
        what it does."""
        flat, pieces = self._flat, self._pieces
        step, block = pieces.step.tolist(), flat.step_block[pieces.step].tolist()
        sending, receiving = flat.send_connection.tolist(), flat.receive_connection.tolist()
        waits, done = flat.depends_on.tolist(), [False] * len(flat.steps)
        last = np.append(pieces.step[1:] != pieces.step[:-1], True)[: len(step)].tolist()
        arrival = {True: pieces.received_ps.tolist(), False: pieces.sent_ps.tolist()}
        cursor = np.searchsorted(flat.step_block[pieces.step], np.arange(len(flat.blocks))).tolist()
        channels: defaultdict[int, deque[list[_Value]]] = defaultdict(deque)
        waiting_step: defaultdict[int, list[int]] = defaultdict(list)
        waiting_message: dict[int, int] = {}
        ready: list[tuple[int, int]] = []

        def offer(number: int) -> None:
            """Makes the next piece of a block ready, or notes what it waits for."""
            piece = cursor[number]
            if piece == len(step) or block[piece] != number:
                return
            receives, wanted = self._type[step[piece]].receives, waits[step[piece]]
            if wanted >= 0 and not done[wanted]:
                waiting_step[wanted].append(number)
            elif receives and not channels[receiving[number]]:
                waiting_message[receiving[number]] = number
            else:
                heapq.heappush(ready, (arrival[receives][piece], piece))

        for number in range(len(flat.blocks)):
            offer(number)
        while ready:
            _, piece = heapq.heappop(ready)
            number, self._step = block[piece], step[piece]
            received = channels[receiving[number]].popleft() if self._type[self._step].receives else None
            sent = self._run(piece, received)
            self._now += 1
            cursor[number] += 1
            offer(number)
            if sent is not None:
                channels[sending[number]].append(sent)
                if sending[number] in waiting_message:
                    offer(waiting_message.pop(sending[number]))
            if last[piece]:
                done[self._step] = True
                for other in waiting_step.pop(self._step, ()):
                    offer(other)
        unused = next((move for move in self._moves if move.finish < 0), None)
        if unused is not None:
            raise ScheduleError(
                f"rank {unused.dst} never uses what rank {unused.src} sends it of chunk {unused.chunk}: a schedule has "
                "no transfers for nothing"
            )
        return self._moves

    def _run(self, piece: int, received: list[_Value] | None) -> list[_Value] | None:
        """Does a piece; what it sends."""
        flat, kind = self._flat, self._type[self._step]
        first, count = int(self._pieces.first_chunk[piece]), int(self._pieces.count[piece])
        source, target = int(flat.source[self._step]) + first, int(flat.destination[self._step]) + first
        rank = int(flat.block_rank[flat.step_block[self._step]])
        values = [] if received is None else [self._arrived(rank, value) for value in received]
        if kind.reads:
            local = [self._read(at) for at in range(source, source + count)]
            if kind == StepType.REDUCE:
                values = [self._read(at) for at in range(target, target + count)]
            values = [self._sum(rank, a, b) for a, b in zip(local, values, strict=True)] if values else local
        if kind.writes:
            self._memory[target : target + count] = values
        return [self._sent(rank, value) for value in values] if kind.sends else None

    def _read(self, location: int) -> _Value:
        value = self._memory[location]
        if value is None:
            raise self._error("reads memory that nothing was written to")
        return value

    def _sent(self, rank: int, value: _Value) -> _Value:
        """The message's content; the schedule's transfer begins."""
        for at, move in enumerate(value.pending):
            self._deliver(move, reduce=at > 0)
        held = self._held.get((rank, value.chunk), 0)
        beside = held != value.ranks
        if beside and value.ranks != 1 << rank:
            raise self._error(
                f"sends chunk {value.chunk} with the contributions of {_ranks(value.ranks)}, while the rank has them "
                f"of {_ranks(held)} elsewhere"
            )
        block = self._flat.blocks[int(self._flat.step_block[self._step])]
        self._moves.append(ChunkMove(value.chunk, value.ranks, rank, block.send, self._now, beside=beside))
        return _Value(value.chunk, value.ranks, (self._moves[-1],))

    def _arrived(self, rank: int, value: _Value) -> _Value:
        """A message's content at its destination: delivered at once where it takes nothing away."""
        held = self._held.get((rank, value.chunk), 0)
        if held & value.ranks == held:
            self._deliver(value.moves[0], reduce=False)
        return value

    def _sum(self, rank: int, first: _Value, second: _Value) -> _Value:
        if first.chunk != second.chunk or first.ranks & second.ranks:
            raise self._error(
                f"adds chunk {first.chunk} of {_ranks(first.ranks)} to chunk {second.chunk} of {_ranks(second.ranks)}"
            )
        whole = _Value(first.chunk, first.ranks | second.ranks, first.pending + second.pending)
        own = [value for value in (first, second) if not value.pending]
        if not own:
            return whole
        if own != [first, second] and self._held.get((rank, first.chunk), 0) == own[0].ranks:
            for move in whole.moves:
                self._deliver(move, reduce=True)
            return whole
        raise self._error(
            f"adds to chunk {first.chunk} of {_ranks(own[0].ranks)}, while the rank has it of "
            f"{_ranks(self._held.get((rank, first.chunk), 0))} elsewhere"
        )

    def _deliver(self, move: ChunkMove, *, reduce: bool) -> None:
        """From now on the schedule's rank holds it: in place of what it held, or added to it."""
        place = (move.dst, move.chunk)
        self._held[place] = move.ranks | (self._held.get(place, 0) if reduce else 0)
        move.reduce, move.finish = reduce, self._now

    def _error(self, problem: str) -> ScheduleError:
        return ScheduleError(
            f"{self._flat.place(self._step)} {problem}: a schedule has one value of a chunk on a rank, so it cannot "
            "say that"
        )


def _ranks(bits: int) -> str:
    numbers = [rank for rank in range(bits.bit_length()) if bits >> rank & 1]
    return f"ranks {', '.join(map(str, numbers))}" if numbers else "no rank"
