"""`hocket nccl`: what stock NCCL does. Each sub-command is a file of its own."""

import typer

from hocket.cli import nccl_choose

__all__ = ["app"]

app = typer.Typer(
    help="Say what stock NCCL does on a machine.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog="Example: hocket nccl choose --topology machine.xml --nodes 2 --collective all_reduce",
)


@app.callback()
def _group() -> None:
    """Keeps `choose` a command of its own."""


app.command(epilog=nccl_choose.EPILOG)(nccl_choose.choose)
