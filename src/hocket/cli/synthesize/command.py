"""`hocket synthesize`: make a verified schedule of a collective for a topology."""

from pathlib import Path
from typing import Annotated

import typer

from hocket.cli.options import Conditions, Degrade, Group, Load, Priority, Relays, Sizes, Without

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_KINDS = "all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, reduce, gather, scatter, barrier, custom"
_EXAMPLE = (
    "Example: hocket synthesize all_reduce --topology mesh:4x4,bandwidth=50GB/s,latency=500ns --size 64MiB"
    " -o ar.schedule |"
    " hocket synthesize all_gather --topology dgx-a100:nodes=2 --size 1KiB..1GiB:32 -o schedules/"
)

# Options that do not decide what is found: a search that was cut off goes on with others.
_NO_MATTER = ("output", "json_path", "report", "threads", "time_limit")


@app.command(epilog=_EXAMPLE)
def synthesize(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTIVE",
            help=_KINDS,
        ),
    ],
    topology: Annotated[
        str, typer.Option("--topology", "-t", metavar="SPEC|FILE", help="Topology spec, preset or YAML file.")
    ],
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            "-s",
            metavar="SIZE|RANGE",
            help="A rank's whole buffer, nccl-tests' size: 64MiB, 1GB; or sizes: 1KiB..1GiB:4.",
        ),
    ] = None,
    sizes: Sizes = None,
    conditions: Conditions = None,
    group: Group = None,
    relays: Relays = False,
    priority: Priority = None,
    without: Without = None,
    degrade: Degrade = None,
    load: Load = None,
    chunks: Annotated[int | None, typer.Option(min=1, help="Chunks a rank (default: tries 1, 2, 4, ...).")] = None,
    root: Annotated[int, typer.Option(min=0, help="Root of broadcast, reduce, gather and scatter.")] = 0,
    engine: Annotated[
        str,
        typer.Option(
            help="auto, one of docs/synthesizer-engines.md, or native:NAME: that algorithm of docs/schedule.md."
        ),
    ] = "auto",
    objective: Annotated[
        str, typer.Option(help="auto: quickest at --size; latency, bandwidth: at the smallest, the largest sizes.")
    ] = "auto",
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The same seed, the same schedule, anywhere.")] = 0,
    attempts: Annotated[
        int | None, typer.Option(min=1, help="Searches of each engine (default: what the size is worth).")
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            "--time-limit",
            metavar="T",
            help="Search for up to so long (30s, 5m), and take the best found. Ctrl-C does so at once.",
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of an engine (default: all cores); the result does not change.")
    ] = None,
    blocking: Annotated[
        bool, typer.Option("--blocking", help="A transfer holds its links during its latency too, as in TACOS.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE|DIR", help="Where to write the schedule, or those of a range."),
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page of figures here (.html).")] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the numbers as JSON (-: standard output).")
    ] = None,
) -> None:
    """Makes a schedule of COLLECTIVE for a topology, proves it right, and compares it with a lower bound.

    A lower bound is a time that no schedule of as many chunks can beat; ratio is the schedule's time over it. For a
    range of sizes, the schedules that are the quickest somewhere in it, and where.
    """
    import os

    from hocket import synthesizer
    from hocket.base.collectives import BARRIER
    from hocket.base.files import require_place
    from hocket.base.units import parse_duration
    from hocket.cli.options import load_topology, one_of
    from hocket.cli.synthesize.output import (
        keeping,
        print_one,
        print_together,
        print_windows,
        watching,
        write_one,
        write_together,
        write_windows,
    )
    from hocket.cli.synthesize.problem import Asked, read_priorities, read_problems
    from hocket.schedule import Kind
    from hocket.synthesizer.barrier import solve_barrier

    one_of("COLLECTIVE", kind, [*Kind, BARRIER])
    one_of("--engine", engine, [synthesizer.AUTO, *synthesizer.engine_names()])
    one_of("--objective", objective, synthesizer.Objective)
    if not group and (relays or priority is not None):
        raise typer.BadParameter("--relays and --priority say how --group is served: give groups")
    for path in (output, report, json_path):
        if path is not None:
            require_place(path)
    asked = Asked(kind, size, sizes, conditions, chunks, root)
    seconds = None if time_limit is None else parse_duration(time_limit)
    network = load_topology(topology, without, degrade, load)
    problems = read_problems(asked, network, group, relays=relays, blocking=blocking)
    priorities = read_priorities(priority, len(problems))
    threads = threads or len(os.sched_getaffinity(0))
    at_once, ranged = len(problems) > 1, len(asked.all_sizes) > 1
    if (at_once or ranged or kind == BARRIER) and objective != synthesizer.Objective.AUTO:
        raise typer.BadParameter("--objective is for one collective of one size")
    if output is not None and output.is_dir() and not ranged:
        raise typer.BadParameter(f"--output {output}: a folder; name a file in it")
    if at_once and ranged:
        raise typer.BadParameter("several groups take one size")
    with keeping(output, {name: value for name, value in context.params.items() if name not in _NO_MATTER}) as partial:
        search = synthesizer.Search(seed, threads, attempts, partial=partial)
        with watching() as watch:
            if at_once:
                together = synthesizer.solve_together(
                    problems,
                    search,
                    priorities=priorities,
                    alone=solve_barrier if kind == BARRIER else synthesizer.solve,
                    engine=engine,
                    free_chunks=asked.free_chunks,
                    time_limit_s=seconds,
                    watch=watch,
                )
            elif ranged:
                found = synthesizer.windows(
                    problems[0],
                    asked.all_sizes,
                    search,
                    engine=engine,
                    free_chunks=asked.free_chunks,
                    time_limit_s=seconds,
                    watch=watch,
                )
            elif kind == BARRIER:
                one = solve_barrier(problems[0], search, engine=engine, time_limit_s=seconds, watch=watch)
            else:
                one = synthesizer.solve(
                    problems[0],
                    search,
                    engine=engine,
                    objective=synthesizer.Objective(objective),
                    free_chunks=asked.free_chunks,
                    time_limit_s=seconds,
                    watch=watch,
                )
        for note in network.notes:
            typer.echo(f"note: {note}")
        if at_once:
            write_together(together, output, json_path, report)
            print_together(together, output)
        elif ranged:
            write_windows(found, output, json_path, report)
            print_windows(found, output)
        else:
            write_one(one, output, json_path, report)
            print_one(one, output, search.progress)
