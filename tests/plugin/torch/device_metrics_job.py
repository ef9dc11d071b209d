"""Two ranks on the device `late`: 20 all_reduces of 1 MB that take 20 ms each, and 3 replays of a graph of two; then it
prints how long it took, and waits for a file."""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).parents[2] / "late_device"))
import late_device

device = late_device.load()
dist.init_process_group("late")
tensor = torch.ones(250_000).to(device)
dist.broadcast(tensor, 0)
graph = torch.late.CUDAGraph()
with torch.late.graph(graph):
    for size in (8, 16):
        dist.all_reduce(tensor[:size])
torch.late.synchronize()

begin = time.perf_counter()
for _ in range(20):
    late_device.hold()
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    time.sleep(0.02)
    late_device.release()
    torch.late.synchronize()
for _ in range(3):
    graph.replay()
torch.late.synchronize()
taken = time.perf_counter() - begin

done, stop = (Path(name) for name in sys.argv[1:])
done.with_name(f"{done.name}{dist.get_rank()}").write_text(str(taken))
while not stop.exists():
    time.sleep(0.05)
dist.destroy_process_group()
