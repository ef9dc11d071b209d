"""`hocket collect watch`: what a hanging job waits for, from streams written by hand and from jobs that really hang."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import in_process
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import END, call, done, group, lines, meta, wait, write

from hocket.base.errors import HocketError
from hocket.recording.stream_follower import Follower, Issued
from hocket.recording.watch import Watch

WATCH = [sys.executable, "-m", "hocket", "collect", "watch"]
watched = partial(in_process.hocket, *WATCH[3:])
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]

HANGING = """
import sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
low, high = dist.new_group([0, 1], group_desc="low"), dist.new_group([0, 1], group_desc="high")
dist.all_reduce(torch.ones(25))
if sys.argv[1] == "one less":
    if rank == 1:
        time.sleep(600)
    dist.all_reduce(torch.ones(25))
for half in (low, high) if rank == 0 else (high, low):
    dist.all_reduce(torch.ones(3), group=half)
"""


def now(rank: int, world: int = 2, **values: Any) -> dict[str, Any]:
    """A meta line by which time 0 of the stream is 100 s ago."""
    return meta(rank, world, epoch_ns=time.time_ns() - 100 * 10**9, **values)


def test_nothing_hangs_where_calls_are_over_or_fresh(tmp_path: Path) -> None:
    fresh = 95 * 10**9  # 5 s ago
    asynchronous = call(0, 0, **{"async": 1})
    write(tmp_path, 0, now(0), group([0, 1]), asynchronous, done(0, 9), call(1, fresh))
    write(tmp_path, 1, now(1), group([0, 1]), asynchronous, wait(0, 5, 9))
    assert Watch(tmp_path, 10).look().hangs == ()
    assert [hang.place for hang in Watch(tmp_path, 2).look().hangs] == ["all_reduce #1"]


def test_who_has_not_come_is_told_with_where_it_is(tmp_path: Path) -> None:
    """Rank 0 is in #1; rank 1 computes, rank 2 has ended, rank 3 has no stream, rank 4 has died."""
    head = group([0, 1, 2, 3, 4]), call(0, 0, at="train.py:3"), wait(0, 0, 10**9)
    write(tmp_path, 0, now(0, 5), *head, call(1, 2 * 10**9, at="train.py:7"))
    write(tmp_path, 1, now(1, 5), *head)
    write(tmp_path, 2, now(2, 5), *head, END)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    write(tmp_path, 4, now(4, 5, pid=dead.pid, boot=boot), *head)
    report = Watch(tmp_path, 10).look()
    (hang,) = report.hangs
    assert [(row.rank, row.what, row.line) for row in hang.waiting] == [(0, "all_reduce, 8 B", "train.py:7")]
    assert 98 * 10**9 <= hang.waiting[0].for_ns < 200 * 10**9  # since 2 s of the stream's 100 s
    assert [(row.rank, row.where) for row in hang.elsewhere] == [
        (1, "outside of any collective, after all_reduce #0 of 0"),
        (2, "its script has ended, after all_reduce #0 of 0"),
        (3, "it has no stream: it never issued a collective, or never began"),
        (4, "its process is gone, after all_reduce #0 of 0"),
    ]
    assert report.gone == (4,)
    assert report.cycle == ()


def dead() -> dict[str, Any]:
    """What the meta line says of a process that ran on this machine and is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return {"pid": process.pid, "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip()}


def test_what_ranks_died_in_is_told(tmp_path: Path) -> None:
    """Ranks 0 and 1 were killed in #1, rank 2 before it, rank 3 ended with an error."""
    head = group([0, 1, 2, 3]), call(0, 0), wait(0, 0, 10**9)
    for rank in range(2):
        write(tmp_path, rank, now(rank, 4, **dead()), *head, call(1, 2 * 10**9, at="train.py:7"))
    write(tmp_path, 2, now(2, 4, **dead()), *head)
    write(tmp_path, 3, now(3, 4), *head, END | {"ok": False})
    found = watched(tmp_path, "--once")
    assert found.returncode == 1
    assert [re.sub(r" for [0-9.]+ \w+", "", line) for line in found.stdout.splitlines()] == [
        *(f"gone: rank {rank}: its process ended without a word; its stream stops there" for rank in range(3)),
        "not done: all_reduce #1 of 0:",
        "  waiting at the end: ranks [0, 1], all_reduce, 8 B (train.py:7)",
        "  not arrived: rank 2: its process is gone, after all_reduce #0 of 0",
        "  not arrived: rank 3: its script has ended, after all_reduce #0 of 0",
    ]
    assert watched(tmp_path).returncode == 1
    (left,) = json.loads(watched(tmp_path, "--once", "--json", "-").stdout)["left"]
    assert [row["rank"] for row in left["elsewhere"]] == [2, 3]


