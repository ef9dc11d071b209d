"""What the collector costs a job, with each of its hooks: CPU time a collective, memory, file, share of a step.

Run: `python -m hocket.bench.collector_overhead`, on a quiet machine. Goals: at most 5 us a collective for its record,
10 with its completion, less than 1 % of the transformer example's step, memory that stays flat over a million
collectives, at most 200 B of stream each. CPU time is that of all threads. The processes take turns, so that a busy
machine disturbs all alike, and the best round of each counts.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.recording.folder import stream_path
from hocket.recording.recording import read_recording
from hocket.recording.settings import OUT_VARIABLE, variable

ROUNDS = 150
CALLS = 200
MILLION = 1_000_000
MODES = ("bare", "python", "native")
# A synchronous call is recorded at its issue and its wait, an asynchronous one at its completion too.
ROWS = {"synchronous": "record", "asynchronous": "record and completion"}
WIDTH = 16
STEPS = 20


def worker(pipe: Connection, mode: str, folder: str) -> None:
    """Makes as many calls as each message says, and answers with CPU us a call and resident bytes."""
    if mode != "bare":
        os.environ |= {OUT_VARIABLE: folder, variable("hook"): mode}
        from hocket.plugin import autoload

        autoload.arm()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    tensor = torch.ones(16)
    calls: dict[str, Callable[[], object]] = {
        "synchronous": lambda: dist.all_reduce(tensor),
        "asynchronous": lambda: dist.all_reduce(tensor, async_op=True).wait(),
    }
    while (order := pipe.recv()) is not None:
        name, count = order
        call = calls[name]
        begin = time.process_time_ns()
        for _ in range(count):
            call()
        pipe.send(((time.process_time_ns() - begin) / count / 1000, resident_bytes()))
    os._exit(0)  # the exit would merge calls that nobody asked for


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def ask(pipe: Connection, name: str, count: int) -> tuple[float, int]:
    pipe.send((name, count))
    cost, resident = pipe.recv()
    return float(cost), int(resident)


def print_costs(pipes: dict[str, Connection]) -> float:
    """Prints the table of CPU times; returns what the native hook costs an asynchronous call, in us."""
    print(f"all_reduce of 64 B, gloo, 1 rank: CPU us a call, best of {ROUNDS} rounds of {CALLS}")
    titles = (*MODES, "python-bare", "native-bare")
    print(" " * 36 + "".join(f"{title:>{WIDTH}}" for title in titles))
    for name, what in ROWS.items():
        rounds = [[ask(pipe, name, CALLS)[0] for pipe in pipes.values()] for _ in range(ROUNDS)]
        bare, python, native = (min(column) for column in zip(*rounds, strict=True))
        columns = (bare, python, native, python - bare, native - bare)
        print(f"{f'{name} ({what})':36}" + "".join(f"{value:{WIDTH}.2f}" for value in columns))
    return float(native - bare)


def print_memory(pipes: dict[str, Connection], folders: dict[str, str]) -> None:
    print(f"\n{MILLION:,} asynchronous calls: resident memory before and after, stream bytes a call")
    for mode, pipe in pipes.items():
        path = stream_path(folders[mode], 0)
        _, before = ask(pipe, "asynchronous", CALLS)
        begin = used_bytes(path)
        _, after = ask(pipe, "asynchronous", MILLION)
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
        recording = read_recording(stream_path(folder, 0))
    step_us = float(np.median(np.diff([t for _, t in recording.steps][2:]))) / 1000
    calls = len(recording.columns.start) / STEPS
    print(f"\nexamples/train_ddp.py, 2 ranks: {calls:.1f} collectives and {step_us / 1000:.1f} ms a step (median)")
    print(f"native hook: {calls:.1f} x {cost_us:.2f} us = {calls * cost_us / step_us:.4%} of a step")


def main() -> None:
    context = get_context("spawn")
    with scratch_folder("bench") as folder:
        pipes, folders = {}, {}
        for mode in MODES:
            folders[mode] = os.path.join(folder, mode)
            pipes[mode], end = context.Pipe()
            context.Process(target=worker, args=(end, mode, folders[mode])).start()
        cost = print_costs(pipes)
        print_memory(pipes, folders)
        for pipe in pipes.values():
            pipe.send(None)
    print_share(cost)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--stacks", action="store_true", help="record the script's line that issues each call, too")
    if parser.parse_args().stacks:
        os.environ[variable("stacks")] = "1"
    main()
