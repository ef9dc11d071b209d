"""A folder of jobs: what each is called, who makes its folder, which one is meant by the folder's name."""

import os
import re
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
import streams
from in_process import hocket

from hocket.base import links
from hocket.base.errors import FormatError, HocketError
from hocket.chakra import read_traces
from hocket.chakra.job_folders import find_job, jobs_in
from hocket.recording.jobs import check_name, claim_job, discard_job, enter_job, name_job, reserve_job
from hocket.recording.merge import merge

SLURM = {"SLURM_JOB_ID": "4712", "SLURM_ARRAY_JOB_ID": "4711", "SLURM_ARRAY_TASK_ID": "3"}


@pytest.mark.parametrize(
    ("script", "environment", "expected"),
    [
        ("/home/me/train.py", {}, r"train-TIME-TOKEN"),
        ("train.py", {"SLURM_JOB_ID": "4712"}, r"train-TIME-4712-TOKEN"),
        ("train.py", SLURM | {"SLURM_RESTART_COUNT": "2"}, r"train-TIME-4711_3-requeue2-TOKEN"),
        ("train.py", {"TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0"}, r"train-TIME-TOKEN"),
        (
            "train.py",
            {"TORCHELASTIC_RUN_ID": "0b7d7ce4-9d7e-4b8f-a5f5-0d5a5a3c8f1e", "TORCHELASTIC_RESTART_COUNT": "1"},
            r"train-TIME-0b7d7ce4-restart1-TOKEN",
        ),
        ("-c", {"PBS_JOBID": "99[4].server/x\n"}, r"c-TIME-99_4_.server_x-TOKEN"),
        ("", {}, r"job-TIME-TOKEN"),
        ("../.\x1b[31m latest;rm -rf.py", {}, r"31m_latest_rm_-rf-TIME-TOKEN"),
        ("x" * 300 + ".py", {}, "x" * 40 + "-TIME-TOKEN"),
    ],
)
def test_a_job_is_called_by_its_script_time_and_launcher(
    script: str, environment: dict[str, str], expected: str
) -> None:
    pattern = expected.replace("TIME", r"\d{8}T\d{6}Z").replace("TOKEN", "[0-9a-f]{6}")
    name = name_job(script, environment)
    assert re.fullmatch(pattern, name), name
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "latest", "stream", "a\n", "-n", "a" * 121, "\x1b"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(FormatError, match=r"HOCKET_COLLECT_JOB: .* is no name of a job"):
        check_name(name)


