"""One rank of a job that calls all collectives: `python -m hocket.runtime.selftest.worker FOLDER` under torchrun.

Leaves a line of JSON for each call it measured, at once, so that a rank that hangs or dies takes none along, and what
it is (`rank.<rank>.json`). Values are compared on the host, exactly.
"""

import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from hocket.base.files import growing_file
from hocket.base.scratch import hand_over
from hocket.runtime.run.job import RunTask
from hocket.runtime.run.processes import end_with_launcher
from hocket.runtime.selftest.calls import placements
from hocket.runtime.selftest.placed import PlacedBuffers
from hocket.runtime.selftest.rows import RankLine, rank_file, rows_file

__all__ = ["main"]

_LIMIT = timedelta(seconds=60)  # of a call: a rank that waits in vain says so


def main(folder: Path) -> None:
    """Makes the calls of `FOLDER/tasks.pickle`; ends with the process that holds the folder above it."""
    end_with_launcher(folder.parent)
    tasks: tuple[RunTask, ...] = pickle.loads((folder / "tasks.pickle").read_bytes())
    rank = int(os.environ["RANK"])
    device = _joined(tasks[0].transport)
    hand_over(rank_file(folder, rank), json.dumps(_described(device)))
    with growing_file(rows_file(folder, rank)) as file:
        for number, task in enumerate(tasks):
            for line in _lines(number, task, rank, device):
                file.write(json.dumps(line).encode() + b"\n")
                file.flush()
    dist.destroy_process_group()


def _joined(backend: str) -> Any:
    """The device of this rank's tensors, its process group made."""
    if backend == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
        torch.set_num_threads(1)
    dist.init_process_group(backend, timeout=_LIMIT)
    return device


def _described(device: Any) -> dict[str, Any]:
    if device.type == "cpu":
        return {"device": "cpu"}
    properties = torch.cuda.get_device_properties(device)
    return {
        "device": properties.name,
        "architecture": f"sm_{properties.major}{properties.minor}",
        "memory_bytes": properties.total_memory,
        "multiprocessors": properties.multi_processor_count,
    }


def _lines(number: int, task: RunTask, rank: int, device: Any) -> Iterator[RankLine]:
    for size in task.sizes:
        for in_place in placements(task.kind):
            line: RankLine = {"task": number, "size_bytes": size, "in_place": in_place}
            try:
                time_ps, wrong = _measured(task, PlacedBuffers(task, rank, size, in_place, device), device)
                yield {**line, "time_ps": time_ps, "wrong": wrong}
            except (RuntimeError, TypeError, ValueError) as error:  # a call that a library has not, on all ranks alike
                yield {**line, "error": f"{type(error).__name__}: {error}".partition("\n")[0]}


def _measured(task: RunTask, buffers: PlacedBuffers, device: Any) -> tuple[int, int]:
    """Picoseconds of a call on this rank, and wrong elements of the first or the last, whichever has more."""
    wrong = _wrong_after_call(buffers)
    for _ in range(task.warmup):
        buffers.call()
    dist.barrier()
    _wait(device)
    start = time.perf_counter_ns()
    for _ in range(task.iterations):
        buffers.call()
    _wait(device)
    elapsed = time.perf_counter_ns() - start
    if task.iterations > 1:  # a message that a call leaves behind makes the next one wrong
        wrong = max(wrong, _wrong_after_call(buffers))
    return max(1, elapsed * 1000 // task.iterations), wrong


def _wrong_after_call(buffers: PlacedBuffers) -> int:
    buffers.fill()
    dist.barrier()
    buffers.call()
    return buffers.wrong()


def _wait(device: Any) -> None:
    wait: Callable[[], None] = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
