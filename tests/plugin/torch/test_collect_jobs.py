"""Jobs that are collected into one folder: at the same time, one after the other, restarted, made again."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import streams
from collected_job import Job

from hocket.chakra.job_folders import find_job, jobs_in
from hocket.recording.folder import stream_path
from hocket.recording.recording import read_recording

pytestmark = pytest.mark.torch

START = """
import os, sys, time
import torch, torch.distributed as dist
def reduce(count, size=4):
    for _ in range(count):
        dist.all_reduce(torch.ones(size))
"""

IN_STEPS = (
    START
    + """
dist.init_process_group("gloo")
size = int(os.environ["SIZE"])
reduce(3, size)
print("recording", flush=True)
sys.stdin.readline()
reduce(2, size)
dist.destroy_process_group()
"""
)


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


@pytest.fixture(params=["native", "python"])
def hook(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def summary(job: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((job / "summary.json").read_text())
    return found


def counts(job: Path) -> list[tuple[int, int]]:
    """Number and bytes of each kind of call in a job's summary."""
    return [(row["count"], row["bytes_min"]) for row in summary(job)["kinds"]]


def test_jobs_that_overlap_in_one_folder_record_and_merge_their_own(tmp_path: Path, script: Path) -> None:
    """The second begins after the first and ends before it, in the same second or not."""
    script.write_text(IN_STEPS)
    out = tmp_path / "out"
    array = {"SLURM_ARRAY_JOB_ID": "7", "HOCKET_COLLECT": str(out)}
    first = Job(script, SIZE="4", SLURM_ARRAY_TASK_ID="1", **array)
    assert [first.said(rank) for rank in range(2)] == ["recording"] * 2
    second = Job(script, SIZE="8", SLURM_ARRAY_TASK_ID="2", **array)
    assert [second.said(rank) for rank in range(2)] == ["recording"] * 2
    assert len(jobs_in(out)) == 2 and "-7_2-" in find_job(out).path.name
    for job, size in ((second, 8), (first, 4)):
        job.tell(0, 1)
        ended = job.end()
        assert [rank.returncode for rank in ended] == [0, 0], ended
        assert "2 ranks, 0 training steps recorded" in ended[0].stdout
        assert "all ranks recorded, all collectives complete, no disagreement" in ended[0].stdout
        (folder,) = (path for path in jobs_in(out) if f"-7_{size // 4}-" in path.name)
        assert counts(folder) == [(5, 4 * size)] and folder.name.startswith("train-")
        assert {read_recording(stream_path(folder, rank)).job for rank in range(2)} == {folder.name}
    assert sorted(path.name for path in out.iterdir()) == sorted(["latest", *(path.name for path in jobs_in(out))])


