"""One rank of a job in which everything goes wrong, one group after another: algorithms_faults.py PROGRAMS RESULTS."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional_collectives

import hocket.plugin
from hocket.base.files import atomic_write
from hocket.plugin.serve.binding import Binding


def said_by(action: Callable[[], object]) -> str:
    try:
        action()
    except (Exception, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def main(programs: str, folder: Path) -> None:
    hocket.plugin.use(programs)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    late, disordered = dist.new_group(timeout=timedelta(seconds=2)), dist.new_group()
    pair = dist.new_group([0, 1])
    said: dict[str, str] = {}

    def all_reduce(count: int, group: dist.ProcessGroup | None = None) -> Callable[[], object]:
        return lambda: dist.all_reduce(torch.ones(count), group=group)

    all_reduce(4, late)()  # connects
    if rank == 1:
        time.sleep(4)
    said["late"] = said_by(all_reduce(4, late))
    said["after"] = said_by(all_reduce(4, late))
    said["disordered"] = said_by(all_reduce(8 if rank == 0 else 16, disordered))
    said["finite wait"] = said_by(lambda: dist.all_reduce(torch.ones(4), async_op=True).wait(timedelta(seconds=60)))
    starved = dist.new_group()
    all_reduce(4, starved)()  # connects
    with patch.object(Binding, "buffers", side_effect=MemoryError) if rank == 0 else nullcontext():
        said["no memory"] = said_by(dist.all_reduce(torch.ones(4), group=starved, async_op=True).wait)
    said["after no memory"] = said_by(dist.all_reduce(torch.ones(4), group=starved, async_op=True).wait)
    expanded = torch.ones(1).expand(4)
    dist.all_reduce(expanded, async_op=True).wait()
    said["expanded"] = str(expanded.tolist())
    if rank < 2:
        all_reduce(4, pair)()  # connects
    if rank == 0:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        said["interrupted"] = said_by(all_reduce(4, pair))
        said["after the interrupt"] = said_by(all_reduce(4, pair))
    dist.barrier()
    if rank == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    work = dist.all_reduce(torch.ones(4), async_op=True)
    said["dead"] = said_by(work.wait)
    said["dead, in C++"] = said_by(work.get_future().wait)
    said["dead, functional"] = said_by(
        lambda: functional_collectives.all_reduce(torch.ones(4), "sum", dist.group.WORLD) * 1
    )
    with atomic_write(folder / f"said.{rank}.json") as file:
        json.dump(said, file)
    while rank == 0 and not all((folder / f"said.{other}.json").exists() for other in (1, 2)):
        time.sleep(0.05)  # the store would be gone
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
