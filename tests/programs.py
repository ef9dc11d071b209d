"""Schedules and program mutations for the tests of the translator."""

import heapq
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hocket.schedule import (
    Collective,
    Kind,
    Program,
    Schedule,
    Step,
    concatenate,
    reverse,
    verify,
)
from hocket.topology import Topology


def random_topology(ranks: int, seed: int) -> Topology:
    """A two-way ring with uneven links and random chords."""
    chance = random.Random(seed)
    pairs = {(rank, (rank + step) % ranks) for rank in range(ranks) for step in (1, -1)}
    pairs |= {(chance.randrange(ranks), chance.randrange(ranks)) for _ in range(ranks)}
    links = [
        (src, dst, chance.choice([0, 300, 5000]), chance.choice([10**9, 3 * 10**9, 10**10]))
        for src, dst in sorted(pairs)
        if src != dst
    ]
    return Topology.from_links("random", ranks, links)


def greedy_all_gather(topology: Topology, chunks_per_rank: int, seed: int) -> Schedule:
    """Every link that is free sends a random chunk that its far end lacks, as soon as it can."""
    chance = random.Random(seed)
    n = topology.num_ranks
    collective = Collective(Kind.ALL_GATHER, n, 1000 * n * chunks_per_rank, chunks_per_rank)
    held = [dict.fromkeys(range(r * chunks_per_rank, (r + 1) * chunks_per_rank), 0) for r in range(n)]
    free = [0] * topology.num_links
    rows: list[tuple[int, int, int, int]] = []
    times = [0]
    while any(len(chunks) < n * chunks_per_rank for chunks in held):
        now = heapq.heappop(times)
        for link in chance.sample(range(topology.num_links), topology.num_links):
            src, dst = int(topology.src[link]), int(topology.dst[link])
            wanted = sorted(chunk for chunk, at in held[src].items() if at <= now and chunk not in held[dst])
            if free[link] > now or not wanted:
                continue
            chunk = chance.choice(wanted)
            free[link] = now + -(-1000 * 10**12 // int(topology.bandwidth[link]))
            arrival = free[link] + int(topology.latency_ps[link])
            held[dst][chunk] = arrival
            rows.append((now, link, chunk, arrival))
            for time in (free[link], arrival):
                heapq.heappush(times, time)
    start, link, chunk, finish = np.array(sorted(rows)).T
    return Schedule(
        collective=collective,
        topology=topology,
        route_offset=np.arange(topology.num_links + 1, dtype=np.int64),
        route_links=np.arange(topology.num_links, dtype=np.int32),
        chunk=chunk.astype(np.int32),
        route=link.astype(np.int32),
        reduce=np.zeros(len(rows), bool),
        start_ps=start.astype(np.int64),
        finish_ps=finish.astype(np.int64),
        timed=True,
        blocking=False,
        bound=None,
        generator="greedy",
        seed=seed,
    )


def greedy_schedule(kind: Kind, ranks: int, chunks_per_rank: int, seed: int) -> Schedule:
    """A timed schedule of all_gather, reduce_scatter or all_reduce on a random topology, checked."""
    topology = random_topology(ranks, seed)
    gathering = greedy_all_gather(topology, chunks_per_rank, seed)
    schedule = gathering
    if kind is not Kind.ALL_GATHER:
        schedule = scattering = reverse(greedy_all_gather(topology.reversed(), chunks_per_rank, seed + 1))
        if kind is Kind.ALL_REDUCE:
            whole = replace(gathering.collective, kind=Kind.ALL_REDUCE)
            schedule = concatenate(scattering, gathering, whole)
    verify(schedule)
    return schedule


def steps_of(program: Program) -> Iterator[tuple[int, int, int, Step]]:
    """(rank, thread block, position, step) of every step."""
    for rank, gpu in enumerate(program.gpus):
        for block, thread_block in enumerate(gpu.thread_blocks):
            for position, step in enumerate(thread_block.steps):
                yield rank, block, position, step


def with_steps(program: Program, rank: int, block: int, changed: dict[int, Step]) -> Program:
    """The program with some steps of one thread block replaced."""
    gpu = program.gpus[rank]
    old = gpu.thread_blocks[block]
    steps = tuple(changed.get(position, step) for position, step in enumerate(old.steps))
    blocks = (*gpu.thread_blocks[:block], replace(old, steps=steps), *gpu.thread_blocks[block + 1 :])
    gpus = (*program.gpus[:rank], replace(gpu, thread_blocks=blocks), *program.gpus[rank + 1 :])
    return replace(program, gpus=gpus)


def random_shots(ranks: int, chunks_per_rank: int, seed: int) -> Schedule:
    """An untimed all_reduce on a full mesh, checked: each chunk is either sent by every rank to all others, as its own,
    at random times, or summed up by one rank that then sends the sum to the others."""
    chance = random.Random(seed)
    links = [(src, dst, 1000, 10**9) for src in range(ranks) for dst in range(ranks) if src != dst]
    number = {(src, dst): link for link, (src, dst, *_) in enumerate(links)}
    collective = Collective(Kind.ALL_REDUCE, ranks, 1000 * ranks * chunks_per_rank, chunks_per_rank)
    rows: list[tuple[int, int, int, int, bool, bool]] = []

    def send(src: int, dst: int, chunk: int, start: int, *, reduce: bool, own: bool) -> int:
        finish = start + chance.randint(1, 3)
        rows.append((start, number[src, dst], chunk, finish, reduce, own))
        return finish

    for chunk in range(collective.num_chunks):
        if chance.random() < 0.7:
            for src, dst in number:
                send(src, dst, chunk, chance.randrange(6), reduce=True, own=True)
            continue
        at = chance.randrange(ranks)
        others = [rank for rank in range(ranks) if rank != at]
        marks = {rank: chance.random() < 0.5 for rank in others}
        ends = [send(rank, at, chunk, chance.randrange(4), reduce=True, own=marks[rank]) for rank in others]
        for rank in others:
            send(at, rank, chunk, max(ends) + chance.randrange(3), reduce=False, own=False)
    start, link, chunk, finish, reduce, own = np.array(sorted(rows)).T
    schedule = Schedule(
        collective=collective,
        topology=Topology.from_links("full", ranks, links),
        route_offset=np.arange(len(links) + 1, dtype=np.int64),
        route_links=np.arange(len(links), dtype=np.int32),
        chunk=chunk.astype(np.int32),
        route=link.astype(np.int32),
        reduce=reduce.astype(bool),
        start_ps=start.astype(np.int64),
        finish_ps=finish.astype(np.int64),
        timed=False,
        blocking=False,
        bound=None,
        generator="shots",
        seed=seed,
        own=own.astype(bool),
    )
    verify(schedule)
    return schedule
