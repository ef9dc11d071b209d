"""What goes into scatters, which only their roots know."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hocket.recording.matching import Matched, Numbering
from hocket.recording.recording import Recording

__all__ = ["scattered_bytes", "sizes_in_trace"]

Numbers = NDArray[np.int64]


def scattered_bytes(block: Matched) -> tuple[Numbers, Numbers]:
    """The sequence numbers of the scatters among some collectives, ascending, and the bytes that go into each; 0 where
    no root was recorded."""
    shapes = block.catalogue.shapes
    is_scatter = np.array([shape.kind == "scatter" for shape in shapes], dtype=bool)
    columns = np.flatnonzero(is_scatter[block.first_shape])
    inputs = np.array([*(shape.input_bytes for shape in shapes), 0], dtype=np.int64)  # the last: absent
    return block.sequence[columns], inputs[block.shape[:, columns]].max(axis=0, initial=0)


def sizes_in_trace(
    recording: Recording, numbering: Numbering, scattered: Mapping[int, tuple[Numbers, Numbers]]
) -> Numbers:
    """The bytes that a rank's trace gives its calls; of a scatter what its root put in: `scattered` has by the group's
    number what `scattered_bytes` finds in all of it."""
    sizes = recording.by_shape(lambda shape: shape.num_bytes)
    groups = recording.by_shape(lambda shape: numbering[shape.group.key][0])
    is_scatter = recording.by_shape(lambda shape: shape.kind == "scatter").astype(bool)
    for number, (sequence, sent) in scattered.items():
        own = np.flatnonzero(is_scatter & (groups == number))
        inputs = sent[np.searchsorted(sequence, recording.columns.sequence[own]).clip(max=len(sent) - 1)]
        sizes[own] = np.where(inputs > 0, inputs, sizes[own])
    return sizes
