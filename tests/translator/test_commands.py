"""`hocket translate` and `hocket verify` on real files, from outside."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from programs import greedy_schedule, random_topology

from hocket.schedule import Collective, Kind, save
from hocket.schedule.algorithms import build
from hocket.translator import read_xml, translate

DATA = Path(__file__).parents[1] / "data" / "msccl_xml"


def hocket(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hocket", *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )


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
    verified = hocket("verify", output, "--profile", profile)
    assert verified.returncode == 0, verified.stderr
    assert f"fits {profile}" in verified.stdout


def test_out_of_place(schedule_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "ar.xml"
    assert hocket("translate", schedule_file, "--to", "executor", "-o", output, "--out-of-place").returncode == 0
    assert read_xml(output).out_of_place
    assert "proved: out of place" in hocket("verify", output).stdout


def test_nothing_is_written_when_it_does_not_fit(tmp_path: Path) -> None:
    topology = random_topology(34, seed=1)
    schedule = build("direct", Collective(Kind.ALL_GATHER, 34, 34000, 1), topology)
    save(schedule, tmp_path / "ag.schedule")
    done = hocket("translate", tmp_path / "ag.schedule", "--to", "rccl", "-o", tmp_path / "ag.xml")
    assert done.returncode == 3
    assert "rank 0: 66 thread blocks, limit 64" in done.stderr
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


def test_a_limit_of_the_runtime_is_a_failed_proof() -> None:
    done = hocket("verify", DATA / "broadcast_binomial_8.xml", "--profile", "rccl")
    assert done.returncode == 1
    assert "is a fused rcs, which rccl cannot run" in done.stderr


def test_without_a_profile_the_fitting_runtimes_are_told() -> None:
    done = hocket("verify", DATA / "broadcast_binomial_8.xml")
    assert done.returncode == 0
    told = [line for line in done.stdout.splitlines() if line.startswith(("fits", "not for"))]
    assert [line[: line.index(":")] if ":" in line else line for line in told] == [
        "not for msccl",  # maxBytes 0
        "fits executor",
        "not for rccl",  # fused steps
    ]


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
    assert f"Example: hocket {command}" in hocket(command, "--help").stdout


def test_the_written_text_is_what_was_proved(tmp_path: Path) -> None:
    result = translate(greedy_schedule(Kind.REDUCE_SCATTER, 3, 2, seed=5), tmp_path / "rs.xml", "executor")
    assert read_xml(tmp_path / "rs.xml") == result.program
    assert [proof.fifo_depth for proof in result.proofs] == [1, 2]
