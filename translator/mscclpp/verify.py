"""Symbolic execution of an MSCCL++ plan, call after call, and what that proves."""

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from hocket._core import schedule as engine
from hocket.base.errors import DeadlockError, ScheduleError
from hocket.base.units import format_limit
from hocket.schedule import Counterexample, Kind
from hocket.translator.mscclpp.counterexample import Words
from hocket.translator.mscclpp.flatten import FlatPlan
from hocket.translator.mscclpp.limits import check_plan_limits
from hocket.translator.mscclpp.memory import Granularity, PlanMemory
from hocket.translator.mscclpp.plan import OPEN_SIZE, ExecutionPlan
from hocket.translator.mscclpp.sizes import granularities, largest_bytes, pipeline_unit, round_bytes

__all__ = ["PlanProof", "PlanRefutation", "attempt_plan", "verify_plan"]


class _Outcome(IntEnum):
    PROVED = 0
    DEADLOCK = 1
    REWRITTEN = 2
    RACE = 3
    WRONG_VALUE = 4
    UNMATCHED = 5


@dataclass(frozen=True, slots=True)
class PlanProof:
    """What the executions of a plan proved: `launches` calls in a row, messages up to `largest_bytes`; pipelines with
    each number of `rounds` for a chunk (no pipeline: 1). `assumed`: orders that only relaxed signals make, the first;
    `values`: False for a plan whose collective has no values to check."""

    in_place: bool
    launches: int
    events: int
    rounds: tuple[int, ...]
    parts: int
    largest_bytes: int
    values: bool
    assumed: str | None

    def describe(self) -> str:
        call = "in place" if self.in_place else "out of place"
        values = "every contribution exactly once" if self.values else "values not checked"
        rounds = "" if self.rounds == (1,) else f", pipelines of {', '.join(map(str, self.rounds))} rounds per chunk"
        parts = "" if self.parts == 1 else f", chunks of {self.parts} equal parts"
        return (
            f"{call}, {self.launches} calls in a row, messages of up to {format_limit(self.largest_bytes)}{rounds}"
            f"{parts}, {self.events} events: no deadlock, no race, {values}"
        )


@dataclass(frozen=True, slots=True)
class PlanRefutation:
    """Why a plan is wrong, and the largest message for which it is right all the same (0: for none)."""

    counterexample: Counterexample
    largest_safe_bytes: int


def verify_plan(plan: ExecutionPlan, *, root: int = 0) -> PlanProof:
    """Executes the plan symbolically, as docs/translator.md#msccl-plans says; `root` matters for broadcast only.

    Proved are values, order of all conflicting accesses (also with those of the caller before and after each call), no
    deadlock, matching signals, and the runtime's limits. Raises DeadlockError or ScheduleError with a counterexample.
    """
    check_plan_limits(plan)
    found = attempt_plan(plan, root=root)
    if isinstance(found, PlanRefutation):
        wrong = found.counterexample
        raise (DeadlockError if wrong.deadlock else ScheduleError)(*wrong.text.split("\n"))
    return found


def attempt_plan(plan: ExecutionPlan, *, root: int = 0) -> PlanProof | PlanRefutation:
    """As `verify_plan`, of a plan within the runtime's limits, but one that is wrong is answered with why."""
    largest = largest_bytes(plan)
    if largest < max(1, plan.min_message_size) or largest < plan.max_message_size < OPEN_SIZE:
        text = (
            f"{plan.name}: its chunks and offsets hold messages of up to {largest} bytes, and it is for "
            f"{plan.min_message_size} to {plan.max_message_size}: write max_message_size={largest} or less, or use "
            "fewer chunks or a smaller alignment"
        )
        return PlanRefutation(Counterexample(text, ()), largest if largest >= plan.min_message_size else 0)
    events, assumed = 0, None
    launches = 3 if plan.use_double_scratch_buffer else 2
    cases = granularities(plan)
    for granularity in cases:
        found = _execute(plan, granularity, root, launches)
        if isinstance(found, Counterexample):
            return PlanRefutation(found, round_bytes(plan, granularity.rounds - 1))
        happened, weak = found
        events += happened
        assumed = assumed or weak
    return PlanProof(
        in_place=plan.in_place,
        launches=launches,
        events=events,
        rounds=tuple(case.rounds for case in cases),
        parts=cases[0].parts,
        largest_bytes=largest,
        values=plan.kind is not Kind.CUSTOM or plan.collective == "sendrecv",
        assumed=assumed,
    )


def _execute(
    plan: ExecutionPlan, granularity: Granularity, root: int, launches: int
) -> tuple[int, str | None] | Counterexample:
    """Events, and in words an order that only relaxed signals make; or why it is wrong."""
    memory = PlanMemory.of(plan, granularity, root)
    flat = FlatPlan(plan, memory)
    outcome, facts, weak, events = engine.execute_plan(
        num_ranks=plan.num_ranks,
        num_chunks=int(max(memory.initial.max(initial=0), memory.wanted[:, 1].max(initial=0))) + 1,
        block_rank=np.array(flat.block_rank, np.int32),
        first_step=np.array(flat.first_step, np.int64),
        kind=np.array(flat.kind, np.uint8),
        flags=np.array(flat.flags, np.uint8),
        object=np.array(flat.object, np.int32),
        count=np.array(flat.count, np.int32),
        first_source=np.array(flat.first_source, np.int64),
        first_destination=np.array(flat.first_destination, np.int64),
        operand_location=np.array(flat.location, np.int64),
        operand_alternate=np.array(flat.alternate, np.int64),
        operand_packet=np.array(flat.packet, np.uint8),
        partner=np.array(flat.partner, np.int32),
        port=np.array([kind == "port" for _, kind, _ in flat.ends], np.uint8),
        barrier_size=np.array(flat.barrier_size, np.int32),
        semaphore=np.array(flat.semaphore, np.int32),
        location_rank=memory.rank,
        initial=memory.initial,
        callers=memory.callers,
        wanted_location=np.ascontiguousarray(memory.wanted[:, 0]),
        wanted_chunk=memory.wanted[:, 1].astype(np.int32),
        wanted_source=memory.wanted[:, 2].astype(np.int32),
        launches=launches,
    )
    words = Words(flat)
    if outcome == _Outcome.PROVED:
        return events, words.weak(weak.tolist()) if len(weak) else None
    tell = {
        _Outcome.DEADLOCK: words.deadlock,
        _Outcome.REWRITTEN: words.rewritten,
        _Outcome.RACE: words.race,
        _Outcome.WRONG_VALUE: words.wrong_value,
        _Outcome.UNMATCHED: words.unmatched,
    }[_Outcome(outcome)]
    wrong = tell(facts.tolist())
    return replace(wrong, text=_case(plan, granularity) + wrong.text, deadlock=outcome == _Outcome.DEADLOCK)


def _case(plan: ExecutionPlan, granularity: Granularity) -> str:
    """For which messages the plan is wrong, where it is not so for all."""
    if pipeline_unit(plan) is None or granularity.rounds == 1:
        return ""
    right = round_bytes(plan, granularity.rounds - 1)
    return (
        f"with messages of more than {format_limit(right)} ({granularity.rounds} rounds of the pipeline a chunk, of "
        f"which scratch holds {granularity.scratch_rounds}; lower max_message_size to {right} to use the plan below): "
    )
