"""What goes into scatters, which only their roots know."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.plugin.torch.matching import Matched

__all__ = ["scattered_bytes"]

Numbers = NDArray[np.int64]


def scattered_bytes(groups: Sequence[Matched]) -> dict[int, tuple[Numbers, Numbers]]:
    """For each group's number the sequence numbers of its scatters, ascending, and the bytes that go into each; 0 where
    no root was recorded."""
    found = {}
    for group in groups:
        shapes = group.catalogue.shapes
        is_scatter = np.array([shape.kind == "scatter" for shape in shapes], dtype=bool)
        columns = np.flatnonzero(is_scatter[group.first_shape])
        if len(columns):
            inputs = np.array([*(shape.input_bytes for shape in shapes), 0], dtype=np.int64)  # the last: absent
            found[group.number] = group.sequence[columns], inputs[group.shape[:, columns]].max(axis=0)
    return found
