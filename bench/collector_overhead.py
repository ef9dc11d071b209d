"""What the collector costs a job, with each of its hooks: CPU time a collective, memory, file, share of a step.

Run: `python -m hocket.bench.collector_overhead`, on a quiet machine. Goals: at most 5 us per collective for its record,
10 with its completion, less than 1 % of the transformer example's step, memory that stays flat over a million
collectives, at most 200 B of stream each. CPU time is that of all threads. The processes take turns, so that a busy
machine disturbs all alike, and the best round of each counts.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.chakra.job_folders import find_job
from hocket.recording.folder import stream_path
from hocket.recording.metrics.families import Histogram
from hocket.recording.metrics.reader import MetricsReader
from hocket.recording.recording import read_recording
from hocket.recording.settings import OUT_VARIABLE, variable

ROUNDS = 150
CALLS = 200
READ = 100_000
MILLION = 1_000_000
MODES = ("bare", "python", "native")
# A synchronous call is recorded at its issue and its wait, an asynchronous one at its completion too.
ROWS = {"synchronous": "record", "asynchronous": "record and completion"}
# With --always-on: variables of what may stay on for weeks; `between` lies between two windows of steps.
ALWAYS_ON: dict[str, dict[str, str] | None] = {
    "bare": None,
    "native": {},
    "ring": {"max_bytes": "256MiB"},
    "armed": {"triggers": "1"},
    "between": {"windows": "1000000000:1"},
    "profiler": None,
}
WIDTH = 16
STEPS = 20

Workers = Mapping[str, Executor]

#: In a worker: what it was told to call.
_calls: dict[str, Callable[[], object]] = {}


def begin(mode: str, folder: str) -> None:
    """In a worker: arms the collector, unless `bare`, and joins a world of one."""
    if mode != "bare":
        os.environ |= {OUT_VARIABLE: folder, variable("hook"): mode}
        from hocket.plugin import autoload

        autoload.arm()
    join()


def begin_always_on(mode: str, folder: str) -> None:
    """In a worker: the same with one of ALWAYS_ON, outside of any window of steps."""
    variables = ALWAYS_ON[mode]
    if variables is not None:
        os.environ |= {variable(name): value for name, value in variables.items()}
        begin("native", folder)
        _calls["synchronous"]()  # opens the stream

        from hocket.plugin.torch import collector

        collector.mark_step()
        return
    begin("bare", folder)
    if mode == "profiler":
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]).start()


def join() -> None:
    """In a worker: joins a world of one."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    tensor = torch.ones(16)
    _calls["synchronous"] = lambda: dist.all_reduce(tensor)
    _calls["asynchronous"] = lambda: dist.all_reduce(tensor, async_op=True).wait()


def measure(name: str, count: int) -> tuple[float, int]:
    """In a worker: CPU us a call of so many, and resident bytes then."""
    call = _calls[name]
    begin = time.process_time_ns()
    for _ in range(count):
        call()
    return (time.process_time_ns() - begin) / count / 1000, resident_bytes()


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def print_costs(workers: Workers) -> float:
    """Prints the table of CPU times; returns what the native hook costs an asynchronous call, in us."""
    print(f"all_reduce of 64 B, gloo, 1 rank: CPU us a call, best of {ROUNDS} rounds of {CALLS}")
    titles = (*MODES, "python-bare", "native-bare")
    print(" " * 36 + "".join(f"{title:>{WIDTH}}" for title in titles))
    for name, what in ROWS.items():
        rounds = [
            [worker.submit(measure, name, CALLS).result()[0] for worker in workers.values()] for _ in range(ROUNDS)
        ]
        bare, python, native = (min(column) for column in zip(*rounds, strict=True))
        columns = (bare, python, native, python - bare, native - bare)
        print(f"{f'{name} ({what})':36}" + "".join(f"{value:{WIDTH}.2f}" for value in columns))
    return float(native - bare)


def print_memory(workers: Workers, folders: dict[str, str]) -> None:
    print(f"\n{MILLION:,} asynchronous calls: resident memory before and after, stream bytes per call")
    for mode, worker in workers.items():
        path = stream_path(find_job(folders[mode]).path, 0)
        _, before = worker.submit(measure, "asynchronous", CALLS).result()
        begin = used_bytes(path)
        _, after = worker.submit(measure, "asynchronous", MILLION).result()
        size = (used_bytes(path) - begin) / MILLION
        print(f"{mode:8}{before / 2**20:10.1f} MiB{after / 2**20:10.1f} MiB{size:10.1f} B")


