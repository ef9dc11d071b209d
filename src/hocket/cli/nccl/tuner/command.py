"""`hocket nccl tuner`: tables for NCCL's tuner plugin."""

import typer

from hocket.cli.nccl.tuner import check as nccl_tuner_check
from hocket.cli.nccl.tuner import make as nccl_tuner_make

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Make and check tables for NCCL's tuner plugin.",
    epilog="Example: hocket nccl tuner make runs/*.json -o table.csv",
)


app.command(epilog=nccl_tuner_make.EPILOG)(nccl_tuner_make.make)
app.command(epilog=nccl_tuner_check.EPILOG)(nccl_tuner_check.check)
