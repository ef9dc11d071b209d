"""Ranks that die, come late or issue something else; programs that are wrong or for others; two hooks at once."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import handmade
import pytest

from hocket.base.errors import FormatError, HocketError, ScheduleError
from hocket.runtime.engine.address import TRANSPORT_VARIABLE, shares_memory
from hocket.runtime.engine.library import read_library
from hocket.schedule import Kind

pytestmark = pytest.mark.torch

RANKS = 4
FAULTS = Path(__file__).with_name("algorithms_faults.py")
# Many small calls of the stock algorithm from two threads: gloo's own thread frees their tensors, which takes the GIL.
# Each rank begins with another group.
SCRIPT = """
import threading, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
whole, own = torch.zeros(2000), torch.full((1000,), dist.get_rank() + 1.0)
for _ in range(3):
    dist.all_gather_into_tensor(whole, own)
dist.all_reduce(own)
assert own[0] == 3 and whole.sum() == 3000
def issue(number, group):
    time.sleep(0 if number == dist.get_rank() else 1)
    for _ in range(1000):
        last = dist.all_reduce(torch.ones(4), group=group, async_op=True)
    last.wait()
threads = [threading.Thread(target=issue, args=(number, dist.new_group())) for number in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, str]]:
    """What each rank was told, rank 3 having been killed."""
    folder = tmp_path_factory.mktemp("faults")
    programs = handmade.write(folder / "programs", handmade.ring_all_reduce(RANKS), handmade.ring_all_reduce(2))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS)}
    command = [sys.executable, str(FAULTS), str(programs), str(folder)]
    ranks = [subprocess.Popen(command, env={**place, "RANK": str(rank)}) for rank in range(RANKS)]
    codes = [rank.wait(timeout=120) for rank in ranks]
    assert codes == [0, 0, 0, -signal.SIGKILL]
    return {rank: json.loads((folder / f"said.{rank}.json").read_text()) for rank in range(RANKS - 1)}


def test_a_late_rank_is_named_by_who_waits_for_it(said: dict[int, dict[str, str]]) -> None:
    # in the ring rank 2 takes from rank 1
    assert said[2]["late"].endswith(
        "nothing moved for 2000 ms: waiting for rank 1, which has not begun this collective"
    )
    for rank, words in said.items():
        assert words["late"].startswith(f"HocketError: rank {rank} of 4, allreduce by programs/all_reduce_4.json: ")
        assert words["after"] == words["late"], "a group that is out of step stays so"


def test_ranks_that_issue_different_collectives_are_told(said: dict[int, dict[str, str]]) -> None:
    assert "rank 0 is in another collective: the ranks issue theirs in different order" in said[1]["disordered"]


def test_a_dead_rank_ends_every_kind_of_wait(said: dict[int, dict[str, str]]) -> None:
    for words in said.values():
        assert words["finite wait"] == "nothing"
        for wait in ("dead", "dead, in C++", "dead, functional"):
            assert "lost the connection to rank 3 (" in words[wait], "also those that do not talk to it are told who"
            assert "): it has ended" in words[wait]
    # rank 1 talks to ranks 0 and 2
    assert re.search(r"lost the connection to rank ([02]) \(.*\): rank \1 gave up: lost the conn", said[1]["dead"])


def test_any_error_fails_the_call_and_ends_the_peers_wait(said: dict[int, dict[str, str]]) -> None:
    assert said[0]["no memory"].endswith("allreduce by programs/all_reduce_4.json: MemoryError")
    assert "rank 0 gave up: MemoryError" in said[1]["no memory"], "in the ring rank 1 takes from rank 0"
    for words in said.values():
        assert words["after no memory"] == words["no memory"], "the group's thread lives on to say so"


def test_an_expanded_tensor_is_written_once(said: dict[int, dict[str, str]]) -> None:
    assert all(words["expanded"] == str([float(RANKS)] * 4) for words in said.values())


def test_ctrl_c_ends_a_synchronous_call(said: dict[int, dict[str, str]]) -> None:
    assert said[0]["interrupted"] == "KeyboardInterrupt: "
    assert said[0]["after the interrupt"].endswith("allreduce by programs/all_reduce_2.json: interrupted")


