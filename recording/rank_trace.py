"""A rank's part made into its trace, by itself: what is needed of other ranks was found before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.chakra import write_trace
from hocket.chakra.importers.lanes import Operator
from hocket.chakra.job_metadata import GROUP_DESCRIPTIONS
from hocket.recording.alignment import SAME, Shift
from hocket.recording.cutting import shortened
from hocket.recording.matching import Numbering
from hocket.recording.messages import Retagged, tags_in_trace
from hocket.recording.nccl.join import Attributes
from hocket.recording.parts.part import PartSection, open_part
from hocket.recording.rank_findings import RankFindings, examine_rank
from hocket.recording.recording import Recording
from hocket.recording.scatters import sizes_in_trace
from hocket.recording.timeline import build_trace

__all__ = ["TracePlan", "write_rank"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TracePlan:
    """How a rank's trace is made: what brings its times onto the job's clock, the numbers of its groups, how many of
    its calls are `kept`, its messages with another tag, what went into its groups' scatters, the time of microsecond 0;
    and, where it was profiled, its operators by thread and what NCCL's profile tells of calls."""

    rank: int
    section: PartSection
    shift: Shift
    numbering: Numbering
    kept: int
    retagged: Sequence[Retagged]
    scattered: Mapping[int, tuple[Numbers, Numbers]]
    origin: int
    operators: Mapping[int, Sequence[Operator]] = field(default_factory=dict)
    chosen: Mapping[int, Attributes] = field(default_factory=dict)

    def load(self) -> Recording:
        """All that the rank recorded, on the job's clock."""
        recording = open_part(self.section).load()
        return recording if self.shift == SAME else recording.shifted(self.shift)

    def group_of_shape(self, recording: Recording) -> list[int]:
        """The number of each shape's group."""
        return [self.numbering[shape.group.key][0] for shape in recording.shapes]

    def sizes_and_tags(self, recording: Recording) -> tuple[Numbers, Numbers]:
        """The bytes and the tags that the trace gives all calls."""
        tags = tags_in_trace(recording, self.group_of_shape(recording), self.retagged)
        return sizes_in_trace(recording, self.numbering, self.scattered), tags

    def metadata(self, recording: Recording) -> dict[str, object]:
        """What the trace says of where it is from, and what the rank's groups are for."""
        meta = recording.meta
        library = {"mpi": meta.mpi} if meta.mpi else {"torch": meta.torch}
        head = {"rank": recording.rank, "world_size": recording.world, "generator": "hocket collect"}
        told = sorted((number, group.description) for number, group in self.numbering.values())
        described = [f"{number}={text}" for number, text in told if text not in ("", "undefined")]
        groups = {GROUP_DESCRIPTIONS: described} if described else {}
        return {**head, "script": meta.script, **library, **groups}


def write_rank(plan: TracePlan, path: Path | None) -> RankFindings:
    """Writes the trace of a rank, unless `path` is None; what there is to say of all that it recorded."""
    recording = plan.load()
    found = examine_rank(recording, plan.group_of_shape(recording))
    if path is not None:
        sizes, tags = plan.sizes_and_tags(recording)
        cut = shortened(recording, plan.kept)
        trace = build_trace(cut, plan.numbering, sizes, tags, plan.origin, plan.operators, plan.chosen)
        write_trace(path, replace(trace, metadata=trace.metadata | plan.metadata(recording)))
    return found
