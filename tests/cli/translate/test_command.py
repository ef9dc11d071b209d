"""`hocket translate` and `hocket verify` on real files, from outside."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from in_process import hocket
from programs import greedy_schedule, random_topology

from hocket.schedule import Collective, Kind, save
from hocket.schedule.algorithms import build
from hocket.translator import read_xml, translate

DATA = Path(__file__).parents[2] / "data" / "msccl_xml"


@pytest.fixture(scope="module")
def schedule_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schedules") / "ar.schedule"
    save(greedy_schedule(Kind.ALL_REDUCE, 4, 2, seed=7), path)
    return path


@pytest.mark.parametrize(
    ("profile", "proof_line"),
    [
        ("msccl", "Parsed MSCCL Algorithm"),
        ("executor", "Using MSCCL Algo files from"),
        ("rccl", "Using MSCCL files from"),
    ],
)
def test_a_schedule_becomes_a_proved_file(schedule_file: Path, tmp_path: Path, profile: str, proof_line: str) -> None:
    output = tmp_path / "ar.xml"
    done = hocket("translate", schedule_file, "--to", profile, "-o", output, "--max-bytes", "64MiB")
    assert done.returncode == 0, done.stderr
    assert "ranks  thread blocks" in done.stdout
    assert "proved: in place, FIFO depth 1" in done.stdout
    assert proof_line in done.stdout
    program = read_xml(output, profile=profile)
    assert (program.num_ranks, program.in_place, program.chunks_per_loop) == (4, True, 8)
    verified = hocket("verify", output, "--runtime", profile)
    assert verified.returncode == 0, verified.stderr
    assert re.search(rf"{profile} +accepts +yes +yes +yes +any", verified.stdout)


def test_out_of_place(schedule_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "ar.xml"
    assert hocket("translate", schedule_file, "--to", "executor", "-o", output, "--out-of-place").returncode == 0
    assert read_xml(output).out_of_place
    assert "proved: out of place" in hocket("verify", output).stdout


def test_nothing_is_written_when_it_does_not_fit(tmp_path: Path) -> None:
    topology = random_topology(66, seed=1)
    schedule = build("direct", Collective(Kind.ALL_GATHER, 66, 66000, 1), topology)
    save(schedule, tmp_path / "ag.schedule")
    done = hocket("translate", tmp_path / "ag.schedule", "--to", "rccl", "-o", tmp_path / "ag.xml")
    assert done.returncode == 3
    assert "<gpu> rank 0: 130 thread blocks, limit 64" in done.stderr
    assert not (tmp_path / "ag.xml").exists()


def test_nothing_is_written_when_the_schedule_is_wrong(tmp_path: Path) -> None:
    right = greedy_schedule(Kind.ALL_GATHER, 4, 1, seed=3)
    short = right.num_transfers - 1
    columns = ("chunk", "route", "reduce", "start_ps", "finish_ps")
    wrong = replace(right, **{name: getattr(right, name)[:short] for name in columns})
    save(wrong, tmp_path / "ag.schedule")
    done = hocket("translate", tmp_path / "ag.schedule", "--to", "executor", "-o", tmp_path / "ag.xml")
    assert done.returncode == 3
    assert "ends undefined; it must hold chunk" in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "ag.schedule"]
    refuted = hocket("verify", tmp_path / "ag.schedule")
    assert refuted.returncode == 1
    assert "NOT PROVED" in refuted.stderr


def test_a_schedule_is_verified(schedule_file: Path) -> None:
    done = hocket("verify", schedule_file)
    assert done.returncode == 0, done.stderr
    assert "all_reduce over 4 ranks" in done.stdout


def test_a_wrong_program_is_refuted_with_a_counterexample(tmp_path: Path) -> None:
    text = (DATA / "all_reduce_all_pairs_4.xml").read_text()
    first = text.index('hasdep="1"')
    (tmp_path / "hangs.xml").write_text(text[:first] + 'hasdep="0"' + text[first + len('hasdep="1"') :])
    done = hocket("verify", tmp_path / "hangs.xml")
    assert done.returncode == 1
    assert "NOT PROVED: out-of-place call: " in done.stderr


def verdicts(output: str) -> dict[str, list[str]]:
    """The table's rows: parser, runs, correct, selected, of each runtime."""
    rows = [line.split() for line in output.splitlines() if line.split()[1:2] in (["accepts"], ["rejects"])]
    return {row[0]: row[1:5] for row in rows}


