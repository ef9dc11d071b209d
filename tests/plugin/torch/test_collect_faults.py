"""What befalls a job that is collected: the job goes on, what was recorded stays, and somebody is told."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import streams

from hocket.base.errors import HocketError
from hocket.recording.folder import stream_path, stream_paths
from hocket.recording.recording import read_recording

pytestmark = pytest.mark.torch

ONE_RANK = """
import os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
"""

# As on a PyTorch that is newer than this version of Hocket.
NEWER_TORCH = """
import sys
from hocket.chakra.c10d import OPERATIONS
del OPERATIONS["allreduce_coalesced_"]
from hocket.collect import main
main(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch")


@pytest.fixture(params=["native", "python"])
def hook(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=200)


def script(folder: Path, text: str) -> str:
    path = folder / "script.py"
    path.write_text(text)
    return str(path)


def test_every_operation_of_this_torch_is_known() -> None:
    """A newer PyTorch that fails here has an operation for OPERATIONS or, if it moves nothing, for LOCAL."""
    from hocket.plugin.torch.signature import unknown_operations

    assert unknown_operations() == []


def test_an_operation_of_a_newer_torch_is_named_once(tmp_path: Path, hook: str) -> None:
    twice = ONE_RANK + "for _ in range(2): dist.all_reduce_coalesced([torch.ones(3)]); dist.all_reduce(torch.ones(3))"
    out = tmp_path / "out"
    command = [sys.executable, "-c", NEWER_TORCH, "--out", str(out), script(tmp_path, twice)]
    finished = run(command, HOCKET_COLLECT_HOOK=hook)
    assert finished.returncode == 0, finished.stderr
    assert [call["op"] for call in streams.calls(stream_path(streams.job(out), 0))] == ["allreduce_"] * 2
    (problem,) = json.loads((streams.job(out) / "summary.json").read_text())["mismatches"]
    assert problem["problem"] == "not recorded"
    assert "allreduce_coalesced_: not known to this version of Hocket, and not recorded" in problem["message"]


TWO_RANKS = """
import os, signal, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
for number in range(4):
    dist.all_reduce(torch.ones(25))
functional, there = torch.ops._c10d_functional, (1 - rank, 0, dist.group.WORLD.group_name)
functional.wait_tensor((functional.irecv if rank else functional.isend)(torch.ones(3), *there))
"""


@pytest.mark.parametrize(
    ("end", "code", "told"),
    [
        ("if rank == 1: os.kill(os.getpid(), signal.SIGTERM)  # from the scheduler", 1, "unended: rank 1"),
        ("if rank == 1: os.kill(os.getppid(), signal.SIGKILL)  # torchrun\ntime.sleep(1)", 247, "rank"),
    ],
)
def test_what_a_killed_job_recorded_is_merged(tmp_path: Path, end: str, code: int, told: str) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "hocket", "collect", "--out", str(out), "-n", "2", "--timeout", "3"]
    finished = run([*command, script(tmp_path, TWO_RANKS + end)])
    assert finished.returncode == code, finished.stderr
    assert "Exception ignored" not in finished.stderr and "terminate called" not in finished.stderr
    assert told in finished.stdout
    assert [len(streams.calls(stream_path(streams.job(out), rank))) for rank in range(2)] == [5, 5]
    for rank, kind in enumerate(("send", "recv")):  # of the functional collectives
        last = streams.issued(read_recording(stream_path(streams.job(out), rank)))[-1]
        assert last.kind == kind and last.wait_end is not None
    assert (streams.job(out) / "trace.0.et").exists() and (streams.job(out) / "trace.1.et").exists()


# Where gloo's thread lets go of the last tensor while Python ends, stock PyTorch now and then aborts the process.
PARTED = "dist.destroy_process_group()\n"

FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))"


