"""The one text in which a launcher hands programs to the engine (core/src/executor): numbers and names, in order."""

from collections.abc import Iterable, Sequence
from typing import Any

from hocket.schedule import Program, SwitchProgram, plan_exchanges
from hocket.schedule.exchange import EXCHANGE_BUFFERS, Exchange, ExchangeMessage, Piece, RankPlan
from hocket.schedule.memory import call_sizes
from hocket.schedule.program import STEP_ROW, Gpu

__all__ = ["index_text", "part_text", "part_texts"]

_STEP_COLUMNS = [name for name in STEP_ROW.names or () if name != "has_dependents"]


def index_text(programs: Sequence[Program | SwitchProgram]) -> str:
    """What decides which program serves a call, a line each, in the order in which they are looked at."""
    rows = [
        (p.kind, p.num_ranks, p.root, int(p.in_place), int(p.out_of_place), p.chunks_per_loop, p.min_bytes, p.max_bytes)
        for p in programs
    ]
    return "\n".join(map(_line, [(len(rows),), *rows])) + "\n"


def part_text(program: Program, rank: int) -> str:
    """What `rank` does in a program, for transports of connections."""
    return _steps(program, rank) + "0\n"


def part_texts(program: Program, in_place: bool) -> list[str]:
    """As `part_text` for every rank, and for transports that only send and receive: the rounds of calls of one way.
    Raises as `plan_exchanges`."""
    plans = plan_exchanges(program, in_place).ranks
    return [_steps(program, rank) + _rounds(plan) for rank, plan in enumerate(plans)]


def _line(values: Iterable[Any]) -> str:
    return " ".join(map(str, values))


def _steps(program: Program, rank: int) -> str:
    gpu = program.gpus[rank]
    endpoints = sorted(_endpoints(gpu))
    index = {endpoint: number for number, endpoint in enumerate(endpoints)}
    blocks = [
        (index.get((block.send, block.channel), -1), index.get((block.receive, block.channel), -1), len(block.steps))
        for block in gpu.thread_blocks
    ]
    steps = [row for block in gpu.thread_blocks for row in block.rows[_STEP_COLUMNS].tolist()]
    lines: list[tuple[int, ...]] = [(*call_sizes(program, rank), gpu.scratch_chunks)]
    for rows in (endpoints, blocks, steps):
        lines += [(len(rows),), *rows]
    return "\n".join(map(_line, lines)) + "\n"


def _endpoints(gpu: Gpu) -> set[tuple[int, int]]:
    """Where the rank's connections end: both directions between two ranks on one channel are one."""
    return {(peer, block.channel) for block in gpu.thread_blocks for peer in (block.send, block.receive) if peer >= 0}


def _rounds(plan: RankPlan) -> str:
    return "\n".join([_line((1, plan.staging_chunks, len(plan.exchanges))), *map(_exchange, plan.exchanges)]) + "\n"


def _exchange(exchange: Exchange) -> str:
    steps = [
        f"{_piece(step.source)} {'0' if step.other is None else f'1 {_piece(step.other)}'} {_piece(step.target)}"
        f" {step.chunks}"
        for step in exchange.local_steps
    ]
    return "  ".join([_messages(exchange.sends), _messages(exchange.receives), _line((len(steps), *steps))])


def _messages(messages: tuple[ExchangeMessage, ...]) -> str:
    return _line((len(messages), *(f"{each.peer} {_piece(each.place)} {each.chunks}" for each in messages)))


def _piece(piece: Piece) -> str:
    return f"{EXCHANGE_BUFFERS.index(piece.buffer)} {piece.offset}"
