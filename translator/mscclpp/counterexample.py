"""The engine's counterexamples of a plan in words that a person can follow."""

from hocket.schedule import Arrow, Counterexample, StepPlace
from hocket.schedule.counterexample import cycle_lines, cycle_of_waits
from hocket.translator.mscclpp.flatten import FlatPlan
from hocket.translator.mscclpp.plan import Op, Operand
from hocket.translator.mscclpp.references import References

__all__ = ["Words", "op_places"]

_MOST_NAMED = 8


class Words:
    """Names for what a flat plan numbers, and counterexamples made of them; facts as in core/src/schedule/plan."""

    def __init__(self, flat: FlatPlan) -> None:
        self._flat = flat

    def deadlock(self, facts: list[int]) -> Counterexample:
        """The cycle of waits, or the chain that ends in something that never happens."""
        stuck = {row[0]: row for row in zip(*[iter(facts)] * 5, strict=True)}
        cycle, is_closed = cycle_of_waits({block: row[3] for block, row in stuck.items()})
        lines = cycle_lines([self._wait(*stuck[member]) for member in cycle], is_closed)
        waits = [stuck[member] for member in cycle]
        arrows = [Arrow(self._place(row[1]), self._place(row[4]), "waits for") for row in waits if row[4] >= 0]
        return Counterexample(
            "\n  ".join([f"deadlock: {len(stuck)} thread blocks are stuck", *lines]),
            tuple(self._place(row[1]) for row in waits),
            tuple(arrows),
        )

    def _wait(self, block: int, step: int, launch: int, other: int, awaited: int) -> str:
        head = f"call {launch + 1}: {self.step(step)} waits for"
        if awaited >= 0:
            return f"{head} {self.step(awaited)}"
        if other < 0:
            return f"{head} what no thread block does"
        rank = self._flat.block_rank[other]
        return f"{head} rank {rank} thread block {other - self._flat.first_block[rank]}, which has finished"

    def rewritten(self, facts: list[int]) -> Counterexample:
        location, first, second = facts
        text = (
            f"the packets {self._flat.memory.describe(location)} are written twice in one call, by {self.step(first)} "
            f"and {self.step(second)}: who reads them cannot tell which it has; give each its own chunk of scratch"
        )
        return self._conflict(text, first, second)

    def race(self, facts: list[int]) -> Counterexample:
        location, first, second, first_writes, second_writes = facts
        if first == second:
            text = f"{self.step(first)} reads and writes {self._flat.memory.describe(location)} by different threads"
            return self._conflict(text, first)
        verbs = ("reads", "writes")
        text = (
            f"race on {self._flat.memory.describe(location)}: {self._who(first)} {verbs[first_writes]} it and "
            f"{self._who(second)} {verbs[second_writes]} it, and nothing orders the two"
        )
        return self._conflict(text, first, second)

    def _conflict(self, text: str, *steps: int) -> Counterexample:
        """Of accesses, or of one with what is between two calls."""
        places = tuple(self._place(step) for step in steps if step >= 0)
        arrows = (Arrow(places[0], places[1], "nothing orders them"),) if len(places) > 1 else ()
        return Counterexample(text, places, arrows)

    def _place(self, step: int) -> StepPlace:
        origin = self._flat.origins[step]
        return StepPlace(origin.rank, origin.block, origin.op)

    def weak(self, facts: list[int]) -> str:
        location, first, second = facts
        return (
            f"{self._who(second)} sees what {self._who(first)} wrote to {self._flat.memory.describe(location)}, though "
            "only relaxed signals come between, which do not promise that"
        )

    def wrong_value(self, facts: list[int]) -> Counterexample:
        location, launch, *rest = facts
        memory = self._flat.memory
        cut, ranks = memory.granularity.locations, range(self._flat.plan.num_ranks)
        chunk, source = next((row[1], row[2]) for row in memory.wanted.tolist() if row[0] == location)
        sources = ranks if source < 0 else [source]
        held = {(rank, piece, when): times for rank, piece, when, times in zip(*[iter(rest)] * 4, strict=True)}
        wanted = f"chunk {chunk // cut} of {'every rank once' if source < 0 else f'rank {source}'}"
        where = f"call {launch + 1}: {memory.describe(location)}"
        if not held:
            return Counterexample(f"{where} ends undefined; it must hold {wanted}", ())
        lost = [f"rank {rank}'s is missing" for rank in sources if (rank, chunk, launch) not in held]
        extra = [
            f"rank {rank}'s chunk {piece // cut}{'' if when == launch else f' of call {when + 1}'} is there {times}x"
            for (rank, piece, when), times in held.items()
            if times > 1 or piece != chunk or when != launch or rank not in sources
        ]
        named = [*lost, *extra]
        more = f", and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        return Counterexample(f"{where} must hold {wanted}: {', '.join(named[:_MOST_NAMED])}{more}", ())

    def unmatched(self, facts: list[int]) -> Counterexample:
        is_semaphore, number, left, before = facts
        if is_semaphore:
            rank = next(r for r, gpu in enumerate(self._flat.plan.gpus) if (number := number - len(gpu.semaphores)) < 0)
            number += len(self._flat.plan.gpus[rank].semaphores)
            text = (
                f"semaphore {number} of rank {rank} starts at {before} and ends at {left}: the next call finds another "
                "count; release it as often as it is acquired"
            )
            return Counterexample(text, ())
        rank, kind, peer = self._flat.ends[number]
        text = (
            f"rank {rank} does not wait for {left} signals of rank {peer} on their {kind} channel: the next call would "
            "take them for its own; wait as often as is signalled"
        )
        return Counterexample(text, ())

    def _who(self, step: int) -> str:
        return "its rank's caller, between two calls," if step < 0 else self.step(step)

    def step(self, number: int) -> str:
        """`rank 0 thread block 1 op 3 (put i[4] to rank 2 o[4])`."""
        origin = self._flat.origins[number]
        op = self._flat.plan.gpus[origin.rank].thread_blocks[origin.block].ops[origin.op]
        where = f"rank {origin.rank} thread block {origin.block} op {origin.op}"
        if origin.inner >= 0:
            op = op.ops[origin.inner]
            where += f".{origin.inner} in round {origin.round}"
        places = op_places(References(self._flat.plan, origin.rank, origin.block), op)
        return f"{where} ({f'{op.name} {places}'.strip()})"


