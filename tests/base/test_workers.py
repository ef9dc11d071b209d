"""Worker processes that die, hang and raise: what they were not at is answered, once."""

import importlib
import os
import signal
import subprocess
import sys
import time
from functools import partial
from operator import truediv
from pathlib import Path

import pytest

from hocket.base.errors import HocketError
from hocket.base.workers import Failed, Workers


def test_answers_come_with_their_places() -> None:
    with Workers(2) as workers:
        for tasks in (range(-50, 50), range(3), range(0)):
            found = dict(workers.answers(abs, tasks))
            assert found == {place: abs(task) for place, task in enumerate(tasks)}


def test_what_a_task_raises_is_its_answer_alone() -> None:
    with Workers(1) as workers:
        found = dict(workers.answers(partial(truediv, 6), [1, 0, 3]))
    assert found == {0: 6.0, 1: Failed("ZeroDivisionError: division by zero"), 2: 2.0}


def test_a_task_that_kills_its_process_is_tried_twice_and_costs_no_other(tmp_path: Path) -> None:
    with Workers(2) as workers:
        tasks = [f"echo {at} >> {tmp_path}/ran{at}" for at in range(20)]
        tasks[7] += "; kill -9 $PPID"
        found = dict(workers.answers(os.system, tasks))
    assert len(found) == 20
    assert isinstance(found[7], Failed) and "ended at it 2 times (signal SIGKILL)" in found[7].reason
    assert [found[at] for at in range(20) if at != 7] == [0] * 19
    assert [len((tmp_path / f"ran{at}").read_text().splitlines()) for at in range(20)] == [1] * 7 + [2] + [1] * 12


def test_a_task_that_takes_too_long_is_ended_and_costs_no_other() -> None:
    with Workers(1, limit_s=0.5) as workers:
        found = dict(workers.answers(time.sleep, [0, 60, 0, 0]))
        assert dict(workers.answers(abs, [-1])) == {0: 1}
    assert found == {0: None, 1: Failed("it took longer than 0.5 s"), 2: None, 3: None}


def test_a_job_that_is_stopped_and_goes_on_takes_no_longer(tmp_path: Path) -> None:
    """Ctrl-Z stops a sweep and its workers together; the time until `fg` is not the task's."""
    script = """
import os, time
from hocket.base.workers import Workers
with Workers(1, limit_s=2.0) as workers:
    list(workers.answers(abs, [1]))
    print("begun", flush=True)
    print(*workers.answers(os.system, ["for at in 1 2 3 4 5; do sleep 0.2; done"]))
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "begun\n"
            time.sleep(0.3)
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(3.5)
            os.killpg(process.pid, signal.SIGCONT)
            assert process.stdout.read() == "(0, 0)\n"
        finally:
            process.kill()


def test_the_first_task_of_a_process_may_load_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    with Workers(1, limit_s=0.2) as workers:
        assert dict(workers.answers(time.sleep, [0.6, 0, 0.6])) == {
            0: None,
            1: None,
            2: Failed("it took longer than 0.2 s"),
        }
    monkeypatch.setattr("hocket.base.workers._LOAD_S", 0.2)
    with Workers(1, limit_s=0.2) as workers:
        assert dict(workers.answers(time.sleep, [60])) == {0: Failed("it took longer than 0.2 s")}


def test_an_answer_that_was_in_time_counts_however_late_it_is_heard() -> None:
    with Workers(2, limit_s=2.0) as workers:
        found = []
        for answer in workers.answers(time.sleep, [0.6, 1.0]):
            found.append(answer)
            time.sleep(2.5)  # as a slow disk takes to keep an answer
    assert found == [(0, None), (1, None)]


def test_what_a_process_loads_before_its_first_task_is_not_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loads_slowly.py").write_text(
        "import sys, time\nif 'hocket.base.workers' not in sys.modules:\n    time.sleep(1)\n\n"
        "def half(number):\n    return number / 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    half = importlib.import_module("loads_slowly").half
    with Workers(1, limit_s=0.5) as workers:
        assert dict(workers.answers(half, [2, 4])) == {0: 1.0, 1: 2.0}


def test_workers_that_cannot_begin_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Workers(1) as workers, pytest.raises(HocketError, match=r"ended before it began \(exit code 1\)"):
        dict(workers.answers(abs, [1]))


def test_workers_that_never_begin_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "python").chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("hocket.base.workers._START_S", 0.3)
    with Workers(1) as workers, pytest.raises(HocketError, match=r"a worker process has not begun for 0.3 s"):
        dict(workers.answers(abs, [1]))


SCRIPT = """
import time
from hocket.base.workers import Workers
with Workers(2) as workers:
    for _ in workers.answers(time.sleep, [0, 0, 600, 600]):
        print("working", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"working\n"
        os.killpg(parent.pid, number) if number == signal.SIGINT else os.kill(parent.pid, number)
        assert parent.stdout.read() in (b"", b"working\n")
    deadline = time.monotonic() + 20
    while any(_session(path) == parent.pid for path in Path("/proc").glob("[0-9]*/stat")):
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.02)


def _session(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[3])
    except OSError:
        return 0
