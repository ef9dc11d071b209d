"""CollNet: the switches between machines add, by SHARP (src/device/all_reduce.h, src/transport/coll_net.cc of 2.30).

Direct: a head in each machine gets its chunk from the machine's other GPUs, over NVLink, and brings them the result.
Chain: on each channel a chain of the machine's GPUs adds up to its head, and the result goes back along it.
"""

from collections.abc import Sequence
from itertools import pairwise

from hocket.nccl.programs.builder import NcclBuilder
from hocket.nccl.programs.heads import Heads, finished, in_order, interleaved, require_regular, slots, step_ps
from hocket.nccl.programs.request import NcclCall
from hocket.schedule import Actions, Kernel, Kind, Move, Wait

__all__ = ["PROGRAMS", "collnet_chain", "collnet_direct", "sharp"]

_SENDER_PS = 400_000  # what NCCL adds to a step's latency for each GPU of the machine beside the head


def collnet_direct(request: NcclCall) -> Kernel:
    """all_reduce over several machines."""
    heads, actions = Heads.found(request, "CollNetDirect"), Actions()
    sizes = interleaved(request, len(heads))
    latency_ps = step_ps(request) + (request.gpus - 1) * _SENDER_PS
    for first in range(0, sizes.shape[1], len(heads)):
        scatter = [actions.work(rank) for rank in range(request.ranks)]
        gather = [actions.work(rank) for rank in range(request.ranks)]
        in_order(actions, [*scatter, *gather])
        for chunk, ranks in enumerate(heads.of, start=first):
            sums = [
                _summed(actions, chunk, rank, {other: scatter[other] for other in machine}, latency_ps)
                for rank, machine in zip(ranks, heads.machines, strict=True)
            ]
            for rank, machine, down in zip(
                ranks, heads.machines, sharp(request, actions, chunk, ranks, sums), strict=True
            ):
                for other in machine:
                    actions.wait(down, *slots([gather[other]]))
                    brought = (
                        down
                        if other == rank
                        else actions.move(Move(chunk, (rank,), (down,), (other,), latency_ps=latency_ps))
                    )
                    actions.wait(gather[other], Wait(brought))
    return finished(request, sizes, actions, heads=len(heads))


def _summed(actions: Actions, chunk: int, head: int, scatter: dict[int, int], latency_ps: int) -> int:
    """The head's work that has what `scatter`, the works of its machine's GPUs, sent it."""
    come = [
        actions.move(Move(chunk, (rank,), (sent,), (head,), reduce=True, latency_ps=latency_ps))
        for rank, sent in scatter.items()
        if rank != head
    ]
    summed = actions.work(head, Wait(scatter[head]), *map(Wait, come), chunk=chunk)
    in_order(actions, [summed])
    for sent in scatter.values():
        actions.wait(sent, *slots([summed]))
    return summed


def collnet_chain(request: NcclCall) -> Kernel:
    """all_reduce over several machines."""
    require_regular(request)
    graph, actions = request.model.graphs["CollNetChain"], Actions()
    chains = graph["gpus"].reshape(graph["channels"], -1).tolist()
    sizes, latency_ps = interleaved(request, 1), step_ps(request)
    for channel in range(request.channels):
        orders = [
            [machine + gpu for gpu in chains[channel % len(chains)]]
            for machine in range(0, request.ranks, request.gpus)
        ]
        sums = [_up_chain(actions, channel, order, latency_ps) for order in orders]
        heads = tuple(order[0] for order in orders)
        for order, down in zip(orders, sharp(request, actions, channel, heads, sums), strict=True):
            _down_chain(actions, channel, order, down, latency_ps)
    return finished(request, sizes, actions)


def _up_chain(actions: Actions, chunk: int, order: Sequence[int], latency_ps: int) -> int:
    """The head's work that has the sum of the chain."""
    works = [actions.work(order[-1], chunk=chunk)]
    for sender, receiver in pairwise(reversed(order)):
        sent = actions.move(Move(chunk, (sender,), (works[-1],), (receiver,), reduce=True, latency_ps=latency_ps))
        works.append(actions.work(receiver, Wait(sent), chunk=chunk))
        actions.wait(works[-2], *slots(works[-1:]))
    in_order(actions, works)
    return works[-1]


def _down_chain(actions: Actions, chunk: int, order: Sequence[int], down: int, latency_ps: int) -> None:
    works = [down]
    for sender, receiver in pairwise(order):
        sent = actions.move(Move(chunk, (sender,), (works[-1],), (receiver,), latency_ps=latency_ps))
        works.append(actions.work(receiver, Wait(sent)))
        actions.wait(works[-2], *slots(works[-1:]))
    in_order(actions, works[1:])


def sharp(request: NcclCall, actions: Actions, chunk: int, heads: tuple[int, ...], sums: Sequence[int]) -> list[int]:
    """A chunk from its heads, one a machine, into the fabric when their `sums` are done; the works of the heads that
    have the result."""
    through = actions.move(Move(chunk, heads, tuple(sums), heads, latency_ps=step_ps(request, between=True)))
    down = [actions.work(head, Wait(through, head)) for head in heads]
    in_order(actions, down)
    for summed, received in zip(sums, down, strict=True):
        actions.wait(summed, *slots([received]))
    return down


PROGRAMS = (
    NcclBuilder(
        name="CollNetDirect",
        summary="heads get their chunks over NVLink, the fabric's switches add what heads send",
        needs='several machines, `sharp=1`, `NCCL_COLLNET_ENABLE=1`, `coll="1"` of the `<net>`s',
        source="device/all_reduce.h, transport/coll_net.cc",
        example="nccl:collnetdirect",
        kinds=(Kind.ALL_REDUCE,),
        build=collnet_direct,
    ),
    NcclBuilder(
        name="CollNetChain",
        summary="chains of a machine's GPUs add up to heads, the fabric's switches add these",
        needs='several machines, `sharp=1`, `NCCL_COLLNET_ENABLE=1`, `coll="1"` of the `<net>`s',
        source="device/all_reduce.h, transport/coll_net.cc",
        example="nccl:collnetchain",
        kinds=(Kind.ALL_REDUCE,),
        build=collnet_chain,
    ),
)
