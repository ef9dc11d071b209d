"""Times that no schedule can beat, into however many chunks it cuts what it sends.

What each rank has for the others, or wants from them, is the same for any number of chunks; so is the proof that a flow
of bytes gives (`lower_bound` with `split`), where a chunk may even go in parts.

Links that block rest for their latency after each chunk, so that many chunks cost more than few. The numbers of chunks
fall into intervals. From `first` chunks on no chunk is larger than a part in so many, and no link passes on more
bytes/s than chunks of that size (`at_pace`); this, or for an interval of a single number its own bound, is the time for
the interval, and the least of all intervals is the bound. What the larger numbers prove grows with them, so the search
ends at the first interval that proves as much as the least before it.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.bounds import at_pace, lower_bound
from hocket.schedule.collective import Collective
from hocket.schedule.schedule import Bound
from hocket.topology import Topology

__all__ = ["bound_of_any_chunks"]

# Numbers of chunks looked at one by one, then by intervals that grow by a quarter; on large topologies by doubling.
_ONE_BY_ONE = 8
_LARGE_LINKS = 10_000
_MOST_CHUNKS = 2**30


def bound_of_any_chunks(
    collective: Collective,
    topology: Topology,
    blocking: bool = False,
    group: NDArray[np.int32] | None = None,
    relays: bool = False,
) -> Bound:
    """A time that no schedule beats that cuts each rank's part into any number of chunks; arguments as `lower_bound`.

    Of conditions the chunks are part of what is asked for: their bound is that of these chunks. Raises what
    `lower_bound` does.
    """
    if collective.conditions is not None:
        return lower_bound(collective, topology, blocking, group, relays=relays)
    whole = replace(collective, chunks_per_rank=1, cut_whole=False)
    flow = lower_bound(whole, topology, group=group, relays=relays, split=True)
    # chunks of an all_reduce are no rank's own: they may be any parts of the whole buffer
    cut = replace(whole, cut_whole=whole.kind.cut_by_rank and whole.kind.shares_buffer)
    part_bytes = cut.largest_chunk_bytes
    if not (blocking and topology.latency_ps.any() and part_bytes):
        return flow
    least: Bound | None = None
    for first, last in _intervals(topology):
        paced = replace(at_pace(topology, -(-part_bytes // first)), latency_ps=np.zeros_like(topology.latency_ps))
        here = lower_bound(whole, paced, group=group, relays=relays, split=True)
        if least is not None and here.time_ps >= least.time_ps:
            break
        if first == last:
            exact = lower_bound(replace(cut, chunks_per_rank=first), topology, True, group, relays=relays)
            here = max(here, exact, key=lambda bound: bound.time_ps)
        if least is None or here.time_ps < least.time_ps:
            least = here
        if first >= part_bytes:
            break  # chunks of a byte: more are empty, and move nothing faster
    assert least is not None  # there is an interval
    return max(least, flow, key=lambda bound: bound.time_ps)


def _intervals(topology: Topology) -> Iterator[tuple[int, int]]:
    """Intervals of the number of chunks, in order, without a gap."""
    singles, quarters = (2, 8) if topology.num_links > _LARGE_LINKS else (_ONE_BY_ONE, 5)
    first = 1
    while first < _MOST_CHUNKS:
        following = first + 1 if first < singles else first * quarters // 4
        yield first, following - 1
        first = following
