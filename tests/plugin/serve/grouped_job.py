"""One rank of four: DDP over all, and collectives of the two dimensions of a mesh, in calls that wait and that do not.

torchrun ... grouped_job.py
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

STEPS = 3


def main() -> None:
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = nn.parallel.DistributedDataParallel(nn.Linear(64, 256))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(8, 64)).sum().backward()
        optimizer.step()
        dist.all_reduce(torch.ones(1000), group=mesh.get_group("dp"))
        whole = torch.zeros(2000)
        dist.all_gather_into_tensor(whole, torch.ones(1000), group=mesh.get_group("tp"))
        dist.all_reduce(torch.ones(300_000), group=mesh.get_group("tp"), async_op=True).wait()
        assert whole.sum() == 2000
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
