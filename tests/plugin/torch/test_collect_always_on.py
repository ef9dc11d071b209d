"""Collections that stay on: streams with a cap, windows of steps, and windows that are asked for while the job runs."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("torch")
from hocket.recording.folder import stream_path
from hocket.recording.merge import merge
from hocket.recording.recording import read_recording
from hocket.recording.segments import segment_paths
from hocket.recording.sessions import parts_of
from hocket.recording.settings import Settings

pytestmark = pytest.mark.torch

HOOKS = ("native", "python")
WELL = ["all ranks recorded, all collectives complete, no disagreement between ranks"]

# One rank, which never ends steps before it is told how many.
ALONE = """
import os, signal, sys, time
import torch, torch.distributed as dist
from hocket import collect
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
tensor = torch.ones(8)
def step(number):
    dist.all_reduce(tensor)
    dist.all_reduce(tensor, async_op=True).wait()
    collect.step()
"""

# Ranks of torchrun; the last argument is a file whose presence ends the job.
TOGETHER = """
import os, sys, time
import torch, torch.distributed as dist
from hocket import collect
dist.init_process_group("gloo")
tensor = torch.zeros(1)
while not tensor.item():
    tensor[0] = dist.get_rank() == 0 and os.path.exists(sys.argv[1])
    dist.all_reduce(tensor)
    time.sleep(0.005)
    collect.step()
dist.destroy_process_group()
"""


def run_alone(folder: Path, body: str, **options: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of one rank that collects into `folder`/out."""
    script = folder / "script.py"
    script.write_text(ALONE + body)
    command = [sys.executable, "-m", "hocket.collect", "--out", str(folder / "out")]
    flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value) if part]
    return subprocess.run([*command, *flags, str(script)], capture_output=True, text=True, env=environment())


