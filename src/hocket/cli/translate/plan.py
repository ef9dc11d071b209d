"""What `hocket translate --to mscclpp` prints of the plan it wrote."""

from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from hocket.base.units import format_limit
from hocket.topology.naming import spans
from hocket.translator.mscclpp import TranslatedPlan, plan_recipe

__all__ = ["print_plan"]


def print_plan(translation: TranslatedPlan, path: Path, nodes: tuple[int, int]) -> None:
    """The plan in numbers (`memory`, `port`: channels), what was proved, and how to run it."""
    plan = translation.plan
    calls = "in-place" if plan.in_place else "out-of-place"
    typer.echo(
        f"{path}: {plan.collective} on {plan.num_ranks} ranks for MSCCL++ 0.9, {plan.protocol}, {calls} calls of "
        f"{format_limit(plan.min_message_size)} to {format_limit(plan.max_message_size)} in {plan.slots} chunks"
    )
    alike: dict[tuple[int, ...], list[int]] = {}
    for rank, gpu in enumerate(plan.gpus):
        lengths = [len(block.ops) for block in gpu.thread_blocks]
        channels = [len(gpu.peers(kind)) for kind in ("memory", "port")]
        row = (len(lengths), max(lengths, default=0), sum(lengths), *channels, len(gpu.semaphores), gpu.scratch_chunks)
        alike.setdefault(row, []).append(rank)
    table = Table(box=None, pad_edge=False)
    titles = ("thread blocks", "longest", "ops", "memory", "port", "semaphores", "scratch chunks")
    for title in ("ranks", *titles):
        table.add_column(title, justify="right")
    for row, ranks in alike.items():
        table.add_row(spans(ranks), *map(str, row))
    Console().print(table)
    typer.echo(f"proved: {translation.proof.describe()}")
    if translation.proof.assumed:
        typer.echo(f"assumed: {translation.proof.assumed}")
    typer.echo(f"\n{plan_recipe(plan, path, nodes)}")
