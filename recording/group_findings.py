"""What there is to say of a group: one pass over its collectives, some at a time, in memory that does not grow."""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hocket.recording.agreement import GroupAgreement, clock_residual
from hocket.recording.arrivals import GroupArrivals, Machines
from hocket.recording.cutting import lacks_partners
from hocket.recording.divergence import Divergence, FirstDivergence
from hocket.recording.group_calls import CELLS, GroupCalls
from hocket.recording.kinds import GroupKinds, KindSums
from hocket.recording.mismatch import Mismatch
from hocket.recording.progress import GroupStands, Stand
from hocket.recording.scatters import scattered_bytes
from hocket.recording.transfers import GroupTransfers

__all__ = ["GroupFindings", "examine_group"]

Numbers = NDArray[np.int64]


@dataclass(eq=False)
class GroupFindings:
    """Of a group: where its ranks disagree, the worst clock residual in ns and in which collective, its kinds, who came
    late, what transfers cost, where the order departs, where ranks stood; `scattered` has the sequence numbers of its
    scatters and the bytes of each; `lacks_partners`: some of its collectives cannot be replayed."""

    number: int
    mismatches: list[Mismatch]
    residual_ns: int
    residual_place: str
    kinds: list[KindSums]
    arrivals: GroupArrivals
    transfers: GroupTransfers
    divergence: Divergence | None
    stands: list[Stand]
    scattered: tuple[Numbers, Numbers]
    lacks_partners: bool


@dataclass(eq=False)
class _Scattered:
    found: list[tuple[Numbers, Numbers]] = field(default_factory=list)

    def all(self) -> tuple[Numbers, Numbers]:
        none = np.empty(0, np.int64)
        sequences, sizes = zip((none, none), *self.found, strict=True)
        return np.concatenate(sequences), np.concatenate(sizes)


def examine_group(
    group: GroupCalls, recorded: Collection[int], machines: Machines, cells: int = CELLS
) -> GroupFindings:
    """Looks at all collectives of a group; `recorded` are the ranks with calls, on their `machines`. `cells` as in
    `GroupCalls.blocks`."""
    agreement, kinds = GroupAgreement(), GroupKinds()
    arrivals, transfers = GroupArrivals(group.ranks, machines), GroupTransfers()
    divergence, stands, scattered = FirstDivergence(), GroupStands(), _Scattered()
    worst, where, lacking = 0, "", False
    for block in group.blocks(cells):
        for one in (agreement, kinds, arrivals, transfers, divergence, stands):
            one.add(block)
        scattered.found.append(scattered_bytes(block))
        residual, place = clock_residual(block)
        if residual > worst:
            worst, where = residual, place
        lacking = lacking or lacks_partners(block, recorded)
    return GroupFindings(
        number=group.number,
        mismatches=agreement.mismatches(),
        residual_ns=worst,
        residual_place=where,
        kinds=kinds.sums,
        arrivals=arrivals,
        transfers=transfers,
        divergence=divergence.found(),
        stands=stands.found(recorded),
        scattered=scattered.all(),
        lacks_partners=lacking,
    )
