"""The list of native algorithms, and how their moves become a schedule on a topology."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms import (
    binary_tree,
    bine,
    binomial,
    bruck,
    chain,
    direct,
    double_binary_tree,
    halving_doubling,
    hierarchical,
    multi_ring,
    multitree,
    nvls,
    pairwise,
    pat,
    recursive_doubling,
    ring,
    swing,
    switch_tree,
    themis,
    torus_ring,
)
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.pattern import Pattern
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.schedule import Schedule
from hocket.topology import Topology

__all__ = ["ALGORITHMS", "Algorithm", "build", "build_all", "pattern", "patterns"]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A native algorithm: the kinds it can do, its moves for a collective of one of them in a place, whether these
    depend on the collective's sizes, and whether ranks do alike in a place (where the collective has no root), so that
    they are those of one rank."""

    kinds: tuple[Kind, ...]
    moves: Callable[[Collective, Place], Moves]
    by_size: bool = False
    alike: Callable[[Place], bool] = lambda _: True

    def num_moves(self, collective: Collective, place: Place) -> int:
        """About how many moves there are, without making any. Raises ScheduleError where `alike` does."""
        of_one = not collective.rooted and self.alike(place)
        return collective.num_deliveries // (collective.num_ranks if of_one else 1)


def _anywhere(kinds: tuple[Kind, ...], moves: Callable[[Collective], Moves], *, alike: bool = True) -> Algorithm:
    """An algorithm that does not look at the topology."""
    return Algorithm(kinds, lambda collective, _: moves(collective), alike=lambda _: alike)


def _unalike(kinds: tuple[Kind, ...], moves: Callable[[Collective, Place], Moves]) -> Algorithm:
    """An algorithm in which every rank has a part of its own."""
    return Algorithm(kinds, moves, alike=lambda _: False)


ALGORITHMS = {
    "ring": _anywhere(ring.KINDS, ring.ring),
    "direct": Algorithm(direct.KINDS, direct.direct),
    "halving_doubling": _anywhere(halving_doubling.KINDS, halving_doubling.halving_doubling),
    "double_binary_tree": _anywhere(double_binary_tree.KINDS, double_binary_tree.double_binary_tree, alike=False),
    "recursive_doubling": _anywhere(recursive_doubling.KINDS, recursive_doubling.recursive_doubling),
    "bruck": _anywhere(bruck.KINDS, bruck.bruck),
    "pat": _anywhere(pat.KINDS, pat.pat),
    "pairwise": _anywhere(pairwise.KINDS, pairwise.pairwise),
    "binomial": _anywhere(binomial.KINDS, binomial.binomial),
    "bine": _anywhere(bine.KINDS, bine.bine),
    "binary_tree": _anywhere(binary_tree.KINDS, binary_tree.binary_tree, alike=False),
    "chain": _anywhere(chain.KINDS, chain.chain, alike=False),
    "swing": Algorithm(swing.KINDS, swing.swing),
    "multi_ring": Algorithm(multi_ring.KINDS, multi_ring.multi_ring, alike=multi_ring.alike),
    "torus_ring": Algorithm(torus_ring.KINDS, torus_ring.torus_ring),
    "hierarchical": Algorithm(hierarchical.KINDS, hierarchical.hierarchical),
    "themis": Algorithm(themis.KINDS, themis.themis, by_size=True),
    "multitree": _unalike(multitree.KINDS, multitree.multitree),
    "switch_tree": _unalike(switch_tree.KINDS, switch_tree.switch_tree),
    "nvls": _unalike(nvls.KINDS, nvls.nvls),
    "nvls_tree": _unalike(nvls.TREE_KINDS, nvls.nvls_tree),
    "nvls_sharp": _unalike(nvls.KINDS, nvls.nvls_sharp),
}


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
    if name not in ALGORITHMS:
        raise ScheduleError(f"'{name}' is not a native algorithm; there are {', '.join(ALGORITHMS)}")
    algorithm = ALGORITHMS[name]
    if collective.kind not in algorithm.kinds:
        raise ScheduleError(f"{name} does {', '.join(algorithm.kinds)}, not {collective.kind}; try direct")
    ranks = np.arange(collective.num_ranks, dtype=np.int32) if group is None else group
    if len(ranks) != collective.num_ranks or ranks.max() >= topology.num_ranks:
        raise ScheduleError(
            f"{collective.describe()} does not fit {topology.name} with {topology.num_ranks} ranks"
            + ("" if group is None else f" and the group {ranks.tolist()}")
        )
    moves = algorithm.moves(collective, Place(topology, ranks))
    return Pattern.of(moves, collective, topology, group, name)


def build_all(collective: Collective, topology: Topology, group: NDArray[np.int32] | None = None) -> Iterator[Schedule]:
    """The untimed schedule of each native algorithm that can do the collective there, in the order of ALGORITHMS.

    Raises Infeasible as `build`.
    """
    return (each.spelled_out() for each in patterns(collective, topology, group))


def patterns(collective: Collective, topology: Topology, group: NDArray[np.int32] | None = None) -> Iterator[Pattern]:
    """The pattern of each native algorithm that can do the collective there, in the order of ALGORITHMS."""
    for name, algorithm in ALGORITHMS.items():
        if collective.kind in algorithm.kinds:
            with suppress(ScheduleError):  # for example not a power of two of ranks
                yield pattern(name, collective, topology, group)
