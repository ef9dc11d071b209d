"""Symbolic execution: verdicts on reference programs, and every mutation found."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from programs import greedy_schedule, steps_of, with_steps

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import (
    FIFO_DEPTH,
    Gpu,
    Kind,
    Program,
    Step,
    StepType,
    ThreadBlock,
    execute,
)
from hocket.translator import lower, read_xml

DATA = Path(__file__).parents[1] / "data" / "msccl_xml"


def verdict(program: Program, max_count: int | None = None) -> str:
    """In the words of the reference table."""
    try:
        execute(program, fifo_depth=FIFO_DEPTH[program.protocol], max_count=max_count)
    except DeadlockError:
        return "deadlock"
    except ScheduleError as error:
        return "race" if "race on" in str(error) else "wrong"
    return "ok"


@pytest.mark.shared
def test_reference_programs_get_the_reference_verdicts(shared: Path) -> None:
    folder = shared / "msccl_xml"
    for row in csv.DictReader((folder / "index.csv").read_text().splitlines()):
        program = read_xml(folder / row["file"])
        assert verdict(program) == row["xmlsim"], row["file"]
        # the least messages of so many chunks with which nothing deadlocks
        least = int(row["min_maxcount_no_deadlock"])
        assert verdict(program, least) == row["xmlsim"], row["file"]
        if least > 1:
            assert verdict(program, least - 1) == "deadlock", row["file"]


def chain(*steps: Step, send: int = -1, receive: int = -1) -> ThreadBlock:
    return ThreadBlock(send, receive, 0, steps)


def step(kind: str, offset: int, count: int = 1, *, buffer: str = "i", **extra: object) -> Step:
    return replace(Step(StepType(kind), buffer, offset, buffer, offset, count), **extra)


def program(*ranks: tuple[ThreadBlock, ...], chunks: int = 2, kind: Kind = Kind.ALL_REDUCE) -> Program:
    gpus = tuple(Gpu(chunks, chunks, 0, blocks) for blocks in ranks)
    return Program("test", kind, chunks, 1, "Simple", True, False, 0, 0, gpus)


def exchange(first: str, second: str) -> Program:
    """Both ranks first send their `first`, then take the other's; one thread block each."""
    return program(
        (chain(step("s", int(first)), step("rrc", int(second)), send=1, receive=1),),
        (chain(step("s", int(second)), step("rrc", int(first)), send=0, receive=0),),
    )


def test_values_say_what_is_missing() -> None:
    # each rank reduces one of the two chunks and never gets the other back
    with pytest.raises(
        ScheduleError, match=r"rank 0 i\[0\] = o\[0\] must hold chunk 0 of every rank once: rank 1's is miss"
    ):
        execute(exchange("0", "1"))


def test_values_say_what_is_doubled() -> None:
    twice = (chain(step("rrc", 0), step("rrc", 0), receive=1),)
    with pytest.raises(ScheduleError, match=r"rank 0 .* rank 1's chunk 0 is there 2x"):
        execute(program(twice, (chain(step("s", 0), step("s", 0), send=0),), chunks=1), fifo_depth=2)


def test_undefined_memory_is_no_value() -> None:
    out_of_place = replace(program((chain(step("s", 0), send=1),), (chain(step("r", 0), receive=0),), chunks=1), root=0)
    out_of_place = replace(out_of_place, kind=Kind.BROADCAST, in_place=False, out_of_place=True)
    with pytest.raises(ScheduleError, match=r"rank 0 o\[0\] ends undefined; it must hold chunk 0 of rank 0"):
        execute(out_of_place)


def test_the_input_of_an_out_of_place_call_stays_as_it_is() -> None:
    both = replace(exchange("0", "0"), in_place=False, out_of_place=True)
    with pytest.raises(ScheduleError, match=r"rank 0"):
        execute(both)


def test_head_to_head_sends_need_a_deep_enough_fifo() -> None:
    # both ranks send two chunks before they take any: two messages must fit in each connection
    head_to_head = program(
        *(
            (chain(*(step(kind, at) for kind in ("s", "rrc") for at in (0, 1)), send=other, receive=other),)
            for other in (1, 0)
        )
    )
    with pytest.raises(DeadlockError, match="closes the cycle of 2 waits") as found:
        execute(head_to_head, fifo_depth=1)
    assert "rank 0 thread block 0 step 1 (s i[1] to rank 1) waits for a free slot" in str(found.value)
    assert execute(head_to_head, fifo_depth=2).messages == 4


def test_a_dependency_that_is_never_published_hangs() -> None:
    waiting = chain(step("s", 0, depend_block=1, depend_step=0), send=1)
    silent = chain(step("cpy", 0))
    other = (chain(step("rrc", 0), receive=0),)
    with pytest.raises(DeadlockError, match="step 0 of thread block 1, which never publishes"):
        execute(program((waiting, silent), other))


