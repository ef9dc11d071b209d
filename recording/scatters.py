"""What goes into scatters, which only their roots know."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.recording.matching import Matched, Numbering
from hocket.recording.recording import Recording

__all__ = ["scattered_bytes", "sizes_in_trace"]

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


def sizes_in_trace(
    recording: Recording, numbering: Numbering, scattered: Mapping[int, tuple[Numbers, Numbers]]
) -> Numbers:
    """The bytes that a rank's trace gives its calls; of a scatter what its root put in (`scattered_bytes`)."""
    sizes = recording.by_shape(lambda shape: shape.num_bytes)
    groups = recording.by_shape(lambda shape: numbering[shape.group.key][0])
    is_scatter = recording.by_shape(lambda shape: shape.kind == "scatter").astype(bool)
    for number, (sequence, sent) in scattered.items():
        own = np.flatnonzero(is_scatter & (groups == number))
        inputs = sent[np.searchsorted(sequence, recording.columns.sequence[own]).clip(max=len(sent) - 1)]
        sizes[own] = np.where(inputs > 0, inputs, sizes[own])
    return sizes
