"""Two ranks on the device `late`: an all_reduce beside computation and one that the next waits for, two groups on two
streams at once, three calls that were over before anybody waited, a batch of messages, a graph of an all_reduce beside
computation that is replayed."""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).parents[2] / "late_device"))
import late_device

import hocket.collect

device = late_device.load()
dist.init_process_group("late")
rank, second = dist.get_rank(), dist.new_group(backend="late")
matrix = torch.eye(512).to(device)
tensor, other = torch.ones(1 << 12).to(device), torch.ones(1 << 10).to(device)


def compute() -> None:
    """Some 10 ms of the current stream."""
    for _ in range(8):
        torch.mm(matrix, matrix, out=torch.empty_like(matrix))


def beside() -> None:
    """The device computes while the all_reduce is held, comes to the wait, and goes on 30 ms later."""
    late_device.hold()
    work = dist.all_reduce(tensor, async_op=True)
    compute()
    computed = torch.late.Event()
    computed.record()
    work.wait()
    compute()
    computed.synchronize()
    time.sleep(0.03)
    late_device.release()
    torch.late.synchronize()


def at_once() -> None:
    """A group's collective on another stream begins and ends while the other group's is held."""
    side = torch.late.Stream()
    late_device.hold()
    first = dist.all_reduce(tensor, async_op=True)
    with torch.late.stream(side):
        work = dist.all_reduce(other, group=second, async_op=True)
        work.wait()
        compute()
    side.synchronize()
    late_device.release()
    first.wait()
    torch.late.synchronize()


def over_before() -> None:
    works = [dist.all_reduce(part, async_op=True) for part in (tensor, other, other[:256])]
    torch.late.synchronize()
    time.sleep(0.02)
    compute()
    for work in works:
        work.wait()
    torch.late.synchronize()


def messages() -> None:
    mine, theirs = other[:128].clone(), other[128:256].clone()
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, 1 - rank), dist.P2POp(dist.irecv, theirs, 1 - rank)])
    works[0].wait()
    torch.late.synchronize()


def captured() -> torch.late.CUDAGraph:
    graph = torch.late.CUDAGraph()
    with torch.late.graph(graph):
        work = dist.all_reduce(tensor[:64], async_op=True)
        torch.mm(matrix, matrix)
        work.wait()
    return graph


dist.all_reduce(tensor)
graph = captured()
torch.late.synchronize()
hocket.collect.step()
for part in (beside, at_once, over_before, messages, graph.replay, graph.replay):
    part()
torch.late.synchronize()
hocket.collect.step()
dist.destroy_process_group()
