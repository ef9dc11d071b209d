"""`hocket nccl`: what stock NCCL does. Each sub-command is a file of its own."""

import typer

from hocket.cli import nccl_choose, nccl_env, nccl_log, nccl_profile, nccl_program, nccl_tuner

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
