"""MSCCL++'s own selection of plans goes wrong, that of register_plans.py does not: on a model, and on its own code from
the checkout and nlohmann's json that HOCKET_MSCCLPP names, /mscclpp:/json/single_include."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from hocket.bench.mscclpp_selection import RANKS, Driver, bundles, calls, fates, modelled, own
from hocket.translator.bundle.plan_choice import PlanCalls
from hocket.translator.selection.mscclpp_stock import Allocation, Contexts

SOURCES = [Path(folder) for folder in os.environ.get("HOCKET_MSCCLPP", "").split(":") if folder]
# of ten sizes in two kinds of call and two element types: 128, 4096, 25,000,064 B, 1 and 64 MiB are multiples of 128 B
# and at most 64 MiB; 16 B and 25,000,000 B are multiples of 16 B, too
RIGHT = {"allreduce": 2 * 5, "allgather": 2 * 5, "reducescatter": 2 * 5, "broadcast": 2 * 7}


@pytest.fixture(scope="module", params=[False, True], ids=["puts", "NVLS"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[PlanCalls]]:
    return bundles(tmp_path_factory.mktemp("bundles"), switches=request.param)


@pytest.mark.parametrize("collective", RIGHT)
def test_every_call_of_register_plans_goes_right(made: dict[str, list[PlanCalls]], collective: str) -> None:
    plans = made[collective]
    found = fates(plans, {call: [own(plans, call, rank) for rank in range(RANKS)] for call in calls(collective)})
    assert found == {"right": RIGHT[collective], "others": found.total() - RIGHT[collective]}


@pytest.mark.parametrize("first", [True, False])
def test_what_goes_wrong_by_mscclpp_s_own(made: dict[str, list[PlanCalls]], first: bool) -> None:
    def found(collective: str) -> dict[str, int]:
        plans = made[collective]
        answers = {call: [modelled(plans, first, call, rank) for rank in range(RANKS)] for call in calls(collective)}
        return dict(fates(plans, answers))

    # of 9 sizes up to 64 MiB, 4 are no multiple, and of uint8 none can be run; the other kind of call never has a plan
    wrong = 4 + 9
    assert found("allreduce")["throw or fail"] == wrong
    # plans are found in order, in-place ones first: taken for out-of-place ones they are run for such calls
    assert found("allreduce")["right" if first else "other kind"] == 5
    # rank 0 alone takes an in-place call for one: of each of two element types, the 7 sizes that 8 ranks can share
    assert found("reducescatter")["ranks differ"] == 2 * 7


@pytest.mark.skipif(len(SOURCES) != 2, reason="needs MSCCL++'s sources: HOCKET_MSCCLPP=/mscclpp:/json/single_include")
def test_mscclpp_s_own_code_does_as_modelled(made: dict[str, list[PlanCalls]], tmp_path: Path) -> None:
    driver = Driver(*SOURCES, None, tmp_path)
    for collective, plans in made.items():
        asked = list(calls(collective))
        for rank in range(RANKS):
            assert driver.own(plans, rank, asked) == [own(plans, call, rank) for call in asked]
            for first in {bool(plan.in_place) for plan in plans}:
                order, answers = driver.stock(plans, first, rank, asked)
                assert answers == [modelled(order, first, call, rank) for call in asked]
        assert driver.set_ups(plans[0], 0, TWO_ALLOCATIONS) == set_ups(plans[0], TWO_ALLOCATIONS)


# two buffers, each of an allocation of its own on one rank and both of one on another
TWO_ALLOCATIONS = [(Allocation(1 << 40, 1 << 21),) * 2, (Allocation(1 << 41, 1 << 21),) * 2] * 2
ONE_ALLOCATION = [(Allocation(1 << 40, 1 << 22),) * 2] * 4


def set_ups(plan: PlanCalls, buffers: Sequence[tuple[Allocation, Allocation]]) -> list[bool]:
    executor = Contexts()
    return [executor.sets_up(plan.file, source, target) for source, target in buffers]


def test_ranks_whose_allocations_differ_wait_for_each_other(made: dict[str, list[PlanCalls]]) -> None:
    """At the second call one rank sets the plan up, which takes all ranks, and the other goes on: without the promise
    of symmetric memory no selector may give a call a plan."""
    plan = made["allreduce"][0]
    assert set_ups(plan, TWO_ALLOCATIONS) == [True, True, False, False]
    assert set_ups(plan, ONE_ALLOCATION) == [True, False, False, False]
    reusing = Contexts()
    assert [reusing.sets_up("p", *buffers, reuses=True) for buffers in TWO_ALLOCATIONS] == [True, False, False, False]
