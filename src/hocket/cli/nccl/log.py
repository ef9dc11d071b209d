"""`hocket nccl log`: the choices that NCCL logged, and how they compare with the model's."""

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.nccl import NcclLog, NcclModel
    from hocket.nccl.logged import LoggedSize
    from hocket.nccl.releases import Release

__all__ = ["EPILOG", "log"]

EPILOG = "Example: hocket nccl log rank0.log --topology machine.xml --nodes 2"


def log(
    path: Annotated[Path, typer.Argument(metavar="LOG", help="Rank 0's, or all ranks' as a launcher mixes them.")],
    topology: Annotated[
        str | None,
        typer.Option(metavar="MACHINE", help="Compare: NCCL's topology XML of the job's machine, or a preset's name."),
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, max=65_536, help="How many such machines.")] = 1,
    collective: Annotated[
        str | None, typer.Option("--collective", "-c", help="Of NCCL 2.20 to 2.22, which do not log it.")
    ] = None,
) -> None:
    """Print what NCCL chose in a job, as it logs with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING.

    With --topology every size is compared with what the model says of NCCL 2.30.7, or of the log's own version where
    that is modelled, under the variables that the log shows, and the table of latencies and bandwidths that NCCL
    printed with the model's.
    """
    from hocket.cli.nccl.choose import collectives_named
    from hocket.nccl import NcclModel, read_nccl_log
    from hocket.nccl.logged import by_size, logged_ranks, logged_settings
    from hocket.topology.machines.loading import load_machine

    names = collectives_named([collective]) if collective else [None]
    if len(names) != 1:
        raise typer.BadParameter("--collective: one")
    found = read_nccl_log(path)
    settings, assignments = logged_settings(found)
    model = NcclModel(load_machine(topology), nodes, settings, _release(found).constants) if topology else None
    ranks = logged_ranks(found, model)
    sizes = by_size(found, ranks, model, names[0])
    where = f", {ranks} ranks" if ranks else ""
    typer.echo(f"{path.name}: NCCL {found.version or 'of unknown version'}{where}, {len(found.choices)} collectives")
    if found.apart:
        typer.echo(f"  beside {found.apart} of symmetric kernels or copy engines, which no algorithm does")
    if assignments:
        typer.echo(f"  with {' '.join(assignments)}")
    if ranks is None and any(each.of_block for each in found.choices):
        typer.echo("  note: how many ranks is not told: sizes of AllGather and ReduceScatter are of one rank's block")
    _print_sizes(sizes)
    if model is not None:
        agreeing = sum(each.agrees for each in sizes)
        typer.echo(f"{agreeing} of {len(sizes)} sizes as modelled")
        _print_table(found, model)


def _release(found: "NcclLog") -> "Release":
    """Of the log's version, where it is modelled; else that which is, and it is said."""
    from hocket.base.errors import FormatError
    from hocket.nccl.releases import RELEASES, release_of

    try:
        return release_of(found.version or "2.30")
    except FormatError as error:
        typer.echo(f"note: {error}; compared with 2.30")
        return RELEASES["2.30"]


def _print_sizes(sizes: "list[LoggedSize]") -> None:
    from hocket.base.units import format_bytes

    for (name, chosen, modelled), grouped in groupby(
        sizes, key=lambda each: (each.collective, each.chosen, each.modelled)
    ):
        run = list(grouped)
        span = f"{format_bytes(run[0].size_bytes)} .. {format_bytes(run[-1].size_bytes)}"
        channels = [number for each in run if each.channels for number in each.channels]
        on = f"channels {min(channels)}..{max(channels)}" if channels else ""
        line = f"{name:<13} {span:<22} {' '.join(chosen):<16} {sum(each.calls for each in run):>6} calls  {on:<16}"
        typer.echo(f"{line} {_against(run, modelled)}".rstrip())


def _against(run: "list[LoggedSize]", modelled: str | None) -> str:
    if modelled is None:
        return ""
    if run[0].agrees:
        return "as modelled"
    known = [each.slower for each in run if each.slower is not None]
    if not known:
        return f"modelled: {modelled}; this is out there"
    return f"modelled: {modelled}; this takes up to {100 * (max(known) - 1):.1f}% more there"


def _print_table(found: "NcclLog", model: "NcclModel") -> None:
    from hocket.nccl.logged import differing_entries

    if len(found.tables) != 1:
        typer.echo(f"{len(found.tables) or 'no'} tables of latency and bandwidth in the log: not compared")
        return
    (entries,) = found.tables
    differing = differing_entries(entries, model)
    for entry, latency, bandwidth in differing:
        name = f"{entry.algorithm}/{entry.protocol}"
        ours = f"{latency:.1f} us, {bandwidth:.1f} GB/s" if bandwidth else "out"
        theirs = f"{entry.latency_us:.1f} us, {entry.bandwidth:.1f} GB/s" if entry.bandwidth else "out"
        typer.echo(f"  {entry.collective:<13} {name:<20} logged {theirs}; modelled {ours}")
    typer.echo(f"{len(differing)} of {len(entries)} latencies and bandwidths that NCCL printed differ from the model's")
