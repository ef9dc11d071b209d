"""Programs as JSON of our own: round trips, the commands that write and read it, files that are broken."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import hocket
from programs import greedy_schedule

from hocket.base.errors import FormatError, HocketError
from hocket.schedule import Collective, Kind, execute, retime, save
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering, from_program_json, lower, read_program, read_xml, to_program_json, translate
from hocket.translator.mscclpp import translate_to_plan

DATA = Path(__file__).parents[2] / "data" / "msccl_xml"


def text_of(seed: int = 0) -> bytes:
    return to_program_json(lower(greedy_schedule(Kind.ALL_REDUCE, 3, 1, seed), "json")).encode()


@pytest.mark.parametrize("path", sorted(DATA.glob("*.xml")), ids=lambda path: path.stem)
def test_reference_programs_come_back(path: Path) -> None:
    program = read_xml(path)
    assert from_program_json(to_program_json(program), "x") == program


@given(seed=st.integers(0, 1000), kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]))
def test_lowered_programs_come_back_and_are_right(seed: int, kind: Kind) -> None:
    program = lower(greedy_schedule(kind, 4, 2, seed), "json")
    again = from_program_json(to_program_json(program), "x")
    assert again == program
    assert execute(again, fifo_depth=1, max_count=1).values


def test_what_no_runtime_holds_can_be_written(tmp_path: Path) -> None:
    """A ring of 140 ranks: 2 * 139 steps in a thread block, more than the 256 of any runtime."""
    topology = load("ring:140,bandwidth=50GB/s,latency=500ns")
    save(build("ring", Collective(Kind.ALL_REDUCE, 140, 1 << 20), topology), tmp_path / "ar.schedule")
    done = hocket("translate", tmp_path / "ar.schedule", "--to", "json", "--slots", 1, "-o", tmp_path / "ar.json")
    assert done.returncode == 0, done.stderr
    assert "for json, Simple" in done.stdout
    assert "mpirun" not in done.stdout
    gpus = json.loads((tmp_path / "ar.json").read_text())["gpus"]
    assert {len(block["steps"]["type"]) for gpu in gpus for block in gpu["thread_blocks"]} == {2 * 139}
    verified = hocket("verify", tmp_path / "ar.json")
    assert (verified.returncode, "proved: in place, FIFO depth 2" in verified.stdout) == (0, True)


def test_a_program_becomes_xml_again(tmp_path: Path) -> None:
    (tmp_path / "ar.json").write_bytes(text_of())
    done = hocket("translate", tmp_path / "ar.json", "--to", "executor", "-o", tmp_path / "ar.xml")
    assert done.returncode == 0, done.stderr
    assert read_xml(tmp_path / "ar.xml").rows.tolist() == read_program(tmp_path / "ar.json").rows.tolist()


def test_a_wrong_program_is_refuted(tmp_path: Path) -> None:
    def never_publish(form: Any) -> None:
        for gpu in form["gpus"]:
            for block in gpu["thread_blocks"]:
                block["steps"]["has_dependents"] = [False] * len(block["steps"]["type"])

    (tmp_path / "ar.json").write_text(with_change(never_publish).decode())
    done = hocket("verify", tmp_path / "ar.json")
    assert (done.returncode, "NOT PROVED" in done.stderr, "never publishes" in done.stderr) == (1, True, True)


def test_absent_and_foreign_files_are_bad_input(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    for path, words in (("absent.json", "No such file"), ("other.json", "not an MSCCL++ execution plan")):
        done = hocket("verify", tmp_path / path)
        assert (done.returncode, words in done.stderr) == (3, True), done.stderr
    done = hocket("translate", tmp_path / "other.json", "--to", "executor", "-o", tmp_path / "x.xml")
    assert (done.returncode, "not a hocket.program" in done.stderr) == (3, True)


def with_change(change: Callable[[Any], None]) -> bytes:
    form = json.loads(text_of())
    change(form)
    return json.dumps(form).encode()


def first_block(form: Any) -> Any:
    return form["gpus"][0]["thread_blocks"][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda form: form.update(version=2), "version"),
        (lambda form: form.update(collective="all_at_once"), "all_at_once"),
        (lambda form: form.update(root=3), "root 3 is not one of the ranks 0..2"),
        (lambda form: form.update(chunks_per_loop=1 << 25), "at most 67108864"),
        (lambda form: form.update(gpus=[]), "gpus"),
        (lambda form: form["gpus"][0].update(scratch_chunks=1 << 27), "rank 0: .* at most 67108864"),
        (lambda form: first_block(form).update(send=3), "rank 0 thread block 0: peer 3 is not one of the ranks 0..2"),
        (
            lambda form: first_block(form)["steps"]["count"].append(1),
            "rank 0 thread block 0: columns .* differ in leng",
        ),
        (lambda form: first_block(form)["steps"].update(src_buffer="qq"), "src_buffer 'q' is not one of i, o, s"),
        (lambda form: first_block(form)["steps"]["count"].__setitem__(0, 1 << 40), "rank 0: .*count"),
        (lambda form: first_block(form)["steps"]["type"].__setitem__(0, "ra"), "rank 0: .*type"),
    ],
)
def test_broken_files_say_what_is_wrong(change: Callable[[Any], None], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        from_program_json(with_change(change), "x")


@given(data=st.data())
def test_changed_bytes_never_crash(data: st.DataObject) -> None:
    text = bytearray(text_of())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3) | st.sampled_from([b"9", b"-1"]))
    with suppress(HocketError):
        execute(from_program_json(bytes(text), "x"))


def test_programs_of_json_are_simulated_and_run_and_plans_are_not(tmp_path: Path) -> None:
    network = "ring:4,bandwidth=10GB/s,latency=5us"
    schedule = retime(build("ring", Collective(Kind.ALL_REDUCE, 4, 4096), load(network)))
    for name, to in (("ar.json", "json"), ("ar.xml", "executor")):
        translate(schedule, tmp_path / name, to, Lowering(channels=1, slots=1))
    plan = tmp_path / "plan.json"
    translate_to_plan(schedule, plan)

    on = ("--topology", network, "--size", "64KiB")
    for name in ("ar.json", "ar.xml"):
        done = hocket("simulate", tmp_path / name, *on, "--json", tmp_path / f"{name}.out")
        assert done.returncode == 0, done.stderr
    # one program, whatever it is written as
    assert (
        json.loads((tmp_path / "ar.json.out").read_text())["time_ps"]
        == (json.loads((tmp_path / "ar.xml.out").read_text())["time_ps"])
    )
    done = hocket("run", tmp_path / "ar.json", "--backend", "mpi", "--size", "64KiB", "--iters", 1, "--warmup", 0)
    assert done.returncode == 0, done.stderr
    assert "# Out of bounds values : 0 OK" in done.stdout
    for command in (("simulate", plan, *on), ("run", plan, "--backend", "mpi")):
        done = hocket(*command)
        assert done.returncode == 3
        assert "an MSCCL++ plan is judged by `hocket verify`" in done.stderr
    assert hocket("verify", tmp_path / "ar.json", "--json", "-").returncode == 2
