"""What runs inside a job: the PyTorch collector, programs in place of its collectives, the NCCL plugins, executors."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    import torch.distributed as dist

    from hocket.plugin.serve.communicator import GroupCommunicator

__all__ = ["communicator", "use"]


def use(source: str | Path) -> None:
    """Serves this process's collectives from now on with proved programs: `hocket.plugin.serve.activation.use`."""
    from hocket.plugin.serve import activation

    activation.use(source)


def communicator(
    group: "dist.ProcessGroup | None" = None,
    bundle: str | Path | None = None,
    *,
    engine: str | None = None,
    device: "torch.device | str | None" = None,
) -> "GroupCommunicator":
    """Collectives of a process group by proved programs, for who calls them by name: as inference engines do with
    MSCCL++. Collective: all ranks of the group call it, with the same programs.

    `group`: None is all ranks; `bundle`: bundles, folders and files, separated by colons (None: HOCKET_ALGORITHMS);
    `engine`: as HOCKET_ALGORITHMS_ENGINE, whose default here is `device`; `device`: of the tensors (None: the current
    GPU, else the CPUs). Raises HocketError where there is no process group or no program, and FormatError,
    ScheduleError or DeadlockError, naming the file, for a program that is not right.
    """
    from hocket.plugin.serve.communicator import open_communicator

    return open_communicator(group, bundle, engine, device)
