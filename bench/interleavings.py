"""Programs run with numbers in the worst orders: a second opinion on what the symbolic proof lets pass."""

from collections import defaultdict, deque
from collections.abc import Sequence

from hocket.schedule import FIFO_DEPTH, Program, StepType
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.memory import lay_out

__all__ = ["gets_stuck", "right_in_the_worst_orders", "same_waits"]

_TYPES = list(StepType)
_MASK = (1 << 64) - 1


def same_waits(program: Program, other: Program) -> bool:
    """Whether the steps of both, which differ in dependencies only, wait for the same steps: `deps` names a step, and
    what is waited for is the first from there on that publishes."""
    waits, others = (_flat(each).depends_on.tolist() for each in (program, other))
    return bool(waits == others)


def right_in_the_worst_orders(program: Program, rank: int, block: int) -> bool:
    """Whether all results are right where a thread block always goes first and, one run after the other, each other one
    of its rank goes only when nobody else can."""
    flat, depth = _flat(program), FIFO_DEPTH[program.protocol]
    first = int(flat.first_block[rank])
    others = [number for number in range(first, int(flat.first_block[rank + 1])) if number != first + block]
    rest = [number for number in range(len(flat.blocks)) if number != first + block]
    return all(
        _Run(flat, depth).right([first + block, *(number for number in rest if number != starved)], starved)
        for starved in others or [first + block]
    )


def gets_stuck(program: Program, fifo_depth: int) -> bool:
    """Whether some thread block never ends where connections hold so many messages, of whole steps. The order does not
    matter: blocks wait for what stays true."""
    flat = _flat(program)
    return not _Run(flat, fifo_depth).ends(range(len(flat.blocks)), 0)


def _flat(program: Program) -> FlatProgram:
    return FlatProgram(program, lay_out(program, program.in_place))


def _token(rank: int, chunk: int) -> int:
    """A number for what a rank contributes to a chunk (splitmix64): sums of different contributions differ."""
    z = ((rank << 32) + chunk + 1) * 0x9E3779B97F4A7C15 & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


class _Run:
    def __init__(self, flat: FlatProgram, depth: int) -> None:
        self._flat, self._depth = flat, depth
        ranks, chunks = flat.memory.rank.tolist(), flat.memory.initial.tolist()
        self._memory = [_token(rank, chunk) for rank, chunk in zip(ranks, chunks, strict=True)]
        self._cursor: list[int] = flat.first_step[:-1].tolist()
        self._end: list[int] = flat.first_step[1:].tolist()
        self._waits, self._done = flat.depends_on.tolist(), [False] * len(flat.steps)
        self._kinds = [_TYPES[number] for number in flat.type.tolist()]
        self._places = list(zip(flat.source.tolist(), flat.destination.tolist(), flat.count.tolist(), strict=True))
        self._sends, self._receives = flat.send_connection.tolist(), flat.receive_connection.tolist()
        self._connections: defaultdict[int, deque[list[int]]] = defaultdict(deque)

    def ends(self, order: Sequence[int], starved: int) -> bool:
        """Runs all blocks in this order, as far as each gets, the starved one a step when nobody else can."""
        while True:
            while any([self._advance(block) for block in order]):
                pass
            if not self._step(starved):
                return all(at == end for at, end in zip(self._cursor, self._end, strict=True))

    def right(self, order: Sequence[int], starved: int) -> bool:
        """Whether that ends with all results right."""
        return self.ends(order, starved) and all(
            self._memory[location] == self._wanted(chunk, source)
            for location, chunk, source in self._flat.memory.wanted.tolist()
        )

    def _wanted(self, chunk: int, source: int) -> int:
        ranks = range(self._flat.program.num_ranks) if source < 0 else [source]
        return sum(_token(rank, chunk) for rank in ranks)

    def _advance(self, block: int) -> bool:
        moved = False
        while self._step(block):
            moved = True
        return moved

    def _step(self, block: int) -> bool:
        """Does the block's next step, if it can."""
        step = self._cursor[block]
        if step == self._end[block]:
            return False
        wait = self._waits[step]
        if wait != -1 and (wait < 0 or not self._done[wait]):
            return False
        kind, (source, target, count) = self._kinds[step], self._places[step]
        into, out_of = self._connections[self._receives[block]], self._connections[self._sends[block]]
        if (kind.receives and not into) or (kind.sends and len(out_of) == self._depth):
            return False
        values = into.popleft() if kind.receives else []
        if kind.reads:
            local = self._memory[source : source + count]
            if kind == StepType.REDUCE:
                values = self._memory[target : target + count]
            values = [a + b for a, b in zip(local, values, strict=True)] if values else local
        if kind.writes:
            self._memory[target : target + count] = values
        if kind.sends:
            out_of.append(values)
        self._done[step] = True
        self._cursor[block] += 1
        return True