def test_hocket_collect_takes_a_folder_that_has_jobs(tmp_path: Path, script: Path) -> None:
    script.write_text(START + "dist.init_process_group('gloo'); reduce(int(sys.argv[1]))\n")
    out = tmp_path / "out"
    for count in (2, 3):
        command = [sys.executable, "-m", "hocket", "collect", "--out", str(out), str(script), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        assert counts(find_job(out).path) == [(count, 16)]
    assert sorted(counts(job) for job in jobs_in(out)) == [[(2, 16)], [(3, 16)]]
    failing = [*command[:-2], str(tmp_path / "silent.py")]
    (tmp_path / "silent.py").write_text("")
    assert subprocess.run(failing, capture_output=True, timeout=200).returncode == 3
    assert len(jobs_in(out)) == 2 and counts(find_job(out).path) == [(3, 16)]  # nothing recorded, nothing left
    assert len([*out.iterdir()]) == 3


RESTARTED = (
    START
    + """
again = os.environ["TORCHELASTIC_RESTART_COUNT"] != "0"
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
kept = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), world, False)
# torchrun's store still has the addresses of the ranks that were, which gloo may take for the new ones'.
store = dist.PrefixStore(os.environ["TORCHELASTIC_RESTART_COUNT"], kept)
dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
reduce(4 if again else 2)
if not again:
    os._exit(1 - dist.get_rank())
"""
)


def test_torchruns_restarts_are_jobs_of_their_own(tmp_path: Path, script: Path) -> None:
    script.write_text(RESTARTED)
    out = tmp_path / "out"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"]
    done = subprocess.run(
        [*torchrun, str(script)],
        env=os.environ | {"HOCKET_COLLECT": str(out)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    latest, (first,) = find_job(out).path, [job for job in jobs_in(out) if "restart" not in job.name]
    assert "-restart1-" in latest.name and counts(latest) == [(4, 16)] and not summary(latest)["unended"]
    assert [len(streams.calls(stream_path(first, rank))) for rank in range(2)] == [2, 2]
    assert not (first / "summary.json").exists()


AGAIN = (
    START
    + """
import datetime
port = int(os.environ["MASTER_PORT"])
rank = int(os.environ["RANK"])
def begin(number, rank):
    store = dist.TCPStore("127.0.0.1", port + number if port < 60000 else port - number, 2, rank == 0)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    return store
kept = begin(0, rank)
reduce(2)
dist.destroy_process_group()
again = begin(1, rank)        # the same ranks: the same job goes on
reduce(1)
work = dist.all_reduce(torch.ones(4), async_op=True)
work.wait()
dist.destroy_process_group()
turned = begin(2, 1 - rank)   # other ranks: another job
reduce(5)
dist.barrier()
"""
)


@pytest.mark.parametrize("hook, cap", [("native", ""), ("python", ""), ("native", "1MiB"), ("python", "1MiB")])
def test_groups_that_are_made_again_go_on_in_the_job_unless_ranks_have_changed(
    tmp_path: Path, script: Path, hook: str, cap: str
) -> None:
    script.write_text(AGAIN)
    out = tmp_path / "out"
    ended = Job(
        script,
        HOCKET_COLLECT=str(out),
        HOCKET_COLLECT_HOOK=hook,
        HOCKET_COLLECT_JOB="again",
        HOCKET_COLLECT_MAX_BYTES=cap,
    ).end()
    assert [rank.returncode for rank in ended] == [0, 0], ended
    assert [job.name for job in jobs_in(out)] == ["again", "again-2"]
    first, second = (
        [read_recording(stream_path(job, rank)) for rank in range(2)] for job in (out / "again", out / "again-2")
    )
    assert [len(recording) for recording in [*first, *second]] == [4, 4, 6, 6]
    assert all(recording.ended and not recording.lost for recording in [*first, *second])
    assert [recording.meta.pid for recording in first] == [recording.meta.pid for recording in second][::-1]
    assert summary(out / "again")["mismatches"] == [] == summary(out / "again-2")["mismatches"]
    assert [row["count"] for row in summary(out / "again")["kinds"]] == [2, 2]


ALONE = (
    START
    + """
dist.init_process_group("gloo")
rank = dist.get_rank()
reduce(2)
dist.destroy_process_group()
store = dist.HashStore()
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
reduce(3)
dist.destroy_process_group()
"""
)


def test_a_world_of_each_rank_alone_is_a_job_of_its_own(tmp_path: Path, script: Path) -> None:
    script.write_text(ALONE)
    out = tmp_path / "out"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    environment = os.environ | {"HOCKET_COLLECT": str(out), "HOCKET_COLLECT_JOB": "alone"}
    done = subprocess.run(torchrun, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert [job.name for job in jobs_in(out)] == ["alone", "alone-2", "alone-3"]
    assert counts(out / "alone") == [(2, 16)] and summary(out / "alone")["mismatches"] == []
    assert counts(out / "alone-2") == counts(out / "alone-3") == [(3, 16)]


LATE = (
    START
    + """
dist.init_process_group("gloo")
rank = dist.get_rank()
alone = [dist.new_group([number]) for number in range(2)]
if rank == 0:
    sys.stdin.readline()
for _ in range(3):
    dist.all_reduce(torch.ones(4), group=alone[rank])
print("recorded", flush=True)
dist.barrier()
"""
)


def test_a_rank_that_begins_before_rank_0_names_the_job(tmp_path: Path, script: Path) -> None:
    script.write_text(LATE)
    out = tmp_path / "out"
    job = Job(script, HOCKET_COLLECT=str(out))
    assert job.said(1) == "recorded"
    (folder,) = jobs_in(out)
    assert [path.name for path in (folder / "stream").iterdir()] == ["rank1.stream"]
    job.tell(0)
    ended = job.end()
    assert "all ranks recorded" in ended[0].stdout, ended
    assert jobs_in(out) == [folder] and summary(folder)["absent"] == []


SOME = (
    START
    + """
dist.init_process_group("gloo")
group = dist.new_group([int(os.environ["RECORDS"])])
if dist.get_rank() == int(os.environ["RECORDS"]):
    dist.all_reduce(torch.ones(4), group=group)
if os.environ.get("DESTROYS"):
    dist.destroy_process_group()
"""
)


@pytest.mark.parametrize(("records", "variables"), [("0", {}), ("1", {}), ("0", {"DESTROYS": "1"})])
def test_a_rank_that_records_nothing_is_named_and_nobody_waits_for_it(
    tmp_path: Path, script: Path, records: str, variables: dict[str, str]
) -> None:
    script.write_text(SOME)
    out = tmp_path / "out"
    ended = Job(script, HOCKET_COLLECT=str(out), HOCKET_COLLECT_TIMEOUT="100000", RECORDS=records, **variables).end()
    assert [rank.returncode for rank in ended] == [0, 0], ended
    assert f"missing: rank {1 - int(records)} recorded nothing" in ended[0].stdout
    assert "did not end" not in ended[0].stderr
    assert summary(find_job(out).path)["absent"] == [1 - int(records)]


TWO_FOLDERS = START + "dist.init_process_group('gloo'); reduce(3); dist.barrier(); dist.destroy_process_group()\n"


@pytest.mark.parametrize("comes", [True, False])
def test_streams_that_are_seen_late_are_waited_for_or_named(tmp_path: Path, script: Path, comes: bool) -> None:
    """A folder a machine, the second's copied to the first's when its rank has ended: late, as NFS shows files."""
    script.write_text(TWO_FOLDERS)
    here, there = tmp_path / "here", tmp_path / "there"
    own = [{"HOCKET_COLLECT": str(here)}, {"HOCKET_COLLECT": str(there)}]
    job = Job(script, own=own, HOCKET_COLLECT_TIMEOUT="1000" if comes else "2")
    job.processes[1].wait(100)
    (elsewhere,) = jobs_in(there)
    stream = stream_path(elsewhere, 1)
    if comes:
        for part in (stream.read_bytes()[:200], stream.read_bytes()):  # not all of it at once
            time.sleep(1)
            assert job.processes[0].poll() is None
            arriving = stream_path(here / elsewhere.name, 1)
            arriving.write_bytes(part)
    ended = job.end()
    assert [rank.returncode for rank in ended] == [0, 0], ended
    assert [path.name for path in jobs_in(here)] == [elsewhere.name]
    if comes:
        assert "all ranks recorded" in ended[0].stdout
        return
    assert "missing: rank 1 recorded nothing" in ended[0].stdout
    assert f"hocket: rank 1 wrote {stream} on " in ended[0].stderr
    merge = [sys.executable, "-m", "hocket", "collect", "merge", str(here / elsewhere.name)]
    assert "of which here nothing is seen after" in ended[0].stderr
    assert f"once it is: hocket collect merge {here / elsewhere.name}" in ended[0].stderr
    shutil.copy(stream, stream_path(here / elsewhere.name, 1))
    assert "all ranks recorded" in subprocess.run(merge, capture_output=True, text=True, timeout=100).stdout


SET_BACK = (
    START
    + """
dist.init_process_group("gloo")
reduce(2)
shown = time.time_ns
time.time_ns = lambda: shown() - 3600 * 10**9   # as if the clock had been set back by an hour
reduce(2)
"""
)


def test_a_clock_that_is_set_back_moves_nothing_and_is_said(tmp_path: Path, script: Path, hook: str) -> None:
    script.write_text(SET_BACK)
    out = tmp_path / "out"
    ended = Job(script, HOCKET_COLLECT=str(out), HOCKET_COLLECT_HOOK=hook).end()
    assert "all ranks recorded, all collectives complete, no disagreement" in ended[0].stdout, ended
    told = "the wall clock of ranks [0, 1] was set back by 3600.0 s meanwhile, by which no time here goes"
    assert told in ended[0].stdout
    assert counts(find_job(out).path) == [(4, 16)]
    assert all(row["elapsed_ns"] < 600 * 10**9 for row in summary(find_job(out).path)["ranks"])


@pytest.mark.parametrize(("job", "told"), [("a/b", "is no name of a job"), ("mine", "")])
def test_a_job_may_be_named(tmp_path: Path, script: Path, job: str, told: str) -> None:
    script.write_text(
        START + "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1); reduce(1)"
    )
    for _ in range(2):
        ended = Job(script, 1, HOCKET_COLLECT=str(tmp_path / "out"), HOCKET_COLLECT_JOB=job).end()[0]
        assert ended.returncode == 0 and told in ended.stderr
    names = [path.name for path in jobs_in(tmp_path / "out")] if (tmp_path / "out").exists() else []
    assert names == ([] if told else ["mine", "mine-2"])