def test_ranks_of_another_machine_that_fell_silent_are_told(tmp_path: Path) -> None:
    """Nothing here tells whether their processes are there; rank 2 was heard of a second ago."""
    for rank, last in enumerate((10, 10, 99)):
        write(tmp_path, rank, now(rank, 3), group([0, 1, 2]), call(0, 0), wait(0, 0, last * 10**9))
    found = watched(tmp_path, "--once")
    silent, rest = re.sub(r"for [0-9.]+ s", "for long", found.stdout).splitlines()
    assert silent == (
        "silent: ranks [0, 1]: nothing was heard for long, outside of any collective; their processes ran on another"
        " machine or before this one began anew: look there whether they are gone"
    )
    assert (rest, found.returncode) == ("nothing hangs", 0)


def test_all_have_come_and_differ(tmp_path: Path) -> None:
    for rank, size in enumerate((8, 16)):
        write(tmp_path, rank, now(rank), group([0, 1]), call(0, 0, **{"in": size}))
    (hang,) = Watch(tmp_path, 10).look().hangs
    assert "all have arrived, none is done; they issued it differently" in "\n".join(hang.text())


def test_taking_in_a_call_looks_at_no_other(tmp_path: Path) -> None:
    """10,000 sends that nobody waits for stay open, and of 20,000 synchronous calls the last."""
    shapes = [call(n, 0, **shape)[0] for n, shape in enumerate(({"op": "send", "peer": 1, "async": 1}, {}))]
    issued = [f"c {n} {int(n % 3 > 0)} 0 {n} 1" for n in range(30_000)]
    follower = Follower(write(tmp_path, 0, now(0), group([0, 1]), *shapes, *issued))
    follower.open = visited = CountedVisits()
    follower.read()
    assert (len(visited), visited.visits) == (10_000 + 1, 0)


class CountedVisits(dict[int, Issued]):
    """Counts how many entries are gone through."""

    visits = 0

    def items(self) -> Any:
        self.visits += len(self)
        return super().items()

    def __iter__(self) -> Iterator[int]:
        self.visits += len(self)
        return super().__iter__()


def test_a_cycle_of_three_groups_is_named(tmp_path: Path) -> None:
    """Rank r waits for rank r + 1 in a group of the two."""
    for rank in range(3):
        after = (rank + 1) % 3
        write(tmp_path, rank, now(rank, 3), group(sorted([rank, after]), name=f"g{rank}"), call(0, 0))
    report = Watch(tmp_path, 10).look()
    assert report.cycle == (
        "rank 0 in all_reduce #0 of g0 waits for rank 1",
        "rank 1 in all_reduce #0 of g1 waits for rank 2",
        "rank 2 in all_reduce #0 of g2 waits for rank 0",
    )


def test_a_message_waits_for_its_other_end(tmp_path: Path) -> None:
    write(tmp_path, 0, now(0), group([0, 1]), call(0, 0, op="recv_", peer=1))
    write(tmp_path, 1, now(1), group([0, 1]), call(0, 0), wait(0, 0, 9))
    (hang,) = Watch(tmp_path, 10).look().hangs
    assert (hang.place, [row.rank for row in hang.elsewhere]) == ("recv of rank 0 and rank 1", [1])


def test_streams_are_followed_as_they_grow_and_begin_anew(tmp_path: Path) -> None:
    path = write(tmp_path, 0, now(0), group([0, 1]), call(0, 0), tail="w 0 0 ")
    write(tmp_path, 1, now(1), group([0, 1]))
    watching = Watch(tmp_path, 10)
    assert len(watching.look().hangs) == 1
    with open(path, "a") as file:
        file.write("9 1\n")
    assert watching.look().hangs == ()
    with open(path, "a") as file:
        file.write("c 1 0\n" + lines(now(0), group([0, 1]), call(0, 0)) + "\0" * 100)
    assert [hang.place for hang in watching.look().hangs] == ["all_reduce #0"]


