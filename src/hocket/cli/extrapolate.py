"""`hocket extrapolate`: the traces of a larger job from those of a small one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.chakra.profile import Profile
from hocket.cli.trace.output import OutputOption, PrefixOption, ProfileOption, write_job

if TYPE_CHECKING:
    from hocket.chakra import TraceSet
    from hocket.workload.extrapolate import Growth

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = (
    "Examples: hocket extrapolate traces/ --data-parallel 8x -o larger/ |"
    " hocket extrapolate traces/ --ranks 1024 -o larger/ |"
    " hocket extrapolate traces/ --group dp0=64 --group dp1=64 -o larger/"
)


@app.command(epilog=EPILOG)
def extrapolate(
    path: Annotated[Path, typer.Argument(metavar="TRACES", help="A folder of PREFIX.<rank>.et files, or a prefix.")],
    output: OutputOption,
    data_parallel: Annotated[str | None, typer.Option(help="This many times the replicas: 8x.")] = None,
    ranks: Annotated[int | None, typer.Option(min=1, max=1 << 20, help="Ranks of the larger job.")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="NAME=SIZE: a group that grows, all others stay within a copy. Name all of one dimension."),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option("--groups", help="Process groups as JSON; default: comm_groups.json beside the traces."),
    ] = None,
    profile: ProfileOption = Profile.MLCOMMONS,
    prefix: PrefixOption = "trace",
) -> None:
    """Make a larger job of a small one: copies of its ranks, joined by the groups that grow; says what it assumes.

    Without --group, the one group of all ranks grows.
    """
    from hocket.chakra import read_traces
    from hocket.workload.extrapolate import extrapolate as enlarge

    if sum(option is not None for option in (data_parallel, ranks, group)) != 1:
        raise typer.BadParameter("say how large: one of --data-parallel 8x, --ranks 1024, --group NAME=64")
    traces = read_traces(path, groups)
    if output.resolve() == Path(traces.paths[0]).resolve().parent:
        raise typer.BadParameter(f"-o {output} would replace the traces that are read: choose another folder")
    larger, notes = enlarge(traces, _growths(traces, data_parallel, ranks, group or []))
    for note in notes:
        typer.echo(note)
    write_job(larger, output, prefix, profile)


def _growths(traces: TraceSet, data_parallel: str | None, ranks: int | None, sizes: list[str]) -> list[Growth]:
    """What grows, and how many times."""
    from hocket.workload.extrapolate import Growth, spanning_groups

    if sizes:
        return _dimensions(traces, sizes)
    if data_parallel is not None:
        factor = _times(data_parallel.removesuffix("x"), 1, data_parallel)
    else:
        factor = _times(str(ranks), traces.num_ranks, f"--ranks {ranks}")
    return [Growth(spanning_groups(traces), factor)]


def _dimensions(traces: TraceSet, sizes: list[str]) -> list[Growth]:
    """Groups that grow as many times and share no rank are one dimension, and grow together."""
    from hocket.workload.extrapolate import Growth

    dimensions: list[tuple[int, set[str], set[int]]] = []
    for text in sizes:
        name, _, size = text.rpartition("=")
        members = _members(traces, name)
        factor = _times(size, len(members), text)
        for times, names, ranks in dimensions:
            if times == factor and ranks.isdisjoint(members):
                names.add(name)
                ranks.update(members)
                break
        else:
            dimensions.append((factor, {name}, set(members)))
    return [Growth(frozenset(names), factor) for factor, names, _ in dimensions]


def _times(size: str, now: int, text: str) -> int:
    """How many times `now` the size is. Raises BadParameter unless it is a whole number of times."""
    if not size.isdecimal() or len(size) > 9 or int(size) < 1 or int(size) % now:
        raise typer.BadParameter(f"{text}: a whole number of times the present size, {now}, is needed")
    return int(size) // now


def _members(traces: TraceSet, name: str) -> tuple[int, ...]:
    from hocket.base.strict_yaml import nearest

    try:
        return traces.members(name)
    except KeyError:
        raise typer.BadParameter(f"--group {name}: no such group; {nearest(name, {*traces.groups, '0'})}") from None
