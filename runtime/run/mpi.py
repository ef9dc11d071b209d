"""MPI through mpi4py: its messages, and its own collectives."""

from mpi4py import MPI

from hocket.base.enums import assert_never, not_here
from hocket.base.errors import HocketError
from hocket.runtime.engine.mpi_messages import MpiMessages
from hocket.runtime.run.datatypes import Array, ReduceOp
from hocket.runtime.run.job import RunTask
from hocket.schedule.collective import Kind

__all__ = ["Mpi", "rank_in_world"]

_OPS = {ReduceOp.SUM: MPI.SUM, ReduceOp.PROD: MPI.PROD, ReduceOp.MAX: MPI.MAX, ReduceOp.MIN: MPI.MIN}


def rank_in_world() -> int:
    """Of this process among those of its mpiexec."""
    rank: int = MPI.COMM_WORLD.rank
    return rank


class Mpi:
    """All ranks of a task, as mpiexec started them."""

    def __init__(self, task: RunTask) -> None:
        self._task = task
        self._comm = MPI.COMM_WORLD
        self.messages = MpiMessages(self._comm.Dup())

    def own(self, source: Array, target: Array) -> None:
        """MPI's collective. Raises HocketError for a type that it lacks."""
        if self._task.data_type == "bfloat16":
            raise HocketError("MPI has no bfloat16 to compare with; leave --compare out or use --transport gloo")
        kind, root, op = self._task.kind, self._task.root, _OPS[self._task.op]
        match kind:
            case Kind.ALL_REDUCE:
                self._comm.Allreduce(source, target, op)
            case Kind.REDUCE:
                self._comm.Reduce(source, target, op, root)
            case Kind.BROADCAST:
                target[:] = source
                self._comm.Bcast(target, root)
            case Kind.ALL_GATHER:
                self._comm.Allgather(source, target)
            case Kind.REDUCE_SCATTER:
                self._comm.Reduce_scatter_block(source, target, op)
            case Kind.ALL_TO_ALL:
                self._comm.Alltoall(source, target)
            case Kind.GATHER:
                self._comm.Gather(source, target, root)
            case Kind.SCATTER:
                self._comm.Scatter(source, target, root)
            case Kind.CUSTOM:
                not_here(kind)
            case _:
                assert_never(kind)
