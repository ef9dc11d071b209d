"""`hocket nccl profile`: what the profiler plugin recorded of a job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.chakra.importers.nccl.profile import NcclProfile
    from hocket.recording.nccl.calls import CallsAlike

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Read what NCCL's profiler plugin recorded of a job.",
    epilog="Example: hocket nccl profile show profile/",
)


@app.callback()
def _group() -> None:
    """Keeps `show` a command of its own."""


@app.command(epilog="Example: hocket nccl profile show profile/")
def show(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="The job's HOCKET_NCCL_PROFILE, or one file of it.")],
) -> None:
    """Prints the job's calls as nccl-tests prints its own: size, time, algorithm and bus bandwidth.

    The times are the GPU's where kernel channels were recorded, else the proxies'; without both only the calls are
    counted. What was dropped or not finished is said below.
    """
    from hocket.chakra.importers.nccl.profile import profile_files, read_profile
    from hocket.recording.nccl.calls import calls_alike

    profiles = [read_profile(file) for file in profile_files(path)]
    heads = "size", "count", "type", "function", "algo", "proto", "chan", "ranks", "calls", "timed", "min", "avg"
    _print_row(*heads, "algbw", "busbw")
    _print_row("(B)", "(elements)", *[""] * 8, "(us)", "(us)", "(GB/s)", "(GB/s)")
    for row in calls_alike(profiles):
        _print_calls(row)
    for profile in profiles:
        _print_losses(profile)


def _print_row(*cells: str) -> None:
    widths = 12, 12, -14, -14, -14, -7, 4, 5, 9, 9, 10, 10, 9, 9
    texts = (
        f"{cell:<{-width}}" if width < 0 else f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)
    )
    typer.echo(" ".join(texts).rstrip())


def _print_calls(row: "CallsAlike") -> None:
    def scaled(value: float | None, unit: float) -> str:
        return "-" if value is None else f"{value / unit:.2f}"

    _print_row(
        *(str(row.size_bytes), str(row.count), row.datatype, row.function, row.algorithm or "-", row.protocol or "-"),
        *(str(number) for number in (row.channels, row.ranks, row.calls, row.timed)),
        *(scaled(time, 1e3) for time in (row.minimum_ns, row.average_ns)),
        *(scaled(bandwidth, 1e9) for bandwidth in (row.algbw, row.busbw)),
    )


def _print_losses(profile: "NcclProfile") -> None:
    import os

    from hocket.chakra.importers.nccl.calls import unfinished
    from hocket.chakra.importers.nccl.profile import COLLECTIVE, POINT_TO_POINT

    if profile.dropped:
        lost = sum(profile.dropped.values())
        typer.echo(f"{profile.path}: {lost} events got no record; HOCKET_NCCL_RECORDS sets how many have room at once")
    if profile.error:
        typer.echo(f"{profile.path}: ends early: {os.strerror(profile.error)}")
    hanging = unfinished(profile.select(COLLECTIVE | POINT_TO_POINT))
    if len(hanging):
        first = hanging[0]
        function = first["function"].decode(errors="replace")
        communicator = profile.communicators[int(first["communicator"])]
        typer.echo(
            f"{profile.path}: {len(hanging)} calls were not finished, first {function} {int(first['sequence'])} of rank"
            f" {communicator.rank} on communicator {communicator.id:#x}"
        )
