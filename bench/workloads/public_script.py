"""One rank of a public training script that is run as it is, on CPUs, with what PyTorch's profiler sees counted.

    torchrun ... -m hocket.collect --out DIR public_script.py COUNTS_FOLDER SCRIPT [ARGUMENTS ...]

`counts.<rank>.json` in the folder tells how often the profiler saw each `c10d::` operation, in all threads, and how
long the script took. A CPU stands in for accelerators: `torch.accelerator` and `torch.cuda` tell scripts, not PyTorch
itself, of eight devices whose name is "cpu"; tensors and modules that are sent to a device stay, backends "nccl" are
gloo, and DistributedDataParallel gets no device. Nothing of `torch.distributed` is replaced but `init_process_group`,
which drops its device.
"""

import os
import runpy
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode

from hocket.base.files import write_json

__all__ = ["main"]

_DEVICES = 8
_CPU = torch.device("cpu")

# What `torch.accelerator` and `torch.cuda` are asked for, and say.
_ANSWERS: dict[str, Any] = {
    "is_available": True,
    "device_count": _DEVICES,
    "current_accelerator": _CPU,
    "current_device": 0,
    "current_device_index": 0,
    "device_index": nullcontext(),
    "is_bf16_supported": True,
    **dict.fromkeys(("set_device", "set_device_index", "set_device_idx", "synchronize", "manual_seed_all")),
}


class CpuForAll(TorchFunctionMode):  # type: ignore[misc]
    """Sends to the CPU what is sent to an accelerator."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = getattr(function, "__name__", "")
        if name in ("cuda", "pin_memory"):
            return args[0]
        if function is torch.device:
            return _on_cpu(function(*args, **(kwargs or {})))
        if name in ("to", "_parse_to") and any(type(value) is int for value in args):
            args = tuple(_CPU if type(value) is int else value for value in args)
        named = {key: _on_cpu(value) for key, value in (kwargs or {}).items()}
        return function(*map(_on_cpu, args), **named)


def _on_cpu(value: Any) -> Any:
    is_device = isinstance(value, torch.device) or (isinstance(value, str) and value.startswith(("cuda", "cpu:")))
    return _CPU if is_device and torch.device(value).type in ("cuda", "cpu") else value


def _always(answer: Any, real: Callable[..., Any]) -> Callable[..., Any]:
    """A function of its own (PyTorch's compiler tells functions apart by what they are), which tells PyTorch itself
    the truth."""

    def asked(*arguments: Any, **options: Any) -> Any:
        if sys._getframe(1).f_globals.get("__name__", "").startswith("torch."):
            return real(*arguments, **options)
        return answer

    return asked


def stand_in() -> None:
    """Puts a CPU in an accelerator's place."""
    for module in (torch.accelerator, torch.cuda):
        for name, answer in _ANSWERS.items():
            if hasattr(module, name):
                setattr(module, name, _always(answer, getattr(module, name)))
    initialize, distribute = dist.init_process_group, torch.nn.parallel.DistributedDataParallel.__init__

    def on_gloo(backend: str | None = None, *args: Any, device_id: Any = None, **options: Any) -> None:
        initialize("gloo" if backend in (None, "nccl") else backend, *args, **options)

    def without_devices(
        self: Any, module: Any, device_ids: Any = None, output_device: Any = None, **options: Any
    ) -> None:
        distribute(self, module, **options)

    dist.init_process_group = dist.distributed_c10d.init_process_group = on_gloo
    torch.nn.parallel.DistributedDataParallel.__init__ = without_devices
    torch.nn.Module.cuda = lambda self, *_: self
    CpuForAll().__enter__()


def main(folder: Path, script: str) -> None:
    """Runs the script, and writes what the profiler saw."""
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    stand_in()
    threads = torch.profiler._ExperimentalConfig(profile_all_threads=True)
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], experimental_config=threads)
    sys.path[0] = str(Path(script).parent)
    begin = time.perf_counter()
    profile.start()
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as left:
        if left.code:
            raise
    finally:
        seconds = time.perf_counter() - begin
        profile.stop()
        assert profile.profiler is not None and profile.profiler.kineto_results is not None
        names = Counter(event.name() for event in profile.profiler.kineto_results.events())
        seen = {name: count for name, count in names.items() if name.startswith("c10d::")}
        write_json(folder / f"counts.{rank}.json", {"seconds": seconds, "seen": seen})


if __name__ == "__main__":
    _, chosen, program, *rest = sys.argv
    sys.argv = [program, *rest]
    main(Path(chosen), program)
