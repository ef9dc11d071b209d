"""`hocket bench`: measure claims."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Measure claims: speed and quality beside other tools'.",
    epilog="Example: hocket bench peers --only tacos --case '*mesh:32x32*'",
)

_DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "tacos"


@app.callback()
def _group() -> None:
    """Keeps `peers` a command of its own."""


@app.command(epilog="Example: hocket bench peers --only tacos --case '*dragonfly*' --json results.json")
def peers(
    only: Annotated[str, typer.Option(metavar="PEER", help="The peer to compare with: tacos.")] = "tacos",
    tacos: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A driver around TACOS, run on every all_gather (docs/peers.md)."),
    ] = None,
    data: Annotated[Path, typer.Option(metavar="DIR", help="Recorded figures.")] = _DATA,
    case: Annotated[list[str] | None, typer.Option("--case", metavar="GLOB", help="Only these (repeatable).")] = None,
    json_path: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Keep results; what is finished is not run again."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for one case.")] = 600,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Address space for one case.")] = "8GiB",
    list_cases: Annotated[bool, typer.Option("--list", help="Print the cases' names and stop.")] = False,
) -> None:
    """Synthesizes what another tool was measured on: time, lower bound, seconds and memory, beside its own figures.

    Every case runs in a fresh process, whole: search, lower bound, proof. All links are blocking, as in TACOS.
    Exit code 1: not all targets are met.
    """
    from fnmatch import fnmatchcase

    from rich.console import Console

    from hocket.base.errors import ExitCode
    from hocket.base.units import parse_bytes
    from hocket.bench.peers.cases import tacos_cases
    from hocket.bench.peers.run import Limits, Results
    from hocket.bench.peers.table import table
    from hocket.cli.options import one_of

    one_of("--only", only, ["tacos"])
    if not data.is_dir():
        typer.echo(f"note: no recorded figures in {data}, so fewer cases: name the folder with --data", err=True)
    patterns = case or ["*"]
    cases = [one for one in tacos_cases(data) if any(fnmatchcase(one.name, pattern) for pattern in patterns)]
    if not cases:
        raise typer.BadParameter(f"--case {' '.join(patterns)}: no case has such a name; --list prints them")
    if list_cases:
        typer.echo("\n".join(one.name for one in cases))
        return
    limits = Limits(timeout, parse_bytes(memory))
    results = []
    for number, result in enumerate(Results.load(json_path).run(cases, limits, tacos), start=1):
        results.append(result)
        said = result.outcome.error or f"{result.outcome.ratio:.4f} x bound in {result.outcome.seconds:.3g} s"
        typer.echo(f"[{number}/{len(cases)}] {result.case.name}: {said}", err=True)
    Console(width=260).print(table(results))
    met = sum(not result.outcome.shortfalls(result.case.target) for result in results)
    not_yet = sum(bool(result.outcome.error) for result in results)
    typer.echo(f"{met} of {len(results)} cases met; {not_yet} not yet")
    if met < len(results):
        raise typer.Exit(ExitCode.CHECK_FAILED)
