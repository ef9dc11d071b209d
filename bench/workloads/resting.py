"""One rank of a job whose ranks rest as long as they would compute, so that few cores are enough for it.

    torchrun ... resting.py pipeline --steps 40 --late 1 --share 0.1

Its shapes, of a step of some 30 ms: `data`, where four buckets are reduced while the next is computed; `pipeline`, of
four micro-batches in order 1F1B and a norm over all ranks; `grid`, of pairs that reduce in each of four layers (TP) and
then each with its like in the other pair (DP). The ranks `--late` rest longer by `--share` of a step, spread over it,
from the part `--onset` of the steps on.
"""

import argparse
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from hocket.plugin.torch.collector import mark_step

__all__ = ["main"]

PARTS = 4  # buckets, micro-batches, layers
STEP_S = 0.032
Rest = Callable[[float], None]
Step = Callable[[Rest], None]


def data_parallel() -> Step:
    """Gradients in buckets, as DDP's."""
    buckets = [torch.ones(1024) for _ in range(PARTS)]

    def step(rest: Rest) -> None:
        works = []
        for bucket in buckets:
            rest(1 / PARTS)
            works.append(dist.all_reduce(bucket, async_op=True))
        for work in works:
            work.wait()

    return step


def pipeline() -> Step:
    """A stage of all ranks' pipeline."""
    stage, stages = dist.get_rank(), dist.get_world_size()
    ahead = min(PARTS, stages - stage)
    norm = torch.ones(1)
    part = 1 / (2 * (PARTS + stages - 1))  # of a step: forward and backward take the same

    def step(rest: Rest) -> None:
        sent: list[tuple[dist.Work | None, torch.Tensor]] = []

        def work(source: int, target: int) -> None:
            data = torch.ones(1024)
            if 0 <= source < stages:
                received = dist.irecv(data, source)
                assert received is not None
                received.wait()
            rest(part)
            if 0 <= target < stages:
                sent.append((dist.isend(data, target), data))

        for _ in range(ahead):
            work(stage - 1, stage + 1)
        for number in range(PARTS):
            work(stage + 1, stage - 1)
            if ahead + number < PARTS:
                work(stage - 1, stage + 1)
        for sending, _ in sent:
            assert sending is not None
            sending.wait()
        dist.all_reduce(norm)

    return step


def grid() -> Step:
    """Pairs of ranks that split layers, and hold the same of them as the other pairs' ranks at their place."""
    rank, world = dist.get_rank(), dist.get_world_size()
    pairs = [dist.new_group([first, first + 1]) for first in range(0, world, 2)]
    likes = [dist.new_group(list(range(place, world, 2))) for place in range(2)]
    data = torch.ones(1024)

    def step(rest: Rest) -> None:
        for _ in range(PARTS):
            rest(1 / PARTS)
            dist.all_reduce(data, group=pairs[rank // 2])
        dist.all_reduce(data, group=likes[rank % 2])

    return step


SHAPES = {"data": data_parallel, "pipeline": pipeline, "grid": grid}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--late", type=int, nargs="*", default=[], help="ranks that are late")
    parser.add_argument("--share", type=float, default=0.1, help="of a step by which they are")
    parser.add_argument("--onset", type=float, default=0.0, help="part of the steps before they are")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    step = SHAPES[chosen.shape]()
    calls = 2 * PARTS if chosen.shape == "pipeline" else PARTS
    for number in range(chosen.steps):
        late = dist.get_rank() in chosen.late and number >= chosen.onset * chosen.steps
        longer = chosen.share / calls if late else 0.0
        step(lambda part, longer=longer: time.sleep(STEP_S * (part + longer)))  # type: ignore[misc]
        mark_step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
