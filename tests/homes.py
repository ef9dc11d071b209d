"""Where native algorithms can run, for the tests of whatever takes a schedule."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hocket.schedule import Collective, Kind, Schedule
from hocket.schedule.algorithms import ALGORITHMS, build_all
from hocket.topology import Topology, load

LINK = "bandwidth=50GB/s,latency=500ns"


def home(name: str) -> Topology:
    """Four ranks on which native algorithm `name` can do all of its kinds."""
    return load(ALGORITHMS[name].example)


# Native algorithms that let switches compute.
IN_NETWORK = tuple(name for name in ALGORITHMS if home(name).in_network)
# Those whose all_reduce exchanges partial sums, which `retime` refuses where links would let other sums go.
EXCHANGES_SUMS = ("recursive_doubling", "one_shot_by_dimension", "hierarchical_one_shot", "rotated_doubling")


def products(num_ranks: int) -> list[Topology]:
    """Topologies with dimensions, on which the algorithms that look at them can run."""
    shapes = {4: ["ring:4", "torus:2x2", "switch:2xring:2"], 6: ["mesh:2x3"], 8: ["torus:2x4", "hypercube:3"]}
    specs = [f"{shape},{LINK}" for shape in [f"fully_connected:{num_ranks}", *shapes.get(num_ranks, [])]]
    return [load(spec) for spec in [*specs, f"switch:{num_ranks},{LINK},in_network=1"]]


def natives(
    collective: Collective, topology: Topology, group: NDArray[np.int32] | None = None
) -> st.SearchStrategy[Schedule]:
    """Each native algorithm that can do the collective there, but for those that `retime` may refuse."""
    schedules = build_all(collective, topology, group)
    refused = EXCHANGES_SUMS if collective.kind is Kind.ALL_REDUCE else ()
    return st.sampled_from([each for each in schedules if each.generator not in refused])


BLOCKS = {Kind.ALL_GATHER: 1, Kind.GATHER: 1, Kind.REDUCE_SCATTER: 1, Kind.SCATTER: 1, Kind.ALL_TO_ALL: 2}


@st.composite
def collectives(draw: st.DrawFn, kind: Kind, num_ranks: int, most_bytes: int) -> Collective:
    """A collective of a kind: even or, where its blocks may differ, uneven with some empty blocks."""
    chunks, root = draw(st.integers(1, 3)), draw(st.integers(0, num_ranks - 1))
    if kind not in BLOCKS or draw(st.booleans()):
        return Collective(kind, num_ranks, draw(st.integers(0, most_bytes)), chunks, root)
    count = num_ranks ** BLOCKS[kind]
    sizes = st.one_of(st.just(0), st.integers(0, most_bytes // num_ranks))
    blocks = draw(st.lists(sizes, min_size=count, max_size=count))
    return Collective.uneven(kind, num_ranks, blocks, chunks, root)
