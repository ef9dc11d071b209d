"""`hocket translate --to chakra|table|nccl-graph|schedule`: a schedule for what is no interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hocket.schedule import Schedule

__all__ = ["PLAIN", "is_lowered", "read_schedule", "write_plain"]

#: Targets that are no runtimes' programs.
PLAIN = ("chakra", "table", "nccl-graph", "schedule")


def is_lowered(file: Path) -> bool:
    """Whether a file, by its name and beginning, is a program: no schedule and no trees."""
    from hocket.translator import is_forest

    return file.suffix == ".json" or (file.suffix == ".xml" and not is_forest(file))


def read_schedule(
    file: Path, topology: str | None, size: str | None, root: int | None, collective: str | None = None
) -> Schedule:
    """The schedule in a file, or what a program, or ForestColl's trees, do on a topology at a size."""
    from hocket.cli.options import bytes_of, one_of
    from hocket.schedule import Kind, load_expanded
    from hocket.topology import load
    from hocket.translator import program_schedule, read_forest, read_program

    of_trees = file.suffix == ".xml" and not is_lowered(file)
    if collective is not None and not of_trees:
        raise typer.BadParameter(f"{file} says its collective: --collective is for ForestColl's trees")
    if file.suffix not in (".xml", ".json"):
        if (topology, size, root) != (None, None, None):
            raise typer.BadParameter(f"{file} has a topology, size and root: --topology, --size, --root are others'")
        return load_expanded(file)
    if topology is None or size is None:
        raise typer.BadParameter(f"{file} names no links and bytes: give --topology and --size")
    if of_trees:
        kind = one_of("--collective", collective or Kind.ALL_GATHER, [str(kind) for kind in Kind])
        return read_forest(file, load(topology), bytes_of("--size", size), Kind(kind))
    return program_schedule(read_program(file, root=root), load(topology), bytes_of("--size", size))


def write_plain(schedule: Schedule, to: str, output: Path) -> None:
    """Verifies the schedule, writes it and says how to use what was written."""
    from hocket.base.files import atomic_write
    from hocket.base.units import format_time
    from hocket.chakra import write_traces
    from hocket.schedule import save, verify
    from hocket.translator import nccl_graph, rings, schedule_graphs, write_transfers

    verify(schedule)
    if to == "chakra":
        graphs = schedule_graphs(schedule)
        write_traces(output.parent, graphs, output.name, profile="astra-sim")
        typer.echo(f"{output}.<rank>.et: a graph for each of {graphs.num_ranks} ranks, for this size only")
        typer.echo(
            f'in the system JSON: "{schedule.collective.kind.replace("_", "-")}-implementation-custom": ["{output}"]'
        )
        return
    if to == "table":
        if output.suffix not in (".csv", ".json"):
            raise typer.BadParameter(f"--output {output}: a table is a .csv or a .json")
        write_transfers(schedule, output)
        typer.echo(f"{output}: {schedule.num_transfers} transfers")
        return
    if to == "schedule":
        save(schedule, output)
        time = format_time(schedule.time_ps)
        typer.echo(f"{output}: {schedule.collective.describe()}, {schedule.num_transfers} transfers, {time}")
        return
    text = nccl_graph(schedule)
    with atomic_write(output) as file:
        file.write(text)
    found = len(rings(schedule))
    typer.echo(f"{output}: {found} ring{'s' * (found > 1)}; NCCL runs its own ring algorithm on them:")
    typer.echo(f"  NCCL_GRAPH_FILE={output} NCCL_ALGO=Ring NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH all_reduce_perf ...")
    typer.echo("  NCCL_GRAPH_DUMP_FILE=used.xml shows what it took; the log lists the rings as `Channel 00/..`")
