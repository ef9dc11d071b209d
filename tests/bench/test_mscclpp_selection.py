"""MSCCL++'s own selection of plans goes wrong, that of register_plans.py does not: on a model, and on its own code from
the checkout and nlohmann's json that HOCKET_MSCCLPP names, /mscclpp:/json/single_include."""

import os
from pathlib import Path

import pytest

from hocket.bench.mscclpp_selection import RANKS, Driver, bundles, calls, fates, modelled, own
from hocket.translator.bundle.plan_choice import PlanCalls

SOURCES = [Path(folder) for folder in os.environ.get("HOCKET_MSCCLPP", "").split(":") if folder]
# of ten sizes in two kinds of call and two element types: 128, 4096, 25,000,064 B, 1 and 64 MiB are multiples of 128 B
# and at most 64 MiB; 16 B and 25,000,000 B are multiples of 16 B, too
RIGHT = {"allreduce": 2 * 5, "allgather": 2 * 5, "reducescatter": 2 * 5, "broadcast": 2 * 7}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[PlanCalls]]:
    return bundles(tmp_path_factory.mktemp("bundles"))


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
