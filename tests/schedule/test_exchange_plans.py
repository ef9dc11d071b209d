"""Exchange plans, walked through by ranks whose sends wait for their receives, against the verifier's conditions."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from exchange_world import World
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import greedy_schedule

from hocket.base.errors import DeadlockError, FormatError
from hocket.schedule import ExchangePlan, Gpu, Kind, Program, Step, StepType, ThreadBlock, execute, plan_exchanges
from hocket.translator import Lowering, lower, read_xml

DATA = Path(__file__).parents[1] / "data" / "msccl_xml"
S, R, RCS = StepType.SEND, StepType.RECEIVE, StepType.RECEIVE_COPY_SEND


def plans(program: Program) -> list[ExchangePlan]:
    calls = ((True, program.in_place), (False, program.out_of_place))
    return [plan_exchanges(program, in_place) for in_place, declared in calls if declared]


def check(program: Program, seed: int = 0) -> None:
    for plan in plans(program):
        world = World(program, plan, seed)
        world.run()
        assert world.wrong() == 0


@pytest.mark.shared
def test_every_right_reference_is_right_without_fifos(shared: Path) -> None:
    folder = shared / "msccl_xml"
    with (folder / "index.csv").open() as index:
        rows = [row for row in csv.DictReader(index) if row["xmlsim"] == "ok" and row["collective"] != "custom"]
    assert len(rows) == 69
    for row in rows:
        check(read_xml(folder / row["file"]))


@given(
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]),
    ranks=st.integers(2, 5),
    chunks=st.integers(1, 3),
    in_place=st.booleans(),
    paired=st.sampled_from([True, None]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60)
def test_generated_programs_are_right_without_fifos(
    kind: Kind, ranks: int, chunks: int, in_place: bool, paired: bool | None, seed: int
) -> None:
    program = lower(greedy_schedule(kind, ranks, chunks, seed), "executor", Lowering(in_place=in_place, paired=paired))
    execute(program, fifo_depth=1)
    check(program, seed)


def two_ranks(kind: Kind, *steps: tuple[Step, Step]) -> Program:
    """In place, two chunks; one thread block per rank, each connected to the other."""
    gpus = tuple(Gpu(2, 2, 0, (ThreadBlock(1 - rank, 1 - rank, 0, mine),)) for rank, mine in enumerate(steps))
    return Program("two", kind, 2, 1, "Simple", True, False, 0, 0, gpus)


def test_what_is_overwritten_before_it_is_received_is_kept() -> None:
    """Each sends the chunk that it receives into: without a FIFO one of the two messages needs a copy."""
    swap = two_ranks(
        Kind.ALL_TO_ALL,
        (Step(S, "i", 1, "o", 1, 1), Step(R, "i", 1, "o", 1, 1)),
        (Step(S, "i", 0, "o", 0, 1), Step(R, "i", 0, "o", 0, 1)),
    )
    execute(swap, fifo_depth=1)
    check(swap)
    (plan,) = plans(swap)
    assert sum(rank.staging_chunks for rank in plan.ranks) == 1


def chain(ranks: int, chunks: int) -> Program:
    """A broadcast from rank 0, which every rank passes on chunk by chunk."""

    def block(rank: int) -> ThreadBlock:
        kind = S if rank == 0 else RCS if rank < ranks - 1 else R
        steps = tuple(Step(kind, "o", chunk, "o", chunk, 1) for chunk in range(chunks))
        return ThreadBlock(rank + 1 if rank < ranks - 1 else -1, rank - 1, 0, steps)

    gpus = tuple(Gpu(chunks, chunks, 0, (block(rank),)) for rank in range(ranks))
    return Program("chain", Kind.BROADCAST, chunks, 1, "Simple", True, False, 0, 0, gpus)


def test_chunks_follow_each_other_through_a_chain() -> None:
    program = chain(ranks=5, chunks=3)
    check(program)
    (plan,) = plans(program)
    assert plan.rounds == 4 + 2  # the last chunk leaves in round 3 and passes four connections
    middle = plan.ranks[2].exchanges
    assert [(len(exchange.sends), len(exchange.receives)) for exchange in middle] == [(0, 1), (1, 1), (1, 1), (1, 0)]
    assert [exchange.round for exchange in middle] == [2, 3, 4, 5]


def both_ways() -> Program:
    """An all_reduce of two ranks: each sends all that it has, while another thread block adds what comes to it."""

    def blocks(other: int) -> tuple[ThreadBlock, ...]:
        adds = tuple(Step(StepType.RECEIVE_REDUCE_COPY, "o", k, "o", k, 1, 1, k) for k in range(2))
        sends = tuple(Step(S, "o", k, "o", k, 1, has_dependents=True) for k in range(2))
        return ThreadBlock(-1, other, 0, adds), ThreadBlock(other, -1, 0, sends)

    gpus = tuple(Gpu(2, 2, 0, blocks(1 - rank)) for rank in range(2))
    return Program("both", Kind.ALL_REDUCE, 2, 1, "Simple", True, False, 0, 0, gpus)


@pytest.mark.parametrize(
    "program",
    [both_ways(), lower(greedy_schedule(Kind.REDUCE_SCATTER, 2, 1, 0), "executor", Lowering(in_place=False))],
    ids=["all_reduce", "reduce_scatter"],
)
def test_two_ranks_that_add_up_copy_nothing(program: Program) -> None:
    """Programs keep what they send in a FIFO, copy their input into scratch, and their sum to the output; rounds need
    none of it."""
    (plan,) = plans(program)
    check(program)
    steps = [step for rank in plan.ranks for exchange in rank.exchanges for step in exchange.local_steps]
    assert steps
    assert all(step.other is not None for step in steps)


def test_a_program_that_waits_for_ever_has_no_plan() -> None:
    never = two_ranks(
        Kind.ALL_TO_ALL,
        (Step(R, "i", 1, "o", 1, 1), Step(S, "i", 1, "o", 1, 1)),
        (Step(R, "i", 0, "o", 0, 1), Step(S, "i", 0, "o", 0, 1)),
    )
    with pytest.raises(DeadlockError, match="4 steps can never begin"):
        plan_exchanges(never, in_place=True)


def test_a_lost_message_or_local_step_is_noticed() -> None:
    """The world that the plans above are right in tells wrong ones."""
    program = read_xml(DATA / "reduce_scatter_ring_4.xml")
    plan = plans(program)[0]

    def world_without(what: str) -> World:
        exchanges = list(plan.ranks[0].exchanges)
        number = next(number for number, exchange in enumerate(exchanges) if getattr(exchange, what))
        exchanges[number] = replace(exchanges[number], **{what: getattr(exchanges[number], what)[1:]})
        broken = replace(plan.ranks[0], exchanges=tuple(exchanges))
        return World(program, replace(plan, ranks=(broken, *plan.ranks[1:])), 0)

    with pytest.raises(AssertionError, match=r"deadlock|different rounds"):
        world_without("sends").run()
    careless = world_without("local_steps")
    careless.run()
    assert careless.wrong() > 0


def test_json_says_it_all() -> None:
    for program in (chain(3, 2), lower(greedy_schedule(Kind.ALL_REDUCE, 4, 2, 5), "executor")):
        for plan in plans(program):
            assert ExchangePlan.from_json(plan.to_json(), "plan.json") == plan


@given(
    st.binary(max_size=60) | st.sampled_from([b'{"in_place":true,"ranks":[{"staging_chunks":"x"}]}', b"[" * 100_000])
)
def test_what_is_no_plan_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"plan\.json: not an exchange plan"):
        ExchangePlan.from_json(data, "plan.json")
