"""`hocket verify` of TACOS' files: what their link orders do in a causal execution, against what was claimed."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hocket.schedule import Schedule
    from hocket.schedule.orders import LinkOrders

__all__ = ["verify_orders"]

_MOST_NAMED = 3


def verify_orders(file: Path, orders: "LinkOrders", claimed_ps: int | None, output: Path | None) -> None:
    """Replays the orders, verifies the result, and says what of the claimed time no execution reaches.

    Raises ScheduleError when there is no causal execution, it leaves a chunk behind, or the claim is too early.
    """
    from dataclasses import replace

    from hocket.base.errors import ScheduleError
    from hocket.base.units import format_time
    from hocket.schedule import lower_bound, save, verify

    schedule = orders.replay()
    schedule = replace(schedule, bound=lower_bound(schedule.collective, schedule.topology, blocking=True))
    report = verify(schedule)
    assert schedule.bound is not None
    honest_ps, shared_ps = schedule.time_ps, orders.shared_time_ps()
    for note in schedule.topology.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"{file}: {schedule.collective.describe()} by {orders.generator}: link orders without times")
    typer.echo(f"proved: {report.describe()}: the earliest causal execution of these orders")
    ratio = honest_ps / max(1, schedule.bound.time_ps)
    typer.echo(f"bound: {format_time(schedule.bound.time_ps)} ({schedule.bound.reason}), ratio {ratio:.4f}")
    if shared_ps < honest_ps:
        typer.echo(
            f"not causal: with links never marked busy, as these versions count, it would end at "
            f"{format_time(shared_ps)}; {_crowded(schedule)}"
        )
    if output is not None:
        save(schedule, output)
        typer.echo(f"written {output}")
    if claimed_ps is not None and claimed_ps < honest_ps:
        raise ScheduleError(
            f"claimed {format_time(claimed_ps)}, but no causal execution of the same orders ends before "
            f"{format_time(honest_ps)} (+{honest_ps / max(1, claimed_ps) - 1:.1%}): {_late(schedule, claimed_ps)}"
        )


def _crowded(schedule: "Schedule") -> str:
    """The link with the most chunks: one at a time, they alone take longer than that count says."""
    import numpy as np

    from hocket.base.units import format_time

    sent = np.bincount(schedule.route, minlength=schedule.topology.num_links)
    busy_ps = np.bincount(schedule.route, schedule.finish_ps - schedule.start_ps)
    link = int(np.argmax(busy_ps))
    name = schedule.topology.link_name(link)
    return f"{name} alone is busy for {format_time(float(busy_ps[link]))} with its {int(sent[link])} chunks"


def _late(schedule: "Schedule", claimed_ps: int) -> str:
    """The transfers that cannot have arrived by then, the earliest of them named: before the claim's end their source
    had not got the chunk, or their link was not free."""
    import numpy as np

    from hocket.base.units import format_time

    late = np.flatnonzero(schedule.finish_ps > claimed_ps)
    named = []
    for transfer in late[np.argsort(schedule.start_ps[late], kind="stable")][:_MOST_NAMED]:
        link = schedule.topology.link_name(int(schedule.route[transfer]))
        came = schedule.finish_ps[
            (schedule.chunk == schedule.chunk[transfer]) & (schedule.dst == schedule.src[transfer])
        ]
        held = f"rank {schedule.src[transfer]} holds it from {format_time(float(came.min(initial=2**62)))}"
        if not came.size:
            held = f"rank {schedule.src[transfer]} holds it from the start"
        start = format_time(float(schedule.start_ps[transfer]))
        named.append(f"chunk {schedule.chunk[transfer]} over {link} starts at {start} ({held})")
    more = f"; {len(late)} transfers in all" if len(late) > len(named) else ""
    return "arrive later at the earliest: " + "; ".join(named) + more
