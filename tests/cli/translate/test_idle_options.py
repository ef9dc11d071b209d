"""Options that would do nothing are refused by name, notes of a file are told when it is written."""

from pathlib import Path

import pytest
from in_process import hocket
from programs import greedy_schedule

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, load_expanded, save
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import read_xml
from hocket.translator.mscclpp import lower_to_plan

LOWERING = ("--channels", 7, "--max-bytes", "1KiB", "--name", "zzz", "--protocol", "LL", "--instances", 3)


@pytest.fixture(scope="module")
def schedule_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("idle") / "ar.schedule"
    save(greedy_schedule(Kind.ALL_REDUCE, 4, 2, seed=7), path)
    return path


@pytest.mark.parametrize(
    ("target", "name"), [("table", "t.csv"), ("chakra", "g"), ("nccl-graph", "r.xml"), ("schedule", "again.schedule")]
)
def test_what_is_no_program_takes_no_options_of_programs(
    schedule_file: Path, tmp_path: Path, target: str, name: str
) -> None:
    done = hocket("translate", schedule_file, "--to", target, "-o", tmp_path / name, *LOWERING)
    assert done.returncode == 2
    assert "drop --protocol, --channels, --instances, --max-bytes, --name" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--to", "mscclpp", "--slots", 2), "--slots"),
        (("--to", "executor", "--ranks-per-node", 2), "--ranks-per-node"),
        (("--to", "executor", "--from", "rccl", "--in-place"), "--from"),
    ],
)
def test_a_schedule_takes_what_its_target_has(
    schedule_file: Path, tmp_path: Path, arguments: tuple[object, ...], named: str
) -> None:
    done = hocket("translate", schedule_file, *arguments, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert f"drop {named}" in done.stderr


@pytest.mark.parametrize("option", [("--runtime", "all"), ("--json", "-"), ("--explain", "p.html"), ("--gpu", "H100")])
def test_a_schedule_is_verified_for_no_runtime(schedule_file: Path, option: tuple[str, str]) -> None:
    done = hocket("verify", schedule_file, *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"first hocket translate {schedule_file} --to RUNTIME -o ar.xml: drop {option[0]}" in done.stderr


def test_the_notes_of_a_file_are_told_when_it_is_written(tmp_path: Path) -> None:
    """A send over LL that others wait for, on RCCL: `hocket verify` has a note of it, so has `hocket translate`."""
    source, path = tmp_path / "ar.schedule", tmp_path / "out.xml"
    save(greedy_schedule(Kind.ALL_REDUCE, 3, 1, seed=2), source)
    done = hocket("translate", source, "--to", "rccl", "--protocol", "LL", "-o", path)
    assert done.returncode == 0, done.stderr
    noted = [line for line in done.stdout.splitlines() if line.startswith("note: ")]
    told = hocket("verify", path, "--runtime", "rccl").stdout.splitlines()
    assert [f"rccl: {line}" for line in noted] == [line for line in told if line.startswith("rccl: note: ")]
    assert "is a send over LL that others wait for" in noted[0]


def test_a_thread_block_that_must_outdo_nccl_is_noted(tmp_path: Path) -> None:
    """All_gather of 64 MiB on a ring of 4 links of 450 GB/s: a block sends 3 chunks of 16 MiB in about 3 x 16 MiB / 450
    GB/s, over NCCL's 60 GB/s; on links of 50 GB/s none does."""
    for bandwidth, noted in (("450GB/s", True), ("50GB/s", False)):
        topology = load(f"ring:4,bandwidth={bandwidth},latency=500ns")
        save(build("ring", Collective(Kind.ALL_GATHER, 4, 64 << 20), topology), tmp_path / "r.schedule")
        command = ("translate", tmp_path / "r.schedule", "--to", "executor", "-o", tmp_path / "r.xml", "--channels", 1)
        done = hocket(*command)
        assert done.returncode == 0, done.stderr
        assert ("give more --channels or --instances, and measure" in done.stdout) == noted


def test_a_plan_too_large_to_prove_is_refused(schedule_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket.translator.mscclpp.lower._MAX_STEPS_TIMES_BLOCKS", 100)
    with pytest.raises(ScheduleError, match=r"too large to be proved .* limit 100; synthesize it with fewer --chunks"):
        lower_to_plan(load_expanded(schedule_file))


def test_a_program_right_below_a_size_is_written_for_these(shared: Path, tmp_path: Path) -> None:
    """allgather_rd sends 4 chunks in the last round, and a connection holds 2 messages of Simple: with 2 chunks a
    message, so up to 8 chunks of 2 MiB / 2, it is right."""
    source = shared / "msccl_xml" / "az_msccl_tools" / "allgather_rd_8g_simple.xml"
    output = tmp_path / "out.xml"
    largest = 8 * (2 << 20) // 2
    refused = hocket("translate", source, "--to", "executor", "-o", output, "--max-bytes", largest + 1)
    assert refused.returncode == 5
    assert "give --max-bytes 8MiB" in refused.stderr
    assert not output.exists()
    done = hocket("translate", source, "--to", "executor", "-o", output, "--max-bytes", largest)
    assert done.returncode == 0, done.stderr
    assert "messages of at most 2 of a step's chunks" in done.stdout
    assert "of sizes up to 8 MiB only" in done.stdout
    assert read_xml(output).max_bytes == largest
    assert hocket("verify", output, "--runtime", "executor").returncode == 0
