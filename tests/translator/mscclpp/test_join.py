"""Plans for small messages: what leaves together is one message, and a rank is one thread block."""

import json
from collections import Counter

import pytest

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import Collective, Kind, Schedule, retime
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering
from hocket.translator.lowering.levels import levelled
from hocket.translator.mscclpp import ExecutionPlan, from_json, join_blocks, lower_to_plan, to_json, verify_plan
from hocket.translator.mscclpp.plan import OpName

SMALL = [
    ("recursive_doubling", Kind.ALL_REDUCE),
    ("recursive_doubling", Kind.ALL_GATHER),
    ("direct", Kind.ALL_REDUCE),
    ("direct", Kind.ALL_TO_ALL),
    ("direct", Kind.REDUCE_SCATTER),
    ("binomial", Kind.BROADCAST),
    ("double_binary_tree", Kind.ALL_REDUCE),
    ("bruck", Kind.ALL_GATHER),
    ("ring", Kind.ALL_GATHER),
]


def schedule(name: str, kind: Kind, ranks: int = 4) -> Schedule:
    return build(
        name, Collective(kind, ranks, 1 << 14), load(f"fully_connected:{ranks},bandwidth=50GB/s,latency=500ns")
    )


def counts(plan: ExecutionPlan) -> Counter[OpName]:
    return Counter(op.name for gpu in plan.gpus for block in gpu.thread_blocks for op in block.ops)


def moved(plan: ExecutionPlan) -> tuple[int, int, int]:
    """Messages to other ranks, additions, and chunks that a rank copies."""
    ops = [op for gpu in plan.gpus for block in gpu.thread_blocks for op in block.ops]
    messages = sum(target.buffer_id is not None for op in ops for target in op.destinations)
    additions = sum(len(op.sources) - 1 for op in ops if op.reduce_op)
    return messages, additions, sum(op.name in (OpName.COPY, OpName.UNPACK_PACKETS) for op in ops)


@pytest.mark.parametrize(("name", "kind"), SMALL)
@pytest.mark.parametrize("protocol", ["Simple", "LL"])
@pytest.mark.parametrize("in_place", [True, False])
def test_one_thread_block_is_proved(name: str, kind: Kind, protocol: str, in_place: bool) -> None:
    if (kind, protocol) == (Kind.BROADCAST, "LL"):
        return  # no packets of a broadcast
    made = lower_to_plan(schedule(name, kind), Lowering(protocol=protocol, in_place=in_place), ranks_per_node=4)
    one = join_blocks(made)
    assert one is not None
    assert (one.proof.values, one.proof.assumed, one.proof.launches) == (True, None, made.proof.launches)
    assert [len(gpu.thread_blocks) for gpu in one.plan.gpus] == [1] * 4
    before, after = counts(made.plan), counts(one.plan)
    assert after[OpName.ACQUIRE] == after[OpName.RELEASE] == 0
    assert moved(one.plan) == moved(made.plan)
    assert after.total() <= before.total()
    # one channel to each peer
    assert all(len(set(gpu.peers("memory"))) == len(gpu.peers("memory")) for gpu in one.plan.gpus)


def test_what_leaves_together_is_one_message() -> None:
    """Recursive doubling on 8 ranks: three rounds in which each rank sends all 8 chunks to one other."""
    made = lower_to_plan(schedule("recursive_doubling", Kind.ALL_REDUCE, 8), ranks_per_node=8)
    assert counts(made.plan)[OpName.PUT] == 8 * 3
    one = join_blocks(made)
    assert one is not None
    # signals and waits of the beginning, then meet, put, and in each round meet, signal, wait, meet and add, which also
    # sends to the next; each round overwrites what the one before has put, which others have read when they signal
    found = counts(one.plan)
    assert found[OpName.SIGNAL] == found[OpName.WAIT] == 8 * 3
    assert (found[OpName.PUT], found[OpName.REDUCE_SEND], found[OpName.REDUCE]) == (8, 8 * 2, 8)
    assert found[OpName.SYNC] == 8 * (1 + 2 * 3)


def test_what_one_op_can_do_is_one_op() -> None:
    """All parts of a sum come at once, and what was added is sent by the op that adds it."""
    names = [
        [op.name.value for op in join(schedule("direct", Kind.ALL_REDUCE, 8), protocol).gpus[3].thread_blocks[0].ops]
        for protocol in ("Simple", "LL")
    ]
    told = ["signal", "wait", "nop"]
    assert names[0] == ["rlxsignal", "rlxwait", "nop", "put", "nop", *told, "res", "nop", "signal", "wait"]
    assert names[1] == ["ppkt", "respkt", "nop", *["upkt"] * 7]


def test_sixteen_ranks_are_one_thread_block_each() -> None:
    """15 peers: puts and sums of more parts than an op has operands are several."""
    plan = join(schedule("direct", Kind.ALL_REDUCE, 16), "LL")
    assert [len(gpu.thread_blocks) for gpu in plan.gpus] == [1] * 16
    ops = plan.gpus[0].thread_blocks[0].ops
    assert max(len(operands) for op in ops for operands in (op.sources, op.destinations)) <= 10
    assert len(ops) == 22


def join(made: Schedule, protocol: str) -> ExecutionPlan:
    ranks = made.collective.num_ranks
    one = join_blocks(lower_to_plan(made, Lowering(protocol=protocol), ranks_per_node=ranks))
    assert one is not None
    return one.plan


def test_a_timed_schedule_is_one_of_steps() -> None:
    timed = retime(schedule("recursive_doubling", Kind.ALL_REDUCE, 8))
    steps = levelled(timed)
    assert steps is not None
    assert (steps.num_transfers, int(steps.finish_ps.max())) == (timed.num_transfers, 3)
    assert counts(lower_to_plan(timed, ranks_per_node=8).plan)[OpName.PUT] == 8 * 3 * 8
    assert counts(lower_to_plan(steps, ranks_per_node=8).plan)[OpName.PUT] == 8 * 3


@pytest.mark.parametrize("protocol", ["Simple", "LL"])
def test_every_dropped_op_is_missed(protocol: str) -> None:
    made = lower_to_plan(schedule("direct", Kind.ALL_REDUCE), Lowering(protocol=protocol), ranks_per_node=4)
    one = join_blocks(made)
    assert one is not None
    text = to_json(one.plan)
    for position, op in enumerate(json.loads(text)["gpus"][1]["threadblocks"][0]["ops"]):
        if op["name"] == "nop":
            continue
        plan = json.loads(text)
        del plan["gpus"][1]["threadblocks"][0]["ops"][position]
        with pytest.raises((ScheduleError, DeadlockError)):
            verify_plan(from_json(json.dumps(plan), "mutant"))
            pytest.fail(f"nobody misses op {position}: {op}")


def test_what_does_not_fit_a_thread_block_stays_apart() -> None:
    apart = lower_to_plan(schedule("direct", Kind.ALL_REDUCE), ranks_per_node=2)
    assert join_blocks(apart) is None
    long = lower_to_plan(schedule("ring", Kind.ALL_REDUCE, 8), ranks_per_node=8)  # 14 messages of more than 4 ops each
    assert join_blocks(long) is None
