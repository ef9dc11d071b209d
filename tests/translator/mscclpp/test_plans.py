"""MSCCL++ execution plans: reference plans proved or refuted for a reason, mutations found, files that are no plans."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import DeadlockError, FormatError, HocketError, ScheduleError
from hocket.translator.mscclpp import from_json, judge_plan, read_plan, verify_plan
from hocket.translator.mscclpp.sizes import largest_bytes

PROVED = ("allgather_multi", "allgather_pkt_8g", "allreduce_8g", "allreduce_naive_8g", "allreduce_nvls_8g")
REFUTED = {
    # scratch of 64 MiB in 2 chunks holds 32 rounds of 1 MiB each; a message of 2 chunks is then 64 MiB
    "allreduce_pipeline": r"messages of more than 64 MiB \(33 rounds.*race on rank 0 s\[0\]",
    # no flush follows the last pws: the proxy may still read when the call is over
    "reducescatter_multi": r"race on rank 0 i\[8\]: .*\(pws i\[8\] to rank 8 s\[0\]\) reads it and its rank's caller",
    "sendrecv_2n": r"race on rank 0 i\[0\]: .*\(pws i\[0\] to rank 1 o\[0\]\) reads it and its rank's caller",
}


def exchange(**changes: Any) -> dict[str, Any]:
    """All-gather of two ranks, in place: each says that it has begun, puts its chunk at the other and signals."""

    def gpu(rank: int) -> dict[str, Any]:
        signals = {"channel_ids": [0], "channel_type": "memory"}
        put = {
            "name": "put",
            "src_buff": [{"type": "o", "index": rank, "size": 1}],
            "dst_buff": [{"buffer_id": 0, "index": rank, "size": 1}],
            "channel_type": "memory",
        }
        ops: list[dict[str, Any]] = [
            {"name": "rlxsignal", **signals},
            {"name": "rlxwait", **signals},
            {"name": "nop"},
            put,
            {"name": "nop"},
            {"name": "signal", **signals},
            {"name": "wait", **signals},
        ]
        block = {
            "id": 0,
            "ops": ops,
            "channels": [{"channel_type": "memory", "channel_ids": [0]}],
            "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
        }
        return {
            "id": rank,
            "input_chunks": 1,
            "output_chunks": 2,
            "scratch_chunks": 0,
            "threadblocks": [block],
            "channels": [{"channel_type": "memory", "connected_to": [1 - rank]}],
            "remote_buffers": [{"rank": 1 - rank, "type": "o", "access_channel_types": ["memory"]}],
        }

    whole = {"name": "exchange", "collective": "allgather", "protocol": "Simple", "inplace": True}
    return {**whole, "gpus": [gpu(0), gpu(1)], **changes}


def packets_over_ports() -> dict[str, Any]:
    """The same by packets that proxies put as they are, as MSCCL++'s own all_reduce of several nodes does: `ppkt`."""

    def at(buffer: str, index: int) -> dict[str, Any]:
        return {"type": buffer, "index": index, "size": 1}

    plan = exchange(protocol="LL", reuse_resources=True, use_double_scratch_buffer=True)
    for rank, gpu in enumerate(plan["gpus"]):
        target = {"buffer_id": 0, "index": 1, "size": 1}
        put = {"src_buff": [at("s", 0)], "dst_buff": [target], "channel_ids": [0], "channel_type": "port"}
        (block,) = gpu["threadblocks"]
        block["ops"] = [
            {"name": "cpkt", "src_buff": [at("i", 0)], "dst_buff": [at("s", 0)]},
            {"name": "nop"},
            {"name": "ppkt", **put},
            {"name": "upkt", "src_buff": [at("s", 1)], "dst_buff": [at("o", 1 - rank)]},
        ]
        block["channels"][0]["channel_type"] = gpu["channels"][0]["channel_type"] = "port"
        block["remote_buffer_refs"][0]["access_channel_type"] = "port"
        gpu["remote_buffers"] = [{"rank": 1 - rank, "type": "s", "access_channel_types": ["port"]}]
        gpu["scratch_chunks"] = 2
    return plan


