"""`hocket nccl env`: the variables with which NCCL loads Hocket's plugins, for a shell to evaluate."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["EPILOG", "env"]

EPILOG = (
    'Example: eval "$(hocket nccl env --profile profile/ --kernels)" && torchrun --nproc-per-node 8 train.py;'
    ' eval "$(hocket nccl env --table table.csv)"'
)


def env(
    profile: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Record the job's collectives into this folder.")
    ] = None,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="With --profile: also when they were done, by the GPU's timer.")
    ] = False,
    table: Annotated[Path | None, typer.Option(metavar="FILE", help="Choose by this table.")] = None,
) -> None:
    """Print `export` lines for NCCL's profiler and tuner plugin, with absolute paths.

    The folder and the table must have these paths on every node. mpirun hands variables on that are named by `-x NAME`.
    """
    import shlex

    from hocket.nccl.tuning.table import read_tuner_table
    from hocket.plugin.nccl.library import nccl_profiler_path, nccl_tuner_path

    if profile is None and table is None:
        raise typer.BadParameter("give --profile DIR, --table FILE, or both")
    if kernels and profile is None:
        raise typer.BadParameter("--kernels goes with --profile DIR")
    variables: dict[str, Path | str] = {}
    if profile is not None:
        variables |= {"NCCL_PROFILER_PLUGIN": nccl_profiler_path(), "HOCKET_NCCL_PROFILE": profile.absolute()}
        variables |= {"HOCKET_NCCL_EVENTS": "collective,p2p,kernel_channel"} if kernels else {}
    if table is not None:
        read_tuner_table(table)
        variables |= {"NCCL_TUNER_PLUGIN": nccl_tuner_path(), "HOCKET_NCCL_TUNER_TABLE": table.absolute()}
    for name, value in variables.items():
        typer.echo(f"export {name}={shlex.quote(str(value))}")
