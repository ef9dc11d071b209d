"""Symbolic execution of a program as the MSCCL interpreter kernel runs it, and what that proves."""

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hocket._core import schedule as engine
from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule.collective import Kind
from hocket.schedule.counterexample import (
    Counterexample,
    count_mismatch,
    deadlock,
    race,
    unreceived,
    wrong_value,
)
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.memory import lay_out
from hocket.schedule.program import Program

__all__ = ["Proof", "attempt", "execute", "least_safe_count"]


class _Outcome(IntEnum):
    PROVED = 0
    DEADLOCK = 1
    COUNT_MISMATCH = 2
    UNRECEIVED = 3
    WRONG_VALUE = 4
    RACE = 5


@dataclass(frozen=True, slots=True)
class Proof:
    """What an execution proved: no deadlock with connections of `fifo_depth` messages, of at most `max_count` chunks
    each (None: whole steps), no race, and, if `values` (a custom collective says nothing of its values), every wanted
    chunk in its place with every contribution exactly once. `calls` are those it was executed for.
    """

    calls: tuple[str, ...]
    fifo_depth: int
    max_count: int | None
    messages: int
    values: bool

    def describe(self) -> str:
        values = "every contribution exactly once" if self.values else "values not checked (custom collective)"
        return (
            f"{' and '.join(self.calls)}, {_conditions(self.fifo_depth, self.max_count)}, {self.messages} messages: "
            f"no deadlock, no race, {values}"
        )


def execute(
    program: Program,
    *,
    fifo_depth: int = 1,
    max_count: int | None = None,
    in_place: bool | None = None,
) -> Proof:
    """Executes the program symbolically; `in_place` None: for every kind of call it declares itself right for.

    Raises DeadlockError with the cycle of waits, or ScheduleError with the lost or doubled contribution, the two
    unordered accesses, or the structural rule that is broken. One slice of the buffer is executed: the slices touch
    different bytes and every one starts as the first did, so what holds for one holds for all.
    """
    if fifo_depth < 1 or (max_count is not None and max_count < 1):
        raise ScheduleError(f"FIFO depth {fifo_depth} and chunks per message {max_count} must be at least 1")
    found = attempt(program, fifo_depth=fifo_depth, max_count=max_count, in_place=in_place)
    if isinstance(found, Counterexample):
        raise (DeadlockError if found.deadlock else ScheduleError)(*found.text.split("\n"))
    return found


def attempt(
    program: Program,
    *,
    fifo_depth: int,
    max_count: int | None = None,
    in_place: bool | None = None,
) -> Proof | Counterexample:
    """As `execute`, but a program that is wrong is answered with a counterexample; only one whose structure is broken
    (`FlatProgram`), so that it cannot be executed, raises ScheduleError."""
    calls = _calls(program) if in_place is None else [in_place]
    messages = 0
    for call in calls:
        found = _Call(program, call).prove(fifo_depth, max_count)
        if isinstance(found, Counterexample):
            return found
        messages = messages or found
    names = tuple("in place" if call else "out of place" for call in calls)
    return Proof(names, fifo_depth, max_count, messages, program.kind is not Kind.CUSTOM)


def least_safe_count(program: Program, *, fifo_depth: int) -> int | None:
    """The least number of a step's chunks in a message with which no declared call of the program deadlocks: 1 when
    none ever does, None when some does even with whole steps (or its messages do not match).

    Smaller messages only wait more (there are more of them, and a connection holds as many as before), so that what
    holds for a number holds for all above it. Raises ScheduleError for a broken structure, as `execute`.
    """
    calls = [_Call(program, call) for call in _calls(program)]
    high = int(program.rows["count"].max(initial=1))
    if all(call.completes(fifo_depth, 1) for call in calls):
        return 1
    if not all(call.completes(fifo_depth, high) for call in calls):
        return None
    low = 1
    while high - low > 1:
        middle = (low + high) // 2
        if all(call.completes(fifo_depth, middle) for call in calls):
            high = middle
        else:
            low = middle
    return high


def _conditions(fifo_depth: int, max_count: int | None) -> str:
    splitting = "whole steps" if max_count is None else f"at most {max_count} of a step's chunks"
    return f"FIFO depth {fifo_depth} with messages of {splitting}"


def _calls(program: Program) -> list[bool]:
    calls = [call for call, declared in ((True, program.in_place), (False, program.out_of_place)) if declared]
    if not calls:
        raise ScheduleError("the program is declared neither in-place nor out-of-place: no call would ever use it")
    return calls


_TELLERS = {
    _Outcome.DEADLOCK: deadlock,
    _Outcome.COUNT_MISMATCH: count_mismatch,
    _Outcome.UNRECEIVED: unreceived,
    _Outcome.WRONG_VALUE: wrong_value,
    _Outcome.RACE: race,
}


class _Call:
    """One kind of call of a program, laid out in memory."""

    def __init__(self, program: Program, in_place: bool) -> None:
        self.name = "in-place" if in_place else "out-of-place"
        self.memory = lay_out(program, in_place)
        self.flat = FlatProgram(program, self.memory)
        self.num_ranks = program.num_ranks

    def run(self, fifo_depth: int, max_count: int | None) -> tuple[_Outcome, list[int], int]:
        """The outcome, the facts of its counterexample, and the number of messages."""
        try:
            outcome, facts, messages = self._execute(fifo_depth, max_count)
        except MemoryError:
            raise ScheduleError("the memory does not suffice to execute the program; use fewer chunks") from None
        return _Outcome(outcome), facts.tolist(), messages

    def _execute(self, fifo_depth: int, max_count: int | None) -> tuple[int, NDArray[np.int64], int]:
        flat, memory = self.flat, self.memory
        return engine.execute(
            num_ranks=self.num_ranks,
            num_connections=len(flat.connections),
            block_rank=flat.block_rank,
            send_connection=flat.send_connection,
            receive_connection=flat.receive_connection,
            first_step=flat.first_step,
            type=flat.type,
            count=flat.count.astype(np.int32),
            source=flat.source,
            destination=flat.destination,
            depends_on=flat.depends_on,
            location_rank=memory.rank,
            initial=memory.initial,
            wanted_location=np.ascontiguousarray(memory.wanted[:, 0]),
            wanted_chunk=memory.wanted[:, 1].astype(np.int32),
            wanted_source=memory.wanted[:, 2].astype(np.int32),
            fifo_depth=fifo_depth,
            max_count=int(flat.count.max(initial=1)) if max_count is None else max_count,
        )

    def completes(self, fifo_depth: int, max_count: int) -> bool:
        """Whether every block reaches its end and every message is taken; values and races are not asked for."""
        outcome, _, _ = self.run(fifo_depth, max_count)
        return outcome in (_Outcome.PROVED, _Outcome.WRONG_VALUE, _Outcome.RACE)

    def prove(self, fifo_depth: int, max_count: int | None) -> int | Counterexample:
        """The number of messages, or what is wrong."""
        outcome, found, messages = self.run(fifo_depth, max_count)
        if outcome == _Outcome.PROVED:
            return messages
        told = _TELLERS[outcome](self.flat, found)
        conditions = f"deadlock at {_conditions(fifo_depth, max_count)}: " if outcome == _Outcome.DEADLOCK else ""
        return replace(told, deadlock=bool(conditions), text=f"{self.name} call: {conditions}{told.text}")
