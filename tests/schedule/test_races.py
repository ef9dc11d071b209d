"""Races against a brute-force oracle: the transitive closure of what orders steps, and all pairs of accesses."""

from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import greedy_schedule, steps_of, with_steps

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import Kind, Program, execute
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.memory import lay_out
from hocket.translator import lower, read_xml

DATA = Path(__file__).parents[1] / "data" / "msccl_xml"
DEEP = 1000  # no send ever waits for a slot
PROGRAMS = [read_xml(path) for path in sorted(DATA.glob("*.xml"))] + [
    lower(greedy_schedule(kind, 4, 2, seed), profile)
    for seed, kind in enumerate([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE])
    for profile in ("executor", "rccl")
]


def has_race(program: Program) -> bool:
    """For a program that completes: whether two conflicting accesses are unordered."""
    flat = FlatProgram(program, lay_out(program, program.in_place))
    number = len(flat.steps)
    causes: list[list[int]] = [[] for _ in range(number)]
    sends, receives = defaultdict(list), defaultdict(list)
    for step in range(number):
        block = int(flat.step_block[step])
        causes[step] += [step - 1] if step > flat.first_step[block] else []
        causes[step] += [int(flat.depends_on[step])] if flat.depends_on[step] >= 0 else []
        if flat.steps[step].type.sends:
            sends[flat.send_connection[block]].append(step)
        if flat.steps[step].type.receives:
            receives[flat.receive_connection[block]].append(step)
    for connection, taken in receives.items():
        for send, receive in zip(sends[connection], taken, strict=True):
            causes[receive].append(send)
    before = np.eye(number, dtype=bool)
    for step, earlier in enumerate(causes):
        before[step, earlier] = True
    for middle in range(number):
        before |= before[:, middle : middle + 1] & before[middle]
    accesses = defaultdict(list)
    for step, what in enumerate(flat.steps):
        for k in range(what.count):
            if what.type.reads:
                accesses[int(flat.source[step]) + k].append((step, False))
            if what.type.writes:
                accesses[int(flat.destination[step]) + k].append((step, True))
    return any(
        (first_writes or second_writes) and not (before[first, second] or before[second, first])
        for location in accesses.values()
        for (first, first_writes), (second, second_writes) in combinations(location, 2)
    )


@given(st.sampled_from(PROGRAMS), st.data())
@settings(max_examples=80)
def test_races_are_those_of_the_closure(program: Program, data: st.DataObject) -> None:
    waiting = [place for place in steps_of(program) if place[3].depend_block >= 0 and place[3].type != "nop"]
    for _ in range(data.draw(st.integers(0, 2))):
        if waiting:
            rank, block, position, old = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            alone = replace(old, depend_block=-1, depend_step=-1)
            program = with_steps(program, rank, block, {position: alone})
    try:
        execute(program, fifo_depth=DEEP)
    except DeadlockError:
        return
    except ScheduleError as error:
        assert has_race(program) == ("race on" in str(error))
    else:
        assert not has_race(program)