def test_a_runtime_that_cannot_run_the_file_fails_the_check() -> None:
    done = hocket("verify", DATA / "broadcast_binomial_8.xml", "--runtime", "rccl")
    assert done.returncode == 1
    assert "is a fused rcs, which rccl cannot run" in done.stdout
    assert verdicts(done.stdout) == {"rccl": ["rejects", "no", "yes", "-"]}


def test_without_a_runtime_one_of_them_must_run_it() -> None:
    done = hocket("verify", DATA / "broadcast_binomial_8.xml")
    assert done.returncode == 0
    assert verdicts(done.stdout) == {
        "msccl": ["accepts", "yes", "yes", "no"],  # maxBytes 0
        "executor": ["accepts", "yes", "yes", "yes"],
        "rccl": ["rejects", "no", "yes", "-"],  # fused steps
    }
    assert hocket("verify", DATA / "broadcast_binomial_8.xml", "--runtime", "all").returncode == 1


def test_json_says_what_each_runtime_does(tmp_path: Path) -> None:
    done = hocket("verify", DATA / "broadcast_binomial_8.xml", "--json", "-")
    runtimes = json.loads(done.stdout)["runtimes"]
    assert list(runtimes) == ["msccl", "executor", "rccl"]
    assert runtimes["rccl"]["verdict"] == "reject"
    assert runtimes["executor"] | {"findings": 0} == {
        "verdict": "accept",
        "runnable": True,
        "correct": True,
        "selectable": True,
        "safe": True,
        "largest_safe_bytes": None,
        "reasons": [],
        "findings": 0,
    }
    found = runtimes["rccl"]["findings"][0]
    assert (found["rule"], found["severity"]) == ("fused step", "reject")
    again = hocket("verify", DATA / "broadcast_binomial_8.xml", "--json", tmp_path / "verdict.json")
    assert "runtime" in again.stdout
    assert json.loads((tmp_path / "verdict.json").read_text())["runtimes"] == runtimes


def test_all_blocks_must_be_resident() -> None:
    done = hocket("verify", DATA / "all_reduce_all_pairs_4.xml", "--gpu", "H20", "--runtime", "msccl")
    assert done.returncode == 0, done.stdout
    assert (
        "--gpu Z80: no such choice; known: A10, A100, A30"
        in hocket("verify", DATA / "all_reduce_all_pairs_4.xml", "--gpu", "Z80").stderr
    )


def test_what_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "cut.xml").write_text((DATA / "broadcast_binomial_8.xml").read_text()[:900])
    (tmp_path / "x.schedule").write_bytes(b"not a schedule")
    for name, expected in (
        ("cut.xml", "cut.xml:"),
        ("absent.xml", "absent.xml: No such file"),
        ("x.schedule", "x.sch"),
    ):
        done = hocket("verify", tmp_path / name)
        assert (done.returncode, expected in done.stderr) == (3, True), done.stderr
    assert hocket("verify").returncode == 2


@pytest.mark.parametrize("command", ["translate", "verify"])
def test_help_has_an_example(command: str) -> None:
    assert f"\n    hocket {command} " in hocket(command, "--help").stdout.replace("Example: ", "Examples:\n    ")


def test_the_written_text_is_what_was_proved(tmp_path: Path) -> None:
    result = translate(greedy_schedule(Kind.REDUCE_SCATTER, 3, 2, seed=5), tmp_path / "rs.xml", "executor")
    assert read_xml(tmp_path / "rs.xml") == result.program
    assert [proof.fifo_depth for proof in result.proofs] == [1, 2]


def test_many_lowerings_are_counted_and_the_best_named(tmp_path: Path) -> None:
    schedule = tmp_path / "ag.schedule"
    done = hocket(
        "synthesize", "all_gather", "-t", "dgx-h100:nodes=2,gpus=4", "-s", "16MiB", "--chunks", 4, "-o", schedule
    )
    assert done.returncode == 0, done.stderr
    tried = hocket("translate", schedule, "--to", "executor", "-o", tmp_path / "ag.xml").stdout
    named = re.findall(r"^(?:tried:|      ) .*: ([\d.]+) [um]s predicted, \d+ thread blocks", tried, re.MULTILINE)
    assert len(named) == 9
    assert re.search(r"^       \d+ others: up to [\d.]+ [um]s predicted$", tried, re.MULTILINE)
