"""Two processes on the device `late`, first as ranks 0 and 1, then as ranks 1 and 0."""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).parents[2] / "late_device"))
import late_device

tensor = torch.ones(64).to(late_device.load())


def reduce(count: int, rank: int, port: int) -> dist.Store:
    """So many calls as this rank of a new world; returns its store, which others may still need."""
    store = dist.TCPStore("127.0.0.1", port, 2, rank == 0)
    dist.init_process_group("late", store=store, rank=rank, world_size=2)
    for _ in range(count):
        work = dist.all_reduce(tensor, async_op=True)
        work.wait()
        torch.late.synchronize()
    dist.destroy_process_group()
    return store


RANK, PORT = int(os.environ["RANK"]), int(os.environ["MASTER_PORT"])
stores = [reduce(2, RANK, PORT + 1 if PORT < 60000 else PORT - 1)]
stores.append(reduce(3, 1 - RANK, PORT + 2 if PORT < 60000 else PORT - 2))
