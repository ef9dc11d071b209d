"""The networks that a topology has: inside its machines and between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hocket.topology import Topology, routes

__all__ = ["networks"]


def networks(topology: Topology) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The links inside machines and those between them, as masks: those of the classes that the routes between all
    ranks of the first machine take, and the others. Where those routes take all classes, as where GPUs that no NVLink
    joins meet by their NICs, inside are those of them that no route to another machine takes. One network where there
    are no machines of several ranks, one machine, or nothing to tell them apart by.
    """
    inside = np.flatnonzero(topology.machine == topology.machine[0])
    outside = np.flatnonzero(topology.machine != topology.machine[0])
    if len(inside) > 1 and len(outside):
        classes = _classes(topology, inside, inside)
        if len(classes) == len(np.unique(topology.link_class)):
            other = outside[topology.machine[outside] == topology.machine[outside[0]]]
            classes = np.setdiff1d(classes, _classes(topology, inside, other))
        if len(classes):
            within = np.isin(topology.link_class, classes)
            yield f"{' and '.join(topology.classes[at] for at in classes.tolist())} inside nodes", within
            yield "NICs and the network between nodes", ~within
            return
    yield "the network", np.ones(topology.num_links, np.bool_)


def _classes(topology: Topology, sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> NDArray[np.int32]:
    """Classes of the links that the routes from each of these ranks to each of those take."""
    pairs = np.array([(src, dst) for src in sources for dst in destinations if src != dst], np.int32)
    return np.unique(topology.link_class[routes(topology.graph, pairs).links])
