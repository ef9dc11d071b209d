"""The engine's counterexamples in words that a person can follow."""

from itertools import islice

from hocket.schedule.flatten import FlatProgram
from hocket.schedule.program import BUFFERS

__all__ = ["count_mismatch", "deadlock", "race", "unreceived", "wrong_value"]

_MOST_NAMED = 8
_WAITS = ("for", "for a message from", "for a free slot until")


def deadlock(flat: FlatProgram, facts: list[int]) -> str:
    """The cycle of waits, or the chain that ends in something that never happens."""
    stuck = {int(flat.step_block[row[0]]): row for row in zip(*[iter(facts)] * 4, strict=True)}
    chain: list[int] = []
    block = next(iter(stuck))
    while block in stuck and block not in chain:
        chain.append(block)
        block = stuck[block][2]
    cycle = chain[chain.index(block) :] if block in chain else chain
    lines = [_wait(flat, *stuck[member]) for member in islice(cycle, _MOST_NAMED)]
    if len(cycle) > _MOST_NAMED:
        lines.append(f"... and {len(cycle) - _MOST_NAMED} more waits")
    if block in chain:
        lines.append(f"which closes the cycle of {len(cycle)} waits")
    return "\n  ".join([f"{len(stuck)} thread blocks are stuck", *lines])


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


def count_mismatch(flat: FlatProgram, facts: list[int]) -> str:
    sender, sent, receiver, received = facts
    return (
        f"{describe_step(flat, sender)} sends {sent} chunks where {describe_step(flat, receiver)} takes {received}; "
        "the steps of a connection must agree in order and cnt"
    )


def unreceived(flat: FlatProgram, facts: list[int]) -> str:
    return (
        f"the message of {describe_step(flat, facts[0])} is never received; it would be taken for the next call's first"
    )


def race(flat: FlatProgram, facts: list[int]) -> str:
    location, first, second, first_writes, second_writes = facts
    verbs = ("reads", "writes")
    return (
        f"race on {describe_location(flat, location)}: {describe_step(flat, first)} {verbs[first_writes]} it and "
        f"{describe_step(flat, second)} {verbs[second_writes]} it, and nothing orders the two"
    )


def wrong_value(flat: FlatProgram, facts: list[int]) -> str:
    location, *rest = facts
    held = list(zip(*[iter(rest)] * 3, strict=True))
    wanted = {row[0]: (row[1], row[2]) for row in flat.memory.wanted.tolist()}
    chunk, source = wanted[location]
    where = describe_location(flat, location)
    if not held:
        return f"{where} ends undefined; it must hold {_wanted(chunk, source)}"
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
    return f"{where} must hold {_wanted(chunk, source)}: {', '.join(named[:_MOST_NAMED])}{more}"


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
        parts.append(_chunks(what.src_buffer, what.src_offset, what.count))
    if what.type.receives:
        parts.append(f"from rank {block.receive}")
    if what.type.writes:
        parts.append(f"into {_chunks(what.dst_buffer, what.dst_offset, what.count)}")
    if what.type.sends:
        parts.append(f"to rank {block.send}")
    return f"{flat.place(step)} ({' '.join(parts)})"


def _chunks(buffer: str, offset: int, count: int) -> str:
    return f"{buffer}[{offset}]" if count == 1 else f"{buffer}[{offset}..{offset + count - 1}]"
