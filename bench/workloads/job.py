"""One rank of a job that runs every workload, and counts what PyTorch's profiler sees.

    torchrun ... job.py COUNTS_FOLDER

Workload number i runs twice unmeasured in step 1 + 2 i, then once in step 2 + 2 i; `counts.<rank>.json` in the folder
tells how often the profiler saw each `c10d::` operation there, without what the backend refused.
"""

import sys
from collections import Counter
from pathlib import Path

import torch
import torch.distributed as dist

from hocket.base.files import write_json
from hocket.bench.workloads import operations, training
from hocket.bench.workloads.training import IS_OLD, Step
from hocket.plugin.torch.collector import mark_step

__all__ = ["main"]

# The first run on CPU with old versions of PyTorch, the second with new ones.
_FULLY_SHARDED = [training.fsdp1, training.hybrid_fsdp1] if IS_OLD else [training.fsdp2, training.hybrid_fsdp2]
_CONTEXT_PARALLEL = [] if torch.__version__ < "2.5" else [training.ring_attention]

_WORKLOADS = [
    training.ddp,
    training.ddp_in_buckets,
    training.ddp_transformer,
    *_FULLY_SHARDED,
    training.tensor_parallel,
    training.sequence_parallel,
    *_CONTEXT_PARALLEL,
    training.pipeline,
    training.interleaved_pipeline,
    training.pipeline_by_hand,
    operations.mixture_of_experts,
    operations.functional_collective,
    operations.compiled,
    operations.several_backends,
    operations.reductions,
    operations.every_operation,
]


def measured(step: Step) -> Counter[str]:
    """Runs a step, and counts what the profiler sees of it and what took place."""
    operations.refused.clear()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    seen = Counter(event.name for event in profile.events() if event.name.startswith("c10d::"))
    return seen - operations.refused


def main(folder: Path) -> None:
    """Runs all workloads and writes the counts."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    mark_step()
    dist.init_process_group()
    counts = {}
    for workload in _WORKLOADS:
        step = workload()
        step()
        step()
        mark_step()
        counts[workload.__name__] = measured(step)
        mark_step()
    write_json(folder / f"counts.{dist.get_rank()}.json", counts)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
