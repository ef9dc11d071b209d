"""One rank on the device `late`: while it captures a graph of two calls another thread
all_reduces in another group for real; then steps with a replay and a broadcast each."""

import sys
import threading
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).parents[2] / "late_device"))
import late_device

import hocket.collect

device = late_device.load()
dist.init_process_group("late", store=dist.HashStore(), rank=0, world_size=1)
other = dist.new_group(backend="late")
tensor, apart = torch.ones(64).to(device), torch.ones(32).to(device)
dist.broadcast(tensor, 0)
dist.broadcast(apart, 0, group=other)
torch.late.synchronize()


def eager() -> None:
    for _ in range(3):
        dist.all_reduce(apart, group=other)


for _ in range(2):  # the first is captured anew, and never replayed
    graph = torch.late.CUDAGraph()
    with torch.late.graph(graph):
        dist.all_reduce(tensor[:8])
        thread = threading.Thread(target=eager)
        thread.start()
        thread.join()
        dist.all_reduce(tensor[:16], async_op=True).wait()
torch.late.synchronize()
hocket.collect.step()
for _ in range(8):
    graph.replay()
    dist.broadcast(tensor, 0)
    torch.late.synchronize()
    hocket.collect.step()
dist.destroy_process_group()
