"""What a symmetry of the ranks does to the links of a topology."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket._core import topology as engine
from hocket.schedule.symmetry import Symmetry
from hocket.topology import Topology, link_images

__all__ = ["LinkSymmetry"]

_Links = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class LinkSymmetry:
    """The group acting on the links: `generators` are the images of all links under the elements of `symmetry.steps`.

    Where ranks leave a choice (parallel links, switches with the same neighbours), images keep the order of ids: the
    image under one element after another is that under both.
    """

    symmetry: Symmetry
    num_links: int
    generators: tuple[_Links, ...]

    @staticmethod
    @lru_cache(maxsize=16)
    def of(symmetry: Symmetry, topology: Topology) -> "LinkSymmetry | None":
        """None unless the symmetry is one of the whole topology, whose ranks are its box."""
        if symmetry.order > 1 and symmetry.num_ranks != topology.num_ranks:
            return None
        generators = []
        for element, _ in symmetry.steps:
            images = link_images(topology, symmetry.act(element, np.arange(topology.num_ranks)))
            if images is None:
                return None
            generators.append(images)
        return LinkSymmetry(symmetry, topology.num_links, tuple(generators))

    @cached_property
    def first(self) -> _Links:
        """The first of the images of each link: its orbit's name."""
        return engine.least_images(self.num_links, np.concatenate([np.zeros(0, np.int32), *self.generators]))

    def frees(self, links: NDArray[np.int32]) -> bool:
        """Whether each of the links has as many images as there are elements: none stays where it is."""
        size = np.bincount(self.first, minlength=self.num_links)
        return bool((size[self.first[links]] == self.symmetry.order).all())

    def images(self, links: NDArray[np.int32]) -> _Links:
        """Of each element (row) the image of each link (column)."""
        rows = links[None]
        for power, (_, times) in zip(self.generators, self.symmetry.steps, strict=True):
            wanted = times * len(rows)
            while len(rows) < wanted:
                rows = np.concatenate([rows, power[rows]])
                power = power[power]
            rows = rows[:wanted]
        return rows
