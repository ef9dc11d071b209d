"""An MPI program that issues every kind of call the recorder knows and counts them itself.

`mpiexec -n 4 python mpi_calls.py DIR` writes DIR/rank<r>.json: [kind, members of the group, bytes, peer] of each call,
in order of issue. Bytes are what goes in on this rank; of a receive what came.
"""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
everyone = list(range(size))
following, preceding = (rank + 1) % size, (rank - 1) % size
issued: list[tuple[str, list[int], int, int]] = []


def note(kind: str, num_bytes: int, members: list[int] = everyone, peer: int = -1, times: int = 1) -> None:
    issued.extend([(kind, members, num_bytes, peer)] * times)


def doubles(count: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.full(count, rank, np.float64)


def blocking_collectives() -> None:
    one, all_of_it = doubles(10), doubles(10 * size)
    world.Barrier()
    note("barrier", 0)
    world.Bcast(one, 2)
    note("broadcast", 80)
    world.Reduce(one, doubles(10), MPI.MAX, 1)
    note("reduce", 80)
    world.Allreduce(one, doubles(10))
    world.Allreduce(MPI.IN_PLACE, one)
    note("all_reduce", 80, times=2)
    world.Gather(one, all_of_it, 3)
    note("gather", 80)
    world.Scatter(all_of_it, one, 1)
    note("scatter", 80 * size)
    world.Allgather(one, all_of_it)
    world.Allgather(MPI.IN_PLACE, all_of_it)
    note("all_gather", 80, times=2)
    world.Alltoall(all_of_it, doubles(10 * size))
    world.Alltoall(MPI.IN_PLACE, all_of_it)
    note("all_to_all", 80 * size, times=2)
    world.Reduce_scatter_block(all_of_it, one)
    note("reduce_scatter", 80 * size)


def uneven_collectives() -> None:
    counts = [1 + other for other in everyone]
    total = sum(counts)
    world.Reduce_scatter(doubles(total), doubles(counts[rank]), counts)
    note("reduce_scatter", 8 * total)
    world.Allgatherv(doubles(counts[rank]), [doubles(total), counts])
    note("all_gather", 8 * counts[rank])
    world.Gatherv(doubles(counts[rank]), [doubles(total), counts], 2)
    note("gather", 8 * counts[rank])
    world.Scatterv([doubles(total), counts], doubles(counts[rank]), 2)
    note("scatter", 8 * total)
    # To rank d go 1 + (own rank + d) % size doubles: what comes from rank s is 1 + (s + own rank) % size.
    splits = [1 + (rank + other) % size for other in everyone]
    world.Alltoallv([doubles(sum(splits)), splits], [doubles(sum(splits)), splits])
    note("all_to_all", 8 * sum(splits))
    offsets = [8 * sum(splits[:other]) for other in everyone]
    kinds = [MPI.DOUBLE] * size
    world.Alltoallw([doubles(sum(splits)), splits, offsets, kinds], [doubles(sum(splits)), splits, offsets, kinds])
    note("all_to_all", 8 * sum(splits))


def nonblocking_collectives() -> None:
    one, other, all_of_it = doubles(10), doubles(10), doubles(10 * size)
    MPI.Request.Waitall([world.Ibarrier(), world.Iallreduce(one, other), world.Iallgather(one, all_of_it)])
    note("barrier", 0)
    note("all_reduce", 80)
    note("all_gather", 80)
    request = world.Ibcast(one, 0)
    note("broadcast", 80)
    while not request.Test():
        pass
    requests = [world.Ireduce(one, other, root=0), world.Ialltoall(all_of_it, doubles(10 * size))]
    note("reduce", 80)
    note("all_to_all", 80 * size)
    for _ in requests:
        MPI.Request.Waitany(requests)
    requests = [world.Ireduce_scatter_block(all_of_it, one), world.Igather(other, doubles(10 * size), 0)]
    note("reduce_scatter", 80 * size)
    note("gather", 80)
    while any(request != MPI.REQUEST_NULL for request in requests):
        MPI.Request.Waitsome(requests)


def persistent_calls() -> None:
    one, other, third = doubles(10), doubles(10), doubles(10)
    requests = [world.Allreduce_init(one, other), world.Send_init(one, following, 5)]
    requests.append(world.Recv_init(third, preceding, 5))
    for _ in range(3):
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
    for request in requests:
        request.Free()
    for _ in range(3):
        note("all_reduce", 80)
        note("send", 80, peer=following)
        note("recv", 80, peer=preceding)

    started = world.Send_init(one, following, 6)
    started.Start()
    started.Free()  # under way: nobody waits for it
    note("send", 80, peer=following)
    world.Recv(third, preceding, 6)
    note("recv", 80, peer=preceding)


def messages_to_nobody() -> None:
    """What MPI_PROC_NULL sends and receives is nothing, though its requests may share handles with real ones."""
    buffer, nobody = doubles(5), MPI.PROC_NULL
    world.Send(buffer, nobody)
    world.Sendrecv(buffer, nobody, 0, doubles(5), nobody)
    requests = [world.Isend(buffer, nobody), world.Isend(buffer, following), world.Irecv(doubles(5), nobody)]
    note("send", 40, peer=following)
    requests.append(world.Irecv(doubles(5), preceding))
    note("recv", 40, peer=preceding)
    MPI.Request.Waitall(requests)
    requests = [world.Send_init(buffer, nobody), world.Recv_init(buffer, nobody)]
    MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
    for request in requests:
        request.Free()
    world.Sendrecv(buffer, following if rank == 0 else nobody, 0, doubles(5), preceding if rank == 1 else nobody)
    if rank == 0:
        note("send", 40, peer=1)
    if rank == 1:
        note("recv", 40, peer=0)


def messages() -> None:
    buffer = doubles(100)
    for send in (world.Isend, world.Issend, world.Irsend):
        request = world.Irecv(buffer, preceding, 1)
        note("recv", 48, peer=preceding)
        world.Barrier()  # a ready send needs its receive posted
        note("barrier", 0)
        MPI.Request.Waitall([send(doubles(6), following, 1), request])
        note("send", 48, peer=following)
    space = np.empty(8 * 100 + MPI.BSEND_OVERHEAD, np.uint8)
    MPI.Attach_buffer(space)
    world.Bsend(doubles(7), following, 2)
    note("send", 56, peer=following)
    world.Recv(buffer, preceding, 2)
    note("recv", 56, peer=preceding)
    MPI.Detach_buffer()
    world.Sendrecv(doubles(9), following, 3, buffer, preceding, 3)
    world.Sendrecv_replace(np.ones(9), following, 3, preceding, 3)
    for _ in range(2):
        note("send", 72, peer=following)
        note("recv", 72, peer=preceding)
    if rank == 0:
        for _ in everyone[1:]:
            status = MPI.Status()
            world.Recv(buffer, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
            note("recv", 8 * status.source, peer=status.source)
    else:
        world.Send(doubles(rank), 0, rank)
        note("send", 8 * rank, peer=0)
    world.Recv(buffer, MPI.PROC_NULL)
    if rank == 1:
        world.Ssend(doubles(3), 2, 4)
        note("send", 24, peer=2)
    elif rank == 2:
        message = world.Mprobe()
        message.Recv(buffer)
        note("recv", 24, peer=1)


def communicators() -> None:
    parity = world.Split(rank % 2, -rank)  # in the order of falling ranks
    members = [other for other in reversed(everyone) if other % 2 == rank % 2]
    for _ in range(2):
        parity.Allreduce(MPI.IN_PLACE, doubles(4))
    note("all_reduce", 32, members, times=2)
    parity.Bcast(doubles(4), 0)
    note("broadcast", 32, members)
    if len(members) > 1:  # the group's rank 0 is its last in the world
        if rank == members[0]:
            parity.Send(doubles(2), 1)
            note("send", 16, members, peer=members[1])
        elif rank == members[1]:
            parity.Recv(doubles(2), 0)
            note("recv", 16, members, peer=members[0])
    parity.Free()
    for _ in range(2):  # handles come again, groups do not
        copy = world.Dup()
        copy.Barrier()
        note("barrier", 0)
        copy.Free()
    # Made in one order and used in another, which is each rank's own affair.
    first, made = world.Idup()
    made.Wait()
    second, made = world.Idup()
    made.Wait()
    pending = [lambda: first.Ibarrier(), lambda: second.Iallreduce(MPI.IN_PLACE, doubles(3))]
    MPI.Request.Waitall([issue() for issue in (pending if rank % 2 else reversed(pending))])
    note("barrier", 0)
    note("all_reduce", 24)
    pair = world.Create_group(world.group.Incl([0, 1])) if rank < 2 else MPI.COMM_NULL
    if pair != MPI.COMM_NULL:
        pair.Barrier()
        note("barrier", 0, [0, 1])
    strided = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()  # 3 doubles of 6
    world.Bcast([doubles(6), 1, strided], 0)
    note("broadcast", 24)
    strided.Free()


blocking_collectives()
uneven_collectives()
nonblocking_collectives()
persistent_calls()
messages_to_nobody()
messages()
communicators()
Path(sys.argv[1], f"rank{rank}.json").write_text(json.dumps(issued))
