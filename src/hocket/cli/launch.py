"""`hocket launch`: an MPI job with programs in place of its collectives."""

from typing import Annotated

import typer

from hocket.plugin.serve import VARIABLE

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = "Example: hocket launch --algorithms bundle/ mpiexec -n 4 python script.py"


@app.command(
    epilog=EPILOG,
    no_args_is_help=True,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def launch(
    command: Annotated[list[str], typer.Argument(metavar="LAUNCHER ...", help="The job's launch line.")],
    algorithms: Annotated[
        str,
        typer.Option(metavar="BUNDLES", envvar=VARIABLE, help="Bundles, folders and files of programs, with colons."),
    ],
    mpicc: Annotated[
        str, typer.Option(metavar="PATH", help="Compiler wrapper of the program's MPI; the launcher's when absent.")
    ] = "",
) -> None:
    """Run an MPI job by its own launch line, its collectives by proved programs wherever one fits.

    At the end says on standard error how often each program ran, and what MPI's own algorithms did and why; as JSON
    into the file that HOCKET_ALGORITHMS_REPORT names. The exit code is the job's.
    """
    from functools import partial

    from hocket.plugin.mpi.launch import run_preloaded
    from hocket.plugin.mpi.library import build_library, find_mpicc
    from hocket.plugin.mpi.served import served

    with served(algorithms) as variables:
        library = build_library(mpicc or find_mpicc(command[0]), partial(typer.echo, err=True))
        code = run_preloaded(command, library, variables)
    raise typer.Exit(code)
