"""The memory that MPI shares among the ranks of a node, without its name: it ends with them, however they end."""

from pathlib import Path

from mpi4py import MPI

__all__ = ["forget_names"]

#: MPICH's, which it would remove when it is finalized; UCX and Open MPI remove or find theirs by other means.
_NAMED = "/dev/shm/mpich_shm_"


def forget_names() -> None:
    """All ranks call it: what they have mapped stays, and nobody needs its name any more."""
    maps = Path("/proc/self/maps")
    MPI.COMM_WORLD.Barrier()  # all have mapped it
    for line in maps.read_text().splitlines() if maps.exists() else ():
        if (place := line.split()[-1]).startswith(_NAMED):
            Path(place).unlink(missing_ok=True)
