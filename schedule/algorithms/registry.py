"""The list of native algorithms, and how their moves become a schedule on a topology."""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.base.registry import Registry
from hocket.schedule.algorithms.native import NativeAlgorithm
from hocket.schedule.algorithms.pattern import Pattern
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.schedule import Schedule
from hocket.topology import Topology

__all__ = ["ALGORITHMS", "build", "build_all", "pattern", "patterns"]


# The files of this folder that hold them, in the order in which `auto` tries their algorithms. A new one is one line.
_FILES = (
    "ring",
    "direct",
    "one_shot",
    "halving_doubling",
    "double_binary_tree",
    "recursive_doubling",
    "bruck",
    "pat",
    "pairwise",
    "binomial",
    "bine",
    "binary_tree",
    "chain",
    "swing",
    "multi_ring",
    "torus_ring",
    "hierarchical",
    "themis",
    "multitree",
    "rotated_doubling",
    "switch_tree",
    "nvls",
)
_MOST_KEPT = 1024
_MOST_DELIVERIES = 1 << 14  # of a collective whose patterns are kept: a search asks for them at every size

ALGORITHMS: Registry[NativeAlgorithm] = Registry.of_files(
    "native algorithm", "hocket.schedule.algorithms", _FILES, "NATIVE", ScheduleError
)


def build(name: str, collective: Collective, topology: Topology, group: NDArray[np.int32] | None = None) -> Schedule:
    """The untimed schedule of native algorithm `name` (a key of ALGORITHMS), over shortest routes.

    Raises ScheduleError as `pattern` and where there are 2^31 transfers or more, and Infeasible when two ranks that
    must talk are not connected.
    """
    return pattern(name, collective, topology, group).spelled_out()


def pattern(name: str, collective: Collective, topology: Topology, group: NDArray[np.int32] | None = None) -> Pattern:
    """What native algorithm `name` (a key of ALGORITHMS) does, of ranks that do alike for one of them only.

    `group` (int32, length collective.num_ranks) places the collective's ranks on the topology; None: rank i is rank i.
    Raises ScheduleError for an unknown name, a kind, number of ranks or place the algorithm cannot do, or more ranks
    than the topology has.
    """
    algorithm = ALGORITHMS.named(name)
    ranks = np.arange(collective.num_ranks, dtype=np.int32) if group is None else group
    if len(ranks) != collective.num_ranks or ranks.max() >= topology.num_ranks:
        raise ScheduleError(
            f"{collective.describe()} does not fit {topology.name} with {topology.num_ranks} ranks"
            + ("" if group is None else f" and the group {ranks.tolist()}")
        )
    place = Place(topology, ranks)
    if collective.kind not in algorithm.kinds:
        able = [each.name for each in ALGORITHMS.values() if collective.kind in each.kinds]
        remedy = f"try {able[0]}" if able else "no native algorithm does: synthesize a schedule"
        raise ScheduleError(f"{algorithm.why_not(collective, place)}; {remedy}")
    if collective.cut_whole and not algorithm.cuts_whole:
        raise ScheduleError(str(algorithm.why_not(collective, place)))
    if algorithm.require is not None:
        algorithm.require(place)
    return Pattern.of(algorithm.moves(collective, place), collective, topology, group, name)


def build_all(collective: Collective, topology: Topology, group: NDArray[np.int32] | None = None) -> Iterator[Schedule]:
    """The untimed schedule of each native algorithm that can do the collective there, in the order of ALGORITHMS.

    Raises Infeasible as `build`.
    """
    for name in ALGORITHMS:
        try:
            found = _pattern(name, collective, topology, group)
        except ScheduleError:  # for example not a power of two of ranks
            continue
        yield found.spelled_out(collective)


def patterns(collective: Collective, topology: Topology, group: NDArray[np.int32] | None = None) -> Iterator[Pattern]:
    """The pattern of each native algorithm that can do the collective there, in the order of ALGORITHMS."""
    for name in ALGORITHMS:
        with suppress(ScheduleError):  # for example not a power of two of ranks
            yield pattern(name, collective, topology, group)


def _pattern(name: str, collective: Collective, topology: Topology, group: NDArray[np.int32] | None) -> Pattern:
    """As `pattern`; where its moves do not depend on sizes, of a collective that differs in these."""
    sized = collective.conditions is not None or collective.block_bytes is not None or ALGORITHMS.named(name).by_size
    if sized or collective.num_deliveries > _MOST_DELIVERIES:
        return pattern(name, collective, topology, group)
    shape = collective.kind, collective.num_ranks, collective.chunks_per_rank, collective.root, collective.cut_whole
    return _kept(name, *shape, topology, None if group is None else group.tobytes())


@lru_cache(maxsize=_MOST_KEPT)
def _kept(
    name: str,
    kind: Kind,
    num_ranks: int,
    chunks_per_rank: int,
    root: int,
    cut_whole: bool,
    topology: Topology,
    group: bytes | None,
) -> Pattern:
    """Of a collective without bytes; topologies are told apart as objects."""
    collective = Collective(kind, num_ranks, 0, chunks_per_rank, root, cut_whole=cut_whole)
    return pattern(name, collective, topology, None if group is None else np.frombuffer(group, np.int32))