def test_jobs_that_claim_one_name_at_once_get_folders_of_their_own(tmp_path: Path) -> None:
    claim = (
        "import sys; from pathlib import Path; from hocket.recording.jobs import claim_job\n"
        "print(flush=True); sys.stdin.readline(); print(claim_job(Path(sys.argv[1]), 'job'))"
    )
    processes = [Popen([sys.executable, "-c", claim, tmp_path], stdin=PIPE, stdout=PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()  # all are ready
    claimed = sorted(process.communicate("\n")[0].strip() for process in processes)
    assert claimed == [str(tmp_path / name) for name in ("job", "job-2", "job-3", "job-4")]
    assert find_job(tmp_path).path in map(Path, claimed)


def test_who_launches_a_job_makes_its_folder_and_who_records_claims_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOCKET_COLLECT_JOB", "mine")
    first, second = (reserve_job(tmp_path, "train.py") for _ in range(2))
    assert (first.name, second.name) == ("mine", "mine-2")
    assert jobs_in(tmp_path) == [] and not (tmp_path / "latest").exists()  # nothing is recorded yet
    assert claim_job(tmp_path, "mine-2") == second == find_job(tmp_path).path
    discard_job(first)
    assert jobs_in(tmp_path) == [second] and not first.exists()
    assert claim_job(tmp_path, "mine-2").name == "mine-2-2"  # a second program of the same launch


def test_a_machine_with_a_folder_of_its_own_has_the_job_there_too(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    job = claim_job(here, "job")
    later = claim_job(here, "later")
    assert enter_job(here, job.name) == job
    assert find_job(here).path == later  # who comes into a job that is there does not make it the latest
    assert enter_job(there, job.name) == there / "job" == find_job(there).path


def test_latest_is_a_relative_link_or_where_there_are_none_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_job(tmp_path / "traces", "one")
    assert os.readlink(tmp_path / "traces" / "latest") == "one"
    (tmp_path / "traces").rename(tmp_path / "moved")
    assert find_job(tmp_path / "moved").path == tmp_path / "moved" / "one"

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(links.os, "symlink", refuse)
    second = claim_job(tmp_path / "moved", "two")
    assert (tmp_path / "moved" / "latest").read_text() == "two\n"
    for meant in (tmp_path / "moved", tmp_path / "moved" / "latest", second):
        assert find_job(meant).path == second
    assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["latest", "one", "two"]


def recorded(folder: Path, size: int) -> Path:
    """A merged job of two ranks with an all_reduce of `size` bytes."""
    job = claim_job(folder, f"job{size}")
    for rank in range(2):
        call = streams.call(0, 0, **{"in": size, "out": size})
        streams.write(job, rank, streams.meta(rank), streams.group([0, 1]), call, streams.wait(0, 0, 9), streams.END)
    merge(job)
    return job


def sizes(path: Path | str) -> list[int]:
    return [int(size) for trace in read_traces(path).traces for size in trace.comm_bytes if size]


def test_every_reader_takes_the_folder_its_latest_and_each_job(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    first, second = recorded(folder, 8), recorded(folder, 16)
    line = f"{folder}: its latest job, job16, of 2"
    ring = ["--topology", "ring:2,bandwidth=1GB/s,latency=1us"]
    readers = (
        ["collect", "merge"],
        ["collect", "watch", "--once"],
        ["trace", "info"],
        ["trace", "validate"],
        ["simulate", *ring],
        ["validate", *ring],
        ["step", *ring, "--no-what-if"],
    )
    for reader in readers:
        verb = reader[: 2 if reader[0] in ("collect", "trace") else 1]
        for meant in (folder, folder / "latest", first):
            done = hocket(*verb, meant, *reader[len(verb) :])
            assert done.returncode in (0, 1), (reader, done.stderr)
            assert (line in done.stderr.splitlines()) == (meant == folder), (reader, meant, done.stderr)
    assert [sizes(meant) for meant in (folder, folder / "latest", first, second)] == [
        [16] * 2,
        [16] * 2,
        [8] * 2,
        [16] * 2,
    ]
    assert sizes(folder / "trace") == [16, 16] == sizes(folder / "latest" / "trace")  # a prefix


def test_a_folder_whose_job_nobody_can_know_is_refused_with_its_jobs(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    first, second = recorded(folder, 8), recorded(folder, 16)
    for path in second.glob("*"):
        if path.is_file():
            path.unlink()
    (folder / "latest").unlink()
    with pytest.raises(FormatError, match=f"{folder}: a folder of jobs without latest; name one of {second}, {first}"):
        read_traces(folder)
    links.lead(folder / "latest", "gone")
    with pytest.raises(FormatError, match=f"leads to gone, which is not there; name one of {second}, {first}"):
        read_traces(folder)
    with pytest.raises(FormatError, match="leads to gone"):
        read_traces(folder / "latest")


def test_a_folder_as_older_versions_recorded_it_is_read_as_before(tmp_path: Path) -> None:
    for rank in range(2):
        streams.write(
            tmp_path, rank, streams.meta(rank), streams.group([0, 1]), streams.call(0, 0), streams.wait(0, 0, 9)
        )
    assert hocket("collect", "merge", tmp_path).returncode == 0
    assert sizes(tmp_path) == [8, 8] and find_job(tmp_path).note == ""
    job = recorded(tmp_path, 16)
    with pytest.raises(
        FormatError, match=f"holds traces itself, and those of jobs beside them: name {tmp_path}/latest"
    ):
        read_traces(tmp_path)
    assert sizes(job) == [16, 16] == sizes(tmp_path / "latest")
    assert sizes(tmp_path / "trace") == [8, 8]


def test_a_folder_in_the_way_of_latest_is_said_and_the_job_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "latest").mkdir()
    job = claim_job(tmp_path, "job")
    assert job.is_dir()
    assert (
        f"{tmp_path / 'latest'}: cannot lead to job: Is a directory: name the job's own folder"
        in capsys.readouterr().err
    )
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    (tmp_path / "file").write_text("")
    with pytest.raises(HocketError, match="cannot collect into this folder"):
        claim_job(tmp_path / "file", "job")
