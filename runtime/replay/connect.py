"""How the ranks of a replay find each other: processes that Hocket started, or those of another launcher."""

import os
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from hocket.base.errors import HocketError
from hocket.base.extras import install_command
from hocket.base.scratch import hand_over
from hocket.runtime.replay.fabric import Fabric
from hocket.runtime.run.launch import BACKENDS as EXECUTOR_BACKENDS

__all__ = ["BACKENDS", "check_backend", "launched_fabric", "local_fabric", "world_of"]

# backend: (module it needs, extra of hocket that brings it)
BACKENDS = {**EXECUTOR_BACKENDS, "nccl": ("torch", "torch")}
# Where launchers of MPI tell their processes the number of ranks: MPICH and its kin, Open MPI, Slurm's PMIx and PMI2.
_MPI_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")


def check_backend(backend: str) -> None:
    """Raises HocketError when the backend is not installed, or has no device here."""
    module, extra = BACKENDS[backend]
    if find_spec(module) is None:
        raise HocketError(f"backend {backend} needs {module}: {install_command(extra)}")
    if backend == "nccl":
        import torch

        if not torch.cuda.is_available():
            raise HocketError("backend nccl needs GPUs, and PyTorch sees none here: use --backend gloo or mpi")


def world_of(backend: str, environment: Mapping[str, str] = os.environ) -> int | None:
    """How many ranks the launcher has that this process was started by; None: it is no rank of any."""
    if backend == "mpi":
        sizes = [environment[name] for name in _MPI_SIZES if name in environment]
        return int(sizes[0]) if sizes else None
    if {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= environment.keys():
        return int(environment["WORLD_SIZE"])
    return None


def launched_fabric(backend: str, groups: Sequence[tuple[int, ...]], channels: Sequence[tuple[int, int]]) -> Fabric:
    """This process' end among the ranks of torchrun, mpiexec or srun."""
    if backend == "mpi":
        from hocket.runtime.replay.mpi_fabric import MpiFabric

        return MpiFabric(groups)
    import torch.distributed as dist

    from hocket.runtime.replay.torch_fabric import TorchFabric

    store, rank, size = next(dist.rendezvous("env://"))
    return TorchFabric(backend, store, rank, size, groups, channels)


def local_fabric(
    backend: str,
    folder: Path,
    rank: int | None,
    num_ranks: int,
    groups: Sequence[tuple[int, ...]],
    channels: Sequence[tuple[int, int]],
) -> Fabric:
    """This process' end among those that Hocket's launcher started with a folder in common."""
    if rank is None:
        return launched_fabric(backend, groups, channels)
    import torch.distributed as dist

    from hocket.runtime.replay.torch_fabric import TorchFabric

    # The host's name need not resolve for processes of one machine.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    place = folder / "port"
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, num_ranks, is_master=True, wait_for_workers=False)
        hand_over(place, str(store.port))
    else:
        while not place.exists():  # the launcher ends us where rank 0 fails
            time.sleep(0.01)
        port = int(place.read_text())
        store = dist.TCPStore("127.0.0.1", port, num_ranks, is_master=False, wait_for_workers=False)
    return TorchFabric(backend, store, rank, num_ranks, groups, channels)
