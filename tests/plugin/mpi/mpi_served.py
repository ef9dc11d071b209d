"""Every collective twice: as the program's own blocking call, which programs may serve, and as the nonblocking one,
which is MPI's own; both must agree to the bit.

    mpiexec ... mpi_served.py DIR

writes DIR/rank<r>.json: {"cases": number, "wrong": names, "calls": {MPI function: blocking calls}}. All values are
integers that the types hold exactly, sums and products included: any order of addition gives the same bits.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
TYPES = (np.uint8, np.int16, np.int64, np.float32, np.float64)
OPS = {"SUM": MPI.SUM, "PROD": MPI.PROD, "MAX": MPI.MAX, "MIN": MPI.MIN}
SIZES = (1, 7, 64, 4099)

cases = 0
wrong: list[str] = []
calls: Counter[str] = Counter()


def values(comm: Any, count: int, dtype: Any) -> Any:
    """1 to 3, another sequence on every rank: sums and products over four ranks stay below 128."""
    return ((np.arange(count) * 7 + comm.rank * 5) % 3 + 1).astype(dtype)


def compare(name: str, comm: Any, function: str, arguments: Callable[[], tuple[list[Any], list[Any]]]) -> None:
    """`arguments` makes new ones each time, and tells which of the buffers are the call's results."""
    global cases
    both = []
    for prefix, is_blocking in (("", True), ("I", False)):
        given, results = arguments()
        request = getattr(comm, prefix + (function if is_blocking else function.lower()))(*given)
        if not is_blocking:
            request.Wait()
        both.append([np.array(result).tobytes() for result in results])
    cases += 1
    calls[f"MPI_{function}"] += 1
    if both[0] != both[1]:
        wrong.append(name)


def reductions(comm: Any, count: int, dtype: Any, op_name: str) -> None:
    op, n, name = OPS[op_name], comm.size, f"{np.dtype(dtype)} {op_name} {count}"

    def all_reduce() -> tuple[list[Any], list[Any]]:
        target = np.zeros(count, dtype)
        return [values(comm, count, dtype), target, op], [target]

    def all_reduce_in_place() -> tuple[list[Any], list[Any]]:
        target = values(comm, count, dtype)
        return [MPI.IN_PLACE, target, op], [target]

    def reduce() -> tuple[list[Any], list[Any]]:
        source, target = values(comm, count, dtype), np.zeros(count, dtype)
        return [source, target if comm.rank == 2 else None, op, 2], [source, target]

    def reduce_in_place() -> tuple[list[Any], list[Any]]:
        buffer = values(comm, count, dtype)
        return [MPI.IN_PLACE if comm.rank == 2 else buffer, buffer if comm.rank == 2 else None, op, 2], [buffer]

    def reduce_scatter() -> tuple[list[Any], list[Any]]:
        source, target = values(comm, n * count, dtype), np.zeros(count, dtype)
        return [source, target, op], [source, target]

    def reduce_scatter_in_place() -> tuple[list[Any], list[Any]]:
        target = values(comm, n * count, dtype)
        return [MPI.IN_PLACE, [target, count, MPI._typedict[target.dtype.char]], op], [target[:count]]

    compare(f"all_reduce {name}", comm, "Allreduce", all_reduce)
    compare(f"all_reduce in place {name}", comm, "Allreduce", all_reduce_in_place)
    compare(f"reduce {name}", comm, "Reduce", reduce)
    compare(f"reduce in place {name}", comm, "Reduce", reduce_in_place)
    compare(f"reduce_scatter {name}", comm, "Reduce_scatter_block", reduce_scatter)
    compare(f"reduce_scatter in place {name}", comm, "Reduce_scatter_block", reduce_scatter_in_place)


