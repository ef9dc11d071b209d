"""What a call costs its host where a device does the work: by the backend itself, and by a program over its messages.

Run: `python -m hocket.bench.executor_host`. Two ranks on the device of the tests (`tests/late_device`, in a checkout
alone), whose streams are threads and whose backend is held while the calls are issued, so that nothing of them is done
yet: processor time of the issuing thread, an asynchronous all_reduce of 1 KiB and its wait, best of ROUNDS rounds of
CALLS. The device's own part (its queues, this module's kernels for CPUs) is in both, and is not a GPU's.
"""

import os
import sys
import time
from importlib import import_module
from pathlib import Path

import torch
import torch.distributed as dist

import hocket.plugin
from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.scratch import hand_over, scratch_folder
from hocket.bench.command_line import command_line
from hocket.bench.executor import Case
from hocket.schedule import Kind
from hocket.translator import Lowering, to_program_json
from hocket.translator.translate import lower_best

RANKS = 2
CALLS = 50
ROUNDS = 20
DEVICE = Path(__file__).resolve().parents[1] / "tests" / "late_device"


def cost(device: torch.device) -> float:
    """Seconds of a call."""
    late_device = import_module("late_device")  # on the path that `main` gives

    tensor = torch.ones(256).to(device)
    best = float("inf")
    for _ in range(ROUNDS):
        late_device.hold()
        begin = time.thread_time()
        for _ in range(CALLS):
            dist.all_reduce(tensor, async_op=True).wait()
        best = min(best, (time.thread_time() - begin) / CALLS)
        late_device.release()
        torch.late.synchronize()
        tensor.fill_(1)
    return best


def rank(programs: str) -> None:
    late_device = import_module("late_device")

    device = late_device.load()
    dist.init_process_group("late")
    dist.all_reduce(torch.ones(1).to(device))
    stock = cost(device)
    hocket.plugin.use(programs)
    dist.all_reduce(torch.ones(256).to(device))
    program = cost(device)
    if dist.get_rank() == 0:
        print(f"us a call of the host: backend {stock * 1e6:.1f}, program {program * 1e6:.1f}")
    dist.destroy_process_group()


def main() -> None:
    """Starts the ranks. Raises HocketError where they fail."""
    if not DEVICE.is_dir():
        raise HocketError(f"{DEVICE}: the device lies in a checkout only")
    with scratch_folder("bench") as folder:
        case = Case(Kind.ALL_REDUCE, "ring", f"fully_connected:{RANKS},bandwidth=1GB/s,latency=20us", (1 << 10,))
        lowered = lower_best(case.schedule(RANKS), "json", Lowering(in_place=True))
        hand_over(folder / "all_reduce.json", to_program_json(lowered.program))
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
        places = os.pathsep.join([str(DEVICE), os.environ.get("PYTHONPATH", "")])
        command = [*torchrun, "-m", "hocket.bench.executor_host", "--programs", str(folder)]
        done = processes.run(command, env=os.environ | {"PYTHONPATH": places, "OMP_NUM_THREADS": "1"})
    if done.returncode:
        raise HocketError(f"the ranks failed, exit code {done.returncode}")


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--programs", help="folder: this is a rank")
    arguments = parser.parse_args()
    if arguments.programs:
        rank(arguments.programs)
    else:
        main()
