"""`hocket sweep` as a user runs it, kills it and starts it again."""

import csv
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import in_process
import pytest
from sweep_stores import runs_of

COMMAND = [sys.executable, "-m", "hocket", "sweep"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "topology:\n"
        "  - switch:16,bandwidth=50GB/s,latency=500ns\n"
        "  - torus:4x4,bandwidth=50GB/s,latency=500ns\n"
        "collective: [all_reduce, all_to_all]\n"
        "size: 1KiB..1MiB:4\n"
        "algorithm: [ring, auto]\n"
    )
    return path


run = partial(in_process.hocket, "sweep")


def test_a_killed_sweep_resumes_and_ends_as_if_nothing_had_been(file: Path, tmp_path: Path) -> None:
    answers = tmp_path / "killed" / "answers.sqlite"
    process = subprocess.Popen([*COMMAND, file, "--out", answers.parent], stdout=subprocess.DEVNULL)
    while process.poll() is None and len(runs_of(answers)) < 3:
        time.sleep(0.01)
    process.kill()
    process.wait()
    kept = runs_of(answers)
    assert len(kept) >= 3 and set(kept.values()) == {1}

    for out in (answers.parent, tmp_path / "whole"):
        done = run(file, "--out", out)
        assert done.returncode == 0, done.stderr
        # Ring does no all_to_all: 6 sizes on 2 topologies are answered with that.
        assert "48 points, 12 cannot be simulated" in done.stdout
    assert runs_of(answers).items() >= kept.items()  # those are the first run's still
    results = [(folder / "results.csv").read_bytes() for folder in (answers.parent, tmp_path / "whole")]
    assert results[0] == results[1]
    with (tmp_path / "whole" / "results.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 48
    assert all(int(row["time_ps"]) >= int(row["bound_ps"]) for row in rows)


def test_a_second_sweep_into_the_same_folder_is_refused_while_the_first_runs(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with (out / "lock").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as a sweep that goes on holds it
        refused = run(file, "--out", out)
        assert refused.returncode == 3
        assert f"{out}: another sweep is writing there now" in refused.stderr
        assert not (out / "answers.sqlite").exists()
    assert run(file, "--out", out).returncode == 0


def test_processes_give_the_same_results(file: Path, tmp_path: Path) -> None:
    for name, options in (("one", []), ("two", ["--executor", "processes", "--jobs", "2", "--parquet"])):
        command = [*COMMAND, file, "--out", tmp_path / name, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "one" / "results.csv").read_bytes() == (tmp_path / "two" / "results.csv").read_bytes()
    assert (tmp_path / "two" / "results.parquet").exists()


def session(leader: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
            if int(of) == leader and state != "Z":
                found.append(int(path.parent.name))
    return found


WORKERS = ["--executor", "local", "--jobs", "2"]


@pytest.mark.parametrize(
    ("options", "number"),
    [([], signal.SIGINT), (WORKERS, signal.SIGINT), (WORKERS, signal.SIGTERM), (WORKERS, signal.SIGKILL)],
)
def test_an_interrupted_sweep_says_how_to_go_on_and_leaves_no_process(
    file: Path, tmp_path: Path, options: list[str], number: int
) -> None:
    answers = tmp_path / "sweep" / "answers.sqlite"
    sizes = ", ".join(map(str, range(10_000, 14_000)))  # of 8 points each
    file.write_text(re.sub("size:.*", f"size: [{sizes}]", file.read_text()))
    command = [*COMMAND, file, "--out", answers.parent, *options]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and len(runs_of(answers)) < 3:
        time.sleep(0.01)
    assert len(session(process.pid)) == (3 if options else 1)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)  # until the last worker has let go of the pipe
    while session(process.pid):
        time.sleep(0.05)
    if number == signal.SIGKILL:
        return
    assert process.returncode == 130
    assert re.fullmatch(r"\d+ of \d+ points done; run the same command to go on\n", said)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("collective", "all_reduse", "sweep.yaml:2: collective: 'all_reduse'; did you mean 'all_reduce'?"),
        ("algorithm", "rign", "sweep.yaml:4: algorithm: 'rign'; did you mean 'ring'?"),
        ("model", "flaw", "sweep.yaml:5: model: 'flaw'; did you mean 'flow'? known: analytical"),
        ("queueing", "prio", "sweep.yaml:5: queueing: 'prio'; did you mean 'priority'? known: fifo"),
        ("queueing", "7=priority", "sweep.yaml:5: queueing: '7'; known: *, 0"),
        ("topology", "rign:8", "sweep.yaml:1: topology: "),
    ],
)
def test_names_of_nothing_are_errors_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str, message: str
) -> None:
    ring = "ring:2,bandwidth=1GB/s,latency=1us"
    content = {"topology": ring, "collective": "all_reduce", "size": "1KiB", "algorithm": "auto"} | {key: value}
    (tmp_path / "sweep.yaml").write_text("".join(f"{name}: {text}\n" for name, text in content.items()))
    monkeypatch.chdir(tmp_path)
    done = run("sweep.yaml")
    assert done.returncode == 3
    assert message in done.stderr
    assert not (tmp_path / "sweep").exists()


def test_one_point_is_a_point(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("topology: dgx-h100\ncollective: all_reduce\nsize: 1KiB\nalgorithm: ring\n")
    assert "1 point: " in run(tmp_path / "sweep.yaml", "--out", tmp_path / "out").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["absent.yaml"], 3, "absent.yaml"),
        (["sweep.yaml", "--executor", "slurm"], 2, "known: dask, local, mpi, processes, serial"),
        (["sweep.yaml", "--jobs", "2"], 2, "--jobs is for"),
    ],
)
def test_bad_use_is_one_clear_error(
    file: Path, arguments: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    done = run(*arguments)
    assert done.returncode == code
    assert message in done.stderr


def test_what_a_changed_file_asks_is_new_alone(file: Path, tmp_path: Path) -> None:
    answers, text = tmp_path / "out" / "answers.sqlite", file.read_text()
    assert run(file, "--out", answers.parent).returncode == 0
    before = runs_of(answers)
    file.write_text(text.replace("[ring, auto]", "[direct, auto]").replace("all_to_all", "all_gather"))
    assert "48 points: " in run(file, "--out", answers.parent).stdout
    after = runs_of(answers)
    assert after.items() >= before.items() and sorted(after.values()) == [1] * 48 + [2] * 36
    file.write_text(text)
    assert "48 points, 12 cannot" in run(file, "--out", answers.parent).stdout
    assert runs_of(answers) == after  # all of that was answered before


def test_a_terminal_hears_the_pace_and_the_time_left(file: Path, tmp_path: Path) -> None:
    file.write_text(re.sub("size:.*", f"size: {list(range(10_000, 10_300))}", file.read_text()))
    ours, theirs = os.openpty()
    process = subprocess.Popen([*COMMAND, file, "--out", tmp_path / "out"], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    said = ""
    with open(ours, errors="replace") as terminal, suppress(OSError):  # which ends so when nobody holds the other end
        while not re.search(r"\d+ of 2400 points, [\d,]+ per second, \d+ (s|min) left, \d+ s", said):
            said += terminal.read(1)
    process.kill()
    process.wait()
    assert re.search(r"\d+ of 2400 points, [\d,]+ per second, \d+ (s|min) left, \d+ s", said), said[-500:]
