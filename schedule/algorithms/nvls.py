"""NVLS: reduction and multicast by the switches inside each machine; rings, trees or switches between the machines.

Every rank is the head of one chunk of n. all_reduce: a machine's switches add its ranks' parts of a chunk on the way to
the head in that machine, the heads of a chunk in all machines do an all_reduce among themselves, and the switches send
copies of what the head has to the other ranks; reduce_scatter and all_gather: one half of that each. The chunks follow
each other, a step behind the other. The heads' part is a ring in `nvls`, a double binary tree in `nvls_tree`
(all_reduce only), and a tree over the switches between the machines in `nvls_sharp`. With g ranks in each of m machines
the steps for nf chunks are h + b + gf-1, all_reduce: 2h + b + gf+3, with h (mostly 2) of them over a machine's switches
and b among the heads. In an all_reduce S + 2S(m-1)/n leaves each rank, of which the second part leaves the machine (in
`nvls_sharp`: S + S/g, S/g); reduce_scatter: S(g-1)/g to the switch, all_gather: S/g, and what the heads do. (NCCL's
NVLS and NVLSTree; its NVLS goes over SHARP between machines, as `nvls_sharp`.)
"""

from collections.abc import Callable

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.double_binary_tree import double_binary_tree
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, unalike
from hocket.schedule.algorithms.place import Place
from hocket.schedule.algorithms.ring import ring
from hocket.schedule.algorithms.switch_tree import switch_tree
from hocket.schedule.algorithms.switch_trees import switch_trees
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "nvls", "nvls_sharp", "nvls_tree"]

_SLACK = 4  # steps by which a sum may reach its head late before the head's next parts of sums wait behind it


def nvls(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless the ranks fill machines (or lines of the first dimension) with such a switch each."""
    return _through_heads(collective, place, "nvls", lambda heads, _: ring(heads))


def nvls_tree(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError as `nvls`."""
    return _through_heads(collective, place, "nvls_tree", lambda heads, _: double_binary_tree(heads))


def nvls_sharp(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError as `nvls`, and unless the heads reach a switch that computes over switches."""
    return _through_heads(collective, place, "nvls_sharp", lambda heads, rail: switch_tree(heads, rail, "nvls_sharp"))


def _through_heads(
    collective: Collective, place: Place, algorithm: str, between: Callable[[Collective, Place], Moves]
) -> Moves:
    lines = place.lines(algorithm)
    if not lines:
        raise ScheduleError(f"{algorithm} needs two ranks or more")
    inside, n, f = lines[0].size, collective.num_ranks, collective.chunks_per_rank
    first = np.arange(0, n, inside)  # rank of each machine
    trees = [switch_trees(algorithm, place, range(rank, rank + inside)) for rank in first.tolist()]
    heads, switches = Collective(collective.kind, len(first), size_bytes=0), n + np.arange(len(place.nodes) - n)
    parts = []
    for head in range(inside):
        rooted = [of[head % len(of)].rooted_at(rank + head) for rank, of in zip(first.tolist(), trees, strict=True)]
        spreads = [
            Moves.of(tree.step[:, None], tree.parent[:, None], tree.child[:, None], first + head, reduce=False)
            for tree in rooted
        ]
        moves = between(heads, Place(place.topology, place.ranks[first + head]))
        moves = moves.one_by_one().relabelled(np.concatenate([first + head, switches]))
        inner = np.concatenate([np.unique(part.dst[part.dst >= n]) for part in spreads])
        if len(np.unique(inner)) < len(inner):
            raise ScheduleError(f"{algorithm} needs switches in each machine that add and copy for it alone; use ring")
        if np.isin(moves.dst, inner).any():
            raise ScheduleError(
                f"{algorithm} needs a switch between the machines that adds and copies, such as sharp=1 gives"
                " dgx-h100; there is none: use nvls or nvls_tree"
            )
        spread = Moves.together(*spreads)
        if collective.reducing:
            moves = spread.reversed(reduce=True).then(moves)
        if collective.kind is not Kind.REDUCE_SCATTER:
            moves = moves.then(spread.delayed(_SLACK if collective.reducing else 0))
        parts += [moves.in_pieces(f, piece).delayed(piece * inside + head) for piece in range(f)]
    return Moves.together(*parts)


NATIVE = (
    NativeAlgorithm(
        name="nvls",
        summary="to a head in each of m machines of g ranks by its switches (h = 2 steps for one switch), rings"
        " between heads, copies by the switches",
        source="NCCL's NVLS",
        needs="switches that compute in each machine",
        forms=(
            Form((Kind.ALL_REDUCE,), "2h + 2(m-1) + gf+3", "S + 2S(m-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "h + m-1 + gf-1", "S(n-1)/n, S(2m-1)/n"),
        ),
        moves=nvls,
        require=None,
        alike=unalike,
        example="dgx-h100:nodes=2,gpus=2,nvls=1,sharp=1",
    ),
    NativeAlgorithm(
        name="nvls_tree",
        summary="as nvls, a double binary tree between heads, of height t = ceil(log m)",
        source="NCCL's NVLSTree",
        needs="switches that compute in each machine",
        forms=(Form((Kind.ALL_REDUCE,), "2h + 2t + ceil(m/2)-1 + gf+3", "up to S + 2S/g"),),
        moves=nvls_tree,
        require=None,
        alike=unalike,
        example="dgx-h100:nodes=2,gpus=2,nvls=1,sharp=1",
    ),
    NativeAlgorithm(
        name="nvls_sharp",
        summary="as nvls, a switch_tree between heads",
        source="NCCL's NVLS over SHARP",
        needs="switches that compute in each machine and between the machines",
        forms=(
            Form((Kind.ALL_REDUCE,), "2h + 2h' + m-1 + gf+3", "S + S/g"),
            Form(
                (Kind.REDUCE_SCATTER, Kind.ALL_GATHER),
                "at most those of all_reduce",
                "at most those of all_reduce",
            ),
        ),
        moves=nvls_sharp,
        require=None,
        alike=unalike,
        example="dgx-h100:nodes=2,gpus=2,nvls=1,sharp=1",
    ),
)
