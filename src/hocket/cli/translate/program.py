"""What `hocket translate` prints of the program it wrote."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from hocket.base.units import format_limit, format_time
from hocket.schedule import Program
from hocket.topology.naming import spans
from hocket.translator import Translated
from hocket.translator.lowering.lowering import Candidate
from hocket.translator.msccl.findings import Finding

__all__ = ["print_translation"]


def print_translation(result: Translated, path: Path, predicted: Sequence[Finding], is_bounded: bool) -> None:
    """The program in numbers, which lowerings were tried, what was proved, and what is to be known of it; `is_bounded`:
    the largest size was asked for."""
    program = result.program
    declared = (("in-place", program.in_place), ("out-of-place", program.out_of_place))
    calls = " and ".join(call for call, has in declared if has)
    upper = format_limit(program.max_bytes) if program.max_bytes else "any size"
    typer.echo(
        f"{path}: {program.kind} on {program.num_ranks} ranks for {result.profile.name}, {program.protocol}, "
        f"{calls} calls of {format_limit(program.min_bytes)} to {upper} in {program.chunks_per_loop} chunks"
    )
    if program.max_bytes == result.profile.open_max_bytes != 0 and not is_bounded:
        typer.echo(
            f"warning: {result.profile.name} reserves scratch for the largest size, so none is open: calls above "
            f"{upper} run the library's own algorithm: give --max-bytes"
        )
    _print_ranks(program)
    if len(result.candidates) > 1:
        _print_candidates(result.candidates)
    for proof in result.proofs:
        typer.echo(f"proved: {proof.describe()}")
    if (result.proofs[0].max_count or 0) > 1:
        typer.echo(f"        of sizes up to {upper} only: above, steps are split into more messages")
    for finding in (*result.notes, *predicted):
        typer.echo(f"note: {finding.describe()}")


def _print_candidates(candidates: Sequence[Candidate]) -> None:
    """What was tried; the first was taken."""
    best, *others = candidates
    typer.echo(f"tried: {_strategy(best)}: {format_time(best.time_ps)} predicted, {_blocks(best)} (taken)")
    for other in others:
        outcome = (
            str(other.error).split("\n")[0]
            if other.error
            else f"{format_time(other.time_ps)} predicted, {_blocks(other)}"
        )
        typer.echo(f"       {_strategy(other)}: {outcome}")


def _strategy(candidate: Candidate) -> str:
    strategy = candidate.strategy
    merged = f", {strategy.merged} chunks made one" * (strategy.merged > 1)
    paired = ", shared thread blocks" * strategy.paired
    return f"channels {strategy.channels}, slots {strategy.slots}{merged}{paired}"


def _blocks(candidate: Candidate) -> str:
    return f"{candidate.thread_blocks} thread blocks of up to {candidate.steps} steps"


def _print_ranks(program: Program) -> None:
    """A table of what each rank runs; ranks that run alike share a row."""
    alike: dict[tuple[int, int, int, int, int], list[int]] = {}
    for rank, gpu in enumerate(program.gpus):
        lengths = [len(block.steps) for block in gpu.thread_blocks]
        channels = {block.channel for block in gpu.thread_blocks}
        row = (len(lengths), max(lengths, default=0), sum(lengths), len(channels), gpu.scratch_chunks)
        alike.setdefault(row, []).append(rank)
    table = Table(box=None, pad_edge=False)
    for title in ("ranks", "thread blocks", "longest, steps", "steps", "channels", "scratch chunks"):
        table.add_column(title, justify="right")
    for row, ranks in alike.items():
        table.add_row(spans(ranks), *map(str, row))
    Console().print(table)
