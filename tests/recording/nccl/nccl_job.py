"""A job of two ranks on gloo in which every call is played through NCCL's profiler plugin too, as NCCL would: two steps
of each operation, in the world and in a second group of the same ranks. One more all_reduce comes before it all, which
PyTorch does not know of, and the last broadcast gets no record."""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).parents[2]))
from nccl_player import Communicator

from hocket.plugin.nccl.library import nccl_profiler_path

LAUNCH_NS, KERNEL_NS = 5_000, 40_000
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
second = dist.new_group([0, 1], group_desc="second")
library = nccl_profiler_path()
world_comm = Communicator(library, rank, ranks, 0xA0)
second_comm = Communicator(library, rank, ranks, 0xB0, "second")
timer = 0


def played(comm: Communicator, function: str, count: int, datatype: str = "ncclFloat32", root: int = 0) -> int | None:
    """Each next kernel begins a millisecond later by the GPU's timer."""
    global timer
    timer += 1_000_000
    return comm.collective(function, count, datatype, root, (timer, timer + KERNEL_NS))


def messaged(comm: Communicator, function: str, count: int, peer: int) -> None:
    comm.table.stop(comm.message(function, count, peer))


played(world_comm, "AllReduce", 77)
for step in range(2):
    for size in (100, 100, 300):
        dist.all_reduce(torch.ones(size))
        event = played(world_comm, "AllReduce", size)
        world_comm.transfer(event, True, [size * 4])
    dist.all_reduce(torch.ones(50, dtype=torch.float64), group=second)
    played(second_comm, "AllReduce", 50, "ncclFloat64")
    dist.broadcast(torch.ones(10), src=1)
    if step == 0:
        played(world_comm, "Broadcast", 40, "ncclInt8", root=1)
    gathered = torch.empty(64)
    work = dist.all_gather_into_tensor(gathered, torch.ones(32), async_op=True)
    played(world_comm, "AllGather", 128, "ncclInt8")
    work.wait()
    dist.all_reduce_coalesced([torch.ones(8), torch.ones(24)])
    played(world_comm, "AllReduce", 8)
    played(world_comm, "AllReduce", 24)
    dist.all_to_all_single(torch.empty(16), torch.ones(16))
    for peer in range(2):
        messaged(world_comm, "Send", 8, peer)
        messaged(world_comm, "Recv", 8, peer)
    if rank == 0:
        dist.send(torch.ones(12), 1)
        messaged(world_comm, "Send", 12, 1)
    else:
        dist.recv(torch.empty(12), 0)
        messaged(world_comm, "Recv", 12, 0)
    dist.barrier()
    played(world_comm, "AllReduce", 1)
dist.destroy_process_group()
for comm in (world_comm, second_comm):
    comm.table.finalize(comm.context)
sys.stdout.flush()
assert os.environ["HOCKET_NCCL_PROFILE"]
