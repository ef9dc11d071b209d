"""What `hocket simulate` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hocket.simulator import Prediction

__all__ = ["print_comparison", "print_prediction"]

_TOP_LINKS = 5
_TOP_COLLECTIVES = 12
_TOP_PARTS = 4
_TOP_LATE = 3


def print_prediction(prediction: Prediction) -> None:
    """Time, bound, exposed communication, collectives and the busiest links of one prediction."""
    from hocket.base.units import format_bytes, format_time

    topology = prediction.topology
    typer.echo(f"{topology.name}: {topology.num_ranks} ranks, {topology.num_links} links; {_model(prediction)}")
    slowest = int(prediction.finish_ps.argmax())
    rows = [
        ("time", format_time(prediction.time_ps)),
        ("bound", f"{format_time(prediction.bound_ps)} (time is {prediction.ratio:.3f} times that)"),
        ("computation", f"{format_time(int(prediction.compute_ps[slowest]))} on rank {slowest}, the last to finish"),
        ("exposed communication", f"{format_time(int(prediction.exposed_ps[slowest]))} on rank {slowest}"),
        ("  of that", _exposed_parts(prediction, slowest)),
    ]
    rows += _analysed(prediction)
    for name, value in rows:
        typer.echo(f"  {name:<22} {value}")
    if prediction.collectives:
        _print_collectives(prediction)
    if prediction.link_messages.any():
        typer.echo("  busiest links")
        used = prediction.link_messages.nonzero()[0]
        for link in used[prediction.link_busy_ps[used].argsort(kind="stable")[::-1][:_TOP_LINKS]].tolist():
            typer.echo(
                f"    {topology.link_name(link):<36}"
                f" {prediction.link_utilisation[link]:7.1%} busy, {format_bytes(int(prediction.link_bytes[link]))}"
                f" in {prediction.link_messages[link]} messages"
            )
    _print_notes(prediction)


def _exposed_parts(prediction: Prediction, rank: int) -> str:
    from hocket.base.units import format_time
    from hocket.simulator.analysis import rank_table

    row = {name: int(column[rank]) for name, column in rank_table(prediction).items()}
    waited, idle = row["exposed_wait_ps"], row["idle_ps"]
    parts = ((waited, "waiting for other ranks"), (row["exposed_ps"] - waited - idle, "communicating"), (idle, "idle"))
    return ", ".join(f"{format_time(time)} {what}" for time, what in parts if time or what != "idle")


def _analysed(prediction: Prediction) -> Iterator[tuple[str, str]]:
    """Steps, critical path and who kept others waiting, where there are any."""
    from hocket.base.units import format_time
    from hocket.simulator import Model
    from hocket.simulator.analysis import caused_waits, critical_path, step_table

    steps = step_table(prediction)
    if len(steps["step"]):
        times = steps["time_ps"]
        slowest = int(times.argmax())
        yield (
            "steps",
            f"{len(times)}, {format_time(times.mean())} on average, at most {format_time(int(times[slowest]))}"
            f" (step {steps['step'][slowest]})",
        )
    if prediction.model != Model.BOUND:
        parts = list(critical_path(prediction).parts().items())[:_TOP_PARTS]
        shares = ", ".join(f"{what} {format_time(time)} ({time / prediction.time_ps:.1%})" for what, time in parts)
        if shares:
            yield "critical path", shares
    late = caused_waits(prediction)
    total = max(int(late["caused_wait_ps"].sum()), 1)
    for rank, wait, ranks in list(zip(late["rank"], late["caused_wait_ps"], late["ranks_kept_waiting"], strict=True))[
        :_TOP_LATE
    ]:
        others = "1 other" if ranks == 1 else f"{ranks} others"
        yield (
            "kept others waiting",
            f"rank {rank}: {others}, {format_time(int(wait))} ({wait / total:.1%} of all waits)",
        )


def _print_collectives(prediction: Prediction) -> None:
    """A line per distinct collective, those that ran the longest in all first."""
    from hocket.base.units import format_bandwidth, format_bytes_apart, format_time
    from hocket.simulator.analysis import sort_table

    table = sort_table(prediction)
    typer.echo("  collectives: mean wait from the first rank to the last, mean time from there, bound, busbw")
    sizes = format_bytes_apart(table["size_bytes"].tolist())
    for at in range(min(len(table["count"]), _TOP_COLLECTIVES)):
        row = {name: column[at].item() for name, column in table.items()}
        typer.echo(
            f"    {row['count']:5} x {row['kind']:<14} {row['ranks']:4} ranks {sizes[row['size_bytes']]:>10}"
            f"  {row['algorithm']:<18} {format_time(row['mean_wait_ps']):>10} {format_time(row['mean_time_ps']):>10}"
            f" {format_time(row['mean_bound_ps']):>10} {format_bandwidth(row['busbw']):>11}"
        )
    if len(table["count"]) > _TOP_COLLECTIVES:
        typer.echo(f"    and {len(table['count']) - _TOP_COLLECTIVES} more sorts; --tables has them all")


def print_comparison(predictions: Sequence[Prediction]) -> None:
    """A line per topology."""
    from hocket.base.units import format_time

    width = max(len(prediction.topology.name) for prediction in predictions)
    typer.echo(f"{'topology':<{width}}  {'time':>10}  {'bound':>10}  {'ratio':>6}  {'exposed':>10}  vs first")
    for prediction in predictions:
        exposed = int(prediction.exposed_ps[prediction.finish_ps.argmax()])
        typer.echo(
            f"{prediction.topology.name:<{width}}  {format_time(prediction.time_ps):>10}"
            f"  {format_time(prediction.bound_ps):>10}  {prediction.ratio:6.3f}  {format_time(exposed):>10}"
            f"  {prediction.time_ps / max(predictions[0].time_ps, 1):.3f}x"
        )
    typer.echo(f"{_model(predictions[0])}; exposed communication is that of the last rank to finish")
    for prediction in predictions:
        _print_notes(prediction)


def _model(prediction: Prediction) -> str:
    words = [f"model {prediction.model}", prediction.switching.replace("_", "-")]
    return ", ".join(words + [prediction.queueing] * (prediction.queueing != "fifo"))


def _print_notes(prediction: Prediction) -> None:
    for note in prediction.notes:
        typer.echo(f"  note: {note}")
    for warning in prediction.warnings:
        typer.echo(f"  warning: {warning}", err=True)
