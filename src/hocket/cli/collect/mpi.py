"""`hocket collect --mpi`: run an MPI job with the recorder preloaded, and merge what was recorded."""

from typing import Annotated

import typer

from hocket.cli.collect.watching import WATCH_HELP, watching
from hocket.plugin.serve import VARIABLE
from hocket.recording.settings import OPTIONS, SWITCHES, variable

__all__ = ["MPI_EXAMPLE", "asks_for_mpi", "collect_mpi"]

MPI_EXAMPLE = "Example: hocket collect --out traces/ --mpi mpiexec -n 4 python script.py"
_FLAGS = ("--watch", *(f"--{name}" for name in SWITCHES))


def asks_for_mpi(arguments: list[str]) -> bool:
    """Whether --mpi stands among the options before the program: others than _FLAGS take a value."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        if arguments[position] == "--mpi":
            return True
        position += 1 if "=" in arguments[position] or arguments[position] in _FLAGS else 2
    return False


def collect_mpi(
    command: Annotated[list[str], typer.Argument(metavar="LAUNCHER ...", help="The job's launch line.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for traces, summary and streams.")] = "traces",
    mpicc: Annotated[
        str, typer.Option(metavar="PATH", help="Compiler wrapper of the program's MPI; the launcher's when absent.")
    ] = "",
    skip_steps: Annotated[
        int, typer.Option(min=0, envvar=variable("skip_steps"), help="Steps to leave out first.")
    ] = 0,
    steps: Annotated[int | None, typer.Option(min=1, envvar=variable("steps"), help=OPTIONS["steps"].help)] = None,
    watch: Annotated[bool, typer.Option("--watch", help=WATCH_HELP)] = False,
    mpi: Annotated[bool, typer.Option("--mpi", help="What follows is an MPI job's launch line.")] = True,
) -> None:
    """Run an MPI job by its own launch line and collect; MPI_Pcontrol(1) ends a step."""
    import os
    from functools import partial
    from pathlib import Path
    from shlex import quote

    from hocket.base.errors import HocketError
    from hocket.plugin.mpi.launch import run_recorded
    from hocket.plugin.mpi.library import build_library, find_mpicc
    from hocket.plugin.mpi.served import served
    from hocket.recording.folder import stream_paths
    from hocket.recording.merge import merge
    from hocket.recording.tables import render

    if stream_paths(out):
        raise HocketError(f"{out}: holds a collection already; choose another --out, or remove it: rm -r {quote(out)}")
    library = build_library(mpicc or find_mpicc(command[0]), partial(typer.echo, err=True))
    chosen = {variable("skip_steps"): str(skip_steps)} | ({} if steps is None else {variable("steps"): str(steps)})
    with served(os.environ.get(VARIABLE)) as programs, watching(out, watch):
        code = run_recorded(command, library, Path(out), chosen | programs)
    if not stream_paths(out):
        if code == 0:
            raise HocketError(
                f"{out}: nothing was recorded: no process initialized MPI through a shared library; is MPI linked"
                " statically into the program, or does the launcher drop LD_PRELOAD?"
            )
        raise typer.Exit(code)
    try:
        typer.echo(render(merge(out)), nl=False)
    except HocketError as error:
        if code == 0:
            raise
        typer.echo(f"error: {error}", err=True)
    raise typer.Exit(code)
