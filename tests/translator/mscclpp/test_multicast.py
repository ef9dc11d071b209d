"""Schedules whose switches add and copy, as plans over NVLS."""

import json
from itertools import product
from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import MSCCLPP, Collective, Kind, Schedule, retime, save
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering
from hocket.translator.bundle import read_bundle
from hocket.translator.mscclpp import (
    ExecutionPlan,
    PlanProof,
    from_json,
    judge_plan,
    lower_to_plan,
    read_plan,
    to_json,
    verify_plan,
)
from hocket.translator.mscclpp.verify import attempt_plan

KINDS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER)
GATHERED = ["rlxsignal", "rlxwait", "nop", "gstore", "nop", "signal", "wait", "nop"]


def over_switches(kind: Kind, ranks: int = 4, chunks: int = 1, algorithm: str = "nvls") -> Schedule:
    network = load(f"dgx-h100:gpus={ranks},nvls=1")
    return build(algorithm, Collective(kind, ranks, 1 << 20, chunks), network)


def names(plan: ExecutionPlan, block: int = 0) -> list[str]:
    return [op.name.value for op in plan.gpus[1].thread_blocks[block].ops]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ranks", "chunks"), [(2, 1), (4, 1), (4, 2), (8, 1)])
def test_what_switches_do_is_proved(kind: Kind, ranks: int, chunks: int) -> None:
    for in_place, blocks in product((True, False), (1, 3)):
        made = lower_to_plan(over_switches(kind, ranks, chunks), Lowering(in_place=in_place, channels=blocks))
        plan, proof = made.plan, made.proof
        assert (proof.values, proof.assumed, proof.in_place) == (True, None, in_place)
        assert [len(gpu.thread_blocks) for gpu in plan.gpus] == [blocks] * ranks
        used = names(plan)
        assert ("gstore" if kind is Kind.ALL_GATHER else "glres") in used
        assert not {"put", "pws", "re"} & set(used)


def test_the_ops_of_a_rank() -> None:
    """One chunk a rank: a copy for each, and one that the rank has the switch do for all."""
    summed = ["copy"] * 4 + ["nop", "signal", "wait", "nop", "glres", "nop", "signal", "wait", "nop"]
    assert names(lower_to_plan(over_switches(Kind.ALL_REDUCE)).plan) == [*summed, *["copy"] * 4]
    assert names(lower_to_plan(over_switches(Kind.REDUCE_SCATTER)).plan) == [*summed, "copy"]
    assert names(lower_to_plan(over_switches(Kind.ALL_GATHER)).plan) == [*GATHERED, *["copy"] * 3]
    apart = lower_to_plan(over_switches(Kind.ALL_GATHER), Lowering(in_place=False)).plan
    assert names(apart) == [*GATHERED, *["copy"] * 4]
    plan = lower_to_plan(over_switches(Kind.ALL_GATHER, chunks=2)).plan
    stored = next(op for op in plan.gpus[3].thread_blocks[0].ops if op.name == "gstore")
    # two chunks of rank 3's, from its input, to all ranks' 6 and 7
    assert (stored.sources[0].index, stored.destinations[0].index, stored.destinations[0].size) == (0, 6, 2)


@pytest.mark.parametrize("root", [0, 2])
def test_a_broadcast_over_switches(root: int) -> None:
    network = load("switch:4,bandwidth=100GB/s,latency=500ns,in_network=1")
    schedule = build("switch_tree", Collective(Kind.BROADCAST, 4, 1 << 20, 2, root=root), network)
    made = lower_to_plan(schedule, ranks_per_node=4)
    assert made.proof.values
    stores = [sum("gstore" in op.name for op in gpu.thread_blocks[0].ops) for gpu in made.plan.gpus]
    assert stores == [int(rank == root) for rank in range(4)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_dropped_op_is_missed(kind: Kind) -> None:
    """Meetings of threads among them, but for the last of a reduce_scatter: a rank's sum is its own doing, and only the
    waits before show that it has come back from the switch."""
    text = to_json(lower_to_plan(over_switches(kind), Lowering(channels=2)).plan)
    for number, block in enumerate(json.loads(text)["gpus"][1]["threadblocks"]):
        for position, op in enumerate(block["ops"]):
            last = position == len(block["ops"]) - 2
            if kind is Kind.REDUCE_SCATTER and last and op["name"] == "nop":
                continue
            plan = json.loads(text)
            del plan["gpus"][1]["threadblocks"][number]["ops"][position]
            with pytest.raises((ScheduleError, DeadlockError)):
                verify_plan(from_json(json.dumps(plan), "mutant"))
                pytest.fail(f"nobody misses op {position} of thread block {number}: {op}")


def test_a_plan_that_reduces_without_storing_is_read_and_its_refusal_told(tmp_path: Path) -> None:
    """MSCCL++'s language writes glre where no store follows; its loader knows no such op."""
    made = json.loads(to_json(lower_to_plan(over_switches(Kind.REDUCE_SCATTER)).plan))
    for gpu in made["gpus"]:
        ops = gpu["threadblocks"][0]["ops"]
        reduced, kept = next(op for op in ops if op["name"] == "glres"), ops.pop()
        reduced.update(name="glre", dst_buff=kept["dst_buff"])
    plan = from_json(json.dumps(made), "glre")
    found = attempt_plan(plan)
    assert isinstance(found, PlanProof)
    assert found.values
    path = tmp_path / "glre.json"
    path.write_text(json.dumps(made))
    judged = judge_plan(path)
    assert (judged.verdict, judged.good) == ("reject", False)
    assert "its own language writes this op, and its loader throws for it" in judged.reasons[0]


def test_a_bundle_of_plans_over_switches(tmp_path: Path) -> None:
    path = tmp_path / "nvls.schedule"
    save(retime(over_switches(Kind.ALL_REDUCE)), path)
    done = hocket("translate", path, "--to", "mscclpp", "--bundle", tmp_path / "b")
    assert done.returncode == 0, done.stderr
    bundle = read_bundle(tmp_path / "b")
    assert [file.in_place for file in bundle.files] == [True, False]
    for file in bundle.files:
        assert "glres" in names(read_plan(tmp_path / "b" / file.path))
        # what switches do, as the schedule takes, after a launch and beside meetings
        launch = MSCCLPP["Simple"].pace
        assert launch is not None
        for one in file.predicted:
            assert one.schedule_ps is not None
            assert one.time_ps >= launch.start_ps + launch.inside_ps + one.schedule_ps
    done = hocket("translate", path, "--to", "mscclpp", "-o", tmp_path / "nvls.json")
    assert done.returncode == 0, done.stderr
    assert "proved: in place" in done.stdout


@pytest.mark.parametrize(
    ("schedule", "lowering", "match"),
    [
        (over_switches(Kind.ALL_REDUCE), Lowering(protocol="LL"), "no packets go over switches"),
        (
            build("nvls", Collective(Kind.ALL_REDUCE, 4, 4096), load("dgx-h100:nodes=2,gpus=2,nvls=1")),
            Lowering(),
            "nvls lets switches of several machines add and copy",
        ),
    ],
)
def test_what_no_plan_says_is_refused(schedule: Schedule, lowering: Lowering, match: str) -> None:
    with pytest.raises(ScheduleError, match=match):
        lower_to_plan(schedule, lowering)
