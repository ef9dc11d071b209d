"""Schedules lowered to MSCCL++ plans: what is written is read back and proved; what is taken out of it is missed."""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import in_process
import pytest
from homes import IN_NETWORK, home
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import greedy_schedule

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import Collective, Kind, Schedule, save
from hocket.schedule.algorithms import ALGORITHMS, build
from hocket.synthesizer import synthesize
from hocket.topology import Topology, load
from hocket.translator import Lowering
from hocket.translator.mscclpp import ExecutionPlan, from_json, lower_to_plan, read_plan, to_json, verify_plan

RANKS = 4
KINDS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.BROADCAST)
NATIVE = [
    (name, kind)
    for name, algorithm in ALGORITHMS.items()
    for kind in algorithm.kinds
    if name not in IN_NETWORK and kind in KINDS
]


def prove(schedule: Schedule, ranks_per_node: int | None = None) -> ExecutionPlan:
    """Lowers in every way there is; the plan that is read back is proved, without trust in relaxed signals."""
    kind = schedule.collective.kind
    for protocol, in_place in product(("Simple", "LL"), (True, False)):
        if protocol == "LL" and kind is Kind.BROADCAST:
            continue
        lowering = Lowering(protocol=protocol, in_place=in_place)
        made = lower_to_plan(schedule, lowering, ranks_per_node=ranks_per_node)
        plan, proof = made.plan, made.proof
        assert proof.values
        assert proof.assumed is None, proof.assumed
        assert proof.launches == (3 if protocol == "LL" else 2)
        assert from_json(to_json(plan), "again") == plan
        assert plan.in_place == in_place
    return plan


@pytest.mark.parametrize(("name", "kind"), NATIVE)
def test_native_algorithms(name: str, kind: Kind) -> None:
    schedule = build(name, Collective(kind, RANKS, 12000, 2), home(name))
    for ranks_per_node in (RANKS, 2, 1):
        plan = prove(schedule, ranks_per_node=ranks_per_node)
        kinds = {channel.channel_type for gpu in plan.gpus for channel in gpu.channels}
        assert kinds <= ({"memory"} if ranks_per_node == RANKS else {"port"} if ranks_per_node == 1 else kinds)


@given(
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]),
    ranks=st.integers(2, 6),
    chunks_per_rank=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    apart=st.booleans(),
)
@settings(max_examples=25)
def test_greedy_schedules(kind: Kind, ranks: int, chunks_per_rank: int, seed: int, apart: bool) -> None:
    prove(greedy_schedule(kind, ranks, chunks_per_rank, seed), ranks_per_node=1 if apart else ranks)


@pytest.mark.parametrize("kind", KINDS)
def test_synthesized_schedules(kind: Kind) -> None:
    topology = load("mesh:3x3,bandwidth=50GB/s,latency=500ns")
    prove(synthesize(Collective(kind, 9, 9 << 16), topology), ranks_per_node=3)


def test_nodes_are_the_machines_of_the_topology() -> None:
    links = [(src, dst, 1000, 10**9) for src, dst in product(range(4), range(4)) if src != dst]
    topology = Topology.from_links("two hosts", 4, links, machine=[0, 0, 1, 1])
    plan = lower_to_plan(build("direct", Collective(Kind.ALL_GATHER, 4, 4096), topology)).plan
    # a rank talks to each peer over two channels, one a direction
    assert sorted(plan.gpus[0].peers("memory")) == [1, 1]
    assert sorted(plan.gpus[0].peers("port")) == [2, 2, 3, 3]


def test_long_lists_are_spread_over_connections() -> None:
    topology = load("ring:16,bandwidth=50GB/s,latency=500ns")
    plan = lower_to_plan(build("ring", Collective(Kind.ALL_REDUCE, 16, 16 << 10), topology)).plan
    # 2 * 15 messages, each more than two ops at the sender: more than the 64 that a thread block can have
    assert len(plan.gpus[0].peers("memory")) > 2
    assert max(len(block.ops) for gpu in plan.gpus for block in gpu.thread_blocks) <= 64


def ring(kind: Kind = Kind.ALL_REDUCE, ranks_per_node: int | None = None, **options: Any) -> ExecutionPlan:
    schedule = build("ring", Collective(kind, RANKS, 1 << 20), home("ring"))
    return lower_to_plan(schedule, Lowering(**options), ranks_per_node=ranks_per_node).plan


