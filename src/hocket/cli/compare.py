"""`hocket compare`: what differs between two predictions, and whether the second is slower."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.simulator.analysis import Change

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_TOP = 5


@app.command(epilog="Example: hocket compare before.json after.json --tolerance 0.02 && echo no slower than 2 %")
def compare(
    first: Annotated[
        Path,
        typer.Argument(metavar="FIRST", help="A prediction: JSON of hocket simulate, or a folder of its --tables."),
    ],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Another, compared with the first.")],
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Exit with 1 when the second is slower by more than this share: 0.02 is 2 %.")
    ] = 0.0,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write all differences here.")] = None,
) -> None:
    """Say what changed: time, bound, exposed communication, collectives, groups, ranks and links."""
    import json
    from dataclasses import asdict

    from hocket.base.errors import ExitCode
    from hocket.base.files import atomic_write
    from hocket.simulator.analysis import compare as compare_predictions
    from hocket.simulator.analysis import read_prediction

    before, after = read_prediction(first), read_prediction(second)
    comparison = compare_predictions(before, after)
    for path, prediction in ((first, before), (second, after)):
        typer.echo(f"{path}: {prediction.topology.name}, model {prediction.model}")
    _print("", comparison.whole)
    _print("collectives by kind", comparison.kinds[:_TOP])
    _print("collectives by process group", comparison.groups[:_TOP])
    _print("ends of ranks", comparison.ranks[:_TOP])
    _print("work of links", comparison.links[:_TOP])
    if not comparison.ranks:
        typer.echo("ranks are not compared: their numbers differ")
    if not comparison.links:
        typer.echo("links are not compared: the topologies differ")
    if json_path:
        content = {"format": "hocket.comparison", "version": 1, "slower_by": comparison.slower_by, **asdict(comparison)}
        with atomic_write(json_path) as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        typer.echo(f"wrote {json_path}")
    if comparison.slower_by > tolerance:
        typer.echo(f"slower by {comparison.slower_by:.2%}, more than the tolerance of {tolerance:.2%}", err=True)
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print(title: str, changes: tuple[Change, ...]) -> None:
    from hocket.base.units import format_time

    changed = [change for change in changes if change.delta_ps or not title]
    if title and changed:
        typer.echo(f"{title}, the largest changes")
    for change in changed:
        share = f"{change.delta_ps / change.first_ps:+.1%}" if change.first_ps else "new"
        typer.echo(
            f"  {change.name:<40} {format_time(change.first_ps):>10} -> {format_time(change.second_ps):>10}  {share:>8}"
        )
