"""The networks that a topology has: inside its machines and between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hocket.topology import Topology, routes

__all__ = ["networks"]


def networks(topology: Topology) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The links inside machines and those between them, as masks: those of the classes that the routes between all
    ranks of the first machine take, and the others. One network where there are no machines of several ranks, one
    machine, or no link that is not of these classes."""
    inside = np.flatnonzero(topology.machine == topology.machine[0])
    everything = np.ones(topology.num_links, np.bool_)
    if len(inside) < 2 or len(inside) == topology.num_ranks:
        yield "the network", everything
        return
    pairs = np.array([(src, dst) for src in inside for dst in inside if src != dst], np.int32)
    classes = np.unique(topology.link_class[routes(topology.graph, pairs).links])
    within = np.isin(topology.link_class, classes)
    if within.all():
        yield "the network", everything
        return
    names = [topology.classes[at] for at in classes.tolist()]
    yield f"{' and '.join(names)} inside nodes", within
    yield "NICs and the network between nodes", ~within
