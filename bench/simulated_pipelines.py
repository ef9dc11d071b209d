"""Recordings of pipelines that never ran: a message handed on from stage to stage, or micro-batches in order 1F1B."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.bench.simulated_calls import (
    STEP_NS,
    TRANSFER_NS,
    SimulatedJob,
    columns_of,
    group_of,
    recording_of,
    release,
    shape_of,
)
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["record_micro_batches", "record_pipeline"]

Numbers = NDArray[np.int64]

_ISSUE_NS = 5000  # of a send
_LYING_NS = 20_000  # for a message that lies there already
_MEET, _FROM_BEFORE, _TO_NEXT, _FROM_NEXT, _TO_BEFORE = range(5)  # shapes of a stage's calls


def record_pipeline(job: SimulatedJob, work: Numbers, random: np.random.Generator) -> list[Recording]:
    """Each machine is a pipeline of its ranks; all ranks meet once a step."""
    stages = job.ranks // job.machines
    calls: list[list[tuple[int, int, int]]] = [[] for _ in range(job.ranks)]  # shape, start, wait
    free = np.zeros(job.ranks, np.int64)
    transfer = STEP_NS // 50
    for step in range(job.steps):
        for rank in range(job.ranks):
            stage = rank % stages
            if stage:
                sent = calls[rank - 1][-1][1]
                extra = job.share * STEP_NS if job.slow_link == rank - 1 else 0
                time = int(random.normal(1, job.jitter) * transfer + extra)
                end = max(sent, int(free[rank])) + time
                calls[rank].append((1, int(free[rank]), end))
                free[rank] = end
            free[rank] += work[step, 0, rank] // stages
            if stage < stages - 1:
                calls[rank].append((2, int(free[rank]), int(free[rank]) + _ISSUE_NS))
        ends = free.max() + TRANSFER_NS + release(random, job.ranks)
        for rank in range(job.ranks):
            calls[rank].append((0, int(free[rank]), int(ends[rank])))
        free = ends
    return [_of_pipeline(job, rank, np.array(calls[rank], np.int64)) for rank in range(job.ranks)]


def _of_pipeline(job: SimulatedJob, rank: int, calls: Numbers) -> Recording:
    group = group_of(range(job.ranks), 0)
    peers = [NONE, rank - 1, rank + 1, rank + 1, rank - 1]
    receive = msgspec.structs.replace(shape_of("recv_", "recv", group), input_bytes=0)
    send = msgspec.structs.replace(shape_of("send", "send", group), output_bytes=0)
    kinds = [receive, send, receive, send]
    messages = [msgspec.structs.replace(shape, peer=peer) for shape, peer in zip(kinds, peers[1:], strict=True)]
    shapes = [shape_of("allreduce_", "all_reduce", group), *messages]
    columns = columns_of(calls[:, 1], calls[:, 2], job.steps)
    sequence = np.where(calls[:, 0] == 0, np.cumsum(calls[:, 0] == 0) - 1, -1)
    return recording_of(
        job, rank, shapes, replace(columns, shape=calls[:, 0], peer=np.array(peers)[calls[:, 0]], sequence=sequence)
    )


def record_micro_batches(job: SimulatedJob, work: Numbers, random: np.random.Generator) -> list[Recording]:
    """Each machine is a pipeline, which works off micro-batches in order 1F1B; all ranks meet once a step. Forward and
    backward take the same; `work` has both of each micro-batch, as if they filled the step."""
    stages = job.ranks // job.machines
    work = work - STEP_NS // (2 * job.micro_batches) + STEP_NS // (2 * (job.micro_batches + stages - 1))
    calls: list[list[tuple[int, int, int]]] = [[] for _ in range(job.ranks)]
    free = np.zeros(job.ranks, np.int64)
    for step in range(job.steps):
        for first in range(0, job.ranks, stages):
            members = range(first, first + stages)
            _work_off(job, members, work[step], free, calls)
        ends = free.max() + TRANSFER_NS + release(random, job.ranks)
        for rank in range(job.ranks):
            calls[rank].append((_MEET, int(free[rank]), int(ends[rank])))
        free = ends
    return [_of_pipeline(job, rank, np.array(calls[rank], np.int64)) for rank in range(job.ranks)]


def _work_off(
    job: SimulatedJob, members: range, work: Numbers, free: Numbers, calls: list[list[tuple[int, int, int]]]
) -> None:
    """A step of the pipeline `members`: each is `free` at a time, and goes on as far as it has what it needs."""
    sent: dict[tuple[int, bool, int], int] = {}  # who sent the output of what micro-batch, forward or not, and when
    orders = {rank: list(_order(job.micro_batches, rank - members[0], len(members))) for rank in members}
    at = dict.fromkeys(members, 0)
    while any(at[rank] < len(orders[rank]) for rank in members):
        for rank in members:
            while at[rank] < len(orders[rank]):
                forward, number = orders[rank][at[rank]]
                source, target = (rank - 1, rank + 1) if forward else (rank + 1, rank - 1)
                if source in members:
                    if (source, forward, number) not in sent:
                        break
                    came, begin = sent[source, forward, number], int(free[rank])
                    end = came + TRANSFER_NS if came > begin else max(begin, came + TRANSFER_NS) + _LYING_NS
                    calls[rank].append((_FROM_BEFORE if forward else _FROM_NEXT, begin, end))
                    free[rank] = end
                free[rank] += work[at[rank], rank]
                if target in members:
                    calls[rank].append(
                        (_TO_NEXT if forward else _TO_BEFORE, int(free[rank]), int(free[rank]) + _ISSUE_NS)
                    )
                    sent[rank, forward, number] = int(free[rank])
                    free[rank] += _ISSUE_NS
                at[rank] += 1


def _order(micro_batches: int, stage: int, stages: int) -> Iterator[tuple[bool, int]]:
    """A stage's work in order 1F1B: whether it is forward, and of which micro-batch."""
    ahead = min(micro_batches, stages - stage)
    yield from ((True, number) for number in range(ahead))
    for number in range(micro_batches):
        yield False, number
        if ahead + number < micro_batches:
            yield True, ahead + number