def moves(comm: Any, count: int, dtype: Any) -> None:
    n, rank, name = comm.size, comm.rank, f"{np.dtype(dtype)} {count}"
    kind = MPI._typedict[np.dtype(dtype).char]

    def broadcast() -> tuple[list[Any], list[Any]]:
        buffer = values(comm, count, dtype)
        return [buffer, 1], [buffer]

    def all_gather() -> tuple[list[Any], list[Any]]:
        target = np.zeros(n * count, dtype)
        return [values(comm, count, dtype), target], [target]

    def all_gather_in_place() -> tuple[list[Any], list[Any]]:
        target = values(comm, n * count, dtype)
        return [MPI.IN_PLACE, [target, count, kind]], [target]

    def all_to_all() -> tuple[list[Any], list[Any]]:
        source, target = values(comm, n * count, dtype), np.zeros(n * count, dtype)
        return [source, target], [source, target]

    def all_to_all_in_place() -> tuple[list[Any], list[Any]]:
        target = values(comm, n * count, dtype)
        return [MPI.IN_PLACE, [target, count, kind]], [target]

    def gather() -> tuple[list[Any], list[Any]]:
        target = np.zeros(n * count, dtype)
        return [values(comm, count, dtype), target if rank == 3 else None, 3], [target]

    def gather_in_place() -> tuple[list[Any], list[Any]]:
        target = values(comm, n * count, dtype)
        own = target[:count]
        return [MPI.IN_PLACE if rank == 3 else own, [target, count, kind] if rank == 3 else None, 3], [target]

    def scatter() -> tuple[list[Any], list[Any]]:
        source, target = values(comm, n * count, dtype), np.zeros(count, dtype)
        return [source if rank == 0 else None, target, 0], [source, target]

    def scatter_in_place() -> tuple[list[Any], list[Any]]:
        source, target = values(comm, n * count, dtype), np.zeros(count, dtype)
        own = MPI.IN_PLACE if rank == 0 else target
        return [[source, count, kind] if rank == 0 else None, own, 0], [source, target]

    compare(f"broadcast {name}", comm, "Bcast", broadcast)
    compare(f"all_gather {name}", comm, "Allgather", all_gather)
    compare(f"all_gather in place {name}", comm, "Allgather", all_gather_in_place)
    compare(f"all_to_all {name}", comm, "Alltoall", all_to_all)
    compare(f"all_to_all in place {name}", comm, "Alltoall", all_to_all_in_place)
    compare(f"gather {name}", comm, "Gather", gather)
    compare(f"gather in place {name}", comm, "Gather", gather_in_place)
    compare(f"scatter {name}", comm, "Scatter", scatter)
    compare(f"scatter in place {name}", comm, "Scatter", scatter_in_place)


def strided(comm: Any) -> None:
    """Types that differ between ranks, of equal bytes: the ranks must choose alike."""
    pairs = MPI.DOUBLE.Create_vector(5, 2, 3).Commit()  # 10 doubles of 14

    def broadcast() -> tuple[list[Any], list[Any]]:
        buffer = values(comm, 14, np.float64)
        return [[buffer, 1, pairs] if comm.rank % 2 else [buffer, 10, MPI.DOUBLE], 1], [buffer]

    def all_gather() -> tuple[list[Any], list[Any]]:
        source, target = values(comm, 14, np.float64), np.zeros(14 * comm.size)
        sent = [source, 10, MPI.DOUBLE] if comm.rank else [source, 1, pairs]
        return [sent, [target, 10, MPI.DOUBLE] if comm.rank % 2 else [target, 1, pairs]], [target]

    compare("broadcast of mixed types", comm, "Bcast", broadcast)
    compare("all_gather of mixed types", comm, "Allgather", all_gather)
    pairs.Free()


def left_to_mpi(comm: Any) -> None:
    product = MPI.Op.Create(lambda a, b, _: None, commute=True)  # keeps what is there
    own, target = values(comm, 4, np.float64), np.zeros(4)
    comm.Allreduce(own, target, product)
    product.Free()
    located, found = np.array([(comm.rank, 0)], "d,i"), np.zeros(1, "d,i")
    comm.Allreduce([located, 1, MPI.DOUBLE_INT], [found, 1, MPI.DOUBLE_INT], MPI.MINLOC)
    try:
        comm.Reduce(own, target if comm.rank == 2 else None, MPI.BAND, 2)  # of doubles: refused on all ranks
    except MPI.Exception as refused:
        assert refused.Get_error_class() == MPI.ERR_OP
    comm.Bcast(own, 0)  # the program is for root 1
    comm.Allreduce(np.zeros(0), np.zeros(0))
    comm.Allgatherv(own, [np.zeros(4 * comm.size), [4] * comm.size])
    assert comm.allreduce(comm.rank) == comm.size * (comm.size - 1) // 2  # of objects: by messages


def on_all_ranks() -> None:
    for dtype in TYPES:
        for count in SIZES:
            for op in OPS if count < 64 else ("SUM",):
                reductions(world, count, dtype, op)
            moves(world, count, dtype)
    strided(world)
    pair = world.Split(world.rank % 2, -world.rank)  # in the order of falling ranks
    for _ in range(2):
        source, target = values(pair, 9, np.int64), np.zeros(9, np.int64)
        pair.Allreduce(source, target)
        expected = sum(((np.arange(9) * 7 + rank * 5) % 3 + 1) for rank in range(2))
        if not (target == expected).all():
            wrong.append("all_reduce of a pair")
        pair.Allreduce(source, target, MPI.MAX)
        used, pair = pair, pair.Dup()
        used.Free()  # and what served it
    left_to_mpi(world)


if world.size == 4:
    on_all_ranks()
else:
    compare("all_reduce", world, "Allreduce", lambda: ([MPI.IN_PLACE, target := values(world, 5, np.int64)], [target]))
Path(sys.argv[1], f"rank{world.rank}.json").write_text(json.dumps({"cases": cases, "wrong": wrong, "calls": calls}))