def used_bytes(path: Path) -> int:
    return len(path.read_bytes().rstrip(b"\0")) if path.exists() else 0


def print_share(cost_us: float) -> None:
    """The native hook's share of a training step: its cost a call times the calls of a step, by the step's time."""
    spec = find_spec("hocket.examples.train_ddp")
    assert spec is not None and spec.origin is not None
    with scratch_folder("bench") as folder:
        options = ["--out", str(folder), "-n", "2", "--skip-steps", "2", "--steps", str(STEPS)]
        command = [sys.executable, "-m", "hocket", "collect", *options, spec.origin, "--steps", str(STEPS + 2)]
        processes.run(command, check=True, stdout=subprocess.DEVNULL)
        recording = read_recording(stream_path(find_job(folder).path, 0))
    step_us = float(np.median(np.diff([t for _, t in recording.steps][2:]))) / 1000
    calls = len(recording.columns.start) / STEPS
    print(f"\nexamples/train_ddp.py, 2 ranks: {calls:.1f} collectives and {step_us / 1000:.1f} ms a step (median)")
    print(f"native hook: {calls:.1f} x {cost_us:.2f} us = {calls * cost_us / step_us:.4%} of a step")


def print_always_on(folder: str) -> None:
    """Prints what collecting costs that stays on, and what reading it for metrics costs the process beside."""
    with ExitStack() as stack:
        folders = {mode: os.path.join(folder, mode) for mode in ALWAYS_ON}
        workers = {mode: stack.enter_context(processes.worker_pool(1)) for mode in ALWAYS_ON}
        for mode, worker in workers.items():
            worker.submit(begin_always_on, mode, folders[mode]).result()
        print(f"\nall_reduce of 64 B, gloo, 1 rank: CPU us a call more than bare, best of {ROUNDS} rounds of {CALLS}")
        print(" " * 36 + "".join(f"{mode:>{WIDTH}}" for mode in ALWAYS_ON))
        for name in ROWS:
            rounds = [
                [worker.submit(measure, name, CALLS).result()[0] for worker in workers.values()] for _ in range(ROUNDS)
            ]
            bare, *others = (min(column) for column in zip(*rounds, strict=True))
            print(f"{name:36}{bare:{WIDTH}.2f}" + "".join(f"{value - bare:{WIDTH}.2f}" for value in others))
        workers["ring"].submit(measure, "asynchronous", READ).result()
        for worker in workers.values():
            worker.submit(os._exit, 0)
    reader = MetricsReader(find_job(folders["ring"]).path)
    began = time.process_time_ns()
    (calls,) = [family for family in reader.read() if family.name == "hocket_calls"]
    (read,) = [int(value) for _, value in calls.samples if not isinstance(value, Histogram)]
    print(f"metrics: {(time.process_time_ns() - began) / read / 1000:.2f} CPU us a call in the process beside the job")


def main() -> None:
    with scratch_folder("bench") as folder, ExitStack() as stack:
        folders = {mode: os.path.join(folder, mode) for mode in MODES}
        workers = {mode: stack.enter_context(processes.worker_pool(1)) for mode in MODES}
        for mode, worker in workers.items():
            worker.submit(begin, mode, folders[mode]).result()
        cost = print_costs(workers)
        print_memory(workers, folders)
        for worker in workers.values():
            worker.submit(os._exit, 0)  # the exit would merge calls that nobody asked for
    print_share(cost)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--stacks", action="store_true", help="record the script's line that issues each call, too")
    always_on_help = "what stays on for weeks instead: caps, windows, triggers, metrics, beside PyTorch's profiler"
    parser.add_argument("--always-on", action="store_true", help=always_on_help)
    chosen = parser.parse_args()
    if chosen.stacks:
        os.environ[variable("stacks")] = "1"
    if chosen.always_on:
        with scratch_folder("bench") as scratch:
            print_always_on(str(scratch))
    else:
        main()
