"""Mutants of right programs: found, or right by a second opinion that runs them with numbers in the worst orders."""

from dataclasses import replace
from pathlib import Path

import pytest

from hocket.bench.interleavings import gets_stuck, right_in_the_worst_orders, same_waits
from hocket.bench.translator import mutants, outcome
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering, lower, read_xml

GOLDEN = sorted((Path(__file__).parents[1] / "data" / "msccl_xml").glob("*.xml"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_no_mutant_is_missed(path: Path) -> None:
    program = read_xml(path)
    fates = [(name, outcome(program, mutant, rank, block)) for name, rank, block, mutant in mutants(program)]
    assert any(fate == "found" for _, fate in fates)
    assert not [name for name, fate in fates if fate == "MISSED"]


def test_the_second_opinion_tells_right_from_wrong() -> None:
    schedule = build(
        "direct", Collective(Kind.ALL_REDUCE, 3, 3000), load("fully_connected:3,bandwidth=1GB/s,latency=1us")
    )
    program = lower(schedule, "executor")
    places = [(rank, block) for rank, gpu in enumerate(program.gpus) for block in range(len(gpu.thread_blocks))]
    assert all(right_in_the_worst_orders(program, *place) for place in places)
    dropped = [mutant for mutant in mutants(program) if mutant[0] == "dropped dependency"]
    # what lowering leaves of the dependencies is needed, every one
    assert dropped
    for _, rank, block, mutant in dropped:
        assert not same_waits(program, mutant)
        assert not right_in_the_worst_orders(mutant, rank, block)


def test_rings_of_shared_blocks_get_stuck_where_connections_hold_one_message() -> None:
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 4, 4000), load("ring:4,bandwidth=1GB/s,latency=1us"))
    shared, apart = lower(schedule, "executor", Lowering(slots=2)), lower(schedule, "executor")
    assert gets_stuck(shared, 1)
    assert not gets_stuck(shared, 2)
    assert not gets_stuck(apart, 1)
    assert gets_stuck(replace(apart, gpus=(replace(apart.gpus[0], thread_blocks=()), *apart.gpus[1:])), 8)
