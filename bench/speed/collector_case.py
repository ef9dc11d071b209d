"""What the collector adds to a collective of a PyTorch job, by its native hook."""

import os
import time
from importlib.util import find_spec

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.bench.speed.case import SpeedCase, Timed
from hocket.recording.settings import OUT_VARIABLE, variable

__all__ = ["CASES"]

_CALLS = 200
_ROUNDS = 150
_HERE: list[object] = []  # in a worker: the tensor that is reduced


def _begin(folder: str | None) -> None:
    """In a worker: joins a world of one, with the collector where a folder is named."""
    import torch
    import torch.distributed as dist

    if folder is not None:
        os.environ |= {OUT_VARIABLE: folder, variable("hook"): "native"}
        from hocket.plugin import autoload

        autoload.arm()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    _HERE.append(torch.ones(16))


def _seconds() -> float:
    """In a worker: CPU seconds of so many calls."""
    import torch.distributed as dist

    start = time.process_time()
    for _ in range(_CALLS):
        dist.all_reduce(_HERE[0], async_op=True).wait()
    return time.process_time() - start


def _measure() -> Timed:
    """The two jobs take turns, so that other work on the CPU disturbs both alike; the best round of each counts."""
    with scratch_folder("speed") as folder, processes.worker_pool(1) as bare, processes.worker_pool(1) as recorded:
        bare.submit(_begin, None).result()
        recorded.submit(_begin, str(folder)).result()
        rounds = [(bare.submit(_seconds).result(), recorded.submit(_seconds).result()) for _ in range(_ROUNDS)]
        recorded.submit(os._exit, 0)  # its exit would merge calls that nobody asked for
    without, with_it = (min(column) for column in zip(*rounds, strict=True))
    return Timed(_CALLS, max(with_it - without, 1e-9))


CASES = (
    SpeedCase(
        "collect",
        "collectives",
        "added to a PyTorch call by recording it",
        measure=_measure,
        needs="torch" if find_spec("torch") is None else "",
    ),
)
