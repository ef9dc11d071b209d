"""MSCCL++ plans: verdicts, mutations found, ops of small plans, seconds to lower and prove large ones.

Ops count those of all ranks; `one block`: the plan that bundles have for small messages, of one thread block per rank.

Example: python -m hocket.bench.plans

The reference plans are those of `../shared/data/mscclpp_plans` beside the checkout, where present.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hocket.base.errors import DeadlockError, HocketError, ScheduleError
from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering
from hocket.translator.lowering.levels import levelled
from hocket.translator.mscclpp import (
    ExecutionPlan,
    from_json,
    join_blocks,
    lower_to_plan,
    read_plan,
    to_json,
    verify_plan,
)
from hocket.translator.mscclpp.plan import OpName

__all__ = ["main"]

REFERENCES = Path(__file__).resolve().parents[2] / "shared" / "data" / "mscclpp_plans"
LARGE = [
    ("ring", Kind.ALL_REDUCE, 64, "Simple"),
    ("ring", Kind.ALL_REDUCE, 64, "LL"),
    ("halving_doubling", Kind.ALL_REDUCE, 64, "Simple"),
    ("direct", Kind.ALL_GATHER, 64, "Simple"),
]
OPS = [
    ("recursive_doubling", Kind.ALL_REDUCE, 8),
    ("direct", Kind.ALL_REDUCE, 8),
    ("direct", Kind.ALL_GATHER, 8),
    ("recursive_doubling", Kind.ALL_REDUCE, 16),
    ("direct", Kind.ALL_REDUCE, 16),
]
SMALL = [("ring", Kind.ALL_REDUCE), ("halving_doubling", Kind.ALL_REDUCE), ("direct", Kind.ALL_TO_ALL)]


def main() -> None:
    """Prints the four tables."""
    if REFERENCES.is_dir():
        _print_verdicts()
    _print_mutations()
    _print_ops()
    _print_times()


def _print_verdicts() -> None:
    table = Table("plan", "verdict", box=None, title="reference plans")
    for path in sorted(REFERENCES.glob("*.json")):
        try:
            proof = verify_plan(read_plan(path))
            table.add_row(path.stem, "proved" + (", assuming relaxed signals show writes" if proof.assumed else ""))
        except (ScheduleError, DeadlockError) as error:
            table.add_row(path.stem, str(error).partition("\n")[0])
    Console(width=120).print(table)


def _print_mutations() -> None:
    made: dict[str, list[bool]] = {}
    for name, kind in SMALL:
        schedule = build(name, Collective(kind, 4, 1 << 20), load("ring:4,bandwidth=50GB/s,latency=500ns"))
        for protocol in ("Simple", "LL"):
            for ranks_per_node in (4, 2):
                plan = lower_to_plan(schedule, Lowering(protocol=protocol), ranks_per_node=ranks_per_node).plan
                for what, mutant in _mutants(json.loads(to_json(plan))):
                    made.setdefault(what, []).append(_refuted(mutant))
    table = Table("mutation", "made", "found", box=None, title="mutations of plans made here, 4 ranks")
    for what, found in sorted(made.items()):
        table.add_row(what, str(len(found)), str(sum(found)))
    Console(width=120).print(table)


def _mutants(plan: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Plans with one op of rank 1, or two neighbours, changed."""
    for number, block in enumerate(plan["gpus"][1]["threadblocks"]):
        for position, op in enumerate(block["ops"]):
            mutant = deepcopy(plan)
            ops = mutant["gpus"][1]["threadblocks"][number]["ops"]
            del ops[position]
            yield f"dropped {op['name']}", mutant
            for side in ("src_buff", "dst_buff"):
                if op.get(side) and op[side][0]["index"] > 0:
                    mutant = deepcopy(plan)
                    mutant["gpus"][1]["threadblocks"][number]["ops"][position][side][0]["index"] -= 1
                    yield f"changed {side}", mutant
            if op["name"] in ("wait", "rlxwait", "sem_acquire") and position > 0:
                mutant = deepcopy(plan)
                ops = mutant["gpus"][1]["threadblocks"][number]["ops"]
                later = next((k for k in range(position + 1, len(ops)) if ops[k]["name"] not in ("nop", op["name"])), 0)
                if later:
                    ops[position], ops[later] = ops[later], ops[position]
                    yield "wait after what it is for", mutant


def _refuted(plan: dict[str, Any]) -> bool:
    try:
        return verify_plan(from_json(json.dumps(plan), "mutant")).assumed is not None
    except HocketError:
        return True


def _print_ops() -> None:
    table = Table(box=None, title="ops, ranks of one machine")
    columns = ("algorithm", "collective", "protocol", "plan", "ranks", "blocks", "puts", "semaphores", "nops", "ops")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < 4 else "right")
    for name, kind, ranks in OPS:
        network = load(f"fully_connected:{ranks},bandwidth=50GB/s,latency=1us")
        steps = levelled(build(name, Collective(kind, ranks, 1 << 20), network))
        for protocol in ("Simple", "LL"):
            assert steps is not None
            made = lower_to_plan(steps, Lowering(protocol=protocol))
            for plan, one in (("", made), ("one block", join_blocks(made))):
                if one is not None:
                    table.add_row(name, kind, protocol, plan, str(ranks), *map(str, _counts(one.plan)))
    Console(width=120).print(table)


def _counts(plan: ExecutionPlan) -> tuple[int, ...]:
    """Thread blocks of a rank, messages, then ops by what they are."""
    names = Counter(op.name for gpu in plan.gpus for block in gpu.thread_blocks for op in block.ops)
    semaphores = names[OpName.ACQUIRE] + names[OpName.RELEASE]
    targets = (one for gpu in plan.gpus for block in gpu.thread_blocks for op in block.ops for one in op.destinations)
    puts = sum(target.buffer_id is not None for target in targets)
    blocks = max(len(gpu.thread_blocks) for gpu in plan.gpus)
    return blocks, puts, semaphores, names[OpName.SYNC], names.total()


def _print_times() -> None:
    table = Table(box=None, title="seconds of CPU")
    columns = ("algorithm", "collective", "protocol", "ranks", "blocks", "ops", "lower, prove", "prove")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < 3 else "right")
    for name, kind, ranks, protocol in LARGE:
        schedule = build(name, Collective(kind, ranks, 1 << 26), load(f"ring:{ranks},bandwidth=50GB/s,latency=500ns"))
        start = time.process_time()
        plan = lower_to_plan(schedule, Lowering(protocol=protocol)).plan
        lowered = time.process_time()
        verify_plan(plan)
        proved = time.process_time()
        blocks = max(len(gpu.thread_blocks) for gpu in plan.gpus)
        ops = sum(len(block.ops) for gpu in plan.gpus for block in gpu.thread_blocks)
        seconds = (f"{lowered - start:.1f}", f"{proved - lowered:.1f}")
        table.add_row(name, kind, protocol, str(ranks), str(blocks), str(ops), *seconds)
    Console(width=120).print(table)


if __name__ == "__main__":
    command_line().parse_args()
    main()
