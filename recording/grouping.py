"""Which parts have collectives of which group, under one number on all ranks."""

from collections.abc import Sequence

import numpy as np

from hocket.recording.alignment import Shift
from hocket.recording.group_calls import GroupCalls, MemberCalls
from hocket.recording.matching import Catalogue, Numbering, number_groups
from hocket.recording.parts.part import Part

__all__ = ["group_calls", "numbered_groups"]


def numbered_groups(parts: Sequence[Part]) -> Numbering:
    """The groups of all parts with their numbers in the traces."""
    return number_groups((group for part in parts for group in part.head.groups), parts[0].meta.world)


def group_calls(parts: Sequence[Part], shifts: Sequence[Shift], numbering: Numbering) -> list[GroupCalls]:
    """The collectives of each group, by number; `shifts` bring the parts' times onto one clock."""
    catalogue = Catalogue()
    found: dict[int, list[MemberCalls]] = {}
    for part, shift in zip(parts, shifts, strict=True):
        catalogued = np.array([catalogue.number(shape) for shape in part.shapes], np.int32)
        for span in part.head.spans:
            number = numbering[part.head.groups[span.group].key][0]
            member = MemberCalls(part.rank, part.table, span, catalogued, shift, part.head.steps > 0)
            found.setdefault(number, []).append(member)
    groups = dict(numbering.values())
    return [GroupCalls(number, groups[number], catalogue, found[number]) for number in sorted(found)]