def op_places(references: References, op: Op) -> str:
    """With whom an op meets, what it reads and where to, such as `i[4] to rank 2 o[4]`; empty for those with nobody."""
    parts = []
    if op.semaphore_ids:
        parts.append(f"semaphore {_listed(list(op.semaphore_ids))}")
    if op.channel_ids and not op.sources:
        parts.append(f"rank {_listed([references.channel(op, channel) or 0 for channel in op.channel_ids])}")
    sources = [_operand(references, op, operand) for operand in op.sources]
    targets = [_operand(references, op, operand) for operand in op.destinations]
    if sources:
        parts.append(_listed(sources))
    if targets:
        parts.append(f"to {_listed(targets)}")
    return " ".join(parts)


def _operand(references: References, op: Op, operand: Operand) -> str:
    last = operand.index + operand.size - 1
    chunks = f"[{operand.index}]" if operand.size == 1 else f"[{operand.index}..{last}]"
    places = references.places(op, operand)
    if operand.switch_channel_id is not None:
        return f"{places[0][1]}{chunks} of {len(places)} ranks"
    rank, buffer = places[0]
    return f"{buffer}{chunks}" if rank == references.rank else f"rank {rank} {buffer}{chunks}"


def _listed(items: list[str] | list[int]) -> str:
    """`1, 2, 3` or, of many, `1, 2 and 5 more`."""
    texts = list(map(str, dict.fromkeys(items)))
    return ", ".join(texts) if len(texts) <= 3 else f"{', '.join(texts[:2])} and {len(texts) - 2} more"
