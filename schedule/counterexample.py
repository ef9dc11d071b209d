"""The engine's counterexamples in words that a person can follow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.schedule.flatten import FlatProgram
from hocket.schedule.program import BUFFERS, chunks_text

__all__ = [
    "Arrow",
    "Counterexample",
    "StepPlace",
    "count_mismatch",
    "cycle_lines",
    "cycle_of_waits",
    "deadlock",
    "race",
    "unreceived",
    "wrong_value",
]

_MOST_NAMED = 8
_WAITS = ("for", "for a message from", "for a free slot until")
_WAIT_NAMES = ("dependency", "message", "free slot")


@dataclass(frozen=True, slots=True)
class StepPlace:
    """A step of a program: rank, thread block and position in it."""

    rank: int
    block: int
    step: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a step to the one that it waits for, or is in conflict with."""

    tail: StepPlace
    head: StepPlace
    words: str


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Why a program is wrong: in words, and the steps to look at."""

    text: str
    places: tuple[StepPlace, ...]
    arrows: tuple[Arrow, ...] = ()
    deadlock: bool = False


def cycle_of_waits(awaited: Mapping[int, int]) -> tuple[list[int], bool]:
    """By thread block, which one it waits for: a cycle of them (True), or the chain from the first to one that waits
    for no stuck block (False)."""
    chain: list[int] = []
    block = next(iter(awaited))
    while block in awaited and block not in chain:
        chain.append(block)
        block = awaited[block]
    return (chain[chain.index(block) :], True) if block in chain else (chain, False)


def cycle_lines(waits: Sequence[str], is_closed: bool) -> list[str]:
    """The waits of a cycle or chain, the first few of many."""
    lines = [*waits[:_MOST_NAMED]]
    if len(waits) > _MOST_NAMED:
        lines.append(f"... and {len(waits) - _MOST_NAMED} more waits")
    if is_closed:
        lines.append(f"which closes the cycle of {len(waits)} waits")
    return lines


def deadlock(flat: FlatProgram, facts: list[int]) -> Counterexample:
    """The cycle of waits, or the chain that ends in something that never happens."""
    stuck = {int(flat.step_block[row[0]]): row for row in zip(*[iter(facts)] * 4, strict=True)}
    cycle, is_closed = cycle_of_waits({block: row[2] for block, row in stuck.items()})
    lines = cycle_lines([_wait(flat, *stuck[member]) for member in cycle], is_closed)
    arrows = [_arrow(flat, *stuck[member]) for member in cycle]
    return Counterexample(
        "\n  ".join([f"{len(stuck)} thread blocks are stuck", *lines]),
        tuple(_place(flat, stuck[member][0]) for member in cycle),
        tuple(arrow for arrow in arrows if arrow is not None),
    )


def _arrow(flat: FlatProgram, step: int, wait: int, _other: int, awaited: int) -> Arrow | None:
    tail = _place(flat, step)
    if awaited >= 0:
        return Arrow(tail, _place(flat, awaited), f"waits for {_WAIT_NAMES[wait]}")
    if wait > 0:  # for a peer that has no step there, or none any more
        return None
    named = flat.steps[step]
    return Arrow(tail, StepPlace(tail.rank, named.depend_block, named.depend_step), "never published")


def _place(flat: FlatProgram, step: int) -> StepPlace:
    block = int(flat.step_block[step])
    rank = int(flat.block_rank[block])
    return StepPlace(rank, block - int(flat.first_block[rank]), step - int(flat.first_step[block]))


def _wait(flat: FlatProgram, step: int, wait: int, other: int, awaited: int) -> str:
    head = f"{describe_step(flat, step)} waits {_WAITS[wait]}"
    if awaited >= 0:
        return f"{head} {describe_step(flat, awaited)}"
    if wait == 0:
        named = flat.steps[step]
        return f"{head} step {named.depend_step} of thread block {named.depend_block}, which never publishes (hasdep=0)"
    if other < 0:
        return f"{head} its peer, which has no thread block on that connection"
    rank = int(flat.block_rank[other])
    return f"{head} rank {rank} thread block {other - flat.first_block[rank]}, which has finished"


def count_mismatch(flat: FlatProgram, facts: list[int]) -> Counterexample:
    sender, sent, receiver, received = facts
    places = _place(flat, sender), _place(flat, receiver)
    return Counterexample(
        f"{describe_step(flat, sender)} sends {sent} chunks where {describe_step(flat, receiver)} takes {received}; "
        "the steps of a connection must agree in order and cnt",
        places,
        (Arrow(*places, f"{sent} chunks into {received}"),),
    )


def unreceived(flat: FlatProgram, facts: list[int]) -> Counterexample:
    return Counterexample(
        f"the message of {describe_step(flat, facts[0])} is never received; it would be taken for the next call's "
        "first",
        (_place(flat, facts[0]),),
    )


def race(flat: FlatProgram, facts: list[int]) -> Counterexample:
    location, first, second, first_writes, second_writes = facts
    verbs = ("reads", "writes")
    places = _place(flat, first), _place(flat, second)
    where = describe_location(flat, location)
    return Counterexample(
        f"race on {where}: {describe_step(flat, first)} {verbs[first_writes]} it and "
        f"{describe_step(flat, second)} {verbs[second_writes]} it, and nothing orders the two",
        places,
        (Arrow(*places, f"both touch {where}, unordered"),),
    )


def wrong_value(flat: FlatProgram, facts: list[int]) -> Counterexample:
    location, *rest = facts
    held = list(zip(*[iter(rest)] * 3, strict=True))
    wanted = {row[0]: (row[1], row[2]) for row in flat.memory.wanted.tolist()}
    chunk, source = wanted[location]
    where = describe_location(flat, location)
    writers = tuple(_place(flat, step) for step in _writers(flat, location))
    if not held:
        return Counterexample(f"{where} ends undefined; it must hold {_wanted(chunk, source)}", writers)
    ranks = range(flat.program.num_ranks) if source < 0 else [source]
    times = {(rank, piece): count for rank, piece, count in held}
    lost = [f"rank {rank}'s is missing" for rank in ranks if (rank, chunk) not in times]
    extra = [
        f"rank {rank}'s chunk {piece} is there {count}x"
        for (rank, piece), count in times.items()
        if count > 1 or piece != chunk or rank not in ranks
    ]
    named = [*lost, *extra]
    more = f", and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    text = f"{where} must hold {_wanted(chunk, source)}: {', '.join(named[:_MOST_NAMED])}{more}"
    return Counterexample(text, writers)


def _writers(flat: FlatProgram, location: int) -> list[int]:
    """The steps that write a location."""
    writes = np.array([step.type.writes for step in flat.steps], bool)
    inside = (flat.destination <= location) & (location < flat.destination + flat.count)
    return np.flatnonzero(writes & inside).tolist()


def _wanted(chunk: int, source: int) -> str:
    return f"chunk {chunk} of every rank once" if source < 0 else f"chunk {chunk} of rank {source}"


def describe_location(flat: FlatProgram, location: int) -> str:
    """`rank 2 o[5]`; an aliased location goes by the buffer in which it lies first."""
    rank = int(flat.memory.rank[location])
    gpu = flat.program.gpus[rank]
    offsets = (location - flat.memory.base[rank]).tolist()
    sizes = (gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks)
    names = [f"{name}[{at}]" for name, at, size in zip(BUFFERS, offsets, sizes, strict=True) if 0 <= at < size]
    return f"rank {rank} {' = '.join(names) or f'o[{offsets[1]}]'}"


def describe_step(flat: FlatProgram, step: int) -> str:
    """`rank 0 thread block 1 step 3 (s i[4] to rank 2)`."""
    what, block = flat.steps[step], flat.blocks[flat.step_block[step]]
    parts = [str(what.type)]
    if what.type.reads:
        parts.append(chunks_text(what.src_buffer, what.src_offset, what.count))
    if what.type.receives:
        parts.append(f"from rank {block.receive}")
    if what.type.writes:
        parts.append(f"into {chunks_text(what.dst_buffer, what.dst_offset, what.count)}")
    if what.type.sends:
        parts.append(f"to rank {block.send}")
    return f"{flat.place(step)} ({' '.join(parts)})"
