"""Recordings of jobs that never ran: ranks that are alike but for chance, and for what is planted on purpose."""

from dataclasses import replace

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
from hocket.bench.simulated_pipelines import record_micro_batches, record_pipeline
from hocket.recording.calls import Group
from hocket.recording.recording import Recording

__all__ = ["SimulatedJob", "record"]

Numbers = NDArray[np.int64]


def record(job: SimulatedJob, seed: int) -> list[Recording]:
    """What the collector would have recorded."""
    random = np.random.default_rng(seed)
    if job.micro_batches:
        return record_micro_batches(job, _work(replace(job, collectives=2 * job.micro_batches), random), random)
    work = _work(job, random)
    if job.pipeline:
        return record_pipeline(job, work, random)
    shape = (job.steps, job.collectives, job.ranks)
    start, wait = np.empty(shape, np.int64), np.empty(shape, np.int64)
    free = np.zeros(job.ranks, np.int64)
    meetings = [_meeting(job, number) for number in range(job.collectives)]
    for step in range(job.steps):
        for number, groups in enumerate(meetings):
            start[step, number] = free + work[step, number]
            for group in groups:
                members = list(group.ranks)
                last = start[step, number, members].max()
                free[members] = last + TRANSFER_NS + release(random, len(members))
            wait[step, number] = free
    return [_of_meetings(job, rank, meetings, start[..., rank], wait[..., rank]) for rank in range(job.ranks)]


def _meeting(job: SimulatedJob, number: int) -> list[Group]:
    """The groups that have a step's collective of this number."""
    if not job.grid:
        return [group_of(range(job.ranks), number if job.repeated else 0)]
    if number == job.collectives - 1:
        return [group_of(range(column, job.ranks, job.grid), 0) for column in range(job.grid)]
    return [group_of(range(row, row + job.grid), 0) for row in range(0, job.ranks, job.grid)]


def _of_meetings(job: SimulatedJob, rank: int, meetings: list[list[Group]], start: Numbers, wait: Numbers) -> Recording:
    """What a rank recorded of its collectives, `start` to `wait`, steps by collectives."""
    own = [next(group for group in groups if rank in group.ranks) for groups in meetings]
    groups = list(dict.fromkeys(own))
    shape = np.tile([groups.index(group) for group in own], job.steps)
    sequence = np.empty(len(shape), np.int64)
    for number in range(len(groups)):
        sequence[shape == number] = np.arange((shape == number).sum())
    columns = replace(columns_of(start, wait), shape=shape, sequence=sequence)
    return recording_of(job, rank, [shape_of("allreduce_", "all_reduce", group) for group in groups], columns)


def _work(job: SimulatedJob, random: np.random.Generator) -> Numbers:
    """ns before each collective: steps by collectives by ranks."""
    shape = (job.steps, job.collectives, job.ranks)
    part = STEP_NS / job.collectives
    of_step = random.normal(0, job.jitter * np.sqrt(0.5) / job.collectives, (job.steps, 1, job.ranks))
    of_part = random.normal(0, job.jitter * np.sqrt(0.5 / job.collectives), shape)
    work = part + STEP_NS * (of_step + of_part)
    work += (random.random(shape) < 0.002) * random.exponential(0.1, shape) * STEP_NS
    late = np.zeros((job.steps, 1, job.ranks))
    late[..., list(job.late)] = job.share * STEP_NS / job.collectives
    late[: round(job.onset * job.steps)] = 0
    if job.sporadic:
        late *= 20 * (random.random((job.steps, 1, 1)) < 1 / 20)
    if job.stalls:
        late = late + (random.random(shape) < job.stalls) * random.exponential(4.0, shape) * STEP_NS
    return np.maximum(1000, work + late).astype(np.int64)
