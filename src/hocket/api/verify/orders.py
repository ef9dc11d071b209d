"""Verification of TACOS' files: what their link orders do in a causal execution, against what was claimed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hocket.api.verify.request import Verification
from hocket.api.verify.result import VerificationResult
from hocket.base.errors import ScheduleError
from hocket.base.units import format_time
from hocket.schedule import Schedule, lower_bound, save, verify
from hocket.schedule.orders import LinkOrders

__all__ = ["verify_orders"]

_MOST_NAMED = 3


def verify_orders(request: Verification, orders: LinkOrders, claimed_ps: int | None) -> VerificationResult:
    """Replays the orders and proves the result, says what of the claimed time no execution reaches, and writes the
    schedule where the request says."""
    try:
        schedule = orders.replay()
        bound = lower_bound(schedule.collective, schedule.topology, blocking=True)
        schedule = replace(schedule, bound=bound)
        report = verify(schedule)
    except ScheduleError as error:
        return VerificationResult(request, (), [str(error)])
    honest_ps, shared_ps = schedule.time_ps, orders.shared_time_ps()
    made = f"{schedule.collective.describe()} by {orders.generator}: link orders without times"
    ratio = honest_ps / max(1, bound.time_ps)
    lines = [
        *(f"note: {note}" for note in schedule.topology.notes),
        f"{request.files[0]}: {made}",
        f"proved: {report.describe()}: the earliest causal execution of these orders",
        f"bound: {format_time(bound.time_ps)} ({bound.reason}), ratio {ratio:.4f}",
    ]
    if shared_ps < honest_ps:
        lines.append(
            f"not causal: with links never marked busy, as these versions count, it would end at "
            f"{format_time(shared_ps)}; {_crowded(schedule)}"
        )
    if request.output is not None:
        save(schedule, request.output)
        lines.append(f"written {request.output}")
    refutations = []
    if claimed_ps is not None and claimed_ps < honest_ps:
        refutations.append(
            f"claimed {format_time(claimed_ps)}, but no causal execution of the same orders ends before "
            f"{format_time(honest_ps)} (+{honest_ps / max(1, claimed_ps) - 1:.1%}): {_late(schedule, claimed_ps)}"
        )
    return VerificationResult(request, lines, refutations, schedules=[schedule])


def _crowded(schedule: Schedule) -> str:
    """The link with the most chunks: one at a time, they alone take longer than that count says."""
    sent = np.bincount(schedule.route, minlength=schedule.topology.num_links)
    busy_ps = np.bincount(schedule.route, schedule.finish_ps - schedule.start_ps)
    link = int(np.argmax(busy_ps))
    name = schedule.topology.link_name(link)
    return f"{name} alone is busy for {format_time(float(busy_ps[link]))} with its {int(sent[link])} chunks"


def _late(schedule: Schedule, claimed_ps: int) -> str:
    """The transfers that cannot have arrived by then, the earliest of them named: before the claim's end their source
    had not got the chunk, or their link was not free."""
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
