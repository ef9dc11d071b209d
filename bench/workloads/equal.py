"""One rank of a job in which all ranks have the same to do, but for a delay that is asked for.

    torchrun ... equal.py --steps 150 --late 1 --share 0.05

A step is three times some computation and an all_reduce. The rank `--late` works longer by `--share` of its work, in
every step or, with `--every N`, N times longer in every N-th.
"""

import argparse
import time

import torch
import torch.distributed as dist

from hocket.plugin.torch.collector import mark_step

__all__ = ["main"]

COLLECTIVES = 3  # a step
WIDTH = 160


def work(rounds: int, idle_s: float) -> None:
    """Computes, and rests as long as a device would compute."""
    matrix = torch.ones(WIDTH, WIDTH)
    for _ in range(rounds):
        matrix = matrix @ matrix / WIDTH
    if idle_s:
        time.sleep(idle_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=4, help="matrices to multiply before each collective")
    parser.add_argument("--idle", type=float, default=0.0, help="seconds to rest before each collective")
    parser.add_argument("--late", type=int, default=-1, help="rank that is late")
    parser.add_argument("--share", type=float, default=0.05, help="of its work by which it is longer")
    parser.add_argument("--every", type=int, default=1, help="steps from one that is longer to the next")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    tensor, rank = torch.ones(1024), dist.get_rank()
    for number in range(chosen.steps):
        late = rank == chosen.late and number % chosen.every == 0
        for _ in range(COLLECTIVES):
            begin = time.perf_counter()
            work(chosen.rounds, chosen.idle)
            if late:
                until = time.perf_counter() + (time.perf_counter() - begin) * chosen.share * chosen.every
                while time.perf_counter() < until:
                    pass
            dist.all_reduce(tensor)
        mark_step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
