"""One spanning tree per rank, grown together over the links between ranks, so that no link is used twice in a step.

The trees take turns; in its turn a tree adds one rank, over a link that no tree uses in this step, below the rank that
joined it first. When no tree can add one the next step begins. Chunk r travels from its rank along tree r (all_gather),
or up a tree over the reversed links (reduce_scatter); all_reduce is the second, then the first. Each rank gets every
chunk once: S(n-1)/n for each half; the steps are those that the links need, at least (n-1)/(links into a rank).
"""

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import grow_trees
from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, unalike
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "multitree"]


_Ranks = NDArray[np.int64]


def multitree(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless links between the ranks themselves reach all of them."""
    n, f = collective.num_ranks, collective.chunks_per_rank
    src, dst = _links(place)
    gather, scatter = Moves.together(), Moves.together()
    if collective.kind is not Kind.REDUCE_SCATTER:
        gather = _grow(n, src, dst, place.topology.name)
    if collective.reducing:
        scatter = _grow(n, dst, src, place.topology.name).reversed(reduce=True)
    return scatter.then(gather).in_pieces(f, np.arange(f))


def _links(place: Place) -> tuple[_Ranks, _Ranks]:
    """Collective ranks at the ends of each link between two of them."""
    rank_of = np.full(place.topology.num_nodes, -1)
    rank_of[place.ranks] = np.arange(len(place.ranks))
    src, dst = rank_of[place.topology.src], rank_of[place.topology.dst]
    inside = (src >= 0) & (dst >= 0)
    return src[inside], dst[inside]


def _grow(n: int, src: _Ranks, dst: _Ranks, name: str) -> Moves:
    """all_gather with one chunk per rank."""
    step, link, tree = grow_trees(n, src, dst)
    if len(link) < n * (n - 1):
        raise ScheduleError(f"multitree needs links between the ranks that reach all; {name} has not: use ring")
    return Moves.of(step, src[link], dst[link], tree, reduce=False)


NATIVE = (
    NativeAlgorithm(
        name="multitree",
        summary="a spanning tree per rank, grown together so that no link is used twice in a step",
        source="Huang et al., Communication algorithm-architecture co-design for distributed deep learning, ISCA 2021",
        needs="links between the ranks themselves",
        forms=(
            Form((Kind.ALL_REDUCE,), "twice as below", "as the links allow; 2S(n-1) by all ranks"),
            Form(
                (Kind.REDUCE_SCATTER, Kind.ALL_GATHER),
                "from (n-1)/(links into a rank) on",
                "as the links allow; S(n-1) by all ranks",
            ),
        ),
        moves=multitree,
        require=None,
        alike=unalike,
    ),
)
