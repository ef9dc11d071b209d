"""The `hocket` command: one small file a subcommand, imported only when it runs."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import typer

from hocket import __version__

__all__ = ["COMMANDS", "main"]

# name: (module that defines `app`, what `hocket --help` says). A new command is one file and one line here.
COMMANDS = {
    "collect": ("hocket.cli.collect.command", "Capture a PyTorch job's collectives into Chakra traces."),
    "trace": ("hocket.cli.trace.command", "Look at, check and convert Chakra traces."),
    "generate": ("hocket.cli.generate.command", "Make Chakra traces of jobs that nobody ran."),
    "extrapolate": ("hocket.cli.extrapolate", "Make the traces of a larger job from those of a small one."),
    "topology": ("hocket.cli.topology", "Describe, check and convert a network topology."),
    "simulate": ("hocket.cli.simulate.command", "Predict times of traces, schedules and collectives."),
    "compare": ("hocket.cli.compare", "Say what differs between two predictions."),
    "sweep": ("hocket.cli.sweep", "Simulate a grid of what-ifs, resumable."),
    "synthesize": ("hocket.cli.synthesize.command", "Make a collective schedule for a topology."),
    "verify": ("hocket.cli.verify.command", "Prove a schedule or an MSCCL XML right."),
    "translate": ("hocket.cli.translate.command", "Turn a schedule into verified MSCCL XML."),
    "explain": ("hocket.cli.explain", "Say which MSCCL XML a runtime would run for a call, and why."),
    "launch": ("hocket.cli.launch", "Run an MPI job with programs in place of its collectives."),
    "run": ("hocket.cli.run.command", "Run an MSCCL XML on real processes, check every value."),
    "replay": ("hocket.cli.replay", "Issue a trace's communication again, measured against predicted."),
    "calibrate": ("hocket.cli.calibrate", "Fit a topology and protocols to what benchmarks measured."),
    "nccl": ("hocket.cli.nccl.command", "Say what stock NCCL does on a machine."),
    "bench": ("hocket.cli.bench", "Measure claims: speed and quality beside other tools'."),
    "demo": ("hocket.cli.demo", "Do the whole chain once on a small training job."),
}

root = typer.Typer(
    name="hocket",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Example: hocket synthesize all_reduce --topology mesh:4x4,bandwidth=50GB/s,latency=500ns --size 64MiB",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@root.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Collect, predict, synthesize, translate and run collective communication."""


for _name, (_, _help) in COMMANDS.items():
    root.command(_name, help=_help)(lambda: None)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs `hocket ARGV` and exits with a documented code (`hocket.base.errors.ExitCode`)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] not in COMMANDS:
        root(args=arguments, prog_name="hocket")
    name, *rest = arguments

    from hocket.base.errors import ExitCode, HocketError, exit_code

    try:
        app = import_module(COMMANDS[name][0]).app
        try:
            typer.main.get_command(app).main(args=rest, prog_name=f"hocket {name}")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _leave_unread()
    except HocketError as error:
        typer.echo(f"error: {error}", err=True)
        _leave(exit_code(error))
    except MemoryError:
        typer.echo("error: out of memory; take fewer ranks, fewer chunks per rank, or a smaller size", err=True)
        _leave(ExitCode.BAD_INPUT)
    except KeyboardInterrupt:
        _leave(ExitCode.INTERRUPTED)
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):
            _leave_unread()
        if left.code != ExitCode.INTERRUPTED:
            raise
        _leave(ExitCode.INTERRUPTED)


def _leave_unread() -> NoReturn:
    """Ends the process as others end whose reader (`| head`) has seen enough: no check failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _leave(128 + signal.SIGPIPE)


def _leave(code: int) -> NoReturn:
    """Ends the process; at once where a search that was left to itself runs on in a thread: the interpreter cannot be
    taken down under it."""
    if not any(thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
