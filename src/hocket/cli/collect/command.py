"""`hocket collect`: launch a training script with the collector in it, and merge what was recorded."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hocket.cli.collect.mpi import MPI_EXAMPLE, asks_for_mpi, collect_mpi
from hocket.cli.collect.watching import WATCH_HELP, watching
from hocket.recording.settings import OPTIONS, variable

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

# What comes behind the program is the program's.
_LAUNCH_LINE = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_LAUNCHER_S = 40.0  # torchrun gives the ranks 30 s to end before it kills them
_EXAMPLE = "Example: hocket collect --out traces/ -n 4 --skip-steps 2 --steps 3 train.py --epochs 1"


def _option(name: str) -> Any:
    option = OPTIONS[name]
    return typer.Option(min=option.minimum, envvar=variable(name), help=option.help)


class _LaunchByDefault(typer.core.TyperGroup):
    """`hocket collect ... script.py` means `hocket collect launch ... script.py`, `... --mpi ...` likewise `mpi`, and
    `hocket collect --watch DIR` is `hocket collect watch DIR`."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        if arguments[:1] == ["--watch"] and Path(arguments[-1]).is_dir():
            arguments = ["watch", *arguments[1:]]
        if arguments and arguments[0] not in (*self.commands, "--help"):
            arguments = ["mpi" if asks_for_mpi(arguments) else "launch", *arguments]
        return super().parse_args(context, arguments)


@app.callback(cls=_LaunchByDefault, epilog=_EXAMPLE)
def _collect() -> None:
    """Capture a PyTorch or MPI job's collectives into Chakra traces, one a rank.

    An MPI job: `hocket collect --out DIR --mpi mpiexec -n 4 ./program`. PyTorch under your own launcher: `torchrun ...
    -m hocket.collect --out DIR script.py`; or leave the launch line as it is and set HOCKET_COLLECT=DIR.
    """


@app.command(epilog=_EXAMPLE, context_settings=_LAUNCH_LINE)
def launch(
    script: Annotated[str, typer.Argument(help="Training script.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="The script's arguments.")] = None,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for traces, summary and streams.")] = "traces",
    ranks: Annotated[int, typer.Option("-n", "--ranks", min=1, help="Processes on this machine.")] = 1,
    skip_steps: Annotated[int, _option("skip_steps")] = 0,
    steps: Annotated[int | None, _option("steps")] = None,
    timeout: Annotated[int, _option("timeout")] = 60,
    ops: Annotated[bool, typer.Option("--ops", help="Record operators too, with PyTorch's profiler.")] = False,
    stacks: Annotated[bool, typer.Option("--stacks", help="Record the script's line that issues each call.")] = False,
    completion: Annotated[
        bool, typer.Option("--completion", help="Ask every millisecond which collectives on CUDA are complete.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help=WATCH_HELP)] = False,
) -> None:
    """Run a script under torchrun on this machine and collect (the default command)."""
    import os
    import sys
    from shlex import quote

    from hocket.base.errors import HocketError
    from hocket.base.processes import run
    from hocket.collect import check_script
    from hocket.recording.folder import make_folder, stream_paths
    from hocket.recording.settings import Settings

    check_script(script)
    if stream_paths(out):
        raise HocketError(f"{out}: holds a collection already; choose another --out, or remove it: rm -r {quote(out)}")
    make_folder(out)
    # Unlike a job under another launcher, this one may take the time to build the compiled hook.
    hook = os.environ.get(variable("hook"), "native")
    settings = Settings(out, skip_steps, steps, timeout, hook, ops, stacks, completion)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [*torchrun, "-m", "hocket.collect", script, *(arguments or [])]
    with watching(out, watch):
        finished = run(command, grace_s=_LAUNCHER_S, env=os.environ | settings.to_environment())
    if not any(Path(out).glob("trace.*.et")):  # rank 0 did not come to its end
        if stream_paths(out):
            merge(out)
        elif finished.returncode == 0:
            limited = " in the steps to record" if skip_steps or steps is not None else ""
            raise HocketError(
                f"{out}: nothing was recorded: no rank issued a collective{limited}; does the script call"
                " torch.distributed.init_process_group?"
            )
    raise typer.Exit(finished.returncode)


app.command("mpi", epilog=MPI_EXAMPLE, context_settings=_LAUNCH_LINE)(collect_mpi)


@app.command(epilog="Example: hocket collect merge traces/ --kineto profiles/ --nccl-profile profile/")
def merge(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    kineto: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Profiles of torch.profiler of the same run, .json or .json.gz.")
    ] = None,
    nccl_profile: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The same run's HOCKET_NCCL_PROFILE: what NCCL did for each call."),
    ] = None,
) -> None:
    """Merge the streams in DIR into traces and a summary; for jobs that were cut off, too."""
    from hocket.recording.merge import merge as merge_streams
    from hocket.recording.tables import render

    typer.echo(render(merge_streams(folder, kineto, nccl_profile)), nl=False)


@app.command("watch", epilog="Example: hocket collect watch traces/ --timeout 30")
def watch_job(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    timeout: Annotated[int, typer.Option(min=1, help="Seconds without a word from a rank before it counts.")] = 10,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each report.")] = False,
) -> None:
    """Follow a job while it runs: what each group waits for when it hangs, once for each change, until it ends.

    Exit code 0: the job ended well (--once: nothing hangs); 1: a rank died or ended with an error; 5: it hung.
    """
    import json
    from dataclasses import asdict

    from hocket.base.errors import FormatError
    from hocket.recording.folder import stream_path, stream_paths
    from hocket.recording.hangs import Report
    from hocket.recording.watch import Watch, watch

    def tell(report: Report) -> None:
        lines = [json.dumps(asdict(report))] if as_json else [*report.text()] or ["nothing hangs"]
        print("\n".join(lines), flush=True)

    if not once:
        raise typer.Exit(watch(Path(folder), timeout, tell))
    if not stream_paths(folder):
        raise FormatError(f"{stream_path(folder, 0).parent}: no rank*.stream: is this the folder of a collection?")
    watching = Watch(Path(folder), timeout)
    report = watching.look()
    tell(report)
    raise typer.Exit(watching.verdict(report))


@app.command(epilog="Example: hocket collect build")
def build() -> None:
    """Compile the collector's fast hook for the installed PyTorch into the cache: half a minute, once.

    `hocket collect script.py` does so by itself; a job under another launcher only uses what is there.
    """
    from hocket.collect import check_torch
    from hocket.plugin.native_build import cache_folder

    check_torch()
    from hocket.plugin.torch.native.library import build_library

    typer.echo(f"compiling into {cache_folder()}, unless it is there")
    typer.echo(str(build_library()))