def test_counts_must_agree_on_a_connection() -> None:
    with pytest.raises(ScheduleError, match=r"sends 2 chunks where .* takes 1"):
        execute(program((chain(step("s", 0, 2), send=1),), (chain(step("rrc", 0), receive=0),)))


def test_messages_must_be_taken() -> None:
    with pytest.raises(ScheduleError, match=r"the message of rank 0 .* is never received"):
        execute(program((chain(step("s", 0), send=1),), (chain(receive=0),)))


def test_a_connection_has_one_block_at_each_end() -> None:
    with pytest.raises(ScheduleError, match="rank 0: thread blocks 0 and 1 both send on the connection 0 -> 1"):
        execute(program((chain(send=1), chain(send=1)), (chain(receive=0),)))


def test_unordered_accesses_are_a_race() -> None:
    # rank 0 overwrites in one block what the other may not have sent yet
    racing = program(
        (chain(step("s", 0), send=1), chain(step("rrc", 0), receive=1)),
        (chain(step("s", 0), send=0), chain(step("rrc", 0), receive=0)),
        chunks=1,
    )
    with pytest.raises(ScheduleError, match=r"race on rank 0 i\[0\] = o\[0\]: .* \(rrc .*and nothing orders"):
        execute(racing)


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_step_must_not_overwrite_what_it_still_reads(shift: int) -> None:
    # chunks 1 and 2 of scratch onto 0 and 1 (or 2 and 3): chunk 1 (or 2) is read and written, in no order
    def copy(source: str, at: int, target: str, to: int) -> Step:
        return Step(StepType.COPY, source, at, target, to, 2)

    steps = copy("i", 0, "s", 1), copy("s", 1, "s", 1 + shift), copy("s", 1 + shift, "o", 0)
    gpu = Gpu(2, 2, 4, (chain(*steps),))
    shifted = Program("shift", Kind.ALL_GATHER, 2, 1, "Simple", False, True, 0, 0, (gpu,))
    with pytest.raises(ScheduleError, match=r"rank 0 thread block 0 step 1 .* 2 chunks that overlap by 1"):
        execute(shifted)


def test_messages_order_accesses() -> None:
    # rank 0's chunk comes back after rank 1 has it: no dependency is needed between its two blocks
    there_and_back = program(
        (chain(step("s", 0), send=1), chain(step("r", 0), receive=1)),
        (chain(step("rrc", 0), step("s", 0), send=0, receive=0),),
        chunks=1,
    )
    assert execute(there_and_back).messages == 2


MUTATED = [
    lower(greedy_schedule(kind, 5, 2, seed), profile)
    for seed, (kind, profile) in enumerate(
        [(Kind.ALL_GATHER, "msccl"), (Kind.ALL_REDUCE, "executor"), (Kind.REDUCE_SCATTER, "rccl")]
    )
]
NAMES = ["all_gather", "all_reduce", "reduce_scatter"]


def refuted(changed: Program) -> bool:
    try:
        execute(changed, fifo_depth=8)
    except (ScheduleError, DeadlockError):
        return True
    return False


@pytest.mark.parametrize("right", MUTATED, ids=NAMES)
def test_every_dropped_dependency_is_found(right: Program) -> None:
    # lowering keeps only dependencies that nothing else implies, so each one is needed
    tried = 0
    for rank, block, position, old in steps_of(right):
        if old.depend_block >= 0:
            tried += 1
            assert refuted(with_steps(right, rank, block, {position: replace(old, depend_block=-1, depend_step=-1)}))
    assert tried >= 10


@pytest.mark.parametrize("right", MUTATED, ids=NAMES)
def test_every_cleared_last_hasdep_is_found(right: Program) -> None:
    last = {(rank, block): (position, old) for rank, block, position, old in steps_of(right) if old.has_dependents}
    assert len(last) >= 5
    for (rank, block), (position, old) in last.items():
        assert refuted(with_steps(right, rank, block, {position: replace(old, has_dependents=False)}))


@pytest.mark.parametrize("right", MUTATED, ids=NAMES)
def test_swapped_sends_and_changed_offsets_are_found(right: Program) -> None:
    tried = 0
    for rank, block, position, old in steps_of(right):
        after = right.gpus[rank].thread_blocks[block].steps[position + 1 : position + 2]
        if old.type != StepType.SEND or not after:
            continue
        tried += 1
        data = {"src_offset": after[0].src_offset}
        swapped = {position: replace(old, **data), position + 1: replace(after[0], src_offset=old.src_offset)}
        assert refuted(with_steps(right, rank, block, swapped))
        assert refuted(with_steps(right, rank, block, {position: replace(old, **data)}))
    assert tried >= 10
