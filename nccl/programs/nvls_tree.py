"""NVLSTree: NVLS inside each machine, between machines a binary tree of each head (src/device/all_reduce.h of 2.30).

A head loads the sum of its machine, adds what its children's heads sent, sends that up, and stores what comes down in
its machine and to its children; groups of warps of their own do both ways. Channels take the two trees in turn.
"""

from collections.abc import Callable
from functools import partial

from hocket.nccl.programs.builder import NcclBuilder
from hocket.nccl.programs.connect import double_tree
from hocket.nccl.programs.heads import Heads, each_channel, finished, in_order, slots, step_ps
from hocket.nccl.programs.nics import Nics
from hocket.nccl.programs.nvls import NvlsMachine
from hocket.nccl.programs.request import NcclCall
from hocket.schedule import Actions, Kernel, Kind, Move, Wait
from hocket.topology import Crossing

__all__ = ["PROGRAMS", "nvls_tree"]

_GRAIN = 16


def nvls_tree(request: NcclCall) -> Kernel:
    """all_reduce over two machines or more."""
    heads, actions = Heads.found(request, "NVLS"), Actions()
    sizes = each_channel(request, len(heads), _GRAIN)
    nics = Nics(request)
    places = [double_tree(request.nodes, node) for node in range(request.nodes)]
    for channel, first in enumerate(range(0, sizes.shape[1], len(heads))):
        machines = [NvlsMachine(request, actions, ranks) for ranks in heads.machines]
        above = [place[channel % 2][0] for place in places]
        for head, ranks in enumerate(heads.of):
            _between(request, actions, machines, ranks, above, first + head, partial(nics.crossing, channel=channel))
    return finished(request, sizes, actions, heads=len(heads))


def _between(
    request: NcclCall,
    actions: Actions,
    machines: list[NvlsMachine],
    ranks: tuple[int, ...],
    above: list[int],
    chunk: int,
    crossing: Callable[[int, int], Crossing],
) -> None:
    """A chunk up the tree of its heads `ranks`, one a machine, and down again, by the `crossing` from each to each."""
    children = [[m for m, up in enumerate(above) if up == node] for node in range(len(machines))]
    depths = [_depth(above, node) for node in range(len(machines))]
    # NCCL counts as many steps up as a tree of a power of two of nodes has
    latency_ps = step_ps(request, between=True) * (len(machines).bit_length() - 1) // max(depths)
    order = sorted(range(len(machines)), key=depths.__getitem__)
    loaded: dict[int, int] = {}
    down: dict[int, int] = {}
    risen: dict[int, int] = {}
    for node in reversed(order):
        loaded[node] = machines[node].load(ranks[node], chunk, *(Wait(risen[child]) for child in children[node]))
        if above[node] >= 0:
            to = ranks[above[node]]
            risen[node] = actions.move(
                Move(chunk, (ranks[node],), (loaded[node],), (to,), True, latency_ps, crossing(ranks[node], to))
            )
    for node in order:
        for child in children[node]:
            actions.wait(loaded[child], *slots([loaded[node]]))
    sunk: dict[int, int] = {}
    for node in order:
        down[node] = loaded[node] if above[node] < 0 else actions.work(ranks[node], Wait(sunk[node]))
        if above[node] >= 0:
            in_order(actions, [down[node]])
        machines[node].store(ranks[node], chunk, down[node])
        for child in children[node]:
            to = ranks[child]
            sunk[child] = actions.move(
                Move(chunk, (ranks[node],), (down[node],), (to,), False, latency_ps, crossing(ranks[node], to))
            )
    for node in order:
        actions.wait(down[node], *slots(down[child] for child in children[node]))


def _depth(above: list[int], node: int) -> int:
    return 0 if above[node] < 0 else 1 + _depth(above, above[node])


PROGRAMS = (
    NcclBuilder(
        name="NVLSTree",
        summary="NVLS in each machine, two binary trees of each head over machines",
        needs="`nvls=1`, GPUs of sm 90, several machines",
        source="device/all_reduce.h",
        example="nccl:nvlstree",
        kinds=(Kind.ALL_REDUCE,),
        build=nvls_tree,
    ),
)