def test_what_a_stream_lost_is_passed_over(tmp_path: Path) -> None:
    """Of #1 the description is lost, of #0 the end of its wait as well; #2 is what rank 0 is in."""
    lost = wait(0, 5, 9), *call(1, 20)
    path = write(tmp_path, 0, now(0), group([0, 1]), call(0, 0), *lost, call(2, 30))
    write(tmp_path, 1, now(1), group([0, 1]), call(0, 0), wait(0, 5, 9))
    gone = lines(*lost[:2])[3:-3].encode()
    path.write_bytes(path.read_bytes().replace(gone, bytes(len(gone))) + bytes(100))
    assert [hang.place for hang in Watch(tmp_path, 10).look().hangs] == ["all_reduce #2"]
    path.write_bytes(bytes(10) + path.read_bytes()[10:])
    with pytest.raises(HocketError, match="expected a stream that starts with a line of kind meta"):
        Watch(tmp_path, 10).look()


@pytest.mark.parametrize(
    ("ends", "code"), [((END, END), 0), ((END, END | {"ok": False}), 1), ((END, []), 5), (([], []), 5)]
)
def test_exit_codes(tmp_path: Path, ends: tuple[Any, Any], code: int) -> None:
    for rank, end in enumerate(ends):
        write(tmp_path, rank, now(rank), group([0, 1]), call(0, 0), *([wait(0, 0, 9)] if end else []), end)
    found = watched(tmp_path, "--once", "--json", "-")
    assert found.returncode == code, found.stderr
    assert bool(json.loads(found.stdout)["hangs"]) == (code == 5)
    followed = watched(tmp_path) if code < 5 else found
    assert followed.returncode == code


def test_a_folder_without_streams_is_named(tmp_path: Path) -> None:
    found = watched(tmp_path, "--once")
    assert found.returncode == 3
    assert "is this the folder of a collection" in found.stderr


@given(st.data())
def test_a_broken_stream_gives_one_clear_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    path = write(folder, 0, meta(0, world=1), group([0]), call(0, 0), wait(0, 0, 9), done(0, 5), END)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        Watch(folder, 1).look()
    except HocketError as error:
        assert str(folder) in str(error)


def test_waiting_for_the_first_job_is_said(tmp_path: Path) -> None:
    watch = subprocess.Popen([*WATCH, str(tmp_path), "--timeout", "1"], stderr=subprocess.PIPE, text=True)
    assert watch.stderr is not None
    line = watch.stderr.readline()
    watch.send_signal(signal.SIGINT)
    watch.communicate(timeout=60)
    assert f"no job records into {tmp_path} yet" in line and f"HOCKET_COLLECT={tmp_path}" in line


@pytest.mark.torch
@pytest.mark.parametrize("what", ["one less", "other order"])
def test_a_job_that_hangs_is_explained(tmp_path: Path, what: str) -> None:
    pytest.importorskip("torch")
    script, out = tmp_path / "hanging.py", tmp_path / "out"
    script.write_text(HANGING)
    settings = {"HOCKET_COLLECT": str(out), "HOCKET_COLLECT_STACKS": "1", "HOCKET_COLLECT_HOOK": "python"}
    job = subprocess.Popen([*TORCHRUN, str(script), what], env=os.environ | settings, stderr=subprocess.DEVNULL)
    watch = subprocess.Popen([*WATCH, str(out), "--timeout", "2"], stdout=subprocess.PIPE, text=True)
    assert watch.stdout is not None
    first = [watch.stdout.readline().strip() for _ in range(3 if what == "one less" else 7)]
    job.send_signal(signal.SIGTERM)
    job.wait(60)
    watch.communicate(timeout=60)
    assert watch.returncode == 5
    text = "\n".join(first)
    if what == "one less":
        assert first[0] == "all_reduce #1 of default_pg:"
        assert "rank 0, all_reduce, 100 B" in first[1] and "hanging.py:11)" in first[1]
        assert "not arrived: rank 1: outside of any collective, after all_reduce #0 of default_pg" in first[2]
    else:
        assert "not arrived: rank 1: in all_reduce #0 of high" in text
        waits = "rank 0 in all_reduce #0 of low waits for rank 1", "rank 1 in all_reduce #0 of high waits for rank 0"
        assert first[6] == f"deadlock: {', '.join(waits)}"