def test_collector_and_algorithms_work_side_by_side(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    programs = handmade.write(tmp_path / "made", handmade.exchange(Kind.ALL_GATHER, 2), handmade.ring_all_reduce(4))
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)],
        env={**os.environ, "HOCKET_ALGORITHMS": str(programs), "HOCKET_COLLECT": str(tmp_path / "traces")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("hocket: algorithms of") == 1, "rank 0 alone reports"
    assert "Overriding a previously registered kernel" not in done.stderr
    said = [line.split() for line in done.stderr.splitlines()]
    assert ["made/all_gather_2.json", "all_gather", "on", "2", "ranks", "3"] in [words[:6] for words in said]
    assert ["made/all_reduce_4.json", "all_reduce", "on", "4", "ranks", "0", "never", "ran"] in said
    assert "the stock library ran 2001 calls, which took their callers " in done.stderr
    rows = [" ".join(words) for words in said if words[:1] == ["allreduce"]]
    assert all(row.endswith("no program for all_reduce on 2 ranks") for row in rows)
    assert [row.split()[1] for row in rows].count("group") == 2  # the threads'
    assert any(" world (0,1) 3.906 KiB 1 " in row for row in rows)
    summary = json.loads((tmp_path / "traces" / "latest" / "summary.json").read_text())
    assert "all_gather" in json.dumps(summary) and "all_reduce" in json.dumps(summary)


def broken(folder: Path) -> Path:
    ring = handmade.ring_all_reduce(4)
    first = ring.gpus[0]
    block = first.thread_blocks[0]
    shortened = replace(first, thread_blocks=(replace(block, steps=block.steps[:-1]),))
    return handmade.write(folder, replace(ring, gpus=(shortened, *ring.gpus[1:])))


def test_programs_that_are_absent_end_the_job_with_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import torch; print('training')"],
        env={**os.environ, "HOCKET_ALGORITHMS": "nonexist"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"hocket: HOCKET_ALGORITHMS={tmp_path / 'nonexist'}: nonexist: ")


def test_a_wrong_program_ends_the_job_before_it_starts(tmp_path: Path) -> None:
    programs = broken(tmp_path / "broken")
    done = subprocess.run(
        [sys.executable, "-c", "import torch; print('training')"],
        env={**os.environ, "HOCKET_ALGORITHMS": str(programs)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 3 and "training" not in done.stdout
    assert f"hocket: HOCKET_ALGORITHMS={programs}: {programs / 'all_reduce_4.json'}: " in done.stderr
    assert "Traceback" not in done.stderr
    with pytest.raises(ScheduleError, match=r"broken/all_reduce_4\.json: .*"):
        read_library(str(programs))


def test_a_transport_is_known_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shares_memory()
    monkeypatch.setenv(TRANSPORT_VARIABLE, "tcp")
    assert not shares_memory()
    monkeypatch.setenv(TRANSPORT_VARIABLE, "udp")
    with pytest.raises(HocketError, match="HOCKET_ALGORITHMS_TRANSPORT=udp: expected shm or tcp"):
        shares_memory()


def test_library_says_what_it_lacks(tmp_path: Path) -> None:
    ring = handmade.ring_all_reduce(4)
    library = read_library(str(handmade.write(tmp_path / "made", replace(ring, min_bytes=1024, max_bytes=4096))))
    assert library.missing(4) is None
    assert library.missing(8) == "no program for 8 ranks, only for 4"
    found = library.find(Kind.ALL_REDUCE, 1024, 4, 4, -1)
    assert not isinstance(found, str) and found.algorithm.name == "made/all_reduce_4.json" and found.in_place
    # 257 elements in four chunks of 65: 1040 bytes
    padded = library.find(Kind.ALL_REDUCE, 1028, 4, 4, -1)
    assert not isinstance(padded, str) and padded.algorithm is found.algorithm and padded.chunk_bytes == 260
    small = library.find(Kind.ALL_REDUCE, 512, 4, 4, -1)
    assert small == "no program for this size, only for 1 KiB to 4 KiB"
    with pytest.raises(FormatError, match="holds no program"):
        (tmp_path / "empty").mkdir()
        read_library(str(tmp_path / "empty"))
    with pytest.raises(FormatError, match="absent"):
        read_library(str(tmp_path / "absent"))