def environment(**more: str) -> Mapping[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1"} | more


@pytest.mark.parametrize("hook", HOOKS)
def test_a_cap_holds_for_either_hook(tmp_path: Path, hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOCKET_COLLECT_HOOK", hook)
    done = run_alone(tmp_path, "for number in range(1500):\n    step(number)\n", max_bytes="64KiB")
    assert done.returncode == 0, done.stderr
    stream = stream_path(tmp_path / "out" / "latest", 0)
    assert sum(path.stat().st_size for path in segment_paths(stream)) <= 65536
    recording = read_recording(stream)
    assert recording.meta.hook.startswith(hook)
    assert recording.lost == ()
    assert recording.dropped + len(recording) == 3000
    summary = json.loads((tmp_path / "out" / "latest" / "summary.json").read_text())
    (dropped,) = summary["dropped"]
    assert dropped["by_cap"] == recording.dropped
    assert dropped["uncommon"] <= 2  # whole steps
    assert summary["mismatches"] == []


@pytest.mark.parametrize("hook", HOOKS)
def test_windows_of_steps_are_parts_of_the_recording(
    tmp_path: Path, hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOCKET_COLLECT_HOOK", hook)
    done = run_alone(tmp_path, "for number in range(30):\n    step(number)\n", windows="10:2", skip_steps="5")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out" / "latest"
    assert parts_of(stream_path(out, 0)) == ["1", "2", "3"]
    columns = read_recording(stream_path(out, 0)).columns
    assert sorted(set(columns.step.tolist())) == [5, 6, 15, 16, 25, 26]
    summary = merge(out, part="2")
    assert summary.problems() == WELL
    assert (summary.steps, summary.kinds[0].count) == (2, 4)


def test_a_signal_keeps_a_window_with_what_came_before_it(tmp_path: Path) -> None:
    body = """
number, kept = 0, os.path.join(os.path.dirname(__file__), "out", "latest", "windows", "trigger1")
while not os.path.exists(kept) and number < 100_000:
    step(number)
    time.sleep(0.001)
    if number == 500:
        os.kill(os.getpid(), signal.SIGUSR1)
    number += 1
"""
    done = run_alone(tmp_path, body, max_bytes="128KiB", signal="SIGUSR1", trigger_steps="7")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out" / "latest"
    window = json.loads((out / "trigger" / "1.json").read_text())
    assert window["reason"] == "SIGUSR1 to rank 0"
    assert window["end"] - window["start"] == 7
    assert window["start"] >= 503
    summary = merge(out, part="trigger1")
    assert summary.problems() == WELL
    steps = read_recording(stream_path(out / "windows" / "trigger1", 0), "trigger1").columns.step
    assert steps.min() < window["start"]  # the flight recorder's past
    assert steps.max() == window["end"] - 1


@pytest.mark.parametrize("launcher", ["hocket collect -n 1", "torch.distributed.run --nproc-per-node=1"])
def test_a_signal_as_a_rank_starts_is_lost_and_ends_nothing(tmp_path: Path, launcher: str) -> None:
    """Ranks begin with the signal ignored, until the trigger's handler takes it."""
    (tmp_path / "sitecustomize.py").write_text(f"import os, signal\nif 'RANK' in os.environ: {SIGNALLED}")
    out = str(tmp_path / "out")
    flags = [] if "torch" in launcher else ["--out", out, "--signal", "SIGUSR1", "--max-bytes", "1MiB"]
    told = {} if flags else {"HOCKET_COLLECT": out, "HOCKET_COLLECT_SIGNAL": "SIGUSR1"}
    done = run_signalled(tmp_path, [*launcher.split(), *flags], **told)
    assert (done.returncode, "handled: True" in done.stdout) == (0, True), done.stderr


def test_a_signal_before_pytorch_is_imported_is_lost_and_ends_nothing(tmp_path: Path) -> None:
    real = f"import sys\nsys.path.remove({str(tmp_path)!r})\ndel sys.modules['torch']\nimport torch\n"
    (tmp_path / "torch.py").write_text(f"import os, signal\n{SIGNALLED}{real}")
    done = run_signalled(tmp_path, ["hocket.collect", "--out", str(tmp_path / "out"), "--signal", "SIGUSR1"])
    assert (done.returncode, "handled: True" in done.stdout) == (0, True), done.stderr


SIGNALLED = "os.kill(os.getpid(), signal.SIGUSR1)\n"


def run_signalled(folder: Path, command: list[str], **told: str) -> subprocess.CompletedProcess[str]:
    """Runs a script by a command of Python's modules, which finds those in `folder` first."""
    handled = "print('handled:', callable(signal.getsignal(signal.SIGUSR1)))\n"
    (folder / "script.py").write_text(f"{ALONE}step(0)\n{handled}")
    path = f"{folder}:{environment().get('PYTHONPATH', '')}"
    line = [sys.executable, "-m", *command, str(folder / "script.py")]
    return subprocess.run(line, capture_output=True, text=True, env=environment(PYTHONPATH=path, **told))


def test_handlers_of_the_script_are_called_too(tmp_path: Path) -> None:
    body = """
dist.barrier()
os.kill(os.getpid(), signal.SIGUSR1)
"""
    (tmp_path / "sitecustomize.py").write_text(
        "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('mine'))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(ALONE + body)
    command = [sys.executable, "-m", "hocket.collect", "--out", str(tmp_path / "out"), "--signal", "SIGUSR1"]
    path = f"{tmp_path}:{environment().get('PYTHONPATH', '')}"
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, env=environment(PYTHONPATH=path))
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout


def test_a_slow_step_triggers_a_window_by_itself(tmp_path: Path) -> None:
    body = """
for number in range(120):
    time.sleep(0.5 if number == 60 else 0.01)
    step(number)
"""
    done = run_alone(tmp_path, body, slow_step="10", trigger_steps="3", max_bytes="1MiB")
    assert done.returncode == 0, done.stderr
    window = json.loads((tmp_path / "out" / "latest" / "trigger" / "1.json").read_text())
    assert window["reason"].startswith("step 60 of rank 0 took 0.5")
    assert len(list((tmp_path / "out" / "latest" / "trigger").glob("*.json"))) == 1


def test_all_ranks_record_the_window_that_a_file_asks_for(tmp_path: Path) -> None:
    script, out, stop = tmp_path / "script.py", tmp_path / "out", tmp_path / "stop"
    script.write_text(TOGETHER)
    job_folder = out / "latest"
    hocket = [sys.executable, "-m", "hocket", "collect"]
    job = subprocess.Popen(
        [*hocket, "--out", str(out), "-n", "3", "--triggers", str(script), str(stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(HOCKET_COLLECT_HOOK="python"),
    )
    try:
        wait_for(lambda: len(list(job_folder.glob("stream/*"))) == 3)
        asked = subprocess.run([*hocket, "trigger", str(out), "--steps", "6"], capture_output=True, text=True)
        assert asked.returncode == 0, asked.stderr
        assert "--window trigger1" in asked.stdout
        wait_for(lambda: all(len(segment_paths(stream_path(job_folder, rank))) == 3 for rank in range(3)))
        summary = merge(job_folder, part="trigger1")  # while the job runs
        assert job.poll() is None
    finally:
        stop.touch()
        _, said = job.communicate(timeout=60)
    assert job.returncode == 0, said
    assert summary.problems() == WELL
    assert [row.operations for row in summary.ranks] == [6, 6, 6]
    assert summary.steps == 6


def wait_for(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_every_option_is_a_variable_too() -> None:
    values = {"max_bytes": "1MiB", "windows": "10:2", "trigger_steps": "3", "signal": "SIGUSR2", "slow_step": "4"}
    settings = Settings.from_environment(
        {"HOCKET_COLLECT": "out"} | {f"HOCKET_COLLECT_{name.upper()}": text for name, text in values.items()}
    )
    assert settings is not None
    assert (settings.max_bytes, str(settings.windows), settings.signal) == (1 << 20, "10:2", "SIGUSR2")
    assert Settings.from_environment(settings.to_environment()) == settings
