"""What `hocket synthesize` shows while it works, prints and writes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hocket import synthesizer
from hocket.base.errors import Stopped
from hocket.base.files import atomic_write, is_streamed, make_folder, write_json
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.schedule import save
from hocket.synthesizer.partial import Partial
from hocket.synthesizer.supervision import Watch
from hocket.topology.naming import spans

__all__ = [
    "keeping",
    "print_one",
    "print_together",
    "print_windows",
    "watching",
    "write_one",
    "write_together",
    "write_windows",
]


@contextmanager
def watching() -> Iterator[Watch | None]:
    """A progress bar on a terminal: what the engine has found of its attempt, the best time and the bound."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[best]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None, best="")

        def watch(progress: synthesizer.Progress) -> None:
            best = "searching" if progress.best_ps is None else f"best {format_time(progress.best_ps)}"
            bar.update(
                task,
                description=f"{progress.engine}, chunks per rank: {progress.chunks_per_rank}{resumed(progress)}",
                completed=progress.stop.done,
                total=progress.stop.total or None,
                best=f"{best}, bound {format_time(progress.bound_ps)}",
            )

        yield watch


def resumed(progress: synthesizer.Progress) -> str:
    return "" if progress.resumed_at is None else f", resumed at round {progress.resumed_at}"


@contextmanager
def keeping(output: Path | None, options: dict[str, Any]) -> Iterator[Partial | None]:
    """What long searches keep beside the output, to be written within the block. `options`: those of the command that
    decide what is found."""
    if output is None or is_streamed(output):
        yield None
        return
    partial = Partial.beside(output, options)
    try:
        yield partial
    except Stopped as error:
        if partial.folder.exists():
            text = f"{error}, or again: {partial.folder} keeps what was found, and the same command goes on"
            raise Stopped(text) from error
        raise
    partial.remove()


def write_one(one: synthesizer.Synthesized, output: Path | None, json_path: Path | None, report: Path | None) -> None:
    """The schedule, its numbers and its page, where they are wanted."""
    if output is not None:
        save(one.schedule, output)
    _write_json(synthesizer.summarize(one), json_path)
    if report is not None:
        from hocket.report.schedule_page import schedule_page

        _write_page(schedule_page(one), report)


def print_one(one: synthesizer.Synthesized, output: Path | None, progress: synthesizer.Progress) -> None:
    typer.echo(synthesizer.describe(synthesizer.summarize(one)) + resumed(progress))
    if output is not None:
        typer.echo(f"{'written':<16}{output}")


def write_windows(
    found: list[synthesizer.ScheduleWindow], folder: Path | None, json_path: Path | None, report: Path | None
) -> None:
    """A file a window, timed for its largest size, the numbers of each size, and a page of them."""
    if folder is not None:
        make_folder(folder)
        for number, window in enumerate(found):
            save(window.at[-1].schedule, folder / _name(window, number))
    rows = [
        {
            "schedule": _name(window, number),
            "min_bytes": window.sizes[0],
            "max_bytes": window.sizes[-1],
            "sizes": [synthesizer.summarize(one) for one in window.at],
        }
        for number, window in enumerate(found)
    ]
    _write_json({"windows": rows}, json_path)
    if report is not None:
        from hocket.report.schedule_page import windows_page

        _write_page(windows_page(found), report)


def print_windows(found: list[synthesizer.ScheduleWindow], folder: Path | None) -> None:
    columns = ("size", "time", "bound", "ratio", "algbw", "busbw", "chunks", "engine", "schedule")
    table = Table(*columns, box=None)
    for number, window in enumerate(found):
        for synthesis in window.at:
            one = synthesizer.summarize(synthesis)
            table.add_row(
                format_bytes(one["size_bytes"]),
                format_time(one["time_ps"]),
                format_time(one["bound_ps"]),
                f"{one['ratio']:.4f}",
                format_bandwidth(one["algbw_bytes_per_s"]),
                format_bandwidth(one["busbw_bytes_per_s"]),
                str(one["chunks_per_rank"]),
                one["engine"],
                _name(window, number),
            )
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    if folder is not None:
        typer.echo(f"{'written':<16}{len(found)} schedule{'s' * (len(found) > 1)} to {folder}")


def write_together(
    found: synthesizer.Together, output: Path | None, json_path: Path | None, report: Path | None
) -> None:
    """A file a group, `FILE.0.schedule` and so on, the numbers of each and of all, and a page of them."""
    if output is not None:
        for number, part in enumerate(found.parts):
            save(part.schedule, _part(output, number))
    numbers = synthesizer.summarize(found.whole) | {"groups": [synthesizer.summarize(part) for part in found.parts]}
    _write_json(numbers, json_path)
    if report is not None:
        from hocket.report.schedule_page import groups_page

        _write_page(groups_page(found), report)


def print_together(found: synthesizer.Together, output: Path | None) -> None:
    table = Table("group", "ranks", "time", "bound alone", "ratio", "algbw", "busbw", "transfers", box=None)
    for number, part in enumerate(found.parts):
        one = synthesizer.summarize(part)
        table.add_row(
            str(number),
            spans(part.schedule.expand().ranks.tolist()),
            format_time(one["time_ps"]),
            format_time(one["bound_ps"]),
            f"{one['ratio']:.4f}",
            format_bandwidth(one["algbw_bytes_per_s"]),
            format_bandwidth(one["busbw_bytes_per_s"]),
            str(one["transfers"]),
        )
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    whole = synthesizer.summarize(found.whole)
    typer.echo(
        f"at once: {format_time(whole['time_ps'])}, bound {format_time(whole['bound_ps'])} ({whole['bound_reason']}), "
        f"ratio {whole['ratio']:.4f}; verified together: {whole['engine']}, {whole['synthesis_seconds']:.2f} s"
    )
    if output is not None:
        last = len(found.parts) - 1
        typer.echo(f"{'written':<16}{_part(output, 0)} to {_part(output, last).name}")


def _part(output: Path, number: int) -> Path:
    return output.with_name(f"{output.stem}.{number}{output.suffix}")


def _name(window: synthesizer.ScheduleWindow, number: int) -> str:
    return f"{window.at[0].schedule.collective.kind}.{number}.schedule"


def _write_json(numbers: dict[str, Any], json_path: Path | None) -> None:
    if json_path is not None:
        write_json(json_path, numbers)


def _write_page(page: str, report: Path) -> None:
    with atomic_write(report) as file:
        file.write(page)
    typer.echo(f"wrote {report}")
