"""A program of one runtime written for another: nothing but the steps that it cannot run changes."""

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket
from programs import greedy_schedule

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import Collective, Kind, Program, StepType, execute
from hocket.schedule.algorithms import build
from hocket.simulator import simulate_program
from hocket.topology import load
from hocket.translator import PROFILES, Lowering, lower, read_xml, rewrite, to_xml
from hocket.translator.lowering.retarget import retarget

MIB = 1 << 20


def messages(program: Program) -> list[tuple[int, int, int, int, int]]:
    """Source, destination, channel, count of each message, in the order of each connection."""
    return sorted(
        (rank, block.send, block.channel, number, step.count)
        for rank, gpu in enumerate(program.gpus)
        for block in gpu.thread_blocks
        for number, step in enumerate(step for step in block.steps if step.type.sends)
    )


@settings(max_examples=40)
@given(
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]),
    ranks=st.integers(2, 6),
    chunks=st.integers(1, 3),
    seed=st.integers(0, 2**31),
    slots=st.integers(1, 2),
)
def test_taken_apart_it_sends_and_computes_the_same(kind: Kind, ranks: int, chunks: int, seed: int, slots: int) -> None:
    fused = lower(greedy_schedule(kind, ranks, chunks, seed), "msccl", Lowering(slots=slots))
    plain = retarget(fused, PROFILES["rccl"])
    assert {step.type for gpu in plain.gpus for block in gpu.thread_blocks for step in block.steps} <= {
        StepType.SEND, StepType.RECEIVE, StepType.COPY, StepType.REDUCE, StepType.NOP
    }  # fmt: skip
    assert messages(plain) == messages(fused)
    execute(plain, fifo_depth=slots, max_count=1)


def test_sums_of_what_lies_elsewhere_are_copied_first(tmp_path: Path) -> None:
    # rank 1 adds what it receives to i[1] and keeps the sum in i[0]; rank 0 sends i[0]
    text = """<algo name="x" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="reduce" inplace="1"
 outofplace="0" minBytes="0" maxBytes="0">
  <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="2" s_chunks="0">
    <tb id="0" send="-1" recv="0" chan="0">
      <step s="0" type="rrc" srcbuf="i" srcoff="1" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>""".replace("\n outof", " outof")
    path = tmp_path / "x.xml"
    path.write_text(text)
    program = retarget(read_xml(path, root=1), PROFILES["rccl"])
    (block,) = program.gpus[1].thread_blocks
    assert [(str(s.type), s.src_buffer, s.src_offset, s.dst_buffer, s.dst_offset) for s in block.steps] == [
        ("r", "i", 1, "s", 0),
        ("cpy", "i", 1, "i", 0),
        ("re", "s", 0, "i", 0),
    ]


def test_the_time_stays(tmp_path: Path) -> None:
    topology = load("ring:8,bandwidth=50GB/s,latency=500ns")
    source = tmp_path / "executor.xml"
    source.write_text(to_xml(lower(build("ring", Collective(Kind.ALL_REDUCE, 8, MIB), topology), "msccl"), "msccl"))
    for runtime in PROFILES:
        result = rewrite(read_xml(source), tmp_path / "out.xml", runtime, max_bytes=MIB)
        assert result.program.max_bytes == MIB
        # 14 steps of 128 KiB at 50 GB/s and 500 ns
        assert simulate_program(result.program, topology, MIB).time_ps == 14 * (20 * (MIB // 8) + 500_000)


@pytest.mark.shared
def test_references_are_written_for_every_runtime_that_can_hold_them(shared: Path, tmp_path: Path) -> None:
    folder = shared / "msccl_xml"
    with (folder / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    written = 0
    for row in rows:
        program = read_xml(folder / row["file"])
        unlimited = row["min_maxcount_no_deadlock"] == "1"
        for runtime in PROFILES:
            path = tmp_path / "out.xml"
            path.unlink(missing_ok=True)
            try:
                rewrite(program, path, runtime)
            except DeadlockError:
                assert not unlimited, row["file"]
            except ScheduleError as error:
                wrong = row["xmlsim"] != "ok"
                assert wrong or "does not fit" in str(error), row["file"]
            else:
                assert unlimited, row["file"]
                assert row["xmlsim"] == "ok", row["file"]
                assert read_xml(path, profile=runtime)
                written += 1
    assert written == 205


def test_a_lowered_file_takes_no_options_of_lowering(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    topology = load("ring:4,bandwidth=50GB/s,latency=500ns")
    path.write_text(to_xml(lower(build("ring", Collective(Kind.ALL_GATHER, 4, MIB), topology), "executor"), "executor"))
    command = ["translate", path, "--to", "rccl", "-o", tmp_path / "b.xml"]
    refused = hocket(*command, "--slots", "2")
    assert refused.returncode == 2
    assert "is lowered already" in refused.stderr
    done = hocket(*command)
    assert done.returncode == 0, done.stderr
    assert "proved: in place, FIFO depth 2 with messages of at most 1 of a step's chunks" in done.stdout
