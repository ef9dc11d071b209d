"""`hocket nccl`: what stock NCCL does. Each sub-command is a file of its own."""

import typer

from hocket.cli.nccl import choose as nccl_choose
from hocket.cli.nccl import env as nccl_env
from hocket.cli.nccl import log as nccl_log
from hocket.cli.nccl import profile as nccl_profile
from hocket.cli.nccl import program as nccl_program
from hocket.cli.nccl.tuner import command as nccl_tuner

__all__ = ["app"]

app = typer.Typer(
    help="Say what stock NCCL does on a machine, and what it did in a job.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog="Example: hocket nccl choose --topology machine.xml --nodes 2 --collective all_reduce",
)


app.command(epilog=nccl_choose.EPILOG)(nccl_choose.choose)
app.command(epilog=nccl_log.EPILOG)(nccl_log.log)
app.command(epilog=nccl_env.EPILOG)(nccl_env.env)
app.command(epilog=nccl_program.EPILOG)(nccl_program.program)
app.add_typer(nccl_profile.app, name="profile")
app.add_typer(nccl_tuner.app, name="tuner")
