"""The translator: seconds to lower, write, read and prove schedules of 64 and 128 ranks; mutations found.

Example: python -m hocket.bench.translator

Mutations are made of the right reference programs in `../shared/data/msccl_xml` beside the checkout, where present.
"""

import csv
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.bench.command_line import command_line
from hocket.bench.interleavings import gets_stuck, right_in_the_worst_orders, same_waits
from hocket.schedule import FIFO_DEPTH, Collective, Kind, Program, Step, ThreadBlock, execute
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import from_xml, lower, read_xml, to_xml

__all__ = ["main", "mutants", "outcome"]

REFERENCES = Path(__file__).resolve().parents[2] / "shared" / "data" / "msccl_xml"
LARGEST_REFERENCE = 60_000  # bytes; larger ones have thousands of mutations each
CASES = [
    ("ring", Kind.ALL_REDUCE, 64, 1),
    ("ring", Kind.ALL_REDUCE, 64, 4),
    ("direct", Kind.ALL_REDUCE, 64, 1),
    ("halving_doubling", Kind.ALL_REDUCE, 64, 1),
    ("ring", Kind.ALL_GATHER, 128, 1),
]


def main() -> None:
    """Prints both tables."""
    _print_times()
    if REFERENCES.is_dir():
        _print_mutations()


def _print_times() -> None:
    table = Table(box=None, title="seconds, profile executor")
    columns = ("algorithm", "collective", "ranks", "transfers", "channels", "lower", "write", "MB", "read", "prove")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < 2 else "right")
    for name, kind, ranks, chunks in CASES:
        topology = load(f"ring:{ranks},bandwidth=50GB/s,latency=500ns")
        schedule = build(name, Collective(kind, ranks, 1 << 26, chunks), topology)
        moments = [time.perf_counter()]
        program = lower(schedule, "executor")
        moments.append(time.perf_counter())
        text = to_xml(program, "executor")
        moments.append(time.perf_counter())
        again = from_xml(text, "text")
        moments.append(time.perf_counter())
        execute(again, fifo_depth=1, max_count=1)
        moments.append(time.perf_counter())
        lowering, writing, reading, proving = (f"{after - before:.2f}" for before, after in pairwise(moments))
        shape = (ranks, schedule.num_transfers, program.num_channels)
        table.add_row(name, kind, *map(str, shape), lowering, writing, f"{len(text) / 1e6:.1f}", reading, proving)
    Console(width=120).print(table)


def _print_mutations() -> None:
    made: dict[str, Counter[str]] = defaultdict(Counter)
    for row in csv.DictReader((REFERENCES / "index.csv").read_text().splitlines()):
        if row["xmlsim"] != "ok" or row["collective"] == "custom":
            continue
        program = read_xml(REFERENCES / row["file"])
        if gets_stuck(program, 1):
            made["connections of one message"]["found" if _refuted(program, 1) else "MISSED"] += 1
        if int(row["bytes"]) > LARGEST_REFERENCE:
            continue
        for name, rank, block, mutant in mutants(program):
            fate = outcome(program, mutant, rank, block)
            made[name][fate] += 1
            if fate == "found" and name.endswith("dependency"):
                made[name]["shown wrong"] += not right_in_the_worst_orders(mutant, rank, block)
    columns = ("made", "found", "shown wrong", "waits for the same", "right in the worst orders", "MISSED")
    table = Table("mutation", *columns, box=None, title="mutations of right reference programs")
    for name, outcomes in made.items():
        total = outcomes.total() - outcomes["shown wrong"]
        table.add_row(name, str(total), *(str(outcomes[column] or "") for column in columns[1:]))
    Console(width=120).print(table)


def outcome(program: Program, mutant: Program, rank: int, block: int) -> str:
    """What becomes of a mutant: the proof refutes it, or it is right, by a second opinion."""
    if _refuted(mutant, FIFO_DEPTH[mutant.protocol]):
        return "found"
    if same_waits(program, mutant):
        return "waits for the same"
    return "right in the worst orders" if right_in_the_worst_orders(mutant, rank, block) else "MISSED"


def _refuted(program: Program, fifo_depth: int) -> bool:
    try:
        execute(program, fifo_depth=fifo_depth)
    except (ScheduleError, DeadlockError):
        return True
    return False


def mutants(program: Program) -> Iterator[tuple[str, int, int, Program]]:
    """Programs with one step, or two neighbours, changed, and in which thread block of which rank."""
    for rank, gpu in enumerate(program.gpus):
        for block, thread_block in enumerate(gpu.thread_blocks):
            if thread_block.send >= 0:
                other = next(peer for peer in range(program.num_ranks + 1) if peer not in (rank, thread_block.send))
                yield "changed peer", rank, block, _with_block(program, rank, block, replace(thread_block, send=other))
            for position, step in enumerate(thread_block.steps):
                after = next(iter(thread_block.steps[position + 1 : position + 2]), None)
                for name, steps in _changes(step, after):
                    yield name, rank, block, _with_steps(program, rank, block, position, steps)


def _changes(step: Step, after: Step | None) -> Iterator[tuple[str, tuple[Step, ...]]]:
    if step.depend_block >= 0 and step.type != "nop":
        yield "dropped dependency", (replace(step, depend_block=-1, depend_step=-1),)
    if step.depend_step > 0 and step.type != "nop":
        yield "weakened dependency", (replace(step, depend_step=step.depend_step - 1),)
    if step.has_dependents:
        yield "cleared hasdep", (replace(step, has_dependents=False),)
    if step.type.sends and after is not None and after.type == step.type:
        first = replace(after, depend_block=step.depend_block, depend_step=step.depend_step)
        yield "swapped sends", (first, replace(step, depend_block=after.depend_block, depend_step=after.depend_step))
    if step.type.reads and step.src_offset > 0:
        yield "changed source offset", (replace(step, src_offset=step.src_offset - 1),)
    if step.type.writes and step.dst_offset > 0:
        yield "changed destination offset", (replace(step, dst_offset=step.dst_offset - 1),)
    if step.count > 1:
        yield "changed count", (replace(step, count=step.count - 1),)


def _with_steps(program: Program, rank: int, block: int, position: int, steps: tuple[Step, ...]) -> Program:
    old = program.gpus[rank].thread_blocks[block]
    new = replace(old, steps=(*old.steps[:position], *steps, *old.steps[position + len(steps) :]))
    return _with_block(program, rank, block, new)


def _with_block(program: Program, rank: int, block: int, new: ThreadBlock) -> Program:
    gpu = program.gpus[rank]
    blocks = (*gpu.thread_blocks[:block], new, *gpu.thread_blocks[block + 1 :])
    gpus = (*program.gpus[:rank], replace(gpu, thread_blocks=blocks), *program.gpus[rank + 1 :])
    return replace(program, gpus=gpus)


if __name__ == "__main__":
    command_line().parse_args()
    main()
