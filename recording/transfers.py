"""What transfers cost beyond those like them: messages between two ranks, and collectives of groups of one size.

A message's transfer runs from when its sender has issued it and its receiver waits, to its end; a collective's from its
last rank's arrival. A link that is slow costs more than others with messages of the same size, between ranks that are
on one machine as much as they. What is sent to one who waits takes longer than what lies there already, for it is sent
and the waiting one woken; which of both a link's messages are depends on the ranks' work. So what the one sort takes
longer, on the middle one of the links, is taken off.
"""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.recording.alignment import Shift
from hocket.recording.blocks import BlockSums
from hocket.recording.chance import CostTable
from hocket.recording.group_calls import GroupCalls
from hocket.recording.matching import Matched
from hocket.recording.messages import MessageTraffic
from hocket.recording.waits import NONE

__all__ = ["GroupTransfers", "TransferCosts", "group_transfers", "message_transfers", "without_sorts"]

Numbers = NDArray[np.int64]

_SENDS = ("begin", "start")
_RECEIVES = ("shape", "step", "begin", "lasts", "start", "wait_begin")


class TransferCosts(NamedTuple):
    """Units that move data, each the `ranks` it joins, and `tables` of those that are alike: their transfers' time."""

    names: list[str]
    ranks: list[tuple[int, ...]]
    tables: list[CostTable]


class GroupTransfers:
    """The transfers of a group's collectives, counted as they come."""

    def __init__(self) -> None:
        self.costs = BlockSums(1)
        self.bytes: dict[str, int] = defaultdict(int)

    def add(self, group: Matched) -> None:
        """Counts the next collectives, in order."""
        columns = np.flatnonzero(group.synchronizing & group.complete & (group.end != NONE).all(axis=0))
        if len(columns) == 0:
            return
        time = np.maximum(0, group.end[:, columns].max(axis=0) - group.last_start[columns])
        self.costs.add(time[None, :], group.step[columns])
        shapes = group.first_shape[columns]
        for number, count in zip(*np.unique(shapes, return_counts=True), strict=True):
            shape = group.catalogue.shapes[number]
            self.bytes[f"{shape.kind} {shape.num_bytes}"] += int(count)


def group_transfers(
    groups: Sequence[GroupCalls], counted: Sequence[GroupTransfers], machine: Mapping[int, int]
) -> TransferCosts:
    """Of groups that do the same: as many members on as many machines, and the same collectives."""
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place, (group, of) in enumerate(zip(groups, counted, strict=True)):
        machines = len({machine[rank] for rank in group.ranks})
        alike[len(group.ranks), machines, of.costs.steps, tuple(sorted(of.bytes.items()))].append(place)
    tables = [
        CostTable(np.array(places), np.concatenate([counted[place].costs.sums for place in places]))
        for places in alike.values()
        if len(places) > 1 and counted[places[0]].costs.steps
    ]
    names = [f"group {group.number} ({group.group.title})" for group in groups]
    return TransferCosts(names, [group.ranks for group in groups], tables)


def message_transfers(
    messages: Sequence[MessageTraffic], shifts: Mapping[int, Shift], machine: Mapping[int, int]
) -> TransferCosts:
    """Of pairs of ranks that send as many messages of the same sizes; `messages` in order, `shifts` are each rank's."""
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    costs: list[BlockSums] = []
    pairs: list[tuple[int, int]] = []
    used = (traffic for traffic in messages if min(traffic.counts))
    for (one, other), channels in itertools.groupby(used, key=lambda traffic: traffic.channel[:2]):
        pairs.append((one, other))
        begin, step, size, time, waited = np.concatenate([_transfer(traffic, shifts) for traffic in channels], axis=1)
        order = np.argsort(begin, kind="stable")
        costs.append(BlockSums(4))
        sorts = np.stack([1 - waited, waited])[:, order]
        costs[-1].add(np.concatenate([sorts * time[order], sorts]), step[order])
        sizes = tuple(map(tuple, np.stack(np.unique(size, return_counts=True)).tolist()))
        alike[machine[one] == machine[other], costs[-1].steps, sizes].append(len(costs) - 1)
    tables = [
        CostTable(np.array(places), without_sorts(np.stack([costs[place].sums for place in places])))
        for places in alike.values()
        if len(places) > 1
    ]
    names = [f"link from rank {one} to {other}" for one, other in pairs]
    return TransferCosts(names, list(pairs), tables)


def _transfer(traffic: MessageTraffic, shifts: Mapping[int, Shift]) -> Numbers:
    """Of each message in a column: when the receive was issued, its step, bytes, the time of its transfer, ns, and
    whether it was waited for when it was sent."""
    count, (source, destination) = min(traffic.counts), traffic.channel[:2]
    assert traffic.send is not None and traffic.receive is not None
    sent, received = traffic.send.read(count, _SENDS), traffic.receive.read(count, _RECEIVES)
    to_job = shifts[destination]
    start = received["begin"] + received["start"]
    issued, waited, lasts = to_job(start), received["wait_begin"], received["lasts"]
    send = shifts[source](sent["begin"] + sent["start"])
    ready = np.where(waited == NONE, issued, np.maximum(issued, to_job(start + np.where(waited == NONE, 0, waited))))
    begin = np.maximum(send, ready)
    end = to_job(received["begin"] + np.where(lasts == NONE, 0, lasts))
    time = np.where(lasts == NONE, 0, np.maximum(0, end - begin))
    step = received["step"] if traffic.receive.part.head.steps else np.arange(count)
    return np.stack([issued, step, traffic.receive.sizes()[received["shape"]], time, ready < send])


def without_sorts(sums: Numbers) -> Numbers:
    """Links by blocks: the links' time without what one sort of messages takes longer; `sums` has links by the time of
    both sorts and their counts by blocks."""
    time, count = sums[:, :2], sums[:, 2:]
    of_link, counted = time.sum(axis=2), count.sum(axis=2)
    typical = np.zeros(2)
    for sort in range(2):
        there = counted[:, sort] > 0
        typical[sort] = np.median(of_link[there, sort] / counted[there, sort]) if there.any() else np.inf
    longer = np.where(np.isinf(typical), 0, typical - typical.min()).astype(np.int64)
    costs: Numbers = np.maximum(0, time - longer[:, None] * count).sum(axis=1)
    return costs
