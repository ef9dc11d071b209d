"""`hocket verify`: proves a schedule, an MSCCL XML, a program or an MSCCL++ plan right, or shows where it is wrong."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = "Example: hocket verify ar.xml --runtime executor --json verdict.json"


# Parameters, by what is verified; the others would do nothing.
_FILES = {"files"}
_REPLAYED = _FILES | {"topology", "size", "output"}
_PLAN = _FILES | {"runtime", "json_path", "explain", "gpu", "root"}
_XML = _PLAN | {"fifo_depth"}


@app.command(epilog=EPILOG)
def verify(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A .schedule (or several that run at once), an MSCCL XML of any origin (.xml), an MSCCL++ plan "
            "or a program of translate --to json (.json), ForestColl's trees (.xml), or TACOS' .csv.",
        ),
    ],
    runtime: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="XML: runtime that must run it: msccl, executor, rccl or all; a plan: mscclpp."
        ),
    ] = None,
    json_path: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE|-", help="XML, plan: also write the verdicts here (-: only that)."),
    ] = None,
    explain: Annotated[
        Path | None,
        typer.Option("--explain", metavar="FILE", help="XML, plan: draw the counterexample on this HTML page."),
    ] = None,
    gpu: Annotated[
        str | None, typer.Option(metavar="NAME", help="XML, plan: GPU whose multiprocessors must hold all blocks.")
    ] = None,
    root: Annotated[
        int | None, typer.Option(help="XML, plan: root of a broadcast or reduce; an XML's is found by default.")
    ] = None,
    fifo_depth: Annotated[
        int | None, typer.Option(min=1, help="XML, program: messages a connection holds (Simple 2, LL and LL128 8).")
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option("--topology", "-t", metavar="SPEC|FILE", help="TACOS' XML, trees: what it was made for."),
    ] = None,
    size: Annotated[str | None, typer.Option("--size", "-s", help="TACOS' XML, trees: the output's size.")] = None,
    claimed: Annotated[str | None, typer.Option(metavar="TIME", help="TACOS: the time that it printed.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="TACOS, trees: write the schedule here.")
    ] = None,
) -> None:
    """Prove a schedule, an MSCCL XML or an MSCCL++ plan right.

    A schedule: every chunk arrives with every contribution exactly once, links are free when used, causality. Several
    schedules: each of them, and that no link is held by two of them at a time. An XML: for each runtime whether its
    parser accepts the file, its kernels run it, and it computes its collective without race or deadlock, with the
    largest size for which that holds. An MSCCL++ plan is executed call after call: values, races with the caller too,
    deadlock. TACOS' files (.csv, or .xml with --topology and --size) are link orders: they are replayed as causality
    allows, and compared with the claimed time. Exit code 0: proved, and every --runtime asked for (none: one of the
    three) loads, selects and runs the XML right; 1: not, with a counterexample (deadlocks too); 3: the file cannot be
    read.
    """
    from hocket.base.errors import FormatError
    from hocket.cli.options import take_only
    from hocket.translator.formats.forestcoll import is_forest

    file, *others = files
    for folder in (one for one in files if one.is_dir()):
        raise FormatError(f"{folder}: a folder; verify its programs one by one: {_programs(folder)}")
    if others:
        take_only(context, _FILES, "several files at once are .schedule files, without options")
        if odd := [str(one) for one in files if one.suffix in (".xml", ".csv", ".json")]:
            raise typer.BadParameter(f"several files at once are .schedule files: verify {', '.join(odd)} one by one")
        _verify_together(files)
    elif file.suffix == ".xml" and runtime is None and is_forest(file):
        take_only(context, _REPLAYED, f"{file} has ForestColl's trees, for no runtime yet")
        _verify_forest(file, topology, size, output)
    elif file.suffix == ".csv" or (file.suffix == ".xml" and topology is not None):
        take_only(context, _REPLAYED | {"claimed"}, f"{file} is TACOS' order on links, for no runtime yet")
        _verify_tacos(file, topology, size, claimed, output)
    elif file.suffix == ".xml":
        from hocket.cli.verify.xml import verify_xml

        take_only(context, _XML, "--claimed, --size and --output are for TACOS' files: a .csv, or .xml with --topology")
        verify_xml(file, runtime, root=root, fifo_depth=fifo_depth, gpu=gpu, json_path=json_path, page=explain)
    elif file.suffix == ".json":
        from hocket.translator import is_program_json

        if is_program_json(file):
            first = f"{file} is for no runtime; first hocket translate {file} --to RUNTIME -o {file.stem}.xml"
            take_only(context, _FILES | {"fifo_depth"}, first)
            _verify_program(file, fifo_depth)
        else:
            from hocket.cli.verify.plan import verify_plan

            take_only(context, _PLAN, f"{file} is an MSCCL++ plan, whose puts wait for no room")
            verify_plan(file, runtime, root=root, gpu=gpu, json_path=json_path, page=explain)
    else:
        first = f"{file} is a schedule, for no runtime; first hocket translate {file} --to RUNTIME -o {file.stem}.xml"
        take_only(context, _FILES, first)
        _verify_schedule(file)


def _programs(folder: Path) -> str:
    """What a shell calls the programs in a folder."""
    from hocket.translator.bundle.manifest import PROGRAMS, is_bundle

    inside = folder / PROGRAMS if is_bundle(folder) else folder
    return f"for file in {inside}/*; do hocket verify $file; done"


def _refuted(error: Exception) -> typer.Exit:
    from hocket.base.errors import ExitCode

    typer.echo(f"NOT PROVED: {error}", err=True)
    return typer.Exit(ExitCode.CHECK_FAILED)


def _verify_tacos(file: Path, topology: str | None, size: str | None, claimed: str | None, output: Path | None) -> None:
    from hocket.base.errors import ScheduleError
    from hocket.base.units import parse_time
    from hocket.cli.options import bytes_of
    from hocket.cli.verify.tacos import verify_orders
    from hocket.topology import load
    from hocket.translator import read_tacos_csv, read_tacos_xml

    if file.suffix == ".csv":
        if topology is not None or size is not None:
            raise typer.BadParameter("a .csv of TACOS has its links and sizes: drop --topology and --size")
        orders = read_tacos_csv(file)
    else:
        if topology is None or size is None:
            raise typer.BadParameter("an .xml of TACOS needs --topology and --size")
        orders = read_tacos_xml(file, load(topology), bytes_of("--size", size))
    try:
        verify_orders(file, orders, None if claimed is None else parse_time(claimed), output)
    except ScheduleError as error:
        raise _refuted(error) from error


def _verify_forest(file: Path, topology: str | None, size: str | None, output: Path | None) -> None:
    from hocket.base.errors import ScheduleError
    from hocket.cli.options import bytes_of
    from hocket.schedule import save
    from hocket.schedule import verify as verify_schedule
    from hocket.topology import load
    from hocket.translator import read_forest

    if topology is None or size is None:
        raise typer.BadParameter("ForestColl's trees name no links and bytes: give --topology and --size")
    try:
        schedule = read_forest(file, load(topology), bytes_of("--size", size))
        report = verify_schedule(schedule)
    except ScheduleError as error:
        raise _refuted(error) from error
    typer.echo(f"{file}: {schedule.collective.describe()} on {schedule.topology.name}, by ForestColl's trees")
    typer.echo(f"proved: {report.describe()}: values, links and causality")
    if output is not None:
        save(schedule, output)
        typer.echo(f"written {output}")


def _verify_schedule(file: Path) -> None:
    from hocket.base.errors import ScheduleError
    from hocket.schedule import load
    from hocket.schedule import verify as verify_schedule

    schedule = load(file)
    try:
        report = verify_schedule(schedule)
    except ScheduleError as error:
        raise _refuted(error) from error
    typer.echo(f"{file}: {schedule.collective.describe()} on {schedule.topology.name}, by {schedule.generator}")
    typer.echo(f"proved: {report.describe()}: values, links and causality")


def _verify_together(files: list[Path]) -> None:
    from hocket.base.errors import ScheduleError
    from hocket.schedule import load_expanded, verify_together

    schedules = [load_expanded(file) for file in files]
    try:
        report = verify_together(schedules)
    except ScheduleError as error:
        raise _refuted(error) from error
    for file, schedule in zip(files, schedules, strict=True):
        typer.echo(f"{file}: {schedule.collective.describe()} on {schedule.topology.name}, by {schedule.generator}")
    typer.echo(f"proved: {report.describe()}: values, links and causality, of each and of all at once")


def _verify_program(file: Path, fifo_depth: int | None) -> None:
    from hocket.base.errors import DeadlockError, ScheduleError
    from hocket.schedule import FIFO_DEPTH, execute
    from hocket.translator import UNLIMITED, read_program
    from hocket.translator.msccl.slices import least_count

    program = read_program(file)
    typer.echo(
        f"{file}: {program.kind} on {program.num_ranks} ranks in {program.chunks_per_loop} chunks, {program.protocol}"
    )
    try:
        # the smallest messages wait the most: what holds for them holds for all
        depth = fifo_depth or FIFO_DEPTH[program.protocol]
        proof = execute(program, fifo_depth=depth, max_count=least_count(program, UNLIMITED))
    except (ScheduleError, DeadlockError) as error:
        raise _refuted(error) from error
    typer.echo(f"proved: {proof.describe()}")