def read(plan: dict[str, Any]) -> Any:
    return from_json(json.dumps(plan), "plan.json")


def ops(plan: dict[str, Any], rank: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plan["gpus"][rank]["threadblocks"][0]["ops"]
    return found


@pytest.mark.shared
@pytest.mark.parametrize("name", PROVED)
def test_reference_plans_are_proved(shared: Path, name: str) -> None:
    proof = verify_plan(read_plan(shared / "mscclpp_plans" / f"{name}.json"))
    assert proof.values
    # the switch's stores are followed by relaxed signals only
    assert (proof.assumed is not None) == (name == "allreduce_nvls_8g")


@pytest.mark.shared
@pytest.mark.parametrize("name", REFUTED)
def test_reference_plans_are_refuted_for_a_reason(shared: Path, name: str) -> None:
    with pytest.raises(ScheduleError, match=REFUTED[name]):
        verify_plan(read_plan(shared / "mscclpp_plans" / f"{name}.json"))


@pytest.mark.shared
def test_the_pipeline_is_right_for_smaller_messages(shared: Path) -> None:
    plan = json.loads((shared / "mscclpp_plans" / "allreduce_pipeline.json").read_text())
    proof = verify_plan(read({**plan, "max_message_size": 64 << 20}))
    assert proof.rounds == (1, 2, 32)


@pytest.mark.shared
def test_the_puts_are_right_when_flushed(shared: Path) -> None:
    for name in ("reducescatter_multi", "sendrecv_2n"):
        text = (shared / "mscclpp_plans" / f"{name}.json").read_text()
        assert verify_plan(from_json(text.replace('"pws"', '"pwsf"'), name)).values


def test_an_exchange_is_proved() -> None:
    proof = verify_plan(read(exchange()))
    assert (proof.in_place, proof.launches, proof.assumed) == (True, 2, None)


def drop(position: int) -> Callable[[dict[str, Any]], Any]:
    return lambda plan: ops(plan).pop(position)


def change(position: int, **fields: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda plan: ops(plan)[position].update(fields)


def move(position: int, side: str, index: int) -> Callable[[dict[str, Any]], Any]:
    return lambda plan: ops(plan)[position][side][0].update(index=index)


WRONG: dict[str, tuple[Callable[[dict[str, Any]], Any], type[HocketError], str]] = {
    "no begin": (drop(0), DeadlockError, "thread blocks are stuck"),
    "no wait for the begin": (drop(1), ScheduleError, r"race on rank .*its rank's caller"),
    "no meeting before the put": (drop(2), ScheduleError, "race on rank 1"),
    "no meeting after the put": (drop(4), ScheduleError, "race on rank 1"),
    "no signal": (drop(5), DeadlockError, "thread blocks are stuck"),
    "no last wait": (drop(6), ScheduleError, r"race on rank 0 .*rank 1 thread block 0 op 3 \(put"),
    "no put": (drop(3), ScheduleError, r"rank 1 o\[0\] ends undefined; it must hold chunk 0 of rank 0"),
    "wrong chunk": (move(3, "src_buff", 1), ScheduleError, "rank 0 o\\[1\\]|must hold"),
    "wrong place": (move(3, "dst_buff", 1), ScheduleError, "race on rank 1"),
    "relaxed signal": (change(5, name="rlxsignal"), ScheduleError, ""),
    "waits swapped": (
        lambda plan: [ops(plan, rank).insert(0, ops(plan, rank).pop(6)) for rank in (0, 1)],
        DeadlockError,
        "closes the cycle of 2 waits",
    ),
    "one signal too many": (lambda plan: ops(plan).append(ops(plan)[5]), ScheduleError, "race on rank 0"),
}


@pytest.mark.parametrize("mutation", WRONG)
def test_mutations_are_found(mutation: str) -> None:
    mutate, kind, match = WRONG[mutation]
    plan = exchange()
    mutate(plan)
    if mutation == "relaxed signal":
        # the data's order holds, but that it can be seen is only assumed
        assert "relaxed signals" in str(verify_plan(read(plan)).assumed)
        return
    with pytest.raises(kind, match=match):
        verify_plan(read(plan))


def test_signals_that_nobody_waits_for_are_found() -> None:
    plan = exchange()
    for rank in (0, 1):
        plan["gpus"][rank]["channels"][0]["connected_to"] *= 2
        plan["gpus"][rank]["threadblocks"][0]["channels"][0]["channel_ids"] = [0, 1]
    ops(plan).append({"name": "signal", "channel_ids": [1], "channel_type": "memory"})
    with pytest.raises(ScheduleError, match="rank 1 does not wait for 2 signals of rank 0 on their memory channel"):
        verify_plan(read(plan))  # one in each of the two calls


@pytest.mark.shared
@pytest.mark.parametrize("name", PROVED)
def test_dropped_ops_of_reference_plans_are_found(shared: Path, name: str) -> None:
    text = (shared / "mscclpp_plans" / f"{name}.json").read_text()
    chance = random.Random(1)
    for _ in range(12):
        plan = json.loads(text)
        rank = chance.randrange(len(plan["gpus"]))
        blocks = plan["gpus"][rank]["threadblocks"]
        block = blocks[chance.randrange(len(blocks))]["ops"]
        # a meeting at the ends of a kernel, or one of two in a row, says nothing
        inner = [k for k, op in enumerate(block) if op["name"] != "nop"]
        dropped = block.pop(chance.choice(inner))
        with pytest.raises((ScheduleError, DeadlockError)):
            verify_plan(read(plan))
            pytest.fail(f"{name}: rank {rank}: {dropped} was dropped, and nobody noticed")


BAD: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no name": (lambda plan: plan.pop("name"), "missing required field `name`"),
    "unknown collective": (lambda plan: plan.update(collective="allgathr"), "collective: Invalid enum value"),
    "unknown op": (change(3, name="putt"), "rank 0 thread block 0 op 3.name: Invalid enum value 'putt'"),
    "offset below 0": (move(3, "src_buff", -1), r"rank 0 thread block 0 op 3.*`int` >= 0"),
    "chunk beyond": (
        move(3, "dst_buff", 2),
        r"op 3 \(put\): chunks 2..2 are not all in buffer o of rank 1, which has 2",
    ),
    "channel beyond": (change(5, channel_ids=[1]), r"op 5 \(signal\): its thread block has no memory channel 1"),
    "no destination": (change(3, dst_buff=[]), "0 dst_buff, expected 1 or more"),
    "switch put": (change(3, channel_type="switch"), "channel_type switch must be memory or port"),
    "no chunks": (lambda plan: plan["gpus"][0].update(input_chunks=0), "the runtime divides by both"),
    "ids": (lambda plan: plan["gpus"][1].update(id=0), 'rank 1: has "id" 0'),
    "window": (lambda plan: plan.update(min_message_size=2, max_message_size=1), "no size selects the plan"),
    "no semaphore": (change(3, name="sem_acquire", semaphore_ids=[0]), "semaphore 0 does not exist"),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_plans_are_refused_by_place_and_rule(fault: str) -> None:
    break_it, match = BAD[fault]
    plan = exchange()
    break_it(plan)
    with pytest.raises(FormatError, match=match):
        read(plan)


def test_limits_are_told() -> None:
    plan = exchange()
    ops(plan)[4:5] = [{"name": "nop"}] * 58
    assert verify_plan(read(plan)).values  # 6 ops and 58
    ops(plan).insert(4, {"name": "nop"})
    with pytest.raises(ScheduleError, match="rank 0 thread block 0: 65 ops, limit 64"):
        verify_plan(read(plan))


@pytest.mark.parametrize("largest", [2**50, 0])
def test_sizes_that_were_not_proved_are_told(largest: int) -> None:
    """The runtime would take such messages, and its offsets of 32 bits would wrap; or no message at all fits."""
    with pytest.raises(ScheduleError, match=r"hold messages of up to \d+ bytes, and it is for"):
        verify_plan(read({**exchange(), "max_message_size": largest}))


def test_verify_command(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"

    def verify() -> CompletedProcess[str]:
        path.write_text(json.dumps(plan))
        return hocket("verify", path)

    plan = exchange()
    right = verify()
    assert right.returncode == 0, right.stderr
    assert "allgather on 2 ranks in 2 chunks" in right.stdout
    assert "proved: in place, 2 calls in a row" in right.stdout
    ops(plan).pop(6)
    wrong = verify()
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("NOT PROVED: race on rank 0")
    plan["gpus"] = {}
    assert verify().returncode == 3


@given(st.binary(max_size=200))
def test_bytes_are_refused_or_read(data: bytes) -> None:
    with pytest.raises(FormatError):
        from_json(data.decode("utf-8", "replace"), "bytes")


@given(st.data())
def test_mutated_plans_never_crash(data: st.DataObject) -> None:
    plan: Any = data.draw(st.sampled_from([exchange, packets_over_ports]))()
    holder, key = None, None
    node = plan
    while isinstance(node, (dict, list)) and node and (holder is None or data.draw(st.integers(0, 4))):
        holder, key = node, data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        node = node[key]
    holder[key] = data.draw(
        st.one_of(st.integers(-2, 5), st.sampled_from(["i", "o", "s", "port", "put", "copy", "wait", "LL", None, True]))
        | st.just([])
        | st.just({})
        | st.just(2**70)
    )
    try:
        verify_plan(read(plan))
    except HocketError as error:
        assert str(error)


def test_verdicts_of_plans_have_the_shape_of_all_runtimes(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"

    def verdict(content: str, *more: str) -> tuple[int, dict[str, Any]]:
        path.write_text(content)
        done = hocket("verify", path, "--json", "-", *more)
        return done.returncode, json.loads(done.stdout)["runtimes"]["mscclpp"]

    def flags(found: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(found[key] for key in ("verdict", "runnable", "correct", "selectable", "safe"))

    code, found = verdict(json.dumps(exchange(max_message_size=1 << 20)), "--runtime", "mscclpp")
    assert (code, *flags(found)) == (0, "accept", True, True, True, True)
    assert (found["largest_safe_bytes"], found["reasons"], found["findings"]) == (1 << 20, [], [])
    waiting = exchange()
    ops(waiting).pop(5)  # the signal after its put
    page = tmp_path / "page.html"
    code, found = verdict(json.dumps(waiting), "--explain", str(page))
    assert (code, *flags(found)) == (1, "accept", True, False, True, False)
    assert "thread blocks are stuck" in found["reasons"][0]
    assert found["largest_safe_bytes"] == 0
    assert "rank 0 · thread block 0" in page.read_text()
    assert "waits for" in page.read_text()
    # 2 chunks of 16 bytes: no multiple of 32 is above 32 and below 64
    code, found = verdict(json.dumps(exchange(min_message_size=33, max_message_size=63)))
    assert (code, *flags(found)) == (1, "accept", True, True, False, True)
    long = exchange()
    ops(long).extend([{"name": "nop"}] * 60)
    assert flags(verdict(json.dumps(long))[1]) == ("reject", False, False, True, False)
    code, found = verdict("{}")
    assert (code, *flags(found)) == (3, "reject", False, False, False, False)
    assert "required field" in found["reasons"][0]


@pytest.mark.shared
def test_the_largest_safe_size_of_a_pipeline_is_told(shared: Path) -> None:
    found = judge_plan(shared / "mscclpp_plans" / "allreduce_pipeline.json")
    # 32 rounds of 1 MiB for each of 2 chunks
    assert (found.correct, found.safe, found.largest_safe_bytes) == (True, False, 64 << 20)


def test_sums_do_not_wrap_around_in_fixed_scratch() -> None:
    """MSCCL++'s kernel takes the second source of a sum beyond its chunk where scratch is used again: such a pipeline
    is right for chunks that scratch holds whole, and no pipeline for more than 65535 rounds."""

    def largest(unit: int, *inner: dict[str, Any]) -> int:
        plan = exchange(collective="test", reuse_resources=True)
        piped = [{"name": "copy", "src_buff": [at("i")], "dst_buff": [at("s")]}, {"name": "nop"}, *inner]
        rounds = {"unit_size": unit, "num_chunks": 1}
        for gpu in plan["gpus"]:
            gpu.update(input_chunks=1, output_chunks=1, scratch_chunks=1, channels=[], remote_buffers=[])
            ops_of_pipeline = [{"name": "pipeline", "iter_context": rounds, "ops": piped}]
            gpu["threadblocks"] = [{"id": 0, "ops": ops_of_pipeline, "channels": [], "remote_buffer_refs": []}]
        return largest_bytes(read(plan))

    def at(buffer: str) -> dict[str, Any]:
        return {"type": buffer, "index": 0, "size": 1}

    added = {"name": "re", "src_buff": [at("i"), at("s")], "dst_buff": [at("o")]}
    assert largest(1 << 20) == 128 << 20
    assert largest(1 << 20, added) == 64 << 20
    assert largest(1 << 20, {**added, "src_buff": [at("s"), at("i")]}) == 128 << 20
    assert largest(64) == 65535 * 64


def test_packets_over_ports_are_put_as_they_are() -> None:
    """Their proxy waits for no packet: threads have to meet before. And it finds the scratch of one plan alone."""
    assert verify_plan(read(packets_over_ports())).values
    unordered = packets_over_ports()
    ops(unordered).pop(1)
    with pytest.raises(ScheduleError, match=r"race on rank 0 s\[0\].*ppkt"):
        verify_plan(read(unordered))
    with pytest.raises(ScheduleError, match="from the scratch of the first plan it set up"):
        verify_plan(read({**packets_over_ports(), "reuse_resources": False}))
    plain = packets_over_ports()
    ops(plain)[2]["src_buff"][0].update(type="i")
    with pytest.raises(FormatError, match="src_buff 0 must be in scratch: packets are"):
        read(plain)


def test_a_reduction_without_a_store_in_mscclpp_s_own_form_is_told() -> None:
    plan = exchange()
    ops(plan)[3] = {"name": "glre", "buffer_type": "i", "size": 1, "channel_ids": [0], "channel_type": "memory"}
    with pytest.raises(FormatError, match="whose loader throws for this op"):
        read(plan)


def test_thread_blocks_must_be_resident_on_the_gpu_asked_for(tmp_path: Path) -> None:
    # 79 blocks on rank 0 are one more than the 78 multiprocessors of an H20
    crowded = exchange()
    crowded["gpus"][0]["threadblocks"].extend(
        {"id": number, "ops": [{"name": "nop"}], "channels": [], "remote_buffer_refs": []} for number in range(1, 79)
    )
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(crowded))

    def verify(*options: str) -> tuple[int, str]:
        done = hocket("verify", path, *options)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    assert verify("--gpu", "A100")[0] == 0
    code, text = verify("--gpu", "H20")
    assert code == 1
    assert "rank 0: 79 thread blocks that wait for each other are more than the multiprocessors of H20 (78)" in text
    code, text = verify()
    assert (code, "note: rank 0: 79 thread blocks" in text) == (0, True)
    # Of no GPU in particular it says whom it is about, and that others need nothing.
    assert (
        "must run at once, one on a multiprocessor: GPUs with fewer, " in text and "H20 (78), cannot run this" in text
    )
    assert "nothing to do on other GPUs" in text
    code, text = verify("--fifo-depth", "2")
    assert (code, "whose puts wait for no room: drop --fifo-depth" in text) == (2, True)
