"""One rank on the device `late`: a wait that is exposed, one that is not, a synchronous call, a graph that is replayed
three times, the first outside of the recorded steps."""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).parents[2] / "late_device"))
import late_device

import hocket.collect

device = late_device.load()
dist.init_process_group("late", store=dist.HashStore(), rank=0, world_size=1)


def held(seconds: float) -> None:
    """The backend begins nothing for so long."""
    time.sleep(seconds)
    late_device.release()
    torch.late.synchronize()


tensor = torch.ones(64).to(device)
graph = torch.late.CUDAGraph()
dist.all_reduce(tensor)
with torch.late.graph(graph):
    for size in (8, 16):
        work = dist.all_reduce(tensor[:size], async_op=True)
        work.wait()
graph.replay()
torch.late.synchronize()
hocket.collect.step()

late_device.hold()
work = dist.all_reduce(tensor, async_op=True)
work.wait()
held(0.05)

work = dist.all_reduce(tensor[:32], async_op=True)
torch.late.synchronize()
time.sleep(0.05)
tensor.add_(1)
work.wait()

late_device.hold()
dist.broadcast(tensor, 0)
held(0.03)
hocket.collect.step()

for _ in range(2):
    late_device.hold()
    graph.replay()
    held(0.04)
torch.late.synchronize()
dist.destroy_process_group()
