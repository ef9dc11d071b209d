"""`hocket generate`: traces of jobs that nobody ran. Each sub-command is a file of its own."""

import typer

from hocket.cli.generate import collective as generate_collective
from hocket.cli.generate import llm as generate_llm
from hocket.cli.generate import network as generate_network

__all__ = ["app"]

app = typer.Typer(
    help="Make Chakra traces of jobs that nobody ran.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog="Example: hocket generate collective all_reduce --ranks 64 --size 64MiB -o traces/",
)
app.command(epilog=generate_collective.EPILOG)(generate_collective.collective)
app.command(epilog=generate_network.EPILOG)(generate_network.network)
app.command(epilog=generate_llm.EPILOG)(generate_llm.llm)
