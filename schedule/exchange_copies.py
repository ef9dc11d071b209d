"""Fewer copies in an exchange plan: programs copy where a FIFO or a thread block needs it, which rounds do not.

The idea is a compiler's: a rank's part is a straight line, so that it is known which step wrote what another reads.
A result that is only copied on is written where the copy goes (`_write_through`); what was copied and is still there is
read where it came from (`_read_originals`); what nobody reads then, outside of the call's own buffers, is not done
(`_drop_unread`). Messages stay, so that the other end need not know. Compare with copy propagation and dead store
elimination in any compiler's book.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from hocket.schedule.exchange import EXCHANGE_BUFFERS, Exchange, ExchangeMessage, LocalStep, Piece, RankPlan
from hocket.schedule.memory import Memory, call_sizes
from hocket.schedule.program import Program

__all__ = ["without_copies"]


@dataclass(slots=True)
class _Operation:
    """A send (no target), a receive (no source) or a local step; places as in `Memory`, -1: none."""

    round: int
    peer: int
    source: int
    other: int
    target: int
    count: int

    @property
    def is_copy(self) -> bool:
        return self.peer < 0 and self.other < 0

    @property
    def reads(self) -> list[int]:
        return [at for at in (self.source, self.other) if at >= 0]


def without_copies(plan: RankPlan, program: Program, memory: Memory, rank: int) -> RankPlan:
    """The same result by the same messages. Time and memory are linear in the chunks that are moved."""
    return _Shortening(program, memory, rank, plan).plan()


class _Shortening:
    def __init__(self, program: Program, memory: Memory, rank: int, plan: RankPlan) -> None:
        self._staging_chunks = plan.staging_chunks
        sizes = (*call_sizes(program, rank), program.gpus[rank].scratch_chunks, plan.staging_chunks)
        scratch = int(memory.base[rank, 2] - memory.base[rank].min())
        starts = (*(memory.base[rank] - memory.base[rank].min()).tolist(), scratch + sizes[2])
        self._buffers: dict[str, tuple[int, int]] = {
            name: (starts[k], starts[k] + sizes[k]) for k, name in enumerate(EXCHANGE_BUFFERS)
        }
        self._size = starts[3] + sizes[3]
        self._kept = np.arange(self._size) < scratch  # what the caller sees after the call
        self._operations = list(self._unfold(plan))

    def plan(self) -> RankPlan:
        self._write_through()
        self._read_originals()
        self._drop_unread()
        rounds = groupby(self._operations, lambda operation: operation.round)
        return RankPlan(self._staging_chunks, tuple(self._fold(number, list(done)) for number, done in rounds))

    def _unfold(self, plan: RankPlan) -> Iterator[_Operation]:
        for exchange in plan.exchanges:
            for peer, place, count in exchange.sends:
                yield _Operation(exchange.round, peer, self._location(place), -1, -1, count)
            for peer, place, count in exchange.receives:
                yield _Operation(exchange.round, peer, -1, -1, self._location(place), count)
            for source, other, target, count in exchange.local_steps:
                second = -1 if other is None else self._location(other)
                yield _Operation(exchange.round, -1, self._location(source), second, self._location(target), count)

    def _fold(self, number: int, done: list[_Operation]) -> Exchange:
        messages = [one for one in done if one.peer >= 0]
        return Exchange(
            number,
            tuple(ExchangeMessage(m.peer, self._piece(m.source, m.count), m.count) for m in messages if m.target < 0),
            tuple(ExchangeMessage(m.peer, self._piece(m.target, m.count), m.count) for m in messages if m.source < 0),
            tuple(
                LocalStep(
                    self._piece(step.source, step.count),
                    None if step.other < 0 else self._piece(step.other, step.count),
                    self._piece(step.target, step.count),
                    step.count,
                )
                for step in done
                if step.peer < 0
            ),
        )

    def _location(self, piece: Piece) -> int:
        return self._buffers[piece.buffer][0] + piece.offset

    def _buffer(self, at: int, count: int) -> str | None:
        """One that holds these chunks; None where they lie in two."""
        holding = (name for name, (start, end) in self._buffers.items() if start <= at and at + count <= end)
        return next(holding, None)

    def _piece(self, at: int, count: int) -> Piece:
        name = self._buffer(at, count)
        assert name is not None
        return Piece(name, at - self._buffers[name][0])

    def _last_reads(self) -> list[bool]:
        """Of each operation, whether what it reads is overwritten or lost before anybody else reads it."""
        needed = self._kept.copy()
        last = []
        for operation in reversed(self._operations):
            count = operation.count
            if operation.target >= 0:
                needed[operation.target : operation.target + count] = False
            last.append(not any(needed[at : at + count].any() for at in operation.reads))
            for at in operation.reads:
                needed[at : at + count] = True
        return last[::-1]

    def _write_through(self) -> None:
        """`x = a + b; y = x`, where x is not needed any more, becomes `y = a + b`."""
        written = np.full(self._size, -1)  # the last operation that did
        touched = np.full(self._size, -1)
        begun: dict[int, int] = {}  # first operation of each round: its messages go at once
        shorter: list[_Operation] = []
        for operation, is_last in zip(self._operations, self._last_reads(), strict=True):
            source, target, count = operation.source, operation.target, operation.count
            at = len(shorter)
            if operation.is_copy and is_last and source != target:
                maker = int(written[source])
                made = shorter[maker] if maker >= 0 else None
                if (
                    made is not None
                    and (made.target, made.count) == (source, count)
                    and (touched[source : source + count] == maker).all()
                    and (touched[target : target + count] < (begun[made.round] if made.peer >= 0 else maker)).all()
                ):
                    made.target = target
                    written[target : target + count] = touched[target : target + count] = maker
                    continue
            begun.setdefault(operation.round, at)
            for place in operation.reads:
                touched[place : place + count] = at
            if target >= 0:
                written[target : target + count] = touched[target : target + count] = at
            shorter.append(operation)
        self._operations = shorter

    def _read_originals(self) -> None:
        """`y = x; z = y + a` becomes `y = x; z = x + a`, as long as x is what it was: its version tells."""
        version = np.zeros(self._size, np.int64)
        original = np.arange(self._size)
        version_then = np.zeros(self._size, np.int64)
        received: dict[int, set[int]] = {}
        for operation in self._operations:
            if operation.source < 0:
                places = range(operation.target, operation.target + operation.count)
                received.setdefault(operation.round, set()).update(places)

        def read(at: int, operation: _Operation) -> int:
            count, first = operation.count, int(original[at])
            there = slice(first, first + count)
            if not (
                (original[at : at + count] == np.arange(first, first + count)).all()
                and (version_then[at : at + count] == version[there]).all()
                and self._buffer(first, count)
            ):
                return at
            if operation.target >= 0:
                return at if 0 < abs(operation.target - first) < count else first
            return first if received.get(operation.round, set()).isdisjoint(range(first, first + count)) else at

        for operation in self._operations:
            count, target = operation.count, operation.target
            if operation.source >= 0:
                operation.source = read(operation.source, operation)
            if operation.other >= 0:
                operation.other = read(operation.other, operation)
            if target >= 0 and not (operation.is_copy and operation.source == target):
                first = operation.source if operation.is_copy else target
                there = slice(target, target + count)
                version[there] += 1
                original[there] = np.arange(first, first + count)
                version_then[there] = version[first : first + count]

    def _drop_unread(self) -> None:
        needed = self._kept.copy()
        used = []
        for operation in reversed(self._operations):
            target, count = operation.target, operation.count
            if target >= 0:
                is_unread = operation.peer < 0 and not needed[target : target + count].any()
                if is_unread or (operation.is_copy and operation.source == target):
                    continue
                needed[target : target + count] = False
            for at in operation.reads:
                needed[at : at + count] = True
            used.append(operation)
        self._operations = used[::-1]
