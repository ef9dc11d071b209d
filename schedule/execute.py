"""Symbolic execution of a program as the MSCCL interpreter kernel runs it, and what that proves."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from hocket._core import schedule as engine
from hocket.core.errors import DeadlockError, ScheduleError
from hocket.schedule.collective import Kind
from hocket.schedule.counterexample import (
    count_mismatch,
    deadlock,
    race,
    unreceived,
    wrong_value,
)
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.memory import lay_out
from hocket.schedule.program import Program

__all__ = ["Proof", "execute"]


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
    calls = _calls(program) if in_place is None else [in_place]
    messages = [_execute(program, call, fifo_depth, max_count) for call in calls]
    names = tuple("in place" if call else "out of place" for call in calls)
    return Proof(names, fifo_depth, max_count, messages[0], program.kind is not Kind.CUSTOM)


def _conditions(fifo_depth: int, max_count: int | None) -> str:
    splitting = "whole steps" if max_count is None else f"at most {max_count} of a step's chunks"
    return f"FIFO depth {fifo_depth} with messages of {splitting}"


def _calls(program: Program) -> list[bool]:
    calls = [call for call, declared in ((True, program.in_place), (False, program.out_of_place)) if declared]
    if not calls:
        raise ScheduleError("the program is declared neither in-place nor out-of-place: no call would ever use it")
    return calls


def _execute(program: Program, in_place: bool, fifo_depth: int, max_count: int | None) -> int:
    """Executes one kind of call; the number of messages."""
    memory = lay_out(program, in_place)
    flat = FlatProgram(program, memory)
    largest = int(flat.count.max(initial=1))
    outcome, facts, messages = engine.execute(
        num_ranks=program.num_ranks,
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
        max_count=largest if max_count is None else max_count,
    )
    found = facts.tolist()
    call = "in-place" if in_place else "out-of-place"
    if outcome == _Outcome.DEADLOCK:
        conditions = _conditions(fifo_depth, max_count)
        raise DeadlockError(f"{call} call: deadlock at {conditions}: {deadlock(flat, found)}")
    words = {
        _Outcome.COUNT_MISMATCH: count_mismatch,
        _Outcome.UNRECEIVED: unreceived,
        _Outcome.WRONG_VALUE: wrong_value,
        _Outcome.RACE: race,
    }
    if outcome != _Outcome.PROVED:
        raise ScheduleError(f"{call} call: {words[_Outcome(outcome)](flat, found)}")
    return messages