@pytest.mark.parametrize(
    ("kind", "options", "match"),
    [
        (Kind.REDUCE, {}, "MSCCL[+][+] plans have no reduce; they have all_reduce"),
        (Kind.BROADCAST, {"protocol": "LL"}, "its root hears from nobody"),
        (Kind.ALL_GATHER, {"protocol": "LL128"}, "no protocol 'LL128'"),
        (Kind.ALL_GATHER, {"ranks_per_node": 3}, "4 ranks are not nodes of 3 each"),
        # offsets of 32 bits
        (Kind.ALL_GATHER, {"max_bytes": 5 << 30}, "messages of 5 GiB do not fit"),
    ],
)
def test_refused_with_the_reason(kind: Kind, options: dict[str, Any], match: str) -> None:
    with pytest.raises(ScheduleError, match=match):
        ring(kind, **options)


@pytest.mark.parametrize("protocol", ["Simple", "LL"])
@pytest.mark.parametrize("ranks_per_node", [4, 1])
def test_every_dropped_op_is_missed(protocol: str, ranks_per_node: int) -> None:
    """All but meetings of threads: two of them in a row, or one at the end, need not both be there."""
    text = to_json(ring(protocol=protocol, ranks_per_node=ranks_per_node))
    blocks = json.loads(text)["gpus"][1]["threadblocks"]
    for number, block in enumerate(blocks):
        for position, op in enumerate(block["ops"]):
            if op["name"] == "nop":
                continue
            plan = json.loads(text)
            del plan["gpus"][1]["threadblocks"][number]["ops"][position]
            with pytest.raises((ScheduleError, DeadlockError)):
                verify_plan(from_json(json.dumps(plan), "mutant"))
                pytest.fail(f"nobody misses op {position} of thread block {number}: {op}")


def test_every_dropped_meeting_is_missed() -> None:
    text = to_json(ring())
    for number, block in enumerate(json.loads(text)["gpus"][1]["threadblocks"]):
        for position, op in enumerate(block["ops"]):
            # the first put goes to scratch, which its owner has read when this rank has the last call's result
            if op["name"] == "nop" and position > 1:
                plan = json.loads(text)
                del plan["gpus"][1]["threadblocks"][number]["ops"][position]
                with pytest.raises(ScheduleError, match="race"):
                    verify_plan(from_json(json.dumps(plan), "mutant"))
                    pytest.fail(f"nobody misses op {position} of thread block {number}")


def test_changed_chunks_and_channels_are_found() -> None:
    text = to_json(ring())
    chance = random.Random(3)
    for _ in range(40):
        plan = json.loads(text)
        ops = [op for block in plan["gpus"][chance.randrange(RANKS)]["threadblocks"] for op in block["ops"]]
        op = chance.choice([op for op in ops if "src_buff" in op])
        operand = chance.choice(op["src_buff"] + op["dst_buff"])
        # the scratch has 3 chunks, all buffers have more than 2
        operand["index"] = (operand["index"] + chance.choice([1, 2])) % 3
        with pytest.raises((ScheduleError, DeadlockError)):
            verify_plan(from_json(json.dumps(plan), "mutant"))


def test_translate_command(tmp_path: Path) -> None:
    schedule, output = tmp_path / "ar.schedule", tmp_path / "ar.json"
    save(greedy_schedule(Kind.ALL_REDUCE, 4, 2, seed=7), schedule)

    hocket = in_process.hocket

    done = hocket("translate", schedule, "--to", "mscclpp", "-o", output, "--ranks-per-node", 2, "--max-bytes", "1MiB")
    assert done.returncode == 0, done.stderr
    assert "allreduce on 4 ranks for MSCCL++ 0.9, Simple, in-place calls of 0 B to 1 MiB in 8 chunks" in done.stdout
    assert "proved: in place, 2 calls in a row" in done.stdout
    assert read_plan(output).max_message_size == 1 << 20
    assert hocket("verify", output).returncode == 0
    refused = hocket("translate", schedule, "--to", "mscclpp", "-o", tmp_path / "no.json", "--ranks-per-node", 3)
    assert refused.returncode == 3
    assert not (tmp_path / "no.json").exists()
    assert hocket("translate", schedule, "--to", "executor", "-o", output, "--ranks-per-node", 2).returncode == 2


def test_what_no_number_of_connections_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # 2 * 15 messages to the next rank, of five ops each: acquire, meet, put, meet, signal; 3 of 64 hold them
    monkeypatch.setattr("hocket.translator.mscclpp.lower._MAX_CHANNELS", 2)
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 16, 16), load("ring:16,bandwidth=1GB/s,latency=0ns"))
    with pytest.raises(ScheduleError, match=r"rank 0 needs 150 ops for a peer; 2 connections of 64 hold 128"):
        lower_to_plan(schedule)