@pytest.mark.parametrize(
    ("hook", "before", "after", "told"),
    [
        ("native", FULL_DISK, "", "cannot collect into"),
        ("python", FULL_DISK, "", "cannot collect into"),
        ("native", "", "import shutil; shutil.rmtree(os.environ['HOCKET_COLLECT'])", "no such folder"),
        ("native", "", "sys.stdout.flush(); os._exit(0)", ""),
    ],
)
def test_the_job_goes_on_without_its_collection(tmp_path: Path, hook: str, before: str, after: str, told: str) -> None:
    out = tmp_path / "out"
    trained = f"{before}\n{ONE_RANK}dist.all_reduce(torch.ones(3)); print('trained')\n{after}\n"
    job = script(tmp_path, trained + PARTED)
    finished = run([sys.executable, job], HOCKET_COLLECT=str(out), HOCKET_COLLECT_HOOK=hook)
    assert (finished.returncode, finished.stdout.splitlines()[0]) == (0, "trained"), finished.stderr
    assert told in finished.stderr and "Traceback" not in finished.stderr
    if before:  # a stream with nothing in it is none
        assert stream_paths(streams.job(out)) == []
    elif not told:
        assert len(streams.calls(stream_path(streams.job(out), 0))) == 1


FORKED = """
import os, sys
import torch, torch.distributed as dist, torch.multiprocessing as multiprocessing
from torch.utils.data import DataLoader

def main(rank):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:" + sys.argv[1], rank=rank, world_size=2)
    for batch in DataLoader(torch.ones(8, 4), batch_size=4, num_workers=2, multiprocessing_context="fork"):
        dist.all_reduce(batch)
    dist.barrier()

if __name__ == "__main__":
    multiprocessing.start_processes(main, nprocs=2, start_method="fork")
"""


def test_ranks_that_a_script_forks_and_their_data_loaders(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    out = tmp_path / "out"
    finished = run([sys.executable, script(tmp_path, FORKED), port], HOCKET_COLLECT=str(out))
    assert finished.returncode == 0, finished.stderr
    assert sorted(path.name for path in (streams.job(out) / "stream").iterdir()) == ["rank0.stream", "rank1.stream"]
    assert [len(streams.calls(stream_path(streams.job(out), rank))) for rank in range(2)] == [3, 3]
    assert "all ranks recorded, all collectives complete" in finished.stdout


AGAIN = """
import time, torch, torch.distributed as dist
if torch.__version__ >= (2, 9):  # which needs no pause
    time.sleep = None
for number in range(3):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    dist.all_reduce(torch.ones(1))
    for _ in range(2):
        group = dist.new_group([0])
        dist.all_reduce(torch.ones(16), group=group)
        dist.destroy_process_group(group)
    dist.destroy_process_group()
"""


def test_groups_that_are_destroyed_and_made_again_under_the_same_name(tmp_path: Path, hook: str) -> None:
    out = tmp_path / "out"
    finished = run([sys.executable, script(tmp_path, AGAIN)], HOCKET_COLLECT=str(out), HOCKET_COLLECT_HOOK=hook)
    assert finished.returncode == 0, finished.stderr
    summary = json.loads((streams.job(out) / "summary.json").read_text())
    assert summary["mismatches"] == []
    # Of the same members: three worlds and six other groups, each with one collective.
    assert [(row["group"], row["count"]) for row in summary["kinds"]] == [(number, 1) for number in range(9)]
    assert len({group["name"] for group in summary["groups"]}) < 9


def test_a_torch_that_is_too_old_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hocket.plugin import installed

    monkeypatch.setattr(installed, "version", lambda name: "2.3.1+cpu")
    with pytest.raises(HocketError, match=r"collecting needs PyTorch 2\.4 or newer, not 2\.3\.1\+cpu: pip install"):
        installed.check_script(script(tmp_path, ""))
    monkeypatch.setattr(installed, "version", lambda name: "2.10.0")
    installed.check_script(script(tmp_path, ""))
